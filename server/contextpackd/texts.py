"""Texts that were read, by digest, for as long as there is room for them."""

from collections import OrderedDict

# Of all texts together: the files of some hundred bundles.
MAX_CHARACTERS = 16 << 20


class Texts:
    """A memory of texts. The digest says what a text is, so that none is ever out of date."""

    def __init__(self, max_characters: int = MAX_CHARACTERS) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._room = max_characters

    def get(self, digest: str) -> str | None:
        """The text of bytes with this digest, if it is still known."""
        text = self._texts.get(digest)
        if text is not None:
            self._texts.move_to_end(digest)
        return text

    def keep(self, digest: str, text: str) -> None:
        """Remember a text; those that nobody asked for longest go when there is no room."""
        if digest in self._texts:
            return
        self._texts[digest] = text
        self._room -= len(text)
        while self._room < 0 and len(self._texts) > 1:
            _, dropped = self._texts.popitem(last=False)
            self._room += len(dropped)
