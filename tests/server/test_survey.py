"""What a survey looks at and lists for an answer: counted work, and what outlives a process."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpackd.disk import Discovery, discover
from contextpackd.errors import RootProblem
from contextpackd.survey import Survey
from harness.trees import EVERYTHING, isolate_git, run_git, write

# More than the longest tick of a file system's clock: nothing that a test writes is young.
LATER_NS = 3_600_000_000_000


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    files = {f"d{i}/f{j}.py": "x" for i in range(10) for j in range(5)}
    write(root, {**files, ".gitignore": "out/\n*.log\n", "out/deep/a.js": "x"})
    run_git(root, "init", "-q")
    run_git(root, "add", ".")
    run_git(root, "commit", "-q", "-m", "a")
    return root


def survey(root: Path, saved: bytes | None = None, options: Discovery = EVERYTHING) -> Survey:
    return Survey(root, options, saved, now_ns=lambda: later(root))


def later(root: Path) -> int:
    probe = root.parent / "probe"
    probe.write_bytes(b"")
    return probe.stat().st_mtime_ns + LATER_NS


def swept(root: Path) -> Survey:
    made = survey(root)
    made.sweep()
    return made


def test_the_first_sweep_finds_everything(root: Path) -> None:
    made = survey(root)
    moves = made.sweep()
    assert {one.path: one for one in moves.found} == dict(made.candidates)
    assert (len(moves.found), moves.gone, moves.n_listed) == (51, (), 11)


def test_a_sweep_over_nothing_new_lists_nothing(root: Path) -> None:
    made = swept(root)
    moves = made.sweep()
    assert (moves.found, moves.gone, moves.is_skipped_changed) == ((), (), False)
    # 51 files, 11 directories, and the ignore file once more as what it says.
    assert (moves.n_looked, moves.n_listed) == (63, 0)


def test_a_young_directory_is_listed_until_it_is_old(root: Path) -> None:
    now = [0]
    made = Survey(root, EVERYTHING, now_ns=lambda: now[0])
    now[0] = root.stat().st_mtime_ns
    made.sweep()
    assert made.sweep().n_listed == 11
    now[0] += LATER_NS
    assert [made.sweep().n_listed, made.sweep().n_listed] == [11, 0]


def test_one_saved_file_is_one_look(root: Path) -> None:
    made = swept(root)
    write(root, {"d3/f3.py": "xy"})
    moves = made.refresh(["d3/f3.py"])
    assert [one.path for one in moves.found] == ["d3/f3.py"]
    assert (moves.n_looked, moves.n_listed) == (1, 0)


def test_a_file_saved_by_a_rename_is_found_without_its_temporary_name(root: Path) -> None:
    made = swept(root)
    write(root, {"d3/f3.py.tmp": "xy"})
    (root / "d3/f3.py.tmp").rename(root / "d3/f3.py")
    moves = made.refresh(["d3/f3.py.tmp", "d3/f3.py"])
    assert ([one.path for one in moves.found], moves.gone) == (["d3/f3.py"], ())
    assert (moves.n_looked, moves.n_listed) == (2, 0)


def test_what_happens_in_an_ignored_tree_lists_nothing(root: Path) -> None:
    made = swept(root)
    write(root, {f"out/deep/b{i}.js": "x" for i in range(50)})
    paths = [f"out/deep/b{i}.js" for i in range(50)]
    moves = made.refresh(paths)
    assert (moves.found, moves.is_skipped_changed, moves.n_listed) == ((), False, 0)


def test_what_happens_in_the_git_directory_costs_nothing(root: Path) -> None:
    made = swept(root)
    moves = made.refresh([".git/objects/aa/bb", ".git/logs/HEAD", ".git/index.lock"])
    assert (moves.n_looked, moves.n_listed) == (0, 0)


def test_a_new_directory_is_the_only_one_listed(root: Path) -> None:
    made = swept(root)
    write(root, {"new/a.py": "x", "new/deep/b.py": "x"})
    moves = made.refresh(["new"])
    assert {one.path for one in moves.found} == {"new/a.py", "new/deep/b.py"}
    assert moves.n_listed == 2


def test_a_moved_directory_is_gone_and_found(root: Path) -> None:
    made = swept(root)
    (root / "d0").rename(root / "e0")
    moves = made.refresh(["d0", "e0"])
    assert sorted(moves.gone) == [f"d0/f{j}.py" for j in range(5)]
    assert sorted(one.path for one in moves.found) == [f"e0/f{j}.py" for j in range(5)]
    assert moves.n_listed == 1


def test_an_ignore_file_has_its_directory_judged_again(root: Path) -> None:
    made = swept(root)
    write(root, {"d1/.gitignore": "new.py\n", "d1/new.py": "x"})
    moves = made.refresh(["d1/.gitignore", "d1/new.py"])
    assert [one.path for one in moves.found] == ["d1/.gitignore"]
    assert moves.is_skipped_changed
    write(root, {"d1/.gitignore": "# nothing\n"})
    moves = made.refresh(["d1/.gitignore"])
    assert {one.path for one in moves.found} == {"d1/.gitignore", "d1/new.py"}
    assert moves.n_listed == 2


def test_an_ignore_file_that_says_the_same_changes_nothing(root: Path) -> None:
    made = swept(root)
    os.utime(root / ".gitignore")
    moves = made.sweep()
    assert ([one.path for one in moves.found], moves.n_listed) == ([".gitignore"], 0)


def test_a_commit_lists_nothing(root: Path) -> None:
    write(root, {"d1/f1.py": "changed"})
    made = swept(root)
    run_git(root, "commit", "-q", "-a", "-m", "b")
    moves = made.refresh([".git/index", ".git/HEAD", ".git/COMMIT_EDITMSG"])
    assert (moves.found, moves.gone, moves.n_listed) == ((), (), 0)


def test_a_file_that_git_begins_to_track_comes_out_of_its_ignored_directory(root: Path) -> None:
    made = swept(root)
    run_git(root, "add", "--force", "out/deep/a.js")
    moves = made.refresh([".git/index"])
    assert [one.path for one in moves.found] == ["out/deep/a.js"]
    assert moves.n_listed == 2


def test_excludes_of_the_repository_and_of_the_user_are_inputs(root: Path) -> None:
    made = swept(root)
    home = root.parent / "home"
    for file in (root / ".git/info/exclude", home / ".config/git/ignore"):
        assert str(file) in made.inputs()
        write(root, {"only.here": "x"})
        assert [one.path for one in made.refresh(["only.here"]).found] == ["only.here"]
        write(file.parent, {file.name: "only.here\n"})
        assert made.refresh([str(file)]).gone == ("only.here",)
        write(file.parent, {file.name: ""})
        made.refresh([str(file)])
        (root / "only.here").unlink()
        made.refresh(["only.here"])


def test_a_worktree_is_asked_where_its_index_is(root: Path, tmp_path: Path) -> None:
    run_git(root, "worktree", "add", "-q", tmp_path / "wt", "-b", "feat")
    made = swept(tmp_path / "wt")
    index = str(root / ".git/worktrees/wt/index")
    assert index in made.inputs()
    write(tmp_path / "wt", {"out/b.js": "x"})
    made.refresh(["out"])
    run_git(tmp_path / "wt", "add", "--force", "out/b.js")
    assert [one.path for one in made.refresh([index]).found] == ["out/b.js"]


def test_directories_worth_watching_are_those_that_are_looked_into(root: Path) -> None:
    write(root, {"node_modules/p/i.js": "x"})
    made = swept(root)
    assert made.directories() == {"", *(f"d{i}" for i in range(10))}
    assert not {str(root / ".gitignore"), str(root / ".git")} & made.inputs()


def test_a_root_that_went_and_came_back_tells_what_is_gone(root: Path) -> None:
    made = swept(root)
    before = set(made.candidates)
    shutil.rmtree(root)
    with pytest.raises(RootProblem):
        made.sweep()
    write(root, {"d0/f0.py": "other", "z.py": "x"})
    moves = made.sweep()
    assert {one.path for one in moves.found} == {"d0/f0.py", "z.py"}
    assert set(moves.gone) == before - {"d0/f0.py"}
    assert made.listing() == discover(root, EVERYTHING)


# What outlives a process.


def test_a_saved_survey_lists_nothing_again(root: Path) -> None:
    write(root, {os.fsdecode(b"caf\xe9.py"): "x", "big.bin": "x" * (1 << 21)})
    (root / "link").symlink_to("d0")
    saved = swept(root).saved()
    made = survey(root, saved)
    assert made.listing() == discover(root, EVERYTHING)
    moves = made.sweep()
    assert (moves.found, moves.gone, moves.n_listed) == ((), (), 0)
    write(root, {"d3/f3.py": "xy", "d3/new.log": "x", "d4/new.py": "x"})
    moves = made.sweep()
    assert {one.path for one in moves.found} == {"d3/f3.py", "d4/new.py"}
    assert (moves.is_skipped_changed, moves.n_listed) == (True, 2)


@given(at=st.integers(min_value=0), byte=st.integers(min_value=1, max_value=255))
def test_damaged_bytes_begin_anew(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int
) -> None:
    root = tmp_path_factory.mktemp("ws")
    write(root, {"a.py": "x"})
    saved = bytearray(swept(root).saved())
    saved[at % len(saved)] ^= byte
    for damaged in (bytes(saved), bytes(saved[: at % len(saved)])):
        assert [one.path for one in survey(root, damaged).sweep().found] == ["a.py"]


def test_bytes_of_another_root_or_other_options_begin_anew(root: Path, tmp_path: Path) -> None:
    saved = swept(root).saved()
    write(tmp_path / "other", {"a.py": "x"})
    assert len(survey(tmp_path / "other", saved).sweep().found) == 1
    assert len(survey(root, saved, Discovery(("*.py",), (), 1 << 20)).sweep().found) == 50
