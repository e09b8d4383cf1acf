"""The discovery cases of `fixtures/cases/a.jsonl`, built on disk and taken in."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from contextpack.text import display_path
from contextpackd.disk import discover
from harness import trees
from harness.trees import build, cases, isolate_git, path_of, run_git, texts, write

CASES = cases("a.jsonl")
# Those that a list of files cannot describe, or where git or a user plays a part.
SCRIPTED = {"a14", "a16", "a18", "a23", "a25"}


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


def built(case: Mapping[str, Any], tmp_path: Path) -> Path:
    """The workspace of a case without a recipe, and where its root is."""
    made = case["input"]
    root = tmp_path / "ws"
    if str(made.get("workspace_root", "")).startswith("<tmp>/"):
        root = tmp_path / made["workspace_root"].removeprefix("<tmp>/")
    root.mkdir(parents=True)
    if made.get("git", {}).get("init"):
        run_git(root, "init", "-q")
    if "info_exclude" in made.get("git", {}):
        write(root, {".git/info/exclude": made["git"]["info_exclude"]})
    build(root, made["files"])
    is_inside = "workspace_root" in made and "<tmp>" not in made["workspace_root"]
    return root / made["workspace_root"] if is_inside else root


def check(case: Mapping[str, Any], root: Path) -> None:
    expect = case["expect"]
    found, skipped, listing = texts(root)
    assert set(expect.get("included", ())) <= set(found)
    assert not set(expect.get("excluded", ())) & set(found)
    for path, kind in expect.get("reason_kind", {}).items():
        assert (skipped.get(path) or skipped[path + "/"]).reason == kind
    assert expect.get("warning_kind") in [None, *(notice.kind for notice in listing.warnings)]
    if "warning_kind" not in expect:
        assert listing.warnings == ()
    assert listing.uses_git == (
        ("warning_kind" not in expect and (root / ".git").exists()) or case["id"] == "a09"
    )


@pytest.mark.parametrize("name", sorted(CASES.keys() - SCRIPTED))
def test_a_described_workspace(name: str, tmp_path: Path) -> None:
    check(CASES[name], built(CASES[name], tmp_path))


def test_every_case_is_run() -> None:
    assert CASES.keys() >= SCRIPTED
    assert len(CASES) == 19


def test_a13_a_name_that_is_not_utf8_is_shown_printable_and_opened_by_its_bytes(
    tmp_path: Path,
) -> None:
    root = built(CASES["a13"], tmp_path)
    also = CASES["a13"]["expect"]["also"]
    found, skipped, _ = texts(root)
    path = path_of(also)
    assert found[path].text == "A = 1\n"
    assert display_path(path) == also["display"]
    json.dumps(display_path(path)).encode()
    assert skipped == {}


def test_a14_a_linked_worktree_has_the_excludes_of_its_repository(tmp_path: Path) -> None:
    main, root = tmp_path / "main", tmp_path / "wt"
    write(main, {"a.py": "x\n", ".gitignore": "*.log\n"})
    run_git(main, "init", "-q")
    run_git(main, "add", ".")
    run_git(main, "commit", "-q", "-m", "a")
    write(main, {".git/info/exclude": "local.txt\n"})
    run_git(main, "worktree", "add", "-q", root, "-b", "feat")
    write(root, {"b.py": "x\n", "x.log": "x\n", "local.txt": "x\n"})
    check(CASES["a14"], root)
    _, skipped, _ = texts(root)
    assert set(skipped) == {"x.log", "local.txt"}


def test_a16_a_submodule_is_part_of_the_workspace(tmp_path: Path) -> None:
    lib, root = tmp_path / "lib", tmp_path / "ws"
    write(lib, {"lib/helper.py": "x\n", ".gitignore": "*.log\n"})
    write(root, {"src/app.py": "x\n"})
    for repository in (lib, root):
        run_git(repository, "init", "-q")
        run_git(repository, "add", ".")
        run_git(repository, "commit", "-q", "-m", "a")
    run_git(root, "submodule", "--quiet", "add", "../lib", "packages/shared")
    write(root, {"packages/shared/x.log": "x\n"})
    check(CASES["a16"], root)
    found, skipped, listing = texts(root)
    assert set(found) == {
        ".gitmodules", "src/app.py", "packages/shared/.gitignore",
        "packages/shared/lib/helper.py",
    }  # fmt: skip
    assert skipped["packages/shared/x.log"].rule == "packages/shared/.gitignore:1: *.log"

    run_git(root, "submodule", "--quiet", "deinit", "--force", "packages/shared")
    listing = discover(root, trees.EVERYTHING)
    assert [(skip.path, skip.reason) for skip in listing.skipped] == [
        ("packages/shared/", "submodule")
    ]


def test_a17_every_link_says_why_it_is_left_out(tmp_path: Path) -> None:
    _, skipped, _ = texts(built(CASES["a17"], tmp_path))
    assert {path: skip.rule for path, skip in skipped.items()} == {
        "alias.py": "a link to src/a.py",
        "dangling.py": "a link to nothing",
        "lib/up": "a link to the root",
        "rootlink": "a link out of the root",
        "src/self": "a link to src",
        "x1": "a link in a loop",
        "x2": "a link in a loop",
    }
    assert {skip.reason for skip in skipped.values()} == {"symlink"}


def test_a18_what_may_not_be_read_is_reported() -> None:
    # A directory of our own: the parents of `tmp_path` are closed to other users.
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        root = folder / "ws"
        build(root, CASES["a18"]["input"]["files"])
        for path, mode in CASES["a18"]["input"]["chmod"].items():
            (root / path).chmod(int(mode, 8))
        as_user(lambda: check(CASES["a18"], root))
    finally:
        (folder / "ws/locked").chmod(0o755)
        shutil.rmtree(folder)


def as_user(action: Callable[[], None]) -> None:
    """Run this where file modes count: in a child that gives up root, if we are root."""
    if os.getuid() != 0:
        action()
        return
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            action()
            code = 0
        except BaseException as error:  # noqa: BLE001 - The parent only sees the exit code.
            print(repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a20_a_secret_says_by_which_rule(tmp_path: Path) -> None:
    _, skipped, _ = texts(built(CASES["a20"], tmp_path))
    assert skipped[".env"].rule == "environment file: .env"


def test_a23_somebody_elses_repository_is_walked_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "ws", {"src/a.py": "x\n", ".gitignore": "*.log\n", "x.log": "x\n"})
    run_git(tmp_path / "ws", "init", "-q")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    check(CASES["a23"], tmp_path / "ws")
    (notice,) = discover(tmp_path / "ws", trees.EVERYTHING).warnings
    assert "dubious ownership" in notice.message


def test_a25_sixty_thousand_files_are_listed(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    write(root, {"src/a.py": "alpha = 1\n"})
    try:
        for directory in range(600):
            folder = root / f"data/d{directory}"
            folder.mkdir(parents=True)
            for number in range(100):
                (folder / f"f{number}.txt").write_bytes(b"alpha\n")
        listing = discover(root, trees.EVERYTHING)
    finally:
        shutil.rmtree(root)
    assert len(listing.candidates) == 60_001
    assert listing.candidates[-1].path == "src/a.py"
    assert (listing.skipped, listing.warnings) == ((), ())
