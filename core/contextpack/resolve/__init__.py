"""An import as it is written to the files of the workspace that it names.

One module a language family. A resolution is data: the targets, or the reason why there are
none. Nothing is guessed: a wrong edge costs more than a missing one.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import assert_never

from contextpack.model import Import, Path
from contextpack.resolve import (
    bash,
    c,
    csharp,
    go,
    java,
    javascript,
    php,
    python,
    ruby,
    rust,
)
from contextpack.resolve.commands import is_database
from contextpack.resolve.declared import declared, names
from contextpack.resolve.manifest import is_manifest
from contextpack.resolve.target import External, Resolution, Resolved
from contextpack.resolve.tree import Tree

__all__ = [
    "External",
    "Family",
    "Resolution",
    "Resolved",
    "Resolver",
    "Resolvers",
    "Tree",
    "declared",
    "family_of",
    "is_config",
    "keys_of",
    "names",
    "resolved",
    "resolver",
    "traced",
]


class Family(StrEnum):
    """Languages that are resolved together."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"
    GO = "go"
    RUST = "rust"
    JAVA = "java"
    C = "c"
    CSHARP = "csharp"
    RUBY = "ruby"
    PHP = "php"
    BASH = "bash"


_FAMILIES = MappingProxyType(
    {
        **{family.value: family for family in Family},
        **dict.fromkeys(
            ("jsx", "typescript", "tsx", "vue", "svelte", "astro"), Family.JAVASCRIPT
        ),
        "cpp": Family.C,
    }
)

Resolver = (
    python.Resolver
    | javascript.Resolver
    | go.Resolver
    | rust.Resolver
    | java.Resolver
    | c.Resolver
    | csharp.Resolver
    | ruby.Resolver
    | php.Resolver
    | bash.Resolver
)
"""Resolves the imports of one language family within one workspace.

`resolve(path, found)` gives the files that an import in `path` names, or why there are none.
"""

Resolvers = Mapping[Family, Resolver]
"""The resolvers of one workspace, of the families that were needed so far."""


def family_of(language: str) -> Family | None:
    """The family of a language, or None when its imports make no edges."""
    return _FAMILIES.get(language)


def resolver(family: Family, tree: Tree) -> Resolver:
    """The resolver of a family for a workspace of these files."""
    match family:
        case Family.PYTHON:
            return python.resolver(tree)
        case Family.JAVASCRIPT:
            return javascript.resolver(tree)
        case Family.GO:
            return go.resolver(tree)
        case Family.RUST:
            return rust.resolver(tree)
        case Family.JAVA:
            return java.resolver(tree)
        case Family.C:
            return c.resolver(tree)
        case Family.CSHARP:
            return csharp.resolver(tree)
        case Family.RUBY:
            return ruby.resolver(tree)
        case Family.PHP:
            return php.resolver(tree)
        case Family.BASH:
            return bash.resolver(tree)
        case _:
            assert_never(family)


def is_config(path: Path) -> bool:
    """Whether some language's resolution wants to read this file's text."""
    return (
        python.is_config(path)
        or javascript.is_config(path)
        or go.is_config(path)
        or is_manifest(path)
        or is_database(path)
        or ruby.is_config(path)
        or php.is_config(path)
    )


def resolved(resolver: Resolver, path: Path, imports: tuple[Import, ...]) -> Resolved:
    """Where the imports of a file lead."""
    resolutions: list[Resolution] = []
    keys = set[str]()
    for found in imports:
        resolution, own = traced(resolver, path, found)
        resolutions.append(resolution)
        keys.update(own)
    return Resolved(tuple(resolutions), tuple(sorted(keys)))


def traced(resolver: Resolver, path: Path, found: Import) -> tuple[Resolution, Collection[str]]:
    """Where an import leads, and its keys."""
    if isinstance(resolver, javascript.Resolver):
        return resolver.traced(path, found)
    return resolver.resolve(path, found), keys_of(resolver, path, found)


def keys_of(resolver: Resolver, path: Path, found: Import) -> Collection[str]:
    """The names by which what appears, vanishes or is declared anew can change an import."""
    match resolver:
        case python.Resolver():
            return python.keys_of(path, found)
        case javascript.Resolver():
            return resolver.traced(path, found)[1]
        case csharp.Resolver():
            return csharp.keys_of(found)
        case ruby.Resolver():
            return ruby.keys_of(found)
        case php.Resolver():
            return php.keys_of(found)
        case bash.Resolver():
            return bash.keys_of(found)
        case _:
            return resolver.keys_of(found)
