"""Where there is no inotify, `watchfiles` wakes who waits, and proves nothing."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from watchfiles._rust_notify import RustNotify

from contextpackd import notifier as module
from contextpackd.inotify import Inotify
from contextpackd.notifier import MAX_FAILURES, Notifier
from contextpackd.silence import Silence
from contextpackd.watch import (
    LOOK_AGAIN_SECONDS,
    NOTIFIED_SWEEP_AGAIN_SECONDS,
    Proof,
    Watch,
)
from harness.trees import write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it counts by /proc")

LISTED, RECURSIVE = 1000, 0
LONG = 30.0  # Seconds until a test that nothing wakes has failed.


class Heard:
    """Opens watches and keeps what each of them said, so that tests can wait for it."""

    def __init__(self) -> None:
        self.opened: list[tuple[list[str], bool]] = []
        self.paths: set[str] = set()

    def open(self, paths: list[str], is_recursive: bool) -> RustNotify:
        self.opened.append((paths, is_recursive))
        return Listened(module._opened(paths, is_recursive), self)  # type: ignore[return-value]


class Listened:
    """A watch of the library's that says what it said."""

    def __init__(self, rust: RustNotify, heard: Heard) -> None:
        self.rust = rust
        self.heard = heard
        self.close = rust.close

    def watch(self, *arguments: object) -> object:
        found = self.rust.watch(*arguments)  # type: ignore[arg-type]
        if isinstance(found, set):
            self.heard.paths |= {path for _, path in found}
        return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, {"ws/a.py": "1", "ws/s/b.py": "1", "ws/node_modules/m/x.js": "1"})
    return tmp_path / "ws"


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture(params=[LISTED, RECURSIVE], ids=["listed", "recursive"])
def notifier(request: pytest.FixtureRequest, root: Path, heard: Heard) -> Iterator[Notifier]:
    """One that is open and has no news."""
    made = Notifier(root, request.param, heard.open)
    made.follow(frozenset(["", "s"]), frozenset([str(root / ".git/index")]))
    settle(made)
    yield made
    made.close()


def settle(notifier: Notifier) -> None:
    """Wait until it is open, as the news of that shows."""
    notifier.taken()
    until_news(notifier)
    notifier.forget()


def until_news(notifier: Notifier) -> None:
    end = time.monotonic() + LONG
    while not notifier.taken():
        assert time.monotonic() < end, "nothing woke it"
        notifier.wait(1.0)


def until_heard(notifier: Notifier, heard: Heard, path: Path) -> None:
    """Wait until the library has reported a path, whether that is news or not."""
    end = time.monotonic() + LONG
    while str(path) not in heard.paths:
        assert time.monotonic() < end, f"only {heard.paths} was reported"
        notifier.wait(0.1)


def n_watches() -> int:
    """How many directories and files this process watches, as the kernel counts them."""
    found = 0
    for file in Path("/proc/self/fdinfo").iterdir():
        with suppress(FileNotFoundError):
            found += file.read_text().count("inotify wd:")
    return found


def threads() -> list[str]:
    """The threads of the library."""
    names = []
    for file in Path("/proc/self/task").glob("*/comm"):
        with suppress(FileNotFoundError, ProcessLookupError):
            names.append(file.read_text())
    return [name for name in names if name.startswith("notify-rs")]


def until_all_is_closed() -> None:
    """The library's threads end by themselves, soon after a watch is closed."""
    end = time.monotonic() + LONG
    while threads() or n_watches():
        assert time.monotonic() < end, f"left: {threads()}, {n_watches()} watches"


def until_watched(n: int) -> None:
    """A watch that is closed goes a moment later."""
    end = time.monotonic() + LONG
    while n != (found := n_watches()):
        assert time.monotonic() < end, f"{found} are watched"


def test_nobody_imports_the_library_before_somebody_waits() -> None:
    code = "import contextpackd.watch, sys; sys.exit('watchfiles' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode


def test_nothing_is_opened_before_somebody_waits(root: Path, heard: Heard) -> None:
    made = Notifier(root, LISTED, heard.open)
    made.follow(frozenset(["s"]), frozenset())
    made.forget()
    made.close()
    assert [] == heard.opened


@pytest.mark.parametrize("path", ["a.py", "s/b.py", "s/new.py", "new.py", ".git/index"])
def test_a_write_is_news(root: Path, heard: Heard, notifier: Notifier, path: str) -> None:
    if path.startswith(".git"):
        (root / ".git").mkdir()
        notifier.follow(frozenset([""]), frozenset([str(root / path)]))
        settle(notifier)
    write(root, {path: "2"})
    until_news(notifier)


def test_what_is_in_other_directories_is_no_news(
    root: Path, heard: Heard, notifier: Notifier
) -> None:
    (root / ".git/objects").mkdir(parents=True)
    until_news(notifier)
    notifier.forget()
    write(root, {"node_modules/m/x.js": "2", ".git/objects/1": "2", ".git/index.lock": "2"})
    if heard.opened[-1][1]:
        until_heard(notifier, heard, root / ".git/index.lock")
    else:
        assert {str(root), str(root / "s")} == set(heard.opened[-1][0])
        until_watched(2)
    assert not notifier.taken()


def test_a_directory_that_changed_by_its_names_is_no_news(
    root: Path, heard: Heard, notifier: Notifier
) -> None:
    # As Windows reports it for each name that comes or goes below.
    (root / "node_modules").chmod(0o700)
    until_heard(notifier, heard, root / "node_modules")
    assert not notifier.taken()


@pytest.mark.parametrize("notifier", [LISTED], indirect=True)
def test_other_directories_are_opened_anew_and_the_old_ones_closed(
    root: Path, heard: Heard, notifier: Notifier
) -> None:
    write(root, {"new/x.py": "1"})
    notifier.follow(frozenset(["s", "new"]), frozenset())
    settle(notifier)
    assert [str(root), str(root / "new"), str(root / "s")] == heard.opened[-1][0]
    until_watched(3)
    write(root, {"new/x.py": "2"})
    until_news(notifier)


@pytest.mark.parametrize("notifier", [RECURSIVE], indirect=True)
def test_the_whole_tree_is_opened_once(root: Path, heard: Heard, notifier: Notifier) -> None:
    write(root, {"new/x.py": "1"})
    notifier.follow(frozenset(["s", "new"]), frozenset())
    settle(notifier)
    assert [([str(root)], True)] == heard.opened
    write(root, {"new/x.py": "2"})
    until_news(notifier)


def test_the_same_directories_again_are_no_news(notifier: Notifier, root: Path) -> None:
    notifier.follow(frozenset(["s"]), frozenset([str(root / ".git/index")]))
    assert not notifier.taken()


@pytest.mark.parametrize("notifier", [LISTED], indirect=True)
def test_a_directory_that_came_back_is_watched_again(root: Path, notifier: Notifier) -> None:
    (root / "s/b.py").unlink()
    (root / "s").rmdir()
    (root / "s").mkdir()
    until_news(notifier)
    until_news(notifier)  # It was opened anew.
    notifier.forget()
    write(root, {"s/b.py": "2"})
    until_news(notifier)


def test_another_root_is_watched(root: Path, tmp_path: Path, notifier: Notifier) -> None:
    root.rename(tmp_path / "old")
    write(tmp_path, {"ws/a.py": "other", "ws/s/b.py": "other"})
    settle(notifier)
    write(root, {"s/b.py": "third"})
    until_news(notifier)


def test_a_root_that_is_gone_is_looked_for(
    root: Path, tmp_path: Path, notifier: Notifier
) -> None:
    root.rename(tmp_path / "old")
    notifier.forget()
    notifier.wait(0.01)
    assert notifier.taken()
    (tmp_path / "old").rename(root)
    settle(notifier)
    write(root, {"s/b.py": "2"})
    until_news(notifier)


def test_a_file_elsewhere_is_news_and_what_is_beside_it_is_not(
    root: Path, tmp_path: Path, heard: Heard, notifier: Notifier
) -> None:
    write(tmp_path, {"home/config": "1", "home/other": "1"})
    notifier.follow(frozenset(["s"]), frozenset([str(tmp_path / "home/config")]))
    settle(notifier)
    write(tmp_path, {"home/other": "2"})
    write(root, {"node_modules/y": "2", "s/b.py": "2"})
    until_heard(notifier, heard, root / "s/b.py")
    notifier.forget()
    write(tmp_path, {"home/config": "2"})
    until_news(notifier)


def test_a_name_that_it_cannot_read_is_survived(root: Path, notifier: Notifier) -> None:
    write(root, {os.fsdecode(b"\xff.py"): "1"})
    settle(notifier)
    write(root, {"a.py": "2"})
    until_news(notifier)


def test_names_that_it_can_never_read_are_given_up(
    root: Path, heard: Heard, notifier: Notifier
) -> None:
    def keep_writing() -> None:
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            write(root, {os.fsdecode(b"\xff.py"): "1"})
            notifier.taken()
            notifier.wait(0.1)

    with pytest.raises(Silence, match="Unable to decode path") as raised:
        keep_writing()
    assert "looked for every two seconds" in str(raised.value.message)
    assert len(heard.opened) == MAX_FAILURES
    until_all_is_closed()


@pytest.mark.parametrize("notifier", [LISTED], indirect=True)
def test_directories_that_cannot_be_watched_are_left_out(
    root: Path, heard: Heard, notifier: Notifier
) -> None:
    write(root, {os.fsdecode(b"d\xff/x.py"): "1"})
    notifier.follow(frozenset([os.fsdecode(b"d\xff"), "gone", "s"]), frozenset())
    settle(notifier)
    assert [str(root), str(root / "s")] == heard.opened[-1][0]


def test_a_root_that_it_cannot_name_is_given_up(tmp_path: Path) -> None:
    root = tmp_path / os.fsdecode(b"ws\xff")
    root.mkdir()
    made = Notifier(root, LISTED)
    made.follow(frozenset(["s"]), frozenset())
    made.taken()
    with pytest.raises(Silence, match="surrogates not allowed"):
        made.wait(LONG)
    made.close()


def test_an_interrupt_ends_a_wait(notifier: Notifier) -> None:
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        while not notifier._polling.locked():
            pass
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        notifier.wait(LONG)
    thread.join()


def test_close_ends_a_wait_and_leaves_no_thread(notifier: Notifier) -> None:
    thread = threading.Thread(target=lambda: notifier.wait(None), daemon=True)
    thread.start()
    while not notifier._polling.locked():
        pass
    notifier.close()
    thread.join(LONG)
    assert not thread.is_alive()
    until_all_is_closed()
    notifier.wait(None)


# In a watch.


def no_queue() -> Inotify:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


@contextmanager
def notified(
    root: Path, max_listed: int = LISTED, ahead: list[float] | None = None
) -> Iterator[Watch]:
    """A watch of a system without inotify, after its first sweeps."""
    skipped = ahead or [0.0]
    watch = Watch(
        root,
        ["s"],
        (),
        opened=no_queue,
        notifier=lambda root: Notifier(root, max_listed),
        clock=lambda: time.monotonic() + skipped[0],
    )
    watch.touched()
    assert watch.wait(LONG)  # It was opened.
    watch.touched()
    yield watch
    watch.close()


@pytest.mark.parametrize("max_listed", [LISTED, RECURSIVE])
def test_a_wait_ends_for_a_save_and_every_answer_sweeps(root: Path, max_listed: int) -> None:
    with notified(root, max_listed) as watch:
        assert (Proof.SWEEP, None) == (watch.mode, watch.message)
        for n in range(3):
            before = watch.n_batches
            write(root, {"s/b.py": str(n)})
            assert watch.wait(LONG)
            assert watch.n_batches > before
            assert watch.touched().everything
        assert not watch.wait(0)


def test_a_wait_ends_for_what_is_in_new_directories(root: Path) -> None:
    with notified(root) as watch:
        write(root, {"new/x.py": "1"})
        assert watch.wait(LONG)
        watch.touched()
        watch.follow(["s", "new"], ())
        assert watch.wait(LONG)
        watch.touched()
        write(root, {"new/x.py": "2"})
        assert watch.wait(LONG)


def test_what_is_reported_late_or_never_is_looked_for(root: Path) -> None:
    ahead = [0.0]
    with notified(root, ahead=ahead) as watch:
        write(root, {"a.py": "2"})
        assert watch.wait(LONG)
        watch.touched()
        seen = []
        for step in (LOOK_AGAIN_SECONDS, LOOK_AGAIN_SECONDS, NOTIFIED_SWEEP_AGAIN_SECONDS):
            ahead[0] += step
            seen.append(watch.wait(0))
            watch.touched()
        assert [True, False, True] == seen


def test_an_answer_takes_what_was_reported_before_it(root: Path) -> None:
    with notified(root) as watch:
        write(root, {"a.py": "2"})
        watch._notifier.wait(LONG)  # type: ignore[union-attr]
        watch.touched()
        assert not watch.wait(0)


def test_without_a_notifier_it_is_looked_at_again_and_said_why(root: Path) -> None:
    def limited(paths: list[str], is_recursive: bool) -> RustNotify:
        raise OSError("OS file watch limit reached.")

    watch = Watch(
        root, (), (), opened=no_queue, notifier=lambda root: Notifier(root, LISTED, limited)
    )
    watch.touched()
    assert watch.wait(LONG)
    assert "OS file watch limit reached" in str(watch.message)
    assert "looked for every two seconds" in str(watch.message)
    assert Proof.SWEEP is watch.touched().proof
    watch.close()


def test_no_thread_is_left_by_a_watch(root: Path) -> None:
    with notified(root):
        pass
    until_all_is_closed()


def test_close_ends_a_wait_for_notifications(root: Path) -> None:
    answers: list[bool] = []
    with notified(root) as watch:
        thread = threading.Thread(target=lambda: answers.append(watch.wait(None)), daemon=True)
        thread.start()
        while not watch._notifier._polling.locked():  # type: ignore[union-attr]
            pass
    thread.join(LONG)
    assert [False] == answers
