r"""PHP within its HTML: `use` declarations, `require` and `include`, and definitions.

A `use` has the qualified name as its `specifier` (`App\Cart`, without a leading backslash) and
in `names` what it names: `class`, `function` or `const`. A `require` has a path and the kind
`REQUIRE`; `level` is 1 where the path is relative to the file's own directory (`__DIR__`,
`dirname(__FILE__)`), 0 where PHP would search. A computed path is kept as it is written, with
the kind `DYNAMIC`. A `use` of a trait inside a class is no import: its name was imported.
"""

from typing import TYPE_CHECKING

from contextpack.languages.tree import Matches, first_line, node_text
from contextpack.model import Import, ImportKind

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(namespace_use_declaration) @use
(require_expression (_) @path)
(require_once_expression (_) @path)
(include_expression (_) @path)
(include_once_expression (_) @path)
(namespace_definition name: (_) @name) @namespace
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name) @method
(property_declaration (property_element name: (variable_name (name) @name)) (property_hook_list)) @property
(program (const_declaration (const_element . (name) @name)) @variable)
(program (expression_statement (assignment_expression
  left: (variable_name (name) @name)
  right: [(anonymous_function) (arrow_function)])) @function)
"""

# Parentheses, `dirname` and concatenation nest a few deep at most where people write them.
MAX_PATH_DEPTH = 20


def imports(matches: Matches) -> list[Import]:
    """Every `use` declaration, one import a name, and every included file."""
    result: list[Import] = []
    for _, captures in matches:
        for node in captures.get("use", ()):
            result.extend(_uses(node))
        for node in captures.get("path", ()):
            path = _path(node, 0)
            line = first_line(node)
            if path is None:
                written = " ".join(node_text(node).split())
                result.append(Import(written, line, kind=ImportKind.DYNAMIC))
            elif path.startswith("./"):
                result.append(Import(path, line, level=1, kind=ImportKind.REQUIRE))
            else:
                result.append(Import(path.removeprefix("="), line, kind=ImportKind.REQUIRE))
    return result


def _uses(node: "Node") -> list[Import]:
    prefix = ""
    clauses: list[Node] = []
    for child in node.named_children:
        if child.type == "namespace_name":
            prefix = _name(child) + "\\"
        elif child.type == "namespace_use_clause":
            clauses.append(child)
        elif child.type == "namespace_use_group":
            clauses.extend(c for c in child.named_children if c.type == "namespace_use_clause")
    # Of a list without braces, the grammar puts the keyword into the first clause.
    of_all = _kind(node) or (_kind(clauses[0]) if clauses and not prefix else None)
    result: list[Import] = []
    for clause in clauses:
        alias = clause.child_by_field_name("alias")
        names = [c for c in clause.named_children if c.type in ("qualified_name", "name")]
        if names and names[0] != alias:
            specifier = prefix + _name(names[0])
            kind = _kind(clause) or of_all or "class"
            result.append(Import(specifier, first_line(clause), names=(kind,)))
    return result


def _kind(node: "Node") -> str | None:
    kinds = (child.type for child in node.children)
    return next((kind for kind in kinds if kind in ("function", "const")), None)


def _name(node: "Node") -> str:
    return "".join(node_text(node).split()).lstrip("\\")


def _path(node: "Node", depth: int) -> str | None:
    """A path: `./...` beside the file, `=...` as it is written, or None when it is computed.

    `__FILE__` only counts inside `dirname`.
    """
    if depth > MAX_PATH_DEPTH:
        return None
    match node.type:
        case "parenthesized_expression" if node.named_child_count == 1:
            return _path(node.named_children[0], depth + 1)
        case "string" | "encapsed_string":
            parts = node.named_children
            if all(part.type == "string_content" for part in parts):
                return "=" + "".join(map(node_text, parts))
            return None
        case "name" if node_text(node).upper() == "__DIR__":
            return "./"
        case "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            one = _path(left, depth + 1) if left is not None else None
            other = _path(right, depth + 1) if right is not None else None
            if one is None or other is None or not other.startswith("="):
                return None
            return one + other[1:]
        case "function_call_expression":
            return _called(node, depth)
        case _:
            return None


def _called(node: "Node", depth: int) -> str | None:
    """`dirname(path)`, `dirname(path, levels)` and `realpath(path)`."""
    function, arguments = (
        node.child_by_field_name("function"),
        node.child_by_field_name("arguments"),
    )
    if function is None or arguments is None:
        return None
    given = [
        child.named_children[0] for child in arguments.named_children if child.named_children
    ]
    called = node_text(function).lower().lstrip("\\")
    if called == "realpath" and len(given) == 1:
        return _path(given[0], depth + 1)
    if called != "dirname" or not given:
        return None
    levels = node_text(given[1]) if len(given) > 1 else "1"
    if not levels.isdecimal() or not 1 <= int(levels[:3]) <= MAX_PATH_DEPTH:
        return None
    n_levels = int(levels[:3])
    if given[0].type == "name" and node_text(given[0]).upper() == "__FILE__":
        return "./" + "../" * (n_levels - 1)
    path = _path(given[0], depth + 1)
    return path + "/.." * n_levels if path is not None and path.startswith("./") else None
