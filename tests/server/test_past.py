"""The history of a root follows its HEAD, and asks git for no more than is new."""

from pathlib import Path

import pytest

from contextpack.history import NO_HISTORY, Commit, alike, archived, credited
from contextpackd import git
from contextpackd.past import Past
from harness.trees import isolate_git, run_git, write


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """After which commit the log was read, each time."""
    asked: list[str | None] = []
    read = git.commits

    def commits(folder: Path, until: str, after: str | None, n_most: int) -> tuple[Commit, ...]:
        asked.append(after)
        return read(folder, until, after, n_most)

    monkeypatch.setattr(git, "commits", commits)
    return asked


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    write(root, {"a.py": "1\n"})
    run_git(root, "init", "-q", "-b", "main")
    commit(root, "lexer", {"a.py": "1\n"})
    return root


def commit(root: Path, message: str, files: dict[str, str]) -> None:
    write(root, files)
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", message)


def said(past: Past) -> list[str]:
    return sorted(credited(past.history(), alike(past.history(), {"lexer": 1.0, "comma": 1.0})))


def test_new_commits_alone_are_read(root: Path, asked: list[str | None]) -> None:
    past = Past(root, {})
    assert said(past) == ["a.py"]
    first = git.head(root)
    commit(root, "comma", {"b.py": "1\n"})
    assert said(past) == ["a.py", "b.py"]
    assert said(past) == ["a.py", "b.py"]
    assert asked == [None, first]


def test_another_branch_has_another_history(root: Path, asked: list[str | None]) -> None:
    run_git(root, "branch", "other")
    commit(root, "comma", {"b.py": "1\n"})
    past = Past(root, {})
    assert said(past) == ["a.py", "b.py"]
    run_git(root, "checkout", "-q", "other")
    assert said(past) == ["a.py"]
    assert asked == [None, None]


def test_packed_refs_and_linked_working_trees_are_followed(root: Path, tmp_path: Path) -> None:
    run_git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    past = Past(tmp_path / "side", {})
    assert said(past) == ["a.py"]
    commit(tmp_path / "side", "comma", {"b.py": "1\n"})
    assert said(past) == ["a.py", "b.py"]
    run_git(root, "pack-refs", "--all")
    run_git(root, "update-ref", "refs/heads/side", "refs/heads/main")
    assert said(past) == ["a.py"]


def test_what_was_saved_is_not_read_again(root: Path, asked: list[str | None]) -> None:
    past = Past(root, {})
    whole = archived(past.history())
    saved = past.saved()
    assert archived(Past(root, saved).history()) == whole
    assert asked == [None]
    assert archived(Past(root, {"history": b"damaged"}).history()) == whole


def test_without_a_repository_there_is_no_history(tmp_path: Path) -> None:
    assert Past(tmp_path, {}).history() is NO_HISTORY
    run_git(tmp_path, "init", "-q")
    assert Past(tmp_path, {}).history() is NO_HISTORY


def test_a_repository_that_goes_takes_its_history_with_it(root: Path, tmp_path: Path) -> None:
    past = Past(root, {})
    assert said(past) == ["a.py"]
    (root / ".git").rename(tmp_path / "gone")
    assert said(past) == []


def test_a_head_that_leads_elsewhere_is_no_history(root: Path) -> None:
    past = Past(root, {})
    for head in (b"ref: ../../outside\n", b"ref: \0\n", b"ref: /\n", b"", b"\xff"):
        (root / ".git/HEAD").write_bytes(head)
        assert past.history() is NO_HISTORY
