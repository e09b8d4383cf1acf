"""Whatever happens to a workspace, its snapshot is the one that a first scan would make.

One machine works on a real directory that is a git repository, with a watch, a store on disk
and open buffers. After every step a workspace that knows nothing scans the same files.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from typing_extensions import override

from contextpack.request import Request
from contextpackd.queries import answer
from contextpackd.reader import Buffer, buffer_of
from contextpackd.store import Store
from contextpackd.workspace import Engine, Workspace, engine
from harness.scans import ALL, assert_same, forgetful

FILES = (
    "a.py", "A.py", "pkg/__init__.py", "pkg/cache.py", "pkg/deep/load.py", "web/app.ts",
    "web/loader.ts", "dist/notes.md",
)  # fmt: skip
OPEN = ("a.py", "new.py", "dist/notes.md", ".env")
CONFIGS = (
    ".gitignore",
    "pkg/.gitignore",
    ".contextpackignore",
    "tsconfig.json",
    "pyproject.toml",
)
DIRECTORIES = ("pkg", "pkg/deep", "web", "dist", "moved")
TEXTS = (
    "import b\n\ndef load_cache(key):\n    return cache[key]\n",
    "from pkg import cache\nimport pkg.deep.load\n\nclass Cache:\n    def load(self): ...\n",
    "import { load } from './loader'\nexport const cache = load('key')\n",
    "import { load } from '@web/loader'\n",
    "",
    "# the cache is loaded by its key\n" * 9,
    "caf\xe9 cache\n",
    "bin\0ary",
)
CONFIG_TEXTS = (
    "dist/\n", "*.md\n!notes.md\n", "a.py\nweb/\n", "", '{"compilerOptions": {"paths": {"@web/*": ["web/*"]}}}',
    '[tool.setuptools.packages.find]\nwhere = ["pkg"]\n',
)  # fmt: skip
SETTINGS = ("-c", "user.name=m", "-c", "user.email=m@m", "-c", "core.hooksPath=/dev/null")


FORGETFUL = forgetful()


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    """No worker process outlives the tests."""
    yield
    FORGETFUL.close()


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="machine"))
        self.root, self.outside = self.top / "root", self.top / "outside"
        self.cache = self.top / "cache"
        self.root.mkdir()
        self.outside.mkdir()
        self.buffers: dict[str, Buffer] = {}
        self.git("init", "-q", "-b", "main")
        self.write("a.py", TEXTS[0])
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        self.shared: Engine
        self.open()

    def open(self) -> None:
        self.shared = engine(Store.opened(self.cache), n_workers=1)
        self.workspace = Workspace(self.root, self.shared, watches=True)

    def git(self, *arguments: str) -> None:
        command = ["git", *SETTINGS, *arguments]
        subprocess.run(command, cwd=self.root, check=False, capture_output=True)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.is_symlink():
                file.unlink()
            file.write_bytes(text.encode("utf-8"))
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            pass  # A directory stands where the file would, or the other way round.

    def remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    # What happens to a workspace.

    @rule(path=st.sampled_from(FILES), text=st.sampled_from(TEXTS))
    def writes(self, path: str, text: str) -> None:
        self.write(path, text)

    @rule(path=st.sampled_from(CONFIGS), text=st.sampled_from(CONFIG_TEXTS))
    def configures(self, path: str, text: str) -> None:
        self.write(path, text)

    @rule(path=st.sampled_from((*FILES, *CONFIGS, *DIRECTORIES)))
    def deletes(self, path: str) -> None:
        self.remove(self.root / path)

    @rule(path=st.sampled_from(FILES))
    def truncates(self, path: str) -> None:
        if (self.root / path).is_file():
            os.truncate(self.root / path, 0)

    @rule(source=st.sampled_from(FILES), to=st.sampled_from(FILES))
    def renames(self, source: str, to: str) -> None:
        old, new = self.root / source, self.root / to
        if old.exists() and not new.is_dir() and new.parent.is_dir():
            old.replace(new)

    @rule(source=st.sampled_from(DIRECTORIES), to=st.sampled_from(DIRECTORIES))
    def moves_a_directory(self, source: str, to: str) -> None:
        old, new = self.root / source, self.root / to
        if old.is_dir() and not new.exists() and new.parent.is_dir() and old not in new.parents:
            old.rename(new)

    @rule(directory=st.sampled_from(DIRECTORIES))
    def moves_out_or_in(self, directory: str) -> None:
        inside, outside = self.root / directory, self.outside / directory.replace("/", "-")
        if inside.is_dir() and not outside.exists():
            inside.rename(outside)
        elif outside.is_dir() and not inside.exists() and inside.parent.is_dir():
            outside.rename(inside)

    @rule(path=st.sampled_from(FILES), to=st.sampled_from((*FILES, *DIRECTORIES, "/etc")))
    def links(self, path: str, to: str) -> None:
        file = self.root / path
        if file.parent.is_dir() and not file.is_dir():
            file.unlink(missing_ok=True)
            file.symlink_to(self.root / to)

    @rule(path=st.sampled_from(FILES), mode=st.sampled_from((0o644, 0o755, 0o400)))
    def changes_the_mode(self, path: str, mode: int) -> None:
        if (self.root / path).is_file():
            (self.root / path).chmod(mode)

    @rule(path=st.sampled_from(FILES))
    def edits_without_a_trace(self, path: str) -> None:
        """Another text of the same size, with its time set back."""
        file = self.root / path
        if file.is_file() and not file.is_symlink() and (data := file.read_bytes()):
            status = file.stat()
            file.write_bytes(data[:-2] + bytes([data[-1]]) * min(2, len(data)))
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    @rule(path=st.sampled_from(FILES))
    def touches(self, path: str) -> None:
        if (self.root / path).is_file():
            os.utime(self.root / path)

    @rule()
    def commits(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "more")

    @rule(branch=st.sampled_from(("main", "other")))
    def checks_out(self, branch: str) -> None:
        self.git("branch", "-q", "other")
        self.git("checkout", "-qf", branch)

    @rule(path=st.sampled_from(OPEN), text=st.sampled_from(TEXTS[:6]))
    def edits_a_buffer(self, path: str, text: str) -> None:
        self.buffers[path] = buffer_of(text, opened=1.0)

    @precondition(lambda self: self.buffers)
    @rule()
    def closes_the_buffers(self) -> None:
        self.buffers.clear()

    @rule(closes=st.booleans())
    def restarts(self, closes: bool) -> None:
        self.workspace.close()
        self.shared.close()
        if closes:
            self.buffers.clear()
        self.open()

    @rule(which=st.integers(0, 99), place=st.integers(0, 1 << 20), cuts=st.booleans())
    def damages_the_store(self, which: int, place: int, cuts: bool) -> None:
        self.workspace.close()
        self.shared.close()
        kept = sorted(file for file in self.cache.rglob("*") if file.is_file())
        if kept:
            file = kept[which % len(kept)]
            place %= file.stat().st_size + 1
            if cuts:
                os.truncate(file, place)
            else:
                with file.open("r+b") as stream:
                    stream.seek(place)
                    stream.write(b"\xff\x00damage")
        self.open()

    @initialize()
    def asks_first(self) -> None:
        self.workspace.scan(ALL)

    @invariant()
    def it_is_what_a_first_scan_sees(self) -> None:
        self.workspace.set_buffers(self.buffers)
        ours = self.workspace.scan(ALL)
        other = Workspace(self.root, FORGETFUL)
        other.set_buffers(self.buffers)
        theirs = other.scan(ALL)
        assert_same(ours, theirs)
        request = Request(query="load the cache by its key", budget_tokens=300)
        packs = [answer(one, request, lambda *_: None).pack for one in (self.workspace, other)]
        assert packs[0].text == packs[1].text
        assert packs[0].ledger == packs[1].ledger

    @override
    def teardown(self) -> None:
        self.workspace.close()
        self.shared.close()
        shutil.rmtree(self.top)


Machine.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestMachine = Machine.TestCase
