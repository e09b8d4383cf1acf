"""One worker process: how it is started, and its pipes, at which nothing here ever waits."""

import errno
import os
import subprocess
import sys
import sysconfig
import time
from collections import deque
from pathlib import Path

from contextpack import codec
from contextpackd import worker
from contextpackd.worker import LENGTH_BYTES, Result, Task

MODULE = worker.__name__  # What a process runs; benchmarks compare it with less work.
TASK_BYTES = 512  # What a file costs beside its bytes, so that empty ones are bounded, too.
PIPE_BYTES = 1 << 19  # So that neither side waits for the other's turn.
READ_BYTES = 1 << 18


class Child:
    """One process: its pipes, and the numbers of the tasks that it has not answered."""

    def __init__(self, deadline_seconds: float) -> None:
        """Start it. Raises `OSError`."""
        self.process = started(MODULE, str(deadline_seconds))
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input = self.process.stdin.fileno()
        self.output = self.process.stdout.fileno()
        for descriptor in (self.input, self.output):
            os.set_blocking(descriptor, False)
            _widen(descriptor)
        self.sent: deque[tuple[int, int]] = deque()
        """The tasks that it has not answered, each with its bytes. One may stand here twice."""
        self.n_bytes = 0
        self.unwritten = bytearray()
        self.unread = bytearray()
        self.is_ready = False
        self.is_stalled = False
        self.since = time.monotonic()
        """When it began with the first of its tasks, or was started."""

    def send(self, tasks: list[Task]) -> None:
        """Send a frame, of which the pipe takes what it can and `write` sends the rest."""
        if not self.sent and self.is_ready:
            self.since = time.monotonic()
        for number, _, _, data in tasks:
            n_bytes = len(data) + TASK_BYTES
            self.sent.append((number, n_bytes))
            self.n_bytes += n_bytes
        self.unwritten += worker.frame(tasks)
        self.write()

    def write(self) -> None:
        """Send what the pipe takes now. A worker that went is noticed when it is read."""
        try:
            while self.unwritten:
                del self.unwritten[: os.write(self.input, self.unwritten)]
        except BlockingIOError:
            pass
        except OSError:
            self.unwritten.clear()

    def read(self) -> tuple[list[Result], bool]:
        """The results that are there now, and whether the worker is alive."""
        is_alive = True
        try:
            while part := os.read(self.output, READ_BYTES):
                self.unread += part
            is_alive = False
        except BlockingIOError:
            pass
        results: list[Result] = []
        place = 0
        while len(self.unread) - place >= LENGTH_BYTES:
            begin = place + LENGTH_BYTES
            end = begin + int.from_bytes(self.unread[place:begin], "little")
            if end > len(self.unread):
                break
            if begin == end:
                self.is_ready = True
            else:
                results.append(worker.RESULT.decode(memoryview(self.unread)[begin:end]))
            place = end
            self.since = time.monotonic()
        del self.unread[:place]
        for number, *_ in results:
            first, n_bytes = self.sent.popleft()
            assert first == number, "workers answer in order"
            self.n_bytes -= n_bytes
        if results:
            self.is_stalled = False
        return results, is_alive

    def end(self) -> int:
        """Kill it, unless it has ended by itself, and give its exit code."""
        return ended(self.process)


def started(module: str, argument: str, *, is_quiet: bool = False) -> subprocess.Popen[bytes]:
    """A process that runs a module of ours, with pipes to it. Raises `OSError`.

    A quiet one says nothing on standard error.
    """
    if not sys.executable:
        raise OSError(errno.ENOENT, "nobody knows where this Python is")
    return subprocess.Popen(
        # With `-P` nothing is imported from the current directory.
        [sys.executable, "-P", *_flags(), "-m", module, argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if is_quiet else None,
        bufsize=0,
        cwd="/",
        env=_environment(),
        process_group=0,  # Ctrl-C and the terminal's other signals are for the owner.
    )


def ended(process: subprocess.Popen[bytes]) -> int:
    """Kill a process, unless it has ended by itself, close the pipes to it, and give its code."""
    process.kill()
    code = process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    return code


def _widen(descriptor: int) -> None:
    try:
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        pass  # Only Linux can, up to a limit for each user.


def _flags() -> list[str]:
    return ["-s"] if sys.flags.no_user_site else []


def _environment() -> dict[str, str]:
    """The variables of a worker: it imports what this process does, and has one thread."""
    variables = dict(os.environ)
    if sys.flags.ignore_environment:
        variables = {k: v for k, v in variables.items() if not k.startswith("PYTHON")}
    # Both packages: a worker has to make the facts that this process would make.
    roots = [str(Path(file).parents[1]) for file in (codec.__file__, worker.__file__)]
    # Site packages come after the standard library, and what is on this path before it.
    ours = [root for root in dict.fromkeys(roots) if root not in _site_packages()]
    theirs = variables.get("PYTHONPATH", "").split(os.pathsep)
    variables["PYTHONPATH"] = os.pathsep.join([*ours, *filter(os.path.isabs, theirs)])
    return variables | {"OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


def _site_packages() -> frozenset[str]:
    return frozenset(map(sysconfig.get_path, ("purelib", "platlib")))
