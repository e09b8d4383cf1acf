"""The file packer gives what its ancestor gave, line by line of the recorded data."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from contextpack.allocate import FilePack, build_context_pack
from contextpack.classic import File, build_import_graph
from contextpack.content import is_binary_content
from contextpack.truncate import Truncate, head_truncate, summary_truncate, tail_truncate

DATA = Path(__file__).parents[2] / "fixtures" / "conformance" / "files.jsonl"
LINES: list[dict[str, Any]] = [
    json.loads(line) for line in DATA.read_text("utf-8").splitlines()
]
TRUNCATES: Mapping[str, Truncate] = {
    "head": head_truncate,
    "tail": tail_truncate,
    "summary": summary_truncate,
}


def as_data(pack: FilePack) -> dict[str, object]:
    """The pack in the ancestor's names."""
    return {
        "included": [
            {
                "path": file.path,
                "content": file.content,
                "tokens": file.tokens,
                "truncated": file.truncated,
                "score": pytest.approx(file.score, rel=1e-9, abs=1e-9),
            }
            for file in pack.included
        ],
        "excluded": [{"path": file.path, "reason": file.reason} for file in pack.excluded],
        "budget": pack.budget,
        "remaining": pack.remaining,
    }


def files_of(entries: Sequence[Mapping[str, Any]]) -> list[File]:
    return [File(entry["path"], entry["content"], entry.get("modifiedAt")) for entry in entries]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["id"])
def test_packs_and_graphs_equal_the_recorded_ones(line: dict[str, Any]) -> None:
    files, expect = files_of(line["files"]), dict(line["expect"])
    graph = expect.pop("graph")
    truncate = TRUNCATES[line["truncate"]]

    pack = build_context_pack(files, line["query"], line["budget"], truncate=truncate)
    text_files = [file for file in files if not is_binary_content(file.content)]

    assert expect == as_data(pack)
    assert graph == {path: list(to) for path, to in build_import_graph(text_files).items()}


def test_the_data_covers_every_strategy_and_reason() -> None:
    reasons = {entry["reason"] for line in LINES for entry in line["expect"]["excluded"]}
    assert {line["truncate"] for line in LINES} == {"head", "tail", "summary"}
    assert reasons == {"binary file", "budget exhausted", "insufficient budget remaining"}
