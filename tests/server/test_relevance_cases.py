"""The hard inputs of `fixtures/cases` about relevance, from the disk to the ranking."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import contextpackd
from contextpack.query import question
from contextpack.terms import stem, terms
from contextpackd.door import Root
from harness.trees import build, cases, isolate_git, run_git

CASES = cases("e.jsonl")


def opened(tmp_path: Path, case: Mapping[str, Any]) -> Root:
    root = tmp_path / "ws"
    build(root, case["input"]["files"])
    return contextpackd.open(root)


def scores(root: Root, query: str, budget: int = 10_000) -> dict[str, float]:
    """The score of each file by the ledger, best first."""
    entries = root.pack(query, budget, ledger="all").ledger
    found = {entry.path: entry.score or 0.0 for entry in entries}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def first(root: Root, query: str) -> str:
    """The file with the best score, which no other file may share."""
    (best, top), (_, second), *_ = scores(root, query).items()
    assert top > second
    return best


def test_e01_identifiers_are_found_whole_and_by_their_parts(tmp_path: Path) -> None:
    case = CASES["e01"]
    root = opened(tmp_path, case)
    for identifier, expected in case["expect"]["subtokens_include"].items():
        found = {*terms(identifier)}
        whole = identifier.replace("-", "").replace("_", "").lower()
        assert {*terms(" ".join(expected)), stem(whole)} <= found, identifier
    for query, path in zip(case["input"]["queries"], case["expect"]["first"], strict=True):
        assert path == first(root, query), query


def test_e03_words_of_any_script_are_found(tmp_path: Path) -> None:
    case = CASES["e03"]
    root = opened(tmp_path, case)
    for query, path in zip(case["input"]["queries"], case["expect"]["first"], strict=True):
        assert question(query).weights
        assert path == first(root, query), query


def test_e04_common_words_and_parts_of_words_count_for_nothing(tmp_path: Path) -> None:
    case = CASES["e04"]
    root = opened(tmp_path, case)
    for query, path in zip(case["input"]["queries"], case["expect"]["first"], strict=True):
        assert path == first(root, query), query


def test_e06_what_matches_nothing_is_never_shown_as_a_match(tmp_path: Path) -> None:
    case = CASES["e06"]
    root = opened(tmp_path, case)
    for query in case["input"]["queries"]:
        pack = root.pack(query, case["input"]["budget"])
        assert pack.is_fallback or not pack.items
        assert pack.is_fallback == (query != "zzzz qqqq")


def test_e07_the_innermost_frame_of_the_workspace_comes_first(tmp_path: Path) -> None:
    case, expect = CASES["e07"], CASES["e07"]["expect"]
    root = opened(tmp_path, case)
    hints = [(path, line) for path, lines in expect["line_hints"].items() for line in lines]
    told = zip(
        case["input"]["queries"], expect["first"], expect["top2_set"], hints, strict=True
    )
    for query, path, two, hint in told:
        ranked = list(scores(root, query))
        assert path == ranked[0]
        assert {*two} == {*ranked[:2]}
        named = [(mention.path, mention.line) for mention in question(query).mentions]
        assert any(name.endswith(hint[0]) and line == hint[1] for name, line in named)


def test_e08_a_file_that_is_named_and_gone_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, expect = CASES["e08"], CASES["e08"]["expect"]
    isolate_git(monkeypatch, tmp_path / "home")
    root = opened(tmp_path, case)
    run_git(root.path, "init", "-q")
    run_git(root.path, "add", "-A")
    run_git(root.path, "commit", "-qm", "first")
    (root.path / "src/old.py").unlink()
    query = case["input"]["query"]
    answer: Any = root.pack_json(query, ledger="all")
    assert expect["first"] == answer["items"][0]["path"]
    assert not {entry["path"] for entry in answer["ledger"]} & {*expect["excluded"]}
    [(missing, kind)] = expect["note_kind"].items()
    told = [w["message"] for w in answer["report"]["warnings"] if w["kind"] == kind]
    assert [f"the task names {missing}, which is no file of the workspace"] == told


def test_e11_a_hub_does_not_lift_all_its_leaves(tmp_path: Path) -> None:
    case, expect = CASES["e11"], CASES["e11"]["expect"]
    root = opened(tmp_path, case)
    query = case["input"]["query"]
    assert expect["first"] == first(root, query)
    found = scores(root, query, case["input"]["budget"])
    for one, sign, other in expect["score_order"]:
        assert found[one] > found[other] if sign == ">" else found[one] >= found[other]
    leaves = [f"src/m{n}.py" for n in range(30) if n != 7]
    assert all(found[leaf] < 0.1 * found[expect["first"]] for leaf in leaves)


@pytest.mark.parametrize(
    "query",
    [
        "why does src/keep.py fail", "keep.py", "Node.js and socket.io",
        "see https://example.org/docs/old.html", "in /usr/lib/python3/old.py", "github.com/a/b.git",
        'File "lib/old.py", line 3', "C:\\work\\old.py", "build/out.js",
    ],
)  # fmt: skip
def test_nothing_is_missing_that_need_not_be_here(tmp_path: Path, query: str) -> None:
    files = {".gitignore": "build/", "src/keep.py": "KEEP = 1", "build/out.js": ""}
    build(tmp_path, [{"path": path, "text": text} for path, text in files.items()])
    answer: Any = contextpackd.open(tmp_path).pack_json(query)
    assert "named-but-missing" not in {w["kind"] for w in answer["report"]["warnings"]}
