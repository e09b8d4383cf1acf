"""What a request asks for besides words: what somebody looks at, needs, or has changed.

Each part adds to the scores of chunks and takes from none. Those that a person named outright
count whatever kind of file they are in; those that were found from there count by kind.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from contextpack.bm25 import Floats
from contextpack.kinds import KINDS, Kind
from contextpack.model import Path
from contextpack.postings import Postings
from contextpack.related import MAX_DEFINING, MAX_USING, MIN_NAME_BYTES, related
from contextpack.request import Focus, Request
from contextpack.segment import stem_of
from contextpack.snapshot import Snapshot
from contextpack.terms import parts, stem, terms, words
from contextpack.text import Lines

# The scores of text mostly lie between 0 and 2; 1 is that of the chunk that is most about the
# query's words. What a person points at is as good as that; what is only close to it decides
# among the rest and where a query says nothing.
FOCUS_WEIGHT = 1.0
NEAR_WEIGHT = 0.2
REACH_WEIGHT = 0.3
CHANGED_WEIGHT = 1.0
CALLER_WEIGHT = 0.5
TEST_WEIGHT = 0.3

# Of the weight of focused lines: each part of a file that is in focus as a whole. An editor
# names the active file with every question: it decides among what is relevant, and does not
# fill the room ...
WHOLE_SHARE = 0.25
# ... and the parts around focused lines.
AROUND_SHARE = 0.3

# Of the weight of changed lines: the rest of the function that they are in.
ENCLOSING_SHARE = 0.9

# Of what a neighbour by definitions used gets: one that only imports or is imported.
IMPORT_SHARE = 0.5

# How much of a test's weight it has for being one of a changed file; the rest is for using what
# changed in it.
OWN_TEST_SHARE = 0.5

# A file `d` imports away is worth 1 / (1 + HOP_LOSS * d): those within 38 are above what a plan
# takes for noise.
HOP_LOSS = 0.5

# Of so many changed definitions the users are looked for: more of them are about everything.
MAX_NAMES = 300

_TEST_MARKS = (frozenset({"test"}), frozenset({"spec"}))

# Of a use of a changed definition: one in a file that no import links with it.
UNSURE_SHARE = 0.5

# In these languages files of a directory see each other without an import.
_PACKAGED = frozenset({"go", "java", "csharp", "kotlin", "swift"})

_FUNCTIONS = frozenset({"function", "method", "macro"})

_Slots = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry points of a request on one snapshot."""

    named: Mapping[str, Floats]
    """By chunk: what is added to its score, whatever kind of file it is in."""
    found: Mapping[str, Floats]
    """By chunk: what is added to its score after it was multiplied with the kind's factor."""
    within: NDArray[np.bool_] | None
    """By slot: the files that may have a score; None for all."""
    trails: Mapping[Path, tuple[Path, ...]]
    """For each file that imports led to: the files on the way, each imports the next one."""


def entry(
    snapshot: Snapshot, request: Request, changed: Mapping[Path, tuple[Lines, ...]] | None
) -> Entry | None:
    """The entry points of a request; None where it has none.

    `changed` are the lines that differ from the request's revision, from outside. Paths are the
    snapshot's; others are passed over.
    """
    if not request.has_entry:
        return None
    named: dict[str, Floats] = {}
    found: dict[str, Floats] = {}
    within = None
    trails: Mapping[Path, tuple[Path, ...]] = MappingProxyType({})
    meant: list[int] = []
    foci = [focus for focus in request.focus if focus.path in snapshot.slots]
    if foci:
        seeds = _focused(snapshot, foci)
        named["focus"] = FOCUS_WEIGHT * seeds
        found["near"] = NEAR_WEIGHT * _near(snapshot, seeds)
        meant += [snapshot.slots[focus.path] for focus in foci]
    if request.revision is not None:
        known = {p: lines for p, lines in (changed or {}).items() if p in snapshot.slots}
        seeds = _changed(snapshot, known)
        using = _using(snapshot, known)
        named["changed"] = CHANGED_WEIGHT * seeds
        is_test = snapshot.kinds == KINDS.index(Kind.TEST)
        by_chunk = is_test[snapshot.postings.chunk_slots]
        found["caller"] = CALLER_WEIGHT * np.where(by_chunk | (seeds > 0), 0.0, using)
        tests = _tests(snapshot, known, using)
        named["test"] = TEST_WEIGHT * np.where(by_chunk & (seeds <= 0), tests, 0.0)
        meant += [snapshot.slots[path] for path in known]
    if request.origins:
        trails = trails_from(snapshot, request)
        named["reach"] = REACH_WEIGHT * _reach(snapshot, request, trails)
        within = np.zeros(snapshot.postings.n_slots, np.bool_)
        within[[*meant, *(snapshot.slots[path] for path in trails)]] = True
    return Entry(MappingProxyType(named), MappingProxyType(found), within, trails)


def trails_from(snapshot: Snapshot, request: Request) -> Mapping[Path, tuple[Path, ...]]:
    """A shortest way of imports between an origin and each file within the request's depth.

    Each file on it imports the next one. Equally short ways are told apart by paths.
    """
    graph = snapshot.graph
    ways = graph.importers if request.importers else graph.imports
    origins = [path for path in sorted(request.origins) if path in snapshot.slots]
    trails: dict[Path, tuple[Path, ...]] = {path: (path,) for path in origins}
    frontier = list(trails)
    for _ in range(request.depth):
        further: list[Path] = []
        for path in frontier:
            for target in ways.get(path, ()):
                if target not in trails and target in snapshot.slots:
                    trail = trails[path]
                    trails[target] = (target, *trail) if request.importers else (*trail, target)
                    further.append(target)
        frontier = sorted(further)
        if not frontier:
            break
    return MappingProxyType(trails)


def _focused(snapshot: Snapshot, foci: Iterable[Focus]) -> Floats:
    """For each chunk how much it is in focus, from 0 to 1."""
    postings = snapshot.postings
    seeds = np.zeros(len(postings.chunk_slots))
    for focus in foci:
        numbers = _chunks_of(snapshot, focus.path)
        share = WHOLE_SHARE if focus.lines is None else AROUND_SHARE
        seeds[numbers] = np.maximum(seeds[numbers], share)
        if focus.lines is not None:
            hit = [n for n in numbers if _overlaps(postings.chunk(n)[0], focus.lines)]
            seeds[hit] = 1.0
    return seeds


def _near(snapshot: Snapshot, seeds: Floats) -> Floats:
    """For each chunk out of focus how close it is to what is in focus, from 0 to 1."""
    postings = snapshot.postings
    used, using = related(postings, seeds)
    by_file = _best_by_slot(seeds, postings)
    lift = np.zeros(postings.n_slots)
    for sources, targets in (
        (snapshot.importing, snapshot.imported),
        (snapshot.imported, snapshot.importing),
    ):
        n_neighbours = np.bincount(sources, minlength=postings.n_slots)
        np.maximum.at(lift, targets, by_file[sources] / np.sqrt(n_neighbours[sources]))
    close = np.maximum(np.maximum(used, using), IMPORT_SHARE * lift[postings.chunk_slots])
    return np.where(seeds > 0, 0.0, close)


def _changed(snapshot: Snapshot, changed: Mapping[Path, tuple[Lines, ...]]) -> Floats:
    """1 for each chunk with a changed line, and a little less for the rest of its function."""
    postings = snapshot.postings
    seeds = np.zeros(len(postings.chunk_slots))
    for path, ranges in changed.items():
        numbers = _chunks_of(snapshot, path)
        around = _enclosing(snapshot, path, ranges)
        for number in numbers:
            lines, _ = postings.chunk(number)
            if any(_overlaps(lines, one) for one in ranges):
                seeds[number] = 1.0
            elif any(_overlaps(lines, one) for one in around):
                seeds[number] = ENCLOSING_SHARE
    return seeds


def _enclosing(snapshot: Snapshot, path: Path, ranges: tuple[Lines, ...]) -> list[Lines]:
    """The innermost function or method around the first line of each range, if there is one."""
    functions = [s for s in snapshot.facts(path).symbols if s.kind in _FUNCTIONS]
    found: list[Lines] = []
    for lines in ranges:
        around = [s for s in functions if s.lines.start <= lines.start <= s.lines.end]
        if around:
            found.append(max(around, key=lambda symbol: symbol.depth).lines)
    return found


def _using(snapshot: Snapshot, changed: Mapping[Path, tuple[Lines, ...]]) -> Floats:
    """For each chunk how much it uses the definitions that changed, from 0 to 1.

    A name that many files define or many chunks use is nobody's, as in `related`. Elsewhere than
    beside it and in files that import it, a name of one word is a word, and one of several
    probably the same name.
    """
    postings = snapshot.postings
    using = np.zeros(len(postings.chunk_slots))
    named = (
        (path, name)
        for path, ranges in changed.items()
        for name in dict.fromkeys(_touched_names(snapshot, path, ranges))
    )
    linked = _linked(snapshot, changed)
    for path, name in islice(named, MAX_NAMES):
        found = terms(name)
        if not found or len(found[-1].encode("utf-8", "surrogatepass")) < MIN_NAME_BYTES:
            continue
        hits = postings.in_chunks(found[-1])  # The whole name.
        defining = np.unique(postings.chunk_slots[hits.documents[hits.names > 0]])
        users = hits.documents[hits.names == 0]
        if len(defining) <= MAX_DEFINING and 0 < len(users) <= MAX_USING:
            is_linked = linked[path][postings.chunk_slots[users]]
            sure = np.where(is_linked, 1.0, UNSURE_SHARE if len(found) > 1 else 0.0)
            shared = (1 + 1 / np.sqrt(len(users))) / 2
            using[users] = np.maximum(using[users], sure * shared)
    return using


def _linked(snapshot: Snapshot, changed: Iterable[Path]) -> Mapping[Path, NDArray[np.bool_]]:
    """By slot: whether a file is a changed one, imports it, or sees it as one of its package."""
    packages: dict[str, list[int]] = {}
    found: dict[Path, NDArray[np.bool_]] = {}
    for path in changed:
        linked = np.zeros(snapshot.postings.n_slots, np.bool_)
        slot = snapshot.slots[path]
        linked[slot] = True
        linked[snapshot.importing[snapshot.imported == slot]] = True
        if snapshot.sources[path].language in _PACKAGED:
            if not packages:
                for other, number in snapshot.slots.items():
                    packages.setdefault(_folder(other), []).append(number)
            linked[packages[_folder(path)]] = True
        found[path] = linked
    return found


def _folder(path: Path) -> str:
    return path.rpartition("/")[0]


def _touched_names(snapshot: Snapshot, path: Path, ranges: tuple[Lines, ...]) -> list[str]:
    """The definitions that changed: the innermost around each range, and those that begin in it."""
    symbols = snapshot.facts(path).symbols
    found: list[str] = []
    for lines in ranges:
        around = [s for s in symbols if s.lines.start <= lines.start <= s.lines.end]
        if around:
            found.append(max(around, key=lambda symbol: symbol.depth).name)
        found += [s.name for s in symbols if lines.start < s.lines.start <= lines.end]
    return found


def _tests(
    snapshot: Snapshot,
    changed: Mapping[Path, tuple[Lines, ...]],
    using: Floats,
) -> Floats:
    """For each chunk how much it tests what changed, from 0 to 1; says nothing of other code.

    A file is a test of another if it imports it, or is called so: `test_cart` of `cart`.
    """
    postings = snapshot.postings
    is_own = np.zeros(postings.n_slots, np.bool_)
    slots = [snapshot.slots[path] for path in changed]
    is_own[snapshot.importing[np.isin(snapshot.imported, slots)]] = True
    for path in changed:
        name = _words_in(stem_of(path))
        n_said = np.zeros(postings.n_slots, np.int64)
        for term in name:
            n_said[postings.in_stems(term).documents] += 1
        for slot in np.flatnonzero(n_said >= max(1, len(name))).tolist():
            other = snapshot.paths[slot]
            more = _words_in(other.rpartition("/")[2].rpartition(".")[0]) - name
            is_own[slot] |= more in _TEST_MARKS and (
                snapshot.sources[other].language == snapshot.sources[path].language
            )
    own = np.where(is_own, OWN_TEST_SHARE, 0.0)[postings.chunk_slots]
    return own + (1 - OWN_TEST_SHARE) * using


def _words_in(name: str) -> frozenset[str]:
    return frozenset(stem(part) for word in words(name) for part in parts(word))


def _reach(
    snapshot: Snapshot, request: Request, trails: Mapping[Path, tuple[Path, ...]]
) -> Floats:
    """For each chunk how close imports have it to an origin, from 0 to 1.

    Nearer files come first. Among those equally near count what the origins use (or what uses
    them), and whether few other files are linked with it: what everybody imports says little.
    """
    postings, graph = snapshot.postings, snapshot.graph
    back = graph.imports if request.importers else graph.importers
    origins = [_chunks_of(snapshot, path) for path, trail in trails.items() if len(trail) == 1]
    seeds = np.zeros(len(postings.chunk_slots))
    for numbers in origins:
        seeds[numbers] = 1.0
    used, using = related(postings, seeds)
    linked = using if request.importers else used
    reach = np.zeros(len(postings.chunk_slots))
    for path, trail in trails.items():
        numbers = _chunks_of(snapshot, path)
        n_hops = len(trail) - 1
        if not n_hops:
            reach[numbers] = 1.0
            continue
        value, further = (1 / (1 + HOP_LOSS * n) for n in (n_hops, n_hops + 1))
        rarity = 1 / np.sqrt(max(1, len(back.get(path, ()))))
        # Below the value of what is nearer, above that of what is further away.
        reach[numbers] = further + (value - further) * (rarity + linked[numbers]) / 2
    return reach


def _chunks_of(snapshot: Snapshot, path: Path) -> range:
    slot = snapshot.slots[path]
    return range(*snapshot.postings.first_chunks[slot : slot + 2].tolist())


def _best_by_slot(scores: Floats, postings: Postings) -> Floats:
    best = np.zeros(postings.n_slots)
    np.maximum.at(best, postings.chunk_slots, scores)
    return best


def _overlaps(one: Lines, other: Lines) -> bool:
    return one.start <= other.end and other.start <= one.end
