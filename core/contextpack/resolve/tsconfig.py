"""What `tsconfig.json` and `jsconfig.json` say of resolution, with everything they extend.

A base that is missing or that loops is left out; the rest counts. The nearest configuration
rules a file, even if its `include` omits it; one with `references` hands it on to the first
referenced configuration that includes it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contextpack.model import Path
from contextpack.resolve.globs import matches
from contextpack.resolve.jsonc import document, strings, table
from contextpack.resolve.tree import joined, parent

NAMES = ("tsconfig.json", "jsconfig.json")  # In the order in which a directory's is taken.
MAX_REFERENCES = 1000  # Of one configuration, with those of its references.
_OPTIONS = (
    "baseUrl",
    "paths",
    "moduleSuffixes",
    "rootDirs",
    "rootDir",
    "outDir",
    "customConditions",
)
_FILES = ("files", "include", "exclude")


@dataclass(frozen=True, slots=True)
class Paths:
    """The `paths` of a configuration."""

    exact: tuple[tuple[str, tuple[Path | None, ...]], ...]
    """Names without a star. A target out of the root is None."""
    patterns: tuple[tuple[str, str, tuple[Path | None, ...]], ...]
    """Text before and after the star, longest prefix first; targets keep their star."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """What one configuration says of resolution. All paths are relative to the root."""

    config: Path = ""
    base_url: Path | None = None
    paths: Paths = Paths((), ())
    module_suffixes: tuple[str, ...] = ("",)
    root_dirs: tuple[Path, ...] = ()
    source: tuple[Path, Path] | None = None
    """Where compiled files go, and where their sources are (`outDir`, `rootDir`)."""
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """One configuration: what it says, which files it names, and which others it refers to."""

    compiler: Compiler
    includes: tuple[str, ...]
    excludes: tuple[str, ...]
    references: tuple[Path, ...]

    def has(self, path: Path) -> bool:
        """Whether the configuration itself names the file."""
        return any(matches(pattern, path) for pattern in self.includes) and not any(
            matches(pattern, path) for pattern in self.excludes
        )


Extended = Callable[[Path, str], Path | None]
"""A configuration and the package that it extends, to that package's file."""


def projects(texts: Mapping[Path, str], extended: Extended) -> dict[Path, Project]:
    """Every configuration in these texts, by path."""
    documents = {path: document(text) for path, text in texts.items()}
    return {path: _project(path, documents, extended) for path in sorted(documents)}


def project_of(path: Path, config: Path, known: Mapping[Path, Project]) -> Project:
    """The configuration that rules a file, when this one is the nearest."""
    own = known[config]
    if not own.references or own.has(path):
        return own
    seen = {config}
    waiting = list(own.references)
    for reference in waiting:
        if reference in seen or reference not in known or len(seen) > MAX_REFERENCES:
            continue
        seen.add(reference)
        if known[reference].has(path):
            return known[reference]
        waiting.extend(known[reference].references)
    return own


def _chain(
    path: Path, documents: Mapping[Path, Mapping[str, object]], extended: Extended
) -> list[Path]:
    """The configurations that one is made of, its bases first, itself last."""
    result: list[Path] = []
    seen = {path}
    stack = [(path, False)]
    while stack:
        config, is_ready = stack.pop()
        if is_ready:
            result.append(config)
            continue
        stack.append((config, True))
        for named in reversed(strings(documents[config].get("extends"))):
            base = _base(config, named, documents, extended)
            if base is not None and base not in seen:
                seen.add(base)
                stack.append((base, False))
    return result


def _base(
    config: Path, named: str, documents: Mapping[Path, Mapping[str, object]], extended: Extended
) -> Path | None:
    if not named.startswith((".", "/")):
        return extended(config, named)
    at = joined(parent(config), named)
    if at is None:
        return None
    tries = (at, f"{at}.json", f"{at}/tsconfig.json")
    return next((path for path in tries if path in documents), None)


def _project(
    path: Path, documents: Mapping[Path, Mapping[str, object]], extended: Extended
) -> Project:
    # An option, the value, and the directory that its relative paths start from.
    options: dict[str, tuple[object, Path]] = {}
    files: dict[str, tuple[object, Path]] = {}
    for config in _chain(path, documents, extended):
        written = table(documents[config].get("compilerOptions"))
        options.update({k: (written[k], parent(config)) for k in _OPTIONS if k in written})
        files.update(
            {
                k: (documents[config][k], parent(config))
                for k in _FILES
                if k in documents[config]
            }
        )
    own = parent(path)

    def directory(option: str) -> Path | None:
        value, start = options.get(option, (None, ""))
        return _at(start, own, value) if isinstance(value, str) else None

    base_url = directory("baseUrl")
    declared, start = options.get("paths", ({}, own))
    out, root = directory("outDir"), directory("rootDir")
    suffixes = strings(options.get("moduleSuffixes", ((), ""))[0])
    root_dirs, roots_start = options.get("rootDirs", ((), ""))
    compiler = Compiler(
        config=path,
        base_url=base_url,
        paths=_paths(declared, start if base_url is None else base_url, own),
        module_suffixes=suffixes or ("",),
        root_dirs=tuple(
            at for d in strings(root_dirs) if (at := _at(roots_start, own, d)) is not None
        ),
        source=(out, root if root is not None else _below(own, "src")) if out else None,
        conditions=strings(options.get("customConditions", ((), ""))[0]),
    )
    return Project(compiler, *_files(files, own), _references(path, documents))


def _at(start: Path, own: Path, written: str) -> Path | None:
    if written.startswith("${configDir}"):
        return joined(own, written.removeprefix("${configDir}"))
    return None if written.startswith("/") else joined(start, written)


def _below(directory: Path, name: str) -> Path:
    return f"{directory}/{name}" if directory else name


def _paths(declared: object, start: Path, own: Path) -> Paths:
    exact, patterns = [], []
    for name, written in table(declared).items():
        targets = tuple(_at(start, own, target) for target in strings(written))
        if isinstance(written, str):
            continue
        prefix, star, suffix = name.partition("*")
        if not star:
            exact.append((name, targets))
        else:
            patterns.append((prefix, suffix, targets))
    patterns.sort(key=lambda item: -len(item[0]))
    return Paths(tuple(exact), tuple(patterns))


def _files(
    files: Mapping[str, tuple[object, Path]], own: Path
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = {
        key: [at for name in strings(value) if (at := _at(start, own, name)) is not None]
        for key, (value, start) in files.items()
    }
    includes = found.get("files", [])
    if "include" in files or "files" not in files:
        named = found.get("include", [own])
        includes = includes + [wide for pattern in named for wide in _widened(pattern)]
    out = [wide for pattern in found.get("exclude", []) for wide in _widened(pattern)]
    return tuple(includes), tuple(out)


def _widened(pattern: str) -> tuple[str, ...]:
    """A pattern of `include`: one that may name a directory takes everything below it too."""
    last = pattern.rpartition("/")[2]
    if last in ("**", "*"):
        return (pattern,)
    if "." in last.lstrip(".") or "*" in last:
        return (pattern,)
    return (pattern, _below(pattern, "**"))


def _references(path: Path, documents: Mapping[Path, Mapping[str, object]]) -> tuple[Path, ...]:
    written = documents[path].get("references")
    result = []
    for reference in written[:MAX_REFERENCES] if isinstance(written, list) else ():
        at = table(reference).get("path")
        target = joined(parent(path), at) if isinstance(at, str) else None
        if target is not None:
            tries = (target, _below(target, NAMES[0]), _below(target, NAMES[1]))
            result.extend([t for t in tries if t in documents][:1])
    return tuple(result)
