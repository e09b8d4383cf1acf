"""A process that loads a vocabulary and counts with it while this one does something else.

To load a vocabulary takes half a second in which no other thread of a process runs, as long as
the rest of a warm start. So the first answer of a process has another one do it meanwhile and
count in its place; a second after that this process loads the vocabulary, and counts by itself,
which is quicker.

`python -m contextpackd.tokenizer ENCODING` is the other process: a list of texts and a number of
threads come on standard input, counts go to standard output, both by `marshal`, which is the
quickest of the standard library and meets the same Python at both ends. It imports nothing of
this project, and ends when its input does.

Where pipes cannot be waited for (Windows), with one processor, when it does not start, takes too
long or goes, the caller counts by itself.
"""

import marshal
import os
import select
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextpack.tokens import Encoding
    from contextpackd.counters import Elsewhere

# Two hundred times what a large pack's texts take; after that something is wrong over there.
DEADLINE_SECONDS = 10.0
# After the first answer: until it was sent and read.
QUIET_SECONDS = 1.0
_READ_BYTES = 1 << 16
_HEAD_BYTES = 4


@contextmanager
def ahead(encoding: "Encoding") -> Iterator["Elsewhere | None"]:
    """Counting elsewhere while the body runs; None where this process counts by itself.

    That is so from the second time on, and where it has the vocabulary already.
    """
    # What the other process does not import stands inside of functions.
    from contextpackd import counters, pool

    remote = None
    if pool.CAN_WAIT and pool.n_cpus() > 1 and counters.begin_elsewhere(encoding):
        with suppress(OSError):
            remote = Remote(encoding)
    try:
        yield remote.counts if remote else None
    finally:
        if remote:
            remote.close()
            _load_soon(encoding)


def _load_soon(encoding: "Encoding") -> None:
    """Load the vocabulary here while nobody waits, so that no later answer has to."""
    from contextpackd import counters

    later = threading.Timer(QUIET_SECONDS, counters.load, [encoding])
    later.daemon = True  # A process that ends meanwhile needs none.
    later.start()


class Remote:
    """The other process and its pipes, for one thread at a time."""

    def __init__(self, encoding: "Encoding") -> None:
        """Start it. Raises `OSError`."""
        from contextpackd import child

        self.process = child.started("contextpackd.tokenizer", encoding.value, is_quiet=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input = self.process.stdin.fileno()
        self._output = self.process.stdout.fileno()
        os.set_blocking(self._input, False)
        self._is_well = True

    def counts(self, texts: list[str], n_threads: int) -> list[int] | None:
        """The tokens of each text; None where that process has no answer."""
        if not self._is_well:
            return None
        until = time.monotonic() + DEADLINE_SECONDS
        try:
            self._write(_framed((texts, n_threads)), until)
            n_bytes = int.from_bytes(self._read(_HEAD_BYTES, until), "little")
            found: list[int] | None = marshal.loads(self._read(n_bytes, until))
        except OSError:
            self._is_well = False
            return None
        return found

    def _write(self, data: bytes, until: float) -> None:
        view = memoryview(data)
        while view:
            _await((), (self._input,), until)
            with suppress(BlockingIOError):
                view = view[os.write(self._input, view) :]

    def _read(self, n_bytes: int, until: float) -> bytes:
        parts: list[bytes] = []
        while n_bytes > 0:
            _await((self._output,), (), until)
            part = os.read(self._output, min(n_bytes, _READ_BYTES))
            if not part:
                raise BrokenPipeError
            parts.append(part)
            n_bytes -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """End the process. It keeps nothing, and may be at any point."""
        from contextpackd import child

        self._is_well = False
        child.ended(self.process)


def _await(readable: tuple[int, ...], writable: tuple[int, ...], until: float) -> None:
    """Wait for one of the pipes. Raises `TimeoutError`."""
    poll = select.poll()
    for descriptor in readable:
        poll.register(descriptor, select.POLLIN)
    for descriptor in writable:
        poll.register(descriptor, select.POLLOUT)
    if not poll.poll(1000 * max(0.0, until - time.monotonic())):
        raise TimeoutError


def _framed(content: tuple[list[str], int] | list[int] | None) -> bytes:
    data = marshal.dumps(content)
    return len(data).to_bytes(_HEAD_BYTES, "little") + data


def main() -> None:
    """Count for one owner until it goes."""
    from signal import SIG_IGN, SIGINT, signal

    import toktok

    signal(SIGINT, SIG_IGN)  # Ctrl-C is for the owner, which ends this one.
    encoding, questions = sys.argv[1], sys.stdin.buffer
    toktok.batch_count([""], encoding, 1)
    while len(head := questions.read(_HEAD_BYTES)) == _HEAD_BYTES:
        data = questions.read(int.from_bytes(head, "little"))
        try:
            texts, n_threads = marshal.loads(data)
            found = toktok.batch_count(texts, encoding, n_threads)
        except UnicodeEncodeError:
            found = None  # Lone surrogates: the owner knows what to do with them.
        except (EOFError, ValueError):
            return  # The owner died while it wrote.
        sys.stdout.buffer.write(_framed(found))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
