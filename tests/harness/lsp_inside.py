"""Language servers inside of the test's process: one event loop on a thread, any clients."""

import asyncio
import contextlib
import socket
import threading
import time
from collections import UserDict
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from contextpackd.grammars import Grammars, grammars
from contextpackd.lsp import connection
from contextpackd.lsp.session import Shared
from contextpackd.roots import Backing, Roots
from contextpackd.standing import standing
from contextpackd.workspace import Workspace
from harness.lsp_client import LIMIT_SECONDS, Client, socket_client

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: object) -> object:
        return method


T = TypeVar("T")


class Gate(UserDict[str, Any]):
    """The grammars, counting the texts that ask for one; at the n-th, work waits."""

    def __init__(self, at: int) -> None:
        super().__init__(grammars())
        self._at = at
        self.n_texts = 0
        self.reached = threading.Event()
        self.go_on = threading.Event()

    @override
    def get(self, language: str, default: Any = None) -> Any:
        self.n_texts += 1
        if self.n_texts == self._at:
            self.reached.set()
            assert self.go_on.wait(LIMIT_SECONDS)
        return super().get(language, default)


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
        for client in self._served:
            client.close()

    async def _serve(self, theirs: socket.socket) -> int:
        reader, writer = await asyncio.open_connection(
            sock=theirs, limit=connection.MAX_HEADER_BYTES
        )
        return await connection.serve(reader, writer, self._shared, self._types)


@contextlib.contextmanager
def inside(used: Grammars | None = None, **options: Any) -> Iterator[Inside]:
    compiled = used if used is not None else grammars()
    found = Inside(Backing(make=lambda root: Workspace(root, compiled), **options))
    try:
        yield found
    finally:
        found.close()
