"""A past state of a repository as a directory of our own, which ends with the process.

Rules of this file:

- The user's repository gives objects and nothing else: its working tree, index, configuration,
  hooks, filters and references have no part in this, and nothing is written below it.
- The directory is a repository whose HEAD is the state, so that its history ends there and
  nothing newer has a name.
- Trees come from anywhere: a name that leads out of the directory, or into `.git`, is no file.
  Links are left out, as nothing follows them.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from contextpack.text import display_path
from contextpackd import git, revisions
from contextpackd.errors import GitUnavailable
from contextpackd.ignore import common_git_dir, small_content
from contextpackd.scratch import scratch

# Larger trees would fill the disk that temporary files are on.
MAX_TREE_FILES = 200_000
MAX_TREE_BYTES = 1 << 30

# So many bytes of files, and files, are read at once.
BATCH_BYTES = 32 << 20
BATCH_FILES = 5000

_REGULAR = ("100644", "100755")


_Tree = dict[str, tuple[str, int]]
"""The blob and the size of each file, by path below the top."""


class Replica:
    """The directory. Owns everything below it; a context in which it exists."""

    def __init__(self, folder: Path, max_file_bytes: int) -> None:
        """For a folder of a repository. Raises `GitUnavailable`."""
        self._max_file_bytes = max_file_bytes
        top = git.toplevel(folder)
        common = common_git_dir(top)
        if common is None:
            raise GitUnavailable(display_path(str(folder)), "its repository cannot be read")
        objects = os.fsencode((common / "objects").resolve())
        if b"\n" in objects or objects.startswith(b'"'):
            raise GitUnavailable(display_path(str(folder)), "its path cannot be borrowed from")
        self._inside = folder.relative_to(top)
        self._objects = objects
        self._shallow = small_content(common / "shallow", 0)
        self._kept = contextlib.ExitStack()
        self._top = self._kept.enter_context(scratch())
        self._files: dict[str, str] = {}
        self.root = self._top / self._inside
        """What the folder is in the user's working tree."""

    def __enter__(self) -> "Replica":
        self.root.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *_exception: object) -> None:
        self._kept.close()

    def become(self, commit: str) -> None:
        """Hold the state of one commit: its files, its index, its history.

        Only files that differ are written. Raises `GitUnavailable`.
        """
        self._begin(commit)
        wanted = self._tree(commit)
        # A directory may stand where a file was, so what goes goes first.
        for path in self._files.keys() - wanted.keys():
            self._remove(path)
        new = {
            path: found for path, found in wanted.items() if self._files.get(path) != found[0]
        }
        for path in new.keys() & self._files.keys():
            self._remove(path)
        self._write(new)
        git.written(self._top, "read-tree", commit)

    def _begin(self, commit: str) -> None:
        own = self._top / ".git"
        (own / "objects/info").mkdir(parents=True, exist_ok=True)
        (own / "refs/heads").mkdir(parents=True, exist_ok=True)
        (own / "objects/info/alternates").write_bytes(self._objects + b"\n")
        is_sha256 = len(commit) == 64
        version, extra = (
            (1, "[extensions]\n\tobjectFormat = sha256\n") if is_sha256 else (0, "")
        )
        config = f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n{extra}"
        (own / "config").write_text(config, encoding="ascii")
        if self._shallow:
            (own / "shallow").write_bytes(self._shallow)
        (own / "HEAD").write_text(f"{commit}\n", encoding="ascii")

    def _tree(self, commit: str) -> _Tree:
        """The files below the folder."""
        # `--full-tree` and a path: names are those below the top whatever the folder is.
        where = ["--", self._inside.as_posix()] if self._inside.parts else []
        output = git.written(
            self._top, "ls-tree", "-r", "-z", "-l", "--full-tree", commit, *where
        )
        found: _Tree = {}
        for record in output.split(b"\0")[:-1]:
            row, _, name = record.partition(b"\t")
            mode, _kind, blob, size = row.decode().split()
            path = os.fsdecode(name)
            if mode not in _REGULAR or not size.isdecimal() or not _is_safe(path):
                continue
            if int(size) <= self._max_file_bytes:
                found[path] = blob, int(size)
        n_bytes = sum(size for _, size in found.values())
        if len(found) > MAX_TREE_FILES or n_bytes > MAX_TREE_BYTES:
            raise GitUnavailable(display_path(str(self.root)), "its tree is too large")
        return found

    def _write(self, files: _Tree) -> None:
        for batch in _batches(files):
            wanted = [files[path][0] for path in batch]
            blobs = revisions.blobs(self._top, wanted, self._max_file_bytes)
            for path, blob in zip(batch, wanted, strict=True):
                if blob not in blobs:
                    raise GitUnavailable(display_path(str(self.root)), "it lacks objects")
                try:
                    self._put(path, blobs[blob])
                except OSError:
                    continue  # A name that this file system does not take, or takes for another.
                self._files[path] = blob

    def _put(self, path: str, data: bytes) -> None:
        file = self._top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as stream:
            stream.write(data)

    def _remove(self, path: str) -> None:
        (self._top / path).unlink(missing_ok=True)
        del self._files[path]
        folder = (self._top / path).parent
        while folder != self._top and folder != self.root:
            try:
                folder.rmdir()
            except OSError:
                break
            folder = folder.parent


def _is_safe(path: str) -> bool:
    """Whether a name in a tree is one of a file below the top, on every system."""
    return all(
        part not in ("", ".", "..") and part.lower() != ".git" and not set(part) & {"\\", ":"}
        for part in path.split("/")
    )


def _batches(files: _Tree) -> Iterator[list[str]]:
    batch: list[str] = []
    room = BATCH_BYTES
    for path, (_, size) in files.items():
        if batch and (size > room or len(batch) == BATCH_FILES):
            yield batch
            batch, room = [], BATCH_BYTES
        batch.append(path)
        room -= size
    if batch:
        yield batch
