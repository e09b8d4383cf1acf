"""Imports of C#, Ruby, PHP and Bash resolve as in `fixtures/imports/`, edges exactly."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from contextpack.model import Import
from contextpack.resolve import bash, csharp, file_keys, php, ruby
from harness.memory import facts_of, snapshot_of
from harness.paths import FIXTURES

LANGUAGES: Mapping[str, Any] = {"bash": bash, "csharp": csharp, "php": php, "ruby": ruby}
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
        for path, failed in graph.unresolved.items()
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


def keys_of(language: str, found: Import) -> frozenset[str]:
    keys: frozenset[str] = LANGUAGES[language].keys_of(found)
    return keys


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_file_that_vanishes_only_changes_imports_that_share_a_key(
    case: Mapping[str, Any],
) -> None:
    files, language = case["files"], case["lang"]
    before = snapshot_of(files).graph
    for gone in files:
        if gone.endswith((".json", ".gemspec")) or gone in ("Gemfile", "Rakefile"):
            continue  # Configuration moves what everything else resolves to.
        facts = facts_of(gone, files[gone])
        keys = file_keys(gone, facts.language, facts.symbols)
        after = snapshot_of({path: text for path, text in files.items() if path != gone}).graph
        for path in set(files) - {gone}:
            met = any(
                keys_of(language, found) & keys for found in facts_of(path, files[path]).imports
            )
            same = before.imports.get(path) == after.imports.get(
                path
            ) and before.unresolved.get(path) == after.unresolved.get(path)
            assert met or same, f"{path} without {gone}"
