"""Cuts are within their tokens, between graphemes, and as long as they can be."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from contextpack.errors import Code, PackError
from contextpack.model import TokenCounter
from contextpack.text import split_lines
from contextpack.tokens import estimate_tokens, profile_of
from contextpack.truncate import (
    MARKER,
    Truncation,
    boundaries_around,
    grapheme_prefix,
    grapheme_suffix,
    head_lines,
    head_truncate,
    summary_truncate,
    tail_lines,
    tail_truncate,
)
from contextpackd.counters import counter

CASES = Path(__file__).parents[2] / "fixtures" / "cases" / "c.jsonl"
O200K, CL100K = counter(profile_of("o200k")), counter(profile_of("cl100k"))
COUNTERS = {"estimate": estimate_tokens, "o200k": O200K, "cl100k": CL100K}
STRATEGIES = {"head": head_truncate, "tail": tail_truncate, "summary": summary_truncate}

# What text is made of where cuts go wrong: pairs, joined emoji, marks, flags, Hangul, Indic
# conjuncts, prepended signs, line ends, and text that costs more joined than apart.
PARTS = st.sampled_from([
    "a", "é", "e\u0301", "漢", "한국", "각", "\u1100\u1161", "😀", "👩‍👩‍👧", "👍🏽", "🇩🇪", "🇫🇷",
    "क्षि", "\u0600", "\u200d", "\u0301\u0301", "\ufe0f", "\r\n", "\n", "\r", "\t\t", "..",
    "()    ", "\x00", "def f(x):\n", "    return x\n", "word ", "<|endoftext|>",
])  # fmt: skip
TEXTS = st.lists(PARTS, max_size=40).map("".join) | st.text(max_size=80)
LIMITS = st.integers(-2, 60)
counters = pytest.mark.parametrize("count", COUNTERS.values(), ids=COUNTERS)
strategies = pytest.mark.parametrize("truncate", STRATEGIES.values(), ids=STRATEGIES)


def boundaries(text: str) -> list[int]:
    """Every place where the text may be cut, by splitting all of it."""
    ends = [match.end() for match in regex.finditer(r"\X", text)]
    return [0, *ends]


@counters
@strategies
@given(text=TEXTS, limit=LIMITS)
def test_a_cut_is_within_its_tokens_and_tears_nothing(
    count: TokenCounter,
    truncate: Callable[[str, int, TokenCounter], Truncation],
    text: str,
    limit: int,
) -> None:
    cut = truncate(text, limit, count)

    assert cut.tokens == count(cut.content)
    assert cut.tokens <= max(limit, 0)
    assert not regex.search(r"[\ud800-\udfff]", cut.content)
    if MARKER in cut.content:
        head, tail = cut.content.split(MARKER)
    elif truncate is tail_truncate:
        head, tail = "", cut.content
    else:
        head, tail = cut.content, ""
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) in boundaries(text)
    assert len(text) - len(tail) in boundaries(text)
    assert (cut.content == text) == (count(text) <= limit or text == "")


@counters
@given(text=TEXTS, limit=LIMITS)
def test_one_grapheme_more_would_not_fit(count: TokenCounter, text: str, limit: int) -> None:
    places = boundaries(text)
    head = len(grapheme_prefix(text, limit, count))
    tail = len(text) - len(grapheme_suffix(text, limit, count))

    after_head = min((p for p in places if p > head), default=None)
    assert after_head is None or count(text[:after_head]) > limit
    before_tail = max((p for p in places if p < tail), default=None)
    assert before_tail is None or count(text[before_tail:]) > limit


@given(text=TEXTS)
def test_boundaries_found_nearby_are_those_of_the_whole_text(text: str) -> None:
    places = boundaries(text)
    for offset in range(len(text) + 1):
        before = max(p for p in places if p <= offset)
        after = min(p for p in places if p >= offset)
        assert (before, after) == boundaries_around(text, offset)


def test_halves_of_a_surrogate_pair_stay_together() -> None:
    text = "ab\ud83d\ude00cd"
    assert boundaries_around(text, 3) == (2, 4)


@counters
@given(text=TEXTS, limit=LIMITS)
def test_lines_that_fit_are_counted_together(
    count: TokenCounter, text: str, limit: int
) -> None:
    lines = split_lines(text)
    n_head, n_tail = head_lines(lines, limit, count), tail_lines(lines, limit, count)

    assert count("".join(lines[:n_head])) <= max(limit, 0)
    assert n_head == len(lines) or count("".join(lines[: n_head + 1])) > limit
    assert count("".join(lines[len(lines) - n_tail :])) <= max(limit, 0)
    assert n_tail == len(lines) or count("".join(lines[len(lines) - n_tail - 1 :])) > limit


def test_head_and_tail_keep_the_ends() -> None:
    text = "0123456789" * 10
    assert Truncation(text[:20], 5) == head_truncate(text, 5)
    assert Truncation(text[-20:], 5) == tail_truncate(text, 5)
    assert Truncation(text, 25) == head_truncate(text, 25)


@strategies
def test_a_fraction_of_a_token_buys_nothing(truncate: Callable[..., Truncation]) -> None:
    text = "0123456789" * 10
    assert truncate(text, 12) == truncate(text, 12.9)
    assert truncate(text, 12) == truncate(text, np.int64(12))
    assert Truncation("", 0) == truncate(text, 0.9) == truncate(text, -math.inf)
    assert Truncation(text, 25) == truncate(text, math.inf) == truncate(text, 10**5000)
    assert Truncation("", 0) == truncate(text, -(10**5000))


@strategies
@pytest.mark.parametrize("limit", ["5", None, True, math.nan, np.float64("nan"), [5]])
def test_a_limit_is_a_number(truncate: Callable[..., Truncation], limit: object) -> None:
    with pytest.raises(PackError, match="`max_tokens` must be a number") as caught:
        truncate("abcdefgh", limit)
    assert Code.INVALID_BUDGET == caught.value.code


@strategies
def test_only_text_is_cut_and_only_a_function_counts(truncate: Callable[..., Any]) -> None:
    for content in (b"abcdefgh", None, ["a"]):
        with pytest.raises(TypeError, match="`content` must be text"):
            truncate(content, 1)
    with pytest.raises(TypeError, match="`counter` must be callable, got str"):
        truncate("abcdefgh", 1, "o200k")


def test_a_summary_keeps_both_ends_around_a_marker() -> None:
    text = "0123456789" * 10
    # The marker costs 7 of 12; the start gets 3 of the 5 that are left, the end 2.
    assert Truncation(text[:12] + MARKER + text[-8:], 12) == summary_truncate(text, 12)
    assert Truncation(text[:28], 7) == summary_truncate(text, 7)


def test_a_summary_yields_where_the_joined_text_costs_more() -> None:
    def dear(text: str) -> int:
        """A counter that charges for the marker's company."""
        return len(text) + (10 if MARKER in text and text != MARKER else 0)

    cut = summary_truncate("x" * 200, 60, dear)
    assert cut.tokens <= 60
    assert MARKER in cut.content


def test_a_summary_never_repeats_text_that_its_ends_share() -> None:
    def joined_is_dear(text: str) -> int:
        return 100 if text == "abcdefgh" else len(text) // 8

    assert Truncation("abcdefg", 0) == summary_truncate("abcdefgh", 50, joined_is_dear)


@strategies
def test_a_counter_that_nothing_satisfies_leaves_nothing(
    truncate: Callable[[str, int, TokenCounter], Truncation],
) -> None:
    assert Truncation("", 1000) == truncate("some text", 5, lambda _: 1000)


@strategies
def test_a_long_text_takes_few_counts(
    truncate: Callable[[str, int, TokenCounter], Truncation],
) -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return O200K(text)

    cut = truncate("x = compute(y) \n" * 50_000, 1000, count)
    assert 990 <= cut.tokens <= 1000
    assert len(counted) <= 60
    # All but the first count are of texts near the size of the result.
    assert max(counted[1:]) <= 4 * len(cut.content)


@strategies
@pytest.mark.parametrize(
    "unit",
    ["漢字の見積", "한국어", "👩‍👩‍👧", "🇩🇪", "👍🏽", "क्षि", "\u0600", "\u0301", "\r\n", "\x00"],
    ids=ascii,
)
def test_a_long_text_of_one_kind_is_split_once(
    truncate: Callable[[str, int, TokenCounter], Truncation], unit: str
) -> None:
    # Splitting all of it anew for each try would take minutes.
    text = unit * 100_000
    for limit in (7, 30_000):
        cut = truncate(text, limit, O200K)
        assert cut.tokens <= limit


def test_case_c08_the_longest_prefix_of_whole_graphemes() -> None:
    lines = map(json.loads, CASES.read_text("utf-8").splitlines())
    case = next(line for line in lines if line["id"] == "c08")
    text = case["input"]["text"]
    for limit, lengths in case["expect"]["longest_codepoint_prefix_len"].items():
        for encoding, longest in lengths.items():
            count = counter(profile_of(encoding))
            cut = head_truncate(text, int(limit), count)
            assert max(p for p in boundaries(text) if p <= longest) == len(cut.content)
            assert text.startswith(cut.content)
            assert "\ufffd" not in cut.content
            assert cut.content == cut.content.encode("utf-8").decode("utf-8")
