"""One root at one moment: facts, graph and postings. Immutable, and without file contents.

`applied` makes the next moment from this one and a change, at a cost in proportion to the
change: files whose facts stay what they are keep their rows and their edges.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from contextpack.codec import Scope, decoded, decoded_head, decoded_scopes, decoded_terms
from contextpack.graph import Graph, Said, graph, said, updated
from contextpack.history import NO_HISTORY, History
from contextpack.kinds import KINDS, kind_of
from contextpack.mappings import revised
from contextpack.model import Facts, Path, Skip
from contextpack.postings import (
    NO_POSTINGS,
    Postings,
    Replaced,
    Slots,
    replaced,
)
from contextpack.resolve import Tree
from contextpack.segment import IndexedFile

_KIND_NUMBERS: Mapping[str, int] = MappingProxyType({kind: n for n, kind in enumerate(KINDS)})


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a snapshot: what the shell knew when it read it, and its facts, encoded."""

    path: Path
    digest: str
    """Of the bytes on disk: a text read later belongs to these facts only if it is equal."""
    size_bytes: int
    modified: float
    """Seconds since the epoch."""
    language: str
    n_lines: int
    tokens: int
    outline: bytes
    """The facts as `codec.encoded` writes them: most are never looked at."""
    terms_digest: bytes
    """Of the terms, so that equal ones are known without them."""
    is_lossy: bool = False
    """Whether some bytes were no text in the encoding that was taken."""

    def says_the_same(self, other: "Source") -> bool:
        """Whether ranking and resolution cannot tell the two texts apart."""
        return (self.outline, self.terms_digest) == (other.outline, other.terms_digest)


@dataclass(frozen=True, slots=True)
class Reading:
    """A file that is new or has another text: its source, and its terms."""

    source: Source
    terms: bytes
    """As `codec.encoded_terms` writes them: thousands of readings are held at a time."""


def reading(
    path: Path,
    digest: str,
    size_bytes: int,
    modified: float,
    outline: bytes,
    terms: bytes,
    *,
    is_lossy: bool = False,
) -> Reading:
    """A file from its encoded facts and terms. The rest is as in `Source`.

    Raises `codec.Damaged`.
    """
    language, n_lines, tokens = decoded_head(outline)
    source = Source(
        path=path,
        digest=digest,
        size_bytes=size_bytes,
        modified=modified,
        language=language,
        n_lines=n_lines,
        tokens=tokens,
        outline=outline,
        terms_digest=hashlib.blake2b(terms, digest_size=8).digest(),
        is_lossy=is_lossy,
    )
    return Reading(source, terms)


@dataclass(frozen=True, slots=True)
class Change:
    """What is different in a workspace. A path stands in one of the first three at most."""

    read: tuple[Reading, ...] = ()
    restated: tuple[Source, ...] = ()
    """Known files with the same text, of which something else changed."""
    gone: frozenset[Path] = frozenset()
    skipped: tuple[Skip, ...] | None = None
    """What is left out of the workspace now; None where that is as before."""
    imported_only: frozenset[Path] | None = None
    """Files that are left out but may be imported, such as generated code; None: as before."""
    configs: Mapping[Path, str] = field(default_factory=dict)
    """The texts of those among the read ones that configure resolution."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a change cost, counted."""

    indexed: int
    """How many files' terms went into the postings."""
    merged: int
    """How many files' rows were copied into a merged segment."""
    resolved: tuple[tuple[Path, int], ...]
    """How many imports of which files were resolved, by path."""


NO_WORK = Work(0, 0, ())

SILENT = Said("", ())
"""Of a file that is only a target of imports: what it imports itself does not matter."""

# What is left of a column without a few places is sooner copied in pieces than item by item.
MAX_CUTS = 256

Columns = NDArray[np.object_]
C = TypeVar("C", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that ranking needs to know of a root, and what was left out of it."""

    sources: Mapping[Path, Source]
    """In no particular order."""
    skipped: tuple[Skip, ...]
    """Sorted by path."""
    graph: Graph
    postings: Postings
    paths: Columns
    """The path in each slot of the postings; dead slots keep theirs."""
    kinds: NDArray[np.uint8]
    """The number in `KINDS` of each slot's kind."""
    modified: NDArray[np.float64]
    """When each slot's file was changed, in seconds since the epoch."""
    slots: Mapping[Path, int]
    """The slot of each file."""
    importing: Slots
    """The importing end of each edge of the graph, as a slot."""
    imported: Slots
    """The imported end of each edge; parallel to `importing`."""
    history: History = NO_HISTORY
    """The commits that the files come from."""

    def facts(self, path: Path) -> Facts:
        """The facts of a file. They are decoded each time: ask for files that matter."""
        return decoded(self.sources[path].outline)

    def scopes(self, path: Path) -> tuple[Scope, ...]:
        """Where the definitions of a file stand, outermost first. Decoded each time too."""
        return decoded_scopes(self.sources[path].outline)

    def in_path_order(self) -> list[Source]:
        """The files, sorted by path."""
        return sorted(self.sources.values(), key=lambda source: source.path)


def snapshot(
    readings: Iterable[Reading],
    skipped: Iterable[Skip],
    *,
    configs: Mapping[Path, str],
    standard_library: frozenset[str],
) -> Snapshot:
    """The snapshot of these files, in whichever order they come."""
    read = tuple(sorted(readings, key=lambda reading: reading.source.path))
    change = Change(read=read, skipped=tuple(skipped), configs=configs)
    return applied(empty(standard_library), change)[0]


def empty(standard_library: frozenset[str]) -> Snapshot:
    """A workspace without a file, to which changes are applied."""
    return Snapshot(
        sources=MappingProxyType({}),
        skipped=(),
        graph=graph({}, Tree(frozenset(), {}, standard_library)),
        postings=NO_POSTINGS,
        paths=np.zeros(0, np.object_),
        kinds=np.zeros(0, np.uint8),
        modified=np.zeros(0, np.float64),
        slots=MappingProxyType({}),
        importing=np.zeros(0, np.int64),
        imported=np.zeros(0, np.int64),
    )


def applied(before: Snapshot, change: Change) -> tuple[Snapshot, Work]:
    """The snapshot after a change, and what making it cost."""
    if not (change.read or change.restated or change.gone) and (
        change.skipped is None and change.imported_only is None
    ):
        return before, NO_WORK
    indexed = [r for r in change.read if not _is_known(before, r.source)]
    written = (*(r.source for r in change.read), *change.restated)
    gone = change.gone & before.sources.keys()
    dead = [*gone, *(r.source.path for r in indexed)]
    said_anew: dict[Path, Said] = {}
    replacement = replaced(
        before.postings,
        [before.slots[path] for path in dead if path in before.slots],
        _indexable(indexed, said_anew),
    )
    said_anew.update(
        (r.source.path, said(decoded(r.source.outline)))
        for r in change.read
        if r.source.path not in said_anew
    )
    # Files of which only the configuration changed are not indexed, but resolve others' imports.
    known = before.graph.said.keys()
    silent = known - before.sources.keys() if change.imported_only is not None else set()
    also = change.imported_only or frozenset()
    made, work = updated(
        before.graph,
        said_anew | dict.fromkeys(also, SILENT),
        (gone | silent) - also - {r.source.path for r in change.read},
        change.configs,
    )
    kinds = [_KIND_NUMBERS[kind_of(r.source.path)] for r in indexed]
    modified = _column(before.modified, np.zeros(len(indexed)), replacement)
    paths = _column(before.paths, _objects([r.source.path for r in indexed]), replacement)
    slots = _slots(before, gone, replacement, paths)
    for source in written:
        modified[slots[source.path]] = source.modified
    importing, imported = _edges(before, made, work.moved, replacement, slots, dead)
    after = Snapshot(
        sources=revised(before.sources, {source.path: source for source in written}, gone),
        skipped=before.skipped if change.skipped is None else _sorted(change.skipped),
        graph=made,
        postings=replacement.postings,
        paths=paths,
        kinds=_column(before.kinds, np.array(kinds, np.uint8), replacement),
        modified=modified,
        slots=slots,
        importing=importing,
        imported=imported,
        history=before.history,
    )
    return after, Work(len(indexed), replacement.n_merged, work.resolved)


def _indexable(
    readings: Iterable[Reading], said_anew: dict[Path, Said]
) -> Iterator[IndexedFile]:
    """What the postings take of each file; what the graph takes of it goes into `said_anew`.

    Decoded one by one: the facts of thousands of files would be most of the memory.
    """
    for one in readings:
        facts = decoded(one.source.outline)
        said_anew[one.source.path] = said(facts)
        yield one.source.path, decoded_terms(one.terms), facts.chunks


def _is_known(before: Snapshot, source: Source) -> bool:
    known = before.sources.get(source.path)
    return known is not None and known.says_the_same(source)


def _objects(paths: Sequence[Path]) -> Columns:
    column = np.empty(len(paths), np.object_)
    column[:] = paths
    return column


def _sorted(skipped: Iterable[Skip]) -> tuple[Skip, ...]:
    return tuple(sorted(skipped, key=lambda skip: (skip.path, skip.reason)))


def _column(before: NDArray[C], new: NDArray[C], replacement: Replaced) -> NDArray[C]:
    """A column by slot after a change, from the one before and that of the new files."""
    n_same, origins = replacement.n_same, replacement.origins
    behind = np.concatenate([before[n_same:], new])[origins - n_same]
    return np.concatenate([before[:n_same], behind])


def _slots(
    before: Snapshot, gone: Iterable[Path], replacement: Replaced, paths: Columns
) -> Mapping[Path, int]:
    """Where each file is now: those in front are where they were."""
    alive, n_same = replacement.postings.is_alive, replacement.n_same
    behind = {
        path: slot for slot, path in enumerate(paths[n_same:].tolist(), n_same) if alive[slot]
    }
    return revised(before.slots, behind, gone)


def edges(
    imports: Mapping[Path, tuple[Path, ...]], slots: Mapping[Path, int], sources: Iterable[Path]
) -> tuple[Slots, Slots]:
    """The edges of these sources as slots: the importing ends, and the imported ones."""
    pairs = [
        (slots[source], slots[target])
        for source in sources
        for target in imports.get(source, ())
        if target in slots
    ]
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def _edges(
    before: Snapshot,
    after: Graph,
    moved: frozenset[Path],
    replacement: Replaced,
    slots: Mapping[Path, int],
    changed: Iterable[Path],
) -> tuple[Slots, Slots]:
    """The edges after a change: those of files that import others than before are new.

    `changed` are the files with another slot than their old one's origin, or none.
    """
    n_same, origins, n_old = replacement.n_same, replacement.origins, before.postings.n_slots
    now = np.arange(n_old)
    stays = origins < n_old
    now[origins[stays]] = np.flatnonzero(stays) + n_same
    is_concerned = np.zeros(n_old, np.bool_)
    is_concerned[n_same:] = True
    is_concerned[[before.slots[path] for path in moved if path in before.slots]] = True
    for path in changed:
        if path in before.slots:
            slot = before.slots[path]
            now[slot], is_concerned[slot] = slots.get(path, -1), True
    # Nearly all edges stay as they are.
    concerned = np.flatnonzero(is_concerned[before.importing] | is_concerned[before.imported])
    importing, imported = now[before.importing[concerned]], now[before.imported[concerned]]
    own = [slots[path] for path in moved if path in slots]
    kept = (importing >= 0) & ~np.isin(importing, own)
    new_importing, new_imported = edges(after.imports, slots, moved)
    return (
        np.concatenate(
            [*_without(before.importing, concerned), importing[kept], new_importing]
        ),
        np.concatenate([*_without(before.imported, concerned), imported[kept], new_imported]),
    )


def _without(column: Slots, places: Slots) -> Iterable[Slots]:
    """The parts of a column that stand between these places, which ascend."""
    if len(places) > MAX_CUTS:
        return [np.delete(column, places)]
    cuts = pairwise([-1, *places.tolist(), len(column)])
    return [column[before + 1 : after] for before, after in cuts]
