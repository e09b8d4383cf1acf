"""The lines of today's files that past commits changed: hunks, carried along by later ones.

A commit says where it changed lines in the file as it was then. Each later commit that touches the
file moves them, by as much as its own hunks before them add or take away, so that they stay true
for as long as every commit's hunks are known; where they are not, what came before is forgotten.

Lines that a commit rewrote stay where they were, however different they are by now: what counts is
the place. Commits of merged branches are taken one after the other, so that a place may be off by
what the branches did not know of each other.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]

# Hunks are read and kept of so many of the newest commits: their contents have to be compared,
# which takes a second where their messages take a tenth of one. Twice as many find no more.
MAX_HUNKED_COMMITS = 1000


@dataclass(frozen=True, slots=True)
class Edit:
    """What one commit did to one file."""

    commit: int
    """Its number among the commits, the oldest being 0."""
    file: int
    hunks: Ints | None = field(compare=False)
    """As a diff without context says it, shape (n, 4): the first of the old lines and their number,
    the first of the new ones and theirs. Where a number is 0, the line is the one before the place.
    None where nothing is known."""
    is_telling: bool = True
    """Whether the commit says something of the lines that it changed."""


NO_HUNKS: Ints = np.zeros((0, 4), np.int32)
"""Hunks that are kept, shape (n, 4): commit, file, first and last of the lines today; sorted."""


def carried(kept: Ints, edits: Iterable[Edit]) -> Ints:
    """The hunks with those of these edits, the oldest first, and moved by them."""
    by_file: dict[int, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.file, []).append(edit)
    kept = kept[np.argsort(kept[:, 1], kind="stable")]
    bounds = [np.searchsorted(kept[:, 1], list(by_file), side) for side in ("left", "right")]
    is_moved = np.isin(kept[:, 1], list(by_file))
    found = [kept[~is_moved]]
    for own, start, end in zip(by_file.values(), *bounds, strict=True):
        rows = kept[start:end]
        for edit in own:
            rows = _after(rows, edit)
        found.append(rows)
    rows = np.concatenate(found).astype(np.int32)
    return rows[np.lexsort(rows.T[::-1])]


def _after(rows: Ints, edit: Edit) -> Ints:
    """The hunks of one file after one more edit of it."""
    if edit.hunks is None or _is_deletion(edit.hunks):
        return rows[:0]
    if not len(edit.hunks):
        return rows
    moved = rows.copy()
    moved[:, 2:] = _moved(rows[:, 2:], edit.hunks)
    if not edit.is_telling:
        return moved
    made = np.empty((len(edit.hunks), 4), np.int32)
    made[:, 0], made[:, 1] = edit.commit, edit.file
    made[:, 2] = np.maximum(edit.hunks[:, 2], 1)
    made[:, 3] = np.maximum(edit.hunks[:, 2] + edit.hunks[:, 3] - 1, made[:, 2])
    return np.concatenate([moved, made])


def _is_deletion(hunks: Ints) -> bool:
    """Whether nothing is left of the file."""
    return len(hunks) == 1 and not hunks[0, 2:].any()


def _moved(lines: Ints, hunks: Ints) -> Ints:
    """Where lines stand after these hunks; those that one replaced, within what it put there."""
    old_first, n_old, new_first, n_new = hunks.T
    # What is put in after a line has its place before the next one.
    old_first = old_first + (n_old == 0)
    new_first = new_first + (n_new == 0)
    old_end, new_end = old_first + n_old, new_first + n_new
    before = np.searchsorted(old_first, lines, side="right") - 1
    at = np.maximum(before, 0)
    is_replaced = (before >= 0) & (lines < old_end[at])
    shift = np.where(before >= 0, new_end[at] - old_end[at], 0)
    inside = np.minimum(new_first[at] + lines - old_first[at], np.maximum(new_end[at] - 1, 1))
    return np.where(is_replaced, np.maximum(inside, 1), lines + shift)
