"""The postings of some files: which term stands in which of their chunks, names and directories.

The arrays are compressed sparse rows: the postings of term `t` are `starts[t]:starts[t + 1]` of
the parallel arrays, ascending by document. Segments are immutable; several become one by copying
the rows of their living files.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextpack.model import Chunk, Path, TermCounts
from contextpack.terms import terms, words
from contextpack.vocabulary import Numbers, Vocabulary, encoded, numbered, numbers, of_encoded

Ints = NDArray[np.int32]
Counts = NDArray[np.uint16]
Bools = NDArray[np.bool_]

# A term that stands in more chunks of a segment is not among those that are kept by chunk: they
# are there for what a few chunks have in common, and rare terms are a quarter of all postings.
MAX_RARE = 64


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
    """By file: how many terms its name has."""

    @property
    def n_files(self) -> int:
        """How many files have rows here, dead ones included."""
        return len(self.first_chunks) - 1


IndexedFile = tuple[Path, TermCounts, Sequence[Chunk]]
"""A path, and the terms and chunks of its text."""


def n_terms_each(rows: Rows, n_documents: int) -> Ints:
    """How many terms each document has."""
    return np.bincount(rows.documents, minlength=n_documents).astype(np.int32)


def _defined(rows: Rows) -> Bools:
    """By term: whether a chunk defines it."""
    places = np.flatnonzero(rows.names)
    found = np.zeros(len(rows.starts) - 1, np.bool_)
    found[np.searchsorted(rows.starts, places, side="right") - 1] = True
    return found


def segment_of(files: Sequence[IndexedFile]) -> Segment:
    """The segment of these files, in this order."""
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


def merged_segment(segments: Sequence[Segment], is_alive: Bools) -> Segment:
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


def stem_of(path: Path) -> str:
    """A file's name up to its first inner dot; `__init__` and `index` speak for their directory."""
    directory, _, name = path.rpartition("/")
    stem = name[:1] + name[1:].partition(".")[0]
    if stem in ("__init__", "index", "mod", "main") and directory:
        return directory.rpartition("/")[2]
    return stem
