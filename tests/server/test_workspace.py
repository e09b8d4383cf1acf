"""A workspace reads what changed, and nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextpack.history import Commit
from contextpack.model import Reason, Skip
from contextpack.rank import rank
from contextpack.request import Request
from contextpackd import git
from contextpackd.disk import Discovery
from contextpackd.errors import Stopped, Superseded
from contextpackd.queries import answer
from contextpackd.reader import buffer_of
from contextpackd.store import Store
from contextpackd.workspace import Engine, Workspace, engine
from harness.trees import isolate_git, run_git, write

ALL = Discovery((), (), 1 << 20)
OLD = 1_000_000_000


def age(root: Path) -> None:
    """Files whose stat may be believed: nothing is younger than the clock's tick."""
    for file in root.rglob("*"):
        os.utime(file, (OLD, OLD))


@pytest.fixture
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = engine(Store.opened(tmp_path_factory.mktemp("store")), n_workers=1)
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, {f"m{i}.py": f"def part_{i}(): return {i}\n" for i in range(5)})
    age(tmp_path)
    return tmp_path


def test_a_second_scan_reads_nothing_and_keeps_the_snapshot(shared: Engine, root: Path) -> None:
    workspace = Workspace(root, shared)
    first = workspace.scan(ALL)
    second = workspace.scan(ALL)
    assert (5, 0) == (first.effort.n_read, second.effort.n_read)
    assert first.snapshot is second.snapshot


def test_one_edit_costs_one_read_and_leaves_other_facts_alone(
    shared: Engine, root: Path
) -> None:
    workspace = Workspace(root, shared)
    before = workspace.scan(ALL).snapshot
    write(root, {"m3.py": "def other(): return 33\n"})
    scan = workspace.scan(ALL)
    assert scan.effort.n_read == 1
    kept = [
        path for path, source in scan.snapshot.sources.items() if source is before.sources[path]
    ]
    assert ["m0.py", "m1.py", "m2.py", "m4.py"] == sorted(kept)


def test_a_young_file_is_read_again(shared: Engine, root: Path) -> None:
    workspace = Workspace(root, shared)
    write(root, {"m0.py": "def one(): ...\n"})
    workspace.scan(ALL)
    stat = (root / "m0.py").stat()
    write(root, {"m0.py": "def two(): ...\n"})  # The same size,
    os.utime(root / "m0.py", ns=(stat.st_atime_ns, stat.st_mtime_ns))  # and the same time.
    scan = workspace.scan(ALL)
    assert [s.name for s in scan.snapshot.facts("m0.py").symbols] == ["two"]


def test_past_commits_are_part_of_the_snapshot_and_kept_between_runs(
    shared: Engine, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate_git(monkeypatch, tmp_path / "home")
    run_git(root, "init", "-q")
    run_git(root, "add", "m2.py")
    run_git(root, "commit", "-qm", "Escape quotes")
    workspace = Workspace(root, shared)
    ranked = rank(workspace.scan(ALL).snapshot, "escape quotes").files
    assert [(file.path, "history" in file.parts) for file in ranked] == [("m2.py", True)]
    workspace.close()

    def commits(folder: Path, until: str, after: str | None, n_most: int) -> tuple[Commit, ...]:
        pytest.fail(f"the log of {folder} is read again")

    monkeypatch.setattr(git, "commits", commits)
    assert rank(Workspace(root, shared).scan(ALL).snapshot, "escape quotes").files == ranked


def test_a_head_that_moves_without_any_file_wakes_who_waits(
    shared: Engine, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate_git(monkeypatch, tmp_path / "home")
    run_git(root, "init", "-q")
    for message in ("first", "second"):
        run_git(root, "add", ".")
        run_git(root, "commit", "-qm", message, "--allow-empty")
    run_git(root, "branch", "side")
    workspace = Workspace(root, shared, watches=True)
    workspace.scan(ALL)
    branch = run_git(root, "symbolic-ref", "HEAD").strip()
    run_git(root, "update-ref", branch, "HEAD~1")
    assert workspace.wait(60.0)
    before = workspace.scan(ALL).snapshot.history.head
    # The branch is another one, at the second commit.
    run_git(root, "symbolic-ref", "HEAD", "refs/heads/side")
    assert workspace.wait(60.0)
    assert before != workspace.scan(ALL).snapshot.history.head
    workspace.wait(0.0)
    workspace.scan(ALL)
    run_git(root, "update-ref", "refs/heads/side", "HEAD~1")
    assert workspace.wait(60.0)
    assert before == workspace.scan(ALL).snapshot.history.head
    workspace.close()


def test_a_private_key_under_a_plain_name_stays_out(shared: Engine, root: Path) -> None:
    what = "PRIVATE KEY-----"
    key = f"# cart\n-----BEGIN {what}\n{'MIIEowIBAAKCAQEA' * 4}\n-----END {what}\n"
    # Of a public one facts are kept, which the same text under another name gets, too.
    write(root, {"deploy.pub": key})
    Workspace(root, shared).scan(ALL)
    write(root, {"moved": key, "open": "the open cart\n"})
    workspace = Workspace(root, shared)
    workspace.set_buffers({"open": buffer_of(key, 0.0)})
    found = answer(workspace, Request(query="cart"), lambda _done, _total: None)
    secret = [skip for skip in found.scan.snapshot.skipped if skip.reason is Reason.SECRET]
    assert secret == [
        Skip("moved", Reason.SECRET, "private key: line 2"),
        Skip("open", Reason.SECRET, "private key: line 2"),
    ]
    assert {"moved", "open"}.isdisjoint(item.path for item in found.pack.items)
    write(root, {"moved": "cart\n"})
    workspace.set_buffers({})
    found = answer(workspace, Request(query="cart"), lambda _done, _total: None)
    assert {"moved", "open"} <= {item.path for item in found.pack.items}


def test_a_moved_file_keeps_its_facts(shared: Engine, root: Path) -> None:
    workspace = Workspace(root, shared)
    before = workspace.scan(ALL).snapshot.sources["m0.py"]
    (root / "m0.py").rename(root / "moved.py")
    scan = workspace.scan(ALL)
    assert scan.snapshot.sources["moved.py"].says_the_same(before)
    assert (scan.effort.n_read, scan.effort.n_stored, scan.effort.n_made) == (1, 1, 0)


def test_globs_of_one_request_do_not_forget_the_files_of_another(
    shared: Engine, root: Path
) -> None:
    workspace = Workspace(root, shared)
    workspace.scan(ALL)
    workspace.scan(Discovery(("m1.py",), (), 1 << 20))
    assert workspace.scan(ALL).effort.n_read == 0


def test_a_smaller_limit_leaves_large_files_out(shared: Engine, root: Path) -> None:
    workspace = Workspace(root, shared)
    workspace.scan(ALL)
    scan = workspace.scan(Discovery((), (), 5))
    assert {"too-large"} == {skip.reason.value for skip in scan.snapshot.skipped}
    assert len(workspace.scan(ALL).snapshot.sources) == 5


def test_a_time_set_back_does_not_hide_an_edit(shared: Engine, root: Path) -> None:
    workspace = Workspace(root, shared)
    workspace.scan(ALL)
    write(root, {"m0.py": "def tart_0(): return 0\n"})  # The same size, in the same inode,
    os.utime(root / "m0.py", (OLD, OLD))  # and the same time.
    scan = workspace.scan(ALL)
    assert [s.name for s in scan.snapshot.facts("m0.py").symbols] == ["tart_0"]


def test_a_file_that_never_holds_still_does_not_hold_an_answer_up(
    shared: Engine, root: Path
) -> None:
    workspace = Workspace(root, shared)
    n_writes = 0

    def log(done: int, total: int) -> None:
        nonlocal n_writes
        if done == total:
            n_writes += 1
            with (root / "m0.py").open("a") as stream:
                stream.write(f"# part_0 {n_writes}\n")

    pack = answer(workspace, Request(query="part_0"), log).pack
    assert "# part_0 1\n" in pack.text


def test_a_file_that_changes_between_plan_and_reading_is_planned_again(
    shared: Engine, root: Path
) -> None:
    workspace = Workspace(root, shared)
    n_races = 1

    def race(done: int, total: int) -> None:
        """Somebody saves a file as soon as all files have been read, n times."""
        nonlocal n_races
        if done == total and n_races:
            n_races -= 1
            write(root, {"m0.py": f"def part_0(): return 'race {n_races}'\n"})

    pack = answer(workspace, Request(query="part_0"), race).pack
    assert "race 0" in pack.text


def test_a_workspace_that_never_holds_still_is_an_error(shared: Engine, root: Path) -> None:
    workspace = Workspace(root, shared)
    n_scans = 0

    def replace_all(done: int, total: int) -> None:
        """Somebody moves every file after each scan."""
        nonlocal n_scans
        if done == total:
            n_scans += 1
            for file in list(root.glob("*.py")):
                file.rename(root / f"{n_scans}_{file.name}")

    with pytest.raises(Superseded, match="ask again"):
        answer(workspace, Request(query="part"), replace_all)


def test_a_file_that_cannot_be_read_costs_that_file(shared: Engine, root: Path) -> None:
    write(root, {"bad.py": b"A = 1\0\n"})
    scan = Workspace(root, shared).scan(ALL)
    assert [Skip("bad.py", scan.snapshot.skipped[0].reason)] == [
        Skip(s.path, s.reason) for s in scan.snapshot.skipped
    ]
    assert scan.snapshot.skipped[0].reason.value == "binary"


def test_generated_code_is_left_out_and_still_imported(shared: Engine, root: Path) -> None:
    write(root, {"wire_pb2.py": "X = 1\n", "user.py": "import wire_pb2\nimport m1\n"})
    workspace = Workspace(root, shared)
    scan = workspace.scan(ALL, with_graph=True)
    assert "wire_pb2.py" not in scan.snapshot.sources
    assert scan.snapshot.graph.imports == {"user.py": ("m1.py", "wire_pb2.py")}
    assert len(scan.snapshot.importing) == 1  # Ranking knows nothing of files that are out.
    workspace.close()
    again = Workspace(root, shared).scan(ALL, with_graph=True)
    assert (again.effort.n_made, again.snapshot.graph.imports) == (
        0,
        scan.snapshot.graph.imports,
    )
    (root / "wire_pb2.py").unlink()
    after = Workspace(root, shared).scan(ALL, with_graph=True)
    assert after.snapshot.graph.imports == {"user.py": ("m1.py",)}


def test_a_buffer_leaves_no_trace_in_what_is_saved(shared: Engine, root: Path) -> None:
    workspace = Workspace(root, shared)
    workspace.set_buffers({"m1.py": buffer_of("def unsaved(): ...\n", opened=1.0)})
    assert ["unsaved"] == [s.name for s in workspace.scan(ALL).snapshot.facts("m1.py").symbols]
    workspace.close()
    after = Workspace(root, shared).scan(ALL).snapshot
    assert ["part_1"] == [s.name for s in after.facts("m1.py").symbols]


def test_names_that_are_not_utf8_cost_what_is_saved_of_them_alone(
    shared: Engine, root: Path
) -> None:
    odd = os.fsdecode(b"caf\xe9")
    write(root, {f"{odd}.py": "def odd(): return 1\n", f"{odd}.txt": "\0"})
    age(root)
    first = Workspace(root, shared)
    snapshot = first.scan(ALL).snapshot
    first.close()
    second = Workspace(root, shared)
    again = second.scan(ALL)
    assert snapshot.sources.keys() == again.snapshot.sources.keys()
    assert snapshot.skipped == again.snapshot.skipped
    assert again.effort.n_read == 2


def test_a_scan_that_is_given_up_does_not_leave_new_directories_unwatched(
    shared: Engine, root: Path
) -> None:
    workspace = Workspace(root, shared, watches=True)
    workspace.scan(ALL)
    workspace.scan(ALL)
    write(root, {"new/a.py": "a = 1\n"})

    def give_up(_done: int, _total: int) -> None:
        raise Stopped(str(root))

    with pytest.raises(Stopped):
        workspace.scan(ALL, give_up)
    workspace.scan(ALL)
    write(root, {"new/b.py": "b = 1\n"})
    assert "new/b.py" in workspace.scan(ALL).snapshot.sources
    workspace.close()


def test_a_cancelled_scan_does_not_leave_new_directories_unwatched(
    shared: Engine, root: Path
) -> None:
    workspace = Workspace(root, shared, watches=True)
    workspace.scan(ALL)
    workspace.scan(ALL)
    write(root, {"new/a.py": "a = 1\n"})
    workspace.scan(ALL, is_cancelled=lambda: True)
    write(root, {"new/b.py": "b = 1\n"})
    assert "new/b.py" in workspace.scan(ALL).snapshot.sources
    workspace.close()


def test_what_was_left_out_long_ago_under_other_options_is_not_named(
    shared: Engine, root: Path
) -> None:
    (root / "gone.bin").write_bytes(b"a\0b")
    (root / "large.bin").write_bytes(b"a\0b" * 99)
    before = Workspace(root, shared)
    before.scan(ALL)
    before.close()
    (root / "gone.bin").unlink()
    write(root, {".contextpack.toml": "max-file-bytes = 100\n"})
    after = Workspace(root, shared).scan(Discovery((), (), 100)).snapshot
    assert [("large.bin", "too-large")] == [(s.path, s.reason.value) for s in after.skipped]


def test_what_is_saved_is_what_the_repositorys_settings_take_in(
    shared: Engine, root: Path
) -> None:
    write(root, {".contextpack.toml": 'exclude = ["m4.py"]\nmax-file-bytes = 5000\n'})
    age(root)
    usual = Discovery((), ("m4.py",), 5000)

    def n_read(discovery: Discovery) -> int:
        workspace = Workspace(root, shared)
        effort = workspace.scan(discovery).effort
        workspace.close()
        return effort.n_read

    assert (5, 0) == (n_read(usual), n_read(usual))
    assert n_read(Discovery((), (), 9000)) > 0  # One question of another kind ...
    assert 0 == n_read(usual)  # ... does not drive it out.


def test_pictures_and_lock_files_start_no_workers(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, {f"m{i}.py": f"def part_{i}(): return {i}\n" for i in range(9)})
    (root / "picture.png").write_bytes(b"\x89PNG\0" * 99_999)
    write(root, {"yarn.lock": "# left-pad\n" * 9_999})
    for n_started in (1, 0):  # The second finds the facts of the others in the store.
        used = engine(Store.opened(tmp_path / "store"), n_workers=1)
        reasons = [
            skip.reason.value for skip in Workspace(root, used).scan(ALL).snapshot.skipped
        ]
        assert (["binary", "generated"], n_started) == (reasons, used.pool.n_started)
        used.close()


def test_a_buffer_is_unsaved_while_the_disk_has_another_text(
    shared: Engine, root: Path
) -> None:
    workspace = Workspace(root, shared, watches=True)
    text = (root / "m1.py").read_text()
    workspace.set_buffers({"m1.py": buffer_of(text, opened=1.0)})
    assert frozenset() == workspace.scan(ALL).unsaved
    workspace.set_buffers({"m1.py": buffer_of("def two(): ...\n", opened=2.0)})
    assert {"m1.py"} == workspace.scan(ALL).unsaved
    write(root, {"m1.py": "def two(): ...\n"})
    assert frozenset() == workspace.scan(ALL).unsaved
    workspace.close()
