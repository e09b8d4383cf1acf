"""What one way of listing a root takes in, as a snapshot that is brought up to date.

The survey says which files may have another text, the reader reads them, and the snapshot after
costs what changed. Everything that is known can be saved, and a view made of it is checked
against the disk like any other: what was saved only saves work.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

import msgspec

from contextpack import archive
from contextpack.codec import Damaged
from contextpack.history import History
from contextpack.model import Path as FilePath
from contextpack.model import Reason, Skip
from contextpack.resolve.tree import directories_of
from contextpack.secrets import secret_rule
from contextpack.snapshot import (
    Change,
    Reading,
    Source,
    Work,
    applied,
    empty,
)
from contextpack.text import is_writable
from contextpackd.disk import Candidate, Discovery
from contextpackd.reader import Buffer, Read, Reader
from contextpackd.survey import Moves, Survey

STANDARD_LIBRARY = frozenset(sys.stdlib_module_names)

# The parts that are saved of a root.
SURVEY, INDEX, GRAPH, RECORDS = PARTS = ("survey", "index", "graph", "records")

NO_MOVES = Moves((), (), is_skipped_changed=False, n_looked=0, n_listed=0)

# Less than this share of the files, and fewer than so many, are not worth saving again: reading
# them the next time costs less.
UNSAVED_SHARE = 0.02
UNSAVED_FILES = 32

Progress = Callable[[int, int], None]
"""Called with how many files are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What bringing a view up to date cost, counted."""

    n_looked: int = 0
    """Files whose stat was looked at."""
    n_listed: int = 0
    """Directories that were listed."""
    n_read: int = 0
    """Files whose bytes were read."""
    n_stored: int = 0
    """Of those, the ones whose facts came out of the store."""
    n_made: int = 0
    """And the ones whose facts were made."""
    indexed: int = 0
    """How many files' terms went into the postings."""
    merged: int = 0
    """How many files' rows were copied into a merged segment."""
    resolved: tuple[tuple[FilePath, int], ...] = ()
    """How many imports of which files were resolved."""

    def __add__(self, other: "Effort") -> "Effort":
        return Effort(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(Effort)}
        )


_Records = tuple[str, list[str], list[tuple[str, str, str | None]]]
"""The edition, the files to be read again, and what was skipped for its content."""
_RECORDS = msgspec.msgpack.Decoder(_Records)


class View:
    """One root under one discovery. Used by one thread at a time."""

    def __init__(
        self,
        root: Path,
        discovery: Discovery,
        reader: Reader,
        edition: str,
        saved: Mapping[str, bytes] | None = None,
    ) -> None:
        parts = saved or {}
        self.discovery = discovery
        self.survey = Survey(root, discovery, parts.get(SURVEY))
        self.snapshot = empty(STANDARD_LIBRARY)
        self._reader = reader
        self._edition = edition
        self._young: set[FilePath] = set()
        self._unread: set[FilePath] = set()
        self._touched: set[FilePath] | None = None
        self._buffers: dict[FilePath, str] = {}
        self._on_disk: dict[FilePath, str | None] = {}
        """What the files that open buffers hide have on disk, by digest."""
        self._left_out: dict[FilePath, Skip] = {}
        self._saved_graph: bytes | None = None
        """Of the restored snapshot, until somebody needs it."""
        self._is_new = True
        self._knows_skips = False
        self._is_saved = False
        self._n_unsaved = 0
        if parts.keys() >= {SURVEY, INDEX, GRAPH, RECORDS}:
            self._restore(parts)

    def doubt(self) -> None:
        """Look at everything the next time."""
        self._touched = None

    def touch(self, paths: Iterable[FilePath]) -> None:
        """Look at these the next time; a directory stands for all below it."""
        if self._touched is not None:
            self._touched |= set(paths)

    def refresh(
        self,
        buffers: Mapping[FilePath, Buffer],
        progress: Progress,
        is_cancelled: Callable[[], bool],
    ) -> Effort:
        """Bring the snapshot up to what is on disk and in open buffers.

        Everything is looked at, or what was touched. Where `is_cancelled` ends it, the snapshot
        has what was read so far, and the rest is read the next time.
        """
        if self._touched is None:
            moves = self.survey.sweep()
            # A stat that was young when the file was read says nothing until it is older.
            self._unread |= self._young
        else:
            moves = self.survey.refresh(self._touched) if self._touched else NO_MOVES
            self._unread |= self._young_below(self._touched)
        self._touched = set()
        known = self.survey.candidates
        gone = set(moves.gone)
        self._unread.update(candidate.path for candidate in moves.found)
        if self._is_new:
            self._unread.update(path for path in known if not self._has(path))
            # What was saved may be of other options, or of long ago.
            gone |= (self.snapshot.sources.keys() | self._left_out.keys()) - known.keys()
            self._is_new = False
        shown = self._shown(buffers)
        moved = {candidate.path for candidate in moves.found} | gone
        self._on_disk = {
            path: self._on_disk[path]
            if path in self._on_disk and path not in moved
            else self._reader.digest(path, self.discovery.max_file_bytes)
            for path in shown
        }
        closed = self._buffers.keys() - shown.keys()
        self._unread |= closed & known.keys()
        gone |= closed.difference(known)
        due = {
            path: known[path] for path in self._unread if path in known and path not in shown
        }
        before = replace(self._reader.tally)
        reads = [
            self._reader.buffered(path, buffer, self.snapshot.sources.get(path))
            for path, buffer in shown.items()
            if self._buffers.get(path) != buffer.digest
        ]
        self._buffers = {path: buffer.digest for path, buffer in shown.items()}
        try:
            self._read(due, reads, progress, is_cancelled)
        finally:
            # Whatever ended it: what was read is not read again.
            self._unread = due.keys() - {read.path for read in reads}
            work = self._apply(reads, gone - shown.keys(), moves)
        tally = self._reader.tally
        return Effort(
            n_looked=moves.n_looked,
            n_listed=moves.n_listed,
            n_read=tally.n_read - before.n_read,
            n_stored=tally.n_stored - before.n_stored,
            n_made=tally.n_made - before.n_made,
            indexed=work.indexed,
            merged=work.merged,
            resolved=work.resolved,
        )

    def _young_below(self, touched: set[FilePath]) -> set[FilePath]:
        """The young files at and below these paths: their stat does not tell what happened."""
        found = self._young & touched
        rest = tuple(
            f"{path}/" if path else "" for path in touched.difference(self.survey.candidates)
        )
        if rest:
            found.update(path for path in self._young if path.startswith(rest))
        return found

    def _shown(self, buffers: Mapping[FilePath, Buffer]) -> dict[FilePath, Buffer]:
        """The open buffers of files that may be shown, whether they are on disk or not yet."""
        left_out = {skip.path for skip in self.survey.skipped} if buffers else set()
        return {
            path: buffer
            for path, buffer in buffers.items()
            if path in self.survey.candidates
            or not (
                secret_rule(path)
                or path in left_out
                or any(f"{directory}/" in left_out for directory in directories_of(path))
            )
        }

    def remember(self, history: History) -> None:
        """See to it that the snapshot has this history."""
        if self.snapshot.history is not history:
            self.snapshot = replace(self.snapshot, history=history)

    def restore_graph(self) -> None:
        """See to it that the snapshot has its graph: a restored one goes without at first."""
        if self._saved_graph is not None:
            self.snapshot = archive.with_graph(self.snapshot, self._saved_graph)
            self._saved_graph = None

    def forget(self, paths: Iterable[FilePath]) -> None:
        """Read these again the next time, whatever their stat says."""
        self._unread.update(paths)

    @property
    def n_unread(self) -> int:
        """How many candidates changed and were not read yet, because somebody cancelled it."""
        return len(self._unread)

    @property
    def buffered(self) -> Iterable[FilePath]:
        """The files whose text is that of an open buffer, and another than on disk."""
        return {path for path, digest in self._buffers.items() if digest != self._on_disk[path]}

    def _has(self, path: FilePath) -> bool:
        return path in self.snapshot.sources or path in self._left_out

    def _read(
        self,
        due: Mapping[FilePath, Candidate],
        reads: list[Read],
        progress: Progress,
        is_cancelled: Callable[[], bool],
    ) -> None:
        """Add a result for each of these to `reads`."""
        known, most = self.snapshot.sources.get, self.discovery.max_file_bytes
        if not due:
            return
        progress(0, len(due))
        found = self._reader.read(list(due.values()), known, most, is_cancelled)
        for done, read in enumerate(found, 1):
            reads.append(read)
            progress(done, len(due))

    def _apply(self, reads: Iterable[Read], gone: set[FilePath], moves: Moves) -> Work:
        read: list[Reading] = []
        restated: list[Source] = []
        left_out = dict(self._left_out)
        configs: dict[FilePath, str] = {}
        for path in gone:
            left_out.pop(path, None)
        for entry in reads:
            path, result = entry.path, entry.result
            left_out.pop(path, None)
            if entry.config is not None:
                configs[path] = entry.config
            match result:
                case Skip():
                    left_out[path] = result
                    gone.add(path)
                case Source():
                    restated.append(result)
                case Reading():
                    read.append(result)
            if entry.is_young:
                self._young.add(path)
            else:
                self._young.discard(path)
        self._young -= gone
        known = self.snapshot.sources.keys()
        is_other = (
            moves.is_skipped_changed or left_out != self._left_out or not self._knows_skips
        )
        change = Change(
            read=tuple(read),
            restated=tuple(restated),
            gone=frozenset(gone & known),
            skipped=(*self.survey.skipped, *left_out.values()) if is_other else None,
            configs=configs,
            imported_only=_imported_only(left_out) if left_out != self._left_out else None,
        )
        if change.read or change.gone or change.imported_only is not None:
            self.restore_graph()
        self.snapshot, work = applied(self.snapshot, change)
        self._left_out = left_out
        self._knows_skips = True
        self._n_unsaved += len(read) + len(restated) + len(change.gone)
        return work

    # What is kept between runs.

    def saved(self, *, is_due: bool = False) -> Mapping[str, bytes] | None:
        """Everything that a new view starts from; None where little is different from before.

        With `is_due` it is saved however little that is.
        """
        least = max(UNSAVED_FILES, UNSAVED_SHARE * len(self.snapshot.sources))
        if self._unread or (self._is_saved and self._n_unsaved < least and not is_due):
            return None
        self.restore_graph()
        # Names that are not UTF-8 cannot be written down; they are read again the next time.
        odd = frozenset(path for path in self.snapshot.sources if not is_writable(path))
        kept, _ = applied(self.snapshot, Change(gone=odd)) if odd else (self.snapshot, None)
        left_out = [skip for path, skip in self._left_out.items() if is_writable(path)]
        # What an editor shows is not what the disk has: the next process reads these files.
        due = self._young | self._buffers.keys()
        records: _Records = (
            self._edition,
            sorted(due - odd),
            [(skip.path, skip.reason.value, skip.rule) for skip in left_out],
        )
        self._n_unsaved, self._is_saved = 0, True
        return {
            SURVEY: self.survey.saved(),
            INDEX: archive.archived(kept),
            GRAPH: archive.archived_graph(kept.graph),
            RECORDS: msgspec.msgpack.encode(records),
        }

    def _restore(self, parts: Mapping[str, bytes]) -> None:
        try:
            edition, young, left_out = _RECORDS.decode(parts[RECORDS])
            if edition != self._edition:
                return
            skips = [Skip(path, Reason(reason), rule) for path, reason, rule in left_out]
            skipped = sorted((*self.survey.skipped, *skips), key=lambda s: (s.path, s.reason))
            restored = archive.restored(parts[INDEX], tuple(skipped), STANDARD_LIBRARY)
        except (Damaged, msgspec.MsgspecError, ValueError):
            return
        self.snapshot, self._knows_skips = restored, True
        self._saved_graph = parts[GRAPH]
        self._young = set(young)
        self._left_out = {skip.path: skip for skip in skips}
        self._is_saved = True


def _imported_only(left_out: Mapping[FilePath, Skip]) -> frozenset[FilePath]:
    """Those that are code all the same: imports of them lead somewhere."""
    return frozenset(path for path, skip in left_out.items() if skip.reason is Reason.GENERATED)
