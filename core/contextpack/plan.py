"""What is worth reading for a request: more than fits, by the counts that the index keeps."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, zip_longest
from types import MappingProxyType

import numpy as np

from contextpack.entry import entry
from contextpack.model import Detail, Path
from contextpack.names import Named, Span, spans_named
from contextpack.rank import rank
from contextpack.ranking import (
    SCORE_DIGITS,
    Breakdown,
    Holder,
    Part,
    RankedChunk,
    RankedFile,
    Ranking,
    classic_ranking,
    ranking_of,
)
from contextpack.request import Forced, Request, Scorer
from contextpack.snapshot import Snapshot
from contextpack.text import Lines

# Read this many times the budget: near-duplicates fall out, and what does not fit is skipped.
READ_AHEAD = 3
# At least so many candidates, so that a small budget still has a choice.
MIN_CANDIDATES = 64

# A file of at most so many tokens is shown whole: its path line costs a tenth of that, and a
# part of it saves less than the reader loses.
SMALL_FILE_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """A range of lines of one file that may go into the bundle."""

    path: Path
    lines: Lines
    score: float
    tokens: int
    """Of its text by the index's counter: an estimate when the request's model has another."""
    is_introduction: bool = False
    """Whether it is the start of a file of which another part is better: alone it says nothing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The candidates of a request, best first, and everything that the choice needs to know."""

    request: Request
    ranking: Ranking
    candidates: tuple[Candidate, ...]
    forced: tuple[Forced, ...]
    is_capped: bool
    """Whether `max_candidates` cut ranked candidates off."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files whose texts `finish` needs, in order of first use."""
        forced = [item.path for item in self.forced]
        return tuple(
            dict.fromkeys([*forced, *(candidate.path for candidate in self.candidates)])
        )


def plan(
    snapshot: Snapshot,
    request: Request,
    classic_scores: Mapping[Path, float] | None = None,
    standing: Collection[Path] = (),
    changed: Mapping[Path, tuple[Lines, ...]] | None = None,
    *,
    given: Mapping[Path, float] | None = None,
) -> Plan:
    """The plan for a request. The classic scorer reads texts, so its scores come from outside.

    `given` are scores of whole files by somebody else's scorer, in the place of the classic ones.

    So do the changed lines of files, for a request that has a revision.

    The files in `standing` are in a predecessor's bundle: however many are as good as they are,
    they stay candidates for as long as their score is above the cut.
    """
    entered = entry(snapshot, request, changed)
    if request.only:
        ranking = _only(snapshot, request)
    elif request.scorer is Scorer.CLASSIC:
        is_given = given is not None
        scores = (given if is_given else classic_scores) or {}
        ranking = classic_ranking(snapshot, scores, entered, "given" if is_given else "classic")
    else:
        ranking = rank(snapshot, request.query, entered)
    return planned(request, ranking, standing)


def planned(request: Request, ranking: Ranking, standing: Collection[Path] = ()) -> Plan:
    """The plan of a request whose ranking is there: no budget, pin or strategy changes that."""
    snapshot = ranking.snapshot
    if request.only:
        found = _named(request, ranking)
    elif request.scorer is Scorer.CLASSIC:
        found = _files(snapshot, ranking.files)
    else:
        # Below the cut lie the many that have a common word and nothing else, often all alike.
        floor = ranking.floor
        found = _chunks(snapshot, ranking, ranking.chunks(floor), floor)
    kept: list[Candidate] = []
    tokens = 0
    for candidate in islice(found, request.max_candidates):
        if len(kept) >= MIN_CANDIDATES and tokens > READ_AHEAD * request.budget_tokens:
            break
        kept.append(candidate)
        tokens += candidate.tokens
    is_capped = len(kept) == request.max_candidates and next(found, None) is not None
    if request.max_candidates is None:
        waiting = set(standing) - {candidate.path for candidate in kept}
        kept += _standing(snapshot, ranking, request.scorer, sorted(waiting))
    return Plan(request, ranking, tuple(kept), _forced(request), is_capped)


def _only(snapshot: Snapshot, request: Request) -> Ranking:
    """What the request asks for: the first piece of each name, then the second of each.

    So a large class does not take the room of all that is named behind it.
    """
    named = spans_named(snapshot, request.only)
    in_turn = _in_turn(snapshot, named)
    scores = np.zeros(len(snapshot.postings.chunk_slots))
    for place, (number, _, _) in enumerate(in_turn):
        scores[number] = max(scores[number], 1 - place / (1 + len(in_turn)))
    scores = np.round(scores, SCORE_DIGITS)
    breakdown = Breakdown(
        parts=(Part("only", scores, Holder.CHUNK),),
        factors=np.ones(snapshot.postings.n_slots),
        is_worded=np.zeros(len(scores), np.bool_),
        headers=np.zeros(snapshot.postings.n_slots),
        divisors=np.ones(len(scores)),
    )
    unknown = tuple(item.name for item in named if not item.spans)
    return ranking_of(
        snapshot, scores, breakdown, unknown, is_fallback=False, trails=MappingProxyType({})
    )


def _named(request: Request, ranking: Ranking) -> Iterator[Candidate]:
    """The lines that the request asks for, best first."""
    snapshot = ranking.snapshot
    found = [
        Candidate(
            path=snapshot.paths[snapshot.postings.chunk_slots[number]],
            lines=lines,
            score=float(ranking.chunk_scores[number]),
            tokens=tokens,
        )
        for number, lines, tokens in _in_turn(snapshot, spans_named(snapshot, request.only))
    ]
    return iter(sorted(found, key=lambda candidate: -candidate.score))


_Piece = tuple[int, Lines, int]
"""A chunk by its number, which of its lines are meant, and their tokens."""


def _in_turn(snapshot: Snapshot, named: Iterable[Named]) -> list[_Piece]:
    pieces = [[p for span in item.spans for p in _pieces(snapshot, span)] for item in named]
    rows = zip_longest(*pieces)
    return list(dict.fromkeys(piece for row in rows for piece in row if piece is not None))


def _pieces(snapshot: Snapshot, span: Span) -> Iterator[_Piece]:
    slot = snapshot.slots[span.path]
    for number in range(*snapshot.postings.first_chunks[slot : slot + 2].tolist()):
        lines, tokens = snapshot.postings.chunk(number)
        wanted = span.lines or lines
        start, end = max(lines.start, wanted.start), min(lines.end, wanted.end)
        if start <= end:
            yield number, Lines(start, end), -(-tokens * (end - start + 1) // len(lines))


def _files(snapshot: Snapshot, ranked: Iterable[RankedFile]) -> Iterator[Candidate]:
    for file in ranked:
        yield _whole(snapshot, file.path, file.score)


def _chunks(
    snapshot: Snapshot, ranking: Ranking, best_first: Iterable[RankedChunk], floor: float
) -> Iterator[Candidate]:
    small = set[Path]()
    for ranked in best_first:
        if ranked.score < floor:
            break
        if snapshot.sources[ranked.path].tokens > SMALL_FILE_TOKENS:
            introduces = ranked.lines.start == 1 and ranked.score < ranking.score(ranked.path)
            yield Candidate(ranked.path, ranked.lines, ranked.score, ranked.tokens, introduces)
        elif ranked.path not in small:
            small.add(ranked.path)
            yield _whole(snapshot, ranked.path, ranked.score)


def _standing(
    snapshot: Snapshot, ranking: Ranking, scorer: Scorer, paths: Iterable[Path]
) -> list[Candidate]:
    """The candidates of these files that are not below the cut, best first."""
    known = [path for path in paths if path in snapshot.slots]
    if scorer is Scorer.CLASSIC:
        files = [file for path in known if (file := ranking.file(path)) is not None]
        return sorted(_files(snapshot, files), key=lambda c: (-c.score, c.path))
    chunks = [chunk for path in known for chunk in ranking.chunks_of(path) if chunk.score > 0]
    chunks.sort(key=lambda chunk: (-chunk.score, chunk.path, chunk.lines))
    return list(_chunks(snapshot, ranking, chunks, ranking.floor))


def _whole(snapshot: Snapshot, path: Path, score: float) -> Candidate:
    source = snapshot.sources[path]
    return Candidate(path, Lines(1, max(1, source.n_lines)), score, source.tokens)


def _forced(request: Request) -> tuple[Forced, ...]:
    """Pins and details as one list, in the order given; a detail says more than a pin."""
    details = {item.path: item for item in request.details}
    pins = [Forced(path, Detail.WHOLE) for path in request.pins if path not in details]
    return (*pins, *details.values())
