"""What a task in words asks for: weighted terms, files that it names, what it does not mean."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from contextpack.terms import STOP_WORDS, parts, stem, terms, words

# A path, a URL that ends in one, or a file name, with the line that traces and compilers write
# behind it: `app.py:12`, `File "a.py", line 3`, `a.ts(41,5)`, `a.cs:line 12`, `a.php on line 1`,
# `a.js#L41`.
_PATH = re.compile(
    r"(?<![\w.\\-])((?:[A-Za-z]:)?[/\\]?(?:[\w.@+-]+[/\\])*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9})"
    r"(?:\"?,? (?:on )?line (\d+)|:line (\d+)|[:#(]L?(\d+))?"
)

# What a form for reports prints around what people say: comments, boxes to tick, empty answers,
# and its headings.
_FORM = re.compile(
    r"^[ \t]*[-*][ \t]+\[[ xX]\].*$"
    r"|^[ \t]*_No response_[ \t]*$"
    r"|^[ \t]*(?:#{1,6}[ \t]*|\*\*)(?:describe the (?:bug|feature|solution.*|alternatives.*)"
    r"|(?:steps )?to reproduce|reproduction(?: steps)?|(?:expected|actual|current) behaviou?r"
    r"|(?:minimal )?reproducible example|what (?:happened|did you expect.*|is expected|did you do)"
    r"|is your feature request related to a problem|environment|system info(?:rmation)?|versions?"
    r"|additional (?:context|info(?:rmation)?)|screenshots|logs|validations?|checklist)"
    r"[ \t]*[:?.]*(?:\*\*)?:?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)

# Frames of a stack trace: Python prints the innermost one last, JavaScript, Java and Rust (`at`)
# and Go (`+0x1d`) print it first.
_INNERMOST_LAST = re.compile(r'[ \t]*File "')
_INNERMOST_FIRST = re.compile(r"[ \t]*at[ \t]|.*\.go:\d+ \+0x")

# What is to be done says little of where: half of all tasks fix or add something, and code that
# has the word is about something else. Stems, as `terms` gives them.
TASK_TERMS = frozenset((
    "add", "allow", "avoid", "bug", "chang", "correct", "ensur", "fix", "handl", "implement",
    "improv", "issu", "new", "option", "prevent", "remov", "support", "updat",
))  # fmt: skip
TASK_WEIGHT = 0.25

# Of a longer query the beginning and the end are read, half and half: who pastes a log says what
# it is about above or below. GitHub's longest issue is three times this.
MAX_QUERY_CHARS = 20_000
_LAST_WORD = re.compile(r"\s\S*\Z")
_FIRST_WORD = re.compile(r"\A\S*\s")

# So many files that a query names are looked for.
MAX_MENTIONS = 100

# Neighbours that one name may be made of: `T-SQL` of `tsql`, `no-multi-assign`, `os.path`.
_NEIGHBOURS = re.compile(r"(\w+)(?:[-./ ]|::)(?=(\w+))")
MAX_JOINED_PARTS = 4

# A term that the query repeats counts once more and not again (long issues repeat themselves).
MAX_REPEATS = 2


@dataclass(frozen=True, slots=True)
class Mention:
    """A file that the query names, by a path or the end of one, and a line in it or None."""

    path: str
    line: int | None
    is_frame: bool = False
    """Whether it is from a stack trace."""


@dataclass(frozen=True, slots=True)
class Question:
    """An analysed query."""

    weights: Mapping[str, float]
    """The weight of each term to look for, in order of first use."""
    words: Mapping[str, tuple[str, ...]]
    """The terms of each word of the query that is looked for, as it is written."""
    mentions: tuple[Mention, ...]
    """Frames of stack traces come last, the innermost of them first."""
    joined: tuple[str, ...]
    """The terms of words that are written as one elsewhere, perhaps: `subquery` for `sub-query`."""
    said: frozenset[str]
    """All terms of the query, and of neighbouring words as one; those of common words, too."""

    def asks_for(self, *subjects: str) -> bool:
        """Whether one of these terms is in the query."""
        return any(subject in self.weights for subject in subjects)


def question(query: str) -> Question:
    """The query, analysed. Without a word that can be looked for, `weights` is empty."""
    query = _shortened(query)
    told = _FORM.sub(" ", _without_comments(query))
    query = told if words(told) else query
    found = words(query)
    meant = [word for word in found if word.lower() not in STOP_WORDS]
    weights: dict[str, float] = {}
    repeats: dict[str, int] = {}
    by_word: dict[str, tuple[str, ...]] = {}
    for word in meant:
        by_word[word] = terms(word)
        for term in by_word[word]:
            repeats[term] = repeats.get(term, 0) + 1
            if repeats[term] <= MAX_REPEATS:
                worth = TASK_WEIGHT if term in TASK_TERMS else 1.0
                weights[term] = weights.get(term, 0.0) + worth
    # A letter alone is a variable in everybody's code: it counts only where nothing else does.
    telling = {term: weight for term, weight in weights.items() if not _is_letter(term)}
    joined, spaced = _joined(query)
    return Question(
        weights=MappingProxyType(telling or weights),
        words=MappingProxyType(by_word),
        mentions=tuple(dict.fromkeys(_mentions(query)))[:MAX_MENTIONS],
        joined=tuple(term for term in joined if term not in weights),
        said=frozenset((*(term for word in found for term in terms(word)), *joined, *spaced)),
    )


def _shortened(query: str) -> str:
    if len(query) <= MAX_QUERY_CHARS:
        return query
    half = MAX_QUERY_CHARS // 2
    # A word that is cut through was not said.
    return f"{_LAST_WORD.sub('', query[:half])}\n{_FIRST_WORD.sub('', query[-half:])}"


def _joined(query: str) -> tuple[list[str], list[str]]:
    """The terms of neighbouring words as one: of those joined by a sign, and by a space."""
    by_sign: dict[str, None] = {}
    by_space: dict[str, None] = {}
    for match in _NEIGHBOURS.finditer(query):
        both = [*parts(match[1]), *parts(match[2])]
        if len(both) <= MAX_JOINED_PARTS:
            is_spaced = query[match.end() - 1] == " "
            (by_space if is_spaced else by_sign)[stem("".join(both))] = None
    return list(by_sign), list(by_space)


def _without_comments(query: str) -> str:
    kept, *rest = query.split("<!--")
    # What is not closed is no comment.
    return kept + "".join(
        f" {after}" if close else f" {before}"
        for before, close, after in (part.partition("-->") for part in rest)
    )


def _mentions(query: str) -> list[Mention]:
    named: list[Mention] = []
    innermost_last: list[Mention] = []
    innermost_first: list[Mention] = []
    for match in _PATH.finditer(query):
        start = query.rfind("\n", 0, match.start()) + 1
        if _INNERMOST_LAST.match(query, start):
            innermost_last.append(_mention(match, is_frame=True))
        elif _INNERMOST_FIRST.match(query, start):
            innermost_first.append(_mention(match, is_frame=True))
        else:
            named.append(_mention(match, is_frame=False))
    return [*named, *reversed(innermost_last), *innermost_first]


def _mention(match: re.Match[str], *, is_frame: bool) -> Mention:
    path, *lines = match.groups()
    line = next((int(number) for number in lines if number), None)
    return Mention(path.replace("\\", "/"), line, is_frame)


def _is_letter(term: str) -> bool:
    return len(term) == 1 and term.isascii()
