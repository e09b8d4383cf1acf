"""Where a result goes: standard output, a file that is whole or absent, the clipboard."""

import base64
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyperclip

from contextpackd.errors import OutputProblem

# Terminals drop longer OSC 52 sequences without a word: 74 994 bytes of payload is what the
# strictest common ones (tmux, hterm) let through.
MAX_OSC52_BYTES = 74_994


def write_file(file: Path, text: str) -> None:
    """Write the text and then rename: whoever reads the file sees the old or the new one.

    Raises `OutputProblem`.
    """
    temporary: Path | None = None
    try:
        if file.is_dir():
            raise OutputProblem(str(file), "is a directory")
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        temporary.chmod(file.stat().st_mode & 0o777 if file.exists() else 0o666 & ~_umask())
        temporary.replace(file)
        temporary = None
    except OSError as error:
        raise OutputProblem(str(file), error.strerror or str(error)) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_stdout(text: str) -> None:
    """Write to standard output, as UTF-8 whatever the locale, line ends untouched."""
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


def copy(text: str, environment: Mapping[str, str]) -> str | None:
    """Put the text on the clipboard. None when that is done, else why it cannot be.

    Over ssh the clipboard is the one of the terminal, reached by its OSC 52 sequence.
    """
    if "SSH_TTY" in environment or "SSH_CONNECTION" in environment:
        return _copy_by_terminal(text)
    try:
        pyperclip.copy(text)
    except pyperclip.PyperclipException as error:
        reason = str(error).strip().partition("\n")[0]
        return f"no clipboard: {reason or 'no program for it was found'}; use --output FILE"
    return None


def _copy_by_terminal(text: str) -> str | None:
    payload = base64.b64encode(text.encode("utf-8"))
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
