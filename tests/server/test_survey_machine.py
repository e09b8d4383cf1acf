"""After any sequence of changes a survey says what a listing made anew says."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from contextpackd.disk import Discovery, discover
from contextpackd.survey import Survey
from harness.trees import isolate_git, run_git

FOLDERS = ("", "a/", "a/b/", "c/", "build/", "c/build/")
NAMES = ("x.py", "y.log", ".env", "big.json", "gen.ts", "pyvenv.cfg")
RULES = ("", "*.log\n", "build/\n", "!build/\n", "/a/\n", "x.py\n!y.log\n", "b/\n", "[\n")
# More than the longest tick of a file system's clock: nothing is young then.
LATER_NS = 3_600_000_000_000

folders = st.sampled_from(FOLDERS)
names = st.sampled_from(NAMES)


class Changes(RuleBasedStateMachine):
    """A root in a repository under every kind of change, and surveys that follow it."""

    options = Discovery(include=(), exclude=(), max_file_bytes=20)

    @initialize(is_repository=st.booleans(), is_young=st.booleans())
    def begin(self, is_repository: bool, is_young: bool) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.patch = pytest.MonkeyPatch()
        isolate_git(self.patch, self.folder / "home")
        self.root = self.folder / "top" / "ws"
        self.root.mkdir(parents=True)
        self.outside = self.folder / "outside"
        self.outside.mkdir()
        self.is_young = is_young
        if is_repository:
            run_git(self.root, "init", "-q")
        self.swept, self.refreshed = self.survey(), self.survey()
        self.touched: set[str] = set()
        self.swept.sweep()
        self.refreshed.sweep()

    def teardown(self) -> None:  # type: ignore[explicit-override]  # Python 3.11 has none.
        self.patch.undo()
        shutil.rmtree(self.folder)

    def survey(self, saved: bytes | None = None) -> Survey:
        def now_ns() -> int:
            return self.probe().stat().st_mtime_ns + (0 if self.is_young else LATER_NS)

        return Survey(self.root, self.options, saved, now_ns=now_ns)

    def probe(self) -> Path:
        """A file that was written just now."""
        file = self.folder / "probe"
        file.write_bytes(b"")
        return file

    def touch(self, *paths: str) -> None:
        self.touched.update(paths)

    def make_folder(self, folder: str) -> bool:
        """Make a directory, unless something else is on the way to it."""
        at = self.root
        for part in folder.split("/")[:-1]:
            at = at / part
            if at.is_symlink() or (at.exists() and not at.is_dir()):
                return False
            if not at.exists():
                at.mkdir()
                self.touch(at.relative_to(self.root).as_posix())
        return True

    def write(self, path: str, text: str) -> None:
        folder = path[: path.rfind("/") + 1]
        file = self.root / path
        if not self.make_folder(folder) or file.is_symlink() or file.is_dir():
            return
        file.write_text(text)
        self.touch(path)

    @rule(folder=folders, name=names, size=st.sampled_from((0, 3, 40)))
    def write_file(self, folder: str, name: str, size: int) -> None:
        self.write(folder + name, "x" * size)

    @rule(
        folder=folders,
        text=st.sampled_from(
            ("*.ts linguist-generated\n", "gen.ts -linguist-generated\n", "* text\n")
        ),
    )
    def write_attributes(self, folder: str, text: str) -> None:
        self.write(folder + ".gitattributes", text)

    @rule(
        folder=folders,
        name=st.sampled_from((".gitignore", ".contextpackignore")),
        text=st.sampled_from(RULES),
    )
    def write_ignore_file(self, folder: str, name: str, text: str) -> None:
        self.write(folder + name, text)

    @rule(
        folder=folders,
        name=st.sampled_from((*NAMES, ".gitignore", ".contextpackignore", "link")),
    )
    def delete_file(self, folder: str, name: str) -> None:
        file = self.root / folder / name
        is_file = file.is_symlink() or file.is_file()
        if is_file and not self.is_below_link(file.parent):
            file.unlink()
            self.touch(folder + name)

    @rule(folder=folders)
    def delete_folder(self, folder: str) -> None:
        place = self.root / folder
        if folder and place.is_dir() and not self.is_below_link(place):
            shutil.rmtree(place)
            self.touch(folder.removesuffix("/"))

    def is_below_link(self, file: Path) -> bool:
        return any(one.is_symlink() for one in (file, *file.parents))

    @rule(source=folders, place=st.sampled_from((*FOLDERS, "d/", "node_modules/")))
    def move_folder(self, source: str, place: str) -> None:
        one, other = self.root / source, self.root / place
        if not source or not place or not one.is_dir() or self.is_below_link(one):
            return
        if os.path.lexists(other) or other.is_relative_to(one):
            return
        if self.make_folder(place[: place.rstrip("/").rfind("/") + 1]):
            one.rename(other)
            self.touch(source.removesuffix("/"), place.removesuffix("/"))

    @rule(folder=folders)
    def move_out_and_in(self, folder: str) -> None:
        """A populated directory leaves, or comes back where there is none."""
        place, away = self.root / folder, self.outside / "away"
        if not folder or self.is_below_link(place):
            return
        if away.exists() and not os.path.lexists(place) and place.parent.is_dir():
            away.rename(place)
        elif not away.exists() and place.is_dir():
            place.rename(away)
        else:
            return
        self.touch(folder.removesuffix("/"))

    @rule(folder=folders, to=st.sampled_from(("a", "x.py", "../x.py", "nowhere", "link", "..")))
    def link(self, folder: str, to: str) -> None:
        file = self.root / folder / "link"
        if self.make_folder(folder) and not os.path.lexists(file):
            file.symlink_to(to)
            self.touch(folder + "link")

    @rule(folder=folders)
    def replace_folder_by_file(self, folder: str) -> None:
        place = self.root / folder
        if folder and place.is_dir() and not self.is_below_link(place):
            shutil.rmtree(place)
            place.write_text("x")
            self.touch(folder.removesuffix("/"))

    @rule(folder=folders)
    def replace_file_by_nothing(self, folder: str) -> None:
        place = self.root / folder
        if folder and place.is_file() and not self.is_below_link(place):
            place.unlink()
            self.touch(folder.removesuffix("/"))

    @rule(folder=folders, name=names, mode=st.sampled_from((0o644, 0o755)))
    def change_mode(self, folder: str, name: str, mode: int) -> None:
        file = self.root / folder / name
        if file.is_file() and not self.is_below_link(file):
            file.chmod(mode)
            self.touch(folder + name)

    @rule(folder=folders, name=names)
    def set_time_back(self, folder: str, name: str) -> None:
        file = self.root / folder / name
        if file.is_file() and not self.is_below_link(file):
            os.utime(file, (1, 1))
            self.touch(folder + name)

    @rule(folder=st.sampled_from(("a/", "c/")))
    def make_nested_repository(self, folder: str) -> None:
        place = self.root / folder
        if self.make_folder(folder):
            run_git(place, "init", "-q")
            self.touch(folder + ".git")

    @rule(folder=st.sampled_from(("", "a/", "c/")))
    def delete_repository(self, folder: str) -> None:
        place = self.root / folder / ".git"
        if place.is_dir() and not self.is_below_link(place):
            shutil.rmtree(place)
            self.touch(folder + ".git")

    def repository(self) -> bool:
        return (self.root / ".git").is_dir()

    @precondition(repository)
    @rule(folder=folders)
    def add(self, folder: str) -> None:
        if (self.root / folder).is_dir() and not self.is_below_link(self.root / folder):
            git(self.root, "add", "--force", folder or ".")
            self.touch(".git/index")

    @precondition(repository)
    @rule(folder=folders, name=names)
    def untrack(self, folder: str, name: str) -> None:
        git(self.root, "rm", "-q", "--cached", folder + name)
        self.touch(".git/index")

    @precondition(repository)
    @rule(branch=st.sampled_from(("one", "two")))
    def commit_to_a_branch(self, branch: str) -> None:
        git(self.root, "checkout", "-q", "-B", branch)
        git(self.root, "commit", "-q", "-m", "x")
        self.touch(".git/HEAD", ".git/index")

    @precondition(repository)
    @rule(branch=st.sampled_from(("one", "two")))
    def check_out(self, branch: str) -> None:
        git(self.root, "checkout", "-q", "--force", branch)
        self.touch("", ".git/HEAD", ".git/index")

    @precondition(repository)
    @rule(text=st.sampled_from(RULES))
    def write_excludes(self, text: str) -> None:
        (self.root / ".git/info").mkdir(exist_ok=True)
        (self.root / ".git/info/exclude").write_text(text)
        self.touch(".git/info/exclude")

    @rule(text=st.sampled_from(RULES))
    def write_global_excludes(self, text: str) -> None:
        file = self.folder / "home/.config/git/ignore"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.touch(str(file))

    @rule(
        text=st.sampled_from(("", "[core]\n\texcludesFile = ~/mine\n", "[user]\n\tname = x\n"))
    )
    def write_configuration(self, text: str) -> None:
        (self.folder / "home/mine").write_text("*.py\n")
        (self.folder / "home/.gitconfig").write_text(text)
        self.touch(str(self.folder / "home/.gitconfig"), str(self.folder / "home/mine"))

    @rule()
    def make_a_repository_around(self) -> None:
        if not (self.root.parent / ".git").exists():
            run_git(self.root.parent, "init", "-q")
            (self.root.parent / ".gitignore").write_text("gen.ts\n")
            self.touch(str(self.root.parent / ".git"), str(self.root.parent / ".gitignore"))

    @rule()
    def save_and_restore(self) -> None:
        self.swept = self.survey(self.swept.saved())
        self.refreshed = self.survey(self.refreshed.saved())

    @invariant()
    def says_what_a_new_listing_says(self) -> None:
        if not hasattr(self, "swept"):
            return
        expected = discover(self.root, self.options)
        before = dict(self.refreshed.candidates)
        skipped = self.refreshed.skipped
        moves = self.refreshed.refresh(self.touched)
        assert self.refreshed.listing() == expected, self.touched
        after = dict(self.refreshed.candidates)
        assert {one.path: one for one in moves.found} == {
            path: one for path, one in after.items() if before.get(path) != one
        }
        assert set(moves.gone) == before.keys() - after.keys()
        assert moves.is_skipped_changed == (skipped != self.refreshed.skipped)
        self.swept.sweep()
        assert self.swept.listing() == expected
        if not self.is_young:
            assert self.swept.sweep().n_listed == 0
        self.touched.clear()


def git(root: Path, *arguments: str) -> None:
    """Run git, which may refuse."""
    with contextlib.suppress(AssertionError):
        run_git(root, *arguments)


class GlobbedChanges(Changes):
    options = Discovery(
        include=("*.py", "build/gen.ts"), exclude=("c/*.py", "y.*"), max_file_bytes=20
    )


TestChanges = Changes.TestCase
TestGlobbedChanges = GlobbedChanges.TestCase
# Each step costs a dozen processes of git, so shrinking would take longer than reading.
TestChanges.settings = TestGlobbedChanges.settings = settings(
    max_examples=settings().max_examples // 3,
    stateful_step_count=25,
    phases=[Phase.explicit, Phase.generate],
)
