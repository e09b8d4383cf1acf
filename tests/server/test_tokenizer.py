"""Counting in another process gives this one's counts, and is done without where it fails."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextpack.tokens import Encoding, profile_of
from contextpackd import child, counters
from contextpackd.counters import Counter, counter
from contextpackd.tokenizer import Remote

O200K = profile_of("o200k")
TEXTS = ["", "def f(): return 1\n", "größer 数据 <|endoftext|>", "word " * 300_000]

# Neither answer may differ; only the second is counted by the process that gives it.
TWO_ANSWERS = """
import sys
import toktok
import contextpackd

with contextpackd.open(sys.argv[1]) as root:
    first = root.pack("retry the upload", budget_tokens=500)
    print(len(toktok._CACHE))
    # What was counted is remembered; this shows something else.
    second = root.pack("login of a name", budget_tokens=500)
    print(len(toktok._CACHE))
assert "def retry" in first.text
assert "def login" in second.text
"""


@pytest.fixture
def remote() -> Iterator[Remote]:
    made = Remote(Encoding.O200K)
    yield made
    made.close()


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "_loaded", set())


def own(texts: list[str]) -> list[int]:
    return counter(O200K).count_many(texts)


def test_another_process_counts_as_this_one_does(remote: Remote) -> None:
    assert remote.counts(TEXTS, 1) == own(TEXTS)
    assert remote.counts(TEXTS[1:2], 0) == own(TEXTS[1:2])


@pytest.mark.usefixtures("unloaded")
def test_what_it_cannot_count_is_counted_here(remote: Remote) -> None:
    odd = ["lone \ud800 surrogate"]
    assert remote.counts(odd, 1) is None
    assert Counter(O200K, elsewhere=remote.counts).count_many(odd) == own(odd)
    assert remote.counts(["still there"], 1) == own(["still there"])


@pytest.mark.usefixtures("unloaded")
def test_its_death_costs_no_count(remote: Remote) -> None:
    remote.process.kill()
    remote.process.wait()
    assert Counter(O200K, elsewhere=remote.counts).count_many(TEXTS) == own(TEXTS)


def test_a_loaded_vocabulary_is_used() -> None:
    own([""])

    def elsewhere(_texts: list[str], _n_threads: int) -> list[int]:
        return [-1]

    assert Counter(O200K, elsewhere=elsewhere).count_many(["one"]) == own(["one"])


def test_it_ends_with_its_owner() -> None:
    process = child.started("contextpackd.tokenizer", "o200k_base")
    assert process.stdin is not None
    process.stdin.write((100).to_bytes(4, "little") + b"half a question")
    process.stdin.close()
    try:
        assert process.wait(timeout=60) == 0
    finally:
        child.ended(process)


def answered(program: str, folder: Path) -> list[str]:
    """What a program says that packs for a small workspace whose facts are stored already."""
    root = folder / "root"
    root.mkdir()
    (root / "upload.py").write_text("def retry(upload):\n    return upload\n")
    (root / "login.py").write_text("def login(name):\n    return name\n")
    variables = {"XDG_CACHE_HOME": str(folder), "HOME": str(folder), "PATH": ""}

    def ran() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", program, str(root)],
            capture_output=True, check=True, env=variables, text=True,
        )  # fmt: skip
        return done.stdout.split()

    ran()  # Whoever makes facts needs the vocabulary itself.
    return ran()


@pytest.mark.skipif(sys.platform == "win32", reason="its pipes cannot be waited for")
def test_only_the_first_answer_of_a_process_is_counted_elsewhere(tmp_path: Path) -> None:
    assert answered(TWO_ANSWERS, tmp_path) == ["0", "1"]


LATER = """
import sys
import threading
import toktok
import contextpackd

with contextpackd.open(sys.argv[1]) as root:
    root.pack("retry the upload", budget_tokens=500)
    waiting = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    for thread in waiting:
        thread.join()
print(len(waiting), len(toktok._CACHE))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="its pipes cannot be waited for")
def test_after_the_first_answer_the_vocabulary_is_loaded_for_the_next(tmp_path: Path) -> None:
    assert answered(LATER, tmp_path) == ["1", "1"]
