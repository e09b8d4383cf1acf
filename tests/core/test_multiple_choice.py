"""The multiple-choice knapsack against brute force and its own bound."""

import math
import random
from itertools import product

import pytest

from contextpack.select import Option, Selection, multiple_choice


def value(selection: Selection, classes: list[list[Option]]) -> float:
    taken = zip(classes, selection.taken, strict=True)
    return math.fsum(options[i].value for options, i in taken if i is not None)


def cost(selection: Selection, classes: list[list[Option]]) -> int:
    taken = zip(classes, selection.taken, strict=True)
    return sum(options[i].cost for options, i in taken if i is not None)


def best_by_brute_force(classes: list[list[Option]], capacity: int) -> float:
    nothing = Option(0.0, 0)
    return max(
        math.fsum(option.value for option in chosen)
        for chosen in product(*([nothing, *options] for options in classes))
        if sum(option.cost for option in chosen) <= capacity
    )


def random_instance(rng: random.Random) -> tuple[list[list[Option]], int]:
    kind = rng.choice(["free", "ties", "chains", "signed"])

    def option() -> Option:
        size = rng.randint(1, 20)
        match kind:
            case "ties":
                return Option(rng.choice([0.5, 1.0, 2.0]), rng.choice([1, 2, 4]))
            case "signed":
                return Option(rng.uniform(-1, 1), size)
            case _:
                return Option(rng.random() * (size if kind == "chains" else 1), size)

    classes = [[option() for _ in range(rng.randint(0, 4))] for _ in range(rng.randint(0, 5))]
    total = sum(option.cost for options in classes for option in options)
    return classes, rng.randint(0, max(1, total // 2))


@pytest.mark.parametrize("seed", range(300))
def test_what_is_taken_fits_and_the_optimum_is_within_the_gap(seed: int) -> None:
    classes, capacity = random_instance(random.Random(seed))
    selection = multiple_choice(classes, capacity)
    best, own = best_by_brute_force(classes, capacity), value(selection, classes)
    assert cost(selection, classes) <= capacity
    assert own <= best + 1e-9
    assert best <= own + selection.gap + 1e-9
    assert own >= best / 2 - 1e-9


@pytest.mark.parametrize("seed", range(100))
def test_the_gap_is_less_than_the_value_of_one_option(seed: int) -> None:
    classes, capacity = random_instance(random.Random(seed))
    selection = multiple_choice(classes, capacity)
    most = max((option.value for options in classes for option in options), default=0.0)
    assert 0 <= selection.gap <= max(0.0, most) + 1e-9


def test_where_all_fits_the_most_valuable_option_of_each_class_is_taken() -> None:
    classes = [[Option(1.0, 3), Option(2.0, 9)], [], [Option(5.0, 2), Option(4.0, 8)]]
    assert multiple_choice(classes, 11) == Selection((1, None, 0), 0.0)


def test_a_class_stops_at_the_step_that_is_not_worth_its_cost() -> None:
    # 4 for 2, then 2 more for 4; the other class has 3 for 4 in between.
    classes = [[Option(4.0, 2), Option(6.0, 6)], [Option(3.0, 4)]]
    assert multiple_choice(classes, 2).taken == (0, None)
    assert multiple_choice(classes, 6).taken == (0, 0)
    assert multiple_choice(classes, 10).taken == (1, 0)


def test_an_option_below_the_hull_is_passed_over() -> None:
    # Half of the value for half of the cost and a bit more: never on the best way.
    classes = [[Option(4.0, 6), Option(10.0, 10)]]
    assert multiple_choice(classes, 10).taken == (1,)


def test_one_large_option_beats_a_handful_of_small_ones() -> None:
    classes = [[Option(2.0, 1)], [Option(10.0, 10)]]
    selection = multiple_choice(classes, 10)
    assert selection.taken == (None, 0)
    assert selection.gap == pytest.approx(1.0)


def test_of_equal_rates_the_first_class_goes_first() -> None:
    classes = [[Option(2.0, 2)], [Option(1.0, 1)], [Option(1.0, 1)]]
    assert multiple_choice(classes, 3).taken == (0, 0, None)
    assert multiple_choice(list(reversed(classes)), 3).taken == (0, 0, None)


def test_nothing_is_taken_for_no_value_and_in_no_room() -> None:
    assert multiple_choice([[Option(0.0, 1), Option(-1.0, 1)]], 5) == Selection((None,), 0.0)
    assert multiple_choice([[Option(1.0, 1)]], 0).taken == (None,)


def test_a_step_is_not_taken_without_the_one_before_it() -> None:
    classes = [[Option(20.0, 10), Option(21.0, 11)], [Option(0.5, 1)]]
    assert multiple_choice(classes, 5).taken == (None, 0)
