"""What past commits say of today's files: who changes something alike finds where it was done.

The index is extended by the commits that are new, oldest first; a file that was moved keeps what
was said of it. Messages are not kept, only their terms.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import msgspec
import numpy as np
from numpy.typing import NDArray

from contextpack.bm25 import Floats, Hit, bm25, rarity
from contextpack.codec import Damaged
from contextpack.hunks import MAX_HUNKED_COMMITS, NO_HUNKS, Edit, Ints, carried
from contextpack.model import Path
from contextpack.postings import ranges
from contextpack.terms import STOP_WORDS, terms, words

HISTORY_VERSION = 2
"""Kept by hand: raised when the index is made, written or read otherwise."""

# Older commits are about code that is another by now: five years of a lively repository.
MAX_COMMITS = 5000

# A commit that touches more files than this moves or formats them: it says nothing of each.
MAX_TOUCHED = 40

# A commit of more files than this says little of which of them belong together.
MAX_TOGETHER = 12

# A file that was changed less often has no habits, and what two files share of few commits is
# chance: so many more are thought to each, without the other.
MIN_TOGETHER = 2
SMOOTHING = 2

# The log of a long branch in one message says everything, and so nothing.
MAX_MESSAGE_CHARS = 4000

# Of a word's rarity when no message holds it, in the share of the query that a message covers.
ABSENT_SHARE = 0.25

# Who signed, where it was discussed, which commits it names: not what was done.
_TRAILER = re.compile(
    r"^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|change-id|git-svn-id):.*$"
    r"|https?://\S+|\b[0-9a-f]{7,40}\b",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Touch:
    """A file that a commit changed, and where it stood before if the commit moved it."""

    path: Path
    moved_from: Path | None = None
    hunks: Ints | None = field(default=None, compare=False)
    """Of its diff, see `hunks.Edit`; None where they are not known."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A past commit, as far as it says something of files."""

    message: str
    touched: tuple[Touch, ...]


@dataclass(frozen=True, slots=True)
class History:
    """The commits that a root's HEAD is built on, the oldest first; not all of them."""

    head: str | None
    """The digest of the last commit, or None without a history."""
    vocabulary: Mapping[str, int]
    lengths: NDArray[np.int64]
    """How many terms each commit's message has, repetitions counted."""
    starts: Ints
    """The entries of term `t` in `commits` and `uses` are `starts[t]:starts[t + 1]`."""
    commits: Ints
    """The commits whose messages hold a term, ascending."""
    uses: Ints
    """And how often each does."""
    paths: tuple[Path, ...]
    """Where the files stand today that the commits touched, each once; empty for a file that
    another one has taken the place of."""
    touching: Ints
    """The commit of each of the entries of `touched`; ascending."""
    touched: Ints
    """Which of `paths` it touched."""
    hunks: Ints
    """The lines of them that the newest commits changed, see `hunks.NO_HUNKS`."""

    @property
    def n_commits(self) -> int:
        """How many commits there are."""
        return len(self.lengths)


_NO_INTS: Ints = np.zeros(0, np.int32)

NO_HISTORY = History(
    head=None,
    vocabulary=MappingProxyType({}),
    lengths=np.zeros(0, np.int64),
    starts=np.zeros(1, np.int32),
    commits=_NO_INTS,
    uses=_NO_INTS,
    paths=(),
    touching=_NO_INTS,
    touched=_NO_INTS,
    hunks=NO_HUNKS,
)


def extended(before: History, head: str, commits: Iterable[Commit]) -> History:
    """The history with these commits at its end, the oldest of them first."""
    vocabulary = dict(before.vocabulary)
    paths = list(before.paths)
    numbers = {path: number for number, path in enumerate(paths) if path}
    known: dict[str, tuple[int, ...]] = {}
    lengths: list[int] = []
    entries: list[tuple[int, int, int]] = []
    touches: list[tuple[int, int]] = []
    edits: list[Edit] = []
    for commit, made in enumerate(commits, before.n_commits):
        counts: dict[int, int] = {}
        for word in _telling(made.message):
            if word not in known:
                found = (vocabulary.setdefault(t, len(vocabulary)) for t in terms(word))
                known[word] = tuple(found)
            for term in known[word]:
                counts[term] = counts.get(term, 0) + 1
        lengths.append(sum(counts.values()))
        entries += [(commit, term, uses) for term, uses in counts.items()]
        for touch in made.touched:
            if touch.moved_from is not None:
                _move(touch.moved_from, touch.path, paths, numbers)
            number = _number(touch.path, paths, numbers)
            is_telling = len(made.touched) <= MAX_TOUCHED
            if is_telling:
                touches.append((commit, number))
            edits.append(Edit(commit, number, touch.hunks, is_telling))
    entry = np.array(entries, np.int32).reshape(-1, 3)
    old_terms = np.repeat(np.arange(len(before.vocabulary)), np.diff(before.starts))
    in_term = np.concatenate([old_terms, entry[:, 1]])
    order = np.argsort(in_term, kind="stable")
    touch_pairs = np.array(touches, np.int32).reshape(-1, 2)
    return _shortened(
        History(
            head=head,
            vocabulary=MappingProxyType(vocabulary),
            lengths=np.concatenate([before.lengths, np.array(lengths, np.int64)]),
            starts=_starts(in_term, len(vocabulary)),
            commits=np.concatenate([before.commits, entry[:, 0]])[order],
            uses=np.concatenate([before.uses, entry[:, 2]])[order],
            paths=tuple(paths),
            touching=np.concatenate([before.touching, touch_pairs[:, 0]]),
            touched=np.concatenate([before.touched, touch_pairs[:, 1]]),
            hunks=carried(before.hunks, edits),
        )
    )


def _starts(in_term: NDArray[np.signedinteger], n_terms: int) -> Ints:
    starts = np.zeros(n_terms + 1, np.int32)
    np.cumsum(np.bincount(in_term, minlength=n_terms), out=starts[1:])
    return starts


def _telling(message: str) -> list[str]:
    told = _TRAILER.sub(" ", message[:MAX_MESSAGE_CHARS])
    return [word for word in words(told) if word.lower() not in STOP_WORDS]


def _number(path: Path, paths: list[Path], numbers: dict[Path, int]) -> int:
    if path not in numbers:
        numbers[path] = len(paths)
        paths.append(path)
    return numbers[path]


def _move(old: Path, new: Path, paths: list[Path], numbers: dict[Path, int]) -> None:
    number = _number(old, paths, numbers)
    del numbers[old]
    if new in numbers:
        paths[numbers[new]] = ""
    paths[number] = new
    numbers[new] = number


def _shortened(history: History) -> History:
    """Without the oldest commits where there are too many, and the hunks of some more."""
    n = history.n_commits
    hunks = history.hunks[history.hunks[:, 0] >= n - MAX_HUNKED_COMMITS]
    n_gone = n - MAX_COMMITS
    if n_gone <= 0:
        return replace(history, hunks=hunks)
    is_kept = history.commits >= n_gone
    in_term = np.repeat(np.arange(len(history.vocabulary)), np.diff(history.starts))
    touch = int(np.searchsorted(history.touching, n_gone))
    return replace(
        history,
        lengths=history.lengths[n_gone:],
        starts=_starts(in_term[is_kept], len(history.vocabulary)),
        commits=history.commits[is_kept] - n_gone,
        uses=history.uses[is_kept],
        touching=history.touching[touch:] - n_gone,
        touched=history.touched[touch:],
        hunks=hunks - np.array([n_gone, 0, 0, 0], np.int32),
    )


def alike(history: History, weights: Mapping[str, float]) -> Floats:
    """How much of the query each commit's message says, mostly between 0 and 1.

    `weights` are those of the query's terms. It is BM25 over that of a message of usual length
    which holds each term once: so a query that no commit is about makes none stand out.
    """
    n = history.n_commits
    hits: list[Hit] = []
    total = 0.0
    for term, weight in weights.items():
        number = history.vocabulary.get(term)
        row = slice(0, 0) if number is None else slice(*history.starts[number : number + 2])
        commits = history.commits[row].astype(np.int64)
        share = 1.0 if len(commits) else ABSENT_SHARE
        total += share * weight * rarity(len(commits), n)
        hits.append((weight, commits, history.uses[row].astype(np.float64)))
    scores = bm25(hits, history.lengths, n)
    return scores / total if total else scores


def credited(history: History, said: Floats) -> dict[Path, float]:
    """The files that commits like the query touched, each with how much the best is like it.

    `said` is what `alike` gives.
    """
    best = np.zeros(len(history.paths))
    np.maximum.at(best, history.touched, said[history.touching])
    return _by_path(history.paths, best)


def companions(history: History, scores: Mapping[Path, float]) -> dict[Path, float]:
    """The files that past commits changed together with one of these.

    Each has how closely it belongs to it, below 1, times that one's score; the best counts. Each
    commit counts for each pair of its files, the less the more it touched; and then as a cosine,
    so that files which everything touches are near to none.
    """
    sizes = np.bincount(history.touching, minlength=history.n_commits)
    is_small = sizes[history.touching] <= MAX_TOGETHER
    commits, files = history.touching[is_small], history.touched[is_small]
    n_each = np.bincount(files, minlength=len(history.paths))
    best = np.zeros(len(history.paths))
    often = np.flatnonzero(n_each >= MIN_TOGETHER).tolist()
    for number in [n for n in often if history.paths[n] in scores]:
        own = commits[files == number]
        # Commits ascend, so the files of each stand together.
        first, end = np.searchsorted(commits, own), np.searchsorted(commits, own, "right")
        worth = np.repeat(1.0 / np.maximum(sizes[own] - 1, 1), end - first)
        shared = np.bincount(files[ranges(first, end - first)], worth, len(history.paths))
        shared[number] = 0.0
        near = shared / np.sqrt((len(own) + SMOOTHING) * (n_each + SMOOTHING))
        np.maximum(best, near * scores[history.paths[number]], out=best)
    return _by_path(history.paths, best)


def _by_path(paths: tuple[Path, ...], values: Floats) -> dict[Path, float]:
    numbers = np.flatnonzero(values)
    found = zip((paths[n] for n in numbers.tolist()), values[numbers].tolist(), strict=True)
    return {path: value for path, value in found if path}


_Wire = tuple[int, str | None, str, bytes, bytes, bytes, bytes, list[Path], bytes, bytes, bytes]
_DECODER = msgspec.msgpack.Decoder(_Wire)


def archived(history: History) -> bytes:
    """What `restored` makes the history of again."""
    wire: _Wire = (
        HISTORY_VERSION,
        history.head,
        "\n".join(history.vocabulary),
        history.lengths.tobytes(),
        history.starts.tobytes(),
        history.commits.tobytes(),
        history.uses.tobytes(),
        list(history.paths),
        history.touching.tobytes(),
        history.touched.tobytes(),
        history.hunks.tobytes(),
    )
    return msgspec.msgpack.encode(wire)


def restored(data: bytes) -> History:
    """The history that these bytes were made of. Raises `Damaged`."""
    try:
        wire = _DECODER.decode(data)
        version, head, vocabulary, lengths, starts, commits, uses, paths, *files = wire
        touching, touched, hunks = files
        if version != HISTORY_VERSION:
            raise Damaged
        found: Sequence[str] = vocabulary.split("\n") if vocabulary else ()
        return History(
            head=head,
            vocabulary=MappingProxyType(dict(zip(found, range(len(found)), strict=True))),
            lengths=np.frombuffer(lengths, np.int64),
            starts=np.frombuffer(starts, np.int32),
            commits=np.frombuffer(commits, np.int32),
            uses=np.frombuffer(uses, np.int32),
            paths=tuple(paths),
            touching=np.frombuffer(touching, np.int32),
            touched=np.frombuffer(touched, np.int32),
            hunks=np.frombuffer(hunks, np.int32).reshape(-1, 4),
        )
    except (msgspec.MsgspecError, ValueError) as error:
        raise Damaged from error
