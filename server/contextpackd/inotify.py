"""Linux's own change events, one watch a directory.

Rules of this file:

- It knows the kernel's words and nothing of workspaces.
- It can be imported everywhere; `Inotify()` raises `OSError` where the system has no inotify.

How it works: the kernel queues an event before the call that caused it returns, so whoever reads
the queue to its end has seen every earlier write of every process on this machine. Nothing has to
run in between: no thread, no polling, no cookie file. What was written through a memory map is
queued when the last map of the file is gone, as `CLOSE_WRITE`.

Not `watchfiles`, on Linux: it drops the queue's overflow, fails for good on the first name that is
not UTF-8, takes no further directories, holds the interpreter while it adds them, and looks
every millisecond when nothing happens. Source: inotify(7), and `inotify.rs` of `notify` 8.0.
"""

import ctypes
import errno
import os
import select
import struct
import sys
from dataclasses import dataclass

if sys.platform == "linux":
    import fcntl
    import termios

MODIFY = 0x2
ATTRIB = 0x4
CLOSE_WRITE = 0x8
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
UNMOUNT = 0x2000
Q_OVERFLOW = 0x4000
IGNORED = 0x8000
"""The kernel has dropped the watch, because it was told to or because the directory is gone."""
ONLYDIR = 0x1000000
DONT_FOLLOW = 0x2000000
EXCL_UNLINK = 0x4000000
ISDIR = 0x40000000

_HEADER = struct.Struct("iIII")  # Watch, mask, cookie of a rename, bytes of the padded name.
_COUNT = struct.Struct("i")


@dataclass(frozen=True, slots=True)
class Event:
    """What happened in a watched directory, or to it if `name` is empty."""

    watch: int
    mask: int
    name: str


class Inotify:
    """One queue of events. Everything but `wait` and `wake` needs the caller's lock."""

    def __init__(self) -> None:
        """Raises `OSError`, with `EMFILE` at the user's limit of queues."""
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "no inotify on this system")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        try:
            self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        except OSError:
            os.close(self._queue)
            raise
        self._poll = select.poll()
        self._poll.register(self._queue, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)

    def add(self, directory: str, mask: int) -> int:
        """The watch of a directory: the old one if it has one already, under whatever name.

        Raises `OSError`, with `ENOSPC` at the user's limit of watches.
        """
        path = os.fsencode(directory)
        return self._checked(self._libc.inotify_add_watch(self._queue, path, mask), directory)

    def remove(self, watch: int) -> None:
        """Drop a watch, which may be gone already."""
        self._libc.inotify_rm_watch(self._queue, watch)

    def events(self) -> list[Event]:
        """All events that were queued before this call, oldest first. Does not wait."""
        # Not read until it is empty: a busy writer could keep that from ever coming true.
        counted = fcntl.ioctl(self._queue, termios.FIONREAD, bytes(_COUNT.size))
        (n_bytes,) = _COUNT.unpack(counted)
        data = os.read(self._queue, n_bytes) if n_bytes else b""
        events = []
        at = 0
        while at < len(data):
            watch, mask, _, n_name = _HEADER.unpack_from(data, at)
            at += _HEADER.size
            name = os.fsdecode(data[at : at + n_name].rstrip(b"\0"))
            events.append(Event(watch, mask, name))
            at += n_name
        return events

    def wait(self, timeout_seconds: float | None) -> None:
        """Block until there are events, somebody calls `wake`, or the time is over."""
        # Rounded up: a wait of half a millisecond must not become a busy loop.
        timeout = None if timeout_seconds is None else int(max(0.0, timeout_seconds) * 1000) + 1
        for descriptor, _ in self._poll.poll(timeout):
            if descriptor == self._wake:
                os.eventfd_read(self._wake)

    def wake(self) -> None:
        """End the wait of another thread, or the next one."""
        os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """Give the queue and all its watches back. No thread may be in `wait`."""
        os.close(self._queue)
        os.close(self._wake)

    @staticmethod
    def _checked(result: int, directory: str | None = None) -> int:
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), directory)
        return result
