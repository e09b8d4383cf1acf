"""One question to a workspace. The defaults of every door stand here and nowhere else."""

import math
from dataclasses import dataclass
from enum import StrEnum

from contextpack.model import Detail, Format, Path


class Scorer(StrEnum):
    """Who ranks: `fused` is ours; `classic` is the ancestor's, on whole files."""

    FUSED = "fused"
    CLASSIC = "classic"


class Strategy(StrEnum):
    """How candidates are chosen under the budget."""

    GREEDY = "greedy"
    MMR = "mmr"
    KNAPSACK = "knapsack"
    COVERAGE = "coverage"


class Order(StrEnum):
    """In which order the chosen files stand in the text."""

    # Best first. With a predecessor as `stable`: a file that moves costs all that follows it.
    NATURAL = "natural"
    STABLE = "stable"  # As in the predecessor, then what is new, best first.
    U_SHAPED = "u-shaped"  # The best at both ends, against "lost in the middle".
    CHRONOLOGICAL = "chronological"  # Oldest change first.
    PATH = "path"


class Cut(StrEnum):
    """Which part of a file or chunk stays when it has to be cut."""

    HEAD = "head"
    TAIL = "tail"
    SUMMARY = "summary"


class LedgerScope(StrEnum):
    """How much of the ledger an answer shows; its counts always cover all."""

    BRIEF = "brief"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Forced:
    """A file that the request wants in, in this form."""

    path: Path
    detail: Detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question and its options. Raises ValueError that names the option that cannot be."""

    query: str
    budget_tokens: int = 8000
    """Binds the rendered text, headers and fences included."""
    reserve_tokens: int = 0
    """Kept free within the budget, for the prompt around the bundle and for the answer."""
    margin_percent: float = 0.0
    """Kept free as a share of the budget, on top of the model's own error bound."""
    model: str = "o200k"
    text_format: Format = Format.MARKDOWN
    task: bool = False
    tree: bool = False
    line_numbers: bool = False
    stamp: bool = False
    """Whether the question stands at the end of the bundle, so that it can be asked again."""
    scorer: Scorer = Scorer.FUSED
    strategy: Strategy = Strategy.GREEDY
    mmr_lambda: float = 0.7
    ordering: Order = Order.NATURAL
    dedup: float = 0.97
    """The similarity from which a chunk is a near-duplicate of a better one; 1 keeps all.

    Synchronous and asynchronous twins are about 0.9 alike and both matter; copies are above.
    """
    max_candidates: int | None = None
    truncate: Cut = Cut.HEAD
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    pins: tuple[Path, ...] = ()
    details: tuple[Forced, ...] = ()
    max_file_bytes: int = 1 << 20
    """Larger files are data nearly always; parsing them stops everything else for a second."""
    ledger: LedgerScope = LedgerScope.BRIEF

    def __post_init__(self) -> None:
        _check("budget_tokens", self.budget_tokens, self.budget_tokens > 0, "positive")
        reserve = self.reserve_tokens
        _check(
            "reserve_tokens",
            reserve,
            0 <= reserve < self.budget_tokens,
            "0 or more, and less than the budget",
        )
        margin = self.margin_percent
        _check("margin_percent", margin, 0 <= margin < 100, "at least 0 and less than 100")
        _check("mmr_lambda", self.mmr_lambda, 0 <= self.mmr_lambda <= 1, "between 0 and 1")
        _check("dedup", self.dedup, 0 < self.dedup <= 1, "above 0 and at most 1")
        limit = self.max_candidates
        _check("max_candidates", limit, limit is None or limit >= 1, "at least 1")
        _check("max_file_bytes", self.max_file_bytes, self.max_file_bytes >= 1, "at least 1")

    @property
    def spendable_tokens(self) -> int:
        """The budget without reserve and margin. The model's error bound is not taken off yet."""
        return (
            math.floor(self.budget_tokens * (1 - self.margin_percent / 100))
            - self.reserve_tokens
        )


def _check(name: str, value: object, holds: bool, must: str) -> None:  # noqa: FBT001  # a condition
    if not holds:
        raise ValueError(f"{name} must be {must}, got {value}")
