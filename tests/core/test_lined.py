"""Texts with the offsets of their lines, held against the lines themselves."""

from hypothesis import given
from hypothesis import strategies as st

from contextpack.text import Lines, lined, split_lines

texts = st.text(alphabet="ab é😀\ud800\n\r\t\x0c\u2028", max_size=40)


@given(texts, st.integers(1, 12), st.integers(0, 12))
def test_a_run_of_lines_is_those_lines(text: str, start: int, more: int) -> None:
    found, lines = lined(text), split_lines(text)
    assert len(lines) == len(found)
    assert "".join(lines[start - 1 : start + more]) == found.of(Lines(start, start + more))
    assert text == found.of(found.whole)
