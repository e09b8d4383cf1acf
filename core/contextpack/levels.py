"""How much to show of each file: the strategy `levels`.

A file can be mentioned (one signature), outlined (the signatures of all its definitions), shown
by its best part, its best two and so on, or whole. Each level has a cost in tokens and a value
made of the ranking's scores, of each file at most one is chosen, and value per token decides: see
`select.multiple_choice`, which says how far from the optimum the choice can be.

The value of a part is its score for each of its tokens: what a score says of a part, it says of
its lines, so a long part is worth more than a short one that is as good, and the best parts come
first as they do for the greedy strategy. To that comes what a reader has of a file at all.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from contextpack.choice import HEAD_TOKENS, RANGE_TOKENS, Choice, diversity_of, place_of
from contextpack.model import Path, Piece
from contextpack.plan import Candidate
from contextpack.pointers import telling
from contextpack.ranking import SCORE_DIGITS
from contextpack.render import render_piece
from contextpack.select import Option, multiple_choice
from contextpack.shelf import Desk, Shelf, grown, outlined
from contextpack.text import merged

# That a file is shown at all is worth as much as so many tokens of its best part. ARCHITECTURE.md
# has what other values gave: fewer tokens lose files, more lose lines.
FILE_TOKENS = 40

# A definition of which only the signature stands: its share of the value of the part that it
# begins in.
SIGNATURE_SHARE = 0.03


@dataclass(frozen=True, slots=True)
class _Level:
    option: Option
    piece: Piece | None = None
    """What is shown; None for candidates."""
    candidates: tuple[Candidate, ...] = ()
    is_whole: bool = False


def with_levels(choice: Choice, shelf: Shelf, desk: Desk) -> Choice:
    """A choice with the best level of each file, in the room that a shelf leaves.

    The candidates of the chosen levels come first; mentions, outlines and whole files are pieces.
    """
    by_path = _by_path(choice.order, shelf)
    paths = sorted(by_path)
    signatures = _signatures(by_path, desk)
    levels = [_levels(by_path[path], signatures[path], desk) for path in paths]
    selection = multiple_choice(
        [[level.option for level in of_file] for of_file in levels],
        max(0, desk.limit - shelf.tokens),
    )
    chosen = [
        of_file[i] for of_file, i in zip(levels, selection.taken, strict=True) if i is not None
    ]
    shown = sorted(
        (candidate for level in chosen for candidate in level.candidates), key=_best_first
    )
    taken = {place_of(candidate) for candidate in shown}
    wholes = [_whole(level, desk) for level in chosen if level.is_whole]
    signed = [level.piece for level in chosen]
    return replace(
        choice,
        order=(*shown, *(c for c in choice.order if place_of(c) not in taken)),
        pieces=tuple(piece for piece in (*wholes, *signed) if piece is not None),
        diversity=diversity_of([desk.texts[c.path].of(c.lines) for c in shown]),
        optimality_gap=round(selection.gap, SCORE_DIGITS),
    )


def _best_first(candidate: Candidate) -> tuple[float, Path, int]:
    return -candidate.score, candidate.path, candidate.lines.start


def _by_path(order: Iterable[Candidate], shelf: Shelf) -> Mapping[Path, Sequence[Candidate]]:
    """The candidates of each file that does not stand yet, best first."""
    found: dict[Path, list[Candidate]] = {}
    for candidate in sorted(order, key=_best_first):
        if candidate.path in shelf.pieces:
            continue
        if candidate.path in found or not candidate.is_introduction:
            found.setdefault(candidate.path, []).append(candidate)
    return found


def _signatures(
    by_path: Mapping[Path, Sequence[Candidate]], desk: Desk
) -> Mapping[Path, Sequence[tuple[Piece, int]]]:
    """The mention and the outline of each file, where there are such, with their costs."""
    pieces = {
        path: [
            piece
            for piece in (
                grown(None, path, [telling(candidates[0], desk)], desk),
                outlined(path, desk),
            )
            if piece is not None
        ]
        for path, candidates in by_path.items()
    }
    flat = [render_piece(piece, desk.style) for of_file in pieces.values() for piece in of_file]
    costs = iter(desk.count.count_many(flat))
    return {
        path: [(piece, next(costs)) for piece in of_file] for path, of_file in pieces.items()
    }


def _levels(
    candidates: Sequence[Candidate], signatures: Sequence[tuple[Piece, int]], desk: Desk
) -> list[_Level]:
    """The levels of one file."""
    path, best = candidates[0].path, candidates[0].score
    known = FILE_TOKENS * best
    levels = []
    for number, (piece, cost) in enumerate(signatures):
        told = candidates[:1] if number == 0 else candidates
        starts = [start for start, _, _, _ in desk.scopes(path)]
        share = sum(
            _value(candidate)
            for candidate in told
            if any(candidate.lines.start <= start <= candidate.lines.end for start in starts)
        )
        levels.append(_Level(_option(known + SIGNATURE_SHARE * share, cost), piece=piece))
    value, cost = known, HEAD_TOKENS
    for n, candidate in enumerate(candidates, 1):
        value += _value(candidate)
        cost += candidate.tokens + RANGE_TOKENS
        levels.append(_Level(_option(value, cost), candidates=tuple(candidates[:n])))
    n_lines = len(desk.texts[path])
    n_covered = sum(map(len, merged(candidate.lines for candidate in candidates)))
    if len(candidates) > 1 and n_covered:
        tokens = sum(candidate.tokens for candidate in candidates)
        cost = HEAD_TOKENS + math.ceil(tokens * n_lines / n_covered)
        levels.append(_Level(_option(value, cost), candidates=tuple(candidates), is_whole=True))
    return levels


def _value(candidate: Candidate) -> float:
    return candidate.score * candidate.tokens


def _option(value: float, cost: int) -> Option:
    # Rounded, so that the last bit of a product never decides.
    return Option(round(value, SCORE_DIGITS), max(1, cost))


def _whole(level: _Level, desk: Desk) -> Piece | None:
    path = level.candidates[0].path
    return grown(None, path, [desk.texts[path].whole], desk)
