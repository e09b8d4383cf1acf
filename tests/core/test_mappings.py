"""A revised mapping says what a dict with the same changes says, and shares what stayed."""

from collections.abc import Mapping
from types import MappingProxyType

import hypothesis.strategies as st
import pytest
from hypothesis import given

from contextpack.mappings import PATCH_FACTOR, Revised, copied, revised

keys = st.integers(0, 12)
items = st.dictionaries(keys, st.none() | st.integers(0, 2), max_size=2)
steps = st.lists(st.tuples(items, st.sets(keys, max_size=2)), max_size=9)


@given(st.dictionaries(keys, st.integers(), min_size=8), steps, st.booleans())
def test_it_says_what_a_dict_with_the_same_changes_says(
    start: dict[int, int | None],
    steps: list[tuple[dict[int, int | None], set[int]]],
    is_proxy: bool,
) -> None:
    made: Mapping[int, int | None] = MappingProxyType(start) if is_proxy else start
    seen = [(made, dict(start))]
    for changed, gone in steps:
        expected = {k: v for k, v in seen[-1][1].items() if k not in gone} | changed
        seen.append((revised(seen[-1][0], changed, gone), expected))
    # Those before an update still say what they said.
    for made, expected in seen:
        assert made == expected
        assert expected == made
        assert (len(made), sorted(made)) == (len(expected), sorted(expected))
        assert made.keys() == expected.keys()
        assert (dict(made.items()), copied(made)) == (expected, expected)
        assert sorted(map(str, made.values())) == sorted(map(str, expected.values()))
        for key in range(14):
            assert (key in made) is (key in expected)
            assert made.get(key, -1) == expected.get(key, -1)
            assert made.get(key) == expected.get(key)


def test_what_is_gone_is_no_key() -> None:
    made = revised(dict.fromkeys(range(100), "x"), {}, [3])
    assert isinstance(made, Revised)
    with pytest.raises(KeyError):
        made[3]


def test_a_change_costs_what_is_different() -> None:
    start = dict.fromkeys(range(10_000), "x")
    made = revised(revised(start, {1: "y"}), {2: "y"}, [3])
    assert isinstance(made, Revised)
    assert made.below is start
    assert made.patch.keys() == {1, 2, 3}
    # As many as a patch may have, and one more.
    most = int((PATCH_FACTOR * 10_000) ** 0.5)
    assert isinstance(revised(start, dict.fromkeys(range(most), "y")), Revised)
    assert isinstance(revised(start, dict.fromkeys(range(most + 1), "y")), dict)
