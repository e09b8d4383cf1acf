"""The stdio end that editors and agents start: bytes to the daemon and back. Standard library only.

How it works: the bridge joins the daemon on its control socket, starting it if none runs, and
keeps that connection as its life line: the daemon does not go while somebody has joined, and
says on it with which code the protocol ended. The bytes go through the protocol's own socket,
which any client may use directly. If the daemon dies, the life line ends without a word, and
the bridge exits with an error, so that the editor starts it again.
"""

import contextlib
import json
import os
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from contextpackd import place
from contextpackd.errors import DaemonError
from contextpackd.place import Place

READ_BYTES = 1 << 16

FLUSH_SECONDS = 5.0
"""How long the last bytes may take to a client that still reads."""

START_SECONDS = 60.0
"""How long a daemon may take to start: ten times what a busy machine needed."""

ANSWER_SECONDS = 10.0
"""How long an answer may take. The daemon's loop computes nothing: one that is late is stopped."""

MAX_ATTEMPTS = 5
"""A daemon may leave between being found and being joined, but not again and again."""

DAEMON_DIED = 70  # EX_SOFTWARE of sysexits.h.
CLIENT_GONE = 1
USAGE = 2

SESSION_HEADER = "Contextpackd-Session"

READY = b"ready\n"
"""What a detached daemon writes when its sockets are there."""

HAS_SOCKETS = hasattr(socket, "AF_UNIX") and os.name == "posix"
"""Elsewhere every client has its server in its own process."""

Json = dict[str, object]


class NoDaemon(DaemonError):
    """No daemon could be reached or started."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"cannot reach the daemon: {reason}; --no-daemon does without")
        self.reason = reason


class Control:
    """A connection to a daemon's control socket."""

    def __init__(self, connection: socket.socket, timeout_seconds: float | None = None) -> None:
        """With a timeout a daemon that is silent for so long counts as gone, without a word."""
        connection.settimeout(timeout_seconds)
        self._is_patient = timeout_seconds is None
        self._connection = connection
        self._stream: IO[bytes] = connection.makefile("rb")

    def ask(self, question: Json) -> Json | None:
        """The answer to a question; None if the daemon left instead.

        Raises `NoDaemon` when it does not come, where no timeout was given.
        """
        if self._is_patient:
            self._connection.settimeout(ANSWER_SECONDS)
        answer = self.heard() if self.tell(question) else None
        if self._is_patient:
            self._connection.settimeout(None)
        return answer

    def tell(self, message: Json) -> bool:
        """Say something; False if the daemon left. Raises as `ask` does."""
        try:
            self._connection.sendall(json.dumps(message).encode() + b"\n")
        except TimeoutError:
            return self._is_gone()
        except OSError:
            return False
        return True

    def heard(self) -> Json | None:
        """The next thing that the daemon says; None if it left. Raises as `ask` does."""
        try:
            line = self._stream.readline()
            found = json.loads(line) if line.endswith(b"\n") else None
        except TimeoutError:
            self._is_gone()
            return None
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def wait_for_long(self) -> None:
        """From now on answers may take any time."""
        self._connection.settimeout(None)

    def close(self) -> None:
        """Leave."""
        self._stream.close()
        self._connection.close()

    def _is_gone(self) -> bool:
        if self._is_patient:
            raise self._silent() from None
        return False

    def _silent(self) -> "NoDaemon":
        reason = f"it did not answer within {ANSWER_SECONDS:.0f} s"
        with contextlib.suppress(OSError):
            lock = Path(self._connection.getpeername()).with_name("lock")
            reason += f"; end its process {lock.read_text(encoding='ascii')} (kill -9)"
        self.close()
        return NoDaemon(reason)


def run() -> int:
    """Carry LSP between standard input, the daemon and standard output: the exit code."""
    return carry(
        lambda found: found.lsp, lambda session: f"{SESSION_HEADER}: {session}\r\n".encode()
    )


def carry(socket_of: Callable[[Place], Path], greeting: Callable[[str], bytes]) -> int:
    """Carry a protocol between standard input, its socket and standard output: the exit code.

    The greeting for a session's name goes ahead of what the client sends.
    """
    found = place.place()
    control, session = joined(found)
    connection = connected(socket_of(found))
    connection.sendall(greeting(session))
    is_open = pump(connection)
    connection.close()
    if not is_open:
        return CLIENT_GONE
    last = control.heard() or {}
    if isinstance(problem := last.get("problem"), str):
        sys.stderr.write(f"contextpackd: {problem}\n")
    code = last.get("exit")
    return code if isinstance(code, int) else DAEMON_DIED


def run_or_say() -> int:
    """The same as a whole command: a problem becomes a line on standard error."""
    try:
        return run()
    except DaemonError as error:
        sys.stderr.write(f"contextpackd: {error}\n")
        return USAGE


def pump(connection: socket.socket) -> bool:
    """Carry bytes both ways until the server's end closes; False if the client stopped reading."""
    threading.Thread(target=_upward, args=(connection,), daemon=True).start()
    while True:
        try:
            part = connection.recv(READ_BYTES)
        except OSError:
            return True
        if not part:
            return True
        try:
            while part:
                part = part[os.write(1, part) :]
        except OSError:
            return False


def joined(found: Place) -> tuple[Control, str]:
    """A daemon that counts us as a client, and our session's name. Starts one if none runs.

    Raises `NoDaemon` and `PlaceProblem`.
    """
    place.secure(found)
    for _ in range(MAX_ATTEMPTS):
        if (control := reached(found)) is not None:
            answer = control.ask({"do": "join"})
            if answer is not None and isinstance(session := answer.get("session"), str):
                return control, session
            control.close()
        _start_once(found)
    raise NoDaemon("it leaves as soon as it is there")


def reached(found: Place) -> Control | None:
    """A running daemon, or None."""
    try:
        return Control(connected(found.control))
    except (FileNotFoundError, ConnectionError):
        return None


def stopped(found: Place) -> bool:
    """Stop the daemon and wait until it is gone; False if none was running."""
    import fcntl  # Unix only, as sockets are.

    control = reached(found)
    if control is None:
        return False
    # Opened before it is asked: the lock that it has now is the one that it will let go.
    with contextlib.suppress(FileNotFoundError):
        handle = os.open(found.lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            control.ask({"do": "stop"})
            fcntl.flock(handle, fcntl.LOCK_EX)
        finally:
            os.close(handle)
    control.close()
    return True


def connected(file: Path, timeout_seconds: float | None = None) -> socket.socket:
    """A connection to a socket of ours. Raises `OSError` and `PlaceProblem`."""
    place.check_socket(file)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_seconds)
    try:
        connection.connect(os.fspath(file))
    except OSError:
        connection.close()
        raise
    return connection


def _upward(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := os.read(0, READ_BYTES):
            connection.sendall(part)
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)


def _start_once(found: Place) -> None:
    """Start a daemon, or wait until the one that does so is through. Raises `NoDaemon`."""
    with _locked(found):
        if (control := reached(found)) is not None:
            control.close()
            return
        _start()


@contextlib.contextmanager
def _locked(found: Place) -> Iterator[None]:
    import fcntl  # Unix only, as everything from here on.

    handle = os.open(
        found.starting, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _start() -> None:
    import subprocess  # Only the first client of a day needs it.

    # `-P` and the directory: nothing of the folder that the editor is in may be imported.
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "contextpackd", "daemon", "--detached"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        start_new_session=True,
    ) as process:
        # This process ends at once; the daemon is a child of it and says when it is ready.
        assert process.stdout is not None
        said = _said(process.stdout)
    if not said.endswith(READY):
        lines = said.decode("utf-8", "replace").strip().splitlines()
        raise NoDaemon(lines[-1] if lines else "it did not start")


def _said(stream: IO[bytes]) -> bytes:
    """What a starting daemon says, up to its being ready or its end."""
    said = b""
    while not said.endswith(READY):
        if not select.select([stream], [], [], START_SECONDS)[0]:
            raise NoDaemon(f"it was not ready within {START_SECONDS:.0f} s")
        part = os.read(stream.fileno(), READ_BYTES)
        if not part:
            break
        said += part
    return said
