"""Chunks as JSON: names, shapes, and what is refused with which words."""

import json
from typing import Any

import pytest

from contextpack.errors import Code, PackError
from contextpackd.chunks_json import packed_json

CHUNKS = [
    {
        "content": "the parser reads tokens",
        "score": 0.9,
        "id": "a",
        "metadata": {"path": "a.py"},
    },
    {"content": "the parser reads tokens!", "score": 0.8, "tokens": 5, "embedding": None},
    {"content": "zebra", "score": 0, "tokens": 2.5, "id": None},
]


def test_a_document_with_options() -> None:
    document = {
        "chunks": CHUNKS,
        "options": {"budget": 9, "redundancyThreshold": 0.85, "strategy": "knapsack"},
    }
    answer = packed_json(json.loads(json.dumps(document)), {})
    assert {
        "chunks": [
            {
                "id": "a",
                "content": "the parser reads tokens",
                "score": 0.9,
                "tokens": 6,
                "position": 0,
                "metadata": {"path": "a.py"},
            }
        ],
        "report": {
            "tokensUsed": 6,
            "budget": 9,
            "tokensRemaining": 3,
            "utilization": 2 / 3,
            "selectedCount": 1,
            "excludedCount": 2,
            "strategy": "knapsack",
            "ordering": "natural",
            "diversity": 1.0,
            "optimalityGap": 0.0,
            "excluded": [
                {
                    "id": "chunk-1",
                    "content": "the parser reads tokens!",
                    "score": 0.8,
                    "tokens": 5,
                    "reason": "redundant",
                    "redundantWith": "a",
                    "similarity": 21 / 22,
                },
                {
                    "id": "chunk-2",
                    "content": "zebra",
                    "score": 0,
                    "tokens": 2.5,
                    "reason": "strategy",
                },
            ],
            "timestamp": None,
            "durationMs": None,
        },
    } == answer
    json.dumps(answer, allow_nan=False)


def test_a_bare_list_with_options_from_flags() -> None:
    answer = packed_json(CHUNKS, {"budget": 100, "mmr_lambda": None, "clock": lambda: 0.0})
    report: Any = answer["report"]
    assert (3, "greedy") == (report["selectedCount"], report["strategy"])
    assert ("1970-01-01T00:00:00.000Z", 0.0) == (report["timestamp"], report["durationMs"])


def test_flags_win_and_nulls_are_not_given() -> None:
    document = {"chunks": CHUNKS, "options": {"budget": 1, "lambda": 1, "maxCandidates": None}}
    answer: Any = packed_json(document, {"budget": 6, "strategy": "mmr"})
    assert ["a"] == [chunk["id"] for chunk in answer["chunks"]]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("text", "the document must be a list of chunks or an object with `chunks`, got text"),
        (None, "got null"),
        ({}, "`chunks` must be a list, got null"),
        ({"chunks": {}}, "`chunks` must be a list, got an object"),
        ({"chunks": [], "option": {}}, "the document has no field `option`"),
        ({"chunks": [], "options": []}, "`options` must be an object, got a list"),
        ({"chunks": [], "options": {"budgets": 1}}, "`options` has no field `budgets`"),
        ({"chunks": [], "options": {"mmr_lambda": 1}}, "`options` has no field `mmr_lambda`"),
        ([3], r"`chunks\[0\]` must be an object, got a number"),
        ([{"content": "a", "score": 1}, {"score": 1}], r"`chunks\[1\]` has no `content`"),
        ([{"content": "a"}], r"`chunks\[0\]` has no `score`"),
        ([{"content": "a", "score": 1, "token": 1}], r"`chunks\[0\]` has no field `token`"),
        (
            [{"content": 1, "score": 1}],
            r"`content` of `chunks\[0\]` must be text, got a number",
        ),
        (
            [{"content": "", "score": "1"}],
            r"`score` of `chunks\[0\]` must be a number, got text",
        ),
        ([{"content": "", "score": True}], "must be a number, got a boolean"),
        ([{"content": "", "score": 1, "id": 1}], r"`id` of `chunks\[0\]` must be text"),
        ([{"content": "", "score": 1, "tokens": "1"}], "`tokens` of .* must be a number"),
        (
            [{"content": "", "score": 1, "embedding": ["1"]}],
            "`embedding` of .* list of numbers",
        ),
        ([{"content": "", "score": 1, "embedding": 1}], "`embedding` of .* list of numbers"),
        ([{"content": "", "score": 1, "metadata": []}], "`metadata` of .* must be an object"),
    ],
)
def test_wrong_shapes_are_named(document: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        packed_json(document, {"budget": 10})


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, Code.INVALID_BUDGET),
        ({"budget": "8k"}, Code.INVALID_BUDGET),
        ({"budget": 1, "strategy": "best"}, Code.INVALID_STRATEGY),
        ({"budget": 1, "strategy": "custom"}, Code.MISSING_CUSTOM_STRATEGY),
        ({"budget": 1, "lambda": 2}, Code.INVALID_LAMBDA),
    ],
)
def test_wrong_values_are_the_librarys_errors(options: dict[str, object], code: Code) -> None:
    with pytest.raises(PackError) as caught:
        packed_json({"chunks": CHUNKS, "options": options}, {})
    assert code == caught.value.code


def test_a_score_that_is_not_finite_is_refused() -> None:
    """Python's JSON reader takes `NaN`."""
    with pytest.raises(PackError, match="'chunk-0'") as caught:
        packed_json(json.loads('[{"content": "", "score": NaN}]'), {"budget": 1})
    assert Code.INVALID_SCORE == caught.value.code
