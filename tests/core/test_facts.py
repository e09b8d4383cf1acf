"""Facts exist for any text, and their chunks cover it."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.terms import terms, words
from contextpack.text import Lines, split_lines
from harness.cases import read_cases
from harness.golden import CASES
from harness.memory import facts_of, read_of
from harness.paths import FIXTURES

SOURCES = [
    file.read_text(encoding="utf-8")
    for file in sorted(FIXTURES.rglob("src/**/*"))
    if file.suffix in {".py", ".ts", ".tsx", ".js", ".jsx", ".cjs"}
]
# The cases' own sources are texts in every language that has an outline.
SOURCES += [
    text
    for file in sorted(CASES.glob("outline_*.md"))
    for case in read_cases(file)
    for text in case.files.values()
]
SCANNED = [
    "a.md",
    "a.rst",
    "a.json",
    "a.toml",
    "a.yaml",
    "a.ini",
    "a.html",
    "a.css",
    "a.scss",
    "a.ipynb",
]
PATHS = ["a.py", "a.pyi", "a.js", "a.jsx", "a.ts", "a.tsx", "a.go", "a.md", "a"]
PATHS += ["a.vue", "a.astro", "a.rs", "a.java", "a.c", "a.cpp"]
PATHS += ["a.cs", "a.rb", "a.php", "a.sh", "a.lua", "a.rst", "a.json", "a.toml", "a.yaml"]
PATHS += ["a.ini", "a.html", "a.css", "a.scss", "a.ipynb"]
PATHS += ["a.kt", "a.scala", "a.ex", "a.hs", "a.ml", "a.r", "a.jl", "a.pl", "a.erl", "a.sql"]
PATHS += [
    "a.lisp",
    "a.el",
    "a.elm",
    "a.f90",
    "a.tf",
    "a.m",
    "a.mk",
    "a.dockerfile",
    "a.hack",
    "a.ql",
]
paths = st.sampled_from(PATHS)


@st.composite
def spliced(draw: st.DrawFn) -> str:
    """Two sources cut somewhere and joined, as a text is while somebody edits it."""
    one, other = draw(st.sampled_from(SOURCES)), draw(st.sampled_from(SOURCES))
    head = one[: draw(st.integers(0, len(one)))]
    tail = other[draw(st.integers(0, len(other))) :]
    return head + draw(st.text(max_size=20)) + tail


@given(path=paths, text=st.one_of(st.text(), spliced()))
def test_the_chunks_of_any_text_cover_it_in_order(path: str, text: str) -> None:
    found = facts_of(path, text)
    n_lines = len(split_lines(text))
    assert found.n_lines == n_lines
    covered = [
        n for chunk in found.chunks for n in range(chunk.lines.start, chunk.lines.end + 1)
    ]
    assert covered == list(range(1, n_lines + 1))
    inside: list[Lines] = []
    for symbol in found.symbols:
        del inside[symbol.depth :]
        assert len(inside) == symbol.depth
        assert not inside or inside[-1].start <= symbol.lines.start
        assert not inside or symbol.lines.end <= inside[-1].end
        inside.append(symbol.lines)
        assert 1 <= symbol.lines.start <= symbol.signature.end <= symbol.lines.end <= n_lines
    for named in found.imports:
        assert 1 <= named.line <= n_lines


@given(path=paths, text=spliced())
def test_equal_texts_have_equal_facts(path: str, text: str) -> None:
    assert facts_of(path, text) == facts_of("other/" + path, text)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "unit", ["(", "[", "{", "f(", "if x:\n ", "<a>", "`${", "namespace a {\n"]
)
def test_deep_nesting_does_not_recurse(path: str, unit: str) -> None:
    text = "x = 1\n" + unit * 5000 + "\ny = 2\n"
    assert facts_of(path, text).chunks


@pytest.mark.parametrize("unit", ["f<T, ", "(", "a ? b : ", "x = <"])
def test_texts_that_a_parser_cannot_finish_are_plain_chunks(unit: str) -> None:
    found = facts_of("a.ts", f"{unit}\n" * 40_000 if unit == "(" else unit * 40_000)
    assert found.chunks
    assert found.problems


@pytest.mark.parametrize(
    ("path", "unit"), [("a.lua", "local x = = 1\n"), ("a.jl", "x = = 1\n"), ("a.sh", "x=( (\n")]
)
def test_a_long_text_whose_every_line_is_read_to_the_end_is_plain_chunks(
    path: str, unit: str
) -> None:
    # From each error these scanners look for the end of a string through the rest of the text.
    found = facts_of(path, unit * (100_000 // len(unit)))
    assert ("too much work to parse",) == found.problems
    sound = "local function f(a)\n  return a\nend\n"
    assert facts_of("a.lua", sound * 4000 + unit + sound * 10).symbols


def test_long_ruby_of_short_methods_has_an_outline() -> None:
    found = facts_of("a.rb", "".join(f"def m{n}\n  a\nend\n" for n in range(8000)))
    assert 8000 == len(found.symbols)
    assert () == found.problems


def test_a_carriage_return_alone_ends_a_line_for_symbols_too() -> None:
    found = facts_of("a.py", "import os\rdef f():\r    return 1\r\ndef g():\n    return 2\n")
    assert [("f", 2, 3), ("g", 4, 5)] == [
        (s.name, s.lines.start, s.lines.end) for s in found.symbols
    ]


def test_lone_surrogates_and_nuls_are_text() -> None:
    found = facts_of("a.py", "x = '\ud800'\ndef f\0(): pass\n")
    assert found.n_lines == 2


def test_the_signature_of_a_long_definition_stands_with_its_body() -> None:
    short = "def short():\n" + "    x = 1\n" * 5
    long = "def long(\n    a,\n):\n" + "".join(
        f"    if a:\n        y = {n}\n" for n in range(60)
    )
    found = facts_of("a.py", short + long)
    starts = [chunk.lines.start for chunk in found.chunks]
    assert 7 in starts
    chunk = found.chunks[starts.index(7)]
    assert chunk.lines.end > 9 + 3


@pytest.mark.parametrize("path", SCANNED)
@pytest.mark.parametrize(
    "unit", [" ", "\t", "- ", "# ", '\\"', "'", "a: ", "<h1", "<!--", "|", "](", "a.", "\n"]
)
def test_a_line_of_one_unit_is_read_once(path: str, unit: str) -> None:
    # Quadratic scanners would take minutes for this. Parsers are: they need a deadline around them.
    assert facts_of(path, "x" + unit * 30_000 + "y\n").n_lines >= 1


@given(text=st.sampled_from(SOURCES) | st.text("ab_ \n\r(é", max_size=200))
def test_each_term_of_a_chunk_is_counted(text: str) -> None:
    made, counted = read_of("a.py", text)
    lines = split_lines(text)
    vocabulary = counted.vocabulary.split("\n")
    spoken = [
        Counter(term for word in words(written) for term in terms(word))
        for chunk in made.chunks
        for written in ["".join(lines[chunk.lines.start - 1 : chunk.lines.end])]
    ]
    defined: list[Counter[str]] = [Counter() for _ in made.chunks]
    for symbol in made.symbols:
        for chunk, count in zip(made.chunks, defined, strict=True):
            if chunk.lines.start <= symbol.lines.end and symbol.lines.start <= chunk.lines.end:
                count.update(term for word in words(symbol.name) for term in terms(word))
    chunks, terms_of = (np.frombuffer(c, "<u4") for c in (counted.chunks, counted.terms))
    body, names = (np.frombuffer(c, "<u2") for c in (counted.body, counted.names))
    rows = list(zip(*(c.tolist() for c in (chunks, terms_of, body, names)), strict=True))
    found = {(chunk, vocabulary[term]): (uses, named) for chunk, term, uses, named in rows}
    assert rows == sorted(rows)
    assert len(found) == len(rows)
    assert found == {
        (chunk, term): (spoken[chunk][term], defined[chunk][term])
        for chunk in range(len(made.chunks))
        for term in spoken[chunk] | defined[chunk]
    }
    # In the order in which they come, all texts before all names.
    order = [term for count in (*spoken, *defined) for term in count]
    assert vocabulary == (list(dict.fromkeys(order)) or [""])
