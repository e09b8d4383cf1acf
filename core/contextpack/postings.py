"""Which term stands in which chunk of which file: an inverted index in immutable segments.

A file that changes gets new rows in a new segment, and its old rows count no more. Segments are
merged like a log-structured tree (O'Neil et al. 1996): whenever one is not much larger than what
came after it. So a change costs in proportion to what changed, some times over, and a query
looks into few segments.

A segment holds arrays in compressed sparse rows: the postings of term `t` are
`starts[t]:starts[t + 1]` of the parallel arrays, ascending by document. The slots of files and
the numbers of chunks run through all segments.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from contextpack.model import Chunk, Path, TermCounts
from contextpack.terms import terms, words
from contextpack.text import Lines
from contextpack.vocabulary import Numbers, Vocabulary, encoded, numbered, numbers, of_encoded

Ints = NDArray[np.int32]
Counts = NDArray[np.uint16]
Bools = NDArray[np.bool_]
Slots = NDArray[np.int64]

# A segment is merged with those after it unless it has so many times their postings: a posting
# is copied about this often for each fourfold growth of the index.
MERGE_RATIO = 4

# A segment with fewer living files is copied, to be rid of the dead ones.
MIN_ALIVE_SHARE = 0.5

# A term that stands in more chunks of a segment is not among those that are kept by chunk: they
# are there for what a few chunks have in common, and rare terms are a quarter of all postings.
MAX_RARE = 64

# So many files are made a segment at once: their arrays fit a cache, and memory stays bounded.
BATCH_FILES = 2048


@dataclass(frozen=True, slots=True)
class Rows:
    """Postings: for each term its documents, and in each how often it stands where."""

    starts: Ints
    documents: Ints
    uses: Counts
    names: Counts
    """Among the names that the document defines or stands in; all zero for paths."""

    def of(self, term: int) -> tuple[Ints, Counts, Counts]:
        """The documents that hold a term, ascending, with its uses and names in each."""
        row = slice(self.starts.item(term), self.starts.item(term + 1))
        return self.documents[row], self.uses[row], self.names[row]


@dataclass(frozen=True, slots=True)
class Segment:
    """The postings of some files. Documents are numbered within the segment."""

    vocabulary: Vocabulary
    chunks: Rows
    """Documents are chunks."""
    directories: Rows
    """The terms of a file's directories. Documents are files."""
    stems: Rows
    """The terms of a file's name without its suffixes. Documents are files."""
    first_chunks: Ints
    """The chunks of file `f` are `first_chunks[f]:first_chunks[f + 1]`."""
    rare_starts: Ints
    """The rare terms of chunk `c` are `rare_terms[rare_starts[c]:rare_starts[c + 1]]`."""
    rare_terms: Ints
    """Numbers of terms that stand in at most `MAX_RARE` chunks, dead ones counted."""
    is_defined: Bools
    """By term: whether a chunk defines it."""
    chunk_lengths: Ints
    """How many terms a chunk's text has, repetitions counted."""
    chunk_table: Ints
    """For each chunk its first line, its last line, and its tokens."""
    n_stem_terms: Ints
    """By file: how many terms its name has, of which a save of another file changes nothing."""

    @property
    def n_files(self) -> int:
        """How many files have rows here, dead ones included."""
        return len(self.first_chunks) - 1


@dataclass(frozen=True, slots=True)
class Hits:
    """The documents that hold a term, ascending over all segments; dead ones are left out."""

    documents: Slots
    uses: Counts
    names: Counts


_NO_HITS = Hits(np.zeros(0, np.int64), np.zeros(0, np.uint16), np.zeros(0, np.uint16))


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


IndexedFile = tuple[Path, TermCounts, Sequence[Chunk]]
"""A path, and the terms and chunks of its text."""


def postings(segments: Sequence[Segment], is_alive: Bools) -> Postings:
    """The index that these segments are. `is_alive` is by slot, through all of them."""
    n_chunks = [np.diff(segment.first_chunks) for segment in segments]
    by_slot = np.concatenate([np.zeros(0, np.int64), *n_chunks]).astype(np.int64)
    first_chunks = np.concatenate([np.zeros(1, np.int64), np.cumsum(by_slot)])
    chunk_slots = np.repeat(np.arange(len(by_slot)), by_slot)
    lengths = np.concatenate([np.zeros(0, np.int64), *(s.chunk_lengths for s in segments)])
    alive_chunks = is_alive[chunk_slots]
    return Postings(
        segments=tuple(segments),
        is_alive=is_alive,
        first_chunks=first_chunks,
        chunk_slots=chunk_slots,
        chunk_lengths=np.where(alive_chunks, lengths, 0),
        n_stem_terms=np.concatenate(
            [np.zeros(0, np.int64), *(s.n_stem_terms for s in segments)]
        ),
        n_files=int(is_alive.sum()),
        n_chunks=int(alive_chunks.sum()),
    )


NO_POSTINGS = postings((), np.zeros(0, np.bool_))


def replaced(before: Postings, dead: Iterable[int], files: Iterable[IndexedFile]) -> Replaced:
    """The index without the files in the slots of `dead`, and with these files at its end."""
    dead, rest = list(dead), iter(files)
    made: list[Segment] = []
    while batch := list(islice(rest, BATCH_FILES)):
        made.append(_segment(batch))
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
        merged = _merged(segments[keep:], alive)
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
    for slot in np.flatnonzero(before.is_alive[:n_same] & ~is_alive[:n_same]).tolist():
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
        n_files=int(np.count_nonzero(is_alive)),
        n_chunks=int(np.diff(first_chunks)[is_alive].sum()),
    )


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


def n_terms_each(rows: Rows, n_documents: int) -> Ints:
    """How many terms each document has."""
    return np.bincount(rows.documents, minlength=n_documents).astype(np.int32)


def _defined(rows: Rows) -> Bools:
    """By term: whether a chunk defines it."""
    places = np.flatnonzero(rows.names)
    found = np.zeros(len(rows.starts) - 1, np.bool_)
    found[np.searchsorted(rows.starts, places, side="right") - 1] = True
    return found


def _segment(files: Sequence[IndexedFile]) -> Segment:
    vocabulary = numbers()
    term_runs: list[Ints] = []
    chunk_runs: list[Ints] = []
    first_chunks = [0]
    for _, counts, chunks in files:
        terms_here = counts.vocabulary.split("\n") if counts.vocabulary else []
        ids = numbered(list(map(encoded, terms_here)), vocabulary)
        term_runs.append(ids[np.frombuffer(counts.terms, "<u4")])
        chunk_runs.append(
            np.frombuffer(counts.chunks, "<u4").astype(np.int32) + first_chunks[-1]
        )
        first_chunks.append(first_chunks[-1] + len(chunks))
    directories, stems = _path_runs([path for path, _, _ in files], vocabulary)
    in_chunk = np.concatenate(chunk_runs)
    uses = np.frombuffer(b"".join(counts.body for _, counts, _ in files), "<u2")
    names = np.frombuffer(b"".join(counts.names for _, counts, _ in files), "<u2")
    n_terms = len(vocabulary)
    rows = _rows(np.concatenate(term_runs), in_chunk, uses, names, n_terms)
    stem_rows = _path_rows(*stems, n_terms)
    rare_starts, rare_terms = _by_chunk(rows, first_chunks[-1])
    return Segment(
        vocabulary=of_encoded(vocabulary),
        chunks=rows,
        directories=_path_rows(*directories, n_terms),
        stems=stem_rows,
        first_chunks=np.array(first_chunks, np.int32),
        rare_starts=rare_starts,
        rare_terms=rare_terms,
        is_defined=_defined(rows),
        chunk_lengths=_lengths(in_chunk, uses, first_chunks[-1]),
        chunk_table=_table([chunk for _, _, chunks in files for chunk in chunks]),
        n_stem_terms=n_terms_each(stem_rows, len(files)),
    )


def _table(chunks: Sequence[Chunk]) -> Ints:
    rows = [(chunk.lines.start, chunk.lines.end, chunk.tokens) for chunk in chunks]
    return np.array(rows, np.int32).reshape(-1, 3)


def _merged(segments: Sequence[Segment], is_alive: Bools) -> Segment:
    """The living files of some segments as one segment."""
    vocabulary = numbers()
    chunk_runs: list[_Run] = []
    directory_runs: list[_Run] = []
    stem_runs: list[_Run] = []
    n_chunks: list[Ints] = []
    lengths: list[Ints] = []
    tables: list[Ints] = []
    n_files = n_all_chunks = slot = 0
    for segment in segments:
        alive = is_alive[slot : slot + segment.n_files]
        slot += segment.n_files
        ids = numbered(segment.vocabulary.encoded(), vocabulary)
        chunks_each = np.diff(segment.first_chunks)
        alive_chunks = np.repeat(alive, chunks_each)
        chunk_runs.append(_kept(segment.chunks, alive_chunks, n_all_chunks, ids))
        directory_runs.append(_kept(segment.directories, alive, n_files, ids))
        stem_runs.append(_kept(segment.stems, alive, n_files, ids))
        n_chunks.append(chunks_each[alive])
        lengths.append(segment.chunk_lengths[alive_chunks])
        tables.append(segment.chunk_table[alive_chunks])
        n_files += int(alive.sum())
        n_all_chunks += int(alive_chunks.sum())
    n_terms = len(vocabulary)
    ends = np.cumsum(np.concatenate(n_chunks), dtype=np.int32)
    rows = _rows_of(chunk_runs, n_terms)
    stem_rows = _rows_of(stem_runs, n_terms)
    rare_starts, rare_terms = _by_chunk(rows, n_all_chunks)
    return Segment(
        vocabulary=of_encoded(vocabulary),
        chunks=rows,
        directories=_rows_of(directory_runs, n_terms),
        stems=stem_rows,
        first_chunks=np.concatenate([np.zeros(1, np.int32), ends]),
        rare_starts=rare_starts,
        rare_terms=rare_terms,
        is_defined=_defined(rows),
        chunk_lengths=np.concatenate(lengths),
        chunk_table=np.concatenate(tables),
        n_stem_terms=n_terms_each(stem_rows, n_files),
    )


_Run = tuple[Ints, Ints, Counts, Counts]
"""Postings in any order: terms, documents, uses and names."""


def _rows_of(runs: Sequence[_Run], n_terms: int) -> Rows:
    return _rows(
        np.concatenate([run[0] for run in runs]),
        np.concatenate([run[1] for run in runs]),
        np.concatenate([run[2] for run in runs]),
        np.concatenate([run[3] for run in runs]),
        n_terms,
    )


def _kept(rows: Rows, keep: Bools, first: int, ids: Ints) -> _Run:
    """The postings of the documents to keep: new term ids, documents from `first` on, counts."""
    in_term = np.repeat(ids, np.diff(rows.starts))
    places = (np.cumsum(keep) - 1 + first).astype(np.int32)
    alive = slice(None) if keep.all() else keep[rows.documents]
    return in_term[alive], places[rows.documents[alive]], rows.uses[alive], rows.names[alive]


def _lengths(in_chunk: Ints, uses: Counts, n_chunks: int) -> Ints:
    return np.bincount(in_chunk, weights=uses, minlength=n_chunks).astype(np.int32)


def _rows(in_term: Ints, documents: Ints, uses: Counts, names: Counts, n_terms: int) -> Rows:
    order = np.argsort(in_term, kind="stable")
    return Rows(_starts(in_term, n_terms), documents[order], uses[order], names[order])


def _starts(numbers: Ints, n: int) -> Ints:
    """Where the runs of the numbers below `n` begin in sorted ones, and where the last ends."""
    starts = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(numbers, minlength=n), out=starts[1:])
    return starts


def _by_chunk(rows: Rows, n_chunks: int) -> tuple[Ints, Ints]:
    """The rare terms of each chunk: where each chunk's begin, and the terms."""
    lengths = np.diff(rows.starts)
    is_rare = lengths <= MAX_RARE
    documents = rows.documents[np.repeat(is_rare, lengths)]
    terms = np.repeat(np.flatnonzero(is_rare).astype(np.int32), lengths[is_rare])
    return _starts(documents, n_chunks), terms[np.argsort(documents, kind="stable")]


def _path_rows(in_term: Ints, documents: Ints, n_terms: int) -> Rows:
    ones = np.ones(len(in_term), np.uint16)
    return _rows(in_term, documents, ones, np.zeros(len(in_term), np.uint16), n_terms)


_Runs = tuple[Ints, Ints]
"""The terms of paths, and the files that they stand in."""


def _path_runs(paths: Sequence[Path], vocabulary: Numbers) -> tuple[_Runs, _Runs]:
    known: dict[str, Ints] = {}

    def ids(text: str) -> Ints:
        if text not in known:
            found = dict.fromkeys(term for word in words(text) for term in terms(word))
            known[text] = numbered(list(map(encoded, found)), vocabulary)
        return known[text]

    def runs(texts: list[str]) -> _Runs:
        found = [ids(text) for text in texts]
        documents = np.repeat(np.arange(len(found)), [len(run) for run in found])
        return np.concatenate(found), documents.astype(np.int32)

    directories = runs([path.rpartition("/")[0] for path in paths])
    stems = runs([stem_of(path) for path in paths])
    return directories, stems


def ranges(starts: Slots, lengths: Slots) -> Slots:
    """The numbers `start, start + 1, ...` of each range, one range after the other."""
    offsets = np.cumsum(lengths) - lengths
    return np.repeat(starts - offsets, lengths) + np.arange(int(lengths.sum()))


def stem_of(path: Path) -> str:
    """A file's name up to its first inner dot; `__init__` and `index` speak for their directory."""
    directory, _, name = path.rpartition("/")
    stem = name[:1] + name[1:].partition(".")[0]
    if stem in ("__init__", "index", "mod", "main") and directory:
        return directory.rpartition("/")[2]
    return stem
