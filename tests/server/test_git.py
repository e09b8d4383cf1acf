"""Git answers, and a repository cannot make it run anything."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from contextpackd import git
from contextpackd.disk import discover
from contextpackd.errors import GitUnavailable
from harness.trees import EVERYTHING, isolate_git, run_git, write


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    write(root, {".gitignore": "*.log\n", "src/a.py": "x\n", "b.log": "x\n", "new.py": "x\n"})
    run_git(root, "init", "-q")
    run_git(root, "add", "src", ".gitignore")
    return root


def test_tracked_files_are_relative_to_the_folder(root: Path) -> None:
    assert git.tracked(root).files == {".gitignore", "src/a.py"}
    assert git.tracked(root / "src").files == {"a.py"}
    assert git.toplevel(root / "src") == root


def test_a_file_that_is_gone_from_disk_is_no_candidate(root: Path) -> None:
    (root / "src/a.py").unlink()
    listing = discover(root, EVERYTHING)
    assert [candidate.path for candidate in listing.candidates] == [".gitignore", "new.py"]
    assert listing.warnings == ()


def test_rules_come_in_the_order_of_the_paths(root: Path) -> None:
    write(root, {".gitignore": "*.log\n!keep.log\n:x\n"})
    found = git.rules(root, ["keep.log", "b.log", "a.py", ":x", "new\nline.log"])
    assert [rule and (rule.line, rule.pattern) for rule in found] == [
        (2, "!keep.log"), (1, "*.log"), None, (3, ":x"), (1, "*.log"),
    ]  # fmt: skip
    assert [rule.is_ignoring() for rule in found if rule] == [False, True, True, True]
    assert git.rules(root, []) == ()


def test_nothing_in_a_repository_gets_a_program_run(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(root, "commit", "-qm", "first")
    ran = tmp_path / "RAN"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    write(root, {".gitattributes": "* filter=x diff=x\n", "included": f"""
[core]
    fsmonitor = {script}
"""})  # fmt: skip
    for key in (
        "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass",
        "core.gitProxy", "filter.x.clean", "filter.x.smudge", "filter.x.process",
        "diff.x.textconv", "diff.x.command", "diff.external", "pager.ls-files",
        "credential.helper", "uploadpack.packObjectsHook", "gpg.program",
    ):  # fmt: skip
        run_git(root, "config", key, str(script))
    run_git(root, "config", "log.showSignature", "true")
    for alias in (
        "ls-files",
        "check-ignore",
        "rev-parse",
        "config",
        "log",
        "diff-index",
        "merge-base",
    ):
        run_git(root, "config", f"alias.{alias}", f"!{script}")
    run_git(root, "config", "core.hooksPath", str(tmp_path))
    run_git(root, "config", "include.path", "../included")
    run_git(root, "config", "core.untrackedCache", "true")
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-commit", "post-checkout"):
        (tmp_path / hook).symlink_to(script)
        (root / ".git/hooks" / hook).unlink(missing_ok=True)
        (root / ".git/hooks" / hook).symlink_to(script)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(script))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor'='{script}'")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(script))
    monkeypatch.setenv("GIT_SSH_COMMAND", str(script))
    index = (root / ".git/index").read_bytes()
    ran.unlink(missing_ok=True)  # Setting it up may have run it: the plant works.

    listing = discover(root, EVERYTHING)
    assert listing.uses_git
    assert "b.log" in [skip.path for skip in listing.skipped]
    write(root, {"src/a.py": "y\n"})  # Looks changed, which is when filters run.
    assert set(git.commit_times(root, ["src/a.py", ".gitignore"])) == {".gitignore"}
    head = git.head(root)
    assert head is not None
    assert git.is_ancestor(root, head, head)
    (made,) = git.commits(root, head, None, 10)
    assert [touch.path for touch in made.touched] == [".gitignore", "src/a.py"]
    assert all(touch.hunks is not None for touch in made.touched)
    assert not ran.exists()
    assert index == (root / ".git/index").read_bytes()

    for name in [name for name in os.environ if name.startswith("GIT_CONFIG_")]:
        monkeypatch.delenv(name)
    run_git(root, "status")
    assert ran.exists(), "the planted programs do run in a git that is not hardened"


def test_variables_of_a_hook_do_not_lead_elsewhere(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "other", {"z.py": "x"})
    run_git(tmp_path / "other", "init", "-q")
    run_git(tmp_path / "other", "add", ".")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other/.git/index"))
    assert git.tracked(root).files == {".gitignore", "src/a.py"}


def test_a_working_tree_that_the_configuration_puts_elsewhere_is_refused(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    run_git(root, "config", "core.worktree", str(tmp_path / "other"))
    with pytest.raises(GitUnavailable, match="its working tree is at"):
        git.toplevel(root)
    (notice,) = discover(root, EVERYTHING).warnings
    assert notice.kind == "git-unavailable-fallback-walk"


def test_a_folder_that_looks_like_a_bare_repository_is_not_one(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "ws")
    with pytest.raises(GitUnavailable):
        git.toplevel(tmp_path / "ws")
    assert discover(tmp_path / "ws", EVERYTHING).warnings == ()


def test_a_broken_repository_is_walked_without_git(root: Path) -> None:
    (root / ".git/HEAD").write_text("nonsense")
    listing = discover(root, EVERYTHING)
    assert not listing.uses_git
    assert [notice.kind for notice in listing.warnings] == ["git-unavailable-fallback-walk"]
    assert [(skip.path, skip.rule) for skip in listing.skipped] == [
        ("b.log", ".gitignore:1: *.log")
    ]


def test_without_git_installed_only_a_repository_gets_a_warning(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "plain", {"a.py": "x"})
    monkeypatch.setenv("PATH", str(tmp_path / "home"))
    (notice,) = discover(root, EVERYTHING).warnings
    assert "git is not installed" in notice.message
    assert discover(tmp_path / "plain", EVERYTHING).warnings == ()


def test_a_git_that_hangs_is_left(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "TIMEOUT_SECONDS", 1.0)
    os.mkfifo(tmp_path / "fifo")
    run_git(root, "config", "core.excludesFile", str(tmp_path / "fifo"))
    (notice,) = discover(root, EVERYTHING).warnings
    assert "no answer to git" in notice.message


def test_an_ignore_file_that_is_a_fifo_is_not_waited_for(root: Path) -> None:
    (root / ".gitignore").unlink()
    os.mkfifo(root / ".gitignore")
    os.mkfifo(root / "pipe.py")
    listing = discover(root, EVERYTHING)
    assert not listing.uses_git
    assert [(skip.path, skip.reason, skip.rule) for skip in listing.skipped] == [
        (".gitignore", "special", "a FIFO"),
        ("pipe.py", "special", "a FIFO"),
    ]


def test_a_missing_object_is_not_fetched(root: Path, tmp_path: Path) -> None:
    """A partial clone names where to fetch from, and `ext::` there is a command line."""
    ran = tmp_path / "RAN"
    run_git(root, "commit", "-q", "-m", "a")
    tree = run_git(root, "rev-parse", "HEAD:src").strip()
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    for key, value in (
        ("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"), ("remote.origin.url", f"ext::touch {ran}"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("protocol.ext.allow", "always"), ("protocol.allow", "always"),
    ):  # fmt: skip
        run_git(root, "config", key, value)
    assert discover(root, EVERYTHING).uses_git
    with pytest.raises(GitUnavailable):
        git.commit_times(root, ["src/a.py"])
    assert not ran.exists()
    subprocess.run(
        ["git", "-C", root, "cat-file", "-p", tree], capture_output=True, check=False
    )
    assert ran.exists(), "the planted command does run in a git that is not hardened"


def test_commit_times_leave_out_what_differs_from_its_commit(tmp_path: Path) -> None:
    names = ("same.py", "edited.py", "staged.py", "a [b]*.py", "sub/deep.py")
    write(tmp_path, dict.fromkeys(names, "A = 1\n"))
    run_git(tmp_path, "init", "-q")
    run_git(tmp_path, "add", ".")
    run_git(tmp_path, "commit", "-qm", "first")
    write(tmp_path, {"edited.py": "A = 22\n", "staged.py": "A = 22\n", "untracked.py": ""})
    run_git(tmp_path, "add", "staged.py")
    asked = [*names, "untracked.py", "none.py"]
    times = git.commit_times(tmp_path, asked)
    assert set(times) == {"same.py", "a [b]*.py", "sub/deep.py"}
    assert set(git.commit_times(tmp_path / "sub", ["deep.py"])) == {"deep.py"}
    assert git.commit_times(tmp_path, []) == {}


def commit(root: Path, message: str, files: dict[str, str]) -> None:
    write(root, files)
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", message)


def log(
    folder: Path, after: str | None = None
) -> list[tuple[str, list[tuple[str, str | None]]]]:
    found = git.commits(folder, "HEAD", after, 100)
    return [
        (made.message.strip(), [(touch.path, touch.moved_from) for touch in made.touched])
        for made in found
    ]


def test_the_log_has_what_each_commit_touched_the_oldest_first(root: Path) -> None:
    commit(root, "first", {"a\nb.py": "1\n", "b.log": "2\n"})
    (root / "src/a.py").rename(root / "src/moved.py")
    commit(root, "\x01second\n\nM\n", {"\x01.py": "1\n"})
    assert log(root) == [
        (
            "first",
            [(".gitignore", None), ("a\nb.py", None), ("new.py", None), ("src/a.py", None)],
        ),
        ("\x01second\n\nM", [("\x01.py", None), ("src/moved.py", "src/a.py")]),
    ]


def test_the_log_of_a_folder_is_relative_and_leaves_out_the_rest(root: Path) -> None:
    commit(root, "first", {})
    commit(root, "elsewhere", {"new.py": "2\n"})
    assert log(root / "src") == [("first", [("a.py", None)])]


def test_the_log_after_a_commit_is_what_is_new(root: Path) -> None:
    commit(root, "first", {})
    first = git.head(root)
    assert first is not None
    commit(root, "second", {"new.py": "2\n"})
    second = git.head(root)
    assert second is not None
    assert log(root, first) == [("second", [("new.py", None)])]
    assert git.is_ancestor(root, first, second)
    assert not git.is_ancestor(root, second, first)
    assert not git.is_ancestor(root, "0" * 40, second)


def test_a_repository_without_a_commit_has_no_head(root: Path, tmp_path: Path) -> None:
    assert git.head(root) is None
    with pytest.raises(GitUnavailable):
        git.head(tmp_path)


def test_a_log_that_is_too_large_is_read_as_far_as_it_came(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(root, "first", {})
    commit(root, "second", {"new.py": "2\n"})
    commit(root, "third", {"new.py": "3\n"})
    monkeypatch.setattr(git, "MAX_LOG_BYTES", 120)
    assert log(root) == [("third", [("new.py", None)])]
