"""What differs from a commit: found without git looking at a file, and only in candidates."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contextpack.request import Request
from contextpackd import changes, inputs, revisions
from contextpackd.errors import OptionProblem
from contextpackd.queries import answer, discovery_of
from contextpackd.reader import buffer_of
from contextpackd.workspace import Engine, Workspace
from harness.scans import forgetful
from harness.trees import isolate_git, run_git, write

Found = dict[str, list[tuple[int, int]]]
Ask = Callable[..., Found]

LINES = "".join(f"line {n}\n" for n in range(1, 21))


def edited(*numbers: int, text: str = LINES) -> str:
    for number in numbers:
        text = text.replace(f"line {number}\n", f"LINE {number}\n")
    return text


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture(scope="module")
def shared() -> Iterator[Engine]:
    made = forgetful()
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    write(root, {"a.py": LINES, "sub/b.py": LINES, ".gitignore": "*.log\n"})
    run_git(root, "init", "-q")
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def ask(root: Path, shared: Engine) -> Ask:
    """What changed in a root, `root` if none is named."""

    def asked(
        where: Path = root, buffers: dict[str, str] | None = None, **options: object
    ) -> Found:
        request = Request(query="", **{"diff": "HEAD", **options})  # type: ignore[arg-type]  # by name
        workspace = Workspace(where, shared)
        workspace.set_buffers(
            {path: buffer_of(text, 0.0) for path, text in (buffers or {}).items()}
        )
        scan = workspace.scan(discovery_of(request))
        found = changes.changed(workspace, scan, request)
        assert found is not None
        return {path: [(one.start, one.end) for one in found[path]] for path in sorted(found)}

    return asked


def test_nothing_changed(ask: Ask) -> None:
    assert ask() == {}
    assert ask(staged=True) == {}


def test_edits_on_disk_are_found(root: Path, ask: Ask) -> None:
    write(root, {"a.py": edited(3, 4, 17)})
    assert ask() == {"a.py": [(3, 4), (17, 17)]}
    assert ask(staged=True) == {}


def test_an_edit_that_keeps_size_and_time_of_the_index_is_found(root: Path, ask: Ask) -> None:
    """Written within the same tick as the index: its time is not before the index's."""
    before = (root / "a.py").stat().st_mtime_ns
    write(root, {"a.py": edited(3)})
    os.utime(root / "a.py", ns=(before, before))
    os.utime(root / ".git/index", ns=(before, before))
    assert ask() == {"a.py": [(3, 3)]}


def test_a_file_that_was_only_touched_has_no_changes(root: Path, ask: Ask) -> None:
    (root / "a.py").touch()
    assert ask() == {}


def test_new_files_are_changed_as_a_whole_unless_they_are_ignored(root: Path, ask: Ask) -> None:
    write(root, {"new.py": "x = 1\ny = 2\n", "debug.log": "x\n"})
    assert ask() == {"new.py": [(1, 2)]}
    # What an option brings in is a candidate, but nothing that anybody made new.
    assert ask(include=("*.py", "*.log")) == {"new.py": [(1, 2)]}


def test_what_is_staged_is_told_in_the_lines_of_today(root: Path, ask: Ask) -> None:
    write(root, {"a.py": edited(5)})
    run_git(root, "add", "a.py")
    write(root, {"a.py": "# one\n# two\n" + edited(5, 9)})
    assert ask(staged=True) == {"a.py": [(7, 7)]}
    assert ask() == {"a.py": [(1, 2), (7, 7), (11, 11)]}
    # Without a revision, too.
    assert ask(diff=None, staged=True) == {"a.py": [(7, 7)]}


def test_open_buffers_count_and_not_what_is_on_disk(root: Path, ask: Ask) -> None:
    write(root, {"a.py": edited(3)})
    assert ask(buffers={"a.py": edited(8), "sub/b.py": edited(2)}) == {
        "a.py": [(8, 8)],
        "sub/b.py": [(2, 2)],
    }


def test_another_commit_may_be_compared_with(root: Path, ask: Ask) -> None:
    write(root, {"a.py": edited(3)})
    run_git(root, "commit", "-qam", "second")
    write(root, {"a.py": edited(3, 9)})
    assert ask() == {"a.py": [(9, 9)]}
    assert ask(diff="HEAD~1") == {"a.py": [(3, 3), (9, 9)]}
    run_git(root, "tag", "-a", "v1", "-m", "v1", "HEAD~1")
    assert ask(diff="v1") == {"a.py": [(3, 3), (9, 9)]}


def test_a_folder_of_a_repository_is_compared_alone(root: Path, ask: Ask) -> None:
    write(root, {"a.py": edited(3), "sub/b.py": edited(5)})
    assert ask(root / "sub") == {"b.py": [(5, 5)]}
    run_git(root, "add", ".")
    assert ask(root / "sub", staged=True) == {"b.py": [(5, 5)]}


def test_a_moved_file_has_only_the_lines_that_changed(root: Path, ask: Ask) -> None:
    run_git(root, "mv", "a.py", "moved.py")
    write(root, {"moved.py": edited(3)})
    assert ask() == {"moved.py": [(3, 3)]}
    run_git(root, "add", ".")
    assert ask(staged=True) == {"moved.py": [(3, 3)]}


def test_a_file_moved_behind_gits_back_is_known_too(root: Path, ask: Ask) -> None:
    (root / "a.py").rename(root / "moved.py")
    write(root, {"moved.py": edited(3)})
    assert ask() == {"moved.py": [(3, 3)]}


def test_deleted_and_binary_files_are_no_trouble(root: Path, ask: Ask) -> None:
    (root / "a.py").unlink()
    write(root, {"picture.bin": b"\0\1\2", "sub/b.py": b"\0\1\2", "c.py": "x\n"})
    assert ask() == {"c.py": [(1, 1)]}
    # A text that was binary is new as a whole.
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "second")
    write(root, {"sub/b.py": LINES})
    assert ask() == {"sub/b.py": [(1, 20)]}


def test_before_the_first_commit_everything_is_new(tmp_path: Path, ask: Ask) -> None:
    root = tmp_path / "young"
    write(root, {"a.py": "x\n", "b.py": "y\nz\n"})
    run_git(root, "init", "-q")
    assert ask(root) == {"a.py": [(1, 1)], "b.py": [(1, 2)]}
    assert ask(root, staged=True) == {}
    run_git(root, "add", "b.py")
    assert ask(root, staged=True) == {"b.py": [(1, 2)]}
    (root / "b.py").rename(root / "c.py")
    assert ask(root)["c.py"] == [(1, 2)]


def test_a_file_that_is_only_meant_to_be_added_is_new(root: Path, ask: Ask) -> None:
    write(root, {"new.py": "x\n"})
    run_git(root, "add", "-N", "new.py")
    assert ask() == {"new.py": [(1, 1)]}


def test_a_conflict_is_compared_with_the_commit(root: Path, ask: Ask) -> None:
    run_git(root, "checkout", "-qb", "other")
    write(root, {"a.py": edited(3)})
    run_git(root, "commit", "-qam", "other")
    run_git(root, "checkout", "-q", "-")
    write(root, {"a.py": LINES.replace("line 3\n", "mine\n")})
    run_git(root, "commit", "-qam", "mine")
    with pytest.raises(AssertionError):
        run_git(root, "merge", "other")
    assert ask() == {"a.py": [(3, 3), (5, 7)]}


def test_line_ends_and_large_file_pointers_are_no_changes(root: Path, ask: Ask) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    write(root, {"big.csv": pointer})
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "second")
    write(root, {"a.py": LINES.replace("\n", "\r\n"), "big.csv": "what,it,stands,for\n"})
    assert ask() == {}


def test_files_of_a_submodule_are_left_to_it_and_the_answer_says_so(
    root: Path, tmp_path: Path, ask: Ask, shared: Engine
) -> None:
    other = tmp_path / "other"
    write(other, {"c.py": "x\n"})
    run_git(other, "init", "-q")
    run_git(other, "add", ".")
    run_git(other, "commit", "-qm", "first")
    run_git(root, "submodule", "add", "-q", str(other), "module")
    run_git(root, "commit", "-qm", "module")
    write(root, {"module/c.py": "y\n", "a.py": edited(3)})
    assert ask() == {"a.py": [(3, 3)]}
    assert ask(root / "module") == {"c.py": [(1, 1)]}

    def warnings(where: Path, **options: str) -> list[str]:
        request = Request(query="line", **options)  # type: ignore[arg-type]  # by name
        found = answer(Workspace(where, shared), request, lambda _done, _total: None)
        return [one.message for one in found.warnings if one.kind == "submodules"]

    told = "changes inside of submodules are not looked at: module; ask with one as root"
    assert warnings(root, diff="HEAD") == [told]
    assert warnings(root) == warnings(root / "module", diff="HEAD") == []


def test_names_of_any_bytes(root: Path, ask: Ask) -> None:
    odd = {"a b\tc.py": LINES, ":(top)x.py": LINES, "ä\n.py": LINES, "-n.py": LINES}
    write(root, odd)
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "second")
    write(root, dict.fromkeys(odd, edited(2)))
    assert ask() == {path: [(2, 2)] for path in sorted(odd)}


def test_a_secret_that_is_tracked_and_changed_stays_out(
    root: Path, ask: Ask, shared: Engine
) -> None:
    write(root, {".env": "KEY=old\n"})
    run_git(root, "add", "-f", ".env")
    run_git(root, "commit", "-qm", "second")
    write(root, {".env": "KEY=new\n", "a.py": edited(3)})
    assert ask() == {"a.py": [(3, 3)]}
    # Moved to where it is a candidate, what it was is compared with and not shown.
    (root / ".env").unlink()
    write(root, {"settings.py": "KEY=old\nMORE=1\n"})
    request = Request(query="", diff="HEAD", line_numbers=True)
    found = answer(Workspace(root, shared), request, lambda _done, _total: None)
    assert "KEY=new" not in found.pack.text
    assert ask()["settings.py"] == [(2, 2)]


@pytest.mark.parametrize(
    "revision", ["nothing", "HEAD~99", "HEAD..HEAD", "a.py", "HEAD:a.py", "@{", ":/", "^"]
)
def test_what_names_no_commit_is_refused(ask: Ask, revision: str) -> None:
    with pytest.raises(OptionProblem, match="diff names no commit here"):
        ask(diff=revision)


@pytest.mark.parametrize("revision", ["-x", "--output=/tmp/x", "", "a\0b"])
def test_what_looks_like_an_option_is_no_request(revision: str) -> None:
    with pytest.raises(ValueError, match="diff must be the name of a commit"):
        Request(query="", diff=revision)


def test_without_a_repository_the_error_says_what_works(tmp_path: Path, ask: Ask) -> None:
    write(tmp_path / "plain", {"a.py": "x\n"})
    with pytest.raises(
        OptionProblem, match=r"diff needs a git repository.*--focus and --from work"
    ):
        ask(tmp_path / "plain")
    with pytest.raises(OptionProblem, match="staged needs a git repository"):
        ask(tmp_path / "plain", diff=None, staged=True)


def test_texts_that_are_too_much_are_new_as_a_whole(
    root: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"a.py": edited(3), "sub/b.py": edited(5)})
    monkeypatch.setattr(revisions, "MAX_BLOB_BYTES", len(LINES))
    # The same blob is read once.
    assert ask() == {"a.py": [(3, 3)], "sub/b.py": [(5, 5)]}
    monkeypatch.setattr(revisions, "MAX_BLOB_BYTES", len(LINES) - 1)
    assert ask() == {"a.py": [(1, 20)], "sub/b.py": [(1, 20)]}


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Which commands of git ran since this was asked last."""
    log, programs = tmp_path / "calls", tmp_path / "programs"
    script = f'#!/bin/sh\necho "$*" >> {log}\nexec {shutil.which("git")} "$@"\n'
    write(programs, {"git": script})
    (programs / "git").chmod(0o700)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def since() -> list[str]:
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [line.partition(" -C ")[2].split()[1] for line in lines]

    return since


def test_many_files_cost_as_many_calls_as_one(
    root: Path, ask: Ask, called: Callable[[], list[str]]
) -> None:
    asked = []
    for n_files in (1, 60):
        write(root, {f"many/{n}.py": LINES for n in range(n_files)} | {"a.py": edited(3)})
        called()
        assert len(ask()) == n_files + 1
        asked.append(sorted(called()))  # The history is asked for on a thread of its own.
    assert asked[0] == asked[1]


def test_git_is_asked_again_only_for_what_may_have_changed(
    root: Path,
    shared: Engine,
    called: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ask(diff: str = "HEAD") -> tuple[Found, list[str]]:
        request = Request(query="", diff=diff)
        scan = workspace.scan(discovery_of(request))
        called()
        found = changes.changed(workspace, scan, request)
        assert found is not None
        return {p: [(one.start, one.end) for one in found[p]] for p in sorted(found)}, called()

    monkeypatch.setattr(inputs, "YOUNG_NS", 3600 * 10**9)  # However slow this machine is.
    workspace = Workspace(root, shared)
    write(root, {"a.py": edited(3)})
    reading = ["rev-parse", "ls-files", "diff-index"]
    assert ask() == ({"a.py": [(3, 3)]}, [*reading, "cat-file"])
    # What was written just now is not believed: it may be written again in the same tick.
    assert ask() == ({"a.py": [(3, 3)]}, reading)
    monkeypatch.setattr(inputs, "YOUNG_NS", 0)
    assert ask() == ({"a.py": [(3, 3)]}, reading)
    assert ask() == ({"a.py": [(3, 3)]}, [])
    write(root, {"a.py": edited(3, 9), "sub/b.py": edited(5)})
    # Both files have the same text in the commit.
    assert ask() == ({"a.py": [(3, 3), (9, 9)], "sub/b.py": [(5, 5)]}, [])
    run_git(root, "add", "a.py")
    assert ask() == ({"a.py": [(3, 3), (9, 9)], "sub/b.py": [(5, 5)]}, reading)
    run_git(root, "commit", "-qm", "second")
    assert ask()[0] == {"sub/b.py": [(5, 5)]}
    # HEAD moves, and the index stays.
    run_git(root, "reset", "-q", "--soft", "HEAD~1")
    assert ask() == ({"a.py": [(3, 3), (9, 9)], "sub/b.py": [(5, 5)]}, ["diff-index"])


def test_nothing_in_a_repository_gets_a_program_run(
    root: Path, tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "RAN"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    write(root, {".gitattributes": "* filter=x diff=x merge=x\n"})
    for key in (
        "core.fsmonitor", "core.pager", "filter.x.clean", "filter.x.smudge", "filter.x.process",
        "diff.x.textconv", "diff.x.command", "diff.external", "pager.diff-index", "pager.cat-file",
        "alias.cat-file", "alias.diff-index", "alias.ls-files", "alias.rev-parse", "merge.x.driver",
    ):  # fmt: skip
        run_git(root, "config", key, str(script))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(script))
    index = (root / ".git/index").read_bytes()
    ran.unlink(missing_ok=True)
    write(root, {"a.py": edited(3)})
    assert ask()["a.py"] == [(3, 3)]
    assert ask(staged=True) == {}
    assert not ran.exists()
    assert index == (root / ".git/index").read_bytes()
    run_git(root, "diff", "HEAD")
    assert ran.exists(), "the planted programs do run in a git that is not hardened"


def test_a_missing_text_is_not_fetched(root: Path, tmp_path: Path, ask: Ask) -> None:
    ran = tmp_path / "RAN"
    blob = run_git(root, "rev-parse", "HEAD:a.py").strip()
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for key, value in (
        ("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"), ("remote.origin.url", f"ext::touch {ran}"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("protocol.ext.allow", "always"), ("protocol.allow", "always"),
    ):  # fmt: skip
        run_git(root, "config", key, value)
    write(root, {"a.py": edited(3)})
    assert ask() == {"a.py": [(1, 20)]}
    assert not ran.exists()


def test_without_changes_the_answer_says_so(root: Path, shared: Engine) -> None:
    request = Request(query="", diff="HEAD")
    found = answer(Workspace(root, shared), request, lambda _done, _total: None)
    assert found.pack.items == ()
    assert [(w.kind, w.message) for w in found.warnings] == [
        ("no-changes", "nothing that can be shown differs from HEAD")
    ]
    staged = answer(
        Workspace(root, shared), replace(request, staged=True), lambda _done, _total: None
    )
    assert "nothing that is staged and can be shown differs from HEAD" in [
        w.message for w in staged.warnings
    ]
