"""A snapshot and a query to scored files and chunks, each score with its parts.

Every signal is a pure function of the snapshot with a name and a weight of its own. Scores are
rounded before they are compared, so that the last bit of a machine's arithmetic never decides.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from contextpack.kinds import Kind, kind_of
from contextpack.model import Chunk, Path
from contextpack.postings import Postings, Rows, stem_of
from contextpack.query import Question, question
from contextpack.snapshot import Snapshot
from contextpack.terms import terms, words

Floats = NDArray[np.float64]

# Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009): the
# usual values. Files vary more in length than chunks, for which the effect of `b` is small.
K1 = 1.2
B = 0.75

# A name that a chunk defines says what the chunk is about: it counts as this many uses.
NAME_USES = 3.0

# The weights of the parts of a score; each part lies in [0, 1], 1 being the best in the workspace.
CHUNK_WEIGHT = 1.0
FILE_WEIGHT = 0.5
STEM_WEIGHT = 0.6
DIRECTORY_WEIGHT = 0.3
IMPORT_WEIGHT = 0.1
MENTION_WEIGHT = 2.0

# Of a word's rarity when no path at all holds it, in the share of the query that a path covers.
ABSENT_SHARE = 0.25

# Of what its file's name and neighbours say, for a chunk without a word of the query.
WORDLESS_FACTOR = 0.5

# What a file's score is multiplied with when the query does not ask for its kind.
KIND_FACTORS: Mapping[Kind, float] = MappingProxyType(
    {
        Kind.TEST: 0.35,
        Kind.DOCUMENT: 0.35,
        Kind.EXAMPLE: 0.35,
        Kind.TOOLING: 0.5,
        Kind.VENDORED: 0.35,
        Kind.DATA: 0.5,
    }
)
# The terms by which a query asks for a kind.
KIND_TERMS: Mapping[Kind, tuple[str, ...]] = MappingProxyType(
    {
        Kind.TEST: ("test", "spec", "fixtur", "testcas"),
        Kind.DOCUMENT: ("doc", "docs", "documentation", "readm", "changelog", "document"),
        Kind.EXAMPLE: ("exampl", "demo", "sampl", "tutorial"),
        Kind.TOOLING: ("benchmark", "bench", "script", "workflow", "ci"),
        Kind.VENDORED: ("vendor", "legac", "deprecat"),
        Kind.DATA: (
            "config",
            "configuration",
            "json",
            "yaml",
            "toml",
            "html",
            "css",
            "styl",
            "templat",
        ),
    }
)

SCORE_DIGITS = 6

# Shorter words that stand nowhere are not worth a line.
MIN_NAMED_CHARS = 3


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file with its score: the best of its chunks'. `parts` name what it is made of."""

    path: Path
    score: float
    parts: Mapping[str, float]
    chunks: tuple[float, ...]
    """The score of each of its chunks, in file order."""


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A chunk of a file with its score."""

    path: Path
    index: int
    """Of the chunk in its file's facts."""
    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """All files and chunks with a score above zero, best first; ties by path, then position."""

    files: tuple[RankedFile, ...]
    chunks: tuple[RankedChunk, ...]
    unknown_words: tuple[str, ...]
    """Words of the query that stand nowhere in the workspace."""
    is_fallback: bool
    """Whether the query had no words, so that structure and recency decided."""


def rank(snapshot: Snapshot, query: str) -> Ranking:
    """The files and chunks of a snapshot for a query, by the `fused` scorer."""
    asked = question(query)
    if not asked.weights:
        return _fallback(snapshot)
    postings = snapshot.postings
    chunk_scores = _bm25(
        _with_names(postings, asked), postings.chunk_lengths, postings.n_chunks
    )
    file_lengths = _sum_by_file(postings.chunk_lengths.astype(np.float64), postings)
    file_scores = _bm25(_by_file(postings, asked), file_lengths, postings.n_files)
    mentions = _mentions(snapshot, asked)
    parts = {
        "body": FILE_WEIGHT * _scaled(file_scores),
        "stem": STEM_WEIGHT * _coverage(postings.stems, postings, asked, postings.n_files),
        "directory": DIRECTORY_WEIGHT
        * _coverage(postings.directories, postings, asked, postings.n_files),
        "mention": MENTION_WEIGHT * mentions,
    }
    text = sum(parts.values(), np.zeros(postings.n_files))
    best_chunks = _best_by_file(chunk_scores, postings)
    parts["imports"] = IMPORT_WEIGHT * _import_lift(snapshot, text + _scaled(best_chunks))
    factors = _kind_factors(snapshot, asked)
    own = CHUNK_WEIGHT * _scaled(chunk_scores)
    # A chunk without a word of the query gets nothing for the words around it: only its file's
    # name and its neighbours speak for it.
    named = parts["stem"] + parts["imports"]
    about = np.where(
        chunk_scores > 0,
        (parts["body"] + parts["directory"] + named)[postings.chunk_files],
        WORDLESS_FACTOR * named[postings.chunk_files],
    )
    # What the query names outright is meant, whatever kind of file it is.
    total = (own + about) * factors[postings.chunk_files]
    total += parts["mention"][postings.chunk_files] + _line_bonus(snapshot, asked)
    parts["chunk"] = CHUNK_WEIGHT * _scaled(best_chunks)
    return _ranking(
        snapshot, total, parts, factors, _unknown(postings, asked), is_fallback=False
    )


_Hits = list[tuple[float, NDArray[np.int64], Floats]]
"""For each term of the query: its weight, the documents that hold it, and how often."""


def _with_names(postings: Postings, asked: Question) -> _Hits:
    hits: _Hits = []
    for term, weight in asked.weights.items():
        if (number := postings.vocabulary.get(term)) is not None:
            in_body, in_uses = postings.body.of(number)
            in_names, names = postings.names.of(number)
            documents: NDArray[np.int64] = np.concatenate([in_body, in_names])
            uses_and_names = [in_uses.astype(np.float64), NAME_USES * names.astype(np.float64)]
            hits.append((weight, *_summed(documents, np.concatenate(uses_and_names))))
    return hits


def _by_file(postings: Postings, asked: Question) -> _Hits:
    hits: _Hits = []
    for weight, chunks, counts in _with_names(postings, asked):
        hits.append((weight, *_summed(postings.chunk_files[chunks], counts)))
    return hits


def _summed(documents: NDArray[np.int64], counts: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Each document once, ascending, with the sum of its counts."""
    found, inverse = np.unique(documents, return_inverse=True)
    return found, _weighted(inverse, counts, len(found))


def _weighted(numbers: NDArray[np.int64], weights: Floats, n: int) -> Floats:
    return np.bincount(numbers, weights=weights, minlength=n).astype(np.float64)


def _bm25(hits: _Hits, lengths: NDArray[np.int64] | Floats, n: int) -> Floats:
    scores = np.zeros(n)
    if n == 0:
        return scores
    norm = K1 * (1 - B + B * lengths / max(float(np.mean(lengths)), 1.0))
    for weight, documents, counts in hits:
        if len(documents):
            saturated = counts * (K1 + 1) / (counts + norm[documents])
            scores[documents] += weight * _idf(len(documents), n) * saturated
    return scores


def _idf(n_documents: int, n: int) -> float:
    return math.log(1 + (n - n_documents + 0.5) / (n_documents + 0.5))


def _coverage(rows: Rows, postings: Postings, asked: Question, n: int) -> Floats:
    """Which share of the query's words, by their rarity in paths, each document holds."""
    scores = np.zeros(n)
    total = 0.0
    for term, weight in asked.weights.items():
        number = postings.vocabulary.get(term)
        documents = rows.of(number)[0] if number is not None else np.zeros(0, np.int64)
        value = weight * _idf(len(documents), n)
        # Words that no path holds count a little: one common word is not the whole query.
        total += value if len(documents) else ABSENT_SHARE * value
        if len(documents):
            scores[documents] += value
    return scores / total if total else scores


def _sum_by_file(values: Floats, postings: Postings) -> Floats:
    return _weighted(postings.chunk_files, values, postings.n_files)


def _best_by_file(scores: Floats, postings: Postings) -> Floats:
    best = np.zeros(postings.n_files)
    np.maximum.at(best, postings.chunk_files, scores)
    return best


def _scaled(scores: Floats) -> Floats:
    top = float(scores.max(initial=0.0))
    return scores / top if top > 0 else scores


def _import_lift(snapshot: Snapshot, relevance: Floats) -> Floats:
    """The relevance of the best neighbour in the import graph, damped where it has many."""
    number = {path: index for index, path in enumerate(snapshot.paths)}
    lift = np.zeros(len(snapshot.paths))
    for edges in (snapshot.graph.imports, snapshot.graph.importers):
        for path, neighbours in edges.items():
            given = relevance[number[path]] / math.sqrt(len(neighbours))
            for neighbour in neighbours:
                index = number[neighbour]
                lift[index] = max(lift[index], given)
    return _scaled(lift)


def _mentions(snapshot: Snapshot, asked: Question) -> Floats:
    """The files that the query names: by a path in it, or by being nothing but their name."""
    scores = np.zeros(len(snapshot.paths))
    whole = frozenset(asked.weights)
    for index, path in enumerate(snapshot.paths):
        is_named = any(_is_mentioned(path, mention.path) for mention in asked.mentions)
        if is_named or _is_name(path, whole):
            scores[index] = 1.0
    return scores


def _is_name(path: Path, asked: frozenset[str]) -> bool:
    stem = stem_of(path)
    return any(set(terms(word)) == asked for word in words(stem)[:1]) and len(words(stem)) == 1


def _is_mentioned(path: Path, mention: str) -> bool:
    """Whether one is the end of the other: a traceback names absolute paths."""
    return f"/{path}".endswith(f"/{mention.lstrip('/')}") or (
        "/" in path and f"/{mention}".endswith(f"/{path}")
    )


def _line_bonus(snapshot: Snapshot, asked: Question) -> Floats:
    bonus = np.zeros(snapshot.postings.n_chunks)
    lines = [mention for mention in asked.mentions if mention.line is not None]
    if not lines:
        return bonus
    for number, path in enumerate(snapshot.paths):
        for mention in lines:
            if _is_mentioned(path, mention.path):
                first = int(snapshot.postings.first_chunks[number])
                for index, chunk in enumerate(snapshot.sources[path].facts.chunks):
                    if chunk.lines.start <= (mention.line or 0) <= chunk.lines.end:
                        bonus[first + index] = 1.0
    return bonus


def _kind_factors(snapshot: Snapshot, asked: Question) -> Floats:
    factors = {
        kind: 1.0 if asked.asks_for(*KIND_TERMS[kind]) else factor
        for kind, factor in KIND_FACTORS.items()
    }
    return np.array([factors.get(kind_of(path), 1.0) for path in snapshot.paths])


def _unknown(postings: Postings, asked: Question) -> tuple[str, ...]:
    return tuple(
        word
        for word, found in asked.words.items()
        if len(word) >= MIN_NAMED_CHARS
        and not word.isdigit()
        and not any(term in postings.vocabulary for term in found)
    )


def _ranking(
    snapshot: Snapshot,
    chunk_scores: Floats,
    parts: Mapping[str, Floats],
    factors: Floats,
    unknown: tuple[str, ...],
    *,
    is_fallback: bool,
) -> Ranking:
    scores = np.round(chunk_scores, SCORE_DIGITS)
    first = snapshot.postings.first_chunks
    files: list[RankedFile] = []
    chunks: list[RankedChunk] = []
    for number in np.unique(snapshot.postings.chunk_files[scores > 0]).tolist():
        path = snapshot.paths[number]
        own = scores[first[number] : first[number + 1]].tolist()
        shown = {
            name: round(float(values[number]), SCORE_DIGITS) for name, values in parts.items()
        }
        named = {name: value for name, value in shown.items() if value}
        if factors[number] != 1.0:
            named["factor"] = float(factors[number])
        files.append(RankedFile(path, max(own), MappingProxyType(named), tuple(own)))
        chunks.extend(
            RankedChunk(path, index, snapshot.sources[path].facts.chunks[index], score)
            for index, score in enumerate(own)
            if score > 0
        )
    files.sort(key=lambda file: (-file.score, file.path))
    chunks.sort(key=lambda chunk: (-chunk.score, chunk.path, chunk.index))
    return Ranking(tuple(files), tuple(chunks), unknown, is_fallback)


def _fallback(snapshot: Snapshot) -> Ranking:
    """Without words: what much is built on, what changed last, and what stands near the root."""
    postings = snapshot.postings
    importers = np.array(
        [math.log1p(len(snapshot.graph.importers.get(path, ()))) for path in snapshot.paths]
    )
    modified = np.array([snapshot.sources[path].modified for path in snapshot.paths])
    oldest = float(modified.min(initial=math.inf)) if len(modified) else 0.0
    parts = {
        "importers": 0.6 * _scaled(importers),
        "recency": 0.2 * _scaled(modified - oldest),
        "depth": np.array([0.2 / (1 + path.count("/")) for path in snapshot.paths]),
    }
    factors = np.array([KIND_FACTORS.get(kind_of(path), 1.0) for path in snapshot.paths])
    base = sum(parts.values(), np.zeros(postings.n_files)) * factors
    # Within a file the top comes first: it says what the file is.
    position = np.arange(postings.n_chunks) - postings.first_chunks[postings.chunk_files]
    scores = base[postings.chunk_files] / (1 + 0.25 * position)
    return _ranking(snapshot, scores, parts, factors, (), is_fallback=True)
