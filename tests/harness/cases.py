"""Cases: Markdown files whose sections are tests.

A heading names a test. A line `` `path`: `` before a fence names a file of its workspace; a fence
tagged `toml` holds the request's options, past commits, the oldest first, and changed lines;
the last fence, tagged `outline`, `graph`, `rank` or `pack`, is the expected output, and `pytest
--update-golden` rewrites it in place. A fence is longer than any run of backticks inside. Only
this module and `memory` call the pipeline.
"""

import re
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contextpack.entry import entry
from contextpack.graph import unresolved
from contextpack.ledger import trail_shown
from contextpack.model import Import, ImportKind, Symbol
from contextpack.rank import rank
from contextpack.ranking import Ranking
from contextpack.text import Lines
from contextpackd.options import request_of
from harness.memory import facts_of, history_of, packed, snapshot_of

_FENCE = re.compile(r"^(`{3,})([\w-]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FILE_LINE = re.compile(r"`([^`\n]+)`:\n\Z")
# The package with these grammars has no wheels for later Pythons; there the files are plain chunks,
# which a test of their own holds on every Python.
FURTHER_GRAMMARS = frozenset({"outline_further"})
_NO_OPTIONS = frozenset({"query", "commits", "changed"})
_RESULTS = ("outline", "graph", "rank", "pack")


@dataclass(frozen=True)
class Case:
    file: Path
    name: str
    files: dict[str, str]
    options: dict[str, object]
    kind: str
    expected: str
    span: tuple[int, int]
    """Of the expected output in the file's text."""

    def actual(self) -> str:
        match self.kind:
            case "outline":
                return "".join(_outline(path, text) for path, text in self.files.items())
            case "graph":
                return _graph(self.files)
            case "rank":
                return _rank(self.files, self.options)
            case _:
                return _pack(self.files, self.options)


def read_cases(file: Path) -> list[Case]:
    if file.stem in FURTHER_GRAMMARS and sys.version_info >= (3, 13):
        return []
    text = file.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))

    def is_inside(offset: int) -> bool:
        return any(fence.start() <= offset < fence.end() for fence in fences)

    headings = [match for match in _HEADING.finditer(text) if not is_inside(match.start())]
    ends = [match.start() for match in headings[1:]] + [len(text)]
    cases = []
    for heading, end in zip(headings, ends, strict=True):
        inside = [fence for fence in fences if heading.end() <= fence.start() < end]
        if inside:
            cases.append(_case(file, heading[1], text, inside))
    return cases


def _case(file: Path, name: str, text: str, fences: list[re.Match[str]]) -> Case:
    files: dict[str, str] = {}
    options: dict[str, object] = {}
    for fence in fences[:-1]:
        named = _FILE_LINE.search(text, 0, fence.start())
        if named:
            files[named[1]] = fence[3]
        else:
            assert fence[2] == "toml", f"{file.name}: {name}: a fence without a path"
            options = tomllib.loads(fence[3])
    last = fences[-1]
    assert last[2] in _RESULTS, f"{file.name}: {name}: no expected output"
    return Case(file, name, files, options, last[2], last[3], last.span(3))


def _outline(path: str, text: str) -> str:
    found = facts_of(path, text)
    rows = [f"{path}: {found.language or 'no language'}, {found.n_lines} lines"]
    rows += [
        f"  import {'.' * i.level}{i.specifier} {' '.join(i.names)}".rstrip()
        + f" @{i.line}{_kind(i)}"
        for i in found.imports
    ]
    rows += [f"  {'  ' * symbol.depth}{_symbol(symbol)}" for symbol in found.symbols]
    spans = " ".join(f"{c.lines.start}-{c.lines.end}" for c in found.chunks)
    rows.append(f"  chunks {spans}".rstrip())
    rows += [f"  problem: {problem}" for problem in found.problems]
    return "\n".join(rows) + "\n"


def _kind(found: Import) -> str:
    return "" if found.kind is ImportKind.STATIC else f" {found.kind}"


def _symbol(symbol: Symbol) -> str:
    lines, signature = symbol.lines, symbol.signature
    end = "" if signature.end == signature.start else f"-{signature.end}"
    return f"{symbol.kind} {symbol.name} {lines.start}-{lines.end} signature {signature.start}{end}"


def _graph(files: dict[str, str]) -> str:
    made = snapshot_of(files).graph
    rows = [
        f"{path} -> {target}" for path in sorted(made.imports) for target in made.imports[path]
    ]
    for path, failed in unresolved(made).items():
        rows += [
            f"{path} -x {'.' * u.found.level}{u.found.specifier}: {u.external}" for u in failed
        ]
    return "".join(f"{row}\n" for row in rows)


def _rank(files: dict[str, str], options: dict[str, Any]) -> str:
    past = [(one["message"], one["touched"]) for one in options.get("commits", [])]
    made = replace(snapshot_of(files), history=history_of(past))
    given = {name: value for name, value in options.items() if name not in _NO_OPTIONS}
    request = request_of(options["query"], given, lambda option: option.field)
    changed = {
        path: tuple(Lines(*lines) for lines in ranges)
        for path, ranges in options.get("changed", {}).items()
    }
    ranking = rank(made, request.query, entry(made, request, changed))
    rows = [
        f"{file.path}: {', '.join(file.parts)}{_way(ranking, file.path)}"
        for file in ranking.files
    ]
    rows += [f"unknown: {word}" for word in ranking.unknown_words]
    rows += ["fallback"] if ranking.is_fallback else []
    return "".join(f"{row}\n" for row in rows)


def _way(ranking: Ranking, path: str) -> str:
    trail = ranking.trails.get(path, ())
    return f" ({trail_shown(trail)})" if len(trail) > 1 else ""


def _pack(files: dict[str, str], options: dict[str, object]) -> str:
    values = {"text_format": "plain", **options}
    request = request_of(values.pop("query"), values, lambda option: option.field)
    pack = packed(files, request)
    rows = [
        f"{entry.path}: {entry.outcome} {entry.reason}"
        + (f" of {entry.duplicate_of}" if entry.duplicate_of else "")
        for entry in pack.ledger
    ]
    return pack.text + "--\n" + "".join(f"{row}\n" for row in rows)
