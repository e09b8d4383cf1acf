"""Text to facts. They depend on the text and its language only, so equal texts share them."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from contextpack.languages import Grammar, outline
from contextpack.model import BatchCounter, Chunk, Facts, Symbol, TermCounts
from contextpack.terms import words
from contextpack.text import Lines, split_lines

MAX_COUNT = 0xFFFF  # Counts are stored in 16 bits; BM25 saturates long before.


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What words are found by, with a number for each term: counting numbers is quicker.

    The numbers depend on what was asked before, and the facts do not depend on them.
    """

    numbers: Callable[[str], tuple[int, ...]]
    """A word to the numbers of its terms, as `terms.terms` gives them."""
    terms: Sequence[str]
    """The terms by their numbers: as many as there have been so far."""


def facts(
    text: str,
    language: str,
    *,
    grammars: Mapping[str, Grammar],
    count: BatchCounter,
    lexicon: Lexicon,
) -> tuple[Facts, TermCounts]:
    """Everything the index keeps of one text. Total: any text has facts.

    The terms stand apart: they are the larger part, and only the postings need them.
    """
    found = outline(text, language, grammars)
    lines = split_lines(text)
    texts = ["".join(lines[span.start - 1 : span.end]) for span in found.chunks]
    n_tokens, *chunk_tokens = count.count_many([text, *texts])
    data = frozenset(found.data)
    if data:
        read = zip(found.chunks, texts, strict=True)
        texts = ["" if span in data else written for span, written in read]
    made = Facts(
        language=language,
        n_lines=len(lines),
        tokens=n_tokens,
        imports=found.imports,
        symbols=found.symbols,
        chunks=tuple(
            Chunk(span, tokens, span in data)
            for span, tokens in zip(found.chunks, chunk_tokens, strict=True)
        ),
        problems=found.problems,
    )
    return made, _term_counts(texts, _names(found.chunks, found.symbols), lexicon)


def _term_counts(
    texts: Sequence[str], names: Sequence[Sequence[str]], lexicon: Lexicon
) -> TermCounts:
    """The terms of each chunk's text and of its names; `texts` and `names` are parallel.

    Terms of the vocabulary stand in the order in which they come: in texts first, then in names.
    """
    uses: list[int] = []
    n_uses: list[int] = []
    for text in (*texts, *map(" ".join, names)):
        before = len(uses)
        if text:
            uses += chain.from_iterable(map(lexicon.numbers, words(text)))
        n_uses.append(len(uses) - before)
    # Several times as fast as numpy's own reading of a list.
    numbers = np.frombuffer(array("q", uses), np.int64)
    in_order = np.arange(len(numbers))
    firsts = _firsts(numbers, in_order, len(lexicon.terms))
    is_first = firsts == in_order
    vocabulary = list(map(lexicon.terms.__getitem__, numbers[is_first].tolist()))
    # A key for each use. When they are sorted, those of a term in a chunk are neighbours; the
    # last bit is that of names.
    step = 2 * max(1, len(vocabulary))
    bases = np.arange(0, step * len(texts), step)
    keys = 2 * (is_first.cumsum() - 1)[firsts]
    keys += np.concatenate([bases, bases + 1]).repeat(n_uses)
    keys.sort()
    before_each = np.zeros(len(keys) + 1, np.int64)
    (keys & 1).cumsum(out=before_each[1:])
    keys >>= 1
    is_other = np.ones(len(keys) + 1, np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_other[1:-1])
    bounds = is_other.nonzero()[0]
    found = keys[bounds[:-1]]
    names_before = before_each[bounds]
    named = names_before[1:] - names_before[:-1]
    chunks = found // (step // 2)
    return TermCounts(
        vocabulary="\n".join(vocabulary),
        chunks=chunks.astype("<u4").tobytes(),
        terms=(found - chunks * (step // 2)).astype("<u4").tobytes(),
        body=np.minimum(bounds[1:] - bounds[:-1] - named, MAX_COUNT).astype("<u2").tobytes(),
        names=np.minimum(named, MAX_COUNT).astype("<u2").tobytes(),
    )


def _firsts(
    numbers: NDArray[np.int64], in_order: NDArray[np.int64], n: int
) -> NDArray[np.int64]:
    """For each of these numbers below `n` where it stands for the first time, without a sort.

    `in_order` are the places of the numbers.
    """
    first = np.empty(n, np.int64)
    first[numbers[::-1]] = in_order[::-1]  # Of equal ones the last is what remains.
    return first[numbers]


def _names(spans: tuple[Lines, ...], symbols: tuple[Symbol, ...]) -> list[list[str]]:
    """For each chunk the names of the definitions that it shows a part of, outermost first."""
    result: list[list[str]] = [[] for _ in spans]
    first = 0
    for symbol in symbols:  # Both are sorted by their first line.
        while first < len(spans) and spans[first].end < symbol.lines.start:
            first += 1
        index = first
        while index < len(spans) and spans[index].start <= symbol.lines.end:
            result[index].append(symbol.name)
            index += 1
    return result
