"""The line at the end of a bundle from which its question can be asked again.

It stands in the text itself and not in a file beside it: bundles are pasted into chats and
issues, where a file beside them stays behind. It is paid for, so a request asks for it.

The root is not in it: where a workspace lies on somebody's disk is nobody else's business.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from contextpack.request import Focus, Forced, Request

# One token for three digits, whichever they are, in o200k and cl100k: the cost of a digest is
# known before the digest is.
_DIGEST_DIGITS = 18
NO_DIGEST = "0" * _DIGEST_DIGITS

_STAMP = re.compile(r"^<!-- contextpackd 1 (\{.*\}) (\d{18}) -->$", re.MULTILINE)
_SURROGATES = re.compile("[\ud800-\udfff]")
_DEFAULTS = {field.name: field.default for field in dataclasses.fields(Request)}.items()


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a stamp says."""

    question: Mapping[str, object]
    """The query and the options that are not the defaults, as JSON has them."""
    digest: str
    """Of the parts of the bundle that show files."""


def question_of(request: Request) -> str:
    """The request as JSON on one line that no comment of Markdown or XML ends at."""
    given = {
        _json_name(name): _plain(value)
        for name, default in _DEFAULTS
        if (value := getattr(request, name)) != default
    }
    written = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    written = _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
    return written.replace("--", "-\\u002d")


def stamp_line(question: str, digest: str) -> str:
    """The line, with its end."""
    return f"<!-- contextpackd 1 {question} {digest} -->\n"


def digest_of(parts: str) -> str:
    """The digest of a bundle's parts. Line ends may change on the way through a clipboard."""
    lines = parts.replace("\r\n", "\n").replace("\r", "\n")
    data = lines.encode("utf-8", "surrogatepass")
    number = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest())
    return str(number % 10**_DIGEST_DIGITS).zfill(_DIGEST_DIGITS)


def stamp_in(text: str) -> Stamp | None:
    """The last stamp in a text, or None without one that can be read."""
    found = None
    for match in _STAMP.finditer(text.replace("\r\n", "\n")):
        found = match
    if found is None:
        return None
    try:
        question = json.loads(found[1])
    except ValueError:
        return None
    return Stamp(question, found[2])


def _json_name(field: str) -> str:
    head, *rest = field.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _plain(value: object) -> object:
    match value:
        case Enum():
            return value.value
        case tuple() if value and all(isinstance(item, Forced) for item in value):
            return {item.path: item.detail.value for item in value}
        case tuple() if value and all(isinstance(item, Focus) for item in value):
            return [_place(item) for item in value]
        case _:
            return value


def _place(focus: Focus) -> dict[str, object]:
    lines = None if focus.lines is None else [focus.lines.start, focus.lines.end]
    optional = {"lines": lines, "optional": focus.is_optional or None}
    given = {name: value for name, value in optional.items() if value is not None}
    return {"path": focus.path, **given}
