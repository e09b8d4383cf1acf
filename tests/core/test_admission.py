"""Why something is in a pack or out: each claim is held against packs that are made for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.admission import (
    MAX_TRIED_TOKENS,
    MAX_TRIES,
    Admission,
    State,
    Target,
    Way,
    gaps,
    most_of,
    shown,
    smallest,
    state,
)
from contextpack.plan import plan
from contextpack.request import Request
from contextpack.text import Lines, lined, merged
from harness.memory import packed, snapshot_of

MOST = 3000


def account(
    admitting: set[int], least: int = 1, most: int = MOST, asked: int = 1
) -> tuple[Admission, list[int]]:
    tried: list[int] = []

    def way_at(budget: int) -> Way | None:
        tried.append(budget)
        return way_of(budget) if budget in admitting else None

    return smallest(way_at, least, most, asked), tried


def way_of(budget: int) -> Way:
    return Way.POINTER if budget % 3 else Way.CHOSEN


ranges = st.tuples(st.integers(1, MOST), st.integers(1, 400)).map(
    lambda drawn: range(drawn[0], min(MOST + 1, drawn[0] + drawn[1]))
)


@given(st.lists(ranges, max_size=4), st.integers(1, 40), st.integers(1, MOST))
def test_a_budget_that_is_found_admits_and_no_smaller_one_that_was_tried(
    islands: list[range], least: int, asked: int
) -> None:
    admitting = {budget for island in islands for budget in island if budget >= least}
    found, tried = account(admitting, least, asked=asked)
    assert len(tried) == len(set(tried)) == found.n_packs
    assert all(least <= budget <= MOST for budget in tried)
    budget = found.budget_tokens
    if budget is None:
        assert admitting.isdisjoint(tried)
        assert MOST + 1 - least - len(tried) == found.n_untried
        assert (None, None, None) == (found.way, found.out_again, found.in_again)
        return
    assert budget <= asked or asked not in admitting
    assert way_of(budget) == found.way
    outs = [n for n in tried if n > budget and n not in admitting]
    assert min(outs, default=None) == found.out_again
    ins = [n for n in tried if n > asked and n in admitting]
    is_passed_over = least <= asked and budget < asked and asked not in admitting
    assert (min(ins, default=None) if is_passed_over else None) == found.in_again
    assert budget in admitting
    assert budget - 1 not in admitting
    assert budget - 1 in tried or budget == least
    assert admitting.isdisjoint(n for n in tried if n < budget)
    assert budget - least - sum(n < budget for n in tried) == found.n_untried
    if found.n_untried == 0:
        assert min(admitting) == budget


@given(st.integers(1, 60), st.integers(1, 60))
def test_where_all_can_be_tried_the_budget_is_the_smallest(first: int, second: int) -> None:
    lone, more = sorted((first, second))
    found, _ = account({lone, *range(more, 100)}, most=100)
    assert (lone, 0) == (found.budget_tokens, found.n_untried)


def test_a_lone_budget_that_is_asked_for_is_found_and_where_it_ends() -> None:
    found, _ = account({100, 2000}, asked=100)
    assert (100, None, None) == (found.budget_tokens, found.out_again, found.in_again)
    found, _ = account({1, *range(900, MOST)}, asked=500)
    assert (1, 2) == (found.budget_tokens, found.out_again)
    assert found.in_again is not None
    assert 900 <= found.in_again < 900 * 1.25


def test_what_was_found_below_a_huge_budget_ends_the_climb() -> None:
    _, tried = account({1}, most=900_000, asked=900_000)
    assert sum(budget for budget in tried if budget < 900_000) <= MAX_TRIED_TOKENS


def test_the_search_is_bounded() -> None:
    for most in (1_000_000, 10_000):
        _, tried = account(set(), most=most)
        *before, last = tried
        assert len(tried) <= MAX_TRIES or sum(before) <= MAX_TRIED_TOKENS
        assert most == max(tried)
        assert last


lines_of_files = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 6)), max_size=5).map(
    lambda drawn: merged(Lines(start, start + length) for start, length in drawn)
)


@given(lines_of_files, st.tuples(st.integers(1, 30), st.integers(0, 12)))
def test_what_is_missing_of_a_range(parts: tuple[Lines, ...], drawn: tuple[int, int]) -> None:
    whole = Lines(drawn[0], drawn[0] + drawn[1])
    shown = {line for part in parts for line in range(part.start, part.end + 1)}
    missing = [line for gap in gaps(parts, whole) for line in range(gap.start, gap.end + 1)]
    assert [n for n in range(whole.start, whole.end + 1) if n not in shown] == missing


@pytest.mark.parametrize(
    ("budget", "most"), [(1, 32_000), (8000, 32_000), (16_000, 64_000), (900_000, 900_000)]
)
def test_how_far_is_worth_looking(budget: int, most: int) -> None:
    assert most == most_of(budget)


def test_a_part_of_which_a_blank_line_stands_beside_another_is_out() -> None:
    body = "".join(f"    x = step_{number}(x)\n" for number in range(60))
    text = (
        f"def one(x):\n{body}\n\ndef comma(x):\n    return comma(x)\n\n\ndef three(x):\n{body}"
    )
    request, made = Request(query="comma", budget_tokens=70), snapshot_of({"a.py": text})
    pack = packed({"a.py": text}, request, made)
    assert (Lines(63, 67),) == shown(pack, "a.py")
    states = {
        chunk.lines.start: state(pack, Target("a.py", chunk), lined(text))
        for chunk in plan(made, request).ranking.chunks_of("a.py")
    }
    assert {1: State.OUT, 42: State.OUT, 64: State.IN, 68: State.OUT} == states
