"""Which chunks past commits changed that say what the query says.

A file's history says that it is about something; these say where in it.
"""

import numpy as np
from numpy.typing import NDArray

from contextpack.bm25 import Floats
from contextpack.grams import distinct
from contextpack.hunks import Ints
from contextpack.postings import ranges
from contextpack.snapshot import Snapshot

# Only the commits that say most of the query: what is left has a common word.
MAX_COMMITS = 32

# A commit that changed much besides says the less of a place: the share of its lines that are
# there counts by this root.
SHARE_ROOT = 4

_Numbers = NDArray[np.int64]


def touched(snapshot: Snapshot, said: Floats) -> Floats:
    """By chunk: how much the best of the commits that changed its lines says of the query.

    `said` is by commit, and counts by the share of its lines that are in the chunk. Lines are
    those of the files at HEAD, so what is not committed yet may move a place by as much as it adds
    above.
    """
    postings, history = snapshot.postings, snapshot.history
    found = np.zeros(len(postings.chunk_slots))
    if not len(history.hunks) or not len(found):
        return found
    is_best = (said > 0) & (said >= _least_of_best(said))
    hunks = history.hunks[is_best[history.hunks[:, 0]]]
    sizes = np.bincount(hunks[:, 0], _n_lines(hunks), len(said))
    chunks, commits, n_lines = _within(snapshot, hunks)
    pairs, at = np.unique(chunks * len(said) + commits, return_inverse=True)
    chunks, commits = np.divmod(pairs, len(said))
    share = np.bincount(at, n_lines, len(pairs)) / sizes[commits]
    np.maximum.at(found, chunks, said[commits] * share ** (1 / SHARE_ROOT))
    return found


def _n_lines(hunks: Ints) -> Ints:
    return hunks[:, 3] - hunks[:, 2] + 1


def _least_of_best(said: Floats) -> float:
    n_left_out = max(0, len(said) - MAX_COMMITS)
    return float(np.partition(said, n_left_out)[n_left_out])


def _within(snapshot: Snapshot, hunks: Ints) -> tuple[_Numbers, _Numbers, _Numbers]:
    """The chunks that these hunks lie in, the commit of each, and how many lines are in both."""
    postings, paths = snapshot.postings, snapshot.history.paths
    files, at = np.unique(hunks[:, 1], return_inverse=True)
    slots = np.array([snapshot.slots.get(paths[file], -1) for file in files.tolist()], np.int64)
    slots = slots[at]
    hunks, slots = hunks[slots >= 0], slots[slots >= 0]
    # The chunks of these files alone, one file after the other.
    touched_slots = distinct(slots)
    firsts = postings.first_chunks[touched_slots]
    numbers = ranges(firsts, postings.first_chunks[touched_slots + 1] - firsts)
    lines = postings.chunk_table(numbers)
    # Files follow one another, and so do the chunks of each: one number says where a line is.
    step = int(max(lines.max(initial=0), hunks[:, 2:].max(initial=0))) + 2
    base, by_file = postings.chunk_slots[numbers] * step, slots * step
    first = np.searchsorted(base + lines[:, 1], by_file + hunks[:, 2])
    end = np.searchsorted(base + lines[:, 0], by_file + hunks[:, 3], side="right")
    n_chunks = np.maximum(end - first, 0)
    rows = np.repeat(np.arange(len(hunks)), n_chunks)
    chunks = np.arange(len(rows)) - np.repeat(np.cumsum(n_chunks) - n_chunks, n_chunks)
    chunks += first[rows]
    starts = np.maximum(lines[chunks, 0], hunks[rows, 2])
    ends = np.minimum(lines[chunks, 1], hunks[rows, 3])
    return numbers[chunks], hunks[rows, 0].astype(np.int64), ends - starts + 1
