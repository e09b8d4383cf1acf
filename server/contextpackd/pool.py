"""Worker processes that make facts: a bad file costs that file, and nothing waits for it.

Rules:

- A worker does its files in the order in which they were sent and answers each. So the first
  that it has not answered is the one it is at, and the one that it dies of.
- A file that takes longer than the deadline ends its worker (by the worker's own alarm) and is
  `too-slow`. One that a worker dies of is tried once more, since a worker may be killed by
  anybody; the second time it is `crashed`. All others that the worker had go to another.
- A worker that is at one file for a while gives back what it has not begun.
- What is read ahead of the workers is bounded in bytes.
- Results are taken, and work is sent, while somebody iterates over `made`; in between nothing
  runs here. One call at a time.

Where pipes cannot be waited for (Windows), or no worker starts, files are read in this process,
without a deadline.
"""

import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import TracebackType

from contextpack.model import Reason
from contextpackd import worker
from contextpackd.child import TASK_BYTES, Child
from contextpackd.worker import Job, Kit, Made, Task

DEADLINE_SECONDS = 7.0  # Real files of a megabyte take half a second on a busy machine.
MAX_WORKERS = 8  # Each holds about 100 MB, most of it the tokenizer's vocabulary.

# A question after a save must not wait for a process to start; more files are faster in several.
INLINE_FILES = 8
# Parsers can be slow where no limit of steps helps (16 KB of `s{` take C#'s two seconds). A
# larger text always goes where a deadline stands over it.
INLINE_BYTES = 1 << 15

BATCH_BYTES = 1 << 15  # Of one frame, unless one file is larger: some ten files.
# Ahead of each worker: a tenth of a second of its work, for which the caller may be busy.
AHEAD_BYTES = 1 << 18

STALL_SECONDS = 0.5  # At one file: by far most take milliseconds.
POLL_SECONDS = 0.05  # How late a cancellation or a stall may be noticed.
GRACE_SECONDS = 1.0  # After the deadline, for a worker that its own alarm did not end.
START_SECONDS = 60.0
MAX_FAILED_STARTS = 3
# Workers are replaced as often as this, and once more for each so many files that came back:
# if nearly every file kills its worker, the fault is not the files'.
FREE_DEATHS = 16
FILES_PER_DEATH = 16

CAN_WAIT = os.name == "posix"
"""Whether a process' pipes can be waited for."""


def fits_inline(n_files: int, largest_bytes: int) -> bool:
    """Whether so few small files are better read by `Pool.inline` than wait for a worker to start.

    A worker that runs already costs one or two milliseconds more than that.
    """
    return n_files <= INLINE_FILES and largest_bytes <= INLINE_BYTES


class Pool:
    """Worker processes, started when there is work for them and kept until `close`."""

    def __init__(
        self,
        n_workers: int | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        tools: Kit | None = None,
    ) -> None:
        self._crew = _Crew(n_workers or min(n_cpus(), MAX_WORKERS), deadline_seconds)
        self._tools = tools
        self._is_running = False

    def __enter__(self) -> "Pool":
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def inline(self, job: Job) -> Made:
        """The same result as a worker's, made in this process. No deadline stands over it."""
        if self._tools is None:
            self._tools = worker.kit()
        return worker.made(job, self._tools)

    def made(self, jobs: Iterable[Job], *, is_cancelled: Callable[[], bool]) -> Iterator[Made]:
        """A result for each job, as they come, in any order.

        `jobs` is read as far ahead as the workers need. When `is_cancelled` says so, or the
        iterator or the pool is closed, the rest is dropped; the workers stay.
        """
        assert not self._is_running, "one call at a time"
        self._is_running = True
        try:
            yield from _Run(self._crew, jobs, self.inline).results(is_cancelled)
        finally:
            self._is_running = False

    def close(self) -> None:
        """End the workers, whatever they are doing. Another `made` starts new ones."""
        self._crew.disband()

    @property
    def pids(self) -> tuple[int, ...]:
        """The running workers' process ids."""
        return tuple(one.process.pid for one in self._crew.children)

    @property
    def n_started(self) -> int:
        """Processes so far: more than there are workers if some had to be replaced."""
        return self._crew.n_started


class _Crew:
    """The processes of a pool."""

    def __init__(self, n_most: int, deadline_seconds: float) -> None:
        self.children: list[Child] = []
        self.deadline_seconds = deadline_seconds
        self.n_started = 0
        self.n_disbanded = 0
        self._n_most = n_most
        self._n_failed_starts = 0
        self._n_tasks = 0

    def start(self) -> Child | None:
        """Another process, unless there are enough or the system refuses."""
        is_broken = self._n_failed_starts >= MAX_FAILED_STARTS
        if not CAN_WAIT or is_broken or len(self.children) >= self._n_most:
            return None
        try:
            started = Child(self.deadline_seconds)
        except OSError:
            self._n_failed_starts += 1
            return None
        self.n_started += 1
        self.children.append(started)
        return started

    def bury(self, child: Child) -> int:
        """Have done with a child, and give its exit code."""
        self.children.remove(child)
        self._n_failed_starts = 0 if child.is_ready else self._n_failed_starts + 1
        return child.end()

    def disband(self) -> None:
        """End all of them."""
        self.n_disbanded += 1
        while self.children:
            self.children.pop().end()

    def next_number(self) -> int:
        """A number for a task that none had before."""
        self._n_tasks += 1
        return self._n_tasks


class _Run:
    """One call of `Pool.made`: what is still to be answered, and by whom."""

    def __init__(self, crew: _Crew, jobs: Iterable[Job], inline: Callable[[Job], Made]) -> None:
        self.crew = crew
        self.source = iter(jobs)
        self.inline = inline
        self.jobs: dict[int, Job] = {}
        """By the number of the task. Results with another number are of an earlier call."""
        self.holders: dict[int, Child] = {}
        """To whom a task was sent last."""
        self.waiting: deque[int] = deque()
        """Tasks to be sent next: those that were taken back, or one that is new."""
        self.tried: set[int] = set()
        """Tasks that a worker has died of once."""
        self.n_done = 0
        self.n_deaths = 0

    def results(self, is_cancelled: Callable[[], bool]) -> Iterator[Made]:
        n_disbanded = self.crew.n_disbanded
        while not is_cancelled() and n_disbanded == self.crew.n_disbanded:
            self._feed()
            if not self.jobs:
                return
            if self.crew.children:
                yield from self._turn()
            elif self._has_work():
                number = self.waiting.popleft()
                yield self._answered(number, self.inline(self.jobs[number]))

    def _feed(self) -> None:
        """Send work to whoever has little, and start workers while all have some."""
        while self._has_work() and (child := self._hungry()):
            batch = self._batch()
            child.send([self._task(number) for number in batch])
            self.holders.update(dict.fromkeys(batch, child))

    def _has_work(self) -> bool:
        """Whether a task waits to be sent; the next job becomes one if none does."""
        while self.waiting and self.waiting[0] not in self.jobs:
            self.waiting.popleft()  # It was answered after it had been taken back.
        if not self.waiting and (job := next(self.source, None)) is not None:
            number = self.crew.next_number()
            self.jobs[number] = job
            self.waiting.append(number)
        return bool(self.waiting)

    def _hungry(self) -> Child | None:
        least = min(
            (
                child
                for child in self.crew.children
                if child.n_bytes < AHEAD_BYTES and not child.is_stalled
            ),
            key=lambda child: child.n_bytes,
            default=None,
        )
        if least is None or least.sent:
            return self.crew.start() or least
        return least

    def _batch(self) -> list[int]:
        numbers: list[int] = []
        n_bytes = 0
        while n_bytes < BATCH_BYTES and self._has_work():
            numbers.append(self.waiting.popleft())
            n_bytes += len(self.jobs[numbers[-1]].data) + TASK_BYTES
        return numbers

    def _task(self, number: int) -> Task:
        job = self.jobs[number]
        return number, job.path.encode("utf-8", "surrogatepass"), job.language, job.data

    def _turn(self) -> Iterator[Made]:
        """Wait until some worker has something to say or can take more, or a moment."""
        children = list(self.crew.children)
        poll = select.poll()
        for child in children:
            poll.register(child.output, select.POLLIN)
            if child.unwritten:
                poll.register(child.input, select.POLLOUT)
        ready = {descriptor for descriptor, _ in poll.poll(POLL_SECONDS * 1000)}
        found: list[Made] = []
        for child in children:
            if child.input in ready:
                child.write()
            if child.output in ready:
                results, is_alive = child.read()
                for result in results:
                    if job := self.jobs.get(result[0]):
                        made = worker.made_of(result, job.id)
                        found.append(self._answered(result[0], made))
                if not is_alive:
                    found += self._bury(child)
                    continue
            found += self._check(child)
        yield from found
        if self.n_deaths > FREE_DEATHS + self.n_done // FILES_PER_DEATH:
            yield from self._given_up()

    def _answered(self, number: int, found: Made) -> Made:
        del self.jobs[number]
        self.holders.pop(number, None)
        self.n_done += 1
        return found

    def _check(self, child: Child) -> list[Made]:
        """Look after a worker that is at one file for long."""
        seconds = time.monotonic() - child.since
        if not child.is_ready:
            return self._bury(child) if seconds > START_SECONDS else []
        if child.sent and seconds > self.crew.deadline_seconds + GRACE_SECONDS:
            return self._bury(child, is_overdue=True)
        others = [other for other in self.crew.children if other is not child]
        if (
            seconds > STALL_SECONDS
            and len(child.sent) > 1
            and not child.is_stalled
            and not all(other.is_stalled for other in others)
        ):
            child.is_stalled = True
            self._take_back(child, n_begun=1)
        return []

    def _take_back(self, child: Child, n_begun: int) -> None:
        """Let others have the tasks after those, unless others have them already."""
        numbers = dict.fromkeys(number for number, _ in islice(child.sent, n_begun, None))
        held = [number for number in numbers if self.holders.get(number) is child]
        for number in held:
            del self.holders[number]
        self.waiting.extendleft(reversed(held))

    def _bury(self, child: Child, *, is_overdue: bool = False) -> list[Made]:
        """The result of the file that a worker ended at, if that is one already."""
        code = self.crew.bury(child)
        found: list[Made] = []
        if child.is_ready:
            self.n_deaths += 1
            number = child.sent[0][0] if child.sent else 0
            if number in self.jobs:
                if is_overdue or code == -signal.SIGALRM:
                    rule = f"not read within {self.crew.deadline_seconds:g} seconds"
                    found.append(self._failed(number, Reason.TOO_SLOW, rule))
                elif number in self.tried:
                    found.append(self._failed(number, Reason.CRASHED, _cause(code)))
                else:
                    self.tried.add(number)
        self._take_back(child, n_begun=0)
        return found

    def _failed(self, number: int, reason: Reason, rule: str) -> Made:
        return self._answered(number, Made(self.jobs[number].id, reason, rule))

    def _given_up(self) -> Iterator[Made]:
        rule = "not tried: too many files before it ended their worker"
        for number in list(self.jobs):
            yield self._failed(number, Reason.CRASHED, rule)
        for job in self.source:
            self.n_done += 1
            yield Made(job.id, Reason.CRASHED, rule)


def _cause(code: int) -> str:
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"its worker ended with exit code {code}"
    return f"its worker was ended by {name}"


def n_cpus() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
