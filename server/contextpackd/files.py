"""Opening files that may be anything: no link is followed unseen, and nothing is waited for."""

import errno
import os
from pathlib import Path

_READ_BYTES = 1 << 16  # Most files in one go.
_CAN_OPEN_BELOW = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# A FIFO or a device does not make an open with `O_NONBLOCK` wait for its other end.
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


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
