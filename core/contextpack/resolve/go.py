"""Go imports: a path names a package, which is a directory of the module that provides it.

An edge goes to every file of the package that is no test, for any platform: build constraints
are not read. Which module provides a package follows the `go` command: the importer's own
module, those that its `replace` lines and its `go.work` put in the workspace, then a `vendor`
directory around it. The longest module path that fits is taken. A nested module that nothing
refers to by path is a package from elsewhere, as it is for the `go` command.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from contextpack.model import Import, Path
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import (
    ANY_FILE,
    Tree,
    below,
    directories_of,
    joined,
    parent,
)

_CONFIG_NAMES = frozenset({"go.mod", "go.work"})


@dataclass(frozen=True, slots=True)
class Module:
    """A module, or the directory that stands for one: where its packages are."""

    name: str
    directory: Path


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the Go imports of one workspace."""

    packages: Mapping[Path, tuple[Path, ...]]
    """The files of each directory that are part of its package, by directory."""
    modules: Mapping[Path, tuple[Module, ...]]
    """By the directory of a `go.mod`: the modules that its files see, longest name first."""
    tops: Mapping[str, frozenset[str]]
    """By the name of a module: the names of the directories that it may lie in."""

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The files of the package that an import names."""
        written = found.specifier
        if written == "C":
            return Resolution(external=External.STANDARD_LIBRARY)
        around = directories_of(path)
        if written.startswith(("./", "../")) or written in (".", ".."):
            at = joined(around[0], written)
            if at is None:
                return Resolution(external=External.OUTSIDE)
            return self._package(at) or Resolution(external=External.MISSING)
        home = next((directory for directory in around if directory in self.modules), None)
        is_own = False
        for module in self.modules[home] if home is not None else ():
            at = _within(module, written)
            if at is None or self._module_around(at) != module.directory:
                continue
            if targets := self._package(at):
                return targets
            is_own = True
        for directory in around:
            at = below(directory, f"vendor/{written}")
            if targets := self._package(at):
                return targets
        if home is None:
            for directory in around:
                if directory.rpartition("/")[2] == "src" and (
                    targets := self._package(below(directory, written))
                ):
                    return targets
        if is_own:
            return Resolution(external=External.MISSING)
        is_standard = "." not in written.partition("/")[0]
        return Resolution(
            external=External.STANDARD_LIBRARY if is_standard else External.PACKAGE
        )

    def keys_of(self, found: Import) -> frozenset[str]:
        """The directory that holds the package: its name, which is the last of the path's.

        A package at the top of a module is in the module's directory, whatever its name.
        """
        written = found.specifier
        last = written.rpartition("/")[2]
        if last in (".", ".."):
            return frozenset({ANY_FILE})
        return frozenset({last, *self.tops.get(written, ())})

    def _package(self, directory: Path) -> Resolution | None:
        files = self.packages.get(directory)
        return Resolution(files) if files else None

    def _module_around(self, directory: Path) -> Path | None:
        while directory not in self.modules:
            if not directory:
                return None
            directory = parent(directory)
        return directory


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    packages: dict[Path, list[Path]] = {}
    for path in sorted(tree.paths):
        directory, _, name = path.rpartition("/")
        if (
            name.endswith(".go")
            and not name.endswith("_test.go")
            and not name.startswith(("_", "."))
        ):
            packages.setdefault(directory, []).append(path)
    modules = _modules(tree.configs)
    tops: dict[str, set[str]] = {}
    for module in (each for seen in modules.values() for each in seen):
        tops.setdefault(module.name, set()).add(module.directory.rpartition("/")[2])
    return Resolver(
        packages={directory: tuple(paths) for directory, paths in packages.items()},
        modules=modules,
        tops={name: frozenset(found) for name, found in tops.items()},
    )


def is_seen(path: Path) -> bool:
    """Whether a file may matter to Go's imports by being there."""
    return path.endswith(".go") or is_config(path)


def names_of(path: Path) -> frozenset[str]:
    """The names by which imports mean a file: its directory's."""
    return frozenset({parent(path).rpartition("/")[2], ANY_FILE})


def is_config(path: Path) -> bool:
    """Whether Go's resolution wants to read this file's text."""
    return path.rpartition("/")[2] in _CONFIG_NAMES


def _modules(configs: Mapping[Path, str]) -> Mapping[Path, tuple[Module, ...]]:
    """What each module of the workspace sees, by its directory."""
    names: dict[Path, str] = {}
    own: dict[Path, list[Module]] = {}
    works: list[tuple[Path, list[tuple[str, str]]]] = []
    for path in sorted(configs):
        directory, _, file_name = path.rpartition("/")
        if file_name not in _CONFIG_NAMES:
            continue
        lines = _directives(configs[path])
        if file_name == "go.work":
            works.append((directory, lines))
            continue
        names[directory] = next((value for word, value in lines if word == "module"), "")
        own[directory] = [Module(names[directory], directory)] if names[directory] else []
        if names[directory] == "std":  # The standard library imports itself without a prefix.
            own[directory].append(Module("", directory))
        own[directory].extend(_replaced(directory, lines))
    for directory, lines in works:
        used = [
            at
            for word, value in lines
            if word == "use" and (at := joined(directory, value)) is not None and at in own
        ]
        shared = [Module(names[at], at) for at in used if names[at]]
        shared.extend(_replaced(directory, lines))
        for at in used:
            own[at].extend(shared)
    return {
        directory: tuple(sorted(dict.fromkeys(modules), key=lambda module: -len(module.name)))
        for directory, modules in own.items()
    }


def _directives(text: str) -> list[tuple[str, str]]:
    """The lines of a `go.mod` or a `go.work` that say where modules are: word and rest."""
    result: list[tuple[str, str]] = []
    block = ""
    for written in text.splitlines():
        line = written.partition("//")[0].strip()
        word, _, rest = line.partition(" ")
        if block:
            if line == ")":
                block = ""
            elif line:
                result.append((block, line.strip('"`')))
        elif rest.strip() == "(" or line.endswith("("):
            block = line.rstrip("( \t")
        elif rest:
            result.append((word, rest.strip().strip('"`')))
    return result


def _replaced(directory: Path, lines: list[tuple[str, str]]) -> list[Module]:
    result = []
    for word, value in lines:
        name, arrow, target = value.partition("=>")
        target = target.strip().strip('"`')
        if word == "replace" and arrow and target.startswith(("./", "../")):
            at = joined(directory, target)
            if at is not None and name.split():
                result.append(Module(name.split()[0].strip('"`'), at))
    return result


def _within(module: Module, written: str) -> Path | None:
    """The directory in which a module has a package, or None when it is not the module's."""
    if not module.name:
        return below(module.directory, written)
    if written == module.name:
        return module.directory
    if written.startswith(module.name + "/"):
        return below(module.directory, written[len(module.name) + 1 :])
    return None
