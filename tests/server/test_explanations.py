"""`explain`: what it shows makes each score, and all of a bundle and the best outside is there."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contextpackd
from contextpackd.door import Root
from contextpackd.explanations import explanation
from contextpackd.options import request_of
from contextpackd.wire import explanation_json
from contextpackd.workspace import Workspace, engine
from harness.paths import FIXTURES
from harness.trees import isolate_git, run_git

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a past."""
    made = tmp_path_factory.mktemp("explained")
    folder = made / "shop"
    shutil.copytree(FIXTURES / "python-src", folder)
    with pytest.MonkeyPatch.context() as monkeypatch:
        isolate_git(monkeypatch, made / "home")
        run_git(folder, "init", "-q")
        run_git(folder, "add", "-A")
        run_git(folder, "commit", "-qm", "Charge a late fee for an overdue loan")
    return folder


@pytest.fixture(scope="module")
def root(folder: Path) -> Root:
    return contextpackd.open(folder)


def explained(folder: Path, query: str, n_outside: int, **options: Any) -> Any:
    shared = engine()
    try:
        workspace = Workspace(folder, shared)
        request = request_of(query, options, lambda option: option.field)
        found = explanation(workspace, request, n_outside, lambda _done, _total: None)
        return explanation_json(found)
    finally:
        shared.close()


def score_of(parts: dict[str, float]) -> float:
    """The score by the rule that the answer states, written out once more."""
    added = ("mention", "line", "focus", "changed", "test", "reach")
    apart = {"factor", "header", "divisor", *added}
    inner = sum(value for name, value in parts.items() if name not in apart)
    outright = sum(parts.get(name, 0.0) for name in added)
    before = parts.get("factor", 1.0) * inner + outright
    return max(before, parts.get("header", 0.0)) / parts.get("divisor", 1.0)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.sampled_from(
        ["objections to a checkout", "late fee in src/lending/policy.py:12", "readme", ""]
    ),
    budget=st.integers(60, 3000),
    n_outside=st.integers(1, 20),
    options=st.sampled_from(
        [
            {}, {"scorer": "classic"}, {"pins": ["README.md"]}, {"strategy": "mmr"},
            {"focus": ["src/lending/policy.py:12"]}, {"origins": ["src/lending/policy.py"]},
        ]
    ),
)  # fmt: skip
def test_every_score_is_made_of_what_is_shown(
    folder: Path, root: Root, query: str, budget: int, n_outside: int, options: dict[str, Any]
) -> None:
    told = explained(folder, query, n_outside, budget_tokens=budget, **options)
    for row in (*told["files"], *told["chunks"]):
        assert score_of(row["parts"]) == pytest.approx(row["score"], abs=TOLERANCE), row
    pack = root.pack(query, budget, ledger="all", **options)
    inside = {item.path for item in pack.items}
    assert inside == {row["path"] for row in told["files"] if row["state"] == "in"}
    outside = [e.path for e in pack.ledger if e.path not in inside and e.score]
    best = [row["path"] for row in told["files"] if row["state"] == "out"]
    assert outside[:n_outside] == best
    # Blank lines are shown with what stands beside them, whichever chunk they are of.
    rows_of = {i.path: (folder / i.path).read_text().split("\n") for i in pack.items}
    shown = {
        (item.path, line)
        for item in pack.items
        for lines in item.ranges
        for line in range(lines.start, lines.end + 1)
        if rows_of[item.path][line - 1].strip()
    }
    covered = {
        (row["path"], line)
        for row in told["chunks"]
        if row["state"] != "out"
        for line in range(row["lines"][0], row["lines"][1] + 1)
    }
    assert shown <= covered
    left_out = [row for row in told["chunks"] if row["state"] == "out"]
    assert len(left_out) <= n_outside
    for row in left_out:
        lines = range(row["lines"][0], row["lines"][1] + 1)
        assert shown.isdisjoint((row["path"], line) for line in lines)
    scores = [row["score"] for row in told["chunks"]]
    assert sorted(scores, reverse=True) == scores


def test_a_file_has_the_score_of_its_best_chunk(folder: Path) -> None:
    told = explained(folder, "late fee", 20, budget_tokens=4000)
    by_place = {(row["path"], *row["lines"]): row for row in told["chunks"]}
    for file in told["files"]:
        best = by_place.get((file["path"], *file["best"]))
        if best is not None:
            assert (best["score"], best["parts"]) == (file["score"], file["parts"])
    assert any(name == "history" for row in told["files"] for name in row["parts"])
