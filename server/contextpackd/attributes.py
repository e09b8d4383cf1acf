"""What `.gitattributes` files mark as generated or vendored, as GitHub's linguist reads them.

A file with `linguist-generated` or `linguist-vendored` set is left out. For each of the two the
deepest attribute file that speaks of it decides, in it the last line; `-linguist-generated` and
`linguist-generated=false` unset it. The files in the tree and above are read, as they are on disk;
`info/attributes`, the user's attributes and macros are not.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from contextpack.text import display_path
from contextpackd import ignore
from contextpackd.ignore import Pattern

FILE = ".gitattributes"
_MARKS = ("linguist-generated", "linguist-vendored")


@dataclass(frozen=True, slots=True)
class Line:
    """A pattern, and what it says of each mark: set, unset, or nothing."""

    pattern: Pattern
    marks: tuple[bool | None, ...]


@dataclass(frozen=True, slots=True)
class AttributeFile:
    """The lines of one file that speak of marks, the last first. Paths as for `IgnoreFile`."""

    source: str
    inside: bytes
    above: bytes
    lines: tuple[Line, ...]


def parsed(data: bytes, source: str, inside: str = "", above: str = "") -> AttributeFile | None:
    """What an attribute file marks, or None if it marks nothing."""
    lines = []
    for number, raw in enumerate(data.split(b"\n"), start=1):
        body, *attributes = raw.split()[:100] or [b""]
        marks = tuple(_said(attributes, mark.encode()) for mark in _MARKS)
        # A negated pattern is an error to git, one for directories matches no file.
        if (
            marks == (None, None)
            or body.startswith((b"#", b"!", b"[attr]"))
            or body[-1:] == b"/"
        ):
            continue
        try:
            lines.append(Line(ignore.pattern_of(body, number), marks))
        except ValueError:
            continue
    if not lines:
        return None
    lines.reverse()
    return AttributeFile(source, os.fsencode(inside), os.fsencode(above), tuple(lines))


def rule(files: Iterable[AttributeFile], path: str) -> str | None:
    """The line that marks a file as generated or vendored, as `file:line: pattern`, or None."""
    raw = os.fsencode(path)
    name = raw.rpartition(b"/")[2]
    open_marks = set(range(len(_MARKS)))
    for file in files:
        tail = file.above + raw[len(file.inside) :]
        for line in file.lines:
            if not ignore.is_match(line.pattern, tail, name, is_directory=False):
                continue
            for mark in sorted(open_marks):
                if line.marks[mark]:
                    return ignore.shown_rule(file.source, line.pattern.line, line.pattern.text)
                if line.marks[mark] is False:
                    open_marks.discard(mark)
    return None


def loaded_above(root: Path, top: Path) -> tuple[AttributeFile, ...]:
    """The attribute files from the root's parent up to the top, deepest first."""
    files = []
    if root.is_relative_to(top):
        for folder in root.parents[: len(root.relative_to(top).parts)]:
            data = ignore.small_content(folder / FILE, 0)
            above = root.relative_to(folder).as_posix() + "/"
            shown = ignore.shown_source(folder / FILE, root, top)
            if data is not None and (file := parsed(data, shown, "", above)):
                files.append(file)
    return tuple(files)


def loaded(data: bytes, directory: str) -> AttributeFile | None:
    """What the attribute file in a directory below the root marks, by its content."""
    return parsed(data, display_path(directory + FILE), directory)


def _said(attributes: Iterable[bytes], mark: bytes) -> bool | None:
    said = None
    for attribute in attributes:
        name, _, value = attribute.partition(b"=")
        if name == mark:
            said = value.lower() != b"false"
        elif attribute in (b"-" + mark, b"!" + mark):
            said = False
    return said
