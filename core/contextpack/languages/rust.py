"""Rust: imports, modules and definitions.

Paths that start with `crate`, `self` or `super` count wherever they stand: Rust needs no `use`
for them. Paths inside a macro's tokens are not seen.
"""

import re
from typing import TYPE_CHECKING

from contextpack.languages.tree import Matches, first_line, node_text
from contextpack.model import Import

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(use_declaration argument: (_) @use)
(extern_crate_declaration name: (_) @crate)
(mod_item !body name: (_) @declared)
(mod_item name: (_) @name body: (_)) @module
(scoped_identifier path: [(crate) (super) (self)]) @path
(scoped_type_identifier path: [(crate) (super) (self)]) @path
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name) @struct
(union_item name: (_) @name) @union
(enum_item name: (_) @name) @enum
(trait_item name: (_) @name) @trait
(impl_item type: [
  (type_identifier) @name
  (generic_type type: [(type_identifier) @name (scoped_type_identifier name: (_) @name)])
  (scoped_type_identifier name: (_) @name)
  (reference_type type: (type_identifier) @name)]) @impl
(type_item name: (_) @name) @type
(macro_definition name: (_) @name) @macro
(source_file [(const_item name: (_) @name) (static_item name: (_) @name)] @constant)
"""

_PATH_ATTRIBUTE = re.compile(r'\bpath\s*=\s*"([^"\\]*)"')

# Groups and modules that nest deeper, longer paths and more attributes are data, not code.
MAX_NESTING = 40


def imports(matches: Matches) -> list[Import]:
    """Every `use`, `extern crate`, `mod x;` and rooted path; equal ones count once.

    The names of an import are the modules written in the file around it, outermost first.
    """
    modules: list[tuple[int, int, str]] = []
    found: list[tuple[int, int, str]] = []  # Where it starts, its line, its specifier.
    for _, captures in matches:
        modules.extend(
            (node.start_byte, node.end_byte, node_text(captures["name"][0]))
            for node in captures.get("module", ())
        )
        found.extend(
            (node.start_byte, first_line(node), f"::{node_text(node)}")
            for node in captures.get("crate", ())
        )
        for node in captures.get("declared", ()):
            at = (node.start_byte, first_line(node))
            found.extend((*at, specifier) for specifier in _declared(node))
        for node in captures.get("use", ()):
            found.extend(_used(node))
        for node in captures.get("path", ()):
            written = _whole_path(node)
            if written:
                found.append((node.start_byte, first_line(node), written))
    modules.sort()
    result: dict[tuple[str, tuple[str, ...]], Import] = {}
    around: list[tuple[int, str]] = []  # Where the modules around end, outermost first.
    n_opened = 0
    for start, line, specifier in sorted(found):
        while n_opened < len(modules) and modules[n_opened][0] < start:
            begin, end, name = modules[n_opened]
            while around and around[-1][0] <= begin:
                around.pop()
            around.append((end, name))
            n_opened += 1
        while around and around[-1][0] <= start:
            around.pop()
        if len(around) > MAX_NESTING:
            continue
        names = tuple(name for _, name in around)
        if (specifier, names) not in result:
            result[specifier, names] = Import(specifier=specifier, line=line, names=names)
    return list(result.values())


def _declared(name: "Node") -> list[str]:
    """`mod x`, or the file that a `#[path]` gives in its place; several with `cfg_attr`."""
    paths: list[str] = []
    item = name.parent
    before = item.prev_named_sibling if item is not None else None
    for _ in range(MAX_NESTING):
        if before is None:
            break
        if before.type == "attribute_item":
            paths.extend(_PATH_ATTRIBUTE.findall(node_text(before)))
        elif "comment" not in before.type:
            break
        before = before.prev_named_sibling
    return [f'mod "{path}"' for path in reversed(paths)] or [f"mod {node_text(name)}"]


def _used(argument: "Node") -> list[tuple[int, int, str]]:
    """The paths that a `use` names, its groups written out."""
    result: list[tuple[int, int, str]] = []
    pending = [("", argument, 0)]
    while pending:
        prefix, node, depth = pending.pop()
        if depth > MAX_NESTING:
            continue
        match node.type:
            case "use_list":
                pending.extend((prefix, child, depth + 1) for child in node.named_children)
            case "scoped_use_list":
                path, inner = node.child_by_field_name("path"), node.child_by_field_name("list")
                if inner is not None:
                    opened = (
                        f"{prefix}{_squeezed(path)}::" if path is not None else f"{prefix}::"
                    )
                    pending.append((opened, inner, depth + 1))
            case "use_as_clause":
                path = node.child_by_field_name("path")
                if path is not None:
                    pending.append((prefix, path, depth + 1))
            case "self" if prefix:
                result.append((node.start_byte, first_line(node), prefix.removesuffix("::")))
            case "line_comment" | "block_comment" | "ERROR":
                continue
            case _:
                result.append((node.start_byte, first_line(node), prefix + _squeezed(node)))
    return result


def _whole_path(node: "Node") -> str:
    """The longest path that begins with a rooted one; empty in a `use`, which is read apart."""
    parent = node.parent
    for _ in range(MAX_NESTING):
        if parent is None or parent.type not in ("scoped_identifier", "scoped_type_identifier"):
            break
        if parent.child_by_field_name("path") != node:
            break
        node, parent = parent, parent.parent
    inner = parent.type if parent is not None else ""
    if inner.startswith(("use", "scoped_use")) or inner == "visibility_modifier":
        return ""
    return _squeezed(node)


def _squeezed(node: "Node") -> str:
    return "".join(node_text(node).split())
