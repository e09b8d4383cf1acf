"""Remembered counts are the counts, cost what is new, and stay within their room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.tokens import PROFILES, Profile, profile_of
from contextpackd.counters import Counts, counter

O200K = profile_of("o200k")
# What the vocabularies join to a neighbour, on both sides of where texts are cut.
FRAGMENTS = (
    "\n`", ");\n`", ");\n/", "`", "\n", "\r", " ", "\t", "/", "//", "```", "\n```\n\n`a.py:1`\n", "a", "Ab", "'s", ");", "é",
    "\u0301", "12", "1234", "\x1c", "\u2028", "漢", "😀", "\ud800", "...", "=",
)  # fmt: skip
texts = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)


def piece(path: str, body: str) -> str:
    return f"`{path}:1-9`\n```python\n{body}\n```\n\n"


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@given(
    batches=st.lists(st.lists(texts, max_size=4), max_size=6), room=st.sampled_from([0, 9, 999])
)
def test_a_remembered_count_is_the_count(
    profile: Profile, batches: list[list[str]], room: int
) -> None:
    remembering, plain = counter(profile, Counts(room)), counter(profile)
    for batch in [*batches, *batches]:
        assert plain.count_many(batch) == remembering.count_many(batch)


@given(before=texts, after=texts)
def test_counts_add_up_where_texts_are_cut(before: str, after: str) -> None:
    for name in ("o200k", "cl100k"):
        count = counter(profile_of(name))
        whole = f"{before}\n`{after}".encode("utf-8", "replace").decode()
        left, _, right = whole.partition("\n`")
        assert count(whole) == sum(count.count_many([f"{left}\n", f"`{right}"]))


def test_a_bundle_costs_nothing_once_its_pieces_were_counted() -> None:
    counts = Counts()
    count = counter(O200K, counts)
    pieces = [piece(f"a{i}.py", f"def f{i}():\n    return {i}") for i in range(9)]
    count.count_many(pieces)
    n_before = counts.n_counted
    assert sum(count.count_many(pieces)) == count("".join(pieces))
    assert n_before == counts.n_counted


def test_after_an_edit_only_the_edited_content_is_counted() -> None:
    counts = Counts()
    count = counter(O200K, counts)
    pieces = [piece(f"a{i}.py", f"def f{i}():\n    return {i}") for i in range(9)]
    count("".join(pieces))
    n_before = counts.n_counted
    edited = "```python\ndef f4():\n    return None\n"
    pieces[4] = piece("a4.py", "def f4():\n    return None")
    count("".join(pieces))
    assert n_before + len(edited) == counts.n_counted


def test_what_nobody_asks_for_again_makes_room() -> None:
    counts = Counts(1000)
    count = counter(O200K, counts)
    for number in range(200):
        count("the one that is asked for again and again")
        count(f"{number:<99}")
        assert len(counts) <= 1000 + 2 * 99
    n_before = counts.n_counted
    count("the one that is asked for again and again")
    assert n_before == counts.n_counted
    count(f"{0:<99}")
    assert n_before + 99 == counts.n_counted
