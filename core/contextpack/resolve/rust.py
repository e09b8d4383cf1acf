"""Rust imports: a path names a module, and a module is a file or stands in one.

*Where modules are.* A crate's modules lie below the directory of its root file: `crate::a::b` is
`a/b.rs` or `a/b/mod.rs`, else it stands in `a.rs` and so on up to the root file. So an edge goes
to the file of the deepest module of a path; what a module re-exports is not followed. A `mod x;`
names its file itself. A file that only a `#[path]` elsewhere makes a module keeps the place that
its own path says.

*Where crates are* is said by `manifest`: each package's targets, and which names of other crates
its manifest declares. A workspace without a `Cargo.toml` has a crate wherever a `lib.rs` or a
`main.rs` lies.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from contextpack.model import Import, Path
from contextpack.resolve.manifest import Package, is_manifest, packages
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import (
    ANY_FILE,
    Tree,
    below,
    directories_of,
    joined,
    parent,
)

_STANDARD_LIBRARY = frozenset({"std", "core", "alloc", "proc_macro", "test"})
_ROOT_NAMES = ("lib.rs", "main.rs")
# Directories of which each file is a crate of its own, below a package's.
_TARGET_DIRECTORIES = ("src/bin", "tests", "examples", "benches")

MAX_PARTS = 64  # Of a path; more are data.


@dataclass(frozen=True, slots=True)
class _Place:
    """A module: the directory that its crate's paths begin in, and its own path from there."""

    base: Path
    segments: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the Rust imports of one workspace."""

    paths: frozenset[Path]
    packages: Mapping[Path, Package]
    """By the directory of their manifests."""
    bases: Mapping[Path, Path | None]
    """The directories in which the paths of crates begin, with the root file where it is sure."""
    roots: frozenset[Path]
    """The root files of crates."""
    root_names: frozenset[str]
    """What a file is called that may be one."""

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The file of the deepest module that a path names; its own for a name in scope."""
        kind, _, rest = found.specifier.partition(" ")
        if kind == "mod":
            return self._declared(path, found.names, rest)
        parts = found.specifier.split("::")[:MAX_PARTS]
        if parts[-1] == "*":
            parts.pop()
        place = self._place(path)
        here = (*place.segments, *found.names)
        match parts[0] if parts else "":
            case "crate" | "$crate":
                return Resolution((self._deepest(place, tuple(parts[1:])),))
            case "self" | "super":
                at = list(here)
                for n, part in enumerate(parts):
                    if part == "super":
                        if not at:
                            return Resolution(external=External.MISSING)
                        at.pop()
                    elif part != "self":
                        at.extend(parts[n:])
                        break
                return Resolution((self._deepest(place, tuple(at)),))
            case "" if len(parts) > 1:
                return self._in_crate(path, parts[1:]) or self._unknown(place, parts[1:])
            case _:
                return (
                    self._in_crate(path, parts)
                    or self._in_module(place, here, parts)
                    or self._unknown(place, parts)
                )

    def keys_of(self, found: Import) -> frozenset[str]:
        """Each part may be a module's file or directory; files that hold modules around it count.

        A `super` out of the file leads to the file around it, which the import does not name:
        any file may be that.
        """
        if found.specifier.startswith("mod "):
            written = found.specifier[4:].strip('"').removeprefix("r#")
            return frozenset({written.rpartition("/")[2], *_ROOT_NAMES})
        parts = found.specifier.split("::")
        n_up = parts.count("super")
        if n_up > len(found.names):
            return frozenset({ANY_FILE})
        return self.root_names.union(parts, found.names)

    def _place(self, path: Path) -> _Place:
        directories = directories_of(path)
        name = path.rpartition("/")[2]
        if path in self.roots:
            return _Place(directories[0], (), path)
        base = next((d for d in directories if d in self.bases), None)
        if base is None or (base == directories[0] and self.bases[base] is None):
            return _Place(directories[0], (), path)
        segments = path[len(base) + 1 :] if base else path
        inner = segments.split("/")[:-1]
        return _Place(
            base, tuple(inner if name == "mod.rs" else [*inner, name.removesuffix(".rs")]), path
        )

    def _module(self, base: Path, segments: tuple[str, ...]) -> Path | None:
        """The file of a module below a crate's root."""
        at = below(base, "/".join(segments))
        for candidate in (f"{at}.rs", f"{at}/mod.rs"):
            if candidate in self.paths:
                return candidate
        return None

    def _deepest(self, place: _Place, segments: tuple[str, ...]) -> Path:
        for end in range(len(segments), -1, -1):
            if segments[:end] == place.segments:
                return place.path
            if end and (module := self._module(place.base, segments[:end])):
                return module
        return self.bases.get(place.base) or place.path

    def _declared(self, path: Path, inline: tuple[str, ...], written: str) -> Resolution:
        """The file of a `mod x;`."""
        directory, _, name = path.rpartition("/")
        own = below(directory, name.removesuffix(".rs"))
        # A file that is no `mod.rs` keeps its modules in the directory of its name. If a
        # `#[path]` made it a module, it keeps them beside itself.
        is_top = name == "mod.rs" or path in self.roots or not self._place(path).segments
        directories = [directory] if is_top else [own, directory]
        if written.startswith('"'):
            start = below(directories[0], "/".join(inline)) if inline else directory
            at = joined(start, written.strip('"').replace("\\", "/"))
            if at is None:
                return Resolution(external=External.OUTSIDE)
            return (
                Resolution((at,)) if at in self.paths else Resolution(external=External.MISSING)
            )
        module = written.removeprefix("r#")
        for start in directories:
            target = self._module(start, (*inline, module))
            if target is not None and target != path:
                return Resolution((target,))
        return Resolution(external=External.MISSING)

    def _package(self, path: Path) -> Package | None:
        return next(
            (self.packages[d] for d in directories_of(path) if d in self.packages), None
        )

    def _in_crate(self, path: Path, parts: list[str]) -> Resolution | None:
        """What a path names in a crate that the importer's manifest declares."""
        package = self._package(path)
        if package is None:
            return None
        name = parts[0].removeprefix("r#")
        if name in package.dependencies:
            directory = package.dependencies[name]
            if directory is None:
                return Resolution(external=External.PACKAGE)
            if directory == "..":
                return Resolution(external=External.OUTSIDE)
            other = self.packages.get(directory)
            library = other.crate_root if other is not None else None
            if library is None:
                return Resolution(external=External.MISSING)
        elif name == package.name and package.crate_root and path != package.crate_root:
            library = package.crate_root
        else:
            return None
        place = _Place(parent(library), (), library)
        return Resolution((self._deepest(place, tuple(parts[1:])),))

    def _in_module(
        self, place: _Place, here: tuple[str, ...], parts: list[str]
    ) -> Resolution | None:
        """What a path names from the module that it stands in (in 2015, from the crate's root)."""
        package = self._package(place.path)
        starts = [here]
        if package is not None and package.is_2015:
            starts.append(())
        for start in starts:
            if self._module(place.base, (*start, parts[0])):
                return Resolution((self._deepest(place, (*start, *parts)),))
        return None

    def _unknown(self, place: _Place, parts: list[str]) -> Resolution:
        if parts[0] in _STANDARD_LIBRARY:
            return Resolution(external=External.STANDARD_LIBRARY)
        # What no manifest declares is a name in scope: an enum, an inline module, another `use`.
        if parts[0][:1].isupper() or self._package(place.path) is not None:
            return Resolution((place.path,))
        return Resolution(external=External.PACKAGE)


def is_seen(path: Path) -> bool:
    """Whether a file may matter to Rust's imports by being there."""
    return path.endswith(".rs") or is_manifest(path)


def names_of(path: Path) -> frozenset[str]:
    """The names by which imports mean a file: as a file, and as a module."""
    directory, _, name = path.rpartition("/")
    module = directory.rpartition("/")[2] if name == "mod.rs" else name.removesuffix(".rs")
    return frozenset({name, module, ANY_FILE})


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    paths = frozenset(path for path in tree.paths if path.endswith(".rs"))
    found = packages(tree)
    bases: dict[Path, Path | None] = {}
    roots = set[Path]()
    for directory, package in found.items():
        for target in package.targets:
            if target in paths:
                bases.setdefault(parent(target), target)
                roots.add(target)
        for name in _ROOT_NAMES:
            root = below(directory, f"src/{name}")
            if root in paths:
                bases.setdefault(parent(root), root)
                roots.add(root)
        for inner in _TARGET_DIRECTORIES:
            bases.setdefault(below(directory, inner), None)
        build = below(directory, "build.rs")
        if build in paths:
            bases.setdefault(directory, build)
            roots.add(build)
    for path in sorted(paths):
        directory, _, name = path.rpartition("/")
        if name not in _ROOT_NAMES:
            continue
        is_target = name == "main.rs" and bases.get(parent(directory), "") is None
        if is_target or not any(around in found for around in directories_of(path)):
            bases.setdefault(directory, path)
            roots.add(path)
    named = {target for package in found.values() for target in package.targets}
    return Resolver(
        paths=paths,
        packages=found,
        bases=bases,
        roots=frozenset(roots),
        root_names=frozenset(
            {*_ROOT_NAMES, "build.rs", *(target.rpartition("/")[2] for target in named)}
        ),
    )
