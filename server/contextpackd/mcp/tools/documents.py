"""Answers as the text that tools give: JSON without blanks."""

import json

from contextpackd.wire import Json


def document(answer: Json) -> str:
    """An answer of `wire`, as short as JSON can be."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
