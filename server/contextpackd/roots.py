"""The workspaces of this process, one per root. Each is touched by its own one thread only.

How it works: a question goes into the queue of its root's thread and comes back to the event
loop; a caller that gives up leaves the queue at once, or stops the work at its next step. Texts
of open buffers go through the same queue, so that an answer sees every edit that came before
its question; a workspace that is made later gets those that are open then, in their order.
Everything but the jobs runs on the event loop's thread.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from contextpack import model
from contextpack.snapshot import Snapshot
from contextpack.tokens import Profile
from contextpackd.counters import Counter
from contextpackd.disk import Discovery
from contextpackd.errors import Stopped
from contextpackd.follower import Follower
from contextpackd.joint import Joint, Site, named, shown_roots
from contextpackd.revisions import Revisions
from contextpackd.store import Info
from contextpackd.view import Progress
from contextpackd.workspace import Scan, Workspace, never

# Workspaces that stay warm although no client has their folder open; the one that was asked
# longest ago goes first. A root of 3 000 files holds about 60 MB.
MAX_WARM_ROOTS = 8

T = TypeVar("T")

Job = Callable[[Workspace, Progress], T]
"""A question to a workspace, answered on its thread."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What one client has in a buffer now."""

    owner: int
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


@dataclass(frozen=True, slots=True)
class Backing:
    """How workspaces are made, and what they can do beside answering."""

    make: Callable[[Path], Workspace]
    """Called on the event loop's thread: nothing is read yet."""
    edit: Callable[[Workspace, Edit], None] | None = None
    """Let a workspace see a buffer's text. Called on the workspace's thread."""
    close: Callable[[Workspace], None] | None = None
    """Let go of what a workspace holds. Called on its thread, last."""
    cache: Callable[[], Info] | None = None
    """What is kept between runs. Callable from any thread."""
    end: Callable[[], None] | None = None
    """Let go of what workspaces share, after the last was closed."""


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
        self.follower: Follower | None = None
        """From the first answer on: a workspace that looked at nothing watches nothing."""


class _Away:
    """A workspace that is asked from another thread than its own."""

    def __init__(self, held: Held, stop: threading.Event, queued: set[Future[Any]]) -> None:
        """`queued` takes up what waits for the workspace's thread."""
        self._held = held
        self._stop = stop
        self._queued = queued

    @property
    def roots(self) -> Mapping[str, Path]:
        """As the workspace's."""
        return self._held.workspace.roots

    @property
    def sites(self) -> Mapping[str, "_Away"]:
        """As the workspace's."""
        return {"": self}

    def scan(
        self,
        discovery: Discovery,
        progress: Progress,
        is_cancelled: Callable[[], bool] = never,
        *,
        with_graph: bool = False,
    ) -> Scan:
        """As the workspace's."""
        held = self._held

        def report(done: int, total: int) -> None:
            held.done, held.total = done, total
            progress(done, total)

        return self._there(
            lambda: held.workspace.scan(discovery, report, is_cancelled, with_graph=with_graph)
        )

    def texts(
        self, snapshot: Snapshot, paths: Iterable[model.Path], max_bytes: int
    ) -> dict[model.Path, str] | None:
        """As the workspace's."""
        return self._there(lambda: self._held.workspace.texts(snapshot, paths, max_bytes))

    def counter(self, profile: Profile) -> Counter:
        """As the workspace's, on any thread."""
        return self._held.workspace.counter(profile)

    def kept(self, ask: Callable[[Revisions], T]) -> T:
        """As the workspace's."""
        return self._there(lambda: self._held.workspace.kept(ask))

    def _there(self, work: Callable[[], T]) -> T:
        def run() -> T:
            if self._stop.is_set():
                raise Stopped(str(self._held.workspace.root))
            return work()

        try:
            done = self._held.thread.submit(run)
        except RuntimeError as error:  # The process is leaving.
            raise Stopped(str(self._held.workspace.root)) from error
        self._queued.add(done)
        try:
            return done.result()
        except CancelledError as error:
            raise Stopped(str(self._held.workspace.root)) from error
        finally:
            self._queued.discard(done)


class Roots:
    """The workspaces by root."""

    def __init__(self, backing: Backing) -> None:
        self._backing = backing
        self._held: dict[Path, Held] = {}
        self._buffers: dict[tuple[int, str], Edit] = {}
        """What is open, the latest change last."""
        self._listeners: list[Listener] = []
        self._stops: set[threading.Event] = set()
        self._n_owners = 0
        self._ending: threading.Thread | None = None

    @property
    def held(self) -> tuple[Held, ...]:
        """What is warm, the one that was asked longest ago first."""
        return tuple(self._held.values())

    @property
    def cache(self) -> Info | None:
        """What is kept between runs; None where nothing is."""
        return self._backing.cache() if self._backing.cache is not None else None

    def owner(self) -> int:
        """A number for one more connection, by which its buffers are known."""
        self._n_owners += 1
        return self._n_owners

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

    async def ask_of(
        self, where: Sequence[Path], job: Callable[[Site, Progress], T], progress: Progress
    ) -> T:
        """The job's result, of one root or of several as one."""
        if len(where) == 1:
            return await self.ask(where[0], job, progress)
        return await self.ask_joint(named(where), job, progress)

    async def ask_joint(
        self, roots: Mapping[str, Path], job: Callable[[Joint, Progress], T], progress: Progress
    ) -> T:
        """The result of a job about several roots, by their names, as `ask` for one.

        It runs on a thread of its own; whatever it asks of a root is done on that one's.
        """
        # Held open, so that none of them goes while another is asked.
        held = {name: self.open(root) for name, root in roots.items()}
        stop = threading.Event()
        self._stops.add(stop)
        queued: set[Future[Any]] = set()
        away = {name: _Away(one, stop, queued) for name, one in held.items()}

        def report(done: int, total: int) -> None:
            if stop.is_set():
                raise Stopped(shown_roots(roots))
            progress(done, total)

        try:
            return await asyncio.to_thread(lambda: job(Joint(away), report))
        finally:
            stop.set()
            self._stops.discard(stop)
            for waiting in tuple(queued):
                waiting.cancel()
            for root in roots.values():
                self.close(root)

    def saw(self, root: Path, scan: Scan) -> None:
        """Keep what an answer was made from, for those who ask how the root stands."""
        held = self._held.get(root)
        if held is None:
            return
        held.scan = scan
        if held.follower is None:
            held.follower = Follower(held.workspace, self._teller(root))
        held.follower.again()

    def saw_of(self, where: Sequence[Path], scan: Scan) -> None:
        """The same for an answer about one root or several."""
        for root, seen in [(p.root, p.scan) for p in scan.parts] or [(where[0], scan)]:
            self.saw(root, seen)

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
        self._buffers.pop((edit.owner, edit.file), None)
        if edit.text is not None:
            self._buffers[edit.owner, edit.file] = edit
        if self._backing.edit is None:
            return  # Nobody sees buffers, so no answer is another one.
        for held in self._around(edit.file):
            held.thread.submit(self._backing.edit, held.workspace, edit)
            self.changed(held.workspace.root, cause)

    def touched(self, files: Iterable[str], cause: Cause) -> None:
        """Files may have changed on disk: tell who listens to the roots that hold them."""
        seen: set[Path] = set()
        for file in files:
            for held in self._around(file):
                if held.workspace.root not in seen:
                    seen.add(held.workspace.root)
                    self.changed(held.workspace.root, cause)

    def changed(self, root: Path, cause: Cause) -> None:
        """Tell who listens that a root's answers may be other ones."""
        for listener in tuple(self._listeners):
            listener(root, cause)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call this for every change from now on, until the result is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def stop(self) -> None:
        """Stop what runs and take nothing more. Threads end at their jobs' next step."""
        for stop in tuple(self._stops):
            stop.set()
        held = list(self._held.values())
        self._held.clear()
        for one in held:
            self._end(one)
        self._ending = threading.Thread(target=self._end_all, args=(held,), name="ending")
        self._ending.start()

    def ended(self, timeout_seconds: float) -> bool:
        """Whether everything has been let go of by then, after `stop`."""
        if self._ending is not None:
            self._ending.join(timeout_seconds)
        return self._ending is not None and not self._ending.is_alive()

    def _warm(self, root: Path) -> Held:
        held = self._held.pop(root, None) or self._made(root)
        self._held[root] = held
        self._cool(keep=root)
        return held

    def _made(self, root: Path) -> Held:
        held = Held(self._backing.make(root))
        if self._backing.edit is not None:
            for edit in self._buffers.values():
                if Path(edit.file).is_relative_to(root):
                    held.thread.submit(self._backing.edit, held.workspace, edit)
        return held

    def _teller(self, root: Path) -> Callable[[], None]:
        loop = asyncio.get_running_loop()

        def tell() -> None:
            # The process may be leaving: then nobody listens.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self.changed, root, Cause(Kind.FILES))

        return tell

    def _cool(self, keep: Path | None = None) -> None:
        idle = [root for root, held in self._held.items() if not held.n_users and root != keep]
        for root in idle[: max(0, len(idle) - MAX_WARM_ROOTS)]:
            self._end(self._held.pop(root))

    def _end(self, held: Held) -> None:
        if held.follower is not None:
            held.follower.stop()
        if self._backing.close is not None:
            held.thread.submit(self._backing.close, held.workspace)
        # What waits runs: it has been told to stop, or it is the closing.
        held.thread.shutdown(wait=False)

    def _end_all(self, held: list[Held]) -> None:
        for one in held:
            one.thread.shutdown(wait=True)
        if self._backing.end is not None:
            self._backing.end()

    def _around(self, file: str) -> list[Held]:
        path = Path(file)
        return [held for root, held in self._held.items() if path.is_relative_to(root)]
