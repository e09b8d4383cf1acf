"""The stdio end that agents start, and what it says of itself. Standard library only.

How it works: the Model Context Protocol is lines of JSON, which the bridge carries to the
daemon's socket for it. Ahead of them goes one line that is no message of the protocol: whose
connection it is, where it was started, and what its command line says. A client of the socket
that sends no such line has no roots but those that it lists itself.
"""

import importlib.util
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from contextpackd import bridge
from contextpackd.errors import DaemonError, RootProblem

REQUIREMENT = "mcp>=2.3,<3"
"""As in pyproject.toml's extra."""

_OLDEST, _TOO_NEW = (2, 3), (3, 0)

DEFAULT_PAGE_BYTES = 60_000
"""Of a result's text. Clients refuse above 25 000 tokens, and dense JSON has 2.5 bytes a token."""

MIN_PAGE_BYTES = 2_000
"""The note below a page takes part of it; clients that cut most keep 7 000."""

MAX_LINE_BYTES = 1 << 22
"""A message holds a question, or a bundle to look at; bundles have some ten bytes a token."""

_GREETING = "contextpackd"


class MissingExtra(DaemonError):
    """The protocol's library is not installed, or not in a version that we know."""

    def __init__(self, state: str) -> None:
        super().__init__(
            f"agents need the extra `mcp`: {state}; {sys.executable} -m pip install '{REQUIREMENT}'"
        )
        self.state = state


@dataclass(frozen=True, slots=True)
class Start:
    """How a client's server was started."""

    directory: str = ""
    """The working directory, absolute; empty if nothing is known of it."""
    roots: tuple[str, ...] = ()
    """What the command line names, absolute."""
    page_bytes: int = DEFAULT_PAGE_BYTES


def start(roots: Sequence[str], page_bytes: int | None) -> Start:
    """How this process was started. Raises `RootProblem` for a root that is no directory."""
    try:
        here = str(Path.cwd())
    except OSError:  # It was removed.
        here = ""
    found = tuple(os.path.normpath(os.path.join(here, root)) for root in roots)  # noqa: PTH118
    for root in found:
        if not Path(root).is_dir():
            raise RootProblem(root, "is not a directory; pass an existing one")
    return Start(here, found, DEFAULT_PAGE_BYTES if page_bytes is None else page_bytes)


def plain(words: Sequence[str]) -> tuple[list[str], int | None] | None:
    """The roots and the page of a command line that is nothing else; None for any other.

    It saves the usual start the loading of everything that the command line knows.
    """
    roots: list[str] = []
    page_bytes: int | None = None
    rest = list(words)
    while rest:
        match rest:
            case ["--root", root, *rest] if not root.startswith("-"):
                roots.append(root)
            case ["--page-bytes", number, *rest] if re.fullmatch("[0-9]{1,9}", number):
                page_bytes = int(number)
            case _:
                return None
    is_fine = page_bytes is None or page_bytes >= MIN_PAGE_BYTES
    return (roots, page_bytes) if is_fine else None


def check_extra() -> None:
    """Raises `MissingExtra`. Nothing of it is loaded."""
    try:
        is_there = importlib.util.find_spec("mcp") is not None
        version = metadata.version("mcp") if is_there else ""
    except (ImportError, ValueError):
        version = ""
    if not version:
        raise MissingExtra("it is not installed")
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if not _OLDEST <= numbers < _TOO_NEW:
        raise MissingExtra(f"mcp {version} is installed")


def run(started: Start) -> int:
    """Carry the protocol between standard input, the daemon and standard output: the exit code."""
    return bridge.carry(lambda found: found.mcp, lambda session: greeting(started, session))


def run_or_say(roots: Sequence[str], page_bytes: int | None) -> int:
    """The same as a whole command: a problem becomes a line on standard error."""
    try:
        check_extra()
        return run(start(roots, page_bytes))
    except DaemonError as error:
        sys.stderr.write(f"contextpackd: {error}\n")
        return bridge.USAGE


def greeting(started: Start, session: str) -> bytes:
    """The line that goes ahead of a client's messages."""
    said = {
        "session": session,
        "directory": started.directory,
        "roots": list(started.roots),
        "pageBytes": started.page_bytes,
    }
    # Names that are not UTF-8 are escapes here, and come back as they were.
    return json.dumps({_GREETING: said}).encode("ascii") + b"\n"


def greeted(line: bytes) -> tuple[Start, str] | None:
    """What a greeting says, and whose session it is; None for any other line."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match document:
        case {
            "contextpackd": {
                "session": str(session),
                "directory": str(directory),
                "roots": list(roots),
                "pageBytes": int(page_bytes),
            }
        } if all(isinstance(root, str) for root in roots):
            return Start(directory, tuple(roots), max(page_bytes, MIN_PAGE_BYTES)), session
        case _:
            return None
