"""The names that files declare, for languages whose imports name no file.

C# names namespaces and types, PHP classes. Which file declares them only its own text says, so
they come from the symbols of its facts. A file appears and vanishes under them as it does under
its path: an edit that changes them changes what others resolve to.
"""

from collections.abc import Iterable, Mapping

from contextpack.model import Path, Symbol

Declared = Mapping[str, Mapping[str, tuple[Path, ...]]]
"""By language: full names to the files that declare them, both sorted."""

SEPARATORS = (("csharp", "."), ("php", "\\"))
_KINDS = frozenset(
    {"namespace", "class", "interface", "struct", "record", "enum", "trait", "type", "function"}
)


def names(language: str, symbols: Iterable[Symbol]) -> frozenset[str]:
    """The full names of the namespaces, types and functions that a file declares."""
    separator = dict(SEPARATORS).get(language)
    if separator is None:
        return frozenset()
    result = set[str]()
    outer: list[str] = []  # The full names around; empty inside what is nobody's business.
    for symbol in symbols:
        del outer[symbol.depth :]
        full = ""
        if symbol.kind in _KINDS and (not outer or outer[-1]):
            full = separator.join([*outer[-1:], symbol.name])
            result.add(full)
        # A function's insides are its own, and so are a method's.
        outer.append("" if symbol.kind == "function" else full)
    return frozenset(result)


Declaration = tuple[Path, str, str]
"""A path, its language, and a name that it declares."""


def declared(
    before: Declared, gone: Iterable[Declaration], new: Iterable[Declaration]
) -> Declared:
    """What files declare after some declarations went and others came."""
    result = {language: dict(by_name) for language, by_name in before.items()}
    lost: dict[tuple[str, str], set[Path]] = {}
    for path, language, name in gone:
        lost.setdefault((language, name), set()).add(path)
    won: dict[tuple[str, str], set[Path]] = {}
    for path, language, name in new:
        won.setdefault((language, name), set()).add(path)
    for language, name in lost.keys() | won.keys():
        by_name = result.setdefault(language, {})
        files = set(by_name.pop(name, ()))
        files -= lost.get((language, name), set())
        files |= won.get((language, name), set())
        if files:
            by_name[name] = tuple(sorted(files))
    return {language: by_name for language, by_name in result.items() if by_name}


def prefixes(name: str, separator: str) -> frozenset[str]:
    """A full name and those of everything around it."""
    parts = name.split(separator)
    return frozenset(separator.join(parts[:n]) for n in range(1, len(parts) + 1))
