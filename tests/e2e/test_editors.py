"""Clients that others wrote: Emacs' eglot and Neovim's own, against the real server."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import contextpackd
from harness.editors import BUDGET_TOKENS, QUERY, found, output, private_folders, shop_in
from harness.lsp_client import House, house
from harness.paths import ROOT

SCRIPTS = ROOT / "tests" / "e2e" / "editors"
ELPA = Path("/usr/share/emacs/site-lisp/elpa")
"""Where Debian puts packages; `-Q` skips its own way of finding them."""


@pytest.fixture
def own() -> Iterator[House]:
    with house() as made:
        yield made


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return shop_in(tmp_path)


def test_neovim_packs_and_follows_a_save(own: House, shop: Path) -> None:
    nvim = found("nvim")
    expected = contextpackd.open(shop).pack(QUERY, BUDGET_TOKENS).text
    script = str(SCRIPTS / "smoke.lua")
    said = output(
        own, nvim, "--headless", "--clean", "-l", script, sys.executable, str(shop),
        **private_folders(own),
    )  # fmt: skip
    result = json.loads(said.splitlines()[-1])
    assert expected == result["text"]
    assert ["src/lending/policy.py"] == result["changed"]["changed"]
    assert contextpackd.open(shop).pack(QUERY, BUDGET_TOKENS).text == result["changed"]["text"]


def test_eglot_packs(own: House, shop: Path) -> None:
    emacs = found("emacs")
    expected = contextpackd.open(shop).pack(QUERY, BUDGET_TOKENS).text
    folders = [flag for folder in sorted(ELPA.glob("*")) for flag in ("-L", str(folder))]
    said = output(
        own, emacs, "-Q", "--batch", *folders, "-l", str(SCRIPTS / "eglot.el"),
        SERVER_PYTHON=sys.executable, ROOT=str(shop),
    )  # fmt: skip
    result = json.loads(said.splitlines()[-1])
    assert {"text": expected, "packId": "pack-1"} == result
