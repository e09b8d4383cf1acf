"""Directories that belong to this user alone: what lies in them was put there by this user."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

PRIVATE_DIRECTORY = 0o700
PRIVATE_FILE = 0o600


def refusal(directory: Path) -> str | None:
    """Why a directory cannot be trusted with private files, or None. An absent one can be made.

    A link at the end of the path is refused, links before it are the user's own business.
    Windows has neither owners nor modes here: there the user's profile is the protection.
    """
    if not directory.is_absolute():
        return "is no absolute path"
    try:
        found = directory.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"cannot be looked at: {error.strerror}"
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link"
    if not stat.S_ISDIR(found.st_mode):
        return "is no directory"
    if hasattr(os, "geteuid"):
        if found.st_uid != os.geteuid():
            return "belongs to another user"
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "can be written by other users"
    return None


def make_directory(directory: Path) -> None:
    """Make a directory that only this user can enter, or take an own one and close it to others.

    Raises `OSError`, also for what `refusal` refuses.
    """
    directory.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    reason = refusal(directory)
    if reason is not None:
        raise PermissionError(errno.EPERM, reason, str(directory))
    if stat.S_IMODE(directory.stat().st_mode) & 0o077 and hasattr(os, "geteuid"):
        directory.chmod(PRIVATE_DIRECTORY)


def create_file(file: Path) -> None:
    """Make an empty file that only this user can read; one that exists stays. Raises `OSError`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with suppress(FileExistsError):
        os.close(os.open(file, flags, PRIVATE_FILE))
