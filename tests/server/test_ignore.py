"""Ignore rules, held against git itself."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpackd import ignore
from contextpackd.disk import Listing, discover
from harness.trees import EVERYTHING, entries, isolate_git, run_git, write


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@contextmanager
def refusing_git() -> Iterator[None]:
    """Let git refuse every repository, as it does with somebody else's."""
    os.environ["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
    try:
        yield
    finally:
        del os.environ["GIT_TEST_ASSUME_DIFFERENT_OWNER"]


def paths(listing: Listing) -> list[str]:
    return [candidate.path for candidate in listing.candidates]


def rules(listing: Listing) -> dict[str, str | None]:
    return {path: skip.rule for path, skip in entries(listing).items()}


def is_ignored(line: bytes, path: str, *, is_directory: bool = False) -> bool:
    file = ignore.parsed(line, ".gitignore")
    verdict = ignore.verdict((file,), path, is_directory=is_directory)
    return verdict is not None and verdict.is_ignored


NAMES = st.sampled_from(
    ["a", "b", "ab", "foo", "bar", "a.c", "x.log", "keep", "foo bar", "é", "[x]", "a*b", "-",
     "a]", "B", "foo\nbar", "\\x", "!n", "#h", "t\t", ":x", "*y"]
)  # fmt: skip
FRAGMENTS = st.sampled_from(
    ["a", "b", "foo", "bar", "*", "**", "/", "**/", "/**", "?", "[ab]", "[!a]", "[^é]", "[a-c]",
     "[[:alpha:]]", "[[:foo:]]", "[]a]", "[\\]]", "[x", "[a-]", "[--0]", "]", "\\", "*.c", "log",
     "é", " ", "!", "#", "\t", "-"]
)  # fmt: skip
WHOLE = st.sampled_from(
    ["*", "/*", "*/", "**", "**/", "**/foo", "foo/**", "a/**/b", "foo/*", "*/a", "**/*", "?/**",
     "foo**/a", "fo**/b/", "/a", "a/b", "*.c"]
)  # fmt: skip
PATTERNS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "!"]),
    NAMES | WHOLE | st.lists(FRAGMENTS, min_size=1, max_size=5).map("".join),
    st.sampled_from(["", "", "/"]),
)
IGNORE_FILES = st.builds(
    lambda mark, lines, end: mark + end.join([*lines, ""]).encode(),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(PATTERNS, min_size=1, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
FOLDERS = st.lists(NAMES, max_size=2).map(lambda parts: "".join(part + "/" for part in parts))


@st.composite
def trees(draw: st.DrawFn) -> dict[str, bytes]:
    """Files by path; no file stands where another one needs a directory."""
    tree: dict[str, bytes] = {}
    for path in draw(st.lists(PATHS, min_size=1, max_size=12, unique=True)):
        clashes = any(f"{path}/".startswith(f"{p}/") or p.startswith(path + "/") for p in tree)
        if not clashes:
            tree[path] = b"x"
    for folder in draw(st.lists(FOLDERS, min_size=1, max_size=3, unique=True)):
        if not folder or any(path.startswith(folder) for path in tree):
            tree[folder + ".gitignore"] = draw(IGNORE_FILES)
    return tree


@given(trees(), IGNORE_FILES | st.just(b""), st.data())
def test_a_walk_with_and_without_git_lists_what_git_lists(
    tree: dict[str, bytes], exclude: bytes, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        write(root, tree)
        run_git(root, "init", "-q")
        write(root, {".git/info/exclude": exclude})
        options = ("--cached", "--others", "--exclude-standard", "-z")
        untracked = run_git(root, "ls-files", *options).split("\0")[:-1]
        with refusing_git():
            alone = discover(root, EVERYTHING)
        assert paths(alone) == sorted(untracked)
        together = discover(root, EVERYTHING)
        assert together.uses_git
        assert paths(together) == sorted(untracked)
        assert rules(together) == rules(alone)

        tracked = data.draw(st.sampled_from(sorted(tree)))
        run_git(root, "add", "--force", f":(literal){tracked}")
        listed = set(run_git(root, "ls-files", *options).split("\0")[:-1])
        assert paths(discover(root, EVERYTHING)) == sorted(listed)


@pytest.mark.parametrize(
    ("line", "path", "expected"),
    [
        (b"b?c", "béc", False),  # A wildcard matches one byte.
        (b"b??c", "béc", True),
        (b"*.log\t", "x.log", False),  # Only spaces are dropped from the end.
        (b"*.log  ", "x.log", True),
        (b"x\\ ", "x ", True),
        (b"*.log\r\n", "x.log", True),
        (b"\xef\xbb\xbf*.log", "x.log", True),
        (b"a/**", "a/b", True),
        (b"**/x", "new\nline/x", True),
        (b"a/*/c", "a/b/b/c", False),
        (b"a/**/c", "a/c", True),
        (b"a/**/c", "a/b/b/c", True),
        (b"foo**/a", "foobar/b/a", True),  # Git's own oddity.
        (b"x[", "x[", False),
        (b"x\\", "x\\", False),
        (b"\\#x", "#x", True),
        (b"\\!x", "!x", True),
        (b"/", "x", False),
    ],
)
def test_a_pattern_matches_as_git_does(line: bytes, path: str, expected: bool) -> None:
    assert is_ignored(line, path) == expected


def test_a_pattern_of_a_directorys_content_is_not_about_the_directory() -> None:
    assert not is_ignored(b"a/**", "a", is_directory=True)
    assert is_ignored(b"a/", "a", is_directory=True)
    assert not is_ignored(b"a/", "a")


def test_hostile_patterns_end() -> None:
    # Backtracking would try more ways than there are atoms in the universe.
    assert not is_ignored(b"*a" * 60 + b"b", "a" * 250)
    assert not is_ignored(b"**/a/" * 60 + b"b", "a/" * 250 + "c")
    assert is_ignored(b"**/a*a/" * 20 + b"b", "aa/" * 250 + "b")


def test_a_line_that_matches_nothing_is_reported_and_the_others_hold(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    write(root, {".gitignore": "[a\n*.log\n", "x.log": "x", "[a": "x"})
    listing = discover(root, EVERYTHING)
    assert paths(listing) == [".gitignore", "[a"]
    (notice,) = listing.warnings
    assert (notice.kind, notice.message) == (
        "ignore-line-skipped",
        ".gitignore:1: a [ is not closed",
    )


def test_ignore_files_inside_ignored_directories_are_not_read(tmp_path: Path) -> None:
    write(tmp_path / "ws", {".gitignore": "deps/\n", "deps/.gitignore": "[bad\n!*\n"})
    assert discover(tmp_path / "ws", EVERYTHING).warnings == ()


@pytest.mark.parametrize("refuses", [False, True])
def test_global_excludes_hold_and_are_named_from_home(
    refuses: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, home = tmp_path / "ws", tmp_path / "home"
    write(root, {"a.swp": "x", "b.bak": "x", "c.py": "x"})
    write(home, {".config/git/ignore": "*.swp\n", "mine": "# mine\n*.bak\n"})
    run_git(root, "init", "-q")
    if refuses:
        monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    listing = discover(root, EVERYTHING)
    assert listing.uses_git != refuses
    assert rules(listing) == {"a.swp": "~/.config/git/ignore:1: *.swp"}
    subprocess.run(
        ["git", "config", "--global", "core.excludesFile", "~/mine"], check=True, cwd=home
    )
    assert rules(discover(root, EVERYTHING)) == {"b.bak": "~/mine:2: *.bak"}


@pytest.mark.parametrize("refuses", [False, True])
def test_ignore_files_above_the_root_hold_up_to_the_repositorys_top(
    refuses: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repo"
    write(
        repository,
        {
            ".gitignore": "pkg/sub/only.py\n*.log\n",
            ".contextpackignore": "/pkg/sub/docs/\n",
            "pkg/.gitignore": "!keep.log\n",
            "pkg/sub/only.py": "x", "pkg/sub/a.log": "x", "pkg/sub/keep.log": "x",
            "pkg/sub/docs/a.md": "x", "pkg/sub/deep/local": "x",
        },
    )  # fmt: skip
    write(tmp_path, {".gitignore": "*\n"})  # Above the repository: no say.
    run_git(repository, "init", "-q")
    write(repository, {".git/info/exclude": "/pkg/sub/deep/local\n"})
    if refuses:
        monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    listing = discover(repository / "pkg/sub", EVERYTHING)
    assert listing.uses_git != refuses
    assert paths(listing) == ["keep.log"]
    assert rules(listing) == {
        "a.log": "../../.gitignore:2: *.log",
        "deep/local": "../../.git/info/exclude:1: /pkg/sub/deep/local",
        "docs/": "../../.contextpackignore:1: /pkg/sub/docs/",
        "only.py": "../../.gitignore:1: pkg/sub/only.py",
    }


def test_a_root_that_its_repository_ignores_is_taken_for_itself(tmp_path: Path) -> None:
    write(tmp_path / "repo", {".gitignore": "build/\n", "build/a.py": "x", "build/b.py": "x"})
    run_git(tmp_path / "repo", "init", "-q")
    listing = discover(tmp_path / "repo/build", EVERYTHING)
    assert paths(listing) == ["a.py", "b.py"]
    assert (listing.skipped, listing.warnings) == ((), ())


def test_own_ignore_files_beat_the_index_and_gits_rules(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    write(
        root,
        {
            ".gitignore": "*.gen\n",
            ".contextpackignore": "docs/\n!wanted.gen\n",
            "sub/.contextpackignore": "*.sql\n",
            "docs/a.md": "x", "sub/a.sql": "x", "a.sql": "x", "wanted.gen": "x", "b.gen": "x",
        },
    )  # fmt: skip
    run_git(root, "init", "-q")
    run_git(root, "add", "docs", "sub")
    listing = discover(root, EVERYTHING)
    assert {"a.sql", "wanted.gen"} <= set(paths(listing))
    assert rules(listing) == {
        "b.gen": ".gitignore:1: *.gen",
        "docs/": ".contextpackignore:1: docs/",
        "sub/a.sql": "sub/.contextpackignore:1: *.sql",
    }


@pytest.mark.parametrize(
    ("glob", "directory", "expected"),
    [
        ("*.py", "a/b", True),
        ("src/**", "src", True),
        ("src/**", "lib", False),
        ("src/a/*.py", "src", True),
        ("src/a/*.py", "src/b", False),
        ("src/a.py", "src/a.py/b", False),
        ("*/a.py", "x", True),
        ("**/a/b.py", "x/y/z", True),
    ],
)
def test_a_glob_reaches_only_directories_on_its_way(
    glob: str, directory: str, expected: bool
) -> None:
    assert ignore.glob(glob).reaches(directory) == expected


def test_a_directory_in_an_ignore_files_place_is_none(tmp_path: Path) -> None:
    write(tmp_path / "ws", {".gitignore/a.py": "x", ".contextpackignore/b.py": "x"})
    assert paths(discover(tmp_path / "ws", EVERYTHING)) == [
        ".contextpackignore/b.py",
        ".gitignore/a.py",
    ]


def test_an_ignore_file_that_is_a_link_has_no_say(tmp_path: Path) -> None:
    write(tmp_path / "ws", {"rules": "*.py\n", "a.py": "x"})
    (tmp_path / "ws/.gitignore").symlink_to("rules")
    assert paths(discover(tmp_path / "ws", EVERYTHING)) == ["a.py", "rules"]
