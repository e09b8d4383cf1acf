"""Facts and term counts as bytes and back, for a store, a pipe, and memory.

How it works: MessagePack of columns, not of records. The first lines of all symbols stand in
one array, their lengths in another, and so on, each as differences that fit a byte; a column
of one repeated value is that value. So a name and about six bytes are a symbol, and the
objects are made by a few passes in C instead of a call for each.

What to change together: `FACTS_VERSION` with anything that makes other facts or other bytes.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, repeat
from operator import add, le, sub
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from contextpack.model import Chunk, Facts, Import, ImportKind, Symbol, TermCounts
from contextpack.text import Lines

FACTS_VERSION = 1
"""Kept by hand: raised when equal texts get other facts, or equal facts other bytes."""


class Damaged(ValueError):
    """Bytes that are no encoded facts or term counts, or not all of them."""

    def __init__(self) -> None:
        super().__init__("not the bytes of facts")


def recipe(ingredients: Iterable[tuple[str, str]]) -> str:
    """The name of everything that facts depend on beside the text and its language.

    `ingredients` are the names and versions of what the core is passed in: grammars, the
    tokenizer. Facts made by another recipe are not these facts.
    """
    digest = hashlib.blake2b(digest_size=8)
    for name, version in sorted(ingredients):
        digest.update(f"{name}={version}\n".encode())
    return f"{FACTS_VERSION}-{digest.hexdigest()}"


_Column = list[int] | int
"""A number for each item, or the one number of all of them."""
_Imports = tuple[list[str], list[int], _Column, list[tuple[str, ...]], _Column]
_Symbols = tuple[list[str], list[str], _Column, list[int], list[int], _Column, _Column, _Column]
_Chunks = tuple[_Column, list[int], list[int], _Column]
_Wire = tuple[int, str, int, int, _Imports, _Symbols, _Chunks, tuple[str, ...]]

_Raw = msgspec.Raw
_HeadWire = tuple[int, str, int, int, _Raw, _Raw, _Raw, _Raw]
_Places = tuple[_Raw, _Raw, _Raw, list[int], list[int], _Column, _Column, _Raw]
_ScopesWire = tuple[int, _Raw, _Raw, _Raw, _Raw, _Places, _Raw, _Raw]

_DECODER = msgspec.msgpack.Decoder(_Wire)
_HEAD_DECODER = msgspec.msgpack.Decoder(_HeadWire)
_SCOPES_DECODER = msgspec.msgpack.Decoder(_ScopesWire)
_ENCODER = msgspec.msgpack.Encoder()
_KINDS = tuple(ImportKind)
_DAMAGE = (msgspec.MsgspecError, ValueError, IndexError)

_Ints = NDArray[np.int64]
_Bytes = tuple[bytes, bytes]
"""Numbers of a byte each; one of 255 stands for the next of the second, of four bytes each."""
_TermsWire = tuple[bytes, _Bytes, _Bytes, _Bytes, _Bytes, _Bytes, _Bytes]
_TERMS_DECODER = msgspec.msgpack.Decoder(_TermsWire)

_PLAIN, _ESCAPED = 0, 1  # Whether strings stand as they are: lone surrogates are not UTF-8.


def encoded(facts: Facts) -> bytes:
    """The facts as bytes; equal facts give equal bytes. Term counts are not part of them."""
    try:
        return _ENCODER.encode(_wire(facts))
    except UnicodeEncodeError:
        return _ENCODER.encode(_with_strings(_wire(facts), _ESCAPED, _escaped))


def decoded(data: bytes) -> Facts:
    """The facts that `encoded` made these bytes of. Raises `Damaged` for all other bytes.

    Damage that leaves a valid encoding gives other facts: whoever keeps the bytes where they
    may change keeps a digest with them.
    """
    try:
        wire = _DECODER.decode(data)
        if wire[0] != _PLAIN:
            wire = _with_strings(wire, _PLAIN, _unescaped)
        return _facts(wire)
    except _DAMAGE as error:
        raise Damaged from error


def decoded_head(data: bytes) -> tuple[str, int, int]:
    """The language, lines and tokens of encoded facts, for next to nothing.

    Raises `Damaged` as `decoded` does, but sees no damage of other parts.
    """
    try:
        _, language, n_lines, tokens, *_ = _HEAD_DECODER.decode(data)
    except _DAMAGE as error:
        raise Damaged from error
    return language, n_lines, tokens


Scope = tuple[int, int, int, int]
"""A definition's first and last line, and the first and last line of its signature."""


def decoded_scopes(data: bytes) -> tuple[Scope, ...]:
    """Where the symbols of encoded facts stand, at a tenth of the cost of all facts.

    Raises `Damaged` as `decoded` does, but sees no damage of other parts.
    """
    try:
        _, _, _, steps, lengths, offsets, heads, _ = _SCOPES_DECODER.decode(data)[5]
        n = len(steps)
        starts = list(accumulate(steps))
        first = list(map(add, starts, _each(offsets, n)))
        ends = map(add, starts, _exactly(lengths, n))
        return tuple(zip(starts, ends, first, map(add, first, _each(heads, n)), strict=True))
    except _DAMAGE as error:
        raise Damaged from error


def encoded_terms(counts: TermCounts) -> bytes:
    """The term counts as bytes: about a quarter of what they hold."""
    chunks = np.frombuffer(counts.chunks, "<u4").astype(np.int64)
    terms = np.frombuffer(counts.terms, "<u4").astype(np.int64)
    names = np.frombuffer(counts.names, "<u2")
    begins = np.concatenate([[0], (chunks[1:] != chunks[:-1]).nonzero()[0] + 1])[: len(chunks)]
    steps = _steps_of(terms)
    steps[begins] = terms[begins]
    named = names.nonzero()[0]
    wire: _TermsWire = (
        counts.vocabulary.encode("utf-8", "surrogatepass"),
        _bytes_of(_steps_of(chunks[begins])),
        _bytes_of(_steps_of(np.append(begins, len(chunks)))[1:]),
        _bytes_of(steps),
        _bytes_of(np.frombuffer(counts.body, "<u2")),
        _bytes_of(_steps_of(named)),
        _bytes_of(names[named]),
    )
    return _ENCODER.encode(wire)


def decoded_terms(data: bytes) -> TermCounts:
    """The term counts that `encoded_terms` made these bytes of. Raises `Damaged` for all others."""
    try:
        vocabulary, *columns = _TERMS_DECODER.decode(data)
        in_chunk, n_each, steps, body, named_steps, name_counts = map(_numbers_of, columns)
        text = vocabulary.decode("utf-8", "surrogatepass")
        chunks = np.repeat(np.cumsum(in_chunk), _runs(n_each, len(steps), len(in_chunk)))
        # One sum over all chunks, less what stood before each.
        begins = np.cumsum(n_each) - n_each
        sums = np.cumsum(steps)
        terms = sums - np.repeat(sums[begins] - steps[begins], n_each)
        n_terms = text.count("\n") + 1 if text else 0
        named = np.cumsum(named_steps)
        if (
            len(body) != len(steps)
            or (len(terms) and terms.max() >= n_terms)
            or (len(named) and named[-1] >= len(steps))
        ):
            raise Damaged
        names = np.zeros(len(steps), np.int64)
        names[named] = name_counts
        return TermCounts(
            vocabulary=text,
            chunks=chunks.astype("<u4").tobytes(),
            terms=terms.astype("<u4").tobytes(),
            body=body.astype("<u2").tobytes(),
            names=names.astype("<u2").tobytes(),
        )
    except _DAMAGE as error:
        raise Damaged from error


def _wire(facts: Facts) -> _Wire:
    imports, symbols, chunks = facts.imports, facts.symbols, facts.chunks
    starts = [symbol.lines.start for symbol in symbols]
    ends = [symbol.lines.end for symbol in symbols]
    kinds = list(dict.fromkeys(symbol.kind for symbol in symbols))
    firsts = [chunk.lines.start for chunk in chunks]
    lasts = [chunk.lines.end for chunk in chunks]
    return (
        _PLAIN,
        facts.language,
        facts.n_lines,
        facts.tokens,
        (
            [one.specifier for one in imports],
            _steps([one.line for one in imports]),
            _column([one.level for one in imports]),
            [one.names for one in imports],
            _column([_KINDS.index(one.kind) for one in imports]),
        ),
        (
            [symbol.name for symbol in symbols],
            kinds,
            _column([kinds.index(symbol.kind) for symbol in symbols]),
            _steps(starts),
            list(map(sub, ends, starts)),
            _column([symbol.signature.start - symbol.lines.start for symbol in symbols]),
            _column([len(symbol.signature) - 1 for symbol in symbols]),
            _column([symbol.depth for symbol in symbols]),
        ),
        (
            # How many lines lie between two neighbours: none, in the chunks of a text.
            _column(
                [first - last - 1 for first, last in zip(firsts, [0, *lasts], strict=False)]
            ),
            list(map(sub, lasts, firsts)),
            [chunk.tokens for chunk in chunks],
            _column([int(chunk.is_data) for chunk in chunks]),
        ),
        facts.problems,
    )


def _facts(wire: _Wire) -> Facts:
    _, language, n_lines, tokens, imports, symbols, chunks, problems = wire
    return Facts(
        language=language,
        n_lines=n_lines,
        tokens=tokens,
        imports=_imports(imports),
        symbols=_symbols(symbols),
        chunks=_chunks(chunks),
        problems=problems,
    )


def _imports(wire: _Imports) -> tuple[Import, ...]:
    specifiers, steps, levels, names, kinds = wire
    n = len(specifiers)
    return made_of(
        Import,
        n,
        specifier=specifiers,
        line=accumulate(_exactly(steps, n)),
        level=_each(levels, n),
        names=_exactly(names, n),
        kind=map(_KINDS.__getitem__, _naturals(_each(kinds, n))),
    )


def _symbols(wire: _Symbols) -> tuple[Symbol, ...]:
    names, kinds, kind_of, steps, lengths, offsets, heads, depths = wire
    n = len(names)
    starts = list(accumulate(_exactly(steps, n)))
    first = starts if offsets == 0 else list(map(add, starts, _each(offsets, n)))
    return made_of(
        Symbol,
        n,
        name=names,
        kind=map(kinds.__getitem__, _naturals(_each(kind_of, n))),
        lines=_ranges(starts, list(map(add, starts, _exactly(lengths, n)))),
        signature=_ranges(first, list(map(add, first, _each(heads, n)))),
        depth=_each(depths, n),
    )


def _chunks(wire: _Chunks) -> tuple[Chunk, ...]:
    gaps, lengths, tokens, is_data = wire
    n = len(lengths)
    # One chunk ends a gap and its length after the one before it.
    steps = map(add, map(add, _each(gaps, n), lengths), repeat(1))
    ends = list(accumulate(steps))
    return made_of(
        Chunk,
        n,
        lines=_ranges(list(map(sub, ends, lengths)), ends),
        tokens=_exactly(tokens, n),
        is_data=map(bool, _each(is_data, n)),
    )


def _ranges(starts: list[int], ends: list[int]) -> tuple[Lines, ...]:
    # The check of `Lines` itself, for all of them at once: `made_of` calls no constructor.
    if starts and (min(starts) < 1 or not all(map(le, starts, ends))):
        raise Damaged
    return made_of(Lines, len(starts), start=starts, end=ends)


_Value = TypeVar("_Value")


def made_of(cls: type[_Value], n: int, **columns: Iterable[object]) -> tuple[_Value, ...]:
    """`n` values of a slotted class without a check of its own, each field from its column.

    Three times as fast as a frozen class's constructor for each: this fills a field of all
    values in one pass. The columns have `n` items each.
    """
    made = tuple(map(object.__new__, repeat(cls, n)))
    slots: Any = vars(cls)  # Of a slotted class these are descriptors, not the fields' values.
    for name, column in columns.items():
        deque(map(slots[name].__set__, made, column), maxlen=0)
    return made


def _steps(ascending: list[int]) -> list[int]:
    return list(map(sub, ascending, [0, *ascending]))


def _column(numbers: list[int]) -> _Column:
    return numbers[0] if numbers and numbers.count(numbers[0]) == len(numbers) else numbers


def _each(column: _Column, n: int) -> Iterable[int]:
    return repeat(column, n) if isinstance(column, int) else _exactly(column, n)


_Item = TypeVar("_Item")


def _exactly(column: Sequence[_Item], n: int) -> Sequence[_Item]:
    if len(column) != n:
        raise Damaged
    return column


def _naturals(numbers: Iterable[int]) -> Sequence[int]:
    """Numbers to index by. Python would take negative ones from the end."""
    found = list(numbers)
    if found and min(found) < 0:
        raise Damaged
    return found


def _with_strings(wire: _Wire, form: int, changed: Callable[[str], str]) -> _Wire:
    _, language, n_lines, tokens, imports, symbols, chunks, problems = wire
    specifiers, lines, levels, names, import_kinds = imports
    symbol_names, kinds, *rest = symbols
    result: _Wire = msgspec.convert(
        (
            form,
            changed(language),
            n_lines,
            tokens,
            (
                list(map(changed, specifiers)),
                lines,
                levels,
                [tuple(map(changed, taken)) for taken in names],
                import_kinds,
            ),
            (list(map(changed, symbol_names)), list(map(changed, kinds)), *rest),
            chunks,
            tuple(map(changed, problems)),
        ),
        _Wire,
    )
    return result


def _escaped(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")


def _unescaped(text: str) -> str:
    return text.encode("ascii").decode("unicode_escape")


_LARGE = 0xFF


def _bytes_of(numbers: NDArray[np.signedinteger[Any]] | NDArray[np.uint16]) -> _Bytes:
    if not len(numbers) or numbers.max() < _LARGE:
        return numbers.astype("u1").tobytes(), b""
    large = numbers[numbers >= _LARGE]
    return np.minimum(numbers, _LARGE).astype("u1").tobytes(), large.astype("<u4").tobytes()


def _steps_of(numbers: _Ints) -> _Ints:
    # What `np.diff` gives, which takes ten times as long for so few.
    steps = numbers.copy()
    steps[1:] -= numbers[:-1]
    return steps


def _numbers_of(found: _Bytes) -> _Ints:
    numbers = np.frombuffer(found[0], "u1").astype(np.int64)
    numbers[numbers == _LARGE] = np.frombuffer(found[1], "<u4")
    return numbers


def _runs(n_each: _Ints, n_all: int, n_runs: int) -> _Ints:
    """The lengths of runs, if they are that many and together that long, and none is empty."""
    if len(n_each) != n_runs or n_each.sum() != n_all or not n_each.all():
        raise Damaged
    return n_each
