"""Text to facts. They depend on the text and its language only, so equal texts share them."""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count, repeat

import numpy as np
from numpy.typing import NDArray

from contextpack.languages import Grammar, outline
from contextpack.model import BatchCounter, Chunk, Facts, Symbol, TermCounts
from contextpack.terms import words
from contextpack.text import Lines, split_lines

MAX_COUNT = 0xFFFF  # Counts are stored in 16 bits; BM25 saturates long before.

Split = Callable[[str], tuple[str, ...]]
"""A word to its terms: `terms.terms`, or the same with a memory."""


def facts(
    text: str,
    language: str,
    *,
    grammars: Mapping[str, Grammar],
    count: BatchCounter,
    split: Split,
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
    return made, _term_counts(texts, _names(found.chunks, found.symbols), split)


def _term_counts(
    texts: Sequence[str], names: Sequence[Sequence[str]], split: Split
) -> TermCounts:
    """The terms of each chunk's text and of its names; `texts` and `names` are parallel."""

    def counted(text: str) -> dict[str, int]:
        return Counter(chain.from_iterable(map(split, words(text))))

    in_texts = [counted(text) for text in texts]
    in_names = [counted(" ".join(defined)) if defined else {} for defined in names]
    vocabulary = dict.fromkeys(chain.from_iterable(in_texts + in_names))
    place_of = dict(zip(vocabulary, count())).__getitem__
    n_found: list[int] = []
    found: list[int] = []
    body: list[int] = []
    defined: list[int] = []
    for in_text, in_name in zip(in_texts, in_names, strict=True):
        if in_name:
            here = {**dict.fromkeys(in_name, 0), **in_text}
            defined += map(in_name.get, here, repeat(0))
        else:
            here = in_text
            defined += repeat(0, len(here))
        n_found.append(len(here))
        found += map(place_of, here)
        body += here.values()
    chunks = np.arange(len(texts)).repeat(n_found)
    places = _numbers(found)
    order = (chunks * len(vocabulary) + places).argsort()
    return TermCounts(
        vocabulary="\n".join(vocabulary),
        chunks=chunks.astype("<u4").tobytes(),
        terms=places[order].astype("<u4").tobytes(),
        body=np.minimum(_numbers(body)[order], MAX_COUNT).astype("<u2").tobytes(),
        names=np.minimum(_numbers(defined)[order], MAX_COUNT).astype("<u2").tobytes(),
    )


def _numbers(found: list[int]) -> NDArray[np.int64]:
    # Several times as fast as numpy's own reading of a list.
    return np.frombuffer(array("q", found), np.int64)


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
