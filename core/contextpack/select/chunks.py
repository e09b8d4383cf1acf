"""What goes into a pack and comes out of it, and which chunks are refused.

Nothing here is ever changed: a chunk's content and metadata are handed on as the same objects.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from contextpack.errors import Code, PackError
from contextpack.model import TokenCounter
from contextpack.similarity import listed

Metadata = Mapping[str, object]


class Exclusion(StrEnum):
    """Why a chunk was left out."""

    BUDGET = "budget"  # It does not fit into what the choice leaves.
    REDUNDANT = "redundant"  # A better one that stays is too much like it.
    STRATEGY = "strategy"  # It would still fit; the strategy did not want it.
    MAX_CANDIDATES = "max-candidates"  # It came after the first `max_candidates`.


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredChunk:
    """A chunk to choose from."""

    content: str
    score: float
    """Finite; higher is better."""
    id: str | None = None
    """Unique. Without one it becomes `chunk-N`, N its position in the input."""
    tokens: float | None = None
    """Counted by the token counter if None."""
    embedding: Sequence[float] | None = None
    metadata: Metadata | None = None
    """Handed on. `timestamp` is for the chronological ordering, `group` for coverage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedChunk:
    """A chunk that was chosen."""

    id: str
    content: str
    score: float
    tokens: float
    position: int
    """Its place in the ordered output, from 0."""
    metadata: Metadata | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedChunk:
    """A chunk that was left out, and why."""

    id: str
    content: str
    score: float
    tokens: float
    reason: Exclusion
    redundant_with: str | None = None
    """The id of the chunk that it is most like, for the reason `redundant`."""
    similarity: float | None = None
    metadata: Metadata | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that was checked: its id and tokens are set, and its cost is exact."""

    chunk: ScoredChunk
    position: int
    """In the input."""
    id: str
    tokens: float
    cost: int | Fraction
    """Tokens and overhead. Sums of it are exact, so a budget is never missed by rounding."""


def candidates(
    given: Iterable[ScoredChunk], counter: TokenCounter, overhead: float
) -> tuple[Candidate, ...]:
    """The chunks, checked. Raises INVALID_CHUNK, DUPLICATE_ID, INVALID_SCORE, INVALID_TOKENS."""
    chunks = _in_full(given)
    for number, chunk in enumerate(chunks):
        _check_types(chunk, number)
    ids = _ids(chunks)
    scores = [finite_number(chunk.score) for chunk in chunks]
    _refuse(
        Code.INVALID_SCORE,
        "scores must be finite numbers",
        [one for one, score in zip(ids, scores, strict=True) if score is None],
    )
    tokens = [
        finite_number(counter(chunk.content) if chunk.tokens is None else chunk.tokens)
        for chunk in chunks
    ]
    _refuse(
        Code.INVALID_TOKENS,
        "tokens, given or counted, must be finite numbers of 0 or more",
        [one for one, n in zip(ids, tokens, strict=True) if n is None or n < 0],
    )
    extra = exact(overhead)
    return tuple(
        Candidate(
            ScoredChunk(
                content=chunk.content,
                score=score,
                id=one,
                tokens=n,
                embedding=chunk.embedding,
                metadata=chunk.metadata,
            ),
            position,
            one,
            n,
            exact(n) + extra,
        )
        for position, (chunk, one, score, n) in enumerate(
            zip(chunks, ids, scores, tokens, strict=True)
        )
        if score is not None and n is not None  # None was refused above.
    )


def finite_number(value: object) -> int | float | None:
    """The value as a plain number, or None if it is not one or not finite. A bool is not one."""
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # An int that no float can hold.
        return None


def exact(number: float) -> int | Fraction:
    """The same number, such that sums are exact."""
    return int(number) if number == int(number) else Fraction(number)


def plain(number: int | Fraction) -> int | float:
    """The number for a report: an int where it is whole."""
    return int(number) if number.denominator == 1 else float(number)


def excluded(
    candidate: Candidate,
    reason: Exclusion,
    redundant_with: str | None = None,
    similarity: float | None = None,
) -> ExcludedChunk:
    """The entry of a report for a chunk that is left out."""
    return ExcludedChunk(
        id=candidate.id,
        content=candidate.chunk.content,
        score=candidate.chunk.score,
        tokens=candidate.tokens,
        reason=reason,
        redundant_with=redundant_with,
        similarity=similarity,
        metadata=candidate.chunk.metadata,
    )


def _in_full(given: Iterable[ScoredChunk]) -> tuple[ScoredChunk, ...]:
    # Of any type, as below. Text and mappings can be gone through too, but never hold chunks.
    chunks: object = given
    if isinstance(chunks, Iterable) and not isinstance(chunks, str | bytes | Mapping):
        return tuple(given)
    message = f"`chunks` must be an iterable of ScoredChunk, got {type(chunks).__name__}"
    raise PackError(Code.INVALID_CHUNK, message)


def _check_types(chunk: object, number: int) -> None:
    # Of any type: the annotations are a promise that callers may break.
    content, own_id, metadata = (
        getattr(chunk, name, None) for name in ("content", "id", "metadata")
    )
    if not isinstance(chunk, ScoredChunk):
        problem = f"is not a ScoredChunk but {type(chunk).__name__}"
    elif not isinstance(content, str):
        problem = f"has content that is not text but {type(content).__name__}"
    elif not isinstance(own_id, str | None):
        problem = f"has an id that is not text but {type(own_id).__name__}"
    elif not isinstance(metadata, Mapping | None):
        problem = f"has metadata that is not a mapping but {type(metadata).__name__}"
    else:
        return
    raise PackError(Code.INVALID_CHUNK, f"chunk {number} {problem}", {"position": number})


def _ids(chunks: Sequence[ScoredChunk]) -> list[str]:
    """Each chunk's own id, or `chunk-N`; where that is somebody's own, `chunk-N-1` and so on."""
    own = [chunk.id for chunk in chunks if chunk.id is not None]
    repeated = [one for one, n in Counter(own).items() if n > 1]
    if repeated:
        raise PackError(
            Code.DUPLICATE_ID,
            f"ids must be unique; {listed(repeated)} is given more than once",
            {"ids": repeated},
        )
    seen, ids = set(own), []
    for number, chunk in enumerate(chunks):
        name, attempt = chunk.id, 0
        while name is None:
            proposal = f"chunk-{number}-{attempt}" if attempt else f"chunk-{number}"
            if proposal not in seen:
                name = proposal
                seen.add(name)
            attempt += 1
        ids.append(name)
    return ids


def _refuse(code: Code, rule: str, ids: Sequence[str]) -> None:
    if ids:
        raise PackError(code, f"{rule}; wrong for {listed(ids)}", {"ids": list(ids)})
