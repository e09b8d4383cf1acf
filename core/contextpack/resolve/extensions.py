"""A path without its extension to the file of code that it means.

The order is that of TypeScript's "bundler" resolution, with three differences that runtimes
demand: an exactly named file wins, a file that runs wins over the declarations beside it, and
`.mjs` and `.cjs` are tried last.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from contextpack.model import Path
from contextpack.resolve.packages import Package
from contextpack.resolve.tree import joined

_ADDED = (".ts", ".tsx", ".js", ".jsx", ".d.ts", ".mjs", ".cjs")
# An import of `./x.js` may mean `./x.ts`: TypeScript names the file that will exist.
_REPLACED = (
    (".d.ts", (".js", ".mjs", ".cjs", ".ts")),
    (".d.mts", (".mjs", ".mts")),
    (".d.cts", (".cjs", ".cts")),
    (".js", (".ts", ".tsx", ".js", ".jsx", ".d.ts")),
    (".jsx", (".tsx", ".ts", ".jsx", ".js", ".d.ts")),
    (".ts", (".ts", ".tsx", ".d.ts")),
    (".tsx", (".tsx", ".ts")),
    (".mjs", (".mts", ".mjs", ".d.mts")),
    (".cjs", (".cts", ".cjs", ".d.cts")),
)
_DECLARED = ((".d.ts", (".js", ".mjs", ".cjs")), (".d.mts", (".mjs",)), (".d.cts", (".cjs",)))

Suffixes = tuple[str, ...]
"""`moduleSuffixes`: what may stand before the extension, best first."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files of code in a workspace, and the packages whose entries its directories have."""

    code: frozenset[Path]
    packages: Mapping[Path, Package]

    def module(self, at: Path, suffixes: Suffixes) -> tuple[Path, ...]:
        """What a specifier's path names: a file, or a directory's entry."""
        found = self.file(at, suffixes) if at else None
        return (found,) if found is not None else self.directory(at, suffixes)

    def file(self, at: Path, suffixes: Suffixes) -> Path | None:
        """The file of this path: as it is written, with another extension, or with one more."""
        return self.named(at, suffixes) or self._first(at, _ADDED, suffixes)

    def named(self, at: Path, suffixes: Suffixes) -> Path | None:
        """The file of a path that has its extension, as a map of `exports` writes it."""
        if at in self.code and suffixes == ("",):
            return self._running(at)
        for written, meant in _REPLACED:
            if at.endswith(written):
                if found := self._first(at.removesuffix(written), meant, suffixes):
                    return found
                break
        return self._running(at) if at in self.code else None

    def directory(self, at: Path, suffixes: Suffixes) -> tuple[Path, ...]:
        """The entries of a directory: by its `package.json`, else its index file.

        Two when code and declarations are different files.
        """
        package = self.packages.get(at)
        if package is not None:
            ways = [self._entry(at, way, suffixes) for way in (package.main, package.types)]
            found = tuple(dict.fromkeys(way for way in ways if way is not None))
            if found:
                return found
            for way in package.alternates:
                if alternate := self._entry(at, way, suffixes):
                    return (alternate,)
        index = self.file(f"{at}/index" if at else "index", suffixes)
        return (index,) if index is not None else ()

    def _entry(self, directory: Path, written: str, suffixes: Suffixes) -> Path | None:
        at = joined(directory, written) if written else None
        if not at or at == directory:
            return None
        return self.file(at, suffixes) or self.file(f"{at}/index", suffixes)

    def _first(self, stem: Path, extensions: Suffixes, suffixes: Suffixes) -> Path | None:
        for extension in extensions:
            for suffix in suffixes:
                if stem + suffix + extension in self.code:
                    return self._running(stem + suffix + extension)
        return None

    def _running(self, path: Path) -> Path:
        """The file that runs, when the path is one of declarations beside it."""
        for written, running in _DECLARED:
            if path.endswith(written):
                stem = path.removesuffix(written)
                return next((stem + r for r in running if stem + r in self.code), path)
        return path
