"""`contextpackd doctor` says what is well, and what to do about the rest."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextpackd import place
from harness.lsp_client import House, house


@pytest.fixture
def own() -> Iterator[House]:
    with house() as found:
        yield found


def findings(home: House) -> dict[str, dict[str, object]]:
    done = home.run("doctor", "--format", "json")
    document = json.loads(done.stdout)
    assert document["ok"] == (done.returncode == 0)
    assert document["ok"] == all(finding["ok"] for finding in document["findings"])
    return {finding["name"]: finding for finding in document["findings"]}


def test_a_machine_that_is_well(own: House) -> None:
    found = findings(own)
    assert {
        "python",
        "grammars",
        "tokenizer",
        "git",
        "cache",
        "log",
        "sockets",
        "agents",
        "daemon",
    } <= set(found)
    assert all(finding["ok"] and finding["advice"] is None for finding in found.values())
    assert "not running" in str(found["daemon"]["state"])
    editor = own.start("lsp")
    editor.client.initialize()
    pid = editor.client.command("status")["pid"]
    assert f"process {pid}" in str(findings(own)["daemon"]["state"])
    root = own.folder / "root"
    root.mkdir()
    (root / "a.py").write_text("loan = 1\n")
    editor.client.command("pack", {"query": "loan", "root": str(root)})
    found = findings(own)
    assert f"{root}: events" == found["watch"]["state"]
    assert "facts of 1 texts" in str(found["cache"]["state"])
    assert 0 == editor.finish()


def test_a_cache_that_is_not_ours_alone_comes_with_advice(own: House) -> None:
    (own.folder / "cache").mkdir()
    (own.folder / "cache" / "contextpackd").symlink_to(own.folder)
    cache = findings(own)["cache"]
    assert "is a symbolic link" in str(cache["state"])
    assert "CONTEXTPACKD_CACHE_DIR" in str(cache["advice"])


def test_every_problem_comes_with_advice(own: House, tmp_path: Path) -> None:
    (own.folder / place.NAME).mkdir(mode=0o755)
    (own.folder / "state").write_text("in the way")
    (tmp_path / "bin").mkdir()
    own.env["PATH"] = str(tmp_path / "bin")
    found = findings(own)
    wrong = {name for name, finding in found.items() if not finding["ok"]}
    assert {"git", "log", "sockets"} == wrong
    assert all(found[name]["advice"] for name in wrong)
    assert "chmod 700" in str(found["sockets"]["state"])
    shown = own.run("doctor")
    assert 1 == shown.returncode
    assert "FAIL git: git is not installed\n     install git" in shown.stdout
    assert "ok   python: " in shown.stdout
    shutil.rmtree(own.folder / place.NAME)
