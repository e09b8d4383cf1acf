"""The hard inputs of `fixtures/cases/d.jsonl`, as far as rendering alone can answer them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markdown_it import MarkdownIt

from contextpack.model import Format, Piece, Style
from contextpack.render import render, render_piece, tree
from contextpack.text import display_path, has_bidi_controls, terminal_safe
from harness.pieces import cut, whole

ROOT = Path(__file__).parents[2]
CASES = {
    case["id"]: case
    for case in map(
        json.loads, (ROOT / "fixtures/cases/d.jsonl").read_text("utf-8").splitlines()
    )
}


def files(case: str) -> list[tuple[str, str]]:
    return [(file["path"], file["text"]) for file in CASES[case]["input"]["files"]]


def pieces(case: str) -> list[Piece]:
    return [whole(*file) for file in files(case)]


def blocks(bundle: str) -> list[str]:
    return [token.content for token in MarkdownIt().parse(bundle) if token.type == "fence"]


def expected(case: str) -> Any:
    return CASES[case]["expect"]


def test_d01_a_fence_is_longer_than_any_run_inside() -> None:
    for piece in pieces("d01"):
        fences = re.findall(r"^`{3,}(?=\w*$)", render_piece(piece, Style()), re.MULTILINE)
        assert expected("d01")["min_fence_len"][piece.path] == max(map(len, fences))
    assert [text for _, text in files("d01")] == blocks(render(pieces("d01"), Style()))


def test_d02_no_content_closes_an_element() -> None:
    root = ElementTree.fromstring(render(pieces("d02"), Style(Format.XML)))
    found = {element.get("path"): element.text for element in root.iter("file")}
    assert expected("d02")["file_elements"] == len(root.findall("file"))
    assert expected("d02")["paths"] == sorted(str(path) for path in found)
    assert dict(files("d02")) == found


def test_d04_a_cut_inside_an_inner_fence_leaves_the_outer_one_whole() -> None:
    (long, after) = files("d04")
    text = render([cut(*long, 203), whole(*after)], Style())
    (first, second) = blocks(text)
    assert first == f"{long[1][:203]}\n…\n"
    assert after[1] == second
    assert "(truncated)" in text


def test_d06_contents_stay_data() -> None:
    for form in Format:
        text = render(pieces("d06"), Style(form))
        assert all(content in text for _, content in files("d06"))
        assert expected("d06")["preamble_states"] in text[:100].lower()
    assert [text for _, text in files("d06")] == blocks(render(pieces("d06"), Style()))


def test_d07_a_backslash_is_part_of_a_name() -> None:
    for path in expected("d07")["rendered_paths"]:
        assert f"`{path}:1`" in render([whole(path, "x\n")], Style())
    (name,) = expected("d07")["posix_file_named"]
    assert name == display_path(name)
    assert f"{name}\n" == tree([name])
    assert f'path="{name}"' in render([whole(name, "x\n")], Style(Format.XML))


def test_d09_controls_stay_in_the_bundle_and_out_of_a_preview() -> None:
    for path, text in files("d09"):
        assert [text] == blocks(render([whole(path, text)], Style()))
        preview = terminal_safe(text)
        assert preview.removesuffix("\n").isprintable()
        is_warned = path in expected("d09")["warn_kind"]
        assert is_warned == has_bidi_controls(text)


PROGRAM = """
import json, sys
from harness.pieces import whole
from contextpack.model import Format, Style
from contextpack.render import render
pieces = [whole(file["path"], file["text"]) for file in json.load(sys.stdin)]
for form in Format:
    sys.stdout.buffer.write(render(pieces, Style(form, "f", tree=True)).encode())
"""


def test_d10_a_bundle_is_the_same_under_any_hash_seed_and_locale() -> None:
    outputs = set()
    for seed, locale in [("0", "C"), ("1", "C.UTF-8"), ("2", "tr_TR.UTF-8")]:
        variables = {
            "PYTHONHASHSEED": seed,
            "LC_ALL": locale,
            "PYTHONPATH": str(ROOT / "tests"),
        }
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps(CASES["d10"]["input"]["files"]).encode(),
            env=os.environ | variables,
            capture_output=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert not re.search(rb"\d\d:\d\d|20\d\d-", outputs.pop())
