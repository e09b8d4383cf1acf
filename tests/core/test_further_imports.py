"""The imports of languages beside Python and JavaScript resolve as their own tools do."""

import json
from typing import Any

import pytest

from contextpack.graph import unresolved
from harness.memory import snapshot_of
from harness.paths import FIXTURES

LANGUAGES = ("go", "rust", "java", "c", "cpp")
CASES = [
    json.loads(line)
    for language in LANGUAGES
    for line in (FIXTURES / "imports" / f"{language}.jsonl").read_text("utf-8").splitlines()
]

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


@each_case
def test_edges_are_exactly_these(case: dict[str, Any]) -> None:
    graph = snapshot_of(case["files"]).graph
    edges = [[path, target] for path, targets in graph.imports.items() for target in targets]
    assert sorted(case["edges"]) == sorted(edges)


@each_case
def test_what_leads_out_of_the_workspace_has_its_reason(case: dict[str, Any]) -> None:
    failed = {
        (path, entry.found.specifier): entry.external.value
        for path, entries in unresolved(snapshot_of(case["files"]).graph).items()
        for entry in entries
    }
    expected = {(path, specifier): reason for path, specifier, reason in case["external"]}
    assert expected == failed


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_ten_cases(language: str) -> None:
    assert 10 <= sum(case["lang"] == language for case in CASES)


HOSTILE = {
    "go.mod": ["\n" * 500_000, "use (\n" * 100_000, "replace a => ./b\n" * 50_000],
    "go.work": ["use ./" + "a/" * 50_000, "(" * 100_000],
    "Cargo.toml": ["a = " + "[" * 100_000, "[a" + ".a" * 50_000 + "]\n", "\0"],
    "compile_commands.json": [
        "[" * 100_000,
        json.dumps([{"file": "/a.c", "directory": "/", "command": "\"'\\" * 20_000}] * 50),
        json.dumps([{"file": "/a.c", "directory": "/", "command": "\"'\\" * 9_000}] * 5),
        json.dumps([{"file": "a/" * 100_000 + "a.c", "directory": "/b", "arguments": []}] * 50),
        json.dumps([{"file": "/a.c", "arguments": [f"-I{n}" for n in range(50_000)]}]),
    ],
    "compile_flags.txt": ["-I" + "../" * 50_000 + "\n-I\n-isystem"],
}


@pytest.mark.parametrize(
    ("path", "text"),
    [(path, text) for path, texts in HOSTILE.items() for text in texts],
    ids=lambda value: value[:22].strip(),
)
def test_a_hostile_config_ends_with_an_answer(path: str, text: str) -> None:
    files = {
        path: text,
        "a.go": 'package a\nimport "b/c"\n',
        "src/lib.rs": "use b::c;\n",
        "a.c": '#include "b.h"\n#include <c.h>\n',
    }
    resolved = snapshot_of(files).graph.resolved.values()
    assert 4 == sum(len(each.resolutions) for each in resolved)
