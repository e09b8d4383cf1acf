"""What a file's content is, judged by its name, bytes and characters alone.

Nothing here opens a file. `decoded` turns bytes into text; `content_reason` says why a text is
not worth a place in a bundle: binary, minified or generated.
"""

import re
from dataclasses import dataclass
from itertools import takewhile

from contextpack.model import Path, Reason
from contextpack.secrets import key_rule
from contextpack.text import split_lines

SNIFFED_CHARACTERS = 8000  # What git looks at to tell a binary file, in characters.

# UTF-32 stands first: its little-endian mark begins with UTF-16's.
_BYTE_ORDER_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
# Mostly-ASCII text in UTF-16 has a NUL in nearly every second byte, and none in the others.
UTF16_NUL_SHARE = 0.6
# Control characters other than white space, backspace, form feed and escape. Random bytes have
# 9 % of them, text in an old one-byte encoding none.
_CONTROL = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")
MAX_CONTROL_SHARE = 0.03
_MULTIBYTE_UTF8 = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
)

# Minifiers write one line, or break it at 500 (the oldest habit) to 32 000 characters. Code that
# people write stays under 200, a long literal aside.
LONG_LINE_CHARACTERS = 500
MINIFIED_SHARE = 0.8  # Of the characters that stand in long lines.
MINIFIED_MIN_CHARACTERS = 2000  # Less costs nobody's budget, whatever its shape.
# A module with one long literal has more lines of code than this for each long line.
MAX_PLAIN_LINES_PER_LONG = 2
# Formats that minifiers and serialisers write. Prose has a paragraph on a line, and tables have
# wide rows: length says nothing there.
_MINIFIABLE = re.compile(r".*\.(?:[cm]?jsx?|css|json|geojson|webmanifest|html?|svg|xml)")
_COMMENT_LINE = re.compile(r"\s*(?://|/\*|\*|#|<!--|--|;|%|\"\"\"|''')")

_GENERATED_NAME = re.compile(
    # Lock files: resolved versions and digests, thousands of lines of them.
    r"(?:package-lock|npm-shrinkwrap|packages\.lock|deno\.lock)\.json|yarn\.lock|pnpm-lock\.yaml"
    r"|bun\.lockb?|deno\.lock|poetry\.lock|pdm\.lock|uv\.lock|pixi\.lock|pipfile\.lock"
    r"|conda-lock\.yml|pylock(?:\..+)?\.toml|cargo\.lock|go\.sum|go\.work\.sum|composer\.lock"
    r"|gemfile\.lock|podfile\.lock|pubspec\.lock|mix\.lock|rebar\.lock|flake\.lock"
    r"|gradle\.lockfile|package\.resolved|cartfile\.resolved|\.terraform\.lock\.hcl"
    # Source maps, and what protocol compilers and code generators write beside their input.
    r"|.+\.(?:[cm]?js|css)\.map|.+_pb2(?:_grpc)?\.pyi?|.+\.pb\.(?:go|cc|h|swift|dart)"
    r"|.+\.pb\.gw\.go|.+_pb\.(?:js|ts|d\.ts|rb)|.+\.(?:g|freezed|gr|mocks)\.dart"
    r"|.+\.designer\.(?:cs|vb)|.+\.g\.(?:cs|i\.cs)|zz_generated\..+\.go"
    # Recorded output of tests.
    r"|.+\.(?:snap|ambr)"
)
_MINIFIED_NAME = re.compile(r".+[.-]min\.(?:[cm]?js|css|html?|svg)")
LEADING_LINES = 20  # Generators sign at the top, behind a licence at the furthest.
_GENERATED_MARKERS = (
    re.compile(r"@generated\b"),
    re.compile(r"<auto-?generated\b"),
    re.compile(r"\bcode generated\b.*\bdo not (?:edit|modify)\b"),
    re.compile(r"\b(?:this )?(?:file|code|module|class) (?:is|was|has been) "
               r"(?:auto-?|automatically |auto )generated\b"),
    re.compile(r"^\W*(?:auto-?|automatically |auto )generated (?:by|from|with|using)\b"),
)  # fmt: skip
_ASSIGNMENT = re.compile(r"[\w\s.$:,|\[\]]*=")
_GENERATED_WORD = re.compile(r"\b(?:auto-?)?generated\b")
_HANDS_OFF = re.compile(
    r"\b(?:do not|don't|never) (?:manually |hand[- ]?)?(?:edit|modify|change)\b"
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """Bytes as text. The byte order mark is not part of it; line endings are as they were."""

    text: str
    encoding: str
    is_lossy: bool
    """Whether bytes were guessed or replaced, so that the text may not give them back."""


def is_binary_content(text: str) -> bool:
    """Whether a NUL stands among the leading characters. Decode UTF-16 before asking."""
    return "\0" in text[:SNIFFED_CHARACTERS]


def decoded(data: bytes) -> Decoded | None:
    """The text that these bytes are, or None if they are none.

    Marks are looked for before NULs: UTF-16 is full of NULs and is text. No text with a NUL
    anywhere comes back, since none could be shown. The text never holds lone surrogates.
    """
    found = _by_mark(data) or _by_sniffing(data)
    return None if found is None or "\0" in found.text else found


def named_reason(path: Path) -> Reason | None:
    """Why a file is left out for its name alone: minified, generated, or None."""
    name = path.rpartition("/")[2].lower()
    if _MINIFIED_NAME.fullmatch(name):
        return Reason.MINIFIED
    return Reason.GENERATED if _GENERATED_NAME.fullmatch(name) else None


def content_reason(path: Path, text: str) -> Reason | None:
    """Why a text has no place in a bundle: binary, secret, minified, generated, or None."""
    if is_binary_content(text):
        return Reason.BINARY
    if key_rule(path, text):
        return Reason.SECRET
    if reason := named_reason(path):
        return reason
    if _MINIFIABLE.fullmatch(path.lower()) and _is_minified(text):
        return Reason.MINIFIED
    return Reason.GENERATED if _is_generated(text) else None


def _by_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark) and not (encoding == "utf-32-le" and len(data) % 4):
            body = data[len(mark) :]
            try:
                return Decoded(body.decode(encoding), encoding, is_lossy=False)
            except UnicodeDecodeError:
                return Decoded(body.decode(encoding, "replace"), encoding, is_lossy=True)
    return None


def _by_sniffing(data: bytes) -> Decoded | None:
    if b"\0" in data:
        return _as_utf16(data)
    try:
        return Decoded(data.decode(), "utf-8", is_lossy=False)
    except UnicodeDecodeError:
        pass
    if len(_CONTROL.findall(data)) > MAX_CONTROL_SHARE * len(data):
        return None
    # Neither way moves a line ending: both leave ASCII alone. One bad byte in UTF-8 must not
    # turn the rest into mojibake; text without a single UTF-8 sequence is in a one-byte encoding,
    # and of these the Windows one shows the most letters right.
    encoding = "utf-8" if _MULTIBYTE_UTF8.search(data) else "cp1252"
    return Decoded(data.decode(encoding, "replace"), encoding, is_lossy=True)


def _as_utf16(data: bytes) -> Decoded | None:
    """UTF-16 without a mark, told by where the NULs stand; None for anything else."""
    if len(data) % 2:
        return None
    head = data[: 2 * SNIFFED_CHARACTERS]
    n_even, n_odd = head[::2].count(0), head[1::2].count(0)
    enough = UTF16_NUL_SHARE * len(head) / 2
    if n_odd >= enough and n_even == 0:
        encoding = "utf-16-le"
    elif n_even >= enough and n_odd == 0:
        encoding = "utf-16-be"
    else:
        return None
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    # Small numbers in two bytes each look the same from afar: as text they are controls.
    if _CONTROL.search(text.encode("latin-1", "replace")):
        return None
    return Decoded(text, encoding, is_lossy=False)


def _is_minified(text: str) -> bool:
    if len(text) < MINIFIED_MIN_CHARACTERS:
        return False
    n_long = n_plain = n_long_characters = 0
    for line in split_lines(text):
        if len(line) >= LONG_LINE_CHARACTERS:
            n_long += 1
            n_long_characters += len(line)
        elif not line.isspace() and not _COMMENT_LINE.match(line):
            n_plain += 1
    is_mostly_long = n_long_characters >= MINIFIED_SHARE * len(text)
    return is_mostly_long and n_plain <= MAX_PLAIN_LINES_PER_LONG * n_long


def _is_generated(text: str) -> bool:
    # Comments above the first assignment only: a generator's own source has the marker in a
    # string, and that may span lines which look like comments.
    leading = split_lines(text[: LEADING_LINES * LONG_LINE_CHARACTERS])[:LEADING_LINES]
    top = takewhile(lambda line: not _ASSIGNMENT.match(line), leading)
    comments = [line.lower() for line in top if _COMMENT_LINE.match(line)]
    if any(marker.search(line) for line in comments for marker in _GENERATED_MARKERS):
        return True
    note = " ".join(comments)
    return bool(_GENERATED_WORD.search(note) and _HANDS_OFF.search(note))
