"""`contextpackd cache` over real pipes: what is kept, and what clearing frees."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from contextpackd.store import Store
from harness.stores import DAY, Clock, facts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "some project"
    root.mkdir()
    return root


@pytest.fixture
def kept(folder: Path, root: Path) -> Path:
    """A directory with facts of 300 texts, and the indexes of two roots."""
    clock = Clock()
    store = Store.opened(folder, clock=clock)
    store.keep_facts(facts(range(300)).items())
    store.save_root(root / "older", {"index": bytes(1000)})
    clock.now += DAY
    store.save_root(root, {"index": bytes(50_000), "survey": b"1"})
    store.close()
    return folder


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "contextpackd", "cache", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "LC_ALL": "C.UTF-8",
            "CONTEXTPACKD_CACHE_DIR": str(folder),
        },
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_info_shows_what_is_kept(kept: Path, root: Path) -> None:
    code, shown, errors = run(kept, "info")
    assert (0, "") == (code, errors)
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert f"directory {kept}" == lines[0]
    assert lines[1].startswith("size ")
    assert lines[1].endswith(" kB of at most 2.1 GB")
    assert ["facts of 300 texts", "size last used (UTC) path"] == lines[2:4]
    # The last used first.
    assert lines[4].endswith(f"2027-01-16 08:00 {root}")
    assert lines[5].endswith(f"2027-01-15 08:00 {root / 'older'}")
    assert len(lines) == 6


def test_info_as_json(kept: Path, root: Path) -> None:
    code, shown, errors = run(kept, "info", "--format", "json")
    assert (0, "") == (code, errors)
    info = json.loads(shown)
    sizes = [info.pop("sizeBytes"), *(saved.pop("sizeBytes") for saved in info["roots"])]
    assert sizes[0] > sum(sizes[1:]) + 300 * 600
    assert sizes[2] > 50_000 > sizes[1] > 1000
    assert info == {
        "directory": str(kept),
        "maxBytes": 2 << 30,
        "nFacts": 300,
        "roots": [
            {"root": str(root / "older"), "lastUsed": "2027-01-15T08:00:00+00:00"},
            {"root": str(root), "lastUsed": "2027-01-16T08:00:00+00:00"},
        ],
        "problem": None,
    }


def test_looking_makes_nothing(folder: Path) -> None:
    code, shown, _ = run(folder, "info", "--format", "json")
    assert (0, 0, 0, []) == (
        code,
        *(json.loads(shown)[n] for n in ("sizeBytes", "nFacts", "roots")),
    )
    assert (0, f"nothing is kept in {folder}\n", "") == run(folder, "clear")
    assert not folder.exists()


def test_clear_says_what_it_freed(kept: Path, root: Path) -> None:
    code, shown, errors = run(kept, "clear")
    assert (0, "") == (code, errors)
    assert shown.startswith("freed ")
    assert shown.endswith(f" kB in {kept}: facts of 300 texts, indexes of 2 workspaces\n")
    info = json.loads(run(kept, "info", "--format", "json")[1])
    assert (0, []) == (info["nFacts"], info["roots"])
    assert info["sizeBytes"] < 120_000  # The empty tables have a page each.


def test_clearing_a_root_that_is_gone(kept: Path, root: Path) -> None:
    root.rmdir()
    code, shown, _ = run(kept, "clear", "--root", str(root))
    assert code == 0
    assert shown.endswith(
        f" kB: the index of {root}; facts stay, other workspaces may share them\n"
    )
    assert (0, f"nothing is kept of {root} in {kept}\n", "") == run(
        kept, "clear", "--root", str(root)
    )
    info = json.loads(run(kept, "info", "--format", "json")[1])
    assert (300, [str(root / "older")]) == (
        info["nFacts"],
        [saved["root"] for saved in info["roots"]],
    )


def test_what_cannot_be_cleared_is_said(kept: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(kept)
    code, shown, errors = run(tmp_path / "link", "clear")
    assert (2, "") == (code, shown)
    assert errors.startswith(f"contextpackd: cannot clear {tmp_path / 'link'}: ")
    assert "is a symbolic link" in errors
    assert errors.count("\n") == 1
    code, shown, _ = run(tmp_path / "link", "info")
    assert code == 0
    assert "is a symbolic link" in shown


def test_a_locked_cache_is_not_cleared(kept: Path) -> None:
    (database,) = kept.glob("*.sqlite3")
    lock = sqlite3.connect(database, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    code, shown, errors = run(kept, "clear")
    lock.close()
    assert (2, "") == (code, shown)
    assert "is locked by another program" in errors


def test_wrong_usage(folder: Path) -> None:
    for arguments in ((), ("info", "--root", "x"), ("clear", "--format", "json"), ("empty",)):
        assert run(folder, *arguments)[0] == 2
