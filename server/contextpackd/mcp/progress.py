"""How far a tool's work is, for clients that asked to hear of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable

REPORT_EVERY_SECONDS = 0.1
"""A bar that moves more often costs messages and shows nothing more."""

Send = Callable[[float, float | None, str | None], Awaitable[None]]


class Reporter:
    """The progress of one call. The protocol wants it to grow, and nothing after the answer."""

    def __init__(
        self, send: Send, *, is_wanted: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send = send
        self._clock = clock
        self._is_wanted = is_wanted
        self._loop = asyncio.get_running_loop()
        self._reported = -REPORT_EVERY_SECONDS
        self._done = 0
        self._sending: asyncio.Task[None] | None = None

    def report(self, done: int, total: int) -> None:
        """So many files of so many are done. Callable from any thread."""
        now = self._clock()
        if self._is_wanted and done and now - self._reported >= REPORT_EVERY_SECONDS:
            self._reported = now
            self._loop.call_soon_threadsafe(self._report, done, total)

    async def end(self) -> None:
        """Nothing is sent from now on."""
        self._is_wanted = False
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait({self._sending})

    def _report(self, done: int, total: int) -> None:
        is_busy = self._sending is not None and not self._sending.done()
        if not self._is_wanted or is_busy or done <= self._done:
            return
        self._done = done
        self._sending = asyncio.ensure_future(self._told(done, total))

    async def _told(self, done: int, total: int) -> None:
        of = f"{done}/{total}" if total else str(done)
        await self._send(done, total or None, f"{of} files")
