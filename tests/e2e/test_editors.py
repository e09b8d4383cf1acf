"""Clients that others wrote: Emacs' eglot and Neovim's own, against the real server."""

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import contextpackd
from contextpackd import settings
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


def test_eglot_packs_as_the_document_says(own: House, shop: Path) -> None:
    emacs = found("emacs")
    expected = contextpackd.open(shop).pack(QUERY, text_format="xml").text
    folders = [flag for folder in sorted(ELPA.glob("*")) for flag in ("-L", str(folder))]
    programs = Path(found("contextpackd")).parent
    said = output(
        own, emacs, "-Q", "--batch", *folders, "-l", str(SCRIPTS / "eglot.el"),
        DOCUMENT=str(ROOT / "editors" / "PROTOCOL.md"), ROOT=str(shop),
        PATH=f"{programs}{os.pathsep}{own.env['PATH']}",
    )  # fmt: skip
    result = json.loads(said.splitlines()[-1])
    assert {"text": expected, "isReadOnly": True} == result


def test_the_configuration_for_helix_is_toml_of_settings_that_exist() -> None:
    document = (ROOT / "editors" / "PROTOCOL.md").read_text(encoding="utf-8")
    found_block = re.search(r"<!-- helix -->\n```toml\n(.*?)```", document, re.DOTALL)
    assert found_block is not None
    server = tomllib.loads(found_block[1])["language-server"]["contextpackd"]
    assert ["lsp"] == server["args"]
    assert () == settings.client(server["config"]["contextpack"], settings.NONE).problems
