"""The plain ranking that ours is measured against: BM25 over chunks, and nothing else.

No names, paths, history, imports, kinds or positions; each term of the query counts once.
"""

import numpy as np

from contextpack.bm25 import Hit, bm25
from contextpack.query import question
from contextpack.ranking import Breakdown, Holder, Part, Ranking, ranking_of
from contextpack.snapshot import Snapshot


def plain(snapshot: Snapshot, query: str) -> Ranking:
    """The chunks of a snapshot by how much they are about a query's words, and their files."""
    postings = snapshot.postings
    hits: list[Hit] = []
    for term in question(query).weights:
        found = postings.in_chunks(term)
        hits.append((1.0, found.documents, found.uses.astype(np.float64)))
    scores = bm25(hits, postings.chunk_lengths, postings.n_chunks)
    breakdown = Breakdown(
        parts=(Part("chunk", scores, Holder.CHUNK),),
        factors=np.ones(postings.n_slots),
        is_worded=scores > 0,
        headers=np.zeros(postings.n_slots),
        divisors=np.ones(len(scores)),
    )
    return ranking_of(snapshot, scores, breakdown, (), is_fallback=False, trails={})
