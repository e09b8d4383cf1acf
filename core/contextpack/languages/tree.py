"""Outlines from syntax trees, the same for every grammar.

Rules: a tree lives only inside one call; only line numbers come out of it; whatever cannot be
read of broken text is left out and said in `problems`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter

from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

from contextpack.languages.plain import MAX_LINES, MIN_LINES, TARGET_LINES, chunks, windows
from contextpack.model import Import, Symbol
from contextpack.text import Lines

# A carriage return alone ends a line for editors and not for tree-sitter. It has the same
# length as the newline that the parser sees in its place.
_LONE_CR = re.compile(r"\r(?!\n)")

_DEFINITION = re.compile(
    r"definition|(?<!import_)(?<!use_)declaration|function|class|method|export_statement"
    r"|(?<!attribute)(?<!type)_item|struct_|enum_|union_"
)

# What stands around a function that is a method.
_WITH_METHODS = frozenset(
    {"class", "enum", "impl", "interface", "record", "struct", "trait", "union"}
)

# The parser reports every hundred operations or so; a step more is ambiguous without end
# (`f<T, f<T, ...`), and costs ever more.
BASE_STEPS = 300
MAX_STEPS = 10_000
READ_BYTES = 1 << 12
BASE_READS = 2_000
# Smaller texts cost under a second at the worst.
PROBED_BYTES = 1 << 12
MAX_ERROR_CHILDREN = 5_000

# Deeper nesting is cut into windows by lines: the text is data, not code that somebody reads.
MAX_DEPTH = 40

# Constants, fields and aliases of fewer lines than this do not start a chunk.
MIN_DEFINITION_LINES = 3

# Declarations that hold several definitions when they have several children.
_LISTS = frozenset({"lexical_declaration", "variable_declaration"})

# A namespace declared by a statement reaches to the next one, or to the end of the text.
_OPEN_ENDED = frozenset({"file_scoped_namespace_declaration", "namespace_definition"})

# The fields that hold a body, by the grammars.
_BODY_FIELDS = ("body", "accessors", "block")

# Types whose opening brace ends the signature, and the replacement of a macro.
_OPENED_WITHIN = frozenset({"struct_type", "interface_type"})
_BODIES = _OPENED_WITHIN | {"preproc_arg"}

_BY_FIRST_LINE, _BY_PLACE = itemgetter(2), itemgetter(5)

Matches = list[tuple[int, dict[str, list[Node]]]]


Definition = tuple[str, str, int, int, int, int]
"""A definition as it is found: name, kind, first and last line, where its signature ends, place.

The lines are those with its decorators and its `export`; a last line of `OPEN_ENDED` means that
it reaches to the next such definition, or to the end of the text. A `variable` counts only
outside of other definitions. The signature ends with the last line of what stands before the
body. The place is where the name stands: of definitions on the same lines, the first holds the
others. A tuple, because a text has thousands of them for a moment.
"""

OPEN_ENDED = 0


@dataclass(frozen=True, slots=True)
class Effort:
    """What a parse may take in relation to the text's size: more is ambiguous or broken."""

    bytes_per_step: int
    reads_per_block: int
    """How often the parser may read a block of `READ_BYTES`.

    It does so a few times, unless a scanner looks for the end of a string or a comment from each
    of many errors: then it reads the rest of the text each time.
    """


# Real sources take up to 0.020 steps a byte (C; Ruby alone up to 0.027) and 5 reads a block.
COMMON_EFFORT = Effort(bytes_per_step=40, reads_per_block=40)

Reading = tuple[list[Import], list[Definition]]
"""What a language's reader finds in a tree, in any order."""


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
    effort: Effort = COMMON_EFFORT,
) -> Outline:
    """The outline of a text by the grammar's query; `imports` reads its import statements.

    `definitions` reads what the query matched where its captures do not name everything.
    """

    def read(root: Node, _: bytes) -> Reading:
        matches = QueryCursor(grammar.query).matches(root)
        return imports(matches), list((definitions or _captured)(matches))

    return outline_by(text, grammar, read, effort)


def outline_by(
    text: str,
    grammar: Grammar,
    read: Callable[[Node, bytes], Reading],
    effort: Effort = COMMON_EFFORT,
) -> Outline:
    """The outline of a text; `read` finds imports and definitions in its tree and source."""
    bare = _LONE_CR.sub("\n", text) if "\r" in text else text
    source = bare.encode("utf-8", "replace")
    n_lines = source.count(b"\n") + (not source.endswith(b"\n"))
    if not source:
        return Outline((), (), (), ())
    root = _parsed(source, grammar.language, effort)
    if root is None:
        return Outline((), (), chunks(text), ("too much work to parse",))
    imports, definitions = read(root, source)
    units = _joined_units(_units(root, 1, n_lines, 0, {}))
    spans = tuple(Lines(start, end) for start, end, _ in units)
    return Outline(
        imports=tuple(sorted(imports, key=lambda found: found.line)),
        symbols=_symbols(definitions, n_lines),
        chunks=spans or chunks(text),
        problems=("syntax errors",) if root.has_error else (),
    )


def _parsed(source: bytes, language: Language, effort: Effort) -> Node | None:
    """The root of a text's tree, or None when that would take too long."""
    if len(source) <= PROBED_BYTES:
        root = Parser(language).parse(source).root_node
    else:
        probed = _probed(source, language, effort)
        if probed is None:
            return None
        # The library keeps the text of nodes only when it is given all bytes. To parse them
        # again takes next to nothing where nothing changed.
        root = Parser(language).parse(source, probed).root_node
    # The query is quadratic in the children of a root that is one error.
    return None if root.type == "ERROR" and root.child_count > MAX_ERROR_CHILDREN else root


def _probed(source: bytes, language: Language, effort: Effort) -> Tree | None:
    """The tree of a text, or None when that takes more than real sources of its size do."""
    steps = min(BASE_STEPS + len(source) // effort.bytes_per_step, MAX_STEPS)
    reads = BASE_READS + effort.reads_per_block * (len(source) // READ_BYTES)

    def is_over(_offset: int, _has_error: bool) -> bool:  # noqa: FBT001  # the library's signature
        nonlocal steps
        steps -= 1
        return steps < 0 or reads < 0

    def read(start: int, _point: object) -> bytes:
        nonlocal reads
        reads -= 1
        return source[start : start + READ_BYTES]

    try:
        return Parser(language).parse(read, progress_callback=is_over)
    except ValueError:  # What the library raises when the callback ends the parse.
        return None


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


def definition_of(
    kind: str, node: Node, name: Node, signature_end: int, owner: Node | None = None
) -> Definition:
    """The definition that a node spans, with its decorators; `owner` stands before its name."""
    whole = _decorated(node)
    written = node_text(name).strip("'\"`#:")
    if owner is not None:
        written = f"{node_text(owner)}.{written}"
    end = last_line(whole)
    if node.type in _OPEN_ENDED and node.child_by_field_name("body") is None:
        end = OPEN_ENDED
    return written, kind, first_line(whole), end, signature_end, name.start_byte


def _captured(matches: Matches) -> Iterator[Definition]:
    for _, captures in matches:
        names = captures.get("name")
        if not names:
            continue
        # A query's own names, which its predicates speak of, begin with an underscore.
        kind = next(k for k in captures if k not in ("name", "owner") and k[0] != "_")
        node = captures[kind][0]
        owner = captures["owner"][0] if "owner" in captures else None
        yield definition_of(kind, node, names[0], signature_end(node) or last_line(node), owner)


def _symbols(definitions: list[Definition], n_lines: int) -> tuple[Symbol, ...]:
    """The definitions as symbols, nested by their lines and sorted by them."""
    found: dict[tuple[int, int, str], tuple[int, str, int]] = {}
    for name, kind, start, last, signature, place in sorted(
        _closed(definitions, n_lines), key=_BY_PLACE
    ):
        key = (start, -max(start, min(last, n_lines)), name)
        if key not in found or found[key][1] == "variable":  # A function in one is a function.
            found[key] = (place, kind, min(signature, n_lines))
    symbols: list[Symbol] = []
    # Those that the next one may stand in: their last lines and kinds.
    around: list[tuple[int, str]] = []
    for start, minus_end, _, name in sorted(
        [(start, end, found[start, end, name][0], name) for start, end, name in found]
    ):
        _, kind, signature = found[start, minus_end, name]
        end = -minus_end
        while around and around[-1][0] < end:
            around.pop()
        if around and kind == "variable":
            continue
        if kind == "function" and around and around[-1][1] in _WITH_METHODS:
            kind = "method"
        lines = Lines(start, end)
        signature_end = max(start, min(signature, end))
        signature_lines = lines if signature_end == end else Lines(start, signature_end)
        symbols.append(Symbol(name, kind, lines, signature_lines, len(around)))
        around.append((end, kind))
    return tuple(symbols)


def _closed(definitions: list[Definition], n_lines: int) -> list[Definition]:
    """The definitions, those without an end up to the next such one."""
    if all(one[3] for one in definitions):
        return definitions
    result = [one for one in definitions if one[3] != OPEN_ENDED]
    end = n_lines
    for name, kind, start, last, signature, place in sorted(
        definitions, key=_BY_FIRST_LINE, reverse=True
    ):
        if last == OPEN_ENDED:
            result.append((name, kind, start, max(start, end), signature, place))
            end = start - 1
    return result


def _decorated(node: Node) -> Node:
    """The node, or the statement around it that holds its decorators or its `export`."""
    parent = node.parent
    while parent is not None and parent.type in (
        "decorated_definition",
        "export_statement",
        "lexical_declaration",
        "template_declaration",
        "variable_declaration",
    ):
        if parent.type in _LISTS and parent.named_child_count > 1:
            break
        node, parent = parent, parent.parent
    return node


def signature_end(node: Node) -> int | None:
    """The last line of what stands before a definition's body; None without a body."""
    body = _body(node)
    if body is None:
        return None
    if body.type in _OPENED_WITHIN:
        return first_line(body)
    previous = body.prev_sibling
    return last_line(previous) if previous is not None else first_line(node)


def _body(node: Node) -> Node | None:
    """What a definition's signature ends before, where the grammar shows it."""
    body = _own_body(node)
    if body is not None:
        return body
    for field in ("value", "right", "type"):
        inner = node.child_by_field_name(field)
        if inner is not None:
            if inner.type in _BODIES:
                return inner
            body = _own_body(inner)
            if body is not None:
                return body
    return node.named_child(1) if node.type == "macro_definition" else None


def _own_body(node: Node) -> Node | None:
    return next(
        (body for field in _BODY_FIELDS if (body := node.child_by_field_name(field))), None
    )


_Unit = tuple[int, int, bool]
"""The first and the last line of a range, and whether a definition begins in it.

A tuple, because a text has thousands of them for a moment.
"""


def _units(
    node: Node, first: int, last: int, depth: int, known: dict[str, bool]
) -> list[_Unit]:
    """Ranges that cover these lines, cut where the children of `node` begin, down to small ones.

    `known` remembers which types of nodes are definitions.
    """
    children = _children(node, first, last)
    if not children or depth > MAX_DEPTH:
        return _plain_units(first, last)
    result: list[_Unit] = []
    if children[0][0] > first:
        # A comment or a header that stands before it stays with the first child if it can.
        first_end = children[1][0] - 1 if len(children) > 1 else last
        n_first = first_end - children[0][0] + 1
        if n_first > MAX_LINES or first_end - first + 1 <= MAX_LINES:
            children[0] = (first, *children[0][1:])
        else:
            result = _plain_units(first, children[0][0] - 1)
    end = last
    parts: list[_Unit | list[_Unit]] = []
    for start, child, written in reversed(children):
        is_definition = known.get(written)
        if is_definition is None:
            is_definition = known[written] = _DEFINITION.search(written) is not None
        n_lines = end - start + 1
        if n_lines > MAX_LINES:
            inner = _joined_units(_units(child, start, end, depth + 1, known))
            parts.append(_with_head(inner) if is_definition else inner)
        else:
            parts.append((start, end, is_definition and n_lines >= MIN_DEFINITION_LINES))
        end = start - 1
    for part in reversed(parts):
        if isinstance(part, tuple):
            result.append(part)
        else:
            result.extend(part)
    return result


def _plain_units(first: int, last: int) -> list[_Unit]:
    return [(window.start, window.end, False) for window in windows(Lines(first, last))]


def _with_head(units: list[_Unit]) -> list[_Unit]:
    """The parts of a long definition, the first of which is one: it holds the signature.

    A short first part joins what follows it, never what stands before the definition.
    """
    (start, end, _), *rest = units
    if rest and end - start + 1 < MIN_LINES:
        end, rest = rest[0][1], rest[1:]
    return [(start, end, True), *rest]


def _children(node: Node, first: int, last: int) -> list[tuple[int, Node, str]]:
    """The children that begin on a line of their own within these, with that line and their type.

    Comments belong to what follows them. Of several on one line the longest counts, so that a
    body that begins on its header's line is found.
    """
    result: list[tuple[int, Node, str]] = []
    comment = 0
    previous_start = previous_end = 0  # The lines of the last child of the result.
    for child in node.named_children:
        row = child.start_point[0]
        start = row + 1 if row >= first else first
        if start > last:
            break
        written = child.type
        if "comment" in written or written == "attribute_item":
            # A comment at the end of a line belongs to that line.
            if not comment and not (result and start <= previous_end):
                comment = start
            continue
        begin = comment or start
        comment = 0
        end_row, column = child.end_point
        end = end_row + 1 if column > 0 or end_row == row else end_row
        if result and begin <= previous_end:
            # On one line the one that ends last counts; else a body that begins where
            # modifiers end, themselves some lines long.
            is_longer = (
                end > previous_end
                if begin <= result[-1][0]
                else end - row > previous_end - previous_start + 1
            )
            if not is_longer:
                continue
            result[-1] = (result[-1][0], child, written)
        else:
            result.append((begin, child, written))
        previous_start, previous_end = row + 1, end
    return result


def _joined_units(units: list[_Unit]) -> list[_Unit]:
    """Units with tiny neighbours joined: a definition stays apart from what is long enough."""
    result: list[_Unit] = []
    for start, end, is_definition in units:
        if result:
            last_start, last_end, has_definition = result[-1]
            is_small = last_end - last_start + 1 < MIN_LINES or (
                end - start + 1 < MIN_LINES and not is_definition
            )
            if is_small and end - last_start + 1 <= TARGET_LINES:
                result[-1] = last_start, end, has_definition or is_definition
                continue
        result.append((start, end, is_definition))
    return result
