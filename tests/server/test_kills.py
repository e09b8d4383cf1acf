"""Owners and workers that are killed at any point, under writes, lose nothing and leave nobody.

The owners are forked from one process that has imported everything, so that a hundred of them
start in the time of a few. Whom to kill and what to write is drawn from a seeded generator;
the moment is a number of progress reports.
"""

import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from contextpackd.store import Store
from contextpackd.workspace import Engine, Workspace
from harness.scans import ALL, assert_same, fingerprint, first_scan, forgetful
from harness.trees import write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="others have no /proc")

# A hundred kills. Owners without workers are quick to start; of those that have some, several
# are killed before the owner is.
N_PLAIN_OWNERS = 75
N_BUSY_OWNERS = 5
WORKERS_KILLED_EACH = 4

N_FILES = 30
LONGEST_WAIT = N_FILES + 10  # In reports: beyond the end of a scan and its save.
LARGE_LINES = 1500  # More than is read in the owner's own process.
MARKER = "CONTEXTPACKD_TEST_MARKER"
END_SECONDS = 60

# Reads one byte for each owner to be forked; the owner reads one for each scan.
ANCESTOR = """
import os, sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from contextpack.tokens import profile_of
from contextpackd.counters import counter
from contextpackd.store import Store
from contextpackd.workspace import Workspace, engine
from harness.scans import ALL, fingerprint

# Loaded once. One text starts no thread, so forking stays safe.
counter(profile_of("o200k"))("")

root, cache = Path(sys.argv[2]), Path(sys.argv[3])

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def own(watches):
    shared = engine(Store.opened(cache), n_workers=2)
    workspace = Workspace(root, shared, watches=watches)
    say("owner", os.getpid())
    while os.read(0, 1):
        say("began")
        scan = workspace.scan(ALL, lambda done, _: say("read", done), with_graph=True)
        say("scanned")
        workspace.save()
        say("saved", fingerprint(scan))

while kind := os.read(0, 1):
    if (pid := os.fork()) == 0:
        own(kind == b"w")
        os._exit(0)
    os.waitpid(pid, 0)
    say("ended")
"""


@dataclass(slots=True)
class Ancestor:
    """The process that forks owners, and the words that the living one says."""

    process: subprocess.Popen[str]
    marker: str
    owner: int = 0

    def fork(self, *, watches: bool) -> None:
        self.send("w" if watches else "s")
        word, pid = self.hear()
        assert word == "owner"
        self.owner = int(pid)

    def send(self, byte: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(byte)
        self.process.stdin.flush()

    def hear(self) -> list[str]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the ancestor ended"
        return line.split()

    def kill_owner(self) -> None:
        os.kill(self.owner, signal.SIGKILL)
        while self.hear() != ["ended"]:
            pass
        self.owner = 0

    def workers(self) -> list[int]:
        """The living processes that an owner has started, also an owner that is gone."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                environment = (
                    (folder / "environ").read_bytes() if folder.name.isdecimal() else b""
                )
            except OSError:
                continue  # It ended, or is somebody else's.
            if f"{MARKER}={self.marker}".encode() in environment.split(b"\0"):
                found.append(int(folder.name))
        return [pid for pid in found if pid not in (self.process.pid, self.owner)]

    def assert_no_orphans(self) -> None:
        for pid in self.workers():
            try:
                handle = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            assert select.select([handle], [], [], END_SECONDS)[0], "an orphan"
            os.close(handle)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def ancestor(root: Path, tmp_path: Path) -> Iterator[Ancestor]:
    tests = str(Path(__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", ANCESTOR, tests, str(root), str(tmp_path / "cache")],
        env=os.environ | {MARKER: str(tmp_path), "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        made = Ancestor(process, str(tmp_path))
        yield made
        if made.owner:
            os.kill(made.owner, signal.SIGKILL)
        process.kill()


@pytest.fixture(scope="module")
def forgets() -> Iterator[Engine]:
    made = forgetful()
    yield made
    made.close()


class Writer:
    """What somebody does to the files meanwhile."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root, self.chance = root, chance
        write(root, {self.path(n): self.text() for n in range(N_FILES)})

    def path(self, number: int) -> str:
        return f"pkg{number % 3}/m{number}.py"

    def text(self, n_lines: int = 3) -> str:
        name = f"load_{self.chance.randrange(10**9)}"
        lines = [f"    cache[{n}] = {name}" for n in range(n_lines)]
        other = self.chance.randrange(N_FILES)
        return "\n".join([f"import pkg{other % 3}.m{other}", f"def {name}():", *lines, ""])

    def change(self, n_files: int) -> None:
        for number in self.chance.sample(range(N_FILES), n_files):
            file = self.root / self.path(number)
            match self.chance.randrange(4):
                case 0 if file.exists():
                    file.unlink()
                case 1 if file.exists():
                    file.replace(self.root / self.path(self.chance.randrange(N_FILES)))
                case _:
                    file.write_text(self.text())

    def grow(self) -> None:
        """Write a file that is large enough for a worker."""
        write(self.root, {"large.py": self.text(LARGE_LINES)})


def assert_recovers(root: Path, cache: Path, forgets: Engine) -> None:
    """Assert that what is kept gives what is there. Nothing is kept on top of it."""
    store = Store.opened(cache)
    shared = replace(forgets, store=store)
    scan = Workspace(root, shared).scan(ALL, with_graph=True)
    assert_same(scan, first_scan(root, forgets))
    assert store.problem is None
    store.close()


def test_a_hundred_kills_lose_nothing_and_leave_nobody(
    root: Path, tmp_path: Path, ancestor: Ancestor, forgets: Engine
) -> None:
    chance = random.Random(4)
    writer = Writer(root, chance)
    kinds = ["plain"] * N_PLAIN_OWNERS + ["busy"] * N_BUSY_OWNERS
    chance.shuffle(kinds)
    n_killed_workers = n_kept = 0
    for number, kind in enumerate(kinds):
        ancestor.fork(watches=number % 2 == 0)
        if kind == "busy":
            for _ in range(WORKERS_KILLED_EACH):
                writer.grow()
                writer.change(12)
                ancestor.send("g")
                killed = None
                moment = chance.randrange(6)
                while (said := ancestor.hear())[0] != "saved":
                    moment -= 1
                    if killed is None and moment <= 0 and (pids := ancestor.workers()):
                        killed = chance.choice(pids)
                        os.kill(killed, signal.SIGKILL)
                        writer.change(1)
                n_killed_workers += killed is not None
            ancestor.send("g")
            while (said := ancestor.hear())[0] != "saved":
                pass
            assert fingerprint(first_scan(root, forgets)) == said[1]
            writer.grow()
        writer.change(12 if kind == "busy" else 6)
        ancestor.send("g")
        for _ in range(chance.randrange(LONGEST_WAIT)):
            if ancestor.hear()[0] == "saved":
                n_kept += 1
                break
            if chance.randrange(3) == 0:
                writer.change(1)
        ancestor.kill_owner()
        ancestor.assert_no_orphans()
        assert_recovers(root, tmp_path / "cache", forgets)
    print(f"{len(kinds)} owners ({n_kept} after a save), {n_killed_workers} workers")
    assert N_BUSY_OWNERS * WORKERS_KILLED_EACH == n_killed_workers
    assert 0 < n_kept < len(kinds)
