"""Lua: `require`, and functions in all their spellings."""

from contextpack.languages.tree import Matches, first_line, node_text
from contextpack.model import Import, ImportKind

QUERY = """
(function_call name: (identifier) @_callee arguments: (arguments . (string content: (_) @module))
  (#eq? @_callee "require"))
(function_declaration name: (_) @name) @function
(assignment_statement (variable_list . name: (_) @name) (expression_list . value: (function_definition) @function))
(field name: (identifier) @name value: (function_definition) @function)
(chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name))) @variable)
"""


def imports(matches: Matches) -> list[Import]:
    """Every `require` of a literal module name, dots and all."""
    return [
        Import(node_text(module), first_line(module), kind=ImportKind.REQUIRE)
        for _, captures in matches
        for module in captures.get("module", ())
    ]
