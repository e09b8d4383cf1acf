"""The entry of the command line: everything is imported inside, where Ctrl-C is caught."""

import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Run one command and leave with its exit code."""
    try:
        # Imports take a third of a second, in which people press Ctrl-C, too.
        from contextpackd.cli import run

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("contextpackd: interrupted; nothing was written\n")
        code = INTERRUPTED
    _settle()
    raise SystemExit(code)


def _settle() -> None:
    """Give up on a standard error that takes nothing: Python would fail on it at exit."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        sys.stderr = None


if __name__ == "__main__":
    main()
