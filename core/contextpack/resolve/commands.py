"""The include directories that a compilation database gives to the files of a workspace.

`compile_commands.json` has a command for each source file; `compile_flags.txt` has one list of
flags for all, a line each. Values of the wrong shape count as absent. Response files and `-I`
without a database (in a Makefile) are not read.
"""

import json
import re
from collections.abc import Mapping

from contextpack.model import Path
from contextpack.resolve.tree import Tree, joined, parent

MAX_DIRECTORIES = 1000  # To search for each include; large builds have some hundred.
MAX_COMMAND = 1 << 15  # Operating systems take no longer ones without a response file.
MAX_PATH = 4096  # Of a file, as on Linux.

_DATABASE, _FLAGS = "compile_commands.json", "compile_flags.txt"
_ARGUMENT = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""")
_QUOTES = re.compile(r"""["']|\\(.)""")

# In the order in which their directories are searched.
_INCLUDE_FLAGS = ("-iquote", "-I", "-isystem", "-idirafter")


def is_database(path: Path) -> bool:
    """Whether a file is a compilation database."""
    return path.rpartition("/")[2] in (_DATABASE, _FLAGS)


def include_directories(tree: Tree) -> tuple[Mapping[Path, tuple[Path, ...]], tuple[Path, ...]]:
    """The directories of each file that a database names, and those of all, in order."""
    commands: dict[Path, tuple[Path, ...]] = {}
    everywhere: dict[Path, None] = {}
    for path in sorted(tree.configs):
        name = path.rpartition("/")[2]
        if name == _DATABASE:
            for file, found in _commands(tree.configs[path], tree.paths).items():
                commands.setdefault(file, found)
                everywhere.update(dict.fromkeys(found))
        elif name == _FLAGS:
            flags = tree.configs[path].splitlines()
            here = _absolute(parent(path))
            everywhere.update(dict.fromkeys(_within("/", _directories(here, flags))))
    return commands, tuple(everywhere)[:MAX_DIRECTORIES]


def _commands(text: str, paths: frozenset[Path]) -> Mapping[Path, tuple[Path, ...]]:
    """The include directories of each file that a compilation database names.

    Its paths are absolute, and the root's is not known here: it is what most of the files'
    paths begin with before a path of the workspace.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    entries = [
        (_rebased(directory, file), directory, entry)
        for entry in (document if isinstance(document, list) else [])
        if isinstance(entry, dict)
        and isinstance(file := entry.get("file"), str)
        and len(file) <= MAX_PATH
        and isinstance(directory := entry.get("directory", "/"), str)
    ]
    counts: dict[str, int] = {}
    for file, _, _ in entries:
        root = _root_of(file, paths)
        if root is not None:
            counts[root] = counts.get(root, 0) + 1
    if not counts:
        return {}
    root = max(sorted(counts), key=lambda found: counts[found])
    result: dict[Path, tuple[Path, ...]] = {}
    for file, directory, entry in entries:
        found = tuple(_within(root, _directories(directory, _arguments(entry))))
        for name in _within(root, [file]):
            result.setdefault(name, found)
    return result


def _arguments(entry: Mapping[str, object]) -> list[str]:
    arguments, command = entry.get("arguments"), entry.get("command")
    if isinstance(arguments, list):
        return [argument for argument in arguments if isinstance(argument, str)]
    if isinstance(command, str) and len(command) <= MAX_COMMAND:
        return [_QUOTES.sub(r"\1", found) for found in _ARGUMENT.findall(command)]
    return []


def _directories(directory: str, arguments: list[str]) -> list[str]:
    """The include directories of a command, absolute, in the order of the search."""
    found: dict[str, list[str]] = {flag: [] for flag in _INCLUDE_FLAGS}
    following = ""
    for argument in arguments:
        if following:
            found[following].append(_rebased(directory, argument))
            following = ""
        elif argument.startswith(("-I", "-i")):
            flag = next((flag for flag in _INCLUDE_FLAGS if argument.startswith(flag)), "")
            if argument == flag:
                following = flag
            elif flag:
                found[flag].append(_rebased(directory, argument[len(flag) :]))
    places = dict.fromkeys(place for flag in _INCLUDE_FLAGS for place in found[flag])
    return list(places)[:MAX_DIRECTORIES]


def _absolute(path: Path) -> str:
    return f"/{path}" if path else "/"


def _rebased(directory: str, written: str) -> str:
    """An absolute path, normalised; what leaves the file system's root stays below it."""
    written = written.replace("\\", "/")
    is_absolute = written.startswith("/") or re.match(r"[A-Za-z]:/", written) is not None
    whole = written if is_absolute else f"{directory}/{written}".replace("\\", "/")
    return _absolute(joined("", whole.lstrip("/")) or "")


def _root_of(file: str, paths: frozenset[Path]) -> str | None:
    """What precedes the longest path of the workspace that a file's path ends in."""
    ending = file.lstrip("/")
    while ending:
        if ending in paths:
            return file[: len(file) - len(ending)]
        ending = ending.partition("/")[2]
    return None


def _within(root: str, files: list[str]) -> list[Path]:
    """The paths of files below a root (which ends in a slash), relative to it."""
    return [file[len(root) :] for file in files if f"{file}/".startswith(root)]
