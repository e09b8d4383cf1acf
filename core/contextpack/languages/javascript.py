"""JavaScript and TypeScript, with and without JSX: imports and definitions."""

from contextpack.languages.tree import Matches, first_line, node_text
from contextpack.model import Import

QUERY = """
(import_statement source: (string) @source)
(export_statement source: (string) @source)
(call_expression function: [(identifier) (import)] @callee arguments: (arguments . (string) @argument))
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: (_) @name) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (class)]) @function
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (class)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (variable_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @variable))
"""

TYPESCRIPT_QUERY = (
    QUERY
    + """
(import_require_clause source: (string) @source)
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(function_signature name: (_) @name) @function
(abstract_method_signature name: (_) @name) @method
(internal_module name: (_) @name) @namespace
"""
)

_CALLEES = frozenset({"require", "import"})


def imports(matches: Matches) -> list[Import]:
    """Every literal specifier: static, re-exported, `require`d or imported dynamically."""
    result: list[Import] = []
    for _, captures in matches:
        sources = captures.get("source", [])
        callees = captures.get("callee")
        if callees and node_text(callees[0]) in _CALLEES:
            sources = captures["argument"]
        result.extend(
            Import(specifier=node_text(source)[1:-1], line=first_line(source))
            for source in sources
        )
    return result
