"""Which lines of a file stand on a shelf when ranges of it were chosen."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextpack.model import Style
from contextpack.shelf import Desk, empty_shelf, grown, with_all, with_lines
from contextpack.text import Lines, lined
from harness.memory import COUNT

PATH = "a.py"


def desk_of_text(text: str, *, is_exact: bool = False) -> Desk:
    return Desk(
        texts={PATH: lined(text)},
        languages={PATH: "python"},
        scopes=lambda _: (),
        style=Style(),
        count=COUNT,
        limit=10_000,
        is_exact=is_exact,
    )


def shown(rows: str, *spans: tuple[int, int], is_exact: bool = False) -> list[tuple[int, int]]:
    """The ranges that are shown of a text when these are chosen.

    A dot in `rows` is a blank line, and any other character a line that holds it.
    """
    text = "".join("\n" if row == "." else f"{row}\n" for row in rows)
    desk = desk_of_text(text, is_exact=is_exact)
    piece = grown(None, PATH, [Lines(*span) for span in spans], desk)
    ranges = [section.lines for section in piece.sections] if piece else []
    return [(lines.start, lines.end) for lines in ranges if lines]


@pytest.mark.parametrize(
    ("rows", "chosen", "expected"),
    [
        ("aa.bb.cc", (4, 5), [(3, 6)]),
        ("aa....bb....cc", (7, 8), [(6, 10)]),
        ("aa....bb....cc", (4, 11), [(6, 10)]),
        ("aa....bb....cc", (3, 6), []),
        ("..aa....", (3, 4), [(1, 8)]),
    ],
    ids=["around", "no more than", "not as many as chosen", "nothing but", "all of the file"],
)
def test_few_blank_lines_stand_around_a_range(
    rows: str, chosen: tuple[int, int], expected: list[tuple[int, int]]
) -> None:
    assert expected == shown(rows, chosen)


def test_none_do_where_just_these_lines_are_wanted() -> None:
    assert [(4, 5)] == shown("aa.bb.cc", (3, 6), is_exact=True)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("aaxbba", [(1, 5)]),
        ("aa.xbba", [(1, 6)]),
        ("aaxxbba", [(1, 2), (5, 6)]),
        ("aa...bba", [(1, 7)]),
        ("aa.......bba", [(1, 4), (9, 11)]),
    ],
    ids=["a line", "a line and a blank one", "two lines", "blank lines", "many blank lines"],
)
def test_short_gaps_are_closed(rows: str, expected: list[tuple[int, int]]) -> None:
    second = rows.index("b") + 1
    assert expected == shown(rows, (1, 2), (second, second + 1))


@example([".", "a", ".", ".", "b", "a"], [(2, 2), (5, 5)])
@given(
    st.lists(st.sampled_from(".ab"), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(1, 30), st.integers(0, 8)), min_size=1, max_size=6),
)
def test_ranges_show_the_same_lines_one_by_one_and_together(
    rows: Sequence[str], found: Sequence[tuple[int, int]]
) -> None:
    desk = desk_of_text("".join("\n" if row == "." else f"{row}\n" for row in rows))
    spans = [
        Lines(start, min(start + more, len(rows)))
        for start, more in found
        if start <= len(rows)
    ]
    together = with_all(empty_shelf(desk), [(PATH, span) for span in spans], desk)
    shelf = empty_shelf(desk)
    for span in spans:
        shelf = with_lines(shelf, PATH, span, desk) or shelf
    if together is not None:
        assert shelf.pieces == together.pieces
