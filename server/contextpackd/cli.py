"""The command line. Reads arguments, asks `queries`, and says what came of it.

Exit codes: 0 a result; 1 nothing relevant found; 2 wrong usage or unreadable root; 3 internal
error; 130 interrupted. Results go to standard output, everything else to standard error.
"""

import argparse
import functools
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from contextpack.errors import PackError
from contextpack.model import Format
from contextpack.request import Request
from contextpackd import daemon_cli, graphs, output, report, settings, wire
from contextpackd.batch import answers
from contextpackd.chunks_json import packed_json
from contextpackd.disk import check_root
from contextpackd.drawing import svg
from contextpackd.errors import DaemonError, InputProblem, OptionProblem
from contextpackd.grammars import grammars
from contextpackd.graphs import GraphFormat
from contextpackd.options import OPTIONS, Option, default_of, request_of
from contextpackd.queries import answer, checked_scan, explanation, known_path
from contextpackd.workspace import Workspace

OK, NOTHING, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130

_ENVELOPE = "json"
_DEFAULT_TOP = 20


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    parsed = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = parsed.command
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
    workspace = _workspace(parsed)
    request = _request(parsed, workspace.root)
    with report.progress(sys.stderr, time.monotonic) as progress:
        result = answer(workspace, request, progress)
    if parsed.format == _ENVELOPE:
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
    workspace = _workspace(parsed)
    request = _request(parsed, workspace.root)
    with report.progress(sys.stderr, time.monotonic) as progress:
        result = explanation(workspace, request, progress)
    if parsed.format == _ENVELOPE:
        document = wire.explanation_json(result, parsed.top)
        output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        report.show_explanation(sys.stdout, result, parsed.top)
    if result.ranking.files:
        return OK
    output.say(_nothing(result.ranking.is_fallback, []))
    return NOTHING


def _files(parsed: argparse.Namespace) -> int:
    workspace = _workspace(parsed)
    request = _request(parsed, workspace.root)
    with report.progress(sys.stderr, time.monotonic) as progress:
        scan = checked_scan(workspace, request, progress)
    if parsed.format == _ENVELOPE:
        document = wire.files_json(str(workspace.root), scan)
        output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        report.show_files(sys.stdout, scan)
    return OK


def _graph(parsed: argparse.Namespace) -> int:
    workspace = _workspace(parsed)
    request = _request(parsed, workspace.root)
    with report.progress(sys.stderr, time.monotonic) as progress:
        scan = checked_scan(workspace, request, progress)
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


def _workspace(parsed: argparse.Namespace) -> Workspace:
    return Workspace(check_root(parsed.root, force=parsed.force), grammars())


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


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number above 0")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="contextpackd",
        description="Which code goes into the prompt, given a task in words and a token budget?",
        epilog="exit codes: 0 a result, 1 nothing relevant found, 2 wrong usage, 3 internal error",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=metadata.version("contextpackd"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    pack = _command(
        commands, "pack", _pack, "the bundle of code for a task",
        """examples:
  contextpackd pack "retry failed uploads" --budget 8k
  contextpackd pack "why does login fail" --root ~/src/app --copy
  pytest 2>&1 | contextpackd pack - --budget 16k --model claude --output bundle.md
  contextpackd pack "add a discount" --pin src/cart.py --detail src/tax.py=outline --report""",
    )  # fmt: skip
    _add_query(pack)
    _add_root(pack)
    _add_options(pack, OPTIONS)
    pack.add_argument(
        "--format", choices=[*Format, _ENVELOPE], default=None,
        help="markdown, xml or plain: the bundle's text; json: text, items, ledger and report (default: markdown)",
    )  # fmt: skip
    pack.add_argument(
        "--report", action="store_true", help="report on stderr even if it is no terminal"
    )
    pack.add_argument(
        "--output", type=Path, metavar="FILE", help="write there instead of stdout"
    )
    pack.add_argument(
        "--copy", action="store_true", help="put it on the clipboard instead of stdout"
    )

    explain = _command(
        commands, "explain", _explain, "the ranking for a task, every score with its parts",
        """examples:
  contextpackd explain "retry failed uploads"
  contextpackd explain "retry failed uploads" --top 5 --format json""",
    )  # fmt: skip
    _add_query(explain)
    _add_root(explain)
    _add_options(explain, _discovery_options("scorer"))
    _add_table_format(explain)
    explain.add_argument(
        "--top",
        type=_positive,
        default=_DEFAULT_TOP,
        metavar="N",
        help="how many files (default: %(default)s)",
    )

    files = _command(
        commands, "files", _files, "what discovery sees, and what is left out by which rule",
        """examples:
  contextpackd files
  contextpackd files --exclude 'docs/**' --format json""",
    )  # fmt: skip
    _add_root(files)
    _add_options(files, _discovery_options())
    _add_table_format(files)

    graph = _command(
        commands, "graph", _graph, "who imports whom, and how much of it resolves",
        """examples:
  contextpackd graph                                  # resolution rates by language
  contextpackd graph src/app.py --depth 2             # what a file needs
  contextpackd graph src/app.py --importers           # who needs it
  contextpackd graph src/app.py --format mermaid""",
    )  # fmt: skip
    graph.add_argument(
        "paths", nargs="*", metavar="PATH", help="start here (default: everything)"
    )
    _add_root(graph)
    _add_options(graph, _discovery_options())
    graph.add_argument(
        "--format", choices=list(GraphFormat), default=GraphFormat.TABLE.value,
        help="table for people; json, dot, mermaid; svg is drawn by Graphviz (default: table)",
    )  # fmt: skip
    ways = graph.add_mutually_exclusive_group()
    ways.add_argument(
        "--imports", action="store_true", help="follow what PATH imports (the default)"
    )
    ways.add_argument("--importers", action="store_true", help="follow who imports PATH")
    graph.add_argument("--depth", type=_positive, metavar="N", help="at most N steps from PATH")
    graph.add_argument(
        "--unresolved", action="store_true", help="list the imports that did not resolve"
    )

    chunks = _command(
        commands, "pack-chunks", _pack_chunks, "choose among scored chunks given as JSON on stdin",
        """input: a list of chunks, or {"chunks": [...], "options": {...}}; a chunk is
  {"content": TEXT, "score": NUMBER, "id"?, "tokens"?, "embedding"?, "metadata"?}
examples:
  contextpackd pack-chunks --budget 4000 --strategy knapsack < chunks.json""",
    )  # fmt: skip
    chunks.add_argument(
        "--budget", type=float, metavar="N", help="most tokens the chunks may have together"
    )
    chunks.add_argument(
        "--strategy", metavar="NAME", help="greedy, mmr, knapsack or coverage (default: greedy)"
    )
    chunks.add_argument("--mmr-lambda", type=float, metavar="X", help="for mmr (default: 0.5)")
    chunks.add_argument(
        "--ordering",
        metavar="NAME",
        help="natural, u-shaped or chronological (default: natural)",
    )
    chunks.add_argument(
        "--dedup",
        dest="redundancy_threshold",
        type=float,
        metavar="T",
        help="similarity that makes a near-duplicate (default: off)",
    )
    chunks.add_argument(
        "--max-candidates", type=int, metavar="N", help="consider only the first N"
    )

    batch = _command(
        commands, "batch", _batch, "answer JSON lines on stdin with JSON lines, staying warm",
        """a line: {"root": DIR, "query": TEXT, "budgetTokens"?: N, ...any option of `pack` in camelCase}
example:
  echo '{"root": ".", "query": "retry failed uploads"}' | contextpackd batch""",
    )  # fmt: skip
    batch.add_argument(
        "--force", action="store_true", help="accept / and the home directory as roots"
    )
    daemon_cli.add_commands(functools.partial(_command, commands))
    return parser


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    epilog: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.set_defaults(command=run)
    return parser


def _add_query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query", metavar="QUERY", help="the task in words; - reads it from stdin"
    )


def _add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)"
    )
    parser.add_argument(
        "--force", action="store_true", help="accept / and the home directory as root"
    )


def _add_table_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=["table", _ENVELOPE],
        default="table",
        help="for people or for programs",
    )


def _discovery_options(*more: str) -> list[Option]:
    wanted = {"include", "exclude", "max_file_bytes", *more}
    return [option for option in OPTIONS if option.field in wanted]


def _add_options(parser: argparse.ArgumentParser, options: Sequence[Option]) -> None:
    for option in options:
        default = default_of(option)
        shown = default.value if isinstance(default, StrEnum) else default
        has_default = shown not in (None, (), False)
        help_text = option.help + (f" (default: {shown})" if has_default else "")
        if option.is_switch:
            parser.add_argument(
                f"--{option.flag}",
                dest=option.field,
                action="store_true",
                default=None,
                help=help_text,
            )
        else:
            parser.add_argument(
                f"--{option.flag}",
                dest=option.field,
                action="append" if option.is_repeated else "store",
                metavar=option.metavar,
                help=help_text.replace("%", "%%"),
            )
