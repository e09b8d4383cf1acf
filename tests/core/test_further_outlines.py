"""Outlines of further languages are total, and what is hostile costs no more than its size."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.languages.c import is_cpp
from contextpack.text import split_lines
from harness.cases import read_cases
from harness.memory import facts_of
from harness.paths import FIXTURES, ROOT

SUFFIXES = (".go", ".rs", ".java", ".c", ".h", ".cc")
SOURCES: list[str] = sorted(
    {
        text
        for language in ("go", "rust", "java", "c")
        for case in read_cases(ROOT / "tests" / "cases" / f"outline_{language}.md")
        for text in case.files.values()
    }
    | {
        text
        for file in sorted((FIXTURES / "imports").glob("*.jsonl"))
        for line in file.read_text("utf-8").splitlines()
        for path, text in json.loads(line)["files"].items()
        if path.endswith(SUFFIXES)
    }
)
paths = st.sampled_from([f"a{suffix}" for suffix in SUFFIXES])


@st.composite
def spliced(draw: st.DrawFn) -> str:
    one, other = draw(st.sampled_from(SOURCES)), draw(st.sampled_from(SOURCES))
    head = one[: draw(st.integers(0, len(one)))]
    tail = other[draw(st.integers(0, len(other))) :]
    return head + draw(st.text(max_size=20)) + tail


@given(path=paths, text=st.one_of(st.text(), spliced()))
def test_any_text_has_an_outline_within_its_lines(path: str, text: str) -> None:
    found = facts_of(path, text)
    n_lines = len(split_lines(text))
    covered = [
        n for chunk in found.chunks for n in range(chunk.lines.start, chunk.lines.end + 1)
    ]
    assert covered == list(range(1, n_lines + 1))
    open_ends: list[int] = []
    for symbol in found.symbols:
        assert 1 <= symbol.lines.start <= symbol.signature.end <= symbol.lines.end <= n_lines
        del open_ends[symbol.depth :]
        assert len(open_ends) == symbol.depth
        open_ends.append(symbol.lines.end)
    for imported in found.imports:
        assert 1 <= imported.line <= n_lines


HOSTILE = {
    "a.rs": [
        "mod a { use b::c; " * 3000,
        "use a::{" * 3000,
        "fn f() { crate" + "::a" * 20000 + "(); }",
        "#[a]\n" * 5000 + "mod x;",
        "fn f() {" * 3000,
    ],
    "a.go": ["func f() { " * 3000, "import (\n" * 3000, "var x = " + "(" * 5000],
    "a.java": [
        "class A { " * 3000,
        "import " + "a." * 20000 + "B;",
        "@A(" * 5000,
    ],
    "a.c": ["int f(void) { " * 3000, "#if X\n" * 3000, "int " + "*" * 20000 + "f(void) {}"],
    "a.h": [
        "namespace a { " * 3000,
        "template <" * 5000,
        "x class y " * 5000,
        "#define F(x) \\\n" * 5000,
    ],
}


@pytest.mark.parametrize(
    ("path", "text"),
    [(path, text) for path, texts in HOSTILE.items() for text in texts],
    ids=lambda value: value[:16].strip(),
)
def test_deep_and_long_code_ends(path: str, text: str) -> None:
    # What took quadratic time would not end within anybody's patience.
    assert facts_of(path, text).chunks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("namespace a {\n}\n", True),
        ("#pragma once\n\n  template <class T> struct S;\n", True),
        ("struct s {\npublic:\n  int a;\n};\n", True),
        ("using namespace std;\n", True),
        ("class A;\n", True),
        ("struct class { int namespace; };\nint template;\n", False),
        ("/* A class of things, using templates <of> a kind.\n * public: no\n */\n", False),
        ("int using_x; int classes;\n", False),
        ("", False),
    ],
)
def test_a_header_is_cpp_when_only_cpp_says_so(text: str, expected: bool) -> None:
    assert expected == is_cpp(text)
