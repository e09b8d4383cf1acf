"""Memory that a pack frees serves the next one. Counted in page faults, in a process of its own."""

import platform
import subprocess
import sys

import pytest

# As a pack does: some arrays of a megabyte at a time, and none of them for long.
FAULTS = """
import resource, sys
import numpy as np
from contextpackd import heap

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        arrays = [np.ones(1 << 17) for _ in range(6)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

asked_anew = faults()
heap.keep_a_little()
faults()
print(asked_anew, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's settings")
def test_what_one_pack_frees_serves_the_next_one() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True
    )
    asked_anew, kept = map(int, run.stdout.split())
    assert kept < asked_anew / 10
