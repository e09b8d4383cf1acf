"""Packing: chunks and a budget in, a choice and a report on every chunk out."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from contextpack.select.chunks import (
    Candidate,
    ExcludedChunk,
    Exclusion,
    PackedChunk,
    ScoredChunk,
    candidates,
    exact,
    excluded,
    finite_number,
    plain,
)
from contextpack.select.coverage import covering, group_names
from contextpack.select.diversity import diversity
from contextpack.select.options import (
    PackOptions,
    Strategy,
    StrategyContext,
    settled,
    with_named,
)
from contextpack.select.orderings import ordered
from contextpack.select.strategies import (
    customised,
    greedy,
    most_marginal,
    most_valuable,
    without_duplicates,
)
from contextpack.similarity import Metric, Similarity, chunk_similarity
from contextpack.truncate import plain_number

_SECONDS_PER_DAY = 86_400
# From the year 0 to 9999: ISO 8601 writes four digits.
_FIRST_SECOND, _LAST_SECOND = -62_167_219_200, 253_402_300_800


@dataclass(frozen=True, slots=True, kw_only=True)
class PackReport:
    """What a pack did. Every chunk of the input is in the choice or in `excluded`, once.

    All numbers are finite, so it can be written as JSON.
    """

    tokens_used: float
    """Of the chosen chunks, overhead included; never above the budget."""
    budget: float
    tokens_remaining: float
    utilization: float
    """The used share of the budget, in [0, 1]."""
    selected_count: int
    excluded_count: int
    strategy: str
    ordering: str
    """`custom` for a callable."""
    excluded: tuple[ExcludedChunk, ...]
    """Beyond `max_candidates`; then redundant; then not chosen. In the order of the pool each."""
    diversity: float
    """One minus the mean similarity of the chosen chunks; 1.0 for fewer than two."""
    optimality_gap: float | None
    """For knapsack: at most so much more score fits; 0.0 if the choice is proven optimal.

    Tokens that are no integers are rounded up by less than one part in a thousand million.
    """
    timestamp: str | None
    """ISO 8601 in UTC, from `clock`; None without one."""
    duration_ms: float | None


@dataclass(frozen=True, slots=True)
class PackResult:
    """The chosen chunks in their order, and the report."""

    chunks: tuple[PackedChunk, ...]
    report: PackReport


@dataclass(frozen=True, slots=True)
class Packer:
    """Packs with the same options again and again."""

    options: PackOptions

    def pack(self, chunks: Iterable[ScoredChunk], **overrides: object) -> PackResult:
        """The same as `pack` with these options, those given by name in their place."""
        return pack(chunks, self.options, **overrides)


@dataclass(frozen=True, slots=True)
class _Choice:
    chosen: Sequence[Candidate]
    gap: float | None = None


def pack(
    chunks: Iterable[ScoredChunk], options: PackOptions | None = None, **named: object
) -> PackResult:
    """The best of the chunks that fit the budget, in order, with a report on all.

    Options are those of `PackOptions`, as one value, by name, or both (names win). Raises
    PackError for options or chunks that are not right, and TypeError for `options` of another
    type, names that are none, and a `token_counter` or `clock` that cannot be called or a clock
    that gives no number; nothing is chosen then. No chunk that fits is an empty result, not an
    error. The input is gone through once and not changed.

    `max_candidates` takes the first ones; near-duplicates of better chunks go; the strategy
    chooses; the ordering arranges.
    """
    settings = settled(options, named)
    started = _read(settings.clock) if settings.clock else math.nan
    known = candidates(chunks, settings.token_counter, settings.chunk_overhead_tokens)
    considered, beyond = known, known[len(known) :]
    if settings.max_candidates is not None:
        considered = known[: settings.max_candidates]
        beyond = known[settings.max_candidates :]
    left_out = [excluded(candidate, Exclusion.MAX_CANDIDATES) for candidate in beyond]

    similarity = _similarity(considered, settings)
    pool: Sequence[Candidate] = considered
    if similarity is not None and _drops_duplicates(settings):
        threshold = settings.redundancy_threshold or 1.0
        pool, dropped = without_duplicates(considered, similarity, threshold)
        left_out += [
            excluded(candidate, Exclusion.REDUNDANT, better.id, alike)
            for candidate, better, alike in dropped
        ]

    choice = _choice(pool, similarity, settings)
    used = sum(candidate.cost for candidate in choice.chosen)
    remaining = exact(settings.budget) - used
    taken = {candidate.position for candidate in choice.chosen}
    left_out += [
        excluded(
            candidate, Exclusion.STRATEGY if candidate.cost <= remaining else Exclusion.BUDGET
        )
        for candidate in pool
        if candidate.position not in taken
    ]
    packed = _arranged(choice.chosen, settings)
    report = PackReport(
        tokens_used=plain(used),
        budget=settings.budget,
        tokens_remaining=plain(remaining),
        utilization=float(Fraction(used) / exact(settings.budget)),
        selected_count=len(packed),
        excluded_count=len(left_out),
        strategy=str(settings.strategy),
        ordering=str(settings.ordering) if isinstance(settings.ordering, str) else "custom",
        excluded=tuple(left_out),
        diversity=diversity(choice.chosen, Metric(settings.similarity_metric)),
        optimality_gap=choice.gap,
        timestamp=None,
        duration_ms=None,
    )
    if settings.clock:
        report = _timed(report, started, _read(settings.clock))
    return PackResult(packed, report)


def create_packer(options: PackOptions | None = None, **named: object) -> Packer:
    """A packer with fixed options. Their values are checked at each call, overrides included.

    Here only `options` of another type and names that are none are refused, with TypeError:
    what is wrong or missing may still come with the call.
    """
    return Packer(with_named(options, named))


def _drops_duplicates(settings: PackOptions) -> bool:
    return settings.redundancy_threshold is not None and settings.redundancy_threshold < 1


def _similarity(considered: Sequence[Candidate], settings: PackOptions) -> Similarity | None:
    """The chunks prepared for comparison, or None if no two of them will be compared.

    Whether embeddings are missing or do not match is found here, so it depends neither on the
    strategy nor on what the budget happens to let in.
    """
    is_covering = settings.strategy == Strategy.COVERAGE and group_names(considered) is None
    is_needed = is_covering or settings.strategy == Strategy.MMR or _drops_duplicates(settings)
    if len(considered) < 2 or not is_needed:
        return None
    return chunk_similarity(
        [candidate.chunk.content for candidate in considered],
        [candidate.chunk.embedding for candidate in considered],
        Metric(settings.similarity_metric),
        [candidate.id for candidate in considered],
    )


def _choice(
    pool: Sequence[Candidate], similarity: Similarity | None, settings: PackOptions
) -> _Choice:
    strategy = Strategy(settings.strategy)
    match strategy:
        case Strategy.GREEDY:
            return _Choice(greedy(pool, settings.budget))
        case Strategy.MMR:
            weight, budget = settings.mmr_lambda, settings.budget
            return _Choice(most_marginal(pool, similarity, weight, budget))
        case Strategy.KNAPSACK:
            return _Choice(*most_valuable(pool, settings.budget))
        case Strategy.COVERAGE:
            return _Choice(covering(pool, similarity, settings.budget))
        case Strategy.CUSTOM:
            context = StrategyContext(
                budget=settings.budget,
                chunk_overhead_tokens=settings.chunk_overhead_tokens,
                count_tokens=settings.token_counter,
                options=settings,
            )
            assert settings.custom_strategy is not None  # `settled` refused it.
            return _Choice(customised(pool, settings.custom_strategy, context))
    assert_never(strategy)


def _arranged(chosen: Sequence[Candidate], settings: PackOptions) -> tuple[PackedChunk, ...]:
    packed = [
        PackedChunk(
            id=candidate.id,
            content=candidate.chunk.content,
            score=candidate.chunk.score,
            tokens=candidate.tokens,
            position=position,
            metadata=candidate.chunk.metadata,
        )
        for position, candidate in enumerate(chosen)
    ]
    arranged = ordered(packed, settings.ordering)
    return tuple(
        chunk if chunk.position == position else replace(chunk, position=position)
        for position, chunk in enumerate(arranged)
    )


def _read(clock: Callable[[], float]) -> float:
    given: object = clock()
    seconds = finite_number(given)
    if seconds is not None and _FIRST_SECOND <= seconds < _LAST_SECOND:
        return seconds
    if plain_number(given) is None:
        problem = f"must give seconds as a number, got {type(given).__name__}"
        raise TypeError(f"`clock` {problem}")
    return math.nan


def _timed(report: PackReport, started: float, ended: float) -> PackReport:
    if not (math.isfinite(started) and math.isfinite(ended)):
        return report  # A broken clock says nothing; the report stays valid JSON.
    # A clock that is set back must not give a negative duration.
    duration_ms = max(0.0, (ended - started) * 1000)
    return replace(report, timestamp=_iso(started), duration_ms=duration_ms)


def _iso(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC, to the millisecond.

    By arithmetic on the civil calendar (Hinnant, "chrono-compatible low-level date algorithms"):
    the core does not import a module that can read the clock.
    """
    total_ms = math.floor(seconds * 1000)
    days, ms = divmod(total_ms, _SECONDS_PER_DAY * 1000)
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    year = year_of_era + era * 400 + (month <= 2)
    minutes, rest_ms = divmod(ms, 60_000)
    hour, minute = divmod(minutes, 60)
    return (
        f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:"
        f"{rest_ms // 1000:02d}.{rest_ms % 1000:03d}Z"
    )
