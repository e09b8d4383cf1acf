"""JavaScript and TypeScript, with and without JSX: imports and definitions.

How it works: one descent through what can hold a definition finds definitions and import
statements; most of a tree is operands and types, and is never visited. Calls (`require`,
`import()`, `jest.mock`) can stand anywhere: a regular expression finds the words in the source
and a descent to just these places tells code from strings, comments and JSX text. Both are
loops over a stack, since data files nest deeper than Python recurses.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

from contextpack.languages.tree import (
    Definition,
    Grammar,
    Outline,
    Reading,
    first_line,
    last_line,
    node_text,
    outline_by,
)
from contextpack.model import Import, ImportKind
from contextpack.text import Lines

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = ""  # Queries walk every node of the tree, which costs a quarter of the parse.

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_CLASSES = frozenset({"class", "class_expression"})
_KINDS = (
    ("function_declaration", "function"),
    ("generator_function_declaration", "function"),
    ("function_signature", "function"),
    ("class_declaration", "class"),
    ("abstract_class_declaration", "class"),
    ("method_definition", "method"),
    ("method_signature", "method"),
    ("abstract_method_signature", "method"),
    ("interface_declaration", "interface"),
    ("type_alias_declaration", "type"),
    ("enum_declaration", "enum"),
    ("internal_module", "namespace"),
    ("module", "namespace"),
)
_DECLARATIONS = frozenset({"lexical_declaration", "variable_declaration", "using_declaration"})
_FIELDS = frozenset({"public_field_definition", "field_definition"})
# Around a definition these belong to it: its `export`, its `const`, its `declare`.
_WRAPPERS = _DECLARATIONS | {"export_statement", "ambient_declaration"}
# Whatever may hold a definition further down, besides definitions themselves.
_CONTAINERS = frozenset(
    {
        "ERROR", "arguments", "array", "as_expression", "assignment_expression",
        "await_expression", "call_expression", "catch_clause", "class_body",
        "class_static_block", "do_statement", "else_clause", "expression_statement",
        "finally_clause", "for_in_statement", "for_statement", "if_statement",
        "labeled_statement", "new_expression", "object", "pair", "parenthesized_expression",
        "program", "return_statement", "satisfies_expression", "statement_block", "switch_body",
        "switch_case", "switch_default", "switch_statement", "try_statement",
        "unary_expression", "variable_declarator", "while_statement",
    }
)  # fmt: skip
_KIND_OF = MappingProxyType(dict(_KINDS))
_VISITED = (
    _CONTAINERS
    | _WRAPPERS
    | _FIELDS
    | _FUNCTIONS
    | _CLASSES
    | {"import_statement", "decorator"}
    | {node_type for node_type, _ in _KINDS}
)
# On one line these hold no definition that anybody would look for by its name.
_PRUNED = frozenset(
    {
        "arguments", "array", "arrow_function", "as_expression", "await_expression",
        "call_expression", "expression_statement", "function_expression", "new_expression",
        "object", "parenthesized_expression", "return_statement", "satisfies_expression",
        "unary_expression",
    }
)  # fmt: skip
_NO_CODE = frozenset({"comment", "html_comment", "jsx_text", "regex", "string"})

_TYPE_ONLY = re.compile(
    rb"(?:import|export)\s+type(?:of)?(?:\s*[{*]|\s+[\w$]+\s*(?:,|=|\bfrom\b))"
)
_ALL_TYPES = re.compile(
    rb"(?:import|export)\s*+\{\s*+type\s[^,{}]++(?:,\s*+type\s[^,{}]++)*+,?\s*+\}"
)
# A dot in front makes another object's method of a word, three dots do not. The conditions on
# what stands before come last, since searching for a word's letters is the fast part.
_NEXT = rb"(?=\s*(?:[(<]|/[*/]))"
_IMPORT = re.compile(rb"import" + _NEXT + rb"(?<![\w$#.]import)")
_REQUIRE = re.compile(rb"require" + _NEXT + rb"(?<![\w$#]require)(?<!(?<!\.\.)\.require)")
_MOCK = re.compile(
    rb"\b(?:jest|vi|vitest)\s*\.\s*(?:(?:do|set)?[mM]ock|unmock|doUnmock|dontMock|deepUnmock"
    rb"|unstable_mockModule|importActual|importMock|requireActual|requireMock"
    rb"|createMockFromModule|genMockFromModule)" + _NEXT
)
_GAP = rb"(?:\s|/\*(?s:.{0,400}?)\*/|//[^\n]{0,400}\n)*+"
# The type argument of `vi.mock<typeof import('./x')>('./x')` may hold one pair of parentheses.
_ARGUMENT = re.compile(
    _GAP + rb"(?:<[^()<>]{0,200}(?:\([^()]{0,200}\))?[^()<>]{0,200}>)?\(" + _GAP +
    rb"(?:import\s*\(\s*)?"
    rb"(?:'([^'\\\n]*)'|\"([^\"\\\n]*)\"|`([^`$\\\n]*)`)\s*\)?" + _GAP + rb"[,)]"
)  # fmt: skip
_TYPEOF = re.compile(rb"\btypeof\s+\Z")
MAX_EXPRESSION = 80  # Characters of a computed specifier worth showing.

_Found = tuple["Node", tuple["Node", ...]]


def outline(text: str, grammar: Grammar) -> Outline:
    """The outline of a text in any of these languages."""
    return outline_by(text, grammar, read)


def read(root: "Node", source: bytes) -> Reading:
    """Every literal specifier and every definition that can be named."""
    imports, definitions = _statements(root)
    imports.extend(_calls(root, source))
    return imports, definitions


def _statements(root: "Node") -> Reading:
    imports: list[Import] = []
    definitions: list[Definition] = []
    # A node, the outermost wrapper that belongs to it, the line its decorators begin in or 0,
    # and whether it stands at the top level.
    stack: list[tuple[Node, Node | None, int, bool]] = [(root, None, 0, True)]
    while stack:
        node, wrapper, decorated, is_top = stack.pop()
        kind = node.type
        if kind in ("import_statement", "export_statement"):
            if (found := _statement(node)) is not None:
                imports.append(found)
                continue
            if kind == "import_statement":
                continue
        if kind in _KIND_OF:
            _define(
                definitions,
                _KIND_OF[kind],
                node.child_by_field_name("name"),
                node,
                wrapper or node,
                decorated,
            )
        elif kind == "variable_declarator":
            name = node.child_by_field_name("name")
            if name is not None and name.type == "identifier":
                written = _value_kind(node.child_by_field_name("value"))
                if written or is_top:
                    _define(definitions, written or "variable", name, node, wrapper or node, 0)
        elif kind in _FIELDS or kind == "pair":
            if _value_kind(node.child_by_field_name("value")) == "function":
                name = node.child_by_field_name("name") or node.child_by_field_name("property")
                name = name or node.child_by_field_name("key")
                _define(definitions, "method", name, node, node, decorated)
        elif kind == "assignment_expression":
            left = node.child_by_field_name("left")
            if left is not None and left.type == "member_expression":
                written = _value_kind(node.child_by_field_name("right"))
                if written:
                    _define(
                        definitions,
                        written,
                        left.child_by_field_name("property"),
                        node,
                        node,
                        0,
                    )
        is_wrapper = kind in _WRAPPERS
        outer = (wrapper or node) if is_wrapper else None
        children = node.named_children
        if kind in _DECLARATIONS and len(children) > 1:
            outer = None
        below = is_top and (is_wrapper or kind in ("program", "ERROR"))
        pending = 0
        is_program = kind == "program"
        for child in children:
            child_type = child.type
            if child_type == "decorator":
                pending = pending or first_line(child)
            elif child_type in _VISITED:
                is_pruned = child_type in _PRUNED and not is_program
                if is_pruned and child.start_point[0] == child.end_point[0]:
                    continue
                stack.append((child, outer, pending, below))
                pending = 0
            elif child_type != "comment":
                pending = 0
    return imports, definitions


def _value_kind(value: "Node | None") -> str:
    """What a value makes of its name: `function`, `class`, or nothing in particular."""
    if value is None:
        return ""
    if value.type in _FUNCTIONS:
        return "function"
    return "class" if value.type in _CLASSES else ""


def _define(
    definitions: list[Definition],
    kind: str,
    name: "Node | None",
    node: "Node",
    whole: "Node",
    decorated: int,
) -> None:
    if name is None:
        return
    start = min(first_line(whole), decorated or first_line(whole))
    text = node_text(name).strip("'\"`#")
    if text:
        lines = Lines(start, max(start, last_line(whole)))
        definitions.append(Definition(text, kind, lines, _signature_end(kind, node)))


def _signature_end(kind: str, node: "Node") -> int:
    """The last line of what stands before a definition's body or its value."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    holder = node
    body = node.child_by_field_name("body")
    if body is None and value is not None:
        holder, body = value, value.child_by_field_name("body")
        if body is None:
            return first_line(value) if kind in ("variable", "type") else last_line(node)
    if body is None:
        return last_line(node)
    end = first_line(holder)
    for child in holder.children:
        if child.start_byte >= body.start_byte:
            break
        end = last_line(child)
    return end


def _statement(node: "Node") -> Import | None:
    """What an `import` or `export` statement names; None when it names no module."""
    source = node.child_by_field_name("source")
    kind = ImportKind.STATIC
    if source is None:
        clause = next(
            (c for c in node.named_children if c.type == "import_require_clause"), None
        )
        source = clause.child_by_field_name("source") if clause is not None else None
        if source is None:
            return None
        kind = ImportKind.REQUIRE
    text = node.text or b""
    if _TYPE_ONLY.match(text) or _ALL_TYPES.match(text):
        kind = ImportKind.TYPE
    return Import(node_text(source)[1:-1], first_line(node), kind=kind)


def _calls(root: "Node", source: bytes) -> list[Import]:
    words = [_IMPORT, _REQUIRE]
    if b"jest" in source or b"vi" in source:
        words.append(_MOCK)
    hits = {match.start(): match for word in words for match in word.finditer(source)}
    starts = sorted(hits)
    result: list[Import] = []
    mocked: set[int] = set()
    for node, above in sorted(_nodes_at(root, starts), key=lambda found: found[0].start_byte):
        match = hits.get(node.start_byte)
        # A `require` in an `import x = require()` is no identifier: the statement was read.
        if (
            match is None
            or node.type not in ("identifier", "import")
            or match.start() in mocked
        ):
            continue
        argument = _ARGUMENT.match(source, match.end())
        is_mock = match.re is _MOCK
        if argument is not None:
            specifier = next(part for part in argument.groups() if part is not None)
            if is_mock:
                inside = bisect_left(starts, match.end()), bisect_left(starts, argument.end())
                mocked.update(starts[slice(*inside)])
            kind = ImportKind.MOCK if is_mock else _call_kind(match, source, above)
            result.append(
                Import(specifier.decode("utf-8", "replace"), first_line(node), kind=kind)
            )
        elif not is_mock and (computed := _computed(above)):
            result.append(Import(computed, first_line(node), kind=ImportKind.COMPUTED))
    return result


def _call_kind(match: re.Match[bytes], source: bytes, above: tuple["Node", ...]) -> ImportKind:
    if match.re is _REQUIRE:
        return ImportKind.REQUIRE
    if _TYPEOF.search(source, max(0, match.start() - 20), match.start()):
        return ImportKind.TYPE
    call = above[0] if above else None
    for node in above[1:]:
        if node.type in ("member_expression", "nested_type_identifier"):
            call = node
        elif node.type in ("as_expression", "satisfies_expression"):
            is_type = call is not None and node.named_children[0].start_byte != call.start_byte
            return ImportKind.TYPE if is_type else ImportKind.DYNAMIC
        else:
            return ImportKind.TYPE if "type" in node.type else ImportKind.DYNAMIC
    return ImportKind.DYNAMIC


def _computed(above: tuple["Node", ...]) -> str:
    """The source of a call's first argument; empty when there is no call or no argument."""
    if not above or above[0].type != "call_expression":
        return ""
    arguments = above[0].child_by_field_name("arguments")
    children = arguments.named_children if arguments is not None else []
    first = next((child for child in children if child.type != "comment"), None)
    if first is None or first.type == "string":
        return ""
    return " ".join(node_text(first).split())[:MAX_EXPRESSION]


def _nodes_at(root: "Node", offsets: list[int]) -> Iterator[_Found]:
    """The leaves of code at some offsets (ascending bytes), each with the nodes above it.

    Innermost first, a handful. Every node is visited once at most, however many offsets.
    """
    stack: list[tuple[Node, int, int, tuple[Node, ...]]] = [(root, 0, len(offsets), ())]
    while stack:
        node, low, high, above = stack.pop()
        if node.type in _NO_CODE or low == high:
            continue
        children = node.children
        if not children:
            yield node, above
            continue
        around = (node, *above[:7])
        for child in children:
            if low == high:
                break
            end = child.end_byte
            if end <= offsets[low]:
                continue
            start = child.start_byte
            while low < high and offsets[low] < start:  # Between the children: no code.
                low += 1
            last = low
            while last < high and offsets[last] < end:
                last += 1
            if last > low:
                stack.append((child, low, last, around))
                low = last
