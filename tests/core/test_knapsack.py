"""The knapsack against brute force, a full table, and its own bound."""

import math
import random
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.select.knapsack import Choice, knapsack

CAPACITY = 128_000


def best_by_brute_force(
    values: list[float], weights: list[int] | list[Fraction], capacity: float
) -> float:
    best = 0.0
    for n in range(len(values) + 1):
        for taken in combinations(range(len(values)), n):
            if sum(weights[i] for i in taken) <= capacity:
                best = max(best, math.fsum(values[i] for i in taken))
    return best


def best_by_table(values: list[float], weights: list[int], capacity: int) -> float:
    """Exact for values that are integers."""
    best = [0.0] * (capacity + 1)
    for value, weight in zip(values, weights, strict=True):
        for room in range(capacity, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[capacity]


def total(choice: Choice, values: list[float]) -> float:
    return math.fsum(values[i] for i in choice.taken)


def random_instance(rng: random.Random) -> tuple[list[float], list[int], int]:
    n = rng.randint(1, 10)
    weights = [rng.randint(0, 30) for _ in range(n)]
    kind = rng.choice(["free", "ties", "by weight", "near weight", "signed"])
    values = {
        "free": [rng.random() for _ in weights],
        "ties": [rng.choice([0.1, 0.2, 0.3, 0.5]) for _ in weights],
        "by weight": [weight / 10 for weight in weights],
        "near weight": [weight / 10 + rng.uniform(-1e-6, 1e-6) for weight in weights],
        "signed": [rng.uniform(-1, 1) for _ in weights],
    }[kind]
    return values, weights, rng.randint(1, max(1, sum(weights)))


@pytest.mark.parametrize("seed", range(300))
def test_equals_brute_force(seed: int) -> None:
    values, weights, capacity = random_instance(random.Random(seed))
    choice = knapsack(values, weights, capacity)
    assert sum(weights[i] for i in choice.taken) <= capacity
    assert all(values[i] > 0 for i in choice.taken)
    expected = best_by_brute_force(values, weights, capacity)
    assert expected == pytest.approx(total(choice, values), abs=1e-9)
    assert 0.0 == choice.gap


@pytest.mark.parametrize("seed", range(40))
def test_equals_brute_force_on_fractional_weights(seed: int) -> None:
    rng = random.Random(seed)
    values = [rng.random() for _ in range(9)]
    weights = [Fraction(rng.choice([rng.random(), rng.randint(1, 9) / 4])) for _ in values]
    capacity = Fraction(rng.random() * 4 + 0.1)
    choice = knapsack(values, weights, capacity)
    assert sum(weights[i] for i in choice.taken) <= capacity
    expected = best_by_brute_force(values, weights, float(capacity))
    assert expected == pytest.approx(total(choice, values), abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_equals_a_full_table_at_medium_size(seed: int) -> None:
    rng = random.Random(seed)
    weights = [rng.randint(1, 60) for _ in range(60)]
    shift = [0, 5, 50][seed % 3]
    values = [
        float(weight + shift + rng.randint(-shift // 5, shift // 5)) for weight in weights
    ]
    choice = knapsack(values, weights, 500)
    assert best_by_table(values, weights, 500) == total(choice, values)
    assert 0.0 == choice.gap


@given(
    st.lists(st.tuples(st.floats(-10, 10), st.integers(0, 50)), max_size=9),
    st.integers(min_value=1, max_value=200),
)
def test_any_instance(items: list[tuple[float, int]], capacity: int) -> None:
    values, weights = [item[0] for item in items], [item[1] for item in items]
    choice = knapsack(values, weights, capacity)
    assert sum(weights[i] for i in choice.taken) <= capacity
    expected = best_by_brute_force(values, weights, capacity)
    assert expected == pytest.approx(total(choice, values), abs=1e-9)


def test_nine_and_a_half_is_not_ten() -> None:
    assert (0,) == knapsack([1.0, 5.0], [9, 10], Fraction(19, 2)).taken


def test_small_differences_among_large_scores_count() -> None:
    """Seven decimals are no rounded scores: the search must not stop a step too early."""
    choice = knapsack([1.0, 1.0 + 1e-7, 1e-7, 2e-7], [5, 5, 3, 3], 8)
    assert (1, 3) == choice.taken


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300, 1e308])
def test_scores_of_any_magnitude(scale: float) -> None:
    choice = knapsack([1 * scale, 1 * scale, 1.5 * scale], [5, 5, 10], 10)
    assert (0, 1) == choice.taken
    assert 0.0 == choice.gap


@pytest.mark.parametrize("scale", [Fraction(1, 10**30), 10**30, 10**300])
def test_weights_of_any_magnitude(scale: Fraction | int) -> None:
    choice = knapsack([1.0, 1.0, 1.5], [5 * scale, 5 * scale, 10 * scale], 11 * scale)
    assert (0, 1) == choice.taken


def test_what_weighs_nothing_is_taken_and_what_is_worth_nothing_is_not() -> None:
    assert (0, 3) == knapsack([0.1, 0.0, -1.0, 2.0, 2.0], [0, 0, 0, 5, 6], 5).taken


def test_equal_items_are_taken_in_order() -> None:
    assert (0, 1, 2) == knapsack([0.5] * 6, [10] * 6, 30).taken


def test_nothing_fits() -> None:
    assert () == knapsack([1.0, 2.0], [7, 8], 6).taken
    assert () == knapsack([], [], 6).taken


def instances(n: int, seed: int) -> dict[str, tuple[list[float], list[int]]]:
    rng = random.Random(seed)
    weights = [rng.randint(20, 800) for _ in range(n)]
    return {
        "uncorrelated": ([rng.random() for _ in weights], weights),
        "correlated": ([w / 1000 + rng.uniform(-0.01, 0.01) for w in weights], weights),
        "rounded": ([round(w / 1000 * 0.7, 3) for w in weights], weights),
        "ties": ([rng.randint(1, 10) / 10 for _ in weights], weights),
        "one score": ([0.5 for _ in weights], weights),
        "one score more": ([w / 1000 + 0.1 for w in weights], weights),
    }


@pytest.mark.parametrize("kind", instances(1, 0))
def test_large_instances_are_solved_with_bounded_work(kind: str) -> None:
    """Counts of states, not seconds: a full table has 256 million cells here."""
    values, weights = instances(2000, seed=5)[kind]
    choice = knapsack(values, weights, CAPACITY)
    assert 0.0 == choice.gap
    assert choice.n_states < 300_000
    assert sum(weights[i] for i in choice.taken) <= CAPACITY


def test_a_search_cut_short_reports_a_gap_that_holds() -> None:
    values, weights = instances(400, seed=3)["one score more"]
    optimum = total(knapsack(values, weights, 20_000), values)
    for max_states in [1, 10, 100, 1000, 10_000]:
        choice = knapsack(values, weights, 20_000, max_states=max_states)
        found = total(choice, values)
        assert found <= optimum + 1e-9
        assert optimum <= found + choice.gap + 1e-9
        assert sum(weights[i] for i in choice.taken) <= 20_000


def test_a_search_cut_short_is_no_worse_than_what_was_known() -> None:
    values, weights = instances(400, seed=4)["one score more"]
    optimum = knapsack(values, weights, 20_000)
    choice = knapsack(values, weights, 20_000, known=optimum.taken, max_states=1)
    assert total(optimum, values) == pytest.approx(total(choice, values), abs=1e-9)
