"""Pieces of one definition speak for each other, those of different ones do not."""

import numpy as np

from contextpack.pieces import continued
from contextpack.snapshot import Snapshot
from harness.memory import snapshot_of

BODY = "".join(f"    total = total + {number} * total\n" for number in range(120))
LONG = f"def long(total):\n{BODY}    return total\n"


def lifted(snapshot: Snapshot, path: str, best: int) -> list[int]:
    """The places of the chunks of a file that the chunk at `best` lifts."""
    slot = snapshot.slots[path]
    first, end = snapshot.postings.first_chunks[slot : slot + 2].tolist()
    scores = np.zeros(len(snapshot.postings.chunk_slots))
    scores[first + best] = 2.0
    found = continued(snapshot, scores, [slot])
    assert set(found[found > 0].tolist()) <= {2.0}
    return [number for number in range(end - first) if found[first + number]]


def test_a_piece_of_a_long_function_lifts_those_beside_it() -> None:
    made = snapshot_of({"a.py": LONG})
    assert len(made.postings.chunk_slots) > 3
    assert lifted(made, "a.py", 1) == [0, 2]
    assert lifted(made, "a.py", 0) == [1]


def test_a_function_lifts_none_of_the_next() -> None:
    made = snapshot_of({"a.py": LONG.replace("def long", "def other") + "\n\n" + LONG})
    slot_chunks = [made.postings.chunk(n)[0] for n in range(len(made.postings.chunk_slots))]
    last = next(n for n, lines in enumerate(slot_chunks) if lines.end >= 122)
    assert lifted(made, "a.py", last) == [last - 1]


def test_methods_stand_for_themselves() -> None:
    method = "    def {}(self, total):\n" + BODY.replace("    ", "        ")[: 36 * 20] + "\n"
    text = "class Cart:\n" + "".join(method.format(name) for name in ("one", "two", "three"))
    made = snapshot_of({"a.py": text})
    n_chunks = len(made.postings.chunk_slots)
    assert n_chunks > 2
    assert [lifted(made, "a.py", number) for number in range(n_chunks)] == [[]] * n_chunks


def test_other_files_are_left_alone() -> None:
    made = snapshot_of({"a.py": LONG, "b.py": LONG})
    scores = np.ones(len(made.postings.chunk_slots))
    found = continued(made, scores, [made.slots["a.py"]])
    slots = made.postings.chunk_slots[found > 0]
    assert set(slots.tolist()) == {made.slots["a.py"]}
