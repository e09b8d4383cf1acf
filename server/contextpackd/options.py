"""The options of a request as every door takes them: flags, JSON fields, Python keywords.

One table. A flag is the field's name in kebab-case unless the table says otherwise; a JSON
field is its camelCase. Defaults stand in `Request` and nowhere else.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from contextpack.model import Detail, Format
from contextpack.request import (
    HEAD,
    Cut,
    Focus,
    Forced,
    LedgerScope,
    Order,
    Request,
    Scorer,
    Strategy,
)
from contextpack.text import Lines
from contextpack.tokens import profile_of
from contextpackd.errors import OptionProblem

_SUFFIXES: Mapping[str, int] = MappingProxyType({"": 1, "k": 1_000, "m": 1_000_000})
_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kKmM]?)\s*\Z")

MAX_COUNT = 10**15  # Beyond it a float, as the packer's arithmetic has, loses units.
MAX_NUMBER_CHARS = 20  # Nobody's budget is longer, and Python refuses to read 4 300 digits.

# `src/cart.py:12` or `src/cart.py:12-40`.
_PLACE = re.compile(r"(.+?)(?::(\d{1,9})(?:-(\d{1,9}))?)?", re.DOTALL)
_PLACE_FIELDS = frozenset({"path", "range", "lines", "optional"})

# What says how imports are followed, and nothing where none are.
OF_ORIGINS = frozenset({"depth", "importers"})

# What says which files are ranked and lifted. A focus may stand beside what is named: editors
# send what is on screen with every question.
_RANKING = frozenset({"origins", "diff", "staged"})

# What a question has no use for that a chat's reply asks.
OF_REPLY = frozenset({"only"}) | _RANKING | OF_ORIGINS

# What `--detail PATH=FORM` may ask for; the other details are results.
_DETAILS = (Detail.WHOLE, Detail.OUTLINE)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a request, at every door."""

    field: str
    """Of `Request`."""
    flag: str
    read: Callable[[object], object]
    """A value from outside to the field's value. Raises ValueError that says what it must be."""
    metavar: str
    help: str
    is_repeated: bool = False
    is_switch: bool = False
    bare: str | None = None
    """What the flag without a value means; None where it needs one."""
    aliases: tuple[str, ...] = ()
    """Further JSON names."""

    @property
    def json_name(self) -> str:
        """The field's name on the wire."""
        head, *rest = self.field.split("_")
        return head + "".join(part.capitalize() for part in rest)


def _count(value: object) -> int:
    if isinstance(value, str) and len(value) > MAX_NUMBER_CHARS:
        raise ValueError("must be a whole number, such as 8000 or 8k")
    if isinstance(value, str) and (match := _NUMBER.match(value)):
        number = float(match[1]) * _SUFFIXES[match[2].lower()]
        if number.is_integer():
            return int(number)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < MAX_COUNT:
        return value
    raise ValueError("must be a whole number, such as 8000 or 8k")


def _optional_count(value: object) -> int | None:
    return None if value is None else _count(value)


def _real(value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError("must be a number")
    return number


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of texts")
    return tuple(value)


def _model(value: object) -> str:
    name = _text(value)
    try:
        profile_of(name)
    except ValueError as error:
        raise ValueError(f"names no model: {error}") from error
    return name


def _details(value: object) -> tuple[Forced, ...]:
    if isinstance(value, Mapping):
        pairs = [(str(path), form) for path, form in value.items()]
    else:
        pairs = []
        for item in _texts(value):
            path, equals, form = item.rpartition("=")
            if not equals or not path:
                raise ValueError(f"must be PATH=whole or PATH=outline, got {item!r}")
            pairs.append((path, form))
    for path, form in pairs:
        if form not in _DETAILS:
            raise ValueError(f"knows whole and outline, not {form!r} (for {path})")
    return tuple(Forced(path, Detail(form)) for path, form in pairs)


def _foci(value: object) -> tuple[Focus, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list of places")
    return tuple(_focus(item) for item in value)


def _focus(value: object) -> Focus:
    """A place as text, or as an object with LSP's `range` or with `lines`, as answers have."""
    if isinstance(value, Focus):
        return value
    if isinstance(value, str) and (match := _PLACE.fullmatch(value)):
        path, start, end = match.groups()
        return Focus(path, _lines([int(start), int(end or start)]) if start else None)
    if not isinstance(value, Mapping):
        raise ValueError("must hold PATH, PATH:LINE, PATH:FIRST-LAST or objects with a path")
    path = value.get("path")
    if not isinstance(path, str) or not path:
        raise ValueError("must hold objects with a path, which is text")
    if unknown := [name for name in value if name not in _PLACE_FIELDS]:
        raise ValueError(f"knows path, range and lines, not {unknown[0]!r}")
    found, lines = value.get("range"), value.get("lines")
    if found is not None and lines is not None:
        raise ValueError("must have a range or lines, not both")
    if found is not None:
        return Focus(path, _lines_of_range(found), value.get("optional") is True)
    within = None if lines is None else _lines(lines)
    return Focus(path, within, value.get("optional") is True)


def _lines(value: object) -> Lines:
    match value:
        case [int(start), int(end)] if 1 <= start <= end < MAX_COUNT:
            return Lines(start, end)
        case _:
            raise ValueError("must have lines as [first, last], 1-based and inclusive")


def _lines_of_range(value: object) -> Lines:
    """The lines of a range of LSP: 0-based, and its end is behind the last character."""
    match value:
        case {
            "start": {"line": int(first), "character": int(begin)},
            "end": {"line": int(last), "character": int(end)},
        } if 0 <= first <= last < MAX_COUNT and min(begin, end) >= 0:
            return Lines(first + 1, last if end == 0 and last > first else last + 1)
        case _:
            raise ValueError("must have a range as LSP has it, from start to end")


def _revision(value: object) -> str | None:
    match value:
        case None | False:
            return None
        case True:
            return HEAD
        case _:
            return _text(value)


def _one_of(choices: type[StrEnum]) -> Callable[[object], object]:
    def read(value: object) -> object:
        for choice in choices:
            if value == choice.value:
                return choice
        raise ValueError(f"must be one of {', '.join(choices)}")

    return read


def _names(choices: type[StrEnum]) -> str:
    return "|".join(choices)


OPTIONS = (
    Option("budget_tokens", "budget", _count, "N", "most tokens the bundle's text may have, headers and fences included (8k is 8000)", aliases=("budget",)),
    Option("reserve_tokens", "reserve", _count, "N", "tokens of the budget to keep free, for your prompt and the answer"),
    Option("margin_percent", "margin", _real, "PERCENT", "share of the budget to keep free, on top of the model's own error bound"),
    Option("model", "model", _model, "NAME", "whose tokens to count: o200k, gpt-4o, gpt-5, gpt-4, claude, gemini, estimate ..."),
    Option("text_format", "text", _one_of(Format), _names(Format), "syntax of the bundle's text", aliases=("text", "format")),
    Option("task", "task", _switch, "", "print the task on top of the bundle", is_switch=True),
    Option("tree", "tree", _switch, "", "print a directory tree of what is in", is_switch=True),
    Option("line_numbers", "line-numbers", _switch, "", "begin each line with its number", is_switch=True),
    Option("stamp", "stamp", _switch, "", "end the bundle with its question, for `refresh`", is_switch=True),
    Option("scorer", "scorer", _one_of(Scorer), _names(Scorer), "who ranks: fused (chunks), or classic (whole files, keyword counts)"),
    Option("strategy", "strategy", _one_of(Strategy), _names(Strategy), "how candidates are chosen under the budget"),
    Option("mmr_lambda", "mmr-lambda", _real, "X", "for mmr: 1 is pure relevance, 0 pure diversity"),
    Option("ordering", "ordering", _one_of(Order), _names(Order), "order of the files in the text"),
    Option("dedup", "dedup", _real, "T", "similarity from which a chunk is a near-duplicate; 1 keeps all"),
    Option("max_candidates", "max-candidates", _optional_count, "N", "consider only the N best"),
    Option("truncate", "truncate", _one_of(Cut), _names(Cut), "what stays of a part that has to be cut"),
    Option("include", "include", _texts, "GLOB", "only files that match, even ignored ones (repeatable)", is_repeated=True),
    Option("exclude", "exclude", _texts, "GLOB", "no files that match (repeatable)", is_repeated=True),
    Option("only", "only", _texts, "PATH", "pack this and nothing else: a file, PATH:LINE, PATH:FIRST-LAST, or the name of a definition (repeatable)", is_repeated=True),
    Option("pins", "pin", _texts, "PATH", "a file that must be in (repeatable)", is_repeated=True),
    Option("details", "detail", _details, "PATH=whole|outline", "a file that must be in, in this form (repeatable)", is_repeated=True),
    Option("focus", "focus", _foci, "PATH[:RANGE]", "what you look at, such as src/cart.py:12-40: it comes first, then what is close to it (repeatable)", is_repeated=True),
    Option("origins", "from", _texts, "PATH", "only files that this one needs, nearer ones first (repeatable)", is_repeated=True, aliases=("from",)),
    Option("depth", "depth", _count, "N", "with --from: follow at most N imports"),
    Option("importers", "importers", _switch, "", "with --from: files that need it, instead of those that it needs", is_switch=True),
    Option("diff", "diff", _revision, "REV", "what changed since a commit (alone: since the last one), then what uses and tests it", bare=HEAD),
    Option("staged", "staged", _switch, "", "with --diff: what is staged, instead of what is on disk", is_switch=True),
    Option("max_file_bytes", "max-file-bytes", _count, "N", "leave out larger files"),
    Option("ledger", "ledger", _one_of(LedgerScope), _names(LedgerScope), "show the best of what was left out, or all of it"),
)  # fmt: skip
"""Every option, in the order of `--help`."""

_DEFAULTS: Mapping[str, object] = MappingProxyType(
    {field.name: field.default for field in dataclasses.fields(Request)}
)


def default_of(option: Option) -> object:
    """The default of an option, from `Request`."""
    return _DEFAULTS[option.field]


def budget_of(text: str) -> int:
    """A budget as it is written. Raises `OptionProblem`."""
    return request_of("", {"budget_tokens": text}, lambda _: "--budget").budget_tokens


def over(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """The values of two levels by field name: those above stand, and globs to exclude add up.

    Somebody who takes one file out must not let in what their repository leaves out.
    """
    left_out = [level["exclude"] for level in (below, above) if "exclude" in level]
    lists = [globs for globs in left_out if isinstance(globs, list | tuple)]
    values = {**below, **above}
    # A value that is no list is `request_of`'s to refuse.
    if len(lists) == 2:
        values["exclude"] = [*lists[0], *lists[1]]
    return values


def request_of(
    query: object, values: Mapping[str, object], name: Callable[[Option], str]
) -> Request:
    """The request for values by field name; `name` is what problems call an option.

    Raises `OptionProblem`.
    """
    if not isinstance(query, str):
        raise OptionProblem("query", "must be text")
    read: dict[str, object] = {}
    for option in OPTIONS:
        if option.field in values:
            try:
                read[option.field] = option.read(values[option.field])
            except ValueError as error:
                raise OptionProblem(name(option), str(error), values[option.field]) from error
    if not read.get("origins"):
        for option in OPTIONS:
            if option.field in OF_ORIGINS and values.get(option.field) not in (None, False):
                leader = next(other for other in OPTIONS if other.field == "origins")
                raise OptionProblem(
                    name(option), f"needs a file to begin at: give {name(leader)}"
                )
    if read.get("only"):
        for option in OPTIONS:
            if option.field in _RANKING and read.get(option.field):
                alone = next(other for other in OPTIONS if other.field == "only")
                raise OptionProblem(
                    name(option),
                    f"cannot be with {name(alone)}, which ranks nothing: leave out one of them",
                )
    try:
        return Request(query=query, **read)  # type: ignore[arg-type]  # each `read` gives its field's type
    except ValueError as error:
        field, _, problem = str(error).partition(" ")
        option = next(option for option in OPTIONS if option.field == field)
        raise OptionProblem(name(option), problem) from error


def request_from_json(
    document: Mapping[str, object], *, other: frozenset[str], below: Mapping[str, object]
) -> Request:
    """The request in a JSON object; `other` names the fields that are not the request's.

    `below` are the values, by field name, of what the object does not say. Raises
    `OptionProblem` for unknown fields and wrong values.
    """
    by_name = {
        name: option for option in OPTIONS for name in (option.json_name, *option.aliases)
    }
    given: dict[str, object] = {}
    for name, value in document.items():
        if name == "query" or name in other:
            continue
        option = by_name.get(name)
        if option is None:
            known = ", ".join(option.json_name for option in OPTIONS)
            raise OptionProblem(name, f"is no option; there are query, {known}")
        given[option.field] = value
    values = over(below, given)
    return request_of(document.get("query"), values, lambda option: option.json_name)
