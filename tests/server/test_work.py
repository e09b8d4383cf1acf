"""How much work an update of the index is, counted: what changed, and nothing else."""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contextpackd.store import Store
from contextpackd.view import Effort
from contextpackd.workspace import Engine, Workspace, engine
from harness.scans import ALL
from harness.trees import isolate_git, run_git, write

OLD = 1_000_000_000
N_FILES = 12
HOUR_NS = 3_600_000_000_000

needs_events = pytest.mark.skipif(
    sys.platform != "linux", reason="nothing reports changes in order elsewhere"
)


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Engine]:
    made = engine(Store.opened(tmp_path / "store"), n_workers=1)
    yield made
    made.close()


def module(number: int) -> str:
    """A module that imports two others."""
    others = [(number + 1) % N_FILES, (number + 2) % N_FILES]
    lines = [f"import pkg.m{other}" for other in others]
    return "\n".join([*lines, f"def part_{number}(): return {number}\n"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    write(root, {f"pkg/m{n}.py": module(n) for n in range(N_FILES)})
    age(root)
    return root


@pytest.fixture(params=["scanned", "watched"])
def workspace(
    root: Path, shared: Engine, request: pytest.FixtureRequest
) -> Iterator[Workspace]:
    """One that has seen everything, and has kept it."""
    made = opened(root, shared, watches=request.param == "watched")
    yield made
    made.close()


@pytest.fixture
def watched(root: Path, shared: Engine) -> Iterator[Workspace]:
    made = opened(root, shared, watches=True)
    yield made
    made.close()


def opened(root: Path, shared: Engine, *, watches: bool) -> Workspace:
    made = Workspace(root, shared, watches=watches)
    made.scan(ALL, with_graph=True)
    made.save()
    # What is watched newly is looked at once more.
    made.scan(ALL)
    return made


def age(root: Path) -> None:
    """Make every file older than any tick of a clock, so that its stat is believed."""
    for file in root.rglob("*.py"):
        os.utime(file, (OLD, OLD))


def work(workspace: Workspace) -> Effort:
    """What the next scan does, but for looking and listing."""
    effort = workspace.scan(ALL, with_graph=True).effort
    return replace(effort, n_looked=0, n_listed=0)


def save(root: Path, path: str, text: str) -> None:
    """As editors do it; the file is as old as any other."""
    write(root, {path: text})
    os.utime(root / path, (OLD, OLD))


def test_idle_reads_nothing_and_writes_nothing(shared: Engine, workspace: Workspace) -> None:
    n_writes = shared.store.n_writes
    for _ in range(3):
        assert Effort() == work(workspace)
        workspace.save()
    assert n_writes == shared.store.n_writes


@needs_events
def test_idle_looks_at_nothing_where_the_system_reports_changes(watched: Workspace) -> None:
    assert [Effort()] * 3 == [watched.scan(ALL).effort for _ in range(3)]


def test_a_file_that_was_young_when_it_was_read_is_read_once_more(
    root: Path, shared: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"pkg/m3.py": "def young(): ...\n"})
    now = (root / "pkg/m3.py").stat().st_mtime_ns
    monkeypatch.setattr(time, "time_ns", lambda: now)
    workspace = Workspace(root, shared)
    assert N_FILES == work(workspace).n_read
    workspace.save()
    n_writes = shared.store.n_writes
    now += HOUR_NS
    assert [1, 0, 0] == [work(workspace).n_read for _ in range(3)]
    workspace.save()
    assert n_writes == shared.store.n_writes


def test_one_save_is_one_file_and_its_own_imports(root: Path, workspace: Workspace) -> None:
    save(root, "pkg/m3.py", module(3).replace("import pkg.m5", "import pkg.m7"))
    expected = Effort(n_read=1, n_made=1, indexed=1, resolved=(("pkg/m3.py", 2),))
    assert expected == work(workspace)
    assert Effort() == work(workspace)


def test_a_save_that_leaves_the_imports_alone_resolves_none(
    root: Path, workspace: Workspace
) -> None:
    save(root, "pkg/m3.py", module(3) + "def more(): return 1\n")
    assert Effort(n_read=1, n_made=1, indexed=1) == work(workspace)


def test_a_save_that_is_taken_back_comes_out_of_the_store(
    root: Path, workspace: Workspace
) -> None:
    save(root, "pkg/m3.py", module(3).replace("return 3", "return 4"))
    changed = work(workspace)
    save(root, "pkg/m3.py", module(3))
    back = work(workspace)
    assert (1, 1, 0) == (changed.n_read, changed.n_made, changed.n_stored)
    assert (1, 0, 1) == (back.n_read, back.n_made, back.n_stored)


@needs_events
def test_one_save_is_one_look_where_the_system_reports_changes(
    root: Path, watched: Workspace
) -> None:
    save(root, "pkg/m3.py", module(3) + "def more(): return 1\n")
    effort = watched.scan(ALL).effort
    assert (1, 0, 1, 1) == (effort.n_looked, effort.n_listed, effort.n_read, effort.n_made)


def test_a_touch_is_one_read(root: Path, shared: Engine, workspace: Workspace) -> None:
    n_writes = shared.store.n_writes
    os.utime(root / "pkg/m3.py", (OLD + 1, OLD + 1))
    assert Effort(n_read=1) == work(workspace)
    workspace.save()
    assert n_writes == shared.store.n_writes
    assert Effort() == work(workspace)


def test_a_moved_directory_makes_no_facts(root: Path, workspace: Workspace) -> None:
    (root / "pkg").rename(root / "moved")
    effort = work(workspace)
    assert (N_FILES, N_FILES) == (effort.n_read, effort.n_stored)
    assert 0 == effort.n_made
    assert Effort() == work(workspace)


def test_a_branch_switch_back_makes_no_facts(root: Path, workspace: Workspace) -> None:
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "main")
    run_git(root, "checkout", "-q", "-b", "other")
    for n in range(5):
        save(root, f"pkg/m{n}.py", f"def other_{n}(): ...\n")
    run_git(root, "commit", "-q", "-a", "-m", "other")
    there = work(workspace)
    run_git(root, "checkout", "-q", "main")
    back = work(workspace)
    run_git(root, "checkout", "-q", "other")
    again = work(workspace)
    assert (5, 5) == (there.n_made, there.indexed)
    assert (0, 5, 5) == (back.n_made, back.n_stored, back.indexed)
    assert (0, 5, 5) == (again.n_made, again.n_stored, again.indexed)


def test_a_restart_reads_nothing(root: Path, shared: Engine, workspace: Workspace) -> None:
    workspace.close()
    again = Workspace(root, shared)
    assert Effort() == work(again)
