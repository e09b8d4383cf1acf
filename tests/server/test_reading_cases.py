"""The cases of `fixtures/cases/b.jsonl` about decoding, binary, minified and generated files."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contextpack.text import split_lines
from harness.trees import build, cases, isolate_git, run_git, texts

CASES = cases("b.jsonl")


@pytest.fixture(autouse=True)
def _git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


def built(case: Mapping[str, Any], tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    if "git" in case["input"]:
        run_git(root, "init", "-q")
    build(root, case["input"]["files"])
    return root


def test_b01_utf16_with_a_mark_is_text(tmp_path: Path) -> None:
    expect = CASES["b01"]["expect"]
    found, _, _ = texts(built(CASES["b01"], tmp_path))
    assert {path: text.encoding for path, text in found.items()} == expect["encoding"]
    assert {text.text for text in found.values()} == {expect["decoded_text"]}
    assert not any(text.is_lossy for text in found.values())


def test_b03_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    found, _, _ = texts(built(CASES["b03"], tmp_path))
    assert found["m.py"].text == CASES["b03"]["expect"]["decoded_text"]["m.py"]
    assert found["util.py"].text == ""


def test_b04_bytes_that_are_not_utf8_are_shown_and_flagged(tmp_path: Path) -> None:
    expect = CASES["b04"]["expect"]
    found, _, _ = texts(built(CASES["b04"], tmp_path))
    assert sorted(found) == expect["included_or_reason"]
    assert {path: len(split_lines(text.text)) for path, text in found.items()} == expect[
        "lines"
    ]
    assert [path for path, text in found.items() if text.is_lossy] == expect["lossy_flag"]
    assert found["l1.py"].text == "# prévision\nNOM = 'café'\n"
    for text in found.values():
        text.text.encode()


def test_b05_a_nul_anywhere_makes_a_file_binary(tmp_path: Path) -> None:
    found, skipped, _ = texts(built(CASES["b05"], tmp_path))
    assert found == {}
    assert {path: skip.reason for path, skip in skipped.items()} == {
        "early.txt": "binary",
        "late.txt": "binary",
    }


def test_b09_a_bundle_over_the_size_limit_is_called_minified(tmp_path: Path) -> None:
    found, skipped, _ = texts(built(CASES["b09"], tmp_path))
    assert skipped["web/app.min.js"].reason == "minified"
    assert list(found) == ["web/app.js"]


def test_b11_a_huge_file_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "small.sql").write_text("select 1;\n")
    with (root / "big.sql").open("wb") as stream:
        stream.truncate(100 << 20)
    found, skipped, _ = texts(root)
    assert list(found) == ["small.sql"]
    assert skipped["big.sql"].reason == "too-large"
    assert skipped["big.sql"].rule == "104857600 bytes, more than 1048576"


def test_b15_empty_files_are_candidates(tmp_path: Path) -> None:
    found, _, _ = texts(built(CASES["b15"], tmp_path))
    assert {path: text.text for path, text in found.items()} == {
        "empty.py": "",
        "nl.py": "\n",
        "pkg/__init__.py": "",
        "ws.py": "  \t \n",
    }


def test_b16_lock_files_and_compiled_protocols_are_generated(tmp_path: Path) -> None:
    found, skipped, _ = texts(built(CASES["b16"], tmp_path))
    assert {path: str(skip.reason) for path, skip in skipped.items()} == {
        "api_pb2.py": "generated",
        "gen/client.ts": "generated",
        "package-lock.json": "generated",
    }
    assert skipped["gen/client.ts"].rule == ".gitattributes:1: gen/*.ts"
    assert "src/login.py" in found


@pytest.mark.parametrize("name", ["b06", "b08"])
def test_line_endings_and_form_feeds_are_kept(name: str, tmp_path: Path) -> None:
    root = built(CASES[name], tmp_path)
    found, _, _ = texts(root)
    for path, text in found.items():
        assert text.text.encode() == (root / path).read_bytes()
        assert re.fullmatch("[0-9a-f]{40}", text.digest)
