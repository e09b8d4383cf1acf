"""Go: imports and definitions."""

from contextpack.languages.tree import Matches, first_line, node_text
from contextpack.model import Import

# A method's name is written as Go's own tools show it: `Type.Method`.
QUERY = """
(import_spec path: (_) @source)
(function_declaration name: (_) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (pointer_type (type_identifier) @owner)
    (generic_type type: (_) @owner)
    (pointer_type (generic_type type: (_) @owner))]))
  name: (_) @name) @method
(type_spec name: (_) @name type: (struct_type)) @struct
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name type: [
  (type_identifier) (qualified_type) (generic_type) (pointer_type) (array_type) (slice_type)
  (map_type) (channel_type) (function_type) (parenthesized_type)]) @type
(type_alias name: (_) @name) @type
(interface_type (method_elem name: (_) @name) @method)
(source_file (const_declaration (const_spec name: (_) @name) @constant))
(source_file (var_declaration (var_spec name: (_) @name) @variable))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @name) @variable)))
"""


def imports(matches: Matches) -> list[Import]:
    """Every import path; blank, dot and renamed imports name a package all the same."""
    return [
        Import(specifier=node_text(source)[1:-1], line=first_line(source))
        for _, captures in matches
        for source in captures.get("source", ())
    ]
