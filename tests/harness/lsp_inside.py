"""Servers inside of the test's process: one event loop on a thread, any clients."""

import asyncio
import contextlib
import dataclasses
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from contextpackd.agents import MAX_LINE_BYTES, Start
from contextpackd.backing import backing
from contextpackd.disk import Discovery
from contextpackd.lsp import connection
from contextpackd.lsp.session import Shared
from contextpackd.mcp import connection as agents_connection
from contextpackd.roots import Backing, Roots
from contextpackd.standing import standing
from contextpackd.store import Store
from contextpackd.view import Progress
from contextpackd.workspace import Engine, Scan, Workspace, engine, never
from harness.lsp_client import LIMIT_SECONDS, Client, socket_client

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: object) -> object:
        return method


T = TypeVar("T")


class Gate:
    """Counts the files that workspaces are done with; at the n-th, work waits."""

    def __init__(self, at: int) -> None:
        self._at = at
        self.n_texts = 0
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def passed(self) -> None:
        self.n_texts += 1
        if self.n_texts == self._at:
            self.reached.set()
            assert self.go_on.wait(LIMIT_SECONDS)


class Gated(Workspace):
    """A workspace whose work goes through a gate."""

    def __init__(self, root: Path, shared: Engine, gate: Gate) -> None:
        super().__init__(root, shared)
        self._gate = gate

    @override
    def scan(
        self,
        discovery: Discovery,
        progress: Progress = lambda _done, _total: None,
        is_cancelled: Callable[[], bool] = never,
        *,
        with_graph: bool = False,
    ) -> Scan:
        def gated(done: int, total: int) -> None:
            if done:
                self._gate.passed()
            progress(done, total)

        return super().scan(discovery, gated, is_cancelled, with_graph=with_graph)


class Inside:
    """The loop, the roots and the clients."""

    def __init__(self, used: Backing) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self.roots = Roots(used)
        self._shared = Shared(self.roots, standing(self.roots, "test", None, time.monotonic))
        self._types = connection.converter()
        self._served: dict[Client, Future[int]] = {}
        self._sockets: list[socket.socket] = []

    def connect(self) -> Client:
        ours, theirs = socket.socketpair()
        self._sockets.append(ours)
        served = asyncio.run_coroutine_threadsafe(self._serve(theirs), self.loop)
        client = socket_client(ours)
        self._served[client] = served
        return client

    def agent(self, *roots: Path) -> Client:
        """A client of the other protocol, whose server was started with these roots."""
        ours, theirs = socket.socketpair()
        self._sockets.append(ours)
        started = Start(roots=tuple(map(str, roots)))
        served = asyncio.run_coroutine_threadsafe(self._serve_agent(theirs, started), self.loop)
        client = socket_client(ours, is_agent=True)
        self._served[client] = served
        return client

    def exit_code(self, client: Client) -> int:
        """Of a client's connection, once the server is through with it."""
        return self._served[client].result(LIMIT_SECONDS)

    def hang_up(self, client: Client) -> None:
        """The client is gone, as one that was killed."""
        number = list(self._served).index(client)
        self._sockets[number].shutdown(socket.SHUT_RDWR)

    def on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(LIMIT_SECONDS)

    def close(self) -> None:
        for connected in self._sockets:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
        for served in self._served.values():
            served.result(LIMIT_SECONDS)
        self.loop.call_soon_threadsafe(self.roots.stop)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(LIMIT_SECONDS)
        self.loop.close()
        assert self.roots.ended(LIMIT_SECONDS)
        for client in self._served:
            client.close()

    async def _serve_agent(self, theirs: socket.socket, started: Start) -> int:
        reader, writer = await asyncio.open_connection(sock=theirs, limit=MAX_LINE_BYTES)
        about = self._shared.about
        await agents_connection.serve(reader, writer, b"", self.roots, about, started)
        return 0

    async def _serve(self, theirs: socket.socket) -> int:
        reader, writer = await asyncio.open_connection(
            sock=theirs, limit=connection.MAX_HEADER_BYTES
        )
        return await connection.serve(reader, writer, self._shared, self._types)


@contextlib.contextmanager
def inside(gate: Gate | None = None, **options: Any) -> Iterator[Inside]:
    """Servers on an engine of their own; `options` replace what stands behind the roots."""
    with tempfile.TemporaryDirectory() as folder:
        shared = engine(Store.opened(Path(folder)), n_workers=1)
        behind = backing(shared)
        if gate is not None:
            options["make"] = lambda root: Gated(root, shared, gate)
        found = Inside(dataclasses.replace(behind, **options))
        try:
            yield found
        finally:
            found.close()
