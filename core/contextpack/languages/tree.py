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
from contextpack.text import Lines, n_lines_of

# A carriage return alone ends a line for editors and not for tree-sitter. It has the same
# length as the newline that the parser sees in its place.
_LONE_CR = re.compile(r"\r(?!\n)")

_DEFINITION = re.compile(r"definition|declaration|function|class|method|export_statement")

# Deeper nesting is cut into windows by lines: the text is data, not code that somebody reads.
MAX_DEPTH = 40

# Constants, fields and aliases of fewer lines than this do not start a chunk.
MIN_DEFINITION_LINES = 3

Matches = list[tuple[int, dict[str, list[Node]]]]


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition as a reader finds it. A function in a class becomes a method later."""

    name: str
    kind: str
    start: int
    end: int
    """Its lines, those of its decorators included."""
    signature_end: int
    """The last line of what stands before its body."""


Reading = Callable[[Node, bytes, Query], tuple[list[Import], list[Definition]]]
"""The imports and definitions below a root; the bytes are those that were parsed."""


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


def outline(text: str, grammar: Grammar, read: Reading) -> Outline:
    """The outline of a text; `read` finds a language's imports and definitions."""
    n_lines = n_lines_of(text)
    if n_lines == 0:
        return Outline((), (), (), ())
    if "\r" in text:
        text = _LONE_CR.sub("\n", text)
    source = text.encode("utf-8", "replace")
    root = Parser(grammar.language).parse(source).root_node
    imports, definitions = read(root, source, grammar.query)
    spans = tuple(Lines(start, end) for start, end, _ in _joined(_units(root, 1, n_lines, 0)))
    return Outline(
        imports=tuple(sorted(imports, key=lambda found: found.line)),
        symbols=_symbols(definitions, n_lines),
        chunks=spans or chunks(text),
        problems=("syntax errors",) if root.has_error else (),
    )


def by_query(imports: Callable[[Matches], list[Import]]) -> Reading:
    """A reading through the grammar's query; `imports` reads the import statements."""

    def read(root: Node, _source: bytes, query: Query) -> tuple[list[Import], list[Definition]]:
        matches = QueryCursor(query).matches(root)
        return imports(matches), _definitions(matches)

    return read


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


def _definitions(matches: Matches) -> list[Definition]:
    result: list[Definition] = []
    for _, captures in matches:
        names = captures.get("name")
        if not names:
            continue
        kind = next(kind for kind in captures if kind != "name")
        node = captures[kind][0]
        whole = _decorated(node)
        name = node_text(names[0]).strip("'\"`#")
        result.append(
            Definition(name, kind, first_line(whole), last_line(whole), _signature_end(node))
        )
    return result


def _symbols(definitions: list[Definition], n_lines: int) -> tuple[Symbol, ...]:
    """The definitions as symbols, nested by their lines and sorted by them."""
    found: dict[tuple[int, int, str], Definition] = {}
    for definition in definitions:
        key = (definition.start, -definition.end, definition.name)
        if (
            key not in found or found[key].kind == "variable"
        ):  # A function in one is a function.
            found[key] = definition
    symbols: list[Symbol] = []
    open_symbols: list[Symbol] = []
    for key in sorted(found):
        definition = found[key]
        start, end, written = definition.start, min(definition.end, n_lines), definition.kind
        while open_symbols and open_symbols[-1].lines.end < start:
            open_symbols.pop()
        if written == "variable" and open_symbols:
            continue
        is_member = bool(open_symbols) and open_symbols[-1].kind == "class"
        symbol = Symbol(
            name=definition.name,
            kind="method" if written == "function" and is_member else written,
            lines=Lines(start, end),
            signature=Lines(start, max(start, min(definition.signature_end, end))),
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


def _signature_end(node: Node) -> int:
    """The last line of what stands before a definition's body."""
    body = node.child_by_field_name("body")
    if body is None:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        body = value.child_by_field_name("body") if value is not None else None
    if body is None:
        return last_line(node)
    previous = body.prev_sibling
    return last_line(previous) if previous is not None else first_line(node)


# First line, last line, whether it is a definition. Many are made and few are kept.
_Unit = tuple[int, int, bool]


def _units(node: Node, start: int, end: int, depth: int) -> Iterator[_Unit]:
    """Ranges that cover these lines, cut where the children of `node` begin, to small ones."""
    children = _children(node, start, end)
    if not children or depth > MAX_DEPTH:
        for window in windows(Lines(start, end)):
            yield window.start, window.end, False
        return
    if children[0][0] > start:
        for window in windows(Lines(start, children[0][0] - 1)):
            yield window.start, window.end, False
    ends = [begin - 1 for begin, _ in children[1:]] + [end]
    for (begin, child), last in zip(children, ends, strict=True):
        n_lines = last - begin + 1
        if n_lines > MAX_LINES:
            yield from _joined(_units(child, begin, last, depth + 1))
        else:
            is_long = n_lines >= MIN_DEFINITION_LINES
            yield begin, last, is_long and _DEFINITION.search(child.type) is not None


def _children(node: Node, first: int, end: int) -> list[tuple[int, Node]]:
    """The children that begin on a line of their own within these, with that line.

    Comments belong to what follows them. Of several on one line the longest counts, so that a
    body that begins on its header's line is found.
    """
    result: list[tuple[int, Node]] = []
    last = 0  # The line that the last child ends in.
    comment: int | None = None
    for child in node.named_children:
        start = max(first_line(child), first)
        if start > end:
            break
        if "comment" in child.type:
            comment = start if comment is None else comment
            continue
        begin = start if comment is None else comment
        comment = None
        if result and begin <= result[-1][0]:
            if last_line(child) > last:
                result[-1] = (result[-1][0], child)
                last = last_line(child)
        elif begin > last:
            result.append((begin, child))
            last = last_line(child)
    return result


def _joined(units: Iterable[_Unit]) -> list[_Unit]:
    """Units with tiny neighbours joined: a definition stays apart from what is long enough."""
    result: list[_Unit] = []
    for start, end, is_definition in units:
        if result:
            before, last, was_definition = result[-1]
            is_small = last - before + 1 < MIN_LINES or (
                end - start + 1 < MIN_LINES and not is_definition
            )
            if is_small and last - before + 1 + end - start + 1 <= TARGET_LINES:
                result[-1] = (before, end, was_definition or is_definition)
                continue
        result.append((start, end, is_definition))
    return result
