"""The first paths of many, and the best files of a ranking, without sorting them all."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from contextpack.rank import rank
from contextpack.text import SAMPLED_PATHS, first_sorted
from harness.memory import snapshot_of


@given(st.randoms(use_true_random=False), st.integers(0, 60), st.integers(1, 5))
def test_the_first_paths_are_those_of_the_sorted_list(draw: Random, n: int, times: int) -> None:
    paths = [f"pkg{i % 7}/module_{i}.py" for i in range(times * SAMPLED_PATHS)]
    draw.shuffle(paths)
    assert sorted(paths)[:n] == first_sorted(paths, n)


def test_paths_that_lie_unevenly_are_sorted_all_the_same() -> None:
    paths = [f"z{i}" for i in range(3 * SAMPLED_PATHS)] + ["a"] * 3
    assert sorted(paths)[:40] == first_sorted(paths, 40)


@given(st.integers(0, 12))
def test_the_best_files_are_the_first_of_all(n: int) -> None:
    files = {f"m{i}.py": f"def cart_{i % 3}():\n    total({i % 2})\n" for i in range(9)}
    ranking = rank(snapshot_of({**files, "other.py": "x = 1\n"}), "cart_1 total")
    assert [file.path for file in ranking.files] == ranking.best()
    assert ranking.best()[:n] == ranking.best(n)
