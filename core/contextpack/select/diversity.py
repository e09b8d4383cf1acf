"""How different the chosen chunks are from each other: one figure for a report."""

from collections.abc import Sequence

import numpy as np

from contextpack.errors import PackError
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
    measured = [chosen[i * len(chosen) // n] for i in range(n)]
    similarity = _similarity(measured, metric)
    total = sum(float(np.sum(np.maximum(row(similarity, i)[i + 1 :], 0.0))) for i in range(n))
    return max(0.0, 1.0 - total / (n * (n - 1) / 2))


def _similarity(measured: Sequence[Candidate], metric: Metric) -> Similarity:
    texts = [candidate.chunk.content for candidate in measured]
    embeddings = [candidate.chunk.embedding for candidate in measured]
    names = [candidate.id for candidate in measured]
    try:
        return chunk_similarity(texts, embeddings, metric, names)
    except PackError:
        return chunk_similarity(texts, embeddings, Metric.JACCARD, names)
