"""Wake-ups where the system has no inotify: `watchfiles` says that something below a root changed.

Rules of this file:

- It alone knows `watchfiles`, and imports it when somebody waits for the first time.
- It proves nothing. macOS and Windows report late, without order across directories, and drop
  what does not fit into their buffers without a word. Whoever answers looks at everything; this
  only says when that is worth it, and now and then it has to be done without being told.
- It never wakes for what is in a directory that it was not told of: building in `node_modules`
  is no work for us.

How it works. macOS and Windows watch a whole tree at the price of one directory, and nobody walks
it; there the root is watched with all below it, and what is in other directories is left out by
name. (One by one they would cost a restart of the stream for each directory on macOS, and on
Windows a handle that keeps the directories above it from being renamed.) Systems that walk and
watch directory by directory are given those that matter, and all of them again when the set
changes: 50 microseconds a directory, during which the interpreter stands still.

It has no thread of its own: whoever waits looks into the list that a thread of `watchfiles` fills,
fifty times a second (a fifth of a percent of one processor). So an interrupt ends a wait on every
system.
Source: `lib.rs` of `watchfiles` 1.2, `fsevent.rs` and `windows.rs` of `notify` 8.0.

Not reported: what is put into a directory whose name is not Unicode, a directory's own attributes,
a file outside the root that did not exist when the watch began, and one behind a link.
"""

import os
import sys
import threading
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from contextpackd import silence
from contextpackd.marks import identity

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

# To open so many again stops the interpreter for a fifth of a second.
MAX_LISTED = 0 if sys.platform in ("darwin", "win32") else 4000
MAX_FAILURES = 5  # A name that it cannot read ends a watch; if that goes on, so do we.
REOPEN_SECONDS = 2.0  # How often a root that is gone is looked for.
# Twice the step is what it takes to hear of a change. Each step is a look into the list.
_STEP_MS = 20
_GROUP_MS = 50
# Where there is nothing to watch with, `watchfiles` would look at each file so often by itself.
_POLL_MS = 2000
_MODIFIED = 2


def _opened(paths: list[str], is_recursive: bool) -> "RustNotify":  # noqa: FBT001
    """A watch of some paths. Raises `OSError`, and `RuntimeError` for what the library finds."""
    # Not `watchfiles.watch`: it cannot be waited for with a time, nor closed by another thread.
    from watchfiles._rust_notify import RustNotify

    # The last one would make it silent about every error, not only about a missing permission.
    return RustNotify(paths, False, False, _POLL_MS, is_recursive, False)  # noqa: FBT003


class Notifier:
    """Wakes whoever waits for changes below one root.

    One thread waits; everything else may be called by any other meanwhile.
    """

    def __init__(
        self,
        root: Path,
        max_listed: int = MAX_LISTED,
        opened: Callable[[list[str], bool], "RustNotify"] = _opened,
    ) -> None:
        """Nothing is watched before somebody waits. From `max_listed` directories on, the root is
        watched with all that is below it."""
        self._root = root
        self._max_listed = max_listed
        self._opened = opened
        self._filter = _Filter(root, frozenset(), frozenset(), max_listed)
        self._polling = threading.Lock()  # Held while the watch is opened, read or closed.
        self._woken = threading.Event()
        self._has_news = threading.Event()
        self._is_closed = False
        self._rust: RustNotify | None = None
        # What `_rust` watches: by which filter, as which paths, and which directory the root was.
        self._watched: tuple[_Filter, tuple[str, ...], tuple[int, int]] | None = None
        self._is_stale = False
        self._n_failures = 0

    def follow(self, directories: frozenset[str], files: frozenset[str]) -> None:
        """Wake for what is in these directories, named from the root on, and for these files."""
        if not self._filter.is_of(directories, files):
            self._filter = _Filter(self._root, directories, files, self._max_listed)
            self.wake()

    def wait(self, timeout_seconds: float | None) -> None:
        """Block until there may be news, somebody calls `wake`, or the time is over.

        Raises `silence.Silence` where the system lets nobody watch, or not any more.
        """
        with self._polling:
            if self._is_closed:
                return
            # Cleared first: a wake that comes now ends the wait below.
            self._woken.clear()
            if self._has_news.is_set():
                return
            chosen = self._filter
            try:
                rust = self._current(chosen)
                if self._has_news.is_set():
                    return
                found = rust.watch(
                    _GROUP_MS, _STEP_MS, _milliseconds(timeout_seconds), self._woken
                )
            except (FileNotFoundError, NotADirectoryError):
                # The root is gone, or a directory went since it was listed.
                self._close()
                end = REOPEN_SECONDS if timeout_seconds is None else timeout_seconds
                self._woken.wait(min(end, REOPEN_SECONDS))
                self._has_news.set()
                return
            except (OSError, UnicodeError) as error:
                raise silence.not_notified(str(error)) from error
            except RuntimeError as error:
                # It would fail for good. What else it had to say is lost.
                self._close()
                self._has_news.set()
                self._n_failures += 1
                if self._n_failures >= MAX_FAILURES:
                    raise silence.not_notified(str(error)) from error
                return
        match found:
            case "signal":
                # It takes what the interrupt's handler raised.
                raise KeyboardInterrupt
            case "stop":
                self._has_news.set()  # It drops its list then.
            case "timeout":
                pass
            case changes:
                assert isinstance(changes, set)
                self._read(changes, chosen)

    def taken(self) -> bool:
        """Whether there may have been changes since this was asked last."""
        if not self._has_news.is_set():
            return False
        self._has_news.clear()
        return True

    def forget(self) -> None:
        """Drop what was reported until now: whoever calls this looks at everything."""
        rust = self._rust
        if rust is not None:
            try:
                found = rust.watch(0, 0, 1, _Always())
            except RuntimeError:
                found = "stop"  # The next wait learns of it.
            if found == "signal":
                raise KeyboardInterrupt
        self._has_news.clear()

    def wake(self) -> None:
        """End the wait of another thread, or the next one, as if there were news."""
        self._has_news.set()
        self._woken.set()

    def close(self) -> None:
        """Stop watching; ends the wait of another thread."""
        self._is_closed = True
        while not self._polling.acquire(timeout=_STEP_MS / 1000):
            self._woken.set()  # Again, as the other thread may just have begun.
        try:
            self._close()
        finally:
            self._polling.release()

    def _current(self, chosen: "_Filter") -> "RustNotify":
        """A watch of what is chosen: the one that is open, if it is that."""
        directory = identity(self._root)
        if directory is None:
            raise FileNotFoundError(self._root)
        if self._rust is not None and self._watched is not None and not self._is_stale:
            known, paths, former = self._watched
            if former == directory and known.is_covering(chosen, paths):
                self._watched = (chosen, paths, directory)
                return self._rust
        paths = chosen.paths()
        old, self._rust = self._rust, None
        try:
            # The next one is opened before this one is closed, so that nothing falls between.
            self._rust = self._opened(list(paths), chosen.is_recursive)
        finally:
            if old is not None:
                old.close()
        self._watched, self._is_stale = (chosen, paths, directory), False
        self._has_news.set()  # What came before it was watched.
        return self._rust

    def _close(self) -> None:
        rust, self._rust = self._rust, None
        if rust is not None:
            rust.close()

    def _read(self, changes: set[tuple[int, str]], chosen: "_Filter") -> None:
        for kind, path in changes:
            if not chosen.has(path):
                continue
            if kind != _MODIFIED:
                # A directory that went and came again is watched no more.
                self._is_stale |= chosen.is_listed(path)
                self._has_news.set()
            elif not os.path.isdir(path):  # noqa: PTH112 - A plain name, and many of them.
                # Windows says of a directory that it changed when something in it did, also of
                # one that nobody is interested in.
                self._has_news.set()


class _Filter:
    """What is of interest: directories of one root, and single files."""

    def __init__(
        self, root: Path, directories: frozenset[str], files: frozenset[str], max_listed: int
    ) -> None:
        # They report the real path, whatever they were given.
        self._root = os.path.realpath(root)
        self._prefix = _folded(self._root).rstrip("/") + "/"
        self._directories = directories - {""}
        self._files = files
        self._folded_directories = {_folded(name) for name in directories} | {""}
        self._folded_files = {_folded(name) for name in files}
        self.is_recursive = len(self._directories) >= max_listed

    def is_of(self, directories: frozenset[str], files: frozenset[str]) -> bool:
        """Whether it is made of these."""
        return directories - {""} == self._directories and files == self._files

    def is_covering(self, other: "_Filter", paths: tuple[str, ...]) -> bool:
        """Whether the paths that are watched for this one are right for another, too."""
        is_alike = self.is_recursive == other.is_recursive
        return self is other or (is_alike and paths == other.paths())

    def paths(self) -> tuple[str, ...]:
        """What has to be watched for it, and is there."""
        if self.is_recursive:
            beyond = (f for f in self._files if not _folded(f).startswith(self._prefix))
            return (
                self._root,
                *sorted(f for f in beyond if _is_text(f) and os.path.lexists(f)),
            )
        below = {os.path.join(self._root, *name.split("/")) for name in self._directories}  # noqa: PTH118
        # A file that is replaced takes its watch with it: only the directory tells.
        above = {os.path.dirname(file) for file in self._files}  # noqa: PTH120
        return tuple(sorted({self._root, *filter(_is_listable, below | above)}))

    def has(self, path: str) -> bool:
        """Whether a change of this path is of interest."""
        folded = _folded(path)
        if folded in self._folded_files:
            return True
        if not folded.startswith(self._prefix):
            # The root itself, or a file that was asked for and is called otherwise.
            return self.is_recursive or folded + "/" == self._prefix
        return folded[len(self._prefix) :].rpartition("/")[0] in self._folded_directories

    def is_listed(self, path: str) -> bool:
        """Whether it is a directory that is watched by itself."""
        if self.is_recursive:
            return False
        return _folded(path)[len(self._prefix) :] in self._folded_directories


class _Always:
    """A stop that has been asked for."""

    def is_set(self) -> bool:
        return True


def _folded(path: str) -> str:
    """A path as systems compare it that know no case: two that differ wake once too often."""
    return unicodedata.normalize("NFC", path).casefold().replace(os.sep, "/")


def _is_listable(path: str) -> bool:
    return _is_text(path) and os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK)  # noqa: PTH112


def _is_text(path: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in path)


def _milliseconds(seconds: float | None) -> int:
    """What `watchfiles` takes: 0 is without end."""
    return 0 if seconds is None else int(max(0.0, seconds) * 1000) + 1
