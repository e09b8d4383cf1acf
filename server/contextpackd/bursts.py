"""When a run of changes is over, by times on one clock, in seconds.

A single save is passed on almost at once, so that a pack that is looked at follows the editor.
Where changes keep coming, each further batch waits until they rest: they are few, however long it
goes on. So a run makes at most one batch more than it would if all of them waited.
"""

from dataclasses import dataclass, replace
from typing import Self

# An editor's save, also one by way of a temporary file, is over in a few milliseconds.
FIRST_QUIET_SECONDS = 0.03
# Tools that append every 100 ms (logs, test runners) must make few batches, not fifty.
QUIET_SECONDS = 0.2
# What goes on for longer is passed on in parts: ten seconds of it make nine.
LONGEST_BURST_SECONDS = 1.2


@dataclass(frozen=True, slots=True)
class Burst:
    """Changes that follow each other closely and are passed on together."""

    first: float
    last: float
    least_quiet_seconds: float = QUIET_SECONDS

    @classmethod
    def began(cls, now: float, calm_since: float) -> Self:
        """The burst of a change that was seen now, after none since `calm_since` at the latest."""
        is_alone = now - calm_since >= QUIET_SECONDS
        return cls(now, now, FIRST_QUIET_SECONDS if is_alone else QUIET_SECONDS)

    def extended(self, now: float) -> Self:
        """The burst with a change that was seen now."""
        return replace(self, last=now)

    def ends_at(self) -> float:
        """When it is passed on unless something follows before.

        The longer it goes on, the longer it has to rest: a storm is not an editor's save.
        """
        quiet = max(self.least_quiet_seconds, min(QUIET_SECONDS, self.last - self.first))
        return min(self.last + quiet, self.first + LONGEST_BURST_SECONDS)
