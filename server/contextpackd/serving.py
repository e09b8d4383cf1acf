"""The sockets and the clients of a daemon, and its end.

How it works: a client joins on the control socket and stays connected there; the daemon goes
when no connection of any kind has been open for the idle time. Going begins with taking the
sockets away, so that nobody joins what is leaving. Everything runs on one event loop, the
work of each root on a thread of its own (`roots`).
"""

import asyncio
import contextlib
import importlib
import json
import logging
import os
import signal
import socket
import struct
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from contextpackd import agents, bridge, daemon, envoy, journal, place
from contextpackd.backing import backing
from contextpackd.daemon import Terms
from contextpackd.errands import Errands
from contextpackd.lsp import connection
from contextpackd.lsp.session import Shared
from contextpackd.place import Place, PlaceProblem
from contextpackd.roots import Roots
from contextpackd.standing import standing
from contextpackd.wire import Json

log = logging.getLogger(__name__)

GRACE_SECONDS = 2.0
"""How long closing connections may take before the process ends."""

BACKLOG = 128

# While a thread computes, the loop waits for its turn so long at most: the default of 5 ms,
# several times in a row, is what an editor would notice.
SWITCH_SECONDS = 0.001

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def serve(terms: Terms) -> None:
    """Serve until stopped, retired or idle."""
    sys.setswitchinterval(SWITCH_SECONDS)
    await Daemon(terms, journal.keep("daemon")).serve()


class Daemon:
    """The sockets and the clients. Lives on the event loop's thread."""

    def __init__(self, terms: Terms, log_file: Path | None) -> None:
        self._terms = terms
        self._roots = Roots(backing())
        self._stand = standing(self._roots, "daemon", log_file, time.monotonic)
        self._shared = Shared(self._roots, self._status)
        self._errands = Errands(self._roots)
        self._converter = connection.converter()
        self._joined: dict[str, asyncio.StreamWriter] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []
        self._over = asyncio.Event()
        self._is_retired = False
        self._idle: asyncio.TimerHandle | None = None

    async def serve(self) -> None:
        """Open the sockets, serve, and leave when it is over."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._over.set)
        found = self._terms.place
        for file, handler, limit in (
            (found.lsp, self._serve_lsp, connection.MAX_HEADER_BYTES),
            (found.mcp, self._serve_mcp, agents.MAX_LINE_BYTES),
            (found.control, self._serve_control, envoy.MAX_QUESTION_BYTES),
        ):
            server = await asyncio.start_unix_server(
                self._tracked(handler), sock=_bound(file), limit=limit, backlog=BACKLOG
            )
            self._servers.append(server)
        self._await_idle()
        if self._terms.is_detached:
            _say_ready()
        log.info("serving at %s", found.folder)
        for other in place.siblings(found):
            await asyncio.to_thread(_retire, other)
        await self._over.wait()
        log.info("leaving")
        await self._leave()

    async def _leave(self) -> None:
        self._close_doors()
        self._roots.stop()
        for task in tuple(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=GRACE_SECONDS)
        if self._idle is not None:
            self._idle.cancel()

    def _close_doors(self) -> None:
        for server in self._servers:
            server.close()
        found = self._terms.place
        for file in (found.control, found.lsp, found.mcp):
            with contextlib.suppress(FileNotFoundError):
                file.unlink()

    # Clients.

    def _tracked(self, handler: Handler) -> Handler:
        async def tracked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            try:
                if _is_ours(writer):
                    await handler(reader, writer)
            except asyncio.CancelledError:
                pass  # The daemon leaves; the client sees its connection end.
            finally:
                self._connections.discard(task)
                writer.close()
                self._await_idle()

        return tracked

    async def _serve_lsp(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        sessions: list[str] = []
        code = await connection.serve(
            reader, writer, self._shared, self._converter, sessions.append
        )
        for session in sessions:
            if (control := self._joined.get(session)) is not None:
                _say(control, {"exit": code})

    async def _serve_mcp(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            first = await reader.readline()
        except (ValueError, ConnectionError):
            return  # A line without an end.
        greeted = agents.greeted(first)
        started, session = greeted or (agents.Start(), "")
        said: Json = {"exit": 0}
        try:
            # Elsewhere, since it takes seconds: editors are served meanwhile.
            serve = await asyncio.to_thread(_agents_server)
        except ImportError as error:
            log.error("cannot load the extra `mcp`: %s", error)
            said = {"exit": bridge.USAGE, "problem": f"cannot load the extra `mcp`: {error}"}
        else:
            rest = b"" if greeted else first
            await serve(reader, writer, rest, self._roots, self._status, started)
        if (control := self._joined.get(session)) is not None:
            _say(control, said)

    async def _serve_control(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        session = uuid.uuid4().hex
        questions = _questions(reader)
        try:
            async for question in questions:
                match question.get("do"):
                    case "join":
                        self._joined[session] = writer
                        _say(writer, {"session": session, "pid": os.getpid()})
                    case "status":
                        _say(writer, self._status())
                    case "run":
                        await self._errands.run(question, questions, writer)
                        return
                    case "stop":
                        _say(writer, {"stopping": True, "pid": os.getpid()})
                        await writer.drain()
                        self._over.set()
                    case "retire":
                        _say(writer, {"retiring": True})
                        self._retire()
                    case _:
                        _say(writer, {"error": "no such question"})
        except ConnectionError:
            pass  # The client left.
        finally:
            self._joined.pop(session, None)

    def _status(self) -> Json:
        return {
            **self._stand(),
            "nClients": len(self._joined),
            "isRetired": self._is_retired,
            "socket": str(self._terms.place.lsp),
        }

    # The end.

    def _retire(self) -> None:
        """Take no new clients and go with the last one: newer code serves from now on."""
        self._is_retired = True
        self._close_doors()
        self._await_idle()

    def _await_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        wait = 0.0 if self._is_retired else self._terms.idle_seconds
        self._idle = asyncio.get_running_loop().call_later(wait, self._end_if_idle)

    def _end_if_idle(self) -> None:
        if not self._connections:
            self._over.set()


def _agents_server() -> Callable[
    [
        asyncio.StreamReader,
        asyncio.StreamWriter,
        bytes,
        Roots,
        Callable[[], Json],
        agents.Start,
    ],
    Awaitable[None],
]:
    """What serves agents, loaded when the first of them comes. Raises `ImportError`."""
    importlib.invalidate_caches()  # The extra may have been installed while this process ran.
    from contextpackd.mcp import connection

    return connection.serve


def _bound(file: Path) -> socket.socket:
    """A socket at this path, for its owner only. Under the lock, so what is there is stale."""
    with contextlib.suppress(FileNotFoundError):
        file.unlink()
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound.bind(os.fspath(file))
    file.chmod(0o600)  # The directory has kept others out until here.
    return bound


def _is_ours(writer: asyncio.StreamWriter) -> bool:
    """Whether the other end is this user, where the system says who it is."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # The directory's permissions stand alone.
    raw = writer.get_extra_info("socket").getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
    )
    _, user, _ = struct.unpack("3i", raw)
    return user in (os.geteuid(), 0)


def _say(writer: asyncio.StreamWriter, document: Json) -> None:
    if not writer.is_closing():
        writer.write(json.dumps(document).encode() + b"\n")


async def _questions(reader: asyncio.StreamReader) -> AsyncIterator[Json]:
    """The lines of a control connection; what is no object is an empty one."""
    while True:
        try:
            line = await reader.readline()
        except ValueError:  # A line without an end.
            return
        if not line:
            return
        try:
            question = json.loads(line)
        except (ValueError, RecursionError):
            question = None
        yield question if isinstance(question, dict) else {}


def _say_ready() -> None:
    """Tell whoever started us, and let go of the pipe: it is an editor's more often than not."""
    os.write(1, bridge.READY)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _retire(other: Place) -> None:
    """Ask another version's daemon to go with its last client, or remove what it left behind."""
    try:
        place.secure(other)
        control = bridge.reached(other)
    except (OSError, PlaceProblem):
        return
    if control is None:
        daemon.tidied(other)
        return
    with contextlib.suppress(bridge.NoDaemon):  # It is stuck: nothing that we could end.
        control.ask({"do": "retire"})
        control.close()
