"""`contextpackd index` over real pipes: what it says, what it keeps, and how it ends."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from harness.edits import written
from harness.hanging import HANGING
from harness.trees import write

REPLY_SECONDS = 60

needs_events = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere changes are looked for every two seconds"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    write(
        root,
        {
            "app/main.py": "import os\nfrom app import cart\nimport nowhere.at_all\n",
            "app/cart.py": "def total(items): return sum(items)\n",
            "app/__init__.py": "",
            "web/shop.ts": "export const shop = 1\n",
            ".env": "TOKEN=1\n",
            "logo.png": b"\x89PNG\0",
        },
    )
    return root


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HOME": "/dev/null",
        "LC_ALL": "C.UTF-8",
        "CONTEXTPACKD_CACHE_DIR": str(tmp_path / "cache"),
    }


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "contextpackd", *arguments]


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        capture_output=True, text=True, encoding="utf-8", env=environment, check=False,
    )  # fmt: skip


def summary(environment: dict[str, str], root: Path) -> Any:
    done = run(environment, "index", "--root", str(root), "--format", "json")
    assert (0, "") == (done.returncode, done.stderr)
    return json.loads(done.stdout)


def test_a_summary_for_people(root: Path, environment: dict[str, str]) -> None:
    done = run(environment, "index", "--root", str(root))
    assert (0, "") == (done.returncode, done.stderr)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert any(line.startswith("python 3 ") and line.endswith(" 100.0%") for line in lines)
    assert any(line.startswith("typescript 1 ") for line in lines)
    assert any(line.startswith("4 files, ") for line in lines)
    assert "left out: 1 binary, 1 secret" in lines
    assert any(line.startswith("cache: ") for line in lines)


def test_a_summary_for_programs(root: Path, environment: dict[str, str]) -> None:
    first = summary(environment, root)
    assert (str(root), 4, "scanned", None) == (
        first["root"], first["nFiles"], first["freshness"], first["problem"],
    )  # fmt: skip
    assert {"python": 3, "typescript": 1} == {
        name: language["files"] for name, language in first["languages"].items()
    }
    assert first["tokens"] == sum(one["tokens"] for one in first["languages"].values()) > 0
    assert {"binary": 1, "secret": 1} == first["skipped"]
    assert (4, 0, 4) == tuple(first["work"][name] for name in ("made", "stored", "indexed"))
    assert first["cache"]["directory"] == environment["CONTEXTPACKD_CACHE_DIR"]
    assert first["cache"]["bytes"] > 0


def test_a_second_run_makes_nothing(root: Path, environment: dict[str, str]) -> None:
    first = summary(environment, root)
    second = summary(environment, root)
    assert (0, 0) == (second["work"]["made"], second["work"]["indexed"])
    for name in ("nFiles", "tokens", "languages", "skipped", "rates"):
        assert first[name] == second[name]


class Lines:
    """The lines that a process writes, each with a limit on the wait for it."""

    def __init__(self, stream: IO[str]) -> None:
        self._found: queue.Queue[str] = queue.Queue()
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._found.put(line)

    def next(self) -> str:
        return self._found.get(timeout=REPLY_SECONDS)

    def rest(self) -> list[str]:
        """What came until the end of the stream."""
        self._thread.join(REPLY_SECONDS)
        return [self._found.get_nowait() for _ in range(self._found.qsize())]


@contextmanager
def watching(
    root: Path, environment: dict[str, str], *arguments: str
) -> Iterator[tuple[subprocess.Popen[str], Lines]]:
    with subprocess.Popen(
        command("index", "--watch", "--root", str(root), *arguments),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield process, Lines(process.stdout)
        finally:
            process.kill()


def interrupted(process: subprocess.Popen[str]) -> str:
    """What a process says on standard error when Ctrl-C ends it."""
    process.send_signal(signal.SIGINT)
    assert process.wait(REPLY_SECONDS) == 130
    assert process.stderr is not None
    return process.stderr.read()


@needs_events
def test_watching_says_each_batch_and_keeps_all_when_it_is_interrupted(
    root: Path, environment: dict[str, str]
) -> None:
    with watching(root, environment, "--format", "json") as (process, lines):
        assert 4 == json.loads(lines.next())["nFiles"]
        written(root / "app/cart.py", "def total(items): return 0\n")
        batch = json.loads(lines.next())
        assert (["app/cart.py"], 4, 1) == (
            batch["changed"],
            batch["nFiles"],
            batch["work"]["made"],
        )
        (root / "web").rename(root / "site")
        batch = json.loads(lines.next())
        assert ["site/shop.ts", "web/shop.ts"] == batch["changed"]
        assert (4, 0) == (batch["nFiles"], batch["work"]["made"])
        said = interrupted(process)
        assert [] == lines.rest()
    assert "contextpackd: interrupted; what was read until then is kept\n" == said
    after = summary(environment, root)
    assert (4, 0) == (after["nFiles"], after["work"]["made"])


@needs_events
def test_watching_goes_by_the_settings_as_they_are(
    root: Path, environment: dict[str, str]
) -> None:
    with watching(root, environment, "--format", "json") as (process, lines):
        assert 4 == json.loads(lines.next())["nFiles"]
        written(root / ".contextpack.toml", 'exclude = ["web/"]\nbudget = 5\n')
        batch = json.loads(lines.next())
        assert (4, [".contextpack.toml", "web/shop.ts"]) == (batch["nFiles"], batch["changed"])
        (root / ".contextpack.toml").unlink()
        batch = json.loads(lines.next())
        assert (4, [".contextpack.toml", "web/shop.ts"]) == (batch["nFiles"], batch["changed"])
        said = interrupted(process)
    assert 1 == said.count(".contextpack.toml")


@needs_events
def test_watching_names_some_files_of_a_batch_for_people(
    root: Path, environment: dict[str, str]
) -> None:
    with watching(root, environment) as (process, lines):
        while not lines.next().startswith("cache: "):
            pass
        write(root / "../outside", {f"m{n}.py": f"a = {n}\n" for n in range(7)})
        (root / "../outside").rename(root / "more")
        _, _, said = lines.next().partition(" ")
        expected = ", ".join(f"more/m{n}.py" for n in range(5))
        assert f"7 changed: {expected} and 2 more\n" == said
        interrupted(process)


@pytest.mark.skipif(os.name != "posix", reason="no deadline stands over a file there")
def test_a_file_that_takes_minutes_delays_nothing_and_is_judged_once(
    root: Path, environment: dict[str, str]
) -> None:
    name, text = HANGING[0]
    slow = f"slow/{name}"
    others = {f"src/m{n}.py": f"def needle_{n}(): return {n}\n" for n in range(30)}
    write(root, {slow: text, **others})
    arguments = ("pack", "needle", "--root", str(root), "--format", "json", "--ledger", "all")
    answers = []
    for _ in range(2):
        began = time.monotonic()
        done = run(environment, *arguments)
        print(f"{time.monotonic() - began:.1f} s until the answer")
        assert 0 == done.returncode, done.stderr
        answers.append(json.loads(done.stdout))
        os.utime(root / slow)  # The second run has to read it again.
    ledgers = [
        {entry["path"]: (entry["reason"], entry.get("rule")) for entry in answer["ledger"]}
        for answer in answers
    ]
    assert ("too-slow", "not read within 7 seconds") == ledgers[0].pop(slow)
    # The verdict was kept: no worker was asked again.
    assert ("too-slow", "as the last time that it was read") == ledgers[1].pop(slow)
    assert ledgers[0] == ledgers[1]
    assert others.keys() <= ledgers[0].keys()
    assert answers[0]["text"] == answers[1]["text"]
    assert {"crashed", "too-slow"}.isdisjoint(reason for reason, _ in ledgers[0].values())
