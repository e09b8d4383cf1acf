"""Sourced shell files: beside the script, from the root, or where the path says.

A relative path without a base is relative to wherever the shell runs. Scripts are run from
their own directory or from the root, so these are tried in this order; a bare name is also
looked up in `PATH` by the shell, which no one can know here.
"""

from dataclasses import dataclass

from contextpack.model import Import, ImportKind, Path
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree, joined, parent

ROOT_LEVEL = 2  # `languages.bash` says what the levels are.


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the sourced files of one workspace."""

    paths: frozenset[Path]

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The file that a `source` reads. Any file may be sourced, whatever its name."""
        specifier = found.specifier
        if found.kind is ImportKind.DYNAMIC and not specifier.startswith("~"):
            return Resolution(external=External.DYNAMIC)
        if specifier.startswith(("/", "~")):
            return Resolution(external=External.OUTSIDE)
        own = parent(path)
        bases = (own, "") if found.level == 0 else ("" if found.level == ROOT_LEVEL else own,)
        candidates = [joined(base, specifier) for base in bases]
        for candidate in candidates:
            if candidate is not None and candidate in self.paths:
                return Resolution((candidate,))
        is_outside = all(candidate is None for candidate in candidates)
        return Resolution(external=External.OUTSIDE if is_outside else External.MISSING)


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    return Resolver(tree.paths)


def keys_of(found: Import) -> frozenset[str]:
    """The name of the sourced file."""
    return frozenset({found.specifier.rpartition("/")[2]})
