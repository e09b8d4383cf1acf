"""C# `using` directives: to the files that declare the namespace or the type.

`using N` names every file that declares namespace N, as the compiler sees it: nothing says
which of its types the file means. Files of the same namespace see each other without an import
and get no edge for it. Names are looked up from the enclosing namespaces outwards. Assemblies
and projects are not told apart: a solution is one space of names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from contextpack.model import Import, Path
from contextpack.resolve.declared import prefixes
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree

# A namespace spread over more files names none of them: edges to all of them, from every file
# that uses it, would be noise, and their number quadratic.
MAX_FILES = 256

_STANDARD = ("System", "Microsoft.CSharp", "Microsoft.VisualBasic", "Microsoft.Win32")


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the C# imports of one workspace."""

    declared: Mapping[str, tuple[Path, ...]]
    """Namespaces and types to the files that declare them."""
    outer: frozenset[str]
    """Every proper prefix of a declared name."""

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The files that declare what a `using` names, other than the file itself."""
        for name in _candidates(found):
            if name in self.declared:
                targets = tuple(file for file in self.declared[name] if file != path)
                if len(targets) > MAX_FILES:
                    return Resolution(external=External.AMBIGUOUS)
                return Resolution(targets)
            if name in self.outer:
                return Resolution()  # It only holds other namespaces.
        if any(_is_in(found.specifier, standard) for standard in _STANDARD):
            return Resolution(external=External.STANDARD_LIBRARY)
        around = prefixes(found.specifier, ".") - {found.specifier}
        is_own = not around.isdisjoint(self.declared)
        return Resolution(external=External.MISSING if is_own else External.PACKAGE)


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    declared = tree.declared.get("csharp", {})
    outer = frozenset(
        prefix for name in declared for prefix in prefixes(name, ".") if prefix != name
    )
    return Resolver(declared, outer)


def keys_of(found: Import) -> frozenset[str]:
    """The names that this import's resolution hangs on: full ones, never parts of a path."""
    return frozenset(prefix for name in _candidates(found) for prefix in prefixes(name, "."))


def _candidates(found: Import) -> list[str]:
    """The names that a directive may mean, innermost first."""
    enclosing = found.names[0].split(".") if found.names else []
    return [".".join([*enclosing[:n], found.specifier]) for n in range(len(enclosing), -1, -1)]


def _is_in(name: str, namespace: str) -> bool:
    return name == namespace or name.startswith(namespace + ".")
