"""The multiple-choice knapsack, nearly: of each class at most one option, most value in all.

*How it works.* Of each class only the upper convex hull of its options (with "nothing" at the
origin) is of use to the linear relaxation. The way along a hull is a row of steps, each adding
value for cost at a lower rate than the one before. All steps of all classes, taken in order of
their rate until one does not fit, are the optimum of the relaxation but for a part of that one
step, so they are within its value of the true optimum (Sinha and Zoltners, "The multiple-choice
knapsack problem", 1979; Dyer, 1984, and Zemel, 1984, find the same step without sorting). What is
left of the room then goes to the further steps that fit.

*Limits.* The options off the hulls are never taken, but where one of them alone is worth more
than everything: so the result is at least half of the optimum. The gap to the relaxation is
reported, and the work is that of sorting.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Option:
    """One way to have something of a class."""

    value: float
    """Finite; an option worth nothing or less is never taken."""
    cost: int
    """1 or more."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is taken of each class."""

    taken: tuple[int | None, ...]
    """For each class the position of an option, or None for nothing."""
    gap: float
    """The bound of the relaxation minus the value of what is taken: no choice is better by more."""


@dataclass(frozen=True, slots=True)
class _Step:
    rate: float
    owner: int
    """The position of the class."""
    option: int
    """Where the step ends."""
    cost: int
    """More than where it begins."""


def multiple_choice(classes: Sequence[Sequence[Option]], capacity: int) -> Selection:
    """At most one option of each class, together within `capacity`, at nearly the most value.

    Of equal rates the class that comes first goes first.
    """
    steps = [step for owner, options in enumerate(classes) for step in _steps(owner, options)]
    steps.sort(key=lambda step: (-step.rate, step.owner, step.cost))
    taken: list[int | None] = [None] * len(classes)
    blocked = set[int]()
    left, bound = capacity, None
    for step in steps:
        if step.owner in blocked:
            continue
        if step.cost <= left:
            taken[step.owner] = step.option
            left -= step.cost
            continue
        if bound is None:
            bound = _value(classes, taken) + left * step.rate
        blocked.add(step.owner)
    value = _value(classes, taken)
    single = _best_single(classes, capacity)
    if single is not None and classes[single[0]][single[1]].value > value:
        owner, option = single
        taken = [option if number == owner else None for number in range(len(classes))]
        value = classes[owner][option].value
    # Rounding must not make a gap of what is optimal.
    gap = 0.0 if bound is None else max(0.0, bound - value)
    return Selection(tuple(taken), gap)


def _steps(owner: int, options: Sequence[Option]) -> list[_Step]:
    """The way along the upper convex hull of a class, at ever lower rates."""
    hull: list[tuple[float, int, int]] = [(0.0, 0, -1)]
    by_cost = sorted(range(len(options)), key=lambda i: (options[i].cost, -options[i].value, i))
    for i in by_cost:
        value, cost = options[i].value, options[i].cost
        if value <= hull[-1][0]:
            continue
        while len(hull) > 1 and _rate(hull[-2], value, cost) >= _rate(hull[-2], *hull[-1][:2]):
            hull.pop()
        hull.append((value, cost, i))
    return [
        _Step(_rate(before, value, cost), owner, i, cost - before[1])
        for before, (value, cost, i) in pairwise(hull)
    ]


def _rate(before: tuple[float, int, int], value: float, cost: int) -> float:
    return (value - before[0]) / (cost - before[1])


def _value(classes: Sequence[Sequence[Option]], taken: Sequence[int | None]) -> float:
    return math.fsum(
        options[i].value for options, i in zip(classes, taken, strict=True) if i is not None
    )


def _best_single(classes: Sequence[Sequence[Option]], capacity: int) -> tuple[int, int] | None:
    """The class and position of the most valuable option that fits alone; the first of equals."""
    fitting = [
        (-option.value, owner, i)
        for owner, options in enumerate(classes)
        for i, option in enumerate(options)
        if option.cost <= capacity and option.value > 0
    ]
    return min(fitting)[1:] if fitting else None
