"""The stat of files and directories, as far as it tells of change."""

import os
import stat
from pathlib import Path

Mark = tuple[int, int, int, int]
ABSENT: Mark = (0, 0, 0, 0)
"""Of a file that is there, the last one is its inode and never 0."""


def identity(root: Path) -> tuple[int, int] | None:
    """Which directory stands there, or None where none does."""
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def mark_of(file: str) -> Mark:
    """Another one after each change of a file; of a directory only which one it is."""
    try:
        status = os.stat(file)  # noqa: PTH116 - Half the time of `Path.stat`.
    except (OSError, ValueError):
        return ABSENT
    if stat.S_ISDIR(status.st_mode):
        return (status.st_dev, status.st_ino, 0, 0)  # Its times change with every name in it.
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
