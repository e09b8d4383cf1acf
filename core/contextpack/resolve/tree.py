"""What is in a workspace, as resolution needs it: paths, and the texts of configuration files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextpack.model import Path
from contextpack.resolve.declared import Declared


@dataclass(frozen=True, slots=True)
class Tree:
    """What resolution may know of a workspace and of the languages' installations."""

    paths: frozenset[Path]
    configs: Mapping[Path, str]
    """The texts of its configuration files (`tsconfig.json` ...), by path."""
    standard_library: frozenset[str]
    """The top-level modules of Python's standard library."""
    declared: Declared = field(default_factory=dict)
    """What files declare where imports name no file. It comes from facts: `graph` adds it."""


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
AT_ROOT = ""


def keys(path: Path) -> frozenset[str]:
    """The names by which a file's appearance can matter to an import (`keys_of` of a resolver).

    Its directories' names, its own name without each of its suffixes (`a.b.h`: `a.b.h`, `a.b`,
    `a`), `ANY_FILE`, and `AT_ROOT` for a file in the root itself.
    """
    *directories, name = path.split("/")
    stems = [name]
    while "." in name:
        name = name.rpartition(".")[0]
        stems.append(name)
    return frozenset([*directories, *stems, ANY_FILE, *([] if directories else [AT_ROOT])])
