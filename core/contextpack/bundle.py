"""A plan and the texts that it asked for to a pack: the bundle and the account of its making.

How it works: the strategy orders the candidates (`select` drops near-duplicates and chooses by
the costs of their texts); then each is put on the shelf at its exact rendered cost, the chosen ones
first and the others after them for as long as there is room; the rest of the room gets the
start of the best that did not fit; at last the whole is rendered, counted, and given back from
until it fits. The count of the rendered text is the only one that the budget believes.

With a predecessor this is the fresh choice, towards which `stable` moves what stands.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType

from contextpack.choice import (
    HEAD_TOKENS,
    RANGE_TOKENS,
    Choice,
    choice,
    counted_already,
    counted_with,
    place_of,
)
from contextpack.codec import Scope
from contextpack.ledger import Account, Item, items, ledger, ledger_counts
from contextpack.levels import with_levels
from contextpack.model import BatchCounter, Detail, LedgerEntry, Path, Style
from contextpack.plan import Candidate, Plan
from contextpack.pointers import pointer_room, with_pointers
from contextpack.ranking import SCORE_DIGITS
from contextpack.render import framed
from contextpack.request import Order, Request, Strategy
from contextpack.select import u_shaped
from contextpack.shelf import (
    JOINED_TOKENS,
    Desk,
    Shelf,
    empty_shelf,
    outlined,
    with_all,
    with_cut,
    with_lines,
    with_piece,
    without_last,
)
from contextpack.snapshot import Snapshot
from contextpack.stable import (
    NOTHING_STANDS,
    Change,
    Field,
    Standing,
    changes,
    follows,
    in_place,
    successor,
    total_score,
)
from contextpack.stamp import question_of
from contextpack.text import Lines, lined

# So many in a row that are larger than the room, and are not small enough joined either, end
# these tries: each counts its whole file, and among many alike none would fit.
MAX_JOIN_TRIES = 8

# So many candidates that did not fit end the filling: what is left is too small.
MAX_MISSES = 200

# Fewer candidates are put on the shelf one by one: where little is left, few of them fit.
MIN_BATCH = 4

# So many of the best that did not fit are tried for a cut. Where not one of these fits, a cut of
# the best says more than whatever small thing does.
MAX_CUT_TRIES = 8

# What a line at the start of a file may be that introduces nothing: a licence, a package's name.
_SAYS_NOTHING = re.compile(r"\s*(?:$|//|/\*|\*|#!|#\s|#$|--|<!--|package\b|['\"]use \w+['\"])")


@dataclass(frozen=True, slots=True)
class Pack:
    """The answer to a request."""

    text: str
    tokens: int
    """Of `text`, by the request's counter."""
    items: tuple[Item, ...]
    """In the order of `text`."""
    ledger_counts: Mapping[str, int]
    """How many candidates became what, all of them."""
    diversity: float
    """Of the strategy's choice, from 0 (all alike) to 1."""
    optimality_gap: float | None
    """How much better than the knapsack's choice the optimum could be; None without one."""
    unknown_words: tuple[str, ...]
    is_fallback: bool
    changes: tuple[Change, ...]
    """What is not as it stood in the predecessor; empty without one."""
    score: float
    """The sum of the scores of the candidates that stand in the text with all their lines."""
    given_up: float
    """By how much the score is below that of the pack without the predecessor; 0 or more."""
    standing: Standing
    """What a successor starts from; it keeps no snapshot alive."""
    account: Account = field(compare=False, repr=False)
    """What the ledger is made from. It keeps the snapshot alive."""

    @property
    def revision(self) -> int:
        """1 without a predecessor; one more than its revision when the text is another."""
        return self.standing.revision

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """Every candidate once, made anew each time: see `ledger.ledger`."""
        return ledger(self.account)


def finish(
    plan: Plan,
    snapshot: Snapshot,
    texts: Mapping[Path, str],
    *,
    count: BatchCounter,
    limit: int,
    is_index_counter: bool = False,
    times: Mapping[Path, float] | None = None,
    previous: Standing | None = None,
) -> Pack:
    """The pack of a plan. `limit` is how many tokens, by `count`, the text may have.

    `times` are seconds since the epoch for the chronological ordering; a file without one
    stands last. `is_index_counter` says that `count` is the counter which the snapshot's facts
    were counted with, so that their counts are the request's too. With `previous`, the standing
    of an earlier pack, this one follows it as `stable` says.
    """
    desk = desk_of(plan.request, snapshot, texts, count, limit)
    shelf = empty_shelf(desk)
    fits_frame = shelf.tokens <= limit
    counts = counted_already if is_index_counter else counted_with(count)
    chosen = choice(plan, desk.texts, counts, max(1, limit - shelf.tokens))
    if fits_frame:
        shelf = _forced(shelf, plan, desk)
        if plan.request.strategy is Strategy.LEVELS:
            chosen = with_levels(chosen, shelf, desk)
        shelf = _filled(shelf, plan, chosen, desk)
    standing = previous or NOTHING_STANDS
    repeated = _repeated(plan, chosen)
    choices = _field(plan, chosen, repeated, snapshot, standing)
    arrange = _arrangement(plan, times or {}, standing)
    fresh, order, text, tokens = _rendered(shelf, arrange, desk)
    shelf = fresh
    if previous and fits_frame and follows(plan.request, previous):
        followed = successor(fresh, standing, choices, desk)
        shelf, order, text, tokens = _rendered(followed, arrange, desk)
    account = Account(
        ranking=plan.ranking,
        shelf=shelf,
        order=tuple(order),
        forced=choices.forced,
        considered=frozenset(candidate.path for candidate in plan.candidates),
        duplicates=repeated,
        repeats=chosen.duplicates,
        is_capped=plan.is_capped,
    )
    score = total_score(shelf, choices, desk.texts)
    fresh_score = score if shelf is fresh else total_score(fresh, choices, desk.texts)
    is_new = previous is None or text != previous.text
    return Pack(
        text=text,
        tokens=tokens,
        items=items(account),
        ledger_counts=ledger_counts(account),
        diversity=chosen.diversity,
        optimality_gap=chosen.optimality_gap,
        unknown_words=plan.ranking.unknown_words,
        is_fallback=plan.ranking.is_fallback,
        changes=changes(shelf, order, standing, choices, desk.style) if previous else (),
        score=score,
        given_up=max(0.0, round(fresh_score - score, SCORE_DIGITS)),
        # Nobody asks for the parts of what was answered before.
        account=replace(account, ranking=plan.ranking.without_parts()),
        standing=Standing(
            text=text,
            revision=standing.revision + is_new,
            pieces=tuple(shelf.pieces[path] for path in order),
            digests=MappingProxyType({path: choices.digests[path] for path in order}),
            request=plan.request,
        ),
    )


def desk_of(
    request: Request,
    snapshot: Snapshot,
    texts: Mapping[Path, str],
    count: BatchCounter,
    limit: int,
) -> Desk:
    """What filling a shelf for a request needs; `texts` are those of the files to show."""
    return Desk(
        texts={path: lined(text) for path, text in texts.items()},
        languages={path: snapshot.sources[path].language for path in texts},
        scopes=_scopes(snapshot),
        style=_style(request),
        count=count,
        limit=limit,
        # Whoever names lines wants those.
        is_exact=bool(request.only),
    )


def _field(
    plan: Plan,
    chosen: Choice,
    repeated: Mapping[Path, tuple[Path, float]],
    snapshot: Snapshot,
    standing: Standing,
) -> Field:
    present = [path for path in (*plan.paths, *standing.digests) if path in snapshot.sources]
    return Field(
        candidates=plan.candidates,
        order=chosen.order,
        twins={path: better for path, (better, _) in repeated.items()},
        forced=frozenset(item.path for item in plan.forced),
        digests=MappingProxyType({path: snapshot.sources[path].digest for path in present}),
    )


def _style(request: Request) -> Style:
    return Style(
        format=request.text_format,
        task=request.query if request.task else None,
        tree=request.tree,
        line_numbers=request.line_numbers,
        stamp=question_of(request) if request.stamp else None,
    )


def _repeated(plan: Plan, choice: Choice) -> dict[Path, tuple[Path, float]]:
    """The files whose best candidate is a near-duplicate of another file's."""
    best: dict[Path, Candidate] = {}
    for candidate in plan.candidates:
        best.setdefault(candidate.path, candidate)
    return {
        path: choice.duplicates[place_of(candidate)]
        for path, candidate in best.items()
        if choice.duplicates.get(place_of(candidate), (path,))[0] != path
    }


def _scopes(snapshot: Snapshot) -> Callable[[Path], Sequence[Scope]]:
    """Where the definitions of a file stand; those asked for before are remembered."""
    known: dict[Path, Sequence[Scope]] = {}

    def scopes(path: Path) -> Sequence[Scope]:
        if path not in known:
            known[path] = snapshot.scopes(path)
        return known[path]

    return scopes


def _forced(shelf: Shelf, plan: Plan, desk: Desk) -> Shelf:
    """The shelf with what the request demands, cut where it does not fit whole."""
    for item in plan.forced:
        whole = desk.texts[item.path].whole
        outline = outlined(item.path, desk) if item.detail is Detail.OUTLINE else None
        if outline is not None:
            added = with_piece(shelf, outline, desk)
        else:
            added = with_lines(shelf, item.path, whole, desk) or with_cut(
                shelf, item.path, whole, plan.request.truncate, desk
            )
        shelf = added or shelf
    return shelf


def _filled(shelf: Shelf, plan: Plan, choice: Choice, desk: Desk) -> Shelf:
    order, silent = list[Candidate](), list[Candidate]()
    for candidate in choice.order:
        (order if _says_something(candidate, desk) else silent).append(candidate)
    for piece in choice.pieces:
        shelf = with_piece(shelf, piece, desk) or shelf
    # That strategy has pointed to files already, as far as they are worth it.
    room = 0 if plan.request.strategy is Strategy.LEVELS else pointer_room(desk.limit)
    shelf, missed = _put(shelf, order, replace(desk, limit=desk.limit - room))
    if room and missed:
        shelf = with_pointers(shelf, order, desk)
        shelf, missed = _put(shelf, missed, desk)
    if not missed:
        # Where there is room for everything, files are whole rather than without their start.
        shelf, _ = _put(shelf, silent, desk)
    for candidate in missed[:MAX_CUT_TRIES]:
        if _introduces_nothing(candidate, shelf):
            continue
        cut = with_cut(shelf, candidate.path, candidate.lines, plan.request.truncate, desk)
        shelf = cut or shelf
    return shelf


def _put(
    shelf: Shelf, order: Sequence[Candidate], desk: Desk
) -> tuple[Shelf, Sequence[Candidate]]:
    """The shelf with what fits of these candidates, in their order, and those that do not."""
    missed = list[Candidate]()
    at = n_single = n_unjoined = 0
    while at < len(order) and len(missed) <= (MAX_MISSES if shelf.pieces else MAX_CUT_TRIES):
        batch = () if n_single else _batch(order, at, shelf, desk)
        added = None
        while len(batch) >= MIN_BATCH:
            added = with_all(shelf, [place_of(candidate) for candidate in batch], desk)
            if added is not None:
                break
            batch = batch[: len(batch) // 2]
        if added is not None:
            shelf, at = added, at + len(batch)
            continue
        n_single = max(0, n_single or MIN_BATCH) - 1
        candidate, at = order[at], at + 1
        if _introduces_nothing(candidate, shelf):
            missed.append(candidate)
            continue
        over = candidate.tokens - (desk.limit - shelf.tokens)
        if over <= 0 or (over <= JOINED_TOKENS and n_unjoined < MAX_JOIN_TRIES):
            added = with_lines(shelf, candidate.path, candidate.lines, desk)
            n_unjoined = n_unjoined + (over > 0) if added is None else 0
        if added is None:
            missed.append(candidate)
        shelf = added or shelf
    return shelf, missed


def _says_something(candidate: Candidate, desk: Desk) -> bool:
    """Whether it is no start of a file with a licence and nothing else."""
    if not candidate.is_introduction:
        return True
    text, lines = desk.texts[candidate.path], candidate.lines
    numbers = range(lines.start, min(lines.end, len(text)) + 1)
    # Line by line: one of the first says something in most files.
    return not all(_SAYS_NOTHING.match(text.of(Lines(n, n))) for n in numbers)


def _introduces_nothing(candidate: Candidate, shelf: Shelf) -> bool:
    """Whether it is the start of a file of which nothing stands."""
    return candidate.is_introduction and candidate.path not in shelf.pieces


def _batch(
    order: Sequence[Candidate], start: int, shelf: Shelf, desk: Desk
) -> Sequence[Candidate]:
    """The candidates from there on, as many as fit by a rough count."""
    room = desk.limit - shelf.tokens
    added: set[Path] = set()
    batch: list[Candidate] = []
    for candidate in islice(order, start, None):
        is_new = candidate.path not in shelf.pieces and candidate.path not in added
        if candidate.is_introduction and is_new:
            break
        room -= candidate.tokens + RANGE_TOKENS + (HEAD_TOKENS if is_new else 0)
        if room < 0:
            break
        added.add(candidate.path)
        batch.append(candidate)
    return batch


Arrangement = Callable[[Sequence[Path]], list[Path]]
"""Chosen files to their order in the text."""


def _rendered(
    shelf: Shelf, arrange: Arrangement, desk: Desk
) -> tuple[Shelf, list[Path], str, int]:
    """The shelf, its files in the order of its text, the text and the tokens of that.

    Whatever joined text costs beyond its parts is given back.
    """
    while shelf.pieces:
        order = arrange(list(shelf.pieces))
        text = framed([shelf.rendered[path] for path in order], order, desk.style)
        if (tokens := desk.count(text)) <= desk.limit:
            return shelf, order, text, tokens
        shelf = without_last(shelf, desk)
    return shelf, [], "", 0


def _arrangement(plan: Plan, times: Mapping[Path, float], standing: Standing) -> Arrangement:
    """What the request named, then best first; and that in the request's ordering.

    Not in the order of choice: a large best hit is cut last, from what the others left.
    """
    named = {item.path: number for number, item in enumerate(plan.forced)}

    def place(path: Path) -> tuple[int, float, Path]:
        return named.get(path, len(named)), -plan.ranking.score(path), path

    def arranged(paths: Sequence[Path]) -> list[Path]:
        chosen = sorted(paths, key=place)
        match plan.request.ordering:
            case Order.NATURAL | Order.STABLE:
                return in_place(chosen, standing)
            case Order.U_SHAPED:
                return u_shaped(chosen)
            case Order.CHRONOLOGICAL:
                return sorted(
                    chosen, key=lambda path: (path not in times, times.get(path, 0.0))
                )
            case Order.PATH:
                return sorted(chosen)

    return arranged
