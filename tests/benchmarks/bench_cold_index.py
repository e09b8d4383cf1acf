"""What facts cost beside a bare read + parse + token count of the same files in the same pool.

    python tests/benchmarks/bench_cold_index.py ROOT [--suffix .py]

Each stage does what the one before it does, and more. Prints the workers' CPU time and the wall
clock as ratios to the bare stage's, the best of several rounds taken in turn by warm workers,
and the CPU time of the process that owns the pool. The last stage is a workspace's whole first
index of the same files: listing, store, postings and resolution of imports too; the owner's time
for each of the last three is given in the same ratio.
"""

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextpack import snapshot
from contextpack.languages import language_of
from contextpack.request import Request
from contextpackd import child
from contextpackd.pool import Pool
from contextpackd.queries import discovery_of
from contextpackd.store import Store
from contextpackd.worker import Job
from contextpackd.workspace import Workspace, engine

SKIPPED = {".git", "node_modules"}
STAGES = ("bare", "outline", "terms", "bytes")
# Where the owner's time goes in the whole index: what is called, and the name of that part.
PARTS: tuple[tuple[Any, str, str], ...] = (
    (Store, "keep_facts", "store"),
    (snapshot, "replaced", "postings"),
    (snapshot, "updated", "resolution"),
)


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


def timed(call: Callable[..., Any], part: str, spent: dict[str, float]) -> Callable[..., Any]:
    def timed_call(*arguments: Any, **named: Any) -> Any:
        began = time.thread_time()
        try:
            return call(*arguments, **named)
        finally:
            spent[part] = spent.get(part, 0.0) + time.thread_time() - began

    return timed_call


def whole(
    root: Path, files: list[Path], n_workers: int | None
) -> tuple[Cost, dict[str, float]]:
    """The first index of a workspace with these files alone, and the owner's seconds by part."""
    spent: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, ExitStack() as stack:
        copy = Path(directory, "root")
        for file in files:
            target = copy / file.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        for home, name, part in PARTS:
            original = getattr(home, name)
            setattr(home, name, timed(original, part, spent))
            stack.callback(setattr, home, name, original)
        shared = engine(Store.opened(Path(directory, "cache")), n_workers)
        workspace = Workspace(copy, shared, watches=False)
        cost(shared.pool, files)
        workers = cpu_seconds(shared.pool.pids)
        owner, wall = time.process_time(), time.perf_counter()
        scan = workspace.scan(discovery_of(Request(query="")), with_graph=True)
        wall, owner = time.perf_counter() - wall, time.process_time() - owner
        workers = cpu_seconds(shared.pool.pids) - workers
        assert scan.effort.n_made > 0
        workspace.close()
        shared.close()
    return Cost(wall, workers, owner), spent


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
    index, spent = whole(asked.root, files, asked.workers)
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
    total = bare.workers + bare.owner
    print(
        f"  whole    {(index.workers + index.owner) / total:.2f} times the CPU time of all,"
        f" {index.wall / bare.wall:.2f} times its wall clock, owner"
        f" {index.owner / len(files) * 1e6:.0f} us a file, of which in bare CPU times:"
    )
    for part, seconds in spent.items():
        print(f"    {part:10} {seconds / total:.2f}")


if __name__ == "__main__":
    main()
