"""Pieces made from texts, without the pipeline that makes them elsewhere."""

from contextpack.model import Detail, Piece, Section
from contextpack.text import Lines, split_lines

LANGUAGES = {
    "css": "css", "js": "javascript", "jsx": "jsx", "json": "json", "md": "markdown",
    "py": "python", "ts": "typescript", "tsx": "tsx", "xml": "xml",
}  # fmt: skip


def whole(path: str, text: str) -> Piece:
    """A file as it is."""
    n_lines = len(split_lines(text))
    sections = (Section(Lines(1, n_lines), text),) if text else ()
    return Piece(path, _language(path), Detail.WHOLE, sections, n_lines)


def parts(
    path: str, text: str, *ranges: tuple[int, int], detail: Detail = Detail.CHUNKS
) -> Piece:
    """Some ranges of a file's lines."""
    lines = split_lines(text)
    sections = tuple(
        Section(Lines(start, end), "".join(lines[start - 1 : end])) for start, end in ranges
    )
    return Piece(path, _language(path), detail, sections, len(lines))


def cut(path: str, text: str, n_chars: int) -> Piece:
    """The first characters of a file, wherever in a line that ends."""
    kept = text[:n_chars]
    n_complete = len(split_lines(kept)) - (not kept.endswith("\n"))
    lines = Lines(1, n_complete) if n_complete else None
    n_lines = len(split_lines(text))
    return Piece(path, _language(path), Detail.TRUNCATED, (Section(lines, kept),), n_lines)


def _language(path: str) -> str:
    return LANGUAGES.get(path.rpartition(".")[2], "")
