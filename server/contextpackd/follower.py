"""Says once that something below a root may have changed, whenever somebody has looked again.

A change that nobody has looked at yet is told once: the watch goes on reporting it until the
next scan, and a loop around it would spin.
"""

import threading
from collections.abc import Callable

from contextpackd.workspace import Workspace


class Follower:
    """A thread that waits for a workspace's watch. Without one it waits for nothing."""

    def __init__(self, workspace: Workspace, tell: Callable[[], None]) -> None:
        self._workspace = workspace
        self._tell = tell
        self._is_armed = threading.Event()
        self._is_over = False
        self._thread = threading.Thread(target=self._follow, name="follower", daemon=True)
        self._thread.start()

    def again(self) -> None:
        """Tell of the next change: everything until now has been looked at."""
        self._is_armed.set()

    def stop(self) -> None:
        """Tell of nothing more. The thread ends when the workspace is closed."""
        self._is_over = True
        self._is_armed.set()

    def _follow(self) -> None:
        while True:
            self._is_armed.wait()
            self._is_armed.clear()
            if self._is_over:
                return
            if self._workspace.wait(None) and not self._is_over:
                self._tell()
