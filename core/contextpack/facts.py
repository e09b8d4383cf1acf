"""Text to facts. They depend on the text and its language only, so equal texts share them."""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping

from contextpack.languages import Grammar, outline
from contextpack.model import Chunk, Facts, Symbol, TermCounts, TokenCounter
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
    count: TokenCounter,
    split: Split,
) -> Facts:
    """Everything the index keeps of one text. Total: any text has facts."""
    found = outline(text, language, grammars)
    lines = split_lines(text)
    return Facts(
        language=language,
        n_lines=len(lines),
        tokens=count(text),
        imports=found.imports,
        symbols=found.symbols,
        chunks=tuple(
            Chunk(span, count("".join(lines[span.start - 1 : span.end])))
            for span in found.chunks
        ),
        terms=_term_counts(lines, found.chunks, found.symbols, split),
        problems=found.problems,
    )


def _term_counts(
    lines: list[str], spans: tuple[Lines, ...], symbols: tuple[Symbol, ...], split: Split
) -> TermCounts:
    vocabulary: dict[str, int] = {}
    known: dict[str, tuple[int, ...]] = {}
    chunks, terms, body, names = array("I"), array("I"), array("H"), array("H")

    def ids(word: str) -> tuple[int, ...]:
        found = known.get(word)
        if found is None:
            found = tuple(vocabulary.setdefault(term, len(vocabulary)) for term in split(word))
            known[word] = found
        return found

    for index, (span, defined) in enumerate(zip(spans, _names(spans, symbols), strict=True)):
        in_body: dict[int, int] = {}
        for word, n in Counter(words("".join(lines[span.start - 1 : span.end]))).items():
            for term in ids(word):
                in_body[term] = in_body.get(term, 0) + n
        in_names: dict[int, int] = {}
        for name in defined:
            for word in words(name):
                for term in ids(word):
                    in_names[term] = in_names.get(term, 0) + 1
                    in_body.setdefault(term, 0)
        for term, n in in_body.items():
            chunks.append(index)
            terms.append(term)
            body.append(min(n, MAX_COUNT))
            names.append(min(in_names.get(term, 0), MAX_COUNT))
    return TermCounts(
        vocabulary="\n".join(vocabulary),
        chunks=chunks.tobytes(),
        terms=terms.tobytes(),
        body=body.tobytes(),
        names=names.tobytes(),
    )


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
