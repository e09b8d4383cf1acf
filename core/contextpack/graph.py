"""The import graph of one snapshot. Edges point from importer to imported.

Imports that lead nowhere in the workspace are kept apart, each with its reason; so are mocks,
which name a module without using it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from contextpack.model import Facts, Import, ImportKind, Path
from contextpack.resolve import (
    External,
    Resolution,
    Resolvers,
    Tree,
    declared,
    resolver_of,
    resolvers,
)
from contextpack.resolve.change import change, may_differ, scope_differs


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """One file imports another. Several imports of the same target are one edge."""

    source: Path
    target: Path
    kind: ImportKind
    """Of the strongest of them: what runs counts before what only the type checker reads."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An import without a target in the workspace."""

    found: Import
    external: External


@dataclass(frozen=True, slots=True)
class Rate:
    """What became of a language's imports, in numbers of imports."""

    resolved: int
    external: int
    """Out of the workspace for a good reason: a package, the standard library, an asset."""
    unresolved: int


Work = tuple[tuple[Path, int], ...]
"""How many imports of which files were resolved, by path."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Every import with where it leads, and what that was found with."""

    facts: Mapping[Path, Facts]
    tree: Tree
    resolvers: Resolvers
    resolutions: Mapping[Path, tuple[Resolution, ...]]
    """Parallel to the imports of each file's facts; files in path order."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Who imports whom, both ways. Paths without edges are absent; targets are sorted."""

    imports: Mapping[Path, tuple[Path, ...]]
    importers: Mapping[Path, tuple[Path, ...]]
    edges: tuple[Edge, ...]
    """Those of `imports` with their kinds, sorted."""
    mocks: tuple[Edge, ...]
    unresolved: Mapping[Path, tuple[Unresolved, ...]]
    rates: Mapping[str, Rate]
    """By the language of the importing file, sorted."""
    resolved: Resolved
    """What it was made from."""


# Reasons that say nothing against the resolution: the target is not meant to be here.
_ELSEWHERE = frozenset({External.PACKAGE, External.STANDARD_LIBRARY, External.ASSET})

# From what an edge is, the strongest first.
_STRENGTH = (
    ImportKind.STATIC,
    ImportKind.REQUIRE,
    ImportKind.DYNAMIC,
    ImportKind.TYPE,
    ImportKind.MOCK,
    ImportKind.COMPUTED,
)


def is_elsewhere(external: External) -> bool:
    """Whether an import rightly leads out of the workspace, rather than failing."""
    return external in _ELSEWHERE


def graph(facts: Mapping[Path, Facts], tree: Tree) -> Graph:
    """The import graph of these files."""
    tree = _with_declared(tree, facts)
    made = resolvers(tree)
    resolutions: dict[Path, tuple[Resolution, ...]] = {}
    for path in sorted(facts):
        resolver = resolver_of(made, facts[path].language)
        if resolver is not None:
            resolutions[path] = tuple(resolver.resolve(path, i) for i in facts[path].imports)
    return _assembled(Resolved(facts, tree, made, resolutions))


def updated(before: Graph, facts: Mapping[Path, Facts], tree: Tree) -> tuple[Graph, Work]:
    """The graph of these files, and what it cost: only what may have changed is resolved again."""
    old = before.resolved
    tree = _with_declared(tree, facts)
    made = resolvers(tree)
    difference = change(old.tree, tree, old.resolvers, made)
    resolutions: dict[Path, tuple[Resolution, ...]] = {}
    work: list[tuple[Path, int]] = []
    for path in sorted(facts):
        language = facts[path].language
        resolver = resolver_of(made, language)
        if resolver is None:
            continue
        imports = facts[path].imports
        known = old.resolutions.get(path)
        is_same = (
            known is not None
            and path in old.facts
            and old.facts[path].imports == imports
            and not scope_differs(difference, language, path)
        )
        again = [
            n
            for n, found in enumerate(imports)
            if not is_same
            or (difference.names and may_differ(difference, language, path, found))
        ]
        fresh = {n: resolver.resolve(path, imports[n]) for n in again}
        resolutions[path] = tuple(
            fresh[n] if n in fresh else (known or ())[n] for n in range(len(imports))
        )
        if again:
            work.append((path, len(again)))
    return _assembled(Resolved(facts, tree, made, resolutions)), tuple(work)


def _with_declared(tree: Tree, facts: Mapping[Path, Facts]) -> Tree:
    found = declared((path, said.language, said.symbols) for path, said in facts.items())
    return replace(tree, declared=found)


def _assembled(resolved: Resolved) -> Graph:
    kinds: dict[tuple[Path, Path], ImportKind] = {}
    mocks: set[Edge] = set()
    unresolved: dict[Path, tuple[Unresolved, ...]] = {}
    fates = Counter[tuple[str, str]]()
    for path, resolutions in resolved.resolutions.items():
        language = resolved.facts[path].language
        failed: list[Unresolved] = []
        for found, resolution in zip(resolved.facts[path].imports, resolutions, strict=True):
            targets = [target for target in resolution.targets if target != path]
            if found.kind is ImportKind.MOCK:
                mocks.update(Edge(path, target, found.kind) for target in targets)
                continue
            for target in targets:
                known = kinds.get((path, target), found.kind)
                kinds[path, target] = min(known, found.kind, key=_STRENGTH.index)
            if resolution.external is not None:
                failed.append(Unresolved(found, resolution.external))
            fates[language, _fate(resolution.external)] += 1
        if failed:
            unresolved[path] = tuple(failed)
    return Graph(
        imports=_grouped((source, target) for source, target in kinds),
        importers=_grouped((target, source) for source, target in kinds),
        edges=tuple(
            sorted(Edge(source, target, kind) for (source, target), kind in kinds.items())
        ),
        mocks=tuple(sorted(mocks)),
        unresolved=unresolved,
        rates=_rates(fates),
        resolved=resolved,
    )


def reached(
    edges: Mapping[Path, tuple[Path, ...]], start: Iterable[Path], depth: int | None
) -> tuple[Path, ...]:
    """The files at most `depth` edges away from the start, which is among them; sorted."""
    seen = set(start)
    frontier = set(seen)
    steps = 0
    while frontier and (depth is None or steps < depth):
        frontier = {target for path in frontier for target in edges.get(path, ())} - seen
        seen |= frontier
        steps += 1
    return tuple(sorted(seen))


def _fate(external: External | None) -> str:
    if external is None:
        return "resolved"
    return "external" if is_elsewhere(external) else "unresolved"


def _grouped(pairs: Iterable[tuple[Path, Path]]) -> Mapping[Path, tuple[Path, ...]]:
    groups: dict[Path, list[Path]] = {}
    for key, value in sorted(pairs):
        groups.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in groups.items()}


def _rates(fates: Mapping[tuple[str, str], int]) -> Mapping[str, Rate]:
    return {
        language: Rate(
            resolved=fates.get((language, "resolved"), 0),
            external=fates.get((language, "external"), 0),
            unresolved=fates.get((language, "unresolved"), 0),
        )
        for language in sorted({language for language, _ in fates})
    }
