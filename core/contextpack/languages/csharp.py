"""C#: `using` directives and definitions.

An import's `specifier` is the dotted name that a `using` names. `level` is 1 where that name is
a type or a namespace exactly (`using static`, an alias), 0 for a plain `using`. `names` holds
the dotted namespace that the directive stands in, if any: names are looked up from there first.
"""

import re
from typing import TYPE_CHECKING

from contextpack.languages.tree import Matches, first_line, node_text
from contextpack.model import Import

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(using_directive) @using
(namespace_declaration name: (_) @name) @namespace
(file_scoped_namespace_declaration name: (_) @name) @namespace
(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @record
(struct_declaration name: (_) @name) @struct
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(delegate_declaration name: (_) @name) @type
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(destructor_declaration name: (_) @name) @method
(local_function_statement name: (_) @name) @function
(property_declaration name: (_) @name value: (_)) @property
(property_declaration name: (_) @name accessors: (accessor_list (accessor_declaration body: (_)))) @property
(event_declaration name: (_) @name) @property
"""

_NAME = re.compile(r"(?:global::)?(@?\w+(?:\.@?\w+)*)")
_NAMESPACES = ("namespace_declaration",)
# Deeper than anybody nests namespaces; the walk up to the root stays short on hostile text.
MAX_NAMESPACE_DEPTH = 40


def imports(matches: Matches) -> list[Import]:
    """Every `using` directive that names a namespace or a type."""
    result: list[Import] = []
    for _, captures in matches:
        for node in captures.get("using", ()):
            alias = node.child_by_field_name("name")
            named = [child for child in node.named_children if child != alias]
            written = "".join(node_text(named[-1]).split()) if named else ""
            match = _NAME.match(written)
            if match is None or named[-1].type in ("tuple_type", "predefined_type"):
                continue
            is_static = any(child.type == "static" for child in node.children)
            result.append(
                Import(
                    specifier=match[1].replace("@", ""),
                    line=first_line(node),
                    level=1 if is_static or alias is not None else 0,
                    names=_enclosing(node),
                )
            )
    return result


def _enclosing(node: "Node") -> tuple[str, ...]:
    parts: list[str] = []
    parent = node.parent
    for _ in range(MAX_NAMESPACE_DEPTH):
        if parent is None:
            break
        if parent.type in _NAMESPACES and (name := parent.child_by_field_name("name")):
            parts.append("".join(node_text(name).split()))
        parent = parent.parent
    return (".".join(reversed(parts)),) if parts else ()
