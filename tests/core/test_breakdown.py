"""What is told of a score makes it: the parts of each chunk and file give it by the stated rule."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.classic import File, normalize_query, score_repo
from contextpack.plan import plan
from contextpack.rank import rank
from contextpack.ranking import RULE, Ranking, classic_ranking
from contextpack.request import Focus, Request, Scorer
from contextpack.text import Lines
from harness.memory import history_of, snapshot_of
from harness.strategies import queries, workspaces

# Of ten parts, each rounded to six digits.
TOLERANCE = 1e-5


def score_of(parts: Mapping[str, float]) -> float:
    """The score by the rule, which is written out here once more."""
    added = ("mention", "line", "focus", "changed", "test", "reach")
    apart = {"factor", "header", "divisor", *added}
    inner = sum(value for name, value in parts.items() if name not in apart)
    outright = sum(parts.get(name, 0.0) for name in added)
    before = parts.get("factor", 1.0) * inner + outright
    return max(before, parts.get("header", 0.0)) / parts.get("divisor", 1.0)


def check(ranking: Ranking) -> set[str]:
    """Recompute every score; the names of all parts."""
    names = set[str]()
    best: dict[str, float] = {}
    for chunk in ranking.chunks():
        parts = ranking.parts(chunk)
        assert score_of(parts) == pytest.approx(chunk.score, abs=TOLERANCE)
        best.setdefault(chunk.path, chunk.score)
        names |= parts.keys()
    for file in ranking.files:
        assert score_of(file.parts) == pytest.approx(file.score, abs=TOLERANCE)
        assert best.get(file.path, file.score) == file.score
        names |= file.parts.keys()
    return names


@given(workspaces, queries)
def test_the_parts_make_the_score(files: dict[str, str], query: str) -> None:
    commits = [("total of the cart", [f"{path}:1-9" for path in list(files)[:2]])]
    check(rank(replace(snapshot_of(files), history=history_of(commits)), query))


@given(workspaces, st.sampled_from(["cart total", "parse", "x"]))
def test_so_do_those_of_the_classic_scorer(files: dict[str, str], query: str) -> None:
    read = [File(path, text, 0.0) for path, text in files.items()]
    scored = score_repo(read, normalize_query(query))
    scores = {found.path: found.score for found in scored}
    assert check(classic_ranking(snapshot_of(files), scores)) <= {"classic"}


FILLER = "".join(f"    total = total + {number} * total\n" for number in range(20))
LONG_FILLER = FILLER * 6


def function(name: str, word: str) -> str:
    return f"\n\ndef {name}(total):\n    {word} = total\n{FILLER}    return total\n"


def test_every_part_of_the_rule_is_met() -> None:
    files = {
        "src/comma_lexer.py": "import os\n" * 40
        + function("lex_comma", "comma")
        + function("other", "comma"),
        "src/long.py": f"def long(comma):\n{LONG_FILLER}",
        "src/parser.py": "from src.comma_lexer import lex_comma\n\n"
        + function("parse", "lex_comma(total)"),
        "tests/test_lexer.py": function("test_lexer", "comma"),
        "lexer/readme.md": "# Comma\n\nA comma.\n",
    }
    made = replace(
        snapshot_of(files), history=history_of([("comma lexer", ["src/parser.py:3-20"])])
    )
    names = check(rank(made, "comma lexer in src/comma_lexer.py:45"))
    names |= check(rank(made, ""))
    # A part that appears must be known to the rule, and to this test.
    assert names == {
        "stem", "named", "mention", "history", "touched", "imports", "used", "using",
        "directory", "file", "chunk", "line", "factor", "header", "divisor", "importers",
        "depth",
    }  # fmt: skip
    for name in ("factor", "mention", "line", "header", "divisor"):
        assert name in RULE


def test_so_do_those_of_entry_points() -> None:
    files = {
        "src/lexer.py": "import os\n" * 40 + function("lex_comma", "comma"),
        "src/parser.py": "from src.lexer import lex_comma\n"
        + function("parse", "lex_comma(1)"),
        "tests/test_lexer.py": "from src.lexer import lex_comma\n"
        + function("test_lexer", "lex_comma(2)"),
    }
    made = snapshot_of(files)
    names = set[str]()
    for query in ("comma", ""):
        for scorer in Scorer:
            focus = Request(query=query, focus=(Focus("src/lexer.py"),), scorer=scorer)
            names |= check(plan(made, focus).ranking)
            origin = Request(query=query, origins=("src/parser.py",), scorer=scorer)
            names |= check(plan(made, origin).ranking)
            changed = Request(query=query, diff="HEAD", scorer=scorer)
            lines = {"src/lexer.py": (Lines(43, 44),)}
            names |= check(plan(made, changed, changed=lines).ranking)
    outright = {"focus", "reach", "changed", "test"}
    assert outright | {"near", "caller"} <= names
    assert all(name in RULE for name in outright)


def test_what_is_kept_of_an_answer_has_no_parts() -> None:
    ranking = rank(snapshot_of({"a.py": "comma = 1\n"}), "comma").without_parts()
    assert [{}] == [file.parts for file in ranking.files]
    assert [{}] == [ranking.parts(chunk) for chunk in ranking.chunks()]
