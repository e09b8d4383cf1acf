"""Whole outputs kept as files under `tests/cases`. Never edited by hand: the diff is reviewed."""

from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "cases"


def assert_golden(config: pytest.Config, name: str, actual: str) -> None:
    """The output equals the file's text; with `--update-golden` the file is rewritten instead.

    A rewritten file fails the run, so that no change passes unseen.
    """
    file = CASES / name
    expected = file.read_bytes().decode() if file.exists() else ""
    if expected != actual and config.getoption("--update-golden"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(actual.encode())
        pytest.fail(f"rewrote {file}: review the difference")
    assert expected == actual, f"{name} is out of date; pytest --update-golden rewrites it"
