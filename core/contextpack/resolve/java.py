"""Java imports: a dotted name is a class, whose file lies in a source root under its package.

The roots are those of `package` statements: an importer's own follows from the depth of its
package, others from the layout of build tools (`src/main/java`) or, when just one file of the
workspace ends in the name, from that file. Of several that fit the one nearest to the importer
is taken, and none if two are equally near. A class that another class's file holds is not found
by its own name; an import of a nested class leads to the file of the outermost.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

from contextpack.model import Import, Path
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree, below, parent

# Java code uses Kotlin's classes by the same names, where their files are named for them.
_SUFFIXES = (".java", ".kt")

_CONVENTIONAL_ROOT = re.compile(r"(?:^|/)src/[^/]+/(?:java|kotlin)$")

# `javax` is shared with packages from elsewhere: these are the JDK's.
_JDK = re.compile(
    r"(?:java|jdk|sun|com\.sun|org\.w3c\.dom|org\.xml\.sax|org\.ietf\.jgss"
    r"|javax\.(?:accessibility|annotation\.processing|crypto|imageio|lang\.model|management"
    r"|naming|net|print|rmi|script|security|smartcardio|sound|sql|swing|tools|transaction\.xa"
    r"|xml))\."
)

MAX_PARTS = 64  # Of a name; more are data.


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the Java imports of one workspace."""

    classes: Mapping[str, tuple[Path, ...]]
    """The files that may hold a class of this simple name."""
    packages: Mapping[str, tuple[Path, ...]]
    """The directories with Java files whose own name is this."""
    files: Mapping[Path, tuple[Path, ...]]
    """The Java files of each directory."""
    is_jdk: bool
    """Whether the workspace is the standard library's own source."""

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The file of a class, or every file of a package that is imported whole."""
        parts = found.specifier.split(".")[:MAX_PARTS]
        if parts[0] == "java" and not self.is_jdk:
            return Resolution(external=External.STANDARD_LIBRARY)
        root = _root(path, found.level)
        is_ambiguous = False
        if "*" in found.names and (targets := self._package(root, parts)):
            return Resolution(tuple(target for target in targets if target != path))
        for end in range(len(parts), 0, -1):
            if end < len(parts) and not parts[end - 1][:1].isupper():
                continue  # What holds a member is a class, and packages are lower case.
            candidates = self._ending(parts[:end])
            if not candidates:
                continue
            nearest = _nearest(below(root, "/".join(parts[:end])), path, candidates)
            if nearest is not None:
                return Resolution((nearest,))
            is_ambiguous = True
        if is_ambiguous:
            return Resolution(external=External.AMBIGUOUS)
        if _JDK.match(found.specifier + "."):
            return Resolution(external=External.STANDARD_LIBRARY)
        package = list(takewhile(lambda part: not part[:1].isupper(), parts))
        is_own = len(package) > 1 and bool(self._directories(package))
        return Resolution(external=External.MISSING if is_own else External.PACKAGE)

    def keys_of(self, found: Import) -> frozenset[str]:
        """Each part of the name may be the class, or a directory of its package."""
        parts = frozenset(found.specifier.split("."))
        return parts | {"Object"} if "java" in parts else parts

    def _ending(self, parts: list[str]) -> list[Path]:
        """The files whose path ends as the name of the class does."""
        wanted = "/".join(parts)
        if len(parts) == 1:  # The unnamed package: only the importer's own root is sure.
            return []
        return [
            path
            for path in self.classes.get(parts[-1], ())
            if f"/{path.rpartition('.')[0]}".endswith(f"/{wanted}")
        ]

    def _package(self, root: Path, parts: list[str]) -> list[Path]:
        directories = self._directories(parts)
        name = "/".join(parts)
        own = below(root, name)
        known = [
            directory
            for directory in directories
            if directory == own
            or _CONVENTIONAL_ROOT.search(directory.removesuffix(name).rstrip("/"))
        ]
        if not known and len(directories) == 1 and len(parts) > 1:
            known = directories
        return sorted(file for directory in known for file in self.files[directory])

    def _directories(self, parts: list[str]) -> list[Path]:
        wanted = "/".join(parts)
        return [
            directory
            for directory in self.packages.get(parts[-1], ())
            if f"/{directory}".endswith(f"/{wanted}")
        ]


def is_seen(path: Path) -> bool:
    """Whether a file may matter to Java's imports by being there."""
    return path.endswith(_SUFFIXES)


def names_of(path: Path) -> frozenset[str]:
    """The names by which imports mean a file: of its class, and of its package's directory."""
    directory, _, name = path.rpartition("/")
    return frozenset({name.rpartition(".")[0], directory.rpartition("/")[2]})


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    classes: dict[str, list[Path]] = {}
    packages: dict[str, list[Path]] = {}
    files: dict[Path, list[Path]] = {}
    for path in sorted(path for path in tree.paths if path.endswith(_SUFFIXES)):
        directory, _, name = path.rpartition("/")
        classes.setdefault(name.rpartition(".")[0], []).append(path)
        if directory not in files:
            packages.setdefault(directory.rpartition("/")[2], []).append(directory)
        files.setdefault(directory, []).append(path)
    return Resolver(
        classes={name: tuple(paths) for name, paths in classes.items()},
        packages={name: tuple(paths) for name, paths in packages.items()},
        files={directory: tuple(paths) for directory, paths in files.items()},
        is_jdk=any(
            f"/{path}".endswith("/java/lang/Object.java") for path in classes.get("Object", ())
        ),
    )


def _root(path: Path, level: int) -> Path:
    """The source root of a file in a package of `level` parts."""
    directory = parent(path)
    for _ in range(level):
        directory = parent(directory)
    return directory


def _nearest(own: Path, path: Path, candidates: list[Path]) -> Path | None:
    """The candidate in the importer's own root, or that shares most directories with it."""
    for candidate in candidates:
        if candidate.rpartition(".")[0] == own:
            return candidate
    shared = sorted(
        ((_n_shared(path, candidate), candidate) for candidate in candidates), reverse=True
    )
    if len(shared) > 1 and shared[0][0] == shared[1][0]:
        return None
    return shared[0][1]


def _n_shared(one: Path, other: Path) -> int:
    n = 0
    for a, b in zip(one.split("/"), other.split("/"), strict=False):
        if a != b:
            break
        n += 1
    return n
