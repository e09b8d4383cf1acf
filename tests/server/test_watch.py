"""A watch names every path that may have changed, or says that only looking tells."""

import errno
import mmap
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpackd.inotify import Inotify
from contextpackd.watch import MAX_PATHS, SWEEP_AGAIN_SECONDS, Proof, Watch
from harness.mirror import Limited, Mirror, scan
from harness.trees import write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="events prove on Linux only")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def mirror(root: Path) -> Iterator[Mirror]:
    """A watch whose first look is over."""
    write(root, {"a.py": "1", "s/b.py": "1", "s/t/c.py": "1", "node_modules/m/x.js": "1"})
    mirror = Mirror(root, Watch(root, (), ()))
    mirror.settle()
    yield mirror
    mirror.watch.close()


def n_watches() -> int:
    """How many directories this process watches, as the kernel counts them."""
    return sum(
        Path("/proc/self/fdinfo", name).read_text().count("inotify wd:")
        for name in os.listdir("/proc/self/fd")  # noqa: PTH208
        if Path("/proc/self/fdinfo", name).exists()
    )


def test_the_first_question_asks_for_a_sweep(root: Path) -> None:
    watch = Watch(root, (), ())
    assert (True, "nothing was looked at before") == (
        (first := watch.touched()).everything,
        first.reason,
    )
    assert (frozenset(), Proof.EVENTS) == ((second := watch.touched()).paths, second.proof)
    watch.close()


def test_a_write_is_named_by_the_next_question_only(mirror: Mirror) -> None:
    write(mirror.root, {"s/t/c.py": "2"})
    assert {"s/t/c.py"} == mirror.ask().paths
    assert set() == mirror.ask().paths


@pytest.mark.parametrize("change", ["chmod", "utime", "unlink", "truncate", "symlink"])
def test_every_kind_of_change_is_named(mirror: Mirror, change: str) -> None:
    file = mirror.root / "a.py"
    match change:
        case "chmod":
            file.chmod(0o600)
        case "utime":
            os.utime(file, (1, 1))
        case "unlink":
            file.unlink()
        case "truncate":
            os.truncate(file, 0)
        case "symlink":
            file.unlink()
            file.symlink_to("s/b.py")
        case _:
            pytest.fail(change)
    assert {"a.py"} == mirror.ask().paths


def test_a_memory_map_is_named_when_it_is_closed(mirror: Mirror) -> None:
    with (mirror.root / "a.py").open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    mirror.settle()
    mapped[0:1] = b"2"
    mapped.close()
    assert {"a.py"} == mirror.ask().paths


def test_a_write_through_a_hard_link_elsewhere_is_missed(
    mirror: Mirror, tmp_path: Path
) -> None:
    # Wrong, but the kernel tells only those who watch the directory that the writer came by.
    (tmp_path / "linked.py").hardlink_to(mirror.root / "a.py")
    write(tmp_path, {"linked.py": "2"})
    assert set() == mirror.ask().paths


def test_reading_and_listing_are_no_changes(mirror: Mirror) -> None:
    before = mirror.watch.n_batches
    scan(mirror.root, [""])
    assert set() == mirror.ask().paths
    assert not mirror.watch.wait(0)
    assert before == mirror.watch.n_batches


def test_400_writes_among_others_are_each_seen_by_the_next_question(mirror: Mirror) -> None:
    write(mirror.root, {f"busy/{n}.py": "" for n in range(20)})
    mirror.settle()
    stop = threading.Event()

    def keep_writing(mine: int) -> None:
        n = 0
        while not stop.is_set():
            n += 1
            (mirror.root / "busy" / f"{n % 10 + 10 * mine}.py").write_text(str(n))

    def keep_waiting() -> None:
        while not stop.is_set():
            mirror.watch.wait(0.01)

    threads = [threading.Thread(target=keep_writing, args=(n,)) for n in range(2)]
    threads.append(threading.Thread(target=keep_waiting))
    for thread in threads:
        thread.start()
    missed = []
    for n in range(400):
        path = ("a.py", "s/b.py", "s/t/c.py", f"s/new{n}.py")[n % 4]
        (mirror.root / path).write_text(f"{n}")
        mirror.ask()
        if mirror.files[path] != b"%d" % n:
            missed.append(n)
    stop.set()
    for thread in threads:
        thread.join()
    assert [] == missed


def test_a_write_of_another_process_is_seen_when_it_has_ended(mirror: Mirror) -> None:
    for n in range(20):
        os.spawnlp(os.P_WAIT, "sh", "sh", "-c", f"echo {n} > '{mirror.root}/s/b.py'")
        mirror.ask()
        assert b"%d\n" % n == mirror.files["s/b.py"]


def test_what_is_put_into_a_directory_before_its_watch_begins_is_seen(mirror: Mirror) -> None:
    (mirror.root / "new").mkdir()
    touched = mirror.watch.touched()
    write(mirror.root, {"new/late.py": "1"})  # Nobody is told of this one.
    assert {"new"} == touched.paths
    mirror.watch.follow(["s", "s/t", "new"], ())
    assert {"new"} == mirror.watch.touched().paths
    assert set() == mirror.watch.touched().paths


def test_new_directories_are_named_by_the_topmost(mirror: Mirror) -> None:
    write(mirror.root, {"n/e/w/x.py": "1", "n/o/x.py": "1"})
    mirror.ask()
    assert {"n"} == mirror.ask().paths
    assert set() == mirror.ask().paths


def test_a_directory_that_came_back_is_watched_without_being_told(mirror: Mirror) -> None:
    for name in ("s/t/c.py", "s/b.py"):
        (mirror.root / name).unlink()
    (mirror.root / "s/t").rmdir()
    (mirror.root / "s").rmdir()
    write(mirror.root, {"s/t/c.py": "2"})
    assert "s" in mirror.watch.touched().paths
    write(mirror.root, {"s/t/c.py": "3"})
    assert {"s/t/c.py"} == mirror.watch.touched().paths


def test_a_directory_that_somebody_stands_in_is_replaced(mirror: Mirror) -> None:
    held = os.open(
        mirror.root / "s/t", os.O_RDONLY
    )  # It keeps the old one and its watch alive.
    (mirror.root / "s/t/c.py").unlink()
    (mirror.root / "s/t").rmdir()
    write(mirror.root, {"s/t/c.py": "2"})
    mirror.settle()
    write(mirror.root, {"s/t/c.py": "3"})
    assert {"s/t/c.py"} == mirror.watch.touched().paths
    os.close(held)


def test_a_moved_directory_reports_under_its_new_name(mirror: Mirror) -> None:
    (mirror.root / "s").rename(mirror.root / "z")
    assert {"s", "z"} == mirror.ask().paths
    assert {"a.py", "z/b.py", "z/t/c.py"} == set(mirror.files)
    mirror.settle()
    write(mirror.root, {"z/t/c.py": "2"})
    assert {"z/t/c.py"} == mirror.ask().paths


def test_a_move_that_is_known_before_it_is_reported_keeps_the_new_name(mirror: Mirror) -> None:
    (mirror.root / "s").rename(mirror.root / "z")
    mirror.watch.follow(["s", "s/t", "z", "z/t"], ())  # Somebody looked meanwhile.
    mirror.watch.touched()
    write(mirror.root, {"z/t/c.py": "2"})
    assert {"z/t/c.py"} == mirror.watch.touched().paths


def swap(root: Path, one: str, other: str) -> None:
    for old, new in ((one, "aside"), (other, one), ("aside", other)):
        (root / old).rename(root / new)


def test_two_directories_swap_their_names(mirror: Mirror) -> None:
    write(mirror.root, {"u/t/c.py": "other"})
    mirror.settle()
    swap(mirror.root, "s", "u")
    mirror.settle()
    assert (b"other", b"1") == (mirror.files["s/t/c.py"], mirror.files["u/t/c.py"])
    write(mirror.root, {"s/t/c.py": "2"})
    assert {"s/t/c.py"} == mirror.ask().paths
    assert 1 == mirror.n_sweeps


def test_only_the_directories_it_is_told_of_are_watched(mirror: Mirror) -> None:
    assert 3 == n_watches()  # The root, s and s/t.
    write(mirror.root, {"node_modules/m/x.js": "2", "node_modules/n/y.js": "1"})
    assert set() == mirror.ask().paths
    mirror.watch.follow(["s"], ())
    assert 2 == n_watches()
    mirror.watch.close()
    assert 0 == n_watches()


def test_a_name_that_is_not_utf8_is_a_name(mirror: Mirror) -> None:
    path = os.fsdecode(b"\xff\xfe.py")
    folder = os.fsdecode(b"d\xff")
    write(mirror.root, {path: "1", f"{folder}/x.py": "1"})
    assert {path, folder} == mirror.ask().paths
    mirror.settle()
    write(mirror.root, {f"{folder}/x.py": "2"})
    assert {f"{folder}/x.py"} == mirror.ask().paths
    assert 1 == mirror.n_sweeps


def overflow(mirror: Mirror) -> None:
    """More changes than the kernel keeps. Equal ones in a row would count as one."""
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for n in range(limit + 2):
        os.utime(mirror.root / ("a.py" if n % 2 else "s/b.py"))


def test_an_overflow_is_noticed_and_the_watches_begin_anew(mirror: Mirror) -> None:
    write(mirror.root, {"u/t/c.py": "1"})
    mirror.settle()
    overflow(mirror)
    swap(mirror.root, "s", "u")  # Lost, though the names of all directories are as before.
    touched = mirror.ask()
    assert "more changes at once than the system can report" == touched.reason
    mirror.settle()
    write(mirror.root, {"s/t/c.py": "2"})
    assert {"s/t/c.py"} == mirror.ask().paths
    assert 2 == mirror.n_sweeps


def test_more_paths_than_are_worth_naming_are_a_sweep(mirror: Mirror) -> None:
    for n in range(MAX_PATHS + 1):
        os.close(os.open(mirror.root / f"s/{n}", os.O_CREAT | os.O_WRONLY))
        if n % 5000 == 0:
            mirror.watch.wait(0)  # So that the queue does not overflow.
    assert f"more than {MAX_PATHS} paths changed" == mirror.watch.touched().reason
    assert Proof.EVENTS is mirror.watch.touched().proof


@pytest.mark.parametrize("way", ["deleted", "replaced"])
def test_another_root_is_noticed(mirror: Mirror, tmp_path: Path, way: str) -> None:
    if way == "replaced":
        mirror.root.rename(tmp_path / "old")
    else:
        (mirror.root / "a.py").unlink()
        for name in ("s", "node_modules"):
            (mirror.root / name).rename(tmp_path / name)
        mirror.root.rmdir()
    gone = mirror.ask()
    assert (True, "the root cannot be watched") == (gone.everything, gone.reason)
    write(mirror.root, {"s/b.py": "other"})
    assert mirror.ask().everything
    mirror.settle()
    write(mirror.root, {"s/b.py": "third"})
    assert {"s/b.py"} == mirror.ask().paths
    assert {"s/b.py": b"third"} == mirror.files


def test_a_root_that_another_is_renamed_to_is_noticed(mirror: Mirror, tmp_path: Path) -> None:
    write(tmp_path, {"new/s/b.py": "other"})
    mirror.root.rename(tmp_path / "old")
    (tmp_path / "new").rename(mirror.root)
    assert "the root is another directory than before" == mirror.ask().reason
    mirror.settle()
    write(mirror.root, {"s/b.py": "third"})
    assert {"s/b.py"} == mirror.ask().paths


def test_a_linked_root_follows_its_link(mirror: Mirror, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(mirror.root)
    linked = Mirror(link, Watch(link, (), ()))
    linked.settle()
    write(mirror.root, {"s/b.py": "2"})
    assert {"s/b.py"} == linked.ask().paths
    write(tmp_path, {"new/s/b.py": "other"})
    link.unlink()
    link.symlink_to(tmp_path / "new")
    assert linked.ask().everything
    assert {"s/b.py": b"other"} == linked.files
    linked.watch.close()


def test_links_below_the_root_are_not_watched(mirror: Mirror, tmp_path: Path) -> None:
    write(tmp_path, {"outside/x.py": "1"})
    (mirror.root / "link").symlink_to(tmp_path / "outside")
    mirror.watch.follow(["s", "s/t", "link"], ())
    assert {"link"} == mirror.watch.touched().paths
    write(tmp_path, {"outside/x.py": "2"})
    assert set() == mirror.watch.touched().paths


# Single files outside of the directories.


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Files as a repository and a user have them: two are there, two are not, one is a link."""
    write(tmp_path, {"git/index": "1", "home/dotfiles/config": "1"})
    (tmp_path / "home/config").symlink_to("dotfiles/config")
    names = ("git/index", "git/info/exclude", "home/config", "home/ignore")
    return {name: str(tmp_path / name) for name in names}


@pytest.fixture
def follower(root: Path, files: dict[str, str]) -> Iterator[Mirror]:
    mirror = Mirror(root, Watch(root, (), files.values()), files.values())
    mirror.settle()
    yield mirror
    mirror.watch.close()


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("git/index", "git/index"),
        ("git/info/exclude", "git/info/exclude"),
        ("home/config", "home/dotfiles/config"),
        ("home/ignore", "home/ignore"),
    ],
)
def test_a_single_file_is_named_as_it_was_given(
    follower: Mirror, tmp_path: Path, files: dict[str, str], name: str, written: str
) -> None:
    for text in ("1", "2", "3"):
        write(tmp_path, {written: text})
        assert {files[name]} == follower.ask().paths
    write(tmp_path, {f"{written}.lock": "4", "git/other": "4", "home/other": "4"})
    assert set() == follower.ask().paths
    (tmp_path / f"{written}.lock").replace(tmp_path / written)
    assert {files[name]} == follower.ask().paths
    (tmp_path / written).unlink()
    assert {files[name]} == follower.ask().paths
    assert set() == follower.ask().paths


def test_two_writes_that_leave_the_same_stat_are_both_named(
    follower: Mirror, files: dict[str, str]
) -> None:
    # The stat is the same wherever the clock of the file system did not tick in between.
    for n in range(200):
        with open(files["git/index"], "r+") as file:  # noqa: PTH123
            file.write(str(n % 10))
        assert {files["git/index"]} == follower.ask().paths


def test_what_follows_a_link_elsewhere_is_named(
    follower: Mirror, tmp_path: Path, files: dict[str, str]
) -> None:
    write(tmp_path, {"home/other/config": "1"})
    (tmp_path / "home/config").unlink()
    (tmp_path / "home/config").symlink_to("other/config")
    assert {files["home/config"]} == follower.ask().paths
    write(tmp_path, {"home/dotfiles/config": "2"})
    assert not follower.watch.wait(0)
    write(tmp_path, {"home/other/config": "2"})
    assert follower.watch.wait(0)


def test_a_wait_ends_for_a_single_file(follower: Mirror, tmp_path: Path) -> None:
    before = follower.watch.n_batches
    write(tmp_path, {"git/index.lock": "2"})
    assert not follower.watch.wait(0)
    assert before == follower.watch.n_batches
    (tmp_path / "git/index.lock").replace(tmp_path / "git/index")
    assert follower.watch.wait(30)


def test_a_file_that_is_followed_newly_is_named_once(
    mirror: Mirror, files: dict[str, str]
) -> None:
    mirror.watch.follow(mirror.directories, files.values())
    assert set(files.values()) == mirror.watch.touched().paths
    assert set() == mirror.watch.touched().paths
    mirror.watch.follow(mirror.directories, ())
    assert 3 == n_watches()


def test_the_name_of_a_repository_is_a_name_like_others(mirror: Mirror) -> None:
    write(mirror.root, {"s/.git/HEAD": "1", ".git": "gitdir: elsewhere\n"})
    assert {"s/.git", ".git"} == mirror.ask().paths


# Where nothing is reported.


def test_a_limit_that_is_reached_later_gives_all_watches_back(root: Path) -> None:
    write(root, {f"{n}/x.py": "1" for n in range(9)})
    watch = Watch(root, [str(n) for n in range(4)], (), opened=lambda: Limited(5))
    watch.touched()
    assert (Proof.EVENTS, None) == (watch.mode, watch.message)
    watch.follow([str(n) for n in range(9)], ())
    assert Proof.SWEEP is watch.mode
    assert watch.message is not None
    assert "fs.inotify.max_user_watches" in watch.message
    assert 0 == n_watches()
    assert ["sweep", "sweep"] == [watch.touched().proof for _ in range(2)]
    watch.close()


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOSYS, errno.EPERM])
def test_without_a_queue_every_answer_sweeps(root: Path, code: int) -> None:
    def refused() -> Inotify:
        raise OSError(code, os.strerror(code))

    watch = Watch(root, (), (), opened=refused)
    assert Proof.SWEEP is watch.mode
    assert (code == errno.ENOSYS) == (watch.message is None)  # Nobody can do anything about it.
    assert watch.touched().everything
    assert not watch.touched().paths
    watch.close()


def test_a_mount_below_the_root_counts_if_it_is_watched(root: Path) -> None:
    write(root, {"da ta/x": "1"})
    table = f"/dev/sda / ext4 rw 0 0\nhost:/x {root}/da\\040ta nfs4 rw 0 0\n"
    watch = Watch(root, (), (), mounts=lambda: table)
    assert Proof.EVENTS is watch.mode
    watch.follow(["da ta"], ())
    assert f"the file system nfs4 at {root}/da ta reports no changes" == watch.touched().reason
    watch.close()


# Waiting.


@contextmanager
def waiting(watch: Watch) -> Iterator[list[bool]]:
    """A thread that waits, and afterwards what it was told."""
    answers: list[bool] = []
    # A daemon: should nothing wake it, the test fails and the run ends all the same.
    thread = threading.Thread(target=lambda: answers.append(watch.wait(None)), daemon=True)
    thread.start()
    while watch.mode is Proof.EVENTS and not watch._polling.locked():
        pass
    yield answers
    thread.join(timeout=30)


def test_close_ends_a_wait_and_leaves_no_thread(mirror: Mirror) -> None:
    before = threading.active_count()
    with waiting(mirror.watch) as answers:
        mirror.watch.close()
    assert [False] == answers
    assert before == threading.active_count()
    assert "the watch is closed" == mirror.watch.touched().reason


def test_close_ends_the_wait_for_the_next_look(root: Path) -> None:
    watch = Watch(root, (), (), mounts=lambda: "x / 9p rw 0 0\n")
    assert watch.wait(None)  # The first look is due at once.
    with waiting(watch) as answers:
        watch.close()
    assert [False] == answers


def test_a_wait_ends_for_what_is_watched_newly(mirror: Mirror) -> None:
    mirror.watch.follow((), ())
    with waiting(mirror.watch) as answers:
        mirror.watch.follow(["s"], ())
    assert [True] == answers
    assert {"s"} == mirror.watch.touched().paths
    assert not mirror.watch.wait(0)


def test_a_wait_goes_on_when_the_watches_begin_anew(mirror: Mirror, tmp_path: Path) -> None:
    with waiting(mirror.watch) as answers:
        mirror.root.rename(tmp_path / "old")
        mirror.root.mkdir()
        mirror.settle()
        write(mirror.root, {"a.py": "2"})
    assert [True] == answers


def test_a_writer_that_never_rests_does_not_keep_a_wait_forever(mirror: Mirror) -> None:
    stop = threading.Event()

    def keep_writing() -> None:
        while not stop.is_set():
            write(mirror.root, {"a.py": "2"})

    thread = threading.Thread(target=keep_writing)
    thread.start()
    assert mirror.watch.wait(None)
    stop.set()
    thread.join()


# A sweep on a timer.


def test_a_sweep_is_due_when_the_last_is_long_ago(root: Path) -> None:
    now = [1000.0]
    watch = Watch(root, (), (), clock=lambda: now[0])
    watch.touched()
    now[0] += SWEEP_AGAIN_SECONDS - 1
    assert not watch.wait(0)
    assert Proof.EVENTS is watch.touched().proof
    now[0] += 1
    assert watch.wait(0)
    due = watch.touched()
    assert (frozenset(), "nothing was looked at for 300 seconds") == (due.paths, due.reason)
    assert not watch.wait(0)
    assert Proof.EVENTS is watch.touched().proof
    assert 0 == watch.n_batches
    watch.close()


def test_a_sweep_for_a_doubt_is_as_good_as_one_on_the_timer(root: Path, tmp_path: Path) -> None:
    now = [1000.0]
    watch = Watch(root, (), (), clock=lambda: now[0])
    watch.touched()
    now[0] += SWEEP_AGAIN_SECONDS - 1
    root.rename(tmp_path / "old")
    root.mkdir()
    assert watch.touched().everything
    now[0] += SWEEP_AGAIN_SECONDS - 1
    assert Proof.EVENTS is watch.touched().proof
    watch.close()


# All of it together.

NAMES = st.sampled_from(["a", "b", "s", "s/t", "s/t/u", "z", "z/t", "node_modules", "s/\udcff"])
OUTSIDE = "../outside"
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, st.integers(0, 9).map(str)),
        st.tuples(st.just("mkdir"), NAMES, st.just("")),
        st.tuples(st.just("rename"), NAMES | st.just(OUTSIDE), NAMES | st.just(OUTSIDE)),
        st.tuples(st.just("delete"), NAMES, st.just("")),
        st.tuples(st.just("link"), NAMES, NAMES),
        st.tuples(st.just("ask"), st.just(""), st.just("")),
    ),
    min_size=1,
    max_size=30,
)


def take(root: Path, verb: str, path: str, other: str) -> None:
    """One step, if the file system lets it happen."""
    target = root / path
    match verb:
        case "write" if target.is_dir() and not target.is_symlink():
            (target / "x.py").write_text(other)
        case "write" if not target.is_symlink():
            target.write_text(other)
        case "mkdir":
            target.mkdir(parents=True)
        case "rename":
            target.rename(root / other)
        case "delete" if target.is_dir() and not target.is_symlink():
            for directory, folders, files in os.walk(target, topdown=False):
                for name in files:
                    Path(directory, name).unlink()
                for name in folders:
                    folder = Path(directory, name)
                    folder.unlink() if folder.is_symlink() else folder.rmdir()
            target.rmdir()
        case "delete":
            target.unlink()
        case "link":
            target.symlink_to(other)
        case _:
            assert verb == "write", "only a link is not written to"


@given(steps=STEPS)
def test_after_any_changes_what_is_kept_equals_a_scan(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    base = tmp_path_factory.mktemp("any")
    root = base / "ws"
    write(root, {"s/t/c.py": "1", "s/b.py": "1", "../outside/y/d.py": "1"})
    mirror = Mirror(root, Watch(root, (), ()))
    mirror.settle()
    for verb, path, other in steps:
        if verb == "ask":
            mirror.ask()
            assert scan(root, [""]) == (mirror.files, mirror.directories)
        else:
            try:
                take(root, verb, path, other)
            except OSError:
                continue
    mirror.ask()
    assert scan(root, [""]) == (mirror.files, mirror.directories)
    assert 1 == mirror.n_sweeps
    mirror.settle()
    assert not mirror.watch.wait(0)
    mirror.watch.close()
