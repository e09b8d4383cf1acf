"""How alike two texts are: Jaccard over character trigrams, or the cosine of embeddings.

Trigrams are runs of three characters (code points) of the text in lower case, with each run of
whitespace as one space and none at the ends. A text of fewer than three characters is one gram,
so two empty texts are equal. Each text is cut into trigrams once, whatever it is compared with.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from contextpack.errors import Code, PackError
from contextpack.grams import distinct, plain

# A code point has 21 bits, so three of them fit into 63; the 64th marks texts that are one gram.
_POINT_BITS = 21
_SHORT_TEXT = 1 << 63

# The last bits of a cosine depend on the order in which a CPU adds. Nothing compares them.
_COSINE_DECIMALS = 12

# Up to here it is cheaper to compare candidates one by one than to count along all postings.
_FEW_CANDIDATES = 64

# One product of matrices is a hundred times faster than as many products with a vector, but it
# takes 72 MB for so many chunks.
_MOST_PAIRED = 3000

# Of the trigrams that two alike texts share, the part that the first filter leaves uncounted.
# More makes it cheaper and weaker; 0.5 to 0.7 took the same time on 2000 chunks of code.
_UNCOUNTED_SHARE = 0.6

Shingles = NDArray[np.uint64]
"""The distinct trigrams of one text as numbers, ascending."""

Embedding = Sequence[float]


class Metric(StrEnum):
    """Which similarity is meant."""

    AUTO = "auto"  # Cosine where both have an embedding, else Jaccard.
    COSINE = "cosine"
    JACCARD = "jaccard"


@dataclass(frozen=True, slots=True)
class Similarity:
    """Many texts or embeddings, prepared to be compared with each other by position.

    `row` and `neighbours` read it. Its arrays are never written to after they are made.
    """

    n: int
    sizes: NDArray[np.intp]
    """Distinct trigrams of each text."""
    term_offsets: NDArray[np.intp]
    terms: NDArray[np.intp]
    """Text `i` has the terms `terms[term_offsets[i]:term_offsets[i + 1]]`, rarest first."""
    posting_offsets: NDArray[np.intp]
    postings: NDArray[np.intp]
    """Term `t` stands in the texts `postings[posting_offsets[t]:posting_offsets[t + 1]]`."""
    directions: NDArray[np.float64]
    """Embeddings at length one, a row a text; zero where there is none or it is zero."""
    has_embedding: NDArray[np.bool_]
    cosines: NDArray[np.float64] | None
    """Of all pairs, if there are embeddings and not too many of them."""


def jaccard(a: str, b: str) -> float:
    """The share of common trigrams among all trigrams of both texts, in [0, 1]."""
    one, other = shingles(a), shingles(b)
    n_common = len(np.intersect1d(one, other, assume_unique=True))
    return n_common / (len(one) + len(other) - n_common)


def cosine(a: Embedding, b: Embedding) -> float:
    """The cosine of the angle between two vectors, in [-1, 1]; 0.0 if one is zero.

    Rounded to 12 decimals. Raises DIMENSION_MISMATCH, and INVALID_EMBEDDING for anything but
    finite numbers.
    """
    one, other = _directions([a, b], ["first", "second"])
    return float(_rounded(np.array([one @ other]))[0])


def shingles(text: str) -> Shingles:
    """The distinct trigrams of a text. They depend on the text alone, so they can be kept."""
    shown = plain(text)
    points = np.frombuffer(shown.encode("utf-32-le", "surrogatepass"), np.uint32)
    if len(points) < 3:
        gram = len(points)
        for point in points.tolist():
            gram = gram << _POINT_BITS | point
        return np.array([_SHORT_TEXT | gram], np.uint64)
    wide, bits = points.astype(np.uint64), np.uint64(_POINT_BITS)
    return distinct(((wide[:-2] << bits | wide[1:-1]) << bits) | wide[2:])


def text_similarity(sets: Sequence[Shingles]) -> Similarity:
    """Texts by their trigrams alone."""
    return _similarity(sets, np.zeros((len(sets), 0)), np.zeros(len(sets), np.bool_))


def chunk_similarity(
    texts: Sequence[str],
    embeddings: Sequence[Embedding | None],
    metric: Metric,
    names: Sequence[str],
) -> Similarity:
    """Chunks by `metric`; the names are for error messages.

    Raises MISSING_EMBEDDINGS if the metric is cosine and one lacks, DIMENSION_MISMATCH if two
    that would be used differ in length, INVALID_EMBEDDING if one is not of finite numbers.
    """
    n = len(texts)
    has_embedding = np.array([e is not None for e in embeddings], np.bool_)
    if metric is Metric.JACCARD or not (has_embedding.any() or metric is Metric.COSINE):
        return text_similarity([shingles(text) for text in texts])
    if metric is Metric.COSINE and not has_embedding.all():
        missing = [names[i] for i in np.flatnonzero(~has_embedding).tolist()]
        raise PackError(
            Code.MISSING_EMBEDDINGS,
            f"cosine similarity needs an embedding on every chunk; {listed(missing)} has none",
            {"ids": missing},
        )
    present = np.flatnonzero(has_embedding).tolist()
    found = _directions(
        [embedding for embedding in embeddings if embedding is not None],
        [names[i] for i in present],
    )
    directions = np.zeros((n, found.shape[1]))
    directions[present] = found
    # Where all have embeddings no pair is compared by trigrams, and none are cut.
    nothing = np.zeros(0, np.uint64)
    is_mixed = not has_embedding.all()
    sets = [shingles(text) if is_mixed else nothing for text in texts]
    return _similarity(sets, directions, has_embedding)


def row(similarity: Similarity, i: int) -> NDArray[np.float64]:
    """How alike text `i` is to each text, itself included."""
    if not similarity.has_embedding[i]:
        return _jaccards(similarity, i)
    if similarity.cosines is not None:
        cosines = np.asarray(similarity.cosines[i], np.float64)
    else:
        cosines = _rounded(similarity.directions @ similarity.directions[i])
    if similarity.has_embedding.all():
        return cosines
    return np.where(similarity.has_embedding, cosines, _jaccards(similarity, i))


def neighbours(
    similarity: Similarity, i: int, threshold: float, among: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The positions in `among` whose similarity to `i` is at least `threshold`, and how alike.

    Ascending by position. The threshold is above 0.
    """
    candidates = among
    if not similarity.has_embedding.any():
        possible = _possible(similarity, i, threshold, among)
        if len(possible) <= _FEW_CANDIDATES:
            values = _jaccards_with(similarity, i, possible)
            is_close = values >= threshold
            return possible[is_close], values[is_close]
        candidates = np.zeros(similarity.n, np.bool_)
        candidates[possible] = True
    values = row(similarity, i)
    positions = np.flatnonzero(candidates & (values >= threshold))
    return positions, values[positions]


def listed(names: Sequence[str], limit: int = 5) -> str:
    """Names for an error message: the first few, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def _similarity(
    sets: Sequence[Shingles], directions: NDArray[np.float64], has_embedding: NDArray[np.bool_]
) -> Similarity:
    n = len(sets)
    sizes = np.array([len(one) for one in sets], np.intp)
    term_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    grams = np.concatenate(sets) if sets else np.zeros(0, np.uint64)
    order = np.argsort(grams, kind="stable")
    owners = np.repeat(np.arange(n), sizes)
    ascending = grams[order]
    is_first = np.ones(len(grams), np.bool_)
    is_first[1:] = ascending[1:] != ascending[:-1]
    terms = np.empty(len(grams), np.intp)
    terms[order] = np.cumsum(is_first) - 1
    posting_offsets = np.append(np.flatnonzero(is_first), len(grams))
    n_texts = np.diff(posting_offsets)[terms] if len(grams) else terms
    rarest_first = np.lexsort((n_texts, owners))
    cosines = None
    if has_embedding.any() and n <= _MOST_PAIRED:
        cosines = _rounded(directions @ directions.T)
    return Similarity(
        n=n,
        sizes=sizes,
        term_offsets=term_offsets,
        terms=terms[rarest_first],
        posting_offsets=posting_offsets,
        postings=owners[order],
        directions=directions,
        has_embedding=has_embedding,
        cosines=cosines,
    )


def _terms_of(similarity: Similarity, i: int) -> NDArray[np.intp]:
    return similarity.terms[similarity.term_offsets[i] : similarity.term_offsets[i + 1]]


def _texts_with(similarity: Similarity, terms: NDArray[np.intp]) -> NDArray[np.intp]:
    """Each text once for each of the terms that it has."""
    starts = similarity.posting_offsets[terms].tolist()
    ends = similarity.posting_offsets[terms + 1].tolist()
    postings = similarity.postings
    return np.concatenate([postings[a:b] for a, b in zip(starts, ends, strict=True)])


def _jaccards(similarity: Similarity, i: int) -> NDArray[np.float64]:
    texts = _texts_with(similarity, _terms_of(similarity, i))
    n_common = np.bincount(texts, minlength=similarity.n)
    return _ratio(n_common, similarity.sizes + similarity.sizes[i] - n_common)


def _possible(
    similarity: Similarity, i: int, threshold: float, among: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """A superset of the texts in `among` that are alike enough, ascending.

    Texts at least as alike as `threshold` share `threshold / (1 + threshold)` of the sum of
    their sizes. Only the rarest terms are counted, whose postings are short; a text shares at
    most all of the others.
    """
    terms, size = _terms_of(similarity, i), int(similarity.sizes[i])
    n_uncounted = int(threshold * _UNCOUNTED_SHARE * size)
    texts = _texts_with(similarity, terms[: size - n_uncounted])
    n_common = np.bincount(texts, minlength=similarity.n) + n_uncounted
    # The slack covers the rounding of the product: one candidate too many costs nothing.
    n_needed = (similarity.sizes + size) * (threshold / (1 + threshold)) - 1e-6
    return np.flatnonzero(among & (n_common >= n_needed))


def _jaccards_with(
    similarity: Similarity, i: int, positions: NDArray[np.intp]
) -> NDArray[np.float64]:
    is_term = np.zeros(len(similarity.posting_offsets), np.bool_)
    is_term[_terms_of(similarity, i)] = True
    n_common = np.array(
        [np.count_nonzero(is_term[_terms_of(similarity, j)]) for j in positions.tolist()],
        np.intp,
    )
    return _ratio(n_common, similarity.sizes[positions] + similarity.sizes[i] - n_common)


def _ratio(part: NDArray[np.intp], whole: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.asarray(part / whole, np.float64)


def _directions(embeddings: Sequence[Embedding], names: Sequence[str]) -> NDArray[np.float64]:
    """Vectors at length one, a row each; zero vectors stay zero."""
    rows = [_vector(e, name) for e, name in zip(embeddings, names, strict=True)]
    for vector, name in zip(rows, names, strict=True):
        if len(vector) != len(rows[0]):
            raise PackError(
                Code.DIMENSION_MISMATCH,
                f"embeddings differ in length: {names[0]!r} has {len(rows[0])} numbers, "
                f"{name!r} has {len(vector)}",
                {"ids": [names[0], name]},
            )
    matrix = np.stack(rows)
    # Divided by the largest number first: squares of large or tiny ones leave the float range.
    largest = np.max(np.abs(matrix), axis=1, initial=0.0, keepdims=True)
    scaled = np.divide(matrix, largest, out=np.zeros_like(matrix), where=largest > 0)
    lengths = np.sqrt(np.sum(scaled * scaled, axis=1, keepdims=True))
    return np.asarray(np.divide(scaled, lengths, out=scaled, where=lengths > 0), np.float64)


def _vector(embedding: Embedding, name: str) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(embedding)
    except ValueError:  # Nested to different depths.
        numbers = np.zeros((0, 0))
    if numbers.ndim != 1 or numbers.dtype.kind not in "fiu":
        raise PackError(
            Code.INVALID_EMBEDDING,
            f"the embedding of {name!r} must be a list of numbers",
            {"ids": [name]},
        )
    vector = numbers.astype(np.float64)
    if not np.isfinite(vector).all():
        raise PackError(
            Code.INVALID_EMBEDDING,
            f"the embedding of {name!r} holds a number that is not finite",
            {"ids": [name]},
        )
    return vector


def _rounded(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(np.round(cosines, _COSINE_DECIMALS), -1.0, 1.0)
