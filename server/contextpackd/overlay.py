"""Open buffers. A text here hides the file on disk until every editor has closed it.

Of several editors with the same file open, the one that changed its buffer last wins; when it
closes, the other's buffer is seen again, and after that the disk. A closed buffer leaves no trace.

It holds what it is told and reads nothing: paths are from the root on, texts are whole, and what
is too large or no candidate is for the caller to refuse. Not for several threads at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Buffer:
    """The text of a file as an editor shows it, and the editor's number for that state."""

    version: int
    text: str


class Overlay:
    """The buffers of one root. An owner is a connection, by any number that is its own."""

    def __init__(self) -> None:
        self.revision = 0
        """Grows with every change of a text that is seen, and with nothing else."""
        # Of one path by owner, the latest change last: that one is seen.
        self._open: dict[str, dict[int, Buffer]] = {}
        self._seen: dict[str, Buffer] = {}
        self._asked: dict[
            str, str | None
        ] = {}  # What was seen at the last question, if it moved.

    @property
    def seen(self) -> Mapping[str, Buffer]:
        """The buffer that hides the file, by path. Follows every later change."""
        return MappingProxyType(self._seen)

    def put(self, owner: int, path: str, buffer: Buffer) -> None:
        """Open a buffer, or change an open one."""
        buffers = self._open.setdefault(path, {})
        buffers.pop(owner, None)
        buffers[owner] = buffer
        self._look(path)

    def close(self, owner: int, path: str) -> None:
        """Give way to another owner's buffer, else to the disk. Without effect if none is open."""
        buffers = self._open.get(path, {})
        if buffers.pop(owner, None) is not None:
            self._look(path)

    def leave(self, owner: int) -> None:
        """Close all buffers of a connection that has ended."""
        for path in [path for path, buffers in self._open.items() if owner in buffers]:
            self.close(owner, path)

    def changed(self) -> frozenset[str]:
        """The paths whose text is another than at the last question, or comes from disk now."""
        paths = frozenset(
            path for path, text in self._asked.items() if text != self._text_of(path)
        )
        self._asked.clear()
        return paths

    def _look(self, path: str) -> None:
        """See the latest buffer of a path."""
        before = self._text_of(path)
        buffers = self._open[path]
        if buffers:
            self._seen[path] = next(reversed(buffers.values()))
        else:
            del self._open[path]
            del self._seen[path]
        if before != self._text_of(path):
            self._asked.setdefault(path, before)
            self.revision += 1

    def _text_of(self, path: str) -> str | None:
        buffer = self._seen.get(path)
        return None if buffer is None else buffer.text
