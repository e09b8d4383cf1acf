"""Counting tokens: the chars/4 estimate, and what is known of each model's tokenizer.

The vocabularies themselves are not here. A `Profile` says which one to use; the server makes
the counter, and the core is given it as a plain function.
"""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

CHARS_PER_TOKEN = 4  # UTF-16 units, as a JavaScript string is long.
MAX_SHOWN = 60  # Characters of an unknown name in a message: one line stays one line.


class Encoding(StrEnum):
    """How tokens are counted before a profile's factor."""

    O200K = "o200k_base"
    CL100K = "cl100k_base"
    CHARS = "chars/4"


@dataclass(frozen=True, slots=True)
class Profile:
    """How to count for a model: `ceil(count in encoding * factor)`.

    `error_bound` is how far the true count may lie above that, as a share of it. It is kept
    free from the budget (`usable_budget`). `exact` profiles have a factor of 1 and no error.
    """

    name: str
    encoding: Encoding
    factor: float
    error_bound: float
    exact: bool

    def __post_init__(self) -> None:
        if not (1 <= self.factor < math.inf and 0 <= self.error_bound < math.inf):
            raise ValueError(f"not a profile: factor {self.factor}, bound {self.error_bound}")
        if self.exact and (self.factor, self.error_bound) != (1, 0):
            raise ValueError("an exact profile has no factor and no error")


PROFILES = (
    Profile("o200k", Encoding.O200K, factor=1, error_bound=0, exact=True),
    Profile("cl100k", Encoding.CL100K, factor=1, error_bound=0, exact=True),
    # Anthropic publishes no tokenizer. Public reports compare OpenAI's counts with what the
    # API bills: 10 to 30 % below, so the true count is 1.11 to 1.43 times o200k's. A factor of
    # 1.25 sits in the middle, and 1.25 * 1.15 = 1.4375 covers the top.
    Profile("claude", Encoding.O200K, factor=1.25, error_bound=0.15, exact=False),
    # Google publishes none for the API's models either. Public reports have it at 0.85 to 1.15
    # times o200k on English and code; other scripts spread wider, mostly downwards.
    # 1.125 * 1.15 = 1.29 leaves room above the reports.
    Profile("gemini", Encoding.O200K, factor=1.125, error_bound=0.15, exact=False),
    # Not a bound at all: 12 % high on Python, 30 to 65 % low on minified code, JSON and Chinese.
    # Nothing is kept free for it, because nothing reasonable would be enough.
    Profile("estimate", Encoding.CHARS, factor=1, error_bound=0, exact=False),
)
"""Every profile: exact for OpenAI's vocabularies, named estimates for the rest.

The bounds of `claude` and `gemini` rest on public reports, not on a published vocabulary.
"""

# A version suffix never makes `gpt-4` of `gpt-4.1`, whose vocabulary is another one. `gpt-oss`
# counts as o200k: its vocabulary adds special tokens only, and text holds none.
_FAMILIES = (
    (r"o200k(_base)?|(chatgpt-4o|gpt-4o|gpt-4\.[15]|gpt-oss|o[134])([-:].*)?", "o200k"),
    (r"gpt-5([-.:].*)?", "o200k"),
    (r"cl100k(_base)?|(gpt-4|gpt-3\.?5)([-:].*)?", "cl100k"),
    (r"claude.*", "claude"),
    (r"gemini.*", "gemini"),
    (r"estimate|chars/4", "estimate"),
)

MODEL_NAMES = (
    "o200k", "cl100k", "estimate", "claude", "gemini", "gpt-4o", "chatgpt-4o", "gpt-4.1",
    "gpt-4.5", "gpt-5", "gpt-oss", "o1", "o3", "o4", "gpt-4", "gpt-4-turbo", "gpt-3.5",
)  # fmt: skip
"""The names to offer. A family's name also stands for its versions (`gpt-4o-mini`)."""


def estimate_tokens(text: str) -> int:
    """A quarter of the text's length in UTF-16 units, rounded up.

    Fast and the same everywhere, but low on dense text: about a quarter of the truth on Chinese
    and half of it on random letters. Lone surrogates count as one unit each.
    """
    if text.isascii():
        n_units = len(text)
    else:
        n_units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return -(-n_units // CHARS_PER_TOKEN)


token_count = estimate_tokens
"""`estimate_tokens` under its public name."""


def profile_of(model: str) -> Profile:
    """The profile of a model, by its own or its family's name; case and a vendor's path aside.

    Raises ValueError for a name that belongs to no family, with the names there are.
    """
    name = model.strip().lower()
    base_name = name.rpartition("/")[2]  # Of `openai/gpt-4o` or `models/gemini-2.5-pro`.
    for candidate in (name, base_name):
        for pattern, family in _FAMILIES:
            if re.fullmatch(pattern, candidate):
                return next(profile for profile in PROFILES if profile.name == family)
    shown = model if len(model) <= MAX_SHOWN else model[:MAX_SHOWN] + "..."
    closest = _closest(name)
    hint = f"; did you mean {closest}?" if closest else ";"
    raise ValueError(f"unknown model {shown!r}{hint} known are {', '.join(MODEL_NAMES)}")


def usable_budget(budget_tokens: int, profile: Profile) -> int:
    """How many counted tokens may be spent so that the true count stays within the budget.

    That holds as far as the profile's bound does. Never negative.
    """
    return max(0, math.floor(budget_tokens / (1 + profile.error_bound)))


def _closest(name: str) -> str | None:
    """The known name that shares most pairs of neighbouring characters, if any does."""
    pairs = _pairs(name)

    def similarity(known: str) -> float:
        others = _pairs(known)
        return 2 * len(pairs & others) / (len(pairs) + len(others))

    closest = max(MODEL_NAMES, key=similarity)
    return closest if similarity(closest) > 0 else None


def _pairs(name: str) -> frozenset[str]:
    padded = f"^{name}$"  # So that equal ends count, and one character has pairs too.
    return frozenset(padded[i : i + 2] for i in range(len(padded) - 1))
