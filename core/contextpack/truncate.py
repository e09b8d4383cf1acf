r"""Text cut to a number of tokens, under any counter.

A cut never splits a grapheme, so no surrogate pair, no emoji sequence and no `\r\n` is torn.
Every length is counted, never computed from parts: with real tokenizers a text may cost more
than its parts do, or less than its own beginning. Each cut is found with O(log n) counts, and
is as long as can be in this sense: one grapheme (or line) more would not fit.

The strategies look at what they are given: TypeError for content that is not text or a counter
that cannot be called, PackError (INVALID_BUDGET) for `max_tokens` that is no number or NaN.
A fraction of a token buys nothing: `max_tokens` is rounded down.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from contextpack.errors import Code, PackError
from contextpack.model import TokenCounter
from contextpack.tokens import estimate_tokens

MARKER = "\n/* ... truncated ... */\n"
"""Stands where `summary_truncate` left out the middle."""

# First guesses for the search. Wrong ones cost a few counts more.
_CHARS_PER_TOKEN = 4
_TOKENS_PER_LINE = 8

_ENDLESS = 1 << 62  # No text has so many tokens.

# Two neighbours that are never one grapheme, whatever stands around them: text around any cut
# is split from the nearest such place and not from its start. `regex` searches backwards here.
_SURE_BOUNDARY = regex.compile(
    r"(?rV1)[[\p{GCB=Other}\p{GCB=Control}\p{GCB=LF}\p{GCB=SpacingMark}\p{GCB=LV}\p{GCB=LVT}"
    r"\p{GCB=V}\p{GCB=T}]--[\ud800-\udbff]]"
    r"[[\p{GCB=Other}\p{GCB=Control}\p{GCB=CR}\p{GCB=LV}\p{GCB=LVT}]--[\udc00-\udfff]]"
    r"|[^\p{GCB=Prepend}][\x20-\x7e]"
)
# Matched only where a grapheme begins. Two halves of a surrogate pair, as lossy decoding leaves
# them, stay together as well. Flags come first because `\X` counts all flags before one again.
_GRAPHEME = regex.compile(
    r"[\ud800-\udbff][\udc00-\udfff]"
    r"|\p{GCB=Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+"
    r"|\X"
)


@dataclass(frozen=True, slots=True)
class Truncation:
    """What is left of a text, and its tokens."""

    content: str
    tokens: int


Truncate = Callable[[str, int], Truncation]
"""A strategy: (content, max_tokens) -> at most `max_tokens` tokens of it.

The ones below also take a counter; bind it (`functools.partial`) where one is wanted.
"""


def head_truncate(
    content: str, max_tokens: int, counter: TokenCounter = estimate_tokens
) -> Truncation:
    """The start of the text, the whole of it if it fits."""
    max_tokens = _limit(content, max_tokens, counter)
    tokens = counter(content)
    if tokens <= max_tokens:
        return Truncation(content, tokens)
    return _counted(grapheme_prefix(content, max_tokens, counter), counter)


def tail_truncate(
    content: str, max_tokens: int, counter: TokenCounter = estimate_tokens
) -> Truncation:
    """The end of the text, the whole of it if it fits."""
    max_tokens = _limit(content, max_tokens, counter)
    tokens = counter(content)
    if tokens <= max_tokens:
        return Truncation(content, tokens)
    return _counted(grapheme_suffix(content, max_tokens, counter), counter)


def summary_truncate(
    content: str, max_tokens: int, counter: TokenCounter = estimate_tokens
) -> Truncation:
    """Both ends of the text around `MARKER`; the start gets the odd token.

    Only the start, without a marker, where the marker leaves no room for text.
    """
    max_tokens = _limit(content, max_tokens, counter)
    tokens = counter(content)
    if tokens <= max_tokens:
        return Truncation(content, tokens)
    room, give_back = max_tokens - counter(MARKER), 1
    while room > 0:
        tail_room = room // 2
        head = grapheme_prefix(content, room - tail_room, counter)
        tail = grapheme_suffix(content, tail_room, counter)
        if len(head) + len(tail) < len(content):  # Else the two would repeat text.
            summary = _counted(head + MARKER + tail, counter)
            if summary.tokens <= max_tokens:
                return summary
        room -= give_back  # Joined, the three cost more than apart.
        give_back *= 2
    return head_truncate(content, max_tokens, counter)


def plain_number(value: object) -> int | float | None:
    """The value as a number of Python's own, NaN and infinities too, or None if it is not one.

    A bool is not one.
    """
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def grapheme_prefix(text: str, max_tokens: int, counter: TokenCounter) -> str:
    """The start of the text that fits, in whole graphemes; empty if not even one does."""
    around = _boundaries(text)

    def fits(length: int) -> bool:
        return counter(text[: around(length)[0]]) <= max_tokens

    length = _longest(len(text), max_tokens * _CHARS_PER_TOKEN, fits)
    return text[: around(length)[0]]


def grapheme_suffix(text: str, max_tokens: int, counter: TokenCounter) -> str:
    """The end of the text that fits, in whole graphemes; empty if not even one does."""
    around = _boundaries(text)

    def fits(length: int) -> bool:
        return counter(text[around(len(text) - length)[1] :]) <= max_tokens

    length = _longest(len(text), max_tokens * _CHARS_PER_TOKEN, fits)
    return text[around(len(text) - length)[1] :]


def head_lines(lines: Sequence[str], max_tokens: int, counter: TokenCounter) -> int:
    """How many of the first lines fit together. Lines hold their endings."""

    def fits(n_lines: int) -> bool:
        return counter("".join(lines[:n_lines])) <= max_tokens

    return _longest(len(lines), max_tokens // _TOKENS_PER_LINE, fits)


def tail_lines(lines: Sequence[str], max_tokens: int, counter: TokenCounter) -> int:
    """How many of the last lines fit together. Lines hold their endings."""

    def fits(n_lines: int) -> bool:
        return counter("".join(lines[len(lines) - n_lines :])) <= max_tokens

    return _longest(len(lines), max_tokens // _TOKENS_PER_LINE, fits)


def boundaries_around(text: str, offset: int) -> tuple[int, int]:
    """The last place to cut at or before the offset, and the first at or after it."""
    return _boundaries(text)(offset)


def _limit(content: object, max_tokens: object, counter: object) -> int:
    """`max_tokens` rounded down, and none of the three nonsense.

    They are of any type: the annotations are a promise that callers may break.
    """
    if not isinstance(content, str):
        raise TypeError(f"`content` must be text, got {type(content).__name__}")
    if not callable(counter):
        raise TypeError(f"`counter` must be callable, got {type(counter).__name__}")
    number = plain_number(max_tokens)
    if number is None or (isinstance(number, float) and math.isnan(number)):
        shown = type(max_tokens).__name__ if number is None else "NaN"
        raise PackError(Code.INVALID_BUDGET, f"`max_tokens` must be a number, got {shown}")
    return math.floor(min(max(number, -1), _ENDLESS))  # All below 0 buy the same.


def _boundaries(text: str) -> Callable[[int], tuple[int, int]]:
    """`boundaries_around` for many offsets of one text: no stretch of it is split twice."""
    found: dict[int, list[int]] = {}  # From each sure boundary on, as far as was asked for.

    def around(offset: int) -> tuple[int, int]:
        if offset in (0, len(text)):
            return offset, offset
        sure = _SURE_BOUNDARY.search(text, 0, offset + 1)
        start = sure.end() - 1 if sure else 0
        places = found.setdefault(start, [start])
        while places[-1] < offset:
            grapheme = _GRAPHEME.match(text, places[-1])
            assert grapheme  # `\X` matches at least one character, and the text goes on here.
            places.append(grapheme.end())
        return places[bisect_right(places, offset) - 1], places[bisect_left(places, offset)]

    return around


def _longest(n: int, guess: int, fits: Callable[[int], bool]) -> int:
    """A `k` of 0..n such that `k` fits (or is 0) and `k + 1` does not (or is beyond `n`).

    Doubles from the guess, then halves: what is counted stays near the size of the result.
    """
    low, high = 0, n + 1
    probe = min(max(guess, 1), n)
    while low < n and fits(probe):
        low, probe = probe, min(probe * 2, n)
    if low < n:
        high = probe
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def _counted(content: str, counter: TokenCounter) -> Truncation:
    return Truncation(content, counter(content))
