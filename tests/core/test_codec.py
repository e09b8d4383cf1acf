"""Facts and term counts survive their bytes, and no bytes do harm."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.codec import (
    Damaged,
    decoded,
    decoded_scopes,
    decoded_terms,
    encoded,
    encoded_terms,
    recipe,
)
from contextpack.model import Chunk, Facts, Import, ImportKind, Symbol, TermCounts
from contextpack.text import Lines
from harness.memory import read_of
from harness.paths import FIXTURES

SOURCES = {
    file.name: file.read_text(encoding="utf-8")
    for file in sorted(FIXTURES.rglob("src/**/*"))
    if file.suffix in {".py", ".ts", ".tsx", ".js", ".jsx", ".cjs"}
}
MAX_LINE = (1 << 31) - 1

texts = st.text(st.characters(exclude_categories=[]), max_size=12)  # Lone surrogates too.
numbers = st.integers(0, MAX_LINE)
lines = st.tuples(st.integers(1, MAX_LINE), st.integers(0, 1000)).map(
    lambda pair: Lines(pair[0], pair[0] + pair[1])
)
imports = st.builds(
    Import,
    texts,
    st.integers(1, MAX_LINE),
    numbers,
    st.lists(texts, max_size=3).map(tuple),
    st.sampled_from(ImportKind),
)
symbols = st.builds(Symbol, texts, texts, lines, lines, numbers)
chunks = st.builds(Chunk, lines, numbers, st.booleans())


def tuples(items: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(items, max_size=5).map(tuple)


any_facts = st.builds(
    Facts,
    texts,
    numbers,
    numbers,
    tuples(imports),
    tuples(symbols),
    tuples(chunks),
    tuples(texts),
)


@st.composite
def term_counts(draw: st.DrawFn) -> TermCounts:
    vocabulary = draw(st.lists(st.text("abcß字", min_size=1), max_size=300, unique=True))
    keys = st.tuples(numbers, st.integers(0, max(0, len(vocabulary) - 1)))
    found = draw(st.lists(keys, max_size=20, unique=True)) if vocabulary else []
    counts = st.lists(
        st.integers(0, 0xFFFF) | st.integers(250, 260) | st.just(0),
        min_size=len(found),
        max_size=len(found),
    )
    return TermCounts(
        vocabulary="\n".join(vocabulary),
        chunks=np.array([chunk for chunk, _ in sorted(found)], "<u4").tobytes(),
        terms=np.array([term for _, term in sorted(found)], "<u4").tobytes(),
        body=np.array(draw(counts), "<u2").tobytes(),
        names=np.array(draw(counts), "<u2").tobytes(),
    )


@given(any_facts)
def test_any_facts_survive_their_bytes(facts: Facts) -> None:
    assert facts == decoded(encoded(facts))


@given(term_counts())
def test_any_term_counts_survive_their_bytes(counts: TermCounts) -> None:
    assert counts == decoded_terms(encoded_terms(counts))


@given(
    path=st.sampled_from(sorted(SOURCES)),
    other=st.sampled_from(sorted(SOURCES)),
    middle=texts,
    data=st.data(),
)
def test_what_a_spliced_text_says_survives_its_bytes(
    path: str, other: str, middle: str, data: st.DataObject
) -> None:
    head = SOURCES[path][: data.draw(st.integers(0, len(SOURCES[path])))]
    tail = SOURCES[other][data.draw(st.integers(0, len(SOURCES[other]))) :]
    facts, counts = read_of(path, head + middle + tail)
    assert facts == decoded(encoded(facts))
    assert counts == decoded_terms(encoded_terms(counts))
    assert encoded(facts) == encoded(decoded(encoded(facts)))


Reader = Callable[[bytes], object]


@pytest.fixture(scope="module")
def sound_bytes() -> dict[Reader, bytes]:
    """What each of the two reads, of everything in one file."""
    facts, counts = read_of("cart.py", "\n".join(SOURCES.values()))
    return {decoded: encoded(facts), decoded_terms: encoded_terms(counts)}


@pytest.mark.parametrize("read", [decoded, decoded_terms])
@given(data=st.data())
def test_damaged_bytes_are_said_to_be(
    sound_bytes: dict[Reader, bytes], read: Reader, data: st.DataObject
) -> None:
    sound = sound_bytes[read]
    at = data.draw(st.integers(0, len(sound)))
    n_lost = data.draw(st.sampled_from([0, 1, 2, 1000]))
    damaged = sound[:at] + data.draw(st.binary(max_size=6)) + sound[at + n_lost :]
    try:
        result = read(damaged)
    except Damaged:
        return
    assert isinstance(result, Facts | TermCounts)  # Valid bytes of something else.


@pytest.mark.parametrize("read", [decoded, decoded_terms])
@given(data=st.binary())
def test_random_bytes_are_no_facts(read: Reader, data: bytes) -> None:
    with pytest.raises(Damaged):
        read(data)


@pytest.mark.parametrize("read", [decoded, decoded_terms])
def test_every_cut_is_noticed(sound_bytes: dict[Reader, bytes], read: Reader) -> None:
    sound = sound_bytes[read]
    for end in range(len(sound)):
        with pytest.raises(Damaged):
            read(sound[:end])


def test_sources_are_small_in_memory() -> None:
    read = [read_of(name, text) for name, text in SOURCES.items()]
    n_bytes = sum(len(text.encode()) for text in SOURCES.values())
    # 0.6 KB for 4 KB of source.
    assert sum(len(encoded(facts)) for facts, _ in read) <= 0.15 * n_bytes
    held = sum(
        len(counts.vocabulary.encode())
        + len(counts.chunks + counts.terms + counts.body + counts.names)
        for _, counts in read
    )
    assert sum(len(encoded_terms(counts)) for _, counts in read) <= 0.5 * held


def test_a_recipe_is_known_by_all_of_its_ingredients() -> None:
    one = recipe([("tree-sitter-python", "0.25.0"), ("tokenizer", "o200k")])
    assert one == recipe([("tokenizer", "o200k"), ("tree-sitter-python", "0.25.0")])
    assert one != recipe([("tokenizer", "cl100k"), ("tree-sitter-python", "0.25.0")])
    assert one != recipe([("tree-sitter-python", "0.25.0")])


@given(any_facts)
def test_scopes_are_where_the_symbols_stand(found: Facts) -> None:
    expected = tuple(
        (s.lines.start, s.lines.end, s.signature.start, s.signature.end) for s in found.symbols
    )
    assert expected == decoded_scopes(encoded(found))
