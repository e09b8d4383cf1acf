"""How late the process that owns an index answers while it makes one.

    python tests/benchmarks/bench_ping.py ROOT [--switch SECONDS] [--profile]

An event loop in the main thread wakes every 5 ms; a thread of its own scans ROOT for the first
time, with an empty store, and saves what it found. Prints how late the wake-ups came, next to
those of the same loop before anything else runs in this process. `--profile` names what the
scanning thread was at when the loop had to wait for long.
"""

import argparse
import asyncio
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from statistics import median, quantiles

from contextpack.request import Request
from contextpackd.queries import discovery_of
from contextpackd.store import Store
from contextpackd.workspace import Workspace, engine

TICK_SECONDS = 0.005
IDLE_SECONDS = 2.0
LATE_SECONDS = 0.02

ALL = discovery_of(Request(query=""))


async def lateness(until: threading.Event, watched: threading.Thread | None) -> list[float]:
    """How late each wake-up came, in seconds."""
    late = []
    where = Counter[str]()
    while not until.is_set():
        due = time.perf_counter() + TICK_SECONDS
        await asyncio.sleep(TICK_SECONDS)
        late.append(time.perf_counter() - due)
        if watched is not None and late[-1] > LATE_SECONDS and watched.ident is not None:
            # The thread has just given way: it is where it was, or one call further.
            frame = sys._current_frames().get(watched.ident)
            calls = traceback.extract_stack(frame)[-3:] if frame else []
            where[
                " > ".join(f"{Path(c.filename).stem}.{c.name}:{c.lineno}" for c in calls)
            ] += 1
    for place, n in where.most_common(12):
        print(f"    {n:4} late at {place}")
    return late


def show(name: str, late: list[float]) -> float:
    p95 = quantiles(late, n=20)[-1]
    print(
        f"  {name}: {len(late)} wake-ups, late by median {1000 * median(late):.1f} ms, "
        f"p95 {1000 * p95:.1f} ms, most {1000 * max(late):.1f} ms"
    )
    return p95


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("--switch", type=float, help="what to give `sys.setswitchinterval`")
    parser.add_argument("--profile", action="store_true")
    parsed = parser.parse_args()
    if parsed.switch:
        sys.setswitchinterval(parsed.switch)
    idle = threading.Event()
    timer = threading.Timer(IDLE_SECONDS, idle.set)
    timer.start()
    alone = show("alone", asyncio.run(lateness(idle, None)))
    with tempfile.TemporaryDirectory(prefix="bench-") as cache:
        shared = engine(Store.opened(Path(cache)))
        workspace = Workspace(parsed.root.resolve(), shared)
        done = threading.Event()

        def scan() -> None:
            try:
                began = time.perf_counter()
                found = workspace.scan(ALL, with_graph=True)
                scanned = time.perf_counter()
                workspace.save()
                print(
                    f"  {len(found.snapshot.sources)} files in {scanned - began:.1f} s,"
                    f" saved in {time.perf_counter() - scanned:.2f} s"
                )
            finally:
                done.set()

        thread = threading.Thread(target=scan)
        thread.start()
        watched = thread if parsed.profile else None
        busy = show("indexing", asyncio.run(lateness(done, watched)))
        thread.join()
        workspace.close()
        shared.close()
    print(f"  ratio of p95: {busy / alone:.1f}")


if __name__ == "__main__":
    main()
