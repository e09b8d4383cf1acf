"""The one writer of a root: scans it, keeps facts by digest, and swaps in the next snapshot.

What is unchanged by its stat is not read again, and what was read with the same bytes before
keeps its facts. Nothing here outlives the process.
"""

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from contextpack import model, resolve
from contextpack.codec import encoded, encoded_terms
from contextpack.content import content_reason
from contextpack.facts import facts
from contextpack.languages import language_of
from contextpack.model import Skip
from contextpack.snapshot import Reading, Snapshot, reading, snapshot
from contextpack.terms import terms
from contextpack.tokens import profile_of
from contextpackd.counters import counter
from contextpackd.disk import Candidate, Discovery, Listing, Notice, Text, discover, read
from contextpackd.grammars import Grammars

# A file that changed less than this before it was read may change again within the same tick of
# its file system's clock (2 s on FAT): its stat is not believed the next time.
YOUNG_NS = 2_000_000_000

# Words whose terms are remembered: a memory of about 200 bytes each that saves the splitting.
MAX_KNOWN_WORDS = 500_000

INDEX_MODEL = "o200k"
"""Whose tokens the index counts: estimates for the other models, which count again."""

Clock = Callable[[], float]
"""Seconds since some moment, such as `time.monotonic`."""

Progress = Callable[[int, int], None]
"""Called with how many files are done, and of how many."""


def _no_progress(_done: int, _total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found: the snapshot, and what a person should know of the listing."""

    snapshot: Snapshot
    notices: tuple[Notice, ...]
    unmatched_globs: tuple[str, ...]
    lossy: tuple[model.Path, ...]
    n_read: int
    """How many files were read for it; the others were known by their stat."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What reading a candidate gave, and whether its stat may be believed."""

    candidate: Candidate
    max_bytes: int
    result: Reading | Skip
    is_young: bool
    config: str | None
    text: str | None
    """Kept for files that changed under an answer: they may change again before they are read."""


class Workspace:
    """One root. `scan` brings the snapshot up to date with the disk."""

    def __init__(self, root: Path, grammars: Grammars) -> None:
        self.root = root
        self._grammars = grammars
        self._count = counter(profile_of(INDEX_MODEL))
        self._known: dict[model.Path, _Known] = {}
        self._facts: dict[tuple[str, str], tuple[bytes, bytes]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}
        self._hot: set[model.Path] = set()
        self._last: tuple[object, Snapshot] | None = None

    def scan(self, discovery: Discovery, progress: Progress = _no_progress) -> Scan:
        """The snapshot of what is on disk now."""
        listing = discover(self.root, discovery)
        known: dict[model.Path, _Known] = {}
        n_read = 0
        for done, candidate in enumerate(listing.candidates):
            progress(done, len(listing.candidates))
            before = self._known.get(candidate.path)
            if before and _is_unchanged(before, candidate, discovery.max_file_bytes):
                known[candidate.path] = before
            else:
                known[candidate.path] = self._read(candidate, discovery.max_file_bytes)
                n_read += 1
        progress(len(listing.candidates), len(listing.candidates))
        # Files outside this listing's globs stay known: the next request may have others.
        self._known.update(known)
        self._hot.clear()
        self._forget(listing, discovery)
        sources = [
            entry.result for entry in known.values() if isinstance(entry.result, Reading)
        ]
        skipped = [entry.result for entry in known.values() if isinstance(entry.result, Skip)]
        return Scan(
            snapshot=self._snapshot(sources, [*listing.skipped, *skipped], known),
            notices=listing.warnings,
            unmatched_globs=listing.unmatched_globs,
            lossy=tuple(r.source.path for r in sources if r.source.is_lossy),
            n_read=n_read,
        )

    def texts(
        self, snapshot: Snapshot, paths: Iterable[model.Path], max_bytes: int
    ) -> dict[model.Path, str] | None:
        """The texts of these files, or None when one is not what the snapshot says any more."""
        result: dict[model.Path, str] = {}
        changed: list[model.Path] = []
        for path in paths:
            known = self._known[path]
            if known.text is not None:
                result[path] = known.text
                continue
            found = read(self.root, known.candidate, max_bytes)
            if isinstance(found, Text) and found.digest == snapshot.sources[path].digest:
                result[path] = found.text
            else:
                changed.append(path)
        for path in changed:
            del self._known[path]
        # The next scan keeps the texts that it reads of these, so that a file that is written
        # to without end (a log) cannot hold an answer up. It stands as it was when it was read.
        self._hot.update(changed)
        return None if changed else result

    def _read(self, candidate: Candidate, max_bytes: int) -> _Known:
        found = read(self.root, candidate, max_bytes)
        is_young = time.time_ns() - candidate.mtime_ns < YOUNG_NS
        if isinstance(found, Text) and (reason := content_reason(candidate.path, found.text)):
            found = Skip(candidate.path, reason)
        if isinstance(found, Skip):
            return _Known(candidate, max_bytes, found, is_young, None, None)
        language = language_of(candidate.path)
        key = (language, found.digest)
        if key not in self._facts:
            said, counted = facts(
                found.text,
                language,
                grammars=self._grammars,
                count=self._count,
                split=self._split,
            )
            self._facts[key] = encoded(said), encoded_terms(counted)
        outline, counts = self._facts[key]
        made = reading(
            path=candidate.path,
            digest=found.digest,
            size_bytes=candidate.size_bytes,
            modified=candidate.mtime_ns / 1e9,
            outline=outline,
            terms=counts,
            is_lossy=found.is_lossy,
        )
        config = found.text if resolve.is_config(candidate.path) else None
        text = found.text if candidate.path in self._hot else None
        return _Known(candidate, max_bytes, made, is_young, config, text)

    def _split(self, word: str) -> tuple[str, ...]:
        if len(self._terms) >= MAX_KNOWN_WORDS:
            self._terms.clear()
        found = self._terms.get(word)
        if found is None:
            found = self._terms[word] = terms(word)
        return found

    def _forget(self, listing: Listing, discovery: Discovery) -> None:
        """Drop what is gone, so that a long-lived process holds one snapshot's facts."""
        if not discovery.include and not discovery.exclude:
            present = {candidate.path for candidate in listing.candidates}
            self._known = {
                path: entry for path, entry in self._known.items() if path in present
            }
        used = {
            (entry.result.source.language, entry.result.source.digest)
            for entry in self._known.values()
            if isinstance(entry.result, Reading)
        }
        self._facts = {key: value for key, value in self._facts.items() if key in used}

    def _snapshot(
        self, sources: list[Reading], skipped: list[Skip], known: Mapping[model.Path, _Known]
    ) -> Snapshot:
        skipped.sort(key=lambda skip: (skip.path, skip.reason))
        key = (
            tuple((r.source.path, r.source.digest, r.source.modified) for r in sources),
            tuple(skipped),
        )
        if self._last is None or self._last[0] != key:
            configs = {path: entry.config for path, entry in known.items() if entry.config}
            names = frozenset(sys.stdlib_module_names)
            made = snapshot(sources, skipped, configs=configs, standard_library=names)
            self._last = (key, made)
        return self._last[1]


def _is_unchanged(before: _Known, candidate: Candidate, max_bytes: int) -> bool:
    return (
        not before.is_young and before.candidate == candidate and before.max_bytes == max_bytes
    )
