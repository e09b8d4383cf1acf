"""A bundle that follows another: what stands keeps its place and its bytes.

A model's provider keeps the work on a prompt's beginning for the next prompt that begins the same
way. So a successor starts from the pieces of its predecessor, not from nothing, and moves
towards the choice that would be made without one (the fresh choice) only where that pays.
That is for a workspace that changes under one question. Who asks for something else (other pins,
another budget) gets the fresh choice, in which what stood before only keeps its order.

- A file that is gone, or not relevant any more, leaves; a file that changed is shown anew, in its
  old place; what the request names is in whatever stands.
- Of the fresh choice, what does not stand yet comes in where there is room. Where there is none,
  pieces that the fresh choice dropped make room, the worst first, but only for one that is better
  than each of them by `MARGIN`. The same holds between two forms of one unchanged file.
- Room that is left then is filled with files that are new or changed in any case.
- Where all this would cost more than `MARGIN` of the fresh choice's score, the fresh choice it is.

The steps repeat until they change nothing, so the successor of a successor of the same snapshot
is the same again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from types import MappingProxyType

from contextpack.model import Path, Piece, Style
from contextpack.plan import Candidate
from contextpack.ranking import SCORE_DIGITS
from contextpack.render import ranges, render_piece
from contextpack.request import Request
from contextpack.shelf import (
    JOINED_TOKENS,
    Desk,
    Shelf,
    grown,
    put,
    shelf_of,
    with_lines,
    without,
)
from contextpack.text import Lined, Lines, split_lines

# By so much must a newcomer's score pass that of a piece whose place it takes; and so much of the
# fresh choice's score may stability cost at most. Of a hundred edits in Django one moved the score
# of another file among the best fifty by 4 %, the others by under 1 %: such movement says nothing
# about the task. See `tests/benchmarks/bench_packs.py`.
MARGIN = 0.1

# A chunk of a changed file is one that stood when so much of its lines did. Half: an edit inside a
# function leaves most of it, and another function shares little more than its `return`.
SAME_SHARE = 0.5

# What of a request is no demand: where somebody looks changes with every move, as the workspace
# does, and a bundle that was made anew each time would follow nothing.
_NO_DEMANDS = frozenset({"ledger", "focus"})


class ChangeKind(StrEnum):
    """What happened to a file of a bundle since its predecessor."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class Cause(StrEnum):
    """Why: the closed list of causes of a change."""

    # Added, or changed.
    RANKED = "ranked"  # Its score won it the place, or more of it.
    PINNED = "pinned"  # The request named it.
    # Changed.
    EDITED = "edited"  # Its file was.
    # Removed.
    GONE = "gone"  # There is no such file any more, or a rule leaves it out.
    NOT_RELEVANT = "not-relevant"  # Its score is below the cut now.
    NEAR_DUPLICATE = "near-duplicate"  # A better one that is in says the same.
    OUTRANKED = "outranked"  # One better by the margin has its place.
    OVER_BUDGET = "over-budget"  # What else stands needs its room.


@dataclass(frozen=True, slots=True)
class Change:
    """One file of a bundle that is not as it was in the predecessor."""

    path: Path
    kind: ChangeKind
    cause: Cause


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands in a bundle, for its successor."""

    text: str
    revision: int
    """How many bundles in a row have had another text than the one before; 1 is the first."""
    pieces: tuple[Piece, ...]
    """In the order of the text."""
    digests: Mapping[Path, str]
    """Of the files that the pieces were taken from."""
    request: Request | None = None
    """What was asked; None where nobody knows, which is as if it was the same."""


NOTHING_STANDS = Standing("", 0, (), MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Field:
    """What there is to choose from now, and what the choice says of it."""

    candidates: tuple[Candidate, ...]
    """Near-duplicates among them; best first."""
    order: tuple[Candidate, ...]
    """Without near-duplicates; those that the strategy chose come first."""
    twins: Mapping[Path, Path]
    """Files whose best candidate is a near-duplicate: the file with the better one."""
    forced: frozenset[Path]
    """The files that the request names."""
    digests: Mapping[Path, str]
    """Of the files that there are now, among the candidates and what stood."""

    @property
    def scores(self) -> Mapping[Path, float]:
        """The score of each file's best candidate."""
        best: dict[Path, float] = {}
        for candidate in self.candidates:
            best[candidate.path] = max(candidate.score, best.get(candidate.path, 0.0))
        return best


def successor(fresh: Shelf, standing: Standing, field: Field, desk: Desk) -> Shelf:
    """The shelf that follows what stands, given the fresh choice from the same field."""
    start = _start(fresh, standing, field, desk)
    if start.pieces == fresh.pieces:
        return start
    edited = _edited(standing, field.digests)
    scores = field.scores
    current = _thinned(start, fresh, field, scores, desk)
    while True:
        moved = _with_newcomers(current, fresh, field, scores, desk)
        moved = _topped_up(moved, standing, edited, field, desk)
        if moved.pieces == current.pieces:
            break
        current = moved
    fresh_score = total_score(fresh, field, desk.texts)
    is_too_dear = total_score(current, field, desk.texts) < (1 - MARGIN) * fresh_score
    return fresh if is_too_dear else current


def follows(request: Request, standing: Standing) -> bool:
    """Whether the choice for a request goes on from what stands: it is the same question."""
    before = standing.request
    return before is None or all(
        getattr(before, field.name) == getattr(request, field.name)
        for field in fields(Request)
        if field.name not in _NO_DEMANDS
    )


def total_score(shelf: Shelf, field: Field, texts: Mapping[Path, Lined]) -> float:
    """The sum of the scores of the candidates that stand on a shelf with all their lines."""
    by_path: dict[Path, list[Candidate]] = {}
    for candidate in field.candidates:
        if candidate.path in shelf.pieces:
            by_path.setdefault(candidate.path, []).append(candidate)
    scores = (
        _score(piece, by_path.get(path, ()), texts.get(path))
        for path, piece in shelf.pieces.items()
    )
    return round(sum(scores), SCORE_DIGITS)


def changes(
    shelf: Shelf, order: Sequence[Path], standing: Standing, field: Field, style: Style
) -> tuple[Change, ...]:
    """What is not as it stood: in the order of the text, then what is removed, as it stood."""
    before = {piece.path: piece for piece in standing.pieces}
    edited = _edited(standing, field.digests)
    found = []
    for path in order:
        named = Cause.PINNED if path in field.forced else Cause.RANKED
        if path not in before:
            found.append(Change(path, ChangeKind.ADDED, named))
        elif render_piece(before[path], style) != render_piece(shelf.pieces[path], style):
            cause = Cause.EDITED if path in edited else named
            found.append(Change(path, ChangeKind.CHANGED, cause))
    scores = field.scores
    newcomers = [scores.get(change.path, 0.0) for change in found]
    for path in before:
        if path not in shelf.pieces:
            cause = _cause_of_removal(path, shelf, field, scores, max(newcomers, default=0.0))
            found.append(Change(path, ChangeKind.REMOVED, cause))
    return tuple(found)


def in_place(order: Sequence[Path], standing: Standing) -> list[Path]:
    """These files, those that stood in their old order and before the others."""
    place = {piece.path: number for number, piece in enumerate(standing.pieces)}
    return sorted(order, key=lambda path: place.get(path, len(place)))


def _cause_of_removal(
    path: Path, shelf: Shelf, field: Field, scores: Mapping[Path, float], best_newcomer: float
) -> Cause:
    if path not in field.digests:
        return Cause.GONE
    if field.twins.get(path) in shelf.pieces:
        return Cause.NEAR_DUPLICATE
    if path not in scores:
        return Cause.NOT_RELEVANT
    is_passed = _is_better(best_newcomer, scores[path])
    return Cause.OUTRANKED if is_passed else Cause.OVER_BUDGET


def _edited(standing: Standing, digests: Mapping[Path, str]) -> frozenset[Path]:
    return frozenset(
        path for path, digest in standing.digests.items() if digests.get(path) != digest
    )


def _start(fresh: Shelf, standing: Standing, field: Field, desk: Desk) -> Shelf:
    """What stood and still may, in its old order, then what the request names."""
    edited = _edited(standing, field.digests)
    relevant = {candidate.path for candidate in field.candidates}
    pieces: dict[Path, Piece] = {}
    for piece in standing.pieces:
        path = piece.path
        if path in field.forced and path in fresh.pieces:
            pieces[path] = fresh.pieces[path]
        elif path in relevant and path not in edited:
            pieces[path] = piece
        elif path in relevant:
            shown = fresh.pieces.get(path) or _shown_anew(piece, field, desk)
            if shown is not None:
                pieces[path] = shown
    for path in field.forced:
        if path in fresh.pieces:
            pieces.setdefault(path, fresh.pieces[path])
    return shelf_of(pieces.values(), desk)


def _shown_anew(piece: Piece, field: Field, desk: Desk) -> Piece | None:
    """The piece of a file that changed: those of its candidates that mostly stood before."""
    before = {line.strip() for section in piece.sections for line in split_lines(section.text)}
    still = []
    for candidate in field.order:
        if candidate.path == piece.path:
            shown = split_lines(desk.texts[piece.path].of(candidate.lines))
            lines = [line.strip() for line in shown if line.strip()]
            if sum(line in before for line in lines) >= SAME_SHARE * max(1, len(lines)):
                still.append(candidate.lines)
    return grown(None, piece.path, still, desk) if still else None


def _thinned(
    shelf: Shelf, fresh: Shelf, field: Field, scores: Mapping[Path, float], desk: Desk
) -> Shelf:
    """The shelf within the budget: what the fresh choice dropped goes first, the worst first."""
    leaving = _worst_first([path for path in shelf.pieces if path not in field.forced], scores)
    for path in sorted(leaving, key=lambda path: path in fresh.pieces):
        if shelf.tokens <= desk.limit:
            break
        shelf = without(shelf, path, desk)
    # What the request names fits by itself, or the fresh choice would not have all of it.
    return shelf if shelf.tokens <= desk.limit else fresh


def _worst_first(paths: Sequence[Path], scores: Mapping[Path, float]) -> list[Path]:
    """Of equals the last goes first: it takes the least of the text that follows with it."""
    last_first = list(reversed(paths))
    return sorted(last_first, key=lambda path: scores.get(path, 0.0))


def _with_newcomers(
    shelf: Shelf, fresh: Shelf, field: Field, scores: Mapping[Path, float], desk: Desk
) -> Shelf:
    by_path: dict[Path, list[Candidate]] = {}
    for candidate in field.order:
        by_path.setdefault(candidate.path, []).append(candidate)
    best_first = sorted(fresh.pieces, key=lambda path: (-scores.get(path, 0.0), path))
    for path in best_first:
        piece, old = fresh.pieces[path], shelf.pieces.get(path)
        if piece == old:
            continue
        if old is not None:
            own = by_path.get(path, ())
            text = desk.texts.get(path)
            if not _is_better(_score(piece, own, text), _score(old, own, text)):
                continue
        thinner = _without_twins(shelf, path, field, scores, desk)
        if thinner is not None:
            shelf = _with_room_made(thinner, piece, fresh, field, scores, desk) or shelf
    return shelf


def _without_twins(
    shelf: Shelf, path: Path, field: Field, scores: Mapping[Path, float], desk: Desk
) -> Shelf | None:
    """The shelf without the pieces that repeat this file's; None when one of them stays."""
    for twin, better in field.twins.items():
        if better == path and twin in shelf.pieces:
            if not _is_better(scores.get(path, 0.0), scores.get(twin, 0.0)):
                return None
            shelf = without(shelf, twin, desk)
    return shelf


def _with_room_made(
    shelf: Shelf,
    piece: Piece,
    fresh: Shelf,
    field: Field,
    scores: Mapping[Path, float],
    desk: Desk,
) -> Shelf | None:
    own = scores.get(piece.path, 0.0)
    text, cost = fresh.rendered[piece.path], fresh.costs[piece.path]
    added = put(shelf, piece, text, cost, desk)
    rivals = [
        path
        for path in shelf.pieces
        if path not in fresh.pieces
        and path not in field.forced
        and _is_better(own, scores.get(path, 0.0))
    ]
    for rival in _worst_first(rivals, scores):
        if added is not None:
            break
        shelf = without(shelf, rival, desk)
        added = put(shelf, piece, text, cost, desk)
    return added


def _topped_up(
    shelf: Shelf, standing: Standing, edited: frozenset[Path], field: Field, desk: Desk
) -> Shelf:
    """The shelf with more of what is new or changed in any case, while there is room."""
    unchanged = {piece.path: piece for piece in standing.pieces if piece.path not in edited}
    repeated = {better for twin, better in field.twins.items() if twin in shelf.pieces}
    for candidate in field.order:
        path = candidate.path
        old = shelf.pieces.get(path)
        if old is not None and unchanged.get(path) == old:
            continue
        if path in repeated or candidate.tokens > desk.limit - shelf.tokens + JOINED_TOKENS:
            continue
        shelf = with_lines(shelf, path, candidate.lines, desk) or shelf
    return shelf


def _is_better(score: float, other: float) -> bool:
    """By the margin. Rounded, so that the last bit of a product never decides."""
    return score > other and score >= round((1 + MARGIN) * other, SCORE_DIGITS)


def _score(piece: Piece, candidates: Sequence[Candidate], text: Lined | None) -> float:
    """The sum of the scores of the candidates of a piece's file that it shows."""
    if text is None:
        return 0.0
    shown = ranges(piece)
    return sum(
        candidate.score
        for candidate in candidates
        if any(_holds(span, candidate.lines, text) for span in shown)
    )


def _holds(span: Lines, lines: Lines, text: Lined) -> bool:
    """Whether a span has all these lines, but for blank ones at their ends: a shelf has few."""
    if lines.end < span.start or span.end < lines.start:
        return False
    before = Lines(lines.start, span.start - 1) if lines.start < span.start else None
    behind = Lines(span.end + 1, lines.end) if span.end < lines.end else None
    return not any(text.of(part).strip() for part in (before, behind) if part)
