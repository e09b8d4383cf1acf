"""A client of the servers over real pipes or sockets, which keeps account of messages.

Editors' messages have a header, agents' are lines; everything else is alike.
"""

import contextlib
import json
import os
import queue
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from contextpackd.bridge import Control, connected
from contextpackd.place import NAME, Place, PlaceProblem

LIMIT_SECONDS = 60.0
"""How long anything may take here before the test fails: machines are busy."""

Message = dict[str, Any]


class Refused(Exception):
    """An error as an answer."""

    def __init__(self, error: Message) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data")


class Client:
    """One connection. Every message that comes must be taken by somebody."""

    def __init__(
        self, incoming: IO[bytes], outgoing: IO[bytes], *, is_agent: bool = False
    ) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._is_agent = is_agent
        self._inbox: queue.Queue[Message | None] = queue.Queue()
        self.untaken: list[Message] = []
        self.taken: list[Message] = []
        """Everything that came, in order."""
        self.answers: dict[str, object] = {"window/workDoneProgress/create": None}
        """What the server's requests are answered with, by method."""
        self._last_id = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # Sending.

    def send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        if self._is_agent:
            self.write(body + b"\n")
            return
        self.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def write(self, data: bytes) -> None:
        self._outgoing.write(data)
        self._outgoing.flush()

    def notify(self, method: str, params: object = None) -> None:
        self.send({"method": method, **self._params(params)})

    def begin(self, method: str, params: object = None) -> int:
        """Send a request; the answer is taken by `answer`."""
        self._last_id += 1
        self.send({"id": self._last_id, "method": method, **self._params(params)})
        return self._last_id

    def request(self, method: str, params: object = None) -> Any:
        return self.answer(self.begin(method, params))

    def command(self, name: str, argument: object = None, **params: object) -> Any:
        return self.request("workspace/executeCommand", command(name, argument, **params))

    def _params(self, params: object) -> Message:
        # The one protocol has null for none, the other has none.
        return {} if self._is_agent and params is None else {"params": params}

    def hang_up(self) -> None:
        """Close our end of what we write to."""
        self._outgoing.close()

    def close(self) -> None:
        """Close our streams, after the server has closed its own."""
        self._reader.join(LIMIT_SECONDS)
        for stream in (self._incoming, self._outgoing):
            with contextlib.suppress(OSError):
                stream.close()

    # Receiving.

    def answer(self, msg_id: object) -> Any:
        message = self.wait_for(lambda m: m.get("id") == msg_id and "method" not in m)
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def notification(self, method: str) -> Any:
        return self.wait_for(lambda m: m.get("method") == method and "id" not in m)["params"]

    def wait_for_request(self, method: str) -> Message:
        """The server's next request of this kind, answered from `answers`."""
        while True:
            came = self._next()
            assert came is not None, "the server left"
            self.taken.append(came)
            if came.get("method") == method and "id" in came:
                self._reply(came)
                return came
            self.untaken.append(came)

    def wait_for(self, is_wanted: Callable[[Message], bool]) -> Message:
        for message in self.untaken:
            if is_wanted(message):
                self.untaken.remove(message)
                return message
        while True:
            came = self._next()
            if came is None:
                self._inbox.put(None)
                raise AssertionError(f"the server left; so far: {self._seen()}")
            self.taken.append(came)
            if "method" in came and "id" in came and came["method"] in self.answers:
                self._reply(came)
            elif is_wanted(came):
                return came
            else:
                self.untaken.append(came)

    def end(self) -> list[Message]:
        """Wait for the server's end; what came and nobody took."""
        while (message := self._next()) is not None:
            self.taken.append(message)
            if message.get("method") not in self.answers:
                self.untaken.append(message)
        return self.untaken

    def _next(self) -> Message | None:
        try:
            return self._inbox.get(timeout=LIMIT_SECONDS)
        except queue.Empty:
            raise AssertionError(f"nothing came; so far: {self._seen()}") from None

    def _seen(self) -> list[str]:
        return [json.dumps(message)[:300] for message in self.taken]

    def _reply(self, message: Message) -> None:
        answer = self.answers[message["method"]]
        if isinstance(answer, Refused):
            error = {"code": answer.code, "message": answer.message}
            self.send({"id": message["id"], "error": error})
        else:
            self.send({"id": message["id"], "result": answer})

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while self._is_agent and (line := self._incoming.readline()):
                # Output that is no protocol is a message that nobody takes.
                is_message = line.startswith(b'{"jsonrpc":"2.0",')
                self._inbox.put(json.loads(line) if is_message else {"stray": repr(line)})
            while not self._is_agent:
                length = None
                while line := self._incoming.readline():
                    if line == b"\r\n":
                        break
                    name, _, value = line.partition(b":")
                    # Anything but a header here is output that is no protocol.
                    assert name in (b"Content-Length", b"Content-Type"), line
                    if name == b"Content-Length":
                        length = int(value)
                if length is None:
                    break
                body = self._incoming.read(length)
                self._inbox.put(json.loads(body))
        self._inbox.put(None)

    # Life.

    def initialize(
        self, *roots: Path, capabilities: object = None, options: object = None
    ) -> Any:
        folders = [{"uri": root.as_uri(), "name": root.name} for root in roots]
        result = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "capabilities": capabilities or {},
                "rootUri": None,
                "workspaceFolders": folders,
                "initializationOptions": options,
            },
        )
        self.notify("initialized", {})
        return result

    def shut_down(self) -> None:
        self.request("shutdown")
        self.notify("exit")


def command(name: str, argument: object = None, **params: object) -> Message:
    arguments = {} if argument is None else {"arguments": [argument]}
    return {"command": f"contextpack.{name}", **arguments, **params}


class Process:
    """A server process with its client."""

    def __init__(self, *arguments: str, env: Mapping[str, str], cwd: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "contextpackd", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=cwd,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        is_agent = arguments[:1] == ("mcp",)
        self.client = Client(self.process.stdout, self.process.stdin, is_agent=is_agent)

    def finish(self) -> int:
        """Shut down by the book; everything must have been taken, and stderr be empty."""
        self.client.shut_down()
        return self.ended()

    def ended(self) -> int:
        """The exit code of a server that has been told to go."""
        untaken = self.client.end()
        code = self.process.wait(LIMIT_SECONDS)
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        self.close()
        assert (b"", []) == (said, untaken)
        return code

    def close(self) -> None:
        """Whatever happened: the process is gone afterwards."""
        self.process.kill()
        self.process.wait(LIMIT_SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class House:
    """A private place for daemons, and the processes that tests start around it."""

    def __init__(self) -> None:
        # Socket paths are short: the tests' own directory would be too long a name.
        self.folder = Path(tempfile.mkdtemp(prefix="cpd", dir="/tmp"))
        self.env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(self.folder),
            # Where daemons are looked for as well: not among those of whoever runs the tests.
            "TMPDIR": str(self.folder),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }
        self.processes: list[Process] = []
        self.daemons_of_ours: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str, cwd: Path | None = None) -> Process:
        process = Process(*arguments, env=self.env, cwd=cwd or self.folder)
        self.processes.append(process)
        return process

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "contextpackd", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.env,
            cwd=self.folder,
            timeout=LIMIT_SECONDS,
            check=False,
        )

    def daemons(self) -> list[int]:
        """The processes that serve from here, as the system knows them."""
        found = []
        for pid in self.everything():
            with contextlib.suppress(OSError):
                if b"daemon" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                    found.append(pid)
        return found

    def everything(self) -> list[int]:
        """All processes that run here, as the system knows them."""
        marker = f"XDG_RUNTIME_DIR={self.folder}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):
                    variables = (folder / "environ").read_bytes().split(b"\0")
                    if any(variable.startswith(marker) for variable in variables):
                        found.append(int(folder.name))
        return found

    def close(self) -> None:
        """End everything that was started here; nothing is left."""
        for process in self.processes:
            process.close()
        for daemon in self.daemons_of_ours:
            daemon.kill()
            daemon.wait(LIMIT_SECONDS)
        # As `contextpackd stop` does, which would load for longer than most tests take; also
        # where the runtime directory has too long a name.
        for folder in self.folder.glob(f"{NAME}*/*"):
            # What is no socket has no daemon; those that are left are found below.
            with contextlib.suppress(OSError, PlaceProblem):
                control = Control(connected(Place(folder).control), LIMIT_SECONDS)
                with contextlib.closing(control):
                    control.ask({"do": "stop"})
        left = [pid for pid in self.daemons() if not has_ended(pid)]
        for pid in left:
            os.kill(pid, 9)
        shutil.rmtree(self.folder)
        assert left == []


@contextlib.contextmanager
def house() -> Iterator[House]:
    found = House()
    try:
        yield found
    finally:
        found.close()


def has_ended(pid: int) -> bool:
    """Whether a process that is none of our children ends, if it has only begun to start, too."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], LIMIT_SECONDS)[0])
    finally:
        os.close(descriptor)


def socket_client(connection: socket.socket, *, is_agent: bool = False) -> Client:
    """A client of an open socket, which ends with the client's streams."""
    streams = connection.makefile("rb"), connection.makefile("wb")
    client = Client(*streams, is_agent=is_agent)
    connection.close()
    return client
