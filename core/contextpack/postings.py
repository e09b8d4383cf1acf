"""Which term stands in which chunk of which file: an inverted index in immutable segments.

A file that changes gets new rows in a new segment, and its old rows count no more. Segments are
merged like a log-structured tree (O'Neil et al. 1996): whenever one is not much larger than what
came after it. So a change costs in proportion to what changed, some times over, and a query
looks into few segments.

The slots of files and the numbers of chunks run through all segments.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from contextpack.segment import (
    MAX_RARE,
    Bools,
    Counts,
    IndexedFile,
    Ints,
    Rows,
    Segment,
    merged_segment,
    segment_of,
)
from contextpack.text import Lines

Slots = NDArray[np.int64]

# A segment is merged with those after it unless it has so many times their postings: a posting
# is copied about this often for each fourfold growth of the index.
MERGE_RATIO = 4

# A segment with fewer living files is copied, to be rid of the dead ones.
MIN_ALIVE_SHARE = 0.5

# So many files are made a segment at once: their arrays fit a cache, and memory stays bounded.
BATCH_FILES = 2048

# If more files of a segment die at once, what lives of its common terms is counted anew.
MAX_COUNTED_OFF = 16


@dataclass(frozen=True, slots=True)
class Hits:
    """The documents that hold a term, ascending over all segments; dead ones are left out."""

    documents: Slots
    uses: Counts
    names: Counts


_NO_HITS = Hits(np.zeros(0, np.int64), np.zeros(0, np.uint16), np.zeros(0, np.uint16))


@dataclass(frozen=True, slots=True)
class Common:
    """The terms that stand in more than `MAX_RARE` chunks of a segment, dead ones counted.

    They are few and have most postings; of the others too few are dead to matter.
    """

    terms: Ints
    """Ascending."""
    n_living: Ints
    """In how many living chunks each stands."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The inverted index of a snapshot. Slots number its files, dead ones among them."""

    segments: tuple[Segment, ...]
    is_alive: Bools
    """By slot: whether the file's rows still count."""
    first_chunks: Slots
    """The chunks of slot `s` are `first_chunks[s]:first_chunks[s + 1]`."""
    chunk_slots: Slots
    """The slot of each chunk."""
    chunk_lengths: Slots
    """How many terms each chunk's text has; 0 for dead ones."""
    n_stem_terms: Slots
    """By slot: how many terms the file's name has."""
    common: tuple[Common, ...]
    """By segment."""
    n_files: int
    """How many files are alive."""
    n_chunks: int
    """How many chunks they have."""

    @property
    def n_slots(self) -> int:
        """How many slots there are."""
        return len(self.is_alive)

    def in_chunks(self, term: str) -> Hits:
        """The chunks that hold a term."""
        return self._hits(term, "chunks")

    def in_directories(self, term: str) -> Hits:
        """The slots of the files whose directories hold a term."""
        return self._hits(term, "directories")

    def in_stems(self, term: str) -> Hits:
        """The slots of the files whose names hold a term."""
        return self._hits(term, "stems")

    def chunk(self, number: int) -> tuple[Lines, int]:
        """The lines and the tokens of a chunk."""
        ((start, end, tokens),) = self.chunk_table(np.array([number])).tolist()
        return Lines(start, end), tokens

    def chunk_table(self, numbers: Slots) -> Ints:
        """For each of these chunks its first line, its last line, and its tokens."""
        if len(self.segments) == 1:
            return self.segments[0].chunk_table[numbers]
        assert int(numbers.max(initial=-1)) < len(self.chunk_slots), "no such chunk"
        table = np.empty((len(numbers), 3), np.int32)
        first = 0
        for segment in self.segments:
            end = first + len(segment.chunk_table)
            own = np.flatnonzero((numbers >= first) & (numbers < end))
            table[own] = segment.chunk_table[numbers[own] - first]
            first = end
        return table

    def has(self, term: str) -> bool:
        """Whether a term stands anywhere."""
        if not any(term in segment.vocabulary for segment in self.segments):
            return False
        fields = (self.in_chunks, self.in_stems, self.in_directories)
        return any(len(hits(term).documents) for hits in fields)

    def _hits(self, term: str, field: str) -> Hits:
        found: list[Hits] = []
        slot = 0
        for segment in self.segments:
            number = segment.vocabulary.get(term)
            first = int(self.first_chunks[slot]) if field == "chunks" else slot
            slot += segment.n_files
            if number >= 0:
                rows: Rows = getattr(segment, field)
                documents, uses, names = rows.of(number)
                if len(documents):
                    found.append(Hits(documents.astype(np.int64) + first, uses, names))
        if not found:
            return _NO_HITS
        hits = found[0] if len(found) == 1 else _chained(found)
        if self.n_files == self.n_slots:
            return hits
        slots = self.chunk_slots[hits.documents] if field == "chunks" else hits.documents
        alive = self.is_alive[slots]
        return Hits(hits.documents[alive], hits.uses[alive], hits.names[alive])


def _chained(found: Sequence[Hits]) -> Hits:
    return Hits(
        np.concatenate([hits.documents for hits in found]),
        np.concatenate([hits.uses for hits in found]),
        np.concatenate([hits.names for hits in found]),
    )


@dataclass(frozen=True, slots=True)
class Replaced:
    """An index after a change, and where its files' slots come from."""

    postings: Postings
    n_same: int
    """How many slots in front are those that they were."""
    origins: Slots
    """For each slot behind those the old slot, or the number of old slots plus the place among the
    new files."""
    n_merged: int
    """How many files' rows were copied into a merged segment."""


def postings(segments: Sequence[Segment], is_alive: Bools) -> Postings:
    """The index that these segments are. `is_alive` is by slot, through all of them."""
    n_chunks = [np.diff(segment.first_chunks) for segment in segments]
    by_slot = np.concatenate([np.zeros(0, np.int64), *n_chunks]).astype(np.int64)
    first_chunks = np.concatenate([np.zeros(1, np.int64), np.cumsum(by_slot)])
    chunk_slots = np.repeat(np.arange(len(by_slot)), by_slot)
    lengths = np.concatenate([np.zeros(0, np.int64), *(s.chunk_lengths for s in segments)])
    alive_chunks = is_alive[chunk_slots]
    firsts = np.cumsum([len(segment.chunk_lengths) for segment in segments])
    living = np.split(alive_chunks, firsts[:-1]) if segments else []
    return Postings(
        segments=tuple(segments),
        is_alive=is_alive,
        first_chunks=first_chunks,
        chunk_slots=chunk_slots,
        chunk_lengths=np.where(alive_chunks, lengths, 0),
        n_stem_terms=np.concatenate(
            [np.zeros(0, np.int64), *(s.n_stem_terms for s in segments)]
        ),
        common=tuple(map(_common, segments, living)),
        n_files=int(is_alive.sum()),
        n_chunks=int(alive_chunks.sum()),
    )


def _common(segment: Segment, is_living: Bools) -> Common:
    """`is_living` is by chunk of the segment."""
    rows = segment.chunks
    lengths = np.diff(rows.starts)
    terms = np.flatnonzero(lengths > MAX_RARE).astype(np.int32)
    lengths = lengths[terms]
    if len(terms) and not is_living.all():
        at = ranges(rows.starts[terms].astype(np.int64), lengths)
        begins = np.cumsum(lengths) - lengths
        lengths = np.add.reduceat(is_living[rows.documents[at]], begins, dtype=np.int32)
    return Common(terms, lengths)


NO_POSTINGS = postings((), np.zeros(0, np.bool_))


def replaced(before: Postings, dead: Iterable[int], files: Iterable[IndexedFile]) -> Replaced:
    """The index without the files in the slots of `dead`, and with these files at its end."""
    dead, rest = list(dead), iter(files)
    made: list[Segment] = []
    while batch := list(islice(rest, BATCH_FILES)):
        made.append(segment_of(batch))
    if not dead and not made:
        return Replaced(before, before.n_slots, np.zeros(0, np.int64), 0)
    n_new = sum(segment.n_files for segment in made)
    is_alive = np.concatenate([before.is_alive, np.ones(n_new, np.bool_)])
    is_alive[dead] = False
    segments = [*before.segments, *made]
    keep = _n_kept(segments, is_alive)
    first = sum(segment.n_files for segment in segments[:keep])
    n_same = min(first, before.n_slots)
    origins = np.arange(n_same, len(is_alive))
    n_merged = 0
    if keep < len(segments):
        alive = is_alive[first:]
        merged = merged_segment(segments[keep:], alive)
        segments = [*segments[:keep], *([merged] if merged.n_files else [])]
        origins = np.concatenate([origins[: first - n_same], np.flatnonzero(alive) + first])
        is_alive = np.concatenate([is_alive[:first], alive[alive]])
        n_merged = merged.n_files
    n_front = min(keep, len(before.segments))
    after = _extended(before, n_same, segments, n_front, is_alive)
    return Replaced(after, n_same, origins, n_merged)


def _extended(
    before: Postings, n_same: int, segments: Sequence[Segment], n_front: int, is_alive: Bools
) -> Postings:
    """What `postings` makes, of an index whose first segments and slots are those of another one.

    All arrays of the whole index are made by copying what stays.
    """
    kept, tail = before.first_chunks[: n_same + 1], segments[n_front:]
    n_kept = int(kept[-1])
    n_chunks = [np.diff(segment.first_chunks) for segment in tail]
    by_slot = np.concatenate([np.zeros(0, np.int64), *n_chunks])
    chunk_lengths = np.concatenate(
        [before.chunk_lengths[:n_kept], *(segment.chunk_lengths for segment in tail)]
    )
    first_chunks = np.concatenate([kept, n_kept + np.cumsum(by_slot)])
    dead = np.flatnonzero(before.is_alive[:n_same] & ~is_alive[:n_same])
    for slot in dead.tolist():
        chunk_lengths[first_chunks[slot] : first_chunks[slot + 1]] = 0
    slots_behind = np.repeat(np.arange(n_same, len(is_alive)), by_slot)
    return Postings(
        segments=tuple(segments),
        is_alive=is_alive,
        first_chunks=first_chunks,
        chunk_slots=np.concatenate([before.chunk_slots[:n_kept], slots_behind]),
        chunk_lengths=chunk_lengths,
        n_stem_terms=np.concatenate(
            [before.n_stem_terms[:n_same], *(segment.n_stem_terms for segment in tail)]
        ),
        common=(
            *_common_without(before, n_front, dead, is_alive),
            *(
                _common(segment, np.ones(len(segment.chunk_lengths), np.bool_))
                for segment in tail
            ),
        ),
        n_files=int(np.count_nonzero(is_alive)),
        n_chunks=int(np.diff(first_chunks)[is_alive].sum()),
    )


def _common_without(
    before: Postings, n_front: int, dead: Slots, is_alive: Bools
) -> Iterable[Common]:
    """The common terms of the first segments, of which the files in these slots died."""
    first = 0
    for segment, common in zip(before.segments[:n_front], before.common, strict=False):
        end = first + segment.n_files
        files = dead[(dead >= first) & (dead < end)] - first
        if len(files) > MAX_COUNTED_OFF:
            is_living = np.repeat(is_alive[first:end], np.diff(segment.first_chunks))
            yield _common(segment, is_living)
        else:
            n_living = common.n_living
            for file in files.tolist():
                chunks = segment.first_chunks[file : file + 2].tolist()
                n_living = n_living - _n_within(segment.chunks, common.terms, *chunks)
            yield Common(common.terms, n_living)
        first = end


def _n_within(rows: Rows, terms: Ints, first: int, end: int) -> Ints:
    """In how many of the documents from the first up to the end each term stands."""
    starts, ends = rows.starts[terms], rows.starts[terms + 1]
    begins = _places(rows, starts, ends, first)
    # A document stands in a row once.
    return _places(rows, begins, np.minimum(begins + (end - first), ends), end) - begins


def _places(rows: Rows, starts: Ints, ends: Ints, document: int) -> Ints:
    """Where in each of these parts of rows a document stands, or would: all are halved at once."""
    found = starts.copy()
    waiting = np.flatnonzero(starts < ends)
    low, high = starts[waiting], ends[waiting]
    while len(waiting):
        middle = (low + high) >> 1
        is_before = rows.documents[middle] < document
        low, high = np.where(is_before, middle + 1, low), np.where(is_before, high, middle)
        found[waiting] = low
        is_open = low < high
        if not is_open.all():
            waiting, low, high = waiting[is_open], low[is_open], high[is_open]
    return found


def _n_kept(segments: Sequence[Segment], is_alive: Bools) -> int:
    """How many segments at the front stay as they are; those behind become one."""
    if not segments:
        return 0
    weights: list[float] = []
    first_sparse = len(segments)
    slot = 0
    for number, segment in enumerate(segments):
        alive = is_alive[slot : slot + segment.n_files]
        slot += segment.n_files
        share = float(alive.mean())
        # Dead rows weigh nothing: they are not copied.
        weights.append(share * len(segment.chunks.documents))
        if share < MIN_ALIVE_SHARE:
            first_sparse = min(first_sparse, number)
    keep = len(segments) - 1
    behind = weights[keep]
    while keep and weights[keep - 1] <= MERGE_RATIO * behind:
        keep -= 1
        behind += weights[keep]
    if keep == len(segments) - 1:
        keep = len(segments)
    return min(keep, first_sparse)


def ranges(starts: Slots, lengths: Slots) -> Slots:
    """The numbers `start, start + 1, ...` of each range, one range after the other."""
    offsets = np.cumsum(lengths) - lengths
    return np.repeat(starts - offsets, lengths) + np.arange(int(lengths.sum()))
