"""A snapshot and a query to scored files and chunks, each score with its parts.

Every signal is a pure function of the snapshot with a name and a weight of its own. Scores are
rounded before they are compared, so that the last bit of a machine's arithmetic never decides.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from contextpack.bm25 import Floats, Hit, bm25, rarity
from contextpack.entry import Entry
from contextpack.factors import kind_factors
from contextpack.history import alike, companions, credited
from contextpack.mentions import line_bonus, meant_by, mentions
from contextpack.model import Path
from contextpack.postings import Hits, Postings
from contextpack.query import Question, question
from contextpack.ranking import (
    MIN_SCORE_SHARE,
    SCORE_DIGITS,
    Breakdown,
    Holder,
    Part,
    Ranking,
    best_by_file,
    best_said,
    ranking_of,
)
from contextpack.related import related
from contextpack.snapshot import Snapshot
from contextpack.touched import touched

# A name that a chunk defines says what the chunk is about: it counts as this many uses.
NAME_USES = 3.0

# The weights of the parts of a score; each part lies in [0, 1], 1 being the best in the workspace,
# except for history and touched, which are 1 for a message that says all of the query, and
# together, which is a share of another file's score. What each is worth, with its interval, stands
# in ARCHITECTURE.md.
CHUNK_WEIGHT = 1.0
STEM_WEIGHT = 0.6
NAMED_WEIGHT = 0.6
DIRECTORY_WEIGHT = 0.15
IMPORT_WEIGHT = 0.05
HISTORY_WEIGHT = 0.6
TOUCHED_WEIGHT = 0.6
TOGETHER_WEIGHT = 0.5
USED_WEIGHT = 0.2
USING_WEIGHT = 0.2
MENTION_WEIGHT = 2.0

# What each chunk of a file gets of its best one's score: at the edge of the room, another part of
# a good file holds three times as many of the changed lines as the best part of a poor one.
FILE_SHARE = 0.1

# Where there are no past commits, names and neighbours are all that there is besides the words.
# Half as much more of them, and imports thrice, find 0.6 to 0.9 points more of the changed lines in
# 8 000 tokens of the same commits without their past; with it they gain nothing.
PASTLESS = 1.5
PASTLESS_IMPORTS = 3.0

# Of so many of the best files the companions are looked at: those that past commits changed
# together with them.
N_COMPANIED = 5

# Of a word's rarity when no path at all holds it, in the share of the query that a path covers.
ABSENT_SHARE = 0.25

# A word that may be written as one, and is somewhere, counts as one that the query writes so.
JOINED_WEIGHT = 1.0

# The start of a file, relative to its best chunk: what it imports says what the rest speaks of,
# and changes begin there as often as not.
HEADER_SHARE = 0.8

# By how much each further chunk of a file is worth less than it would be alone: a change spans
# several files more often than all of one. Twice as much shows more files, and fewer of the lines.
REPEAT_DISCOUNT = 0.01

# So many terms of a query are looked for, the most telling of them: those that are worth most by
# their weight and their rarity. Longer tasks than 150 words are rare, logs are not.
MAX_TERMS = 128

# Fewer terms do not name a file: `utils` says nothing.
MIN_NAME_TERMS = 2

# Shorter words that stand nowhere are not worth a line.
MIN_NAMED_CHARS = 3


def rank(snapshot: Snapshot, query: str, entry: Entry | None = None) -> Ranking:
    """The files and chunks of a snapshot for a query, by the `fused` scorer."""
    postings = snapshot.postings
    asked = _most_telling(_with_joined(question(query), postings), postings)
    if not asked.weights:
        return _fallback(snapshot) if entry is None else _entered(snapshot, entry)
    is_pastless = snapshot.history.n_commits == 0
    more, more_imports = (PASTLESS, PASTLESS_IMPORTS) if is_pastless else (1.0, 1.0)
    meant = meant_by(snapshot, asked)
    chunk_scores = bm25(_hits(postings, asked), postings.chunk_lengths, postings.n_chunks)
    said = alike(snapshot.history, asked.weights)
    parts = {
        "stem": more * STEM_WEIGHT * _coverage(postings.in_stems, postings, asked),
        "named": NAMED_WEIGHT * _full_names(postings, asked),
        "directory": DIRECTORY_WEIGHT * _coverage(postings.in_directories, postings, asked),
        "mention": MENTION_WEIGHT * mentions(snapshot, asked, meant),
        "history": HISTORY_WEIGHT * _by_slot(snapshot, credited(snapshot.history, said)),
    }
    text = sum(parts.values(), np.zeros(postings.n_slots))
    best_chunks = _scaled(best_by_file(chunk_scores, postings))
    parts["imports"] = more_imports * IMPORT_WEIGHT * _import_lift(snapshot, text + best_chunks)
    factors = kind_factors(snapshot, asked)
    by_chunk = factors[postings.chunk_slots]
    own = CHUNK_WEIGHT * _scaled(chunk_scores)
    # A chunk without a word of the query gets nothing for its directory: only its file's name,
    # its neighbours and its past speak for it.
    about = parts["stem"] + parts["named"] + parts["imports"] + parts["history"]
    is_worded = chunk_scores > 0
    worded = np.flatnonzero(is_worded)
    lifts = {"touched": TOUCHED_WEIGHT * touched(snapshot, said)}
    # What the query names outright is meant, whatever kind of file it is.
    total = own.copy()
    total[worded] += parts["directory"][postings.chunk_slots[worded]]
    total += lifts["touched"]
    total += about[postings.chunk_slots]
    total *= by_chunk
    parts["together"] = TOGETHER_WEIGHT * _together(snapshot, best_by_file(total, postings))
    # Likewise which part of a companion is meant, its words must say.
    total[worded] += parts["together"][postings.chunk_slots[worded]] * by_chunk[worded]
    used, using = related(postings, total)
    lifts |= {"used": more * USED_WEIGHT * used, "using": more * USING_WEIGHT * using}
    total += (lifts["used"] + lifts["using"]) * by_chunk
    best = best_by_file(total, postings)
    parts["file"] = FILE_SHARE * best / factors
    total += (FILE_SHARE * best)[postings.chunk_slots]
    lines = line_bonus(postings, meant)
    total += parts["mention"][postings.chunk_slots] + lines
    best_worded = float(total.max(initial=0.0))
    if entry is not None:
        total = _with_entry(total, factors, entry, postings)
    made = (
        Part("stem", parts["stem"]),
        Part("named", parts["named"]),
        Part("directory", parts["directory"], Holder.WORDED),
        Part("mention", parts["mention"], is_outright=True),
        Part("history", parts["history"]),
        Part("imports", parts["imports"]),
        Part("together", parts["together"], Holder.WORDED),
        Part("file", parts["file"]),
        *(Part(name, lift, Holder.CHUNK) for name, lift in lifts.items()),
        *_entry_parts(entry),
        Part("chunk", own, Holder.CHUNK),
        Part("line", lines, Holder.CHUNK, is_outright=True),
    )
    unknown = _unknown(postings, asked)
    return _arranged(snapshot, total, made, factors, is_worded, unknown, entry, best_worded)


def _entered(snapshot: Snapshot, entry: Entry) -> Ranking:
    """Without words: only what the entry points say."""
    factors = kind_factors(snapshot, question(""))
    nothing = np.zeros(len(snapshot.postings.chunk_slots))
    total = _with_entry(nothing, factors, entry, snapshot.postings)
    return _arranged(snapshot, total, _entry_parts(entry), factors, nothing > 0, (), entry)


def _with_entry(scores: Floats, factors: Floats, entry: Entry, postings: Postings) -> Floats:
    """The scores of chunks with what the entry points add."""
    by_chunk = factors[postings.chunk_slots]
    total = sum(
        entry.named.values(), sum(entry.found.values(), np.zeros(len(scores))) * by_chunk
    )
    total = scores + total
    return (
        total
        if entry.within is None
        else np.where(entry.within[postings.chunk_slots], total, 0.0)
    )


def _entry_parts(entry: Entry | None) -> tuple[Part, ...]:
    if entry is None:
        return ()
    return (
        *(
            Part(name, lift, Holder.CHUNK, is_outright=True)
            for name, lift in entry.named.items()
        ),
        *(Part(name, lift, Holder.CHUNK) for name, lift in entry.found.items()),
    )


def _arranged(
    snapshot: Snapshot,
    total: Floats,
    parts: tuple[Part, ...],
    factors: Floats,
    is_worded: NDArray[np.bool_],
    unknown: tuple[str, ...],
    entry: Entry | None,
    said: float = 0.0,
) -> Ranking:
    """The ranking of chunks with these scores, as they stand to the others of their files."""
    postings = snapshot.postings
    headers = HEADER_SHARE * best_by_file(total, postings)
    total = _with_headers(total, headers, postings)
    rounded = np.round(total, SCORE_DIGITS)
    # What is no candidate takes nobody's place: to put all in order would cost most of a ranking.
    least = MIN_SCORE_SHARE * best_said(rounded, said)
    divisors = 1 + REPEAT_DISCOUNT * _better_in_file(rounded, least, postings)
    breakdown = Breakdown(parts, factors, is_worded, headers, divisors)
    return ranking_of(
        snapshot, total / divisors, breakdown, unknown, is_fallback=False,
        trails=entry.trails if entry is not None else {}, said=said,
    )  # fmt: skip


def _with_joined(asked: Question, postings: Postings) -> Question:
    joined = {term: JOINED_WEIGHT for term in asked.joined if postings.has(term)}
    return replace(asked, weights=MappingProxyType({**asked.weights, **joined}))


def _most_telling(asked: Question, postings: Postings) -> Question:
    if len(asked.weights) <= MAX_TERMS:
        return asked
    worth = {
        term: round(weight * rarity(n, postings.n_chunks), SCORE_DIGITS) if n else 0.0
        for term, weight in asked.weights.items()
        for n in (len(postings.in_chunks(term).documents),)
    }
    best = frozenset(sorted(worth, key=lambda term: -worth[term])[:MAX_TERMS])
    kept = {term: weight for term, weight in asked.weights.items() if term in best}
    return replace(asked, weights=MappingProxyType(kept))


def _with_headers(scores: Floats, least: Floats, postings: Postings) -> Floats:
    """The start of each file gets at least what is meant for it, by slot."""
    slots = np.flatnonzero(least > 0)
    headers = postings.first_chunks[slots]
    scores[headers] = np.maximum(scores[headers], least[slots])
    return scores


def _better_in_file(scores: Floats, least: float, postings: Postings) -> Floats:
    """How many chunks of its file come before each chunk, by score and then position.

    None where a chunk has no score, or less than `least`. Scores are rounded.
    """
    found_at = np.flatnonzero(scores >= max(least, 10**-SCORE_DIGITS))
    slots = postings.chunk_slots[found_at]
    # One whole number for both: a float's sum would lose the last digits of the score.
    ranks = np.rint(scores[found_at] * 10**SCORE_DIGITS).astype(np.int64)
    keys = slots * (int(ranks.max(initial=0)) + 1) - ranks
    by_file = found_at[np.argsort(keys, kind="stable")]
    # Files follow one another: a chunk's place is its distance from the first one of its file.
    places = np.arange(len(slots))
    firsts = np.maximum.accumulate(np.where(np.diff(slots, prepend=-1) > 0, places, 0))
    found = np.zeros(len(scores))
    found[by_file] = places - firsts
    return found


_Hits = list[Hit]
"""For each term of the query that stands anywhere."""


def _hits(postings: Postings, asked: Question) -> _Hits:
    hits: _Hits = []
    for term, weight in asked.weights.items():
        found = postings.in_chunks(term)
        if len(found.documents):
            counts = found.uses + NAME_USES * found.names
            hits.append((weight, found.documents, counts))
    return hits


def _coverage(hits: Callable[[str], Hits], postings: Postings, asked: Question) -> Floats:
    """Which share of the query's words, by their rarity in paths, each file's path holds."""
    scores = np.zeros(postings.n_slots)
    total = 0.0
    for term, weight in asked.weights.items():
        documents = hits(term).documents
        value = weight * rarity(len(documents), postings.n_files)
        # Words that no path holds count a little: one common word is not the whole query.
        total += value if len(documents) else ABSENT_SHARE * value
        scores[documents] += value
    return scores / total if total else scores


def _full_names(postings: Postings, asked: Question) -> Floats:
    """1 for the files of whose name the query says every term, which are several."""
    n_terms = postings.n_stem_terms
    n_said = np.zeros(postings.n_slots, np.int64)
    for term in asked.said:
        n_said[postings.in_stems(term).documents] += 1
    return ((n_terms >= MIN_NAME_TERMS) & (n_said >= n_terms)).astype(np.float64)


def _scaled(scores: Floats) -> Floats:
    top = float(scores.max(initial=0.0))
    return scores / top if top > 0 else scores


def _by_slot(snapshot: Snapshot, values: Mapping[Path, float]) -> Floats:
    """What is known of files by their paths, some of which may be gone."""
    found = np.zeros(snapshot.postings.n_slots + 1)
    known = snapshot.slots
    # Those of files that are gone fall behind the end.
    found[[known.get(path, -1) for path in values]] = list(values.values())
    return found[:-1]


def _together(snapshot: Snapshot, scores: Floats) -> Floats:
    """How closely each file belongs to one of the best, by past commits, times that one's score."""
    best = {
        snapshot.paths[slot]: float(scores[slot])
        for slot in _best_files(snapshot, scores, N_COMPANIED)
    }
    return _by_slot(snapshot, companions(snapshot.history, best))


def _best_files(snapshot: Snapshot, scores: Floats, n: int) -> list[int]:
    """The slots of the `n` best files, ties by path."""
    rounded = np.round(scores, SCORE_DIGITS)
    found = np.flatnonzero(rounded > 0)
    if len(found) > n:
        values = rounded[found]
        found = found[values >= np.partition(values, len(values) - n)[len(values) - n]]
    return sorted(found.tolist(), key=lambda slot: (-rounded[slot], snapshot.paths[slot]))[:n]


def _import_lift(snapshot: Snapshot, relevance: Floats) -> Floats:
    """The relevance of the best neighbour in the import graph, damped where it has many."""
    lift = np.zeros(len(relevance))
    is_relevant = relevance > 0
    for sources, targets in (
        (snapshot.importing, snapshot.imported),
        (snapshot.imported, snapshot.importing),
    ):
        # All edges of the relevant files, which are few of them.
        edges = np.flatnonzero(is_relevant[sources])
        ends = sources[edges]
        n_neighbours = np.bincount(ends, minlength=len(relevance))
        np.maximum.at(lift, targets[edges], relevance[ends] / np.sqrt(n_neighbours[ends]))
    return _scaled(lift)


def _unknown(postings: Postings, asked: Question) -> tuple[str, ...]:
    return tuple(
        word
        for word, found in asked.words.items()
        if len(word) >= MIN_NAMED_CHARS
        and not word.isdigit()
        and not any(postings.has(term) for term in found)
    )


def _fallback(snapshot: Snapshot) -> Ranking:
    """Without words: what much is built on, what changed last, and what stands near the root."""
    postings = snapshot.postings
    importers = np.log1p(np.bincount(snapshot.imported, minlength=postings.n_slots))
    modified = np.where(postings.is_alive, snapshot.modified, np.inf)
    oldest = float(modified.min(initial=np.inf))
    depths = np.array([path.count("/") for path in snapshot.paths.tolist()], np.float64)
    parts = {
        "importers": 0.6 * _scaled(importers),
        "recency": 0.2 * _scaled(np.where(postings.is_alive, snapshot.modified - oldest, 0.0)),
        "depth": 0.2 / (1 + depths),
    }
    factors = kind_factors(snapshot, question(""))
    base = sum(parts.values(), np.zeros(postings.n_slots)) * factors * postings.is_alive
    # Within a file the top comes first: it says what the file is.
    position = (
        np.arange(len(postings.chunk_slots)) - postings.first_chunks[postings.chunk_slots]
    )
    breakdown = Breakdown(
        parts=tuple(Part(name, values) for name, values in parts.items()),
        factors=factors,
        is_worded=np.zeros(len(position), np.bool_),
        headers=np.zeros(postings.n_slots),
        divisors=(1 + 0.25 * position).astype(np.float64),
    )
    scores = base[postings.chunk_slots] / breakdown.divisors
    return ranking_of(snapshot, scores, breakdown, (), is_fallback=True, trails={})
