"""JSON as people write it in configuration files: with comments and trailing commas."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType

# Strings are matched first, so that what looks like a comment in one is kept. No branch fails
# after it began: an open string or comment ends where the line or the text does.
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*+"?)|//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)')
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*+"?)|,(?=\s*[}\]])')

MAX_CHARACTERS = 1 << 20  # A configuration that people write is a hundredth of it.

EMPTY: Mapping[str, object] = MappingProxyType({})


def document(text: str) -> Mapping[str, object]:
    """The object that a text holds; an empty one when it holds none, or is far too large."""
    if len(text) > MAX_CHARACTERS:
        return EMPTY
    try:
        try:
            found = json.loads(text)
        except ValueError:
            bare = _COMMENT.sub(r"\1", text.removeprefix("\ufeff"))
            found = json.loads(_TRAILING_COMMA.sub(r"\1", bare))
    except (ValueError, RecursionError):
        return EMPTY
    return found if isinstance(found, dict) else EMPTY


def table(value: object) -> Mapping[str, object]:
    """The value as an object; an empty one when it is none."""
    return value if isinstance(value, dict) else EMPTY


def strings(value: object) -> tuple[str, ...]:
    """The strings of a list, or the string itself."""
    if isinstance(value, str):
        return (value,)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()
