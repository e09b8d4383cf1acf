"""What the `Cargo.toml` files of a workspace declare: packages, targets and dependencies.

Values of the wrong shape count as absent; nothing here raises on a broken manifest.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from contextpack.model import Path
from contextpack.resolve.tree import Tree, below, directories_of, joined, parent

OUTSIDE = ".."
"""The directory of a dependency that lies out of the root."""

# `tomllib` takes quadratic time over the parts of one key.
MAX_TEXT = 1 << 20
MAX_KEY_DOTS = 200

_DEPENDENCIES = (
    "dependencies",
    "dev-dependencies",
    "dev_dependencies",
    "build-dependencies",
    "build_dependencies",
)
_TARGETS = ("lib", "bin", "test", "example", "bench")

_Table = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Package:
    """A package of the workspace."""

    name: str
    """Of its library, as code writes it."""
    crate_root: Path | None
    """The root file of its library, or None without one."""
    targets: tuple[Path, ...]
    """The root files that the manifest names, whether they exist or not."""
    dependencies: Mapping[str, Path | None]
    """By the names that its code uses: the directory in the workspace, or None for elsewhere."""
    is_2015: bool
    """Whether its paths begin at the crate's root."""


def is_manifest(path: Path) -> bool:
    """Whether a file is a Cargo manifest."""
    return path.rpartition("/")[2] == "Cargo.toml"


def packages(tree: Tree) -> Mapping[Path, Package]:
    """The packages of a workspace by the directory of their manifests."""
    manifests = {
        parent(path): _read(tree.configs[path])
        for path in sorted(tree.configs)
        if is_manifest(path)
    }
    result: dict[Path, Package] = {}
    for directory, manifest in manifests.items():
        package = _table(manifest, "package")
        if not package:
            continue
        around = next(
            (
                d
                for d in directories_of(below(directory, "x"))
                if "workspace" in manifests.get(d, {})
            ),
            directory,
        )
        result[directory] = _package(
            directory, manifest, package, around, manifests.get(around, {}), tree
        )
    return result


def _package(
    directory: Path,
    manifest: _Table,
    package: _Table,
    around: Path,
    workspace: _Table,
    tree: Tree,
) -> Package:
    library = _table(manifest, "lib")
    name = _text(library, "name") or _text(package, "name") or ""
    written = _text(library, "path") or "src/lib.rs"
    at = joined(directory, written)
    targets = [
        joined(directory, path)
        for kind in _TARGETS
        for target in _tables(manifest.get(kind))
        if (path := _text(target, "path"))
    ]
    if script := _text(package, "build"):
        targets.append(joined(directory, script))
    shared = _table(workspace, "workspace")
    edition = package.get("edition", "2015")
    if isinstance(edition, dict):
        edition = _table(shared, "package").get("edition", "2015")
    return Package(
        name=_as_written(name),
        crate_root=at if at in tree.paths else None,
        targets=tuple(dict.fromkeys(t for t in targets if t is not None)),
        dependencies=_dependencies(directory, manifest, around, workspace),
        is_2015=edition == "2015",
    )


def _dependencies(
    directory: Path, manifest: _Table, around: Path, workspace: _Table
) -> Mapping[str, Path | None]:
    shared = _table(_table(workspace, "workspace"), "dependencies")
    patched = {
        name: joined(around, path) or OUTSIDE
        for source in _table(workspace, "patch").values()
        for name, patch in _items(source)
        if (path := _text(patch, "path"))
    }
    result: dict[str, Path | None] = {}
    for table in (manifest, *_tables(list(_table(manifest, "target").values()))):
        for kind in _DEPENDENCIES:
            for name, written in _table(table, kind).items():
                start, declared = directory, written if isinstance(written, dict) else {}
                if declared.get("workspace") is True:
                    inherited = shared.get(name)
                    start, declared = around, inherited if isinstance(inherited, dict) else {}
                path = _text(declared, "path")
                package = _text(declared, "package") or name
                if path is not None:
                    at = joined(start, path)
                    result[_as_written(name)] = OUTSIDE if at is None else at
                else:
                    result.setdefault(_as_written(name), patched.get(package))
    return result


def _read(text: str) -> _Table:
    if len(text) > MAX_TEXT or any(
        line.partition("=")[0].count(".") > MAX_KEY_DOTS for line in text.splitlines()
    ):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _table(value: _Table, key: str) -> _Table:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _tables(value: object) -> Iterator[_Table]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item


def _items(value: object) -> Iterator[tuple[str, _Table]]:
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, dict):
                yield name, item


def _text(value: _Table, key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) else None


def _as_written(name: str) -> str:
    return name.replace("-", "_")
