"""What `package.json` files say: entries, `exports` and `imports`, and who links to whom.

Resolution works without `node_modules`: a package that another one depends on by name is found
where an install would link it, which is in the workspace.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from contextpack.model import Path
from contextpack.resolve.globs import matches
from contextpack.resolve.jsonc import document, strings, table
from contextpack.resolve.tree import joined, parent

NAME = "package.json"
PNPM = "pnpm-workspace.yaml"
MAX_TARGETS = 2000  # Of one package: real maps have hundreds; deeper or longer ones are cut.
MAX_DEPTH = 16

_DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_ALTERNATES = ("module", "browser", "svelte", "source", "jsnext:main", "react-native")
_PNPM_PACKAGES = re.compile(
    r"^packages:[ \t]*(.*)\n((?:[ \t]*-.*\n?|[ \t]*#.*\n?|[ \t]*\n)*)", re.MULTILINE
)
_PNPM_ITEM = re.compile(
    r"^[ \t]*-[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|([^\s#][^#\n]*))", re.MULTILINE
)
_QUOTED = re.compile(r"['\"]([^'\"\n]*)['\"]")


@dataclass(frozen=True, slots=True)
class Target:
    """One leaf of an `exports` or `imports` map: where it leads, under which conditions."""

    conditions: tuple[str, ...]
    path: str


Targets = tuple[tuple[str, tuple[Target, ...]], ...]
"""The leaves of each key of such a map, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Package:
    """One `package.json`, as far as resolution goes."""

    directory: Path
    name: str
    exports: Targets | None
    imports: Targets
    main: str
    types: str
    alternates: tuple[str, ...]
    """Further entries: for bundlers, for browsers."""
    dependencies: tuple[tuple[str, str], ...]
    workspaces: tuple[str, ...]


Links = Mapping[str, Package]
"""Packages of the workspace by the name under which one package may import them."""

NO_LINKS: Links = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Packages:
    """All packages of a workspace."""

    by_directory: Mapping[Path, Package]
    links: Mapping[Path, Links] = field(default_factory=lambda: MappingProxyType({}))
    """By the directory of the package that depends on them."""


def packages(configs: Mapping[Path, str]) -> Packages:
    """The packages of these configuration files, linked as an install would link them."""
    found = {
        parent(path): package(parent(path), text)
        for path, text in sorted(configs.items())
        if path.rpartition("/")[2] == NAME
    }
    roots = {d: p.workspaces for d, p in found.items() if p.workspaces}
    for path, text in sorted(configs.items()):
        if path.rpartition("/")[2] == PNPM:
            roots[parent(path)] = pnpm_packages(text)
    members = {root: _members(root, globs, found) for root, globs in roots.items()}
    links = {directory: _links(package, found, members) for directory, package in found.items()}
    return Packages(found, {directory: linked for directory, linked in links.items() if linked})


def package(directory: Path, text: str) -> Package:
    """One `package.json`; whatever has an unexpected type is left out."""
    written = document(text)
    exports = written.get("exports")
    dependencies: dict[str, str] = {}
    for kind in _DEPENDENCIES:
        for name, version in table(written.get(kind)).items():
            dependencies.setdefault(name, version if isinstance(version, str) else "")
    declared = written.get("workspaces")
    return Package(
        directory=directory,
        name=_string(written.get("name")),
        exports=None if exports is None else _map(exports, is_exports=True),
        imports=_map(written.get("imports"), is_exports=False),
        main=_string(written.get("main")),
        types=_string(written.get("types")) or _string(written.get("typings")),
        alternates=tuple(value for key in _ALTERNATES if (value := _string(written.get(key)))),
        dependencies=tuple(dependencies.items()),
        workspaces=strings(declared) or strings(table(declared).get("packages")),
    )


def pnpm_packages(text: str) -> tuple[str, ...]:
    """The globs of a `pnpm-workspace.yaml`, read line by line."""
    found = _PNPM_PACKAGES.search(text.replace("\r\n", "\n"))
    if found is None:
        return ()
    inline = tuple(_QUOTED.findall(found[1]))
    items = _PNPM_ITEM.findall(found[2])
    return inline + tuple((one or two or bare).strip() for one, two, bare in items)


def split(specifier: str) -> tuple[str, str]:
    """A bare specifier's package name, and the rest as a key of `exports` (`.`, `./sub`)."""
    parts = specifier.split("/")
    n_parts = 2 if specifier.startswith("@") else 1
    rest = "/".join(parts[n_parts:])
    return "/".join(parts[:n_parts]), f"./{rest}" if rest else "."


def targets(mapped: Targets, key: str) -> tuple[Target, ...] | None:
    """The leaves for a key: an exact one wins, then the longest pattern. None: no such key."""
    best: tuple[int, str, tuple[Target, ...]] | None = None
    for name, leaves in mapped:
        if name == key and "*" not in name:
            return leaves
        prefix, star, suffix = name.partition("*")
        if not star and not name.endswith("/"):
            continue
        if key.startswith(prefix) and key.endswith(suffix) and len(key) >= len(prefix + suffix):
            middle = key[len(prefix) : len(key) - len(suffix)]
            if middle and (best is None or len(prefix) > best[0]):
                best = len(prefix), middle, leaves
    if best is None:
        return None
    _, middle, leaves = best
    return tuple(
        Target(
            leaf.conditions,
            leaf.path.replace("*", middle)
            if "*" in leaf.path
            else leaf.path + middle
            if leaf.path.endswith("/")
            else leaf.path,
        )
        for leaf in leaves
    )


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _map(written: object, *, is_exports: bool) -> Targets:
    entries = table(written)
    if is_exports and not any(key.startswith(".") for key in entries):
        return ((".", _leaves(written)),)
    return tuple((key, _leaves(value)) for key, value in list(entries.items())[:MAX_TARGETS])


def _leaves(written: object) -> tuple[Target, ...]:
    """Depth first, in written order: what is missing gives way to what follows it."""
    result: list[Target] = []
    stack: list[tuple[object, tuple[str, ...]]] = [(written, ())]
    while stack and len(result) < MAX_TARGETS:
        value, conditions = stack.pop()
        if isinstance(value, str):
            result.append(Target(conditions, value))
        elif len(conditions) > MAX_DEPTH:
            continue
        elif isinstance(value, dict):
            stack.extend((v, (*conditions, key)) for key, v in reversed(list(value.items())))
        elif isinstance(value, list):
            stack.extend((v, conditions) for v in reversed(value))
    return tuple(result)


def _members(
    root: Path, globs: tuple[str, ...], found: Mapping[Path, Package]
) -> dict[str, Package]:
    """The packages of one workspace by name; the first in path order has a name."""
    wanted = [joined("", glob) or "" for glob in globs if not glob.startswith("!")]
    unwanted = [joined("", glob[1:]) or "" for glob in globs if glob.startswith("!")]
    result: dict[str, Package] = {}
    for directory, package in found.items():
        if root and directory != root and not directory.startswith(root + "/"):
            continue
        inner = directory[len(root) + 1 :] if root else directory
        is_member = directory == root or (
            any(matches(glob, inner) for glob in wanted)
            and not any(matches(glob, inner) for glob in unwanted)
        )
        if is_member and package.name:
            result.setdefault(package.name, package)
    return result


def _links(
    package: Package,
    found: Mapping[Path, Package],
    members: Mapping[Path, Mapping[str, Package]],
) -> Links:
    workspaces = []
    directory = package.directory
    while True:
        if directory in members:
            workspaces.append(members[directory])
        if not directory:
            break
        directory = parent(directory)
    result: dict[str, Package] = {}
    for name, version in package.dependencies:
        protocol, colon, where = version.partition(":")
        if colon and protocol in ("file", "link", "portal"):
            at = joined(package.directory, where)
            linked = found.get(at) if at is not None else None
        else:
            linked = next((w[name] for w in workspaces if name in w), None)
        if linked is not None and linked.directory != package.directory:
            result[name] = linked
    return result
