"""What is on disk below a root: which files are candidates, and their texts.

No path leaves the root: links are never followed, when listing or when reading, whatever stands
there in between. Only regular files are ever opened. `survey` has the walk itself.
"""

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from contextpack.content import decoded
from contextpack.model import Reason, Skip
from contextpack.text import display_path
from contextpackd import files
from contextpackd.errors import RootProblem
from contextpackd.listing import Candidate, Discovery, Listing, Notice, NoticeKind
from contextpackd.survey import Survey

__all__ = [
    "Candidate", "Discovery", "Listing", "Notice", "NoticeKind", "Text", "check_root", "discover",
    "read",
]  # fmt: skip

# Not folders of work, and without an end: the kernel makes up what is in them.
_PSEUDO_ROOTS = frozenset((Path("/proc"), Path("/sys"), Path("/dev")))
_DIGEST_BYTES = 20  # Enough against chance and malice, and short in a store.


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text without its byte order mark; line endings are as they are on disk."""

    text: str
    encoding: str
    is_lossy: bool
    """Whether bytes were guessed or replaced."""
    digest: str
    """Of the file's bytes, in hexadecimal."""


def check_root(root: Path, *, force: bool) -> Path:
    """The root with links resolved. Raises `RootProblem` for what is no workspace.

    `force` lets the file system's top and the home directory pass, nothing else.
    """
    shown = display_path(str(root))
    try:
        resolved = Path(os.path.realpath(root, strict=True))
        if not resolved.is_dir():
            raise RootProblem(shown, "is not a directory; pass the directory that holds it")
        with os.scandir(resolved):
            pass
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RootProblem(shown, "does not exist; pass an existing directory") from error
    except OSError as error:
        reason = f"cannot be read: {files.cause(error)}; pass a directory that you may read"
        raise RootProblem(shown, reason) from error
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - `Path.home` may raise.
    if not force and (resolved == resolved.parent or resolved in _PSEUDO_ROOTS):
        raise RootProblem(
            shown, "is too broad for a workspace; pass a project's directory, or --force"
        )
    if not force and str(resolved) == home:
        reason = "is the home directory, too broad for a workspace; pass a project's or --force"
        raise RootProblem(shown, reason)
    return resolved


def discover(root: Path, options: Discovery) -> Listing:
    """Everything below the root. Raises `RootProblem` if the root itself cannot be listed."""
    survey = Survey(root, options)
    survey.sweep()
    return survey.listing()


def read(root: Path, candidate: Candidate, max_bytes: int) -> Text | Skip:
    """The text of a candidate, or why there is none (any more)."""
    path = candidate.path
    try:
        descriptor = files.opened(root, path)
    except OSError as error:
        return _unopened(path, error)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Skip(path, Reason.SPECIAL, files.kind(status.st_mode))
        data = b"" if status.st_size > max_bytes else files.content(descriptor, max_bytes + 1)
    except OSError as error:
        return Skip(path, Reason.UNREADABLE, files.cause(error))
    finally:
        os.close(descriptor)
    if max(status.st_size, len(data)) > max_bytes:
        return Skip(
            path, Reason.TOO_LARGE, files.too_large(max(status.st_size, len(data)), max_bytes)
        )
    found = decoded(data)
    if found is None:
        return Skip(path, Reason.BINARY)
    digest = hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()
    return Text(found.text, found.encoding, found.is_lossy, digest)


def _unopened(path: str, error: OSError) -> Skip:
    match error.errno:
        case errno.ELOOP | errno.ENOTDIR:
            return Skip(path, Reason.SYMLINK, "became a link")
        case errno.ENXIO:
            return Skip(path, Reason.SPECIAL, "a socket")
        case _:
            return Skip(path, Reason.UNREADABLE, files.cause(error))
