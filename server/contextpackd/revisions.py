"""What git keeps of the files of a root: its index, what is staged, and the texts of blobs.

The working tree is never compared by git: that may run a filter which the repository names.
"""

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextpack.content import decoded
from contextpack.snapshot import Source
from contextpackd import git, ignore
from contextpackd.git import SUBMODULE_MODE, partly_written, written
from contextpackd.inputs import Mark, is_changed, marked
from contextpackd.texts import Texts

# Of all texts that changes are found by; what is beyond counts as changed as a whole.
MAX_BLOB_BYTES = 64 << 20

# A file's time as a float is exact to less than this.
SAME_SECONDS = 1e-6

# Of the texts of a root that are remembered: of some hundred changed files.
MAX_CHARACTERS = 4 << 20

_STAGED_ENTRY = re.compile(
    r"(\d+) ([0-9a-f]+) \d\t([^\0]+)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n"
    r"  dev:[^\n]*\n  uid:[^\n]*\n  size: (\d+)\t[^\n]*\n"
)
_NO_BLOB = re.compile(r"0+")


Entry = tuple[str, float, int]
"""The blob of a tracked file, and the time and size of the file that the entry was made from.

The time is in seconds since the epoch; the size is 0 where git itself does not believe the time.
"""


@dataclass(frozen=True, slots=True)
class Index:
    """The tracked files below a folder; of a conflict one side."""

    entries: Mapping[str, Entry]
    submodules: frozenset[str]
    written: float
    """When the index was written: what changed at that time may look as if it had not.

    In seconds since the epoch; 0 where nothing was ever tracked."""


Change = tuple[str | None, str | None]
"""The blob of a file before and now. None is for a file that is not there."""

StagedChanges = Mapping[str, Change]
"""By path. What is in conflict has no blob now."""


class Revisions:
    """What git keeps of one root: it is asked only where that may have changed since.

    Used by one thread at a time.
    """

    def __init__(self, root: Path, now_ns: Callable[[], int] = time.time_ns) -> None:
        """`now_ns` is the clock that file times are compared with, since the epoch."""
        self._root = root
        self._now_ns = now_ns
        self._marks: dict[str, Mark] = {}
        """Of the files that say what the index is."""
        self._index: Index | None = None
        self._alike: dict[str, Source] = {}
        """The files that were found to be as the index says."""
        self._compared: tuple[str, StagedChanges] | None = None
        """The commit that the index was compared with last, and what came out."""
        self._texts = Texts(MAX_CHARACTERS)

    def index(self) -> Index:
        """The tracked files below the root, relative to it. Raises `GitUnavailable`."""
        known = self._index
        # One that is not where it is looked for is asked for each time.
        if known is not None and known.written and not is_changed(self._marks):
            return known
        self._index = self._compared = None
        self._alike = {}
        files = _deciding(self._root)
        # They are marked before git reads them: what is written meanwhile shows the next time.
        marks = marked(files, self._now_ns())
        written_at = _modified(files[0]) if files else 0.0
        git.toplevel(self._root)
        self._marks, self._index = marks, _index(self._root, written_at)
        return self._index

    def submodules(self) -> frozenset[str]:
        """The submodules in the index that was asked for last. Their files are not compared."""
        return self._index.submodules if self._index is not None else frozenset()

    def unlike(self, sources: Mapping[str, Source]) -> tuple[dict[str, str], list[str]]:
        """The files that may have another text than the index says, and those that it has not.

        The former with the blob that it has of each. A buffer has a time of its own. The index
        is the one that was asked for last. Raises `GitUnavailable`.
        """
        index = self._index or self.index()
        alike = self._alike
        touched: dict[str, str] = {}
        others: list[str] = []
        # Unchanged files are the same objects from one snapshot to the next, and nearly all.
        for path in [path for path, source in sources.items() if alike.get(path) is not source]:
            source, entry = sources[path], index.entries.get(path)
            if entry is None:
                others.append(path)
                continue
            blob, modified, size_bytes = entry
            if (
                source.size_bytes != size_bytes
                or abs(source.modified - modified) > SAME_SECONDS
                # Git, too, does not believe what was written together with the index.
                or modified >= index.written
            ):
                touched[path] = blob
            else:
                alike[path] = source
        return touched, others

    def staged_changes(self, commit: str) -> StagedChanges:
        """The files by which the index differs from a commit.

        Submodules are left out. Contents are never read, so a move is one file that went and
        another that came. The index is the one that was asked for last.
        Raises `GitUnavailable`.
        """
        if self._compared is None or self._compared[0] != commit:
            self._compared = commit, _staged_changes(self._root, commit)
        return self._compared[1]

    def texts(self, digests: Iterable[str], max_bytes: int) -> dict[str, str]:
        """The texts of these blobs as files with such contents are read.

        Without those that are larger, not there, no text, or beyond what all together may have.
        Raises `GitUnavailable`.
        """
        known = {digest: self._texts.get(f"{max_bytes} {digest}") for digest in set(digests)}
        missing = sorted(digest for digest, text in known.items() if text is None)
        found = {digest: text for digest, text in known.items() if text is not None}
        for digest, data in blobs(self._root, missing, max_bytes).items():
            if (read := decoded(data)) is not None:
                found[digest] = read.text
                self._texts.keep(f"{max_bytes} {digest}", read.text)
        return found


def _deciding(root: Path) -> tuple[str, ...]:
    """The files that say what the index of a root's repository is, the index first."""
    top = ignore.repository_top(root)
    common = None if top is None else ignore.common_git_dir(top)
    if top is None or common is None:
        return ()
    own = ignore.git_link(top) or common
    names = (own / "index", top / ".git", common / "config", own / "config.worktree")
    return tuple(map(str, names))


def _modified(file: str) -> float:
    """When a file was written, in seconds since the epoch; 0 where there is none."""
    try:
        return Path(file).stat().st_mtime
    except OSError:
        return 0.0


def _index(folder: Path, written_at: float) -> Index:
    output = written(folder, "ls-files", "--cached", "--stage", "--debug", "-z")
    entries: dict[str, Entry] = {}
    submodules: set[str] = set()
    # There may be a hundred thousand of them: the text is decoded at once.
    for mode, blob, path, seconds, nanoseconds, size in _STAGED_ENTRY.findall(
        os.fsdecode(output)
    ):
        if mode == SUBMODULE_MODE:
            submodules.add(path)
        else:
            entries[path] = blob, int(seconds) + int(nanoseconds) / 1e9, int(size)
    return Index(entries, frozenset(submodules), written_at)


def _staged_changes(folder: Path, commit: str) -> StagedChanges:
    options = (
        "--cached", "--raw", "--relative", "--no-renames", "--no-abbrev", "--ignore-submodules=all",
        "--no-ext-diff", "--no-textconv", f"-O{os.devnull}", "-z",
    )  # fmt: skip
    fields = written(folder, "diff-index", *options, commit, "--", ".").split(b"\0")
    changes: dict[str, Change] = {}
    for row, name in zip(fields[:-1:2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _status = row.decode().removeprefix(":").split()
        if SUBMODULE_MODE not in (old_mode, new_mode):
            before, now = (None if _NO_BLOB.fullmatch(blob) else blob for blob in (old, new))
            changes[os.fsdecode(name)] = before, now
    return changes


def blobs(folder: Path, digests: Iterable[str], max_bytes: int) -> dict[str, bytes]:
    """The contents of these blobs as they are stored.

    Without those that are larger, not there, or beyond what all together may have.
    Raises `GitUnavailable`.
    """
    asked = list(dict.fromkeys(digests))
    if not asked:
        return {}
    # Nearly always all of it is small: then the sizes need not be asked for first.
    output, is_whole = partly_written(
        folder, "cat-file", "--batch", stdin=_rows(asked), max_bytes=MAX_BLOB_BYTES
    )
    if is_whole:
        found = _contents(output)
        return {digest: data for digest, data in found.items() if len(data) <= max_bytes}
    sizes = written(folder, "cat-file", "--batch-check", stdin=_rows(asked)).decode()
    room = MAX_BLOB_BYTES
    small: list[str] = []
    for row in sizes.splitlines():
        digest, kind, *size = row.split()
        if kind == "blob" and int(size[0]) <= min(max_bytes, room):
            room -= int(size[0])
            small.append(digest)
    return _contents(
        written(folder, "cat-file", "--batch", stdin=_rows(small)) if small else b""
    )


def _contents(output: bytes) -> dict[str, bytes]:
    """The blobs in what `cat-file --batch` writes."""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        digest, kind, *size = output[at:end].decode().split()
        at = end + 1
        if kind == "blob":  # It was there a moment ago.
            found[digest] = output[at : at + int(size[0])]
        if size:
            at += int(size[0]) + 1
    return found


def _rows(digests: Sequence[str]) -> bytes:
    return "".join(f"{digest}\n" for digest in digests).encode()
