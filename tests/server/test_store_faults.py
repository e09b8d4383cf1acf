"""The store with damage, locks, full disks, killed processes: only speed may change."""

import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextpackd.database import (
    FULL_PAUSE_SECONDS,
    LOCKED_PAUSE_SECONDS,
    MAX_RENEWALS,
    Database,
)
from contextpackd.saves import size_of
from contextpackd.store import Store
from harness.stores import Clock, facts, filled, index_of, key, stored

ROOT = Path("/home/someone/project")
TESTS = Path(__file__).parents[1]
KEYS = [key(n) for n in range(60)]
FIRST = "facts-v1-000001.sqlite3"
SECOND = "facts-v1-000002.sqlite3"
PARTS = {"survey": bytes(range(256)), "index": b"index" * 5000}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a process that was killed leaves: a database, a log that is not in it yet, saves."""
    folder, copy = (tmp_path_factory.mktemp(name) for name in ("open", "left"))
    folder.chmod(0o700)
    store = filled(folder, 30)
    database(store).shrink()  # Half lies in the database,
    store.keep_facts(facts(range(30, 60)).items())  # half in the log.
    store.keep_verdicts([(key(70), "too-slow")])
    store.save_root(ROOT, PARTS)
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    store.close()
    return copy


@dataclass(frozen=True, slots=True)
class Damage:
    """What is done to one file; places are shares of its length."""

    file: int
    how: str
    place: float
    fill: int
    length: int

    def do(self, file: Path) -> None:
        content = bytearray(file.read_bytes())
        at = int(self.place * len(content))
        data = bytes([self.fill]) * self.length
        match self.how:
            case "overwrite":
                content[at : at + self.length] = data
            case "insert":
                content[at:at] = data
            case "cut":
                del content[at:]
            case "remove":
                file.unlink()
                return
            case "directory":
                file.unlink()
                file.mkdir()
                return
            case "fifo":
                file.unlink()
                os.mkfifo(file)
                return
            case _:
                pytest.fail(self.how)
        file.write_bytes(content)


HOWS = ["overwrite", "overwrite", "overwrite", "insert", "cut", "remove", "directory", "fifo"]
DAMAGE = st.builds(
    Damage,
    file=st.integers(0, 6),
    how=st.sampled_from(HOWS),
    place=st.floats(0, 0.999),
    fill=st.integers(0, 255),
    length=st.sampled_from([1, 1, 2, 16, 500, 5000]),
)


def database(store: Store) -> Database:
    assert store._database is not None
    return store._database


def problem(store: Store) -> str | None:
    return store.problem


def assert_true_answers(store: Store) -> int:
    """What is found is right; how many facts are."""
    found = store.facts_of(KEYS)
    assert found == {one: stored(one) for one in found}
    assert set(store.verdicts_of([key(70), *KEYS]).items()) <= {(key(70), "too-slow")}
    saved = store.saved_parts(ROOT, PARTS)
    assert set(saved.items()) <= set(PARTS.items())
    return len(found)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(damages=st.lists(DAMAGE, min_size=1, max_size=4, unique_by=lambda damage: damage.file))
def test_damage_between_runs_costs_only_what_it_hit(
    template: Path, tmp_path: Path, damages: list[Damage]
) -> None:
    folder = tmp_path / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    assert len(files) == 6
    for damage in damages:
        if damage.file < len(files):
            damage.do(files[damage.file])
    store = Store.opened(folder, clock=Clock())
    assert_true_answers(store)
    # Whatever is left of the damage, it heals: each round of work meets less of it.
    for _ in range(MAX_RENEWALS + 1):
        store.keep_facts(facts(range(60)).items())
        store.keep_verdicts([(key(70), "too-slow")])
        store.save_root(ROOT, PARTS)
        if assert_true_answers(store) == 60 and PARTS == store.saved_parts(ROOT, PARTS):
            break
    store.close()
    store = Store.opened(folder, clock=Clock())
    assert assert_true_answers(store) == 60
    assert PARTS == store.saved_parts(ROOT, PARTS)
    assert problem(store) is None
    store.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(damages=st.lists(DAMAGE, min_size=1, max_size=3), n=st.integers(0, 20))
def test_damage_under_an_open_store_gives_no_wrong_answer(
    template: Path, tmp_path: Path, damages: list[Damage], n: int
) -> None:
    folder = tmp_path / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    store = Store.opened(folder, clock=Clock())
    store.keep_facts(facts(range(n)).items())
    for damage in damages:
        # The log's index is mapped memory: cutting it off ends the process.
        files = [f for f in folder.rglob("*") if f.is_file() and not f.name.endswith("-shm")]
        damage.do(sorted(files)[damage.file % len(files)])
        assert_true_answers(store)
        store.keep_facts(facts(range(30, 30 + n)).items())
        store.save_root(ROOT, PARTS)
        assert_true_answers(store)
    store.close()
    store = Store.opened(folder, clock=Clock())
    for _ in range(MAX_RENEWALS + 1):
        store.keep_facts(facts(range(60)).items())
        if assert_true_answers(store) == 60:
            break
    assert assert_true_answers(store) == 60
    store.close()


def test_a_flipped_bit_is_a_miss(folder: Path) -> None:
    filled(folder).close()
    file = folder / FIRST
    content = file.read_bytes()
    outline = stored(key(7)).outline
    file.write_bytes(content.replace(outline, outline[:-1] + bytes([outline[-1] ^ 1])))
    store = Store.opened(folder)
    assert facts(set(range(40)) - {7}) == store.facts_of(KEYS)
    assert "damaged entries" in str(problem(store))
    store.keep_facts(facts([7]).items())
    assert facts(range(40)) == store.facts_of(KEYS)
    store.close()


def test_entries_that_changed_places_are_misses(folder: Path) -> None:
    filled(folder).close()
    with sqlite3.connect(folder / FIRST) as connection:
        connection.execute("UPDATE entry SET digest = digest || 'x' WHERE id = 1")
        connection.execute(
            "UPDATE terms SET value = (SELECT value FROM terms WHERE id = 3) WHERE id = 2"
        )
        connection.execute("UPDATE context SET language = 'ruby'")
    connection.close()
    store = Store.opened(folder)
    ruby = [key(n, "ruby") for n in range(40)]
    assert {} == store.facts_of(KEYS) | store.facts_of(ruby)
    store.close()


def test_a_damaged_database_is_begun_anew_once(folder: Path) -> None:
    filled(folder).close()
    (folder / FIRST).write_bytes(b"no database" * 1000)
    store = Store.opened(folder)
    assert problem(store) == f"{folder} was damaged and has been begun anew"
    store.keep_facts(facts([1]).items())
    store.close()
    store = Store.opened(folder)
    assert (facts([1]), None) == (store.facts_of(KEYS), problem(store))
    store.close()
    assert [SECOND] == [file.name for file in folder.iterdir()]


def test_two_that_find_the_damage_at_once_meet_again(folder: Path) -> None:
    one, other = filled(folder, 2000), Store.opened(folder)
    database(one).shrink()  # The log must not repair it.
    with (folder / FIRST).open("r+b") as stream:
        stream.write(bytes(500_000))
    many = [key(n) for n in range(2000)]
    assert ({}, {}) == (one.facts_of(many), other.facts_of(many))
    for n, (writer, reader) in enumerate([(one, other), (other, one)]):
        writer.keep_facts(facts([n]).items())
        assert facts([n]) == reader.facts_of([key(n)])
    one.close()
    assert facts([0, 1]) == other.facts_of(many)
    other.close()
    assert [SECOND] == [file.name for file in folder.iterdir()]


def test_damage_without_end_is_given_up(folder: Path) -> None:
    clock = Clock()
    store = Store.opened(folder, clock=clock)
    for _ in range(MAX_RENEWALS + 1):
        store.keep_facts(facts(range(2000)).items())
        database(store).shrink()
        newest = max(folder.glob("*.sqlite3"))
        with newest.open("r+b") as stream:
            stream.write(bytes(500_000))
        store.facts_of([key(n) for n in range(2000)])
    clock.now += 1e9
    store.keep_facts(facts([1]).items())
    assert {} == store.facts_of(KEYS)
    assert problem(store) == f"{folder} is damaged again and again"
    store.close()


def test_a_directory_that_is_removed_under_it_comes_back(folder: Path) -> None:
    store = filled(folder)
    shutil.rmtree(folder)
    store.keep_facts(facts([50]).items())
    store.save_root(ROOT, PARTS)
    assert facts([50]) == store.facts_of(KEYS)
    assert PARTS == store.saved_parts(ROOT, PARTS)
    assert problem(store) is None
    store.close()


def test_a_version_that_is_not_what_the_name_says_is_damage(folder: Path) -> None:
    filled(folder).close()
    with sqlite3.connect(folder / FIRST) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    store = Store.opened(folder)
    store.keep_facts(facts([1]).items())
    assert facts([1]) == store.facts_of(KEYS)
    store.close()
    assert [SECOND] == [file.name for file in folder.iterdir()]


def test_a_locked_store_is_skipped(folder: Path) -> None:
    clock = Clock()
    store = filled(folder, clock=clock)
    lock = sqlite3.connect(folder / FIRST, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    store.keep_facts(facts([50]).items())
    assert problem(store) == f"{folder} is locked by another program; new entries are not kept"
    assert facts(range(40)) == store.facts_of(KEYS)
    lock.execute("ROLLBACK")
    # It is not tried again at once: each try may wait.
    store.keep_facts(facts([51]).items())
    clock.now += LOCKED_PAUSE_SECONDS
    store.keep_facts(facts([52]).items())
    assert facts([*range(40), 52]) == store.facts_of(KEYS)
    assert problem(store) is None
    lock.close()
    store.close()


def test_a_full_disk_stops_writing_and_not_reading(folder: Path) -> None:
    clock = Clock()
    store = filled(folder, clock=clock)
    writer = database(store)._writer
    assert writer is not None
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    store.keep_facts(facts(range(40, 90)).items())
    assert problem(store) == f"{folder} cannot take more: database or disk is full"
    assert facts(range(40)) == store.facts_of([key(n) for n in range(90)])
    writer.execute("PRAGMA max_page_count = 100000").fetchall()
    clock.now += FULL_PAUSE_SECONDS - 1
    store.keep_facts(facts(range(40, 90)).items())
    assert facts(range(40)) == store.facts_of([key(n) for n in range(90)])
    clock.now += 1
    store.keep_facts(facts(range(40, 90)).items())
    assert (facts(range(90)), None) == (
        store.facts_of([key(n) for n in range(90)]),
        problem(store),
    )
    store.close()


def test_files_that_may_not_grow_stop_writing_and_not_reading(folder: Path) -> None:
    clock = Clock()
    store = filled(folder, clock=clock)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        for n in range(40, 4000, 40):
            store.keep_facts(facts(range(n, n + 40)).items())
        store.save_root(ROOT, {"index": bytes(2 << 20)})
        assert "cannot take more" in str(problem(store))
        found = store.facts_of([key(n) for n in range(4000)])
        assert found == {one: stored(one) for one in found}
        assert facts(range(40)).items() <= found.items()
        assert index_of(store, ROOT) is None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    clock.now += FULL_PAUSE_SECONDS
    store.keep_facts(facts(range(3960, 4000)).items())
    store.save_root(ROOT, {"index": bytes(2 << 20)})
    assert len(store.facts_of([key(n) for n in range(3960, 4000)])) == 40
    assert index_of(store, ROOT) == bytes(2 << 20)
    assert problem(store) is None
    store.close()


def unusable_places(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    (tmp_path / "file").touch()
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    yield tmp_path / "file", "is no directory"
    yield tmp_path / "file" / "below", "Not a directory"
    yield tmp_path / "link", "is a symbolic link"
    yield tmp_path / "open", "can be written by other users"
    yield Path("/proc/contextpackd"), "cannot be used"  # Nobody can make anything there.
    if os.geteuid() == 0:
        (tmp_path / "theirs").mkdir()
        os.chown(tmp_path / "theirs", 12345, 12345)
        yield tmp_path / "theirs", "belongs to another user"


def test_a_place_that_cannot_be_used_keeps_nothing(tmp_path: Path) -> None:
    for place, reason in unusable_places(tmp_path):
        store = Store.opened(place)
        store.keep_facts(facts([1]).items())
        store.keep_verdicts([(key(1), "crashed")])
        store.save_root(ROOT, PARTS)
        assert ({}, {}) == (store.facts_of(KEYS), store.verdicts_of(KEYS))
        assert index_of(store, ROOT) is None
        assert reason in str(problem(store)), place
        store.evict()
        store.clear()
        assert store.info().n_facts == 0
        store.close()
    for untouched in ("target", "open"):
        assert [] == list((tmp_path / untouched).iterdir())


WRITER = """
import itertools, sys
from pathlib import Path
from contextpackd.store import Store
from harness.stores import facts
store = Store.opened(Path(sys.argv[1]))
for n in itertools.count(int(sys.argv[2])):
    store.keep_facts(facts([n]).items())
    data = b"%d" % n
    store.save_root(Path("/root"), {"a": data * 1000, "b": data, "same": bytes(100)})
    assert store.problem is None, store.problem
    print(n, flush=True)
"""


def writing(folder: Path, first: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(first)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
    )


def test_a_killed_process_leaves_what_it_has_written(folder: Path) -> None:
    seeded = random.Random(4)
    first = 0
    for _ in range(15):
        with writing(folder, first) as process:
            assert process.stdout is not None
            for _ in range(seeded.randrange(1, 30)):
                last = int(process.stdout.readline())
            # Somewhere in the next steps: nothing tells it to stop.
            for _ in range(seeded.randrange(20_000)):
                pass
            process.send_signal(signal.SIGKILL)
            lines = process.stdout.read().split()
        last = int(lines[-1]) if lines else last
        store = Store.opened(folder)
        found = store.facts_of([key(n) for n in range(last + 2)])
        assert facts(range(last + 1)).items() <= found.items()
        assert found.items() <= facts(range(last + 2)).items()
        saved = store.saved_parts(Path("/root"), ["a", "b"])
        number = int(saved["b"])
        assert last <= number <= last + 1
        assert saved["a"] == saved["b"] * 1000
        assert problem(store) is None
        store.close()
        first = last + 1


def test_parts_are_all_of_one_save(folder: Path) -> None:
    with writing(folder, 10) as process:
        assert process.stdout is not None
        process.stdout.readline()
        store = Store.opened(folder)
        seen = set()
        for _ in range(300):
            saved = store.saved_parts(Path("/root"), ["a", "b", "same"])
            # None at all: three times in a row the writer was quicker.
            assert not saved or (saved["a"], saved["same"]) == (saved["b"] * 1000, bytes(100))
            seen |= set(saved.items())
        process.kill()
        process.stdout.read()
    assert seen
    assert problem(store) is None
    store.close()


def test_what_killed_processes_began_is_removed_later(folder: Path) -> None:
    clock = Clock()
    store = filled(folder, clock=clock)
    store.save_root(ROOT, PARTS)
    begun = next((folder / "roots-v1").iterdir()) / ".abandoned"
    begun.mkdir()
    (begun / "0").write_bytes(bytes(1000))
    clock.now = begun.stat().st_mtime + 60
    store.evict()
    assert begun.exists()
    clock.now += 3600
    store.evict()
    assert not begun.exists()
    assert PARTS == store.saved_parts(ROOT, PARTS)
    assert size_of(folder) > 0
    store.close()
