"""What git keeps of the files of a root: its index, what is staged, and the texts of blobs.

The working tree is never compared by git: that may run a filter which the repository names.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextpackd.git import SUBMODULE_MODE, written

# Of all texts that changes are found by; what is beyond counts as changed as a whole.
MAX_BLOB_BYTES = 64 << 20

_STAGED_ENTRY = re.compile(
    rb"(\d+) ([0-9a-f]+) \d\t([^\0]+)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n"
    rb"  dev:[^\n]*\n  uid:[^\n]*\n  size: (\d+)\t[^\n]*\n"
)
_NO_BLOB = re.compile(r"0+")


@dataclass(frozen=True, slots=True)
class Entry:
    """A tracked file as the index has it."""

    blob: str
    modified: float
    """When the file was changed that the entry was made from, in seconds since the epoch."""
    size_bytes: int
    """Of that file; 0 where git itself does not believe the time."""


@dataclass(frozen=True, slots=True)
class Index:
    """The tracked files below a folder; of a conflict one side."""

    entries: Mapping[str, Entry]
    submodules: frozenset[str]
    written: float
    """When the index was written: what changed at that time may look as if it had not."""


def index(folder: Path) -> Index:
    """The tracked files below a folder, relative to it. Raises `GitUnavailable`."""
    output = written(folder, "ls-files", "--cached", "--stage", "--debug", "-z")
    entries: dict[str, Entry] = {}
    submodules: set[str] = set()
    for mode, blob, name, seconds, nanoseconds, size in _STAGED_ENTRY.findall(output):
        path = os.fsdecode(name)
        if mode.decode() == SUBMODULE_MODE:
            submodules.add(path)
            continue
        modified = int(seconds) + int(nanoseconds) / 1e9
        entries[path] = Entry(blob.decode(), modified, int(size))
    where = os.fsdecode(written(folder, "rev-parse", "--git-path", "index").removesuffix(b"\n"))
    try:
        time = (folder / where).stat().st_mtime
    except OSError:
        time = 0.0  # Nothing was ever tracked.
    return Index(entries, frozenset(submodules), time)


def staged_changes(folder: Path, commit: str) -> dict[str, tuple[str | None, str | None]]:
    """The blobs of the files by which the index differs from a commit: before, and now.

    None is for a file that is not there; what is in conflict has no blob now. Submodules are left
    out. Contents are never read, so a move is one file that went and another that came.
    Raises `GitUnavailable`.
    """
    options = (
        "--cached", "--raw", "--relative", "--no-renames", "--no-abbrev", "--ignore-submodules=all",
        "--no-ext-diff", "--no-textconv", f"-O{os.devnull}", "-z",
    )  # fmt: skip
    fields = written(folder, "diff-index", *options, commit, "--", ".").split(b"\0")
    changes: dict[str, tuple[str | None, str | None]] = {}
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
    sizes = written(folder, "cat-file", "--batch-check", stdin=_rows(asked)).decode()
    room = MAX_BLOB_BYTES
    small: list[str] = []
    for row in sizes.splitlines():
        digest, kind, *size = row.split()
        if kind == "blob" and int(size[0]) <= min(max_bytes, room):
            room -= int(size[0])
            small.append(digest)
    output = written(folder, "cat-file", "--batch", stdin=_rows(small)) if small else b""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        digest, kind, *size = output[at:end].decode().split()
        at = end + 1
        if kind == "blob":  # It was there a moment ago.
            found[digest] = output[at : at + int(size[0])]
            at += int(size[0]) + 1
    return found


def _rows(digests: Sequence[str]) -> bytes:
    return "".join(f"{digest}\n" for digest in digests).encode()
