"""What a listing of a root says: its options, the candidates, and what was left out."""

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from contextpack import model
from contextpack.model import Skip


class NoticeKind(StrEnum):
    """What a notice is about."""

    GIT_UNAVAILABLE = "git-unavailable-fallback-walk"
    IGNORE_LINE = "ignore-line-skipped"


@dataclass(frozen=True, slots=True, order=True)
class Notice:
    """Something about a whole listing that people should know."""

    kind: NoticeKind
    message: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a listing takes in. Globs are patterns in git's ignore syntax, from the root on."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    max_file_bytes: int


# Not a dataclass: there is one for each file, a frozen one takes a microsecond to make, and the
# garbage collector need not look at what holds only strings and numbers.
class Candidate(msgspec.Struct, frozen=True, gc=False):
    """A regular file below the root that may enter a bundle, as `lstat` saw it.

    On Windows `ctime_ns` is when the file was made, and the inode is the file's index: there a
    change shows by its size or `mtime_ns`, and a replaced file by its index.
    """

    path: model.Path
    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    """When the inode changed: it cannot be set back, as the time of the content can."""
    inode: int


@dataclass(frozen=True, slots=True)
class Listing:
    """What is below a root. Every path stands once, in one of the two, both sorted by path."""

    candidates: tuple[Candidate, ...]
    skipped: tuple[Skip, ...]
    warnings: tuple[Notice, ...]
    unmatched_globs: tuple[str, ...]
    """`include` and `exclude` globs that match nothing below the root."""
    uses_git: bool
    """Whether git answered for the root's repository."""
