"""Questions of the command line to their outcomes, for whoever asked: this process or another.

The same functions run where the command was typed and in the daemon, so that both say the same
bytes; nothing here looks at the streams, the environment or the directory of its own process.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from contextpack.admission import State
from contextpack.errors import PackError
from contextpack.model import Format
from contextpack.request import Request
from contextpack.text import display_path, terminal_safe
from contextpackd import graphs, queries, report, settings, wire
from contextpackd.arguments import ENVELOPE
from contextpackd.errors import DaemonError, OptionProblem, Stopped
from contextpackd.explanations import explanation
from contextpackd.graphs import GraphFormat
from contextpackd.joint import Site
from contextpackd.options import OF_ORIGINS, OPTIONS, request_of
from contextpackd.output import OK, USAGE, Outcome, said
from contextpackd.report import Screen
from contextpackd.view import Progress
from contextpackd.why import why
from contextpackd.workspace import Scan

NOTHING = 1
"""The exit code where nothing relevant was found."""

MAX_NAMED = 3  # Of the files that are not as on disk; the count covers the rest.


@dataclass(frozen=True, slots=True)
class Asker:
    """Who sees the outcome."""

    out: Screen
    err: Screen
    answerer: str
    """Who answers, for those who want to know."""


def asker(screens: wire.Json, answerer: str) -> Asker:
    """Who looks at an outcome, from what `envoy.screens` says."""
    terminal = screens.get("terminal")
    variables = (
        {str(name): str(value) for name, value in terminal.items()}
        if isinstance(terminal, dict)
        else {}
    )
    columns = [screens.get("out"), screens.get("err")]
    out, err = (Screen(n if isinstance(n, int) and n > 0 else None, variables) for n in columns)
    return Asker(out, err, answerer)


@dataclass(frozen=True, slots=True)
class Asked:
    """A command line, understood."""

    parsed: argparse.Namespace
    request: Request
    before: str
    """What is wrong with the settings, for people."""


def asked(
    parsed: argparse.Namespace, roots: Sequence[Path], query: str | None
) -> Asked | Outcome:
    """What a command line asks of a root or several, or the refusal of what it cannot ask.

    How the files of several repositories look together, none of them says.
    """
    found = [settings.repository(root) for root in roots]
    before = "".join(said(str(problem)) for one in found for problem in one.problems)
    below = found[0].values if len(found) == 1 else settings.NONE.values
    try:
        understood = request(parsed, below, query or "")
        # A word that was forgotten; an empty one asks for the workspace as such.
        if query is None and not understood.has_entry:
            raise OptionProblem("QUERY", "must be given, or --focus, --from, --diff")
        return Asked(parsed, understood, before)
    except OptionProblem as problem:
        return refusal(problem, before)


def request(parsed: argparse.Namespace, below: Mapping[str, object], query: str) -> Request:
    """The request of a command line over the values of `below`. Raises `OptionProblem`."""
    values = {option.field: getattr(parsed, option.field, None) for option in OPTIONS}
    if not hasattr(parsed, "origins"):
        # `graph` has a depth and a direction of its own.
        values |= dict.fromkeys(OF_ORIGINS)
    syntax = getattr(parsed, "format", None)
    if syntax in set(Format):
        if values["text_format"] not in (None, syntax):
            raise OptionProblem(
                "--text", f"and --format {syntax} contradict each other; give one"
            )
        values["text_format"] = syntax
    given = {name: value for name, value in values.items() if value is not None}
    return request_of(query, settings.rising(below, given), lambda option: f"--{option.flag}")


def outcome(
    command: str, asked: Asked, workspace: Site, progress: Progress, asker: Asker
) -> tuple[Scan | None, Outcome]:
    """What a command of `COMMANDS` gives, and the scan behind it; a refusal has none.

    Raises `Stopped` when nobody waits for it any more.
    """
    try:
        scan, found = COMMANDS[command](asked, workspace, progress, asker)
    except Stopped:
        raise
    except (DaemonError, PackError) as error:
        return None, refusal(error, asked.before)
    found = replace(found, before=asked.before + found.before)
    is_told = asked.parsed.report or (command == "pack" and asker.err.columns is not None)
    if is_told:
        found = replace(found, after=found.after + f"answered by {asker.answerer}\n")
    return scan, found


def refusal(error: Exception, before: str = "") -> Outcome:
    """The outcome of a command that cannot be answered as asked."""
    return Outcome(USAGE, before=before, after=said(str(error)))


_Found = tuple[Scan, Outcome]


def _pack(asked: Asked, workspace: Site, progress: Progress, asker: Asker) -> _Found:
    parsed = asked.parsed
    answer = queries.answer(workspace, asked.request, progress)
    pack = answer.pack
    text = _document(wire.answer_json(answer)) if parsed.format == ENVELOPE else pack.text
    after = ""
    if parsed.report or asker.err.columns is not None:
        after = report.answer_table(asker.err, answer)
    if not pack.items:
        warnings = "; ".join(warning.message for warning in answer.warnings)
        after += _nothing(warnings, is_fallback=pack.is_fallback)
    found = Outcome(
        OK if pack.items else NOTHING,
        text=text,
        shown=_safe(text, asker),
        after=after,
        file=None if parsed.output is None else str(parsed.output),
        is_copied=parsed.copy,
    )
    return answer.scan, found


def _explain(asked: Asked, workspace: Site, progress: Progress, asker: Asker) -> _Found:
    parsed = asked.parsed
    result = explanation(workspace, asked.request, parsed.top, progress)
    if parsed.format == ENVELOPE:
        shown = _safe(_document(wire.explanation_json(result)), asker)
    else:
        shown = report.explanation_table(asker.out, result)
    ranking = result.ranking
    after = "" if ranking.n_relevant else _nothing("", is_fallback=ranking.is_fallback)
    code = OK if ranking.n_relevant else NOTHING
    return result.scan, Outcome(code, shown=shown, after=_unsaved(result.scan) + after)


def _why(asked: Asked, workspace: Site, progress: Progress, asker: Asker) -> _Found:
    parsed = asked.parsed
    result = why(workspace, asked.request, parsed.path, None, progress)
    if parsed.format == ENVELOPE:
        shown = _safe(_document(wire.why_json(result)), asker)
    else:
        shown = report.why_table(asker.out, result)
    code = NOTHING if result.state is State.OUT else OK
    return result.scan, Outcome(code, shown=shown, after=_unsaved(result.scan))


def _files(asked: Asked, workspace: Site, progress: Progress, asker: Asker) -> _Found:
    scan = queries.checked_scan(workspace, asked.request, progress)
    if asked.parsed.format == ENVELOPE:
        shown = _safe(_document(wire.files_json(workspace.roots, scan)), asker)
    else:
        shown = report.files_table(asker.out, scan)
    return scan, Outcome(OK, shown=shown, after=_unsaved(scan))


def _graph(asked: Asked, workspace: Site, progress: Progress, asker: Asker) -> _Found:
    parsed = asked.parsed
    scan = queries.checked_scan(workspace, asked.request, progress, with_graph=True)
    paths = [queries.known_path(path, "PATH", workspace, scan) for path in parsed.paths]
    view = graphs.view(
        scan.snapshot.graph, paths, follows_importers=parsed.importers, depth=parsed.depth
    )
    found = _written(view, asker, parsed)
    return scan, replace(found, after=_unsaved(scan))


def _written(view: graphs.View, asker: Asker, parsed: argparse.Namespace) -> Outcome:
    match GraphFormat(parsed.format):
        case GraphFormat.TABLE:
            table = report.graph_table(asker.out, view, lists_unresolved=parsed.unresolved)
            return Outcome(OK, shown=table)
        case GraphFormat.JSON:
            return Outcome(OK, shown=_safe(_document(graphs.graph_json(view)), asker))
        case GraphFormat.DOT:
            return Outcome(OK, shown=_safe(graphs.dot(view), asker))
        case GraphFormat.MERMAID:
            return Outcome(OK, shown=_safe(graphs.mermaid(view), asker))
        case GraphFormat.SVG:
            # Drawn where it is wanted: that Graphviz is the one of whoever asked.
            return Outcome(OK, text=graphs.dot(view), is_drawn=True)


COMMANDS: Mapping[str, Callable[[Asked, Site, Progress, Asker], _Found]] = MappingProxyType(
    {"pack": _pack, "explain": _explain, "why": _why, "files": _files, "graph": _graph}
)
"""The commands that ask one question of one root."""


def _document(document: wire.Json) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _safe(text: str, asker: Asker) -> str:
    return text if asker.out.columns is None else terminal_safe(text)


def _unsaved(scan: Scan) -> str:
    if not scan.unsaved:
        return ""
    named = [display_path(path) for path in sorted(scan.unsaved)[:MAX_NAMED]]
    more = len(scan.unsaved) - len(named)
    names = ", ".join(named) + (f" and {more} more" if more else "")
    return said(f"as in the editor, not as on disk: {names}")


def _nothing(warnings: str, *, is_fallback: bool) -> str:
    what = "there is no file with text" if is_fallback else "nothing relevant found"
    return said(f"{what}; the bundle is empty" + (f" ({warnings})" if warnings else ""))
