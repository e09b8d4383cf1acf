"""Which paths below a root may have changed since the last question, and how that is proven.

Rules of this file:

- It decides nothing about files. A path that it names may be unchanged, gone, new or a directory;
  the caller looks at each again, at a directory with everything below it.
- It is never silent by mistake. Whatever it cannot vouch for becomes `Proof.SWEEP`: look at
  everything. That is one look; a sweep is as fresh as the moment it began.
- Only the directories that it is told of are watched, never what is below them: nobody walks
  `node_modules`. The caller tells of every directory that it lists, also of one that it left out
  for what it found in it.

How it works. On Linux the kernel queues every change in a watched directory before the call that
made it returns (`inotify`), so `touched` reads the queue to its end and has seen every write that
came before the question. It takes no thread and costs a few microseconds when nothing happened.
Other systems report late and without order, so that only a sweep proves anything there.

What a caller does, at the first question and at every later one:

    touched = watch.touched()
    survey.sweep() if touched.everything else survey.refresh(touched.paths)
    watch.follow(survey.directories(), survey.inputs())  # Where they are others than before.

Nothing is lost between looking and watching: what is watched newly is named by the next question,
since it may have changed before the watch began. For a new directory that is one more look, and
then it is quiet.

Single files outside of those directories (git's index, ignore files above the root, the user's
configuration) are compared by their stat at each question, and watched besides: for the sake of
`wait`, and of two writes within one tick of the file system's clock.

Not seen: writes through a memory map before the map is closed, writes to a file through a hard link
in a directory that is not watched, and what another machine or container changes below the file
system. A sweep now and then finds those.
"""

import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from contextpackd import inotify, silence
from contextpackd.inotify import Event, Inotify
from contextpackd.silence import Silence

# An editor's save is over in a few milliseconds. Tools that append every 100 ms (logs, test
# runners) must make one batch, not fifty.
QUIET_SECONDS = 0.2
LONGEST_BURST_SECONDS = 1.0  # What goes on for longer is passed on in parts.
# Where nothing reports changes, looking has to be cheap enough to go on forever.
LOOK_AGAIN_SECONDS = 2.0
MAX_PATHS = 20_000  # To look at so many one by one costs as much as a sweep.

_CHANGES = (
    inotify.MODIFY | inotify.CLOSE_WRITE | inotify.ATTRIB | inotify.CREATE | inotify.DELETE
    | inotify.MOVED_FROM | inotify.MOVED_TO | inotify.ONLYDIR | inotify.EXCL_UNLINK
)  # fmt: skip
_ROOT = _CHANGES | inotify.DELETE_SELF | inotify.MOVE_SELF
_BELOW = _CHANGES | inotify.DONT_FOLLOW
_FILE = (
    inotify.MODIFY | inotify.CLOSE_WRITE | inotify.ATTRIB | inotify.DELETE_SELF
    | inotify.MOVE_SELF
)  # fmt: skip
_COMES = inotify.CREATE | inotify.MOVED_TO
_COMES_OR_GOES = _COMES | inotify.DELETE


_Mark = tuple[int, int, int, int]
_ABSENT: _Mark = (0, 0, 0, 0)  # Of a file, the last one is its inode and never 0.


class Proof(StrEnum):
    """How an answer can be sure that it misses no earlier write."""

    EVENTS = "events"
    """The system reported every change until now."""
    SWEEP = "sweep"
    """Only looking at everything tells."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What may have changed since the last question."""

    paths: frozenset[str]
    """From the root on, as `os.fsdecode` gives them; a directory stands for all below it.
    Single files that are followed are named as they were given."""
    proof: Proof
    reason: str | None
    """Why only a sweep tells, for people."""

    @property
    def everything(self) -> bool:
        """Whether to look at everything; then no paths are named."""
        return self.proof is Proof.SWEEP


@dataclass(frozen=True, slots=True)
class Burst:
    """Changes that follow each other closely, by times on one clock, in seconds."""

    first: float
    last: float

    def ends_at(self) -> float:
        """When it is passed on unless something follows before."""
        return min(self.last + QUIET_SECONDS, self.first + LONGEST_BURST_SECONDS)


class Watch:
    """The changes below one root.

    One thread asks; `wait` and `close` may be called from one further thread each.
    """

    def __init__(
        self,
        root: Path,
        directories: Iterable[str],
        files: Iterable[str],
        opened: Callable[[], Inotify] = Inotify,
        mounts: Callable[[], str] = silence.mounts,
    ) -> None:
        """Begin to watch directories, paths from the root on, and single files, absolute.

        Neither need exist. The first question asks for a sweep in any case. Raises nothing:
        where the system does not report changes, `mode` and `message` say so.
        """
        self.mode = Proof.EVENTS
        self.message: str | None = None
        """What people should do about the mode, to be shown once; None if there is nothing."""
        self.n_batches = 0
        """How often the system reported something of interest: idle means never."""
        self._root = root
        self._opened = opened
        self._mounts = mounts
        self._lock = threading.Lock()
        # Held by the thread that waits for the queue, which `_lock` would keep from everybody.
        self._polling = threading.Lock()
        self._closed = threading.Event()
        self._look_again_at = 0.0
        self._queue: Inotify | None = None
        self._identity: tuple[int, int] | None = None
        self._wanted = _with_parents(directories)
        self._files = frozenset(files)
        self._marks: dict[str, _Mark] = {}
        # By what makes a watched directory's names paths, empty or ending with `/`, or by the
        # path of a single file. One watch may stand for several: a move that is not read yet.
        self._watches: dict[str, int] = {}
        self._prefixes: dict[int, set[str]] = {}
        self._paths: set[str] = set()
        self._doubt: str | None = "nothing was looked at before"
        self._is_broken = False  # Whether what `_watches` says may be wrong.
        self._is_incomplete = False  # Whether a wanted directory came back without its watch.
        with self._lock:
            self._start()

    def touched(self) -> Touched:
        """What may have changed since the last question. Sees every write before the call."""
        with self._lock:
            self._drain()
            is_other = self._queue is None or self._identity != _identity(self._root)
            if self.mode is Proof.EVENTS and is_other:
                self._doubt = "the root is another directory than before"
            if self.mode is Proof.EVENTS and (self._is_broken or is_other):
                self._start()
            elif self._is_incomplete:
                self._complete()
            self._compare_files()
            paths, doubt = frozenset(self._paths), self._doubt
            self._paths.clear()
            if self.mode is Proof.EVENTS:
                self._doubt = None
        if doubt is not None:
            return Touched(frozenset(), Proof.SWEEP, doubt)
        return Touched(paths, Proof.EVENTS, None)

    def follow(self, directories: Iterable[str], files: Iterable[str]) -> None:
        """Watch these from now on, and no others. The next question names what is new."""
        wanted, followed = _with_parents(directories), frozenset(files)
        with self._lock:
            gone = {_prefix(directory) for directory in self._wanted - wanted}
            gone |= self._files - followed
            self._wanted, self._files = wanted, followed
            self._marks = {file: mark for file, mark in self._marks.items() if file in followed}
            for prefix in gone:
                self._drop(prefix)
            if self._queue is not None:
                self._complete()
                self._compare_files()
            if self._queue is not None and self._is_pending():
                self._queue.wake()

    def wait(self, timeout_seconds: float | None) -> bool:
        """Block until changes were reported and a burst of them is over.

        False if the time is over before there were any, or the watch is closed. Where nothing is
        reported it is true every two seconds: look again.
        """
        until = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        burst: Burst | None = None
        while not self._closed.is_set():
            with self._lock:
                is_new = self._drain()
                is_pending = self._is_pending()
                is_watching = self._queue is not None
            now = time.monotonic()
            if not is_watching:
                return self._wait_to_look_again(until)
            if not is_pending:
                burst = None
            elif burst is None:
                burst = Burst(now, now)
            elif is_new:
                burst = replace(burst, last=now)
            if burst is not None and now >= burst.ends_at():
                return True
            if until is not None and now >= until:
                return is_pending
            ends = [] if burst is None else [burst.ends_at()]
            ends += [] if until is None else [until]
            with self._polling:
                if self._queue is not None:
                    self._queue.wait(min(ends) - now if ends else None)
        return False

    def close(self) -> None:
        """Stop watching; ends the wait of another thread. Later questions ask for a sweep."""
        self._closed.set()
        with self._lock:
            self._give_up(Silence("the watch is closed", None))

    # Watching.

    def _start(self) -> None:
        """Watch everything from the beginning, with a new queue."""
        self._stop()
        self._is_broken = False
        try:
            silence.check_mounts(self._mounts(), self._root, self._wanted)
            self._identity = _identity(self._root)
            try:
                self._queue = self._opened()
            except OSError as error:
                raise silence.no_queue(error) from error
            if not self._watch("", "", _ROOT):
                self._stop()
                self._doubt = "the root cannot be watched"
                return
            self._complete()
        except Silence as silent:
            self._give_up(silent)

    def _stop(self) -> None:
        queue, self._queue = self._queue, None
        self._watches.clear()
        self._prefixes.clear()
        self._is_incomplete = False
        if queue is not None:
            queue.wake()
            with self._polling:
                queue.close()

    def _give_up(self, silent: Silence) -> None:
        self._stop()
        self._paths.clear()
        self.mode = Proof.SWEEP
        self.message = silent.message
        self._doubt = silent.reason

    def _complete(self) -> None:
        """Watch what is wanted and not watched yet, and name it: nobody saw it until now."""
        self._is_incomplete = False
        try:
            added: set[str] = set()
            for directory in sorted(self._wanted):  # Parents first.
                prefix = _prefix(directory)
                if prefix not in self._watches and self._watch(directory, prefix, _BELOW):
                    added.add(directory)
            if added:
                silence.check_mounts(self._mounts(), self._root, self._wanted)
        except Silence as silent:
            self._give_up(silent)
            return
        for directory in added:
            if directory.rpartition("/")[0] not in added:  # It stands for all below it.
                self._report(directory)

    def _watch(self, path: str, prefix: str, mask: int) -> bool:
        """Whether a directory or file is watched now. Raises `Silence` at the limit."""
        assert self._queue is not None
        try:
            watch = self._queue.add(str(self._root / path), mask)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                raise silence.no_watches() from error
            # It is gone, or may not be read and so not be listed either. The directory above it
            # reports when that changes.
            return False
        self._watches[prefix] = watch
        self._prefixes.setdefault(watch, set()).add(prefix)
        return True

    def _drop(self, prefix: str) -> None:
        watch = self._watches.pop(prefix, None)
        if watch is not None:
            self._prefixes[watch].discard(prefix)
            if not self._prefixes[watch] and self._queue is not None:
                del self._prefixes[watch]
                self._queue.remove(watch)

    def _compare_files(self) -> None:
        """Name the single files that are others than at the last question."""
        try:
            for file in self._files if self._queue is not None else ():
                mark = _mark(file)
                if mark != self._marks.get(file):
                    self._drop(file)  # The watch may be of what stood there before.
                # Watched first and marked then, so that no change falls between the two.
                is_file = mark[-1] != 0
                if is_file and file not in self._watches and self._watch(file, file, _FILE):
                    mark = _mark(file)
                if mark != self._marks.get(file):
                    self._marks[file] = mark
                    self._report(file)
        except Silence as silent:
            self._give_up(silent)

    # Reading what was reported.

    def _drain(self) -> bool:
        """Whether something of interest was reported."""
        is_new = False
        for event in self._queue.events() if self._queue is not None else ():
            is_new |= self._take(event)
        self.n_batches += is_new
        return is_new

    def _take(self, event: Event) -> bool:
        if event.mask & inotify.Q_OVERFLOW:
            # A move may be among what was lost: from here on no watch is believed.
            self._doubt = "more changes at once than the system can report"
            self._is_broken = True
            return True
        if event.mask & inotify.IGNORED:
            for prefix in self._prefixes.pop(event.watch, ()):
                del self._watches[prefix]
            return False
        # Unknown is what was dropped while its events were on their way.
        prefixes = tuple(self._prefixes.get(event.watch, ()))
        for prefix in prefixes:
            if event.name:
                self._take_entry(prefix + event.name, event.mask)
            elif prefix in self._files:
                self._report(prefix)
            elif prefix:
                self._report(prefix.removesuffix("/"))
            else:
                self._doubt = "the root itself was changed"
        return bool(prefixes)

    def _take_entry(self, path: str, mask: int) -> None:
        self._report(path)
        if not mask & inotify.ISDIR:
            return
        below = path + "/"
        if mask & inotify.MOVED_FROM and below in self._watches:
            # Its watches went with it and would go on reporting under the old name.
            for moved in [known for known in self._watches if known.startswith(below)]:
                self._drop(moved)
        elif mask & _COMES_OR_GOES:
            self._drop(below)
        if mask & _COMES and path in self._wanted:
            self._is_incomplete = True

    def _report(self, path: str) -> None:
        if self._doubt is None:
            self._paths.add(path)
            if len(self._paths) > MAX_PATHS:
                self._paths.clear()
                self._doubt = f"more than {MAX_PATHS} paths changed"

    def _is_pending(self) -> bool:
        return bool(self._paths) or self._doubt is not None

    def _wait_to_look_again(self, until: float | None) -> bool:
        end = self._look_again_at if until is None else min(until, self._look_again_at)
        if self._closed.wait(max(0.0, end - time.monotonic())):
            return False
        now = time.monotonic()
        if now < self._look_again_at:
            return False
        self._look_again_at = now + LOOK_AGAIN_SECONDS
        return True


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _mark(file: str) -> _Mark:
    """The stat of a file as far as it tells of change; of a directory only which one it is."""
    try:
        status = os.stat(file)  # noqa: PTH116 - Half the time of `Path.stat`.
    except (OSError, ValueError):
        return _ABSENT
    if stat.S_ISDIR(status.st_mode):
        return (status.st_dev, status.st_ino, 0, 0)  # Its times change with every name in it.
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _prefix(directory: str) -> str:
    return directory and directory + "/"


def _with_parents(directories: Iterable[str]) -> frozenset[str]:
    """These and all above them up to the root, since a watch reports nothing of its own name."""
    wanted = {""}
    for directory in directories:
        path = directory
        while path not in wanted:
            wanted.add(path)
            path = path.rpartition("/")[0]
    return frozenset(wanted)
