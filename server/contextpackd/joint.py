"""Several workspaces as one, for a question about all of them.

Each is scanned by the rules of its own repository; the snapshots are joined, so that everything
behind a scan is the same as for one root. A path begins with the name of its root, which is its
directory's; where two are alike, as many directories above it as tell all of them apart. A root
inside of another one has its files alone, as the innermost open folder has.
"""

import os
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeVar

from contextpack import model
from contextpack.joined import Member, joined, split
from contextpack.snapshot import Snapshot
from contextpack.text import display_path
from contextpack.tokens import Profile
from contextpackd import settings
from contextpackd.counters import Counter
from contextpackd.disk import Discovery
from contextpackd.errors import OptionProblem
from contextpackd.options import request_of
from contextpackd.revisions import Revisions
from contextpackd.view import Effort, Progress
from contextpackd.workspace import SCANNED, WATCHED, Part, Scan, never

# Each root of a question has an index in memory while it is asked.
MAX_ROOTS = 32

T = TypeVar("T")

_OF_REPOSITORY = ("exclude", "max_file_bytes")
"""What a repository says of its files. How the bundle looks is no single one's to say."""


class Site(Protocol):
    """What a question is asked of: a workspace, or several as one."""

    @property
    def roots(self) -> Mapping[str, Path]:
        """The roots by the name that their paths begin with; that of a single one is empty."""

    @property
    def sites(self) -> "Mapping[str, OneRoot]":
        """What each of the roots can be asked of alone, by the same names."""

    def scan(
        self,
        discovery: Discovery,
        progress: Progress,
        is_cancelled: Callable[[], bool] = never,
        *,
        with_graph: bool = False,
    ) -> Scan:
        """As `Workspace.scan`."""

    def texts(
        self, snapshot: Snapshot, paths: Iterable[model.Path], max_bytes: int
    ) -> dict[model.Path, str] | None:
        """As `Workspace.texts`."""

    def counter(self, profile: Profile) -> Counter:
        """As `Workspace.counter`."""


class OneRoot(Site, Protocol):
    """A workspace, wherever it is asked from."""

    def kept(self, ask: Callable[[Revisions], T]) -> T:
        """As `Workspace.kept`."""


def named(roots: Iterable[Path]) -> Mapping[str, Path]:
    """Different roots by their names, in an order that does not depend on the given one.

    Raises `OptionProblem` for more than `MAX_ROOTS`.
    """
    found = sorted(set(roots), key=str)
    if len(found) > MAX_ROOTS:
        raise OptionProblem("roots", f"must be at most {MAX_ROOTS}, got {len(found)}")
    parts = [root.parts[1:] for root in found]
    n_most = max(map(len, parts), default=0)
    for n in range(1, n_most + 1):
        names = ["/".join(own[-n:]) for own in parts]
        # At full length one can begin with another only where it stands inside of it.
        if n == n_most or not any(_is_ambiguous(name, names) for name in names):
            return MappingProxyType(dict(zip(names, found, strict=True)))
    return MappingProxyType({})


def _is_ambiguous(name: str, names: Sequence[str]) -> bool:
    return names.count(name) > 1 or any(other.startswith(f"{name}/") for other in names)


def under(name: str, path: model.Path) -> model.Path:
    """A root's path as a question about several names it; that of a single one as it is."""
    return f"{name}/{path}" if name else path


@dataclass(frozen=True, slots=True)
class _Rules:
    """What one root's scan takes in, and which of the question's globs that came from."""

    discovery: Discovery
    asked: Mapping[str, str]
    """The globs that the question gave, by what they are for this root."""


class Joint:
    """Several workspaces, for one question."""

    def __init__(self, sites: Mapping[str, OneRoot]) -> None:
        """`sites` are by the names of `named`."""
        self._sites = sites
        self._snapshots: dict[str, Snapshot] = {}
        """Of the last scan."""

    @property
    def roots(self) -> Mapping[str, Path]:
        """The roots by name."""
        return {name: only_root(site) for name, site in self._sites.items()}

    @property
    def sites(self) -> Mapping[str, OneRoot]:
        """The workspaces by name."""
        return self._sites

    def scan(
        self,
        discovery: Discovery,
        progress: Progress,
        is_cancelled: Callable[[], bool] = never,
        *,
        with_graph: bool = False,
    ) -> Scan:
        """The snapshots of all roots joined, one scanned after the other.

        A glob that begins with a root's name and `/` is about that root, any other about all.
        Raises as `Workspace.scan` does.
        """
        parts: list[Part] = []
        matched: set[str] = set()
        n_before = 0
        for name, root in self.roots.items():
            rules = _rules(root, name, tuple(self._sites), discovery)

            def told(done: int, total: int, before: int = n_before) -> None:
                progress(before + done, before + total)

            scan = self._sites[name].scan(
                rules.discovery, told, is_cancelled, with_graph=with_graph
            )
            matched.update(
                asked for own, asked in rules.asked.items() if own not in scan.unmatched_globs
            )
            parts.append(Part(name, root, scan))
            n_before += len(scan.snapshot.sources)
        self._snapshots = {part.name: part.scan.snapshot for part in parts}
        globs = dict.fromkeys((*discovery.include, *discovery.exclude))
        return Scan(
            snapshot=joined([_member(part, parts) for part in parts], with_graph=with_graph),
            notices=tuple(
                replace(notice, message=f"{display_path(part.name)}: {notice.message}")
                for part in parts
                for notice in part.scan.notices
            ),
            unmatched_globs=tuple(glob for glob in globs if glob not in matched),
            freshness=SCANNED if any(p.scan.freshness == SCANNED for p in parts) else WATCHED,
            unsaved=frozenset(under(p.name, path) for p in parts for path in p.scan.unsaved),
            n_unread=sum(part.scan.n_unread for part in parts),
            effort=sum((part.scan.effort for part in parts), Effort()),
            parts=tuple(parts),
        )

    def texts(
        self, snapshot: Snapshot, paths: Iterable[model.Path], max_bytes: int
    ) -> dict[model.Path, str] | None:
        """The texts of these files of the last scan, or None when one is another by now."""
        own = by_root((path for path in paths if path in snapshot.sources), self.roots)
        result: dict[model.Path, str] = {}
        is_stale = False
        for name, wanted in own.items():
            texts = self._sites[name].texts(self._snapshots[name], wanted, max_bytes)
            # The others are asked in any case: each learns which of its files to look at again.
            is_stale = is_stale or texts is None
            result.update({under(name, path): text for path, text in (texts or {}).items()})
        return None if is_stale else result

    def counter(self, profile: Profile) -> Counter:
        """As `Workspace.counter`, which is that of every workspace of a process."""
        return next(iter(self._sites.values())).counter(profile)


def _member(part: Part, parts: Sequence[Part]) -> Member:
    inside = [other.root for other in parts if other.root.is_relative_to(part.root)]
    without = (root.relative_to(part.root).as_posix() for root in inside if root != part.root)
    return Member(part.name, part.scan.snapshot, tuple(f"{path}/" for path in without))


def _rules(root: Path, name: str, names: Sequence[str], asked: Discovery) -> _Rules:
    include, exclude = (_about(globs, name, names) for globs in (asked.include, asked.exclude))
    if asked.include and not include:
        # Nothing of this root is wanted: as they stand, those of the others name no file of it.
        include = {glob: glob for glob in asked.include}
    values = settings.repository(root).values
    said = {field: values[field] for field in _OF_REPOSITORY if field in values}
    own = request_of("", said, lambda option: option.field)
    discovery = Discovery(
        tuple(include),
        (*own.exclude, *exclude),
        min(own.max_file_bytes, asked.max_file_bytes),
    )
    return _Rules(discovery, {**include, **exclude})


def _about(globs: Iterable[str], name: str, names: Sequence[str]) -> dict[str, str]:
    """The globs that are about a root, as patterns from it on; and as they were given."""
    found: dict[str, str] = {}
    for glob in globs:
        behind = split(names, glob.removeprefix("/"))
        if behind is None:
            found[glob] = glob
        elif names[behind[0]] == name:
            found[f"/{behind[1]}" if behind[1] else "*"] = glob
    return found


def by_root(
    paths: Iterable[model.Path], roots: Mapping[str, Path]
) -> Mapping[str, list[model.Path]]:
    """The paths of a snapshot by the names of their roots, each as its root has it."""
    found: dict[str, list[model.Path]] = {name: [] for name in roots}
    for path in paths:
        name, own = _owner(path, roots)
        found[name].append(own)
    return found


def only_root(site: Site) -> Path:
    """The root of what has just one."""
    (root,) = site.roots.values()
    return root


def name_of(path: model.Path, roots: Mapping[str, Path]) -> str:
    """The name of the root that a path of a snapshot belongs to."""
    return _owner(path, roots)[0]


def file_below(roots: Mapping[str, Path], path: model.Path) -> Path:
    """The file on disk that a path of a snapshot names."""
    name, own = _owner(path, roots)
    return roots[name] / own


def _owner(path: model.Path, roots: Mapping[str, Path]) -> tuple[str, model.Path]:
    names = tuple(roots)
    if len(names) == 1:
        return names[0], path
    found = split(names, path)
    assert found is not None, path
    return names[found[0]], found[1]


def shown_roots(roots: Mapping[str, Path]) -> str:
    """The roots for people."""
    return ", ".join(display_path(str(root)) for root in roots.values())


def advice(roots: Mapping[str, Path]) -> str:
    """How a person names a file below these roots."""
    if len(roots) == 1:
        return "paths are relative to the root"
    return f"paths begin with {' or '.join(display_path(f'{name}/') for name in roots)}"


def path_of(given: str, roots: Mapping[str, Path]) -> model.Path:
    """A path as a person gives it to that in a snapshot: absolute, through a link, with `..`.

    What is below no root stays as it is.
    """
    if not given.startswith("/"):
        return posixpath.normpath(given)
    # Only the directory is resolved: the file itself must be judged as what it is.
    file = Path(os.path.realpath(posixpath.dirname(given))) / posixpath.basename(given)
    around = [(name, root) for name, root in roots.items() if file.is_relative_to(root)]
    if not around:
        return given
    name, root = max(around, key=lambda item: len(item[1].parts))
    return under(name, file.relative_to(root).as_posix())
