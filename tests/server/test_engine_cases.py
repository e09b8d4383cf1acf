"""The cases of `fixtures/cases/f.jsonl` that the whole engine decides, with and without a watch."""

import ast
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from math import ceil
from pathlib import Path

import pytest

from contextpack.request import Request
from contextpackd.bursts import LONGEST_BURST_SECONDS
from contextpackd.queries import Answer, answer
from contextpackd.reader import buffer_of
from contextpackd.store import Store
from contextpackd.workspace import SCANNED, WATCHED, Engine, Scan, Workspace, engine
from harness.scans import ALL, assert_same, first_scan, forgetful
from harness.trees import cases, isolate_git, run_git, write

CASES = cases("f.jsonl")
OLD = 1_000_000_000

needs_events = pytest.mark.skipif(
    sys.platform != "linux", reason="nothing reports changes in order elsewhere"
)


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Engine]:
    made = engine(Store.opened(tmp_path / "store"), n_workers=1)
    yield made
    made.close()


@pytest.fixture(params=["scanned", "watched"])
def workspace(
    root: Path, shared: Engine, request: pytest.FixtureRequest
) -> Iterator[Workspace]:
    made = Workspace(root, shared, watches=request.param == "watched")
    yield made
    made.close()


@pytest.fixture
def watched(root: Path, shared: Engine) -> Iterator[Workspace]:
    made = Workspace(root, shared, watches=True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def forgets() -> Iterator[Engine]:
    made = forgetful()
    yield made
    made.close()


@pytest.fixture
def is_true(root: Path, forgets: Engine) -> Callable[[Scan], None]:
    """Asserts that a scan is what a first one of the same files would be."""
    return lambda scan: assert_same(scan, first_scan(root, forgets))


def scan(workspace: Workspace) -> Scan:
    return workspace.scan(ALL, with_graph=True)


def pack(workspace: Workspace, query: str) -> Answer:
    return answer(workspace, Request(query=query, budget_tokens=2000), lambda *_: None)


def commit(root: Path) -> None:
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "some files")


def age(root: Path) -> None:
    """Make every file older than any tick of a clock, so that its stat is believed."""
    for file in root.rglob("*"):
        if ".git" not in file.relative_to(root).parts:
            os.utime(file, (OLD, OLD))


def test_every_case_is_a_test() -> None:
    names = [
        node.name
        for module in (Path(__file__), Path(__file__).with_name("test_watch_cases.py"))
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]
    held = {name.split("_")[1] for name in names if name.startswith("test_f")}
    assert CASES.keys() == held


def test_f02_a_branch_with_other_directories_is_the_same_as_a_first_scan(
    root: Path, workspace: Workspace, is_true: Callable[[Scan], None]
) -> None:
    run_git(root, "init", "-q", "-b", "main")
    write(root, {f"old/m{n}.py": f"import old.m{n + 1}\n" for n in range(30)})
    commit(root)
    run_git(root, "checkout", "-q", "-b", "feat")
    run_git(root, "rm", "-r", "-q", "old")
    write(root, {f"new/deep/m{n}.py": f"import new.deep.m{n + 1}\n" for n in range(300)})
    commit(root)
    run_git(root, "checkout", "-q", "main")
    scan(workspace)
    run_git(root, "checkout", "-q", "feat")
    is_true(scan(workspace))
    age(root)
    n_scans = 1
    while scan(workspace).effort.n_read:
        n_scans += 1
    assert n_scans <= CASES["f02"]["expect"]["re_packs_max"]


def test_f10_a_time_set_back_does_not_hide_an_edit(root: Path, workspace: Workspace) -> None:
    write(root, {"a.py": "AAAA"})
    age(root)
    scan(workspace)
    stat = (root / "a.py").stat()
    write(root, {"a.py": "BBBB"})
    os.utime(root / "a.py", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert CASES["f10"]["expect"]["pack_contains"] in pack(workspace, "").pack.text


def test_f10_two_writes_in_one_tick_are_two(
    root: Path,
    workspace: Workspace,
    is_true: Callable[[Scan], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On FAT, whose clock ticks every two seconds, both writes leave the same stat."""
    stop_clock(monkeypatch)
    write(root, {"a.py": "AAAA"})
    before = (root / "a.py").stat()
    for _ in range(3):  # Until nothing is named any more because it is watched newly.
        scan(workspace)
    write(root, {"a.py": "BBBB"})
    assert before == (root / "a.py").stat()
    is_true(scan(workspace))
    assert CASES["f10"]["expect"]["pack_contains"] in pack(workspace, "").pack.text


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock stand still, also the one that file systems write times with."""
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)

    def coarse(status: os.stat_result) -> os.stat_result:
        times = {"st_atime": now / 1e9, "st_atime_ns": now}
        for name in ("st_mtime", "st_ctime"):
            ns = min(now, getattr(status, f"{name}_ns"))
            times |= {name: ns / 1e9, f"{name}_ns": ns}
        return os.stat_result((*tuple(status)[:7], *[now // 10**9] * 3), times)

    for name in ("stat", "lstat", "fstat"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *args, _real=real, **kwargs: coarse(_real(*args, **kwargs))
        )


def test_f12_a_slow_write_is_seen_in_parts_and_then_whole(
    root: Path, workspace: Workspace, is_true: Callable[[Scan], None]
) -> None:
    parts = [f"def part_{n}():\n    return {'x' * 480!r}\n" * 20 for n in range(20)]
    write(root, {"a.py": "before\n"})
    scan(workspace)
    with (root / "a.py").open("w") as stream:
        for n, part in enumerate(parts):
            stream.write(part[: len(part) // 2])
            stream.flush()
            pack(workspace, f"part_{n}")
            stream.write(part[len(part) // 2 :])
            stream.flush()
    result = scan(workspace)
    assert "".join(parts).count("\n") == result.snapshot.sources["a.py"].n_lines
    is_true(result)


@needs_events
def test_f13_what_the_system_drops_is_found(
    root: Path, watched: Workspace, is_true: Callable[[Scan], None]
) -> None:
    write(root, {f"s/m{n}.py": "a = 1\n" for n in range(500)} | {"noise.py": ""})
    age(root)
    scan(watched)
    assert WATCHED == scan(watched).freshness
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for n in range(limit):
        os.utime(root / ("noise.py" if n % 2 else "s/m0.py"))
    write(root, {f"s/m{n}.py": "b = 2\n" for n in range(500)})
    result = scan(watched)
    assert SCANNED == result.freshness
    is_true(result)
    write(root, {"s/m7.py": "c = 3\n"})
    result = scan(watched)
    assert (WATCHED, 1) == (result.freshness, result.effort.n_read)


def test_f14_an_open_buffer_wins_until_it_is_closed(root: Path, workspace: Workspace) -> None:
    expected = CASES["f14"]["expect"]
    write(root, {"a.py": "DISK = 'needle'\n"})
    workspace.set_buffers({"a.py": buffer_of("DISK = 'needle'\n", opened=1.0)})
    scan(workspace)
    workspace.set_buffers({"a.py": buffer_of("BUFFER = 'needle'\n", opened=2.0)})
    write(root, {"a.py": "OTHER = 'needle'\n"})
    first = pack(workspace, "needle")
    assert expected["pack1_contains"] in first.pack.text
    assert [] == [word for word in expected["pack1_not"] if word in first.pack.text]
    assert expected["label"] in {warning.kind for warning in first.warnings}
    workspace.set_buffers({})
    second = pack(workspace, "needle")
    assert expected["pack2_contains"] in second.pack.text
    assert expected["pack1_contains"] not in second.pack.text
    assert [] == list(second.warnings)


@pytest.mark.parametrize("watches", [False, True])
def test_f16_what_was_kept_of_another_branch_is_not_believed(
    root: Path, tmp_path: Path, is_true: Callable[[Scan], None], watches: bool
) -> None:
    run_git(root, "init", "-q", "-b", "main")
    write(root, {"same.py": "import both\n", "both.py": "def on_main(): ...\n"})
    commit(root)
    run_git(root, "checkout", "-q", "-b", "feat")
    write(root, {"both.py": "def on_feat(): ...\n", "feat.py": "def only_feat(): ...\n"})
    commit(root)
    for branch in ("feat", "main"):
        run_git(root, "checkout", "-q", branch)
        started = engine(Store.opened(tmp_path / "store"), n_workers=1)
        workspace = Workspace(root, started, watches=watches)
        is_true(scan(workspace))
        first = pack(workspace, "on_feat only_feat on_main")
        workspace.close()
        started.close()
        assert ("on_feat" in first.pack.text) == (branch == "feat")
        assert ("only_feat" in first.pack.text) == (branch == "feat")
        assert ("on_main" in first.pack.text) == (branch == "main")


@needs_events
def test_f17_idle_is_idle_even_with_the_cache_in_the_workspace(root: Path) -> None:
    expected = CASES["f17"]["expect"]
    run_git(root, "init", "-q")
    write(root, {"a.py": "def one(): ...\n", "s/b.py": "import a\n"})
    age(root)
    commit(root)
    write(root, {"a.py": "def two(): ...\n"})
    age(root)
    run_git(root, "status")  # Writes the files' new times into the index, once.
    shared = engine(Store.opened(root / ".cache"), n_workers=1)
    workspace = Workspace(root, shared, watches=True)
    before = pack(workspace, "two")
    workspace.save()
    while workspace.wait(0):  # The cache's own files were written just now.
        scan(workspace)
        workspace.save()
    n_writes = shared.store.n_writes
    passes, after = 0, before
    for _ in range(5):
        run_git(root, "status")
        run_git(root, "diff")
        (root / "a.py").read_bytes()
        passes += workspace.wait(0)
        after = pack(workspace, "two")
        assert (0, 0) == (after.scan.effort.n_looked, after.scan.effort.n_read)
        workspace.save()
    assert expected["index_passes_during_idle"] == passes
    assert 0 == shared.store.n_writes - n_writes
    assert before.pack.text == after.pack.text
    workspace.close()
    shared.close()


IGNORE_FILES = (".gitignore", "sub/.gitignore", ".git/info/exclude")


@pytest.mark.parametrize("place", IGNORE_FILES)
@pytest.mark.parametrize("before", [None, "*.log\n"], ids=["new", "edited"])
def test_f19_ignore_files_are_inputs(
    root: Path,
    workspace: Workspace,
    is_true: Callable[[Scan], None],
    place: str,
    before: str | None,
) -> None:
    name = "notes.txt"  # The case's own name, `secret.txt`, is never a candidate here.
    assert CASES["f19"]["expect"]["pack1_excludes"] == ["secret.txt"]
    run_git(root, "init", "-q")
    (root / ".git/info/exclude").unlink(missing_ok=True)
    write(root, {"sub/keep.py": "needle = 1\n", f"sub/{name}": "a needle\n"})
    write(root, {"sub/secret.txt": "a needle\n"})
    if before is not None:
        write(root, {place: before})
    age(root)
    assert {f"sub/{name}"} == packed(workspace, {f"sub/{name}", "sub/secret.txt"})
    write(root, {place: f"{before or ''}{name}\n"})
    assert set() == packed(workspace, {f"sub/{name}", "sub/secret.txt"})
    is_true(scan(workspace))
    if before is None:
        (root / place).unlink()
    else:
        write(root, {place: before})
    assert {f"sub/{name}"} == packed(workspace, {f"sub/{name}", "sub/secret.txt"})
    is_true(scan(workspace))


def packed(workspace: Workspace, paths: set[str]) -> set[str]:
    """Those of the paths that a bundle for their one word holds."""
    return paths & {item.path for item in pack(workspace, "needle").pack.items}


@needs_events
@pytest.mark.parametrize("kind", ["append", "storm"])
def test_f21_a_storm_is_few_scans_and_the_last_state_wins(
    root: Path, watched: Workspace, is_true: Callable[[Scan], None], kind: str
) -> None:
    n_files, n_writes = (1, 50) if kind == "append" else (500, 1)
    write(root, {f"m{n}.py": "" for n in range(n_files)})
    age(root)
    scan(watched)
    scan(watched)
    took: list[float] = []

    def save() -> None:
        began = time.monotonic()
        for number in range(n_writes):
            for n in range(n_files):
                with (root / f"m{n}.py").open("a") as stream:
                    stream.write(f"a_{number} = {n}\n")
        took.append(time.monotonic() - began)

    thread = threading.Thread(target=save)
    thread.start()
    n_scans = 0
    while thread.is_alive() or watched.wait(0):
        # Bounded, because all may be over before the first question.
        if watched.wait(LONGEST_BURST_SECONDS):
            n_scans += scan(watched).effort.n_read > 0
    thread.join()
    # A machine that is too busy to write so fast has longer bursts.
    slow = ceil(took[0] / LONGEST_BURST_SECONDS) - 1
    assert 1 <= n_scans <= CASES["f21"]["expect"]["re_packs_max"][kind] + slow
    is_true(scan(watched))
