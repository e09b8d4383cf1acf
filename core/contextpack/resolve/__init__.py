"""An import as it is written to the files of the workspace that it names.

One module a language family. A resolution is data: the targets, or the reason why there are
none. Nothing is guessed: a wrong edge costs more than a missing one.
"""

from dataclasses import dataclass

from contextpack.model import Path
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
from contextpack.resolve.declared import declared, file_keys
from contextpack.resolve.manifest import is_manifest
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree

__all__ = [
    "External",
    "Resolution",
    "Resolver",
    "Resolvers",
    "Tree",
    "declared",
    "file_keys",
    "is_config",
    "resolver_of",
    "resolvers",
]


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

`resolve(path, found)` gives the files that an import in `path` names, or why there are none;
`keys_of` the names by which a file that appears or vanishes can change that.
"""


@dataclass(frozen=True, slots=True)
class Resolvers:
    """The resolvers of one workspace, by language family."""

    python: python.Resolver
    javascript: javascript.Resolver
    go: go.Resolver
    rust: rust.Resolver
    java: java.Resolver
    c: c.Resolver
    csharp: csharp.Resolver
    ruby: ruby.Resolver
    php: php.Resolver
    bash: bash.Resolver


def resolvers(tree: Tree) -> Resolvers:
    """The resolvers for a workspace of these files."""
    return Resolvers(
        python=python.resolver(tree),
        javascript=javascript.resolver(tree),
        go=go.resolver(tree),
        rust=rust.resolver(tree),
        java=java.resolver(tree),
        c=c.resolver(tree),
        csharp=csharp.resolver(tree),
        ruby=ruby.resolver(tree),
        php=php.resolver(tree),
        bash=bash.resolver(tree),
    )


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


def resolver_of(resolvers: Resolvers, language: str) -> Resolver | None:
    """The resolver for a language, or None when its imports make no edges."""
    match language:
        case "python":
            return resolvers.python
        case "javascript" | "jsx" | "typescript" | "tsx" | "vue" | "svelte" | "astro":
            return resolvers.javascript
        case "go":
            return resolvers.go
        case "rust":
            return resolvers.rust
        case "java":
            return resolvers.java
        case "c" | "cpp":
            return resolvers.c
        case "csharp":
            return resolvers.csharp
        case "ruby":
            return resolvers.ruby
        case "php":
            return resolvers.php
        case "bash":
            return resolvers.bash
        case _:
            return None
