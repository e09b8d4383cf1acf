"""The history of a root, as it is at its HEAD now.

Git is asked only when a file says that HEAD may have moved, and then for the commits that are new.
A root without git, or where git fails, has none.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from contextpack.codec import Damaged
from contextpack.history import MAX_COMMITS, NO_HISTORY, History, archived, extended, restored
from contextpack.text import is_writable
from contextpackd import git
from contextpackd.errors import GitUnavailable
from contextpackd.ignore import common_git_dir, git_link, repository_top, small_content

# The part that is saved of a root.
HISTORY = "history"

# Reading fewer commits than this anew costs less than saving them.
UNSAVED_COMMITS = 200

_REF = b"ref: "

Marks = tuple[object, ...]
HeadFiles = tuple[Path, ...]


class Past:
    """The commits that the files below one root come from. Used by one thread at a time."""

    def __init__(self, root: Path, saved: Mapping[str, bytes]) -> None:
        self._root = root
        self._history = NO_HISTORY
        self._marks: Marks | None = None
        self.n_unsaved = 0
        """How many commits were read since the history was saved."""
        with suppress(KeyError, Damaged):
            self._history = restored(saved[HISTORY])

    def history(self, found: HeadFiles | None = None) -> History:
        """The history as it is now. `found` is what `head_files` gave a moment ago."""
        marks = _marks(found or self.head_files())
        if marks != self._marks:
            self._read()
            self._marks = marks
        return self._history

    def saved(self) -> Mapping[str, bytes]:
        """The part that a new `Past` starts from."""
        if not all(is_writable(path) for path in self._history.paths):
            return {}
        self.n_unsaved = 0
        return {HISTORY: archived(self._history)}

    def _read(self) -> None:
        before = self._history
        try:
            if repository_top(self._root) is None:
                self._history = NO_HISTORY
                return
            head = git.head(self._root)
            if head is None:
                self._history = NO_HISTORY
            elif head != before.head:
                known = before.head
                if known is None or not git.is_ancestor(self._root, known, head):
                    before, known = NO_HISTORY, None
                found = git.commits(self._root, head, known, MAX_COMMITS)
                self._history = extended(before, head, found)
                self.n_unsaved += len(found)
        except GitUnavailable:
            self._history = NO_HISTORY

    def head_files(self) -> HeadFiles | None:
        """The files, there or not, of which one is another where HEAD moves; None without git.

        HEAD's own file comes first, what branches are packed into next, and its branch last.
        """
        top = repository_top(self._root)
        common = None if top is None else common_git_dir(top)
        if top is None or common is None:
            return None
        head = (git_link(top) or common) / "HEAD"
        said = small_content(head, 0) or b""
        packs = [common / name for name in ("packed-refs", "reftable/tables.list")]
        if not said.startswith(_REF) or b"\0" in said:
            return (head, *packs)
        return (head, *packs, common / os.fsdecode(said.removeprefix(_REF).strip()))


def _marks(found: HeadFiles | None) -> Marks:
    """What changes when HEAD moves: its file, that of its branch, and the packed ones."""
    if found is None:
        return ()
    head, packed, tables, *branch = found
    contents = [small_content(file, 0) for file in (head, *branch)]
    return (*contents, _stat(packed), _stat(tables))


def _stat(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.lstat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
