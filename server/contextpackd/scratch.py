"""A temporary directory that nothing outlives for long.

It goes with the block that made it. Whoever was killed before, and could not take it away, has
no lock on it any more: the next one removes it.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from contextpackd import private

PREFIX = "contextpackd-eval-"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A directory of this user alone, by its real path. Raises `OSError`."""
    _sweep(Path(tempfile.gettempdir()))
    made, lock = _locked()
    try:
        yield made.resolve()
    finally:
        shutil.rmtree(made, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked() -> tuple[Path, int | None]:
    while True:
        made = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = _lock(made, waits=True)
        # Somebody who swept in between took it for one that was left.
        if lock is None or made.exists():
            return made, lock
        os.close(lock)


def _sweep(folder: Path) -> None:
    for left in folder.glob(f"{PREFIX}*"):
        if private.refusal(left) is not None:
            continue
        lock = _lock(left, waits=False)
        if lock is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)


def _lock(directory: Path, *, waits: bool) -> int | None:
    """A descriptor that holds the lock for as long as it is open; None where there is none."""
    try:
        import fcntl  # Unix only: elsewhere what is left stays.
    except ImportError:
        return None
    try:
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError:
        os.close(opened)
        return None
    return opened
