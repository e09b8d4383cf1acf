"""Why a file or a part of it is in a pack or out of it, and what would change that.

A target that is out at one budget may be in at a smaller one, where what is better did not fit
either, and out at a larger one again. So nothing here believes that more room lets in more: the
smallest budget is looked for by packing, where it was seen to be out again is told, and how many
smaller ones were never tried.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from contextpack.bundle import Pack
from contextpack.ledger import entry_of
from contextpack.model import Detail, LedgerEntry, Outcome, Path, Piece, Reason
from contextpack.plan import Candidate, Plan
from contextpack.pointers import telling
from contextpack.ranking import RankedChunk, Ranking
from contextpack.render import framed, ranges, render_piece
from contextpack.shelf import Desk, grown
from contextpack.text import Lined, Lines

# Who asks wants to know how much is missing: from this many times the budget on, nobody pays it.
# Packing beyond the last number takes a second a time.
MAX_BUDGET_SHARE = 4
MIN_MOST_TOKENS = 32_000
MAX_MOST_TOKENS = 200_000

# Each budget that is tried first is larger than the one before by this share.
RUNG_SHARE = 0.25

# So many packs are made to look for a smaller budget in between, and no more than this many
# tokens are packed for that: most of what a pack costs grows with its budget.
MAX_TRIES = 128
MAX_TRIED_TOKENS = 400_000


class State(StrEnum):
    """How far a target stands in a text."""

    IN = "in"
    PART = "part"  # Some of the lines of a chunk, such as a signature.
    OUT = "out"


class Way(StrEnum):
    """As what the shown lines of a target stand in a text."""

    NAMED = "named"  # The request names the file.
    CHOSEN = "chosen"  # By its own score, with all lines; of a file at least one part.
    CUT = "cut"  # What fits of a part that does not fit whole.
    OUTLINE = "outline"  # The signatures of its definitions: the rest is not worth its tokens.
    POINTER = "pointer"  # The signature that says where else to look: nothing else of it fits.
    ALONG = (
        "along"  # With other parts of its file: a signature, a closed gap, a small file whole.
    )


@dataclass(frozen=True, slots=True)
class Target:
    """A file, or a chunk of it.

    A file is in when any of it is shown; a chunk when all of its lines are that are not blank.
    """

    path: Path
    chunk: RankedChunk | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """The smallest budget that lets a target in, as far as was looked."""

    budget_tokens: int | None
    """It is in with this budget, and out with one token less; None when no budget was found."""
    way: Way | None
    """As what it is in with that budget."""
    out_again: int | None
    """The smallest larger budget that was seen to leave it out; others may, too."""
    in_again: int | None
    """Where what was asked leaves out what a smaller one lets in: a larger one that does, too."""
    n_packs: int
    """With how many budgets it was tried."""
    n_untried: int
    """How many smaller budgets (all of them, without one) were not: 0 is a proof."""
    most_tokens: int
    """The largest budget that was tried, or ruled out without trying."""


@dataclass(frozen=True, slots=True)
class Displaced:
    """What of one file leaves a bundle."""

    path: Path
    ranges: tuple[Lines, ...]
    is_gone: bool
    """Whether nothing else of it stays."""


def shown(pack: Pack, path: Path) -> tuple[Lines, ...]:
    """The lines of a file that stand in a pack, in file order."""
    piece = pack.account.shelf.pieces.get(path)
    return ranges(piece) if piece is not None else ()


def state(pack: Pack, target: Target, text: Lined) -> State:
    """How far a target stands in a pack; `text` is that of its file."""
    if target.chunk is None:
        return State.IN if target.path in pack.account.shelf.pieces else State.OUT
    lines = target.chunk.lines
    spans = shown(pack, target.path)
    if not _is_begun(lines, spans, text):
        return State.OUT
    return State.IN if _is_in_full(lines, spans, text) else State.PART


def way(pack: Pack, plan: Plan, target: Target, desk: Desk) -> Way | None:
    """As what a target, or some of it, stands in a pack; None for what is out.

    Told from what is shown, which holds for what stands from a predecessor, too. `desk` has the
    text of its file.
    """
    path, chunk, text = target.path, target.chunk, desk.texts[target.path]
    if state(pack, target, text) is State.OUT:
        return None
    if path in pack.account.forced:
        return Way.NAMED
    spans = shown(pack, path)
    own = [candidate for candidate in plan.candidates if candidate.path == path]
    full = [candidate for candidate in own if _is_in_full(candidate.lines, spans, text)]
    around = chunk.lines if chunk is not None else text.whole
    holding = [candidate for candidate in full if _common(candidate.lines, around)]
    if holding:
        # A small file stands whole by the score of its best part.
        is_own = chunk is None or any(c.score <= chunk.score for c in holding)
        return Way.CHOSEN if is_own else Way.ALONG
    if pack.account.shelf.pieces[path].detail is Detail.TRUNCATED:
        return Way.CUT
    if pack.account.shelf.pieces[path].detail is Detail.OUTLINE:
        return Way.OUTLINE

    def within(piece: Piece | None) -> list[Lines]:
        parts = ranges(piece) if piece is not None else ()
        return [part for span in parts if (part := _common(span, around))]

    told = grown(None, path, [candidate.lines for candidate in full], desk)
    beyond = [gap for span in spans for gap in gaps(within(told), span)]
    beyond = [part for gap in beyond if (part := _common(gap, around))]
    if not beyond:
        return Way.ALONG
    if any(beyond == within(grown(None, path, [telling(c, desk)], desk)) for c in own):
        return Way.POINTER
    is_cut = chunk is None or any(_common(candidate.lines, around) for candidate in own)
    return Way.CUT if is_cut else Way.ALONG


def candidate_of(plan: Plan, target: Target) -> Candidate | None:
    """The best candidate of a file, or the one that has all lines of a chunk; None without."""
    for candidate in plan.candidates:
        if candidate.path == target.path and (
            target.chunk is None
            or _common(candidate.lines, target.chunk.lines) == target.chunk.lines
        ):
            return candidate
    return None


def decision(
    pack: Pack, plan: Plan, target: Target, texts: Mapping[Path, Lined]
) -> LedgerEntry:
    """What became of a target: of a file its entry in the ledger, of a chunk one like it.

    `texts` are those of the plan and of the target.
    """
    whole = entry_of(pack.account, target.path)
    chunk = target.chunk
    if chunk is None:
        return whole
    entry = LedgerEntry(
        path=target.path,
        outcome=Outcome.EXCLUDED,
        reason=Reason.OVER_BUDGET,
        tokens=chunk.tokens,
        score=chunk.score or None,
    )
    if state(pack, target, texts[target.path]) is State.IN:
        return replace(entry, outcome=whole.outcome, reason=whole.reason)
    if target.path in pack.account.forced:
        return entry
    if chunk.score <= 0 and not pack.account.ranking.score(target.path):
        return replace(entry, reason=Reason.NOT_RELEVANT)
    candidate = candidate_of(plan, target)
    if candidate is None:
        if chunk.score <= 0:
            return replace(entry, reason=Reason.NOT_RELEVANT)
        is_cut_off = plan.is_capped and chunk.score >= plan.ranking.floor
        return replace(entry, reason=Reason.MAX_CANDIDATES if is_cut_off else Reason.BELOW_CUT)
    repeat = pack.account.repeats.get((candidate.path, candidate.lines))
    if repeat is not None:
        better, similarity = repeat
        return replace(
            entry, reason=Reason.NEAR_DUPLICATE, duplicate_of=better, similarity=similarity
        )
    return (
        entry
        if candidate.score >= chunk_cut(pack, plan, texts)
        else replace(entry, reason=Reason.BELOW_CUT)
    )


def chunk_cut(pack: Pack, plan: Plan, texts: Mapping[Path, Lined]) -> float:
    """The lowest score among the candidates that are in with all their lines; 0 without any.

    What is in as a pointer, a cut, or along with others may have less.
    """
    return min(
        (
            candidate.score
            for candidate in plan.candidates
            if candidate.path not in pack.account.forced
            and _is_in_full(candidate.lines, shown(pack, candidate.path), texts[candidate.path])
        ),
        default=0.0,
    )


def overshoot(pack: Pack, path: Path, lines: Lines, desk: Desk) -> int:
    """By how many tokens the pack's text is over the limit with these lines put into it.

    0 or less where there would be room.
    """
    pieces: dict[Path, Piece] = {
        name: pack.account.shelf.pieces[name] for name in pack.account.order
    }
    piece = grown(pieces.get(path), path, [lines], desk)
    if piece is None:
        return 0
    pieces[path] = piece
    rendered = [render_piece(piece, desk.style) for piece in pieces.values()]
    return desk.count(framed(rendered, list(pieces), desk.style)) - desk.limit


def rank_of(ranking: Ranking, target: Target) -> int | None:
    """The place of a file among files, or of a chunk among chunks, from 1; None without a score."""
    if target.chunk is None:
        found = ranking.best()
        return found.index(target.path) + 1 if ranking.score(target.path) > 0 else None
    if target.chunk.score <= 0:
        return None
    # Those of a score are few.
    found_chunks = ranking.chunks(target.chunk.score)
    return next(
        n for n, chunk in enumerate(found_chunks, 1) if chunk.number == target.chunk.number
    )


def with_first(plan: Plan, candidate: Candidate) -> Plan:
    """The plan with one candidate before all others, whether it was among them or not."""
    top = max((other.score for other in plan.candidates), default=0.0)
    others = [
        c for c in plan.candidates if (c.path, c.lines) != (candidate.path, candidate.lines)
    ]
    return replace(plan, candidates=(replace(candidate, score=top + 1), *others))


def displaced(before: Pack, after: Pack) -> tuple[Displaced, ...]:
    """What stands in one pack and not in the other, in the order of the first."""
    found: list[Displaced] = []
    for path in before.account.order:
        stays = shown(after, path)
        gone = [gap for span in shown(before, path) for gap in gaps(stays, span)]
        is_gone = path not in after.account.shelf.pieces
        if gone or is_gone:
            found.append(Displaced(path, tuple(gone), is_gone))
    return tuple(found)


def most_of(budget: int) -> int:
    """The largest budget that is worth trying for who has this one."""
    return max(budget, min(MAX_MOST_TOKENS, max(MIN_MOST_TOKENS, MAX_BUDGET_SHARE * budget)))


def smallest(
    way_at: Callable[[int], Way | None], least: int, most: int, asked: int
) -> Admission:
    """The smallest budget from `least` to `most` that admits, as far as a bounded search finds.

    `way_at` says as what a budget lets it in, None where it does not. First a ladder of budgets
    from below, with the asked one as a rung, up to there and from there to the first that admits;
    then, between the lowest that admits and the one tried below, where that begins; then, for as
    long as the bounds allow, the middles of the widest gaps further below. That no budget below
    `least` admits is for the caller to know.
    """
    tried: dict[int, Way | None] = {}

    def is_in(budget: int) -> bool:
        tried[budget] = way_at(budget)
        return tried[budget] is not None

    def begin(high: int) -> int:
        low = max((budget for budget in tried if budget < high), default=least - 1)
        while high - low > 1:
            middle = (low + high) // 2
            if is_in(middle):
                high = middle
            else:
                low = middle
        return high

    def n_tokens() -> int:
        return sum(tried.keys() - {asked})  # The pack of what was asked is there.

    is_found = False
    for rung in sorted({*_rungs(least, most), *([asked] if least <= asked <= most else [])}):
        if is_found and rung != asked and n_tokens() + rung > MAX_TRIED_TOKENS // 2:
            continue
        is_found = is_in(rung) or is_found
        if rung >= asked and tried[rung] is not None:
            break
    admitting = [budget for budget, found in tried.items() if found is not None]
    high = begin(min(admitting)) if admitting else most + 1
    while len(tried) < MAX_TRIES and n_tokens() < MAX_TRIED_TOKENS:
        gap = _widest([least - 1, *sorted(budget for budget in tried if budget < high), high])
        if gap is None:
            break
        if is_in(gap):
            high = begin(gap)
    larger = [(budget, found) for budget, found in sorted(tried.items()) if budget > high]
    is_passed_over = high < asked and tried.get(asked) is None
    return Admission(
        budget_tokens=high if high <= most else None,
        way=tried.get(high),
        out_again=next((budget for budget, found in larger if found is None), None),
        in_again=next((n for n, found in larger if n > asked and found), None)
        if is_passed_over
        else None,
        n_packs=len(tried),
        n_untried=high - least - sum(budget < high for budget in tried),
        most_tokens=most,
    )


def _rungs(least: int, most: int) -> Iterator[int]:
    rung = least
    while rung < most:
        yield rung
        rung += max(1, int(rung * RUNG_SHARE))
    if least <= most:
        yield most


def _widest(tried: Sequence[int]) -> int | None:
    """The middle of the widest gap, in proportion, between what was tried; None without one."""
    _, lower, upper = max(
        (upper / (lower + 1), lower, upper) for lower, upper in pairwise(tried)
    )
    return (lower + upper) // 2 if upper - lower > 1 else None


def _is_in_full(lines: Lines, spans: Sequence[Lines], text: Lined) -> bool:
    """Whether these spans of a text show all of these lines that are not blank, and one of them.

    A shelf leaves most blank lines out at the ends.
    """
    return _is_begun(lines, spans, text) and all(
        not text.of(gap).strip() for gap in gaps(spans, lines)
    )


def _is_begun(lines: Lines, spans: Sequence[Lines], text: Lined) -> bool:
    """Whether these spans of a text show one of these lines that is not blank.

    Blank ones are shown with what stands beside them.
    """
    parts = (_common(span, lines) for span in spans)
    return any(part is not None and text.of(part).strip() for part in parts)


def _common(one: Lines, other: Lines) -> Lines | None:
    start, end = max(one.start, other.start), min(one.end, other.end)
    return Lines(start, end) if start <= end else None


def gaps(parts: Iterable[Lines], whole: Lines) -> list[Lines]:
    """What of a range is in none of these parts, which stand in order and may reach beyond it."""
    found: list[Lines] = []
    start = whole.start
    for part in parts:
        if part.start > whole.end:
            break
        if start < part.start:
            found.append(Lines(start, part.start - 1))
        start = max(start, part.end + 1)
    return found if start > whole.end else [*found, Lines(start, whole.end)]
