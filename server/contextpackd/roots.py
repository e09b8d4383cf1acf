"""The workspaces of this process, one per root. Each is touched by its own one thread only.

How it works: a question goes into the queue of its root's thread and comes back to the event
loop; a caller that gives up leaves the queue at once, or stops the work at its next step. Texts
of open buffers go through the same queue, so that an answer sees every edit that came before
its question. Everything but the jobs runs on the event loop's thread.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from contextpackd.errors import Stopped
from contextpackd.grammars import Grammars
from contextpackd.workspace import Progress, Scan, Workspace

# Workspaces that stay warm although no client has their folder open; the one that was asked
# longest ago goes first. A root of 3 000 files holds about 60 MB.
MAX_WARM_ROOTS = 8

T = TypeVar("T")

Job = Callable[[Workspace, Progress], T]
"""A question to a workspace, answered on its thread."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What one client has in a buffer now."""

    owner: str
    """The connection: the buffers of one that closes give way to another's, or to the disk."""
    file: str
    """An absolute path; for a document that is no local file its URI."""
    version: int
    text: str | None
    """None when the buffer was closed."""


class Kind(StrEnum):
    """What may have changed an answer."""

    SAVE = "save"
    EDIT = "edit"
    FILES = "files"
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a root's answers may be other ones than before."""

    kind: Kind
    uris: tuple[str, ...] = ()


Listener = Callable[[Path, Cause], None]


class Held:
    """One root: its workspace, its thread, and what its last answer saw."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.n_users = 0
        self.scan: Scan | None = None
        """Of the last answer; None until the first is through."""
        self.done, self.total = 0, 0
        """How far the running scan is, in files."""
        # Threads are cheap until their first job.
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="workspace")


class Roots:
    """The workspaces by root. `edit` is what a workspace does with an open buffer's text."""

    def __init__(
        self, grammars: Grammars, edit: Callable[[Workspace, Edit], None] | None = None
    ) -> None:
        self._grammars = grammars
        self._edit = edit
        self._held: dict[Path, Held] = {}
        self._listeners: list[Listener] = []
        self._stops: set[threading.Event] = set()

    @property
    def held(self) -> tuple[Held, ...]:
        """What is warm, the one that was asked longest ago first."""
        return tuple(self._held.values())

    def open(self, root: Path) -> Held:
        """The root for one more client; `close` gives it back."""
        held = self._warm(root)
        held.n_users += 1
        return held

    def close(self, root: Path) -> None:
        """One client less for a root."""
        held = self._held.get(root)
        if held is not None:
            held.n_users = max(0, held.n_users - 1)
            self._cool()

    async def ask(self, root: Path, job: Job[T], progress: Progress) -> T:
        """The job's result. `progress` is called on the workspace's thread.

        Being cancelled stops the job when it next reports progress; what it had found out by
        then stays known.
        """
        held = self._warm(root)
        stop = threading.Event()
        self._stops.add(stop)

        def report(done: int, total: int) -> None:
            if stop.is_set():
                raise Stopped(str(root))
            held.done, held.total = done, total
            progress(done, total)

        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(held.thread, lambda: job(held.workspace, report))
        finally:
            stop.set()
            self._stops.discard(stop)

    def saw(self, root: Path, scan: Scan) -> None:
        """Keep what an answer was made from, for those who ask how the root stands."""
        held = self._held.get(root)
        if held is not None:
            held.scan = scan

    def is_indexed(self, root: Path) -> bool:
        """Whether some answer about a root has been through."""
        held = self._held.get(root)
        return held is not None and held.scan is not None

    def progress_of(self, root: Path) -> tuple[int, int]:
        """How many files of a root's scan are done, and of how many; zeros before it began."""
        held = self._held.get(root)
        return (held.done, held.total) if held is not None else (0, 0)

    def edit(self, edit: Edit, cause: Cause) -> None:
        """Let the workspaces that hold a file know its buffer's text, and the listeners."""
        for held in self._around(edit.file):
            if self._edit is not None:
                held.thread.submit(self._edit, held.workspace, edit)
                self._tell(held.workspace.root, cause)

    def touched(self, files: Iterable[str], cause: Cause) -> None:
        """Files may have changed on disk: tell who listens to the roots that hold them."""
        seen: set[Path] = set()
        for file in files:
            for held in self._around(file):
                if held.workspace.root not in seen:
                    seen.add(held.workspace.root)
                    self._tell(held.workspace.root, cause)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call this for every change from now on, until the result is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def stop(self) -> None:
        """Stop what runs and take nothing more. Threads end at their jobs' next step."""
        for stop in tuple(self._stops):
            stop.set()
        for held in self._held.values():
            held.thread.shutdown(wait=False, cancel_futures=True)
        self._held.clear()

    def _warm(self, root: Path) -> Held:
        held = self._held.pop(root, None) or Held(Workspace(root, self._grammars))
        self._held[root] = held
        self._cool(keep=root)
        return held

    def _cool(self, keep: Path | None = None) -> None:
        idle = [root for root, held in self._held.items() if not held.n_users and root != keep]
        for root in idle[: max(0, len(idle) - MAX_WARM_ROOTS)]:
            self._held.pop(root).thread.shutdown(wait=False)

    def _around(self, file: str) -> list[Held]:
        path = Path(file)
        return [held for root, held in self._held.items() if path.is_relative_to(root)]

    def _tell(self, root: Path, cause: Cause) -> None:
        for listener in tuple(self._listeners):
            listener(root, cause)
