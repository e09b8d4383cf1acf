"""Single-file components (Vue, Svelte, Astro): their script blocks, with the file's own lines.

Markup and styles are cut as plain text. Expressions in markup are not read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from contextpack.languages import javascript, plain
from contextpack.languages.plain import MIN_LINES, TARGET_LINES
from contextpack.languages.tree import Grammar, Outline
from contextpack.model import Import, Symbol
from contextpack.text import Lines, split_lines

# What holds no script of the component, or ends a search: comments, styles, nested templates.
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<name>script|style|svelte:head)\b"
    r"(?P<attributes>(?:[^>\"'{]|\"[^\"]{0,999}\"|'[^']{0,999}'|\{[^}]{0,999}\}){0,999}+)>",
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"([\w:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|\{?[\"']?([^\s\"'>}]+))")
_FRONTMATTER = re.compile(r"\s*---[ \t]*\r?\n(.*?)^---", re.DOTALL | re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\n|\r")
_SCRIPT_TYPES = frozenset({"", "module", "text/javascript", "text/typescript", "text/babel"})
_LANGUAGES = (
    ("", "javascript"),
    ("js", "javascript"),
    ("javascript", "javascript"),
    ("jsx", "javascript"),
    ("ts", "typescript"),
    ("typescript", "typescript"),
    ("tsx", "tsx"),
)


@dataclass(frozen=True, slots=True)
class _Block:
    """A script block, or the tag of one that lives in another file."""

    language: str
    start: int
    """The offset of its code."""
    end: int
    source: str
    """The `src` of its tag; empty when the code stands here."""


def outline(text: str, language: str, grammars: Mapping[str, Grammar]) -> Outline:
    """The outline of a component: what its script blocks import and define."""
    lines = split_lines(text)
    n_lines = len(lines)
    if n_lines == 0:
        return Outline((), (), (), ())
    imports: list[Import] = []
    symbols: list[Symbol] = []
    problems: list[str] = []
    starts = {1}
    first, counted, covered = 1, 0, 0
    for block in _blocks(text, language):
        first += len(_LINE_END.findall(text, counted, block.start))
        counted = block.start
        shift = first - 1
        if block.source:
            imports.append(Import(block.source, first))
        grammar = grammars.get(block.language)
        if grammar is None:
            continue
        found = javascript.outline(text[block.start : block.end], grammar)
        imports.extend(replace(named, line=named.line + shift) for named in found.imports)
        symbols.extend(
            replace(s, lines=_moved(s.lines, shift), signature=_moved(s.signature, shift))
            for s in found.symbols
        )
        problems.extend(problem for problem in found.problems if problem not in problems)
        starts.update(_plain_starts(lines, covered, shift))
        starts.add(first)
        starts.update(span.start + shift for span in found.chunks[1:])
        covered = max(covered, found.chunks[-1].end + shift if found.chunks else first)
    starts.update(_plain_starts(lines, covered, n_lines))
    return Outline(
        imports=tuple(sorted(imports, key=lambda found: found.line)),
        symbols=tuple(symbols),
        chunks=_chunks(starts, n_lines),
        problems=tuple(problems),
    )


def _moved(lines: Lines, shift: int) -> Lines:
    return Lines(lines.start + shift, lines.end + shift)


def _plain_starts(lines: list[str], before: int, last: int) -> list[int]:
    """Where chunks of plain text begin after the first `before` lines, up to the `last`."""
    between = "".join(lines[before:last])
    return [before + span.start for span in plain.chunks(between)]


def _chunks(starts: set[int], n_lines: int) -> tuple[Lines, ...]:
    """Ranges between these starts; a tiny one joins the one before it."""
    result: list[Lines] = []
    ordered = sorted(start for start in starts if start <= n_lines)
    for start, following in zip(ordered, [*ordered[1:], n_lines + 1], strict=True):
        if result:
            together = following - result[-1].start
            is_tiny = following - start < MIN_LINES or len(result[-1]) < MIN_LINES
            if is_tiny and together <= TARGET_LINES:
                result[-1] = Lines(result[-1].start, following - 1)
                continue
        result.append(Lines(start, following - 1))
    return tuple(result)


def _blocks(text: str, language: str) -> Iterator[_Block]:
    at = 0
    if language == "astro" and (fence := _FRONTMATTER.match(text)):
        yield _Block("typescript", fence.start(1), fence.end(1), "")
        at = fence.end()
    while (tag := _TAG.search(text, at)) is not None:
        at = tag.end()
        name = (tag["name"] or "").lower()
        if not name:
            continue
        closing = re.compile(f"</{name}\\s*>|\\Z", re.IGNORECASE).search(text, at)
        end = closing.start() if closing is not None else len(text)
        is_empty = tag["attributes"].endswith("/")
        at = tag.end() if is_empty else end
        if name != "script":
            continue
        values = {
            key.lower(): double or single or bare
            for key, double, single, bare in _ATTRIBUTE.findall(tag["attributes"])
        }
        written = (
            "ts" if language == "astro" and "lang" not in values else values.get("lang", "")
        )
        if values.get("type", "") not in _SCRIPT_TYPES or written not in dict(_LANGUAGES):
            continue
        code_end = tag.end() if is_empty else end
        yield _Block(dict(_LANGUAGES)[written], tag.end(), code_end, values.get("src", ""))
