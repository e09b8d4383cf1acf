"""The objects that LSP commands and MCP tools take: their fields, and how they are checked.

Beside its own fields an object that makes a request has the options of `options.OPTIONS`.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from contextpackd.errors import FieldProblem
from contextpackd.joint import MAX_ROOTS
from contextpackd.options import OPTIONS, Option

_DISCOVERY = frozenset({"include", "exclude", "max_file_bytes"})
WAYS = ("imports", "importers")

DEFAULT_TOP = 20


class Shape(StrEnum):
    """What a field's value must be."""

    TEXT = "text"
    NAME = "text that is not empty"
    SWITCH = "true or false"
    COUNT = "a whole number above 0"
    NAMES = f"a list of 1 to {MAX_ROOTS} texts that are not empty"
    WAY = "one of imports, importers"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a command's object."""

    name: str
    shape: Shape
    help: str
    is_required: bool = False


class Takes(StrEnum):
    """Which options an object may have beside its fields."""

    NOTHING = "none"
    DISCOVERY = "discovery"
    ALL = "all"

    @property
    def options(self) -> tuple[Option, ...]:
        """The options themselves."""
        match self:
            case Takes.NOTHING:
                return ()
            case Takes.DISCOVERY:
                return tuple(option for option in OPTIONS if option.field in _DISCOVERY)
            case Takes.ALL:
                return OPTIONS


def shape_of(option: Option) -> str:
    """What an option's value must be on the wire, in words."""
    match option.metavar:
        case "":
            return "true or false"
        case "N":
            return "whole number, or text such as `8k`"
        case "PERCENT" | "X" | "T":
            return "number"
        case "NAME":
            return "text"
        case "GLOB" | "PATH":
            return "list of texts"
        case "PATH=whole|outline":
            return "object of path to `whole` or `outline`"
        case "PATH[:RANGE]":
            return "list of texts such as `a.py:3-9`, or of `{path or uri, range?}`"
        case "REV":
            return "true, or text that names a commit"
        case choices:
            return "one of " + ", ".join(f"`{choice}`" for choice in choices.split("|"))


def taken(
    document: Mapping[Any, object],
    fields: Sequence[Field],
    options: Sequence[Option],
    *,
    keeps_null: bool = False,
) -> dict[str, object]:
    """What an object holds: its own fields checked, options only known by their names.

    A value that is `null` counts as not given, but for that of an option with `keeps_null`.
    Raises `FieldProblem`.
    """
    own = {field.name: field for field in fields}
    names = {name for option in options for name in (option.json_name, *option.aliases)}
    given: dict[str, object] = {}
    for name, value in document.items():
        if name in own and value is not None:
            _check(own[name], value)
            given[name] = value
        elif name in names and (value is not None or keeps_null):
            given[name] = value
        elif name not in own and name not in names:
            known = ", ".join([*own, *(option.json_name for option in options)])
            raise FieldProblem(_shown(str(name)), f"is no field; there are {known or 'none'}")
    for field in fields:
        if field.is_required and field.name not in given:
            raise FieldProblem(field.name, f"must be {field.shape.value}")
    return given


def top_of(fields: Mapping[str, object]) -> int:
    """How many of the best are wanted. JSON knows larger numbers than any list is long."""
    value = fields.get("top", DEFAULT_TOP)
    assert isinstance(value, int)
    return min(value, sys.maxsize)


def _check(field: Field, value: object) -> None:
    if not _holds(field.shape, value):
        raise FieldProblem(field.name, f"must be {field.shape.value}")


def _holds(shape: Shape, value: object) -> bool:
    match shape:
        case Shape.TEXT:
            return isinstance(value, str)
        case Shape.NAME:
            return _is_name(value)
        case Shape.NAMES:
            return (
                isinstance(value, list)
                and 0 < len(value) <= MAX_ROOTS
                and all(map(_is_name, value))
            )
        case Shape.SWITCH:
            return isinstance(value, bool)
        case Shape.COUNT:
            return isinstance(value, int) and not isinstance(value, bool) and value > 0
        case Shape.WAY:
            return value in WAYS


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def _shown(name: str) -> str:
    return name if len(name) <= 40 else name[:40] + "…"
