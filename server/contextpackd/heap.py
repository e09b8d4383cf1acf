"""How the C library keeps memory that is free, and when it gives it back to the system.

While thousands of files are read, what is kept and what is not come in turn, and the C library
keeps the holes: half of what the process holds then. glibc gives them back when asked.

Every pack makes and drops arrays of a megabyte for each ten thousand files. By default glibc asks
the system for each of these and gives it back, and the system clears every page again: two
fifths of what a ranking costs. Told to, it keeps a little for the next one.
"""

import ctypes
import sys

# What is larger is the system's business each time: nothing of a pack is, up to a million chunks.
KEPT_ARRAY_BYTES = 16 << 20

# Free memory at the end of the heap that is not given back. Twice as much does no more at 10 000
# files, and a process that is idle holds it.
KEPT_FREE_BYTES = 8 << 20

# Of `malloc.h`.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3


def keep_a_little() -> None:
    """Let memory that is freed be used again, for the rest of the process.

    Without effect where the C library is not glibc.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(ctypes.c_int(_M_MMAP_THRESHOLD), ctypes.c_int(KEPT_ARRAY_BYTES))
        mallopt(ctypes.c_int(_M_TRIM_THRESHOLD), ctypes.c_int(KEPT_FREE_BYTES))


def trim() -> None:
    """Give free memory back. Without effect where the C library is not glibc."""
    if sys.platform != "linux":
        return
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(ctypes.c_size_t(0))
