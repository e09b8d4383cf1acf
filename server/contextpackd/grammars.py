"""The grammars that the core gets passed in. Compiling all of them takes some 10 ms."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_python
import tree_sitter_rust
import tree_sitter_typescript
from tree_sitter import Language, Query

from contextpack.languages import GRAMMAR_SOURCES, Grammar

_POINTERS: Mapping[str, Callable[[], object]] = MappingProxyType(
    {
        "python": tree_sitter_python.language,
        "javascript": tree_sitter_javascript.language,
        "jsx": tree_sitter_javascript.language,
        "typescript": tree_sitter_typescript.language_typescript,
        "tsx": tree_sitter_typescript.language_tsx,
        "go": tree_sitter_go.language,
        "rust": tree_sitter_rust.language,
        "java": tree_sitter_java.language,
        "c": tree_sitter_c.language,
        "cpp": tree_sitter_cpp.language,
    }
)

Grammars = Mapping[str, Grammar]
"""Compiled grammars by the name of the language."""


def grammars() -> Grammars:
    """Every grammar that is installed, compiled."""
    return MappingProxyType({name: _grammar(name, source) for name, source in GRAMMAR_SOURCES})


def _grammar(name: str, source: str) -> Grammar:
    language = Language(_POINTERS[name]())
    return Grammar(language, Query(language, source))
