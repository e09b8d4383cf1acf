"""Lines and paths as text. Line numbers are 1-based and inclusive everywhere in the project."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

# The line model of the Language Server Protocol: `\n`, `\r\n` and `\r` end a line, nothing else
# does (`str.splitlines` also splits at form feeds and at U+2028).
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")

_LINE_FEED = 10

# So many paths tell roughly where the others lie.
SAMPLED_PATHS = 512

_start = attrgetter("start")

# C0, DEL, C1, line and paragraph separators, and the characters that reorder text.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# Of these, a terminal takes tabs and line ends well.
_RISKY = re.compile(rf"\r(?!\n)|(?![\t\r\n]){_UNPRINTABLE.pattern}")
_BIDI_CONTROL = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SHORT_ESCAPES = (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


@dataclass(frozen=True, slots=True, order=True)
class Lines:
    """A range of lines of one text, 1-based, both ends included."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 1 <= self.start <= self.end:
            raise ValueError(f"not a range of lines: {self.start}-{self.end}")

    def __len__(self) -> int:
        return self.end - self.start + 1


@dataclass(frozen=True, slots=True)
class Lined:
    """A text with the offsets of its lines: any run of them is one slice."""

    text: str
    starts: NDArray[np.int64]
    """Of each line; the last one is the end of the text."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def of(self, lines: Lines) -> str:
        """These lines, with their endings. Lines beyond the end are empty."""
        starts = self.starts
        last = len(starts) - 1
        start, end = min(lines.start - 1, last), min(lines.end, last)
        return self.text[starts[start] : starts[end]]

    @property
    def whole(self) -> Lines:
        """All lines; the first one where there is none."""
        return Lines(1, max(1, len(self)))


def lined(text: str) -> Lined:
    """The text as lines, by the line model of `split_lines`."""
    if "\r" in text:
        ends = np.array([match.end() for match in _LINE.finditer(text)], np.int64)
        return Lined(text, np.concatenate([np.zeros(1, np.int64), ends]))
    points: NDArray[np.uint8] | NDArray[np.uint32] = (
        np.frombuffer(text.encode(), np.uint8)
        if text.isascii()
        else np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    )
    (ends,) = (points == _LINE_FEED).nonzero()
    has_rest = bool(text) and not text.endswith("\n")
    starts = np.empty(len(ends) + 1 + has_rest, np.int64)
    starts[0], starts[-1] = 0, len(text)
    np.add(ends, 1, out=starts[1 : len(ends) + 1])
    return Lined(text, starts)


def split_lines(text: str) -> list[str]:
    """The lines of a text, each with its ending, so that joining them gives the text back."""
    if "\r" not in text:  # Several times as fast as the expression.
        *lines, rest = text.split("\n")
        lines = [line + "\n" for line in lines]
        return [*lines, rest] if rest else lines
    return _LINE.findall(text)


def writable(text: str) -> str:
    """The text without lone surrogates, which no encoding can write: each becomes U+FFFD."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def is_writable(text: str) -> bool:
    """Whether every encoding can write the text: it has no lone surrogates."""
    return text.isascii() or writable(text) == text


def merged(ranges: Iterable[Lines]) -> tuple[Lines, ...]:
    """The same lines as few ranges, in order; ranges that touch or overlap become one."""
    result: list[Lines] = []
    for lines in sorted(ranges, key=_start):
        if result and lines.start <= result[-1].end + 1:
            if lines.end > result[-1].end:
                result[-1] = Lines(result[-1].start, lines.end)
        else:
            result.append(lines)
    return tuple(result)


def display_path(path: str) -> str:
    r"""A path as people and JSON see it: printable, without lone surrogates.

    A byte that is not UTF-8 (a surrogate from `os.fsdecode`) becomes `\xe9`; control and
    reordering characters become escapes. Two different paths may share a display form, so
    nothing is looked up by it.
    """
    if path.isascii() and path.isprintable():
        return path
    for char, escape in _SHORT_ESCAPES:
        path = path.replace(char, escape)
    return _UNPRINTABLE.sub(_escape, path)


def first_sorted(paths: Sequence[str], n: int) -> list[str]:
    """The first `n` of the paths in their order, without sorting a hundred thousand of them."""
    if len(paths) > 2 * SAMPLED_PATHS and n < len(paths):
        sample = sorted(paths[:: len(paths) // SAMPLED_PATHS])
        # Where they lie as in the sample, so many times `n` are not above this one.
        border = sample[min(len(sample) - 1, 1 + 3 * n * len(sample) // len(paths))]
        few = [path for path in paths if path <= border]
        if len(few) >= n:
            return sorted(few)[:n]
    return sorted(paths)[:n]


def has_bidi_controls(text: str) -> bool:
    """Whether some character embeds, overrides or isolates a direction of reading.

    These can show code in another order than it runs in ("Trojan Source", CVE-2021-42574).
    The plain marks of right-to-left prose are not meant.
    """
    return not text.isascii() and _BIDI_CONTROL.search(text) is not None


def terminal_safe(text: str) -> str:
    r"""A text for a terminal: tabs and line ends stay, other control characters are escapes.

    So are characters that reorder text, and lone surrogates. A `\r` by itself is escaped too:
    it lets a line overwrite itself.
    """
    return _RISKY.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    point = ord(match[0])
    if 0xDC80 <= point <= 0xDCFF:  # What `surrogateescape` makes of the byte `point - 0xDC00`.
        return f"\\x{point - 0xDC00:02x}"
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"
