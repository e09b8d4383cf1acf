"""Definitions of any language, told by how its grammar names the kinds of its nodes.

Grammars call a definition `function_definition`, `class_declaration`, `type_alias` and the
like, and mark its name with the field `name` or write it first. A query is made of the kinds
that look so; a grammar in which definitions look like calls gets patterns of its own in
`_PATTERNS`. Imports are not read.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from contextpack.languages.tree import (
    READ_BYTES,
    Definition,
    Effort,
    Matches,
    definition_of,
    last_line,
    signature_end,
)
from contextpack.model import Import

if TYPE_CHECKING:
    from tree_sitter import Node

# The names of languages to those of the functions in `tree_sitter_languages`. Grammars of ABI 13
# are the oldest that tree-sitter loads. Left out: its Lua grammar fails at every expression, and
# its Julia grammar ends the process on deeply nested quotes. Both have wheels of their own.
FURTHER: tuple[tuple[str, str], ...] = (
    ("commonlisp", "commonlisp"),
    ("dockerfile", "dockerfile"),
    ("elisp", "elisp"),
    ("elixir", "elixir"),
    ("elm", "elm"),
    ("erlang", "erlang"),
    ("fortran", "fortran"),
    ("hack", "hack"),
    ("haskell", "haskell"),
    ("hcl", "hcl"),
    ("kotlin", "kotlin"),
    ("makefile", "make"),
    ("objectivec", "objc"),
    ("ocaml", "ocaml"),
    ("perl", "perl"),
    ("ql", "ql"),
    ("r", "r"),
    ("scala", "scala"),
    ("sql", "sql"),
)

# Real sources take up to 0.041 steps a byte in these grammars (Haskell; Common Lisp 0.034), and
# Haskell's scanner makes the parser read again at nearly every byte.
EFFORT = Effort(bytes_per_step=20, reads_per_block=READ_BYTES)

_SUBJECTS = (
    ("function", "function|func|fun|subroutine|procedure|predicate|classlessPredicate|value"),
    ("method", "method"),
    ("macro", "macro|pp|define"),
    ("class", "class|dataclass"),
    ("object", "object"),
    ("interface", "interface"),
    ("trait", "trait"),
    ("protocol", "protocol"),
    ("struct", "struct"),
    ("enum", "enum"),
    ("record", "record"),
    ("module", "module|namespace|package"),
    ("type", "type|adt|newtype|abstract|exception"),
    ("table", "table"),
    ("view", "view"),
)
_ANY_SUBJECT = "|".join(words for _, words in _SUBJECTS)
_DEFINING = re.compile(
    # `function_definition`, `local_function_definition_statement`, `class_interface` ...
    rf"(?:[a-z]+_)*?(?:{_ANY_SUBJECT})(?:_[a-z]+)?_"
    r"(?:definition|declaration|decl|def|define|item|spec|specifier|implementation|interface|binding)"
    r"(?:_statement)?"
    # `create_table_statement`, `create_materialized_view_statement` ...
    r"|create_(?:[a-z]+_)?(?:table|view|function|procedure|type)_(?:statement|stmt)"
    # Whole names, in grammars that spell no suffix.
    r"|function|subroutine|module|class|interface|predicate|dataclass|classlessPredicate|adt"
    r"|newtype|type_alias|fun_decl|pp_define|module_attribute|package_statement|define_directive"
)
# What is part of a definition, or uses one, in the words of a grammar.
_USING = re.compile(
    r"(?:^|_)(?:parameter|argument|import|export|forward|anonymous|variable|property|field|alter|drop"
    r"|const|constructor|generic|base|storage|sized|qualified|instance|generator|enum_entry|specialization"
    r"|function_type|tuple_type|shape_type|macro_type|type_glob|attribute|superclass)"
)
_SUBJECT_IN = tuple(
    (kind, re.compile(rf"(?:^|_|create_)(?:{words})(?:_|$)|^(?:{words})", re.IGNORECASE))
    for kind, words in _SUBJECTS
)

_PATTERNS: tuple[tuple[str, str], ...] = (
    (
        "commonlisp",
        """
(defun (defun_header function_name: (_) @name)) @function
(list_lit . (sym_lit) @_define . (sym_lit) @name
  (#any-of? @_define "defclass" "defstruct" "defpackage" "deftype" "define-condition")) @type
(list_lit . (sym_lit) @_define . (sym_lit) @name
  (#any-of? @_define "defvar" "defparameter" "defconstant")) @variable
""",
    ),
    ("dockerfile", "(from_instruction as: (image_alias) @name) @stage"),
    (
        "elixir",
        """
(call target: (identifier) @_define (arguments . (alias) @name)
  (#any-of? @_define "defmodule" "defprotocol" "defimpl")) @module
(call target: (identifier) @_define (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: [(identifier) @name (call target: (identifier) @name)])])
  (#any-of? @_define "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate")) @function
""",
    ),
    ("hcl", "(block (string_lit (template_literal) @name) . (block_start)) @block"),
    ("makefile", "(rule (targets . (word) @name)) @rule"),
    (
        "objectivec",
        """
(method_declaration selector: [(identifier) @name (keyword_selector . (keyword_declarator keyword: (_) @name))]) @method
(method_definition selector: [(identifier) @name (keyword_selector . (keyword_declarator keyword: (_) @name))]) @method
""",
    ),
    (
        "ocaml",
        """
(compilation_unit (value_definition (let_binding pattern: (value_name) @name) @function))
(structure (value_definition (let_binding pattern: (value_name) @name) @function))
""",
    ),
    (
        "r",
        """
(left_assignment name: (identifier) @name value: (function_definition)) @function
(equals_assignment name: (identifier) @name value: (function_definition)) @function
""",
    ),
)

# Kinds whose names stand elsewhere, or that have none.
_UNNAMED = frozenset(
    {
        ("objectivec", "method_declaration"),
        ("objectivec", "method_definition"),
        ("r", "function_definition"),
    }
)

_IDENTIFIER = re.compile(
    r"identifier|(?:^|_)(?:name|symbol|constant|word|atom|qid|type_constructor)$|^(?:name|type|var)$|Name$"
)
_ASIDE = frozenset({"type", "return_type", "parameters", "body", "value", "receiver", "result"})
# A name stands in a header at the most, and near its beginning.
MAX_NAME_DEPTH = 3
MAX_NAME_CHILDREN = 8
MAX_NAME_CHARACTERS = 200


def query(language: str, kinds: Iterable[str]) -> str:
    """A query for the definitions of a language whose grammar has these named kinds of nodes.

    Definitions with a name of their own in the grammar are captured whole, under their kind.
    """
    patterns = [
        f"({kind}) @{_kind(kind)}"
        for kind in sorted(set(kinds))
        if _DEFINING.fullmatch(kind)
        and not _USING.search(kind)
        and (language, kind) not in _UNNAMED
    ]
    return "\n".join(patterns) + "\n" + dict(_PATTERNS).get(language, "")


def imports(matches: Matches) -> list[Import]:  # noqa: ARG001  # The shape of every reader.
    """None: what an import looks like differs too much from language to language."""
    return []


def definitions(matches: Matches) -> Iterator[Definition]:
    """The definitions that a query of `query` matched and that have a name."""
    for _, captures in matches:
        kind = next(kind for kind in captures if kind != "name" and kind[0] != "_")
        node = captures[kind][0]
        # `struct point p;` names a type without defining it.
        if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
            continue
        names = captures.get("name")
        name = names[0] if names else _name_of(node)
        if name is None or name.end_byte - name.start_byte > MAX_NAME_CHARACTERS:
            continue
        # Without a body of its own, the rest of the node is one.
        written = signature_end(node) or last_line(
            node.child_by_field_name("parameters") or name
        )
        yield definition_of(kind, node, name, written)


def _kind(node_kind: str) -> str:
    return next(
        (kind for kind, subject in _SUBJECT_IN if subject.search(node_kind)), "definition"
    )


def _name_of(node: "Node") -> "Node | None":
    level = [node]
    for _ in range(MAX_NAME_DEPTH):
        for one in level:
            if (named := one.child_by_field_name("name")) is not None:
                return named.child_by_field_name("name") or named
        below: list[Node] = []
        for parent in level:
            for index, child in enumerate(parent.children[:MAX_NAME_CHILDREN]):
                if parent.field_name_for_child(index) in _ASIDE:
                    continue
                if not child.is_named:
                    continue
                if _IDENTIFIER.search(child.type):
                    return child
                below.append(child)
        level = below
    return None
