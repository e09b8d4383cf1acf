"""`answer`: what a chat's reply on standard input names and a bundle did not show."""

import io
import json
import sys
from pathlib import Path

import pytest

from contextpackd import cli
from harness.trees import write

FILES = {
    "cart.py": "import tax\n\n\ndef total(items):\n    return sum(items)\n",
    "tax.py": "RATE = 1\n\n\ndef tax_of_cart(total):\n    return total * RATE\n" * 9,
    "mail.py": "def send_mail(message):\n    raise NotImplementedError\n",
}
REPLY = "Add `tax_of_cart` to `total`, then `send_mail`. Is there a `refund`?\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    write(root, FILES)
    return root


@pytest.fixture
def bundle(root: Path) -> Path:
    file = root.parent / "bundle.md"
    made = cli.run(
        ["pack", "", "--only", "total", "--root", str(root), "--output", str(file)]
    )  # fmt: skip
    assert cli.OK == made
    return file


def answer(
    monkeypatch: pytest.MonkeyPatch, reply: str, bundle: Path | str, *more: str | Path
) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(reply.encode())))
    return cli.run(["answer", str(bundle), *map(str, more)])


def test_what_the_bundle_lacked_is_packed_and_the_rest_told(
    root: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.OK == answer(monkeypatch, REPLY, bundle, "--root", root, "--budget", "900")
    said = capfd.readouterr()
    assert "def tax_of_cart" in said.out
    assert "def send_mail" in said.out
    assert "cart.py" not in said.out
    assert "contextpackd: nowhere in the workspace: refund" in said.err
    assert "contextpackd: shown before: total" in said.err


def test_a_reply_about_several_roots_is_looked_up_in_all_of_them(
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    other, file = tmp_path / "other", tmp_path / "both.md"
    write(other, {"refunds.py": "def refund(order):\n    return -order\n"})
    roots = ["--root", str(root), "--root", str(other)]
    assert cli.OK == cli.run(["pack", "", "--only", "total", *roots, "--output", str(file)])
    capfd.readouterr()
    assert cli.OK == answer(monkeypatch, REPLY, file, *roots)
    said = capfd.readouterr()
    assert "`other/refunds.py:1-2`" in said.out
    assert "def tax_of_cart" in said.out
    assert "contextpackd: shown before: total" in said.err
    assert "nowhere" not in said.err


def test_programs_get_the_same_as_json(
    root: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    where: list[str | Path] = ["--root", root, "--format", "json"]
    assert cli.OK == answer(monkeypatch, REPLY, bundle, *where)
    document = json.loads(capfd.readouterr().out)
    assert (["tax_of_cart", "send_mail"], ["total"]) == (document["wanted"], document["shown"])
    assert {"tax.py", "mail.py"} == {item["path"] for item in document["pack"]["items"]}
    assert cli.NOTHING == answer(monkeypatch, "Thanks.", bundle, *where)
    assert None is json.loads(capfd.readouterr().out)["pack"]
    assert cli.NOTHING == answer(monkeypatch, "Thanks.", bundle, "--root", root)
    assert ("", "contextpackd: the reply names nothing that the bundle lacks\n") == (
        capfd.readouterr()
    )


def test_standard_input_is_the_replys(
    root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.USAGE == answer(monkeypatch, REPLY, "-", "--root", root)
    assert "standard input" in capfd.readouterr().err
