"""C and C++ includes: where a compiler would look, as far as the workspace shows it.

In order: for `"x.h"` the directory of the file; the include directories that
`compile_commands.json` or `compile_flags.txt` gives to the file (to a header: to any file); and,
for files that those do not name, the usual places: each directory around the file and its
`include`, `inc` and `src`, nearest first. Last, the one file of the workspace whose path ends in
what is written: build files hold the rest, and those are programs. The standard headers win over
all of that but a declared directory. Named modules of C++20 are not followed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contextpack.model import Import, ImportKind, Path
from contextpack.resolve.commands import include_directories
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree, below, directories_of, joined, parent

_USUAL = ("", "include", "inc", "src")
_USUAL_FOR_SYSTEM = ("include", "inc")
_CODE = re.compile(
    r"\.(?:[ch]|cc|cpp|cxx|c\+\+|hh|hpp|hxx|h\+\+|inc|inl|ipp|ixx|tcc|tpp|def|cu|cuh|m|mm)$",
    re.I,
)
# C, C++ and POSIX, by the standards' lists; what has a directory is a system's own.
_STANDARD_HEADERS = frozenset(
    [
        "assert",
        "complex",
        "ctype",
        "errno",
        "fenv",
        "float",
        "inttypes",
        "iso646",
        "limits",
        "locale",
        "math",
        "setjmp",
        "signal",
        "stdalign",
        "stdarg",
        "stdatomic",
        "stdbit",
        "stdbool",
        "stdckdint",
        "stddef",
        "stdint",
        "stdio",
        "stdlib",
        "stdnoreturn",
        "string",
        "tgmath",
        "threads",
        "time",
        "uchar",
        "wchar",
        "wctype",
        "aio",
        "cpio",
        "dirent",
        "dlfcn",
        "fcntl",
        "fmtmsg",
        "fnmatch",
        "ftw",
        "glob",
        "grp",
        "iconv",
        "langinfo",
        "libgen",
        "monetary",
        "mqueue",
        "ndbm",
        "netdb",
        "nl_types",
        "poll",
        "pthread",
        "pwd",
        "regex",
        "sched",
        "search",
        "semaphore",
        "spawn",
        "strings",
        "stropts",
        "syslog",
        "tar",
        "termios",
        "trace",
        "ulimit",
        "unistd",
        "utime",
        "utmpx",
        "wordexp",
        "alloca",
        "byteswap",
        "crypt",
        "endian",
        "err",
        "execinfo",
        "features",
        "getopt",
        "ifaddrs",
        "link",
        "malloc",
        "memory",
        "obstack",
        "paths",
        "pty",
        "shadow",
        "stab",
        "sysexits",
        "ucontext",
        "values",
        "libintl",
        "error",
        "argp",
        "fts",
        "mntent",
        "utmp",
        "windows",
        "winsock",
        "winsock2",
        "ws2tcpip",
        "io",
        "process",
        "direct",
        "conio",
        "tchar",
        "intrin",
        "immintrin",
        "emmintrin",
        "xmmintrin",
        "smmintrin",
        "tmmintrin",
        "pmmintrin",
        "nmmintrin",
        "wmmintrin",
        "x86intrin",
        "arm_neon",
        "arm_acle",
        "arm_sve",
        "cpuid",
    ]
)
_STANDARD_DIRECTORIES = frozenset(
    [
        "sys",
        "net",
        "netinet",
        "arpa",
        "linux",
        "asm",
        "asm-generic",
        "bits",
        "mach",
        "mach-o",
        "machine",
        "gnu",
        "rpc",
        "uapi",
        "experimental",
        "CoreFoundation",
        "CoreServices",
        "TargetConditionals.h",
        "AvailabilityMacros.h",
    ]
)
_STANDARD_CPP = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the includes of one workspace."""

    paths: frozenset[Path]
    by_name: Mapping[str, tuple[Path, ...]]
    """The files of code of each name."""
    directories: frozenset[Path]
    include_directories: Mapping[Path, tuple[Path, ...]]
    """By the file that a compilation database names."""
    all_include_directories: tuple[Path, ...]
    """Of the whole database, for headers."""

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The file that an include names."""
        if found.kind is ImportKind.COMPUTED:
            return Resolution(external=External.DYNAMIC)
        is_system = found.specifier.startswith("<")
        written = found.specifier.strip("<>").replace("\\", "/").strip()
        if not is_system:
            at = joined(parent(path), written)
            if at in self.paths:
                return Resolution((at,))
            if at is None:
                return Resolution(external=External.OUTSIDE)
        declared = self.include_directories.get(path)
        for directory in self.all_include_directories if declared is None else declared:
            at = joined(directory, written)
            if at is not None and at in self.paths:
                return Resolution((at,))
        if _is_standard(written):
            return Resolution(external=External.STANDARD_LIBRARY)
        if declared is None:
            usual = _USUAL_FOR_SYSTEM if is_system and "/" not in written else _USUAL
            for around in directories_of(path):
                for name in usual:
                    at = joined(below(around, name), written)
                    if at is not None and at in self.paths:
                        return Resolution((at,))
            ending = self._ending(written)
            if len(ending) == 1:
                return Resolution((ending[0],))
            if ending:
                return Resolution(external=External.AMBIGUOUS)
        return Resolution(external=self._reason(written, is_system=is_system))

    def keys_of(self, found: Import) -> frozenset[str]:
        """Every candidate has the written file name; its directories say whose it would be."""
        if found.kind is ImportKind.COMPUTED:
            return frozenset()
        written = found.specifier.strip("<>").replace("\\", "/").strip()
        return frozenset(part for part in written.split("/") if part not in ("", ".", ".."))

    def _ending(self, written: str) -> list[Path]:
        inner = re.sub(r"^(?:\.{1,2}/)+", "", written)
        return [
            path
            for path in self.by_name.get(inner.rpartition("/")[2], ())
            if f"/{path}".endswith(f"/{inner}")
        ]

    def _reason(self, written: str, *, is_system: bool) -> External:
        """A file to be missed when it is the workspace's by its directory."""
        directory = parent(written)
        if not directory or directory.startswith("."):
            return External.PACKAGE if is_system else External.MISSING
        return External.MISSING if directory in self.directories else External.PACKAGE


def names_between(before: Resolver, after: Resolver, paths: Iterable[Path]) -> frozenset[str]:
    """The names that mean something else in two workspaces; `paths` are in one of them only."""
    names = {path.rpartition("/")[2] for path in paths}
    names.update(at.rpartition("/")[2] for at in before.directories ^ after.directories)
    return frozenset(names)


def files_between(before: Resolver, after: Resolver) -> frozenset[Path]:
    """The files that have other include directories of their own in one of two workspaces.

    A database that stays the same may mean other files: its root is found by what is there.
    """
    old, new = before.include_directories, after.include_directories
    return frozenset(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    by_name: dict[str, list[Path]] = {}
    directories = set[Path]()
    for path in sorted(tree.paths):
        if _CODE.search(path):
            directory, _, name = path.rpartition("/")
            by_name.setdefault(name, []).append(path)
            # Every ending of a directory: `a/b/c`, `b/c`, `c`.
            while directory and directory not in directories:
                directories.add(directory)
                directory = directory.partition("/")[2]
    commands, everywhere = include_directories(tree)
    return Resolver(
        paths=tree.paths,
        by_name={name: tuple(paths) for name, paths in by_name.items()},
        directories=frozenset(directories),
        include_directories=commands,
        all_include_directories=everywhere,
    )


def _is_standard(written: str) -> bool:
    first, slash, _ = written.partition("/")
    if slash:
        return first in _STANDARD_DIRECTORIES
    if first.endswith(".h"):
        return first[:-2].lower() in _STANDARD_HEADERS
    return _STANDARD_CPP.fullmatch(first) is not None
