"""An answer sees every write that came before its question, whatever else is going on."""

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from contextpack.request import Request
from contextpackd.queries import answer
from contextpackd.store import Store
from contextpackd.workspace import SCANNED, WATCHED, Engine, Workspace, engine
from harness.trees import write

N_ASKED = 200
N_OTHERS = 40
CHANGES_PER_QUESTION = 6


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Engine]:
    made = engine(Store.opened(tmp_path / "store"), n_workers=1)
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    write(root, {f"pkg{n % 4}/m{n}.py": f"def other_{n}(): ...\n" for n in range(N_OTHERS)})
    write(root, {f"mine/m{n}.py": "" for n in range(5)})
    return root


class Others:
    """Two threads that save, replace, remove and move files while questions are answered."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ends = False
        self._may = threading.Semaphore(0)
        self._has = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._run, args=(seed,)) for seed in (1, 2)]

    def __enter__(self) -> "Others":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends = True
        self._may.release(len(self._threads))
        for thread in self._threads:
            thread.join()

    def go_on(self) -> None:
        """Let them make some more changes, and wait for the first."""
        self._may.release(CHANGES_PER_QUESTION)
        self._has.acquire()

    def _run(self, seed: int) -> None:
        chance = random.Random(seed)
        while self._may.acquire() and not self._ends:
            number = chance.randrange(N_OTHERS)
            file = self.root / f"pkg{number % 4}" / f"m{number}.py"
            with suppress(OSError):
                match chance.randrange(6):
                    case 0:
                        file.unlink()
                    case 1:
                        (self.root / "pkg3").rename(self.root / f"moved{seed}")
                        (self.root / f"moved{seed}").rename(self.root / "pkg3")
                    case 2:
                        temporary = file.with_suffix(f".{seed}.tmp")
                        temporary.write_text(f"def other_{chance.random()}(): ...\n")
                        temporary.replace(file)
                    case _:
                        file.write_text(f"def other_{chance.random()}(): ...\n" * 5)
            self._has.release()


@pytest.mark.parametrize("watches", [False, True], ids=["scanned", "watched"])
def test_an_answer_sees_every_write_before_it(
    root: Path, shared: Engine, watches: bool
) -> None:
    workspace = Workspace(root, shared, watches=watches)
    answer(workspace, Request(query="needle"), lambda *_: None)
    proofs = set()
    n_read = 0
    with Others(root) as others:
        for asked in range(N_ASKED):
            others.go_on()
            # One word, always of the same size: nothing that was there before has a part of it.
            word = "".join(chr(ord("a") + int(digit)) for digit in f"{asked:03}") + "needle"
            file = root / f"mine/m{asked % 5}.py"
            if asked % 3:
                file.write_text(f"def {word}(): ...\n")
            else:
                file.with_suffix(".tmp").write_text(f"def {word}(): ...\n")
                file.with_suffix(".tmp").replace(file)
            result = answer(workspace, Request(query=word, budget_tokens=500), lambda *_: None)
            assert [file.relative_to(root).as_posix()] == [i.path for i in result.pack.items]
            assert word in result.pack.text
            proofs.add(result.scan.freshness)
            n_read += result.scan.effort.n_read
    workspace.close()
    assert n_read > N_ASKED  # The others' files changed meanwhile.
    is_watched = watches and sys.platform == "linux"
    assert ({WATCHED} if is_watched else {SCANNED}) == proofs
