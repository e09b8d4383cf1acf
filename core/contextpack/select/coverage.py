"""The budget shared over groups of similar chunks, so that none dominates."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from contextpack.select.chunks import Candidate, exact
from contextpack.similarity import Similarity, neighbours

# From here on two chunks speak of the same thing. Trigrams of unrelated code or prose in one
# language rarely share more than a fifth; embeddings of unrelated texts often reach 0.7.
SAME_TOPIC_JACCARD = 0.3
SAME_TOPIC_COSINE = 0.8


def covering(
    pool: Sequence[Candidate], similarity: Similarity | None, budget: float
) -> list[Candidate]:
    """The group that has spent least chooses next: its best chunk that still fits.

    Among groups that have spent the same, the one with the better next chunk is first; equal
    scores stand in input order. A group whose chunks are used up or too large drops out, and
    the others have the rest. Chunks with a score of zero or less come after all others: they
    cover nothing.

    Groups are `metadata["group"]` where every chunk has a text or a number there. Otherwise a
    chunk is in the group of the best-scored one that it is like, or founds one.
    """
    ranked = sorted(pool, key=lambda candidate: -candidate.chunk.score)
    queues: dict[str | int, list[int]] = {}
    for rank, group in enumerate(_groups(ranked, similarity)):
        queues.setdefault(group, []).append(rank)
    left = exact(budget)
    chosen = []
    # Whether the next chunk covers nothing, what the group has spent, the next chunk's rank.
    waiting: list[tuple[bool, int | Fraction, int, Iterator[int]]] = []
    for queue in queues.values():
        _push(waiting, ranked, 0, iter(queue))
    while waiting:
        _, spent, rank, queue_left = heappop(waiting)
        cost = ranked[rank].cost
        if cost <= left:
            chosen.append(ranked[rank])
            left -= cost
            spent += cost
        _push(waiting, ranked, spent, queue_left)
    return chosen


def group_names(pool: Sequence[Candidate]) -> list[str | int] | None:
    """The groups that the chunks name in their metadata, or None unless every one does."""
    names = [(candidate.chunk.metadata or {}).get("group") for candidate in pool]
    known = [name for name in names if isinstance(name, str | int)]
    return known if len(known) == len(names) else None


def _push(
    waiting: list[tuple[bool, int | Fraction, int, Iterator[int]]],
    ranked: Sequence[Candidate],
    spent: int | Fraction,
    queue: Iterator[int],
) -> None:
    rank = next(queue, None)
    if rank is not None:
        # Ranks differ, so iterators are never compared.
        heappush(waiting, (ranked[rank].chunk.score <= 0, spent, rank, queue))


def _groups(ranked: Sequence[Candidate], similarity: Similarity | None) -> Sequence[str | int]:
    named = group_names(ranked)
    if named is not None:
        return named
    groups = {candidate.position: candidate.position for candidate in ranked}
    if similarity is not None:
        is_free = np.zeros(similarity.n, np.bool_)
        is_free[list(groups)] = True
        for leader in list(groups):
            if is_free[leader]:
                members = _like(similarity, leader, is_free)
                is_free[members] = False
                is_free[leader] = False
                groups.update(dict.fromkeys(members.tolist(), leader))
    return [groups[candidate.position] for candidate in ranked]


def _like(similarity: Similarity, leader: int, is_free: NDArray[np.bool_]) -> NDArray[np.intp]:
    lowest = min(SAME_TOPIC_JACCARD, SAME_TOPIC_COSINE)
    positions, values = neighbours(similarity, leader, lowest, is_free)
    has_embedding = similarity.has_embedding
    is_cosine = has_embedding[positions] & has_embedding[leader]
    thresholds = np.where(is_cosine, SAME_TOPIC_COSINE, SAME_TOPIC_JACCARD)
    return np.asarray(positions[values >= thresholds], np.intp)
