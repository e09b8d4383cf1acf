"""One agent: its roots, and the results that it may ask for again."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from contextpack.request import Request
from contextpack.stable import Standing
from contextpack.text import display_path
from contextpackd import settings
from contextpackd.agents import Start
from contextpackd.disk import check_root
from contextpackd.errors import FieldProblem, RootProblem
from contextpackd.joint import MAX_ROOTS, Site, named
from contextpackd.options import OPTIONS, request_of
from contextpackd.roots import Roots
from contextpackd.uris import file_of
from contextpackd.view import Progress
from contextpackd.wire import Json
from contextpackd.workspace import Scan

MAX_KEPT = 16
"""Results that one connection keeps, for their further pages and for being asked again."""

MAX_KEPT_BYTES = 32 << 20
"""Of their texts; the newest is kept whatever its size."""

ID_CHARS = 12
"""Of a digest of the result: a connection keeps too few for two to be alike."""

PAGE_FIELDS = frozenset({"page", "pageBytes", "pageOf"})
"""The fields that say which part of a result is wanted."""

START_AGAIN = "start the server with `--root DIR`"

_OPTIONS = {name: option for option in OPTIONS for name in (option.json_name, *option.aliases)}

Fields = Mapping[str, object]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept:
    """A result's text, and for a bundle what it answers."""

    text: str
    note: str
    where: tuple[Path, ...]
    fields: Fields
    standing: Standing | None
    """Of a bundle, for who asks about it again: unlike the answer it keeps no index alive."""


class Session:
    """The state of one connection. Lives on the event loop's thread."""

    def __init__(self, roots: Roots, about: Callable[[], Json], started: Start) -> None:
        self._roots = roots
        self.about = about
        self.page_bytes = started.page_bytes
        self._started = started
        self._opened: dict[Path, None] = {}
        self._kept: dict[str, Kept] = {}
        self.listed: tuple[str, ...] | None = None
        """The URIs of the client's roots; None as long as they are not known."""

    def close(self) -> None:
        """Give back what is shared."""
        for root in self._opened:
            self._roots.close(root)
        self._opened.clear()

    # Roots.

    @property
    def has_own_roots(self) -> bool:
        """Whether the command line says what the roots are, so that no client is asked."""
        return bool(self._started.roots)

    def roots(self) -> tuple[Path, ...]:
        """What this agent may look at, each root once, in an order of their own.

        Of what a client lists, what cannot be a root is passed over as long as another one can.
        Raises `RootProblem`.
        """
        given = self._started.roots
        if not given:
            local = (file_of(uri) for uri in self.listed or ())
            given = tuple(file for file in local if file is not None)
        if not given:
            given = (self._started.directory,) if self._started.directory else ()
        if not given:
            raise RootProblem("", f"is not known: the client lists none; {START_AGAIN}")
        found: list[Path] = []
        problem = None
        for root in given:
            try:
                found.append(check_root(Path(root), force=False))
            except RootProblem as error:
                problem = RootProblem(error.root, f"{error.reason}; {START_AGAIN}")
                if self._started.roots:
                    raise problem from error
        if problem is not None and not found:
            raise problem
        checked = tuple(named(found).values())
        self._hold(checked)
        return checked

    def where(self, fields: Fields) -> tuple[Path, ...]:
        """The roots that a question is about: those that it names, else all.

        Raises `FieldProblem` and `RootProblem`.
        """
        roots = self.roots()
        one, several = fields.get("root"), fields.get("roots")
        if isinstance(one, str):
            if several is not None:
                raise FieldProblem("root", "cannot be given together with roots")
            return (_root_of("root", one, roots),)
        if isinstance(several, list):
            wanted = {_root_of("roots", str(root), roots) for root in several}
            return tuple(sorted(wanted))
        return roots

    def single(self, fields: Fields) -> Path:
        """The one root of a question that can be about one only. Raises likewise."""
        where = self.where(fields)
        if len(where) > 1:
            raise FieldProblem("root", f"must be given, as one of {_shown(where)}")
        return where[0]

    def _hold(self, roots: Iterable[Path]) -> None:
        """Keep these warm as long as the client is here, and those that it gave up no more."""
        wanted = dict.fromkeys(roots)
        for root in wanted.keys() - self._opened.keys():
            self._roots.open(root)
        for root in self._opened.keys() - wanted.keys():
            self._roots.close(root)
        self._opened = wanted

    # Questions.

    def request(self, where: Sequence[Path], fields: Fields) -> Request:
        """The request for a tool's fields over what the only root's repository says.

        Raises `OptionProblem`.
        """
        given = {
            _OPTIONS[name].field: value for name, value in fields.items() if name in _OPTIONS
        }
        values = settings.rising(settings.of_roots(where), given)
        return request_of(fields.get("query", ""), values, lambda option: option.json_name)

    async def ask(
        self,
        where: Sequence[Path],
        job: Callable[[Site, Progress], tuple[Scan, T]],
        progress: Progress,
    ) -> T:
        """A job's result, of one root or of several as one."""
        scan, found = await self._roots.ask_of(where, job, progress)
        self._roots.saw_of(where, scan)
        return found

    @property
    def workspaces(self) -> Roots:
        """For a question that only a workspace answers."""
        return self._roots

    # Results.

    def keep(self, kept: Kept) -> str:
        """Keep a result; what it is known by from now on: the same for the same once more."""
        asked = {name: value for name, value in kept.fields.items() if name not in PAGE_FIELDS}
        is_bundle = kept.standing is not None
        said = json.dumps(
            [kept.text, is_bundle, list(map(str, kept.where)), asked], sort_keys=True
        )
        digest = hashlib.sha256(said.encode("ascii")).hexdigest()[:ID_CHARS]
        self._kept.pop(digest, None)
        self._kept[digest] = kept
        while len(self._kept) > 1 and self._is_full():
            del self._kept[next(iter(self._kept))]
        return digest

    def kept(self, field: str, name: str) -> Kept:
        """What is kept under a name. Raises `FieldProblem`."""
        found = self._kept.get(name)
        if found is None:
            raise FieldProblem(
                field,
                f"names nothing that is kept: {name!r} (a connection keeps its last {MAX_KEPT}"
                " results); ask the question again",
            )
        return found

    def bundle(self, name: str) -> Kept:
        """The bundle that is kept under a name, if its roots are this agent's still.

        Raises `FieldProblem` and `RootProblem`.
        """
        kept = self.kept("bundle", name)
        if kept.standing is None:
            raise FieldProblem("bundle", f"is no bundle: {name!r} is another tool's result")
        roots = self.roots()
        if lost := [root for root in kept.where if root not in roots]:
            raise FieldProblem("bundle", f"is of {_shown(lost)}, no root any more; pack again")
        return kept

    def _is_full(self) -> bool:
        size = sum(len(kept.text) for kept in self._kept.values())
        return len(self._kept) > MAX_KEPT or size > MAX_KEPT_BYTES


def _root_of(field: str, given: str, roots: Sequence[Path]) -> Path:
    names = named(roots)
    if given in names:
        return names[given]
    file = Path(file_of(given) or given)
    for root in roots:
        if file == root or (file.is_absolute() and file.resolve() == root):
            return root
    raise FieldProblem(
        field, f"must be one of {_shown(roots)}, got {given!r}; for another one {START_AGAIN}"
    )


def _shown(roots: Sequence[Path]) -> str:
    shown = [display_path(str(root)) for root in roots[:MAX_ROOTS]]
    return ", ".join(shown)
