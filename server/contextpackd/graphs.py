"""The import graph for people and programs: a part of it, written in several syntaxes."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from contextpack import model
from contextpack.graph import (
    Edge,
    Graph,
    Unresolved,
    edges,
    is_elsewhere,
    rates,
    reached,
    unresolved,
)
from contextpack.text import display_path
from contextpackd.wire import Json


class GraphFormat(StrEnum):
    """How a graph is written."""

    TABLE = "table"
    JSON = "json"
    DOT = "dot"
    MERMAID = "mermaid"
    SVG = "svg"


@dataclass(frozen=True, slots=True)
class View:
    """The part of a graph that was asked for."""

    edges: tuple[Edge, ...]
    unresolved: tuple[tuple[model.Path, Unresolved], ...]
    """Imports that should have a target and have none, by importing file."""
    external: tuple[tuple[model.Path, Unresolved], ...]
    """Imports that rightly lead out of the workspace."""
    graph: Graph
    """The whole, for its rates."""


def view(
    graph: Graph, paths: Sequence[model.Path], *, follows_importers: bool, depth: int | None
) -> View:
    """The edges around these files, or all of them when none is named.

    Without `depth` everything that can be reached counts.
    """
    if not paths:
        wanted = None
    else:
        ways = graph.importers if follows_importers else graph.imports
        wanted = frozenset(reached(ways, paths, depth))
    shown = tuple(
        edge
        for edge in edges(graph)
        if wanted is None or (edge.source in wanted and edge.target in wanted)
    )
    failed = [
        (path, entry)
        for path, entries in unresolved(graph).items()
        if wanted is None or path in wanted
        for entry in entries
    ]
    return View(
        edges=shown,
        unresolved=tuple(pair for pair in failed if not is_elsewhere(pair[1].external)),
        external=tuple(pair for pair in failed if is_elsewhere(pair[1].external)),
        graph=graph,
    )


def graph_json(shown: View) -> Json:
    """The view as JSON; `kinds` is parallel to `edges`."""
    return {
        "edges": [[display_path(e.source), display_path(e.target)] for e in shown.edges],
        "kinds": [edge.kind.value for edge in shown.edges],
        "unresolved": [_failure_json(path, entry) for path, entry in shown.unresolved],
        "external": [_failure_json(path, entry) for path, entry in shown.external],
        "rates": {
            language: {
                "resolved": rate.resolved,
                "external": rate.external,
                "unresolved": rate.unresolved,
            }
            for language, rate in rates(shown.graph).items()
        },
    }


def dot(shown: View) -> str:
    """The view in Graphviz' language."""
    rows = [
        f"  {_quoted(e.source)} -> {_quoted(e.target)}{_dot_style(e)};\n" for e in shown.edges
    ]
    return "digraph imports {\n  rankdir=LR;\n  node [shape=box];\n" + "".join(rows) + "}\n"


def mermaid(shown: View) -> str:
    """The view as a Mermaid flow chart."""
    paths = sorted({path for edge in shown.edges for path in (edge.source, edge.target)})
    number = {path: f"n{n}" for n, path in enumerate(paths)}
    rows = [f'  {number[path]}["{_mermaid_text(path)}"]\n' for path in paths]
    rows += [f"  {number[e.source]} --> {number[e.target]}\n" for e in shown.edges]
    return "flowchart LR\n" + "".join(rows)


def reasons(shown: View) -> list[tuple[str, int]]:
    """Why imports did not resolve, the commonest first."""
    counts = Counter(entry.external.value for _, entry in shown.unresolved)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def specifier(found: model.Import) -> str:
    """An import's target as it is written, shortened to a line."""
    return display_path("." * found.level + found.specifier)[:200]


def _failure_json(path: model.Path, entry: Unresolved) -> Json:
    return {
        "from": display_path(path),
        "line": entry.found.line,
        "specifier": specifier(entry.found),
        "reason": entry.external.value,
    }


def _quoted(path: model.Path) -> str:
    return json.dumps(display_path(path), ensure_ascii=False)


def _dot_style(edge: Edge) -> str:
    return (
        ""
        if edge.kind is model.ImportKind.STATIC
        else f" [style=dashed, label={edge.kind.value}]"
    )


def _mermaid_text(path: model.Path) -> str:
    return display_path(path).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
