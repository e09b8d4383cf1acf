"""What a question to a watch costs, against the sweep that it saves.

    python tests/benchmarks/bench_watch.py [--directories 5000] [--files 10]

Makes a tree in the temporary directory, with as many files in each directory. Prints milliseconds
of one run, the median of several rounds: ratios hold better than their parts.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from contextpackd.notifier import Notifier
from contextpackd.watch import Watch

ROUNDS = 50


def milliseconds(work: Callable[[int], object], rounds: int = ROUNDS) -> list[float]:
    took = []
    for n in range(rounds):
        began = time.perf_counter()
        work(n)
        took.append((time.perf_counter() - began) * 1e3)
    return sorted(took)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--directories", type=int, default=5000)
    arguments.add_argument("--files", type=int, default=10)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        directories = [f"{n // 100}/{n}" for n in range(asked.directories)]
        paths = [f"{directory}/{n}.py" for directory in directories for n in range(asked.files)]
        for directory in directories:
            (root / directory).mkdir(parents=True)
        for path in paths:
            (root / path).write_text("1")

        began = time.perf_counter()
        watch = Watch(root, directories, ())
        start = (time.perf_counter() - began) * 1e3
        watch.touched()

        names = [os.path.join(root, path) for path in paths]  # noqa: PTH118
        sweeps = milliseconds(lambda _: [os.lstat(name) for name in names], 5)
        idle = milliseconds(lambda _: watch.touched())
        asks = []
        for n in range(ROUNDS):
            (root / paths[n]).write_text("2")
            asks += milliseconds(lambda _: watch.touched(), 1)
        watch.close()

        opened = []
        for max_listed in (asked.directories + 1, 0):
            notifier = Notifier(root, max_listed)
            notifier.follow(frozenset(directories), frozenset())
            notifier.taken()  # The first wait opens it, which is news.
            opened += milliseconds(lambda _: notifier.wait(None), 1)  # noqa: B023 - Called here.
            notifier.close()
    reference = statistics.median(sweeps)
    print(f"{asked.directories} directories, {len(paths)} files; sweep = one lstat a file")
    for name, value in (
        ("sweep", reference),
        ("begin to watch", start),
        ("open directories to be woken", opened[0]),
        ("open the tree to be woken", opened[1]),
        ("ask, nothing changed", statistics.median(idle)),
        ("ask after a save", statistics.median(asks)),
        ("ask after a save, p95", sorted(asks)[int(ROUNDS * 0.95)]),
    ):
        print(f"{name:28} {value:9.3f} ms {value / reference:9.5f} sweeps")


if __name__ == "__main__":
    main()
