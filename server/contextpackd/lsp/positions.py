r"""Positions of the protocol to offsets in a text.

Lines end at `\n`, `\r\n` and `\r` and nowhere else. Columns count units of the encoding that
client and server agreed on; without an agreement that is UTF-16.
"""

import re
from enum import StrEnum

_LINE_END = re.compile(r"\r\n|\n|\r")
_CONTINUATION = range(0x80, 0xC0)
"""Bytes of UTF-8 that continue a character."""


class Encoding(StrEnum):
    """Whose units columns count."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


def offset(text: str, line: int, column: int, encoding: Encoding) -> int:
    """The offset of a 0-based position. Past a line's end is its end, past the text its end.

    A column inside of a character means its start.
    """
    start = 0
    for _ in range(line):
        end = _LINE_END.search(text, start)
        if end is None:
            return len(text)
        start = end.end()
    end = _LINE_END.search(text, start)
    content = text[start : end.start() if end else len(text)]
    return start + _characters(content, max(0, column), encoding)


def _characters(content: str, units: int, encoding: Encoding) -> int:
    """How many characters the first so many units are."""
    if encoding is Encoding.UTF32 or content.isascii():
        return min(units, len(content))
    if encoding is Encoding.UTF8:
        encoded = content.encode("utf-8", "surrogatepass")
        while units < len(encoded) and encoded[units] in _CONTINUATION:
            units -= 1
        return len(encoded[:units].decode("utf-8", "surrogatepass"))
    whole = content.encode("utf-16-le", "surrogatepass")[: 2 * units]
    shown = whole.decode("utf-16-le", "surrogatepass")
    # A pair that was cut leaves its first half behind.
    return len(shown) - (0 if content.startswith(shown) else 1)
