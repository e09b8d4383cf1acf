r"""Jupyter notebooks: their cells, in the lines of the JSON that holds them.

A chunk is a range of lines of the file, so a cell's chunk is the lines of its `source`, quotes
and `\n` included. Everything else (outputs, attachments, metadata, execution counts) stands in
chunks of its own, which `Outline.data` names: they carry no terms and are not shown. Small
cells with no output between them share a chunk. Headings of Markdown cells and definitions of
code cells are symbols.
"""

import re
from dataclasses import replace
from types import MappingProxyType

from contextpack.languages.cuts import Named, symbols
from contextpack.languages.plain import MIN_LINES, TARGET_LINES, windows
from contextpack.languages.tree import Outline
from contextpack.model import Symbol
from contextpack.text import Lines, split_lines

# A string needs no end, so that an unclosed one is looked at once.
_TOKEN = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*+"?|[{}\[\]:]|\r\n|\n|\r')
_SOURCES = ("source", "input")  # `input` is what nbformat 3 calls it.
_KEYS = (*_SOURCES, "outputs", "attachments")
CELL_DEPTHS = (3, 5)  # The root, its list, a cell; nbformat 3 has worksheets between.
_HEADING = re.compile(r'\s*"(#{1,6}) +([^\r\n]*)')
_DEFINITION = re.compile(r'\s*"(?:async )?(def|class) (\w+)')
_KINDS = MappingProxyType({"def": "function", "class": "class"})
# `]`, `},`, `{`, the cell's type, id, empty metadata and outputs: what stands between two cells.
MAX_GLUE_LINES = 12
MAX_NAME_CHARACTERS = 120


def notebook(text: str) -> Outline:
    """The outline of a notebook. A text without any cell has plain windows."""
    lines = split_lines(text)
    n_lines = len(lines)
    cells, bulky, prose = _ranges(text)
    shown = _joined(cells, bulky)
    chunks: list[Lines] = []
    data: list[Lines] = []
    following = 1
    for cell in shown:
        if following < cell.start:
            data.extend(windows(Lines(following, cell.start - 1)))
            chunks.extend(windows(Lines(following, cell.start - 1)))
        chunks.extend(windows(cell))
        following = cell.end + 1
    if following <= n_lines:
        chunks.extend(windows(Lines(following, n_lines)))
        # A text without any cell is no notebook, or is still being written: all of it is shown.
        data.extend(windows(Lines(following, n_lines)) if cells else ())
    return Outline((), _symbols(lines, cells, prose), tuple(chunks), (), tuple(data))


def _ranges(text: str) -> tuple[list[Lines], list[Lines], frozenset[int]]:
    """The lines of each cell's source, those of outputs and attachments, and which are prose.

    The last holds the first lines of the sources of Markdown cells.
    """
    prose: set[int] = set()
    is_prose = False
    cells: list[Lines] = []
    bulky: list[Lines] = []
    line, depth = 1, 0
    string = key = ""
    opened: tuple[str, int, int] | None = (
        None  # The key, the first line and the depth of a list.
    )
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in ("\n", "\r\n", "\r"):
            line += 1
        elif token == ":":
            key, string = string, ""
        elif token in "{[":
            if opened is None and depth in CELL_DEPTHS and key in _KEYS:
                opened = (key, line, depth)
                if is_prose and key in _SOURCES:
                    prose.add(line)
            depth, key = depth + 1, ""
        elif token in "}]":
            depth = max(0, depth - 1)
            if opened is not None and depth <= opened[2]:
                _close(opened, line, cells, bulky)
                opened = None
            key = ""
        else:
            if key == "cell_type":
                is_prose = "markdown" in token
            elif key in _SOURCES and opened is None and depth in CELL_DEPTHS:
                _close((key, line, depth), line, cells, bulky)
            string, key = token.strip('"'), ""
    if opened is not None:
        _close(opened, line, cells, bulky)
    return cells, bulky, frozenset(prose)


def _close(
    opened: tuple[str, int, int], line: int, cells: list[Lines], bulky: list[Lines]
) -> None:
    key, start, _ = opened
    if key not in _SOURCES:
        if line > start:  # `"outputs": []` is empty.
            bulky.append(Lines(start, line))
    elif not cells or cells[-1].end < start:
        cells.append(Lines(start, line))


def _joined(cells: list[Lines], bulky: list[Lines]) -> list[Lines]:
    """Cells with tiny neighbours joined, unless something bulky stands between them."""
    starts = {lines.start for lines in bulky}
    result: list[Lines] = []
    for cell in cells:
        if result:
            last = result[-1]
            is_tiny = min(len(last), len(cell)) < MIN_LINES
            is_near = cell.start - last.end - 1 <= MAX_GLUE_LINES
            together = cell.end - last.start + 1
            between = range(last.end, cell.start + 1)
            if is_tiny and is_near and together <= TARGET_LINES and starts.isdisjoint(between):
                result[-1] = Lines(last.start, cell.end)
                continue
        result.append(cell)
    return result


def _symbols(lines: list[str], cells: list[Lines], prose: frozenset[int]) -> tuple[Symbol, ...]:
    result: list[Symbol] = []
    for cell in cells:
        is_prose = cell.start in prose
        pattern = _HEADING if is_prose else _DEFINITION
        named: list[Named] = []
        kinds: list[str] = []
        for at in range(cell.start, cell.end + 1):
            # The first string may stand on the key's own line.
            line = lines[at - 1]
            written = line.partition(": ")[2].lstrip("[") if at == cell.start else line
            if found := pattern.match(written):
                name = found[2].partition("\\n")[0].rstrip('", ')[:MAX_NAME_CHARACTERS]
                if name:
                    named.append(Named(name, at, at, len(found[1]) if is_prose else 0))
                    kinds.append(_KINDS.get(found[1], "heading"))
        made = symbols(named, "heading", cell.end)
        result.extend(replace(s, kind=kind) for s, kind in zip(made, kinds, strict=True))
    return tuple(result)
