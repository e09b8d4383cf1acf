"""Where the daemon of this user and this version is found: a private directory of sockets.

Standard library only, and little of it: every start of an editor waits for this module.
"""

import os
import stat
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from contextpackd.errors import DaemonError
from contextpackd.version import VERSION

NAME = "contextpackd"

MAX_SOCKET_BYTES = 100
"""Of a socket's path: 104 bytes on macOS, 108 on Linux, with the last one being zero."""


class PlaceProblem(DaemonError):
    """A directory for sockets that cannot be trusted or used, and what to do about it."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(f"{folder} {reason}")
        self.folder = folder
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Place:
    """The files of one daemon."""

    folder: Path
    """Ours alone. Its name says which code serves there."""

    @property
    def control(self) -> Path:
        """The socket for joining, asking for the status, and stopping: JSON lines."""
        return self.folder / "control.sock"

    @property
    def lsp(self) -> Path:
        """The socket that speaks the Language Server Protocol."""
        return self.folder / "lsp.sock"

    @property
    def mcp(self) -> Path:
        """The socket that speaks the Model Context Protocol."""
        return self.folder / "mcp.sock"

    @property
    def lock(self) -> Path:
        """Locked by the daemon for as long as it lives."""
        return self.folder / "lock"

    @property
    def starting(self) -> Path:
        """Locked by the one client that starts a daemon while the others wait."""
        return self.folder / "starting"


def place() -> Place:
    """This user's and this code's place. Nothing is made yet; raises `PlaceProblem`."""
    name = f"{VERSION}-{_build()}"
    bases = [base for base in (_runtime_base(), _temporary_base()) if base is not None]
    for base in bases:
        found = Place(base / name)
        if len(os.fsencode(found.control)) <= MAX_SOCKET_BYTES:
            return found
    raise PlaceProblem(str(bases[0]), "is too long a path for sockets; set XDG_RUNTIME_DIR")


def secure(found: Place) -> None:
    """Make the place, or check that it is ours alone. Raises `PlaceProblem`."""
    for folder in (found.folder.parent, found.folder):
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            # `exist_ok` does not accept a link to nothing or a file.
            reason = error.strerror or str(error)
            raise PlaceProblem(str(folder), f"cannot be made: {reason}") from error
        _check_folder(folder)


def check(found: Place) -> None:
    """Check that a place is ours alone. Raises `FileNotFoundError`, and as `secure` does."""
    for folder in (found.folder.parent, found.folder):
        _check_folder(folder)


def _check_folder(folder: Path) -> None:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise PlaceProblem(str(folder), "is not a directory of its own; remove it")
    if status.st_uid != os.geteuid():
        raise PlaceProblem(str(folder), "belongs to another user; set XDG_RUNTIME_DIR")
    if status.st_mode & 0o077:
        raise PlaceProblem(str(folder), "is open to other users; chmod 700 it")


def check_socket(file: Path) -> None:
    """Check that a socket is ours, before anything is told to it.

    Raises `FileNotFoundError` when there is none, and `PlaceProblem`.
    """
    status = file.lstat()
    if not stat.S_ISSOCK(status.st_mode):
        raise PlaceProblem(str(file), "is no socket; remove it")
    if status.st_uid != os.geteuid():
        raise PlaceProblem(str(file), "belongs to another user; remove it")


def siblings(found: Place) -> list[Place]:
    """The places of other versions of this code, for the same user."""
    return [other for other in _below(found.folder.parent) if other != found]


def places() -> list[Place]:
    """The places of all versions of this code, for this user: this one's first.

    Those too that were started where there was no runtime directory, or another one.
    """
    bases = [base for base in (_runtime_base(), _temporary_base()) if base is not None]
    return list(dict.fromkeys([place(), *(found for base in bases for found in _below(base))]))


def _below(base: Path) -> list[Place]:
    try:
        folders = sorted(base.iterdir())
    except OSError:
        return []
    return [Place(folder) for folder in folders if folder.is_dir() and not folder.is_symlink()]


def _runtime_base() -> Path | None:
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if not given.startswith("/"):
        return None
    try:
        status = Path(given).stat()
    except OSError:
        return None
    is_ours = status.st_uid == os.geteuid() and stat.S_ISDIR(status.st_mode)
    return Path(given) / NAME if is_ours else None


def _temporary_base() -> Path:
    given = os.environ.get("TMPDIR", "")
    return Path(given if given.startswith("/") else "/tmp") / f"{NAME}-{os.geteuid()}"


def _build() -> str:
    """What tells two installations apart: a daemon must not serve another one's code."""
    package = Path(__file__).parent
    newest = 0
    for source in (package, package.parents[1] / "core" / "contextpack", package.parent / "contextpack"):  # fmt: skip
        for folder, _, names in os.walk(source):
            for name in names:
                if name.endswith(".py"):
                    newest = max(newest, Path(folder, name).stat().st_mtime_ns)
    # Not the executable: one interpreter has many names (`python`, `python3`, a script's).
    text = f"{sys.prefix}\0{sys.version}\0{package}\0{newest}"
    return f"{zlib.crc32(os.fsencode(text)):08x}"
