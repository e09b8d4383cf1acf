"""The command line. Reads arguments, asks `queries`, and says what came of it.

Exit codes: 0 a result; 1 nothing relevant found, or a bundle that no longer holds; 2 wrong
usage or unreadable root; 3 internal error; 130 interrupted. Results go to standard output,
everything else to standard error.
"""

import argparse
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType, MappingProxyType

from contextpack.errors import PackError
from contextpack.text import display_path
from contextpackd import (
    bundles,
    daemon_cli,
    envoy,
    outcomes,
    output,
    queries,
    replies,
    report,
    scores,
    settings,
    wire,
)
from contextpackd.arguments import ENVELOPE, Handler, parser, roots_of, understood
from contextpackd.batch import answers
from contextpackd.chunks_json import packed_json
from contextpackd.disk import Discovery, check_root
from contextpackd.envoy import Alone
from contextpackd.errors import BundleProblem, DaemonError, InputProblem
from contextpackd.evaluation import BUDGETS, evaluation
from contextpackd.indexing import index
from contextpackd.joint import Joint, Site, named
from contextpackd.options import budget_of
from contextpackd.output import Outcome
from contextpackd.queries import discovery_of
from contextpackd.replays import Replay
from contextpackd.workspace import Workspace, engine

OK, NOTHING, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130


def run(arguments: Sequence[str] | None = None, alone: Alone | None = None) -> int:
    """Run one command; the exit code. `alone` is why it runs here, if a daemon might have."""
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    parsed = understood(parser(_HANDLERS), arguments)
    parsed.alone = alone or Alone("no daemon was asked")
    command: Handler = parsed.command
    try:
        return command(parsed)
    except (DaemonError, PackError) as error:
        output.say(str(error))
        return USAGE
    except KeyboardInterrupt:
        output.say("interrupted; nothing was written")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader left early (`| head`). Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception:
        logging.getLogger(__name__).exception("internal error")
        output.say("internal error; please report the traceback above")
        return INTERNAL


def _asked(parsed: argparse.Namespace) -> int:
    """Answer one question of one root in this process."""
    with _site(parsed) as site:
        query = getattr(parsed, "query", "")
        if query == "-":
            query = _stdin(parsed).decode("utf-8", "replace")
        asked = outcomes.asked(parsed, list(site.roots.values()), query)
        if isinstance(asked, Outcome):
            return output.deliver(asked)
        asker = outcomes.asker(envoy.screens(), f"this process: {parsed.alone.reason}")
        with report.progress(sys.stderr, time.monotonic) as progress:
            _, found = outcomes.outcome(parsed.name, asked, site, progress, asker)
        return output.deliver(found)


def _index(parsed: argparse.Namespace) -> int:
    root = check_root(parsed.root, force=parsed.force)
    said: set[str] = set()

    def discovery() -> Discovery:
        found = settings.repository(root)
        for problem in map(str, found.problems):
            if problem not in said:
                output.say(problem)
                said.add(problem)
        return discovery_of(outcomes.request(parsed, found.values, ""))

    shared = engine()
    try:
        workspace = Workspace(root, shared, watches=parsed.watch)
        try:
            index(
                workspace,
                discovery,
                shared.store,
                as_json=parsed.format == ENVELOPE,
                watches=parsed.watch,
            )
        except KeyboardInterrupt:
            output.say("interrupted; what was read until then is kept")
            return INTERRUPTED
        finally:
            workspace.close()
    finally:
        shared.close()
    return OK


def _eval(parsed: argparse.Namespace) -> int:
    began = time.monotonic()
    root = check_root(parsed.root, force=parsed.force)
    found = settings.repository(root)
    for problem in found.problems:
        output.say(str(problem))
    request = outcomes.request(parsed, found.values, "")
    sizes = [budget_of(text) for text in parsed.budgets] if parsed.budgets else BUDGETS
    shared = engine()
    try:
        with _leaving():
            result = evaluation(
                root,
                request,
                sorted(set(sizes)),
                parsed.last,
                shared,
                is_over=lambda: time.monotonic() - began > parsed.seconds,
                report=_tell_trial,
            )
    finally:
        shared.close()
    if parsed.format == ENVELOPE:
        document = scores.evaluation_json(result)
        output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        screen = outcomes.asker(envoy.screens(), "").out
        output.write_stdout(scores.evaluation_table(screen, result))
    return OK if result.trials else NOTHING


@contextmanager
def _leaving() -> Iterator[None]:
    """Being told to end, or that the terminal went, unwinds: what is temporary goes, too."""

    def leave(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    names = ("SIGTERM", "SIGHUP")  # Windows has no second one.
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is signal.SIG_DFL:
            signal.signal(number, leave)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])


def _tell_trial(number: int, n_tasks: int, replay: Replay) -> None:
    output.say(f"{number} of {n_tasks}: {replay.commit[:10]} {display_path(replay.subject)}")


def _verify(parsed: argparse.Namespace) -> int:
    text = bundles.read_bundle(parsed.bundle, output.read_file(parsed.bundle))
    with (
        _workspace(parsed) as workspace,
        report.progress(sys.stderr, time.monotonic) as progress,
    ):
        result = bundles.verification(workspace, text, progress)
    if parsed.format == ENVELOPE:
        document = wire.verification_json(result)
        output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        report.show_verification(sys.stdout, result)
    return OK if result.holds else NOTHING


def _refresh(parsed: argparse.Namespace) -> int:
    text = bundles.read_bundle(parsed.bundle, output.read_file(parsed.bundle))
    if parsed.write and (str(parsed.bundle) == "-" or not bundles.is_nothing_else(text)):
        reason = "is not a file with a bundle and nothing else; nothing was written"
        raise BundleProblem(str(parsed.bundle), reason)
    with (
        _workspace(parsed) as workspace,
        report.progress(sys.stderr, time.monotonic) as progress,
    ):
        result = bundles.renewal(workspace, parsed.bundle, text, progress)
    if parsed.format == ENVELOPE:
        document = wire.renewal_json(result)
        output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        output.write_stdout(result.difference)
    if parsed.write and result.difference:
        output.write_file(parsed.bundle, result.answer.pack.text)
    return OK


def _answer(parsed: argparse.Namespace) -> int:
    if str(parsed.bundle) == "-":
        raise BundleProblem("-", "must be a file: the reply comes on standard input")
    text = bundles.read_bundle(parsed.bundle, output.read_file(parsed.bundle))
    said = output.read_stdin().decode("utf-8", "replace")
    with (
        _site(parsed) as site,
        report.progress(sys.stderr, time.monotonic) as progress,
    ):
        request = outcomes.request(parsed, settings.of_roots(site.roots.values()), "")
        _, found = replies.reply(site, request, said, replies.shown_in(text), progress)
        asked = replace(request, only=found.wanted)
        answered = queries.answer(site, asked, progress) if found.wanted else None
    if parsed.format == ENVELOPE:
        pack = wire.answer_json(answered) if answered else None
        document = {**wire.reply_json(found), "pack": pack}
        output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        for line in report.reply_lines(found):
            output.say(line)
        output.write_stdout(answered.pack.text if answered else "")
        if not answered:
            output.say("the reply names nothing that the bundle lacks")
    return OK if answered else NOTHING


def _pack_chunks(parsed: argparse.Namespace) -> int:
    names = (
        "budget",
        "strategy",
        "mmr_lambda",
        "ordering",
        "redundancy_threshold",
        "max_candidates",
    )
    try:
        document = json.loads(output.read_stdin())
        result = packed_json(document, {name: getattr(parsed, name) for name in names})
    except PackError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputProblem(
            f"must hold JSON, a list of chunks or chunks and options: {error}"
        ) from error
    output.write_stdout(json.dumps(result, ensure_ascii=False, indent=2) + "\n")
    return OK


def _batch(parsed: argparse.Namespace) -> int:
    if sys.stdin is None:
        raise InputProblem("is closed")
    lines = (line.decode("utf-8-sig", "replace") for line in sys.stdin.buffer)
    for line in answers(lines, force=parsed.force):
        output.write_stdout(f"{line}\n")
    if parsed.report:
        sys.stderr.write(f"answered by this process: {parsed.alone.reason}\n")
    return OK


@contextmanager
def _workspace(parsed: argparse.Namespace) -> Iterator[Workspace]:
    """The workspace that the options name. When it is done with, what is known is kept."""
    root = check_root(parsed.root, force=parsed.force)
    shared = engine()
    try:
        workspace = Workspace(root, shared)
        yield workspace
        workspace.close()
    finally:
        shared.close()


@contextmanager
def _site(parsed: argparse.Namespace) -> Iterator[Site]:
    """The workspace that the options name, or several as one; likewise."""
    roots = named(check_root(root, force=parsed.force) for root in roots_of(parsed))
    shared = engine()
    try:
        workspaces = {name: Workspace(root, shared) for name, root in roots.items()}
        yield Joint(workspaces) if len(workspaces) > 1 else next(iter(workspaces.values()))
        for workspace in workspaces.values():
            workspace.close()
    finally:
        shared.close()


def _stdin(parsed: argparse.Namespace) -> bytes:
    """Standard input, unless it was read for a daemon that did not answer then."""
    alone: Alone = parsed.alone
    return output.read_stdin() if alone.stdin is None else alone.stdin


_HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        **dict.fromkeys(outcomes.COMMANDS, _asked),
        "index": _index,
        "eval": _eval,
        "verify": _verify,
        "refresh": _refresh,
        "answer": _answer,
        "pack-chunks": _pack_chunks,
        "batch": _batch,
        **daemon_cli.HANDLERS,
    }
)
