"""The lines that past commits changed are found again where later ones moved them."""

from difflib import SequenceMatcher

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contextpack.history import MAX_TOUCHED, NO_HISTORY, Commit, Touch, extended
from contextpack.hunks import MAX_HUNKED_COMMITS, NO_HUNKS, Edit, Ints, carried

File = list[int]
"""The lines of a file at one time: each line ever written is another number."""


def hunks(*rows: tuple[int, int, int, int]) -> Ints:
    return np.array(rows, np.int32).reshape(-1, 4)


def diff(old: File, new: File) -> Ints:
    """As git counts: where there are no lines, the one before the place."""
    return hunks(
        *(
            (a + (b > a), b - a, c + (d > c), d - c)
            for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            if tag != "equal"
        )
    )


@st.composite
def versions(draw: st.DrawFn) -> list[File]:
    """A file as commits leave it, one after the other; the first one has made it."""
    made: list[File] = []
    file: File = []
    written = 0
    for _ in range(draw(st.integers(1, 6))):
        after: File = []
        for line in file:
            n_new = draw(st.sampled_from((0, 0, 0, 0, 1, 3)))
            after += range(written, written + n_new)
            written += n_new
            if draw(st.sampled_from((True, True, True, False))):
                after.append(line)
        after += [written, written + 1]
        written += 2
        file = after
        made.append(file)
    return made


def edits_of(made: list[File]) -> list[Edit]:
    return [
        Edit(commit, 0, diff(old, new))
        for commit, (old, new) in enumerate(zip([[], *made], made, strict=False))
    ]


@given(versions())
def test_lines_are_found_where_they_stand_today(made: list[File]) -> None:
    kept = carried(NO_HUNKS, edits_of(made)).tolist()
    before = set[int]()
    for commit, file in enumerate(made):
        for line in sorted(set(file) - before):
            if line in made[-1]:
                at = made[-1].index(line) + 1
                assert any(row[0] == commit and row[2] <= at <= row[3] for row in kept)
        before |= set(file)
    assert all(1 <= first <= last <= len(made[-1]) + 1 for _, _, first, last in kept)


@given(st.lists(versions(), min_size=1, max_size=3), st.integers(0, 6))
def test_edits_that_come_later_give_the_same_as_all_at_once(
    files: list[list[File]], n_first: int
) -> None:
    edits = [
        Edit(edit.commit, number, edit.hunks)
        for number, made in enumerate(files)
        for edit in edits_of(made)
    ]
    edits.sort(key=lambda edit: edit.commit)
    in_steps = carried(carried(NO_HUNKS, edits[:n_first]), edits[n_first:])
    assert in_steps.tolist() == carried(NO_HUNKS, edits).tolist()


def test_a_hunk_is_moved_by_what_comes_before_it() -> None:
    changed = Edit(0, 7, hunks((10, 2, 10, 3)))
    assert carried(NO_HUNKS, [changed]).tolist() == [[0, 7, 10, 12]]
    for later, expected in (
        (hunks((1, 0, 2, 5)), [15, 17]),
        (hunks((3, 4, 2, 0)), [6, 8]),
        (hunks((20, 1, 20, 9)), [10, 12]),
        (hunks((9, 0, 10, 1)), [11, 13]),
        (hunks((12, 0, 13, 1)), [10, 12]),
        (hunks((11, 5, 11, 1)), [10, 11]),
        (hunks((9, 8, 8, 0)), [8, 8]),
    ):
        after = carried(NO_HUNKS, [changed, Edit(1, 7, later, is_telling=False)])
        assert after.tolist() == [[0, 7, *expected]]


def test_what_is_not_known_or_gone_is_forgotten_in_that_file_alone() -> None:
    changed = [Edit(0, 0, hunks((1, 1, 1, 1))), Edit(0, 1, hunks((1, 1, 1, 1)))]
    for later in (None, hunks((1, 1, 0, 0))):
        assert carried(NO_HUNKS, [*changed, Edit(1, 0, later)]).tolist() == [[0, 1, 1, 1]]
        in_steps = carried(carried(NO_HUNKS, changed), [Edit(1, 0, later)])
        assert in_steps.tolist() == [[0, 1, 1, 1]]
    untouched = carried(NO_HUNKS, [*changed, Edit(1, 0, NO_HUNKS)])
    assert untouched.tolist() == [[0, 0, 1, 1], [0, 1, 1, 1]]


def test_a_file_takes_its_hunks_along_and_only_the_newest_commits_have_some() -> None:
    first = Commit("first", (Touch("a.py", hunks=hunks((1, 0, 1, 2))),))
    moved = Commit("moved", (Touch("b.py", "a.py", NO_HUNKS),))
    history = extended(NO_HISTORY, "a", [first, moved])
    assert history.paths == ("b.py",)
    assert history.hunks.tolist() == [[0, 0, 1, 2]]
    other = Commit("other", (Touch("c.py", hunks=hunks((1, 0, 1, 1))),))
    for n_later, n_kept in ((MAX_HUNKED_COMMITS - 2, 1), (MAX_HUNKED_COMMITS - 1, 0)):
        after = extended(history, "b", [other] * n_later)
        assert np.count_nonzero(after.hunks[:, 1] == 0) == n_kept


def test_a_commit_that_touches_everything_moves_lines_and_says_nothing_of_them() -> None:
    first = Commit("first", (Touch("0.py", hunks=hunks((0, 0, 1, 2))),))
    formatted = Commit(
        "format",
        tuple(Touch(f"{n}.py", hunks=hunks((0, 0, 1, 5))) for n in range(MAX_TOUCHED + 1)),
    )
    assert extended(NO_HISTORY, "a", [first, formatted]).hunks.tolist() == [[0, 0, 6, 7]]
