"""JavaScript and TypeScript imports, as TypeScript's "bundler" resolution finds their files.

How it works: what configuration says is read once and kept by directory (`Scope`); an import
then has candidates, best first, and the first one that names a file of code wins. In order:
relative paths; `paths` and `baseUrl` of the ruling configuration; aliases of bundlers; `#names`
of `imports`; the package's own name; linked packages of the workspace; `paths` of
configurations further up. What a package would only have after a build is guessed back to its
source, last of all.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from contextpack.model import Import, ImportKind, Path
from contextpack.resolve import bundlers, tsconfig
from contextpack.resolve.bundlers import Alias
from contextpack.resolve.extensions import Files
from contextpack.resolve.packages import (
    NAME,
    NO_LINKS,
    PNPM,
    Links,
    Package,
    Packages,
    Target,
    packages,
    split,
    targets,
)
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree, below, directories_of, joined, parent
from contextpack.resolve.tsconfig import Compiler

_CODE = re.compile(r"\.(?:[cm]?[jt]sx?|vue|svelte|astro)$")
_COMPILER_CONFIG = re.compile(r"(?:[tj]sconfig|(?:typescript|ts)-config)[^/]*(?:/.*)?\.json$")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Files that a workspace's index does not hold, because they are no text.
_BINARY = re.compile(
    r"\.(?:png|jpe?g|gif|webp|avif|ico|bmp|woff2?|ttf|otf|eot|mp[34]|webm|ogg|wav|pdf|wasm|node|zip)$"
)
_BUILT = frozenset(
    {
        "dist", "build", "built", "lib", "libs", "out", "output", "es", "esm", "cjs", "mjs",
        "umd", "types", "module", "commonjs", "esnext", "node", "browser", "prod", "dev",
        "release",
    }
)  # fmt: skip
_BUILT_NAME = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$")
MAX_CUT = 5  # Directories of a build in a row.
_SOURCES = ("src", "source", "lib", "")
# https://nodejs.org/api/module.html#modulebuiltinmodules
_BUILTIN = frozenset(
    {
        "assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants",
        "crypto", "dgram", "diagnostics_channel", "dns", "domain", "events", "fs", "http",
        "http2", "https", "inspector", "module", "net", "os", "path", "perf_hooks", "process",
        "punycode", "querystring", "readline", "repl", "stream", "string_decoder", "sys",
        "timers", "tls", "trace_events", "tty", "url", "util", "v8", "vm", "wasi",
        "worker_threads", "zlib",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scope:
    """What configuration says of the imports in one directory. Nearest first, everywhere."""

    compilers: tuple[Compiler, ...]
    aliases: tuple[Alias, ...]
    package: Package | None
    links: tuple[Links, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """What all configuration files of a workspace say, before it is spread over directories."""

    projects: Mapping[Path, tsconfig.Project]
    aliases: Mapping[Path, tuple[Alias, ...]]
    packages: Packages


_NO_SCOPE = Scope((), (), None, ())
_NO_COMPILER = Compiler()


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the JS and TS imports of one workspace."""

    files: Files
    others: frozenset[Path]
    """Files of the workspace that are no code."""
    scopes: Mapping[Path, Scope]
    """By directory, for each that holds code."""
    ruling: Mapping[Path, Compiler]
    """By file, where a referenced configuration rules it rather than the nearest one."""
    layout: Layout

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The file that a specifier names; two when a package has code and declarations apart."""
        return self.traced(path, found)[0]

    def traced(self, path: Path, found: Import) -> tuple[Resolution, tuple[Path, ...]]:
        """Where an import leads, and the places that were looked at: its keys.

        A place stands with and without its extension. While the scope stays equal and nothing
        comes or goes that `names_of` calls by one of them, the import leads where it did.
        """
        if found.kind is ImportKind.COMPUTED:
            return Resolution(external=External.DYNAMIC), ()
        seen: list[Path] = []
        return self._resolved(path, found, seen), tuple(seen)

    def _resolved(self, path: Path, found: Import, seen: list[Path]) -> Resolution:
        specifier = _plain(found.specifier)
        scope = self.scope(path)
        suffixes = scope.compilers[0].module_suffixes
        for candidate in self._candidates(path, scope, specifier, found.kind):
            if candidate.at is None:
                continue
            for at in (candidate.at, *candidate.types):
                if at is not None:
                    stem = _BUILT_NAME.sub("", at)
                    seen.append(at)
                    seen.extend(stem + suffix for suffix in suffixes if stem + suffix != at)
            if candidate.has_extension:
                named = self.files.named(candidate.at, suffixes)
                if named is not None:
                    ways = (at for at in candidate.types if at is not None)
                    typed = (self.files.named(at, suffixes) for at in ways)
                    types = next((at for at in typed if at is not None), named)
                    return Resolution(tuple(dict.fromkeys((named, types))))
            elif candidate.is_directory:
                if entries := self.files.directory(candidate.at, suffixes):
                    return Resolution(entries)
            elif modules := self.files.module(candidate.at, suffixes):
                return Resolution(modules)
        return Resolution(external=self._reason(path, scope, specifier, found.kind))

    def scope(self, path: Path) -> Scope:
        """Everything that configuration says of the imports in a file."""
        scope = self.scopes.get(parent(path), _NO_SCOPE)
        ruling = self.ruling.get(path)
        if ruling is not None:
            return Scope(
                (ruling, *scope.compilers[1:]), scope.aliases, scope.package, scope.links
            )
        if not scope.compilers:
            return Scope((_NO_COMPILER,), scope.aliases, scope.package, scope.links)
        return scope

    def names_of(self, path: Path) -> set[Path]:
        """The places that may be meant when this file is: without extensions, as an entry."""
        names = {path}
        directory, _, name = path.rpartition("/")
        if name == NAME or name.startswith("index"):
            names.add(directory)
        while name := name.rpartition(".")[0]:
            names.add(below(directory, name))
        for around in directories_of(path):
            package = self.files.packages.get(around)
            if package is not None and _may_be_entry(package, path):
                names.add(around)
        return names

    def _candidates(
        self, path: Path, scope: Scope, specifier: str, kind: ImportKind
    ) -> "Iterator[_Candidate]":
        compiler = scope.compilers[0]
        if specifier.startswith("."):
            yield from _relative(path, specifier, compiler)
            return
        is_mapped, mapped = _mapped(compiler, specifier)
        yield from map(_Candidate, mapped)
        if compiler.base_url is not None and not is_mapped and not specifier.startswith("/"):
            yield _Candidate(joined(compiler.base_url, specifier))
        yield from map(_Candidate, _aliased(scope.aliases, specifier))
        if specifier.startswith("/"):
            yield _Candidate(joined("", specifier))
            if scope.package is not None:
                yield _Candidate(joined(scope.package.directory, specifier))
            return
        if not _is_builtin(specifier):
            yield from _packaged(scope, specifier, kind)
        for further in scope.compilers[1:]:
            yield from map(_Candidate, _mapped(further, specifier)[1])
        if not _is_builtin(specifier):
            yield from _guessed(scope, specifier)

    def _reason(self, path: Path, scope: Scope, specifier: str, kind: ImportKind) -> External:
        candidates = [c.at for c in self._candidates(path, scope, specifier, kind)]
        places = [at for at in candidates if at is not None]
        if any(at in self.others or f"{at}.json" in self.others for at in places):
            return External.ASSET
        if not places and candidates:
            return External.OUTSIDE
        if not specifier or specifier.startswith((".", "/")):
            return External.ASSET if _BINARY.search(specifier.lower()) else External.MISSING
        if _is_builtin(specifier):
            return External.STANDARD_LIBRARY
        if _SCHEME.match(specifier):
            return External.PACKAGE
        if specifier.startswith("#"):
            mapped = targets(scope.package.imports, specifier) if scope.package else None
            is_package = any(not t.path.startswith((".", "#")) for t in mapped or ())
            return External.PACKAGE if is_package else External.MISSING
        name, _ = split(specifier)
        if _linked(scope, name) is not None:
            return External.MISSING
        is_ours = bool(_aliased(scope.aliases, specifier)) or any(
            prefix and specifier.startswith(prefix) and specifier.endswith(suffix)
            for prefix, suffix, _ in scope.compilers[0].paths.patterns
        )
        if not is_ours or (scope.package and name in dict(scope.package.dependencies)):
            return External.PACKAGE
        return External.ASSET if _BINARY.search(specifier.lower()) else External.MISSING


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A place that an import may mean. It is None when it lies out of the root."""

    at: Path | None
    has_extension: bool = False
    is_directory: bool = False
    types: tuple[Path | None, ...] = ()
    """Where its declarations may be when they are another file."""


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    found = packages(tree.configs)
    texts = {path: text for path, text in tree.configs.items() if _COMPILER_CONFIG.search(path)}
    layout = Layout(
        projects=tsconfig.projects(
            texts, lambda config, name: _extended(config, name, found, texts)
        ),
        aliases=bundlers.aliases(tree.configs, found.by_directory),
        packages=found,
    )
    nothing = Resolver(Files(frozenset(), found.by_directory), frozenset(), {}, {}, layout)
    return with_files(nothing, tree, tree.paths)


def with_files(before: Resolver, tree: Tree, paths: Iterable[Path]) -> Resolver:
    """The resolver after these files came or went, and no configuration changed."""
    touched = {path for path in paths if _CODE.search(path)}
    new = touched & tree.paths
    code = (before.files.code | new) - (touched - new)
    scopes, ruling = dict(before.scopes), dict(before.ruling)
    for path in touched - new:
        ruling.pop(path, None)
    for path in new:
        _add_scopes(parent(path), scopes, before.layout)
        compilers = scopes[parent(path)].compilers
        if compilers and before.layout.projects[compilers[0].config].references:
            ruled = tsconfig.project_of(path, compilers[0].config, before.layout.projects)
            if ruled.compiler != compilers[0]:
                ruling[path] = ruled.compiler
    return replace(
        before,
        files=replace(before.files, code=code),
        others=tree.paths - code,
        scopes=scopes,
        ruling=ruling,
    )


def directories_between(before: Resolver, after: Resolver) -> frozenset[Path]:
    """The directories whose files look elsewhere in one of two workspaces."""
    return frozenset(
        directory
        for directory, scope in after.scopes.items()
        if before.scopes.get(directory) != scope
    )


def files_between(before: Resolver, after: Resolver) -> frozenset[Path]:
    """The files that another configuration rules in one of two workspaces."""
    return frozenset(
        path
        for path in before.ruling.keys() | after.ruling.keys()
        if before.ruling.get(path) != after.ruling.get(path)
    )


def is_config(path: Path) -> bool:
    """Whether resolution wants to read this file's text."""
    name = path.rpartition("/")[2]
    return (
        name in (NAME, PNPM)
        or bundlers.CONFIG.match(name) is not None
        or (name.endswith(".json") and _COMPILER_CONFIG.search(path) is not None)
    )


def _add_scopes(directory: Path, scopes: dict[Path, Scope], layout: Layout) -> None:
    """Add the scopes of a directory and of those above it, which theirs build on."""
    missing = []
    while directory not in scopes:
        missing.append(directory)
        if not directory:
            break
        directory = parent(directory)
    for at in reversed(missing):
        above = scopes[parent(at)] if at else _NO_SCOPE
        names = (below(at, name) for name in tsconfig.NAMES)
        projects = layout.projects
        own = next((projects[name].compiler for name in names if name in projects), None)
        linked = layout.packages.links.get(at, NO_LINKS)
        scopes[at] = Scope(
            compilers=(own, *above.compilers) if own is not None else above.compilers,
            aliases=layout.aliases.get(at, ()) + above.aliases,
            package=layout.packages.by_directory.get(at, above.package),
            links=(linked, *above.links) if linked else above.links,
        )


def _extended(
    config: Path, name: str, found: Packages, texts: Mapping[Path, str]
) -> Path | None:
    """The configuration that a package of the workspace gives to be extended."""
    package_name, key = split(name)
    at: Path | None = parent(config)
    package = None
    while at is not None and package is None:
        package = found.links.get(at, NO_LINKS).get(package_name)
        at = parent(at) if at else None
    if package is None:
        return None
    written = [target.path for target in targets(package.exports or (), key) or ()]
    rest = key.removeprefix(".").removeprefix("/")
    written += [rest, f"{rest}.json", f"{rest}/tsconfig.json"]
    places = (joined(package.directory, path) for path in written)
    return next((place for place in places if place in texts), None)


def _may_be_entry(package: Package, path: Path) -> bool:
    """Whether one of the entries that a package names may mean a file."""
    for way in (package.main, package.types, *package.alternates):
        at = joined(package.directory, way) if way else None
        if at is not None and path.startswith(_BUILT_NAME.sub("", at)):
            return True
    return False


def _plain(specifier: str) -> str:
    """A specifier without the loaders in front of it and the query behind."""
    last = specifier.rpartition("!")[2]
    return (last or specifier).partition("?")[0]


def _is_builtin(specifier: str) -> bool:
    return specifier.startswith("node:") or specifier.partition("/")[0] in _BUILTIN


def _relative(path: Path, specifier: str, compiler: Compiler) -> Iterator[_Candidate]:
    at = joined(parent(path), specifier)
    is_directory = specifier.rpartition("/")[2] in ("", ".", "..")
    yield _Candidate(at, is_directory=is_directory)
    for root in compiler.root_dirs if at is not None else ():
        start = f"{root}/" if root else ""
        if at is not None and at.startswith(start):
            for other in compiler.root_dirs:
                yield _Candidate(joined(other, at[len(start) :]), is_directory=is_directory)


def _mapped(compiler: Compiler, specifier: str) -> tuple[bool, list[Path | None]]:
    """Whether `paths` speaks of a specifier, and where it says to look."""
    for name, places in compiler.paths.exact:
        if name == specifier:
            return True, list(places)
    for prefix, suffix, places in compiler.paths.patterns:
        if (
            specifier.startswith(prefix)
            and specifier.endswith(suffix)
            and len(specifier) >= len(prefix) + len(suffix)
        ):
            middle = specifier[len(prefix) : len(specifier) - len(suffix)]
            return True, [
                joined("", place.replace("*", middle, 1)) if place is not None else None
                for place in places
            ]
    return False, []


def _aliased(aliases: tuple[Alias, ...], specifier: str) -> list[Path | None]:
    result: list[Path | None] = []
    for alias in aliases:
        if specifier == alias.name:
            result.extend(alias.targets)
        elif specifier.startswith(alias.name + "/") and not alias.is_exact:
            rest = specifier[len(alias.name) + 1 :]
            result.extend(joined(target, rest) for target in alias.targets)
    return result


def _linked(scope: Scope, name: str) -> Package | None:
    return next((links[name] for links in scope.links if name in links), None)


@dataclass(frozen=True, slots=True)
class _Named:
    """A package that a specifier names, and what its maps say of the rest."""

    package: Package
    key: str
    targets: tuple[Target, ...] | None
    """None when it has no `exports`, so that its files are free to be named."""


def _named(scope: Scope, specifier: str, conditions: frozenset[str] | None) -> Iterator[_Named]:
    """The packages to look in: the file's own, then a linked one.

    `imports` may lead to a package by its name: under these conditions, or under any.
    """
    own = scope.package
    if specifier.startswith("#"):
        found = targets(own.imports, specifier) if own is not None else None
        if own is not None and found is not None:
            yield _Named(own, specifier, found)
            for target in found:
                is_active = conditions is None or conditions.issuperset(target.conditions)
                if is_active and not target.path.startswith((".", "/", "#")):
                    yield from _named(scope, target.path, conditions)
        return
    name, key = split(specifier)
    if own is not None and own.name == name and own.exports is not None:
        yield _Named(own, key, targets(own.exports, key) or ())
    linked = _linked(scope, name)
    if linked is not None:
        found = None if linked.exports is None else targets(linked.exports, key) or ()
        yield _Named(linked, key, found)


def _packaged(scope: Scope, specifier: str, kind: ImportKind) -> Iterator[_Candidate]:
    """What packages have for a specifier: code first, unless it is imported for its types."""
    mode = "require" if kind is ImportKind.REQUIRE else "import"
    running = frozenset({mode, "default", *scope.compilers[0].conditions})
    typed = running | {"types"}
    for named in _named(scope, specifier, running):
        directory = named.package.directory
        if named.targets is None:
            yield _Candidate(joined(directory, named.key), is_directory=named.key == ".")
            continue
        inside = [t for t in named.targets if t.path.startswith("./")]
        types = tuple(
            joined(directory, t.path) for t in inside if typed.issuperset(t.conditions)
        )
        for conditions in (typed,) if kind is ImportKind.TYPE else (running, typed):
            for target in inside:
                if conditions.issuperset(target.conditions):
                    at = joined(directory, target.path)
                    yield _Candidate(at, has_extension=True, types=types)


def _guessed(scope: Scope, specifier: str) -> Iterator[_Candidate]:
    """Where a package's source may be that is not built yet, then files for other conditions."""
    for named in _named(scope, specifier, None):
        package = named.package
        if named.targets is not None:
            ways = [target.path for target in named.targets if target.path.startswith("./")]
        elif named.key == ".":
            ways = [way for way in (package.main, package.types, *package.alternates) if way]
        else:
            ways = [named.key]
        for way in ways:
            yield from _unbuilt(package, way, named.key, scope.compilers[0])
        for way in ways:
            yield _Candidate(joined(package.directory, way), has_extension=True)


def _unbuilt(
    package: Package, written: str, key: str, compiler: Compiler
) -> Iterator[_Candidate]:
    """Where the source of a file may be that only a build will write."""
    at = joined(package.directory, written)
    if at is None:
        return
    if compiler.source is not None and at.startswith(compiler.source[0] + "/"):
        rest = at[len(compiler.source[0]) + 1 :]
        yield _Candidate(joined(compiler.source[1], _BUILT_NAME.sub("", rest)))
    parts = _BUILT_NAME.sub("", written.removeprefix("./")).split("/")
    if parts[0] not in _BUILT:
        return
    # `dist/node/index.js` may come from `src/node/index.ts`, `dist/esm/index.js` does not.
    for n_cut in range(1, min(len(parts), MAX_CUT)):
        for source in _SOURCES:
            yield _Candidate(joined(package.directory, "/".join((source, *parts[n_cut:]))))
        if parts[n_cut] not in _BUILT:
            break
    if key == ".":
        for name in ("index", "main", package.name.rpartition("/")[2]):
            yield _Candidate(joined(package.directory, f"src/{name}"))
