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
Other systems report late and without order, so that only a sweep proves anything there, before
each answer; what they report (`notifier`) ends a `wait` earlier, and no more.

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
system. A sweep now and then finds those: `touched` asks for one when the last is long ago, and
`wait` ends for it.
"""

import errno
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from contextpackd import inotify, silence
from contextpackd.bursts import Burst
from contextpackd.inotify import Event, Inotify
from contextpackd.marks import Mark, identity, mark_of
from contextpackd.notifier import Notifier
from contextpackd.silence import Silence

# Where nothing reports changes, looking has to be cheap enough to go on forever.
LOOK_AGAIN_SECONDS = 2.0
# Where changes are reported and some are not: a third of a second each time at 100 000 files.
SWEEP_AGAIN_SECONDS = 300.0
# Where reports may get lost without a word, as Windows loses them in every larger checkout.
NOTIFIED_SWEEP_AGAIN_SECONDS = 30.0
MAX_PATHS = 20_000  # To look at so many one by one costs as much as a sweep.

# On Linux without inotify `watchfiles` would look at every file by itself. Where a limit is reached
# it would meet the same one, and what a file system does not report it does not hear either.
NOTIFIER = None if sys.platform == "linux" else Notifier

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
        notifier: Callable[[Path], Notifier] | None = NOTIFIER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to watch directories, paths from the root on, and single files, absolute.

        Neither need exist. The first question asks for a sweep in any case. Raises nothing:
        where the system does not report changes, `mode` and `message` say so. `notifier` wakes
        those who wait where there is no inotify (`opened` raises `ENOSYS`). `clock` is monotonic,
        in seconds.
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
        self._clock = clock
        # The time of the last change that was seen, and of the last sweep that was asked for.
        self._changed_at = -math.inf
        self._swept_at = clock()
        self._look_again_at = -math.inf  # Where only a sweep proves anything.
        self._new_notifier = notifier
        self._notifier: Notifier | None = None
        self._is_notified = False  # Whether it told of changes since the last question.
        self._heard_since = math.inf  # Since when it is listened to without a break.
        self._queue: Inotify | None = None
        self._identity: tuple[int, int] | None = None
        self._wanted = _with_parents(directories)
        self._files = frozenset(files)
        self._marks: dict[str, Mark] = {}
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
            is_other = self._queue is None or self._identity != identity(self._root)
            if self.mode is Proof.EVENTS and is_other:
                self._doubt = "the root is another directory than before"
            if self.mode is Proof.EVENTS and (self._is_broken or is_other):
                self._start()
            elif self._is_incomplete:
                self._complete()
            self._compare_files()
            if self._notifier is not None:
                self._notifier.forget()
            paths, doubt = frozenset(self._paths), self._doubt
            if doubt is None and self._clock() >= self._due_at():
                doubt = f"nothing was looked at for {SWEEP_AGAIN_SECONDS:.0f} seconds"
            self._paths.clear()
            self._is_notified = False
            if self.mode is Proof.EVENTS:
                self._doubt = None
            if doubt is not None:
                self._swept_at = self._clock()
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
            if self._notifier is not None:
                self._notifier.follow(wanted, followed)

    def wait(self, timeout_seconds: float | None) -> bool:
        """Block until changes were reported and a burst of them is over, or a sweep is due.

        False if the time is over before there were any, or the watch is closed. A burst that has
        begun is waited for to its end, at most 1.2 seconds longer. Where nothing is reported it is
        true every two seconds: look again.
        """
        began = self._clock()
        until = math.inf if timeout_seconds is None else began + timeout_seconds
        burst: Burst | None = None
        calm_since = math.inf  # What is pending when a wait begins may belong to a longer run.
        while not self._closed.is_set():
            with self._lock:
                changed_at = self._changed_at
                is_new = self._drain()
                is_pending = self._is_pending()
                due_at = self._due_at()
                source = self._queue or self._notifier
            now = self._clock()
            if source is None:
                return self._wait_to_look_again(until)
            if not is_pending:
                burst = None
                calm_since = self._calm_since(source, began)
            elif burst is None:
                burst = Burst.began(now, max(calm_since, changed_at))
            elif is_new:
                burst = burst.extended(now)
            is_over = burst is not None and now >= burst.ends_at()
            if is_over or now >= due_at:
                # Soon after a burst: what is reported late, or lost, is found then.
                rest = LOOK_AGAIN_SECONDS if is_over else NOTIFIED_SWEEP_AGAIN_SECONDS
                self._look_again_at = now + rest
                self._heard_since = math.inf
                return True
            if now >= until and burst is None:
                return False
            self._wait_for(source, min(due_at, burst.ends_at() if burst else until) - now)
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
        is_elsewhere = False  # Whether this is a system without inotify.
        try:
            silence.check_mounts(self._mounts(), self._root, self._wanted)
            self._identity = identity(self._root)
            try:
                self._queue = self._opened()
            except OSError as error:
                is_elsewhere = error.errno == errno.ENOSYS
                raise silence.no_queue(error) from error
            if not self._watch("", "", _ROOT):
                self._stop()
                self._doubt = "the root cannot be watched"
                return
            self._complete()
        except Silence as silent:
            self._give_up(silent)
        if is_elsewhere and self._new_notifier is not None:
            self._notifier = self._new_notifier(self._root)
            self._notifier.follow(self._wanted, self._files)
            self._look_again_at = self._clock() + NOTIFIED_SWEEP_AGAIN_SECONDS

    def _stop(self) -> None:
        queue, self._queue = self._queue, None
        notifier, self._notifier = self._notifier, None
        self._watches.clear()
        self._prefixes.clear()
        self._is_incomplete = False
        if queue is not None:
            queue.wake()
            with self._polling:
                queue.close()
        if notifier is not None:
            notifier.close()

    def _give_up(self, silent: Silence) -> None:
        self._stop()
        self._paths.clear()
        self.mode = Proof.SWEEP
        self.message = silent.message
        self._doubt = silent.reason
        self._look_again_at = -math.inf

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
                mark = mark_of(file)
                if mark != self._marks.get(file):
                    self._drop(file)  # The watch may be of what stood there before.
                # Watched first and marked then, so that no change falls between the two.
                is_file = mark[-1] != 0
                if is_file and file not in self._watches and self._watch(file, file, _FILE):
                    mark = mark_of(file)
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
        if self._notifier is not None and self._notifier.taken():
            is_new = self._is_notified = True
        if is_new:
            self.n_batches += 1
            self._changed_at = self._clock()
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
        if self.mode is Proof.SWEEP:
            return self._is_notified
        return bool(self._paths) or self._doubt is not None

    # Waiting.

    def _due_at(self) -> float:
        """When to look at everything even if nothing is reported."""
        if self.mode is Proof.SWEEP:
            return self._look_again_at
        return self._swept_at + SWEEP_AGAIN_SECONDS

    def _calm_since(self, source: Inotify | Notifier, began: float) -> float:
        """Since when no change is pending, but for those that were seen."""
        if source is self._queue:
            return -math.inf  # It was read to its end, and keeps everything meanwhile.
        self._heard_since = min(self._heard_since, began)
        return self._heard_since

    def _wait_for(self, source: Inotify | Notifier, seconds: float) -> None:
        if isinstance(source, Inotify):
            with self._polling:
                if self._queue is source:
                    source.wait(seconds)
            return
        try:
            source.wait(seconds)
        except Silence as silent:
            with self._lock:
                if not self._closed.is_set():
                    self._give_up(silent)

    def _wait_to_look_again(self, until: float) -> bool:
        end = min(until, self._look_again_at)
        if self._closed.wait(max(0.0, end - self._clock())):
            return False
        now = self._clock()
        if now < self._look_again_at:
            return False
        self._look_again_at = now + LOOK_AGAIN_SECONDS
        return True


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
