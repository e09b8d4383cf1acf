"""A scorer of the caller's own, from Python: whole files by its scores."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import contextpackd
from contextpackd.errors import OptionProblem
from harness.trees import write

FILES = {"long.py": "value = 1\n" * 30, "short.py": "value = 1\n", "none.txt": "value\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, FILES)
    return tmp_path


def by_length(query: str, texts: Mapping[str, str]) -> dict[str, float]:
    assert "anything" == query
    return {path: len(text) for path, text in texts.items() if path.endswith(".py")}


def test_its_scores_decide_and_are_told(root: Path) -> None:
    pack = contextpackd.open(root).pack("anything", scorer=by_length)
    assert ["long.py", "short.py"] == [item.path for item in pack.items]
    assert {("the scorer that was passed in ranks it",)} == {i.reasons for i in pack.items}
    assert {"long.py": 300, "short.py": 10, "none.txt": None} == {
        entry.path: entry.score for entry in pack.ledger
    }


@pytest.mark.parametrize(
    ("scores", "said"),
    [({"other.py": 1.0}, "other.py"), ({"long.py": float("nan")}, "nan for long.py")],
)
def test_what_it_may_not_say(root: Path, scores: dict[str, float], said: str) -> None:
    with pytest.raises(OptionProblem, match=said):
        contextpackd.open(root).pack("anything", scorer=lambda _query, _texts: scores)


def test_json_has_no_name_for_it(root: Path) -> None:
    with pytest.raises(TypeError, match="use pack"):
        contextpackd.open(root).pack_json("anything", scorer=by_length)
