"""Choosing among scored chunks under a limit of tokens. Knows nothing of files or languages.

`packing` is the way in; `strategies`, `coverage` and `knapsack` choose, `orderings` arrange, and
`chunks` and `options` say what goes in and what is refused. `multiple_choice` is apart: it chooses
among things that each come in several forms.
"""

from contextpack.select.chunks import ExcludedChunk, Exclusion, PackedChunk, ScoredChunk
from contextpack.select.diversity import MAX_MEASURED, evenly_spaced, mean_difference
from contextpack.select.multiple_choice import Option, Selection, multiple_choice
from contextpack.select.options import Ordering, PackOptions, Strategy, StrategyContext
from contextpack.select.orderings import u_shaped
from contextpack.select.packing import Packer, PackReport, PackResult, create_packer, pack

__all__ = [
    "MAX_MEASURED",
    "ExcludedChunk",
    "Exclusion",
    "Option",
    "Ordering",
    "PackOptions",
    "PackReport",
    "PackResult",
    "PackedChunk",
    "Packer",
    "ScoredChunk",
    "Selection",
    "Strategy",
    "StrategyContext",
    "create_packer",
    "evenly_spaced",
    "mean_difference",
    "multiple_choice",
    "pack",
    "u_shaped",
]
