"""C and C++: includes and definitions."""

import re

from contextpack.languages.tree import Matches, first_line, node_text
from contextpack.model import Import, ImportKind

# Names stand some pointers deep in their declarators. Prototypes count where declarations stand,
# not in function bodies, where `Type name(value);` looks like one.
_NAMED = "[(identifier) (field_identifier)] @name"
_NAMED_CPP = """[(identifier) (field_identifier) (qualified_identifier) (destructor_name)
  (operator_name)] @name"""
_PLACES = ("translation_unit", "preproc_ifdef", "preproc_if", "preproc_else")
_PLACES_CPP = (*_PLACES, "declaration_list")


def _query(named: str, places: tuple[str, ...]) -> str:
    declared = f"""[
  (function_declarator declarator: {named})
  (_ (function_declarator declarator: {named}))
  (_ (_ (function_declarator declarator: {named})))]"""
    prototypes = "\n".join(
        f"({place} (declaration declarator: {declared}) @function)" for place in places
    )
    return f"""
(preproc_include path: (_) @include)
(preproc_call directive: (_) @directive argument: (_) @argument)
(preproc_function_def name: (_) @name) @macro
(function_definition declarator: {declared}) @function
{prototypes}
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @union
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition declarator: (type_identifier) @name) @type
"""


QUERY = _query(_NAMED, _PLACES)
CPP_QUERY = (
    _query(_NAMED_CPP, _PLACES_CPP)
    + f"""
(field_declaration declarator: (function_declarator declarator: {_NAMED_CPP})) @function
(field_declaration declarator: (_ (function_declarator declarator: {_NAMED_CPP}))) @function
(field_declaration_list (declaration declarator: (function_declarator declarator: {_NAMED_CPP})) @function)
(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @namespace
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
"""
)

# What no C file says at the beginning of a line. One pattern each: a pattern that begins with a
# word is searched for ten times faster than one that begins with a choice.
_CPP_ONLY = tuple(
    re.compile(pattern)
    for pattern in (
        r"class\s+\w",
        r"namespace\b",
        r"template\s*<",
        r"using\s+\w",
        r"public\s*:",
        r"private\s*:",
        r"protected\s*:",
    )
)

MAX_INDENTATION = 80  # More is no indentation, and a very long line is read once.


def is_cpp(text: str) -> bool:
    """Whether a text that may be C (a header) is C++."""
    for pattern in _CPP_ONLY:
        for match in pattern.finditer(text):
            before = text[max(0, match.start() - MAX_INDENTATION) : match.start()]
            if not before.rpartition("\n")[2].strip(" \t"):
                return True
    return False


def imports(matches: Matches) -> list[Import]:
    """Every include. `<x.h>` keeps its brackets, and a macro's is a dynamic import."""
    result: list[Import] = []
    for _, captures in matches:
        result.extend(
            _include(node_text(node).strip(), first_line(node))
            for node in captures.get("include", ())
        )
        for node in captures.get("directive", ()):
            written = node_text(captures["argument"][0]).strip()
            directive = "".join(node_text(node).split())
            if directive == "#import":  # Objective-C.
                result.append(_include(written, first_line(node)))
            elif directive == "#include_next":
                result.append(Import(written, first_line(node), kind=ImportKind.COMPUTED))
    return result


def _include(written: str, line: int) -> Import:
    if written.startswith('"'):
        return Import(written.strip('"'), line)
    if written.startswith("<"):
        return Import(written, line)
    return Import(written, line, kind=ImportKind.COMPUTED)
