"""The store in good health: it finds what is kept, drops what is old, and reads without writing."""

import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextpackd.entries import STAMP_SECONDS, VERDICT_SECONDS, FactsKey, StoredFacts
from contextpackd.saves import size_of
from contextpackd.store import (
    CHECKED_SHARE,
    DIRECTORY_VARIABLE,
    LOW_WATER,
    MAX_SAVE_SHARE,
    OTHER_VERSION_SECONDS,
    Freed,
    Store,
)
from harness.stores import DAY, Clock, facts, filled, index_of, key, stored

ROOT = Path("/home/someone/project")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_facts_are_found_in_the_next_run(folder: Path) -> None:
    filled(folder).close()
    store = Store.opened(folder)
    assert facts(range(40)) == store.facts_of([key(n) for n in range(100)])
    assert facts([7]) == store.facts_of([key(7), key(77)])
    assert store.problem is None
    store.close()


def test_every_part_of_a_key_counts(folder: Path) -> None:
    keys = [
        FactsKey(recipe, language, digest)
        for recipe in ("1", "2")
        for language in ("python", "")
        for digest in ("aa", "ab")
    ]
    store = Store.opened(folder)
    store.keep_facts((one, stored(one)) for one in keys[1:])
    assert {one: stored(one) for one in keys[1:]} == store.facts_of(keys)
    store.close()


def test_keeping_again_replaces(folder: Path) -> None:
    store = filled(folder)
    changed = {key(3): StoredFacts(b"", b"other"), key(99): StoredFacts(b"x", b"")}
    store.keep_facts(changed.items())
    assert facts(range(40)) | changed == store.facts_of([key(n) for n in range(100)])
    assert store.info().n_facts == 41
    store.close()


def test_more_keys_than_one_statement_takes(folder: Path) -> None:
    store = Store.opened(folder)
    many = facts(range(2000), 8)
    store.keep_facts(many.items())
    assert many == store.facts_of(list(many))
    assert store.n_writes == 1
    store.close()


def test_verdicts_are_kept_for_a_week(folder: Path, clock: Clock) -> None:
    store = Store.opened(folder, clock=clock)
    store.keep_verdicts([(key(1), "too-slow"), (key(2), "crashed")])
    assert {key(1): "too-slow"} == store.verdicts_of([key(1), key(3)])
    assert {} == store.facts_of([key(1)])
    clock.now += VERDICT_SECONDS
    assert {key(1): "too-slow"} == store.verdicts_of([key(1)])
    clock.now += 1
    assert {} == store.verdicts_of([key(1), key(2)])
    store.close()


def test_an_empty_store_leaves_no_trace(folder: Path) -> None:
    store = Store.opened(folder)
    assert {} == store.facts_of([key(1)])
    assert index_of(store, ROOT) is None
    store.keep_facts([])
    store.evict()
    assert Freed(0, 0, 0) == store.clear()
    store.close()
    assert not folder.exists()


def test_reading_and_idling_write_nothing(folder: Path, clock: Clock) -> None:
    store = filled(folder, clock=clock)
    store.save_root(ROOT, {"index": b"1"})
    store.close()
    clock.now += STAMP_SECONDS
    store = Store.opened(folder, clock=clock)
    store.facts_of([key(n) for n in range(40)])
    store.facts_of([key(1)])
    index_of(store, ROOT)
    store.evict()
    store.close()
    assert (3, 0) == (store.n_reads, store.n_writes)


def test_a_last_use_is_noted_once_a_day(folder: Path, clock: Clock) -> None:
    filled(folder, clock=clock).close()
    clock.now += STAMP_SECONDS + 1
    for expected in (1, 0):
        store = Store.opened(folder, clock=clock)
        store.facts_of([key(n) for n in range(40)])
        store.close()
        assert expected == store.n_writes


def test_a_clock_that_was_set_back_is_noted_too(folder: Path, clock: Clock) -> None:
    filled(folder, clock=clock).close()
    clock.now -= 2 * DAY
    store = Store.opened(folder, clock=clock)
    assert len(store.facts_of([key(n) for n in range(40)])) == 40
    store.close()
    assert store.n_writes == 1


def test_a_closed_store_is_empty(folder: Path) -> None:
    store = filled(folder)
    store.close()
    store.keep_facts(facts([50]).items())
    assert {} == store.facts_of([key(1)])
    store.close()
    reopened = Store.opened(folder)
    assert {} == reopened.facts_of([key(50)])
    reopened.close()


def test_only_the_user_can_read_it(folder: Path) -> None:
    store = filled(folder)
    store.save_root(ROOT, {"index": b"1"})
    paths = [folder, *folder.rglob("*")]
    assert (
        len(paths) == 9
    )  # Four directories, the database and its two logs, two files of a save.
    for path in paths:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert (0o700 if path.is_dir() else 0o600) == mode, path
    store.close()


def test_the_directory_is_the_users_or_what_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DIRECTORY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    store = Store.opened()
    assert store.directory.name == "contextpackd"
    store.close()
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "named"))
    store = Store.opened()
    assert tmp_path / "named" == store.directory
    store.close()
    monkeypatch.setenv(DIRECTORY_VARIABLE, "relative")
    store = Store.opened()
    assert store.problem == "relative is no absolute path; nothing is kept between runs"
    store.close()


def test_what_is_longest_unused_goes_first(folder: Path, clock: Clock) -> None:
    limit = 450_000
    store = Store.opened(folder, max_bytes=limit, clock=clock)
    store.keep_facts(facts(range(200)).items())
    store.save_root(ROOT, {"index": bytes(1000)})
    clock.now += 2 * DAY
    # These are used, and this noted by the next write.
    store.facts_of([key(n) for n in range(50)])
    store.evict()
    clock.now += 2 * DAY
    store.keep_facts(facts(range(200, 500)).items())
    store.evict()
    found = store.facts_of([key(n) for n in range(500)])
    by_use = [*range(50, 200), *range(50), *range(200, 500)]
    is_kept = [key(n) in found for n in by_use]
    assert sorted(is_kept) == is_kept
    assert 0 < is_kept.count(False) < 200
    assert index_of(store, ROOT) is None
    assert size_of(folder) <= limit * LOW_WATER * 1.25
    store.close()


def test_it_stays_within_its_bounds_by_itself(folder: Path, clock: Clock) -> None:
    limit = 2_000_000
    store = Store.opened(folder, max_bytes=limit, clock=clock)
    for n in range(0, 10_000, 100):
        clock.now += 1
        batch = facts(range(n, n + 100))
        store.keep_facts(batch.items())
        assert batch == store.facts_of(list(batch))
        if n % 1000 == 0:
            store.save_root(ROOT / str(n), {"index": bytes(100_000)})
        # A batch has 60 KB, which lie in the log and in the database until that is emptied.
        assert size_of(folder) <= limit * (1 + CHECKED_SHARE) + 4 * 60_000
    assert index_of(store, ROOT / "9000") == bytes(100_000)
    assert index_of(store, ROOT / "0") is None
    store.close()


def test_one_save_does_not_drive_out_everything(folder: Path) -> None:
    limit = 1_000_000
    store = Store.opened(folder, max_bytes=limit)
    store.save_root(ROOT, {"index": bytes(int(limit * MAX_SAVE_SHARE))})
    assert store.problem is None
    store.save_root(ROOT, {"index": bytes(int(limit * MAX_SAVE_SHARE) + 1)})
    assert "too many to keep" in str(store.problem)
    assert index_of(store, ROOT) == bytes(int(limit * MAX_SAVE_SHARE))
    store.close()


def test_other_versions_are_left_alone_until_nobody_uses_them(
    folder: Path, clock: Clock
) -> None:
    store = filled(folder, clock=clock)
    others = [folder / "facts-v9-000003.sqlite3", folder / "roots-v0" / "a" / "1-b" / "0"]
    for file in others:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"theirs")
    written = max(file.stat().st_mtime for file in others)
    clock.now = written + OTHER_VERSION_SECONDS - 60
    store.evict()
    assert [b"theirs"] * 2 == [file.read_bytes() for file in others]
    clock.now = written + OTHER_VERSION_SECONDS + 60
    store.evict()
    assert [False, False] == [file.exists() for file in others]
    assert len(store.facts_of([key(n) for n in range(40)])) == 40
    store.close()


def test_clearing_a_root_leaves_the_facts(folder: Path) -> None:
    store = filled(folder)
    store.save_root(ROOT, {"index": bytes(5000)})
    store.save_root(ROOT / "other", {"index": b"2"})
    freed = store.clear(ROOT)
    assert (0, 1) == (freed.n_facts, freed.n_roots)
    assert freed.size_bytes > 5000
    assert index_of(store, ROOT) is None
    assert index_of(store, ROOT / "other") == b"2"
    assert store.info().n_facts == 40
    assert Freed(0, 0, 0) == store.clear(ROOT)
    store.close()


def test_clearing_leaves_a_store_that_others_go_on_with(folder: Path) -> None:
    store, other = filled(folder, 400), Store.opened(folder)
    (folder / "facts-v9-000001.sqlite3").write_bytes(b"theirs")
    other.save_root(ROOT, {"index": b"1"})
    freed = store.clear()
    assert (400, 1) == (freed.n_facts, freed.n_roots)
    assert freed.size_bytes > 400 * 600
    other.keep_facts(facts([5]).items())
    assert facts([5]) == store.facts_of([key(n) for n in range(40)])
    assert (None, None) == (store.problem, other.problem)
    store.close()
    other.close()


def test_info_says_what_is_kept(folder: Path) -> None:
    store = filled(folder)
    store.save_root(ROOT, {"index": bytes(5000)})
    info = store.info()
    assert (folder, 40, None) == (info.directory, info.n_facts, info.problem)
    assert [str(ROOT)] == [saved.root for saved in info.roots]
    assert size_of(folder) == info.size_bytes > 5000 + 40 * 600
    store.close()


def test_threads_share_it(folder: Path) -> None:
    store = Store.opened(folder)
    together = threading.Barrier(4)

    def read() -> int:
        together.wait()
        wrong = 0
        for _ in range(30):
            found = store.facts_of([key(n) for n in range(600)])
            wrong += sum(value != stored(one) for one, value in found.items())
        return wrong

    def write() -> int:
        together.wait()
        for n in range(0, 600, 20):
            store.keep_facts(facts(range(n, n + 20)).items())
        return 0

    with ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(work) for work in (read, write, read, read)]
        assert [0, 0, 0, 0] == [task.result() for task in tasks]
    assert len(store.facts_of([key(n) for n in range(600)])) == 600
    assert store.problem is None
    store.close()


OTHER_PROCESS = """
import sys
from pathlib import Path
from contextpackd.store import Store
from harness.stores import facts, key
store = Store.opened(Path(sys.argv[1]))
for line in sys.stdin:
    n = int(line)
    found = store.facts_of([key(n)])
    print(int(found == facts([n])), flush=True)
    store.keep_facts(facts([n + 1]).items())
    print(store.problem, flush=True)
"""


def test_two_processes_see_each_others_writes(folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OTHER_PROCESS, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        cwd=Path(__file__).parents[1],
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        store = Store.opened(folder)
        for n in range(0, 60, 2):
            store.keep_facts(facts([n]).items())
            other.stdin.write(f"{n}\n")
            assert ["1\n", "None\n"] == [other.stdout.readline() for _ in range(2)]
            assert facts([n + 1]) == store.facts_of([key(n + 1)])
        other.stdin.close()
        assert other.wait(30) == 0
    assert store.problem is None
    store.close()
