"""How much a document is about the words of a query, by how often and how rarely they stand.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

# The usual values. Files vary more in length than chunks, for which the effect of `b` is small.
K1 = 1.2
B = 0.75

Hit = tuple[float, Numbers, Floats]
"""A term's weight in the query, the documents that hold it, and how often each does."""


def rarity(n_documents: int, n: int) -> float:
    """What a term is worth that stands in so many of `n` documents; positive."""
    return math.log(1 + (n - n_documents + 0.5) / (n_documents + 0.5))


def bm25(hits: Iterable[Hit], lengths: Numbers, n: int) -> Floats:
    """The score of each document, 0 or more.

    `lengths` are by document, in terms, 0 for the dead ones; `n` is the number of the living.
    """
    scores = np.zeros(len(lengths))
    if n == 0:
        return scores
    mean = max(int(lengths.sum()) / n, 1.0)
    for weight, documents, counts in hits:
        norm = K1 * (1 - B + B * lengths[documents] / mean)
        saturated = counts * (K1 + 1) / (counts + norm)
        scores[documents] += weight * rarity(len(documents), n) * saturated
    return scores
