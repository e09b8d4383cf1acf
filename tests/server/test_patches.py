"""Git says where past commits changed lines, whatever it is told to show besides."""

from pathlib import Path

import pytest

from contextpack.history import Commit
from contextpackd import git
from contextpackd.past import Past
from contextpackd.patches import patches
from harness.trees import isolate_git, run_git, write

LINES = "".join(f"{number}\n" for number in range(1, 21))


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    write(root, {"a.py": LINES, "sub/b.py": LINES})
    run_git(root, "init", "-q", "-b", "main")
    commit(root, "first", {})
    return root


def commit(root: Path, message: str, files: dict[str, str | bytes]) -> None:
    write(root, files)
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", message)


def newest(root: Path) -> Commit:
    head = git.head(root)
    assert head is not None
    return git.commits(root, head, None, 10)[-1]


def hunks(made: Commit) -> dict[str, list[list[int]] | None]:
    return {
        touch.path: None if touch.hunks is None else touch.hunks.tolist()
        for touch in made.touched
    }


CHANGED = LINES.replace("3\n4\n", "three\n", 1).replace("15\n", "15\nmore\n", 1)
EXPECTED = [[3, 2, 3, 1], [15, 0, 15, 1]]


def test_hunks_are_those_of_a_diff_without_context(root: Path) -> None:
    assert hunks(newest(root)) == {"a.py": [[0, 0, 1, 20]], "sub/b.py": [[0, 0, 1, 20]]}
    commit(root, "change", {"a.py": CHANGED})
    assert hunks(newest(root)) == {"a.py": EXPECTED}
    (root / "a.py").unlink()
    commit(root, "delete", {})
    assert hunks(newest(root)) == {"a.py": [[1, 20, 0, 0]]}


def test_no_configuration_changes_them(root: Path) -> None:
    for key, value in (
        ("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("diff.context", "9"),
        ("diff.interHunkContext", "99"), ("diff.algorithm", "patience"), ("color.ui", "always"),
        ("diff.colorMoved", "zebra"), ("diff.external", "false"), ("diff.relative", "true"),
        ("diff.renames", "copies"), ("core.quotePath", "true"), ("diff.submodule", "diff"),
        ("log.follow", "true"), ("log.decorate", "full"), ("format.pretty", "fuller"),
    ):  # fmt: skip
        run_git(root, "config", key, value)
    commit(root, "change", {"a.py": CHANGED, "sub/é b.py": "1\n"})
    assert hunks(newest(root)) == {"a.py": EXPECTED, "sub/é b.py": [[0, 0, 1, 1]]}


def test_lines_that_look_like_a_patch_are_lines(root: Path) -> None:
    odd = (
        "-- a/x\n++ b/x\n@@ -1 +1 @@\ndiff --git a/y b/y\n-- diff --git a/z b/z\n\x01"
        + "a" * 40
    )
    commit(root, "odd", {"a.py": odd + "\n"})
    assert hunks(newest(root)) == {"a.py": [[1, 20, 1, 6]]}
    commit(root, "even", {"a.py": LINES})
    assert hunks(newest(root)) == {"a.py": [[1, 6, 1, 20]]}


def test_what_git_shows_no_lines_of_is_not_known(root: Path) -> None:
    large = "x" * 100 + "\n"
    commit(
        root,
        "odd",
        {"a.py": b"\0" * 9, 'quoted"\n.py': "1\n", "large.py": large * (1 << 14)},
    )
    assert hunks(newest(root)) == {"a.py": None, 'quoted"\n.py': None, "large.py": None}


def test_paths_are_relative_to_the_root_and_moves_have_no_hunks(root: Path) -> None:
    commit(root, "change", {"a.py": CHANGED, "sub/b.py": CHANGED})
    assert hunks(newest(root / "sub")) == {"b.py": EXPECTED}
    (root / "sub/b.py").rename(root / "sub/c.py")
    commit(root, "move", {})
    (moved,) = newest(root / "sub").touched
    assert (moved.path, moved.moved_from, hunks(newest(root / "sub"))) == (
        "c.py", "b.py", {"c.py": []},
    )  # fmt: skip


def test_new_commits_move_what_is_known_as_a_read_of_all_does(root: Path) -> None:
    past = Past(root, {})
    past.history()
    commit(root, "change", {"a.py": CHANGED})
    assert past.history().hunks.tolist() == [
        [0, 0, 1, 20], [0, 1, 1, 20], [1, 0, 3, 3], [1, 0, 15, 15],
    ]  # fmt: skip
    (root / "a.py").rename(root / "moved.py")
    commit(root, "move and insert", {"sub/b.py": "0\n" + LINES})
    assert past.history().hunks.tolist() == Past(root, {}).history().hunks.tolist()
    assert past.history().hunks.tolist()[1] == [0, 1, 2, 21]
    run_git(root, "reset", "-q", "--hard", "HEAD~2")
    commit(root, "another change", {"a.py": "0\n" + LINES})
    assert past.history().hunks.tolist() == Past(root, {}).history().hunks.tolist()


def test_a_clone_without_contents_has_messages_and_no_hunks(root: Path) -> None:
    commit(root, "change", {"a.py": CHANGED})
    blob = run_git(root, "rev-parse", "HEAD~1:a.py").strip()
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    history = Past(root, {}).history()
    assert (history.n_commits, history.hunks.tolist()) == (2, [])


def test_a_shallow_clone_has_what_it_has(root: Path, tmp_path: Path) -> None:
    commit(root, "change", {"a.py": CHANGED})
    run_git(root, "clone", "-q", "--depth=1", root.as_uri(), tmp_path / "shallow")
    history = Past(tmp_path / "shallow", {}).history()
    assert (history.n_commits, history.hunks.tolist()) == (1, [[0, 0, 1, 20], [0, 1, 1, 20]])


def test_a_log_that_ends_early_has_no_half_of_a_commit() -> None:
    patch = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@ def f\n"
    text = f"\x01{'a' * 40}\n\x01{'b' * 40}\ndiff --git a/a.py b/a.py\n{patch}"
    found = patches(text.encode())
    assert list(found) == ["a" * 40, "b" * 40]
    assert {path: rows.tolist() for path, rows in found["b" * 40].items()} == {
        "a.py": [[1, 1, 1, 1]]
    }
