"""What facts cost beside a bare read + parse + token count of the same files in the same pool.

    python tests/benchmarks/bench_cold_index.py ROOT [--suffix .py]

Each stage does what the one before it does, and more. Prints the workers' CPU time and the wall
clock as ratios to the bare stage's, the best of several rounds taken in turn by warm workers,
and the CPU time of the process that owns the pool. The store and the import graph are no part
of it.
"""

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from contextpack.languages import language_of
from contextpackd import child
from contextpackd.pool import Pool
from contextpackd.worker import Job

SKIPPED = {".git", "node_modules"}
STAGES = ("bare", "outline", "terms", "bytes")


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one pass over all files."""

    wall: float
    workers: float
    owner: float


def files_below(root: Path, suffixes: tuple[str, ...]) -> list[Path]:
    found: list[Path] = []
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name not in SKIPPED]
        found += (Path(directory, name) for name in files if name.endswith(suffixes))
    return sorted(file for file in found if file.is_file())


def jobs(files: list[Path]) -> Iterator[Job]:
    for number, file in enumerate(files):
        yield Job(number, file.name, language_of(file.name), file.read_bytes())


def cpu_seconds(pids: tuple[int, ...]) -> float:
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def cost(pool: Pool, files: list[Path]) -> Cost:
    workers = cpu_seconds(pool.pids)
    owner, wall = time.process_time(), time.perf_counter()
    n_results = sum(1 for _ in pool.made(jobs(files), is_cancelled=lambda: False))
    assert n_results == len(files)
    return Cost(
        wall=time.perf_counter() - wall,
        workers=cpu_seconds(pool.pids) - workers,
        owner=time.process_time() - owner,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("root", type=Path)
    arguments.add_argument("--suffix", action="append", default=[])
    arguments.add_argument("--workers", type=int, default=None)
    arguments.add_argument("--rounds", type=int, default=4)
    asked = arguments.parse_args()
    files = files_below(asked.root, tuple(asked.suffix or [""]))
    here = str(Path(__file__).resolve().parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    child.MODULE = "bare_worker"
    costs: dict[str, list[Cost]] = {stage: [] for stage in STAGES}
    with ExitStack() as stack:
        pools: dict[str, Pool] = {}
        for stage in STAGES:
            os.environ["STAGE"] = stage
            pools[stage] = stack.enter_context(Pool(asked.workers))
            cost(pools[stage], files)  # Starts the workers, and fills their memory of words.
        for _ in range(asked.rounds):
            for stage, pool in pools.items():
                costs[stage].append(cost(pool, files))
    best = {
        stage: Cost(*(min(getattr(one, field) for one in found) for field in Cost.__slots__))
        for stage, found in costs.items()
    }
    bare = best["bare"]
    print(f"{len(files)} files; bare read + parse + token count {bare.wall:.2f} s")
    for stage, one in best.items():
        print(
            f"  {stage:8} {one.workers / bare.workers:.2f} times its CPU time,"
            f" {one.wall / bare.wall:.2f} times its wall clock,"
            f" owner {one.owner / len(files) * 1e6:.0f} us a file"
        )


if __name__ == "__main__":
    main()
