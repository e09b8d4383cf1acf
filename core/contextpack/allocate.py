"""A budget spent on whole files, best first: each is in whole, cut to what is left, or out.

This is the simple packer over strings in memory. It knows nothing of chunks or rendering; the
budget binds the sum of the contents' tokens.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from contextpack.classic import File, ScoredFile, known_files, normalize_query, score_repo
from contextpack.content import is_binary_content
from contextpack.errors import Code, PackError
from contextpack.model import TokenCounter
from contextpack.tokens import estimate_tokens
from contextpack.truncate import Truncate, Truncation, head_truncate, plain_number

MIN_TRUNCATE_TOKENS = 20  # Fewer say too little of a file to be worth a place.


class Exclusion(StrEnum):
    """Why a file is not in a pack, in the words that callers compare with."""

    BINARY = "binary file"
    EXHAUSTED = "budget exhausted"
    INSUFFICIENT = "insufficient budget remaining"


@dataclass(frozen=True, slots=True)
class IncludedFile:
    """A file in a pack. `content` is all of it unless `truncated`."""

    path: str
    content: str
    tokens: int
    truncated: bool
    score: float


@dataclass(frozen=True, slots=True)
class ExcludedFile:
    """A file that is not in a pack."""

    path: str
    reason: Exclusion


@dataclass(frozen=True, slots=True)
class FilePack:
    """What a budget bought. Every file given is in exactly one of the two tuples.

    `remaining` is the budget less the tokens included: at least 0 unless the budget itself is
    below, and then nothing is included. Both are finite.
    """

    included: tuple[IncludedFile, ...]
    """Best first."""
    excluded: tuple[ExcludedFile, ...]
    """Binary files by path, then the others, best first."""
    budget: float
    remaining: float


def build_context_pack(
    files: Iterable[File],
    query: str,
    budget_tokens: float,
    *,
    truncate: Truncate | None = None,
    counter: TokenCounter = estimate_tokens,
    min_truncate_tokens: int = MIN_TRUNCATE_TOKENS,
) -> FilePack:
    """The files that matter for the query, by the classic scorer, within the budget.

    Options and errors are `allocate`'s. Binary files are left out before any scoring.
    """
    files = known_files(files, File, "files")
    binary = [file.path for file in files if is_binary_content(file.content)]
    text = [file for file in files if not is_binary_content(file.content)]
    pack = allocate(
        score_repo(text, normalize_query(query)),
        budget_tokens,
        truncate=truncate,
        counter=counter,
        min_truncate_tokens=min_truncate_tokens,
    )
    by_path = sorted(binary, key=_utf16)
    left_out = tuple(ExcludedFile(path, Exclusion.BINARY) for path in by_path)
    return FilePack(pack.included, left_out + pack.excluded, pack.budget, pack.remaining)


def allocate(
    scored_files: Iterable[ScoredFile],
    budget_tokens: float,
    *,
    truncate: Truncate | None = None,
    counter: TokenCounter = estimate_tokens,
    min_truncate_tokens: int = MIN_TRUNCATE_TOKENS,
) -> FilePack:
    """The best files within the budget. Equal scores go by path, in UTF-16 order.

    Without `truncate` the start of a file is kept. A budget of zero, below or NaN excludes
    everything. Raises PackError: INVALID_BUDGET for a budget that is endless or no number,
    INVALID_SCORE and INVALID_TOKENS for figures that are no numbers, INVALID_TRUNCATION for a
    strategy that spends more than it was given. Raises TypeError for anything but files, and
    for functions that cannot be called.
    """
    functions: dict[str, object] = {"counter": counter, "truncate": truncate}
    for name, function in functions.items():
        if not callable(function) and (name, function) != ("truncate", None):
            raise TypeError(f"`{name}` must be callable, got {type(function).__name__}")
    budget = _budget(budget_tokens)
    least = plain_number(min_truncate_tokens)
    if least is None or not least >= 0:
        message = f"min_truncate_tokens must be 0 or more, got {_shown(min_truncate_tokens)}"
        raise PackError(Code.INVALID_TOKENS, message)
    files = known_files(scored_files, ScoredFile, "scored_files")
    for file in files:
        score = plain_number(file.score)
        if score is None or not _is_finite(score):
            message = (
                f"score must be a finite number, got {_shown(file.score)} for {file.path!r}"
            )
            raise PackError(Code.INVALID_SCORE, message, {"path": file.path})

    remaining = budget
    included: list[IncludedFile] = []
    excluded: list[ExcludedFile] = []
    for file in sorted(files, key=_best_first):
        if remaining <= 0:
            excluded.append(ExcludedFile(file.path, Exclusion.EXHAUSTED))
            continue
        whole = Truncation(file.content, _counted(file.content, counter))
        if whole.tokens <= remaining:
            kept = whole
        elif remaining >= least:
            kept = _truncated(file, math.floor(remaining), truncate, counter)
        else:
            excluded.append(ExcludedFile(file.path, Exclusion.INSUFFICIENT))
            continue
        included.append(
            IncludedFile(file.path, kept.content, kept.tokens, kept is not whole, file.score)
        )
        remaining -= kept.tokens
    return FilePack(tuple(included), tuple(excluded), budget, remaining)


def _budget(budget_tokens: object) -> int | float:
    """The budget as a finite number; 0 for NaN and what lies endlessly below."""
    number = plain_number(budget_tokens)
    if number is None or (number > 0 and not _is_finite(number)):
        message = f"budget_tokens must be a finite number, got {_shown(budget_tokens)}"
        raise PackError(Code.INVALID_BUDGET, message)
    return number if _is_finite(number) else 0


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # An int that no float can hold.
        return False


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 64:  # Python refuses to write long ones.
        return f"an int of {value.bit_length()} bits"
    is_short = isinstance(value, str | int | float | None)
    return f"{value!r:.80}" if is_short else type(value).__name__


def _best_first(file: ScoredFile) -> tuple[float, bytes]:
    return -file.score, _utf16(file.path)


def _utf16(path: str) -> bytes:
    return path.encode("utf-16-be", "surrogatepass")


def _truncated(
    file: ScoredFile, allowed: int, truncate: Truncate | None, counter: TokenCounter
) -> Truncation:
    """The file cut to the tokens allowed; a strategy's figures are checked, not believed.

    Of what it claims and what its text counts, the larger is charged.
    """
    if truncate is None:
        return head_truncate(file.content, allowed, counter)
    # Not typed as what it should be: it comes from outside.
    cut: object = truncate(file.content, allowed)
    if not isinstance(cut, Truncation) or not isinstance(cut.content, str):
        message = (
            f"truncate must return a Truncation of text, got {cut!r:.80} for {file.path!r}"
        )
        raise PackError(Code.INVALID_TRUNCATION, message, {"path": file.path})
    claimed: object = cut.tokens
    counted = _counted(cut.content, counter)
    if isinstance(claimed, int) and 0 <= claimed <= allowed and counted <= allowed:
        return Truncation(cut.content, max(claimed, counted))
    message = (
        f"truncate may spend 0 to {allowed} tokens on {file.path!r}, "
        f"but says {_shown(claimed)} and spent {_shown(counted)}"
    )
    details = {"path": file.path, "allowed": allowed, "tokens": claimed, "counted": counted}
    raise PackError(Code.INVALID_TRUNCATION, message, details)


def _counted(text: str, counter: TokenCounter) -> int:
    tokens: object = counter(text)
    if not isinstance(tokens, int) or tokens < 0:
        message = f"a token counter must return an int of 0 or more, got {_shown(tokens)}"
        raise PackError(Code.INVALID_TOKENS, message)
    return tokens
