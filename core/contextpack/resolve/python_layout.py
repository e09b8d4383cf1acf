"""Where the Python code of a workspace starts: what its packaging files and test set-up say.

A *source root* is a directory whose packages a distribution installs, so that the whole
workspace may import them. A *run root* is a directory that something run below it puts on the
path (pytest for a `conftest.py`, a script for its own directory): it counts for files below it.
Files are read as text, never run; what cannot be read says nothing.
"""

import re
import tomllib
from collections.abc import Mapping, Set
from dataclasses import dataclass

from contextpack.model import Path
from contextpack.resolve.tree import Tree, below, joined, parent

CONFIG_NAMES = frozenset({"pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini"})

# Someone runs something in a directory that holds one of these.
RUN_NAMES = CONFIG_NAMES | {
    "conftest.py",
    "manage.py",
    "noxfile.py",
    "Pipfile",
    "requirements.txt",
}

# Distributions below these are data of tests or of generators, not installed beside the rest.
_DATA_NAMES = frozenset(
    {"fixtures", "node_modules", "site-packages", "templates", "test_data", "testdata"}
)

# What setuptools' flat layout never installs (`FlatLayoutPackageFinder.DEFAULT_EXCLUDE` and its
# modules): seen from the distribution itself only.
UNSHIPPED = frozenset({
    "_scripts", "_tests", "benchmark", "benchmarks", "bin", "build", "changelog", "ci",
    "conftest", "debian", "doc", "docs", "documentation", "dodo", "example", "examples",
    "exercise", "exercises", "fabfile", "htmlcov", "manpages", "news", "newsfragments", "noxfile",
    "pavement", "python", "scripts", "setup", "site_scons", "tasks", "test", "tests", "tools",
    "toxfile", "unit_test", "unit_tests", "util", "utils",
})  # fmt: skip

# Real ones stay below; longer, deeper or wider ones would cost more than they could say.
MAX_CONFIG = 256 * 1024
MAX_DEPTH = 32
MAX_DOTS = 200  # In one line: a dotted key costs the square of its parts.

_TABLE = re.compile(
    r"^[ \t]*\[\[?[ \t]*([\w.\"' \t-]{1,200})\]\]?[ \t]*(?:#.*)?$", re.MULTILINE
)
_TABLES = (
    "build-system", "project", "tool.flit", "tool.hatch", "tool.maturin", "tool.mypy", "tool.pdm",
    "tool.poetry", "tool.pytest", "tool.scikit-build", "tool.setuptools", "tool.uv",
)  # fmt: skip
_ASSIGN = re.compile(r"[=:]")
_STRING = r"""["']([^"'\n]*)["']"""
_PACKAGE_DIR = re.compile(r"package_dir\s{0,9}=\s{0,9}(?:dict\s{0,9}\(|\{)([^})]{0,2000})")
_PAIR = re.compile(rf"(?:{_STRING}|(\w+))\s{{0,9}}[:=]\s{{0,9}}{_STRING}")
_FIND = re.compile(
    rf"find_(?:namespace_)?packages\s{{0,9}}\(\s{{0,9}}(?:where\s{{0,9}}=\s{{0,9}})?{_STRING}"
)


@dataclass(frozen=True, slots=True)
class Project:
    """One distribution, or a directory that only configures tools."""

    directory: Path
    roots: tuple[Path, ...]
    """Its source roots; empty when nothing is installed from here."""
    mounts: tuple[tuple[str, Path], ...]
    """Top-level packages that lie in a directory of another name."""
    run_roots: tuple[Path, ...]
    is_shared: bool
    """Whether the rest of the workspace imports it."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What one file says: source directories and mounts, relative to it."""

    is_distribution: bool = False
    directories: tuple[str, ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    run_directories: tuple[str, ...] = ()


def projects(tree: Tree, directories: Set[Path]) -> tuple[Project, ...]:
    """The projects of a workspace, outer ones first; `directories` are those with Python."""
    found: dict[Path, set[str]] = {}
    for path in tree.paths:
        name = path.rpartition("/")[2]
        if name in RUN_NAMES:
            found.setdefault(parent(path), set()).add(name)
    order = sorted(
        found, key=lambda directory: (directory.count("/") + bool(directory), directory)
    )
    return tuple(_project(directory, tree, directories) for directory in order)


def _project(directory: Path, tree: Tree, directories: Set[Path]) -> Project:
    said = [
        _said(name, tree.configs.get(below(directory, name), ""))
        for name in sorted(CONFIG_NAMES)
        if below(directory, name) in tree.paths
    ]
    is_distribution = any(one.is_distribution for one in said)
    automatic = "src" if _is_root(below(directory, "src"), tree, directories) else ""
    named = [each for one in said for each in one.directories] or [automatic]
    mounts = [mount for one in said for mount in one.mounts]
    run = [each for one in said for each in one.run_directories]
    return Project(
        directory=directory,
        roots=_inside(directory, named) if is_distribution else (),
        mounts=tuple(
            (name, at)
            for name, each in mounts
            if (at := joined(directory, each)) and is_distribution
        ),
        run_roots=_inside(directory, [*run, automatic, ""]),
        is_shared=_DATA_NAMES.isdisjoint(directory.split("/")),
    )


def _is_root(directory: Path, tree: Tree, directories: Set[Path]) -> bool:
    return directory in directories and below(directory, "__init__.py") not in tree.paths


def _inside(directory: Path, relative: list[str]) -> tuple[Path, ...]:
    """These directories, without those out of the workspace."""
    found = (joined(directory, each) for each in relative)
    return tuple(dict.fromkeys(each for each in found if each is not None))


def _said(name: str, text: str) -> _Said:
    if len(text) > MAX_CONFIG:
        return _Said()
    match name:
        case "pyproject.toml":
            return _pyproject(text)
        case "setup.py":
            return _setup_py(text)
        case _:
            return _ini(text)


def _pyproject(text: str) -> _Said:
    data = _toml(text)
    tool = _Table(data.get("tool"))
    setuptools = tool.table("setuptools")
    wheel = tool.table("hatch", "build", "targets", "wheel")
    directories: list[str] = []
    mounts: list[tuple[str, str]] = []
    for name, value in setuptools.table("package-dir").strings():
        if name:
            mounts.append((name, value))
        else:
            directories.append(value)
    directories += setuptools.table("packages", "find").texts("where")
    for build in (wheel, tool.table("hatch", "build")):
        directories += build.texts("sources") + build.texts("dev-mode-dirs")
        for path, name in build.table("sources").strings():
            if name:
                mounts.append((name.strip("/").replace("/", "."), path))
            else:
                directories.append(path)
        if not directories:
            directories += [parent(path.strip("/")) for path in build.texts("packages")]
    directories += [
        parent(path.strip("/"))
        for path in tool.table("scikit-build", "wheel").texts("packages")
    ]
    for package in tool.table("poetry").tables("packages"):
        directories.append(package.string("from") or "")
    for table, key in (
        (tool.table("pdm", "build"), "package-dir"),
        (tool.table("pdm"), "package-dir"),
        (tool.table("uv", "build-backend"), "module-root"),
        (tool.table("maturin"), "python-source"),
    ):
        named = table.string(key)
        if named is not None:
            directories.append(named)
    run = tool.table("pytest", "ini_options").texts("pythonpath")
    run += tool.table("pytest").texts("pythonpath") + tool.table("mypy").texts("mypy_path")
    is_installed = tool.table("uv").value("package") is not False
    return _Said(
        is_distribution=is_installed
        and bool(data.keys() & {"build-system", "project"} or tool.has("poetry", "flit")),
        directories=tuple(directories),
        mounts=tuple(mounts),
        run_directories=tuple(run),
    )


def _toml(text: str) -> dict[str, object]:
    """The tables that say something of layout; an error elsewhere in the file does not count."""
    heads = list(_TABLE.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)][: len(heads)]
    kept: list[str] = []
    for head, end in zip(heads, ends, strict=True):
        name = head[1].strip().replace('"', "").replace("'", "")
        if any(name == table or name.startswith(table + ".") for table in _TABLES):
            # Of a project's table only its presence counts, and it is edited most.
            is_project = name.split(".")[0] == "project"
            kept.append("[project]" if is_project else text[head.start() : end])
    chosen = "\n".join(dict.fromkeys(kept))
    depth = deepest = 0
    for character in re.findall(r"[\[\]{}]", chosen):
        depth += 1 if character in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH or any(line.count(".") > MAX_DOTS for line in chosen.splitlines()):
        return {}
    try:
        return tomllib.loads(chosen)
    except ValueError:
        return {}


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a TOML file, read without trust: what has another type is absent."""

    data: object

    def value(self, key: str) -> object:
        return self.data.get(key) if isinstance(self.data, dict) else None

    def has(self, *keys: str) -> bool:
        return any(self.value(key) is not None for key in keys)

    def table(self, *keys: str) -> "_Table":
        table = self
        for key in keys:
            table = _Table(table.value(key))
        return table

    def tables(self, key: str) -> list["_Table"]:
        value = self.value(key)
        return [_Table(each) for each in value] if isinstance(value, list) else []

    def string(self, key: str) -> str | None:
        value = self.value(key)
        return value if isinstance(value, str) else None

    def texts(self, key: str) -> list[str]:
        """The strings of an array, or of one string as pytest and mypy separate them."""
        value = self.value(key)
        if isinstance(value, str):
            return re.split(r"[\s,:]+", value.strip())
        return [x for x in value if isinstance(x, str)] if isinstance(value, list) else []

    def strings(self) -> list[tuple[str, str]]:
        """The keys and values that are strings."""
        if not isinstance(self.data, dict):
            return []
        return [(key, value) for key, value in self.data.items() if isinstance(value, str)]


def _setup_py(text: str) -> _Said:
    directories: list[str] = []
    mounts: list[tuple[str, str]] = []
    for found in _PACKAGE_DIR.finditer(text):
        for quoted, bare, value in _PAIR.findall(found[1]):
            if name := quoted or bare:
                mounts.append((name, value))
            else:
                directories.append(value)
    directories += _FIND.findall(text)
    return _Said("setup(" in text, tuple(directories), tuple(mounts))


def _ini(text: str) -> _Said:
    """A `setup.cfg`, `tox.ini` or `pytest.ini`."""
    sections = _sections(text)
    options = sections.get("options", {})
    directories: list[str] = []
    mounts: list[tuple[str, str]] = []
    for line in options.get("package_dir", "").split("\n"):
        name, is_pair, value = (part.strip() for part in line.partition("="))
        if is_pair and name:
            mounts.append((name, value))
        elif is_pair:
            directories.append(value)
    directories += sections.get("options.packages.find", {}).get("where", "").split()
    run = [
        each
        for section in ("pytest", "tool:pytest")
        for each in sections.get(section, {}).get("pythonpath", "").split()
    ]
    return _Said(
        is_distribution=not sections.keys().isdisjoint({"metadata", "options"}),
        directories=tuple(directories),
        mounts=tuple(mounts),
        run_directories=tuple(run),
    )


def _sections(text: str) -> Mapping[str, Mapping[str, str]]:
    """Sections, their keys and values; the further lines of a value are indented.

    `configparser` takes the square of a line's length for some lines.
    """
    result: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    value: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if line[0].isspace():
            value.append(stripped)
        elif stripped[0] == "[":
            section = result.setdefault(stripped.strip("[]").strip(), {})
        else:
            name, *rest = _ASSIGN.split(stripped, 1)
            value = section.setdefault(name.strip().replace("-", "_"), [])
            value.extend(rest)
    return {
        name: {key: "\n".join(lines) for key, lines in section.items()}
        for name, section in result.items()
    }
