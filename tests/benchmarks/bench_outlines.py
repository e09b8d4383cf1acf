"""Outlines and the import graph against a bare parse of the same files, in one process.

    python tests/benchmarks/bench_outlines.py ROOT [--suffix .py]

Prints CPU seconds and their ratio, the better of several rounds each, taken in turn: machines
are noisy, and a ratio of one run holds better than its parts. Terms and token counts are no
part of it.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tree_sitter import Parser

from contextpack import resolve
from contextpack.graph import Said, edges, graph, said
from contextpack.languages import language_of, outline
from contextpack.model import Facts
from contextpack.resolve import Tree
from contextpackd.grammars import grammars

ROUNDS = 5
SKIPPED = {".git", "node_modules"}


def files_below(root: Path) -> list[str]:
    result: list[str] = []
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name not in SKIPPED]
        result.extend(Path(directory, name).relative_to(root).as_posix() for name in files)
    return sorted(result)


def cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("root", type=Path)
    arguments.add_argument("--suffix", action="append", default=[])
    asked = arguments.parse_args()
    compiled = grammars()
    paths = files_below(asked.root)
    parsed = [
        path
        for path in paths
        if language_of(path) in compiled
        and (not asked.suffix or path.endswith(tuple(asked.suffix)))
        and (asked.root / path).is_file()
    ]

    def text_of(path: str) -> str:
        data: bytes = (asked.root / path).read_bytes()
        return data.decode("utf-8-sig", "replace")

    def bare() -> None:
        for path in parsed:
            language = compiled[language_of(path)].language
            Parser(language).parse(text_of(path).encode("utf-8", "replace"))

    files: dict[str, Said] = {}

    def outlines() -> None:
        for path in parsed:
            language = language_of(path)
            found = outline(text_of(path), language, compiled)
            facts = Facts(language, 0, 0, found.imports, found.symbols, ())
            files[path] = said(facts)

    configs = {path: text_of(path) for path in paths if resolve.is_config(path)}

    def resolution() -> None:
        tree = Tree(frozenset(paths), configs, frozenset(sys.stdlib_module_names))
        print(f"{len(edges(graph(files, tree)))} edges", end="\r", file=sys.stderr)

    rounds = [
        tuple(cpu_seconds(work) for work in (bare, outlines, resolution)) for _ in range(ROUNDS)
    ]
    parse, outlined, resolved = (min(column) for column in zip(*rounds, strict=True))
    print(
        f"{len(parsed)} files: read + parse {parse:.2f} s, outlines {outlined / parse:.2f} times"
        f" that, graph {resolved / parse:.2f} times, together {(outlined + resolved) / parse:.2f}"
    )


if __name__ == "__main__":
    main()
