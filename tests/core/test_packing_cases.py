"""The hard inputs of `fixtures/cases/h.jsonl`, each with the right value.

Where we decided differently the test asserts our decision and says why.
"""

import itertools
import json
import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from contextpack.errors import Code, PackError
from contextpack.select import PackResult, ScoredChunk, pack
from contextpack.similarity import cosine, jaccard

FILE = Path(__file__).parents[2] / "fixtures" / "cases" / "h.jsonl"
CASES = {
    case["id"]: case for case in map(json.loads, FILE.read_text(encoding="utf-8").splitlines())
}
FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
BUILT_IN = ["greedy", "mmr", "knapsack", "coverage"]


def unquoted(value: Any) -> Any:
    """`"NaN"` and its like stand for floats."""
    if isinstance(value, dict):
        return {name: unquoted(part) for name, part in value.items()}
    if isinstance(value, list):
        return [unquoted(part) for part in value]
    return FLOATS.get(value, value) if isinstance(value, str) else value


def chunks_of(entries: list[dict[str, Any]]) -> list[ScoredChunk]:
    return [ScoredChunk(**{"content": "", **unquoted(entry)}) for entry in entries]


def ids(result: PackResult) -> list[str]:
    return [chunk.id for chunk in result.chunks]


def reasons(result: PackResult) -> dict[str, str]:
    return {chunk.id: str(chunk.reason) for chunk in result.report.excluded}


def refused(code: Code, chunks: list[ScoredChunk], **options: Any) -> PackError:
    with pytest.raises(PackError) as caught:
        pack(chunks, **options)
    assert code == caught.value.code
    return caught.value


def as_json(result: PackResult) -> str:
    report = result.report
    figures = [
        report.tokens_used, report.budget, report.tokens_remaining, report.utilization,
        report.diversity, report.optimality_gap,
        [(e.id, e.score, e.tokens, e.similarity) for e in report.excluded],
    ]  # fmt: skip
    return json.dumps(figures, allow_nan=False)


def check_h01(given: Mapping[str, Any]) -> None:
    chunks = chunks_of(given["chunks"])
    for strategy, budget in itertools.product(BUILT_IN, unquoted(given["budgets"])):
        if budget == 1e308:
            result = pack(chunks, budget=budget, strategy=strategy)
            assert ["a", "b", "c"] == sorted(ids(result))
            as_json(result)
        else:
            # Infinity too: a report cannot hold it as JSON, and its utilization means nothing.
            refused(Code.INVALID_BUDGET, chunks, budget=budget, strategy=strategy)


def check_h03(given: Mapping[str, Any]) -> None:
    result = pack(chunks_of(given["chunks"]), budget=given["budget"], strategy="knapsack")
    assert ["x", "y"] == ids(result)
    assert 2 == result.report.tokens_used
    assert 0.0 == result.report.optimality_gap


def check_h04(given: Mapping[str, Any]) -> None:
    """We reject: a caller with one broken score has others that are quietly wrong."""
    chunks = chunks_of(given["chunks"])
    sound = [chunk for chunk in chunks if chunk.id in {"a", "b", "c"}]
    for strategy in BUILT_IN:
        for order in itertools.islice(itertools.permutations(chunks), 0, 5040, 97):
            error = refused(
                Code.INVALID_SCORE, list(order), budget=given["budget"], strategy=strategy
            )
            assert {"n", "p", "m", "s"} == set(error.details["ids"])  # type: ignore[call-overload]  # A mapping to objects.
        for order in itertools.permutations(sound):
            result = pack(order, budget=given["budget"], strategy=strategy)
            assert ["b", "c"] == ids(result)


def check_h05(given: Mapping[str, Any]) -> None:
    """Greedy fills the budget with what is left, as the ancestor does; a knapsack never."""
    chunks = chunks_of(given["chunks"])
    result = pack(chunks, budget=given["budget"], strategy="knapsack")
    assert ["c"] == ids(result)
    assert dict.fromkeys("abd", "strategy") == reasons(result)
    assert ["c", "b", "a", "d"] == ids(pack(chunks, budget=given["budget"]))


def check_h07(given: Mapping[str, Any]) -> None:
    chunks = chunks_of(given["chunks"])
    options: dict[str, Any] = {
        "budget": 50,
        "similarity_metric": "cosine",
        "redundancy_threshold": 0.5,
    }
    error = refused(Code.INVALID_EMBEDDING, chunks, **options)
    assert {"ids": ["d"]} == error.details
    result = pack([chunk for chunk in chunks if chunk.id != "d"], **options)
    assert ["a", "b", "c"] == ids(result)
    (redundant,) = result.report.excluded
    assert ("e", "redundant", "c") == (redundant.id, redundant.reason, redundant.redundant_with)
    assert 0.7071 == pytest.approx(redundant.similarity, abs=1e-4)
    assert 0.0 == cosine([0, 0], [0, 0]) == cosine([0, 0], [1, 0])


def check_h09(given: Mapping[str, Any]) -> None:
    chunks = chunks_of(given["chunks"])
    error = refused(Code.DUPLICATE_ID, chunks, budget=given["budget"])
    assert {"ids": ["x"]} == error.details
    result = pack(chunks[1:], budget=given["budget"])
    everyone = [*ids(result), *reasons(result)]
    assert ["x", "chunk-1", "chunk-2"] == everyone
    clashing = [
        ScoredChunk(content="", score=1),
        ScoredChunk(content="", score=1, id="chunk-0"),
    ]
    assert ["chunk-0-1", "chunk-0"] == ids(pack(clashing, budget=1))


def check_h10(given: Mapping[str, Any]) -> None:
    chunks = chunks_of(given["chunks"])
    expect = CASES["h10"]["expect"]
    used = [*expect["used"], None, None]
    cases = zip(unquoted(given["overheads"]), expect["selected"], used, strict=True)
    for strategy, (overhead, selected, n_used) in itertools.product(BUILT_IN, list(cases)):
        options: dict[str, Any] = {
            "budget": 60,
            "strategy": strategy,
            "chunk_overhead_tokens": overhead,
        }
        if isinstance(selected, str):
            refused(Code.INVALID_OVERHEAD, chunks, **options)
        else:
            result = pack(chunks, **options)
            assert (selected, n_used) == (ids(result), result.report.tokens_used)


def check_h11(given: Mapping[str, Any]) -> None:
    """Chunks are taken whole or not at all; cutting the top hit is the business of files."""
    result = pack(chunks_of(given["chunks"]), budget=given["budget"])
    assert ["s1", "s2"] == ids(result)
    assert {"big": "budget"} == reasons(result)


def check_h12(given: Mapping[str, Any]) -> None:
    """Decided differently: equal scores go by input order, as the ancestor's do.

    The caller's order is the only ranking there is among equals; ids are names. The choice is
    still a function of the input alone.
    """
    chunks = chunks_of(given["chunks"])
    for strategy in given["strategies"]:
        for order in itertools.permutations(chunks):
            result = pack(order, budget=given["budget"], strategy=strategy)
            assert [chunk.id for chunk in order[:3]] == ids(result)


def check_h13(given: Mapping[str, Any]) -> None:
    chunks = chunks_of(given["chunks"])
    expect = CASES["h13"]["expect"]
    options: dict[str, Any] = {"budget": given["budget"], "strategy": "mmr"}
    for value in unquoted(expect["invalid"]):
        refused(Code.INVALID_LAMBDA, chunks, mmr_lambda=value, **options)
    assert expect["lambda_1"] == ids(pack(chunks, mmr_lambda=1, **options))
    assert expect["lambda_0"] == ids(pack(chunks, mmr_lambda=0, **options))
    assert expect["lambda_default_0.5"] == ids(pack(chunks, **options))
    assert expect["lambda_default_0.5"] == ids(pack(chunks, mmr_lambda=None, **options))


def check_h15(given: Mapping[str, Any]) -> None:
    result = pack(chunks_of(given["chunks"]), budget=given["budget"], ordering="chronological")
    assert CASES["h15"]["expect"]["full"] == ids(result)
    assert list(range(6)) == [chunk.position for chunk in result.chunks]


def check_h17(given: Mapping[str, Any]) -> None:
    assert CASES["h17"]["expect"]["sim"] == [jaccard(a, b) for a, b in given["pairs"]]


def check_h18(given: Mapping[str, Any]) -> None:
    """Decided differently at the end: `max_candidates` takes the first N in input order.

    Callers cap a list that their retriever has ranked, and the ancestor documents "the first
    50 chunks"; whoever wants the best N sorts first.
    """
    chunks = chunks_of(given["chunks"])
    expected = CASES["h18"]["expect"]["selected"]
    for most, selected in zip(unquoted(given["maxCandidates"]), expected, strict=True):
        if selected == "INVALID":
            refused(Code.INVALID_MAX_CANDIDATES, chunks, budget=500, max_candidates=most)
        else:
            assert selected == ids(pack(chunks, budget=500, max_candidates=most))
    result = pack(
        chunks_of(given["unsorted"]), budget=500, max_candidates=given["unsorted_max"]
    )
    assert ["lo"] == ids(result)
    assert {"hi": "max-candidates"} == reasons(result)


def check_h20(given: Mapping[str, Any]) -> None:
    chunks = chunks_of(given["chunks"])
    assert ["L"] == ids(pack(chunks, budget=10))
    result = pack(chunks, budget=10, strategy="knapsack")
    assert [f"s{i}" for i in range(10)] == ids(result)
    assert 10.0 == sum(chunk.score for chunk in result.chunks)


def check_h22(given: Mapping[str, Any]) -> None:
    """The skip policy: what does not fit is passed over, and a smaller one may still fit."""
    assert ["p1", "p3"] == ids(pack(chunks_of(given["chunks"]), budget=given["budget"]))


def check_h24(given: Mapping[str, Any]) -> None:
    """Exact at any budget, so there is no fallback to report. Work is counted, not timed."""
    chunks = [
        ScoredChunk(content="", tokens=50 + (i * 37) % 450, score=((i * 7919) % 1000) / 1000)
        for i in range(2000)
    ]
    result = pack(chunks, budget=given["budget"], strategy="knapsack")
    assert "knapsack" == result.report.strategy
    assert 0.0 == result.report.optimality_gap
    assert result.report.tokens_used <= given["budget"]
    greedy = pack(chunks, budget=given["budget"])
    assert sum(c.score for c in greedy.chunks) < sum(c.score for c in result.chunks)


def check_h25(given: Mapping[str, Any]) -> None:
    rng = random.Random(25)
    for _ in range(CASES["h25"]["expect"]["holds_for_runs"]):
        chunks = [
            ScoredChunk(
                content="".join(rng.choices("ab ", k=rng.randint(0, 12))),
                score=rng.choice([rng.uniform(-1, 1), 0.5]),
                id=rng.choice([None, f"chunk-{n + 3}", f"id{n}"]),
                tokens=rng.choice([None, rng.randint(0, 60)]),
            )
            for n in range(rng.randint(0, 9))
        ]
        overhead = rng.randint(0, 5)
        result = pack(
            chunks,
            budget=rng.randint(1, 120),
            strategy=rng.choice(BUILT_IN),
            ordering=rng.choice(["natural", "u-shaped", "chronological"]),
            redundancy_threshold=rng.choice([None, 0.3, 0.9, 1]),
            chunk_overhead_tokens=overhead,
            max_candidates=rng.choice([None, 0, 3, 20]),
        )
        report = result.report
        everyone = [*ids(result), *(chunk.id for chunk in report.excluded)]
        assert len(chunks) == len(everyone) == len(set(everyone))
        own_ids = {chunk.id for chunk in chunks if chunk.id is not None}
        assert own_ids <= set(everyone)
        used = sum(chunk.tokens + overhead for chunk in result.chunks)
        assert used == report.tokens_used <= report.budget
        assert report.budget - used == report.tokens_remaining >= 0
        assert 0 <= report.utilization <= 1
        assert 0 <= report.diversity <= 1
        assert list(range(len(result.chunks))) == [chunk.position for chunk in result.chunks]
        as_json(result)


CHECKS: dict[str, Callable[[Mapping[str, Any]], None]] = {
    name.removeprefix("check_"): check
    for name, check in globals().items()
    if name.startswith("check_")
}


@pytest.mark.parametrize("case_id", CASES)
def test_case(case_id: str) -> None:
    CHECKS[case_id](CASES[case_id]["input"])


@pytest.mark.parametrize("threshold", [0, -0.5, 1.5, math.nan, math.inf, "0.5", True])
def test_a_threshold_that_switches_deduplication_off_by_accident_is_refused(
    threshold: object,
) -> None:
    """Decided differently: 0 is an error. It would call every chunk a duplicate of the best."""
    chunks = [ScoredChunk(content="same", score=1), ScoredChunk(content="same", score=2)]
    refused(Code.INVALID_THRESHOLD, chunks, budget=10, redundancy_threshold=threshold)


@pytest.mark.parametrize("threshold", [1, 1.0, None])
def test_a_threshold_of_one_is_off(threshold: float | None) -> None:
    chunks = [ScoredChunk(content="same", score=1), ScoredChunk(content="same", score=2)]
    assert 2 == pack(chunks, budget=10, redundancy_threshold=threshold).report.selected_count
