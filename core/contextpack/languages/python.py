"""Python: imports and definitions.

Statements stand in blocks only, so the reader descends through blocks, and only where a keyword
that matters stands in the text; expressions are never looked into. Dynamic imports are
expressions: they are found in the text first and confirmed in the tree.
"""

import re
from bisect import bisect_left
from itertools import islice
from typing import TYPE_CHECKING

from contextpack.languages.tree import Definition, first_line, last_line
from contextpack.model import Import, ImportKind

if TYPE_CHECKING:
    from tree_sitter import Node

# Where none of these stands, no statement does that the reader looks for. Each begins with
# letters, which `re` searches for three times faster than for one pattern of alternatives.
_KEYWORDS = (
    re.compile(rb"import\b"),
    re.compile(rb"def[\s\\]"),
    re.compile(rb"class[\s\\]"),
    re.compile(rb"type[\s\\]"),
)
_DYNAMIC = re.compile(rb"\b(import_module|__import__)[ \t]*\(")
_TYPE_CHECKING = re.compile(rb"\(?\s*(not\s+)?(?:\w+\.)?TYPE_CHECKING\s*\)?")
_IMPORT_LINE = re.compile(rb"^[ \t]*((?:from|import) [^\r\n]{1,400})\r?$", re.MULTILINE)
_MODULE = re.compile(r"\.*(?:\w+(?:\.\w+)*)?")
# What may stand between the parts of a dotted name.
_GAP = re.compile(r"[\s\\]+")
_DOTTED = re.compile(r"(\.*)(\w[\w-]*(?:\.\w[\w-]*)*)")

_BLOCKS = frozenset({
    "block", "case_clause", "elif_clause", "else_clause", "ERROR", "except_clause",
    "except_group_clause", "finally_clause", "for_statement", "if_statement",
    "match_statement", "try_statement", "while_statement", "with_statement",
})  # fmt: skip
_PROSE = frozenset({"comment", "string", "string_content", "string_end", "string_start"})
_DEFINITIONS = frozenset({"class_definition", "function_definition"})
_READ = _BLOCKS | _DEFINITIONS | {
    "decorated_definition", "import_from_statement", "import_statement", "type_alias_statement",
}  # fmt: skip

# Confirming one costs the depth of the tree: more of them in one text are data or an attack.
MAX_CONFIRMED = 500
MAX_EXPRESSION = 80  # Characters of a computed import that are kept: to be shown, not read.


def read(root: "Node", source: bytes) -> tuple[list[Import], list[Definition]]:
    """Every import and definition, wherever it stands: conditional and nested ones count."""
    keywords = sorted(
        [match.start() for keyword in _KEYWORDS for match in keyword.finditer(source)]
    )
    has_types = b"TYPE_CHECKING" in source
    is_broken = root.has_error
    imports: list[Import] = []
    definitions = _variables(root)
    stack = [(root, ImportKind.STATIC)]
    while stack:
        node, kind = stack.pop()
        in_block = in_else = kind
        if has_types and node.type in ("if_statement", "elif_clause"):
            in_block, in_else = _branches(node, kind)
        for whole in node.named_children:
            child, inside = whole, kind
            written = whole.type
            if written not in _READ and not (is_broken and whole.has_error):
                continue
            if written == "decorated_definition":
                child = whole.child_by_field_name("definition") or whole
                written = child.type
            start, end = child.start_byte, child.end_byte
            if written in _DEFINITIONS:
                body = child.child_by_field_name("body")
                definitions.extend(_definition(child, whole, body, source))
                if body is not None and not is_broken:
                    child, start = body, body.start_byte
            elif written == "import_statement":
                imports.extend(_imports(child, kind))
            elif written == "import_from_statement":
                imports.extend(_from(child, kind))
            elif written == "type_alias_statement":
                definitions.extend(_alias(child))
            elif written == "block":
                inside = in_block
            elif written == "else_clause":
                inside = in_else
            at = bisect_left(keywords, start)
            if at < len(keywords) and keywords[at] < end:
                stack.append((child, inside))
    if is_broken:
        imports = _with_lost(imports, root, source)
    if b"import_module" in source or b"__import__" in source:
        imports.extend(_dynamic_imports(root, source))
    return imports, definitions


def _branches(node: "Node", kind: ImportKind) -> tuple[ImportKind, ImportKind]:
    """The kinds of the imports under an `if` or `elif`, and under its `else`."""
    condition = node.child_by_field_name("condition")
    found = _TYPE_CHECKING.fullmatch(condition.text or b"") if condition else None
    if found is None:
        return kind, kind
    return (kind, ImportKind.TYPE) if found[1] else (ImportKind.TYPE, kind)


def _imports(node: "Node", kind: ImportKind) -> list[Import]:
    line = first_line(node)
    return [
        Import(specifier=_name(child), line=line, kind=kind)
        for child in node.named_children
        if child.type in ("dotted_name", "aliased_import")
    ]


def _from(node: "Node", kind: ImportKind) -> list[Import]:
    module: Node | None = None
    names: list[str] = []
    for child in node.named_children:
        if child.type == "wildcard_import":
            names.append("*")
        elif child.type not in ("relative_import", "dotted_name", "aliased_import"):
            continue
        elif module is None:
            module = child
        else:
            names.append(_name(child))
    if module is None:
        return []
    written = _name(module)
    specifier = written.lstrip(".")
    level = len(written) - len(specifier)
    return [Import(specifier, first_line(node), level, tuple(names), kind)]


def _name(node: "Node") -> str:
    """A dotted name without its alias."""
    is_renamed = node.type == "aliased_import"
    text = _text((node.child_by_field_name("name") if is_renamed else None) or node)
    return text if text.isidentifier() else _GAP.sub("", text)


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _variables(root: "Node") -> list[Definition]:
    """What is assigned at the top level."""
    result = []
    for statement in root.named_children:
        if statement.type != "expression_statement":
            continue
        for assignment in statement.named_children[:1]:
            left = assignment.child_by_field_name("left")
            if assignment.type != "assignment" or left is None or left.type != "identifier":
                continue
            start, end = first_line(statement), last_line(statement)
            result.append((_text(left), "variable", start, end, end, 0))
    return result


def _definition(
    node: "Node", whole: "Node", body: "Node | None", source: bytes
) -> list[Definition]:
    """The function or class that a node is; none when broken code left it without a name."""
    name = node.child_by_field_name("name")
    if name is None:
        return []
    kind = "class" if node.type == "class_definition" else "function"
    start = node.start_point[0] + 1
    row, column = node.end_point
    end = row + 1 if column > 0 or row < start else row
    return [
        (
            source[name.start_byte : name.end_byte].decode("utf-8", "replace"),
            kind,
            start if whole is node else first_line(whole),
            end,
            end if body is None else _signature_end(start, body, source),
            0,
        )
    ]


def _signature_end(start: int, body: "Node", source: bytes) -> int:
    """The last line of what stands before the body of a definition that starts in a line."""
    row, column = body.start_point
    at = body.start_byte
    if row == start and source[at - column : at].isspace():
        return start  # The rule: a line, and the body on those that follow. Siblings cost more.
    before = body.prev_sibling
    return last_line(before) if before is not None else start


def _alias(node: "Node") -> list[Definition]:
    name = node.child_by_field_name("left")
    while name is not None and name.type != "identifier":
        name = name.named_child(0)  # The first of `type Name[T]`.
    if name is None:
        return []
    end = last_line(node)
    return [(_text(name), "type", first_line(node), end, end, 0)]


def _with_lost(imports: list[Import], root: "Node", source: bytes) -> list[Import]:
    """The imports, with those of single lines that the parser lost in broken code.

    A package named `async`, which is a keyword by now, breaks its import: that is read again.
    """
    known = {each.line for each in imports}
    found: list[Import] = []
    line = 1
    at = 0
    for match in islice(_IMPORT_LINE.finditer(source), MAX_CONFIRMED):
        line += source.count(b"\n", at, match.start())
        at = match.start()
        if line in known and b"async" not in match[0]:
            continue
        node = root.descendant_for_byte_range(match.end() - 1, match.end())
        if node is not None and node.type in _PROSE:
            continue
        found.extend(_written(match[1].decode("utf-8", "replace").partition("#")[0], line))
    read_again = {each.line for each in found}
    return [each for each in imports if each.line not in read_again] + found


def _written(statement: str, line: int) -> list[Import]:
    """The imports of a whole statement on one line; none when it is something else."""
    head, _, tail = f"{statement} ".partition(" import ")
    is_from = head.startswith("from ")
    if not is_from:
        tail = statement[len("import ") :]
    module = head[len("from ") :].strip() if is_from else ""
    names: list[str] = []
    for part in tail.strip("() ").split(","):
        match part.split():
            case [name] | [name, "as", _] if _MODULE.fullmatch(name) or name == "*":
                names.append(name)
            case [] if names:
                pass  # A comma at the end.
            case _:
                return []
    if not _MODULE.fullmatch(module):
        return []
    if is_from:
        specifier = module.lstrip(".")
        return [Import(specifier, line, len(module) - len(specifier), tuple(names))]
    return [Import(name, line) for name in names]


def _dynamic_imports(root: "Node", source: bytes) -> list[Import]:
    """Calls of `importlib.import_module` and `__import__`."""
    result = []
    for match in islice(_DYNAMIC.finditer(source), MAX_CONFIRMED):
        callee = root.descendant_for_byte_range(match.start(1), match.end(1))
        if callee is None or callee.type != "identifier":
            continue  # Prose in a string or a comment.
        call = callee.parent
        if call is not None and call.type == "attribute":
            of = call.child_by_field_name("object")
            callee = call if of is not None and of.text == b"importlib" else callee
            call = call.parent
        if call is None or call.type != "call" or call.named_child(0) != callee:
            continue
        arguments = call.child_by_field_name("arguments")
        if arguments is not None:
            result.append(_dynamic(call, arguments))
    return result


def _dynamic(call: "Node", arguments: "Node") -> Import:
    """A literal one names its module; the specifier of a computed one is its source."""
    literals = [_literal(child) for child in arguments.named_children[:2]]
    found = _DOTTED.fullmatch(literals[0] or "") if literals else None
    if found is None:
        text = " ".join(_text(call).split())
        return Import(text[:MAX_EXPRESSION], first_line(call), kind=ImportKind.DYNAMIC)
    level, specifier = len(found[1]), found[2]
    package = literals[1] if len(literals) > 1 else None
    if level and package and package.count(".") + 1 >= level:
        parts = package.split(".")
        specifier = ".".join([*parts[: len(parts) + 1 - level], specifier])
        level = 0
    return Import(specifier, first_line(call), level, kind=ImportKind.DYNAMIC)


def _literal(argument: "Node") -> str | None:
    """The value of a plain string literal, given by position or by name."""
    value = argument
    if argument.type == "keyword_argument":
        value = argument.child_by_field_name("value") or argument
    parts = value.named_children
    if value.type != "string" or [part.type for part in parts[1:-1]] != ["string_content"]:
        return None
    if parts[1].named_child_count:
        return None  # Escapes.
    return _text(parts[1])
