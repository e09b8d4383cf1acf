"""How chunks of one file stand to each other in a ranking."""

from dataclasses import replace

import pytest

from contextpack.rank import HEADER_SHARE, MAX_TERMS, PASTLESS, REPEAT_DISCOUNT, rank
from harness.memory import history_of, snapshot_of

HEADER = "".join(f"import module_{number}\n" for number in range(30))
FILLER = "".join(f"    total = total + {number} * total\n" for number in range(20))


def function(name: str, word: str) -> str:
    return f"\n\ndef {name}(total):\n    {word} = total\n{FILLER}    return total\n"


def scores(files: dict[str, str], query: str) -> list[tuple[str, int, float]]:
    ranking = rank(snapshot_of(files), query)
    return [(chunk.path, chunk.lines.start, chunk.score) for chunk in ranking.chunks()]


def test_the_start_of_a_file_follows_its_best_chunk() -> None:
    (best, header) = scores({"a.py": HEADER + function("first", "comma")}, "comma")
    assert (header[0], header[1]) == ("a.py", 1)
    assert header[2] == pytest.approx(HEADER_SHARE * best[2] / (1 + REPEAT_DISCOUNT), abs=1e-5)


def test_of_equal_chunks_each_file_shows_one_before_another_shows_its_second() -> None:
    twice = function("first", "comma") + function("other", "comma")
    files = {"a.py": twice, "b.py": twice}
    found = scores(files, "comma")
    assert [path for path, _, _ in found] == ["a.py", "b.py", "a.py", "b.py"]
    assert found[0][2] == found[1][2] > found[2][2] == found[3][2]


def test_of_a_long_query_the_most_telling_terms_are_looked_for() -> None:
    names = [f"word{chr(97 + n // 26)}{chr(97 + n % 26)}k" for n in range(MAX_TERMS)]
    files = {"common.py": "def common(): ...\n", "other.py": "def common(): ...\n"}
    files |= {f"f{n}.py": f"def {name}(): ...\n" for n, name in enumerate(names)}
    ranked = {path for path, _, _ in scores(files, " ".join(["common", *names]))}
    assert ranked == {f"f{n}.py" for n in range(MAX_TERMS)}
    assert {path for path, _, _ in scores(files, "common")} == {"common.py", "other.py"}


def test_without_past_commits_names_of_files_count_half_again() -> None:
    alone = snapshot_of({"comma.py": "def comma(): ...\n", "b.py": "def second(): ...\n"})
    grown = replace(alone, history=history_of([("Unrelated", ["b.py"])]))
    stems = []
    for made in (alone, grown):
        ranked = rank(made, "comma").file("comma.py")
        assert ranked is not None
        stems.append(ranked.parts["stem"])
    assert stems == [pytest.approx(PASTLESS * stems[1], abs=1e-5), stems[1]]
    assert stems[1] > 0
