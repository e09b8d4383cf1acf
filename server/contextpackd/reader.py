"""Files that may have changed to readings: their bytes, and the facts of what is in them.

Facts are asked for in this order: what the caller still holds of the same bytes, the store, then
the workers, or this process where that is quicker. What is new goes into the store.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contextpack import resolve
from contextpack.codec import Damaged
from contextpack.content import content_reason, decoded, named_reason
from contextpack.languages import language_of
from contextpack.model import Path as FilePath
from contextpack.model import Reason, Skip
from contextpack.secrets import key_rule
from contextpack.snapshot import Reading, Source, reading
from contextpack.text import writable
from contextpackd import disk
from contextpackd.disk import Candidate
from contextpackd.entries import FactsKey, StoredFacts
from contextpackd.pool import Pool, fits_inline
from contextpackd.store import Store
from contextpackd.texts import Texts
from contextpackd.worker import Job, Made

# A file that changed less than this before it was read may change again within the same tick of
# its file system's clock (2 s on FAT): its stat is not believed the next time.
YOUNG_NS = 2_000_000_000

# So many files, or bytes of them, are looked up in the store at once.
BLOCK_FILES = 256
BLOCK_BYTES = 8 << 20

# Until workers have started, this process has read so many bytes of files.
STARTING_BYTES = 1 << 18

# What is made is kept in the store so often, so that little is lost with the process.
KEPT_FILES = 512

# A verdict on a text is believed as long as the program is the same.
_VERDICTS = frozenset({Reason.TOO_SLOW, Reason.CRASHED})


@dataclass(frozen=True, slots=True)
class Read:
    """What reading a candidate gave."""

    path: FilePath
    result: Reading | Source | Skip
    """A source alone when the bytes are those of the one that was known before."""
    is_young: bool
    """Whether its stat may be believed the next time."""
    config: str | None
    """The text, of files that configure resolution."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """The text of a file in an editor, saved or not."""

    text: str
    data: bytes
    """The text in UTF-8."""
    digest: str
    """Of `data`, as that of a file's bytes."""
    opened: float
    """When this text came, in seconds since the epoch."""


def buffer_of(text: str, opened: float) -> Buffer:
    """The buffer that an editor's text is. Lone surrogates, which no file has, become U+FFFD."""
    shown = writable(text)
    data = shown.encode("utf-8")
    return Buffer(shown, data, disk.digest_of(data), opened)


@dataclass(slots=True)
class Tally:
    """How much work reading was."""

    n_read: int = 0
    """Files whose bytes were read."""
    n_stored: int = 0
    """Files whose facts came out of the store."""
    n_made: int = 0
    """Files whose facts were made."""


@dataclass(frozen=True, slots=True)
class _Content:
    """A file whose facts are wanted."""

    candidate: Candidate
    data: bytes
    key: FactsKey
    is_young: bool


class Reader:
    """Reads the files of one root."""

    def __init__(
        self,
        root: Path,
        pool: Pool,
        pool_lock: threading.Lock,
        store: Store,
        recipe: str,
        texts: Texts,
    ) -> None:
        self._root = root
        self._pool = pool
        self._pool_lock = pool_lock
        self._store = store
        self._recipe = recipe
        self._texts = texts
        self.tally = Tally()
        self.hot: set[FilePath] = set()
        """Files whose texts are kept when they are read the next time."""

    def read(
        self,
        candidates: Sequence[Candidate],
        known: Callable[[str], Source | None],
        max_bytes: int,
        is_cancelled: Callable[[], bool],
    ) -> Iterator[Read]:
        """Each candidate with its result, in any order; fewer when `is_cancelled` says so.

        `known` gives what was known of a path before.
        """
        ready: deque[Read] = deque()
        wanted: dict[int, _Content] = {}
        # The largest first: one that comes last would be waited for alone.
        ordered = sorted(candidates, key=lambda candidate: -candidate.size_bytes)
        jobs = self._jobs(ordered, known, max_bytes, ready, wanted)
        unkept: list[tuple[FactsKey, StoredFacts]] = []
        try:
            for made in self._made(jobs, ordered, is_cancelled):
                content = wanted.pop(made.id)
                self._keep(content, made, unkept)
                yield self._result(content, made)
                while ready:
                    yield ready.popleft()
                if is_cancelled():
                    return
            yield from ready
        finally:
            self._store.keep_facts(unkept)

    def _made(
        self,
        jobs: Iterable[Job],
        candidates: Sequence[Candidate],
        is_cancelled: Callable[[], bool],
    ) -> Iterator[Made]:
        if not candidates or self._is_quicker_here(candidates):
            yield from map(self._pool.inline, jobs)
            return
        with self._pool_lock:
            yield from self._pool.made(jobs, is_cancelled=is_cancelled)

    def _is_quicker_here(self, ordered: Sequence[Candidate]) -> bool:
        """Whether this process has the facts of these files, the largest first, sooner."""
        largest = ordered[0].size_bytes
        n_files = len(ordered)
        if not self._pool.pids and sum(c.size_bytes for c in ordered) <= STARTING_BYTES:
            n_files = 1
        return fits_inline(n_files, largest)

    def buffered(self, path: FilePath, buffer: Buffer, before: Source | None) -> Read:
        """The same for a text in an editor."""
        n_bytes = len(buffer.data)
        candidate = Candidate(path, n_bytes, round(buffer.opened * 1e9), 0, 0)
        key = FactsKey(self._recipe, language_of(path), buffer.digest)
        content = _Content(candidate, buffer.data, key, is_young=False)
        if (known := _restated(content, before)) is not None:
            return known
        job = Job(0, path, key.language, buffer.data)
        if fits_inline(1, n_bytes):
            return self._result(content, self._pool.inline(job))
        with self._pool_lock:
            (made,) = self._pool.made([job], is_cancelled=lambda: False)
        return self._result(content, made)

    def digest(self, path: FilePath, max_bytes: int) -> str | None:
        """Of what a file has on disk; None where nothing can be read."""
        found = disk.content(self._root, path, max_bytes)
        return None if isinstance(found, Skip) else found.digest

    def _jobs(
        self,
        candidates: Iterable[Candidate],
        known: Callable[[str], Source | None],
        max_bytes: int,
        ready: deque[Read],
        wanted: dict[int, _Content],
    ) -> Iterator[Job]:
        """The work that is left when memory and store were asked; what they know is `ready`."""
        number = 0
        for block in _blocks(candidates):
            contents: list[_Content] = []
            for candidate in block:
                found = self._opened(candidate, known(candidate.path), max_bytes)
                if isinstance(found, _Content):
                    contents.append(found)
                else:
                    ready.append(found)
            keys = [content.key for content in contents]
            stored = self._store.facts_of(keys)
            verdicts = self._store.verdicts_of([key for key in keys if key not in stored])
            for content in contents:
                path = content.candidate.path
                if (verdict := verdicts.get(content.key)) is not None:
                    skip = Skip(path, Reason(verdict), "as the last time that it was read")
                    ready.append(Read(path, skip, content.is_young, None))
                elif (result := self._stored(content, stored.get(content.key))) is not None:
                    ready.append(result)
                elif (reason := _plain_reason(content)) is not None:
                    ready.append(Read(path, Skip(path, reason), content.is_young, None))
                else:
                    number += 1
                    wanted[number] = content
                    yield Job(number, path, content.key.language, content.data)

    def _opened(
        self, candidate: Candidate, before: Source | None, max_bytes: int
    ) -> _Content | Read:
        """The bytes of a candidate, or the result where they say nothing new."""
        is_young = time.time_ns() - candidate.mtime_ns < YOUNG_NS
        found = disk.content(self._root, candidate.path, max_bytes)
        if isinstance(found, Skip):
            return Read(candidate.path, found, is_young, None)
        self.tally.n_read += 1
        if candidate.path in self.hot and (text := decoded(found.data)) is not None:
            self._texts.keep(found.digest, text.text)
        key = FactsKey(self._recipe, language_of(candidate.path), found.digest)
        content = _Content(candidate, found.data, key, is_young)
        return _restated(content, before) or content

    def _stored(self, content: _Content, stored: StoredFacts | None) -> Read | None:
        """What the store knows, or None where facts must be made."""
        text = decoded(content.data) if stored else None
        if stored is None or text is None:
            return None
        path = content.candidate.path
        # Facts belong to a text, but some names alone keep a file out.
        if reason := content_reason(path, text.text):
            skip = Skip(path, reason, key_rule(path, text.text))
            return Read(path, skip, content.is_young, None)
        try:
            result = _reading(content, stored, is_lossy=text.is_lossy)
        except Damaged:
            return None
        self.tally.n_stored += 1
        return Read(path, result, content.is_young, _config(content))

    def _result(self, content: _Content, made: Made) -> Read:
        path = content.candidate.path
        if made.reason is not None:
            skip = Skip(path, made.reason, made.rule)
            return Read(path, skip, content.is_young, None)
        self.tally.n_made += 1
        result = _reading(content, StoredFacts(made.facts, made.terms), is_lossy=made.is_lossy)
        return Read(path, result, content.is_young, _config(content))

    def _keep(
        self, content: _Content, made: Made, unkept: list[tuple[FactsKey, StoredFacts]]
    ) -> None:
        if made.reason is not None and made.reason in _VERDICTS:
            self._store.keep_verdicts([(content.key, made.reason.value)])
        elif made.reason is None:
            unkept.append((content.key, StoredFacts(made.facts, made.terms)))
            if len(unkept) >= KEPT_FILES:
                self._store.keep_facts(unkept)
                unkept.clear()


def _blocks(candidates: Iterable[Candidate]) -> Iterator[list[Candidate]]:
    """Runs of candidates that are small enough to be held at once."""
    block: list[Candidate] = []
    n_bytes = 0
    for candidate in candidates:
        block.append(candidate)
        n_bytes += candidate.size_bytes
        if len(block) >= BLOCK_FILES or n_bytes >= BLOCK_BYTES:
            yield block
            block, n_bytes = [], 0
    if block:
        yield block


def _plain_reason(content: _Content) -> Reason | None:
    """Why a file has no facts, where that is quickly seen: no worker must start for a picture."""
    if decoded(content.data) is None:
        return Reason.BINARY
    return named_reason(content.candidate.path)


def _restated(content: _Content, before: Source | None) -> Read | None:
    """The result when the bytes are those of the source before, or None."""
    candidate, key = content.candidate, content.key
    if before is None or (before.digest, before.language) != (key.digest, key.language):
        return None
    source = replace(before, size_bytes=candidate.size_bytes, modified=candidate.mtime_ns / 1e9)
    return Read(candidate.path, source, content.is_young, _config(content))


def _reading(content: _Content, stored: StoredFacts, *, is_lossy: bool) -> Reading:
    candidate = content.candidate
    return reading(
        candidate.path,
        content.key.digest,
        candidate.size_bytes,
        candidate.mtime_ns / 1e9,
        stored.outline,
        stored.terms,
        is_lossy=is_lossy,
    )


def _config(content: _Content) -> str | None:
    if not resolve.is_config(content.candidate.path):
        return None
    found = decoded(content.data)
    return found.text if found else None
