"""Which term stands in which chunk of which file: the inverted index of one snapshot.

Arrays in compressed sparse rows: the postings of term `t` are `starts[t]:starts[t + 1]` of the
parallel arrays, in the order of chunks. Chunks are numbered through the files in path order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from contextpack.model import Path, TermCounts
from contextpack.terms import terms, words

Ints = NDArray[np.int64]
Counts = NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Rows:
    """Postings of one field: for each term its documents and one count for each of them."""

    starts: Ints
    documents: Ints
    counts: Counts

    def of(self, term: int) -> tuple[Ints, Counts]:
        """The documents that hold a term, ascending, and how often each does."""
        row = slice(int(self.starts[term]), int(self.starts[term + 1]))
        return self.documents[row], self.counts[row]


@dataclass(frozen=True, slots=True)
class Postings:
    """The inverted index. `chunks` of file `f` are `first_chunks[f]:first_chunks[f + 1]`."""

    vocabulary: Mapping[str, int]
    body: Rows
    """In a chunk's text."""
    names: Rows
    """Among the names that a chunk defines or stands in. Documents are chunks."""
    directories: Rows
    """In a file's directories. Documents are files."""
    stems: Rows
    """In a file's name without its suffixes. Documents are files."""
    chunk_files: Ints
    first_chunks: Ints
    chunk_lengths: Ints
    """How many terms a chunk's text has, repetitions counted."""

    @property
    def n_chunks(self) -> int:
        """How many chunks there are in all files."""
        return len(self.chunk_files)

    @property
    def n_files(self) -> int:
        """How many files there are, those without chunks included."""
        return len(self.first_chunks) - 1


def postings(files: Sequence[tuple[Path, TermCounts, int]]) -> Postings:
    """The index of files in path order: each with its term counts and its number of chunks."""
    vocabulary: dict[str, int] = {}
    term_runs: list[NDArray[np.int64]] = []
    chunk_runs: list[NDArray[np.int64]] = []
    body_runs: list[Counts] = []
    name_runs: list[Counts] = []
    n_chunks = [0]
    for _, counts, n in files:
        ids = _ids(counts.vocabulary.split("\n") if counts.vocabulary else (), vocabulary)
        term_runs.append(ids[np.frombuffer(counts.terms, "<u4")])
        chunk_runs.append(np.frombuffer(counts.chunks, "<u4").astype(np.int64) + n_chunks[-1])
        body_runs.append(np.frombuffer(counts.body, "<u2"))
        name_runs.append(np.frombuffer(counts.names, "<u2"))
        n_chunks.append(n_chunks[-1] + n)
    directories, stems = _path_rows([path for path, _, _ in files], vocabulary)
    in_term = np.concatenate([np.zeros(0, np.int64), *term_runs])
    in_chunk = np.concatenate([np.zeros(0, np.int64), *chunk_runs])
    body = np.concatenate([np.zeros(0, np.uint16), *body_runs])
    names = np.concatenate([np.zeros(0, np.uint16), *name_runs])
    first_chunks = np.array(n_chunks, np.int64)
    n_terms = len(vocabulary)
    return Postings(
        vocabulary=MappingProxyType(vocabulary),
        body=_rows(in_term, in_chunk, body, n_terms),
        names=_rows(in_term, in_chunk, names, n_terms),
        directories=_rows(*directories, n_terms),
        stems=_rows(*stems, n_terms),
        chunk_files=np.repeat(np.arange(len(files)), np.diff(first_chunks)),
        first_chunks=first_chunks,
        chunk_lengths=np.bincount(in_chunk, weights=body, minlength=n_chunks[-1]).astype(
            np.int64
        ),
    )


def _ids(found: Iterable[str], vocabulary: dict[str, int]) -> Ints:
    return np.array([vocabulary.setdefault(term, len(vocabulary)) for term in found], np.int64)


def _rows(in_term: Ints, documents: Ints, counts: Counts, n_terms: int) -> Rows:
    present = counts > 0
    in_term, documents, counts = in_term[present], documents[present], counts[present]
    order = np.argsort(in_term, kind="stable")
    starts = np.zeros(n_terms + 1, np.int64)
    np.cumsum(np.bincount(in_term, minlength=n_terms), out=starts[1:])
    return Rows(starts, documents[order], counts[order])


_Triple = tuple[Ints, Ints, Counts]


def _path_rows(paths: Sequence[Path], vocabulary: dict[str, int]) -> tuple[_Triple, _Triple]:
    known: dict[str, Ints] = {}

    def ids(text: str) -> Ints:
        if text not in known:
            found = dict.fromkeys(term for word in words(text) for term in terms(word))
            known[text] = _ids(found, vocabulary)
        return known[text]

    def triple(texts: list[str]) -> _Triple:
        runs = [ids(text) for text in texts]
        documents = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
        in_term = np.concatenate([np.zeros(0, np.int64), *runs])
        return in_term, documents, np.ones(len(in_term), np.uint16)

    directories = triple([path.rpartition("/")[0] for path in paths])
    stems = triple([stem_of(path) for path in paths])
    return directories, stems


def stem_of(path: Path) -> str:
    """A file's name up to its first inner dot; `__init__` and `index` speak for their directory."""
    directory, _, name = path.rpartition("/")
    stem = name[:1] + name[1:].partition(".")[0]
    if stem in ("__init__", "index", "mod", "main") and directory:
        return directory.rpartition("/")[2]
    return stem
