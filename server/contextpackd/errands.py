"""Command lines that are run here for their callers, who write the outcome where they are.

The other end is `envoy`. A caller is another process of this user: what it sends is typed text,
and its directory, screens and deciding variables are its own, never those of this process.
"""

import argparse
import asyncio
import contextlib
import io
import json
import logging
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

from contextpack.errors import PackError
from contextpackd import batch, envoy, outcomes
from contextpackd.arguments import Handler, parser, roots_of, understood
from contextpackd.disk import checked_root
from contextpackd.errors import DaemonError, OptionProblem, RootProblem, Stopped
from contextpackd.joint import Site, named
from contextpackd.outcomes import Asker
from contextpackd.output import Outcome
from contextpackd.queries import answer
from contextpackd.roots import Roots
from contextpackd.view import Progress
from contextpackd.wire import Json, answer_json
from contextpackd.workspace import Scan, Workspace

log = logging.getLogger(__name__)

REPORT_EVERY_SECONDS = 0.1


class Declined(Exception):
    """Why the caller has to run its command itself."""


class Errands:
    """The command lines of all callers. Lives on the event loop's thread."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        # Its commands are never run from here: which one was meant is all that counts.
        unused: defaultdict[str, Handler] = defaultdict(lambda: lambda _parsed: 0)
        self._parser = parser(unused)

    async def run(
        self, asked: Json, said: AsyncIterator[Json], writer: asyncio.StreamWriter
    ) -> None:
        """Run one command line; what its caller says meanwhile comes from `said`.

        A caller that leaves stops the work.
        """
        inbox: asyncio.Queue[Json] = asyncio.Queue()
        errand = _Errand(self._roots, inbox, writer)
        work = asyncio.ensure_future(self._run(errand, asked))
        hearing = asyncio.ensure_future(_hear(said, inbox))
        try:
            await asyncio.wait({work, hearing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            work.cancel()
            hearing.cancel()
            await asyncio.wait({work, hearing})
        if not work.cancelled() and (error := work.exception()) is not None:
            # The caller sees the connection end, and finds out for itself.
            log.error("a command failed", exc_info=error)

    async def _run(self, errand: "_Errand", asked: Json) -> None:
        try:
            name, parsed = self._understood(asked)
            folder = Path(_text(asked, "directory"))
            if name == "batch":
                await errand.tell({"taken": True, "batch": True, "force": parsed.force})
                await errand.batch(folder, force=parsed.force)
            else:
                await errand.tell({"taken": True})
                outcome = await errand.outcome(name, parsed, folder, _asker(asked))
                await errand.tell({"outcome": asdict(outcome)})
        except Declined as declined:
            await errand.tell({"declined": str(declined)})
        except Stopped:
            await errand.tell({"declined": "the daemon is leaving"})

    def _understood(self, asked: Json) -> tuple[str, argparse.Namespace]:
        given = asked.get("arguments")
        words = (
            [word for word in given if isinstance(word, str)] if isinstance(given, list) else []
        )
        if not words or words[0] not in envoy.COMMANDS:
            raise Declined("the daemon answers no such command")
        if asked.get("environment") != envoy.deciding(os.environ):
            raise Declined("the daemon was started with another configuration of git")
        try:
            # What it says of wrong usage is for the caller's screen: the caller asks again.
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                return words[0], understood(self._parser, words)
        except SystemExit:
            raise Declined("the daemon does not understand the command") from None


class _Errand:
    """One command line that is run."""

    def __init__(
        self, roots: Roots, inbox: "asyncio.Queue[Json]", writer: asyncio.StreamWriter
    ) -> None:
        self._roots = roots
        self._inbox = inbox
        self._writer = writer

    async def tell(self, message: Json) -> None:
        """Say something to the caller."""
        self._say(message)
        await self._writer.drain()

    async def outcome(
        self, name: str, parsed: argparse.Namespace, folder: Path, asker: Asker
    ) -> Outcome:
        """What a command of one question gives."""
        try:
            given = roots_of(parsed)
            checked = [checked_root(root, folder, force=parsed.force) for root in given]
            roots = list(named(checked).values())
        except (OptionProblem, RootProblem) as problem:
            return outcomes.refusal(problem)
        query = getattr(parsed, "query", "")
        if query == "-":
            await self.tell({"stdin": True})
            query = _text(await self._inbox.get(), "stdin")
        asked = outcomes.asked(parsed, roots, query)
        if isinstance(asked, Outcome):
            return asked

        def job(site: Site, report: Progress) -> tuple[Scan | None, Outcome]:
            return outcomes.outcome(name, asked, site, report, asker)

        is_seen = asker.err.columns is not None
        progress = self._progress() if is_seen else lambda _done, _total: None
        scan, found = await self._roots.ask_of(roots, job, progress)
        if scan is not None:
            self._roots.saw_of(roots, scan)
        return found

    async def batch(self, folder: Path, *, force: bool) -> None:
        """The answers to lines, one after the other."""
        while isinstance(line := (await self._inbox.get()).get("line"), str):
            text = await self._answered(line, folder, force=force) if line.strip() else None
            await self.tell({"answer": text})

    async def _answered(self, line: str, folder: Path, *, force: bool) -> str:
        try:
            root, request = batch.question(line, folder, force=force)

            def job(workspace: Workspace, report: Progress) -> tuple[Scan, str]:
                found = answer(workspace, request, report)
                return found.scan, batch.encoded(answer_json(found))

            scan, text = await self._roots.ask(root, job, lambda _done, _total: None)
        except Stopped:
            raise
        except (DaemonError, PackError) as error:
            return batch.encoded(batch.error_of(error))
        self._roots.saw(root, scan)
        return text

    def _progress(self) -> Progress:
        loop = asyncio.get_running_loop()
        reported = time.monotonic()

        def progress(done: int, total: int) -> None:
            nonlocal reported
            now = time.monotonic()
            if now - reported >= REPORT_EVERY_SECONDS:
                reported = now
                message: Json = {"done": done, "total": total}
                loop.call_soon_threadsafe(self._say, message)

        return progress

    def _say(self, message: Json) -> None:
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")


async def _hear(said: AsyncIterator[Json], inbox: "asyncio.Queue[Json]") -> None:
    async for message in said:
        inbox.put_nowait(message)


def _asker(asked: Json) -> Asker:
    return outcomes.asker(asked, f"the daemon (process {os.getpid()})")


def _text(message: Json, name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str):
        raise Declined(f"the daemon was told no {name}")
    return value
