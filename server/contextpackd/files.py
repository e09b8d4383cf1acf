"""Files that may be anything: no link is followed unseen, and nothing is waited for."""

import errno
import os
import stat
from pathlib import Path

from contextpack.content import named_reason
from contextpack.model import Reason, Skip
from contextpack.text import display_path
from contextpackd.listing import Candidate

_READ_BYTES = 1 << 16  # Most files in one go.
_CAN_OPEN_BELOW = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# A FIFO or a device does not make an open with `O_NONBLOCK` wait for its other end.
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_JUNCTION = 0xA0000003  # `stat.IO_REPARSE_TAG_MOUNT_POINT`, which only Windows' Python has.


def is_directory(status: os.stat_result) -> bool:
    """Whether an `lstat` is that of a directory, and not of Windows' other kind of link."""
    is_junction = getattr(status, "st_reparse_tag", 0) == _JUNCTION
    return stat.S_ISDIR(status.st_mode) and not is_junction


def is_special(file: str) -> bool:
    """Whether what is at a path could make a reader wait. A link is not followed."""
    try:
        mode = os.lstat(file).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def looked(root: Path, path: str, max_bytes: int, status: os.stat_result) -> Candidate | Skip:
    """What is at a path below the root, which no rule leaves out, by its `lstat`."""
    mode = status.st_mode
    if stat.S_ISREG(mode) and status.st_size <= max_bytes:
        return Candidate(
            path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        )
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and not is_directory(status)):
        return Skip(path, Reason.SYMLINK, _link_rule(root, path))
    if not stat.S_ISREG(mode):
        return Skip(path, Reason.SPECIAL, kind(mode))
    # The more telling reason, if the name gives one.
    if reason := named_reason(path):
        return Skip(path, reason)
    return Skip(path, Reason.TOO_LARGE, too_large(status.st_size, max_bytes))


def kind(mode: int) -> str:
    """What kind of thing that is no regular file a mode is of, for people."""
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a directory" if stat.S_ISDIR(mode) else "a device"


def too_large(size: int, limit: int) -> str:
    """The rule by which a file is too large, for people."""
    return f"{size} bytes, more than {limit}"


def cause(error: OSError) -> str:
    """What went wrong, for people."""
    return (error.strerror or str(error)).lower()


def opened(root: Path, path: str) -> int:
    """A descriptor of what is at a path below the root, reached without following any link.

    Raises `OSError`: `ELOOP` or `ENOTDIR` for a link, `ENXIO` for a socket.
    """
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise OSError(errno.EINVAL, "not a path below the root")
    if not _CAN_OPEN_BELOW:
        real = Path(os.path.realpath(root / path, strict=True))
        if real != root / path:
            raise OSError(errno.ELOOP, "a link")
        return os.open(real, READING)
    # One step at a time: a check of the whole path would be out of date when it is opened.
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts[:-1]:
        try:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | NO_FOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    try:
        return os.open(parts[-1], READING | NO_FOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def content(descriptor: int, limit: int) -> bytes:
    """The bytes from here to the end, or as many as the limit. Raises `OSError`."""
    parts = []
    while limit > 0 and (part := os.read(descriptor, min(limit, _READ_BYTES))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _link_rule(root: Path, path: str) -> str:
    try:
        target = Path(os.path.realpath(root / path, strict=True))
    except OSError as error:
        return "a link in a loop" if error.errno == errno.ELOOP else "a link to nothing"
    if target == root:
        return "a link to the root"
    if not target.is_relative_to(root):
        return "a link out of the root"
    return f"a link to {display_path(target.relative_to(root).as_posix())}"
