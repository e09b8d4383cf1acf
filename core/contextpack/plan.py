"""What is worth reading for a request: more than fits, by the counts that the index keeps."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from contextpack.model import Detail, Path
from contextpack.rank import RankedFile, Ranking, rank
from contextpack.request import Forced, Request, Scorer
from contextpack.snapshot import Snapshot
from contextpack.text import Lines

# Read this many times the budget: near-duplicates fall out, and what does not fit is skipped.
READ_AHEAD = 3
# At least so many candidates, so that a small budget still has a choice.
MIN_CANDIDATES = 64

# A candidate with less than this share of the best score is noise: room is better left empty.
MIN_SCORE_SHARE = 0.05

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


@dataclass(frozen=True, slots=True)
class Plan:
    """The candidates of a request, best first, and everything that the choice needs to know."""

    request: Request
    ranking: Ranking
    candidates: tuple[Candidate, ...]
    forced: tuple[Forced, ...]
    n_beyond: int
    """How many ranked candidates `max_candidates` cut off."""

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
) -> Plan:
    """The plan for a request. The classic scorer reads texts, so its scores come from outside.

    The files in `standing` are in a predecessor's bundle: however many are as good as they are,
    they stay candidates for as long as their score is above the cut.
    """
    if request.scorer is Scorer.CLASSIC:
        ranking = _classic_ranking(snapshot, classic_scores or {})
        found = [_whole(snapshot, file.path, file.score) for file in ranking.files]
    else:
        ranking = rank(snapshot, request.query)
        found = _chunks(snapshot, ranking)
    limit = len(found) if request.max_candidates is None else request.max_candidates
    kept: list[Candidate] = []
    tokens = 0
    for candidate in found[:limit]:
        if len(kept) >= MIN_CANDIDATES and tokens > READ_AHEAD * request.budget_tokens:
            break
        kept.append(candidate)
        tokens += candidate.tokens
    if waiting := set(standing) - {candidate.path for candidate in kept}:
        kept += [
            candidate for candidate in found[len(kept) : limit] if candidate.path in waiting
        ]
    return Plan(request, ranking, tuple(kept), _forced(request), max(0, len(found) - limit))


def _chunks(snapshot: Snapshot, ranking: Ranking) -> list[Candidate]:
    found: list[Candidate] = []
    small = set[Path]()
    floor = MIN_SCORE_SHARE * ranking.chunks[0].score if ranking.chunks else 0.0
    for ranked in ranking.chunks:
        if ranked.score < floor:
            break
        facts = snapshot.sources[ranked.path].facts
        if facts.tokens > SMALL_FILE_TOKENS:
            found.append(
                Candidate(ranked.path, ranked.chunk.lines, ranked.score, ranked.chunk.tokens)
            )
        elif ranked.path not in small:
            small.add(ranked.path)
            found.append(_whole(snapshot, ranked.path, ranked.score))
    return found


def _whole(snapshot: Snapshot, path: Path, score: float) -> Candidate:
    facts = snapshot.sources[path].facts
    return Candidate(path, Lines(1, max(1, facts.n_lines)), score, facts.tokens)


def _classic_ranking(snapshot: Snapshot, scores: Mapping[Path, float]) -> Ranking:
    files = [
        RankedFile(path, score, {"classic": score}, ())
        for path, score in scores.items()
        if path in snapshot.sources and snapshot.sources[path].facts.n_lines
    ]
    files.sort(key=lambda file: (-file.score, file.path))
    return Ranking(tuple(files), (), (), is_fallback=False)


def _forced(request: Request) -> tuple[Forced, ...]:
    """Pins and details as one list, in the order given; a detail says more than a pin."""
    details = {item.path: item for item in request.details}
    pins = [Forced(path, Detail.WHOLE) for path in request.pins if path not in details]
    return (*pins, *details.values())
