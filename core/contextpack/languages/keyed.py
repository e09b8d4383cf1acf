"""JSON, TOML, YAML and INI: top-level keys as symbols, chunks by key.

Scanners, not parsers: they follow strings, brackets and indentation as far as it takes to see
where an entry begins, so broken and half-typed files have outlines too. Values are not read.
"""

import re

from contextpack.languages.cuts import Cut, Named, chunks, symbols
from contextpack.languages.tree import Outline
from contextpack.text import split_lines

# A string needs no end, so that an unclosed one is looked at once.
_JSON_TOKEN = re.compile(
    r'"(?:[^"\\\r\n]|\\[^\r\n])*+"?|\'(?:[^\'\\\r\n]|\\[^\r\n])*+\'?|//[^\r\n]*|/\*(?s:.*?)(?:\*/|\Z)'
    r"|[A-Za-z_$][\w$]*|[{}\[\]:]|\r\n|\n|\r"
)
# No part of a pattern may match what its neighbour matches: a line may be a megabyte of blanks.
_YAML_ENTRY = re.compile(
    r" *(?:- |(\"[^\"\r\n]*\"|'[^'\r\n]*'|(?:[^\s#\-\[{:\"']|-[^\s:#])[^:#\r\n]*):(?=\s|\Z))"
)
_YAML_DOCUMENT = re.compile(r"(?:---|\.\.\.)(?=\s|\Z)")
_YAML_BLOCK = re.compile(
    r"(?:.*[:\-])?[ \t]+(?:[!&]\S+[ \t]+)?[|>][-+0-9]*[ \t]*(?:#.*)?[\r\n]*\Z"
)
_TABLE = re.compile(r"\[\[?([^\[\]\r\n]+)\]\]?[ \t]*(?:[#;][^\r\n]*)?[\r\n]*\Z")
_TOML_KEY = re.compile(r"[ \t]*((?:[\w.\-]|\"[^\"\r\n]*\"|'[^'\r\n]*'| (?=[\w.\"']))+)[ \t]*=")
_INI_KEY = re.compile(r"[^\s=:#;\[][^=:\r\n]*[=:]")
_TOML_LONG = re.compile(r'"""|\'\'\'')

# Inner keys start a chunk only where their parent is too large; nobody finds them deeper down.
MAX_LEVEL = 6
# A file with more entries than this is a table of records: their keys are no names.
MAX_KEYS = 400
MAX_NAME_CHARACTERS = 120


def json(text: str) -> Outline:
    """The outline of JSON, with or without comments, unquoted keys and trailing commas."""
    n_lines = len(split_lines(text))
    keys: list[Named] = []
    cuts: list[Cut] = []
    brackets: list[str] = []
    n_hidden = 0  # Brackets that are open beyond the depth that matters.
    line, is_first, comment = 1, True, 0
    pending: tuple[str, int, int] | None = None
    for match in _JSON_TOKEN.finditer(text):
        token = match[0]
        if token in ("\n", "\r\n", "\r"):
            line, is_first = line + 1, True
            continue
        if token.startswith(("//", "/*")):
            comment = comment or (line if is_first else 0)
            line += _n_line_ends(token)
            continue
        begin = (comment or line) if is_first else 0
        depth = len(brackets) - 1
        if token in "}]":
            if n_hidden:
                n_hidden -= 1
            elif brackets:
                brackets.pop()
        elif n_hidden:
            n_hidden += token in "{["
        elif token == ":":
            if pending and brackets and brackets[-1] == "{":
                name, at, starts_at = pending
                if depth == 0:
                    keys.append(Named(name, at, at, 0))
                if starts_at:
                    cuts.append(Cut(starts_at, depth))
        else:
            if begin and brackets and brackets[-1] == "[" and token in "{[":
                cuts.append(Cut(begin, depth))
            if token in "{[":
                if len(brackets) <= MAX_LEVEL:
                    brackets.append(token)
                else:
                    n_hidden = 1
        is_string = token not in ("{", "[", "}", "]", ":")
        pending = (token.strip("\"'"), line, begin) if is_string else None
        is_first, comment = False, 0
    return _outline(n_lines, keys, cuts)


def toml(text: str) -> Outline:
    """The outline of TOML: its tables, and the keys above the first of them."""
    lines = split_lines(text)
    keys: list[Named] = []
    cuts: list[Cut] = []
    open_quote = ""
    n_tables = comment = 0
    for at, line in enumerate(lines, 1):
        if open_quote:
            open_quote = _long_string(line, open_quote)
            continue
        if line.startswith("#"):
            comment = comment or at
            continue
        begin, comment = comment or at, 0
        if table := _TABLE.match(line):
            n_tables += 1
            keys.append(Named(table[1].strip(), at, at, 0))
            cuts.append(Cut(begin, 0))
        elif key := _TOML_KEY.match(line):
            if not n_tables:
                keys.append(Named(key[1].strip(), at, at, 0))
            cuts.append(Cut(begin, 1))
            open_quote = _long_string(line[key.end() :], "")
        else:
            open_quote = _long_string(line, "")
    return _outline(len(lines), keys, cuts)


def ini(text: str) -> Outline:
    """The outline of INI: its sections."""
    lines = split_lines(text)
    keys: list[Named] = []
    cuts: list[Cut] = []
    for at, line in enumerate(lines, 1):
        if section := _TABLE.match(line):
            keys.append(Named(section[1].strip(), at, at, 0))
            cuts.append(Cut(at, 0))
        elif _INI_KEY.match(line):
            cuts.append(Cut(at, 1))
    return _outline(len(lines), keys, cuts)


def yaml(text: str) -> Outline:
    """The outline of YAML: keys at the margin, of every document in the text."""
    lines = split_lines(text)
    keys: list[Named] = []
    cuts: list[Cut] = []
    block: int | None = None  # The indentation of the entry that a block scalar belongs to.
    comment = 0
    for at, line in enumerate(lines, 1):
        indent = len(line) - len(line.lstrip(" "))
        if block is not None:
            if indent > block or not line.strip():
                continue
            block = None
        if line.lstrip().startswith("#"):
            comment = comment or at
            continue
        begin, comment = comment or at, 0
        if _YAML_DOCUMENT.match(line):
            cuts.append(Cut(begin, 0))
            continue
        if _YAML_BLOCK.match(line):
            block = indent
        if entry := _YAML_ENTRY.match(line):
            cuts.append(Cut(begin, min(indent, 2 * MAX_LEVEL)))
            if indent == 0 and entry[1]:
                keys.append(Named(entry[1].strip("\"' "), at, at, 0))
    return _outline(len(lines), keys, cuts)


def _outline(n_lines: int, keys: list[Named], cuts: list[Cut]) -> Outline:
    named = [
        Named(key.name[:MAX_NAME_CHARACTERS], key.line, key.signature_end, key.rank)
        for key in keys
        if key.name.strip() and "\n" not in key.name
    ]
    return Outline(
        imports=(),
        symbols=symbols(named, "key", n_lines) if len(named) <= MAX_KEYS else (),
        chunks=chunks(n_lines, cuts),
        problems=(),
    )


def _long_string(rest: str, quote: str) -> str:
    """The quotes that a multi-line string is still open with behind this text."""
    for match in _TOML_LONG.finditer(rest):
        if not quote:
            quote = match[0]
        elif match[0] == quote:
            quote = ""
    return quote


def _n_line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")
