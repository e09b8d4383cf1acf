"""Runs every section of `tests/cases/*.md` as a test."""

from pathlib import Path

import pytest

from harness.cases import Case, read_cases

CASES = [
    case
    for file in sorted((Path(__file__).parent / "cases").glob("*.md"))
    for case in read_cases(file)
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file.stem}: {case.name}")
def test_case(case: Case, request: pytest.FixtureRequest) -> None:
    actual = case.actual()
    if actual != case.expected and request.config.getoption("--update-golden"):
        # Sections before this one may have grown meanwhile: find it again by its name.
        text = case.file.read_text(encoding="utf-8")
        current = next(c for c in read_cases(case.file) if c.name == case.name)
        start, end = current.span
        case.file.write_text(text[:start] + actual + text[end:], encoding="utf-8")
        pytest.fail(f"rewrote {case.file.name}: {case.name}")
    assert case.expected == actual
