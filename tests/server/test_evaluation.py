"""`eval`: past commits of a repository as tasks, each with the answer that is known."""

import contextlib
import math
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.request import Request
from contextpack.text import Lines
from contextpackd.errors import GitUnavailable
from contextpackd.evaluation import OURS, PLAIN, Evaluation, estimated, evaluation
from contextpackd.replays import Replay, Unfit, replays
from contextpackd.replica import Replica
from contextpackd.scratch import PREFIX
from contextpackd.workspace import Engine, engine
from harness.trees import isolate_git, run_git, write

MAX_BYTES = 1 << 20
FILLER = "".join(f"value_{n} = {n}\n" for n in range(40))


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where temporary directories are made."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@pytest.fixture(scope="module")
def shared() -> Iterator[Engine]:
    found = engine()
    yield found
    found.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    return root


def commit(root: Path, message: str, files: dict[str, str | None]) -> str:
    for path, text in files.items():
        if text is not None:
            write(root, {path: text})
            continue
        (root / path).unlink()
        if (root / path).parent != root:
            (root / path).parent.rmdir()
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", message)
    return run_git(root, "rev-parse", "HEAD").strip()


def evaluated(root: Path, shared: Engine, n_last: int = 20, **options: Any) -> Evaluation:
    request = Request(query="", **options)
    return evaluation(
        root, request, (200, 2000), n_last, shared,
        is_over=lambda: False, report=lambda _number, _total, _task: None,
    )  # fmt: skip


def test_what_a_commit_changed_are_lines_of_its_parent(root: Path) -> None:
    commit(root, "the very first one", {"a.py": "1\n2\n3\n4\n5\n", "b.py": "1\n2\n"})
    commit(
        root,
        "replace add and take lines\n\nSigned-off-by: Some One <some@one.org>",
        {"a.py": "one\n2\n3\nnew\n4\n", "b.py": "1\n2\n3\n", "README.md": "x\n"},
    )
    [replay], left_out = replays(root, 5, MAX_BYTES)
    assert replay.query == "replace add and take lines"
    assert replay.gold == {
        # Line 1 is another, something stands between 3 and 4, and 5 went.
        "a.py": (Lines(1, 1), Lines(3, 4), Lines(5, 5)),
        "b.py": (Lines(2, 2),),
    }
    assert [one.reason for one in left_out] == [Unfit.FIRST]


def test_commits_that_are_no_tasks_are_told_with_their_reason(root: Path) -> None:
    commit(root, "the very first one", {"a.py": FILLER, "b.py": "1\n", "docs/a.md": "1\n"})
    commit(root, "only the documents changed", {"docs/a.md": "2\n"})
    commit(root, "only new code came", {"c.py": "1\n"})
    commit(root, "moves code elsewhere", {"b.py": None, "d.py": "1\n", "a.py": FILLER + "x\n"})
    commit(root, "wip", {"a.py": FILLER + "y\n"})
    commit(root, "rewrite all of it", {"a.py": "".join(f"v{n} = 1\n" for n in range(300))})
    commit(root, "change very many files", {f"n{i}.py": "1\n" for i in range(9)})
    commit(root, "change many existing files", {f"n{i}.py": "2\n" for i in range(9)})
    run_git(root, "checkout", "-qb", "side")
    taken = commit(root, "fix the first line", {"n1.py": "3\n"})
    run_git(root, "checkout", "-q", "main")
    run_git(root, "merge", "-q", "--no-ff", "-m", "merge the side branch", "side")
    found, left_out = replays(root, 20, MAX_BYTES)
    assert [replay.commit for replay in found] == [taken]
    assert {one.subject: one.reason for one in left_out} == {
        "change many existing files": Unfit.LARGE,
        "change very many files": Unfit.ELSEWHERE,
        "rewrite all of it": Unfit.LARGE,
        "wip": Unfit.SILENT,
        "moves code elsewhere": Unfit.MOVES,
        "only new code came": Unfit.ELSEWHERE,
        "only the documents changed": Unfit.ELSEWHERE,
        "the very first one": Unfit.FIRST,
    }
    assert [replay.commit for replay in replays(root, 1, MAX_BYTES)[0]] == [taken]


def test_answers_that_are_known(root: Path, shared: Engine, temporary: Path) -> None:
    cart = f"def discount(total):\n    return total\n{FILLER}"
    commit(root, "the very first one", {"cart.py": cart, "other.py": f"x = 1\n{FILLER}"})
    commit(root, "halve the discount of a total", {"cart.py": cart.replace("total\n", "t\n")})
    found = evaluated(root, shared)
    [trial] = found.trials
    assert trial.replay.gold == {"cart.py": (Lines(2, 2),)}
    for ranking in (OURS, PLAIN):
        recall = trial.recalls[ranking, 2000]
        assert (1.0, 1.0) == (recall.line, recall.file)
    estimate = found.estimate(OURS, 2000, "line")
    assert (1.0, 1.0, 1.0) == (estimate.mean, estimate.low, estimate.high)
    assert 0.0 == found.difference(2000, "line").mean
    assert [] == list(temporary.iterdir())


def test_a_commit_does_not_know_itself_nor_what_came_later(root: Path, shared: Engine) -> None:
    """The messages say what no code says: only history leads from them to files."""
    files = {"alpha.py": FILLER, "beta.py": FILLER.replace("value", "worth")}
    commit(root, "the very first one", {**files})
    first = commit(root, "zebra crossings glow", {"alpha.py": "extra = 1\n" + FILLER})
    again = commit(root, "zebra crossings blink", {"alpha.py": "extra = 2\n" + FILLER})
    found = evaluated(root, shared, dedup=1)
    recalls = {trial.replay.commit: trial.recalls for trial in found.trials}
    assert {first, again} == recalls.keys()
    assert 0.0 == recalls[first][OURS, 2000].file
    assert 1.0 == recalls[again][OURS, 2000].file
    assert 0.0 == recalls[again][PLAIN, 2000].file
    assert 0.5 == found.difference(2000, "file").mean


def test_a_state_is_that_of_its_commit_alone(root: Path, temporary: Path) -> None:
    write(root, {"run": "#!\n"})
    (root / "run").chmod(0o755)
    first = commit(root, "first", {"a/b.py": "1\n", "c.py": "1\n", "run": "#!\n"})
    later = commit(root, "later", {"a/b.py": None, "c.py": "2\n", "a": "now a file\n"})
    with Replica(root, MAX_BYTES) as replica:
        for state, files in (
            (first, {"a/b.py": "1\n", "c.py": "1\n", "run": "#!\n"}),
            (later, {"a": "now a file\n", "c.py": "2\n", "run": "#!\n"}),
            (first, {"a/b.py": "1\n", "c.py": "1\n", "run": "#!\n"}),
        ):
            replica.become(state)
            there = {
                file.relative_to(replica.root).as_posix(): file.read_text()
                for file in replica.root.rglob("*")
                if file.is_file() and ".git" not in file.parts
            }
            assert files == there
            assert run_git(replica.root, "rev-list", "--all", "HEAD").split()[0] == state
            assert "" == run_git(replica.root, "status", "--porcelain").replace(" M run\n", "")
    assert [] == list(temporary.iterdir())


def snapshot_of_disk(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        file.relative_to(root).as_posix(): (file.lstat().st_mtime_ns, file.read_bytes())
        for file in root.rglob("*")
        if file.is_file() and not file.is_symlink()
    }


def test_a_hostile_repository_runs_nothing_and_leads_nowhere(
    root: Path, shared: Engine, tmp_path: Path, temporary: Path
) -> None:
    ran, outside = tmp_path / "ran", tmp_path / "outside"
    outside.mkdir()
    planted = f"touch {ran}"
    (root / "link").symlink_to(outside)
    write(root, {"cart.py": FILLER, ".gitattributes": "* filter=planted diff=planted\n"})
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", "the very first one")
    (root / "link").unlink()
    commit(root, "change the first value", {"link/cart.py": "1\n", "cart.py": "new\n" + FILLER})
    for key, value in (
        ("filter.planted.smudge", planted), ("filter.planted.clean", planted),
        ("filter.planted.process", planted), ("filter.planted.required", "true"),
        ("diff.planted.textconv", planted), ("diff.planted.command", planted),
        ("diff.external", planted), ("core.fsmonitor", planted), ("core.pager", planted),
        ("core.sshCommand", planted), ("core.hooksPath", str(tmp_path / "hooks")),
        ("alias.read-tree", f"!{planted}"), ("alias.ls-tree", f"!{planted}"),
        ("log.showSignature", "true"), ("gpg.program", str(tmp_path / "hooks/post-checkout")),
    ):  # fmt: skip
        run_git(root, "config", key, value)
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        write(tmp_path / "hooks", {hook: f"#!/bin/sh\n{planted}\n"})
        (tmp_path / "hooks" / hook).chmod(0o755)
    write(root, {"cart.py": "edited meanwhile\n", "untracked.py": "1\n"})
    before = snapshot_of_disk(root)
    found = evaluated(root, shared)
    assert [trial.replay.gold for trial in found.trials] == [{"cart.py": (Lines(1, 1),)}]
    assert before == snapshot_of_disk(root)
    assert not ran.exists()
    assert [] == list(outside.iterdir())
    assert [] == list(temporary.iterdir())
    subprocess.run(["git", "-C", root, "status"], capture_output=True, check=False)
    assert ran.exists(), "the planted command does run in a git that is not hardened"


def test_names_that_lead_out_of_a_tree_are_no_files(
    root: Path, tmp_path: Path, temporary: Path
) -> None:
    commit(root, "first", {"ok.py": "1\n"})
    blob = run_git(root, "rev-parse", "HEAD:ok.py").strip()
    entry = b"100644 %s\0" + bytes.fromhex(blob)
    for name in (b"..", b".git", b".GIT", b"a\\b", b"c:d"):
        (tmp_path / "tree").write_bytes(entry % name)
        tree = run_git(
            root, "hash-object", "-w", "-t", "tree", "--literally", tmp_path / "tree"
        ).strip()
        above = run_git(
            root, "hash-object", "-w", "-t", "tree", "--literally", _tree_of(tmp_path, tree)
        ).strip()
        made = run_git(root, "commit-tree", "-m", "hostile", above).strip()
        with Replica(root, MAX_BYTES) as replica:
            # Git itself refuses some of them.
            with contextlib.suppress(GitUnavailable):
                replica.become(made)
            there = [f for f in temporary.rglob("*") if f.is_file() and ".git" not in f.parts]
            assert [] == there, name
    assert [] == list(temporary.iterdir())


def _tree_of(tmp_path: Path, inner: str) -> Path:
    file = tmp_path / "above"
    file.write_bytes(b"40000 sub\0" + bytes.fromhex(inner))
    return file


def test_what_a_killed_run_left_goes_with_the_next_and_nothing_else(
    root: Path, temporary: Path
) -> None:
    first = commit(root, "first", {"a.py": "1\n"})
    left, foreign, link = (temporary / f"{PREFIX}{n}" for n in range(3))
    left.mkdir(mode=0o700)
    write(left, {".env": "KEY=1\n"})
    foreign.mkdir(mode=0o777)
    foreign.chmod(0o777)
    link.symlink_to(root)
    with Replica(root, MAX_BYTES) as one, Replica(root, MAX_BYTES) as two:
        for replica in (one, two):
            replica.become(first)
        assert ["1\n"] * 2 == [(r.root / "a.py").read_text() for r in (one, two)]
    assert [foreign, link] == sorted(temporary.iterdir())
    assert (root / "a.py").exists()


def test_a_folder_of_a_repository_and_a_shallow_clone(
    root: Path, shared: Engine, tmp_path: Path
) -> None:
    commit(root, "the very first one", {"part/a.py": FILLER, "b.py": FILLER})
    commit(root, "elsewhere only value changes", {"b.py": "1\n" + FILLER})
    inside = commit(
        root, "the first value changes", {"part/a.py": "1\n" + FILLER, "b.py": FILLER}
    )
    found = evaluated(root / "part", shared)
    assert [(t.replay.commit, [*t.replay.gold]) for t in found.trials] == [(inside, ["a.py"])]
    assert 1.0 == found.trials[0].recalls[OURS, 2000].file
    clone = tmp_path / "clone"
    run_git(tmp_path, "clone", "-q", "--depth", "2", f"file://{root}", clone)
    shallow = evaluated(clone, shared)
    assert [trial.replay.commit for trial in shallow.trials] == [inside]


def test_globs_may_be_about_files_that_came_later(root: Path, shared: Engine) -> None:
    commit(root, "the very first one", {"a.py": FILLER})
    commit(root, "change the first value", {"a.py": "1\n" + FILLER, "later.py": FILLER})
    found = evaluated(root, shared, exclude=("later.py",))
    assert [1.0] == [trial.recalls[OURS, 2000].file for trial in found.trials]


def test_no_more_is_begun_when_the_time_is_over(root: Path, shared: Engine) -> None:
    commit(root, "the very first one", {"a.py": FILLER})
    for n in range(3):
        commit(root, f"change the value again {n}", {"a.py": f"{n}\n" + FILLER})
    begun: list[Replay] = []
    found = evaluation(
        root, Request(query=""), (500,), 3, shared,
        is_over=lambda: len(begun) > 1, report=lambda _number, _total, task: begun.append(task),
    )  # fmt: skip
    assert ["change the value again 0"] == [trial.replay.subject for trial in found.trials]
    assert 2 == found.n_unreached


def test_without_a_repository_there_is_nothing_to_try(tmp_path: Path, shared: Engine) -> None:
    with pytest.raises(GitUnavailable, match="not a git repository"):
        evaluated(tmp_path / "home", shared)


def test_without_a_commit_there_is_nothing_to_try(root: Path, shared: Engine) -> None:
    with pytest.raises(GitUnavailable, match="no commit yet"):
        evaluated(root, shared)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_an_interval_holds_its_mean_and_is_the_same_each_time(values: list[float]) -> None:
    found = estimated(np.array(values))
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found == estimated(np.array(values))
    assert math.isclose(found.mean, sum(values) / len(values), abs_tol=1e-9)


def test_an_interval_of_many_is_narrow() -> None:
    few, many = (estimated(np.array([0.0, 1.0] * n)) for n in (5, 200))
    assert many.high - many.low < 0.2 < few.high - few.low
    assert math.isnan(estimated(np.array([])).mean)
