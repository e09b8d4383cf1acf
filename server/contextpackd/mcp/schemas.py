"""What tools take, as JSON Schema: made from the tables that every door shares."""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from contextpackd.fields import WAYS, Field, Shape
from contextpackd.joint import MAX_ROOTS
from contextpackd.mcp.tool import Tool
from contextpackd.options import OPTIONS, Option, default_of
from contextpackd.wire import Json

_SHAPES: Mapping[Shape, Json] = MappingProxyType(
    {
        Shape.TEXT: {"type": "string"},
        Shape.NAME: {"type": "string", "minLength": 1},
        Shape.SWITCH: {"type": "boolean"},
        Shape.COUNT: {"type": "integer", "minimum": 1},
        Shape.NAMES: {
            "type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1,
            "maxItems": MAX_ROOTS,
        },
        Shape.WAY: {"type": "string", "enum": list(WAYS)},
    }
)  # fmt: skip

_BUDGET = "budget_tokens"

_FLAGS = MappingProxyType({option.flag: option.json_name for option in OPTIONS})


def input_schema(tool: Tool) -> Json:
    """What a tool takes.

    Only one tool shows all options of a request, since an agent reads every schema before it does
    anything; the others show the budget, and take the rest as well.
    """
    shown = [
        option
        for option in tool.takes.options
        if tool.shows_options
        or len(tool.takes.options) < len(OPTIONS)
        or option.field == _BUDGET
    ]
    return {
        "type": "object",
        "properties": {
            **{field.name: _field(field) for field in tool.own},
            **{option.json_name: _option(option) for option in shown},
        },
        "required": [field.name for field in tool.own if field.is_required],
    }


def _field(field: Field) -> Json:
    return {**_SHAPES[field.shape], "description": field.help}


def _option(option: Option) -> Json:
    default = default_of(option)
    shown = default.value if isinstance(default, StrEnum) else default
    has_default = shown not in (None, (), False)
    return {
        **_type(option),
        "description": _in_json(option.help),
        **({"default": shown} if has_default else {}),
    }


def _type(option: Option) -> Json:
    match option.metavar:
        case "":
            return {"type": "boolean"}
        case "N":
            return {"type": "integer", "minimum": 0}
        case "PERCENT" | "X" | "T":
            return {"type": "number"}
        case "NAME" | "REV":
            return {"type": "string"}
        case "GLOB" | "PATH" | "PATH[:RANGE]":
            return {"type": "array", "items": {"type": "string"}}
        case "PATH=whole|outline":
            forms = {"type": "string", "enum": ["whole", "outline"]}
            return {"type": "object", "additionalProperties": forms}
        case choices:
            return {"type": "string", "enum": choices.split("|")}


def _in_json(text: str) -> str:
    """A flag's help as that of the JSON field."""
    text = text.replace(" (repeatable)", "").replace(" (8k is 8000)", "")
    text = text.replace("(alone: since the last one)", "(HEAD: since the last one)")
    return re.sub(r"--([a-z][a-z-]*)", lambda found: _FLAGS.get(found[1], found[0]), text)
