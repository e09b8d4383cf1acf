"""HTML, XML and style sheets: chunks by elements and by rules.

HTML and XML are cut where a line begins with a tag, the outermost indentation first: tags that
nobody closes mislead no one. Headings and the title are symbols. Style sheets are cut between
rules, each with the comments above it, and inside `@media` and nested rules where these are too
large. Scripts within HTML are not read.
"""

import re

from contextpack.languages.cuts import Cut, Named, chunks, symbols
from contextpack.languages.plain import chunks as plain_chunks
from contextpack.languages.tree import Outline
from contextpack.text import split_lines

_TAG = re.compile(r"[ \t]*<(?:[A-Za-z!?][\w:.-]*)")
_RAW = re.compile(r"<(script|style|pre|textarea)\b|<!--|<!\[CDATA\[", re.IGNORECASE)
_HEADING = re.compile(r"<(?:h([1-6])|title)\b[^<>]*>([^<\r\n]*)", re.IGNORECASE)
MAX_INDENT = 12  # Deeper elements start no chunk.
MAX_NAME_CHARACTERS = 120

_CSS_TOKEN = re.compile(
    r'"(?:[^"\\\r\n]|\\[^\r\n])*+"?|\'(?:[^\'\\\r\n]|\\[^\r\n])*+\'?|/\*(?s:.*?)(?:\*/|\Z)|//[^\r\n]*'
    r"|(?i:url)\([^)\"'\r\n]*\)?|[{};]|\r\n|\n|\r|[^\s{};\"'/u]+|[/uU]"
)
MAX_RULE_DEPTH = 6  # Deeper rules start no chunk.


def html(text: str) -> Outline:
    """The outline of HTML or XML."""
    lines = split_lines(text)
    cuts: list[Cut] = []
    named: list[Named] = []
    closing = ""
    for at, line in enumerate(lines, 1):
        if closing:
            if closing in line.lower():
                closing = ""
            continue
        if _TAG.match(line):
            indent = len(line) - len(line.lstrip())
            cuts.append(Cut(at, min(indent, MAX_INDENT)))
        if heading := _HEADING.search(line):
            name = " ".join(heading[2].split())[:MAX_NAME_CHARACTERS]
            if name:
                named.append(Named(name, at, at, int(heading[1] or 0)))
        closing = _left_open(line)
    return Outline((), symbols(named, "heading", len(lines)), chunks(len(lines), cuts), ())


def css(text: str) -> Outline:
    """The outline of CSS, SCSS or Less. The indented syntax of Sass has no braces: plain chunks."""
    n_lines = len(split_lines(text))
    cuts: list[Cut] = []
    line, depth, begin = 1, 0, 0
    has_braces = False
    is_first = True
    for match in _CSS_TOKEN.finditer(text):
        token = match[0]
        if token in ("\n", "\r\n", "\r"):
            line, is_first = line + 1, True
            continue
        # Where the rule begins: at its first word, or at a comment that stands above it.
        is_comment = token.startswith(("/*", "//"))
        if begin == 0 and is_first and token not in ("{", "}", ";"):
            begin = line
        if is_comment:
            line += token.count("\n") + token.count("\r") - token.count("\r\n")
            continue
        is_first = False
        match token:
            case "{":
                has_braces = True
                if begin:
                    cuts.append(Cut(begin, min(depth, MAX_RULE_DEPTH)))
                depth, begin = depth + 1, 0
            case "}":
                depth, begin = max(0, depth - 1), 0
            case ";":
                begin = 0
            case _:
                pass
    return Outline((), (), chunks(n_lines, cuts) if has_braces else plain_chunks(text), ())


def _left_open(line: str) -> str:
    """What would close the comment, script or other raw text that a line leaves open."""
    lowered = line.lower()
    at = 0
    while match := _RAW.search(lowered, at):
        marks = (("<!--", "-->"), ("<![cdata[", "]]>"))
        closing = dict(marks).get(match[0], f"</{match[1]}")
        end = lowered.find(closing, match.end())
        if end < 0:
            return closing
        at = end + len(closing)
    return ""
