"""The command line's way to a running daemon. Standard library only, and little of it.

How it works: the words of the command go over the control socket as they were typed; the daemon
reads them, asks for standard input if they want it, tells its progress, and gives the outcome,
which is written here. Nothing has happened before that, so whatever goes wrong on the way, the
command runs in this process instead. Closing the connection stops the work.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

from contextpackd import bridge, output, place
from contextpackd.bridge import Control, Json
from contextpackd.errors import DaemonError, InputProblem
from contextpackd.output import OK, USAGE, Outcome
from contextpackd.place import PlaceProblem

COMMANDS = frozenset({"pack", "explain", "why", "files", "graph", "batch"})
"""Those that a daemon may answer."""

VARIABLE = "CONTEXTPACKD_NO_DAEMON"
"""Set to anything, commands run in their own process."""

FLAG = "--no-daemon"

TAKEN_SECONDS = 5.0
"""Within this a living daemon takes a command; its loop is never busy for so long."""

MAX_QUESTION_BYTES = 64 << 20  # What is longer is not worth copying.

PROGRESS_AFTER_SECONDS = 1.0  # As in a process of its own.

DEFAULT_COLUMNS = 80

# Which configuration git and the ignore rules are read from: a daemon that was started with
# other ones would answer something else.
DECIDING = (
    "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_TEST_ASSUME_DIFFERENT_OWNER",
)  # fmt: skip

# By these terminals say what they can show.
_SHOWING = ("TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS")


class Alone(Exception):
    """Why a command runs in its own process, and what it has read of standard input by then."""

    def __init__(self, reason: str, stdin: bytes | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.stdin = stdin


def run(arguments: Sequence[str]) -> int:
    """Have the daemon run one of `COMMANDS`: its exit code. Raises `Alone`."""
    try:
        with contextlib.closing(_reached(arguments)) as control:
            return _run(control, arguments)
    except DaemonError as error:
        output.say(str(error))
        return USAGE
    except BrokenPipeError:
        # The reader left early (`| head`). Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def deciding(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that may change an answer."""
    return {name: environment[name] for name in DECIDING if name in environment}


def screens() -> Json:
    """What is known of whoever looks at this process' streams."""
    return {
        "out": _columns(sys.stdout),
        "err": _columns(sys.stderr),
        "terminal": {name: os.environ[name] for name in _SHOWING if name in os.environ},
    }


def _columns(stream: IO[str] | None) -> int | None:
    """Of the terminal; None for a stream that no person looks at."""
    if stream is None or not stream.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    for descriptor in range(3):
        with contextlib.suppress(OSError):
            if columns := os.get_terminal_size(descriptor).columns:
                return columns
    return DEFAULT_COLUMNS


def _reached(arguments: Sequence[str]) -> Control:
    if FLAG in arguments:
        raise Alone(FLAG)
    if os.environ.get(VARIABLE):
        raise Alone(f"{VARIABLE} is set")
    if not bridge.HAS_SOCKETS:
        raise Alone("there are no private sockets here")
    try:
        found = place.place()
        place.check(found)
        return Control(bridge.connected(found.control, TAKEN_SECONDS), TAKEN_SECONDS)
    except (FileNotFoundError, ConnectionError):
        raise Alone("no daemon is running") from None
    except (OSError, PlaceProblem) as error:
        raise Alone(f"the daemon cannot be reached: {error}") from error


def _run(control: Control, arguments: Sequence[str]) -> int:
    try:
        directory = os.getcwd()  # noqa: PTH109, TID251  # That of whoever typed the command.
    except OSError as error:
        raise Alone("the current directory is gone") from error
    heard = control.ask(
        {
            "do": "run",
            "arguments": list(arguments),
            "directory": directory,
            "environment": deciding(os.environ),
            **screens(),
        }
    )
    _check(heard, None)
    control.wait_for_long()
    if heard is not None and heard.get("batch") is True:
        return _batch(
            control, is_forced=heard.get("force") is True, is_told="--report" in arguments
        )
    return output.deliver(_outcome(control))


def _outcome(control: Control) -> Outcome:
    """The outcome of a command that was taken, with a progress bar while it runs."""
    stdin: bytes | None = None
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        advance = None
        while True:
            heard = _check(control.heard(), stdin)
            match heard:
                case {"stdin": True}:
                    stdin = output.read_stdin()
                    if len(stdin) > MAX_QUESTION_BYTES // 8:  # Escapes make it longer.
                        raise Alone("standard input is too long for the daemon", stdin)
                    control.tell({"stdin": stdin.decode("utf-8", "replace")})
                case {"done": int(done), "total": int(total)}:
                    if advance is None and time.monotonic() - began > PROGRESS_AFTER_SECONDS:
                        from contextpackd import report  # Who waits so long does not notice.

                        bar = report.progress(sys.stderr, time.monotonic, after_seconds=0)
                        advance = stack.enter_context(bar)
                    if advance is not None:
                        advance(done, total)
                case {"outcome": dict() as fields}:
                    return Outcome(**fields)
                case _:
                    raise Alone("the daemon is not understood", stdin)


def _check(heard: Json | None, stdin: bytes | None) -> Json:
    """What was heard. Raises `Alone` when the daemon left, or will not do it."""
    if heard is None:
        raise Alone("the daemon does not answer", stdin)
    if isinstance(reason := heard.get("declined"), str):
        raise Alone(reason, stdin)
    return heard


def _batch(control: Control, *, is_forced: bool, is_told: bool) -> int:
    """Each line to its answer; those that the daemon does not answer are answered here."""
    lines = _lines()
    n_answered = 0
    for line in lines:
        is_long = len(line) > MAX_QUESTION_BYTES // 8
        answer = None if is_long else control.ask({"line": line})
        if answer is None or "answer" not in answer:
            reason = "a line is too long for it" if is_long else "it does not answer any more"
            _rest(line, lines, is_forced=is_forced)
            if is_told:
                done = f"{n_answered} lines answered by the daemon"
                _tell(f"{done}, the others in this process: {reason}")
            return OK
        if isinstance(text := answer["answer"], str):
            output.write(f"{text}\n")
            n_answered += 1
    if is_told:
        _tell("answered by the daemon")
    return OK


def _rest(line: str, lines: Iterator[str], *, is_forced: bool) -> None:
    from contextpackd.batch import answers  # The engine, of which a daemon spares us.

    for text in answers(_chained(line, lines), force=is_forced):
        output.write(f"{text}\n")


def _chained(line: str, lines: Iterator[str]) -> Iterator[str]:
    yield line
    yield from lines


def _lines() -> Iterator[str]:
    if sys.stdin is None:
        raise InputProblem("is closed")
    for line in sys.stdin.buffer:
        yield line.decode("utf-8-sig", "replace")


def _tell(line: str) -> None:
    with contextlib.suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"{line}\n")
