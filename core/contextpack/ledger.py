"""The account of a pack: what is in and why, and what became of every other candidate."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from contextpack.bm25 import Floats
from contextpack.model import Detail, LedgerEntry, Outcome, Path, Piece, Reason, Skip
from contextpack.ranking import Ranking
from contextpack.render import ranges
from contextpack.shelf import Shelf
from contextpack.snapshot import Source
from contextpack.text import Lines, display_path, first_sorted


@dataclass(frozen=True, slots=True)
class Item:
    """One file in a bundle."""

    path: Path
    detail: Detail
    ranges: tuple[Lines, ...]
    """The complete lines that stand in the text, in file order."""
    tokens: int
    """Of its rendered part."""
    score: float
    parts: Mapping[str, float]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """Everything that was decided about a request, from which the ledger is made when asked for."""

    ranking: Ranking
    shelf: Shelf
    order: tuple[Path, ...]
    """The files of the bundle, in the order of its text."""
    forced: frozenset[Path]
    """The files that the request named."""
    considered: frozenset[Path]
    """The files with a candidate among those that the choice was made from."""
    duplicates: Mapping[Path, tuple[Path, float]]
    """Files whose best candidate repeats a better one: that one's path, and the similarity."""
    repeats: Mapping[tuple[Path, Lines], tuple[Path, float]]
    """Candidates that repeat a better one: the path of that one, and the similarity."""
    is_capped: bool
    """Whether `max_candidates` cut candidates off."""

    @property
    def cut_score(self) -> float:
        """The lowest score that won a place; 0 when none did."""
        won = (self.ranking.score(path) for path in self.order if path not in self.forced)
        return min((score for score in won if score > 0), default=0.0)


def items(account: Account) -> tuple[Item, ...]:
    """The files of the bundle, in the order of its text."""
    parts = account.ranking.parts_of_files(account.order)
    return tuple(
        _item(account, account.shelf.pieces[path], parts.get(path, {}))
        for path in account.order
    )


def ledger(account: Account) -> tuple[LedgerEntry, ...]:
    """Every file of the snapshot and everything skipped, each exactly once.

    First what is in, in the order of the text; then what is left out, best first; then what was
    skipped. This looks at every file: `brief_ledger` does not.
    """
    return (*_included(account), *_left_out(account), *_skipped(account))


def brief_ledger(account: Account, n_left_out: int) -> tuple[LedgerEntry, ...]:
    """The beginning of the ledger, down to so many that are left out, and all secrets."""
    left_out = _left_out(account, n_left_out)
    n_more = n_left_out - len(left_out)
    skipped = account.ranking.snapshot.skipped
    told = [
        skip
        for number, skip in enumerate(skipped)
        if number < n_more or skip.reason is Reason.SECRET
    ]
    return (*_included(account), *left_out, *map(_entry, told))


def entry_of(account: Account, path: Path) -> LedgerEntry:
    """The ledger's entry of one file of the snapshot."""
    if path in account.shelf.pieces:
        return _in(account, path)
    return _excluded(account, account.ranking.snapshot.sources[path], account.cut_score)


def ledger_counts(account: Account) -> Mapping[str, int]:
    """How many entries have which outcome; those left out by their reason. Sorted by name.

    Files about which nothing special was decided are counted by their scores alone.
    """
    ranking = account.ranking
    snapshot, scores = ranking.snapshot, ranking.file_scores
    cut_score = account.cut_score
    special = {*account.order, *account.forced, *account.duplicates}
    if account.is_capped:
        special |= account.considered
    known = [path for path in special if path in snapshot.sources]
    own = scores[[snapshot.slots[path] for path in known]]
    is_empty = (np.diff(snapshot.postings.first_chunks) == 0) & snapshot.postings.is_alive
    n_empty = int(np.count_nonzero(is_empty)) - sum(
        snapshot.sources[path].n_lines == 0 for path in known
    )
    n_relevant = int(np.count_nonzero(scores > 0)) - int(np.count_nonzero(own > 0))
    n_above = _n_from(scores, cut_score) - _n_from(own, cut_score)
    counts = Counter(account.shelf.pieces[path].detail.value for path in account.order)
    counts.update(
        _reason(account, snapshot.sources[path], cut_score).value
        for path in known
        if path not in account.shelf.pieces
    )
    counts.update(skip.reason.value for skip in snapshot.skipped)
    counts[Reason.EMPTY.value] += n_empty
    counts[Reason.NOT_RELEVANT.value] += (
        len(snapshot.sources) - len(known) - n_empty - n_relevant
    )
    if account.is_capped:
        counts[Reason.MAX_CANDIDATES.value] += n_relevant
    else:
        counts[Reason.OVER_BUDGET.value] += n_above
        counts[Reason.BELOW_CUT.value] += n_relevant - n_above
    return {name: n for name, n in sorted(counts.items()) if n}


def _n_from(scores: Floats, least: float) -> int:
    return int(np.count_nonzero((scores > 0) & (scores >= least)))


def _included(account: Account) -> list[LedgerEntry]:
    return [_in(account, path) for path in account.order]


def _in(account: Account, path: Path) -> LedgerEntry:
    return LedgerEntry(
        path=path,
        outcome=Outcome(account.shelf.pieces[path].detail.value),
        reason=Reason.PINNED if path in account.forced else Reason.RANKED,
        tokens=account.shelf.costs[path],
        score=account.ranking.score(path),
    )


def _left_out(account: Account, limit: int | None = None) -> list[LedgerEntry]:
    """The files that are not in, best first, then by path; the first so many of them."""
    snapshot = account.ranking.snapshot
    scored = account.ranking.best(None if limit is None else limit + len(account.order))
    paths = [path for path in scored if path not in account.shelf.pieces][:limit]
    n_more = None if limit is None else limit - len(paths)
    if n_more != 0:
        is_scoreless = snapshot.postings.is_alive & ~(account.ranking.file_scores > 0)
        is_scoreless[[snapshot.slots[path] for path in account.order]] = False
        scoreless = snapshot.paths[is_scoreless].tolist()
        paths += sorted(scoreless) if n_more is None else first_sorted(scoreless, n_more)
    cut_score = account.cut_score
    return [_excluded(account, snapshot.sources[path], cut_score) for path in paths]


def _skipped(account: Account) -> list[LedgerEntry]:
    return [_entry(skip) for skip in account.ranking.snapshot.skipped]


def _entry(skip: Skip) -> LedgerEntry:
    return LedgerEntry(skip.path, Outcome.EXCLUDED, skip.reason, rule=skip.rule)


def _item(account: Account, piece: Piece, parts: Mapping[str, float]) -> Item:
    reasons = []
    if piece.path in account.forced:
        reasons.append("the request names it")
    reasons.extend(reasons_of(parts))
    trail = account.ranking.trails.get(piece.path, ())
    if len(trail) > 1:
        reasons.append(f"imports: {trail_shown(trail)}")
    return Item(
        path=piece.path,
        detail=piece.detail,
        ranges=ranges(piece),
        tokens=account.shelf.costs[piece.path],
        score=account.ranking.score(piece.path),
        parts=parts,
        reasons=tuple(reasons),
    )


def trail_shown(trail: Iterable[Path]) -> str:
    """A way of imports for people: each file imports the next one."""
    return " → ".join(map(display_path, trail))


_PART_REASONS = (
    ("only", "the request asks for this and nothing else"),
    ("mention", "the query names this file"),
    ("focus", "it is what you look at"),
    ("changed", "it has changes"),
    ("near", "it is close to what you look at"),
    ("caller", "it uses what has changed"),
    ("test", "it tests what has changed"),
    ("reach", "imports lead to it"),
    ("chunk", "a part of it is about the query's words"),
    ("history", "a past commit that says the like touched it"),
    ("touched", "a past commit that says the like changed these lines"),
    ("together", "past commits changed it together with a relevant file"),
    ("named", "the query says every word of its name"),
    ("stem", "the query's words are in its name"),
    ("used", "a relevant part of the code uses it"),
    ("using", "it uses a relevant part of the code"),
    ("line", "the query names a line of it"),
    ("header", "it begins a file of which a part is relevant"),
    ("imports", "it imports, or is imported by, a relevant file"),
    ("classic", "the query's words stand in its path or text"),
    ("given", "the scorer that was passed in ranks it"),
    ("importers", "much is built on it"),
    ("recency", "it changed recently"),
    ("depth", "it stands near the root"),
)
_REASON_OF_PART = MappingProxyType(
    {name: (place, words) for place, (name, words) in enumerate(_PART_REASONS)}
)


def reasons_of(parts: Mapping[str, float]) -> list[str]:
    """The parts of a score in words, the largest first."""
    known = [
        (-value, *_REASON_OF_PART[name])
        for name, value in parts.items()
        if value > 0 and name in _REASON_OF_PART
    ]
    return [words for _, _, words in sorted(known)]


def _excluded(account: Account, source: Source, cut_score: float) -> LedgerEntry:
    reason = _reason(account, source, cut_score)
    duplicate_of, similarity = None, None
    if reason is Reason.NEAR_DUPLICATE:
        duplicate_of, similarity = account.duplicates[source.path]
    return LedgerEntry(
        path=source.path,
        outcome=Outcome.EXCLUDED,
        reason=reason,
        tokens=source.tokens,
        score=account.ranking.score(source.path) or None,
        duplicate_of=duplicate_of,
        similarity=similarity,
    )


def _reason(account: Account, source: Source, cut_score: float) -> Reason:
    score = account.ranking.score(source.path)
    if source.n_lines == 0:
        return Reason.EMPTY
    if source.path in account.forced:
        return Reason.OVER_BUDGET
    if score <= 0:
        return Reason.NOT_RELEVANT
    if source.path in account.duplicates:
        return Reason.NEAR_DUPLICATE
    if account.is_capped and source.path not in account.considered:
        return Reason.MAX_CANDIDATES
    return Reason.OVER_BUDGET if score >= cut_score else Reason.BELOW_CUT
