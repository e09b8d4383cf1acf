"""What `--diff` costs beside a plain pack of the same question, on a warm workspace.

    python tests/benchmarks/bench_diff.py [--files N] [--edited N]

Each round asks both questions, one after the other. Times are CPU milliseconds, those of git's
processes among them. The rows:

    same      nothing changed since the last question
    edited    one more line was changed on disk
    staged    the index was written anew
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from synthetic import Words, git, path_of, write_workspace

from contextpack.request import Request
from contextpackd.queries import answer, discovery_of
from contextpackd.store import Store
from contextpackd.workspace import Workspace, engine

ROUNDS = 15
QUERY = " ".join(Words(1).take(6))


def spent() -> float:
    """The CPU seconds of this process and of the git processes that ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def milliseconds(call: Callable[[], object]) -> float:
    began = spent()
    call()
    return (spent() - began) * 1e3


def pack(workspace: Workspace, **options: object) -> None:
    request = Request(query=QUERY, **options)  # type: ignore[arg-type]  # by name
    answer(workspace, request, lambda _done, _total: None)


def edit(root: Path, number: int, seed: int) -> None:
    file = root / path_of(number)
    file.write_text(f"{file.read_text()}# {Words(seed).take(1)[0]}\n")


def row(name: str, workspace: Workspace, change: Callable[[int], object]) -> None:
    plain: list[float] = []
    diff: list[float] = []
    for turn in range(ROUNDS):
        change(turn)
        # Both have to see the change; who comes first pays for reading it.
        workspace.scan(discovery_of(Request(query=QUERY)))
        plain.append(milliseconds(lambda: pack(workspace)))
        diff.append(milliseconds(lambda: pack(workspace, diff="HEAD")))
    ratios = [one / other for one, other in zip(diff, plain, strict=True)]
    print(
        f"{name}: plain {median(plain):.1f} ms, --diff {median(diff):.1f} ms,"
        f" {median(ratios):.2f} times (best {min(diff) / min(plain):.2f})"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=10_000)
    arguments.add_argument("--edited", type=int, default=20)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "ws"
        write_workspace(root, asked.files)
        shared = engine(Store.opened(Path(folder) / "cache"))
        workspace = Workspace(root, shared, watches=True)
        pack(workspace)
        for number in range(asked.edited):
            edit(root, number * 7, number)
        time.sleep(2.5)  # What is younger than two seconds is not believed.
        pack(workspace, diff="HEAD")
        row("same", workspace, lambda _turn: None)
        row("edited", workspace, lambda turn: edit(root, 3 + turn * 11, turn))
        row("staged", workspace, lambda turn: git(root, "add", path_of(turn * 7)))
        workspace.close()
        shared.close()


if __name__ == "__main__":
    main()
