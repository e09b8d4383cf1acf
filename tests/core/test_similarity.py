"""Trigram Jaccard and cosine, by hand-computed values and against the definition."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.errors import Code, PackError
from contextpack.similarity import (
    Metric,
    Similarity,
    chunk_similarity,
    cosine,
    jaccard,
    neighbours,
    row,
    shingles,
    text_similarity,
)

# Few characters, so that texts have trigrams in common.
texts = st.text(alphabet="ab \n\tÄ😀", max_size=40)
numbers = st.floats(allow_nan=False, allow_infinity=False)


def grams(text: str) -> set[str]:
    plain = " ".join(text.lower().split())
    return {plain[i : i + 3] for i in range(len(plain) - 2)} or {plain}


def jaccard_by_definition(a: str, b: str) -> float:
    return len(grams(a) & grams(b)) / len(grams(a) | grams(b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("abc", "abcd", 0.5),
        ("the cat", "THE   cat\n", 1.0),
        ("abcdef", "uvwxyz", 0.0),
        ("", "", 1.0),
        ("", "abc", 0.0),
        ("ab", "ab", 1.0),
        ("ab", "abc", 0.0),
        ("\ufeffab c", "ab c", 1.0),
        ("\ud800\ud800\ud800", "\ud800\ud800\ud800\ud800", 1.0),
    ],
)
def test_jaccard(a: str, b: str, expected: float) -> None:
    assert expected == jaccard(a, b)


@given(texts, texts)
def test_jaccard_is_the_share_of_common_trigrams(a: str, b: str) -> None:
    assert jaccard_by_definition(a, b) == jaccard(a, b) == jaccard(b, a)


@given(st.lists(texts, min_size=1, max_size=12))
def test_a_row_compares_one_text_with_all(many: list[str]) -> None:
    similarity = text_similarity([shingles(text) for text in many])
    for i, text in enumerate(many):
        assert [jaccard(text, other) for other in many] == row(similarity, i).tolist()


@given(
    st.lists(texts, min_size=1, max_size=12),
    st.floats(min_value=0.01, max_value=1.0),
    st.integers(min_value=0, max_value=4095),
)
def test_neighbours_are_those_of_the_row(many: list[str], threshold: float, bits: int) -> None:
    among = np.array([bool(bits >> i & 1) for i in range(len(many))])
    assert_neighbours(text_similarity([shingles(text) for text in many]), threshold, among)


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.6, 0.9, 1.0])
def test_neighbours_among_hundreds_of_texts(threshold: float) -> None:
    words = ["alpha", "beta", "gamma", "delta", "omega"]
    many = [" ".join(three) + str(n % 7) for n in range(30) for three in combinations(words, 3)]
    similarity = text_similarity([shingles(text) for text in many])
    assert_neighbours(similarity, threshold, np.arange(len(many)) % 3 != 0)


def assert_neighbours(similarity: Similarity, threshold: float, among: np.ndarray) -> None:
    for i in range(similarity.n):
        values = row(similarity, i)
        expected = [j for j in range(similarity.n) if among[j] and values[j] >= threshold]
        positions, found = neighbours(similarity, i, threshold, among)
        assert expected == positions.tolist()
        assert [values[j] for j in expected] == found.tolist()


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1, 0], [1, 0], 1.0),
        ([1, 0], [0, 1], 0.0),
        ([1, 0], [-2, 0], -1.0),
        ([0, 0], [1, 0], 0.0),
        ([0, 0], [0, 0], 0.0),
        ([], [], 0.0),
        # Squares of these overflow, or vanish.
        ([1e200, 1e200], [1, 0], math.sqrt(0.5)),
        ([1e-200, 1e-200], [1, 0], math.sqrt(0.5)),
        ([5e-324, 0], [1e308, 1e308], math.sqrt(0.5)),
    ],
)
def test_cosine(a: list[float], b: list[float], expected: float) -> None:
    assert expected == pytest.approx(cosine(a, b), abs=1e-12)


@given(st.lists(st.tuples(numbers, numbers), max_size=6))
def test_a_cosine_is_a_number_from_minus_one_to_one(pairs: list[tuple[float, float]]) -> None:
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert -1.0 <= cosine(a, b) <= 1.0
    assert cosine(a, b) == cosine(b, a)
    if any(a):
        assert cosine(a, a) == 1.0


@pytest.mark.parametrize(
    ("a", "b", "code"),
    [
        ([1, 2], [1, 2, 3], Code.DIMENSION_MISMATCH),
        ([math.nan, 0], [1, 2], Code.INVALID_EMBEDDING),
        ([1, 2], [math.inf, 0], Code.INVALID_EMBEDDING),
        (["1", "2"], [1, 2], Code.INVALID_EMBEDDING),
        ([None, 1], [1, 2], Code.INVALID_EMBEDDING),
        ([[1, 2]], [1, 2], Code.INVALID_EMBEDDING),
        ([[1], [1, 2]], [1, 2], Code.INVALID_EMBEDDING),
        ("12", [1, 2], Code.INVALID_EMBEDDING),
    ],
)
def test_vectors_that_cannot_be_compared(a: list[float], b: list[float], code: Code) -> None:
    with pytest.raises(PackError) as caught:
        cosine(a, b)
    assert code == caught.value.code


def test_auto_takes_cosine_only_where_both_have_an_embedding() -> None:
    similarity = chunk_similarity(
        ["same text", "same text", "same text"],
        [[1.0, 0.0], [0.0, 1.0], None],
        Metric.AUTO,
        ["a", "b", "c"],
    )
    assert [1.0, 0.0, 1.0] == row(similarity, 0).tolist()
    assert [1.0, 1.0, 1.0] == row(similarity, 2).tolist()
    assert_neighbours(similarity, 0.5, np.ones(3, np.bool_))


def test_many_embeddings_are_compared_row_by_row() -> None:
    """Past a number of chunks no matrix of all pairs is held; the values are the same."""
    n = 3001
    angles = [i * math.tau / n for i in range(n)]
    similarity = chunk_similarity(
        [""] * n, [[math.cos(t), math.sin(t)] for t in angles], Metric.COSINE, [""] * n
    )
    assert similarity.cosines is None
    expected = [math.cos(t) for t in angles]
    assert expected == pytest.approx(row(similarity, 0).tolist(), abs=1e-9)


def test_errors_name_the_chunks() -> None:
    with pytest.raises(PackError) as caught:
        chunk_similarity(["", ""], [[1.0], None], Metric.COSINE, ["a", "b"])
    assert Code.MISSING_EMBEDDINGS == caught.value.code
    assert {"ids": ["b"]} == caught.value.details
    assert "'b'" in caught.value.message
