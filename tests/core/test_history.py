"""The index of past commits: however it was made, it says the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.codec import Damaged
from contextpack.history import (
    MAX_COMMITS,
    MAX_TOGETHER,
    NO_HISTORY,
    SMOOTHING,
    Commit,
    History,
    Touch,
    alike,
    archived,
    companions,
    credited,
    extended,
    restored,
)

# Words that are their own stems.
WORDS = ("lexer", "comma", "glob", "unicorn")
PATHS = ("a.py", "b.py", "c.py", "d.py")
WEIGHTS = dict.fromkeys(WORDS, 1.0) | {"absent": 2.0}

touches = st.builds(Touch, st.sampled_from(PATHS), st.none() | st.sampled_from(PATHS))
commits = st.builds(
    Commit,
    st.lists(st.sampled_from(WORDS)).map(" ".join),
    st.lists(touches, max_size=3).map(tuple),
)


def files(history: History, weights: dict[str, float]) -> dict[str, float]:
    return credited(history, alike(history, weights))


@given(st.lists(commits, max_size=8), st.integers(0, 8))
def test_commits_that_come_later_give_the_same_as_all_at_once(
    made: list[Commit], n_first: int
) -> None:
    at_once = extended(NO_HISTORY, "b", made)
    in_steps = extended(extended(NO_HISTORY, "a", made[:n_first]), "b", made[n_first:])
    assert archived(in_steps) == archived(at_once)


@given(st.lists(commits, max_size=5))
def test_what_is_kept_is_what_was_there(made: list[Commit]) -> None:
    history = extended(NO_HISTORY, "a", made)
    assert archived(restored(archived(history))) == archived(history)
    assert files(restored(archived(history)), WEIGHTS) == files(history, WEIGHTS)


def test_damaged_bytes_are_no_history() -> None:
    data = archived(extended(NO_HISTORY, "a", [Commit("comma", (Touch("a.py"),))]))
    with pytest.raises(Damaged):
        restored(data[:-1])
    with pytest.raises(Damaged):
        restored(b"")


def test_the_oldest_commits_go_when_there_are_too_many() -> None:
    old = [Commit("lexer comma", (Touch("old.py"),))]
    new = [Commit("comma", (Touch("new.py"),))] * MAX_COMMITS
    history = extended(extended(NO_HISTORY, "a", old), "b", new)
    assert history.n_commits == MAX_COMMITS
    assert list(files(history, WEIGHTS)) == ["new.py"]
    assert alike(history, {"lexer": 1.0}).max() == 0


def test_a_query_that_no_commit_is_about_makes_none_stand_out() -> None:
    history = extended(
        NO_HISTORY, "a", [Commit("glob", (Touch("a.py"),)), Commit("lexer", (Touch("b.py"),))]
    )
    (all_of_it,) = files(history, {"glob": 1.0}).values()
    (a_part,) = files(history, {"glob": 1.0, "comma": 1.0, "unicorn": 1.0}).values()
    assert 0 < a_part < all_of_it


def test_companions_are_what_commits_changed_together() -> None:
    def made(*paths: str) -> Commit:
        return Commit("comma", tuple(Touch(path) for path in paths))

    wide = [f"wide{n}.py" for n in range(MAX_TOGETHER)]
    history = extended(
        NO_HISTORY,
        "x",
        [
            made("a.py", "b.py"),
            made("a.py", "b.py", "c.py"),
            made("a.py", *wide),
            made("once.py", "c.py"),
        ],
    )
    found = companions(history, {"a.py": 2.0})
    assert found.keys() == {"b.py", "c.py"}
    # Two commits of `a.py` are small enough to count, as many hold `b.py`, one of them alone.
    assert found["b.py"] == pytest.approx(2.0 * (1 + 1 / 2) / (2 + SMOOTHING))
    assert 0 < found["c.py"] < found["b.py"]
    assert companions(history, {"once.py": 1.0, "unknown.py": 1.0}) == {}
    both = companions(history, {"a.py": 2.0, "c.py": 1.0})
    assert both["b.py"] == found["b.py"]
    assert both["a.py"] > 0
