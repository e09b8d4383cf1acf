"""Python imports: relative ones by directory, absolute ones along the path of the importing file.

Where an absolute import is looked for, in this order: the file's own directory when that is no
package (it is a script, or a test that pytest puts on the path); the directory above the
outermost regular package around the file; the source roots of its own distribution, then of the
others; the directories that something run puts on the path. The standard library wins over all
but a script's sibling. Along the path the first regular package or module wins, as it does for
the interpreter; directories without an `__init__` are portions of a namespace, all of them.
Source roots that hold the same regular package are portions too: the way of `pkgutil`, which
shows in the text of an `__init__` only.

To change together: `keys_of`, `names_between` and `directories_between` say when an import may
resolve differently. It keeps its resolution when its file's directory is not among the latter
and none of its keys is among the names. A name is the last part of a place (a path without its
suffix, or a directory with Python below it) that is something else than before.
"""

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace

from contextpack.model import Import, ImportKind, Path
from contextpack.resolve.python_layout import (
    CONFIG_NAMES,
    RUN_NAMES,
    UNSHIPPED,
    Project,
    projects,
)
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree, below, joined, parent

_SUFFIXES = (".py", ".pyi", ".pyx", ".pyw")
# What a name in a directory may be, best first. A stub stands for a compiled module, unless the
# source that it describes is there too.
_FORMS = (
    ("__init__", "py"),
    ("", "py"),
    ("__init__", "pyi"),
    ("", "pyi"),
    ("", "pyx"),
    ("", "pyw"),
    ("__init__", "pyx"),
    ("__init__", "pyw"),
)
_PACKAGE, _MODULE, _STUB_PACKAGE = 0, 1, 2
_STUBS = "-stubs"  # PEP 561: the suffix of a package that holds only the stubs of another.

_DOTTED = re.compile(r"\w[\w-]*(?:\.\w[\w-]*)*")


@dataclass(frozen=True, slots=True, order=True)
class Top:
    """A top-level module or package, or a portion of one."""

    root: Path
    """The source root, or the directory of the project that names another place."""
    place: Path
    """Its path without a suffix."""
    is_shipped: bool
    """Whether other distributions may import it."""
    files: tuple[Path, ...]
    """Those of the module or of the package's `__init__`: the code, then its stub."""


@dataclass(frozen=True, slots=True)
class Context:
    """All that decides where the files of one directory look, besides the names they import."""

    first: tuple[Path, ...]
    """Looked into before the source roots."""
    own_roots: tuple[Path, ...]
    """Which source roots are those of its own distribution."""
    run_roots: tuple[Path, ...]
    """Looked into last."""
    is_script: bool
    """Whether a sibling beats the standard library."""
    packages: tuple[Path, ...]
    """The regular packages among the directory and those above it."""
    portions: tuple[tuple[Path, tuple[Path, ...]], ...]
    """Of it and of those above it that are namespace packages: their portions elsewhere."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What a dotted name means."""

    file: Path | None
    directories: tuple[Path, ...]
    """Where its submodules are looked for."""
    n_files: int = 0
    """How many regular packages or modules have the name."""
    is_foreign: bool = False
    """Whether all that is known of it lies in other distributions, which have equal claims."""

    @property
    def is_contested(self) -> bool:
        return self.is_foreign and self.n_files > 1


_NOTHING = _Found(None, ())
_STANDARD = Resolution(external=External.STANDARD_LIBRARY)


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the Python imports of one workspace."""

    modules: Mapping[Path, tuple[int, Path]]
    """By the path without its suffix or `/__init__`: the form, and the file that has it."""
    directories: Set[Path]
    """Every directory that holds a Python file, at any depth."""
    roots: Set[Path]
    """The source roots."""
    tops: Mapping[str, tuple[Top, ...]]
    """What lies in the source roots, by its name."""
    contexts: Mapping[Path, Context]
    """By directory."""
    stubs: Set[Path]
    standard_library: frozenset[str]

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The files of the modules that an import names: the module's own, then submodules'."""
        resolution = self._resolved(path, found)
        if resolution.targets and path.endswith(".pyi"):  # Stubs see each other first.
            targets = (x + "i" if x + "i" in self.stubs else x for x in resolution.targets)
            return Resolution(tuple(targets))
        return resolution

    def _resolved(self, path: Path, found: Import) -> Resolution:
        if found.kind is ImportKind.DYNAMIC and not _DOTTED.fullmatch(found.specifier):
            return Resolution(external=External.DYNAMIC)
        context = self.contexts[parent(path)]
        if found.level:
            return self._relative(context, parent(path), found)
        top, *rest = found.specifier.split(".")
        if top in self.standard_library:
            siblings = context.first[:1] if context.is_script else ()
            module = self._among([below(each, top) for each in siblings])
            if module.n_files == 0:
                return _STANDARD
        else:
            module = self._top(context, top)
            if module is _NOTHING:
                module = self._top(context, top + _STUBS)
        why_not = External.MISSING if module.file else External.PACKAGE
        return self._named(self._submodule(module, rest), found.names, why_not)

    def _relative(self, context: Context, directory: Path, found: Import) -> Resolution:
        base = joined(directory, "/".join([".."] * (found.level - 1)))
        if base is None:
            return Resolution(external=External.OUTSIDE)
        form, file = self.modules.get(base, (_MODULE, None))
        rest = found.specifier.split(".") if found.specifier else []
        result = Resolution()
        for package in (
            _Found(file if form in (_PACKAGE, _STUB_PACKAGE) else None, (base,)),
            *(
                _Found(None, dirs, is_foreign=True)
                for at, dirs in context.portions
                if at == base
            ),
        ):
            module = self._submodule(package, rest)
            result = self._named(module, found.names, External.MISSING)
            if result.targets:
                break
        return result

    def _named(self, module: _Found, names: Iterable[str], why_not: External) -> Resolution:
        """The files of a module and of those of its names that are modules."""
        submodules = [self._submodule(module, [name]) for name in names if name != "*"]
        every = [each for each in (module, *submodules) if each.file]
        targets = dict.fromkeys(x.file for x in every if x.file and not x.is_contested)
        if targets:
            return Resolution(tuple(targets))
        if every:
            return Resolution(external=External.AMBIGUOUS)
        if module.directories and not submodules:
            return Resolution()  # A namespace package has no file.
        return Resolution(external=why_not)

    def _top(self, context: Context, top: str) -> _Found:
        own: list[Path] = []
        for directory in context.first:
            own.append(below(directory, top))
            if directory not in self.roots and self._is_module(own[-1]):
                return self._among(own)
        others: list[Path] = []
        for each in self.tops.get(top, ()):
            if each.root in context.own_roots:
                own.append(each.place)
            elif each.is_shipped:
                others.append(each.place)
        found = self._among([*own, *others])
        if found.file is None:
            run = [below(directory, top) for directory in context.run_roots]
            found = self._among([*own, *others, *run])
            own += run
        if others and not any(at in self.modules or at in self.directories for at in own):
            return replace(found, is_foreign=True)
        return found

    def _among(self, places: list[Path]) -> _Found:
        """What a name is that may lie at each of these paths, in order."""
        file: Path | None = None
        stub: Path | None = None
        n_files = 0
        regular: list[Path] = []
        bare: list[Path] = []
        for at in dict.fromkeys(places) if len(places) > 1 else places:
            form, found = self.modules.get(at, (_STUB_PACKAGE, None))
            if found is not None and form <= _MODULE:
                file = file or found
                n_files += 1
                if form == _PACKAGE:
                    regular.append(at)
            else:
                stub = stub or found
                if at in self.directories:
                    bare.append(at)
        if file is None and stub is None and not bare:
            return _NOTHING
        return _Found(file or stub, tuple(regular if file else bare), n_files)

    def _submodule(self, module: _Found, names: Iterable[str]) -> _Found:
        """What a dotted name is within a module."""
        for name in names:
            places = [below(each, name) for each in module.directories]
            # Most names are of classes and functions, and most modules hold no others.
            if not any(at in self.modules or at in self.directories for at in places):
                return _NOTHING
            found = self._among(places)
            module = replace(found, is_foreign=True) if module.is_foreign else found
        return module

    def _is_module(self, at: Path) -> bool:
        found = self.modules.get(at)
        return found is not None and found[0] <= _MODULE


def is_config(path: Path) -> bool:
    """Whether the text of a file says where Python code starts."""
    return path.rpartition("/")[2] in CONFIG_NAMES


def is_seen(path: Path) -> bool:
    """Whether a file may matter to Python's imports by being there."""
    return path.endswith(_SUFFIXES) or path.rpartition("/")[2] in RUN_NAMES


def keys_of(path: Path, found: Import) -> tuple[str, ...]:
    """The names that an import depends on: see the rules on top."""
    parts = found.specifier.split(".") if found.specifier else []
    if not found.level:
        return (*parts, parts[0] + _STUBS, *found.names)
    around = path.split("/")
    # The package that it starts from, which is the root if there are fewer directories.
    start = around[-1 - found.level] if found.level < len(around) else ""
    return (start, *parts, *found.names)


def names_between(before: Resolver, after: Resolver, paths: Iterable[Path]) -> frozenset[str]:
    """The names that mean something else in two workspaces; `paths` are in one of them only."""
    names = set[str]()
    if before.tops != after.tops:
        for name in before.tops.keys() | after.tops.keys():
            if before.tops.get(name) != after.tops.get(name):
                names.add(name)
    for path in paths:
        if path.endswith(_SUFFIXES):
            names.add(_placed(path)[0].rpartition("/")[2])
    names.update(at.rpartition("/")[2] for at in before.directories ^ after.directories)
    return frozenset(names)


def directories_between(before: Resolver, after: Resolver) -> frozenset[Path]:
    """The directories whose files look elsewhere in one of two workspaces."""
    roots = before.roots ^ after.roots
    if not roots and before.contexts == after.contexts:
        return frozenset()
    return frozenset(
        directory
        for directory, context in after.contexts.items()
        if before.contexts.get(directory) != context or not roots.isdisjoint(context.first)
    )


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    modules: dict[Path, tuple[int, Path]] = {}
    directories: set[Path] = {""}
    for path in tree.paths:
        if not path.endswith(_SUFFIXES):
            continue
        at, form = _placed(path)
        if at not in modules or form < modules[at][0]:
            modules[at] = (form, path)
        directory = parent(path)
        while directory not in directories:
            directories.add(directory)
            directory = parent(directory)
    found = projects(tree, directories)
    roots = {root for project in found for root in project.roots}
    tops = _tops(tree.paths, modules, directories, found)
    contexts = _contexts(modules, directories, found, tops)
    return Resolver(
        modules,
        directories,
        roots,
        tops,
        contexts,
        {path for path in tree.paths if path.endswith(".pyi")},
        tree.standard_library,
    )


def with_files(before: Resolver, tree: Tree, paths: Iterable[Path]) -> Resolver:
    """The resolver after these files came or went, and no configuration changed.

    Modules inside packages and directories decide nothing but what their own names mean, so that
    the rest can be kept; for all others it is made anew.
    """
    modules = dict(before.modules)
    touched = [path for path in paths if is_seen(path)]
    for path in touched:
        directory, _, name = path.rpartition("/")
        if name in RUN_NAMES or directory in before.roots:
            return resolver(tree)
        at, _ = _placed(path)
        if at in before.directories or directory not in before.directories:
            return resolver(tree)
        forms = [
            (form, f"{at}.{suffix}")
            for form, (stem, suffix) in enumerate(_FORMS)
            if not stem and f"{at}.{suffix}" in tree.paths
        ]
        modules.pop(at, None)
        if forms:
            modules[at] = forms[0]
    left = {directory for directory, _, _ in (at.rpartition("/") for at in modules)}
    if not {parent(path) for path in touched} <= left:
        return resolver(tree)  # A directory without Python is none.
    stubs = {path for path in touched if path.endswith(".pyi")}
    return replace(before, modules=modules, stubs=(before.stubs | stubs) - (stubs - tree.paths))


def _placed(path: Path) -> tuple[Path, int]:
    """The path of a module without its suffix, a package's directory, and the form."""
    at, _, suffix = path.rpartition(".")
    if at.endswith("__init__") and at[-9:] in ("__init__", "/__init__"):
        return at[:-9], _FORMS.index(("__init__", suffix))
    return at, _FORMS.index(("", suffix))


def _tops(
    paths: Set[Path],
    modules: Mapping[Path, tuple[int, Path]],
    directories: Set[Path],
    found: Iterable[Project],
) -> dict[str, tuple[Top, ...]]:
    owners: dict[Path, Project] = {}
    tops: dict[str, set[Top]] = {}

    def add(name: str, root: Path, place: Path, *, is_shipped: bool) -> None:
        _, file = modules.get(place, (_PACKAGE, ""))
        files = tuple(each for each in (file, file + "i") if each in paths)
        tops.setdefault(name, set()).add(Top(root, place, is_shipped, files))

    for project in found:
        for root in project.roots:
            owners.setdefault(root, project)
        for name, place in project.mounts:
            if place in directories and (place not in modules or _is_package(modules, place)):
                add(name, project.directory, place, is_shipped=project.is_shared)
    for place in modules.keys() | directories:
        root, _, name = place.rpartition("/")
        owner = owners.get(root)
        if owner is not None and place:
            is_hidden = root == owner.directory and name in UNSHIPPED
            add(name, root, place, is_shipped=owner.is_shared and not is_hidden)
    return {name: tuple(sorted(found)) for name, found in tops.items()}


def _contexts(
    modules: Mapping[Path, tuple[int, Path]],
    directories: Set[Path],
    found: Iterable[Project],
    tops: Mapping[str, tuple[Top, ...]],
) -> dict[Path, Context]:
    projects_at = {project.directory: project for project in found}
    # Code below one of these is imported, not run: a sibling is no match for the standard library.
    installed = {
        root for project in found for root in project.roots if root != project.directory
    }
    roots = {root for project in found for root in project.roots}
    contexts: dict[Path, Context] = {}
    for directory in sorted(directories):
        chain = _chain(directory)
        packages = tuple(each for each in chain if _is_package(modules, each))
        above = _above(modules, packages[0]) if packages else None
        is_package = packages[:1] == (directory,)
        first = [*(() if is_package else (directory,)), *(() if above is None else (above,))]
        around = [projects_at[each] for each in chain if each in projects_at]
        run_roots = [
            _above(modules, root) if _is_package(modules, root) else root
            for project in around
            for root in project.run_roots
        ]
        contexts[directory] = Context(
            first=tuple(dict.fromkeys(first)),
            own_roots=tuple(
                dict.fromkeys(x for each in around for x in (*each.roots, each.directory))
            ),
            run_roots=tuple(dict.fromkeys([*run_roots, ""])),
            is_script=not is_package and installed.isdisjoint(chain),
            packages=packages,
            portions=_portions(chain, packages, roots, directories, tops),
        )
    return contexts


def _portions(
    chain: tuple[Path, ...],
    packages: tuple[Path, ...],
    roots: Set[Path],
    directories: Set[Path],
    tops: Mapping[str, tuple[Top, ...]],
) -> tuple[tuple[Path, tuple[Path, ...]], ...]:
    """For each namespace package of a chain of directories, its portions in other roots."""
    root = next((each for each in chain if each in roots), None)
    result = []
    for place in chain:
        if root is None or place == root:
            break
        if place in packages:
            continue
        top, _, rest = place[len(root) :].lstrip("/").partition("/")
        elsewhere = [
            below(each.place, rest) if rest else each.place
            for each in tops.get(top, ())
            if each.root != root and each.is_shipped
        ]
        if found := tuple(each for each in elsewhere if each in directories):
            result.append((place, found))
    return tuple(result)


def _chain(directory: Path) -> tuple[Path, ...]:
    """A directory and those above it, up to the root of the workspace."""
    result = [directory]
    while result[-1]:
        result.append(parent(result[-1]))
    return tuple(result)


def _is_package(modules: Mapping[Path, tuple[int, Path]], directory: Path) -> bool:
    found = modules.get(directory)
    return found is not None and found[1].startswith(
        "__init__.", len(directory) + bool(directory)
    )


def _above(modules: Mapping[Path, tuple[int, Path]], directory: Path) -> Path:
    """The directory above the outermost package around a package."""
    while directory and _is_package(modules, directory):
        directory = parent(directory)
    return directory
