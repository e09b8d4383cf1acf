"""The import graph of one snapshot. Edges point from importer to imported.

Unresolved imports are kept apart, each with its reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from contextpack.model import Facts, Import, Path
from contextpack.resolve import External, Tree, declared, resolver_of, resolvers


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An import without a target in the workspace."""

    found: Import
    external: External


@dataclass(frozen=True, slots=True)
class Graph:
    """Who imports whom, both ways. Paths without edges are absent; targets are sorted."""

    imports: Mapping[Path, tuple[Path, ...]]
    importers: Mapping[Path, tuple[Path, ...]]
    unresolved: Mapping[Path, tuple[Unresolved, ...]]


def graph(facts: Mapping[Path, Facts], tree: Tree) -> Graph:
    """The import graph of these files."""
    named = declared((path, found.language, found.symbols) for path, found in facts.items())
    by_language = resolvers(replace(tree, declared=named))
    imports: dict[Path, tuple[Path, ...]] = {}
    importers: dict[Path, list[Path]] = {}
    unresolved: dict[Path, tuple[Unresolved, ...]] = {}
    for path in sorted(facts):
        resolver = resolver_of(by_language, facts[path].language)
        if resolver is None:
            continue
        targets = set[Path]()
        failed: list[Unresolved] = []
        for found in facts[path].imports:
            resolution = resolver.resolve(path, found)
            targets.update(resolution.targets)
            if resolution.external is not None:
                failed.append(Unresolved(found, resolution.external))
        targets.discard(path)
        if targets:
            imports[path] = tuple(sorted(targets))
            for target in imports[path]:
                importers.setdefault(target, []).append(path)
        if failed:
            unresolved[path] = tuple(failed)
    return Graph(
        imports, {target: tuple(paths) for target, paths in importers.items()}, unresolved
    )
