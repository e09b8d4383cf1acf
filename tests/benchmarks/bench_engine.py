"""What the engine costs: starts, saves, packs, checkouts and memory, on made-up workspaces.

    python tests/benchmarks/bench_engine.py WHAT... [--files N]
    python tests/benchmarks/bench_engine.py pack --tree DIR --query WORDS [--query WORDS ...]

WHAT is one of:

    start     a process with a full store, until its first answer; next to `git ls-files` and one
              lstat of each file (default: 50 000 files)
    pack      the median of warm packs at 8k tokens; next to `git grep -c -i` for the query's words
    save      from a written file to the pack that shows it (default: 10 000 files)
    checkout  a branch that is 500 files apart; next to the first indexing of as many files
    memory    what a process holds for each file, beyond an empty one, and how long its longest
              collection of garbage takes (default: 50 000 files)

Everything happens in a directory of its own, with a store of its own, and is removed at the end.
`--tree` packs a git checkout that is there already, for queries of its words, and writes nothing in
it. Ratios hold from machine to machine better than times do: a bare loop is timed before each
measurement and after it.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from synthetic import Words, git, module, path_of, write_workspace

from contextpack.request import Request
from contextpack.tokens import profile_of
from contextpackd.counters import load
from contextpackd.queries import answer, discovery_of
from contextpackd.store import Store
from contextpackd.worker import INDEX_MODEL
from contextpackd.workspace import Workspace, engine

# Of the vocabulary of the workspaces: frequent words and rare ones.
QUERIES = (
    "waphin tchtock secainche lokencklo grack morydexin",
    "totose lophoreren derphgrase ryquepar queinlomo quechegragra",
    "wauteca sequegraken setodex mouteryph cagragraren ininmodex",
    "dexseken adgraqueche inpaorese ssionssionin loindexssion gramoryca",
    "uteutestro sewadel stckdexad ckdelparwa dexrenca secheren",
    "ckphwato ckpawatch ssionorero seindelche ryseute delseto",
    "delcheder ckse utephdex dexadorewa parwapar seuteken",
    "phseck dexstken utestseph admoph paradrenad grakenore",
    "oreryckad oreadcase packder kensetch oreryckad oreryckad",
    "waderphore papagrain phseparck dertodex renstderken kenphse",
    "loderdexph inpassion semossion tchadckad setocassion rypauteche",
    "sepa kencastlo stparrenute renrosetch renloto grarenlo",
)
DEFAULT_FILES = {
    "start": 50_000,
    "pack": 7_000,
    "save": 10_000,
    "checkout": 3_000,
    "memory": 50_000,
}
ALL = discovery_of(Request(query=""))
N_SAVES = 60
N_LOOPS = 1_000_000
N_APART = 500


def request_of(query: str) -> Request:
    return Request(query=query, budget_tokens=8000)


def nothing(_done: int, _total: int) -> None:
    """No progress."""


@contextmanager
def opened(root: Path, cache: Path, *, watches: bool = True) -> Iterator[Workspace]:
    shared = engine(Store.opened(cache))
    workspace = Workspace(root, shared, watches=watches)
    try:
        yield workspace
    finally:
        workspace.close()
        shared.close()


def milliseconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


def bare_loop() -> float:
    """Milliseconds of a loop that does nothing else: how fast this machine is right now."""
    return milliseconds(lambda: sum(number * number for number in range(N_LOOPS)))


@contextmanager
def timed() -> Iterator[None]:
    before = bare_loop()
    yield
    print(
        f"  a bare loop of {N_LOOPS} rounds: {before:.0f} ms before, {bare_loop():.0f} ms after"
    )


def listed(root: Path) -> None:
    """What any tool has to do: ask git for the files, and look at each."""
    for path in git(root, "ls-files", "-co", "--exclude-standard", "-z").split("\0"):
        if path:
            (root / path).lstat()


def bench_start(root: Path, cache: Path) -> None:
    with opened(root, cache, watches=False) as workspace:
        print(
            f"  first index: {milliseconds(lambda: pack(workspace, QUERIES[0])) / 1000:.1f} s"
        )
    base = min(milliseconds(lambda: listed(root)) for _ in range(3))
    times = [in_child("first-answer", root, cache)["milliseconds"] for _ in range(5)]
    print(f"  first answer of a process: {median(times):.0f} ms (python's start included)")
    print(f"  git ls-files + lstat: {base:.0f} ms; ratio {median(times) / base:.1f}")


def bench_pack(root: Path, cache: Path, queries: Sequence[str] = QUERIES) -> None:
    # Once a process, and not what a pack costs.
    load(profile_of(INDEX_MODEL).encoding)
    with opened(root, cache) as workspace:
        pack(workspace, queries[0])
        pack(workspace, queries[0])
        times = [milliseconds(lambda q=query: pack(workspace, q)) for query in queries]  # type: ignore[misc]
    greps = [
        milliseconds(
            lambda q=query: subprocess.run(  # type: ignore[misc]
                ["git", "grep", "-c", "-i", *[x for w in q.split() for x in ("-e", w)]],
                cwd=root, capture_output=True, check=False,
            )
        )
        for query in queries[:4]
    ]  # fmt: skip
    print(
        f"  warm pack, each query new: median {median(times):.1f} ms, slowest {max(times):.1f} ms"
    )
    print(f"  git grep: {median(greps):.0f} ms; ratio {median(times) / median(greps):.3f}")


def bench_save(root: Path, cache: Path) -> None:
    # Once a process, and not what a save costs.
    load(profile_of(INDEX_MODEL).encoding)
    words = Words(99)
    with opened(root, cache) as workspace:
        pack(workspace, QUERIES[0])
        pack(workspace, QUERIES[0])
        times = []
        for number in range(N_SAVES):
            file = root / path_of(37 * number)
            file.write_text(module(words, 100))
            times.append(milliseconds(lambda: pack(workspace, QUERIES[number % 4])))  # noqa: B023
    p95 = quantiles(times, n=20)[-1]
    print(
        f"  save to pack: median {median(times):.1f} ms, p95 {p95:.1f} ms, slowest {max(times):.1f}"
    )


def bench_checkout(root: Path, cache: Path) -> None:
    words = Words(98)
    git(root, "checkout", "-qb", "other")
    for number in range(N_APART):
        (root / path_of(5 * number)).write_text(module(words, 1000))
    git(root, "commit", "-qam", "other")
    git(root, "checkout", "-q", "-")
    part = cache.parent / "part"
    for number in range(N_APART):
        file = part / path_of(5 * number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(module(words, 1000))
    with opened(root, cache) as workspace:
        pack(workspace, QUERIES[0])
        git(root, "checkout", "-q", "other")
        there = milliseconds(lambda: workspace.scan(ALL))
        git(root, "checkout", "-q", "-")
        back = milliseconds(lambda: workspace.scan(ALL))
    with opened(part, cache.parent / "cold", watches=False) as alone:
        base = milliseconds(lambda: alone.scan(ALL))
    print(f"  {N_APART} files apart: {there:.0f} ms, back {back:.0f} ms")
    print(f"  as many files for the first time: {base:.0f} ms; ratio {there / base:.2f}")


def bench_memory(root: Path, cache: Path) -> None:
    with opened(root, cache, watches=False) as workspace:
        workspace.scan(ALL)
    empty = cache.parent / "empty"
    empty.mkdir()
    n_files = len(git(root, "ls-files").splitlines())
    base = in_child("resident", empty, cache)["kilobytes"]
    found = in_child("resident", root, cache)
    print(f"  {(found['kilobytes'] - base) / n_files:.2f} KB a file ({n_files} files)")
    print(f"  longest full collection: {found['pause']:.1f} ms")


def pack(workspace: Workspace, query: str) -> None:
    answer(workspace, request_of(query), nothing)


def in_child(what: str, root: Path, cache: Path) -> dict[str, float]:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--child", what, str(root), str(cache)],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return {"milliseconds": 1000 * (time.perf_counter() - began), **found}


def child(what: str, root: Path, cache: Path) -> None:
    shared = engine(Store.opened(cache))
    workspace = Workspace(root, shared, watches=what == "resident")
    pack(workspace, QUERIES[0])
    if what == "first-answer":
        print("{}", flush=True)
        os._exit(0)  # What comes after the answer is not measured.
    pack(workspace, QUERIES[1])
    gc.collect()
    pauses = [milliseconds(gc.collect) for _ in range(3)]
    status = Path("/proc/self/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    print(json.dumps({"kilobytes": int(resident.split()[1]), "pause": max(pauses)}))
    workspace.close()
    shared.close()


BENCHES = {
    "start": bench_start, "pack": bench_pack, "save": bench_save,
    "checkout": bench_checkout, "memory": bench_memory,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="+", choices=list(BENCHES))
    parser.add_argument("--files", type=int)
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--query", action="append")
    parsed = parser.parse_args()
    if parsed.tree:
        if parsed.what != ["pack"] or not parsed.query:
            parser.error("--tree goes with pack alone, and with a --query or several")
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            n_files = len(git(parsed.tree, "ls-files").splitlines())
            print(f"pack, {n_files} files of {parsed.tree.name}:")
            with timed():
                bench_pack(parsed.tree, Path(directory) / "cache", parsed.query)
        return
    for what in parsed.what:
        n_files = parsed.files or DEFAULT_FILES[what]
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            root, cache = Path(directory) / "root", Path(directory) / "cache"
            root.mkdir()
            write_workspace(root, n_files)
            print(f"{what}, {n_files} files:")
            with timed():
                BENCHES[what](root, cache)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        main()
