"""The cases of `fixtures/cases/f.jsonl` that the watch decides."""

import errno
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from contextpackd.bursts import FIRST_QUIET_SECONDS
from contextpackd.inotify import Inotify
from contextpackd.notifier import Notifier
from contextpackd.watch import LOOK_AGAIN_SECONDS, Proof, Watch
from harness.mirror import Limited, Mirror, scan
from harness.paces import Script, Scripted, ScriptedRust
from harness.trees import cases, isolate_git, run_git, write

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="events prove on Linux only")

CASES = cases("f.jsonl")


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


def decisive(root: Path) -> set[str]:
    """Git's own files that say what is tracked."""
    return {str(root / ".git" / name) for name in ("HEAD", "index")}


@pytest.fixture
def mirror(root: Path) -> Iterator[Mirror]:
    mirror = Mirror(root, Watch(root, (), decisive(root)), decisive(root))
    mirror.settle()
    yield mirror
    mirror.watch.close()


def commit(root: Path, message: str) -> None:
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", message)


def test_f01_a_checkout_and_back_ends_at_what_is_there(mirror: Mirror) -> None:
    root, n_files = mirror.root, CASES["f01"]["expect"]["files"]
    run_git(root, "init", "-q", "-b", "main")
    write(root, {f"m{n}.py": f"main {n}\n" for n in range(n_files)})
    commit(root, "main")
    run_git(root, "checkout", "-q", "-b", "other")
    write(root, {f"m{n}.py": f"other {n}\n" for n in range(n_files)})
    commit(root, "other")
    run_git(root, "checkout", "-q", "main")
    mirror.settle()
    run_git(root, "checkout", "-q", "other")
    run_git(root, "checkout", "-q", "main")
    named = mirror.settle()
    assert {f"m{n}.py" for n in range(n_files)} | decisive(root) == named
    assert scan(root, [""])[0] == mirror.files
    assert 1 == mirror.n_sweeps


def test_f02_a_branch_with_other_directories_is_one_batch(mirror: Mirror) -> None:
    root = mirror.root
    run_git(root, "init", "-q", "-b", "main")
    write(root, {f"old/{n}.py": f"{n}\n" for n in range(30)})
    commit(root, "main")
    run_git(root, "checkout", "-q", "-b", "feat")
    run_git(root, "rm", "-r", "-q", "old")
    write(root, {f"new/deep/{n}.py": f"{n}\n" for n in range(300)})
    commit(root, "feat")
    run_git(root, "checkout", "-q", "main")
    mirror.settle()
    run_git(root, "checkout", "-q", "feat")
    assert {"new", "old"} | decisive(root) <= mirror.ask().paths
    assert scan(root, [""])[0] == mirror.files
    n_asked = 1
    while mirror.ask().paths:
        n_asked += 1
    assert n_asked <= CASES["f02"]["expect"]["re_packs_max"]


def test_f03_an_atomic_save_is_one_batch_of_the_file_and_its_temporary(mirror: Mirror) -> None:
    write(mirror.root, {"a.py": "1"})
    mirror.settle()
    write(mirror.root, {".a.py.tmp": "2"})
    (mirror.root / ".a.py.tmp").replace(mirror.root / "a.py")
    assert {".a.py.tmp", "a.py"} == mirror.ask().paths
    assert {"a.py": b"2"} == mirror.files
    assert set() == mirror.ask().paths


@pytest.mark.parametrize("asks", ["after each", "at the end"])
def test_f05_a_directory_is_removed_and_made_again(mirror: Mirror, asks: str) -> None:
    write(mirror.root, {"s/a.py": "1"})
    mirror.settle()
    (mirror.root / "s/a.py").unlink()
    (mirror.root / "s").rmdir()
    if asks == "after each":
        mirror.ask()
    write(mirror.root, {"s/a.py": "2"})
    if asks == "after each":
        mirror.ask()
    write(mirror.root, {"s/b.py": "3"})
    mirror.ask()
    index = CASES["f05"]["expect"]["index"]
    assert {path: text.encode() for path, text in index.items()} == mirror.files


def test_f06_a_populated_directory_moves_in_and_about_and_out(
    mirror: Mirror, tmp_path: Path
) -> None:
    write(tmp_path, {"x/y/a.py": "1"})
    seen = []
    for source, target in (("x", "ws/x"), ("ws/x/y", "ws/z"), ("ws/z", "z")):
        (tmp_path / source).rename(tmp_path / target)
        mirror.ask()
        seen.append(sorted(mirror.files))
    assert CASES["f06"]["expect"]["index_after_each"] == seen


def test_f08_the_limit_of_watches_is_said_once_and_answers_stay_fresh(root: Path) -> None:
    mirror = Mirror(root, Watch(root, (), (), opened=lambda: Limited(0)))
    assert "run `sudo sysctl fs.inotify.max_user_watches=" in (mirror.watch.message or "")
    for n in range(3):
        write(root, {"a.py": str(n)})
        assert Proof.SWEEP is mirror.ask().proof
        assert {"a.py": b"%d" % n} == mirror.files
    mirror.watch.close()


@pytest.mark.parametrize("kind", ["9p", "drvfs", "cifs", "nfs4", "fuse.sshfs", "virtiofs"])
def test_f09_a_file_system_without_events_is_looked_at(root: Path, kind: str) -> None:
    table = f"/dev/sda / ext4 rw 0 0\nhost:/x {root.parent} {kind} rw 0 0\n"
    mirror = Mirror(root, Watch(root, (), (), mounts=lambda: table))
    assert Proof.SWEEP is mirror.watch.mode
    assert f"the file system {kind} at {root.parent} reports no changes" in str(
        mirror.watch.message
    )
    write(root, {"a.py": "1"})
    mirror.ask()
    assert {"a.py": b"1"} == mirror.files
    assert LOOK_AGAIN_SECONDS * 1000 <= CASES["f09"]["expect"]["index_fresh_within_ms"]
    mirror.watch.close()


def test_f13_changes_that_the_system_drops_are_looked_for(mirror: Mirror) -> None:
    write(mirror.root, {f"s/{n}.py": "1" for n in range(500)} | {"noise.py": ""})
    mirror.settle()
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for n in range(limit):
        os.utime(mirror.root / ("noise.py" if n % 2 else "s/0.py"))
    write(mirror.root, {f"s/{n}.py": "2" for n in range(500)})
    assert mirror.ask().everything
    assert {b"2"} == {mirror.files[f"s/{n}.py"] for n in range(500)}


def test_f17_git_and_readers_leave_an_idle_watch_idle(mirror: Mirror) -> None:
    run_git(mirror.root, "init", "-q")
    write(mirror.root, {"a.py": "1", "s/b.py": "1"})
    for name in ("a.py", "s/b.py"):
        # While a file is as young as the index, every `git status` writes the index anew.
        os.utime(mirror.root / name, (1, 1))
    commit(mirror.root, "one")
    write(mirror.root, {"a.py": "2"})
    run_git(mirror.root, "status")
    mirror.settle()
    before = mirror.watch.n_batches
    for _ in range(3):
        run_git(mirror.root, "status")
        run_git(mirror.root, "diff")
        scan(mirror.root, [""])
    assert not mirror.watch.wait(0)
    assert CASES["f17"]["expect"]["index_passes_during_idle"] == mirror.watch.n_batches - before


# How long the answer to a batch takes, in seconds: meanwhile nobody listens.
COSTS = [0.0, 0.08, 0.37]


def n_batches(watch: Watch, script: Script, cost: float) -> int:
    """How often somebody who waits, and answers at that cost, was woken for what the script did."""
    woken = 0
    last = script.left[-1][0]
    while script.now < last + 1.5:
        if watch.wait(0.1):
            woken += 1
            watch.touched()
            script.work(cost)
    return woken


@contextmanager
def queued(root: Path, script: Script) -> Iterator[Watch]:
    watch = Watch(root, ["s"], (), opened=lambda: Scripted(script), clock=script.clock)
    watch.touched()
    yield watch
    watch.close()


@contextmanager
def notified(root: Path, script: Script, rust: ScriptedRust) -> Iterator[Watch]:
    """The same where changes are notified, and only looking proves anything."""

    def no_queue() -> Inotify:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    watch = Watch(
        root,
        ["s"],
        (),
        opened=no_queue,
        notifier=lambda root: Notifier(root, opened=lambda *_: cast("RustNotify", rust)),
        clock=script.clock,
    )
    watch.touched()
    while watch.wait(0.1):
        watch.touched()
    yield watch
    watch.close()


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("gap", [0.09, 0.1, 0.105])
def test_f21_appends_in_a_row_are_few_batches(root: Path, gap: float, cost: float) -> None:
    most = CASES["f21"]["expect"]["re_packs_max"]["append"]
    write(root, {"a.py": ""})

    def append() -> None:
        with (root / "a.py").open("a") as file:
            file.write("1")

    script = Script(*((1 + n * gap, append) for n in range(51)))
    with queued(root, script) as watch:
        assert 1 < n_batches(watch, script, cost) <= most
    script = Script()
    rust = ScriptedRust(script)
    with notified(root, script, rust) as watch:
        path = str(root / "a.py")
        at = script.now + 1
        script.left.extend(
            (at + n * gap, lambda: rust.changes.add((2, path))) for n in range(51)
        )
        # One more: what is reported late is looked for once after the last.
        assert 1 < n_batches(watch, script, cost) <= most + 1


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("stall", [0.0, 0.031, 0.1])
def test_f21_a_storm_that_stalls_is_few_batches(root: Path, stall: float, cost: float) -> None:
    (root / "s").mkdir()

    def save(n: int) -> Callable[[], object]:
        return lambda: (root / f"s/{n}.py").write_text("1")

    times = (1 + n * 0.0004 + stall * (n >= 50) + stall * (n >= 300) for n in range(500))
    script = Script(*((at, save(n)) for n, at in enumerate(times)))
    with queued(root, script) as watch:
        assert n_batches(watch, script, cost) <= CASES["f21"]["expect"]["re_packs_max"]["storm"]


def test_saves_that_are_apart_are_each_passed_on_at_once(root: Path) -> None:
    saved = [1 + n * 0.5 for n in range(10)]
    script = Script(*((at, lambda: write(root, {"a.py": "1"})) for at in saved))
    woken = []
    with queued(root, script) as watch:
        while script.left:
            if watch.wait(0.1):
                woken.append(script.now)
                watch.touched()
                script.work(0.02)
        assert [at + FIRST_QUIET_SECONDS for at in saved] == pytest.approx(woken, abs=0.002)


def test_f21_a_storm_of_saves_is_one_batch(mirror: Mirror) -> None:
    write(mirror.root, {f"s/{n}.py": "0" for n in range(500)})
    mirror.settle()

    def save() -> None:
        for n in range(500):
            (mirror.root / f"s/{n}.py").write_text("1")

    thread = threading.Thread(target=save)
    thread.start()
    assert mirror.watch.wait(None)
    thread.join()
    mirror.ask()
    assert {b"1"} == set(mirror.files.values())
    assert not mirror.watch.wait(0)
