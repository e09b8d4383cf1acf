"""Where else to look: the best files that did not get in, each by the signature of its best part.

A change spans a file that ranks low as often as not. Its name and one signature cost a tenth of a
chunk, and tell a reader that there is more, and where.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from contextpack.model import Piece
from contextpack.plan import Candidate
from contextpack.render import render_piece
from contextpack.shelf import Desk, Shelf, grown, put_each
from contextpack.text import Lines

# Of the budget, for files of which nothing else fits. On 340 commits of 25 repositories the share
# of the files to change of which something is shown grows by 3 to 6 points from three
# hundredths (at 8 000 and 4 000 tokens), for half a point of the changed lines, and by another
# point from the fourth at 8 000, for nothing that could be measured.
POINTER_SHARE = 0.04

# More than so many tokens of pointers are a list that nobody reads.
MAX_POINTER_ROOM = 300

# A pointer costs about half of this; where there is no room for one, none is kept free.
MIN_POINTER_ROOM = 80

# Of a signature, or of a part without definitions, so many lines are shown.
MAX_POINTER_LINES = 2

# So many are counted together, which costs half of counting them one by one.
POINTERS_AT_ONCE = 16

# So many that do not fit end the tries.
MAX_POINTER_MISSES = 4


def pointer_room(limit: int) -> int:
    """How many tokens to keep free for pointers until the chunks have taken the others."""
    room = min(int(POINTER_SHARE * limit), MAX_POINTER_ROOM)
    return room if room >= MIN_POINTER_ROOM else 0


def with_pointers(shelf: Shelf, order: Sequence[Candidate], desk: Desk) -> Shelf:
    """The shelf with pointers to the files of these candidates that it lacks, while they fit."""
    n_missed = 0
    pointers = _pointers(shelf, order, desk)
    while batch := list(islice(pointers, POINTERS_AT_ONCE)):
        texts = [render_piece(piece, desk.style) for piece in batch]
        found = zip(batch, texts, desk.count.count_many(texts), strict=True)
        shelf, n = put_each(shelf, found, desk, MAX_POINTER_MISSES - n_missed)
        n_missed += n
        if n_missed >= MAX_POINTER_MISSES:
            break
    return shelf


def _pointers(shelf: Shelf, order: Sequence[Candidate], desk: Desk) -> Iterator[Piece]:
    """One for each file that the shelf lacks, in order of their best parts."""
    seen = set(shelf.pieces)
    for candidate in order:
        if candidate.path not in seen and not candidate.is_introduction:
            seen.add(candidate.path)
            piece = grown(None, candidate.path, [telling(candidate, desk)], desk)
            if piece is not None:
                yield piece


def telling(candidate: Candidate, desk: Desk) -> Lines:
    """The signature of the first definition that begins in a candidate, else its first lines."""
    lines = candidate.lines
    for start, _, first, last in desk.scopes(candidate.path):
        if lines.start <= start <= lines.end:
            return Lines(first, min(last, first + MAX_POINTER_LINES - 1))
    return Lines(lines.start, min(lines.end, lines.start + MAX_POINTER_LINES - 1))
