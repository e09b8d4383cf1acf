"""The cases of `fixtures/cases/b.jsonl` about what texts say: outlines, edges, lost grammars."""

import hashlib
import math
import os
import sys
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import contextpackd
from contextpack.facts import facts
from contextpack.languages import FURTHER, GRAMMAR_SOURCES, language_of
from contextpack.model import Facts, TermCounts
from contextpack.snapshot import Snapshot
from contextpack.text import split_lines
from contextpackd import grammars as loading
from contextpackd.worker import Words
from harness.memory import COUNT, facts_of, read_of, snapshot_of
from harness.trees import build, cases

# Where `tree-sitter-languages` is declared: it has no wheels for later Pythons.
HAS_FURTHER = sys.version_info < (3, 13)

CASES = cases("b.jsonl")


def files_of(case: Mapping[str, Any]) -> dict[str, str]:
    return {file["path"]: file["text"] for file in case["input"]["files"]}


def read_without(missing: frozenset[str], path: str, text: str) -> tuple[Facts, TermCounts]:
    """A file's facts and terms when these languages' grammars could not be loaded."""
    installed = loading.grammars()
    left = {name: installed[name] for name in installed if name not in missing}
    return facts(text, language_of(path), grammars=left, count=COUNT, lexicon=Words().lexicon)


def edges(snapshot: Snapshot) -> list[list[str]]:
    imports = snapshot.graph.imports
    return [[path, target] for path, targets in imports.items() for target in targets]


def test_b03_a_byte_order_mark_hides_no_import(tmp_path: Path) -> None:
    build(tmp_path, CASES["b03"]["input"]["files"])
    pack = contextpackd.open(tmp_path).pack("X util", pins=["m.py"])
    assert CASES["b03"]["expect"]["bundle_has_no"] not in pack.text
    text = CASES["b03"]["expect"]["decoded_text"]["m.py"]
    assert edges(snapshot_of({"m.py": text, "util.py": ""})) == CASES["b03"]["expect"]["edges"]


def test_b06_a_chunk_begins_at_its_line_whatever_ends_lines(tmp_path: Path) -> None:
    expect = CASES["b06"]["expect"]
    build(tmp_path, CASES["b06"]["input"]["files"])
    text = (tmp_path / "w.py").read_bytes().decode()
    assert len(text.encode()) == expect["byte_len"]
    found = {symbol.name: symbol for symbol in facts_of("w.py", text).symbols}
    assert found["b"].lines.start == expect["chunk_of_b"]["start_line_1based"]
    before = "".join(split_lines(text)[: found["b"].lines.start - 1])
    assert len(before.encode()) == expect["chunk_of_b"]["start_byte"]
    lines = split_lines(text)
    shown = "".join(lines[found["b"].lines.start - 1 : found["b"].lines.end])
    # Its end in the case is before the last line's own, which our lines hold.
    assert (
        len((before + shown.removesuffix("\r\n")).encode())
        == (expect["chunk_of_b"]["end_byte"])
    )
    digest = hashlib.sha256(shown.removesuffix("\r\n").encode()).hexdigest()
    assert digest == expect["chunk_of_b"]["text_sha256"]
    chunks = facts_of("w.py", text).chunks
    slices = ["".join(lines[c.lines.start - 1 : c.lines.end]) for c in chunks]
    assert "".join(slices) == text


def test_b08_form_feeds_and_separators_end_no_line() -> None:
    text = files_of(CASES["b08"])["ff.py"]
    lines = split_lines(text)
    for name, number in CASES["b08"]["expect"]["line_1based"].items():
        assert name in lines[number - 1]
    beta = next(s for s in facts_of("ff.py", text).symbols if s.name == "beta")
    assert (beta.lines.start, beta.lines.end) == (5, 8)


def test_b09_a_bundle_over_the_limit_costs_no_memory_and_no_place(tmp_path: Path) -> None:
    case = CASES["b09"]
    build(tmp_path, case["input"]["files"])
    big = tmp_path / case["expect"]["excluded"][0]
    assert case["expect"]["size_bytes"] == big.stat().st_size
    tracemalloc.start()
    pack = contextpackd.open(tmp_path).pack(
        case["input"]["query"], case["input"]["budget"], ledger="all"
    )
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert case["expect"]["included"] == [item.path for item in pack.items]
    reasons = {entry.path: entry.reason.value for entry in pack.ledger}
    assert case["expect"]["reason_kind"].items() <= reasons.items()
    assert peak_bytes < case["expect"]["rss_growth_mb_max"] << 20


def test_b11_a_huge_file_is_never_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect = CASES["b11"]["expect"]
    (tmp_path / "small.sql").write_text("select 1;\n")
    with (tmp_path / "big.sql").open("wb") as stream:
        stream.truncate(100 << 20)
    opened: list[str] = []
    really_open = os.open

    def recorded(file: str, *arguments: Any, **options: Any) -> int:
        opened.append(Path(file).name)
        return really_open(file, *arguments, **options)

    monkeypatch.setattr(os, "open", recorded)
    pack = contextpackd.open(tmp_path).pack("select", ledger="all")
    assert "small.sql" in opened
    assert "big.sql" not in opened
    assert expect["included"] == [item.path for item in pack.items]
    reasons = {entry.path: entry.reason.value for entry in pack.ledger}
    assert expect["reason_kind"].items() <= reasons.items()


def test_b12_deep_nesting_costs_nobody_an_import() -> None:
    expect = CASES["b12"]["expect"]
    files = {
        file["path"]: file.get("text") or eval(file["recipe"])
        for file in CASES["b12"]["input"]["files"]
    }
    found = facts_of("deep.py", files["deep.py"])
    assert [one.specifier for one in found.imports] == expect["imports_found"]["deep.py"]
    assert facts_of("chain.js", files["chain.js"]).chunks
    assert edges(snapshot_of(files)) == expect["edges"]


def test_b13_an_unclosed_bracket_keeps_the_imports_around_it() -> None:
    files = files_of(CASES["b13"])
    found = facts_of("m.py", files["m.py"])
    assert found.problems == ("syntax errors",)
    assert [symbol.name for symbol in found.symbols if symbol.kind == "class"] == ["User"]
    assert edges(snapshot_of(files)) == CASES["b13"]["expect"]["edges"]


def test_b15_empty_files_count_nothing_and_cost_nothing(tmp_path: Path) -> None:
    case = CASES["b15"]
    files = files_of(case)
    for path, n_tokens in case["expect"]["tokens"].items():
        assert n_tokens == facts_of(path, files[path]).tokens
    for path, n_lines in case["expect"]["lines"].items():
        assert n_lines == facts_of(path, files[path]).n_lines
    build(tmp_path, case["input"]["files"])
    asked = contextpackd.open(tmp_path)
    for query in (case["input"]["query"], "", "empty"):
        pack = asked.pack(query, case["input"]["budget"], ledger="all")
        assert all(entry.score is None or math.isfinite(entry.score) for entry in pack.ledger)
        for path in ("empty.py", "pkg/__init__.py"):
            assert path not in pack.text


def test_b16_what_is_generated_never_comes_first(tmp_path: Path) -> None:
    case = CASES["b16"]
    build(tmp_path, case["input"]["files"])
    pack = contextpackd.open(tmp_path).pack(
        case["input"]["query"], case["input"]["budget"], ledger="all"
    )
    first = case["expect"]["first"]
    assert first == pack.items[0].path
    for entry in pack.ledger:
        if entry.path in case["expect"]["excluded_or_ranked_below"][first]:
            is_below = (entry.score or 0.0) < (pack.items[0].score or 0.0)
            assert entry.outcome == "excluded" or is_below, entry


def test_b18_only_real_imports_make_edges() -> None:
    graph = snapshot_of(files_of(CASES["b18"])).graph
    expect = CASES["b18"]["expect"]
    assert {path: sorted(targets) for path, targets in expect["edges_from"].items()} == {
        path: list(targets) for path, targets in graph.imports.items()
    }
    assert not set(graph.importers) & set(expect["no_edges_to"])


def test_b20_a_lost_grammar_costs_edges_and_says_so() -> None:
    files = files_of(CASES["b20"])
    for path, text in files.items():
        language = language_of(path)
        missing = frozenset({"julia", "python", "makefile"})
        lost, lost_terms = read_without(missing, path, text)
        sound, sound_terms = read_of(path, text)
        assert lost.n_lines == sound.n_lines
        assert lost_terms.vocabulary == sound_terms.vocabulary
        has_grammar = language in dict((*GRAMMAR_SOURCES, *FURTHER))
        assert lost.problems == (("no grammar",) if has_grammar else ())
    assert read_without(frozenset({"python"}), "a.py", files["a.py"])[0].imports == ()
    assert facts_of("a.py", files["a.py"]).imports


def test_b20_every_file_stays_in_the_pack(tmp_path: Path) -> None:
    build(tmp_path, CASES["b20"]["input"]["files"])
    pack = contextpackd.open(tmp_path).pack(CASES["b20"]["input"]["query"])
    included = {entry.path for entry in pack.ledger if entry.outcome != "excluded"}
    assert set(CASES["b20"]["expect"]["included"]) <= included


@pytest.mark.parametrize(
    "broken",
    [
        object,  # No capsule.
        lambda: (_ for _ in ()).throw(ValueError("ABI 99")),
        lambda: (_ for _ in ()).throw(AttributeError("captures")),
    ],
)
def test_b20_a_grammar_that_does_not_load_is_left_out(
    broken: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    pointers = {**loading._POINTERS, "python": broken}
    monkeypatch.setattr(loading, "_POINTERS", pointers)
    found = loading.grammars()
    assert "python" not in found
    assert "javascript" in found


def test_b20_a_query_that_does_not_fit_is_a_grammar_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = (("python", "(no_such_node) @x"), *GRAMMAR_SOURCES[1:])
    monkeypatch.setattr(loading, "GRAMMAR_SOURCES", sources)
    assert "python" not in loading.grammars()


def test_every_declared_grammar_loads() -> None:
    installed = loading.grammars()
    further = FURTHER if HAS_FURTHER else ()
    names = [name for name, _ in (*GRAMMAR_SOURCES, *further)]
    assert [name for name in names if installed.get(name) is None] == []


def test_without_the_further_grammars_their_files_are_plain_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "fun one() {\n    return 1\n}\n"
    names = [symbol.name for symbol in facts_of("a.kt", text).symbols]
    assert names == (["one"] if HAS_FURTHER else [])
    monkeypatch.setitem(sys.modules, "tree_sitter_languages", None)
    hidden = loading.grammars()
    assert sorted(hidden) == sorted(name for name, _ in GRAMMAR_SOURCES)
    found = facts(text, "kotlin", grammars=hidden, count=COUNT, lexicon=Words().lexicon)[0]
    assert (found.symbols, found.problems) == ((), ("no grammar",))
    assert [(chunk.lines.start, chunk.lines.end) for chunk in found.chunks] == [(1, 3)]


def test_outputs_of_a_notebook_carry_no_terms() -> None:
    source = '{"cells": [\n{"cell_type": "code",\n"outputs": [\n"hugeword"\n],\n"source": [\n"needle = 1"\n]}\n]}\n'
    found, counted = read_of("a.ipynb", source)
    assert "needl" in counted.vocabulary.split("\n")
    assert "hugeword" not in counted.vocabulary.split("\n")
    assert [c.is_data for c in found.chunks] == [True, False, True]
