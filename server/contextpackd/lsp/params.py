"""What the commands take: one table, from which parameters are read and documents are checked.

Each command takes one object. Its fields are those named here, and where a command makes a
request, the options of `options.OPTIONS`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextpackd.errors import FieldProblem
from contextpackd.fields import DEFAULT_TOP, Field, Shape, Takes, taken
from contextpackd.options import Option

NOTIFICATION = "contextpack/packChanged"


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


def options_of(command: Command) -> tuple[Option, ...]:
    """The options that a command's object may have."""
    return command.takes.options


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
    keeps_null = command is PACK and document.get("packId") is not None
    given = taken(document, command.fields, options_of(command), keeps_null=keeps_null)
    if command in (PACK, WHY) and "packId" not in given and "query" not in given:
        raise FieldProblem("query", f"must be {Shape.TEXT.value}")
    return given
