"""One process for everybody who works as this user with this version: its beginning and its lock.

The lock is held for the daemon's whole life and says that there is one. Whoever has it may
remove stale sockets; a daemon that is killed loses it without a trace.
"""

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from contextpackd import bridge, place
from contextpackd.errors import DaemonError
from contextpackd.place import Place

IDLE_SECONDS = 600.0
"""How long a daemon stays warm after its last client."""


LEAVING_SECONDS = 20.0
"""How long a daemon that took its sockets away may still hold its lock."""

_POLL_SECONDS = 0.05


class AlreadyServed(DaemonError):
    """Another daemon of this version serves this user."""

    def __init__(self, pid: str) -> None:
        super().__init__(f"a daemon is running already (process {pid or 'unknown'})")
        self.pid = pid


@dataclass(frozen=True, slots=True)
class Terms:
    """How a daemon lives."""

    place: Place
    idle_seconds: float
    is_detached: bool
    """Whether somebody waits on standard output for it to be ready, and then forgets it."""


def run(terms: Terms) -> int:
    """Serve until stopped or idle: the exit code. Raises `AlreadyServed` and `PlaceProblem`."""
    place.secure(terms.place)
    if terms.is_detached and os.fork():
        # The child goes on; whoever started us waits for this process only.
        os._exit(0)
    if terms.is_detached and not _awaited(terms.place):
        os.write(1, bridge.READY)  # Somebody else serves by now, which is as good.
        return 0
    with locked(terms.place):
        # Loading takes a second: nothing heavy before it is clear that we are the one.
        from contextpackd.serving import serve

        asyncio.run(serve(terms))
    return 0


def _awaited(found: Place) -> bool:
    """Wait until a daemon that is leaving has left; False if one serves after all."""
    for _ in range(round(LEAVING_SECONDS / _POLL_SECONDS)):
        try:
            with locked(found):
                return True
        except AlreadyServed:
            if (control := bridge.reached(found)) is not None:
                control.close()
                return False
            time.sleep(_POLL_SECONDS)
    return True


@contextlib.contextmanager
def locked(found: Place) -> Iterator[None]:
    """Hold the lock of a place. Raises `AlreadyServed` if somebody else does."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(found.lock, flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.read(handle, 32).decode("ascii", "replace")
            os.close(handle)
            raise AlreadyServed(pid) from None
        if _is_there(found, handle):
            break
        os.close(handle)  # Somebody tidied it away before we had it.
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def tidied(found: Place) -> bool:
    """Remove the place of a daemon that is gone; False if one lives there."""
    try:
        with locked(found):
            for file in (found.control, found.lsp, found.mcp, found.starting, found.lock):
                file.unlink(missing_ok=True)
            found.folder.rmdir()
    except (AlreadyServed, OSError):
        return False
    return True


def _is_there(found: Place, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), found.lock.lstat())
    except FileNotFoundError:
        return False
