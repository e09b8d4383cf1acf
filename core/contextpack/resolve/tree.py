"""What is in a workspace, as resolution needs it: paths, and the texts of configuration files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextpack.model import Path
from contextpack.resolve.declared import Declared


@dataclass(frozen=True, slots=True)
class Tree:
    """What resolution may know of a workspace and of the languages' installations."""

    paths: frozenset[Path]
    """Also of files that no bundle may hold, such as generated ones: imports lead to them."""
    configs: Mapping[Path, str]
    """The texts of its configuration files (`tsconfig.json` ...), by path."""
    standard_library: frozenset[str]
    """The top-level modules of Python's standard library."""
    declared: Declared = field(default_factory=dict)
    """What files declare where imports name no file. It comes from facts: `graph` keeps it."""


def parent(path: Path) -> Path:
    """The directory of a path; the root is the empty string."""
    return path.rpartition("/")[0]


def below(directory: Path, name: str) -> Path:
    """A path within a directory; either may be empty."""
    return f"{directory}/{name}" if directory and name else directory or name


def joined(directory: Path, relative: str) -> Path | None:
    """A relative specifier from a directory, normalised; None when it leaves the root."""
    parts = directory.split("/") if directory else []
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def directories_of(path: Path) -> list[Path]:
    """The directory of a path and those around it, nearest first, the root last."""
    result = [parent(path)]
    while result[-1]:
        result.append(parent(result[-1]))
    return result


ANY_FILE = "*"
"""A key of an import that any file may change."""
