"""What a ranking is: the scores of a snapshot's files and chunks, each with its parts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import repeat
from types import MappingProxyType
from typing import TypeVar, assert_never

import numpy as np
from numpy.typing import NDArray

from contextpack.bm25 import Floats
from contextpack.entry import Entry
from contextpack.model import Path
from contextpack.postings import Postings, Slots
from contextpack.snapshot import Snapshot
from contextpack.text import Lines, first_sorted

# Scores are rounded before they are compared, so that the last bit of a machine's arithmetic never
# decides.
SCORE_DIGITS = 6

# A candidate with less than this share of the best score is noise: room is better left empty.
MIN_SCORE_SHARE = 0.05

# So many of the best chunks are put in order at first.
FIRST_CHUNKS = 128

T = TypeVar("T", bound=np.generic)


RULE = (
    "score = max(factor * (sum of the other parts) + mention + line + focus + changed + test + reach, "
    "header) / divisor; "
    "factor and divisor are 1 and the others 0 where they are not named; "
    "a file has the score and the parts of its best chunk"
)
"""How parts make a score, for people; scores and parts are rounded to `SCORE_DIGITS`."""


class Holder(StrEnum):
    """Who has a part of a score."""

    FILE = "file"
    """Every chunk of a file has the same; values are by slot."""
    WORDED = "worded"
    """Likewise, but only chunks with a word of the query have it; values are by slot."""
    CHUNK = "chunk"
    """Each chunk has its own; values are by the number of the chunk in the postings."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the scores of all chunks."""

    name: str
    values: Floats
    holder: Holder = Holder.FILE
    is_outright: bool = False
    """Whether it is added as it is, whatever kind of file it is."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """What the scores of a ranking are made of, as `RULE` says. Kept as it was computed."""

    parts: tuple[Part, ...]
    factors: Floats
    """By slot: what the sum of the parts is multiplied with for the kind of the file."""
    is_worded: NDArray[np.bool_]
    """By chunk: whether it has a word of the query."""
    headers: Floats
    """By slot: what the file's first chunk has at least."""
    divisors: Floats
    """By chunk: what its score is divided by, for those of its file that come before it."""

    def of(
        self, slots: Slots, numbers: NDArray[np.int64], is_first: NDArray[np.bool_]
    ) -> list[Mapping[str, float]]:
        """The parts of the scores of chunks, those that count for nothing left out.

        Parallel arrays: the slot of each chunk's file, the number of the chunk, and whether it is
        the first of its file. Of a file that is ranked as a whole the number is -1.
        """
        is_chunk = numbers >= 0
        is_worded = _taken(self.is_worded, numbers, is_chunk)
        inner, outright = np.zeros(len(slots)), np.zeros(len(slots))
        columns: list[list[float]] = []
        for part in self.parts:
            match part.holder:
                case Holder.FILE:
                    values = part.values[slots]
                case Holder.WORDED:
                    values = np.where(is_worded, part.values[slots], 0.0)
                case Holder.CHUNK:
                    values = _taken(part.values, numbers, is_chunk)
                case _:
                    assert_never(part.holder)
            if part.is_outright:
                outright += values
            else:
                inner += values
            columns.append(values.tolist())
        names = [part.name for part in self.parts]
        rows = zip(*columns, strict=True) if columns else repeat((), len(slots))
        found = [
            {
                name: rounded
                for name, value in zip(names, row, strict=True)
                if value and (rounded := round(value, SCORE_DIGITS))
            }
            for row in rows
        ]
        factors, headers = self.factors[slots], self.headers[slots]
        for i in np.flatnonzero((factors != 1.0) & (inner != 0.0)).tolist():
            found[i]["factor"] = float(factors[i])
        for i in np.flatnonzero(is_first & (headers > factors * inner + outright)).tolist():
            found[i]["header"] = round(float(headers[i]), SCORE_DIGITS)
        divisors = _taken(self.divisors, numbers, is_chunk)
        for i in np.flatnonzero(is_chunk & (divisors != 1.0)).tolist():
            found[i]["divisor"] = round(float(divisors[i]), SCORE_DIGITS)
        return [MappingProxyType(parts) for parts in found]


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file with its score: the best of its chunks'. `parts` are that chunk's, see `RULE`."""

    path: Path
    score: float
    parts: Mapping[str, float]
    best: Lines | None
    """The lines of its best chunk; None where files are ranked as a whole."""


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A chunk of a file with its score."""

    path: Path
    lines: Lines
    tokens: int
    """Of its text by the index's counter."""
    score: float
    number: int = field(compare=False)
    """Of the chunk in the postings, which depends on how the snapshot came about."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The scores of a snapshot's files and chunks. What has none above zero is not relevant."""

    snapshot: Snapshot
    chunk_scores: Floats
    """By the number of the chunk in the postings."""
    file_scores: Floats
    """By slot: the best of the file's chunks."""
    breakdown: Breakdown | None
    """What the scores are made of; None in a ranking that is kept for its scores alone."""
    unknown_words: tuple[str, ...]
    """Words of the query that stand nowhere in the workspace."""
    is_fallback: bool
    """Whether nothing said what to look for, so that structure and recency decided."""
    best_said: float
    """The best score that words alone make of a chunk; that of all parts where they make none.

    What somebody points at must not make noise of what the words found.
    """
    trails: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)
    """For files that imports led to: the files on the way, each imports the next one."""

    @property
    def floor(self) -> float:
        """The score below which a chunk is no candidate."""
        return MIN_SCORE_SHARE * self.best_said

    @property
    def n_relevant(self) -> int:
        """How many files have a score."""
        return int(np.count_nonzero(self.file_scores > 0))

    @property
    def files(self) -> tuple[RankedFile, ...]:
        """All files with a score, best first; ties by path."""
        paths = self.snapshot.paths
        slots = np.flatnonzero(self.file_scores > 0).tolist()
        found = [(-float(self.file_scores[slot]), paths[slot], slot) for slot in slots]
        return tuple(self._files([slot for _, _, slot in sorted(found)]))

    def best(self, n: int | None = None) -> list[Path]:
        """The `n` best files with a score, best first, or all of them; ties by path."""
        paths, scores = self.snapshot.paths, self.file_scores
        slots = np.flatnonzero(scores > 0)
        if n is None or n >= len(slots):
            return self._sorted(slots)
        if n <= 0:
            return []
        least = np.partition(scores[slots], len(slots) - n)[len(slots) - n]
        above = self._sorted(slots[scores[slots] > least])
        # Which of those that tie with the last one are among the best their paths say.
        return above + first_sorted(
            paths[slots[scores[slots] == least]].tolist(), n - len(above)
        )

    def _sorted(self, slots: NDArray[np.int64]) -> list[Path]:
        paths, scores = self.snapshot.paths[slots].tolist(), self.file_scores[slots]
        return [path for _, path in sorted(zip((-scores).tolist(), paths, strict=True))]

    def score(self, path: Path) -> float:
        """The score of a file; 0 where it has none."""
        slot = self.snapshot.slots.get(path)
        return 0.0 if slot is None else float(self.file_scores[slot])

    def file(self, path: Path) -> RankedFile | None:
        """One file, or None where it has no score."""
        slot = self.snapshot.slots.get(path)
        if slot is None or self.file_scores[slot] <= 0:
            return None
        return self._files([slot])[0]

    def parts_of_files(self, paths: Sequence[Path]) -> Mapping[Path, Mapping[str, float]]:
        """What the scores of those of these files are made of that have one, see `RULE`."""
        known = self.snapshot.slots
        slots = {path: known[path] for path in paths if self.score(path) > 0}
        numbers = [self._best_chunk(slot) for slot in slots.values()]
        return dict(zip(slots, self._parts([*slots.values()], numbers), strict=True))

    def chunks(self, least: float = 0.0) -> Iterator[RankedChunk]:
        """The chunks with a score of at least `least`, best first; ties by path, then position.

        Only those that somebody takes are put in order: the first ones cost little.
        """
        scores = self.chunk_scores
        rest = np.flatnonzero((scores > 0) & (scores >= least))
        size = FIRST_CHUNKS
        while len(rest):
            if size < len(rest):
                # All that tie with the last one belong to the same block.
                least = np.partition(scores[rest], len(rest) - size)[len(rest) - size]
                block, rest = rest[scores[rest] >= least], rest[scores[rest] < least]
            else:
                block, rest = rest, rest[:0]
            yield from self._ordered(block)
            size *= 4

    def _ordered(self, numbers: NDArray[np.int64]) -> Iterator[RankedChunk]:
        postings, paths = self.snapshot.postings, self.snapshot.paths
        # A file's chunks are numbered in its order.
        for score, path, number, (start, end, tokens) in sorted(
            zip(
                (-self.chunk_scores[numbers]).tolist(),
                paths[postings.chunk_slots[numbers]].tolist(),
                numbers.tolist(),
                postings.chunk_table(numbers).tolist(),
                strict=True,
            )
        ):
            yield RankedChunk(path, Lines(start, end), tokens, -score, number)

    def chunks_of(self, path: Path) -> list[RankedChunk]:
        """All chunks of a file, in its order, those without a score too."""
        slot, postings = self.snapshot.slots[path], self.snapshot.postings
        first, end = postings.first_chunks[slot : slot + 2].tolist()
        numbers = np.arange(first, end)
        rows = zip(
            self.chunk_scores[first:end].tolist(),
            numbers.tolist(),
            postings.chunk_table(numbers).tolist(),
            strict=True,
        )
        return [
            RankedChunk(path, Lines(start, last), tokens, score, number)
            for score, number, (start, last, tokens) in rows
        ]

    def parts(self, chunk: RankedChunk) -> Mapping[str, float]:
        """What a chunk's score is made of, see `RULE`; nothing without a breakdown."""
        return self._parts([self.snapshot.slots[chunk.path]], [chunk.number])[0]

    def without_parts(self) -> "Ranking":
        """The same scores, for who keeps them: the parts are many times as large."""
        return replace(self, breakdown=None)

    def _files(self, slots: Sequence[int]) -> list[RankedFile]:
        postings, paths = self.snapshot.postings, self.snapshot.paths
        numbers = [self._best_chunk(slot) for slot in slots]
        return [
            RankedFile(
                path=paths[slot],
                score=float(self.file_scores[slot]),
                parts=parts,
                best=None if number is None else postings.chunk(number)[0],
            )
            for slot, number, parts in zip(
                slots, numbers, self._parts(slots, numbers), strict=True
            )
        ]

    def _best_chunk(self, slot: int) -> int | None:
        """The number of a file's best chunk, the first of them; None without a score."""
        first, end = self.snapshot.postings.first_chunks[slot : slot + 2].tolist()
        scores = self.chunk_scores[first:end]
        best = int(scores.argmax()) if end > first else 0
        return first + best if end > first and scores[best] > 0 else None

    def _parts(
        self, slots: Sequence[int], numbers: Sequence[int | None]
    ) -> list[Mapping[str, float]]:
        if self.breakdown is None:
            return [MappingProxyType({})] * len(slots)
        at = np.array(slots, np.int64)
        chunks = np.array([-1 if number is None else number for number in numbers], np.int64)
        return self.breakdown.of(at, chunks, chunks == self.snapshot.postings.first_chunks[at])


def _taken(
    values: NDArray[T], numbers: NDArray[np.int64], is_there: NDArray[np.bool_]
) -> NDArray[T]:
    """The values at these numbers; nothing where there is none."""
    found = np.zeros(len(numbers), values.dtype)
    found[is_there] = values[numbers[is_there]]
    return found


def ranking_of(
    snapshot: Snapshot,
    chunk_scores: Floats,
    breakdown: Breakdown,
    unknown: tuple[str, ...],
    *,
    is_fallback: bool,
    trails: Mapping[Path, tuple[Path, ...]],
    said: float = 0.0,
) -> Ranking:
    """The ranking that scores of chunks and their parts are; scores are rounded here.

    `said` is the best score that words alone make, 0 where they make none.
    """
    postings = snapshot.postings
    scores = np.round(chunk_scores, SCORE_DIGITS)
    return Ranking(
        snapshot=snapshot,
        chunk_scores=scores,
        file_scores=best_by_file(scores, postings),
        breakdown=breakdown,
        unknown_words=unknown,
        is_fallback=is_fallback,
        best_said=best_said(scores, said),
        trails=trails,
    )


def best_said(scores: Floats, said: float) -> float:
    """What `Ranking.best_said` is for these rounded scores and the best that words alone make."""
    best, said = float(scores.max(initial=0.0)), round(said, SCORE_DIGITS)
    return min(best, said) if said > 0 else best


def classic_ranking(
    snapshot: Snapshot,
    scores: Mapping[Path, float],
    entry: Entry | None = None,
    part: str = "classic",
) -> Ranking:
    """The ranking that scores of whole files are, those of the classic scorer or of another.

    `part` is the name of what they say, in the breakdown. Files without a line are out.

    What the entry points add to the best chunk of a file counts on the scale of these scores.
    """
    postings = snapshot.postings
    by_slot = np.zeros(postings.n_slots)
    for path, score in scores.items():
        if path in snapshot.sources and snapshot.sources[path].n_lines:
            by_slot[snapshot.slots[path]] = score
    n_chunks = len(postings.chunk_slots)
    parts = {part: by_slot}
    if entry is not None:
        scale = float(by_slot.max(initial=0.0)) or 1.0
        lifts = {**entry.named, **entry.found}
        total = sum(lifts.values(), np.zeros(n_chunks))
        parts |= {name: scale * at_best(lift, total, postings) for name, lift in lifts.items()}
        by_slot = sum(parts.values(), np.zeros(postings.n_slots))
        if entry.within is not None:
            by_slot = np.where(entry.within, by_slot, 0.0)
    return Ranking(
        snapshot=snapshot,
        chunk_scores=np.zeros(n_chunks),
        file_scores=by_slot,
        breakdown=Breakdown(
            parts=tuple(Part(name, values) for name, values in parts.items()),
            factors=np.ones(len(by_slot)),
            is_worded=np.zeros(n_chunks, np.bool_),
            headers=np.zeros(len(by_slot)),
            divisors=np.ones(n_chunks),
        ),
        unknown_words=(),
        is_fallback=False,
        best_said=0.0,
        trails=entry.trails if entry is not None else {},
    )


def best_by_file(scores: Floats, postings: Postings) -> Floats:
    """The best of a file's chunks; 0 where none has more."""
    best = np.zeros(postings.n_slots)
    found = np.flatnonzero(scores > 0)
    np.maximum.at(best, postings.chunk_slots[found], scores[found])
    return best


def at_best(values: Floats, scores: Floats, postings: Postings) -> Floats:
    """By slot: the value of the file's best chunk by these scores, the first of several."""
    slots = postings.chunk_slots
    tops = np.flatnonzero(scores >= best_by_file(scores, postings)[slots])
    filled, first = np.unique(slots[tops], return_index=True)
    found = np.zeros(postings.n_slots)
    found[filled] = values[tops[first]]
    return found
