"""What the commands take: one table, from which parameters are read and documents are checked.

Each command takes one object. Its fields are those named here, and where a command makes a
request, the options of `options.OPTIONS`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from contextpackd.errors import FieldProblem
from contextpackd.joint import MAX_ROOTS
from contextpackd.options import OPTIONS, Option

NOTIFICATION = "contextpack/packChanged"

DEFAULT_TOP = 20


class Shape(StrEnum):
    """What a field's value must be."""

    TEXT = "text"
    NAME = "text that is not empty"
    SWITCH = "true or false"
    COUNT = "a whole number above 0"
    NAMES = f"a list of 1 to {MAX_ROOTS} texts that are not empty"
    WAY = "one of imports, importers"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a command's object."""

    name: str
    shape: Shape
    help: str
    is_required: bool = False


class Takes(StrEnum):
    """Which options a command's object may have beside its fields."""

    NOTHING = "none"
    DISCOVERY = "discovery"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Command:
    """One command."""

    name: str
    summary: str
    takes: Takes
    fields: tuple[Field, ...]


_ROOT = (
    Field("root", Shape.NAME, "the workspace folder: a path or a `file:` URI"),
    Field("uri", Shape.NAME, "a document: the innermost open folder that holds it is the root"),
)
_ROOTS = (
    *_ROOT,
    Field("roots", Shape.NAMES, "several workspace folders, in place of `root`"),
)
_QUERY = Field("query", Shape.TEXT, "the task in words", is_required=True)
_PACK_ID = Field("packId", Shape.NAME, "a pack that this connection holds", is_required=True)
_TOP = Field("top", Shape.COUNT, f"how many of the best (default: {DEFAULT_TOP})")

PACK = Command(
    "contextpack.pack",
    "The bundle for a task, or with `packId` the same pack with changed fields.",
    Takes.ALL,
    (
        Field("query", Shape.TEXT, "the task in words; required without `packId`"),
        *_ROOTS,
        Field("packId", Shape.NAME, "pack again what this names; `null` resets a field"),
        Field("wait", Shape.SWITCH, "wait for the first index (default: true)"),
    ),
)
ANSWER = Command(
    "contextpack.answer",
    "What a chat's reply about a pack names and the pack did not show, as a pack of its own.",
    Takes.ALL,
    (
        _PACK_ID,
        Field("reply", Shape.TEXT, "what the chat said, in Markdown", is_required=True),
    ),
)
LIVE = Command(
    "contextpack.live",
    f"Pack again after each change that matters, and send `{NOTIFICATION}`.",
    Takes.NOTHING,
    (
        _PACK_ID,
        Field("on", Shape.SWITCH, "whether to", is_required=True),
        Field("text", Shape.SWITCH, "whether notifications carry the text (default: false)"),
    ),
)
CLOSE = Command(
    "contextpack.close", "Let a pack go.", Takes.NOTHING, (_PACK_ID,)
)  # fmt: skip
EXPLAIN = Command(
    "contextpack.explain",
    "The scores of a bundle's files and parts and of the best outside, each with what makes it.",
    Takes.ALL,
    (
        _QUERY,
        *_ROOTS,
        Field("top", Shape.COUNT, f"how many outside the bundle (default: {DEFAULT_TOP})"),
    ),
)
WHY = Command(
    "contextpack.why",
    "Why a file, or the part of it at a line, is in the bundle for a task or out.",
    Takes.ALL,
    (
        Field("query", Shape.TEXT, "the task in words; required without `packId`"),
        *_ROOTS,
        Field("path", Shape.NAME, "the file, relative to the root; without it that of `uri`"),
        Field("line", Shape.COUNT, "a line of it, from 1; without one the whole file is meant"),
        Field("packId", Shape.NAME, "in the pack that this names, with fields as given here"),
    ),
)
FILES = Command(
    "contextpack.files",
    "What discovery sees, and what is left out by which rule.",
    Takes.DISCOVERY,
    _ROOTS,
)
SEARCH = Command(
    "contextpack.search",
    "The ranked chunks for a task.",
    Takes.ALL,
    (_QUERY, *_ROOTS, _TOP),
)
GRAPH = Command(
    "contextpack.graph",
    "Who imports whom: around the document of `uri`, or everywhere.",
    Takes.DISCOVERY,
    (
        *_ROOT,
        Field("direction", Shape.WAY, "what the document imports, or who imports it (default: imports)"),
        Field("depth", Shape.COUNT, "at most so many steps from the document"),
    ),
)  # fmt: skip
EXPORT = Command(
    "contextpack.export",
    "Write a pack's text to a file, whole or not at all.",
    Takes.NOTHING,
    (
        _PACK_ID,
        Field("file", Shape.NAME, "an absolute path or a `file:` URI", is_required=True),
    ),
)
STATUS = Command(
    "contextpack.status",
    "What the server is and holds.",
    Takes.NOTHING,
    (),
)

COMMANDS = (PACK, ANSWER, LIVE, CLOSE, EXPLAIN, WHY, FILES, SEARCH, GRAPH, EXPORT, STATUS)
"""Every command, in the order of `editors/PROTOCOL.md`."""

_DISCOVERY = frozenset({"include", "exclude", "max_file_bytes"})
_WAYS = ("imports", "importers")


def options_of(command: Command) -> tuple[Option, ...]:
    """The options that a command's object may have."""
    match command.takes:
        case Takes.NOTHING:
            return ()
        case Takes.DISCOVERY:
            return tuple(option for option in OPTIONS if option.field in _DISCOVERY)
        case Takes.ALL:
            return OPTIONS


def shape_of(option: Option) -> str:
    """What an option's value must be on the wire, in words."""
    match option.metavar:
        case "":
            return "true or false"
        case "N":
            return "whole number, or text such as `8k`"
        case "PERCENT" | "X" | "T":
            return "number"
        case "NAME":
            return "text"
        case "GLOB" | "PATH":
            return "list of texts"
        case "PATH=whole|outline":
            return "object of path to `whole` or `outline`"
        case "PATH[:RANGE]":
            return "list of texts such as `a.py:3-9`, or of `{path or uri, range?}`"
        case "REV":
            return "true, or text that names a commit"
        case choices:
            return "one of " + ", ".join(f"`{choice}`" for choice in choices.split("|"))


def checked(command: Command, arguments: Sequence[object] | None) -> dict[str, object]:
    """A command's one object: its own fields checked, options only known by their names.

    Raises `FieldProblem`. Without an argument the object is empty. A field that is `null`
    counts as not given, but for `contextpack.pack` with `packId`, where it resets the field.
    """
    if not arguments:
        document: object = {}
    elif len(arguments) > 1:
        raise FieldProblem("arguments", f"must hold one object, got {len(arguments)} values")
    else:
        document = arguments[0]
    if not isinstance(document, Mapping):
        raise FieldProblem("arguments[0]", "must be an object")
    fields = {field.name: field for field in command.fields}
    names = {
        name for option in options_of(command) for name in (option.json_name, *option.aliases)
    }
    keeps_null = command is PACK and document.get("packId") is not None
    given: dict[str, object] = {}
    for name, value in document.items():
        if name in fields and value is not None:
            _check(fields[name], value)
            given[name] = value
        elif name in names and (value is not None or keeps_null):
            given[name] = value
        elif name not in fields and name not in names:
            known = ", ".join([*fields, *(option.json_name for option in options_of(command))])
            raise FieldProblem(_shown(name), f"is no field; there are {known or 'none'}")
    for field in command.fields:
        if field.is_required and field.name not in given:
            raise FieldProblem(field.name, f"must be {field.shape.value}")
    if command in (PACK, WHY) and "packId" not in given and "query" not in given:
        raise FieldProblem("query", f"must be {Shape.TEXT.value}")
    return given


def _check(field: Field, value: object) -> None:
    if not _holds(field.shape, value):
        raise FieldProblem(field.name, f"must be {field.shape.value}")


def _holds(shape: Shape, value: object) -> bool:
    match shape:
        case Shape.TEXT:
            return isinstance(value, str)
        case Shape.NAME:
            return _is_name(value)
        case Shape.NAMES:
            return (
                isinstance(value, list)
                and 0 < len(value) <= MAX_ROOTS
                and all(map(_is_name, value))
            )
        case Shape.SWITCH:
            return isinstance(value, bool)
        case Shape.COUNT:
            return isinstance(value, int) and not isinstance(value, bool) and value > 0
        case Shape.WAY:
            return value in _WAYS


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def _shown(name: str) -> str:
    return name if len(name) <= 40 else name[:40] + "…"
