"""Text to facts. They depend on the text and its language only, so equal texts share them."""

from collections.abc import Callable, Mapping, Sequence

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


Ids = NDArray[np.int64]


def _term_counts(
    texts: Sequence[str], names: Sequence[Sequence[str]], split: Split
) -> TermCounts:
    """The terms of each chunk's text and of its names; `texts` and `names` are parallel."""
    numbers: dict[str, int] = {}
    in_texts = [_numbered(words(text), numbers) for text in texts]
    in_names = [_numbered(words(" ".join(defined)), numbers) for defined in names]
    vocabulary: dict[str, int] = {}
    by_word = [
        [vocabulary.setdefault(term, len(vocabulary)) for term in split(word)]
        for word in numbers
    ]
    # The terms of word `w` are `flat[starts[w]:starts[w + 1]]`.
    flat = np.array([term for found in by_word for term in found], np.int64)
    starts = np.concatenate([[0], np.cumsum([len(found) for found in by_word], dtype=np.int64)])
    n_terms = max(1, len(vocabulary))
    text_keys, n_uses = _counted(in_texts, flat, starts, n_terms)
    name_keys, n_names = _counted(in_names, flat, starts, n_terms)
    keys = np.union1d(text_keys, name_keys)
    body = np.zeros(len(keys), np.int64)
    body[np.searchsorted(keys, text_keys)] = n_uses
    defined = np.zeros(len(keys), np.int64)
    defined[np.searchsorted(keys, name_keys)] = n_names
    return TermCounts(
        vocabulary="\n".join(vocabulary),
        chunks=(keys // n_terms).astype("<u4").tobytes(),
        terms=(keys % n_terms).astype("<u4").tobytes(),
        body=np.minimum(body, MAX_COUNT).astype("<u2").tobytes(),
        names=np.minimum(defined, MAX_COUNT).astype("<u2").tobytes(),
    )


def _numbered(found: list[str], numbers: dict[str, int]) -> list[int]:
    return [numbers.setdefault(word, len(numbers)) for word in found]


def _counted(runs: list[list[int]], flat: Ids, starts: Ids, n_terms: int) -> tuple[Ids, Ids]:
    """How often which term stands in which run of words: keys `run * n_terms + term`, ascending."""
    used = np.array([word for run in runs for word in run], np.int64)
    run_of = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
    n_each = starts[used + 1] - starts[used]
    # Each word's terms, in order: its first position, then one further each.
    begins = np.repeat(starts[used] - np.cumsum(n_each) + n_each, n_each)
    terms = flat[begins + np.arange(len(begins))]
    keys, counts = np.unique(np.repeat(run_of, n_each) * n_terms + terms, return_counts=True)
    return keys.astype(np.int64), counts.astype(np.int64)


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
