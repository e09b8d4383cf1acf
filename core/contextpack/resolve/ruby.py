"""Ruby: `require_relative` beside the file, `require` along the load paths of gems.

A gem's load paths are those that its `*.gemspec` declares, or `lib`. A directory with a gemspec,
a `Gemfile` or a `Rakefile` is where tests and scripts run, so its `lib`, and for its own files
its `test`, `spec` and itself (`./x`), are searched too. The nearest such directory above the
importer comes first, then the others, shortest path first. Rails' autoloading by constant needs
no import and makes no edge.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contextpack.model import Import, ImportKind, Path
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree, joined, parent

_SUFFIXES = (".rb", ".rake", ".gemspec", ".ru")
_BASES = frozenset({"Gemfile", "Rakefile", "gems.rb"})
_REQUIRE_PATHS = re.compile(
    r"\.require_paths?\s*=\s*(?:\[([^\[\]]{0,500})\]|%w[\[(]([^\])]{0,500})[\])])"
)
_WORDS = re.compile(r"[\w./-]+")
# A declaration stands in the first lines; a gemspec of a megabyte is none.
MAX_GEMSPEC_CHARACTERS = 50_000
# Directories that tests add to the load path before they run.
_TEST_PATHS = ("test", "spec")

_STANDARD_NAMES = """
English abbrev base64 benchmark bigdecimal bundler cgi coverage csv date dbm debug
delegate did_you_mean digest drb enumerator erb error_highlight etc expect fcntl fiber
fiddle fileutils find forwardable gdbm getoptlong io ipaddr irb json logger mathn matrix
mkmf monitor mutex_m net nkf objspace observer open-uri open3 openssl optparse ostruct
pathname pp prettyprint prime profile profiler pstore psych pty racc random rake rational
rbconfig rdoc readline reline resolv rexml rinda ripper rss rubygems sdbm securerandom set
shellwords singleton socket stringio strscan syntax_suggest syslog tempfile test-unit
thread thwait time timeout tmpdir tracer tsort un unicode_normalize uri weakref webrick
win32ole yaml zlib complex continuation
"""
_STANDARD = frozenset(_STANDARD_NAMES.split())


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the Ruby imports of one workspace."""

    paths: frozenset[Path]
    heads: Mapping[str, tuple[Path, ...]]
    """The names directly below load paths, without suffix, to these paths, shortest first."""
    bases: frozenset[Path]
    """Directories where tests and scripts run."""

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The file that a `require`, `load` or `autoload` reads."""
        if found.kind is ImportKind.DYNAMIC:
            return Resolution(external=External.DYNAMIC)
        specifier = found.specifier
        if specifier.startswith(("/", "~")):
            return Resolution(external=External.OUTSIDE)
        if found.level:
            return self._first([joined(parent(path), specifier)])
        base = self._base(path)
        if specifier.startswith(("./", "../")):
            return self._first(
                [joined(at, specifier) for at in dict.fromkeys((base, "", parent(path)))]
            )
        head = specifier.partition("/")[0].removesuffix(".rb")
        own = [_below(base, name) for name in ("lib", *_TEST_PATHS)]
        near = [at for at in self.heads.get(head, ()) if not base or at.startswith(base + "/")]
        # `load` names the whole file and starts from the working directory too.
        working = [base, ""] if specifier.endswith(_SUFFIXES) else []
        searched = dict.fromkeys([*near, *own, *self.heads.get(head, ()), *working])
        resolution = self._first([joined(at, specifier) for at in searched])
        if resolution.targets:
            return resolution
        if head in self.heads:
            return Resolution(external=External.MISSING)
        is_standard = head in _STANDARD
        return Resolution(
            external=External.STANDARD_LIBRARY if is_standard else External.PACKAGE
        )

    def _base(self, path: Path) -> Path:
        directory = parent(path)
        while directory and directory not in self.bases:
            directory = parent(directory)
        return directory

    def _first(self, candidates: list[Path | None]) -> Resolution:
        for candidate in candidates:
            if candidate is None:
                continue
            for at in (candidate + ".rb", candidate):
                if at in self.paths:
                    return Resolution((at,))
        is_outside = all(candidate is None for candidate in candidates)
        return Resolution(external=External.OUTSIDE if is_outside else External.MISSING)


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    bases = {parent(path) for path in tree.paths if path.rpartition("/")[2] in _BASES}
    load_paths = {_below(base, "lib") for base in bases} | {"lib"}
    for path, text in tree.configs.items():
        if path.endswith(".gemspec"):
            bases.add(parent(path))
            load_paths |= _declared(parent(path), text)
    ruby = frozenset(path for path in tree.paths if _is_ruby(path))
    return Resolver(
        paths=ruby,
        heads=_heads(ruby, load_paths),
        bases=frozenset(bases),
    )


def names_between(before: Resolver, after: Resolver, paths: Iterable[Path]) -> frozenset[str]:
    """The names that mean something else in two workspaces; `paths` are in one of them only."""
    names = {path.rpartition("/")[2] for path in paths}
    names |= {name.removesuffix(".rb") for name in names}
    names.update(
        head
        for head in before.heads.keys() | after.heads.keys()
        if before.heads.get(head) != after.heads.get(head)
    )
    return frozenset(names)


def keys_of(found: Import) -> frozenset[str]:
    """Every name in the path; the first one also tells a missing file from a package.

    A `Gemfile`, `Rakefile` or `*.gemspec` that appears or vanishes moves load paths: it touches
    every Ruby import.
    """
    parts = [
        *found.specifier.split("/"),
        found.specifier.rpartition("/")[2].removesuffix(".rb"),
    ]
    return frozenset(part for part in parts if part not in ("", ".", ".."))


def is_config(path: Path) -> bool:
    """Whether resolution wants to read this file's text."""
    return path.endswith(".gemspec")


def _declared(directory: Path, text: str) -> set[Path]:
    match = _REQUIRE_PATHS.search(text[:MAX_GEMSPEC_CHARACTERS])
    written = _WORDS.findall(match[1] or match[2] or "") if match else []
    found = {at for name in written or ["lib"] if (at := joined(directory, name)) is not None}
    return found or {_below(directory, "lib")}


def _heads(paths: frozenset[Path], load_paths: set[Path]) -> dict[str, tuple[Path, ...]]:
    result: dict[str, set[Path]] = {}
    for path in paths:
        directory, _, name = path.rpartition("/")
        name = name.removesuffix(".rb")
        while True:
            if directory in load_paths:
                result.setdefault(name, set()).add(directory)
            if not directory:
                break
            directory, _, name = directory.rpartition("/")
    return {
        name: tuple(sorted(found, key=lambda at: (at.count("/"), at)))
        for name, found in sorted(result.items())
    }


def _is_ruby(path: Path) -> bool:
    name = path.rpartition("/")[2]
    return path.endswith(_SUFFIXES) or name in _BASES or "." not in name


def _below(directory: Path, name: str) -> Path:
    return f"{directory}/{name}" if directory else name
