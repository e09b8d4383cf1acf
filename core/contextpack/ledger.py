"""The account of a pack: what is in and why, and what became of every other candidate."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextpack.model import Detail, LedgerEntry, Outcome, Path, Piece, Reason
from contextpack.rank import RankedFile, Ranking
from contextpack.render import ranges
from contextpack.shelf import Shelf
from contextpack.snapshot import Snapshot, Source
from contextpack.text import Lines


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
    """Everything that was decided about a request."""

    ranking: Ranking
    shelf: Shelf
    forced: frozenset[Path]
    """The files that the request named."""
    considered: frozenset[Path]
    """The files with a candidate among those that the choice was made from."""
    duplicates: Mapping[Path, tuple[Path, float]]
    """Files whose best candidate repeats a better one: that one's path, and the similarity."""
    is_capped: bool
    """Whether `max_candidates` cut candidates off."""

    @property
    def cut_score(self) -> float:
        """The lowest score that won a place; 0 when none did."""
        scores = {file.path: file.score for file in self.ranking.files}
        won = [
            scores[path]
            for path in self.shelf.pieces
            if path in scores and path not in self.forced
        ]
        return min(won, default=0.0)


def items(account: Account, order: Sequence[Path]) -> tuple[Item, ...]:
    """The files of the bundle, in the order of its text."""
    ranked = {file.path: file for file in account.ranking.files}
    return tuple(_item(account, account.shelf.pieces[path], ranked.get(path)) for path in order)


def ledger(
    account: Account, snapshot: Snapshot, shown: Sequence[Item]
) -> tuple[LedgerEntry, ...]:
    """Every file of the snapshot and everything skipped, each exactly once."""
    included = [
        LedgerEntry(
            path=item.path,
            outcome=Outcome(item.detail.value),
            reason=Reason.PINNED if item.path in account.forced else Reason.RANKED,
            tokens=item.tokens,
            score=item.score,
        )
        for item in shown
    ]
    in_bundle = {item.path for item in shown}
    cut_score = account.cut_score
    ranked = {file.path: file for file in account.ranking.files}
    left_out = [
        _left_out(account, source, ranked.get(path), cut_score)
        for path, source in snapshot.sources.items()
        if path not in in_bundle
    ]
    left_out.sort(key=lambda entry: (-(entry.score or 0.0), entry.path))
    skipped = [
        LedgerEntry(skip.path, Outcome.EXCLUDED, skip.reason, rule=skip.rule)
        for skip in snapshot.skipped
    ]
    return (*included, *left_out, *skipped)


def ledger_counts(entries: Sequence[LedgerEntry]) -> Mapping[str, int]:
    """How many entries have which outcome; those left out by their reason. Sorted by name."""
    counts = Counter(
        entry.reason.value if entry.outcome is Outcome.EXCLUDED else entry.outcome.value
        for entry in entries
    )
    return dict(sorted(counts.items()))


def _item(account: Account, piece: Piece, ranked: RankedFile | None) -> Item:
    reasons = []
    if piece.path in account.forced:
        reasons.append("the request names it")
    if ranked is not None:
        reasons.extend(reasons_of(ranked.parts))
    return Item(
        path=piece.path,
        detail=piece.detail,
        ranges=ranges(piece),
        tokens=account.shelf.costs[piece.path],
        score=ranked.score if ranked else 0.0,
        parts=ranked.parts if ranked else {},
        reasons=tuple(reasons),
    )


_PART_REASONS = (
    ("mention", "the query names this file"),
    ("chunk", "a part of it is about the query's words"),
    ("body", "the query's words stand in it"),
    ("stem", "the query's words are in its name"),
    ("directory", "the query's words are in its directory"),
    ("imports", "it imports, or is imported by, a relevant file"),
    ("classic", "the query's words stand in its path or text"),
    ("importers", "much is built on it"),
    ("recency", "it changed recently"),
    ("depth", "it stands near the root"),
)


def reasons_of(parts: Mapping[str, float]) -> list[str]:
    """The parts of a score in words, the largest first."""
    known = [(parts[name], words) for name, words in _PART_REASONS if parts.get(name, 0.0) > 0]
    known.sort(key=lambda item: -item[0])
    return [words for _, words in known]


def _left_out(
    account: Account,
    source: Source,
    ranked: RankedFile | None,
    cut_score: float,
) -> LedgerEntry:
    duplicate_of, similarity = None, None
    if source.n_lines == 0:
        reason = Reason.EMPTY
    elif source.path in account.forced:
        reason = Reason.OVER_BUDGET
    elif ranked is None:
        reason = Reason.NOT_RELEVANT
    elif source.path in account.duplicates:
        reason = Reason.NEAR_DUPLICATE
        duplicate_of, similarity = account.duplicates[source.path]
    elif account.is_capped and source.path not in account.considered:
        reason = Reason.MAX_CANDIDATES
    else:
        reason = Reason.OVER_BUDGET if ranked.score >= cut_score else Reason.BELOW_CUT
    return LedgerEntry(
        path=source.path,
        outcome=Outcome.EXCLUDED,
        reason=reason,
        tokens=source.tokens,
        score=ranked.score if ranked else None,
        duplicate_of=duplicate_of,
        similarity=similarity,
    )
