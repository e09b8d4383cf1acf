"""Trigrams of many texts at once, held against those of one text at a time."""

from hypothesis import given
from hypothesis import strategies as st

from contextpack.grams import Repeat, grams, repeats, similarities
from contextpack.similarity import jaccard

# Few characters, so that texts have trigrams in common; `\U0010ffff` needs the most bits.
texts = st.one_of(
    st.text(alphabet="ab \n\tÄ😀\0\U0010ffff\ud800", max_size=40),
    st.text(alphabet="aB \n\x1c\x7f", max_size=40),
)
variants = st.builds("{}{}{}".format, texts, st.sampled_from(["", "a", "b "]), texts)
collections = st.one_of(
    st.lists(
        st.one_of(
            texts, variants, st.sampled_from(["", "a", "ab", "abc" * 9, "abc" * 9 + "b"])
        ),
        max_size=12,
    ),
    st.lists(st.text(alphabet="aBc \n\t\x1d", min_size=5, max_size=30), max_size=12),
)
thresholds = st.sampled_from([0.3, 0.5, 0.8, 0.97, 1.0])


def repeats_by_definition(found: list[str], threshold: float) -> list[Repeat]:
    kept: list[int] = []
    result = []
    for position, text in enumerate(found):
        close = [(jaccard(text, found[other]), other) for other in kept]
        close = [pair for pair in close if pair[0] >= threshold]
        if close:
            similarity, better = min(close, key=lambda pair: (-pair[0], pair[1]))
            result.append(Repeat(position, better, similarity))
        else:
            kept.append(position)
    return result


@given(collections, thresholds)
def test_repeats_are_those_of_the_definition(found: list[str], threshold: float) -> None:
    assert repeats_by_definition(found, threshold) == repeats(grams(found), threshold)


@given(collections)
def test_similarities_are_jaccards(found: list[str]) -> None:
    expected = [[jaccard(one, other) for other in found] for one in found]
    assert expected == similarities(grams(found), range(len(found))).tolist()


def test_copies_are_found_among_many_alike_texts() -> None:
    many = [
        f"def total_{i}(cart):\n    return sum(cart) + {i * 7919}\n" * 9 for i in range(300)
    ]
    found = repeats(grams([*many, many[3], many[250]]), 0.97)
    assert [Repeat(300, 3, 1.0), Repeat(301, 250, 1.0)] == found


def test_more_characters_than_bytes_are_told_apart() -> None:
    every = "".join(chr(point) for point in range(0x3400, 0x3600))
    found = [every, every[:-1], every[256:] + every[:256]]
    expected = [[jaccard(one, other) for other in found] for one in found]
    assert expected == similarities(grams(found), range(3)).tolist()


def test_trigrams_that_need_more_bits_than_numbers_mostly_have_are_compared() -> None:
    many = [chr(0x4E00 + i) for i in range(2000)]
    found = ["".join(many[:1200]), "".join(many[600:1800]), "".join(many[1000:])]
    expected = [[jaccard(one, other) for other in found] for one in found]
    assert expected == similarities(grams(found), range(3)).tolist()


def test_case_is_folded_within_each_text() -> None:
    found = ["ΟΔΟΣ", "ΟΔΟΣ ΟΔΟΣ", " ΟΔΟΣ\n", "\ufeffab c", "ab c"]
    assert jaccard(found[0], found[1]) == similarities(grams(found), range(5))[0][1]
    assert [Repeat(2, 0, 1.0), Repeat(4, 3, 1.0)] == repeats(grams(found), 1.0)


def test_a_thousand_copies_are_compared_with_what_stays_only() -> None:
    found = [f"def total_{i % 3}(cart):\n    return sum(cart)\n" for i in range(1000)]
    expected = [Repeat(i, i % 3, 1.0) for i in range(3, 1000)]
    assert expected == repeats(grams(found), 0.97)


@given(st.lists(st.sampled_from(["abcdefgh" * 5, "abcdefgh" * 5 + "x", "z" * 9]), max_size=20))
def test_copies_of_what_was_dropped_find_the_best_that_stays(found: list[str]) -> None:
    for threshold in (0.5, 0.8, 0.97):
        assert repeats_by_definition(found, threshold) == repeats(grams(found), threshold)
