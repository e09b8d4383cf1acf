"""What the command line understands of the commands around the daemon."""

import argparse
import math
from collections.abc import Callable

from contextpackd import agents

Add = Callable[[str, str, str], argparse.ArgumentParser]
"""Adds a command: its name, a line about it, and examples."""


def add_commands(add: Add) -> None:
    """Add the commands of this module."""
    lsp = add(
        "lsp", "the language server for an editor, on stdin and stdout",
        """example (Neovim):
  vim.lsp.start({ name = 'contextpack', cmd = { 'contextpackd', 'lsp' } })""",
    )  # fmt: skip
    lsp.add_argument(
        "--no-daemon", action="store_true", help="serve from this process, and only this client"
    )
    lsp.add_argument(
        "--stdio", action="store_true", help="does nothing: some clients always pass it"
    )
    mcp = add(
        "mcp", "tools for an agent, by the Model Context Protocol on stdin and stdout",
        """needs the extra `mcp` (pip install 'contextpackd[mcp]'); without --root the roots are those
that the client lists, else the working directory
example (Claude Code):
  claude mcp add contextpack -- contextpackd mcp""",
    )  # fmt: skip
    mcp.add_argument(
        "--root", dest="roots", action="append", default=[], metavar="DIR",
        help="what the agent may look at; several are packed as one (repeatable)",
    )  # fmt: skip
    mcp.add_argument(
        "--page-bytes", type=_page_bytes, default=None, metavar="N",
        help="most bytes of one answer's text; a longer one comes in pages"
        f" (default: {agents.DEFAULT_PAGE_BYTES})",
    )  # fmt: skip
    mcp.add_argument(
        "--no-daemon", action="store_true", help="serve from this process, and only this client"
    )
    served = add(
        "daemon", "serve everybody who works as this user, until nobody needs it",
        """Editors and agents start it by themselves.
example:
  contextpackd daemon --idle 0      # stop with the last client""",
    )  # fmt: skip
    served.add_argument(
        "--idle", type=_seconds, default=None, metavar="SECONDS",
        help="how long to stay warm after the last client (default: 600)",
    )  # fmt: skip
    served.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    status = add(
        "status", "what the running daemon is and holds, and which others there are",
        """examples:
  contextpackd status
  contextpackd status --format json""",
    )  # fmt: skip
    status.add_argument(
        "--format", choices=["table", "json"], default="table", help="for people or programs"
    )
    stop = add("stop", "end the running daemon; editors start it again when they need it", "")
    stop.add_argument(
        "--all", action="store_true", help="end those of other versions of this program, too"
    )
    doctor = add(
        "doctor", "check that everything is in place, and say what to do if not",
        """exit code 1 if something is not
example:
  contextpackd doctor --format json""",
    )  # fmt: skip
    doctor.add_argument(
        "--format", choices=["table", "json"], default="table", help="for people or programs"
    )
    add("restart", "end the running daemon and start one", "")


def _page_bytes(text: str) -> int:
    least = agents.MIN_PAGE_BYTES
    if not text.isdecimal() or len(text) > 9 or int(text) < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of bytes, {least} or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError("must be a number of seconds, 0 or more")
    return seconds
