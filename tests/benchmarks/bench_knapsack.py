"""How long an exact choice takes: 2000 chunks, a budget of 128 000 tokens.

    pytest tests/benchmarks/bench_knapsack.py --benchmark-only -s

`-s` shows the ratio to a plain table over all 128 000 budgets, measured in the same run. Ratios
hold from machine to machine better than times do.
"""

import random
from statistics import median
from timeit import repeat

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from contextpack.select import ScoredChunk, pack
from contextpack.select.knapsack import knapsack

N_CHUNKS = 2000
BUDGET = 128_000


def instances(n: int = N_CHUNKS) -> dict[str, tuple[list[float], list[int]]]:
    rng = random.Random(2023)
    tokens = [rng.randint(20, 800) for _ in range(n)]
    return {
        "uncorrelated": ([rng.random() for _ in tokens], tokens),
        "long tail": ([rng.paretovariate(1.5) for _ in tokens], tokens),
        "weakly correlated": ([t / 1000 + rng.uniform(-0.1, 0.1) for t in tokens], tokens),
        "correlated": ([t / 1000 + rng.uniform(-0.01, 0.01) for t in tokens], tokens),
        "by tokens": ([t / 1000 for t in tokens], tokens),
        "rounded": ([round(t * 0.0007, 3) for t in tokens], tokens),
        "ten scores": ([rng.randint(1, 10) / 10 for _ in tokens], tokens),
        "one score": ([0.5 for _ in tokens], tokens),
        "hard: by tokens plus a constant": ([t / 1000 + 0.1 for t in tokens], tokens),
    }


def table(values: list[float], weights: list[int], capacity: int) -> float:
    """The best value for every budget up to `capacity`; it does not even keep the choice."""
    best = np.zeros(capacity + 1)
    for value, weight in zip(values, weights, strict=True):
        if value > 0 and weight <= capacity:
            with_item = best[: capacity + 1 - weight] + value
            np.maximum(best[weight:], with_item, out=best[weight:])
    return float(best[capacity])


@pytest.mark.parametrize("kind", instances(1))
def test_knapsack(benchmark: BenchmarkFixture, kind: str) -> None:
    values, weights = instances()[kind]
    choice = benchmark(knapsack, values, weights, BUDGET)
    assert 0.0 == choice.gap
    found = sum(values[i] for i in choice.taken)
    assert table(values, weights, BUDGET) == pytest.approx(found, abs=1e-9)
    ours = median(repeat(lambda: knapsack(values, weights, BUDGET), number=1, repeat=5))
    plain = median(repeat(lambda: table(values, weights, BUDGET), number=1, repeat=3))
    print(
        f"\n{kind}: {ours * 1000:.1f} ms, a full table takes {plain / ours:.0f} times as long"
    )


@pytest.mark.parametrize("strategy", ["greedy", "knapsack"])
def test_pack(benchmark: BenchmarkFixture, strategy: str) -> None:
    """The whole call: checks, choice and report, with tokens given."""
    values, weights = instances()["uncorrelated"]
    chunks = [
        ScoredChunk(content=f"chunk number {i} " * 60, score=value, tokens=weight)
        for i, (value, weight) in enumerate(zip(values, weights, strict=True))
    ]
    result = benchmark(pack, chunks, budget=BUDGET, strategy=strategy)
    assert result.report.tokens_used <= BUDGET
