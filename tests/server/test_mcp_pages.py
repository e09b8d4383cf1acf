"""Pages of a text: each within its bound, joined the whole."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from contextpackd.mcp.pages import pages

WORDS = st.text(alphabet="ab é…\U0001f600\n\r\x0b\u2028", max_size=200)


@given(WORDS, st.integers(4, 60))
def test_pages_are_bounded_and_join_to_the_whole(text: str, most: int) -> None:
    found = pages(text, most)
    assert text == "".join(found)
    assert all(len(page.encode()) <= most for page in found)
    assert all(found) or (text, ("",)) == ("", found)


@given(st.lists(st.text(alphabet="abé", max_size=8), max_size=20), st.integers(20, 60))
def test_lines_that_fit_are_never_cut(lines: list[str], most: int) -> None:
    found = pages("".join(f"{line}\n" for line in lines), most)
    assert all(page.endswith("\n") for page in found if page)


@given(WORDS, st.integers(4, 60))
def test_no_page_has_room_for_the_start_of_the_next(text: str, most: int) -> None:
    found = pages(text, most)
    for page, following in itertools.pairwise(found):
        assert len((page + following.splitlines(keepends=True)[0]).encode()) > most
