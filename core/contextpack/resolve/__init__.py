"""An import as it is written to the files of the workspace that it names.

One module a language family. A resolution is data: the targets, or the reason why there are
none. Nothing is guessed: a wrong edge costs more than a missing one.
"""

from dataclasses import dataclass
from typing import Protocol

from contextpack.model import Import, Path
from contextpack.resolve import bash, csharp, javascript, php, python, ruby
from contextpack.resolve.declared import declared, file_keys
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree

__all__ = [
    "External",
    "Resolution",
    "Resolver",
    "Tree",
    "declared",
    "file_keys",
    "is_config",
    "resolver_of",
    "resolvers",
]


class Resolver(Protocol):
    """Resolves the imports of one language family within one workspace."""

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The files of the workspace that an import in `path` names."""


@dataclass(frozen=True, slots=True)
class Resolvers:
    """The resolvers of one workspace, by language family."""

    python: python.Resolver
    javascript: javascript.Resolver
    csharp: csharp.Resolver
    ruby: ruby.Resolver
    php: php.Resolver
    bash: bash.Resolver


def resolvers(tree: Tree) -> Resolvers:
    """The resolvers for a workspace of these files."""
    return Resolvers(
        python=python.resolver(tree),
        javascript=javascript.resolver(tree),
        csharp=csharp.resolver(tree),
        ruby=ruby.resolver(tree),
        php=php.resolver(tree),
        bash=bash.resolver(tree),
    )


def is_config(path: Path) -> bool:
    """Whether some language's resolution wants to read this file's text."""
    return any(
        family.is_config(path)
        for family in (
            javascript,
            ruby,
            php,
        )
    )


def resolver_of(resolvers: Resolvers, language: str) -> Resolver | None:
    """The resolver for a language, or None when its imports make no edges."""
    match language:
        case "python":
            return resolvers.python
        case "javascript" | "jsx" | "typescript" | "tsx":
            return resolvers.javascript
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
