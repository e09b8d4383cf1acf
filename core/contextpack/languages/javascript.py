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

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = ""  # Queries walk every node of the tree, which costs a quarter of the parse.

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_CLASSES = frozenset({"class", "class_expression"})
_BODIED = _FUNCTIONS | {
    "function_declaration", "generator_function_declaration", "method_definition",
}  # fmt: skip
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
    | {"import_statement"}
    | {node_type for node_type, _ in _KINDS}
)
# On one line, further down than the top level, these hold no definition that anybody would look
# for by its name.
_EXPRESSIONS = frozenset(
    {
        "arguments", "array", "arrow_function", "as_expression", "await_expression",
        "call_expression", "expression_statement", "function_expression", "new_expression",
        "object", "parenthesized_expression", "return_statement", "satisfies_expression",
        "unary_expression",
    }
)  # fmt: skip
# There, without one of the marks below, these hold none either.
_PRUNED = _EXPRESSIONS | _DECLARATIONS | frozenset(
    {
        "catch_clause", "do_statement", "else_clause", "finally_clause", "for_in_statement",
        "for_statement", "if_statement", "pair", "statement_block", "switch_body",
        "switch_case", "switch_default", "switch_statement", "try_statement",
        "while_statement",
    }
)  # fmt: skip
_DEFINING = _FIELDS | set(_KIND_OF) | {"variable_declarator", "assignment_expression", "pair"}
_NAMESPACES = frozenset({"internal_module", "module"})
# A function's name, where it has one, and a list of parameters, where it has none.
_MARKS = re.compile(b"class"), re.compile(b"namespace")
_FUNCTION = re.compile(rb"function(?:[ *]+([\w$])|\s*\()")
_ARROW = re.compile(b"=>")
_METHOD = re.compile(rb"\) \{")
# What ends like the head of a method and is none, by how its line begins.
_NO_METHOD = (
    b"if (", b"if(", b"for (", b"for(", b"for await", b"while (", b"while(", b"switch (",
    b"switch(", b"} ", b"else ", b"catch (", b"function ", b"test(", b"it(", b"describe(",
)  # fmt: skip
MAX_HEAD = 200  # Bytes of a method's head that are looked at.

_NO_CODE = frozenset({"comment", "html_comment", "jsx_text", "regex", "string"})

_TYPE_ONLY = re.compile(
    rb"(?:import|export)\s+type(?:of)?(?:\s*[{*]|\s+[\w$]+\s*(?:,|=|\bfrom\b))"
)
_ALL_TYPES = re.compile(
    rb"(?:import|export)\s*+\{\s*+type\s[^,{}]++(?:,\s*+type\s[^,{}]++)*+,?\s*+\}"
)
# One of these is in every such call. Looking for what begins with letters is cheaper.
_MOCKERS = re.compile(rb"vi(?:test)?\s*\."), re.compile(rb"jest\s*\.")
_CLAUSE = rb"[^'\"`();=]{0,2000}?\bfrom"
_MODULE = rb"\s*+(['\"])([^'\"\n]+)\1"
_STRANDED = (
    re.compile(rb"import\b(?:" + _CLAUSE + rb")?" + _MODULE),
    re.compile(rb"export\s*+(?:type\s*+)?[{*]" + _CLAUSE + _MODULE),
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
    imports, definitions = _statements(root, source)
    imports.extend(_calls(root, source))
    if root.has_error:
        imports.extend(_stranded(root, source, {(i.specifier, i.line) for i in imports}))
    return imports, definitions


def _statements(root: "Node", source: bytes) -> Reading:
    marks = _marks(source)
    is_broken = root.has_error
    imports: list[Import] = []
    definitions: list[Definition] = []
    # A node, the outermost wrapper that belongs to it, the line its decorators begin in or 0,
    # and whether it stands at the top level.
    stack: list[tuple[Node, Node | None, int, bool]] = [(root, None, 0, True)]
    while stack:
        node, wrapper, decorated, is_top = stack.pop()
        kind = node.type
        if kind in ("import_statement", "export_statement"):
            found = _statement(node)
            if found is not None:
                imports.append(found)
            if found is not None or kind == "import_statement":
                continue
        elif kind in _DEFINING:
            _define(definitions, kind, node, wrapper or node, decorated, is_top=is_top)
        body = node.child_by_field_name("body") if kind in _BODIED and not is_broken else None
        # Nothing else in a function is visited, and most of its nodes are never made.
        children = node.named_children if body is None else [body]
        outer = None
        if kind in _WRAPPERS:
            outer = None if kind in _DECLARATIONS and len(children) > 1 else wrapper or node
        elif kind not in ("program", "ERROR"):
            is_top = False
        keeps_all = is_top or kind in _NAMESPACES
        decorators = 0
        for child in children:
            child_type = child.type
            if child_type in _VISITED:
                if child_type in _PRUNED and not keeps_all:
                    start, end = child.start_byte, child.end_byte
                    if marks[bisect_left(marks, start)] >= end or (
                        child_type in _EXPRESSIONS and source.find(b"\n", start, end) < 0
                    ):
                        continue
                stack.append((child, outer, decorators, is_top))
                decorators = 0
            elif child_type == "decorator":
                decorators = decorators or first_line(child)
            elif child_type != "comment":
                decorators = 0
    return imports, definitions


def _marks(source: bytes) -> list[int]:
    """The bytes, ascending, at which something may make a definition of what is around it.

    A function without a name of its own makes one when its line gives it one.
    """
    result = [found.start() for mark in _MARKS for found in mark.finditer(source)]
    anonymous = [found.start() for found in _ARROW.finditer(source)]
    for found in _FUNCTION.finditer(source):
        (anonymous if found[1] is None else result).append(found.start())
    for at in anonymous:
        line = _line_before(source, at)
        if b"=" in line or b":" in line or line.startswith(b")"):
            result.append(at)
    methods = (found.start() for found in _METHOD.finditer(source))
    result += [at for at in methods if not _line_before(source, at).startswith(_NO_METHOD)]
    result.sort()
    result.append(len(source))
    return result


def _line_before(source: bytes, at: int) -> bytes:
    """What stands before a byte on its line, without the indentation."""
    start = max(0, at - MAX_HEAD)
    return source[max(start, source.rfind(b"\n", start, at) + 1) : at].lstrip()


def _value_kind(value: "Node | None") -> str:
    """What a value makes of its name: `function`, `class`, or nothing in particular."""
    if value is None:
        return ""
    if value.type in _FUNCTIONS:
        return "function"
    return "class" if value.type in _CLASSES else ""


def _define(
    definitions: list[Definition],
    node_type: str,
    node: "Node",
    whole: "Node",
    decorated: int,
    *,
    is_top: bool,
) -> None:
    """Add what a node defines, if it defines something that has a name."""
    kind = _KIND_OF.get(node_type, "")
    name = node.child_by_field_name("name")
    if node_type == "variable_declarator":
        kind = _value_kind(node.child_by_field_name("value")) or ("variable" if is_top else "")
        if name is not None and name.type != "identifier":
            return
    elif node_type == "assignment_expression":
        kind = _value_kind(node.child_by_field_name("right"))
        left = node.child_by_field_name("left")
        name = left.child_by_field_name("property") if left is not None else None
    elif not kind:  # A field, or a pair of an object.
        is_function = _value_kind(node.child_by_field_name("value")) == "function"
        kind = "method" if is_function else ""
        name = name or node.child_by_field_name("property") or node.child_by_field_name("key")
    text = node_text(name).strip("'\"`#") if kind and name is not None else ""
    if text:
        start = decorated or first_line(whole)
        end = _signature_end(kind, node)
        definitions.append((text, kind, start, last_line(whole), end, 0))


def _signature_end(kind: str, node: "Node") -> int:
    """The last line of what stands before a definition's body or its value."""
    holder = node
    body = node.child_by_field_name("body")
    if body is None:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if value is None:
            return last_line(node)
        holder, body = value, value.child_by_field_name("body")
        if body is None:
            return first_line(value) if kind in ("variable", "type") else last_line(node)
    end = first_line(holder)
    if end == first_line(body):
        return end
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
    if b"type" in text and (_TYPE_ONLY.match(text) or _ALL_TYPES.match(text)):
        kind = ImportKind.TYPE
    return Import(node_text(source)[1:-1], first_line(node), kind=kind)


def _calls(root: "Node", source: bytes) -> list[Import]:
    words = [_IMPORT, _REQUIRE]
    if any(word.search(source) for word in _MOCKERS):
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


def _stranded(root: "Node", source: bytes, known: set[tuple[str, int]]) -> list[Import]:
    """Import statements at the start of a line in what a parser gave up on."""
    hits = {found.start(): found for words in _STRANDED for found in words.finditer(source)}
    unknown: dict[int, Import] = {}
    line, counted = 1, 0
    for start in sorted(hits):
        line += source.count(b"\n", counted, start)
        counted = start
        specifier = hits[start][2].decode("utf-8", "replace")
        if (specifier, line) not in known and not _line_before(source, start):
            is_type = _TYPE_ONLY.match(source, start) is not None
            kind = ImportKind.TYPE if is_type else ImportKind.STATIC
            unknown[start] = Import(specifier, line, kind=kind)
    return [
        unknown[node.start_byte]
        for node, _ in _nodes_at(root, list(unknown))
        if node.start_byte in unknown and node.type != "string_fragment"
    ]


def _call_kind(match: re.Match[bytes], source: bytes, above: tuple["Node", ...]) -> ImportKind:
    if match.re is _REQUIRE:
        return ImportKind.REQUIRE
    if _TYPEOF.search(source, max(0, match.start() - 20), match.start()):
        return ImportKind.TYPE
    call = above[0] if above else None
    for node in above[1:]:
        if node.type in ("member_expression", "subscript_expression", "ERROR"):
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
            # The word of `import()` lies in a node of the same name.
            yield node, above[1:] if above and above[0].type == "import" else above
            continue
        around = (node, *above[:7])
        for child in children:
            if low == high:
                break
            end = child.end_byte
            if end <= offsets[low]:
                continue
            # Those before its start lie between the children: no code.
            low = bisect_left(offsets, child.start_byte, low, high)
            last = bisect_left(offsets, end, low, high)
            if last > low:
                stack.append((child, low, last, around))
                low = last
