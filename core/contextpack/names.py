"""The files and definitions that a text names, such as a chat's reply about a bundle.

How it works: what stands in code spans is a name if it is nothing else; in blocks of code and in
prose a word is one only if it is written as code is and the workspace defines it. So a reply
about everything names little, and only what was meant to be a name can be one that does not
exist.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from contextpack.kinds import KINDS, Kind
from contextpack.mentions import is_mentioned
from contextpack.model import Path, Skip, Symbol
from contextpack.query import question
from contextpack.snapshot import Snapshot
from contextpack.terms import parts, terms
from contextpack.text import Lines

# A name that is defined in more files says nothing of which is meant.
MAX_HOMES = 3

# Whoever names more wants the repository.
MAX_NAMES = 200

MAX_TEXT_CHARS = 200_000  # Of a reply; a book is longer.

# Files with a definition of like spelling that are looked into for the very name.
MAX_LOOKED = 64

_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s)>\]`]+")
_BLOCK = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,}).*\n(?P<code>[\s\S]*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.MULTILINE,
)
_SPAN = re.compile(r"(?<!`)(?P<ticks>`{1,2})(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)")
_JOINT = re.compile(r"\.|::|#|->")
_NAME = r"[^\W\d]\w*(?:(?:\.|::|#|->)[^\W\d]\w*)*"
_WHOLE_NAME = re.compile(rf"({_NAME})(?:\([^`]*\))?")
_CODE_NAME = re.compile(rf"(?<![\w.])({_NAME})(\()?")
_PLACE = re.compile(r"(?P<path>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Span:
    """Some lines of a file, or all of it."""

    path: Path
    lines: Lines | None
    """None for the whole file."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name as it is written, and what it means."""

    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Naming:
    """What a text names: files first, then definitions, each in the order of the text."""

    named: tuple[Named, ...]
    left_out: tuple[tuple[str, Skip], ...]
    """Files that exist and are no candidates, each with what leaves it out."""
    vague: tuple[str, ...]
    """Names that stand for more than `MAX_HOMES` files."""
    unknown: tuple[str, ...]
    """Names that stand nowhere in the workspace."""


def naming(snapshot: Snapshot, text: str) -> Naming:
    """What a text in Markdown names. At most `MAX_NAMES` names are looked at."""
    index = _index(snapshot)
    named: list[Named] = []
    left_out: list[tuple[str, Skip]] = []
    vague: list[str] = []
    unknown: list[str] = []
    for name, is_meant in islice(_names(index, text).items(), MAX_NAMES):
        homes = index.homes(name, is_meant=is_meant)
        if homes:
            is_vague = len({span.path for span in homes}) > MAX_HOMES
            vague.append(name) if is_vague else named.append(Named(name, homes))
        elif is_meant and (skip := index.skip(name)) is not None:
            left_out.append((name, skip))
        elif is_meant and not index.is_used(name):
            unknown.append(name)
    return Naming(tuple(named), tuple(left_out), tuple(vague), tuple(unknown))


def spans_named(snapshot: Snapshot, names: Iterable[str]) -> list[Named]:
    """What each of these means; its spans are empty where the workspace has no such thing.

    A name is a path or the end of one, with `:line` or `:first-last` behind it if not all of the
    file is meant, or a definition, with the name of what it stands in before it (`Type.name`).
    """
    index = _index(snapshot)
    return [Named(name, index.homes(name, is_meant=True)) for name in names]


def lacking(found: Iterable[Named], shown: Mapping[Path, Sequence[Lines]]) -> tuple[Named, ...]:
    """Those of which a bundle does not show everything that they mean.

    `shown` has the lines of each file of the bundle; outlines show none. A file that is named
    without a line is there if some of its lines are: whoever answered saw that there are more,
    and talks of what they saw.
    """

    def is_there(span: Span) -> bool:
        ranges = shown.get(span.path)
        if not ranges or span.lines is None:
            return bool(ranges)
        wanted = set(range(span.lines.start, span.lines.end + 1))
        return wanted <= {n for lines in ranges for n in range(lines.start, lines.end + 1)}

    return tuple(item for item in found if not all(map(is_there, item.spans)))


def _names(index: "_Index", text: str) -> Mapping[str, bool]:
    """The names in a text, and whether each is meant to be one, or may only happen to be."""
    text = _URL.sub(" ", text[:MAX_TEXT_CHARS])
    prose = _BLOCK.sub("\n", text)
    spans = dict.fromkeys(span["code"].strip() for span in _SPAN.finditer(prose))
    files = [span for span in spans if index.is_path(_place(span)[0])]
    # The analyser of queries knows the first line of a range only.
    rest = _SPAN.sub(lambda m: " " if m["code"].strip() in files else m[0], text)
    found = dict.fromkeys(files, True)
    for mention in question(rest).mentions:
        if index.is_path(mention.path):
            line = "" if mention.line is None else f":{mention.line}"
            found[mention.path + line] = True
    loose: list[str] = []
    for span in spans:
        if span in found:
            continue
        if whole := _WHOLE_NAME.fullmatch(span):
            found[whole[1]] = True
        else:
            loose += _loose(span, is_code=True)
    blocks = "\n".join(block["code"] for block in _BLOCK.finditer(text))
    loose += [*_loose(blocks, is_code=True), *_loose(_SPAN.sub(" ", prose), is_code=False)]
    return found | {name: False for name in loose if name not in found}


def _loose(text: str, *, is_code: bool) -> Iterator[str]:
    """The words of a text that are written as names of code are."""
    for match in _CODE_NAME.finditer(text):
        last = _JOINT.split(match[1])[-1]
        is_called = match[2] is not None
        if is_called or len(parts(last)) > 1 or (is_code and last[0].isupper()):
            yield match[1]


@dataclass(frozen=True, slots=True)
class _Index:
    """A snapshot, looked up by names."""

    snapshot: Snapshot
    by_name: Mapping[str, Sequence[Path]]
    """The living files by the last part of their paths, sorted."""
    suffixes: frozenset[str]
    skips: Mapping[str, Skip]
    """What is left out, by its path; directories end with a slash."""
    symbols: Callable[[Path], Sequence[Symbol]]
    """What a file defines."""

    def is_path(self, path: str) -> bool:
        """Whether this is a file of the workspace, or written as only a file of it would be."""
        name = path.rpartition("/")[2]
        is_written_so = name.rpartition(".")[2] in self.suffixes and "." in name
        return is_written_so or bool(self._files(path)) or self._skip(path) is not None

    def homes(self, name: str, *, is_meant: bool) -> tuple[Span, ...]:
        """What a name stands for. Common words of code are names only where they are meant."""
        path, lines = _place(name)
        if files := self._files(path):
            return tuple(Span(path, lines) for path in files)
        *outer, last = _JOINT.split(name)
        found = self._defined(last)
        # A test's own double is meant by nobody who could mean the thing itself.
        found = [item for item in found if not self._is_test(item[0].path)] or found
        inside = [
            span for span, around in found if outer and self._is_around(outer[-1], span, around)
        ]
        if inside or (outer and not is_meant and len(parts(last)) == 1):
            return tuple(inside)
        return tuple(span for span, _ in found)

    def skip(self, name: str) -> Skip | None:
        """What leaves out the file of this name, if one is left out."""
        return self._skip(_place(name)[0])

    def is_used(self, name: str) -> bool:
        """Whether a name that is no path stands anywhere in the workspace."""
        last = _JOINT.split(name)[-1]
        found = terms(last)
        is_name = _WHOLE_NAME.fullmatch(name) is not None and not self.is_path(name)
        return is_name and bool(found) and self.snapshot.postings.has(found[-1])

    def _files(self, path: str) -> Sequence[Path]:
        path = path.replace("\\", "/").removeprefix("./")
        if path in self.snapshot.sources:
            return (path,)
        same = self.by_name.get(path.rpartition("/")[2], ())
        return [known for known in same if is_mentioned(known, path)]

    def _skip(self, path: str) -> Skip | None:
        path = path.replace("\\", "/").removeprefix("./")
        around = [path[: slash.end()] for slash in re.finditer("/", path)]
        return next((self.skips[name] for name in (path, *around) if name in self.skips), None)

    def _defined(self, name: str) -> list[tuple[Span, Sequence[Symbol]]]:
        """The definitions of a name, and in each case what its file defines."""
        postings = self.snapshot.postings
        found = terms(name)
        if not found:
            return []
        hits = postings.in_chunks(found[-1])
        slots = np.unique(postings.chunk_slots[hits.documents[hits.names > 0]])
        paths = sorted(self.snapshot.paths[slots].tolist())[:MAX_LOOKED]
        return [
            (Span(path, symbol.lines), self.symbols(path))
            for path in paths
            for symbol in self.symbols(path)
            if symbol.name == name or symbol.name.endswith(f".{name}")
        ]

    def _is_test(self, path: Path) -> bool:
        kind = self.snapshot.kinds[self.snapshot.slots[path]]
        return KINDS[kind] is Kind.TEST

    def _is_around(self, outer: str, span: Span, symbols: Sequence[Symbol]) -> bool:
        """Whether a definition stands in something of this name: a type, a module, a package."""
        if outer in (span.path.rpartition(".")[0] or span.path).split("/"):
            return True
        lines = span.lines
        return lines is not None and any(
            symbol.name in (outer, f"{outer}.{symbol.name.rpartition('.')[2]}")
            and symbol.lines.start <= lines.start
            and lines.end <= symbol.lines.end
            for symbol in symbols
        )


def _index(snapshot: Snapshot) -> _Index:
    by_name: dict[str, list[Path]] = {}
    for path in sorted(snapshot.sources):
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    known: dict[Path, Sequence[Symbol]] = {}

    def symbols(path: Path) -> Sequence[Symbol]:
        if path not in known:
            known[path] = snapshot.facts(path).symbols
        return known[path]

    return _Index(
        snapshot=snapshot,
        by_name=by_name,
        suffixes=frozenset(name.rpartition(".")[2] for name in by_name if "." in name),
        skips={skip.path: skip for skip in snapshot.skipped},
        symbols=symbols,
    )


def _place(name: str) -> tuple[str, Lines | None]:
    """A name as a path, and the lines behind it."""
    match = _PLACE.fullmatch(name)
    if match is None or match["first"] is None or int(match["first"]) < 1:
        return name, None
    first = int(match["first"])
    return match["path"], Lines(first, max(first, int(match["last"] or first)))
