"""The grammars that the core gets passed in, each compiled when the first file asks for it.

Compiling all of them takes half a second. A grammar that cannot be loaded is left out: its
files lose imports and symbols, and their facts say so. Where `tree-sitter-languages` is not
installed, there are none of the further ones.
"""

import ctypes
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import tree_sitter_bash
import tree_sitter_c
import tree_sitter_c_sharp
import tree_sitter_cpp
import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_julia
import tree_sitter_lua
import tree_sitter_php
import tree_sitter_python
import tree_sitter_ruby
import tree_sitter_rust
import tree_sitter_typescript
from tree_sitter import Language, Query

from contextpack.languages import FURTHER, GRAMMAR_SOURCES, Grammar, generic

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: object) -> object:
        """`typing.override`, which Python 3.11 does not have."""
        return method


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
        "csharp": tree_sitter_c_sharp.language,
        "ruby": tree_sitter_ruby.language,
        "php": tree_sitter_php.language_php,
        "bash": tree_sitter_bash.language,
        "lua": tree_sitter_lua.language,
        "julia": tree_sitter_julia.language,
    }
)

Grammars = Mapping[str, Grammar]
"""Compiled grammars by the name of the language."""

# An ABI out of range and a query that does not fit are `ValueError`s (`QueryError` is one), a
# missing function of a library is an `AttributeError`.
_LOAD_ERRORS = (AttributeError, OSError, TypeError, ValueError)


def grammars() -> Grammars:
    """Every grammar that is installed and fits."""
    return _Compiled(_further_library())


class _Compiled(Mapping[str, Grammar]):
    """Grammars, and those of a library of further ones, compiled on first use."""

    def __init__(self, library: Path | None) -> None:
        self._compiled: dict[str, Grammar | None] = {}
        self._library = library
        self._sources = dict(GRAMMAR_SOURCES)
        self._symbols = dict(FURTHER) if library else {}

    @override
    def __getitem__(self, name: str) -> Grammar:
        if name not in self._compiled:
            self._compiled[name] = self._found(name)
        grammar = self._compiled[name]
        if grammar is None:
            raise KeyError(name)
        return grammar

    @override
    def __iter__(self) -> Iterator[str]:
        return (name for name in {**self._sources, **self._symbols} if self.get(name))

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _found(self, name: str) -> Grammar | None:
        if name in self._sources and (own := _own(name, self._sources[name])):
            return own
        if name in self._symbols and self._library:
            return _further(name, self._symbols[name], self._library)
        return None


def _own(name: str, source: str) -> Grammar | None:
    try:
        language = Language(_POINTERS[name]())
        return Grammar(language, Query(language, source))
    except _LOAD_ERRORS:
        return None


def _further_library() -> Path | None:
    """Where `tree-sitter-languages` keeps its grammars. Its Python part is not imported."""
    spec = find_spec("tree_sitter_languages")
    if spec is None or spec.origin is None:
        return None
    name = "languages.dll" if sys.platform == "win32" else "languages.so"
    library = Path(spec.origin).parent / name
    return library if library.is_file() else None


def _further(name: str, symbol: str, library: Path) -> Grammar | None:
    try:
        function = getattr(ctypes.CDLL(str(library)), f"tree_sitter_{symbol}")
        function.restype = ctypes.c_void_p
        # Its own `get_parser` calls a constructor that tree-sitter no longer has; a capsule of
        # this name is what today's constructor takes.
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype = ctypes.py_object
        capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        language = Language(capsule(function(), b"tree_sitter.Language", None))
        kinds = (
            language.node_kind_for_id(number)
            for number in range(language.node_kind_count)
            if language.node_kind_is_named(number) and language.node_kind_is_visible(number)
        )
        source = generic.query(name, (kind for kind in kinds if kind))
        return Grammar(language, Query(language, source))
    except _LOAD_ERRORS:
        return None
