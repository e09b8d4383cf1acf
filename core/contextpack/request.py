"""One question to a workspace. The defaults of every door stand here and nowhere else."""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from contextpack.model import Detail, Format, Path
from contextpack.text import Lines, is_writable


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
    LEVELS = "levels"


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


@dataclass(frozen=True, slots=True)
class Focus:
    """A place that somebody looks at: a file, or some lines of it."""

    path: Path
    lines: Lines | None = None
    is_optional: bool = False
    """Whether a path that is no candidate is passed over with a warning: an editor names its
    active file, whatever it is."""


HEAD = "HEAD"
"""The revision that changes are against if nobody says another one."""


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
    only: tuple[str, ...] = ()
    """Names of files and definitions, as `names.spans_named` reads them: nothing else is packed."""
    pins: tuple[Path, ...] = ()
    details: tuple[Forced, ...] = ()
    focus: tuple[Focus, ...] = ()
    """What somebody looks at: it is lifted, and what is close to it a little."""
    origins: tuple[Path, ...] = ()
    """The files from which imports are followed: only what they lead to is ranked."""
    depth: int = 2
    """How many imports are followed from an origin."""
    importers: bool = False
    """Whether imports are followed backwards, to the files that need an origin."""
    diff: str | None = None
    """The revision whose difference to the files is lifted, with what uses and tests it."""
    staged: bool = False
    """Whether the difference is that of the index, and not of the files as they are."""
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
        _check("depth", self.depth, self.depth >= 1, "at least 1")
        revision = self.diff
        is_revision = revision is None or (
            revision != ""
            and not revision.startswith("-")
            and "\0" not in revision
            # The surrogates that stand for bytes are names; no others can be asked for.
            and is_writable(re.sub("[\udc80-\udcff]", "", revision))
        )
        _check("diff", revision, is_revision, "the name of a commit")
        _check("max_file_bytes", self.max_file_bytes, self.max_file_bytes >= 1, "at least 1")

    @property
    def revision(self) -> str | None:
        """The revision that changes are against; None where nobody asks for changes."""
        return HEAD if self.diff is None and self.staged else self.diff

    @property
    def has_entry(self) -> bool:
        """Whether something besides words says what the question is about."""
        return bool(self.focus or self.origins or self.revision)

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
