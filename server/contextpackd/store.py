"""Facts and saved roots kept between runs. Losing an entry costs time, never correctness.

Rules

- Nothing raises out of here. What goes wrong is a miss, and `Store.problem` says why.
- Values are bytes. What they mean, and which recipe made them, is the caller's business.
- No value leaves whose checksum over key and value is wrong: damage is a miss, no lie.
- Whoever only reads what was used within a day writes nothing.

Facts lie in a database, by (recipe, language, digest of the text). Outlines and terms have tables
of their own, so that reading one does not page in the other; what changes when an entry is used
lies in a third, narrow one. The saved parts of roots are files (`saves`): they are large, and as
rows they would be written twice and leave a database that never shrinks.
"""

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import platformdirs

from contextpackd import entries, private
from contextpackd.database import FULL_PAUSE_SECONDS, Clock, Database
from contextpackd.entries import SCHEMA, VERSION, FactsKey, Found, StoredFacts
from contextpackd.saves import SavedRoot, Saves, remove, size_of

DIRECTORY_VARIABLE = "CONTEXTPACKD_CACHE_DIR"
"""Names the directory instead of the user's cache directory."""

# Some six workspaces of 50 000 files, at 7 KB a file with their saved indexes.
DEFAULT_MAX_BYTES = 2 << 30

# Where eviction stops, as a share of the limit: it should not run after each write.
LOW_WATER = 0.8

# How much is written, as a share of the limit, before the sizes of all files are looked at.
CHECKED_SHARE = 1 / 64

# A save that would take more than this share of the limit would drive everything else out.
MAX_SAVE_SHARE = 0.5

# What other versions of this program keep goes when they have not written for so long.
OTHER_VERSION_SECONDS = 30 * 86_400

# How long clearing waits for other processes' transactions: somebody asked for it.
CLEAR_WAIT_SECONDS = 2.0

_ROOTS = re.compile(r"roots-v(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Info:
    """What a store holds. Sizes are of all files, logs and other versions included."""

    directory: Path
    size_bytes: int
    max_bytes: int
    n_facts: int
    roots: tuple[SavedRoot, ...]
    """The longest unused first."""
    problem: str | None


@dataclass(frozen=True, slots=True)
class Freed:
    """What was removed."""

    n_facts: int
    n_roots: int
    size_bytes: int
    problem: str | None = None
    """Why not everything was removed."""


class Store:
    """What is kept for all roots of this user. Threads may share it, forked children may not."""

    def __init__(self, directory: Path, max_bytes: int, clock: Clock) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self._clock = clock
        self._stale: set[int] = set()
        self._n_saves_read = self._n_saves_written = 0
        self._unchecked_bytes = 0
        self._full_until = 0.0
        self._trouble: str | None = None
        self._damage: str | None = None
        reason = private.refusal(directory)
        self._refusal = (
            f"{directory} {reason}; nothing is kept between runs" if reason else None
        )
        self._database = None if reason else Database(directory, SCHEMA, clock)
        self._saves = None if reason else Saves(directory / f"roots-v{VERSION}")

    @classmethod
    def opened(
        cls,
        directory: Path | None = None,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        clock: Clock = lambda: time.time_ns() / 1e9,
    ) -> "Store":
        """The store in a directory, by default one in the user's cache directory. Never raises.

        The directory is made by the first write. One that cannot be trusted is left alone, and
        nothing is kept then.
        """
        return cls(directory or _default_directory(), max_bytes, clock)

    @property
    def problem(self) -> str | None:
        """What is wrong, for people; None when all is well."""
        of_facts = self._database.problem if self._database else None
        return self._refusal or of_facts or self._trouble or self._damage

    @property
    def n_reads(self) -> int:
        """How often something was looked for."""
        return (self._database.n_reads if self._database else 0) + self._n_saves_read

    @property
    def n_writes(self) -> int:
        """How many transactions and saves were written."""
        return (self._database.n_writes if self._database else 0) + self._n_saves_written

    def facts_of(self, keys: Sequence[FactsKey]) -> dict[FactsKey, StoredFacts]:
        """The facts that are kept of these keys."""
        if self._database is None or not keys:
            return {}
        now = self._clock()
        found = self._database.read(
            lambda reader: entries.facts(reader, keys, now), Found({}, (), 0)
        )
        self._stale.update(found.stale)
        self._note_damage(found.n_damaged)
        return found.values

    def keep_facts(self, items: Iterable[tuple[FactsKey, StoredFacts]]) -> None:
        """Keep facts, all in one transaction."""
        kept = dict(items)
        if self._database is None or not kept:
            return
        now = round(self._clock())
        self._database.write(lambda writer: entries.keep_facts(writer, kept, now), None)
        self._stay_within_bounds(sum(stored.size_bytes for stored in kept.values()))

    def verdicts_of(self, keys: Sequence[FactsKey]) -> dict[FactsKey, str]:
        """Why these texts get no facts, for those where that is so: a short reason."""
        if self._database is None or not keys:
            return {}
        now = self._clock()
        nothing: dict[FactsKey, str] = {}
        return self._database.read(lambda reader: entries.verdicts(reader, keys, now), nothing)

    def keep_verdicts(self, items: Iterable[tuple[FactsKey, str]]) -> None:
        """Keep why texts get no facts, such as "too slow", for a week."""
        kept = dict(items)
        if self._database is None or not kept:
            return
        now = round(self._clock())
        self._database.write(lambda writer: entries.keep_verdicts(writer, kept, now), None)

    def saved_parts(self, root: Path, parts: Iterable[str]) -> dict[str, bytes]:
        """The named parts that were saved of a root, all by one save; damaged ones are absent.

        `root` is the path as `save_root` got it: links in it are not resolved here.
        """
        if self._saves is None:
            return {}
        self._n_saves_read += 1
        wanted = list(parts)
        found, is_damaged = self._saves.read(root, wanted)
        self._note_damage(int(is_damaged))
        return found

    def save_root(self, root: Path, parts: Mapping[str, bytes]) -> None:
        """Save a root's parts in place of those saved before, all or none.

        Parts that are the same bytes as before are not written again, and nothing is when all
        are.
        """
        if self._database is None or self._saves is None or self._clock() < self._full_until:
            return
        size = sum(map(len, parts.values()))
        if size > self.max_bytes * MAX_SAVE_SHARE:
            self._trouble = f"the index of {root} has {size} bytes, too many to keep"
            return
        try:
            private.make_directory(self.directory)
            is_written = self._saves.write(root, parts, self._clock())
        except OSError as error:
            self._full_until = self._clock() + FULL_PAUSE_SECONDS
            self._trouble = f"{self.directory} cannot be written: {error.strerror or error}"
            return
        self._trouble = None
        if is_written:
            self._n_saves_written += 1
            self._stay_within_bounds(size)

    def info(self) -> Info:
        """What is kept, and how much room it takes."""
        n_facts, roots = 0, []
        if self._database is not None and self._saves is not None:
            n_facts = self._database.read(entries.n_facts, 0)
            roots = self._saves.roots()
        size = 0 if self._refusal else size_of(self.directory)
        return Info(self.directory, size, self.max_bytes, n_facts, tuple(roots), self.problem)

    def clear(self, root: Path | None = None) -> Freed:
        """Remove everything, or what is saved of one root.

        Facts belong to texts and not to roots: clearing a root leaves them.
        """
        if self._database is None or self._saves is None:
            return Freed(0, 0, 0, self.problem)
        before = size_of(self.directory)
        if root is not None:
            saved = [found for found in [self._saves.find(root)] if found]
        else:
            saved = self._saves.roots()
        for one in saved:
            remove(one.folder)
        n_facts: int | None = 0
        if root is None and before > 0:
            for path in self._other_versions():
                remove(path)
            n_facts = self._database.write(
                entries.delete_all, None, wait_seconds=CLEAR_WAIT_SECONDS
            )
            if n_facts is not None:
                self._database.shrink()
        size = max(before - size_of(self.directory), 0)
        problem = self.problem if n_facts is None else None
        return Freed(n_facts or 0, len(saved), size, problem)

    def evict(self) -> Freed:
        """Remove what nobody needs, and what was longest unused until the limit is kept.

        Called when there is time for it; every write that goes past the limit does it too.
        """
        if self._database is None or self._saves is None:
            return Freed(0, 0, 0)
        now = self._clock()
        self._database.remove_older()
        self._saves.remove_abandoned(now)
        for path in self._other_versions():
            with suppress(OSError):
                if now - path.lstat().st_mtime > OTHER_VERSION_SECONDS:
                    remove(path)
        self._write_stamps()
        before = size = size_of(self.directory)
        if size > self.max_bytes:
            # What lies in the log lies in the database once more, or will.
            self._database.shrink()
            size = size_of(self.directory)
        excess = size - self.max_bytes * LOW_WATER if size > self.max_bytes else 0
        n_facts = n_roots = 0
        roots = self._saves.roots()
        while excess > 0:
            oldest_root = roots[0].used if roots else float("inf")
            delete = partial(entries.delete_oldest, than=oldest_root, most_bytes=excess)
            n, freed = self._database.write(delete, (0, 0))
            if n == 0 and roots:
                freed = roots[0].size_bytes
                remove(roots.pop(0).folder)
                n_roots += 1
            elif n == 0:
                break
            n_facts += n
            excess -= freed
        if n_facts:
            self._database.shrink()
        return Freed(n_facts, n_roots, max(before - size_of(self.directory), 0))

    def close(self) -> None:
        """Note what was used, and close. Afterwards no facts are found or kept."""
        if self._database is not None:
            self._write_stamps()
            self._database.close()

    def _write_stamps(self) -> None:
        now = round(self._clock())
        stale, self._stale = self._stale, set()
        if self._database is not None and stale:
            self._database.write(lambda writer: entries.stamp(writer, stale, now), None)
        if self._saves is not None:
            self._saves.stamp(now, entries.STAMP_SECONDS)

    def _stay_within_bounds(self, added_bytes: int) -> None:
        self._unchecked_bytes += added_bytes
        if self._unchecked_bytes > self.max_bytes * CHECKED_SHARE:
            self._unchecked_bytes = 0
            if size_of(self.directory) > self.max_bytes:
                self.evict()

    def _note_damage(self, n_damaged: int) -> None:
        if n_damaged:
            self._damage = f"{self.directory} held damaged entries; they are made again"

    def _other_versions(self) -> list[Path]:
        """What programs of other versions keep here."""
        assert self._database is not None
        files = [file for file in self._database.files() if _version_of(file) != VERSION]
        with suppress(OSError):
            for child in self.directory.iterdir():
                version = _ROOTS.fullmatch(child.name)
                if version and int(version[1]) != VERSION:
                    files.append(child)
        return files


def _default_directory() -> Path:
    given = os.environ.get(DIRECTORY_VARIABLE)
    if given:
        return Path(given)
    return platformdirs.user_cache_path("contextpackd", appauthor=False)


def _version_of(file: Path) -> int:
    parsed = SCHEMA.parsed(file.name)
    return parsed[0] if parsed else VERSION
