"""Which chunks speak of each other: what the best ones define is used elsewhere, and vice versa.

Names are resolved by nothing but their rarity: a name that a handful of chunks define means them.
"""

import numpy as np
from numpy.typing import NDArray

from contextpack.bm25 import Floats
from contextpack.postings import Postings

# Whose neighbours are looked at: further down a chunk is rarely about the query at all.
N_BEST = 20

# A name that more chunks define or use is nobody's: `get`, `name`, `data`.
MAX_DEFINING = 4
MAX_USING = 60

# Shorter names are variables.
MIN_NAME_CHARS = 4

_Pairs = NDArray[np.int64]


def related(postings: Postings, scores: Floats) -> tuple[Floats, Floats]:
    """For each chunk how much it is used by the best ones, and how much it uses them.

    Each is the score of the best such neighbour, damped where that has many, and 1 at most.
    """
    best = _best(scores)
    used: list[tuple[int, int]] = []
    using: list[tuple[int, int]] = []
    for term, chunks in _terms_of(postings, best).items():
        hits = postings.in_chunks(term)
        is_defining = hits.names > 0
        defining, others = hits.documents[is_defining], hits.documents[~is_defining]
        if 0 < len(defining) <= MAX_DEFINING and 0 < len(others) <= MAX_USING:
            definers = set(defining.tolist())
            for chunk in chunks:
                neighbours, pairs = (others, using) if chunk in definers else (defining, used)
                pairs += [(chunk, other) for other in neighbours.tolist()]
    return _lift(used, scores), _lift(using, scores)


def _best(scores: Floats) -> _Pairs:
    n = min(N_BEST, len(scores))
    least = np.partition(scores, len(scores) - n)[len(scores) - n] if n else 0.0
    return np.flatnonzero((scores >= least) & (scores > 0))


def _terms_of(postings: Postings, chunks: _Pairs) -> dict[str, list[int]]:
    """The telling terms of these chunks, each with the chunks that hold it."""
    is_meant = np.zeros(len(postings.chunk_slots), np.bool_)
    is_meant[chunks] = True
    found: dict[str, list[int]] = {}
    first = 0
    for segment in postings.segments:
        n_chunks = len(segment.chunk_lengths)
        meant = is_meant[first : first + n_chunks]
        if meant.any():
            rows = segment.chunks
            at = np.flatnonzero(meant.take(rows.documents))
            terms = np.searchsorted(rows.starts, at, side="right") - 1
            is_rare = np.diff(rows.starts)[terms] <= MAX_DEFINING + MAX_USING
            names = list(segment.vocabulary)
            for term, document in zip(
                terms[is_rare].tolist(), rows.documents[at[is_rare]].tolist(), strict=True
            ):
                if len(names[term]) >= MIN_NAME_CHARS:
                    found.setdefault(names[term], []).append(document + first)
        first += n_chunks
    return found


def _lift(pairs: list[tuple[int, int]], scores: Floats) -> Floats:
    lift = np.zeros(len(scores))
    if pairs:
        edges = np.unique(np.array(pairs, np.int64), axis=0)
        edges = edges[edges[:, 0] != edges[:, 1]]
        n_neighbours = np.bincount(edges[:, 0], minlength=len(scores))
        sources = edges[:, 0]
        np.maximum.at(lift, edges[:, 1], scores[sources] / np.sqrt(n_neighbours[sources]))
    top = float(lift.max(initial=0.0))
    return lift / top if top > 0 else lift
