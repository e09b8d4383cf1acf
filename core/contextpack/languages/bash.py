"""Bash and its kin: `source` and `.`, and functions.

An import's `level` is 1 where its `specifier` is relative to the file's own directory, as
`$(dirname "$0")/x.sh`, `${BASH_SOURCE%/*}/x.sh` and `"$DIR/x.sh"` after an assignment of such a
path say it; 2 where it is relative to the root that git tells; 0 where the path is as written.
A `# shellcheck source=` directive says what its author knows. Anything else that the shell
would expand is kept as it is written, with the kind `DYNAMIC`.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from contextpack.languages.tree import Matches, first_line, node_text
from contextpack.model import Import, ImportKind

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(command name: (command_name) @callee argument: (_) @argument
  (#any-of? @callee "source" "." "\\\\."))
(variable_assignment name: (variable_name) @variable_name value: (_) @value)
(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @variable)
"""

# A path is built of a few words; deeper ones are not read.
MAX_PATH_DEPTH = 12

_SELF = re.compile(r"\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?|\$\{\(%\):-%[xN]\}")
_OWN_DIRECTORY = re.compile(r"\$\{(?:0|BASH_SOURCE(?:\[0\])?)(?:%/\*|(?::[aA])?:h)\}")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_PARENT_OF = re.compile(r"\$\{(\w+)%/\*\}")
_DIRECTIVE = re.compile(r"#\s*shellcheck\b.*?\bsource=(\S+)")
_UNQUOTED = re.compile(r"[$`*?~\[{]")  # What the shell expands in a bare word.


class Base(Enum):
    """What the text of a path follows."""

    WRITTEN = "written"
    FILE = "file"
    """The file itself: only its directory is of use."""
    DIRECTORY = "directory"
    ROOT = "root"
    """Where git says that the work tree begins."""


Place = tuple[Base, str]
"""A base and the text behind it, which begins with a slash unless the base is `WRITTEN`."""
Known = Mapping[str, Place | None]


def imports(matches: Matches) -> list[Import]:
    """Every sourced file, with the variables that the text assigns read in order."""
    known: dict[str, Place | None] = {}
    found: list[tuple[int, str, Node, Node]] = []
    for _, captures in matches:
        if "value" in captures:
            value = captures["value"][0]
            found.append(
                (value.start_byte, node_text(captures["variable_name"][0]), value, value)
            )
        elif "callee" in captures:
            command, argument = captures["callee"][0].parent, captures["argument"][0]
            if command is not None and argument == command.child_by_field_name("argument"):
                found.append((argument.start_byte, "", argument, command))
    result: list[Import] = []
    for _, variable, value, command in sorted(found, key=lambda item: item[0]):
        if variable:
            place = _place(value, known, 0)
            # Assigned twice and differently, it may be either.
            known[variable] = place if known.get(variable, place) == place else None
        else:
            result.append(_import(value, command, known))
    return result


def _import(argument: "Node", command: "Node", known: Known) -> Import:
    line = first_line(command)
    match _place(argument, known, 0):
        case (Base.WRITTEN, path) if path:
            return Import(path, line, kind=ImportKind.REQUIRE)
        case (Base.DIRECTORY, path) if path:
            return Import("." + path, line, level=1, kind=ImportKind.REQUIRE)
        case (Base.ROOT, path) if path:
            return Import("." + path, line, level=2, kind=ImportKind.REQUIRE)
        case _:
            pass
    before = command.prev_named_sibling
    if before is not None and before.type == "comment":
        told = _DIRECTIVE.match(node_text(before))
        if told and told[1] != "/dev/null":
            is_beside = told[1].startswith("SCRIPTDIR/")
            specifier = told[1].replace("SCRIPTDIR", ".", 1) if is_beside else told[1]
            return Import(specifier, line, level=int(is_beside), kind=ImportKind.REQUIRE)
    return Import(" ".join(node_text(argument).split()), line, kind=ImportKind.DYNAMIC)


def _place(node: "Node", known: Known, depth: int) -> Place | None:
    """The path that a word stands for, or None when only a shell could tell."""
    if depth > MAX_PATH_DEPTH:
        return None
    text = node_text(node)
    match node.type:
        case "word":
            return None if _UNQUOTED.search(text) else (Base.WRITTEN, text.replace("\\", ""))
        case "string_content":
            return Base.WRITTEN, text
        case "raw_string":
            return Base.WRITTEN, text[1:-1]
        case "simple_expansion" | "expansion":
            return _expanded(text, known)
        case "command_substitution":
            return _substituted(node, known, depth + 1)
        case "string" | "concatenation":
            return _concatenated(node, known, depth + 1)
        case _:
            return None


def _concatenated(node: "Node", known: Known, depth: int) -> Place | None:
    base, path = Base.WRITTEN, ""
    for position, part in enumerate(node.named_children):
        place = _place(part, known, depth)
        if place is None or (position and place[0] is not Base.WRITTEN):
            return None
        base = base if position else place[0]
        path += place[1]
    if base is not Base.WRITTEN and path and (base is Base.FILE or not path.startswith("/")):
        return None
    return base, path


def _expanded(text: str, known: Known) -> Place | None:
    if _SELF.fullmatch(text):
        return Base.FILE, ""
    if _OWN_DIRECTORY.fullmatch(text):
        return Base.DIRECTORY, ""
    if match := _VARIABLE.fullmatch(text):
        return known.get(match[1] or match[2])
    if match := _PARENT_OF.fullmatch(text):
        return _parent(known.get(match[1]))
    return None


def _substituted(node: "Node", known: Known, depth: int) -> Place | None:
    """`$(dirname path)`, `$(cd path && pwd)`, `$(realpath path)`, git's own root, nested freely."""
    commands: list[Node] = []
    inner = list(node.named_children)
    while inner and len(commands) <= MAX_PATH_DEPTH:
        child = inner.pop(0)
        if child.type == "command":
            commands.append(child)
        elif child.type in ("list", "redirected_statement"):
            inner[:0] = child.named_children
    if not commands:
        return None
    name = commands[0].child_by_field_name("name")
    given = [
        child
        for child in commands[0].children_by_field_name("argument")
        if not node_text(child).startswith("-")
    ]
    called = node_text(name) if name is not None else ""
    if called == "git" and "rev-parse --show-toplevel" in node_text(commands[0]):
        return Base.ROOT, ""
    if len(given) != 1:
        return None
    place = _place(given[0], known, depth)
    match called:
        case "dirname":
            return _parent(place)
        case "realpath" | "readlink":
            return place
        case "cd" | "pushd":
            last = commands[-1].child_by_field_name("name")
            return place if last is not None and node_text(last) == "pwd" else None
        case _:
            return None


def _parent(place: Place | None) -> Place | None:
    match place:
        case None:
            return None
        case (Base.FILE, _):
            return Base.DIRECTORY, ""
        case (Base.WRITTEN, path):
            return (Base.WRITTEN, path.rpartition("/")[0]) if "/" in path else None
        case (base, path):
            return base, path + "/.."
