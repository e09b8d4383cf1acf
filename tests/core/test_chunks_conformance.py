"""What the ancestor's own program answered, call by call (`fixtures/conformance/CHUNKS.md`)."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from contextpack.errors import PackError
from contextpack.select import ExcludedChunk, PackResult, ScoredChunk, pack

LINES = Path(__file__).parents[2] / "fixtures" / "conformance" / "chunks.jsonl"
CALLS = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]

OPTION_NAMES = {
    "budget": "budget",
    "strategy": "strategy",
    "lambda": "mmr_lambda",
    "ordering": "ordering",
    "redundancyThreshold": "redundancy_threshold",
    "similarityMetric": "similarity_metric",
    "chunkOverheadTokens": "chunk_overhead_tokens",
    "maxCandidates": "max_candidates",
}
FIGURES = {
    "tokensUsed": "tokens_used",
    "budget": "budget",
    "tokensRemaining": "tokens_remaining",
    "utilization": "utilization",
    "selectedCount": "selected_count",
    "excludedCount": "excluded_count",
    "strategy": "strategy",
    "ordering": "ordering",
}


def packed(call: Mapping[str, Any]) -> PackResult:
    chunks = [ScoredChunk(**chunk) for chunk in call["chunks"]]
    return pack(
        chunks, **{OPTION_NAMES[name]: value for name, value in call["options"].items()}
    )


def excluded_json(chunk: ExcludedChunk) -> dict[str, object]:
    entry = {
        "id": chunk.id,
        "score": chunk.score,
        "tokens": chunk.tokens,
        "reason": str(chunk.reason),
        "redundantWith": chunk.redundant_with,
    }
    return {name: value for name, value in entry.items() if value is not None}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call["id"])
def test_the_ancestor_agrees(call: Mapping[str, Any]) -> None:
    expect = call["expect"]
    if "error" in expect:
        with pytest.raises(PackError) as caught:
            packed(call)
        assert expect["error"] == caught.value.code
        return
    result = packed(call)
    if call["options"].get("strategy") == "knapsack":
        assert_at_least_as_good(call, result)
    else:
        assert_equal(expect, result)


def assert_equal(expect: Mapping[str, Any], result: PackResult) -> None:
    chunks = []
    for chunk in result.chunks:
        entry = {name: value for name, value in asdict(chunk).items() if value is not None}
        del entry["content"]
        chunks.append(entry)
    assert expect["chunks"] == chunks
    for theirs, ours in FIGURES.items():
        assert expect["report"][theirs] == getattr(result.report, ours), theirs
    for entry, found in zip(expect["report"]["excluded"], result.report.excluded, strict=True):
        assert entry.get("similarity") == pytest.approx(found.similarity, abs=1e-9)
        assert {n: v for n, v in entry.items() if n != "similarity"} == excluded_json(found)


def assert_at_least_as_good(call: Mapping[str, Any], result: PackResult) -> None:
    theirs = call["expect"]
    total = math.fsum(chunk.score for chunk in result.chunks)
    their_total = math.fsum(chunk["score"] for chunk in theirs["chunks"])
    overhead = call["options"].get("chunkOverheadTokens", 0)
    budget = call["options"]["budget"]
    used = sum(chunk.tokens + overhead for chunk in result.chunks)
    assert used == result.report.tokens_used
    assert used <= budget
    assert result.report.optimality_gap == 0.0
    n_considered = min(len(call["chunks"]), call["options"].get("maxCandidates", math.inf))
    if budget > 5000 or n_considered * budget > 500_000:  # It gave what greedy gives.
        assert their_total <= total + 1e-9
    else:
        assert their_total == pytest.approx(total, abs=1e-9)
    n_all = len(call["chunks"])
    assert n_all == result.report.selected_count + result.report.excluded_count
