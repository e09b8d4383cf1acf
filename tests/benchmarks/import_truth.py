"""The import graph of a tree by our code, as `{"edges": [[from, to], ...]}`.

`python import_truth.py TRUTH ROOT`: TRUTH is a JSON file whose `files` are the files to read,
relative to ROOT; the edges go to standard output, timings to standard error. Nothing else is
left out: no ignore rules, no limits of size.
"""

import json
import os
import sys
import time
from pathlib import Path

from contextpack import languages, resolve
from contextpack.graph import graph, said
from contextpack.model import Facts, ImportKind
from contextpack.resolve import Tree
from contextpackd.grammars import Grammars, grammars

SKIPPED = {".git", "node_modules"}


def paths_below(root: Path) -> list[str]:
    result: list[str] = []
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name not in SKIPPED]
        result.extend(Path(directory, name).relative_to(root).as_posix() for name in files)
    return sorted(result)


def text_of(file: Path) -> str:
    return file.read_bytes().decode("utf-8-sig", "replace")


def facts_of(text: str, language: str, compiled: Grammars) -> Facts:
    found = languages.outline(text, language, compiled)
    imports = tuple(i for i in found.imports if i.kind is not ImportKind.MOCK)
    return Facts(language, 0, 0, imports, found.symbols, ())


def main(truth: Path, root: Path) -> None:
    paths = paths_below(root)
    configs = {path: text_of(root / path) for path in paths if resolve.is_config(path)}
    texts = {path: text_of(root / path) for path in json.loads(truth.read_text())["files"]}
    compiled = grammars()
    began = time.perf_counter()
    facts = {
        path: said(facts_of(text, languages.language_of(path), compiled))
        for path, text in texts.items()
    }
    outlined = time.perf_counter()
    tree = Tree(frozenset(paths), configs, frozenset(sys.stdlib_module_names))
    made = graph(facts, tree)
    ended = time.perf_counter()
    edges = [[path, target] for path, targets in made.imports.items() for target in targets]
    json.dump({"edges": edges}, sys.stdout, indent=0)
    print(
        f"{len(texts)} files, {len(edges)} edges:"
        f" outlines {outlined - began:.2f} s, graph {ended - outlined:.2f} s",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
