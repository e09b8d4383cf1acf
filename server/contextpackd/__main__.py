"""The entry of the command line: everything is imported inside, where Ctrl-C is caught."""

import sys
from typing import NoReturn

INTERRUPTED = 130

# What an editor starts needs nothing of the command line, and is waited for.
_BRIDGES = (["lsp"], ["lsp", "--stdio"])

# What a running daemon answers, without most of what the command line loads.
_ASKED = frozenset({"pack", "explain", "why", "files", "graph", "batch"})


def main() -> NoReturn:
    """Run one command and leave with its exit code."""
    try:
        # Imports take a third of a second, in which people press Ctrl-C, too.
        code = _command()
    except KeyboardInterrupt:
        sys.stderr.write("contextpackd: interrupted; nothing was written\n")
        code = INTERRUPTED
    _settle()
    raise SystemExit(code)


def _command() -> int:
    if sys.argv[1:] in _BRIDGES:
        return _bridged()
    if sys.argv[1:2] == ["mcp"]:
        from contextpackd import agents, bridge

        words = agents.plain(sys.argv[2:])
        if words is not None and bridge.HAS_SOCKETS:
            return agents.run_or_say(*words)
    return _run()


def _run() -> int:
    alone = None
    if sys.argv[1:2] and sys.argv[1] in _ASKED:
        from contextpackd import envoy

        try:
            return envoy.run(sys.argv[1:])
        except envoy.Alone as found:
            alone = found
    from contextpackd.cli import run

    return run(alone=alone)


def _bridged() -> int:
    from contextpackd import bridge

    return bridge.run_or_say() if bridge.HAS_SOCKETS else _run()


def _settle() -> None:
    """Give up on a standard error that takes nothing: Python would fail on it at exit."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        sys.stderr = None


if __name__ == "__main__":
    main()
