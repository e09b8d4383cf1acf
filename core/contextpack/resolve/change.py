"""Which imports may lead elsewhere after a workspace changed. The others keep their resolution.

A file that appears, vanishes or declares something else matters to an import only if one of its
names is among the import's keys; configuration matters to the files whose scope it changes. Both err on the side
of asking again: a stale edge is wrong, a second look only costs time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from contextpack.model import Import, Path
from contextpack.resolve import (
    Resolvers,
    bash,
    csharp,
    javascript,
    php,
    python,
    resolver_of,
    ruby,
)
from contextpack.resolve.declared import SEPARATORS, prefixes
from contextpack.resolve.tree import Tree, keys, parent


@dataclass(frozen=True, slots=True)
class Change:
    """A workspace before and after."""

    before: Resolvers
    after: Resolvers
    names: frozenset[str]
    """By which the files that appeared or vanished may be meant, or what they declare."""
    python_names: frozenset[str]
    """The top-level names that Python's source roots do not have in common."""
    changes_others: bool
    """Whether a configuration of a language without scopes of its own changed."""


def change(before: Tree, after: Tree, old: Resolvers, new: Resolvers) -> Change:
    """What differs between two workspaces, as far as imports can see."""
    names = set[str]()
    for path in before.paths ^ after.paths:
        names |= keys(path)
    names.update(_declared_anew(before, after))
    edited = {
        path
        for path in before.configs.keys() | after.configs.keys()
        if before.configs.get(path) != after.configs.get(path)
    }
    for path in edited:
        # What a package.json says of its directory is meant by whoever imports the directory.
        names |= {parent(path).rpartition("/")[2], "index"}
    return Change(
        before=old,
        after=new,
        names=frozenset(names),
        python_names=python.names_between(old.python, new.python),
        changes_others=any(
            not python.is_config(path) and not javascript.is_config(path) for path in edited
        ),
    )


def _declared_anew(before: Tree, after: Tree) -> Iterator[str]:
    """The names that other files declare than before, and those of everything around them."""
    for language, separator in SEPARATORS:
        old, new = before.declared.get(language, {}), after.declared.get(language, {})
        for name in old.keys() | new.keys():
            if old.get(name) != new.get(name):
                yield from prefixes(name, separator)


def scope_differs(made: Change, language: str, path: Path) -> bool:
    """Whether configuration or the layout around a file may send all its imports elsewhere."""
    resolver = resolver_of(made.after, language)
    if isinstance(resolver, python.Resolver):
        directory = parent(path)
        before = made.before.python.contexts.get(directory)
        return before != made.after.python.contexts.get(directory)
    if isinstance(resolver, javascript.Resolver):
        return made.before.javascript.scope(path) != made.after.javascript.scope(path)
    if isinstance(resolver, ruby.Resolver) and made.before.ruby.bases != resolver.bases:
        return True  # A `Gemfile` or `Rakefile` moves load paths by being there.
    return made.changes_others


def may_differ(made: Change, language: str, path: Path, found: Import) -> bool:
    """Whether an import of a file whose scope is the same may lead elsewhere."""
    resolver = resolver_of(made.after, language)
    if resolver is None:
        return False
    others: frozenset[str] = frozenset()
    match resolver:
        case javascript.Resolver():
            wanted = resolver.keys_of(path, found) | made.before.javascript.keys_of(path, found)
        case python.Resolver():
            wanted, others = python.keys_of(found), made.python_names
        case csharp.Resolver():
            wanted = csharp.keys_of(found)
        case ruby.Resolver():
            wanted = ruby.keys_of(found)
        case php.Resolver():
            wanted = php.keys_of(found)
        case bash.Resolver():
            wanted = bash.keys_of(found)
        case _:
            wanted = resolver.keys_of(found)
    return not (made.names.isdisjoint(wanted) and others.isdisjoint(wanted))
