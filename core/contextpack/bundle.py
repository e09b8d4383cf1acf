"""A plan and the texts that it asked for to a pack: the bundle and the account of its making.

How it works: the strategy orders the candidates (`select` drops near-duplicates and chooses by
the costs of their texts); then each is put on the shelf at its exact rendered cost, the chosen ones
first and the others after them for as long as there is room; the rest of the room gets the
start of the best that did not fit; at last the whole is rendered, counted, and given back from
until it fits. The count of the rendered text is the only one that the budget believes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from contextpack.ledger import Account, Item, items, ledger, ledger_counts
from contextpack.model import BatchCounter, Detail, LedgerEntry, Path, Style
from contextpack.plan import Candidate, Plan
from contextpack.render import render
from contextpack.request import Order, Request
from contextpack.select import ScoredChunk, pack, u_shaped
from contextpack.shelf import (
    Desk,
    Shelf,
    empty_shelf,
    with_cut,
    with_lines,
    with_outline,
    without_last,
)
from contextpack.snapshot import Snapshot
from contextpack.text import Lines, split_lines

# What a range costs beyond its text: its numbers, the mark of the gap, its share of the path
# line. Only the strategies' arithmetic uses it; the shelf counts what is really rendered.
RANGE_TOKENS = 8

# Joined to its neighbours, or without blank lines at its ends, a range costs at most about so
# much less than alone. Larger ones are not tried: rendering and counting is the main work.
JOINED_TOKENS = 16

# So many candidates that did not fit end the filling: what is left is too small.
MAX_MISSES = 200

# So many of the best that did not fit are tried for a cut.
MAX_CUT_TRIES = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """What the strategy says of the candidates."""

    order: tuple[Candidate, ...]
    """Near-duplicates are out; the chosen ones come first."""
    tokens: Mapping[Candidate, int]
    """Of each candidate's text alone."""
    duplicates: Mapping[Candidate, tuple[Path, float]]
    """Each near-duplicate with the path of the better one and their similarity."""
    diversity: float
    optimality_gap: float | None


@dataclass(frozen=True, slots=True)
class Pack:
    """The answer to a request."""

    text: str
    tokens: int
    """Of `text`, by the request's counter."""
    items: tuple[Item, ...]
    """In the order of `text`."""
    ledger: tuple[LedgerEntry, ...]
    """Every candidate once: what is in, in order of `items`, then the rest, best first."""
    ledger_counts: Mapping[str, int]
    diversity: float
    """Of the strategy's choice, from 0 (all alike) to 1."""
    optimality_gap: float | None
    """How much better than the knapsack's choice the optimum could be; None without one."""
    unknown_words: tuple[str, ...]
    is_fallback: bool


def finish(
    plan: Plan,
    snapshot: Snapshot,
    texts: Mapping[Path, str],
    *,
    count: BatchCounter,
    limit: int,
    times: Mapping[Path, float] | None = None,
) -> Pack:
    """The pack of a plan. `limit` is how many tokens, by `count`, the text may have.

    `times` are seconds since the epoch for the chronological ordering; a file without one
    stands last.
    """
    request = plan.request
    desk = Desk(
        texts={path: tuple(split_lines(text)) for path, text in texts.items()},
        languages={path: snapshot.sources[path].language for path in texts},
        symbols={path: snapshot.facts(path).symbols for path in texts},
        style=_style(request),
        count=count,
        limit=limit,
    )
    shelf = empty_shelf(desk)
    fits_frame = shelf.tokens <= limit
    choice = _choice(plan, desk, max(1, limit - shelf.tokens))
    if fits_frame:
        shelf = _forced(shelf, plan, snapshot, desk)
        shelf = _filled(shelf, plan, choice, desk)
    shelf, text = _rendered(shelf, plan, times or {}, desk)
    account = Account(
        ranking=plan.ranking,
        shelf=shelf,
        forced=frozenset(item.path for item in plan.forced),
        considered=frozenset(candidate.path for candidate in plan.candidates),
        duplicates=_repeated(plan, choice),
        is_capped=plan.is_capped,
    )
    shown = items(account, _ordered(shelf, plan, times or {}))
    entries = ledger(account, snapshot, shown)
    return Pack(
        text=text,
        tokens=count(text) if text else 0,
        items=shown,
        ledger=entries,
        ledger_counts=ledger_counts(entries),
        diversity=choice.diversity,
        optimality_gap=choice.optimality_gap,
        unknown_words=plan.ranking.unknown_words,
        is_fallback=plan.ranking.is_fallback,
    )


def _style(request: Request) -> Style:
    return Style(
        format=request.text_format,
        task=request.query if request.task else None,
        tree=request.tree,
        line_numbers=request.line_numbers,
    )


def _choice(plan: Plan, desk: Desk, budget: int) -> Choice:
    request = plan.request
    forced = {item.path for item in plan.forced}
    by_id = {
        str(number): candidate
        for number, candidate in enumerate(plan.candidates)
        if candidate.path not in forced
    }
    texts = [_text(candidate, desk) for candidate in by_id.values()]
    tokens = desk.count.count_many(texts)
    result = pack(
        [
            ScoredChunk(
                id=number,
                content=text,
                score=candidate.score,
                tokens=n,
                metadata={"group": candidate.path.rpartition("/")[0]},
            )
            for (number, candidate), text, n in zip(by_id.items(), texts, tokens, strict=True)
        ],
        budget=budget,
        strategy=request.strategy,
        mmr_lambda=request.mmr_lambda,
        redundancy_threshold=request.dedup,
        chunk_overhead_tokens=RANGE_TOKENS,
        token_counter=desk.count,
    )
    chosen = [by_id[chunk.id] for chunk in result.chunks]
    duplicates = {
        by_id[left_out.id]: (by_id[left_out.redundant_with].path, left_out.similarity or 0.0)
        for left_out in result.report.excluded
        if left_out.redundant_with is not None
    }
    known = {*chosen, *duplicates}
    others = [candidate for candidate in by_id.values() if candidate not in known]
    return Choice(
        order=(*chosen, *others),
        tokens=dict(zip(by_id.values(), tokens, strict=True)),
        duplicates=duplicates,
        diversity=result.report.diversity,
        optimality_gap=result.report.optimality_gap,
    )


def _repeated(plan: Plan, choice: Choice) -> dict[Path, tuple[Path, float]]:
    """The files whose best candidate is a near-duplicate of another file's."""
    best: dict[Path, Candidate] = {}
    for candidate in plan.candidates:
        best.setdefault(candidate.path, candidate)
    return {
        path: choice.duplicates[candidate]
        for path, candidate in best.items()
        if candidate in choice.duplicates and choice.duplicates[candidate][0] != path
    }


def _text(candidate: Candidate, desk: Desk) -> str:
    lines = desk.texts[candidate.path]
    return "".join(lines[candidate.lines.start - 1 : candidate.lines.end])


def _forced(shelf: Shelf, plan: Plan, snapshot: Snapshot, desk: Desk) -> Shelf:
    """The shelf with what the request demands, cut where it does not fit whole."""
    for item in plan.forced:
        whole = Lines(1, max(1, len(desk.texts[item.path])))
        signatures = [s.signature for s in snapshot.facts(item.path).symbols]
        if item.detail is Detail.OUTLINE and signatures:
            added = with_outline(shelf, item.path, signatures, desk)
        else:
            added = with_lines(shelf, item.path, whole, desk) or with_cut(
                shelf, item.path, whole, plan.request.truncate, desk
            )
        shelf = added or shelf
    return shelf


def _filled(shelf: Shelf, plan: Plan, choice: Choice, desk: Desk) -> Shelf:
    missed: list[Candidate] = []
    for candidate in choice.order:
        room = desk.limit - shelf.tokens
        added = None
        if choice.tokens[candidate] <= room + JOINED_TOKENS:
            added = with_lines(shelf, candidate.path, candidate.lines, desk)
        if added is not None:
            shelf = added
        else:
            missed.append(candidate)
            if len(missed) > MAX_MISSES:
                break
    for candidate in missed[:MAX_CUT_TRIES]:
        cut = with_cut(shelf, candidate.path, candidate.lines, plan.request.truncate, desk)
        shelf = cut or shelf
    return shelf


def _rendered(
    shelf: Shelf, plan: Plan, times: Mapping[Path, float], desk: Desk
) -> tuple[Shelf, str]:
    """The shelf and its text; whatever joined text costs beyond its parts is given back."""
    while shelf.pieces:
        order = _ordered(shelf, plan, times)
        text = render([shelf.pieces[path] for path in order], desk.style)
        if desk.count(text) <= desk.limit:
            return shelf, text
        shelf = without_last(shelf, desk)
    return shelf, ""


def _ordered(shelf: Shelf, plan: Plan, times: Mapping[Path, float]) -> list[Path]:
    """The chosen files in the order of the text: what the request named, then best first.

    Not in the order of choice: a large best hit is cut last, from what the others left.
    """
    forced = [item.path for item in plan.forced]
    ranked = [file.path for file in plan.ranking.files]
    place = {path: number for number, path in enumerate(dict.fromkeys([*forced, *ranked]))}
    chosen = sorted(shelf.pieces, key=lambda path: place[path])
    match plan.request.ordering:
        case Order.NATURAL:
            return chosen
        case Order.U_SHAPED:
            return u_shaped(chosen)
        case Order.CHRONOLOGICAL:
            return sorted(chosen, key=lambda path: (path not in times, times.get(path, 0.0)))
        case Order.PATH:
            return sorted(chosen)
