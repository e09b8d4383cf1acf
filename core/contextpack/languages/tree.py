"""Outlines from syntax trees, the same for every grammar.

Rules: a tree lives only inside one call; only line numbers come out of it; whatever cannot be
read of broken text is left out and said in `problems`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from contextpack.languages.plain import MAX_LINES, MIN_LINES, TARGET_LINES, chunks, windows
from contextpack.model import Import, Symbol
from contextpack.text import Lines, split_lines

# A carriage return alone ends a line for editors and not for tree-sitter. It has the same
# length as the newline that the parser sees in its place.
_LONE_CR = re.compile(r"\r(?!\n)")

_DEFINITION = re.compile(r"definition|declaration|function|class|method|export_statement")

# Deeper nesting is cut into windows by lines: the text is data, not code that somebody reads.
MAX_DEPTH = 40

# Constants, fields and aliases of fewer lines than this do not start a chunk.
MIN_DEFINITION_LINES = 3

# A namespace declared by a statement reaches to the next one, or to the end of the text.
_OPEN_ENDED = frozenset({"file_scoped_namespace_declaration", "namespace_definition"})

# A function directly inside one of these is a method.
_CONTAINERS = frozenset({"class", "interface", "trait", "struct", "enum", "record"})

Matches = list[tuple[int, dict[str, list[Node]]]]

Definition = tuple[str, Node, str, int]
"""The kind of a definition, the node that spans it, its name, and the last line of its signature."""

Found = dict[tuple[int, int, str], tuple[str, int]]
"""First line, last line and name of definitions: their kind, and where the signature ends."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """A compiled grammar and the query that finds imports and definitions in its trees."""

    language: Language
    query: Query


@dataclass(frozen=True, slots=True)
class Outline:
    """What one text says. The chunks cover all of its lines, in order."""

    imports: tuple[Import, ...]
    symbols: tuple[Symbol, ...]
    chunks: tuple[Lines, ...]
    problems: tuple[str, ...]
    data: tuple[Lines, ...] = ()
    """Those of the chunks that hold nothing to read, such as the outputs of a notebook."""


def outline(
    text: str,
    grammar: Grammar,
    imports: Callable[[Matches], list[Import]],
    definitions: Callable[[Matches], Iterable[Definition]] | None = None,
) -> Outline:
    """The outline of a text; `imports` reads a language's import statements.

    `definitions` reads what the query matched where its captures do not name everything.
    """
    n_lines = len(split_lines(text))
    if n_lines == 0:
        return Outline((), (), (), ())
    source = _LONE_CR.sub("\n", text).encode("utf-8", "replace")
    root = Parser(grammar.language).parse(source).root_node
    matches = QueryCursor(grammar.query).matches(root)
    spans = _joined(list(_units(root, Lines(1, n_lines), 0)))
    return Outline(
        imports=tuple(sorted(imports(matches), key=lambda found: found.line)),
        symbols=_symbols((definitions or _captured)(matches), n_lines),
        chunks=spans or chunks(text),
        problems=("syntax errors",) if root.has_error else (),
    )


def node_text(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def first_line(node: Node) -> int:
    """The 1-based line that a node begins in."""
    return node.start_point[0] + 1


def last_line(node: Node) -> int:
    """The 1-based line that a node ends in; a newline at its end does not count."""
    row, column = node.end_point
    return row + 1 if column > 0 or row == node.start_point[0] else row


def _captured(matches: Matches) -> Iterator[Definition]:
    for _, captures in matches:
        names = captures.get("name")
        if names:
            # A query's own names, which its predicates speak of, begin with an underscore.
            kind = next(kind for kind in captures if kind != "name" and kind[0] != "_")
            node = captures[kind][0]
            yield kind, node, node_text(names[0]), signature_end(node) or last_line(node)


def _symbols(definitions: Iterable[Definition], n_lines: int) -> tuple[Symbol, ...]:
    found: Found = {}
    open_ended: list[tuple[tuple[int, int, str], tuple[str, int]]] = []
    for kind, node, name, signature in sorted(
        definitions, key=lambda one: (one[1].start_byte, -one[1].end_byte)
    ):
        whole = _decorated(node)
        key = (first_line(whole), min(last_line(whole), n_lines), name.strip("'\"`#:"))
        if node.type in _OPEN_ENDED and node.child_by_field_name("body") is None:
            open_ended.append((key, (kind, min(last_line(node), n_lines))))
        elif (
            key not in found or found[key][0] == "variable"
        ):  # A function in one is a function.
            found[key] = (kind, min(signature, n_lines))
    end = n_lines
    for (start, _, name), said in sorted(open_ended, reverse=True):
        found[start, max(start, end), name] = said
        end = start - 1
    return _nested(found)


def _nested(found: Found) -> tuple[Symbol, ...]:
    """Definitions as symbols, each in those around it; those of variables at the top only."""
    symbols: list[Symbol] = []
    open_symbols: list[Symbol] = []
    for (start, end, name), (written, signature_end) in sorted(
        found.items(), key=lambda item: (item[0][0], -item[0][1])
    ):
        while open_symbols and open_symbols[-1].lines.end < end:
            open_symbols.pop()
        if written == "variable" and open_symbols:
            continue
        is_member = bool(open_symbols) and open_symbols[-1].kind in _CONTAINERS
        kind = "method" if written == "function" and is_member else written
        symbol = Symbol(
            name=name,
            kind=kind,
            lines=Lines(start, end),
            signature=Lines(start, max(start, min(signature_end, end))),
            depth=len(open_symbols),
        )
        symbols.append(symbol)
        open_symbols.append(symbol)
    return tuple(symbols)


def _decorated(node: Node) -> Node:
    """The node, or the statement around it that holds its decorators or its `export`."""
    parent = node.parent
    while parent is not None and parent.type in (
        "decorated_definition",
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
    ):
        if parent.type.endswith("_declaration") and parent.named_child_count > 1:
            break
        node, parent = parent, parent.parent
    return node


def signature_end(node: Node) -> int | None:
    """The last line of what stands before a definition's body; None without a body."""
    body = _body(node)
    if body is None:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        body = _body(value) if value is not None else None
    if body is None:
        return None
    previous = body.prev_sibling
    return last_line(previous) if previous is not None else first_line(node)


def _body(node: Node) -> Node | None:
    fields = ("body", "accessors", "block")
    return next((body for field in fields if (body := node.child_by_field_name(field))), None)


@dataclass(frozen=True, slots=True)
class _Unit:
    lines: Lines
    is_definition: bool


def _units(node: Node, lines: Lines, depth: int) -> Iterator[_Unit]:
    """Ranges that cover `lines`, cut where the children of `node` begin, down to small ones."""
    children = _children(node, lines)
    if not children or depth > MAX_DEPTH:
        for window in windows(lines):
            yield _Unit(window, is_definition=False)
        return
    if children[0][0] > lines.start:
        for window in windows(Lines(lines.start, children[0][0] - 1)):
            yield _Unit(window, is_definition=False)
    ends = [start - 1 for start, _ in children[1:]] + [lines.end]
    for (start, child), end in zip(children, ends, strict=True):
        unit = Lines(start, end)
        if len(unit) > MAX_LINES:
            yield from _joined_units(list(_units(child, unit, depth + 1)))
        else:
            is_definition = (
                len(unit) >= MIN_DEFINITION_LINES and _DEFINITION.search(child.type) is not None
            )
            yield _Unit(unit, is_definition)


def _children(node: Node, lines: Lines) -> list[tuple[int, Node]]:
    """The children that begin on a line of their own within `lines`, with that line.

    Comments belong to what follows them. Of several on one line the longest counts, so that a
    body that begins on its header's line is found.
    """
    result: list[tuple[int, Node]] = []
    comment: int | None = None
    for child in node.named_children:
        start = max(first_line(child), lines.start)
        if start > lines.end:
            break
        if "comment" in child.type:
            comment = start if comment is None else comment
            continue
        begin = start if comment is None else comment
        comment = None
        if result and begin <= result[-1][0]:
            if last_line(child) > last_line(result[-1][1]):
                result[-1] = (result[-1][0], child)
        elif result and begin <= last_line(result[-1][1]):
            continue
        else:
            result.append((begin, child))
    return result


def _joined_units(units: list[_Unit]) -> list[_Unit]:
    """Units with tiny neighbours joined: a definition stays apart from what is long enough."""
    result: list[_Unit] = []
    for unit in units:
        if result:
            last = result[-1]
            together = len(last.lines) + len(unit.lines)
            is_small = len(last.lines) < MIN_LINES or (
                len(unit.lines) < MIN_LINES and not unit.is_definition
            )
            if is_small and together <= TARGET_LINES:
                result[-1] = _Unit(
                    Lines(last.lines.start, unit.lines.end),
                    last.is_definition or unit.is_definition,
                )
                continue
        result.append(unit)
    return result


def _joined(units: list[_Unit]) -> tuple[Lines, ...]:
    return tuple(unit.lines for unit in _joined_units(units))
