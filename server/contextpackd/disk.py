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
    "Candidate", "Content", "Discovery", "Listing", "Notice", "NoticeKind", "Text", "check_root",
    "content", "digest_of", "discover", "read",
]  # fmt: skip

# Not folders of work, and without an end: the kernel makes up what is in them.
_PSEUDO_ROOTS = frozenset((Path("/proc"), Path("/sys"), Path("/dev")))
_DIGEST_BYTES = 20  # Enough against chance and malice, and short in a store.


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file."""

    data: bytes
    digest: str
    """As `digest_of` gives it."""


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


def checked_root(given: Path, folder: Path, *, force: bool) -> Path:
    """The same for a path as somebody in `folder` gave it, by which problems name it."""
    try:
        return check_root(folder / given, force=force)
    except RootProblem as problem:
        raise RootProblem(display_path(str(given)), problem.reason) from problem


def discover(root: Path, options: Discovery) -> Listing:
    """Everything below the root. Raises `RootProblem` if the root itself cannot be listed."""
    survey = Survey(root, options)
    survey.sweep()
    return survey.listing()


def digest_of(data: bytes) -> str:
    """What tells one content from any other, in hexadecimal."""
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def content(root: Path, path: str, max_bytes: int) -> Content | Skip:
    """The bytes of a regular file below the root, or why there are none (any more)."""
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
    return Content(data, digest_of(data))


def read(root: Path, path: str, max_bytes: int) -> Text | Skip:
    """The text of a regular file below the root, or why there is none (any more)."""
    found = content(root, path, max_bytes)
    if isinstance(found, Skip):
        return found
    text = decoded(found.data)
    if text is None:
        return Skip(path, Reason.BINARY)
    return Text(text.text, text.encoding, text.is_lossy, found.digest)


def _unopened(path: str, error: OSError) -> Skip:
    match error.errno:
        case errno.ELOOP | errno.ENOTDIR:
            return Skip(path, Reason.SYMLINK, "became a link")
        case errno.ENXIO:
            return Skip(path, Reason.SPECIAL, "a socket")
        case _:
            return Skip(path, Reason.UNREADABLE, files.cause(error))
