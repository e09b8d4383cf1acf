"""Which chunks are pieces of one definition: a long function is split, and read as a whole.

A chunk without a word of the query says what the one before it does, where both are of one body.
Classes are not meant: their methods stand for themselves.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np

from contextpack.bm25 import Floats
from contextpack.codec import Scope
from contextpack.snapshot import Snapshot


def continued(snapshot: Snapshot, scores: Floats, slots: Iterable[int]) -> Floats:
    """By chunk: the score of the better neighbour in the same definition, 0 where none is.

    Only files in these slots are looked at: their outlines have to be decoded.
    """
    found = np.zeros(len(scores))
    for slot in slots:
        ends = snapshot.postings.chunk_ends(slot)
        scopes = snapshot.scopes(snapshot.paths[slot]) if len(ends) > 1 else ()
        if not scopes:
            continue
        first = int(snapshot.postings.first_chunks[slot])
        for number in _unfinished(ends, scopes):
            one, other = first + number, first + number + 1
            found[one] = max(found[one], scores[other])
            found[other] = max(found[other], scores[one])
    return found


def _unfinished(ends: Sequence[int], scopes: Iterable[Scope]) -> list[int]:
    """The places of the chunks at whose last line a definition without others in it goes on."""
    bodies = _innermost(scopes)
    starts = [start for start, _ in bodies]
    return [
        number
        for number, end in enumerate(ends[:-1])
        if (at := bisect_right(starts, end)) and end < bodies[at - 1][1]
    ]


def _innermost(scopes: Iterable[Scope]) -> list[tuple[int, int]]:
    """The first and last lines of the definitions that hold no other, in order."""
    found: list[tuple[int, int]] = []
    for start, end, _, _ in sorted(scopes):
        # Of those that begin in the same line the inner one came first.
        if found and found[-1][0] == start:
            continue
        if found and start <= found[-1][1]:
            found.pop()
        found.append((start, end))
    return found
