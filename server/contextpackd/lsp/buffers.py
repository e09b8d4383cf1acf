"""The documents that one client has open, as it sees them: their texts hide the disk."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lsprotocol import types

from contextpackd.lsp.positions import Encoding, offset
from contextpackd.uris import key_of


@dataclass(frozen=True, slots=True)
class Buffer:
    """One open document."""

    uri: str
    version: int
    text: str


class Buffers:
    """The open documents of one connection. Owns their texts; reads nothing from disk."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._open: dict[str, Buffer] = {}

    def __iter__(self) -> Iterator[Buffer]:
        return iter(tuple(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)

    @property
    def by_key(self) -> Mapping[str, Buffer]:
        """The documents by what tells them apart (`uris.key_of`)."""
        return self._open

    def opened(self, document: types.TextDocumentItem) -> Buffer:
        """The document as it was opened; a second opening replaces the first."""
        buffer = Buffer(document.uri, document.version, document.text)
        self._open[key_of(document.uri)] = buffer
        return buffer

    def changed(
        self,
        document: types.VersionedTextDocumentIdentifier,
        changes: Iterable[types.TextDocumentContentChangeEvent],
    ) -> Buffer | None:
        """The document after its changes, in their order; None for one that is not open."""
        before = self._open.get(key_of(document.uri))
        if before is None:
            return None
        text = before.text
        for change in changes:
            text = self._applied(text, change)
        buffer = Buffer(before.uri, document.version, text)
        self._open[key_of(document.uri)] = buffer
        return buffer

    def closed(self, uri: str) -> Buffer | None:
        """The document that is open no more; None if it was not."""
        return self._open.pop(key_of(uri), None)

    def _applied(self, text: str, change: types.TextDocumentContentChangeEvent) -> str:
        if not isinstance(change, types.TextDocumentContentChangePartial):
            return change.text
        start, end = change.range.start, change.range.end
        first = offset(text, start.line, start.character, self.encoding)
        last = offset(text, end.line, end.character, self.encoding)
        return text[: min(first, last)] + change.text + text[max(first, last) :]
