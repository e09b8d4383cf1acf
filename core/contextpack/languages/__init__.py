"""What each language's text says: imports, definitions, and chunks worth showing.

The table below is the list of languages. One without a grammar gets plain chunks; a grammar
that fails costs imports and symbols, never the file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contextpack.languages import (
    bash,
    c,
    components,
    csharp,
    documents,
    generic,
    go,
    java,
    javascript,
    julia,
    lua,
    php,
    plain,
    python,
    ruby,
    rust,
    tree,
)
from contextpack.languages.generic import FURTHER
from contextpack.languages.tree import Grammar, Matches, Outline
from contextpack.model import Import

__all__ = [
    "FURTHER",
    "GRAMMAR_SOURCES",
    "LANGUAGES",
    "Grammar",
    "Language",
    "Outline",
    "language_of",
    "outline",
]


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its name, which is also its Markdown fence tag, and how files are told."""

    name: str
    suffixes: tuple[str, ...]
    """Lower case, with the dot."""
    file_names: tuple[str, ...] = ()
    """Whole file names, for files without a telling suffix."""


LANGUAGES = (
    Language("python", (".py", ".pyi", ".pyw", ".pyx"), ("SConstruct", "SConscript")),
    Language("javascript", (".js", ".mjs", ".cjs")),
    Language("jsx", (".jsx",)),
    Language("typescript", (".ts", ".mts", ".cts")),
    Language("tsx", (".tsx",)),
    Language("vue", (".vue",)),
    Language("svelte", (".svelte",)),
    Language("astro", (".astro",)),
    Language("go", (".go",)),
    Language("rust", (".rs",)),
    Language("java", (".java",)),
    Language("kotlin", (".kt", ".kts")),
    Language("scala", (".scala", ".sc")),
    Language("c", (".c", ".h")),
    Language(
        "cpp", (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tcc", ".tpp")
    ),
    Language("csharp", (".cs",)),
    Language("swift", (".swift",)),
    Language("ruby", (".rb", ".rake", ".gemspec", ".ru"), ("Gemfile", "Rakefile")),
    Language("php", (".php", ".phtml")),
    Language("perl", (".pl", ".pm")),
    Language("lua", (".lua",)),
    Language("commonlisp", (".lisp", ".cl", ".asd")),
    Language("elisp", (".el",)),
    Language("elm", (".elm",)),
    Language("fortran", (".f90", ".f95", ".f03", ".f08")),
    Language("hack", (".hack",)),
    Language("hcl", (".tf", ".tfvars", ".hcl")),
    Language("objectivec", (".m", ".mm")),
    Language("ql", (".ql", ".qll")),
    Language("elixir", (".ex", ".exs")),
    Language("erlang", (".erl", ".hrl")),
    Language("haskell", (".hs",)),
    Language("ocaml", (".ml", ".mli")),
    Language("r", (".r",)),
    Language("julia", (".jl",)),
    Language("dart", (".dart",)),
    Language("zig", (".zig",)),
    Language("bash", (".sh", ".bash", ".zsh", ".ksh", ".bats")),
    Language("powershell", (".ps1", ".psm1")),
    Language("sql", (".sql",)),
    Language("graphql", (".graphql", ".gql")),
    Language("protobuf", (".proto",)),
    Language("html", (".html", ".htm", ".xhtml")),
    Language("xml", (".xml", ".xsd", ".xsl", ".svg")),
    Language("css", (".css",)),
    Language("scss", (".scss", ".sass")),
    Language("less", (".less",)),
    Language("json", (".json", ".jsonc", ".json5")),
    Language("jupyter", (".ipynb",)),
    Language("toml", (".toml",)),
    Language("yaml", (".yaml", ".yml")),
    Language("ini", (".ini", ".cfg")),
    Language("markdown", (".md", ".markdown", ".mdx")),
    Language("rst", (".rst",)),
    Language("dockerfile", (".dockerfile",), ("Dockerfile",)),
    Language("makefile", (".mk",), ("Makefile", "GNUmakefile", "makefile")),
    Language("cmake", (".cmake",), ("CMakeLists.txt",)),
    Language("diff", (".diff", ".patch")),
)

# Which query text a grammar is compiled with, by the name of the language. Python's trees are
# read by hand, which takes a third of the time.
GRAMMAR_SOURCES: tuple[tuple[str, str], ...] = (
    ("python", ""),
    ("javascript", javascript.QUERY),
    ("jsx", javascript.QUERY),
    ("typescript", javascript.QUERY),
    ("tsx", javascript.QUERY),
    ("go", go.QUERY),
    ("rust", rust.QUERY),
    ("java", java.QUERY),
    ("c", c.QUERY),
    ("cpp", c.CPP_QUERY),
    ("csharp", csharp.QUERY),
    ("ruby", ruby.QUERY),
    ("php", php.QUERY),
    ("bash", bash.QUERY),
    ("lua", lua.QUERY),
    ("julia", julia.QUERY),
)

_WITH_GRAMMAR = frozenset(name for name, _ in (*GRAMMAR_SOURCES, *FURTHER))

# What reads the imports out of a query's matches, for the languages that share nothing else.
_IMPORTS: tuple[tuple[str, Callable[[Matches], list[Import]]], ...] = (
    ("go", go.imports),
    ("rust", rust.imports),
    ("java", java.imports),
    ("c", c.imports),
    ("cpp", c.imports),
    ("csharp", csharp.imports),
    ("ruby", ruby.imports),
    ("php", php.imports),
    ("bash", bash.imports),
    ("lua", lua.imports),
)

_BY_SUFFIX = tuple(
    (suffix, language.name) for language in LANGUAGES for suffix in language.suffixes
)
_BY_NAME = tuple(
    (name, language.name) for language in LANGUAGES for name in language.file_names
)


def language_of(path: str) -> str:
    """The name of a file's language by its path; empty when no language is known for it."""
    name = path.rpartition("/")[2]
    for known, language in _BY_NAME:
        if name == known:
            return language
    lowered = name.lower()
    for suffix, language in _BY_SUFFIX:
        if lowered.endswith(suffix):
            return language
    return ""


def outline(text: str, language: str, grammars: Mapping[str, Grammar]) -> Outline:
    """The imports, symbols and chunks of a text. Total: any text has an outline."""
    if language in ("vue", "svelte", "astro"):
        return components.outline(text, language, grammars)
    if (read := documents.outline(text, language)) is not None:
        return read
    if language == "c" and "cpp" in grammars and c.is_cpp(text):
        language = "cpp"
    grammar = grammars.get(language)
    if grammar is None:
        problems = ("no grammar",) if language in _WITH_GRAMMAR else ()
        return Outline(imports=(), symbols=(), chunks=plain.chunks(text), problems=problems)
    for name, imports in _IMPORTS:
        if name == language:
            effort = ruby.EFFORT if language == "ruby" else tree.COMMON_EFFORT
            return tree.outline(text, grammar, imports, effort=effort)
    match language:
        case "python":
            return tree.outline_by(text, grammar, python.read)
        case "javascript" | "jsx" | "typescript" | "tsx":
            return javascript.outline(text, grammar)
        case "julia":
            return tree.outline(text, grammar, generic.imports, julia.definitions)
        case _:
            return tree.outline(
                text, grammar, generic.imports, generic.definitions, generic.EFFORT
            )
