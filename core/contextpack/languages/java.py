"""Java: imports and definitions."""

from typing import TYPE_CHECKING

from contextpack.languages.tree import Matches, first_line, node_text
from contextpack.model import Import

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(package_declaration (_) @package)
(import_declaration) @import
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(annotation_type_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(record_declaration name: (_) @name) @record
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(compact_constructor_declaration name: (_) @name) @method
(annotation_type_element_declaration name: (_) @name) @method
"""


def imports(matches: Matches) -> list[Import]:
    """Every import, each with the depth of the file's own package as its level."""
    level = 0
    found: list[Node] = []
    for _, captures in matches:
        for package in captures.get("package", ()):
            if "annotation" not in package.type:
                level = node_text(package).count(".") + 1
        found.extend(captures.get("import", ()))
    return [
        Import(
            specifier="".join(node_text(name).split()),
            line=first_line(statement),
            level=level,
            names=("*",) if statement.named_children[-1].type == "asterisk" else (),
        )
        for statement in found
        for name in statement.named_children
        if name.type in ("scoped_identifier", "identifier")
    ]
