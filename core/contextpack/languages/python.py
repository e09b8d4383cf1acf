"""Python: imports and definitions."""

from typing import TYPE_CHECKING

from contextpack.languages.tree import Matches, first_line, node_text
from contextpack.model import Import

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(import_statement) @import
(import_from_statement) @from
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(module (expression_statement (assignment left: (identifier) @name)) @variable)
(type_alias_statement left: (type (identifier) @name)) @type
"""


def imports(matches: Matches) -> list[Import]:
    """Every import statement, wherever it stands: conditional and nested ones count."""
    result: list[Import] = []
    for _, captures in matches:
        for node in captures.get("import", ()):
            result.extend(
                Import(specifier=_dotted(child), line=first_line(node))
                for child in node.named_children
                if child.type in ("dotted_name", "aliased_import")
            )
        result.extend(_from(node) for node in captures.get("from", ()))
    return result


def _from(node: "Node") -> Import:
    module = node.child_by_field_name("module_name")
    written = node_text(module).replace(" ", "") if module is not None else ""
    specifier = written.lstrip(".")
    names = [_dotted(child) for child in node.children_by_field_name("name")]
    if any(child.type == "wildcard_import" for child in node.named_children):
        names.append("*")
    return Import(
        specifier=specifier,
        line=first_line(node),
        level=len(written) - len(specifier),
        names=tuple(names),
    )


def _dotted(node: "Node") -> str:
    name = node.child_by_field_name("name") if node.type == "aliased_import" else node
    return "".join(node_text(name or node).split())
