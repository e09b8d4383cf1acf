"""What a pack may be asked for, and which requests are refused."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from contextpack.errors import Code, PackError
from contextpack.model import TokenCounter
from contextpack.select.chunks import PackedChunk, ScoredChunk, finite_number
from contextpack.similarity import Metric
from contextpack.tokens import estimate_tokens


class Strategy(StrEnum):
    """How the choice is made."""

    GREEDY = "greedy"  # Best score first; what does not fit is skipped.
    MMR = "mmr"  # Relevance against likeness to what is chosen already.
    KNAPSACK = "knapsack"  # The highest sum of scores that fits.
    COVERAGE = "coverage"  # The budget is shared over groups of similar chunks.
    CUSTOM = "custom"  # `custom_strategy`.


class Ordering(StrEnum):
    """In which order the chosen chunks stand."""

    NATURAL = "natural"  # As the strategy chose them.
    U_SHAPED = "u-shaped"  # The best at both ends, the rest between them.
    CHRONOLOGICAL = "chronological"  # By `metadata["timestamp"]`, oldest first.


@dataclass(frozen=True, slots=True)
class StrategyContext:
    """What a custom strategy gets beside the candidates."""

    budget: float
    chunk_overhead_tokens: float
    count_tokens: TokenCounter
    options: "PackOptions"


CustomStrategy = Callable[[list[ScoredChunk], StrategyContext], Iterable[ScoredChunk]]
CustomOrdering = Callable[[list[PackedChunk]], Iterable[PackedChunk]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackOptions:
    """The options of `pack`. They are checked when a pack is made, not before."""

    budget: float
    """The most tokens that the chosen chunks may have, overhead included. Positive, finite."""
    strategy: str = Strategy.GREEDY
    mmr_lambda: float = 0.5
    """For mmr: 1 weighs relevance alone, 0 diversity alone; in [0, 1]."""
    ordering: str | CustomOrdering = Ordering.NATURAL
    redundancy_threshold: float | None = None
    """Chunks at least so similar to a better one are left out; in (0, 1], None and 1 are off."""
    similarity_metric: str = Metric.AUTO
    chunk_overhead_tokens: float = 0
    """Charged for each chosen chunk (separators, citation marks); 0 or more."""
    token_counter: TokenCounter = estimate_tokens
    max_candidates: int | None = None
    """Only the first so many chunks of the input are considered; None is all."""
    custom_strategy: CustomStrategy | None = None
    """Gets the candidates, with ids and tokens set; gives those to take, in its order."""
    clock: Callable[[], float] | None = None
    """Seconds since 1970, for the report's `timestamp` and `duration_ms`; None leaves them out."""


def settled(options: PackOptions | None, named: Mapping[str, object]) -> PackOptions:
    """The options with those given by name in their place, checked.

    None stands for the default everywhere but in the budget. A name that is no option, options
    that are no PackOptions and functions that cannot be called raise TypeError; any other wrong
    value raises PackError.
    """
    given = with_named(options, named)
    default = _values(PackOptions(budget=given.budget))
    absent = [name for name, value in _values(given).items() if value is None]
    return _checked(with_named(given, {name: default[name] for name in absent}))


def with_named(options: PackOptions | None, named: Mapping[str, object]) -> PackOptions:
    """The options with those given by name in their place, unchecked.

    Without any, the budget is one that is refused when it is used. Raises TypeError for options
    that are no PackOptions and names that are none.
    """
    value: object = options
    if not isinstance(value, PackOptions | None):
        problem = f"must be PackOptions, got {type(value).__name__}"
        raise TypeError(f"`options` {problem}; by name they go in as in `budget=4000`")
    # Only `_checked` knows which types are right: names come from callers without a checker too.
    make: Callable[..., PackOptions] = PackOptions
    base = PackOptions(budget=math.nan) if options is None else options
    return make(**{**_values(base), **named})


def _values(options: PackOptions) -> dict[str, object]:
    return {name: getattr(options, name) for name in PackOptions.__dataclass_fields__}


def _checked(options: PackOptions) -> PackOptions:
    _check_callable("token_counter", options.token_counter)
    if options.clock is not None:
        _check_callable("clock", options.clock)
    budget = finite_number(options.budget)
    if budget is None or budget <= 0:
        raise _refused(Code.INVALID_BUDGET, "budget", "a finite number above 0", options.budget)
    if not _is_one_of(Strategy, options.strategy):
        raise _refused(Code.INVALID_STRATEGY, "strategy", _names(Strategy), options.strategy)
    if options.strategy == Strategy.CUSTOM and not callable(options.custom_strategy):
        raise PackError(
            Code.MISSING_CUSTOM_STRATEGY, "strategy `custom` needs a callable `custom_strategy`"
        )
    if not _is_one_of(Ordering, options.ordering) and not callable(options.ordering):
        expected = f"{_names(Ordering)} or a callable"
        raise _refused(Code.INVALID_ORDERING, "ordering", expected, options.ordering)
    if not _is_one_of(Metric, options.similarity_metric):
        given_metric = options.similarity_metric
        raise _refused(Code.INVALID_METRIC, "similarity_metric", _names(Metric), given_metric)
    weight = finite_number(options.mmr_lambda)
    if weight is None or not 0 <= weight <= 1:
        raise _refused(
            Code.INVALID_LAMBDA, "mmr_lambda", "a number from 0 to 1", options.mmr_lambda
        )
    threshold = finite_number(options.redundancy_threshold)
    if options.redundancy_threshold is not None and (
        threshold is None or not 0 < threshold <= 1
    ):
        expected = "a number above 0 and up to 1 (1 is off)"
        raise _refused(
            Code.INVALID_THRESHOLD,
            "redundancy_threshold",
            expected,
            options.redundancy_threshold,
        )
    overhead = finite_number(options.chunk_overhead_tokens)
    if overhead is None or overhead < 0:
        raise _refused(
            Code.INVALID_OVERHEAD,
            "chunk_overhead_tokens",
            "a finite number of 0 or more",
            options.chunk_overhead_tokens,
        )
    number = finite_number(options.max_candidates)
    most = number if isinstance(number, int) and number >= 0 else None
    if options.max_candidates is not None and most is None:
        raise _refused(
            Code.INVALID_MAX_CANDIDATES,
            "max_candidates",
            "an integer of 0 or more",
            options.max_candidates,
        )
    # As plain numbers: NumPy's scalars are no JSON.
    return replace(
        options, budget=budget, mmr_lambda=weight, chunk_overhead_tokens=overhead,
        redundancy_threshold=threshold, max_candidates=most,
    )  # fmt: skip


def _check_callable(name: str, value: object) -> None:
    if not callable(value):
        raise TypeError(f"`{name}` must be callable, got {type(value).__name__}")


def _is_one_of(kind: type[StrEnum], value: object) -> bool:
    return isinstance(value, str) and value in [str(member) for member in kind]


def _names(kind: type[StrEnum]) -> str:
    return "one of " + ", ".join(kind)


def _refused(code: Code, name: str, expected: str, value: object) -> PackError:
    if isinstance(value, int) and value.bit_length() > 64:  # Python refuses to write long ones.
        shown = f"an int of {value.bit_length()} bits"
    elif isinstance(value, str | int | float | None):
        shown = f"{value!r:.80}"
    else:
        shown = type(value).__name__
    return PackError(code, f"`{name}` must be {expected}, got {shown}")
