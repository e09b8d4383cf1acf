"""Round trips through a real daemon: while it indexes, and from a save to its notification.

    PYTHONPATH=tests python tests/benchmarks/bench_lsp.py [--files 10000]

Prints milliseconds, and their ratios to a bare round trip of the same run: machines are noisy,
and a ratio holds better than its parts. Real sockets, a real bridge, a made-up tree.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness.edits import written
from harness.lsp_client import Client, command, house

PINGS = 200
SAVES = 30


def tree(root: Path, n_files: int) -> None:
    for number in range(n_files):
        folder = root / f"p{number // 100:03}"
        folder.mkdir(exist_ok=True)
        other = (number * 7) % n_files
        (folder / f"m{number}.py").write_text(
            f"from p{other // 100:03}.m{other} import work_{other}\n\n\n"
            + "".join(
                f"def work_{number}_{part}(value):\n    '''Part {part} of {number}.'''\n"
                f"    return work_{other}(value) + {part}\n\n\n"
                for part in range(6)
            )
        )


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def shown(name: str, times: list[float], bare: float | None) -> None:
    p50 = statistics.median(times)
    p95 = statistics.quantiles(times, n=20)[-1]
    ratio = "" if bare is None else f", {p95 / bare:.1f} times a bare round trip's"
    print(f"{name}: p50 {p50:.1f} ms, p95 {p95:.1f} ms{ratio} ({len(times)} times)")


def pings_until(client: Client, is_over: Callable[[], bool]) -> list[float]:
    times = []
    while not is_over():
        times.append(milliseconds(lambda: client.command("close", {"packId": "none"})))
    return times


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=10_000)
    n_files = arguments.parse_args().files
    with tempfile.TemporaryDirectory() as folder, house() as home:
        root = Path(folder) / "tree"
        root.mkdir()
        tree(root, n_files)
        editor, other = home.start("lsp").client, home.start("lsp").client
        editor.initialize(root)
        other.initialize(root)
        idle = [
            milliseconds(lambda: other.command("close", {"packId": "none"}))
            for _ in range(PINGS)
        ]
        shown("bare round trip", idle, None)
        bare = statistics.quantiles(idle, n=20)[-1]
        question = {"query": "work 42 part 3"}
        began = time.perf_counter()
        asked = editor.begin("workspace/executeCommand", command("pack", question))

        def is_indexed() -> bool:
            roots = other.command("status")["roots"]
            return any(found["indexed"] for found in roots)

        busy = pings_until(other, is_indexed)
        pack = editor.answer(asked)
        print(f"cold pack of {n_files} files: {time.perf_counter() - began:.1f} s")
        shown("round trip while indexing", busy, bare)
        warm = [milliseconds(lambda: editor.command("pack", question)) for _ in range(10)]
        shown("warm pack", warm, bare)
        editor.command("live", {"packId": pack["packId"], "on": True})
        file = root / pack["items"][0]["path"]
        text = file.read_text()
        times = []
        for number in range(SAVES):
            written(file, text.replace("return work_", f"return {number} + work_"))
            saved = {"textDocument": {"uri": file.as_uri()}}
            began = time.perf_counter()
            editor.notify("textDocument/didSave", saved)
            editor.notification("contextpack/packChanged")
            times.append((time.perf_counter() - began) * 1000)
        shown("save to packChanged", times, bare)


if __name__ == "__main__":
    main()
