"""The simplest caller of a watch: the texts below a root, kept by what the watch names."""

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from contextpackd.inotify import Inotify
from contextpackd.watch import Proof, Touched, Watch

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: object) -> object:
        return method


LEFT_OUT = {".git", "node_modules"}


class Limited(Inotify):
    """A queue whose user may watch so many directories."""

    def __init__(self, n_watches: int) -> None:
        super().__init__()
        self.left = n_watches

    @override
    def add(self, directory: str, mask: int) -> int:
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), directory)
        self.left -= 1
        return super().add(directory, mask)


class Mirror:
    """Regular files and their bytes. Counts its sweeps: one is the beginning, more are doubt."""

    def __init__(self, root: Path, watch: Watch, followed: Iterable[str] = ()) -> None:
        self.root = root
        self.watch = watch
        self.followed = frozenset(followed)
        self.files: dict[str, bytes] = {}
        self.directories: frozenset[str] = frozenset()
        self.n_sweeps = 0

    def ask(self) -> Touched:
        """One question, as a daemon would put it before each answer."""
        touched = self.watch.touched()
        if touched.everything:
            self.n_sweeps += 1
            self.files, directories = scan(self.root, [""])
        else:
            directories = self._refresh(touched.paths)
        if directories != self.directories:
            self.directories = directories
            self.watch.follow(directories, self.followed)
        return touched

    def settle(self) -> set[str]:
        """Ask until nothing is named any more. All that was named."""
        named: set[str] = set()
        while (touched := self.ask()).paths or touched.proof is Proof.SWEEP:
            named |= touched.paths
        return named

    def _refresh(self, paths: Iterable[str]) -> frozenset[str]:
        looked_at = {path for path in paths if LEFT_OUT.isdisjoint(path.split("/"))}
        for path in looked_at:
            below = path + "/"
            for known in [known for known in self.files if known.startswith(below)]:
                del self.files[known]
            self.files.pop(path, None)
            self.directories = frozenset(
                known for known in self.directories if not (known + "/").startswith(below)
            )
        files, directories = scan(self.root, looked_at)
        self.files |= files
        return self.directories | directories


def scan(root: Path, paths: Iterable[str]) -> tuple[dict[str, bytes], frozenset[str]]:
    """What is at some paths and below them: files with their bytes, and directories."""
    files: dict[str, bytes] = {}
    directories: set[str] = set()
    left = list(paths)
    while left:
        path = left.pop()
        try:
            mode = (root / path).lstat().st_mode if path else root.stat().st_mode
            if stat.S_ISDIR(mode):
                names = {entry.name for entry in (root / path).iterdir()} - LEFT_OUT
                directories |= {path} - {""}
                left += [f"{path}/{name}" if path else name for name in names]
            elif stat.S_ISREG(mode):
                files[path] = (root / path).read_bytes()
        except OSError:
            continue
    return files, frozenset(directories)
