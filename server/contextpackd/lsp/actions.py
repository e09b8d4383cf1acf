"""The one code action: pack context for the symbol under the cursor.

It is offered when a person opens the menu, never for the light bulb that editors show by
themselves. It only names the command; what becomes of the bundle is the client's to decide.
"""

import re
from typing import TYPE_CHECKING

from lsprotocol import types

from contextpackd.lsp.params import PACK
from contextpackd.lsp.positions import offset
from contextpackd.uris import key_of

if TYPE_CHECKING:
    from contextpackd.lsp.session import Session

KIND = "source.contextpack"

_WORD = re.compile(r"\w+")

MAX_WORD_CHARS = 200  # A longer one is data.


def actions(session: "Session", params: types.CodeActionParams) -> list[types.CodeAction]:
    """The actions at a place of an open document: one, or none."""
    context = params.context
    if context.trigger_kind is types.CodeActionTriggerKind.Automatic:
        return []
    if context.only is not None and not any(_covers(str(kind)) for kind in context.only):
        return []
    uri = params.text_document.uri
    word = _word(session, uri, params.range.start)
    if word is None:
        return []
    title = f"Pack context for {word}"
    command = types.Command(title, PACK.name, arguments=[{"query": word, "uri": uri}])
    return [types.CodeAction(title, kind=KIND, command=command)]


def _covers(kind: str) -> bool:
    """Whether a kind that a client asks for is ours or one above it."""
    return f"{KIND}.".startswith(f"{kind}.")


def _word(session: "Session", uri: str, at: types.Position) -> str | None:
    buffer = session.buffers.by_key.get(key_of(uri))
    if buffer is None:
        return None
    here = offset(buffer.text, at.line, at.character, session.buffers.encoding)
    start = max(0, here - MAX_WORD_CHARS)
    for found in _WORD.finditer(buffer.text, start, here + MAX_WORD_CHARS):
        if found.start() <= here <= found.end() and len(found[0]) <= MAX_WORD_CHARS:
            return found[0]
    return None
