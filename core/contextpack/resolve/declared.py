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


def declared(files: Iterable[tuple[Path, str, Iterable[Symbol]]]) -> Declared:
    """What these files declare: each its path, language and symbols."""
    result: dict[str, dict[str, list[Path]]] = {}
    for path, language, symbols in files:
        for name in names(language, symbols):
            result.setdefault(language, {}).setdefault(name, []).append(path)
    return {
        language: {name: tuple(sorted(paths)) for name, paths in sorted(by_name.items())}
        for language, by_name in sorted(result.items())
    }


def prefixes(name: str, separator: str) -> frozenset[str]:
    """A full name and those of everything around it."""
    parts = name.split(separator)
    return frozenset(separator.join(parts[:n]) for n in range(1, len(parts) + 1))


def file_keys(path: Path, language: str, symbols: Iterable[Symbol]) -> frozenset[str]:
    """The names under which an import may meet a file: of its path's parts and what it declares.

    An import has to be resolved again only if one of its own `keys_of` is among those of a file
    that appeared, vanished, or declares something else.
    """
    separator = dict(SEPARATORS).get(language, ".")
    *directories, name = path.split("/")
    stem = name[: name.find(".", 1)] if name.find(".", 1) > 0 else name
    found = {name, stem, name.rpartition(".")[0] or name, *directories}
    for full in names(language, symbols):
        found |= prefixes(full, separator)
    return frozenset(found)
