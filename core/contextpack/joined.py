"""Several roots as one: their snapshots joined, each path under the name of its root.

Nothing is analysed again: the segments of the postings stand one after the other. So one ranking
sees all files, in which a word's rarity and the best scores are those of all roots together. That
makes scores of two roots comparable; those of two rankings, each scaled to its own best, are not.
What it costs grows with the number of files, not with their texts.

Imports from one root into another are not resolved: a joined snapshot has the edges inside of each
root.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from contextpack.graph import Graph
from contextpack.history import History
from contextpack.hunks import NO_HUNKS
from contextpack.model import Path, Skip
from contextpack.postings import postings
from contextpack.segment import Bools
from contextpack.snapshot import Columns, Snapshot, Source, empty


@dataclass(frozen=True, slots=True)
class Member:
    """One of the roots."""

    name: str
    """What its paths begin with, before a `/`. No other member's paths may begin with it."""
    snapshot: Snapshot
    without: tuple[str, ...] = ()
    """Directories of it, each with a `/` at its end, whose files are another member's."""

    def has(self, path: Path) -> bool:
        """Whether a path of its snapshot is its own."""
        return not path.startswith(self.without)


def joined(members: Sequence[Member], *, with_graph: bool = False) -> Snapshot:
    """The snapshot of all members together, in their order.

    Without `with_graph` it has no graph, of which ranking needs nothing; with it, the edges of
    each member's, and nothing of how they came about.
    """
    alive = [_alive(member) for member in members]
    index = postings(
        [segment for member in members for segment in member.snapshot.postings.segments],
        np.concatenate([np.zeros(0, np.bool_), *alive]),
    )
    sizes = [member.snapshot.postings.n_slots for member in members]
    first_slots = tuple(accumulate(sizes, initial=0))
    starts = list(zip(members, first_slots, strict=False))
    importing = _chained([m.snapshot.importing + first for m, first in starts])
    imported = _chained([m.snapshot.imported + first for m, first in starts])
    # Nothing may be said of files that another member has.
    is_own = index.is_alive[importing] & index.is_alive[imported]
    skipped = [skip for member in members for skip in _skipped(member)]
    nothing = empty(frozenset())
    return Snapshot(
        sources=_Sources(tuple(members), index.n_files),
        skipped=tuple(sorted(skipped, key=lambda skip: (skip.path, skip.reason))),
        graph=_graph(members) if with_graph else nothing.graph,
        postings=index,
        paths=np.concatenate([nothing.paths, *map(_paths, members)]),
        kinds=np.concatenate([nothing.kinds, *(m.snapshot.kinds for m in members)]),
        modified=np.concatenate([nothing.modified, *(m.snapshot.modified for m in members)]),
        slots=_Slots(tuple(members), first_slots, index.n_files),
        importing=importing[is_own],
        imported=imported[is_own],
        history=_history(members),
    )


def split(names: Sequence[str], path: str) -> tuple[int, Path] | None:
    """Which of the names a path begins with, and the path behind it; None without one.

    Of names inside of one another the longest counts.
    """
    found = [n for n, name in enumerate(names) if path.startswith(f"{name}/")]
    if not found:
        return None
    number = max(found, key=lambda n: len(names[n]))
    return number, path[len(names[number]) + 1 :]


@dataclass(frozen=True, slots=True, eq=False)
class _Sources(Mapping[Path, Source]):
    """The files of the members; made when asked for, since most are never looked at."""

    members: tuple[Member, ...]
    n_files: int

    def __getitem__(self, path: Path) -> Source:  # type: ignore[explicit-override]  # not in 3.11
        number, own = _owner(self.members, path)
        return replace(self.members[number].snapshot.sources[own], path=path)

    def __iter__(self) -> Iterator[Path]:  # type: ignore[explicit-override]  # not in 3.11
        return (
            f"{member.name}/{path}"
            for member in self.members
            for path in member.snapshot.sources
            if member.has(path)
        )

    def __len__(self) -> int:  # type: ignore[explicit-override]  # not in 3.11
        return self.n_files


@dataclass(frozen=True, slots=True, eq=False)
class _Slots(Mapping[Path, int]):
    """The slots of the files."""

    members: tuple[Member, ...]
    first_slots: tuple[int, ...]
    n_files: int

    def __getitem__(self, path: Path) -> int:  # type: ignore[explicit-override]  # not in 3.11
        number, own = _owner(self.members, path)
        return self.first_slots[number] + self.members[number].snapshot.slots[own]

    def __iter__(self) -> Iterator[Path]:  # type: ignore[explicit-override]  # not in 3.11
        return iter(_Sources(self.members, self.n_files))

    def __len__(self) -> int:  # type: ignore[explicit-override]  # not in 3.11
        return self.n_files


def _owner(members: Sequence[Member], path: Path) -> tuple[int, Path]:
    """The number of the member whose path this is, and that path. Raises KeyError."""
    found = split([member.name for member in members], path)
    if found is None or not members[found[0]].has(found[1]):
        raise KeyError(path)
    return found


def _alive(member: Member) -> Bools:
    is_alive = member.snapshot.postings.is_alive
    if not member.without:
        return is_alive
    is_own: Bools = np.array([member.has(p) for p in member.snapshot.paths.tolist()], np.bool_)
    return np.logical_and(is_alive, is_own)


def _paths(member: Member) -> Columns:
    paths = member.snapshot.paths.tolist()
    column = np.empty(len(paths), np.object_)
    column[:] = [f"{member.name}/{path}" for path in paths]
    return column


def _skipped(member: Member) -> list[Skip]:
    return [
        replace(skip, path=f"{member.name}/{skip.path}")
        for skip in member.snapshot.skipped
        if member.has(skip.path)
    ]


def _graph(members: Sequence[Member]) -> Graph:
    ways: list[dict[Path, tuple[Path, ...]]] = []
    for way in ("imports", "importers"):
        found: dict[Path, tuple[Path, ...]] = {}
        for member in members:
            name, edges = member.name, getattr(member.snapshot.graph, way)
            for path, others in edges.items():
                own = tuple(f"{name}/{other}" for other in others if member.has(other))
                if own and member.has(path):
                    found[f"{name}/{path}"] = own
        ways.append(found)
    imports, importers = map(MappingProxyType, ways)
    return replace(empty(frozenset()).graph, imports=imports, importers=importers)


def _chained(columns: Sequence[NDArray[np.signedinteger]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, np.int64), *columns])


def _history(members: Sequence[Member]) -> History:
    """The commits of all roots, so that how rare a word is in messages is the same for each.

    A commit that touched two roots of one repository stands twice: it says as much of each.
    """
    vocabulary: dict[str, int] = {}
    terms: list[NDArray[np.signedinteger]] = []
    histories = [member.snapshot.history for member in members]
    for history in histories:
        ids = [vocabulary.setdefault(term, len(vocabulary)) for term in history.vocabulary]
        terms.append(np.repeat(np.array(ids, np.int64), np.diff(history.starts)))
    in_term = _chained(terms)
    order = np.argsort(in_term, kind="stable")
    n_uses = np.bincount(in_term, minlength=len(vocabulary))
    first_commits = list(accumulate((h.n_commits for h in histories), initial=0))
    first_paths = list(accumulate((len(h.paths) for h in histories), initial=0))
    commits = [h.commits + first for h, first in zip(histories, first_commits, strict=False)]
    touching = [h.touching + first for h, first in zip(histories, first_commits, strict=False)]
    touched = [h.touched + first for h, first in zip(histories, first_paths, strict=False)]
    hunks = [
        h.hunks + np.array([first_commit, first_path, 0, 0])
        for h, first_commit, first_path in zip(
            histories, first_commits, first_paths, strict=False
        )
    ]
    return History(
        head=None,
        vocabulary=MappingProxyType(vocabulary),
        lengths=_chained([history.lengths for history in histories]),
        starts=np.concatenate([[0], np.cumsum(n_uses)]).astype(np.int32),
        commits=_chained(commits)[order].astype(np.int32),
        uses=_chained([history.uses for history in histories])[order].astype(np.int32),
        paths=tuple(
            f"{member.name}/{path}" if path and member.has(path) else ""
            for member in members
            for path in member.snapshot.history.paths
        ),
        touching=_chained(touching).astype(np.int32),
        touched=_chained(touched).astype(np.int32),
        hunks=np.concatenate([NO_HUNKS, *hunks]).astype(np.int32),
    )
