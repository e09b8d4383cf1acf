"""The command line. Reads arguments, asks `queries`, and says what came of it.

Exit codes: 0 a result; 1 nothing relevant found, or a bundle that no longer holds; 2 wrong usage or unreadable root; 3 internal
error; 130 interrupted. Results go to standard output, everything else to standard error.
"""

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from contextpack.errors import PackError
from contextpack.model import Format
from contextpack.request import Request
from contextpackd import bundles, daemon_cli, graphs, output, report, settings, wire
from contextpackd.arguments import ENVELOPE, Handler, parser
from contextpackd.batch import answers
from contextpackd.chunks_json import packed_json
from contextpackd.disk import check_root
from contextpackd.drawing import svg
from contextpackd.errors import BundleProblem, DaemonError, InputProblem, OptionProblem
from contextpackd.graphs import GraphFormat
from contextpackd.indexing import index
from contextpackd.options import OPTIONS, request_of
from contextpackd.queries import (
    Answer,
    Explanation,
    answer,
    checked_scan,
    discovery_of,
    explanation,
    known_path,
)
from contextpackd.workspace import Workspace, engine

OK, NOTHING, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    parsed = parser(_HANDLERS).parse_args(arguments)
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


def _pack(parsed: argparse.Namespace) -> int:
    with _workspace(parsed) as workspace:
        request = _request(parsed, workspace.root)
        with report.progress(sys.stderr, time.monotonic) as progress:
            result = answer(workspace, request, progress)
        return _show_pack(parsed, result)


def _show_pack(parsed: argparse.Namespace, result: Answer) -> int:
    if parsed.format == ENVELOPE:
        text = json.dumps(wire.answer_json(result), ensure_ascii=False, indent=2) + "\n"
    else:
        text = result.pack.text
    if parsed.output is not None:
        output.write_file(parsed.output, text)
    if parsed.copy:
        _copy(text, is_shown_elsewhere=parsed.output is not None)
    elif parsed.output is None:
        output.write_stdout(text)
    if parsed.report or report.is_terminal(sys.stderr):
        report.show_answer(sys.stderr, result)
    if result.pack.items:
        return OK
    output.say(
        _nothing(result.pack.is_fallback, [warning.message for warning in result.warnings])
    )
    return NOTHING


def _explain(parsed: argparse.Namespace) -> int:
    with _workspace(parsed) as workspace:
        request = _request(parsed, workspace.root)
        with report.progress(sys.stderr, time.monotonic) as progress:
            result = explanation(workspace, request, progress)
        return _show_explanation(parsed, result)


def _show_explanation(parsed: argparse.Namespace, result: Explanation) -> int:
    if parsed.format == ENVELOPE:
        document = wire.explanation_json(result, parsed.top)
        output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        report.show_explanation(sys.stdout, result, parsed.top)
    if result.ranking.n_relevant:
        return OK
    output.say(_nothing(result.ranking.is_fallback, []))
    return NOTHING


def _files(parsed: argparse.Namespace) -> int:
    with (
        _workspace(parsed) as workspace,
        report.progress(sys.stderr, time.monotonic) as progress,
    ):
        request = _request(parsed, workspace.root)
        scan = checked_scan(workspace, request, progress)
    if parsed.format == ENVELOPE:
        document = wire.files_json(str(workspace.root), scan)
        output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        report.show_files(sys.stdout, scan)
    return OK


def _graph(parsed: argparse.Namespace) -> int:
    with (
        _workspace(parsed) as workspace,
        report.progress(sys.stderr, time.monotonic) as progress,
    ):
        request = _request(parsed, workspace.root)
        scan = checked_scan(workspace, request, progress, with_graph=True)
    paths = [known_path(path, "PATH", workspace, scan) for path in parsed.paths]
    shown = graphs.view(
        scan.snapshot.graph, paths, follows_importers=parsed.importers, depth=parsed.depth
    )
    match GraphFormat(parsed.format):
        case GraphFormat.TABLE:
            report.show_graph(sys.stdout, shown, lists_unresolved=parsed.unresolved)
        case GraphFormat.JSON:
            document = graphs.graph_json(shown)
            output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
        case GraphFormat.DOT:
            output.write_stdout(graphs.dot(shown))
        case GraphFormat.MERMAID:
            output.write_stdout(graphs.mermaid(shown))
        case GraphFormat.SVG:
            output.write_stdout(svg(graphs.dot(shown)))
    return OK


def _index(parsed: argparse.Namespace) -> int:
    discovery = discovery_of(_request(parsed, check_root(parsed.root, force=parsed.force)))
    root = check_root(parsed.root, force=parsed.force)
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


def _request(parsed: argparse.Namespace, root: Path) -> Request:
    values = {option.field: getattr(parsed, option.field, None) for option in OPTIONS}
    syntax = getattr(parsed, "format", None)
    if syntax in set(Format):
        if values["text_format"] not in (None, syntax):
            raise OptionProblem(
                "--text", f"and --format {syntax} contradict each other; give one"
            )
        values["text_format"] = syntax
    query = getattr(parsed, "query", "")
    if query == "-":
        query = output.read_stdin().decode("utf-8", "replace")
    given = {name: value for name, value in values.items() if value is not None}
    found = settings.repository(root)
    for problem in found.problems:
        output.say(str(problem))
    rising = settings.rising(found.values, given)
    return request_of(query, rising, lambda option: f"--{option.flag}")


def _copy(text: str, *, is_shown_elsewhere: bool) -> None:
    problem = output.copy(text, os.environ)
    if problem is None:
        output.say("copied to the clipboard")
        return
    output.say(problem)
    if not is_shown_elsewhere:
        output.write_stdout(text)


def _nothing(is_fallback: bool, warnings: Sequence[str]) -> str:  # noqa: FBT001  # a fact, not a switch
    reason = "; ".join(warnings)
    what = "there is no file with text" if is_fallback else "nothing relevant found"
    return f"{what}; the bundle is empty" + (f" ({reason})" if reason else "")


_HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "pack": _pack,
        "explain": _explain,
        "files": _files,
        "graph": _graph,
        "index": _index,
        "verify": _verify,
        "refresh": _refresh,
        "pack-chunks": _pack_chunks,
        "batch": _batch,
        **daemon_cli.HANDLERS,
    }
)
