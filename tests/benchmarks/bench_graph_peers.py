"""Import graphs by us and by tools of the languages' own worlds, over the same tree in one run.

    python tests/benchmarks/bench_graph_peers.py ROOT [--package NAME]

Ours reads, outlines and resolves in this process; the others (`depcruise` of dependency-cruiser
with a TypeScript that it can use, `ruff analyze graph`, and grimp for the package of that name
directly below ROOT) run as programs, their start included. A tool that is not found is named.
Prints files per CPU second and per second, the better of some rounds, and what a tool says that
it saw: one that skips most files is fast for nothing.
"""

import argparse
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from contextpack import resolve
from contextpack.graph import graph, said
from contextpack.languages import language_of, outline
from contextpack.model import Facts
from contextpack.resolve import Tree
from contextpackd.grammars import Grammars, grammars

ROUNDS = 3
SKIPPED = {".git", "node_modules"}
PYTHON = frozenset({"python"})
JAVASCRIPT = frozenset({"javascript", "jsx", "typescript", "tsx", "vue", "svelte", "astro"})
GRIMP = "import grimp, sys; print(len(grimp.build_graph(sys.argv[1], cache_dir=None).modules))"


@dataclass(frozen=True)
class Run:
    n_files: int
    cpu_s: float
    wall_s: float


def measured(work: Callable[[], int]) -> Run:
    """The best of some rounds, by CPU time, children included."""
    runs = []
    for _ in range(ROUNDS):
        began, cpu = time.perf_counter(), cpu_seconds()
        n_files = work()
        runs.append(Run(n_files, cpu_seconds() - cpu, time.perf_counter() - began))
    return min(runs, key=lambda run: run.cpu_s)


def cpu_seconds() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def ours(root: Path, languages: frozenset[str], compiled: Grammars) -> int:
    texts: dict[str, str] = {}
    files = {}
    paths = sorted(
        file.relative_to(root).as_posix()
        for file in root.rglob("*")
        if file.is_file() and SKIPPED.isdisjoint(file.parts)
    )
    for path in paths:
        language = language_of(path)
        is_config = resolve.is_config(path)
        if language not in languages and not is_config:
            continue
        text = (root / path).read_bytes().decode("utf-8-sig", "replace")
        if is_config:
            texts[path] = text
        if language in languages:
            found = outline(text, language, compiled)
            facts = Facts(language, 0, 0, found.imports, found.symbols, ())
            files[path] = said(facts)
    graph(files, Tree(frozenset(paths), texts, frozenset(sys.stdlib_module_names)))
    return len(files)


def output(command: list[str], root: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=root, env={**os.environ, **environment}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode()


def depcruise(tool: str, root: Path) -> int:
    configuration = (
        ["--ts-config", "tsconfig.json"] if (root / "tsconfig.json").exists() else []
    )
    command = [tool, "--no-config", "--ts-pre-compilation-deps", *configuration]
    command += ["--exclude", "node_modules", "--output-type", "json", "."]
    modules = json.loads(output(command, root))["modules"]
    return sum((root / module["source"]).is_file() for module in modules)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("root", type=Path)
    arguments.add_argument("--package", help="for grimp")
    asked = arguments.parse_args()
    root = asked.root.resolve()
    compiled = grammars()
    peers: list[tuple[str, frozenset[str], Callable[[], int]]] = []
    tool, ruff = shutil.which("depcruise"), shutil.which("ruff")
    if tool is not None:
        peers.append(("dependency-cruiser", JAVASCRIPT, lambda: depcruise(tool, root)))
    if ruff is not None:
        command = [ruff, "analyze", "graph", "."]
        peers.append(("ruff", PYTHON, lambda: len(json.loads(output(command, root) or "{}"))))
    if importlib.util.find_spec("grimp") is not None and asked.package:
        python = [sys.executable, "-c", GRIMP, asked.package]
        peers.append(("grimp", PYTHON, lambda: int(output(python, root, PYTHONPATH=str(root)))))
    found = {name for name, _, _ in peers}
    for name in ("dependency-cruiser", "ruff", "grimp"):
        if name not in found:
            print(f"{name}: not found" + (", or no --package" if name == "grimp" else ""))
    own: dict[frozenset[str], Run] = {}
    for name, languages, work in peers:
        if languages not in own:
            own[languages] = measured(lambda: ours(root, languages, compiled))  # noqa: B023
        run, we = measured(work), own[languages]
        if not run.n_files or not we.n_files:
            print(f"{name}: saw {run.n_files} files, we {we.n_files}")
            continue
        ratio_cpu = (we.n_files / we.cpu_s) / (run.n_files / run.cpu_s)
        ratio_wall = (we.n_files / we.wall_s) / (run.n_files / run.wall_s)
        print(
            f"{name}: {run.n_files} files in {run.cpu_s:.2f} CPU s ({run.wall_s:.2f} s); we"
            f" {we.n_files} in {we.cpu_s:.2f} ({we.wall_s:.2f}); our files per CPU second are"
            f" {ratio_cpu:.2f} times its, per second {ratio_wall:.2f} times"
        )


if __name__ == "__main__":
    main()
