"""Which candidates are taken. Equal scores are decided by the order of the pool.

Costs are compared exactly. A chunk that does not fit now never fits later, since what is left
only shrinks.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from contextpack.errors import Code, PackError
from contextpack.select.chunks import Candidate, ScoredChunk, exact
from contextpack.select.knapsack import knapsack
from contextpack.select.options import CustomStrategy, StrategyContext
from contextpack.similarity import Similarity, listed, neighbours, row


def without_duplicates(
    pool: Sequence[Candidate], similarity: Similarity, threshold: float
) -> tuple[list[Candidate], list[tuple[Candidate, Candidate, float]]]:
    """Those that stay, best first, and those that are too much like one that stays.

    Each of the latter comes with the one that it is most like (the better one of two), and how
    alike they are.
    """
    ranked = by_score(pool)
    rank_at = {candidate.position: rank for rank, candidate in enumerate(ranked)}
    is_kept = np.zeros(similarity.n, np.bool_)
    kept, dropped = [], []
    for candidate in ranked:
        positions, values = neighbours(similarity, candidate.position, threshold, is_kept)
        if len(positions):
            closest = positions[values == np.max(values)].tolist()
            better = ranked[min(rank_at[position] for position in closest)]
            dropped.append((candidate, better, float(np.max(values))))
        else:
            kept.append(candidate)
            is_kept[candidate.position] = True
    return kept, dropped


def by_score(pool: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, best first."""
    return sorted(pool, key=lambda candidate: -candidate.chunk.score)


def greedy(pool: Sequence[Candidate], budget: float) -> list[Candidate]:
    """Best score first. What does not fit is skipped, and a smaller one after it may fit.

    Fills the budget: scores of zero and less are taken too, last.
    """
    left, chosen = exact(budget), []
    for candidate in by_score(pool):
        if candidate.cost <= left:
            chosen.append(candidate)
            left -= candidate.cost
    return chosen


def most_marginal(
    pool: Sequence[Candidate], similarity: Similarity | None, weight: float, budget: float
) -> list[Candidate]:
    """Maximal marginal relevance, in the order of choice.

    The next is the one that fits and has the highest
    `weight * score - (1 - weight) * similarity to the most similar one chosen`; the first is
    the one with the best score. (Carbonell and Goldstein, 1998.)
    """
    positions = np.array([candidate.position for candidate in pool], np.intp)
    scores = np.array([candidate.chunk.score for candidate in pool], np.float64)
    closest = np.zeros(len(pool))
    is_open = np.ones(len(pool), np.bool_)
    merits = scores
    left, chosen = exact(budget), []
    while is_open.any():
        best = int(np.argmax(np.where(is_open, merits, -np.inf)))
        is_open[best] = False
        candidate = pool[best]
        if candidate.cost > left:
            continue
        chosen.append(candidate)
        left -= candidate.cost
        if similarity is not None:
            np.maximum(closest, row(similarity, candidate.position)[positions], out=closest)
        merits = weight * scores - (1 - weight) * closest
    return chosen


def most_valuable(pool: Sequence[Candidate], budget: float) -> tuple[list[Candidate], float]:
    """The highest sum of scores that fits, best score first, and the gap to what is proven.

    Never less than what greedy gives. Scores of zero and less are never taken.
    """
    simple = {candidate.position for candidate in greedy(pool, budget)}
    choice = knapsack(
        [candidate.chunk.score for candidate in pool],
        [candidate.cost for candidate in pool],
        exact(budget),
        known=[
            i
            for i, candidate in enumerate(pool)
            if candidate.position in simple and candidate.chunk.score > 0
        ],
    )
    return by_score([pool[i] for i in choice.taken]), choice.gap


def customised(
    pool: Sequence[Candidate], strategy: CustomStrategy, context: StrategyContext
) -> list[Candidate]:
    """What a caller's function chooses. Raises INVALID_STRATEGY_RESULT unless it is a choice.

    That is: some of the chunks that it was given, each once, that fit together.
    """
    by_id = {candidate.id: candidate for candidate in pool}
    given: object = strategy([candidate.chunk for candidate in pool], context)
    if not isinstance(given, Iterable):
        raise _no_choice(f"gave {type(given).__name__} and not chunks")
    chosen: dict[str, Candidate] = {}
    left = exact(context.budget)
    for chunk in given:
        if not isinstance(chunk, ScoredChunk):
            raise _no_choice(f"gave {type(chunk).__name__} among the chunks")
        known = None if chunk.id is None else by_id.get(chunk.id)
        if known is None or not _is_same(chunk, known.chunk):
            raise _no_choice(f"gave a chunk that is not a candidate: {listed([str(chunk.id)])}")
        if known.id in chosen:
            raise _no_choice(f"gave {listed([known.id])} more than once")
        chosen[known.id] = known
        left -= known.cost
    if left < 0:
        raise _no_choice("spent more than the budget, overhead included")
    return list(chosen.values())


def _is_same(one: ScoredChunk, other: ScoredChunk) -> bool:
    """Not by `==`: embeddings may be arrays, and metadata anything."""
    return one is other or (
        (one.content, one.score, one.tokens) == (other.content, other.score, other.tokens)
    )


def _no_choice(problem: str) -> PackError:
    return PackError(Code.INVALID_STRATEGY_RESULT, f"the custom strategy {problem}")
