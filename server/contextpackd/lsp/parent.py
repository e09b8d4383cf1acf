"""The client's process, as it names itself: when it is gone, so is its connection.

A client that dies closes its pipes, unless another process has inherited them.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable


def watched(pid: int | None, gone: Callable[[], None]) -> Callable[[], None]:
    """Call `gone` once when the process has ended, until the result is called.

    Without a process of this number here (it may be numbered in another container), and where
    the system has no descriptors of processes, nothing is watched.
    """
    if pid is None or pid <= 0 or not hasattr(os, "pidfd_open"):
        return lambda: None
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return lambda: None
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if loop.remove_reader(descriptor):
            os.close(descriptor)

    def ended() -> None:
        stop()
        gone()

    try:
        loop.add_reader(descriptor, ended)
    except NotImplementedError:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        return lambda: None
    return stop
