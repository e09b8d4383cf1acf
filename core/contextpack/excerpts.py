"""The text of a bundle back to what it shows, and whether the files still say so.

A bundle names a path and ranges for each part and shows their lines verbatim, so it can be held
against the files with nothing beside it. Lines are counted by the ranges, so content that
looks like a part of the bundle's own syntax is content. Whatever stands around the bundle is
passed over.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import unescape
from typing import assert_never

from contextpack.model import Format
from contextpack.render import GAP, preamble, visible_in_xml
from contextpack.stamp import Stamp, digest_of, stamp_in
from contextpack.text import Lined, Lines, split_lines, writable

_SPANS = r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*"
_NAMED = re.compile(rf"(.*?)(?::({_SPANS}))?\Z", re.DOTALL)
_MARK = r"(?: \((outline|truncated)\))?"
_MARKDOWN_HEAD = re.compile(rf"(`+)( ?)(.+?)\2\1{_MARK}\Z")
_FENCE = re.compile(r"(`{3,})[\w+#.-]*\Z")
_PLAIN_HEAD = re.compile(rf"==> (.+?){_MARK} <==\Z")
_XML_PART = re.compile(
    rf'<file path="([^"]*)"(?: lines="({_SPANS})")?(?: detail="(\w+)")?>'
    r"((?:<!\[CDATA\[.*?\]\]>|<gap/>)*)</file>",
    re.DOTALL,
)
_XML_TOKEN = re.compile(r"<!\[CDATA\[(.*?)\]\]>|<gap/>", re.DOTALL)
_XML_OPENING = '<file path="'


class Status(StrEnum):
    """Whether a file still says what a bundle shows of it."""

    HOLDS = "holds"
    MOVED = "moved"  # The same lines stand elsewhere in the file.
    CHANGED = "changed"
    GONE = "gone"  # There is no such file, or nobody may look at it.


@dataclass(frozen=True, slots=True)
class Shown:
    """Some lines of a file as a bundle shows them."""

    lines: Lines | None
    """None for a part of a line."""
    rows: tuple[str, ...]
    """Without line ends; with their numbers if the bundle has them."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What a bundle shows of one file."""

    path: str
    """As the bundle shows it."""
    detail: str | None
    """`outline` or `truncated`; None for a whole file or chunks of it."""
    shown: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class Excerpts:
    """What a text shows, as a bundle."""

    format: Format
    parts: tuple[Excerpt, ...]
    stamp: Stamp | None
    is_intact: bool | None
    """Whether the parts are as they were made; None without a stamp."""
    problems: tuple[str, ...]
    """Parts that cannot be as they were made, each with what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One range of a bundle, held against its file."""

    path: str
    lines: Lines | None
    status: Status
    moved_to: Lines | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """A part as it stands in the text: its head, its content and all of it."""

    name: str
    spans: str | None
    detail: str | None
    rows: Sequence[Sequence[str]]
    """The content in runs of lines, between which there are gaps."""
    text: str
    is_ended: bool


def excerpts(text: str) -> Excerpts:
    """What a text shows. Total: a text that is no bundle shows nothing."""
    stamp = stamp_in(text)
    syntax, body = _after_preamble(text)
    problems: list[str] = []
    match syntax:
        case Format.MARKDOWN:
            found = _markdown_parts(body)
        case Format.PLAIN:
            found = _plain_parts(body)
        case Format.XML:
            found = _xml_parts(body)
            if _XML_OPENING in _without_parts(body):
                problems.append("a part of it does not end as it should")
        case _:
            assert_never(syntax)
    parts = []
    for part in found:
        ranges = _ranges(part.spans)
        shown = _shown(part.rows, ranges)
        if shown is None or not part.is_ended:
            problems.append(f"{part.name} does not show the lines that its ranges name")
        else:
            parts.append(Excerpt(part.name, part.detail, shown))
    is_intact = None
    if stamp is not None:
        is_intact = digest_of("".join(part.text for part in found)) == stamp.digest
    return Excerpts(syntax, tuple(parts), stamp, is_intact, tuple(problems))


def checks(found: Excerpts, files: Mapping[str, Lined]) -> tuple[Check, ...]:
    """Each range held against its file, in the order of the text. `files` are by shown path."""
    return tuple(
        _check(part.path, shown, files.get(part.path), found.format)
        for part in found.parts
        for shown in part.shown
    )


def _after_preamble(text: str) -> tuple[Format, str]:
    """The syntax of the bundle, and what stands below its first line. Without one: Markdown."""
    starts = {syntax: f"\n{text}".find(f"\n{preamble(syntax)}") for syntax in Format}
    present = {syntax: start for syntax, start in starts.items() if start >= 0}
    if not present:
        return Format.MARKDOWN, text
    syntax = min(present, key=lambda syntax: present[syntax])
    return syntax, text[present[syntax] + len(preamble(syntax)) :]


def _check(path: str, shown: Shown, file: Lined | None, syntax: Format) -> Check:
    if file is None:
        return Check(path, shown.lines, Status.GONE)
    now = [_visible(row, syntax) for row in _rows(file.text)]
    if shown.lines is None:
        holds = all(any(part in row for row in now) for part in shown.rows)
        return Check(path, None, Status.HOLDS if holds else Status.CHANGED)
    start, end = shown.lines.start, shown.lines.end
    numbered = [f"{n}\t{row}" for n, row in enumerate(now[start - 1 : end], start)]
    if list(shown.rows) in (now[start - 1 : end], numbered):
        return Check(path, shown.lines, Status.HOLDS)
    place = _place_of(_without_numbers(shown), now)
    if place is None:
        return Check(path, shown.lines, Status.CHANGED)
    return Check(path, shown.lines, Status.MOVED, place)


def _without_numbers(shown: Shown) -> Sequence[str]:
    first = shown.lines.start if shown.lines else 1
    split = [row.partition("\t") for row in shown.rows]
    if all(head == str(n) and tab for n, (head, tab, _) in enumerate(split, first)):
        return [row for _, _, row in split]
    return shown.rows


def _place_of(rows: Sequence[str], now: Sequence[str]) -> Lines | None:
    text, wanted = "".join(f"\n{row}" for row in now), "".join(f"\n{row}" for row in rows)
    offset = f"{text}\n".find(f"{wanted}\n")
    if offset < 0 or not wanted.strip():
        return None
    first = text.count("\n", 0, offset) + 1
    return Lines(first, first + len(rows) - 1)


def _visible(row: str, syntax: Format) -> str:
    return visible_in_xml(writable(row)) if syntax is Format.XML else writable(row)


def _rows(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in split_lines(text)]


def _ranges(spans: str | None) -> list[Lines] | None:
    """None for ranges that cannot be."""
    found = []
    for span in spans.split(",") if spans else ():
        start, _, end = span.partition("-")
        if not 1 <= int(start) <= int(end or start):
            return None
        found.append(Lines(int(start), int(end or start)))
    return found


def _shown(
    runs: Sequence[Sequence[str]], ranges: Sequence[Lines] | None
) -> tuple[Shown, ...] | None:
    """The lines by range; None where they are not as many as the ranges name."""
    if ranges is None:
        return None
    if not ranges:
        return tuple(Shown(None, tuple(run)) for run in runs if run)
    if [len(run) for run in runs] != [len(lines) for lines in ranges]:
        return None
    return tuple(Shown(lines, tuple(run)) for lines, run in zip(ranges, runs, strict=True))


def _counted_runs(
    rows: Sequence[str], spans: str | None
) -> tuple[list[Sequence[str]], int] | None:
    """The lines of each range from the first row on, and how many rows they and gaps take."""
    ranges = _ranges(spans)
    if ranges is None:
        return None
    runs: list[Sequence[str]] = []
    at = 0
    for number, lines in enumerate(ranges):
        if number and not _is_gap(rows[at : at + 1]):
            return None
        at += bool(number)
        runs.append(rows[at : at + len(lines)])
        at += len(lines)
    if at > len(rows):
        return None
    return runs, at + _is_gap(rows[at : at + 1])


def _is_gap(rows: Sequence[str]) -> bool:
    return bool(rows) and set(rows[0]) == {GAP}


def _markdown_parts(text: str) -> list[_Part]:
    lines, found, at = split_lines(text), [], 0
    rows = [line.rstrip("\r\n") for line in lines]
    while at < len(rows):
        fence = _FENCE.match(rows[at])
        head = _MARKDOWN_HEAD.match(rows[at - 1]) if fence and at else None
        if fence is None:
            at += 1
            continue
        end = next((n for n in range(at + 1, len(rows)) if rows[n] == fence[1]), None)
        if head is not None:
            name, spans = _named(head[3])
            content = rows[at + 1 : end]
            runs, n_taken = _counted_runs(content, spans) or ((), -1)
            if not spans:
                runs, n_taken = [[row for row in content if set(row) != {GAP}]], len(content)
            after = len(rows) if end is None else end + 1
            blank = "".join(lines[after : after + 1])
            raw = "".join(lines[at - 1 : after]) + (blank if not blank.strip() else "")
            found.append(_Part(name, spans, head[4], runs, raw, n_taken == len(content)))
        at = len(rows) if end is None else end + 1
    return found


def _plain_parts(text: str) -> list[_Part]:
    lines, found, at = split_lines(text), [], 0
    rows = [line.rstrip("\r\n") for line in lines]
    while at < len(rows):
        head = _PLAIN_HEAD.match(rows[at])
        if head is None:
            at += 1
            continue
        name, spans = _named(head[1])
        counted = _counted_runs(rows[at + 1 :], spans)
        if counted is None or not spans:
            end = next(
                (n for n in range(at + 1, len(rows)) if _PLAIN_HEAD.match(rows[n])), len(rows)
            )
            runs: Sequence[Sequence[str]] = [rows[at + 1 : end]]
            if not spans:  # A part of a line, the mark of a gap, and a blank line.
                runs = [rows[at + 1 : at + 2]]
                end = min(end, at + 4)
            is_ended = counted is not None
        else:
            runs, n_taken = counted
            end = at + 1 + n_taken
            is_ended = rows[end : end + 1] in ([""], [])
            end += len(rows[end : end + 1]) if is_ended else 0
        found.append(_Part(name, spans, head[2], runs, "".join(lines[at:end]), is_ended))
        at = end
    return found


def _xml_parts(text: str) -> list[_Part]:
    found = []
    for match in _XML_PART.finditer(text.replace("]]]]><![CDATA[>", "]]\0>")):
        tokens = _XML_TOKEN.finditer(match[4])
        texts = [token[1].replace("]]\0>", "]]>") for token in tokens if token[1] is not None]
        runs = [_rows(text) for text in texts]
        raw = match[0].replace("]]\0>", "]]]]><![CDATA[>")
        found.append(
            _Part(unescape(match[1]), match[2], match[3], runs, f"{raw}\n", is_ended=True)
        )
    return found


def _without_parts(text: str) -> str:
    return _XML_PART.sub("", text.replace("]]]]><![CDATA[>", "]]\0>"))


def _named(shown: str) -> tuple[str, str | None]:
    match = _NAMED.match(shown)
    assert match is not None  # The pattern takes any text.
    return match[1], match[2]
