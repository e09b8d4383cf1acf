"""The imports of languages beside Python and JavaScript resolve as their own tools do."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from contextpack.languages import language_of
from contextpack.model import Import, Path
from contextpack.resolve import (
    Resolution,
    Tree,
    c,
    go,
    is_config,
    java,
    resolver_of,
    resolvers,
    rust,
)
from contextpack.resolve.tree import keys
from harness.memory import STANDARD_LIBRARY, facts_of, snapshot_of
from harness.paths import FIXTURES

WITH_KEYS = go.Resolver | rust.Resolver | java.Resolver | c.Resolver
LANGUAGES = ("go", "rust", "java", "c", "cpp")
CASES = [
    json.loads(line)
    for language in LANGUAGES
    for line in (FIXTURES / "imports" / f"{language}.jsonl").read_text("utf-8").splitlines()
]

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


def resolved(files: Mapping[Path, str]) -> dict[tuple[Path, Import], Resolution]:
    configs = {path: text for path, text in files.items() if is_config(path)}
    found = resolvers(Tree(frozenset(files), configs, STANDARD_LIBRARY))
    result = {}
    for path, text in files.items():
        resolver = resolver_of(found, language_of(path))
        if resolver is not None:
            for imported in facts_of(path, text).imports:
                result[path, imported] = resolver.resolve(path, imported)
    return result


@each_case
def test_edges_are_exactly_these(case: dict[str, Any]) -> None:
    graph = snapshot_of(case["files"]).graph
    edges = [[path, target] for path, targets in graph.imports.items() for target in targets]
    assert sorted(case["edges"]) == sorted(edges)


@each_case
def test_what_leads_out_of_the_workspace_has_its_reason(case: dict[str, Any]) -> None:
    graph = snapshot_of(case["files"]).graph
    unresolved = {
        (path, entry.found.specifier): entry.external.value
        for path, entries in graph.unresolved.items()
        for entry in entries
    }
    expected = {(path, specifier): reason for path, specifier, reason in case["external"]}
    assert expected == unresolved


@each_case
def test_only_a_file_with_a_key_of_an_import_matters_to_it(case: dict[str, Any]) -> None:
    files = case["files"]
    whole = resolved(files)
    configs = {path: text for path, text in files.items() if is_config(path)}
    found = resolvers(Tree(frozenset(files), configs, STANDARD_LIBRARY))
    for vanished in files:
        if is_config(vanished):
            continue
        without = resolved({path: text for path, text in files.items() if path != vanished})
        for (path, imported), resolution in without.items():
            if resolution != whole[path, imported]:
                resolver = resolver_of(found, language_of(path))
                assert isinstance(resolver, WITH_KEYS)
                assert keys(vanished) & resolver.keys_of(imported), (vanished, path, imported)


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
    assert len(resolved(files)) == 4
