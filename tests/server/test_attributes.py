"""Marks of `.gitattributes`, held against git itself."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpackd.attributes import FILE
from contextpackd.disk import discover
from harness.trees import EVERYTHING, entries, isolate_git, run_git, write

PATHS = ("a.ts", "gen/a.ts", "gen/deep/b.js", "gen/deep/a.ts", "vendor/x.c")
LINES = (
    "*.ts linguist-generated", "gen/*.ts linguist-generated=true", "gen/** linguist-generated",
    "gen/ linguist-generated", "a.ts -linguist-generated", "*.ts linguist-generated=false",
    "/a.ts text linguist-generated", "vendor/** linguist-vendored", "# *.c linguist-generated",
    "!*.ts linguist-generated", "*.js !linguist-generated", "deep/*.ts linguist-generated",
    "* text=auto",
)  # fmt: skip
files = st.lists(st.sampled_from(LINES), max_size=4).map(lambda lines: "\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@given(top=files, below=files)
def test_a_mark_is_what_git_says(
    tmp_path_factory: pytest.TempPathFactory, top: str, below: str
) -> None:
    root = tmp_path_factory.mktemp("ws")
    write(root, {**dict.fromkeys(PATHS, "x"), FILE: top, f"gen/{FILE}": below})
    run_git(root, "init", "-q")
    marks = ("linguist-generated", "linguist-vendored")
    output = run_git(root, "check-attr", "-z", *marks, "--", *PATHS).split("\0")
    expected = {
        path
        for path, value in zip(output[:-1:3], output[2::3], strict=True)
        if value not in ("unspecified", "unset", "false")
    }
    found = entries(discover(root, EVERYTHING))
    assert found.keys() & set(PATHS) == expected
    assert {str(skip.reason) for skip in found.values()} <= {"generated"}


def test_a_rule_names_its_line(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    write(root, {"gen/a.ts": "x", FILE: "# ours\ngen/** linguist-generated\n"})
    (skip,) = discover(root, EVERYTHING).skipped
    assert skip.rule == ".gitattributes:2: gen/**"
