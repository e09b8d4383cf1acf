"""Discovery and reading: roots, links, odd files, options, races."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from contextpack.model import Reason, Skip
from contextpackd.disk import Candidate, Discovery, Listing, Text, check_root, discover, read
from contextpackd.errors import RootProblem
from harness.trees import (
    EVERYTHING,
    MAX_FILE_BYTES,
    build,
    entries,
    isolate_git,
    run_git,
    write,
)


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    return root


def discovery(include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> Discovery:
    return Discovery(include, exclude, MAX_FILE_BYTES)


def paths(listing: Listing) -> list[str]:
    return [candidate.path for candidate in listing.candidates]


def reasons(listing: Listing) -> dict[str, tuple[str, str | None]]:
    return {path: (str(skip.reason), skip.rule) for path, skip in entries(listing).items()}


def candidate(path: str) -> Candidate:
    return Candidate(path, size_bytes=0, mtime_ns=0, ctime_ns=0, inode=0)


# Roots.


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "does not exist"),
        ("a.py", "is not a directory"),
        ("a.py/b", "does not exist"),
        ("/", "is too broad"),
        ("/proc", "is too broad"),
        ("home", "is the home directory"),
    ],
)
def test_a_root_that_is_no_workspace_is_refused(
    tmp_path: Path, path: str, message: str
) -> None:
    write(tmp_path, {"a.py": "x"})
    with pytest.raises(RootProblem, match=message):
        check_root(tmp_path / path, force=False)


def test_force_lets_the_home_directory_pass_but_no_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x"})
    assert check_root(tmp_path / "home", force=True) == tmp_path / "home"
    with pytest.raises(RootProblem):
        check_root(tmp_path / "a.py", force=True)


def test_a_root_that_is_a_link_is_resolved_once(root: Path, tmp_path: Path) -> None:
    write(root, {"a.py": "x"})
    (tmp_path / "link").symlink_to(root)
    assert check_root(tmp_path / "link", force=False) == root
    assert paths(discover(tmp_path / "link", EVERYTHING)) == ["a.py"]


def test_a_root_that_vanished_is_an_error_not_an_empty_listing(root: Path) -> None:
    with pytest.raises(RootProblem, match="no such file"):
        discover(root / "gone", EVERYTHING)


# Links and odd files.


def test_nothing_outside_the_root_is_listed_or_read(root: Path, tmp_path: Path) -> None:
    write(
        tmp_path, {"secrets/config.ts": "outside-canary", "secrets/dir/k.py": "outside-canary"}
    )
    build(
        root,
        [
            {"path": "src/index.ts", "text": "x"},
            {"path": "src/db.config.ts", "symlink": "../../secrets/config.ts"},
            {"path": "ext", "symlink": "../secrets/dir"},
            {"path": "abs.ts", "symlink": str(tmp_path / "secrets/config.ts")},
            {"path": "hop1", "symlink": "hop2"},
            {"path": "hop2", "symlink": "../secrets/config.ts"},
        ],
    )
    listing = discover(root, EVERYTHING)
    assert paths(listing) == ["src/index.ts"]
    assert set(reasons(listing).values()) == {("symlink", "a link out of the root")}
    for path in ("src/db.config.ts", "ext/k.py", "abs.ts", "hop1", "../secrets/config.ts"):
        assert isinstance(read(root, path, MAX_FILE_BYTES), Skip)


@pytest.mark.parametrize("replaced", ["sub/a.py", "sub"])
def test_a_file_replaced_by_a_link_before_it_is_read_is_not_read(
    root: Path, tmp_path: Path, replaced: str
) -> None:
    write(tmp_path, {"outside/a.py": "outside-canary", "outside/sub/a.py": "outside-canary"})
    write(root, {"sub/a.py": "x"})
    (found,) = discover(root, EVERYTHING).candidates
    gone = root / replaced
    gone.unlink() if gone.is_file() else shutil.rmtree(gone)
    gone.symlink_to(tmp_path / "outside" / replaced)
    assert read(root, found.path, MAX_FILE_BYTES) == Skip(
        "sub/a.py", Reason.SYMLINK, "became a link"
    )


def test_a_tracked_file_below_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    write(tmp_path, {"outside/a.py": "outside-canary"})
    write(root, {"sub/a.py": "x"})
    run_git(root, "init", "-q")
    run_git(root, "add", ".")
    shutil.rmtree(root / "sub")
    (root / "sub").symlink_to(tmp_path / "outside")
    assert reasons(discover(root, EVERYTHING)) == {"sub": ("symlink", "a link out of the root")}


def test_fifos_and_sockets_are_never_opened(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"a.py": "x"})
    for path in ("pipe.py", ".gitignore", ".contextpackignore"):
        os.mkfifo(root / path)
    monkeypatch.chdir(root)  # A socket's path is short.
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.py")
        listing = discover(root, EVERYTHING)
        assert read(root, "s.py", 1) == Skip("s.py", Reason.SPECIAL, "a socket")
    assert paths(listing) == ["a.py"]
    assert reasons(listing) == {
        ".contextpackignore": ("special", "a FIFO"),
        ".gitignore": ("special", "a FIFO"),
        "pipe.py": ("special", "a FIFO"),
        "s.py": ("special", "a socket"),
    }
    assert read(root, "pipe.py", 1) == Skip("pipe.py", Reason.SPECIAL, "a FIFO")


def test_the_size_limit_is_the_last_size_that_passes(root: Path) -> None:
    write(root, {"at.py": "x" * 10, "above.py": "x" * 11})
    listing = discover(root, Discovery((), (), max_file_bytes=10))
    assert paths(listing) == ["at.py"]
    assert reasons(listing) == {"above.py": ("too-large", "11 bytes, more than 10")}


def test_a_file_that_grew_or_went_since_is_left_out(root: Path) -> None:
    write(root, {"a.py": "x", "b.py": "x"})
    grown, gone = discover(root, EVERYTHING).candidates
    write(root, {"a.py": "x" * 11})
    (root / "b.py").unlink()
    assert read(root, grown.path, 10) == Skip(
        "a.py", Reason.TOO_LARGE, "11 bytes, more than 10"
    )
    assert read(root, gone.path, 10) == Skip(
        "b.py", Reason.UNREADABLE, "no such file or directory"
    )


def test_a_text_comes_with_its_digest_and_its_line_endings(root: Path) -> None:
    write(root, {"a.py": b"a\r\nb\rc\n"})
    (found,) = discover(root, EVERYTHING).candidates
    text = read(root, found.path, MAX_FILE_BYTES)
    assert isinstance(text, Text)
    assert (text.text, text.encoding, text.is_lossy) == ("a\r\nb\rc\n", "utf-8", False)
    assert found.size_bytes == 7


# Repositories and pruned directories.


def test_tracked_beats_ignored_and_the_rest_keeps_its_rule(root: Path) -> None:
    write(
        root,
        {
            ".gitignore": "build/\n", "build/kept.py": "x", "build/gen.py": "x",
            "build/deep/gen.py": "x",
        },
    )  # fmt: skip
    run_git(root, "init", "-q")
    run_git(root, "add", "--force", "build/kept.py")
    listing = discover(root, EVERYTHING)
    assert paths(listing) == [".gitignore", "build/kept.py"]
    assert reasons(listing) == {
        "build/deep/": ("ignored", ".gitignore:1: build/"),
        "build/gen.py": ("ignored", ".gitignore:1: build/"),
    }


def test_an_ignored_directory_is_one_entry(root: Path) -> None:
    write(root, {".gitignore": "out/\n", "out/a.js": "x", "out/b/c.js": "x"})
    for is_repository in (False, True):
        if is_repository:
            run_git(root, "init", "-q")
        assert reasons(discover(root, EVERYTHING)) == {
            "out/": ("ignored", ".gitignore:1: out/")
        }


def test_what_tools_install_is_pruned_without_any_rule(root: Path) -> None:
    write(
        root,
        {
            "node_modules/p/i.js": "x", "pkg/__pycache__/a.pyc": "x", ".hg/store": "x",
            "env/pyvenv.cfg": "x", "env/lib/a.py": "x", ".git/config": "", "a.py": "x",
        },
    )  # fmt: skip
    assert reasons(discover(root, EVERYTHING)) == {
        ".hg/": ("ignored", "built in: .hg/"),
        "env/": ("ignored", "built in: pyvenv.cfg"),
        "node_modules/": ("ignored", "built in: node_modules/"),
        "pkg/__pycache__/": ("ignored", "built in: __pycache__/"),
    }


def test_a_negated_rule_or_the_index_brings_such_a_directory_back(root: Path) -> None:
    write(root, {"node_modules/a.js": "x", "sub/node_modules/b.js": "x", "sub/other.js": "x"})
    write(root, {".gitignore": "!/node_modules/\n"})
    run_git(root, "init", "-q")
    run_git(root, "add", "sub/node_modules/b.js")
    assert paths(discover(root, EVERYTHING)) == [
        ".gitignore", "node_modules/a.js", "sub/node_modules/b.js", "sub/other.js",
    ]  # fmt: skip


def test_a_repository_below_the_root_has_its_own_rules(root: Path) -> None:
    write(root, {".gitignore": "*.log\n", "inner/a.log": "x", "inner/.gitignore": "*.tmp\n"})
    write(root, {"inner/b.tmp": "x", "inner/c.py": "x"})
    run_git(root, "init", "-q")
    run_git(root / "inner", "init", "-q")
    listing = discover(root, EVERYTHING)
    assert paths(listing) == [".gitignore", "inner/.gitignore", "inner/a.log", "inner/c.py"]
    assert reasons(listing) == {"inner/b.tmp": ("ignored", "inner/.gitignore:1: *.tmp")}


def test_a_linked_worktree_below_the_root_is_not_a_second_copy(root: Path) -> None:
    write(root, {"a.py": "x"})
    run_git(root, "init", "-q")
    run_git(root, "add", ".")
    run_git(root, "commit", "-q", "-m", "a")
    run_git(root, "worktree", "add", "-q", "trees/feat", "-b", "feat")
    listing = discover(root, EVERYTHING)
    assert paths(listing) == ["a.py"]
    assert reasons(listing) == {"trees/feat/": ("ignored", "built in: linked worktree")}


# Options.


def test_only_what_include_names_is_a_candidate(root: Path) -> None:
    write(root, {"src/a.py": "x", "src/b.js": "x", "docs/c.md": "x", ".env": "K=1"})
    listing = discover(root, discovery(include=("src/*.py", "docs/")))
    assert paths(listing) == ["docs/c.md", "src/a.py"]
    assert reasons(listing) == {
        ".env": ("secret", "environment file: .env"),
        "src/b.js": ("not-included", None),
    }


@pytest.mark.parametrize("is_repository", [False, True])
@pytest.mark.parametrize("ignoring", [".gitignore", ".contextpackignore"])
def test_include_brings_ignored_files_back_but_never_secrets(
    root: Path, is_repository: bool, ignoring: str
) -> None:
    write(
        root,
        {
            ignoring: "build/\n*.gen\n", "build/deep/a.py": "x", "build/b.js": "x",
            "build/.env": "K=1", "c.gen": "x", "d.gen": "x",
        },
    )  # fmt: skip
    if is_repository:
        run_git(root, "init", "-q")
    listing = discover(root, discovery(include=("build/**/*.py", "build/.env", "c.gen")))
    assert paths(listing) == ["build/deep/a.py", "c.gen"]
    assert reasons(listing) == {
        ignoring: ("not-included", None),
        "build/": ("ignored", f"{ignoring}:1: build/"),
        "build/.env": ("secret", "environment file: .env"),
        "d.gen": ("ignored", f"{ignoring}:2: *.gen"),
    }


def test_include_looks_into_installed_packages_only_by_name(root: Path) -> None:
    write(
        root, {"a.js": "x", "node_modules/p/b.js": "x", "env/pyvenv.cfg": "", "env/c.js": "x"}
    )
    assert paths(discover(root, discovery(include=("*.js",)))) == ["a.js"]
    named = discovery(include=("node_modules/p/*.js", "env/*.js"))
    assert paths(discover(root, named)) == ["env/c.js", "node_modules/p/b.js"]


def test_exclude_drops_files_and_whole_directories_whatever_include_says(root: Path) -> None:
    write(root, {"a.py": "x", "a_test.py": "x", "old/b.py": "x", "old/c/d.py": "x"})
    listing = discover(root, discovery(include=("*.py",), exclude=("old", "*_test.py")))
    assert paths(listing) == ["a.py"]
    assert reasons(listing) == {
        "a_test.py": ("excluded", "*_test.py"),
        "old/": ("excluded", "old"),
    }


def test_globs_that_match_nothing_are_named(root: Path) -> None:
    write(
        root, {"src/a.py": "x", ".gitignore": "out/\n", "out/b.js": "x", "c.min.js": "x" * 99}
    )
    options = Discovery(
        include=("./src/*.py", "*.rs", "[x", "*.js"),
        exclude=("lib/", "src/z*", "out/b.js", "../up"),
        max_file_bytes=50,
    )
    listing = discover(root, options)
    assert listing.unmatched_globs == ("*.rs", "[x", "lib/", "src/z*", "../up")


def test_the_listing_does_not_depend_on_the_order_on_disk(tmp_path: Path) -> None:
    names = [f"{letter}/{number}.py" for letter in "cab" for number in (3, 1, 2)]
    listings = []
    for order in (names, names[::-1]):
        shutil.rmtree(tmp_path / "ws", ignore_errors=True)
        write(tmp_path / "ws", dict.fromkeys(order, "x"))
        listings.append(paths(discover(tmp_path / "ws", EVERYTHING)))
    assert listings[0] == listings[1] == sorted(names)
