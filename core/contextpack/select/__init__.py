"""Choosing among scored chunks under a limit of tokens. Knows nothing of files or languages.

`packing` is the way in; `strategies`, `coverage` and `knapsack` choose, `orderings` arrange, and
`chunks` and `options` say what goes in and what is refused.
"""

from contextpack.select.chunks import ExcludedChunk, Exclusion, PackedChunk, ScoredChunk
from contextpack.select.diversity import evenly_spaced, mean_difference
from contextpack.select.options import Ordering, PackOptions, Strategy, StrategyContext
from contextpack.select.orderings import u_shaped
from contextpack.select.packing import Packer, PackReport, PackResult, create_packer, pack

__all__ = [
    "ExcludedChunk",
    "Exclusion",
    "Ordering",
    "PackOptions",
    "PackReport",
    "PackResult",
    "PackedChunk",
    "Packer",
    "ScoredChunk",
    "Strategy",
    "StrategyContext",
    "create_packer",
    "evenly_spaced",
    "mean_difference",
    "pack",
    "u_shaped",
]
