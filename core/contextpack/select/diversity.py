"""How different the chosen chunks are from each other: one figure for a report."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contextpack.errors import PackError
from contextpack.grams import grams, similarities
from contextpack.select.chunks import Candidate
from contextpack.similarity import Metric, Similarity, chunk_similarity, row

# Two thousand pairs, and a few milliseconds; the mean over all pairs is within a few hundredths.
MAX_MEASURED = 64


def diversity(chosen: Sequence[Candidate], metric: Metric) -> float:
    """One minus the mean similarity over all pairs, in [0, 1].

    Negative cosines count as 0. With fewer than two chunks nothing is repeated: 1.0. Of more
    than `MAX_MEASURED` chunks so many are measured, evenly spaced in the order of choice. If
    the embeddings cannot be compared, trigrams are: a figure of a report refuses nothing.
    """
    n = min(len(chosen), MAX_MEASURED)
    if n < 2:
        return 1.0
    measured = [chosen[position] for position in evenly_spaced(len(chosen))]
    if all(candidate.chunk.embedding is None for candidate in measured):
        cut = grams([candidate.chunk.content for candidate in measured])
        return mean_difference(similarities(cut, range(n)))
    similarity = _similarity(measured, metric)
    return mean_difference(np.stack([row(similarity, i) for i in range(n)]))


def evenly_spaced(n: int) -> list[int]:
    """The positions that are measured, of so many."""
    n_measured = min(n, MAX_MEASURED)
    return [i * n // n_measured for i in range(n_measured)]


def mean_difference(similarities: NDArray[np.float64]) -> float:
    """One minus the mean over all pairs of a square matrix of similarities; 1.0 below two."""
    n = len(similarities)
    if n < 2:
        return 1.0
    counted = np.maximum(similarities, 0.0)
    total = sum(float(np.add.reduce(counted[i, i + 1 :])) for i in range(n))
    return max(0.0, 1.0 - total / (n * (n - 1) / 2))


def _similarity(measured: Sequence[Candidate], metric: Metric) -> Similarity:
    texts = [candidate.chunk.content for candidate in measured]
    embeddings = [candidate.chunk.embedding for candidate in measured]
    names = [candidate.id for candidate in measured]
    try:
        return chunk_similarity(texts, embeddings, metric, names)
    except PackError:
        return chunk_similarity(texts, embeddings, Metric.JACCARD, names)
