"""Imports of C#, Ruby, PHP and Bash resolve as in `fixtures/imports/`, edges exactly."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from contextpack.graph import unresolved
from harness.memory import snapshot_of
from harness.paths import FIXTURES

LANGUAGES = ("bash", "csharp", "php", "ruby")
CASES = [
    json.loads(line)
    for name in LANGUAGES
    for line in (FIXTURES / "imports" / f"{name}.jsonl").read_text("utf-8").strip().split("\n")
]


def outcome(files: Mapping[str, str]) -> tuple[list[list[str]], list[list[str]]]:
    graph = snapshot_of(files).graph
    edges = [[path, target] for path, targets in graph.imports.items() for target in targets]
    external = [
        [path, one.found.specifier]
        for path, failed in unresolved(graph).items()
        for one in failed
    ]
    return sorted(edges), external


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_edges_and_externals_are_exactly_these(case: Mapping[str, Any]) -> None:
    edges, external = outcome(case["files"])
    assert sorted(case["edges"]) == edges
    assert sorted(case["external"]) == sorted(external)


@pytest.mark.parametrize("name", LANGUAGES)
def test_each_language_has_ten_cases(name: str) -> None:
    assert sum(case["lang"] == name for case in CASES) >= 10
