"""What the strategy says of a plan's candidates, by the costs of their texts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from contextpack.grams import Grams, grams, repeats, similarities
from contextpack.model import BatchCounter, Path, Piece
from contextpack.plan import Candidate, Plan
from contextpack.request import Request, Strategy
from contextpack.select import MAX_MEASURED, ScoredChunk, evenly_spaced, mean_difference, pack
from contextpack.text import Lined, Lines

# What a range costs beyond its text: its numbers, the mark of the gap, its share of the path
# line. Only the strategies' arithmetic uses it; the shelf counts what is really rendered.
RANGE_TOKENS = 8

# A file's path line and fence, roughly.
HEAD_TOKENS = 20

# From this threshold on pairs are sorted out by signatures first; below, too many pass them.
MIN_SIGNED_THRESHOLD = 0.9

Place = tuple[Path, Lines]


def place_of(candidate: Candidate) -> Place:
    """What tells a candidate from the others."""
    return candidate.path, candidate.lines


@dataclass(frozen=True, slots=True)
class Choice:
    """What the strategy says of the candidates, each with the tokens of its text alone."""

    order: tuple[Candidate, ...]
    """Near-duplicates are out; the chosen ones come first."""
    duplicates: Mapping[Place, tuple[Path, float]]
    """Where each near-duplicate stands, with the path of the better one and their similarity."""
    diversity: float
    optimality_gap: float | None
    pieces: tuple[Piece, ...] = ()
    """What is shown in another form than by candidates; it goes first."""


Counts = Callable[[Sequence[Candidate], Sequence[str]], Sequence[Candidate]]
"""Candidates and their texts to the candidates with the request's count of each text."""


def counted_with(count: BatchCounter) -> Counts:
    """The counts of a counter that is not the index's."""

    def counted(found: Sequence[Candidate], texts: Sequence[str]) -> Sequence[Candidate]:
        counts = zip(found, count.count_many(texts), strict=True)
        return [replace(candidate, tokens=tokens) for candidate, tokens in counts]

    return counted


def counted_already(found: Sequence[Candidate], _: Sequence[str]) -> Sequence[Candidate]:
    """The counts that the index keeps, where the request's counter is the index's."""
    return found


def choice(plan: Plan, texts: Mapping[Path, Lined], counts: Counts, budget: int) -> Choice:
    """The candidates in the order in which the strategy wants them, under so many tokens."""
    forced = {item.path for item in plan.forced}
    found: Sequence[Candidate] = [c for c in plan.candidates if c.path not in forced]
    shown = [texts[candidate.path].of(candidate.lines) for candidate in found]
    found = counts(found, shown)
    request = plan.request
    is_signed = request.dedup >= MIN_SIGNED_THRESHOLD
    if request.strategy is Strategy.LEVELS:  # It needs the candidates alone, best first.
        request = replace(request, strategy=Strategy.GREEDY)
    if request.strategy is Strategy.GREEDY and is_signed:
        return _greedy(found, shown, budget, request.dedup)
    return _packed(found, shown, budget, request)


def _greedy(
    found: Sequence[Candidate], shown: Sequence[str], budget: int, threshold: float
) -> Choice:
    """What `_packed` gives for the greedy strategy, without its reports on every chunk."""
    best_first = sorted(range(len(found)), key=lambda i: -found[i].score)
    ranked = [found[i] for i in best_first]
    cut = grams([shown[i] for i in best_first])
    repeated = repeats(cut, threshold) if threshold < 1 else []
    dropped = {repeat.position for repeat in repeated}
    chosen: list[int] = []
    left = budget
    for i, candidate in enumerate(ranked):
        cost = candidate.tokens + RANGE_TOKENS
        if cost <= left and i not in dropped:
            chosen.append(i)
            left -= cost
    settled = {best_first[i] for i in (*chosen, *dropped)}
    others = [candidate for i, candidate in enumerate(found) if i not in settled]
    return Choice(
        order=(*(ranked[i] for i in chosen), *others),
        duplicates={
            place_of(ranked[repeat.position]): (ranked[repeat.better].path, repeat.similarity)
            for repeat in repeated
        },
        diversity=_diversity(cut, chosen),
        optimality_gap=None,
    )


def diversity_of(shown: Sequence[str]) -> float:
    """How little alike these texts are, from 0 to 1; of many some are measured."""
    measured = grams([shown[position] for position in evenly_spaced(len(shown))])
    return mean_difference(similarities(measured, range(min(len(shown), MAX_MEASURED))))


def _diversity(cut: Grams, chosen: Sequence[int]) -> float:
    measured = [chosen[position] for position in evenly_spaced(len(chosen))]
    return mean_difference(similarities(cut, measured))


def _packed(
    found: Sequence[Candidate],
    shown: Sequence[str],
    budget: int,
    request: Request,
) -> Choice:
    by_id = {str(number): candidate for number, candidate in enumerate(found)}
    result = pack(
        [
            ScoredChunk(
                id=number,
                content=text,
                score=candidate.score,
                tokens=candidate.tokens,
                metadata={"group": candidate.path.rpartition("/")[0]},
            )
            for (number, candidate), text in zip(by_id.items(), shown, strict=True)
        ],
        budget=budget,
        strategy=request.strategy,
        mmr_lambda=request.mmr_lambda,
        redundancy_threshold=request.dedup,
        chunk_overhead_tokens=RANGE_TOKENS,
    )
    chosen = [chunk.id for chunk in result.chunks]
    repeated = {
        left_out.id: (left_out.redundant_with, left_out.similarity or 0.0)
        for left_out in result.report.excluded
        if left_out.redundant_with is not None
    }
    others = by_id.keys() - {*chosen, *repeated}
    return Choice(
        order=tuple(by_id[i] for i in (*chosen, *sorted(others, key=int))),
        duplicates={
            place_of(by_id[i]): (by_id[better].path, similarity)
            for i, (better, similarity) in repeated.items()
        },
        diversity=result.report.diversity,
        optimality_gap=result.report.optimality_gap,
    )
