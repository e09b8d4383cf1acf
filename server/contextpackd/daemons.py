"""Every daemon of this user, of whichever version: who they are, and how they end.

Its lock says that a daemon lives, and names its process. One that newer code has retired has no
control socket any more: nothing can be asked of it, and a signal ends it.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

from contextpackd import bridge, place
from contextpackd.bridge import Control, Json
from contextpackd.errors import DaemonError
from contextpackd.place import Place, PlaceProblem

# A daemon whose loop lives answers at once; of the others their lock tells.
STATUS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Daemon:
    """One that lives."""

    place: Place
    pid: int
    standing: Json | None
    """What it says of itself; None where it cannot be asked, or does not answer."""


class Unending(DaemonError):
    """A daemon that was told to end and did not."""

    def __init__(self, pid: int, reason: str) -> None:
        super().__init__(f"process {pid} did not end: {reason}")
        self.pid = pid


def daemons() -> list[Daemon]:
    """All that live, that of this code first."""
    return [found for one in place.places() if (found := _daemon(one)) is not None]


def end(daemon: Daemon) -> None:
    """Have a daemon leave, and wait until it has. Raises `Unending`."""
    try:
        if bridge.stopped(daemon.place):
            return
        with _lock(daemon.place) as handle:
            # Held by it still: the number is no other process' yet.
            if handle is not None and _is_held(handle):
                os.kill(daemon.pid, signal.SIGTERM)
                _wait_for(handle)
    except (OSError, DaemonError) as error:
        raise Unending(daemon.pid, str(error)) from error


def _daemon(found: Place) -> Daemon | None:
    try:
        place.check(found)
        with _lock(found) as handle:
            if handle is None or not _is_held(handle):
                return None
            pid = int(os.pread(handle, 32, 0))
    except (OSError, ValueError, PlaceProblem):
        return None  # None of ours, or one that is just beginning.
    return Daemon(found, pid, _standing(found))


def _standing(found: Place) -> Json | None:
    try:
        connection = bridge.connected(found.control, STATUS_SECONDS)
    except (OSError, PlaceProblem):
        return None
    with contextlib.closing(Control(connection, STATUS_SECONDS)) as control:
        return control.ask({"do": "status"})


@contextlib.contextmanager
def _lock(found: Place) -> Iterator[int | None]:
    try:
        handle = os.open(found.lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _is_held(handle: int) -> bool:
    import fcntl  # Unix only, as sockets are.

    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(handle, fcntl.LOCK_UN)
    return False


def _wait_for(handle: int) -> None:
    import fcntl  # Unix only, as sockets are.

    fcntl.flock(handle, fcntl.LOCK_SH)
