"""What stands in a bundle so far, at its exact cost. Knows nothing of scores.

Every step renders the changed file's part and counts it: a cost is never added up from
stored counts. A shelf is a value; what does not fit leaves the old one standing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from contextpack.codec import Scope
from contextpack.model import (
    BatchCounter,
    Detail,
    Path,
    Piece,
    Section,
    Style,
    TokenCounter,
)
from contextpack.render import footer, header, render_piece
from contextpack.request import Cut
from contextpack.text import Lined, Lines, merged, split_lines
from contextpack.truncate import grapheme_prefix, grapheme_suffix, head_lines, tail_lines

# Two chosen ranges with so few lines between them become one: the mark of a gap costs as much
# as a short line does, and as several blank ones.
MAX_JOINED_GAP = 1
MAX_JOINED_BLANKS = 3

# Blank lines that are shown with the range beside them. They cost a token, say that what is shown
# begins or ends there, and are where code is put in: a tenth of the lines that commits change is
# blank. What they are worth stands in ARCHITECTURE.md.
MAX_BLANKS_BEFORE = 1
MAX_BLANKS_BEHIND = 2

# A range that begins inside a definition shows its signature, so that a reader knows where it
# stands. Of longer signatures the first line has to do: it has the name.
MAX_SIGNATURE_LINES = 4

# Joined to its neighbours, or without blank lines at its ends, a range costs at most about so
# much less than alone. Larger ones are not tried: rendering and counting is the main work.
JOINED_TOKENS = 16

# A cut of fewer tokens says nothing that its path line would not; where it is all that the
# bundle has, a line or two are better than nothing.
MIN_CUT_TOKENS = 60
MIN_ONLY_TOKENS = 20


@dataclass(frozen=True, slots=True)
class Desk:
    """What filling needs and does not change: the texts, the style, the counter, the limit."""

    texts: Mapping[Path, Lined]
    languages: Mapping[Path, str]
    scopes: Callable[[Path], Sequence[Scope]]
    """Where the definitions of a file stand, outermost first."""
    style: Style
    count: BatchCounter
    limit: int
    """How many tokens the rendered text may have."""
    is_exact: bool
    """Whether the lines are shown that are chosen, without the blank ones beside them."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The pieces chosen so far, in order of choice, each rendered and with its cost."""

    pieces: Mapping[Path, Piece]
    rendered: Mapping[Path, str]
    costs: Mapping[Path, int]
    parts: int
    """The sum of the costs."""
    frame: int
    """The cost of what stands above and below the pieces."""

    @property
    def tokens(self) -> int:
        """The cost of the whole, part by part."""
        return self.frame + self.parts


def empty_shelf(desk: Desk) -> Shelf:
    """A shelf with nothing on it."""
    nothing: Mapping[Path, str] = MappingProxyType({})
    return Shelf(MappingProxyType({}), nothing, MappingProxyType({}), 0, _frame((), desk))


def shelf_of(pieces: Iterable[Piece], desk: Desk) -> Shelf:
    """A shelf with these pieces, whether they fit or not."""
    return _with_pieces(empty_shelf(desk), pieces, desk)


def with_lines(shelf: Shelf, path: Path, lines: Lines, desk: Desk) -> Shelf | None:
    """The shelf with more lines of a file on it, or None when they do not fit."""
    piece = grown(shelf.pieces.get(path), path, [lines], desk)
    return with_piece(shelf, piece, desk) if piece else None


def with_all(shelf: Shelf, wanted: Sequence[tuple[Path, Lines]], desk: Desk) -> Shelf | None:
    """What `with_lines` gives for one after the other, counted once.

    None when they do not fit together, or when lines are blank and their file has no others.
    """
    shown: dict[Path, Sequence[Lines]] = {}
    for path, lines in wanted:
        before = shown[path] if path in shown else _complete(shelf.pieces.get(path))
        shown[path] = _with_more(before, path, [lines], desk)
        if not shown[path]:
            return None
    pieces = [piece_of(path, ranges, desk) for path, ranges in shown.items()]
    full = _with_pieces(shelf, pieces, desk)
    return full if full.tokens <= desk.limit else None


def grown(old: Piece | None, path: Path, more: Sequence[Lines], desk: Desk) -> Piece | None:
    """A file's piece with more lines, and the signatures around them; None if all are blank."""
    ranges = _with_more(_complete(old), path, more, desk)
    return piece_of(path, ranges, desk) if ranges else None


def with_piece(shelf: Shelf, piece: Piece, desk: Desk) -> Shelf | None:
    """The shelf with this piece in the place of its file's, or None when it does not fit."""
    text = render_piece(piece, desk.style)
    return put(shelf, piece, text, desk.count(text), desk)


def put(shelf: Shelf, piece: Piece, text: str, cost: int, desk: Desk) -> Shelf | None:
    """The same for a piece that is rendered already, and known to cost so much."""
    path, frame = piece.path, shelf.frame
    if desk.style.tree and path not in shelf.pieces:
        frame = _frame((*shelf.pieces, path), desk)
    parts = shelf.parts - shelf.costs.get(path, 0) + cost
    if frame + parts > desk.limit:
        return None
    return Shelf(
        MappingProxyType({**shelf.pieces, path: piece}),
        MappingProxyType({**shelf.rendered, path: text}),
        MappingProxyType({**shelf.costs, path: cost}),
        parts,
        frame,
    )


def outlined(path: Path, desk: Desk) -> Piece | None:
    """The signatures of a file's definitions; None where there are none."""
    signatures = merged(Lines(first, last) for _, _, first, last in desk.scopes(path))
    return (
        replace(piece_of(path, signatures, desk), detail=Detail.OUTLINE) if signatures else None
    )


def with_cut(shelf: Shelf, path: Path, lines: Lines, cut: Cut, desk: Desk) -> Shelf | None:
    """The shelf with as much of these lines as fits, or None when less than a line's worth does.

    Whole lines where one fits, else whole graphemes of the first or last line.
    """
    old = shelf.pieces.get(path)
    chosen = _complete(old)
    least = MIN_CUT_TOKENS if shelf.pieces else MIN_ONLY_TOKENS
    room = desk.limit - shelf.tokens
    if old is None and room >= least:
        room -= desk.count(render_piece(_cut_piece(path, (), desk), desk.style))
    while room >= least:
        kept = _kept(lines, desk.texts[path], room, cut, desk.count)
        if not kept:
            break
        ranges = _tidied(kept, path, chosen, desk)
        piece = piece_of(path, ranges, desk)
        if not chosen:
            piece = replace(piece, detail=Detail.TRUNCATED)
        if (result := with_piece(shelf, piece, desk)) is not None:
            return result
        room -= max(1, room // 16)
    if shelf.pieces:
        return None
    return _with_part_of_line(shelf, path, lines, cut, desk)


def without_last(shelf: Shelf, desk: Desk) -> Shelf:
    """The shelf without the file that was chosen last."""
    return without(shelf, list(shelf.pieces)[-1], desk)


def without(shelf: Shelf, path: Path, desk: Desk) -> Shelf:
    """The shelf without a file."""
    pieces, rendered, costs = {**shelf.pieces}, {**shelf.rendered}, {**shelf.costs}
    parts = shelf.parts - costs.pop(path)
    del pieces[path], rendered[path]
    return Shelf(
        MappingProxyType(pieces),
        MappingProxyType(rendered),
        MappingProxyType(costs),
        parts,
        _frame(tuple(pieces), desk) if desk.style.tree else shelf.frame,
    )


def piece_of(path: Path, ranges: Sequence[Lines], desk: Desk) -> Piece:
    """The piece that shows these ranges of a file, which do not touch one another."""
    text = desk.texts[path]
    is_whole = len(ranges) == 1 and ranges[0] == text.whole
    return Piece(
        path=path,
        language=desk.languages[path],
        detail=Detail.WHOLE if is_whole else Detail.CHUNKS,
        sections=tuple(Section(span, text.of(span)) for span in ranges),
        n_lines=len(text),
    )


def _complete(piece: Piece | None) -> Sequence[Lines]:
    return [section.lines for section in piece.sections if section.lines] if piece else ()


def _with_more(
    chosen: Sequence[Lines], path: Path, more: Sequence[Lines], desk: Desk
) -> Sequence[Lines]:
    scopes = desk.scopes(path)
    around = [span for lines in more for span in _signatures_around(lines, scopes)]
    return _tidied([*around, *more], path, chosen, desk)


def _signatures_around(lines: Lines, scopes: Sequence[Scope]) -> list[Lines]:
    """The signatures of the definitions that a range begins inside of."""
    start = lines.start
    return [
        Lines(first, last if last - first < MAX_SIGNATURE_LINES else first)
        for _, end, first, last in scopes
        if last < start <= end
    ]


def _with_pieces(shelf: Shelf, more: Iterable[Piece], desk: Desk) -> Shelf:
    """The shelf with these pieces, whether they fit or not."""
    added = {piece.path: piece for piece in more}
    texts = {path: render_piece(piece, desk.style) for path, piece in added.items()}
    counts = dict(zip(texts, desk.count.count_many(texts.values()), strict=True))
    pieces, costs = {**shelf.pieces, **added}, {**shelf.costs, **counts}
    return Shelf(
        MappingProxyType(pieces),
        MappingProxyType({**shelf.rendered, **texts}),
        MappingProxyType(costs),
        sum(costs.values()),
        _frame(tuple(pieces), desk) if desk.style.tree else shelf.frame,
    )


def _frame(paths: tuple[Path, ...], desk: Desk) -> int:
    return sum(desk.count.count_many([header(paths, desk.style), footer(desk.style)]))


def _tidied(
    more: Sequence[Lines], path: Path, chosen: Sequence[Lines], desk: Desk
) -> tuple[Lines, ...]:
    """Ranges with few blank lines at their ends, short gaps between them closed.

    Those in `chosen` are so already. Where all that is missing of the file is blank, the file is
    whole.
    """
    text = desk.texts[path]
    before, behind = (0, 0) if desk.is_exact else (MAX_BLANKS_BEFORE, MAX_BLANKS_BEHIND)
    tidy = {span.start: span.end for span in chosen}
    closed: list[Lines] = []
    for span in merged([*chosen, *more]):
        trim = (
            span if tidy.get(span.start) == span.end else _trimmed(span, text, before, behind)
        )
        if trim is None:
            continue
        if closed and _is_short(closed[-1].end + 1, trim.start - 1, text):
            closed[-1] = Lines(closed[-1].start, trim.end)
        else:
            closed.append(trim)
    if len(closed) == 1 and _is_rest_blank(closed[0], text):
        return (text.whole,)
    return tuple(closed)


def _is_short(first: int, last: int, text: Lined) -> bool:
    """Whether the gap of these lines is closed."""
    n_lines = last - first + 1
    if n_lines <= MAX_JOINED_GAP:
        return True
    return n_lines <= MAX_JOINED_BLANKS and not text.of(Lines(first, last)).strip()


def _is_rest_blank(span: Lines, text: Lined) -> bool:
    before, after = Lines(1, span.start - 1) if span.start > 1 else None, span.end + 1
    if before and text.of(before).strip():
        return False
    return after > len(text) or not text.of(Lines(after, len(text))).strip()


def _trimmed(span: Lines, text: Lined, before: int, behind: int) -> Lines | None:
    """The range with at most so many blank lines before and behind it; None if all is blank."""
    start, end = span.start, min(span.end, len(text))
    while start <= end and _is_blank(start, text):
        start += 1
    while end >= start and _is_blank(end, text):
        end -= 1
    if start > end:
        return None
    least, most = max(start - before, 1), min(end + behind, len(text))
    while start > least and _is_blank(start - 1, text):
        start -= 1
    while end < most and _is_blank(end + 1, text):
        end += 1
    return span if (start, end) == (span.start, span.end) else Lines(start, end)


def _is_blank(number: int, text: Lined) -> bool:
    return not text.text[text.starts[number - 1] : text.starts[number]].strip()


def _kept(lines: Lines, text: Lined, room: int, cut: Cut, count: TokenCounter) -> list[Lines]:
    """Which of these lines stay when only so many tokens are left."""
    shown = split_lines(text.of(lines))
    if cut is Cut.SUMMARY:
        n_tail = tail_lines(shown, room // 2, count)
        n_head = head_lines(shown, room - room // 2, count)
    else:
        n_head = head_lines(shown, room, count) if cut is Cut.HEAD else 0
        n_tail = tail_lines(shown, room, count) if cut is Cut.TAIL else 0
    kept = []
    if n_head:
        kept.append(Lines(lines.start, lines.start + n_head - 1))
    if n_tail:
        kept.append(Lines(lines.end - n_tail + 1, lines.end))
    return kept


def _cut_piece(path: Path, sections: tuple[Section, ...], desk: Desk) -> Piece:
    return Piece(path, desk.languages[path], Detail.TRUNCATED, sections, len(desk.texts[path]))


def _with_part_of_line(
    shelf: Shelf, path: Path, lines: Lines, cut: Cut, desk: Desk
) -> Shelf | None:
    """The shelf with a part of one long line, where not even one whole line fits."""
    shown = [line for line in split_lines(desk.texts[path].of(lines)) if line.strip()]
    if not shown:
        return None
    line = (shown[-1] if cut is Cut.TAIL else shown[0]).rstrip("\r\n")
    part = grapheme_suffix if cut is Cut.TAIL else grapheme_prefix
    room = (
        desk.limit
        - shelf.tokens
        - desk.count(render_piece(_cut_piece(path, (), desk), desk.style))
    )
    while room > 0:
        text = part(line, room, desk.count)
        if not text.strip():
            return None
        piece = _cut_piece(path, (Section(None, text),), desk)
        if (result := with_piece(shelf, piece, desk)) is not None:
            return result
        room -= max(1, room // 16)
    return None
