"""Python imports: relative ones by directory, absolute ones by the roots that the tree shows.

A module is looked for where the interpreter would: beside a file that is no part of a package
(a script), then in the directory above the outermost regular package that the file is in, then
in the roots that the workspace's layout declares (its own root, `src` directories, directories
of a `pyproject.toml`, `setup.py` or `setup.cfg`). The standard library wins over a root.
"""

from dataclasses import dataclass

from contextpack.model import Import, Path
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree, joined, parent

_PROJECT_FILES = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})
_SUFFIXES = (".py", ".pyi", ".pyx")


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the Python imports of one workspace."""

    paths: frozenset[Path]
    directories: frozenset[Path]
    """Every directory that holds a Python file, at any depth."""
    roots: tuple[Path, ...]
    standard_library: frozenset[str]

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The files of the modules that an import names: the module's own, then submodules'."""
        if found.level:
            return self._relative(path, found)
        top = found.specifier.partition(".")[0]
        own = parent(path)
        is_script = not self._is_package(own)
        beside = [own] if is_script else []
        for root in beside:
            if targets := self._targets(root, found):
                return Resolution(targets)
        if top in self.standard_library:
            return Resolution(external=External.STANDARD_LIBRARY)
        for root in (self._above_package(own), *self.roots):
            if targets := self._targets(root, found):
                return Resolution(targets)
        is_own = any(self._exists(_below(root, top)) for root in self.roots)
        return Resolution(external=External.MISSING if is_own else External.PACKAGE)

    def _relative(self, path: Path, found: Import) -> Resolution:
        base = joined(parent(path), "/".join([".."] * (found.level - 1)))
        if base is None:
            return Resolution(external=External.MISSING)
        if not found.specifier:
            package = self._module(base)
            submodules = [
                self._module(_below(base, name)) for name in found.names if name != "*"
            ]
            targets = tuple(target for target in (package, *submodules) if target)
        else:
            targets = self._targets(base, found)
        return Resolution(targets) if targets else Resolution(external=External.MISSING)

    def _targets(self, root: Path, found: Import) -> tuple[Path, ...]:
        at = _below(root, found.specifier.replace(".", "/"))
        module = self._module(at)
        if module is None and at not in self.directories:
            return ()
        submodules = [self._module(_below(at, name)) for name in found.names if name != "*"]
        return tuple(dict.fromkeys(t for t in (module, *submodules) if t))

    def _module(self, at: Path) -> Path | None:
        for suffix in _SUFFIXES:
            package = _below(at, "__init__" + suffix)
            if package in self.paths:
                return package
        for suffix in _SUFFIXES:
            if at + suffix in self.paths:
                return at + suffix
        return None

    def _exists(self, at: Path) -> bool:
        return at in self.directories or self._module(at) is not None

    def _is_package(self, directory: Path) -> bool:
        return _below(directory, "__init__.py") in self.paths

    def _above_package(self, directory: Path) -> Path:
        while directory and self._is_package(directory):
            directory = parent(directory)
        return directory


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    python = [path for path in tree.paths if path.endswith(_SUFFIXES)]
    directories = set[Path]()
    for path in python:
        directory = parent(path)
        while directory not in directories:
            directories.add(directory)
            directory = parent(directory)
    projects = {
        parent(path) for path in tree.paths if path.rpartition("/")[2] in _PROJECT_FILES
    }
    projects.add("")
    roots = sorted(
        {_below(project, "src") for project in projects} & directories | projects,
        key=lambda root: (root.count("/") + bool(root), root),
    )
    return Resolver(
        paths=frozenset(python),
        directories=frozenset(directories),
        roots=tuple(roots),
        standard_library=tree.standard_library,
    )


def _below(directory: Path, name: str) -> Path:
    return f"{directory}/{name}" if directory else name
