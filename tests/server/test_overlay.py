"""Open buffers hide the disk, and give way to each other and to it."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from contextpackd.overlay import Buffer, Overlay
from harness.trees import cases

OWNERS = st.integers(0, 2)
PATHS = st.sampled_from(["a.py", "b.py"])
TEXTS = st.sampled_from(["", "x", "y"])


def test_f14_a_buffer_wins_over_the_disk_until_it_is_closed() -> None:
    expect = cases("f.jsonl")["f14"]["expect"]
    overlay, disk = Overlay(), {"a.py": "DISK"}

    def shown() -> str:
        buffer = overlay.seen.get("a.py")
        return disk["a.py"] if buffer is None else buffer.text

    overlay.put(1, "a.py", Buffer(1, "DISK"))
    overlay.put(1, "a.py", Buffer(2, "BUFFER"))
    disk["a.py"] = "OTHER"
    assert expect["pack1_contains"] == shown()
    overlay.close(1, "a.py")
    assert expect["pack2_contains"] == shown()


def test_a_closed_buffer_gives_way_to_another_editors() -> None:
    overlay = Overlay()
    overlay.put(1, "a.py", Buffer(1, "one"))
    overlay.put(2, "a.py", Buffer(7, "two"))
    overlay.close(2, "a.py")
    assert {"a.py": Buffer(1, "one")} == dict(overlay.seen)
    overlay.close(1, "a.py")
    assert {} == dict(overlay.seen)


def test_a_lost_connection_closes_its_buffers() -> None:
    overlay = Overlay()
    overlay.put(1, "a.py", Buffer(1, "one"))
    overlay.put(1, "b.py", Buffer(1, "one"))
    overlay.put(2, "b.py", Buffer(1, "two"))
    overlay.changed()
    overlay.leave(1)
    assert {"b.py": Buffer(1, "two")} == dict(overlay.seen)
    assert {"a.py"} == overlay.changed()


def test_what_is_typed_and_taken_back_is_no_change() -> None:
    overlay = Overlay()
    overlay.put(1, "a.py", Buffer(1, "one"))
    assert {"a.py"} == overlay.changed()
    overlay.put(1, "a.py", Buffer(2, "two"))
    overlay.put(1, "a.py", Buffer(3, "one"))
    assert set() == overlay.changed()
    assert {"a.py": Buffer(3, "one")} == dict(overlay.seen)


def test_a_buffer_that_comes_and_goes_leaves_no_trace() -> None:
    overlay = Overlay()
    overlay.put(1, "a.py", Buffer(1, "secret"))
    overlay.close(1, "a.py")
    assert set() == overlay.changed()
    assert {} == dict(overlay.seen)
    assert "secret" not in str(vars(overlay))


class AgainstHistory(RuleBasedStateMachine):
    """The overlay against a list of all that happened, searched from its end."""

    def __init__(self) -> None:
        super().__init__()
        self.overlay = Overlay()
        self.history: list[tuple[int, str, str | None]] = []
        self.asked: dict[str, str] = {}
        self.revision = 0
        self.before: dict[str, str] = {}

    def expected(self) -> dict[str, str]:
        last: dict[tuple[int, str], str | None] = {}
        for owner, path, text in self.history:
            last.pop((owner, path), None)
            last[owner, path] = text
        return {path: text for (_, path), text in last.items() if text is not None}

    @rule(owner=OWNERS, path=PATHS, text=TEXTS)
    def put(self, owner: int, path: str, text: str) -> None:
        self.history.append((owner, path, text))
        self.overlay.put(owner, path, Buffer(len(self.history), text))

    @rule(owner=OWNERS, path=PATHS)
    def close(self, owner: int, path: str) -> None:
        self.history.append((owner, path, None))
        self.overlay.close(owner, path)

    @rule(owner=OWNERS)
    def leave(self, owner: int) -> None:
        self.history += [(owner, "a.py", None), (owner, "b.py", None)]
        self.overlay.leave(owner)

    @rule()
    def ask(self) -> None:
        now = self.expected()
        moved = {path for path in now | self.asked if now.get(path) != self.asked.get(path)}
        assert moved == self.overlay.changed()
        self.asked = now

    @invariant()
    def shows_the_latest_open_buffer(self) -> None:
        now = self.expected()
        assert now == {path: buffer.text for path, buffer in self.overlay.seen.items()}
        assert (now != self.before) == (self.revision != self.overlay.revision)
        self.revision, self.before = self.overlay.revision, now


TestAgainstHistory = AgainstHistory.TestCase
