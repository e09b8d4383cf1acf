"""What keeping the import graph current costs, against making it anew, in one process.

    python tests/benchmarks/bench_graph_updates.py ROOT [--copies N]

With `--copies` the workspace holds that many copies of ROOT side by side, to reach the size of
interest. Prints CPU milliseconds, the better of several rounds, and their share of the cold graph.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from contextpack import resolve
from contextpack.graph import Said, graph, restored, said, updated
from contextpack.languages import language_of, outline
from contextpack.model import Facts, Import
from contextpack.resolve import Tree
from contextpackd.grammars import grammars

ROUNDS = 7
SKIPPED = {".git", "node_modules"}


def cpu_ms(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken) * 1000


def workspace(root: Path, n_copies: int) -> tuple[dict[str, Said], Tree]:
    compiled = grammars()
    paths = sorted(
        file.relative_to(root).as_posix()
        for file in root.rglob("*")
        if file.is_file() and SKIPPED.isdisjoint(file.parts)
    )
    files: dict[str, Said] = {}
    configs: dict[str, str] = {}
    for path in paths:
        text = (root / path).read_bytes().decode("utf-8-sig", "replace")
        language = language_of(path)
        found = outline(text, language, compiled)
        facts = Facts(language, 0, 0, found.imports, found.symbols, ())
        for n in range(n_copies):
            files[f"copy{n}/{path}" if n else path] = said(facts)
            if resolve.is_config(path):
                configs[f"copy{n}/{path}" if n else path] = text
    return files, Tree(frozenset(files), configs, frozenset(sys.stdlib_module_names))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("root", type=Path)
    arguments.add_argument("--copies", type=int, default=1)
    asked = arguments.parse_args()
    files, tree = workspace(asked.root, asked.copies)
    made = graph(files, tree)
    cold = cpu_ms(lambda: graph(files, tree))
    # A file in the middle of things: of those with most imports, the one that most others import.
    path = max(sorted(made.imports), key=lambda p: len(made.importers.get(p, ())))
    one = files[path]
    added = "/added_".join(path.rsplit("/", 1))
    config = next(iter(sorted(tree.configs)), None)
    more = (*one.imports, Import("nowhere.to.be.found", 1))
    moved = tuple(replace(each, line=each.line + 1) for each in one.imports)
    row(f"{len(files)} files, {sum(map(len, made.imports.values()))} edges: cold", cold, cold)
    row("restored", cpu_ms(lambda: restored(files, tree, made.resolved)), cold)

    def show(
        name: str, changed: dict[str, Said], gone: tuple[str, ...] = (), text: str | None = None
    ) -> None:
        configs = {} if text is None else dict.fromkeys(changed, text)
        _, work = updated(made, changed, gone, configs)
        n = sum(n for _, n in work.resolved)
        took = cpu_ms(lambda: updated(made, changed, gone, configs))
        row(f"{name}: {n} imports resolved, {len(work.moved)} files moved", took, cold)

    show("body saved", {path: replace(one, imports=moved)})
    show("import added", {path: replace(one, imports=more)})
    show("file added", {added: one})
    show("file gone", {}, (path,))
    if config is not None:
        show("configuration edited", {config: files[config]}, text="{}")


def row(name: str, took: float, cold: float) -> None:
    print(f"{took:9.2f} ms {took / cold:8.2%}  {name}")


if __name__ == "__main__":
    main()
