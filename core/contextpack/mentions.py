"""The files and lines that a query names: by a path, in a stack trace, as its only word."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from contextpack.bm25 import Floats
from contextpack.model import Path
from contextpack.postings import Postings
from contextpack.query import Question, question
from contextpack.segment import stem_of
from contextpack.snapshot import Snapshot
from contextpack.terms import terms, words

# A name that more files bear means none of them: together they get what so many would.
MAX_SHARED = 3

# Of what the frame inside it is worth, for a frame of a stack trace.
FRAME_DECAY = 0.9


@dataclass(frozen=True, slots=True)
class Meant:
    """The files that the query names by a path, and the line in them or None."""

    slots: tuple[int, ...]
    line: int | None
    strength: float


def meant_by(snapshot: Snapshot, asked: Question) -> list[Meant]:
    """What the query names. Only frames of the workspace make the next one count less."""
    found: list[Meant] = []
    frame = 1.0
    by_name = _by_name(snapshot, {_name_of(mention.path) for mention in asked.mentions})
    for mention in asked.mentions:
        same_name = by_name.get(_name_of(mention.path), ())
        slots = [s for s in same_name if is_mentioned(snapshot.paths[s], mention.path)]
        if slots:
            strength = frame if mention.is_frame else 1.0
            found.append(Meant(tuple(slots), mention.line, strength))
            frame *= FRAME_DECAY if mention.is_frame else 1.0
    return found


def missing(snapshot: Snapshot, query: str) -> tuple[str, ...]:
    """The paths below the root that a query names and that no file of the snapshot may be.

    Without frames, absolute paths and links, which may be about other machines, and without
    names alone, which need not be files: `Node.js`.
    """
    if "/" not in query:
        return ()
    named = (mention.path for mention in question(query).mentions if not mention.is_frame)
    near = [path for path in dict.fromkeys(named) if _is_below(path)]
    by_name = _by_name(snapshot, {_name_of(path) for path in near})
    return tuple(
        path
        for path in near
        if not any(
            is_mentioned(snapshot.paths[s], path) for s in by_name.get(_name_of(path), ())
        )
    )


def _is_below(path: str) -> bool:
    """Whether a path in a query is one relative to a root: no name alone, no host, not absolute."""
    first, slash, _ = path.partition("/")
    return bool(first and slash) and "." not in first.lstrip(".") and ":" not in path


def mentions(snapshot: Snapshot, asked: Question, meant: list[Meant]) -> Floats:
    """The files that the query names: by a path in it, or by being nothing but their name."""
    scores = np.zeros(snapshot.postings.n_slots)
    named = _named(snapshot, frozenset(asked.weights))
    for slots, strength in [(named, 1.0), *((list(m.slots), m.strength) for m in meant)]:
        shared = strength * min(1.0, MAX_SHARED / max(1, len(slots)))
        scores[slots] = np.maximum(scores[slots], shared)
    return scores


def _named(snapshot: Snapshot, asked: frozenset[str]) -> list[int]:
    """The slots of the files whose name is one word that has just these terms."""
    rarest = min((snapshot.postings.in_stems(t).documents for t in asked), key=len)
    return [slot for slot in rarest.tolist() if _is_name(snapshot.paths[slot], asked)]


def _is_name(path: Path, asked: frozenset[str]) -> bool:
    found = words(stem_of(path))
    return len(found) == 1 and set(terms(found[0])) == asked


def _by_name(snapshot: Snapshot, names: Collection[str]) -> dict[str, list[int]]:
    """The slots of the files that have one of these names, in one look at all paths."""
    found: dict[str, list[int]] = {}
    if not names:
        return found
    alive = snapshot.postings.is_alive.tolist()
    for slot, path in enumerate(snapshot.paths.tolist()):
        name = _name_of(path)
        if name in names and alive[slot]:
            found.setdefault(name, []).append(slot)
    return found


def _name_of(path: Path) -> str:
    return path[path.rfind("/") + 1 :]


def is_mentioned(path: Path, mention: str) -> bool:
    """Whether one is the end of the other: a traceback names absolute paths."""
    return f"/{path}".endswith(f"/{mention.lstrip('/')}") or (
        "/" in path and f"/{mention}".endswith(f"/{path}")
    )


def line_bonus(postings: Postings, meant: list[Meant]) -> Floats:
    """Up to 1 for the chunks whose lines the query names."""
    bonus = np.zeros(len(postings.chunk_slots))
    for item in meant:
        if item.line is None:
            continue
        for slot in item.slots:
            for number in range(*postings.first_chunks[slot : slot + 2].tolist()):
                lines, _ = postings.chunk(number)
                if lines.start <= item.line <= lines.end:
                    bonus[number] = max(bonus[number], item.strength)
    return bonus
