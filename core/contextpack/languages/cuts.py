"""Chunks of texts that no grammar is needed for: pieces between lines where something begins.

A scanner names the lines. Here small neighbours join and large pieces are cut again, level by
level, so the work is linear in the text for any number of cuts.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contextpack.languages.plain import MAX_LINES, MIN_LINES, TARGET_LINES, windows
from contextpack.model import Symbol
from contextpack.text import Lines

# A listing or table of up to this length is shown in one piece; longer ones are data.
MAX_WHOLE_LINES = 2 * MAX_LINES


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """A line where something begins."""

    line: int
    level: int
    """0 always cuts; a higher one only cuts pieces that are still too large."""
    rank: int = 0
    """Pieces of a lower rank are not joined to the end of those of a higher one."""


@dataclass(frozen=True, slots=True)
class Named:
    """A named thing before its end is known: a heading or a key."""

    name: str
    line: int
    signature_end: int
    rank: int
    """It ends where the next one of the same or a lower rank begins."""


def chunks(n_lines: int, cuts: Iterable[Cut], whole: Iterable[Lines] = ()) -> tuple[Lines, ...]:
    """Ranges that cover the lines. Those of `whole` stay whole up to `MAX_WHOLE_LINES`.

    A range of `whole` must begin and end at cuts.
    """
    if n_lines == 0:
        return ()
    by_level: dict[int, list[Cut]] = {}
    for cut in sorted(cuts):
        by_level.setdefault(cut.level, []).append(cut)
    pieces = [Lines(1, n_lines)]
    for level in sorted(by_level):
        pieces = [
            part
            for piece in pieces
            for part in (
                _parts(piece, by_level[level])
                if level == 0 or len(piece) > MAX_LINES
                else [piece]
            )
        ]
    kept = {lines for lines in whole if len(lines) <= MAX_WHOLE_LINES}
    return tuple(
        window for piece in pieces for window in ([piece] if piece in kept else windows(piece))
    )


def symbols(named: Sequence[Named], kind: str, n_lines: int) -> tuple[Symbol, ...]:
    """Named things, in order of their lines, as nested symbols."""
    ends = [n_lines] * len(named)
    depths = [0] * len(named)
    inside: list[int] = []
    for index, one in enumerate(named):
        while inside and named[inside[-1]].rank >= one.rank:
            ends[inside.pop()] = max(one.line - 1, 1)
        depths[index] = len(inside)
        inside.append(index)
    return tuple(
        Symbol(
            name=one.name,
            kind=kind,
            lines=Lines(one.line, max(one.line, end)),
            signature=Lines(one.line, max(one.line, min(one.signature_end, end))),
            depth=depth,
        )
        for one, end, depth in zip(named, ends, depths, strict=True)
    )


def _parts(piece: Lines, cuts: list[Cut]) -> list[Lines]:
    """A piece cut at these lines, with tiny neighbours joined."""
    first = bisect_left(cuts, piece.start, key=lambda cut: cut.line)
    last = bisect_right(cuts, piece.end, key=lambda cut: cut.line)
    starts: dict[int, int] = {piece.start: 0}
    for cut in cuts[first:last]:
        starts.setdefault(cut.line, cut.rank)
        if cut.line == piece.start:
            starts[cut.line] = cut.rank
    ends = [start - 1 for start in list(starts)[1:]] + [piece.end]
    result: list[tuple[Lines, int]] = []
    for (start, rank), end in zip(starts.items(), ends, strict=True):
        if result and rank < result[-1][1]:
            _join_back(result)
        lines = Lines(start, end)
        if result:
            last_lines, last_rank = result[-1]
            is_small = min(len(last_lines), len(lines)) < MIN_LINES
            is_short = len(last_lines) + len(lines) <= TARGET_LINES
            if is_small and is_short and rank >= last_rank:
                result[-1] = (Lines(last_lines.start, end), last_rank)
                continue
        result.append((lines, rank))
    _join_back(result)
    return [lines for lines, _ in result]


def _join_back(result: list[tuple[Lines, int]]) -> None:
    """Join a tiny last piece, which nothing that follows belongs to, to the one before it."""
    if len(result) > 1 and len(result[-1][0]) < MIN_LINES:
        lines, _ = result[-1]
        before, rank = result[-2]
        if len(before) + len(lines) <= TARGET_LINES and rank <= result[-1][1]:
            result.pop()
            result[-1] = (Lines(before.start, lines.end), rank)
