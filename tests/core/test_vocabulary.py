"""A vocabulary answers as a dictionary of its terms does."""

from itertools import count, islice
from zlib import crc32

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contextpack.vocabulary import vocabulary

# Few letters, so that terms begin and end alike; surrogates are in files, too.
TERMS = st.lists(st.text("ab\ud800é", min_size=1, max_size=4), unique=True, max_size=60)


@given(terms=TERMS, others=TERMS)
def test_terms_have_the_numbers_of_their_places(terms: list[str], others: list[str]) -> None:
    made = vocabulary(terms)
    numbers = {term: number for number, term in enumerate(terms)}
    assert [made.get(term) for term in terms] == list(range(len(terms)))
    assert [made.get(term) for term in others] == [numbers.get(term, -1) for term in others]
    assert [made.term(number) for number in range(len(made))] == terms
    assert list(made) == terms
    assert [term in made for term in others] == [term in numbers for term in others]
    places = np.arange(len(terms))
    assert made.n_bytes(places).tolist() == [
        len(term.encode("utf-8", "surrogatepass")) for term in terms
    ]
    elsewhere = vocabulary(others)
    found = elsewhere.find(made.written(places))
    assert found.tolist() == [others.index(term) if term in others else -1 for term in terms]


def test_terms_that_meet_at_the_end_of_the_table_go_on_at_its_front() -> None:
    last = 15  # Of the sixteen places that three terms have.
    named = (f"term{number}" for number in count())
    terms = list(islice((t for t in named if crc32(f"{t}\n".encode()) & last == last), 4))
    made = vocabulary(terms[:3])
    assert len(made.table) == last + 1
    assert sorted(made.table[[-1, 0, 1]].tolist()) == [0, 1, 2]
    assert [made.get(term) for term in terms] == [0, 1, 2, -1]
    others = vocabulary(reversed(terms))
    assert made.find(others.written(np.arange(4))).tolist() == [-1, 2, 1, 0]
