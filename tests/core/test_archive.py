"""A snapshot that was written down and read again answers and changes as the first does."""

import pytest

from contextpack import archive
from contextpack.archive import archived, archived_graph, restored, with_graph
from contextpack.codec import Damaged
from contextpack.rank import rank
from contextpack.snapshot import Change, Snapshot, applied
from harness.memory import STANDARD_LIBRARY, reading_of, snapshot_of

FILES = {
    "a.py": "import b\n\ndef load_cache(key):\n    return cache[key]\n",
    "b.py": "class Cache:\n    def load(self): ...\n",
    "empty.py": "",
    "größe.py": "def größe(): return 1\n",
    "web/loader.ts": "export const cache = load('key')\n",
}
EDITED = Change(read=(reading_of("b.py", "def other(): ...\n"),), gone=frozenset({"a.py"}))


def again(made: Snapshot) -> Snapshot:
    found = restored(archived(made), made.skipped, STANDARD_LIBRARY)
    return with_graph(found, archived_graph(made.graph))


def scores(made: Snapshot) -> dict[str, float]:
    found = rank(made, "load the cache").file_scores.tolist()
    return {path: found[slot] for path, slot in made.slots.items()}


@pytest.mark.parametrize("many", [0, 100], ids=["one by one", "at once"])
@pytest.mark.parametrize(
    "made",
    [snapshot_of({}), snapshot_of(FILES), applied(snapshot_of(FILES), EDITED)[0]],
    ids=["empty", "new", "changed"],
)
def test_what_is_read_again_says_what_was_written(
    made: Snapshot, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MANY_FILES", many)
    found = again(made)
    assert dict(found.sources) == dict(made.sources)
    assert found.sources.keys() == made.sources.keys()
    assert len(found.sources) == len(made.sources)
    assert "nowhere.py" not in found.sources
    assert found.sources.get("nowhere.py") is None
    assert scores(found) == scores(made)
    after, work = applied(found, EDITED)
    expected, expected_work = applied(made, EDITED)
    assert dict(after.sources) == dict(expected.sources)
    assert scores(after) == scores(expected)
    assert work == expected_work


def test_other_bytes_are_damage() -> None:
    data = archived(snapshot_of(FILES))
    with pytest.raises(Damaged):
        restored(data[:-20], (), STANDARD_LIBRARY)
    with pytest.raises(Damaged):
        restored(b"", (), STANDARD_LIBRARY)
