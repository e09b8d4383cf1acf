"""Past commits that say what the query says lift the chunks whose lines they changed."""

from dataclasses import replace

import numpy as np
import pytest

from contextpack.history import NO_HISTORY, Commit, Touch, extended
from contextpack.hunks import Ints
from contextpack.rank import TOUCHED_WEIGHT, rank
from contextpack.snapshot import Snapshot
from contextpack.touched import MAX_COMMITS, SHARE_ROOT, touched
from harness.memory import snapshot_of

FILLER = "".join(f"    value = value + {number} * value\n" for number in range(24))
# Four chunks: the imports, and three functions of 26 lines.
IMPORTS = "".join(f"import module_{number}\n" for number in range(40))
FILE = f"{IMPORTS}\n\n" + "\n\n".join(
    f"def {name}(value):\n{FILLER}    return value\n" for name in ("one", "two", "three")
)
# The first of the functions has the last of the imports in its chunk.
STARTS = {"one": 40, "two": 71, "three": 99}
IN_TWO, IN_THREE = 80, 101


def lines(first: int, n: int) -> Ints:
    return np.array([[first, n, first, n]], np.int32)


def with_past(*commits: tuple[str, dict[str, Ints]]) -> Snapshot:
    made = [
        Commit(message, tuple(Touch(path, hunks=hunks) for path, hunks in files.items()))
        for message, files in commits
    ]
    files = {"a.py": FILE, "b.py": FILE}
    return replace(snapshot_of(files), history=extended(NO_HISTORY, "0" * 40, made))


def lifted(snapshot: Snapshot, said: list[float]) -> dict[tuple[str, int], float]:
    """What each chunk gets, by its path and first line."""
    postings = snapshot.postings
    found = touched(snapshot, np.array(said))
    return {
        (snapshot.paths[postings.chunk_slots[n]], postings.chunk(n)[0].start): float(found[n])
        for n in np.flatnonzero(found).tolist()
    }


def test_the_function_whose_lines_a_commit_changed_is_lifted() -> None:
    snapshot = with_past(("comma", {"a.py": lines(IN_TWO, 3)}))
    assert lifted(snapshot, [0.5]) == {("a.py", STARTS["two"]): 0.5}


def test_the_best_commit_counts_by_the_share_of_its_lines() -> None:
    snapshot = with_past(
        ("comma", {"a.py": lines(IN_TWO, 1), "b.py": lines(IN_THREE, 15)}),
        ("lexer", {"a.py": lines(IN_TWO, 1)}),
    )
    share = (1 / 16) ** (1 / SHARE_ROOT)
    found = lifted(snapshot, [0.8, 0.3])
    assert found[("a.py", STARTS["two"])] == pytest.approx(max(0.8 * share, 0.3))
    assert lifted(snapshot, [0.8, 0.5])[("a.py", STARTS["two"])] == 0.5
    assert found[("b.py", STARTS["three"])] == pytest.approx(
        0.8 * (15 / 16) ** (1 / SHARE_ROOT)
    )


def test_a_change_across_functions_lifts_each_of_them() -> None:
    snapshot = with_past(("comma", {"a.py": lines(45, 36)}))
    assert {start for _, start in lifted(snapshot, [1.0])} == {STARTS["one"], STARTS["two"]}


def test_only_the_commits_that_say_most_are_looked_at() -> None:
    others = [("lexer", {"a.py": lines(IN_TWO, 1)})] * MAX_COMMITS
    snapshot = with_past(("comma", {"b.py": lines(IN_TWO, 1)}), *others)
    assert {path for path, _ in lifted(snapshot, [0.1, *[0.2] * MAX_COMMITS])} == {"a.py"}
    assert {path for path, _ in lifted(snapshot, [0.3, *[0.2] * MAX_COMMITS])} == {
        "a.py",
        "b.py",
    }


def test_lines_behind_the_end_and_files_that_are_gone_lift_nothing() -> None:
    snapshot = with_past(("comma", {"a.py": lines(5000, 3), "gone.py": lines(1, 3)}))
    assert lifted(snapshot, [1.0]) == {}


def test_it_is_a_part_of_the_score_of_a_chunk_without_a_word_of_the_query() -> None:
    snapshot = with_past(("unicorn", {"a.py": lines(IN_THREE, 3)}))
    ranking = rank(snapshot, "unicorn")
    parts = {chunk.lines.start: ranking.parts(chunk) for chunk in ranking.chunks_of("a.py")}
    assert parts[STARTS["three"]]["touched"] == pytest.approx(TOUCHED_WEIGHT)
    assert "touched" not in parts[STARTS["two"]]
    assert [file.path for file in ranking.files] == ["a.py"]
