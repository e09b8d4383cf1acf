"""The one writer of a root: brings its snapshot up to date before each answer, and saves it.

Every change to what is known of a root goes through here, in one thread at a time. What comes
out is immutable and may be read by any thread.
"""

import gc
import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import contextpack
from contextpack import model
from contextpack.snapshot import Snapshot
from contextpack.tokens import Profile
from contextpackd import disk, heap, settings
from contextpackd.counters import Counter, Counts, counter
from contextpackd.disk import Discovery, Notice, Text
from contextpackd.options import request_of
from contextpackd.past import HISTORY, UNSAVED_COMMITS, Past
from contextpackd.pool import Pool
from contextpackd.reader import Buffer, Reader
from contextpackd.revisions import Revisions
from contextpackd.store import Store
from contextpackd.texts import Texts
from contextpackd.view import PARTS, Effort, Progress, View
from contextpackd.watch import Proof, Watch
from contextpackd.worker import recipe

T = TypeVar("T")

# Views beside the one of the default discovery: each holds postings of its own.
MAX_VIEWS = 4

# New directories are watched after they were listed, and looked at once more then; a tree that
# grows faster than that has to be asked again.
MAX_ROUNDS = 4

# After so many files were read, there is memory to be given back. It takes some milliseconds.
TRIMMED_FILES = 1000

# How an answer's freshness was proven.
SCANNED = "scanned"
"""Every file was looked at after the question came."""
WATCHED = "watched"
"""The system reported every change until the question came."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What all workspaces of a process share."""

    pool: Pool
    pool_lock: threading.Lock
    """Held while the pool works for one of them."""
    store: Store
    recipe: str
    """Of facts: those of another one are not these."""
    edition: str
    """Of this program: what another one saved of a root is not read."""
    counts: Counts
    """Of the tokens of what stood in packs."""

    def close(self) -> None:
        """End the workers and close the store."""
        self.pool.close()
        self.store.close()


def engine(store: Store | None = None, n_workers: int | None = None) -> Engine:
    """An engine; without a store of one's own it uses that of the user."""
    facts = recipe()
    heap.keep_a_little()
    return Engine(
        pool=Pool(n_workers),
        pool_lock=threading.Lock(),
        store=store or Store.opened(),
        recipe=facts,
        edition=_edition(facts),
        counts=Counts(),
    )


def _edition(facts: str) -> str:
    """The recipe of facts, and what every source file of this program is told by."""
    digest = hashlib.blake2b(facts.encode(), digest_size=16)
    for home in (Path(contextpack.__file__).parent, Path(__file__).parent):
        for source in sorted(home.rglob("*.py")):
            status = source.stat()
            digest.update(f"{source} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Scan:
    """A moment of a root, and what a person should know of it."""

    snapshot: Snapshot
    notices: tuple[Notice, ...]
    unmatched_globs: tuple[str, ...]
    freshness: str
    """`SCANNED` or `WATCHED`."""
    unsaved: frozenset[model.Path]
    """The files whose text is that of an open buffer."""
    n_unread: int
    """How many files changed and were not read, because the scan was cancelled."""
    effort: Effort
    parts: tuple["Part", ...] = ()
    """The scans that this one joins; empty for that of one root."""


@dataclass(frozen=True, slots=True)
class Part:
    """The scan of one of several roots."""

    name: str
    """What the paths of its files begin with, before a `/`."""
    root: Path
    scan: Scan


@contextmanager
def _uncollected(*, serves: bool) -> Iterator[None]:
    """Do without the garbage collector: an index is a million objects that stay, without cycles.

    To look for garbage among them as they come takes a third of what it takes to read them. In
    a process that serves, the collector never looks at what is there at the end, which would
    stop every thread for a tenth of a second; what goes is freed all the same.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if serves:
            gc.freeze()
        if was_enabled:
            gc.enable()


def never() -> bool:
    """A cancellation that does not come."""
    return False


class Workspace:
    """One root. `scan` brings the snapshot up to date with the disk and the open buffers."""

    def __init__(self, root: Path, shared: Engine, *, watches: bool = False) -> None:
        self.root = root
        self._shared = shared
        self._texts = Texts()
        self._reader = Reader(
            root, shared.pool, shared.pool_lock, shared.store, shared.recipe, self._texts
        )
        self._views: dict[Discovery, View] = {}
        self._past: Past | None = None
        self._of_head: frozenset[str] = frozenset()
        """The files that tell where HEAD is: a commit need not touch any that was listed."""
        self._revisions = Revisions(root)
        self._buffers: dict[model.Path, Buffer] = {}
        self._watch: Watch | None = None
        self._watches = watches
        self._usual: Discovery | None = None
        """The one whose view is saved: another one would drive it out."""
        self._is_followed = True
        """Whether every directory that was listed is watched, once there is a watch."""

    @property
    def roots(self) -> Mapping[str, Path]:
        """Its one root, by the name that its paths begin with: none."""
        return {"": self.root}

    @property
    def sites(self) -> Mapping[str, "Workspace"]:
        """Itself, likewise."""
        return {"": self}

    def scan(
        self,
        discovery: Discovery,
        progress: Progress = lambda _done, _total: None,
        is_cancelled: Callable[[], bool] = never,
        *,
        with_graph: bool = False,
    ) -> Scan:
        """The snapshot of what is on disk and in open buffers now.

        Without `with_graph` the snapshot may lack its graph, of which ranking needs nothing.

        Raises `contextpackd.errors.RootProblem` when the root cannot be listed any more.
        """
        view = self._view(discovery)
        efforts: list[Effort] = []
        freshness = WATCHED
        is_first, past = self._past is None, self._known_past()
        head_files = past.head_files()
        of_head = frozenset(map(str, head_files or ()))
        self._is_followed = self._is_followed and of_head == self._of_head
        self._of_head = of_head
        aside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="history")
        with aside, _uncollected(serves=self._watches):
            # The first time git compares the contents of many commits, in a process of its own:
            # the files can be read meanwhile.
            look = partial(past.history, head_files)
            history = aside.submit(look).result if is_first else look
            for _ in range(MAX_ROUNDS):
                if self._note_changes() == SCANNED:
                    freshness = SCANNED
                before, self._is_followed = self._is_followed, False
                efforts.append(view.refresh(self._buffers, progress, is_cancelled))
                # Whoever gives up in there has listed directories that the next scan must watch.
                self._is_followed = before and not efforts[-1].n_listed
                if not self._follow() or is_cancelled():
                    break
        effort = sum(efforts, Effort())
        if self._watches and effort.n_read >= TRIMMED_FILES:
            heap.trim()
        view.remember(history())
        if with_graph:
            view.restore_graph()
        return Scan(
            snapshot=view.snapshot,
            notices=view.survey.notices,
            unmatched_globs=view.survey.unmatched_globs,
            freshness=freshness,
            unsaved=frozenset(view.buffered),
            n_unread=view.n_unread,
            effort=effort,
        )

    def texts(
        self, snapshot: Snapshot, paths: Iterable[model.Path], max_bytes: int
    ) -> dict[model.Path, str] | None:
        """The texts of these files, or None when one is not what the snapshot says any more."""
        result: dict[model.Path, str] = {}
        changed: list[model.Path] = []
        for path in paths:
            digest = snapshot.sources[path].digest
            text = self._text(path, digest, max_bytes)
            if text is None:
                changed.append(path)
            else:
                result[path] = text
        # The next scan keeps the texts that it reads of these, so that a file that is written
        # to without end (a log) cannot hold an answer up. It stands as it was when it was read.
        self._reader.hot.update(changed)
        for view in self._views.values():
            view.forget(changed)
        return None if changed else result

    def kept(self, ask: Callable[[Revisions], T]) -> T:
        """The answer to a question about what git keeps of the root."""
        return ask(self._revisions)

    def _text(self, path: model.Path, digest: str, max_bytes: int) -> str | None:
        buffer = self._buffers.get(path)
        if buffer is not None and buffer.digest == digest:
            return buffer.text
        known = self._texts.get(digest)
        if known is not None:
            return known
        found = disk.read(self.root, path, max_bytes)
        if not isinstance(found, Text) or found.digest != digest:
            return None
        self._texts.keep(digest, found.text)
        return found.text

    def counter(self, profile: Profile) -> Counter:
        """The token counter of a profile, with the memory that all workspaces share."""
        return counter(profile, self._shared.counts)

    # Open buffers.

    def set_buffers(self, buffers: Mapping[model.Path, Buffer]) -> None:
        """The texts that editors hold now; they win over the disk."""
        self._buffers = dict(buffers)

    # Changes.

    def wait(self, timeout_seconds: float | None) -> bool:
        """Block until something may have changed and the burst is over; False at the time's end.

        May be called by a thread of its own. Without a watch it waits for nothing.
        """
        return self._watch.wait(timeout_seconds) if self._watch else False

    @property
    def watch_mode(self) -> Proof | None:
        """How the next answer will know that it misses no change; None when no watch runs."""
        return self._watch.mode if self._watch else None

    @property
    def watch_message(self) -> str | None:
        """What people should do about the watch, once; None when all is well or none runs."""
        return self._watch.message if self._watch else None

    def _note_changes(self) -> str:
        """Tell every view what may have changed; how that is proven."""
        if self._watch is None:
            for view in self._views.values():
                view.doubt()
            return SCANNED
        touched = self._watch.touched()
        for view in self._views.values():
            if touched.everything:
                view.doubt()
            else:
                view.touch(touched.paths)
        return WATCHED if touched.proof is Proof.EVENTS else SCANNED

    def _follow(self) -> bool:
        """Watch what the views list; whether something may have come before it was watched."""
        if not self._watches or (self._watch is not None and self._is_followed):
            return False
        surveys = [view.survey for view in self._views.values()]
        directories = frozenset[model.Path]().union(*(one.directories() for one in surveys))
        files = self._of_head.union(*(one.inputs() for one in surveys))
        self._is_followed = True
        if self._watch is None:
            self._watch = Watch(self.root, directories, files)
            return True
        self._watch.follow(directories, files)
        return True

    def _known_past(self) -> Past:
        if self._past is None:
            self._past = Past(self.root, self._shared.store.saved_parts(self.root, [HISTORY]))
        return self._past

    def _view(self, discovery: Discovery) -> View:
        view = self._views.pop(discovery, None)
        if view is None:
            self._usual = _usual(self.root)
            is_usual = discovery == self._usual
            saved = self._shared.store.saved_parts(self.root, PARTS) if is_usual else {}
            view = View(self.root, discovery, self._reader, self._shared.edition, saved)
        # The one that was used last stands last.
        self._views[discovery] = view
        while len(self._views) > MAX_VIEWS:
            del self._views[next(iter(self._views))]
        return view

    # Keeping.

    def save(self) -> None:
        """Keep what is known for the next process, where that is worth it."""
        for discovery, view in self._views.items():
            if discovery == self._usual:
                is_due = self._past is not None and self._past.n_unsaved >= UNSAVED_COMMITS
                parts = view.saved(is_due=is_due)
                if parts is not None:
                    past = self._past.saved() if self._past else {}
                    self._shared.store.save_root(self.root, {**parts, **past})

    def close(self) -> None:
        """Save, and stop watching."""
        self.save()
        if self._watch is not None:
            self._watch.close()


def _usual(root: Path) -> Discovery:
    """What a request at a root takes in that says nothing of it."""
    values = settings.repository(root).values
    request = request_of("", values, lambda option: option.field)
    return Discovery(request.include, request.exclude, request.max_file_bytes)
