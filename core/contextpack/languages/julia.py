"""Julia: definitions. Its `using` and `include` are not read."""

from collections.abc import Iterator

from contextpack.languages.tree import Definition, Matches, definition_of, last_line

QUERY = """
(module_definition name: (identifier) @name) @module
(struct_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . (identifier) @name)
  (binary_expression . (parametrized_type_expression . (identifier) @name))])) @struct
(abstract_definition (type_head [(identifier) @name (binary_expression . (identifier) @name)])) @type
(function_definition (signature [
  (call_expression . (_) @name)
  (typed_expression . (call_expression . (_) @name))
  (where_expression . (call_expression . (_) @name))
  (where_expression . (typed_expression . (call_expression . (_) @name)))])) @function
(macro_definition (signature (call_expression . (_) @name))) @macro
(assignment . [
  (call_expression . (_) @name)
  (where_expression . (call_expression . (_) @name))]) @function
"""


def definitions(matches: Matches) -> Iterator[Definition]:
    """The definitions. Bodies are no nodes of their own: a signature ends with the name's list."""
    for _, captures in matches:
        name = captures["name"][0]
        kind = next(kind for kind in captures if kind != "name")
        around = name.parent or name
        yield definition_of(kind, captures[kind][0], name, last_line(around))
