"""JavaScript and TypeScript imports: relative ones, and the path aliases of `tsconfig.json`."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from contextpack.model import Import, Path
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree, joined, parent

# In the order in which TypeScript's "bundler" resolution tries them.
_SUFFIXES = (
    ".ts",
    ".tsx",
    ".d.ts",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".mts",
    ".cts",
    ".vue",
    ".svelte",
)
# An import of `./x.js` may mean `./x.ts`: TypeScript names the file that will exist.
_WRITTEN = (
    (".js", (".ts", ".tsx", ".d.ts")),
    (".jsx", (".tsx",)),
    (".mjs", (".mts",)),
    (".cjs", (".cts",)),
)
_CONFIG_NAMES = ("tsconfig.json", "jsconfig.json")
_CODE = re.compile(r"\.(?:[cm]?[jt]sx?|vue|svelte|astro)$")

# Strings are matched first, so that what looks like a comment in one is kept.
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')


@dataclass(frozen=True, slots=True)
class Aliases:
    """The `paths` of one configuration file, each target already relative to the root."""

    directory: Path
    base: Path | None
    """The `baseUrl`, relative to the root, or None."""
    patterns: tuple[tuple[str, tuple[Path, ...]], ...]
    """Longest prefix first, exact names before patterns."""


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the JS and TS imports of one workspace."""

    paths: frozenset[Path]
    """Of code."""
    others: frozenset[Path]
    aliases: tuple[Aliases, ...]
    """Deepest directory first."""

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The file that a specifier names."""
        specifier = found.specifier.partition("?")[0]
        if specifier.startswith((".", "/")):
            directory = "" if specifier.startswith("/") else parent(path)
            at = joined(directory, specifier)
            candidates = [at] if at is not None else []
            external = External.MISSING
        else:
            candidates = self._aliased(path, specifier)
            external = External.PACKAGE
        for candidate in candidates:
            if target := self._file(candidate):
                return Resolution((target,))
        is_asset = any(candidate in self.others for candidate in candidates)
        return Resolution(external=External.ASSET if is_asset else external)

    def _aliased(self, path: Path, specifier: str) -> list[Path]:
        for aliases in self.aliases:
            if aliases.directory and not path.startswith(aliases.directory + "/"):
                continue
            found: list[Path] = []
            for pattern, targets in aliases.patterns:
                prefix, star, suffix = pattern.partition("*")
                if star and specifier.startswith(prefix) and specifier.endswith(suffix):
                    middle = specifier[len(prefix) : len(specifier) - len(suffix)]
                    found = [target.replace("*", middle, 1) for target in targets]
                    break
                if specifier == pattern:
                    found = list(targets)
                    break
            if aliases.base is not None:
                found.append(f"{aliases.base}/{specifier}" if aliases.base else specifier)
            return found
        return []

    def _file(self, at: Path) -> Path | None:
        if at in self.paths:
            return at
        for written, meant in _WRITTEN:
            if at.endswith(written):
                for suffix in meant:
                    if at.removesuffix(written) + suffix in self.paths:
                        return at.removesuffix(written) + suffix
        for suffix in _SUFFIXES:
            if at + suffix in self.paths:
                return at + suffix
        index = f"{at}/index" if at else "index"
        for suffix in _SUFFIXES:
            if index + suffix in self.paths:
                return index + suffix
        return None


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    found = [
        aliases
        for path, text in tree.configs.items()
        if path.rpartition("/")[2] in _CONFIG_NAMES
        and (aliases := _aliases(parent(path), text)) is not None
    ]
    return Resolver(
        paths=frozenset(path for path in tree.paths if _CODE.search(path)),
        others=frozenset(path for path in tree.paths if not _CODE.search(path)),
        aliases=tuple(
            sorted(
                found, key=lambda a: (-a.directory.count("/"), a.directory == "", a.directory)
            )
        ),
    )


def is_config(path: Path) -> bool:
    """Whether resolution wants to read this file's text."""
    return path.rpartition("/")[2] in _CONFIG_NAMES


def _aliases(directory: Path, text: str) -> Aliases | None:
    """The aliases of a configuration file; None when it cannot be read or declares none."""
    try:
        document = json.loads(_TRAILING_COMMA.sub(r"\1", _COMMENT.sub(r"\1", text)))
    except ValueError:
        return None
    options = document.get("compilerOptions") if isinstance(document, dict) else None
    if not isinstance(options, dict):
        return None
    base_url = options.get("baseUrl")
    base = joined(directory, base_url) if isinstance(base_url, str) else None
    declared = options.get("paths")
    paths: Mapping[str, object] = declared if isinstance(declared, dict) else {}
    start = base if base is not None else directory
    patterns = [
        (
            pattern,
            tuple(at for target in targets if (at := joined(start, str(target))) is not None),
        )
        for pattern, targets in paths.items()
        if isinstance(targets, list)
    ]
    patterns.sort(key=lambda item: ("*" in item[0], -len(item[0].partition("*")[0])))
    if base is None and not patterns:
        return None
    return Aliases(directory, base, tuple(patterns))
