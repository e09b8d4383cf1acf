"""The import graph of one snapshot. Edges point from importer to imported.

A graph keeps, file by file, what its imports led to, so that an update costs what changed: a save
that leaves the imports alone resolves none, and patches nothing. What everything is needed for
(`edges`, `rates`, ...) is computed when somebody asks. Imports that lead nowhere in the
workspace have a reason, and mocks, which name a module without using it, are no edges.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from contextpack.mappings import copied, revised
from contextpack.model import Facts, Import, ImportKind, Path
from contextpack.resolve import (
    External,
    Family,
    Resolution,
    Resolved,
    Resolver,
    Resolvers,
    Tree,
    declared,
    family_of,
    keys_of,
    names,
    resolved,
    resolver,
    traced,
)
from contextpack.resolve.change import Change, Shift, concerns, next_resolver, shift
from contextpack.resolve.declared import Declaration


@dataclass(frozen=True, slots=True)
class Said:
    """What the graph needs of one file's facts."""

    language: str
    imports: tuple[Import, ...]
    declares: tuple[str, ...] = ()
    """The full names of what it declares, sorted, in languages whose imports name no file."""


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


@dataclass(frozen=True, slots=True)
class Graph:
    """Who imports whom, both ways. Paths without edges are absent; targets are sorted.

    The order of the mappings' keys says nothing.
    """

    imports: Mapping[Path, tuple[Path, ...]]
    importers: Mapping[Path, tuple[Path, ...]]
    said: Mapping[Path, Said]
    resolved: Mapping[Path, Resolved]
    """Of each file with imports that can make edges; parallel to its imports."""
    tree: Tree
    resolvers: Resolvers = field(compare=False)
    """Those for the tree that were needed so far; the others are made when they are."""


@dataclass(frozen=True, slots=True)
class Work:
    """What an update did."""

    resolved: tuple[tuple[Path, int], ...]
    """How many imports of which files were resolved, by path."""
    moved: frozenset[Path]
    """The files that import others than before."""


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

_NO_CONFIGS: Mapping[Path, str] = MappingProxyType({})


def said(facts: Facts) -> Said:
    """What the graph needs of a file's facts."""
    declares = names(facts.language, facts.symbols)
    return Said(facts.language, facts.imports, tuple(sorted(declares)))


def graph(files: Mapping[Path, Said], tree: Tree) -> Graph:
    """The import graph of these files, which are among the tree's."""
    tree = _with_declared(files, tree)
    made: dict[Family, Resolver] = {}
    found: dict[Path, Resolved] = {}
    for path, one in files.items():
        family = family_of(one.language)
        if family is not None and one.imports:
            found[path] = resolved(_made(made, family, tree), path, one.imports)
    return _assembled(files, tree, found, made)


def restored(files: Mapping[Path, Said], tree: Tree, found: Mapping[Path, Resolved]) -> Graph:
    """The graph that `graph` makes of these files, from its `resolved`. Nothing is resolved.

    That they belong together is the caller's to know: the same files, configuration and
    standard library, and the same version of this package.
    """
    return _assembled(files, _with_declared(files, tree), found, {})


def updated(
    before: Graph,
    changed: Mapping[Path, Said],
    gone: Collection[Path] = (),
    configs: Mapping[Path, str] = _NO_CONFIGS,
) -> tuple[Graph, Work]:
    """The graph after some files appeared or changed and others went, and what it cost.

    No path is in both. `configs` has the text of each changed file that configures resolution:
    what was known of the changed and the gone ones is forgotten.
    """
    tree, change = _changed(before, changed, gone, configs)
    files = revised(before.said, changed, gone)
    made = dict(before.resolvers)
    shifts = _shifted(before, change, tree, made)
    anew: dict[Path, Resolved] = {}
    silent = set(gone)
    counts: dict[Path, int] = {}
    for path, one in changed.items():
        family = family_of(one.language)
        old = before.said.get(path)
        if family is None or not one.imports:
            silent.add(path)
        elif old is None or not _is_alike(old, one):
            anew[path] = resolved(_made(made, family, tree), path, one.imports)
            counts[path] = len(one.imports)
    near = {source for path in gone for source in before.importers.get(path, ())}
    for path, met in _met(before, files, shifts, near):
        if path not in silent and path not in counts:
            known = before.resolved[path]
            anew[path], counts[path] = _asked(met, path, files[path], known, gone)
    found = revised(before.resolved, anew, silent)
    moved = {
        path: targets
        for path in (*changed, *counts, *gone)
        if (targets := _targets(path, files.get(path), found.get(path)))
        != before.imports.get(path, ())
    }
    imports, importers = _patched(before, moved)
    work = Work(tuple(sorted((path, n) for path, n in counts.items() if n)), frozenset(moved))
    return Graph(imports, importers, files, found, tree, made), work


def edges(graph: Graph) -> tuple[Edge, ...]:
    """Those of `imports` with their kinds, sorted."""
    kinds: dict[tuple[Path, Path], ImportKind] = {}
    for source, found, target in _pairs(graph):
        if found.kind is not ImportKind.MOCK:
            # No interpreter runs a stub, whatever its imports look like.
            kind = ImportKind.TYPE if source.endswith(".pyi") else found.kind
            known = kinds.get((source, target), kind)
            kinds[source, target] = min(known, kind, key=_STRENGTH.index)
    return tuple(sorted(Edge(*pair, kind) for pair, kind in kinds.items()))


def mocks(graph: Graph) -> tuple[Edge, ...]:
    """What mocks name, sorted."""
    named = {
        Edge(source, target, found.kind)
        for source, found, target in _pairs(graph)
        if found.kind is ImportKind.MOCK
    }
    return tuple(sorted(named))


def unresolved(graph: Graph) -> Mapping[Path, tuple[Unresolved, ...]]:
    """The imports without a target, by file, sorted by path."""
    result: dict[Path, tuple[Unresolved, ...]] = {}
    for path in sorted(graph.resolved):
        failed = tuple(
            Unresolved(found, resolution.external)
            for found, resolution in _outcomes(graph, path)
            if resolution.external is not None and found.kind is not ImportKind.MOCK
        )
        if failed:
            result[path] = failed
    return result


def rates(graph: Graph) -> Mapping[str, Rate]:
    """What became of the imports, by the language of the importing file, sorted."""
    fates = Counter[tuple[str, str]]()
    for path in graph.resolved:
        language = graph.said[path].language
        for found, resolution in _outcomes(graph, path):
            if found.kind is not ImportKind.MOCK:
                fates[language, _fate(resolution.external)] += 1
    return {
        language: Rate(
            resolved=fates[language, "resolved"],
            external=fates[language, "external"],
            unresolved=fates[language, "unresolved"],
        )
        for language in sorted({language for language, _ in fates})
    }


def is_elsewhere(external: External) -> bool:
    """Whether an import rightly leads out of the workspace, rather than failing."""
    return external in _ELSEWHERE


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


def _outcomes(graph: Graph, path: Path) -> Iterator[tuple[Import, Resolution]]:
    return zip(graph.said[path].imports, graph.resolved[path].resolutions, strict=True)


def _pairs(graph: Graph) -> Iterator[tuple[Path, Import, Path]]:
    """Every source, import and target."""
    for path in graph.resolved:
        for found, resolution in _outcomes(graph, path):
            for target in resolution.targets:
                if target != path:
                    yield path, found, target


def _fate(external: External | None) -> str:
    if external is None:
        return "resolved"
    return "external" if is_elsewhere(external) else "unresolved"


def _made(made: dict[Family, Resolver], family: Family, tree: Tree) -> Resolver:
    """The resolver of a family; it is made when it is first needed."""
    if family not in made:
        made[family] = resolver(family, tree)
    return made[family]


def _with_declared(files: Mapping[Path, Said], tree: Tree) -> Tree:
    new = ((path, one.language, name) for path, one in files.items() for name in one.declares)
    return replace(tree, declared=declared({}, (), new))


def _assembled(
    files: Mapping[Path, Said],
    tree: Tree,
    found: Mapping[Path, Resolved],
    made: Mapping[Family, Resolver],
) -> Graph:
    imports = {
        path: targets
        for path, one in found.items()
        if (targets := _targets(path, files[path], one))
    }
    importers: dict[Path, list[Path]] = {}
    for path in sorted(imports):
        for target in imports[path]:
            importers.setdefault(target, []).append(path)
    return Graph(
        imports=imports,
        importers={path: tuple(sources) for path, sources in importers.items()},
        said=files,
        resolved=found,
        tree=tree,
        resolvers=made,
    )


def _targets(path: Path, said: Said | None, found: Resolved | None) -> tuple[Path, ...]:
    """The other files that a file imports, sorted."""
    if said is None or found is None:
        return ()
    targets: set[Path] = set()
    for one, resolution in zip(said.imports, found.resolutions, strict=True):
        if resolution.targets and one.kind is not ImportKind.MOCK:
            targets.update(resolution.targets)
    targets.discard(path)
    return tuple(sorted(targets))


def _is_alike(old: Said, new: Said) -> bool:
    """Whether two texts of a file import the same, on whichever lines."""
    if old.language != new.language or len(old.imports) != len(new.imports):
        return False
    return all(
        (a.specifier, a.level, a.names, a.kind) == (b.specifier, b.level, b.names, b.kind)
        for a, b in zip(old.imports, new.imports, strict=True)
    )


def _changed(
    before: Graph,
    changed: Mapping[Path, Said],
    gone: Collection[Path],
    configs: Mapping[Path, str],
) -> tuple[Tree, Change]:
    """The next tree, and what resolvers may have to know of its differences."""
    tree = before.tree
    appeared = set(changed).difference(tree.paths)
    vanished = tree.paths.intersection(gone)
    if appeared or vanished:
        tree = replace(tree, paths=(tree.paths | appeared) - vanished)
    edited = {path for path in (*changed, *gone) if tree.configs.get(path) != configs.get(path)}
    if edited:
        rest = {path: text for path, text in tree.configs.items() if path not in edited}
        now = {path: configs[path] for path in edited if path in configs}
        tree = replace(tree, configs={**rest, **now})
    old, new = set[Declaration](), set[Declaration]()
    for path in (*changed, *gone):
        old |= _declarations(path, before.said.get(path))
        new |= _declarations(path, changed.get(path))
    if old != new:
        tree = replace(tree, declared=declared(tree.declared, old - new, new - old))
    differing: dict[str, set[str]] = {}
    for _, language, name in old ^ new:
        differing.setdefault(language, set()).add(name)
    return tree, Change(
        paths=frozenset(appeared | vanished),
        configs=frozenset(edited),
        declared={language: frozenset(found) for language, found in differing.items()},
    )


def _declarations(path: Path, said: Said | None) -> set[Declaration]:
    return set() if said is None else {(path, said.language, name) for name in said.declares}


def _shifted(
    before: Graph, change: Change, tree: Tree, made: dict[Family, Resolver]
) -> Mapping[Family, Shift]:
    """What a change means for each family that it concerns; `made` gets the next resolvers."""
    concerned = [family for family in Family if concerns(change, family)]
    if not concerned:
        return {}
    files = copied(before.said)
    present = {family_of(files[path].language) for path in before.resolved}
    shifts: dict[Family, Shift] = {}
    for family in concerned:
        old = made.pop(family, None)
        if family in present:
            old = resolver(family, before.tree) if old is None else old
            made[family] = next_resolver(old, family, change, tree)
            shifts[family] = shift(old, made[family], change)
    return shifts


def _met(
    before: Graph, files: Mapping[Path, Said], shifts: Mapping[Family, Shift], near: Set[Path]
) -> Iterator[tuple[Path, Shift]]:
    """The files that were there before and of which some import may lead elsewhere."""
    if not shifts:
        return
    # Asked of each: a dict answers sooner.
    files = copied(files)
    for path, known in before.resolved.items():
        family = family_of(files[path].language) if path in files else None
        met = shifts.get(family) if family is not None else None
        if met is not None and (
            path in near or not met.names.isdisjoint(known.keys) or met.asks_all_of(path)
        ):
            yield path, met


def _asked(
    shift: Shift, path: Path, said: Said, known: Resolved, gone: Collection[Path]
) -> tuple[Resolved, int]:
    """A file's imports with those resolved again that may lead elsewhere, and their number."""
    if shift.asks_all_of(path):
        return resolved(shift.after, path, said.imports), len(said.imports)
    resolutions: list[Resolution] = []
    keys = set[str]()
    n = 0
    for found, resolution in zip(said.imports, known.resolutions, strict=True):
        now, own = resolution, keys_of(shift.before, path, found)
        if not shift.names.isdisjoint(own) or any(at in gone for at in resolution.targets):
            now, own = traced(shift.after, path, found)
            n += 1
        resolutions.append(now)
        keys.update(own)
    return Resolved(tuple(resolutions), tuple(sorted(keys))), n


def _patched(
    before: Graph, moved: Mapping[Path, tuple[Path, ...]]
) -> tuple[Mapping[Path, tuple[Path, ...]], Mapping[Path, tuple[Path, ...]]]:
    """The edges in both directions after some files import others than before."""
    if not moved:
        return before.imports, before.importers
    lost: dict[Path, set[Path]] = {}
    won: dict[Path, set[Path]] = {}
    for path, targets in moved.items():
        old = before.imports.get(path, ())
        for target in set(old).difference(targets):
            lost.setdefault(target, set()).add(path)
        for target in set(targets).difference(old):
            won.setdefault(target, set()).add(path)
    importers: dict[Path, tuple[Path, ...]] = {}
    for target in lost.keys() | won.keys():
        sources = set(before.importers.get(target, ()))
        sources -= lost.get(target, set())
        sources |= won.get(target, set())
        importers[target] = tuple(sorted(sources))
    return _without_empty(before.imports, moved), _without_empty(before.importers, importers)


def _without_empty(
    before: Mapping[Path, tuple[Path, ...]], changed: Mapping[Path, tuple[Path, ...]]
) -> Mapping[Path, tuple[Path, ...]]:
    """The edges in one direction with these, of which those of no end are left out."""
    ends = {path: others for path, others in changed.items() if others}
    return revised(before, ends, changed.keys() - ends.keys())
