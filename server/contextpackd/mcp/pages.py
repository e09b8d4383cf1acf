"""A text in pages, for clients that cut long results without a word."""


def pages(text: str, max_bytes: int) -> tuple[str, ...]:
    """The text in pages that are each at most so many bytes of UTF-8; joined they are the text.

    There is always one, and none but that of an empty text is empty. Pages end at the ends of
    lines; a line that is longer than a page is cut between characters. `max_bytes` is 4 or more.
    """
    found: list[str] = []
    page: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        for part in _parts(line, max_bytes):
            n_bytes = _size(part)
            if size + n_bytes > max_bytes:
                found.append("".join(page))
                page, size = [], 0
            page.append(part)
            size += n_bytes
    if page or not found:
        found.append("".join(page))
    return tuple(found)


def _parts(line: str, max_bytes: int) -> list[str]:
    raw = line.encode("utf-8", "surrogatepass")
    parts: list[str] = []
    start = 0
    while len(raw) - start > max_bytes:
        end = start + max_bytes
        while raw[end] & 0xC0 == 0x80:  # Inside of a character.
            end -= 1
        parts.append(raw[start:end].decode("utf-8", "surrogatepass"))
        start = end
    return [*parts, raw[start:].decode("utf-8", "surrogatepass")] if parts else [line]


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
