"""Changes at given times, and what is passed on of them, without sleeping."""

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from contextpackd.bursts import Burst
from contextpackd.inotify import Inotify

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: object) -> object:
        return method


def batches(changes: Iterable[float]) -> list[float]:
    """When each batch is passed on, in seconds, for one who hears of each change at once."""
    passed: list[float] = []
    burst: Burst | None = None
    last = -math.inf
    for now in changes:
        if burst is not None and now >= burst.ends_at():
            passed.append(burst.ends_at())
            burst = None
        burst = Burst.began(now, last) if burst is None else burst.extended(now)
        last = now
    return passed if burst is None else [*passed, burst.ends_at()]


class Script:
    """A clock that stands still until somebody waits, and what happens at which time."""

    def __init__(self, *changes: tuple[float, Callable[[], object]]) -> None:
        self.now = 0.0
        self.left = deque(changes)

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        """Until the next thing has happened, or the time is over."""
        end = self.now + seconds
        if self.left and self.left[0][0] <= end:
            at, change = self.left.popleft()
            self.now = max(self.now, at)
            change()
        else:
            self.now = end

    def work(self, seconds: float) -> None:
        """Be busy while things happen."""
        end = self.now + seconds
        while self.now < end:
            self.wait(end - self.now)


class Scripted(Inotify):
    """The kernel's own queue; only its waiting is that of a script."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script

    @override
    def wait(self, timeout_seconds: float | None) -> None:
        assert timeout_seconds is not None
        self.script.wait(max(0.0, timeout_seconds) + 0.001)  # The kernel counts milliseconds.


class ScriptedRust:
    """What `watchfiles` does with a list of changes, in the time of a script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.changes: set[tuple[int, str]] = set()

    def watch(
        self, group_ms: int, step_ms: int, timeout_ms: int, stop: threading.Event
    ) -> object:
        step = step_ms / 1000
        if not stop.is_set() and not self.changes:
            self.script.wait(timeout_ms / 1000)
        if stop.is_set():
            self.changes.clear()
            return "stop"
        if not self.changes:
            return "timeout"
        self.script.work(2 * step)  # It looks twice.
        found = set(self.changes)
        self.changes.clear()
        return found

    def close(self) -> None:
        """There is nothing to close."""
