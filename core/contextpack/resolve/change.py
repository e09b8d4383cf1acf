"""Which imports may lead elsewhere after a workspace changed. The others keep their resolution.

A file that appears, vanishes or declares something else matters to an import only if one of its
names is among the import's keys; configuration matters to the files whose scope it changes. Both
err on the side of asking again: a stale edge is wrong, a second look only costs time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contextpack.model import Path
from contextpack.resolve import (
    Family,
    Resolver,
    bash,
    c,
    csharp,
    go,
    java,
    javascript,
    php,
    python,
    resolver,
    ruby,
    rust,
)
from contextpack.resolve.commands import is_database
from contextpack.resolve.declared import SEPARATORS, prefixes
from contextpack.resolve.manifest import is_manifest
from contextpack.resolve.tree import Tree, parent


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two workspaces, as far as imports can see."""

    paths: frozenset[Path]
    """The files that appeared or vanished."""
    configs: frozenset[Path]
    """The configuration files whose texts differ, or which only one of both has."""
    declared: Mapping[str, frozenset[str]]
    """By language: the names that other files declare than before."""


@dataclass(frozen=True, slots=True)
class Shift:
    """What a change means for the imports of one family."""

    before: Resolver
    after: Resolver
    names: frozenset[str] = frozenset()
    """Of what means something else now: an import with one of them among its keys is asked."""
    directories: frozenset[Path] = frozenset()
    """Whose files look elsewhere: all their imports are asked."""
    files: frozenset[Path] = frozenset()
    """Further files that look elsewhere."""
    is_whole: bool = False
    """Whether every import of the family is asked."""

    def asks_all_of(self, path: Path) -> bool:
        """Whether all imports of a file may lead elsewhere."""
        if self.is_whole or path in self.files:
            return True
        return bool(self.directories) and parent(path) in self.directories


def concerns(change: Change, family: Family) -> bool:
    """Whether a change may matter to a family's imports at all."""
    match family:
        case Family.PYTHON:
            return any(map(python.is_seen, change.paths | change.configs))
        case Family.GO:
            return any(map(go.is_seen, change.paths | change.configs))
        case Family.RUST:
            return any(map(rust.is_seen, change.paths | change.configs))
        case Family.JAVA:
            return any(map(java.is_seen, change.paths))
        case Family.CSHARP:
            return "csharp" in change.declared
        case Family.PHP:
            is_declared = "php" in change.declared
            return is_declared or bool(change.paths) or any(map(php.is_config, change.configs))
        case Family.JAVASCRIPT:
            return bool(change.paths) or any(map(javascript.is_config, change.configs))
        case Family.C:
            return bool(change.paths) or any(map(is_database, change.configs))
        case Family.RUBY:
            return bool(change.paths) or any(map(ruby.is_config, change.configs))
        case Family.BASH:
            return bool(change.paths)


def next_resolver(before: Resolver, family: Family, change: Change, after: Tree) -> Resolver:
    """The resolver after a change that concerns its family."""
    match before:
        case javascript.Resolver() if not any(map(javascript.is_config, change.configs)):
            return javascript.with_files(before, after, change.paths)
        case python.Resolver() if not any(map(python.is_config, change.configs)):
            return python.with_files(before, after, change.paths)
        case _:
            return resolver(family, after)


def shift(before: Resolver, after: Resolver, change: Change) -> Shift:
    """What a change means for a family, by its resolvers before and after."""
    match before, after:
        case python.Resolver(), python.Resolver():
            return Shift(
                before,
                after,
                names=python.names_between(before, after, change.paths),
                directories=python.directories_between(before, after),
            )
        case javascript.Resolver(), javascript.Resolver():
            is_config = any(map(javascript.is_config, change.configs))
            places = change.paths | (change.configs if is_config else frozenset())
            return Shift(
                before,
                after,
                names=frozenset[str]().union(
                    *(one.names_of(path) for path in places for one in (before, after))
                ),
                directories=javascript.directories_between(before, after)
                if is_config
                else frozenset(),
                files=javascript.files_between(before, after),
            )
        case go.Resolver(), _:
            return Shift(
                before,
                after,
                names=_union(map(go.names_of, filter(go.is_seen, change.paths))),
                is_whole=any(map(go.is_config, change.configs)),
            )
        case rust.Resolver(), _:
            return Shift(
                before,
                after,
                names=_union(map(rust.names_of, filter(rust.is_seen, change.paths))),
                is_whole=any(map(is_manifest, change.configs)),
            )
        case java.Resolver(), _:
            return Shift(
                before,
                after,
                names=_union(map(java.names_of, filter(java.is_seen, change.paths))),
            )
        case c.Resolver(), c.Resolver():
            return Shift(
                before,
                after,
                names=c.names_between(before, after, change.paths),
                files=c.files_between(before, after),
                is_whole=before.all_include_directories != after.all_include_directories,
            )
        case csharp.Resolver(), _:
            return Shift(before, after, names=_declared(change, "csharp"))
        case ruby.Resolver(), ruby.Resolver():
            return Shift(
                before,
                after,
                names=ruby.names_between(before, after, change.paths),
                # A `Gemfile` or `Rakefile` moves load paths by being there.
                is_whole=before.bases != after.bases
                or any(map(ruby.is_config, change.configs)),
            )
        case php.Resolver(), _:
            return Shift(
                before,
                after,
                names=_union(map(php.names_of, change.paths)) | _declared(change, "php"),
                is_whole=any(map(php.is_config, change.configs)),
            )
        case bash.Resolver(), _:
            return Shift(
                before, after, names=frozenset(path.rpartition("/")[2] for path in change.paths)
            )
        case _:
            raise AssertionError("resolvers of two families")


def _declared(change: Change, language: str) -> frozenset[str]:
    """The names that are declared elsewhere than before, and those of everything around them."""
    separator = dict(SEPARATORS)[language]
    return _union(prefixes(name, separator) for name in change.declared.get(language, ()))


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)
