"""Memory that is free, given back to the system.

While thousands of files are read, what is kept and what is not come in turn, and the C library
keeps the holes: half of what the process holds then. glibc gives them back when asked.
"""

import ctypes
import sys


def trim() -> None:
    """Give free memory back. Without effect where the C library is not glibc."""
    if sys.platform != "linux":
        return
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(ctypes.c_size_t(0))
