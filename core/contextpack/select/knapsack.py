"""The 0/1 knapsack, exact at any capacity: most value within a limit of weight.

*How it works.* Sort by value per weight and fill up in that order: the item that no longer fits
is the break item, and giving its fraction makes the linear relaxation, an upper bound. Where
the number of items is what limits a choice, a price on each place lowers that bound. Few items
near the break decide: an item whose exclusion (or inclusion) alone would cost more than the
distance between the bound and the best choice found is fixed as it is. Dynamic programming over
the rest starts from the filled-up choice and lets, in turn, one more item before the break be
taken out or one more after it be put in. States are (weight, value) pairs in arrays; those that
another beats in both, or whose own bound does not beat the best choice found, are dropped
(Pisinger, "A minimal algorithm for the 0-1 knapsack problem", 1997).

*Limits.* Values are floats: two choices closer than `_TOLERANCE` of the bound count as equal.
Weights become integers of at most 52 bits, rounded up. Work is bounded by the number of states,
never by time, so that the result does not depend on the machine; the gap left is reported.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

# Sums of a few thousand doubles are wrong by about 1e-13 of the sum.
_TOLERANCE = 1e-12

# About half a second. Realistic instances of 2000 chunks need a few ten thousand states.
MAX_STATES = 1 << 22

_LARGEST_FLOAT = float(np.finfo(np.float64).max)

_MAX_DECIMALS = 6  # Scores that people or services round have no more.
_ROUNDING = 4 * 2.0**-53  # Relative: of the decimal's own rounding and of one product.
_MOST_STEPS = 1e11
_STEP_SLACK = 1e-3  # Of a step: more than a sum of `_MOST_STEPS` can be off by rounding.

_MAX_TANGENTS = 40  # Twenty are enough; past these the price is good, if not the best.
_RATE_BITS = 41  # Coarser than rounding, and finer than `_TOLERANCE`.

_WEIGHT_BITS = 52  # Doubles hold such integers exactly, and int64 holds sums of hundreds.


@dataclass(frozen=True, slots=True)
class Choice:
    """What a knapsack takes."""

    taken: tuple[int, ...]
    """Positions in the input, ascending."""
    gap: float
    """An upper bound of any choice's value minus this one's; 0.0 if proven optimal."""
    n_states: int
    """The work done."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What the search ends with; positions are those of the sorted items."""

    taken: NDArray[np.intp]
    gap: float
    n_states: int


@dataclass(frozen=True, slots=True)
class _Stage:
    """One step of the dynamic programming, kept to find the way back."""

    item: int
    parents: NDArray[np.int32]
    """For each state kept, the state of the stage before that it comes from."""
    is_flipped: NDArray[np.bool_]
    """Whether it takes the item out (before the break) or puts it in (after it)."""

    def kept(self, entries: NDArray[np.intp]) -> "_Stage":
        """The stage with these entries only."""
        return _Stage(self.item, self.parents[entries], self.is_flipped[entries])


@dataclass(frozen=True, slots=True)
class _Way:
    """Where the best choice was found: after so many stages, from this entry, by this item."""

    stage: int
    parent: int
    item: int


def knapsack(
    values: Sequence[float],
    weights: Sequence[int | Fraction],
    capacity: int | Fraction,
    known: Sequence[int] = (),
    max_states: int = MAX_STATES,
) -> Choice:
    """The most valuable choice whose weights sum to at most `capacity`.

    Weights are not negative. An item whose value is zero or less is never taken. Weights that
    are not integers, or too large, are multiplied by a power of two and rounded up: what is
    taken always fits, and is optimal if no weight lost bits. `known` is a choice that fits; the
    result is at least as good.
    """
    useful = [i for i, value in enumerate(values) if value > 0 and weights[i] <= capacity]
    if sum(weights[i] for i in useful) <= capacity:
        return Choice(tuple(useful), 0.0, 0)
    sizes, limit = _as_integers([weights[i] for i in useful], capacity)
    # By a power of two, so that nothing is rounded and sums stay in the range of floats.
    exponent = math.frexp(max(values[i] for i in useful))[1]
    gains = np.ldexp(np.array([values[i] for i in useful], np.float64), -exponent)
    price = _price(gains, sizes, limit)
    rates = _rates(gains - price, sizes)
    if price:
        # It makes many rates equal but for their rounding; then small items come first.
        mantissas, exponents = np.frexp(rates)
        rates = np.ldexp(np.round(np.ldexp(mantissas, _RATE_BITS)), exponents - _RATE_BITS)
    # The sort is stable: among equal items the input's order decides.
    order = np.lexsort((sizes, -rates))
    rank = np.argsort(order)
    at_position = dict(zip(useful, rank.tolist(), strict=True))
    start = [at_position[i] for i in known if i in at_position]
    step = math.ldexp(_step([values[i] for i in useful]), -exponent)
    search = _search(gains[order], sizes[order], limit, price, step, start, max_states)
    taken = sorted(useful[i] for i in order[search.taken].tolist())
    gap = min(float(np.ldexp(search.gap, exponent)), _LARGEST_FLOAT)
    return Choice(tuple(taken), gap, search.n_states)


def _search(
    gains: NDArray[np.float64],
    sizes: NDArray[np.int64],
    limit: int,
    price: float,
    step: float,
    known: Sequence[int],
    max_states: int,
) -> _Found:
    """The best choice of items that are sorted by gain less price, per size, best first.

    All together they do not fit. Gains are multiples of `step`, if it is not 0.
    """
    n, rates = len(gains), np.maximum(_rates(gains - price, sizes), 0.0)
    n_filled = int(np.searchsorted(np.cumsum(sizes), limit, side="right"))
    n_filled = min(n_filled, int(np.count_nonzero(rates)))
    size, gain = int(np.sum(sizes[:n_filled])), float(np.sum(gains[:n_filled]))
    # What is paid for the places that a state leaves free belongs to its bound.
    n_most = _n_most(sizes, limit)
    bound = gain + (n_most - n_filled) * price + (limit - size) * float(rates[n_filled])
    # A better choice is better by at least this much.
    margin = max(bound * _TOLERANCE, step * (1 - _STEP_SLACK))
    # What it costs against the bound to treat an item unlike the relaxation does.
    costs = np.abs(gains - price - sizes * rates[n_filled])
    costs[sizes == 0] = np.inf

    best = _filled(sizes, limit)
    floor = math.fsum(gains[best].tolist())
    known_gain = math.fsum(gains[known].tolist()) if known else 0.0
    if known_gain > floor:
        best, floor = np.array(known, np.intp), known_gain

    state_sizes, state_gains = np.array([size], np.int64), np.array([gain])
    state_counts = np.array([n_filled], np.int64)
    stages: list[_Stage] = []
    way: _Way | None = None
    n_states, left, right, highest = 0, n_filled - 1, n_filled, bound
    while True:
        left = _next_free(costs, left, -1, bound - floor - margin)
        right = _next_free(costs, right, 1, bound - floor - margin)
        is_left = right >= n or (left >= 0 and len(stages) % 2 == 1)
        if left < 0 and right >= n:
            highest = floor
            break
        item, sign = (left, -1) if is_left else (right, 1)
        left, right = (left - 1, right) if is_left else (left, right + 1)
        n_before = len(state_sizes)
        sizes_now = np.concatenate([state_sizes, state_sizes + sign * sizes[item]])
        gains_now = np.concatenate([state_gains, state_gains + sign * gains[item]])
        counts_now = np.concatenate([state_counts, state_counts + sign])
        fitting = np.flatnonzero(sizes_now[n_before:] <= limit) + n_before
        if len(fitting):
            entry = int(fitting[np.argmax(gains_now[fitting])])
            if gains_now[entry] > floor:
                floor, way = float(gains_now[entry]), _Way(len(stages), entry - n_before, item)
        # What a state may still gain for each unit of size that it has left, or must lose for
        # each that it has too much: the items still free are no better, and no cheaper.
        gain_rate = float(rates[right]) if right < n else 0.0
        slack = limit - sizes_now
        if left >= 0:
            bounds = gains_now + slack * np.where(slack >= 0, gain_rate, rates[left])
        else:
            bounds = np.where(slack >= 0, gains_now + slack * gain_rate, -np.inf)
        bounds += (n_most - counts_now) * price
        alive = np.flatnonzero(bounds >= floor + margin)
        if not len(alive):
            highest = floor
            break
        # Two ascending runs: a stable sort merges them.
        order = alive[np.argsort(sizes_now[alive], kind="stable")]
        order = order[_undominated(sizes_now[order], gains_now[order])]
        state_sizes, state_gains = sizes_now[order], gains_now[order]
        state_counts = counts_now[order]
        stages.append(_Stage(item, (order % n_before).astype(np.int32), order >= n_before))
        n_states += len(order)
        if n_states >= max_states:
            highest = min(bound, float(np.max(bounds[order])))
            break
    if way is not None:
        best = _taken(way, stages, n_filled)
    return _Found(best, max(0.0, highest - floor), n_states)


def _price(gains: NDArray[np.float64], sizes: NDArray[np.int64], limit: int) -> float:
    """What one place costs, when only so many items fit as the smallest do.

    Gains that grow with the size by a constant more (`size / 1000 + 0.1`) leave a wide distance
    between the relaxation and any choice, because the relaxation takes a fraction of a place.
    With a price on places that every choice has anyway, the bound is
    `relaxation(gains - price) + n_most * price` (Martello and Toth, "Upper bounds and algorithms
    for hard 0-1 knapsack problems", 1997). It is convex and piecewise linear in the price; the
    lowest point is where two tangents meet.
    """
    n_most = _n_most(sizes, limit)
    low, high = 0.0, float(np.max(gains))
    low_bound, low_slope = _relaxed(gains, sizes, limit, low, n_most)
    if low_slope >= 0:
        return 0.0
    high_bound, high_slope = high * n_most, float(n_most)
    for _ in range(_MAX_TANGENTS):
        rise = high_bound - low_bound + low_slope * low - high_slope * high
        price = min(max(rise / (low_slope - high_slope), low), high)
        meeting = low_bound + low_slope * (price - low)
        bound, slope = _relaxed(gains, sizes, limit, price, n_most)
        if bound - meeting <= abs(bound) * _TOLERANCE / 10:
            return price
        if slope < 0:
            low, low_bound, low_slope = price, bound, slope
        else:
            high, high_bound, high_slope = price, bound, slope
    return low


def _relaxed(
    gains: NDArray[np.float64],
    sizes: NDArray[np.int64],
    limit: int,
    price: float,
    n_most: int,
) -> tuple[float, float]:
    """The bound at a price, and how it changes with the price."""
    net = gains - price
    worth = np.flatnonzero(net > 0)
    order = worth[np.argsort(-_rates(net[worth], sizes[worth]), kind="stable")]
    filled = np.cumsum(sizes[order])
    n_filled = int(np.searchsorted(filled, limit, side="right"))
    bound = float(np.sum(net[order[:n_filled]])) + n_most * price
    count = float(n_filled)
    if n_filled < len(order):
        room = limit - (int(filled[n_filled - 1]) if n_filled else 0)
        part = room / int(sizes[order[n_filled]])
        bound += part * float(net[order[n_filled]])
        count += part
    return bound, n_most - count


def _n_most(sizes: NDArray[np.int64], limit: int) -> int:
    """How many items fit at most: so many of the smallest."""
    return int(np.searchsorted(np.cumsum(np.sort(sizes)), limit, side="right"))


def _step(values: Sequence[float]) -> float:
    """The largest decimal fraction that all values are multiples of, 0.0 if none is seen.

    Scores are often rounded to a few decimals. Then choices cannot differ by less, and the
    search may stop that much below the bound.
    """
    numbers, total = np.array(values, np.float64), max(values) * len(values)
    for decimals in range(_MAX_DECIMALS + 1):
        factor = 10.0**decimals
        if total > _MOST_STEPS / factor:
            break
        whole = np.round(numbers * factor)
        # Values may be off by their own rounding and that of the product, and by no more.
        if np.all(np.abs(numbers * factor - whole) <= whole * _ROUNDING):
            return math.gcd(*whole.astype(np.int64).tolist()) / factor
    return 0.0


def _rates(gains: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Gain per unit of size. Items without a size come before all others."""
    rates = np.full(len(gains), np.inf)
    np.divide(gains, sizes, out=rates, where=sizes > 0)
    return rates


def _filled(sizes: NDArray[np.int64], limit: int) -> NDArray[np.intp]:
    """What fits, in this order, skipping what does not."""
    taken, left = [], limit
    for i, size in enumerate(sizes.tolist()):
        if size <= left:
            taken.append(i)
            left -= size
    return np.array(taken, np.intp)


def _next_free(costs: NDArray[np.float64], i: int, step: int, limit: float) -> int:
    """The first item from `i` on whose other treatment may still pay; beyond the end if none."""
    while 0 <= i < len(costs) and costs[i] >= limit:
        i += step
    return i


def _undominated(sizes: NDArray[np.int64], gains: NDArray[np.float64]) -> NDArray[np.intp]:
    """The states, ascending by size, that no other beats in size and gain."""
    best_before = np.maximum.accumulate(gains)[:-1]
    rising = np.flatnonzero(np.append(True, gains[1:] > best_before))
    is_last = np.append(sizes[rising][1:] != sizes[rising][:-1], True)
    return np.asarray(rising[is_last], np.intp)


def _taken(way: _Way, stages: Sequence[_Stage], n_filled: int) -> NDArray[np.intp]:
    """The choice that a way through the stages makes."""
    flipped, entry = [way.item], way.parent
    for stage in reversed(stages[: way.stage]):
        if stage.is_flipped[entry]:
            flipped.append(stage.item)
        entry = int(stage.parents[entry])
    taken = set(range(n_filled)).symmetric_difference(flipped)
    return np.array(sorted(taken), np.intp)


def _as_integers(
    weights: Sequence[int | Fraction], capacity: int | Fraction
) -> tuple[NDArray[np.int64], int]:
    """Weights and capacity times the same power of two: weights rounded up, capacity down."""
    n_bits = min(_WEIGHT_BITS, 62 - len(weights).bit_length())
    is_whole = all(isinstance(weight, int) for weight in weights)
    shift = 0
    if not is_whole or capacity >= 1 << n_bits:
        size = capacity.numerator.bit_length() - capacity.denominator.bit_length() + 1
        shift = n_bits - size
    factor = Fraction(2) ** shift
    sizes = [-(-weight * factor // 1) for weight in weights] if shift else weights
    return np.array([int(size) for size in sizes], np.int64), int(capacity * factor)
