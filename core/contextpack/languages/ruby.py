"""Ruby: `require` in its forms, `autoload`, `load`, and definitions.

An import's `level` is 1 where its `specifier` is relative to the file's own directory
(`require_relative`, and `__dir__` or `__FILE__` in a path), 0 where load paths are searched.
`names` holds the constant of an `autoload`. A computed specifier is kept as it is written, with
the kind `DYNAMIC`.
"""

import re
from typing import TYPE_CHECKING

from contextpack.languages.tree import COMMON_EFFORT, Effort, Matches, first_line, node_text
from contextpack.model import Import, ImportKind

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(call !receiver method: (identifier) @callee arguments: (argument_list . (_) @argument)
  (#any-of? @callee "require" "require_relative" "load" "autoload"))
(call receiver: (constant) @_receiver method: (identifier) @callee arguments: (argument_list . (_) @argument)
  (#eq? @_receiver "Kernel") (#any-of? @callee "require" "load"))
(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @function
(singleton_method name: (_) @name) @method
(assignment left: (constant) @name right: (call receiver: (constant) @_receiver method: (identifier) @_maker)
  (#any-of? @_receiver "Struct" "Class" "Data" "Module") (#any-of? @_maker "new" "define")) @class
(program (assignment left: (constant) @name) @variable)
(call !receiver method: (identifier) @_maker arguments: (argument_list . (simple_symbol) @name) block: (_)
  (#eq? @_maker "define_method")) @method
"""

_HERE = ("__dir__", "File.dirname(__FILE__)", "File.dirname(File.expand_path(__FILE__))")
_UNDERSCORES = (
    (re.compile(r"([A-Z]+)([A-Z][a-z])"), r"\1_\2"),
    (re.compile(r"([a-z\d])([A-Z])"), r"\1_\2"),
)
# Short statements without parentheses take up to 0.027 steps a byte: everywhere a line may go on.
EFFORT = Effort(bytes_per_step=20, reads_per_block=COMMON_EFFORT.reads_per_block)
MAX_MODULE_DEPTH = 20  # Deeper than anybody nests modules.
N_EXPANDED = 2  # `File.expand_path(path, base)`.


def imports(matches: Matches) -> list[Import]:
    """Every call that loads a file, whatever its condition."""
    result: list[Import] = []
    for _, captures in matches:
        if "callee" not in captures:
            continue
        callee = node_text(captures["callee"][0])
        argument = captures["argument"][0]
        line = first_line(captures["callee"][0])
        if callee == "autoload":
            result.append(_autoload(argument, line))
            continue
        literal = _literal(argument)
        if literal is not None:
            level = 1 if callee == "require_relative" else 0
        else:
            literal = _beside(argument)
            level = 1
        if literal is None:
            result.append(Import(_written(argument), line, kind=ImportKind.DYNAMIC))
        else:
            result.append(Import(literal, line, level=level, kind=ImportKind.REQUIRE))
    return result


def _autoload(constant: "Node", line: int) -> Import:
    """`autoload :Name, "path"`; without a path, Rails' convention gives one."""
    name = node_text(constant).strip(":\"'")
    path = constant.next_named_sibling
    if path is not None:
        literal = _literal(path)
        if literal is None and (beside := _beside(path)) is not None:
            return Import(beside, line, level=1, names=(name,), kind=ImportKind.REQUIRE)
        kind = ImportKind.DYNAMIC if literal is None else ImportKind.REQUIRE
        return Import(literal or _written(path), line, names=(name,), kind=kind)
    modules = [name]
    parent = constant.parent
    for _ in range(3 * MAX_MODULE_DEPTH):  # A body and a statement stand between two modules.
        if parent is None:
            break
        if parent.type in ("class", "module") and (of := parent.child_by_field_name("name")):
            modules.append(node_text(of))
        parent = parent.parent
    full = "/".join(reversed(modules)).replace("::", "/")
    for pattern, replacement in _UNDERSCORES:
        full = pattern.sub(replacement, full)
    return Import(full.lower(), line, names=(name,), kind=ImportKind.REQUIRE)


def _literal(node: "Node") -> str | None:
    if node.type != "string" or any(c.type != "string_content" for c in node.named_children):
        return None
    return "".join(node_text(child) for child in node.named_children)


def _beside(node: "Node") -> str | None:
    """A path that is built from the file's own place, relative to its directory."""
    if node.type == "string":
        first, *rest = node.named_children or [node]
        if first.type != "interpolation" or any(c.type != "string_content" for c in rest):
            return None
        return _after(_compact(first)[2:-1], "".join(map(node_text, rest)))
    if node.type == "binary":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        literal = _literal(right) if right is not None else None
        return None if left is None or literal is None else _after(_compact(left), literal)
    if node.type != "call":
        return None
    called = _compact(node).partition("(")[0]
    arguments = node.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    if called == "File.join" and len(given) > 1:
        literals = [_literal(child) for child in given[1:]]
        if None in literals:
            return None
        return _after(_compact(given[0]), "/" + "/".join(map(str, literals)))
    if called.startswith("File.expand_path") and len(given) == N_EXPANDED:
        literal = _literal(given[0])
        base = _compact(given[1])
        if literal is None:
            return None
        # A file counts as a directory there, so that a first `..` only takes its name away.
        inside = "/x/" + literal if base == "__FILE__" else "/" + literal
        return _after("__dir__" if base == "__FILE__" else base, inside)
    if called.startswith("File.expand_path") and len(given) == 1:
        return _beside(given[0])
    return None


def _after(base: str, path: str) -> str | None:
    return "." + path if base in _HERE and path.startswith("/") else None


def _compact(node: "Node") -> str:
    return "".join(node_text(node).split())


def _written(node: "Node") -> str:
    return " ".join(node_text(node).split())
