"""`verify` and `refresh`: bundles that were made before, and a workspace that has moved on."""

import json
from pathlib import Path
from typing import Any

import pytest

from contextpack.bundle import Pack
from contextpack.model import Format
from contextpackd import cli
from contextpackd.door import open_root
from harness.trees import write

FILES = {
    "cart.py": "import tax\n\n\ndef total(items):\n    return sum(items)\n",
    "tax.py": "RATE = 1\n\n\ndef tax_of_cart(total):\n    return total * RATE\n",
    "mail.py": "def send(message):\n    raise NotImplementedError\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    write(root, FILES)
    return root


@pytest.fixture(params=[*Format, "numbered"])
def bundle(request: pytest.FixtureRequest, root: Path) -> Path:
    syntax = "markdown" if request.param == "numbered" else request.param
    more = ["--line-numbers"] if request.param == "numbered" else []
    file = root.parent / "bundle.txt"
    made = run(
        "pack",
        "cart total",
        "--root",
        root,
        "--format",
        syntax,
        "--stamp",
        "--output",
        file,
        *more,
    )
    assert made == cli.OK
    return file


def run(*arguments: str | Path) -> int:
    return cli.run([str(argument) for argument in arguments])


def answered(capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capfd.readouterr().out)
    return document


def statuses(document: dict[str, Any]) -> dict[str, str]:
    return {entry["path"]: entry["status"] for entry in document["ranges"]}


def test_a_bundle_holds_until_a_shown_line_changes(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("verify", bundle, "--root", root, "--format", "json") == cli.OK
    assert answered(capfd)["holds"]
    write(root, {"mail.py": "", "cart.py": FILES["cart.py"].replace("sum", "max")})
    assert run("verify", bundle, "--root", root, "--format", "json") == cli.NOTHING
    document = answered(capfd)
    assert {"cart.py": "changed", "tax.py": "holds"} == statuses(document)
    assert document["intact"]


def test_people_are_told_what_moved_and_what_is_gone(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(root, {"cart.py": "\n" + FILES["cart.py"], ".gitignore": "tax.py\n"})
    (root / "mail.py").unlink()
    assert run("verify", bundle, "--root", root) == cli.NOTHING
    out = capfd.readouterr().out
    assert "moved to 2-6: cart.py:1-5" in out
    assert "gone: tax.py:1-5 (ignored by .gitignore:1: tax.py)" in out
    assert "0 of 2 ranges hold" in out


def test_a_bundle_that_was_edited_is_said_to_be_damaged(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bundle.write_text(bundle.read_text().replace("sum(items)", "sum(carts)"))
    assert run("verify", bundle, "--root", root) == cli.NOTHING
    assert "damaged: the bundle was changed after it was made" in capfd.readouterr().out


def test_refresh_shows_the_difference_and_writes_when_told(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = bundle.read_text()
    write(root, {"cart.py": FILES["cart.py"].replace("sum", "max")})
    assert run("refresh", bundle, "--root", root) == cli.OK
    shown = capfd.readouterr().out
    assert before == bundle.read_text()
    removed = [row for row in shown.splitlines() if row.startswith("-") and "sum(" in row]
    added = [row for row in shown.splitlines() if row.startswith("+") and "max(" in row]
    assert (1, 1) == (len(removed), len(added))
    assert run("refresh", bundle, "--root", root, "--write") == cli.OK
    assert run("verify", bundle, "--root", root) == cli.OK
    capfd.readouterr()
    assert run("refresh", bundle, "--root", root) == cli.OK
    assert capfd.readouterr().out == ""


def test_a_bundle_that_an_editor_gave_other_line_ends_is_the_same(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bundle.write_bytes(bundle.read_bytes().replace(b"\n", b"\r\n"))
    assert run("refresh", bundle, "--root", root) == cli.OK
    assert capfd.readouterr().out == ""


def test_a_bundle_that_is_cut_off_holds_nothing(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = bundle.read_bytes()
    bundle.write_bytes(data[: min(data.index(b"import tax"), data.index(b"RATE = 1"))])
    assert run("verify", bundle, "--root", root) == cli.NOTHING
    assert "no range can be compared: the bundle is cut off" in capfd.readouterr().out


def test_refresh_says_which_files_changed(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(
        root, {"tax.py": FILES["tax.py"] + "# Of the cart.\n", "cart_total.py": "total = 1\n"}
    )
    assert run("refresh", bundle, "--root", root, "--format", "json") == cli.OK
    changes = {change["path"]: change["kind"] for change in answered(capfd)["changes"]}
    assert {"cart_total.py": "added", "tax.py": "changed"} == changes


def test_refresh_needs_a_stamp(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = root.parent / "bundle.md"
    assert run("pack", "cart total", "--root", root, "--output", file) == cli.OK
    assert run("verify", file, "--root", root) == cli.OK
    assert run("refresh", file, "--root", root) == cli.USAGE
    assert "make it with --stamp" in capfd.readouterr().err


def test_refresh_writes_over_nothing_but_a_bundle(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = f"My notes.\n\n{bundle.read_text()}"
    bundle.write_text(text)
    assert run("refresh", bundle, "--root", root, "--write") == cli.USAGE
    assert text == bundle.read_text()
    assert run("verify", bundle, "--root", root) == cli.OK


def test_what_is_no_bundle_is_refused(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("verify", root / "mail.py", "--root", root) == cli.USAGE
    assert "shows no lines of files" in capfd.readouterr().err
    assert run("verify", root / "absent.md", "--root", root) == cli.USAGE
    assert "cannot be read" in capfd.readouterr().err


def test_a_stamp_is_part_of_the_budget(root: Path) -> None:
    shop = open_root(root)
    plain: Pack = shop.pack("cart total", 2000)
    stamped = shop.pack("cart total", 2000, stamp=True)
    assert stamped.text.startswith(plain.text)
    assert plain.tokens < stamped.tokens <= 2000


def test_a_pack_follows_its_predecessor(root: Path) -> None:
    shop = open_root(root)
    first = shop.pack("cart total", 2000)
    assert (1, ()) == (first.revision, first.changes)
    same = shop.pack("cart total", 2000, previous=first)
    assert (first.text, 1) == (same.text, same.revision)
    write(root, {"cart.py": FILES["cart.py"].replace("sum", "max")})
    document = shop.pack_json("cart total", 2000, previous=same)
    assert document["revision"] == 2
    assert document["changes"] == [{"path": "cart.py", "kind": "changed", "cause": "edited"}]
