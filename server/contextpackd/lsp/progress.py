"""Work-done progress of one request, for clients that show it."""

import asyncio
import time
import uuid
from concurrent.futures import Future

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

# A bar that moves more often costs messages and shows nothing more.
REPORT_EVERY_SECONDS = 0.1


class WorkDone:
    """The progress of one request, under the client's token or under one that it agrees to.

    Work never waits for the client's consent, and a client that refuses gets none.
    """

    def __init__(
        self, server: LanguageServer, title: str, token: types.ProgressToken | None
    ) -> None:
        self._server = server
        self._title = title
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._token = token
        self._has_begun = False
        self._is_over = False
        self._reported = 0.0
        self._created: asyncio.Task[None] | None = None

    def __enter__(self) -> "WorkDone":
        window = self._server.client_capabilities.window
        if self._token is not None:
            self._begin(self._token)
        elif window is not None and window.work_done_progress:
            self._created = asyncio.ensure_future(self._create())
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        if self._has_begun and self._token is not None:
            self._end(self._token)

    def report(self, done: int, total: int) -> None:
        """So many files of so many are done. Callable from any thread."""
        now = time.monotonic()
        if now - self._reported >= REPORT_EVERY_SECONDS:
            self._reported = now
            self._loop.call_soon_threadsafe(self._report, done, total)

    async def _create(self) -> None:
        token = f"contextpack-{uuid.uuid4()}"
        params = types.WorkDoneProgressCreateParams(token)
        method = types.WINDOW_WORK_DONE_PROGRESS_CREATE
        try:
            await self._server.protocol.send_request_async(method, params)
        except (JsonRpcException, asyncio.CancelledError):
            return
        self._token = token
        self._begin(token)
        if self._is_over:  # The client made room for it and waits for its end.
            self._end(token)

    def _begin(self, token: types.ProgressToken) -> None:
        tokens = self._server.protocol.progress.tokens
        if token in tokens:
            return  # The client uses its token twice: the first request has it.
        self._has_begun = True
        stop: Future[None] = Future()
        stop.add_done_callback(self._stopped)
        tokens[token] = stop
        begin = types.WorkDoneProgressBegin(self._title, cancellable=True, percentage=0)
        self._server.protocol.progress.begin(token, begin)

    def _report(self, done: int, total: int) -> None:
        if self._token is None or not self._has_begun or self._is_over or not total:
            return
        report = types.WorkDoneProgressReport(
            cancellable=True, message=f"{done}/{total} files", percentage=done * 100 // total
        )
        self._server.protocol.progress.report(self._token, report)

    def _end(self, token: types.ProgressToken) -> None:
        self._server.protocol.progress.tokens.pop(token, None)
        self._server.protocol.progress.end(token, types.WorkDoneProgressEnd())

    def _stopped(self, stop: Future[None]) -> None:
        if stop.cancelled() and self._task is not None and not self._is_over:
            self._task.cancel()
