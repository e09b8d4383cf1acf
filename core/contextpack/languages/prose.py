"""Markdown and reStructuredText: sections by their headings, which are also symbols.

A section that is too large is cut between paragraphs. Fenced code is never cut inside unless it
is longer than `cuts.MAX_WHOLE_LINES`, and a `#` in it is no heading. Links, lists and inline
markup are not read.
"""

import re

from contextpack.languages.cuts import Cut, Named, chunks, symbols
from contextpack.languages.tree import Outline
from contextpack.text import Lines, split_lines

_FENCE = re.compile(r"[ \t]*(?:[-*+>] ?)*(`{3,}|~{3,})([^\r\n]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t\r\n]|\Z)")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*[\r\n]*\Z")
_NO_PARAGRAPH = re.compile(r"[ \t]*(?:[#>|<]|[-*+][ \t]|\d+[.)][ \t])|\s*\Z")
_MARKUP = re.compile(r"[`*]|\]\([^()\s]*\)|[\[\]]|<[^<>]*>")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*[\r\n]*\Z")
MAX_NAME_CHARACTERS = 120  # A heading of more is a paragraph.


def markdown(text: str) -> Outline:
    """The outline of a Markdown text: its front matter apart, then a section a heading."""
    lines = split_lines(text)
    found: list[Named] = []
    cuts: list[Cut] = []
    whole: list[Lines] = []
    number = _front_matter_end(lines)
    if number:
        cuts.append(Cut(number + 1, 1))
    fence: tuple[str, int] | None = None
    is_comment = False
    for index in range(number, len(lines)):
        line, at = lines[index], index + 1
        match = _FENCE.match(line)
        if fence is not None:
            marker, start = fence
            if match and match[1].startswith(marker) and not match[2].strip():
                whole.append(Lines(start, at))
                cuts.append(Cut(at + 1, 1))
                fence = None
            continue
        if is_comment or line.lstrip().startswith("<!--"):
            is_comment = "-->" not in line
            continue
        if match and not (match[1][0] == "`" and "`" in match[2]):
            fence = (match[1], at)
            cuts.append(Cut(at, 1))
        elif heading := _HEADING.match(line):
            name = _heading_name(line[heading.end() :].strip().rstrip("#"))
            found.append(Named(name, at, at, len(heading[1])))
        elif (
            (underline := _SETEXT.match(line))
            and index > number
            and not _NO_PARAGRAPH.match(lines[index - 1])
            and not (found and found[-1].signature_end == at - 1)
        ):
            rank = 1 if underline[1][0] == "=" else 2
            found.append(Named(_heading_name(lines[index - 1]), at - 1, at, rank))
        elif line.strip() and index > number and not lines[index - 1].strip():
            cuts.append(Cut(at, 1))
    if fence is not None:
        whole.append(Lines(fence[1], len(lines)))
    return _outline(lines, found, cuts, whole)


def rst(text: str) -> Outline:
    """The outline of a reStructuredText document: a section a title."""
    lines = split_lines(text)
    found: list[Named] = []
    cuts: list[Cut] = []
    whole: list[Lines] = []
    ranks: dict[str, int] = {}
    block: int | None = None
    for index, line in enumerate(lines):
        at = index + 1
        if block is not None and line.strip() and not line[0].isspace():
            whole.append(Lines(block, index))
            cuts.append(Cut(at, 1))
            block = None
        if block is None and (line.startswith(".. ") or line.rstrip().endswith("::")):
            block = at
            cuts.append(Cut(at, 1))
            continue
        adornment = _ADORNMENT.match(line)
        title = lines[index - 1] if index else ""
        if adornment and title.strip() and len(line.strip()) >= len(title.strip()):
            above = lines[index - 2] if index > 1 else ""
            has_overline = bool(_ADORNMENT.match(above)) and above[0] == line[0]
            if not _ADORNMENT.match(title) and (has_overline or not title[0].isspace()):
                style = adornment[1] * (2 if has_overline else 1)
                rank = ranks.setdefault(style, len(ranks) + 1)
                start = at - 2 if has_overline else at - 1
                if not found or found[-1].signature_end < start:
                    found.append(Named(_heading_name(title), start, at, rank))
        elif line.strip() and not line[0].isspace() and index and not title.strip():
            cuts.append(Cut(at, 1))
    if block is not None:
        whole.append(Lines(block, len(lines)))
    return _outline(lines, found, cuts, whole)


def _outline(
    lines: list[str], found: list[Named], cuts: list[Cut], whole: list[Lines]
) -> Outline:
    sections = [Cut(named.line, 0, named.rank) for named in found]
    return Outline(
        imports=(),
        symbols=symbols([named for named in found if named.name], "heading", len(lines)),
        chunks=chunks(len(lines), sections + cuts, whole),
        problems=(),
    )


def _front_matter_end(lines: list[str]) -> int:
    """The last line of YAML or TOML front matter; 0 without."""
    opening = lines[0].strip() if lines else ""
    if opening not in ("---", "+++"):
        return 0
    closing = ("---", "...") if opening == "---" else ("+++",)
    for index, line in enumerate(lines[1:], 2):
        if line.rstrip() in closing:
            return index
    return 0


def _heading_name(written: str) -> str:
    return " ".join(_MARKUP.sub("", written).split())[:MAX_NAME_CHARACTERS].strip()
