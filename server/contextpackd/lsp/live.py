"""Packs that follow their root: after a change they are made again, and a new text is told."""

import asyncio
import logging
import math
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from contextpackd.errors import DaemonError, Superseded
from contextpackd.lsp.asking import answered
from contextpackd.lsp.packs import difference
from contextpackd.lsp.params import NOTIFICATION
from contextpackd.roots import Cause, Kind
from contextpackd.wire import Json

if TYPE_CHECKING:
    from contextpackd.lsp.session import Session

log = logging.getLogger(__name__)

# The first change after a pause is followed at once. "Save all" comes as a burst of messages
# within a few milliseconds: what comes so soon after another waits for the end of it.
SETTLE_SECONDS = 0.01

# While somebody goes on typing, the text of a moment ago is of no use to anybody ...
TYPING_SECONDS = 0.1
# ... but a person who never pauses sees the pack follow.
MAX_DELAY_SECONDS = 1.0

MAX_CAUSE_URIS = 20  # A checkout changes thousands.


class Live:
    """The live packs of one session. One run at a time; changes meanwhile make another one."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._pending: dict[Path, list[Cause]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._last = -math.inf
        """When the last change came, on the loop's clock."""
        self._latest = 0.0
        """When the pending changes must have been looked at, on the loop's clock."""
        self._run: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_closed = False

    def changed(self, root: Path, cause: Cause) -> None:
        """Something below a root may have changed."""
        if self._is_closed or not self._session.packs.followed(root):
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        wait = TYPING_SECONDS if cause.kind is Kind.EDIT else SETTLE_SECONDS
        if now - self._last > wait and not self._pending:
            wait = 0.0
        self._last = now
        if not self._pending:
            self._latest = now + MAX_DELAY_SECONDS
        self._pending.setdefault(root, []).append(cause)
        when = min(now + wait, self._latest)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(when, self._begin)

    def spawn(self, work: Coroutine[object, object, object]) -> None:
        """Do something beside the requests, and stop it when the session ends."""
        task: asyncio.Task[object] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def close(self) -> None:
        """Stop everything."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in tuple(self._tasks):
            task.cancel()

    def _begin(self) -> None:
        self._timer = None
        if self._run is None or self._run.done():
            self._run = asyncio.ensure_future(self._follow())
            self._tasks.add(self._run)
            self._run.add_done_callback(self._done)

    async def _follow(self) -> None:
        # What came meanwhile waits for its timer; `_begin` left to this run what was due.
        while self._pending and self._timer is None:
            pending, self._pending = self._pending, {}
            # A pack of several roots that changed is made again once.
            by_pack: dict[str, list[Cause]] = {}
            for root, causes in pending.items():
                for held in self._session.packs.followed(root):
                    by_pack.setdefault(held.pack_id, []).extend(causes)
            for pack_id, causes in by_pack.items():
                await self.follow(pack_id, causes)

    async def follow(self, pack_id: str, causes: Sequence[Cause]) -> None:
        """Make a live pack again, and tell when its text is another one."""
        held = self._session.packs.live_one(pack_id)
        if held is None:
            return
        try:
            async with held.turn:
                await self._repack(pack_id, causes)
        except Superseded as error:  # The change that it came of makes it tried again.
            log.info("%s could not follow a change: %s", pack_id, error)
        except DaemonError as error:
            # A pinned file went: until it is back the client has what was.
            problem = f"ContextPack: {pack_id} does not follow changes: {error}"
            self._session.say_once(types.MessageType.Warning, problem)

    async def _repack(self, pack_id: str, causes: Sequence[Cause]) -> None:
        packs = self._session.packs
        held = packs.live_one(pack_id)
        if held is None:
            return
        request = self._session.request(held.roots, held.fields)
        answer = await answered(
            self._session, held.roots, request, held.answer, lambda _d, _t: None
        )
        if packs.live_one(pack_id) is None:
            return
        after = packs.repacked(held, held.fields, answer)
        if after.revision == held.revision:
            return
        found = difference(held.answer, answer)
        params: Json = {
            "packId": after.pack_id,
            "revision": after.revision,
            "tokens": answer.pack.tokens,
            "added": list(found.added),
            "removed": list(found.removed),
            "changed": list(found.changed),
            "cause": _cause_json(causes),
        }
        if after.sends_text:
            params["text"] = answer.pack.text
        self._session.server.protocol.notify(NOTIFICATION, params)

    def _done(self, task: "asyncio.Task[object] | asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("following a change failed", exc_info=error)


def _cause_json(causes: Sequence[Cause]) -> Json:
    uris = dict.fromkeys(uri for cause in causes for uri in cause.uris)
    return {"kind": causes[-1].kind.value, "uris": list(uris)[:MAX_CAUSE_URIS]}
