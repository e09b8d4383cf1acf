"""Past commits as tasks with known answers: what their messages ask for, and where it was done."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from contextpack.alignment import gaps
from contextpack.content import decoded
from contextpack.kinds import Kind, kind_of
from contextpack.languages import language_of
from contextpack.model import Path as FilePath
from contextpack.terms import words
from contextpack.text import Lines, split_lines
from contextpackd import git, revisions

# A commit that touches more files, or more files of the product's own code or lines of it, is no
# task that fits into a prompt.
MAX_FILES = 40
MAX_CODE_FILES = 6
MAX_CODE_LINES = 199

# With fewer words a message asks for nothing that could be looked for.
MIN_WORDS = 3

# So many commits are looked at for each that is wanted.
LOOKED_AT = 10

_MARK = re.compile(rb"\x01([0-9a-f]{40,64})")
_ROW = re.compile(rb":(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*")
_REGULAR = (b"100644", b"100755")
_TRAILER = re.compile(r"^[A-Z][\w-]+-[Bb]y:.*$|^Change-Id:.*$", re.MULTILINE)


class Unfit(StrEnum):
    """Why a commit is no task."""

    FIRST = "has no parent"
    LARGE = "changes too much"
    ELSEWHERE = "changes no line of existing code"
    MOVES = "removes or moves code"
    SILENT = "says too little"
    UNREADABLE = "cannot be read"


@dataclass(frozen=True, slots=True)
class Replay:
    """A commit as a task."""

    commit: str
    parent: str
    subject: str
    query: str
    """Its message without trailers."""
    gold: dict[FilePath, tuple[Lines, ...]]
    """The lines of its parent that it changes, by file relative to the folder; where it only
    adds, the lines on both sides."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A commit that is no task."""

    commit: str
    subject: str
    reason: Unfit


@dataclass(frozen=True, slots=True)
class _Change:
    path: FilePath
    status: bytes
    old: str
    new: str
    is_regular: bool

    @property
    def is_code(self) -> bool:
        """Whether it is the product's own code, by its path."""
        return kind_of(self.path) is Kind.SOURCE and language_of(self.path) not in ("", "text")


@dataclass(frozen=True, slots=True)
class _Logged:
    commit: str
    parents: list[str]
    message: str
    changes: list[_Change]


def replays(
    folder: Path, n_last: int, max_file_bytes: int
) -> tuple[list[Replay], list[LeftOut]]:
    """The last commits of a folder that are tasks, the newest first, and those passed over.

    Merges are neither: what they changed was told before. Objects are read alone, never the
    working tree or the index. Raises `GitUnavailable`.
    """
    taken: list[Replay] = []
    left_out: list[LeftOut] = []
    for logged in _log(folder, LOOKED_AT * n_last):
        found = _judged(folder, logged, max_file_bytes)
        if isinstance(found, Replay):
            taken.append(found)
        else:
            left_out.append(LeftOut(logged.commit, _subject(logged.message), found))
        if len(taken) == n_last:
            break
    return taken, left_out


def _log(folder: Path, n_most: int) -> Iterator[_Logged]:
    options = (
        "--no-merges", "--raw", "--no-abbrev", "--no-renames", "--relative", "-z", "--no-color", "--root",
        "--no-show-signature", "--no-ext-diff", "--no-textconv", "--encoding=UTF-8",
        "--ignore-submodules=all", f"-O{os.devnull}", f"--max-count={n_most}",
        "--format=%x01%H%x00%P%x00%B",
    )  # fmt: skip
    output, is_whole = git.partly_written(folder, "log", *options, "HEAD", "--", ".")
    found = list(_parsed(output))
    # What comes last may lack some of its files.
    yield from found if is_whole else found[:-1]


def _parsed(output: bytes) -> Iterator[_Logged]:
    fields = iter(output.split(b"\0"))
    field = next(fields, None)
    while field is not None:
        mark = _MARK.fullmatch(field.lstrip(b"\n"))
        if mark is None:
            field = next(fields, None)
            continue
        parents = next(fields, b"").decode("ascii", "replace").split()
        message = next(fields, b"").decode("utf-8", "replace")
        changes: list[_Change] = []
        while (field := next(fields, None)) is not None:
            row = _ROW.fullmatch(field.lstrip(b"\n"))
            if row is None:
                if _MARK.fullmatch(field.lstrip(b"\n")):
                    break
                continue
            old_mode, new_mode, old, new, status = row.groups()
            is_regular = old_mode in _REGULAR and new_mode in _REGULAR
            path = os.fsdecode(next(fields, b""))
            changes.append(_Change(path, status, old.decode(), new.decode(), is_regular))
        yield _Logged(mark[1].decode(), parents, message, changes)


def _judged(folder: Path, logged: _Logged, max_file_bytes: int) -> Replay | Unfit:
    if len(logged.parents) != 1:
        return Unfit.FIRST
    code = [change for change in logged.changes if change.is_code]
    changed = [change for change in code if change.status == b"M" and change.is_regular]
    if any(change.status in (b"D", b"T") for change in code):
        return Unfit.MOVES
    if not changed:
        return Unfit.ELSEWHERE
    if len(logged.changes) > MAX_FILES or len(changed) > MAX_CODE_FILES:
        return Unfit.LARGE
    query = _TRAILER.sub("", logged.message).strip()
    if len(words(query)) < MIN_WORDS:
        return Unfit.SILENT
    blobs = revisions.blobs(
        folder,
        [blob for change in changed for blob in (change.old, change.new)],
        max_file_bytes,
    )
    gold: dict[FilePath, tuple[Lines, ...]] = {}
    n_lines = 0
    for change in changed:
        texts = [_lines(blobs.get(blob)) for blob in (change.old, change.new)]
        old, new = texts
        if old is None or new is None:
            return Unfit.UNREADABLE
        found = gaps(old, new)
        n_lines += sum(max(b - a, d - c) for (a, b), (c, d) in ((g.old, g.new) for g in found))
        ranges = tuple(
            lines for gap in found if (lines := _in_parent(gap.old, len(old))) is not None
        )
        if ranges:
            gold[change.path] = ranges
    if n_lines > MAX_CODE_LINES:
        return Unfit.LARGE
    if not gold:
        return Unfit.ELSEWHERE
    subject = _subject(logged.message)
    return Replay(logged.commit, logged.parents[0], subject, query, gold)


def _in_parent(span: tuple[int, int], n_lines: int) -> Lines | None:
    """A run of the parent's lines; the lines on both sides of an empty one."""
    start, end = span
    if start >= end:
        start, end = start - 1, start + 1
    start, end = max(0, start), min(end, n_lines)
    return Lines(start + 1, end) if start < end else None


def _lines(data: bytes | None) -> list[str] | None:
    read = None if data is None else decoded(data)
    if read is None:
        return None
    return [line.rstrip("\r\n") for line in split_lines(read.text)]


def _subject(message: str) -> str:
    return message.strip().partition("\n")[0]
