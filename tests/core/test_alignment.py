"""Which lines of a text are new, whatever happened to it."""

from itertools import chain
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.alignment import changed_lines, gaps, is_alike, moved_lines
from contextpack.text import Lines


def shown(found: tuple[Lines, ...]) -> list[tuple[int, int]]:
    return [(lines.start, lines.end) for lines in found]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("", "a\nb\n", [(1, 2)]),
        ("a\n", "", []),
        ("a\nb\nc\n", "a\nb\nc\n", []),
        ("a\nb\nc\n", "a\nB\nc\n", [(2, 2)]),
        ("a\nb\n", "a\nb\nc\nd\n", [(3, 4)]),
        ("b\n", "a\nb\n", [(1, 1)]),
        # What was taken out left a place between two lines, or beside one.
        ("a\nb\nc\n", "a\nc\n", [(1, 2)]),
        ("a\nb\nc\n", "b\nc\n", [(1, 1)]),
        ("a\nb\nc\n", "a\nb\n", [(2, 2)]),
        # Line endings and the one at the end are the working tree's own business.
        ("a\nb\n", "a\r\nb", []),
        ("a\rb\r", "a\nX\n", [(2, 2)]),
        ("a\nb\nc\nd\ne\nf\n", "a\nB\nc\nd\ne\nx\nf\n", [(2, 2), (6, 6)]),
        # Lines that stand often hold nothing in its place; what stands once does.
        ("x\n}\ny\n}\n", "x\n}\nz\n}\ny\n}\n", [(3, 4)]),
        ("one\ntwo\nthree\n", "three\none\ntwo\n", [(1, 1), (3, 3)]),
    ],
)
def test_new_lines_are_found(old: str, new: str, expected: list[tuple[int, int]]) -> None:
    assert expected == shown(changed_lines(old, new))


few = st.lists(st.sampled_from(["a", "b", "c", "}", "", "return"]), max_size=25)
many = st.lists(st.integers(0, 60).map(str), max_size=60)


@given(st.one_of(few, many), st.one_of(few, many))
def test_what_lies_between_the_gaps_is_the_same(old: list[str], new: list[str]) -> None:
    at = new_at = 0
    for gap in gaps(old, new):
        assert (gap.old[0] - at, gap.new[0] - new_at) >= (0, 0)
        assert old[at : gap.old[0]] == new[new_at : gap.new[0]]
        assert gap.old != (gap.old[0], gap.old[0]) or gap.new != (gap.new[0], gap.new[0])
        at, new_at = gap.old[1], gap.new[1]
    assert old[at:] == new[new_at:]


@given(many, st.data())
def test_an_inserted_block_of_other_lines_is_found_exactly(
    old: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(old)))
    new = [*old[:place], "new 1", "new 2", *old[place:]]
    assert ((place, place), (place, place + 2)) == tuple(
        chain.from_iterable((gap.old, gap.new) for gap in gaps(old, new))
    )


def test_ranges_follow_the_text() -> None:
    old = "a\nb\nc\nd\n"
    assert [(4, 4)] == shown(moved_lines([Lines(2, 2)], old, "x\ny\na\nb\nc\nd\n"))
    # A line that changed is the whole change, one that went is around its place.
    assert [(2, 3)] == shown(moved_lines([Lines(2, 2)], old, "a\nB1\nB2\nc\nd\n"))
    assert [(1, 2)] == shown(moved_lines([Lines(2, 3)], old, "a\nd\n"))
    assert [(2, 4)] == shown(moved_lines([Lines(2, 2), Lines(3, 3)], old, "a\nB\nB\nc\nd\n"))
    assert [] == shown(moved_lines([Lines(2, 2)], old, ""))


def test_a_text_that_was_moved_is_known_by_half_of_its_lines() -> None:
    assert is_alike("a\nb\nc\nd\n", "c\nb\nx\ny\n")
    assert not is_alike("a\nb\nc\nd\n", "a\nx\ny\nz\n")
    assert not is_alike("", "")
    assert not is_alike("a\n", "a\nb\nc\nd\n")


class Line(str):
    """A line that counts how often it is looked up."""

    __slots__ = ()
    n_looked_up: ClassVar = 0

    def __hash__(self) -> int:  # type: ignore[explicit-override]  # not in 3.11
        Line.n_looked_up += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:  # type: ignore[explicit-override]  # not in 3.11
        return super().__eq__(other)


def test_texts_that_are_made_to_be_slow_are_given_up() -> None:
    """Each round settles one line here: as many rounds as there are lines would be quadratic."""
    # 1 2 1 3 2 4 3 5 4 ...: only the last number stands once, and in what is before it the next.
    numbers = ["1"] + [str(n) for k in range(2, 400) for n in (k, k - 1)]
    old = [Line(number) for number in numbers]
    new = [Line(line) for n, number in enumerate(numbers) for line in (f"new {n}", number)]
    gaps(old, new)
    assert Line.n_looked_up <= 200 * (len(old) + len(new))
