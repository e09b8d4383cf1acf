"""`pack` on chunks: what it takes, in which order, what it reports and what it refuses."""

import copy
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.errors import Code, PackError
from contextpack.select import (
    ExcludedChunk,
    Exclusion,
    PackedChunk,
    PackOptions,
    PackResult,
    ScoredChunk,
    Strategy,
    StrategyContext,
    create_packer,
    pack,
    u_shaped,
)
from contextpack.similarity import jaccard

BUILT_IN = ["greedy", "mmr", "knapsack", "coverage"]


def chunk(name: str, score: Any, tokens: Any = 10, **fields: Any) -> ScoredChunk:
    return ScoredChunk(
        **{"content": name, "score": score, "id": name, "tokens": tokens, **fields}
    )


ABC = [chunk("a", 0.9, 50), chunk("b", 0.8, 40), chunk("c", 0.7, 30)]


def ids(result: PackResult) -> list[str]:
    return [one.id for one in result.chunks]


def left_out(result: PackResult) -> dict[str, Exclusion]:
    return {one.id: one.reason for one in result.report.excluded}


def refused(code: Code, chunks: Iterable[Any], **options: Any) -> PackError:
    with pytest.raises(PackError) as caught:
        pack(list(chunks), **options)
    assert code == caught.value.code
    return caught.value


def test_the_best_that_fit_are_taken_and_the_rest_is_reported() -> None:
    chunks = [
        ScoredChunk(content="Relevant document about authentication", score=0.92, tokens=50),
        ScoredChunk(content="Relevant document about authorization", score=0.85, tokens=40),
        ScoredChunk(content="Tangentially related document", score=0.61, tokens=80),
    ]
    result = pack(chunks, PackOptions(budget=100))
    assert ["chunk-0", "chunk-1"] == ids(result)
    report = result.report
    assert (90, 10, 0.9) == (report.tokens_used, report.tokens_remaining, report.utilization)
    assert (2, 1) == (report.selected_count, report.excluded_count)
    assert ("greedy", "natural") == (report.strategy, report.ordering)
    assert (
        ExcludedChunk(
            id="chunk-2",
            content="Tangentially related document",
            score=0.61,
            tokens=80,
            reason=Exclusion.BUDGET,
        ),
    ) == report.excluded
    assert (None, None) == (report.timestamp, report.duration_ms)
    assert report.optimality_gap is None


def test_options_come_as_a_value_by_name_or_both() -> None:
    options = PackOptions(budget=100, strategy=Strategy.KNAPSACK)
    assert pack(ABC, options) == pack(ABC, options=options)
    assert pack(ABC, options) == pack(ABC, budget=100, strategy="knapsack")
    assert pack(ABC, options, budget=50) == pack(ABC, budget=50, strategy="knapsack")
    with pytest.raises(TypeError, match="strategie"):
        pack(ABC, budget=100, strategie="greedy")


def test_a_packer_keeps_its_options_and_takes_others_for_one_call() -> None:
    packer = create_packer(budget=100, ordering="u-shaped")
    assert pack(ABC, budget=100, ordering="u-shaped") == packer.pack(ABC)
    assert pack(ABC, budget=50, ordering="u-shaped") == packer.pack(ABC, budget=50)
    assert 100 == packer.options.budget
    assert packer == create_packer(PackOptions(budget=1, ordering="u-shaped"), budget=100)
    assert packer.pack(ABC) == create_packer(ordering="u-shaped").pack(ABC, budget=100)


def test_none_stands_for_the_default() -> None:
    names = [name for name in PackOptions.__dataclass_fields__ if name != "budget"]
    assert pack(ABC, budget=100) == pack(ABC, None, budget=100, **dict.fromkeys(names))


def test_nothing_fits_is_an_empty_result() -> None:
    for chunks in ([], [chunk("a", 1, 101)]):
        for strategy in BUILT_IN:
            report = pack(chunks, budget=100, strategy=strategy).report
            assert (0, 0, 0.0) == (
                report.selected_count,
                report.tokens_used,
                report.utilization,
            )


# Budgets and counting.


def test_tokens_are_a_quarter_of_the_characters_unless_given_or_counted() -> None:
    chunks = [
        ScoredChunk(content="x" * 9, score=2),
        ScoredChunk(content="y y", score=1, tokens=7),
    ]
    assert [3, 7] == [one.tokens for one in pack(chunks, budget=10).chunks]
    result = pack(chunks, budget=10, token_counter=lambda text: len(text.split()))
    assert [1, 7] == [one.tokens for one in result.chunks]


def test_the_overhead_is_charged_for_each_chunk() -> None:
    result = pack(ABC, budget=100, chunk_overhead_tokens=6)
    assert ["a", "c"] == ids(result)
    assert 92 == result.report.tokens_used
    assert [50, 30] == [one.tokens for one in result.chunks]


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_a_budget_of_nine_and_a_half_is_not_ten(strategy: str) -> None:
    chunks = [chunk("a", 1, 9), chunk("b", 0.5, 1)]
    result = pack(chunks, budget=9.5, strategy=strategy)
    assert (["a"], 9, 0.5) == (ids(result), *figures(result))


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_fractions_are_added_exactly(strategy: str) -> None:
    """Ten times 0.1 is more than 1 as floats stand for it, whatever adding them gives."""
    chunks = [chunk(f"c{i}", 1, 0.1) for i in range(10)]
    result = pack(chunks, budget=1, strategy=strategy)
    assert 9 == result.report.selected_count
    assert result.report.tokens_used == pytest.approx(0.9)


def figures(result: PackResult) -> tuple[float, float]:
    return result.report.tokens_used, result.report.tokens_remaining


def test_numbers_of_numpy_are_numbers() -> None:
    chunks = [chunk("a", np.float32(0.5), np.int64(3)), chunk("b", np.float64(0.25), 4)]
    result = pack(
        chunks, budget=np.int32(7), mmr_lambda=np.float64(1), max_candidates=np.int8(2)
    )
    json.dumps([asdict(one) for one in result.chunks])
    json.dumps([result.report.budget, result.report.tokens_used, result.report.utilization])
    assert ["a", "b"] == ids(result)


# Strategies.


def test_greedy_skips_what_does_not_fit_and_goes_on() -> None:
    result = pack([chunk("big", 0.9, 90), chunk("huge", 0.8, 20), *ABC[2:]], budget=120)
    assert ["big", "huge"] == ids(result)
    result = pack([chunk("big", 0.9, 90), chunk("huge", 0.8, 40), *ABC[2:]], budget=120)
    assert ["big", "c"] == ids(result)


def test_mmr_prefers_what_is_not_yet_there() -> None:
    chunks = [
        chunk("a", 0.9, content="the parser reads tokens"),
        chunk("b", 0.8, content="the parser reads tokens!"),
        chunk("c", 0.3, content="zebra crossing"),
    ]
    assert ["a", "c"] == ids(pack(chunks, budget=20, strategy="mmr"))
    assert ["a", "b"] == ids(pack(chunks, budget=20, strategy="mmr", mmr_lambda=1))
    assert ["a", "c", "b"] == ids(pack(chunks, budget=30, strategy="mmr", mmr_lambda=0))


def test_mmr_goes_by_embeddings_where_there_are_some() -> None:
    chunks = [
        chunk("a", 0.9, content="x", embedding=[1, 0]),
        chunk("b", 0.8, content="y", embedding=[1, 0.1]),
        chunk("c", 0.3, content="x", embedding=[0, 1]),
    ]
    assert ["a", "c"] == ids(pack(chunks, budget=20, strategy="mmr"))
    by_text = pack(chunks, budget=20, strategy="mmr", similarity_metric="jaccard")
    assert ["a", "b"] == ids(by_text)


def test_mmr_equals_its_definition_on_many_chunks() -> None:
    words = ["alpha", "beta", "gamma", "delta"]
    chunks = [
        chunk(
            f"c{i}", (i * 37 % 11) / 11, 1 + i % 5, content=f"{words[i % 4]} {words[i % 3]} {i}"
        )
        for i in range(40)
    ]
    for weight in (0.0, 0.3, 0.7, 1.0):
        expected = mmr_by_definition(chunks, weight, 60)
        assert expected == ids(pack(chunks, budget=60, strategy="mmr", mmr_lambda=weight))


def mmr_by_definition(chunks: list[ScoredChunk], weight: float, budget: float) -> list[str]:
    chosen: list[ScoredChunk] = []
    while True:
        left = budget - sum(one.tokens or 0 for one in chosen)
        fitting = [one for one in chunks if one not in chosen and (one.tokens or 0) <= left]
        if not fitting:
            return [one.id or "" for one in chosen]

        def merit(one: ScoredChunk) -> float:
            if not chosen:
                return one.score
            closest = max(jaccard(one.content, other.content) for other in chosen)
            return weight * one.score - (1 - weight) * closest

        chosen.append(max(fitting, key=merit))


def test_knapsack_finds_what_greedy_misses() -> None:
    chunks = [chunk("large", 1.1, 10), *(chunk(f"s{i}", 1, 1) for i in range(10))]
    result = pack(chunks, budget=10, strategy="knapsack")
    assert [f"s{i}" for i in range(10)] == ids(result)
    assert 0.0 == result.report.optimality_gap
    assert {"large": Exclusion.BUDGET} == left_out(result)


def test_knapsack_gives_the_best_score_first() -> None:
    assert ["a", "c"] == ids(pack(reversed_list(ABC), budget=85, strategy="knapsack"))


def reversed_list(chunks: list[ScoredChunk]) -> list[ScoredChunk]:
    return list(reversed(chunks))


def test_coverage_lets_no_group_dominate() -> None:
    many = [
        chunk(f"p{i}", 0.9 - i / 100, content=f"the parser reads tokens, part {i}")
        for i in range(6)
    ]
    others = [
        chunk("zebra", 0.3, content="zebra crossing the street"),
        chunk("mutex", 0.2, content="a lock guards its queue"),
    ]
    assert ["p0", "p1", "p2", "p3"] == ids(pack([*many, *others], budget=40))
    result = pack([*many, *others], budget=40, strategy="coverage")
    assert ["p0", "zebra", "mutex", "p1"] == ids(result)
    # What the small groups cannot spend goes to the large one.
    assert 8 == pack([*many, *others], budget=80, strategy="coverage").report.selected_count


def test_coverage_shares_tokens_and_not_numbers_of_chunks() -> None:
    chunks = [
        chunk("long", 0.9, 30, metadata={"group": "a"}),
        chunk("long2", 0.8, 30, metadata={"group": "a"}),
        *(chunk(f"s{i}", 0.5 - i / 10, 10, metadata={"group": "b"}) for i in range(4)),
    ]
    result = pack(chunks, budget=70, strategy="coverage")
    assert ["long", "s0", "s1", "s2", "s3"] == ids(result)


def test_coverage_takes_groups_from_metadata_only_if_all_have_one() -> None:
    chunks = [
        chunk("a1", 0.9, content="one text here", metadata={"group": "src"}),
        chunk("a2", 0.8, content="another matter", metadata={"group": "src"}),
        chunk("b1", 0.7, content="one text here.", metadata={"group": "docs"}),
    ]
    assert ["a1", "b1"] == ids(pack(chunks, budget=20, strategy="coverage"))
    without = [*chunks[:2], chunk("b1", 0.7, content="one text here.")]
    assert ["a1", "a2"] == ids(pack(without, budget=20, strategy="coverage"))


def test_coverage_takes_worthless_chunks_last() -> None:
    chunks = [
        chunk("a", 0.9, metadata={"group": 1}),
        chunk("b", 0.5, metadata={"group": 1}),
        chunk("z", 0.0, metadata={"group": 2}),
        chunk("y", -1.0, metadata={"group": 3}),
    ]
    assert ["a", "b", "z", "y"] == ids(pack(chunks, budget=40, strategy="coverage"))


def test_a_custom_strategy_gets_candidates_with_ids_and_tokens() -> None:
    seen: list[Any] = []

    def confident(candidates: list[ScoredChunk], context: StrategyContext) -> list[ScoredChunk]:
        seen.extend([candidates, context])
        return [one for one in reversed(candidates) if one.score > 0.75]

    chunks = [ScoredChunk(content="x" * 8, score=0.8), *ABC, chunk("twin", 0.1, content="a")]
    result = pack(
        chunks,
        budget=100,
        strategy="custom",
        custom_strategy=confident,
        redundancy_threshold=0.9,
        chunk_overhead_tokens=1,
    )
    candidates, context = seen
    assert ["a", "chunk-0", "b", "c"] == [one.id for one in candidates]
    assert [50, 2, 40, 30] == [one.tokens for one in candidates]
    assert (100, 1, 2) == (
        context.budget, context.chunk_overhead_tokens, context.count_tokens("x" * 8)
    )  # fmt: skip
    assert "custom" == context.options.strategy
    assert ["b", "chunk-0", "a"] == ids(result)
    assert {"twin": Exclusion.REDUNDANT, "c": Exclusion.BUDGET} == left_out(result)


@pytest.mark.parametrize(
    "choose",
    [
        lambda candidates: candidates,  # More than the budget.
        lambda candidates: [candidates[0], candidates[0]],
        lambda candidates: [chunk("new", 1)],
        lambda candidates: [chunk("a", 0.9, 1)],  # Cheaper than it is.
        lambda candidates: [ScoredChunk(content="a", score=1)],
        lambda candidates: ["a"],
        lambda candidates: None,
        lambda candidates: 3,
    ],
)
def test_a_custom_strategy_must_give_a_choice(choose: Callable[[Any], Any]) -> None:
    options = {"budget": 100, "strategy": "custom"}
    refused(
        Code.INVALID_STRATEGY_RESULT, ABC, custom_strategy=lambda c, _: choose(c), **options
    )
    refused(Code.MISSING_CUSTOM_STRATEGY, ABC, **options)
    refused(Code.MISSING_CUSTOM_STRATEGY, ABC, custom_strategy="greedy", **options)


def test_a_custom_strategy_may_sort_its_list_or_yield() -> None:
    def lazy(candidates: list[ScoredChunk], _: StrategyContext) -> Iterable[ScoredChunk]:
        candidates.sort(key=lambda one: one.score)
        yield from candidates[:2]

    assert ["c", "b"] == ids(pack(ABC, budget=99, strategy="custom", custom_strategy=lazy))


# Deduplication.


def test_near_duplicates_of_better_chunks_go() -> None:
    chunks = [
        chunk("worse", 0.5, content="The parser reads tokens!"),
        chunk("better", 0.9, content="the parser  reads tokens"),
        chunk("other", 0.1, content="zebra"),
    ]
    result = pack(chunks, budget=100, redundancy_threshold=0.85)
    assert ["better", "other"] == ids(result)
    (redundant,) = result.report.excluded
    assert Exclusion.REDUNDANT == redundant.reason
    assert "better" == redundant.redundant_with
    assert jaccard(chunks[0].content, chunks[1].content) == redundant.similarity


def test_a_duplicate_names_the_one_it_is_most_like() -> None:
    chunks = [
        chunk("near", 0.9, embedding=[1, 0.5]),
        chunk("far", 0.8, embedding=[1, -0.5]),
        chunk("twin", 0.7, embedding=[1, -0.4]),
        chunk("between", 0.6, embedding=[1, 0]),
    ]
    result = pack(chunks, budget=100, redundancy_threshold=0.75)
    named = {one.id: one.redundant_with for one in result.report.excluded}
    assert {"twin": "far", "between": "near"} == named


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_embeddings_are_checked_whatever_the_strategy(strategy: str) -> None:
    mixed = [chunk("a", 0.9, embedding=[1, 0]), chunk("b", 0.8, embedding=[1, 0, 0])]
    lacking = [chunk("a", 0.9, embedding=[1, 0]), chunk("b", 0.8)]
    broken = [chunk("a", 0.9, embedding=[1, 0]), chunk("b", 0.8, embedding=[math.nan, 0])]
    # The budget holds one of them: nothing depends on what happens to be compared.
    options = {"budget": 10, "strategy": strategy, "redundancy_threshold": 0.9}
    refused(Code.DIMENSION_MISMATCH, mixed, **options)
    refused(Code.INVALID_EMBEDDING, broken, **options)
    refused(Code.MISSING_EMBEDDINGS, lacking, similarity_metric="cosine", **options)
    assert ["a"] == ids(pack(mixed, None, similarity_metric="jaccard", **options))
    assert ["a"] == ids(pack(lacking, None, **options))


def test_embeddings_are_not_checked_when_nothing_is_compared() -> None:
    chunks = [chunk("a", 0.9, embedding=[1, 0]), chunk("b", 0.8, embedding=[math.nan])]
    for strategy in ("greedy", "knapsack"):
        result = pack(chunks, budget=20, strategy=strategy, similarity_metric="cosine")
        assert 2 == result.report.selected_count
        assert 0 <= result.report.diversity <= 1


# Orderings.


def test_u_shaped_puts_the_best_at_both_ends() -> None:
    assert [1, 3, 5, 4, 2] == u_shaped([1, 2, 3, 4, 5])
    assert [1, 3, 4, 2] == u_shaped([1, 2, 3, 4])
    assert [] == u_shaped([])
    result = pack(ABC, budget=120, ordering="u-shaped")
    assert ["a", "c", "b"] == ids(result)
    assert [0, 1, 2] == [one.position for one in result.chunks]


def test_chronological_puts_what_has_no_time_last() -> None:
    times: list[object] = [7, None, 2.5, "2024-01-01", math.nan, True, 2.5, -1, 0]
    chunks = [
        chunk(f"c{i}", 1 - i / 10, 1, metadata={"timestamp": time})
        for i, time in enumerate(times)
    ]
    chunks.append(chunk("none", 0, 1))
    result = pack(chunks, budget=100, ordering="chronological")
    assert ["c7", "c8", "c2", "c6", "c0", "c1", "c3", "c4", "c5", "none"] == ids(result)


def test_a_callable_may_order() -> None:
    def backwards(chunks: list[PackedChunk]) -> Iterable[PackedChunk]:
        chunks.reverse()
        return chunks

    result = pack(ABC, budget=120, ordering=backwards)
    assert ["c", "b", "a"] == ids(result)
    assert [0, 1, 2] == [one.position for one in result.chunks]
    assert "custom" == result.report.ordering


@pytest.mark.parametrize(
    "ordering",
    [
        "by-score", 3, lambda chunks: chunks[1:], lambda chunks: [chunks[0]] * 3,
        lambda chunks: None, lambda chunks: ["a", "b", "c"],
    ],
)  # fmt: skip
def test_an_ordering_must_be_one(ordering: object) -> None:
    refused(Code.INVALID_ORDERING, ABC, budget=120, ordering=ordering)


# The report.


def test_reasons_say_what_stood_in_the_way() -> None:
    chunks = [*ABC, chunk("free", -1, 5), chunk("twin", 0.1, content="a"), chunk("late", 1)]
    result = pack(
        chunks, budget=100, strategy="knapsack", redundancy_threshold=0.9, max_candidates=5
    )
    assert ["a", "b"] == ids(result)
    assert {
        "late": Exclusion.MAX_CANDIDATES,
        "twin": Exclusion.REDUNDANT,
        "c": Exclusion.BUDGET,
        "free": Exclusion.STRATEGY,
    } == left_out(result)
    assert ["late", "twin", "c", "free"] == list(left_out(result))


def test_diversity_is_the_mean_dissimilarity_of_the_choice() -> None:
    def of(contents: list[str]) -> float:
        chunks = [ScoredChunk(content=text, score=1, tokens=1) for text in contents]
        return pack(chunks, budget=1000).report.diversity

    assert 1.0 == of([]) == of(["one"]) == of(["aaaa", "bbbb"])
    assert 0.0 == of(["same"] * 3)
    assert 0.5 == of(["abc", "abcd"])
    assert 2 / 3 == pytest.approx(of(["same", "same", "other!"]))
    # Only a sample of so many is compared, and it is spread over the choice.
    assert 0.5 == pytest.approx(of(["aaaa"] * 200 + ["bbbb"] * 200), abs=0.02)


def test_diversity_never_refuses() -> None:
    chunks = [chunk("abc", 1, embedding=[1, 0]), chunk("abcd", 1, embedding=[1])]
    assert 0.5 == pack(chunks, budget=100).report.diversity
    opposed = [chunk("a", 1, embedding=[1, 0]), chunk("b", 1, embedding=[-1, 0])]
    assert 1.0 == pack(opposed, budget=100).report.diversity


@pytest.mark.parametrize(
    ("times", "timestamp", "duration_ms"),
    [
        ([0.0, 0.25], "1970-01-01T00:00:00.000Z", 250.0),
        ([951_827_696.5, 951_827_696.5], "2000-02-29T12:34:56.500Z", 0.0),
        ([1_767_225_599.999, 1_767_225_600.0], "2025-12-31T23:59:59.999Z", None),
        ([-1.0, 0.0], "1969-12-31T23:59:59.000Z", 1000.0),
        ([100.0, 99.0], "1970-01-01T00:01:40.000Z", 0.0),  # A clock that was set back.
        ([math.nan, 1.0], None, None),
        ([1.0, math.inf], None, None),
        ([10**400, 1.0], None, None),
        ([1e306, 1e306], None, None),  # A year that ISO 8601 cannot write.
        ([253_402_300_799.9999, 253_402_300_800], None, None),
        ([np.float32(2), np.int64(3)], "1970-01-01T00:00:02.000Z", 1000.0),
    ],
)
def test_times_come_from_the_clock(
    times: list[float], timestamp: str | None, duration_ms: float | None
) -> None:
    report = pack(ABC, budget=10, clock=iter(times).__next__).report
    assert timestamp == report.timestamp
    if duration_ms is not None:
        assert duration_ms == report.duration_ms


# What is refused.


@pytest.mark.parametrize(
    ("code", "option", "values"),
    [
        (Code.INVALID_BUDGET, "budget", [0, -1, math.nan, math.inf, -math.inf, "8k", None, True, [], 10**400, 10**5000]),
        (Code.INVALID_STRATEGY, "strategy", ["best", "", "GREEDY", 3]),
        (Code.INVALID_LAMBDA, "mmr_lambda", [-0.1, 1.0001, math.nan, math.inf, "0.5", True]),
        (Code.INVALID_METRIC, "similarity_metric", ["dot", 1]),
        (Code.INVALID_OVERHEAD, "chunk_overhead_tokens", [-1, -0.5, math.nan, math.inf, "1", True]),
        (Code.INVALID_MAX_CANDIDATES, "max_candidates", [-1, 1.5, 2.0, math.nan, "3", True]),
    ],
)  # fmt: skip
def test_options_that_cannot_be_right(code: Code, option: str, values: list[object]) -> None:
    """Whatever the strategy, and even if there is nothing to choose from."""
    for value in values:
        error = refused(code, [], **{"budget": 100, option: value})
        assert f"`{option}`" in error.message


def test_an_error_shows_no_more_of_a_value_than_a_line() -> None:
    for budget in (10**400, "8" * 10_000):
        assert len(refused(Code.INVALID_BUDGET, [], budget=budget).message) < 150


@pytest.mark.parametrize("options", [5, {"budget": 5}, "budget", [PackOptions(budget=5)]])
def test_options_are_pack_options(options: Any) -> None:
    for call in (lambda: pack(ABC, options), lambda: create_packer(options)):
        with pytest.raises(TypeError, match="`options` must be PackOptions, got "):
            call()
    with pytest.raises(TypeError, match="`options` must be PackOptions, got "):
        pack(ABC, options, budget=5)


def test_a_packer_refuses_a_name_at_once_and_a_value_at_the_call() -> None:
    with pytest.raises(TypeError, match="strategie"):
        create_packer(budget=5, strategie="greedy")
    packer = create_packer(budget="x")
    with pytest.raises(PackError, match="`budget`"):
        packer.pack(ABC)
    assert pack(ABC, budget=100) == packer.pack(ABC, budget=100)


@pytest.mark.parametrize("option", ["token_counter", "clock"])
def test_functions_can_be_called(option: str) -> None:
    values: list[Any] = ["x", 5, []]
    for value in values:
        with pytest.raises(TypeError, match=f"`{option}` must be callable, got "):
            pack([], None, budget=100, **{option: value})


@pytest.mark.parametrize("times", [["x"], [None], [True], [1.0, "x"], [[1.0]]])
def test_a_clock_gives_numbers(times: list[Any]) -> None:
    with pytest.raises(TypeError, match="`clock` must give seconds as a number, got "):
        pack(ABC, budget=100, clock=iter(times).__next__)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, None, "1", True, 10**400])
def test_scores_are_finite_numbers(score: Any) -> None:
    chunks = [chunk("a", 1), chunk("bad", score), ScoredChunk(content="", score=score)]
    error = refused(Code.INVALID_SCORE, chunks, budget=100, max_candidates=1)
    assert {"ids": ["bad", "chunk-2"]} == error.details
    assert "'bad', 'chunk-2'" in error.message


@pytest.mark.parametrize("tokens", [-1, -0.5, math.nan, math.inf, "5", True])
def test_tokens_are_finite_and_not_negative(tokens: Any) -> None:
    error = refused(Code.INVALID_TOKENS, [chunk("a", 1), chunk("bad", 1, tokens)], budget=100)
    assert {"ids": ["bad"]} == error.details
    uncounted = [ScoredChunk(content="", score=1, id="bad")]
    refused(Code.INVALID_TOKENS, uncounted, budget=100, token_counter=lambda _: tokens)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        1,
        {"content": "a", "score": 1},
        ScoredChunk(content=b"bytes", score=1),  # type: ignore[arg-type]  # What it refuses.
        ScoredChunk(content="", score=1, id=7),  # type: ignore[arg-type]  # What it refuses.
        ScoredChunk(content="", score=1, metadata=["a"]),  # type: ignore[arg-type]  # The same.
    ],
)
def test_chunks_are_chunks(bad: object) -> None:
    error = refused(Code.INVALID_CHUNK, [chunk("a", 1), bad], budget=100)
    assert {"position": 1} == error.details


@pytest.mark.parametrize("chunks", [None, 5, ABC[0], "text", "", b"", {}, {"a": ABC[0]}])
def test_chunks_are_an_iterable(chunks: Any) -> None:
    with pytest.raises(
        PackError, match="`chunks` must be an iterable of ScoredChunk"
    ) as caught:
        pack(chunks, budget=5)
    assert Code.INVALID_CHUNK == caught.value.code


def test_chunks_may_come_one_by_one() -> None:
    for strategy in BUILT_IN:
        expected = pack(ABC, budget=100, strategy=strategy)
        assert expected == pack(iter(ABC), budget=100, strategy=strategy)
        assert expected == create_packer(budget=100, strategy=strategy).pack(one for one in ABC)


def test_ids_are_unique() -> None:
    error = refused(Code.DUPLICATE_ID, [*ABC, *ABC[:2]], budget=100)
    assert {"ids": ["a", "b"]} == error.details


def test_generated_ids_avoid_those_that_callers_use() -> None:
    given_ids = [None, "chunk-0", None, "chunk-2", "chunk-2-1", "", None]
    chunks = [ScoredChunk(content="", score=0, id=one) for one in given_ids]
    expected = ["chunk-0-1", "chunk-0", "chunk-2-2", "chunk-2", "chunk-2-1", "", "chunk-6"]
    assert expected == ids(pack(chunks, budget=1))


# Properties.

names = st.sampled_from(["x", "y", "z", "chunk-0", "chunk-1", "chunk-2", "chunk-1-1"])
amounts = st.one_of(st.integers(0, 60), st.floats(0, 60))


@st.composite
def chunk_lists(draw: st.DrawFn) -> list[ScoredChunk]:
    own = draw(st.lists(names, unique=True, max_size=7))
    own_ids: list[str | None] = draw(st.permutations([*own, *[None] * draw(st.integers(0, 5))]))
    return [
        ScoredChunk(
            content=draw(st.text(alphabet="ab ", max_size=16)),
            score=draw(st.one_of(st.sampled_from([0.0, 0.5, 0.5, 1.0]), st.floats(-1e6, 1e6))),
            id=one,
            tokens=draw(st.one_of(st.none(), amounts)),
            metadata=draw(st.one_of(st.none(), st.just({"timestamp": 1, "group": "g"}))),
        )
        for one in own_ids
    ]


@st.composite
def requests(draw: st.DrawFn) -> PackOptions:
    return PackOptions(
        budget=draw(st.one_of(st.integers(1, 150), st.floats(0.01, 150))),
        strategy=draw(st.sampled_from(BUILT_IN)),
        ordering=draw(st.sampled_from(["natural", "u-shaped", "chronological"])),
        mmr_lambda=draw(st.floats(0, 1)),
        redundancy_threshold=draw(st.sampled_from([None, 0.2, 0.7, 1])),
        chunk_overhead_tokens=draw(st.one_of(st.just(0), amounts)),
        max_candidates=draw(st.sampled_from([None, 0, 3])),
    )


@given(chunk_lists(), requests())
def test_the_books_balance(chunks: list[ScoredChunk], options: PackOptions) -> None:
    before = copy.deepcopy(chunks)
    result = pack(chunks, options)
    assert before == chunks
    report = result.report
    everyone = [*ids(result), *left_out(result)]
    assert len(chunks) == len(everyone) == len(set(everyone))
    assert {one.id for one in chunks if one.id is not None} <= set(everyone)
    used = math.fsum(one.tokens + options.chunk_overhead_tokens for one in result.chunks)
    assert report.tokens_used == pytest.approx(used)
    assert 0 <= report.tokens_used <= options.budget
    assert 0 <= report.tokens_remaining
    assert 0 <= report.utilization <= 1
    assert 0 <= report.diversity <= 1
    assert list(range(report.selected_count)) == [one.position for one in result.chunks]
    assert (len(result.chunks), len(report.excluded)) == (
        report.selected_count, report.excluded_count
    )  # fmt: skip
    for left in report.excluded:
        cost = left.tokens + options.chunk_overhead_tokens
        if left.reason is Exclusion.STRATEGY:
            assert cost <= report.tokens_remaining + 1e-9
        if left.reason is Exclusion.BUDGET:
            assert cost >= report.tokens_remaining - 1e-9
    json.dumps(asdict(report), allow_nan=False)


@given(chunk_lists(), requests())
def test_metadata_and_content_are_the_same_objects(
    chunks: list[ScoredChunk], options: PackOptions
) -> None:
    result = pack(chunks, options)
    contents = {id(one.content) for one in chunks}
    metadata = {id(one.metadata) for one in chunks}
    everything: list[PackedChunk | ExcludedChunk] = [*result.chunks, *result.report.excluded]
    for out in everything:
        assert id(out.content) in contents
        assert id(out.metadata) in metadata


@given(chunk_lists(), st.integers(1, 150))
def test_greedy_keeps_input_order_among_equal_scores(
    chunks: list[ScoredChunk], budget: int
) -> None:
    order = {one: number for number, one in enumerate(every_id(chunks))}
    for one, following in pairwise(pack(chunks, budget=budget).chunks):
        assert (-one.score, order[one.id]) < (-following.score, order[following.id])


def every_id(chunks: list[ScoredChunk]) -> list[str]:
    """Ids in input order; knapsack of nothing leaves all in that order."""
    nothing = pack(chunks, budget=1, max_candidates=0)
    return [one.id for one in nothing.report.excluded]


@given(chunk_lists(), requests())
def test_knapsack_is_never_worse_than_greedy(
    chunks: list[ScoredChunk], options: PackOptions
) -> None:
    greedy = pack(chunks, options, strategy="greedy")
    knapsack = pack(chunks, options, strategy="knapsack")
    best = math.fsum(one.score for one in knapsack.chunks)
    assert math.fsum(one.score for one in greedy.chunks) <= best + 1e-9 * max(1.0, abs(best))
    assert all(one.score > 0 for one in knapsack.chunks)
    assert 0.0 == knapsack.report.optimality_gap
