"""Clients that others wrote: Emacs' eglot and Neovim's own, against the real server."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import contextpackd
from harness.lsp_client import LIMIT_SECONDS, House, house
from harness.paths import FIXTURES, ROOT

QUERY = "objections to a checkout"
SCRIPTS = ROOT / "tests" / "e2e" / "editors"
ELPA = Path("/usr/share/emacs/site-lisp/elpa")
"""Where Debian puts packages; `-Q` skips its own way of finding them."""


def found(name: str) -> str:
    """An editor's program. Without it the test is skipped, but never where CI is set."""
    beside = Path(sys.executable).parent / name
    program = str(beside) if beside.exists() else shutil.which(name)
    if program is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")
    return program


@pytest.fixture
def own() -> Iterator[House]:
    with house() as made:
        yield made


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    # Editors take the repository for the root.
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def output(own: House, *command: str, **environment: str) -> str:
    done = subprocess.run(
        command,
        env=own.env | environment,
        cwd=own.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3 * LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_neovim_packs_and_follows_a_save(own: House, shop: Path) -> None:
    nvim = found("nvim")
    expected = contextpackd.open(shop).pack(QUERY, 900).text
    script = str(SCRIPTS / "smoke.lua")
    said = output(
        own, nvim, "--headless", "--clean", "-l", script, sys.executable, str(shop),
        XDG_CONFIG_HOME=str(own.folder / "config"), XDG_DATA_HOME=str(own.folder / "data"),
    )  # fmt: skip
    result = json.loads(said.splitlines()[-1])
    assert expected == result["text"]
    assert ["src/lending/policy.py"] == result["changed"]["changed"]
    assert contextpackd.open(shop).pack(QUERY, 900).text == result["changed"]["text"]


def test_eglot_packs(own: House, shop: Path) -> None:
    emacs = found("emacs")
    expected = contextpackd.open(shop).pack(QUERY, 900).text
    folders = [flag for folder in sorted(ELPA.glob("*")) for flag in ("-L", str(folder))]
    said = output(
        own, emacs, "-Q", "--batch", *folders, "-l", str(SCRIPTS / "eglot.el"),
        SERVER_PYTHON=sys.executable, ROOT=str(shop),
    )  # fmt: skip
    result = json.loads(said.splitlines()[-1])
    assert {"text": expected, "packId": "pack-1"} == result
