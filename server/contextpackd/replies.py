"""A chat's reply about a bundle: which files and definitions it names, and what of them to pack."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from contextpack.excerpts import excerpts
from contextpack.ledger import Item
from contextpack.model import Detail, Path
from contextpack.names import Naming, lacking, naming
from contextpack.request import Request
from contextpack.text import Lines
from contextpackd.joint import Site
from contextpackd.queries import checked_scan
from contextpackd.view import Progress
from contextpackd.workspace import Scan


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply names, and which of it the bundle did not show."""

    naming: Naming
    wanted: tuple[str, ...]
    """The names to pack, as `Request.only` takes them."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of which the bundle had everything."""
        names = (item.name for item in self.naming.named)
        return tuple(name for name in names if name not in self.wanted)


def reply(
    site: Site,
    request: Request,
    text: str,
    shown: Mapping[Path, Sequence[Lines]],
    progress: Progress,
    rules: Collection[str] = (),
) -> tuple[Scan, Reply]:
    """What a reply names in the workspace as it is now. `shown` are the lines of the bundle.

    Raises `OptionProblem` as `queries.answer` does.
    """
    scan = checked_scan(site, request, progress, rules)
    found = naming(scan.snapshot, text)
    wanted = lacking(found.named, shown)
    return scan, Reply(found, tuple(item.name for item in wanted))


def shown_by(items: Iterable[Item]) -> Mapping[Path, Sequence[Lines]]:
    """The lines that a pack shows, by file. Signatures alone show nobody what a file does."""
    return {item.path: item.ranges for item in items if item.detail is not Detail.OUTLINE}


def shown_in(bundle: str) -> Mapping[Path, Sequence[Lines]]:
    """The same of a bundle's text, by the paths that it shows."""
    return {
        part.path: [shown.lines for shown in part.shown if shown.lines is not None]
        for part in excerpts(bundle).parts
        if part.detail != Detail.OUTLINE
    }
