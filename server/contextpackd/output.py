"""Where a result goes: standard output, a file that is whole or absent, the clipboard.

A command that the daemon answers loads this module and little else, so what is not always
needed is imported where it is.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from contextpackd.errors import InputProblem, OutputProblem

# Terminals drop longer OSC 52 sequences without a word: 74 994 bytes of payload is what the
# strictest common ones (tmux, hterm) let through.
MAX_OSC52_BYTES = 74_994


OK, USAGE = 0, 2
"""Exit codes of commands."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command gives, before any of it was written."""

    code: int
    """The exit code."""
    text: str = ""
    """The result, for a file or the clipboard."""
    shown: str = ""
    """The result, for standard output: what would move a terminal's cursor is escaped."""
    before: str = ""
    """For standard error, before the result is written."""
    after: str = ""
    """For standard error, after that."""
    file: str | None = None
    """Where the result goes instead of standard output."""
    is_copied: bool = False
    """Whether the result goes to the clipboard."""
    is_drawn: bool = False
    """Whether the result is a graph in Graphviz' language of which a picture is wanted."""


def deliver(outcome: Outcome) -> int:
    """Write everything where it belongs: the exit code.

    Raises `OutputProblem`, `DrawingProblem`, and `BrokenPipeError` when the reader left.
    """
    _complain(outcome.before)
    text, shown = outcome.text, outcome.shown
    if outcome.is_drawn:
        from contextpackd.drawing import svg

        text = svg(text)
        shown = _shown(text)
    if outcome.file is not None:
        write_file(Path(outcome.file), text)
    if outcome.is_copied:
        problem = copy(text, os.environ)
        say(problem or "copied to the clipboard")
        if problem is not None and outcome.file is None:
            write(shown)
    elif outcome.file is None and shown:
        write(shown)
    _complain(outcome.after)
    return outcome.code


def write_file(file: Path, text: str) -> None:
    """Write the text and then rename: whoever reads the file sees the old or the new one.

    What is no regular file (a FIFO, a terminal) is written into, since a rename would replace
    it; a link is followed to its file. Raises `OutputProblem`.
    """
    import tempfile

    temporary: Path | None = None
    try:
        target = file.resolve()
        if target.is_dir():
            raise OutputProblem(str(file), "is a directory")
        if target.exists() and not target.is_file():
            with target.open("w", encoding="utf-8", errors="replace", newline="") as stream:
                stream.write(text)
            return
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as stream:
            stream.write(text)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        temporary.chmod(mode)
        temporary.replace(target)
        temporary = None
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links.
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputProblem(str(file), reason) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_stdout(text: str) -> None:
    """Write to standard output, as UTF-8 whatever the locale, line ends untouched.

    On a terminal, characters that would move its cursor or reorder its text become escapes.
    Raises `OutputProblem`, and `BrokenPipeError` when the reader left.
    """
    write(_shown(text))


def _shown(text: str) -> str:
    if sys.stdout is None or not sys.stdout.isatty():
        return text
    from contextpack.text import terminal_safe

    return terminal_safe(text)


def write(text: str) -> None:
    """Write to standard output what is fit for it. Raises as `write_stdout` does."""
    stream = sys.stdout
    if stream is None:
        raise OutputProblem("standard output", "it is closed")
    try:
        # What no encoding can write (a lone surrogate of the query) becomes a question mark.
        stream.buffer.write(text.encode("utf-8", "replace"))
        stream.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputProblem("standard output", error.strerror or str(error)) from error


def say(line: str) -> None:
    """Tell the person: one line on standard error. A closed or full one is nobody there."""
    _complain(said(line))


def said(line: str) -> str:
    """A line as it is told to people."""
    return f"contextpackd: {line}\n"


def _complain(text: str) -> None:
    try:
        if text and sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
    except OSError:
        pass


def read_stdin() -> bytes:
    """Everything on standard input. Raises `InputProblem` when it is closed."""
    if sys.stdin is None:
        raise InputProblem("is closed")
    return sys.stdin.buffer.read()


def read_file(file: Path) -> bytes:
    """Everything in a file, or on standard input for `-`. Raises `InputProblem`."""
    if str(file) == "-":
        return read_stdin()
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputProblem(f"cannot be read: {error.strerror}", str(file)) from error


def copy(text: str, environment: Mapping[str, str]) -> str | None:
    """Put the text on the clipboard. None when that is done, else why it cannot be.

    Over ssh the clipboard is the one of the terminal, reached by its OSC 52 sequence.
    """
    if "SSH_TTY" in environment or "SSH_CONNECTION" in environment:
        return _copy_by_terminal(text)
    import pyperclip

    try:
        pyperclip.copy(text)
    except pyperclip.PyperclipException as error:
        reason = str(error).strip().partition("\n")[0]
        return f"no clipboard: {reason or 'no program for it was found'}; use --output FILE"
    return None


def _copy_by_terminal(text: str) -> str | None:
    import base64

    payload = base64.b64encode(text.encode("utf-8", "replace"))
    if len(payload) > MAX_OSC52_BYTES:
        return f"no clipboard: terminals take at most {MAX_OSC52_BYTES} bytes over ssh, this has {len(payload)}; use --output FILE"
    try:
        with Path("/dev/tty").open("wb", buffering=0) as terminal:
            terminal.write(b"\x1b]52;c;" + payload + b"\x07")
    except OSError as error:
        return f"no clipboard: no terminal to send it to over ssh ({error.strerror}); use --output FILE"
    return None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
