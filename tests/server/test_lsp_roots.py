"""Packs of several workspace folders under one budget: exact, told apart, and live."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import contextpackd
from contextpackd import cli
from contextpackd.errors import OptionProblem
from contextpackd.joint import MAX_ROOTS, named
from harness.edits import written
from harness.lsp_client import Client, Refused
from harness.memory import COUNT
from harness.paths import FIXTURES, ROOT
from harness.trees import isolate_git, run_git

QUERY = "objections to a checkout"
CHANGED = "contextpack/packChanged"


@pytest.fixture(autouse=True)
def own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate_git(monkeypatch, tmp_path / "home")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "around" / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    root = tmp_path / "around" / "desk"
    root.mkdir(parents=True)
    lines = [f"export function checkout{n}() {{ return {n} }}\n" for n in range(40)]
    (root / "checkout.ts").write_text("".join(lines))
    (root / "objections.ts").write_text("export const objections = ['checkout refused']\n")
    (root / "notes.md").write_text("# Notes\n\nNothing of the kind.\n")
    return root


def answer_schema() -> dict[str, Any]:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- schema -->\n```json\n(.*?)\n```", text, re.DOTALL)
    assert found is not None
    document: dict[str, Any] = json.loads(found[1])
    return document


def paths(pack: dict[str, Any]) -> list[str]:
    return [item["path"] for item in pack["items"]]


def pack_of(client: Client, *roots: Path, **fields: object) -> dict[str, Any]:
    given = [str(root) for root in roots]
    pack: dict[str, Any] = client.command("pack", {"query": QUERY, "roots": given, **fields})
    return pack


def test_the_budget_binds_the_whole_text(client: Client, shop: Path, desk: Path) -> None:
    client.initialize()
    for budget in (60, 400):
        pack = pack_of(client, shop, desk, budgetTokens=budget)
        assert COUNT(pack["text"]) == pack["tokens"] <= budget
    pack = pack_of(client, shop, desk)
    assert COUNT(pack["text"]) == pack["tokens"] <= 8000
    assert {"shop", "desk"} == {path.partition("/")[0] for path in paths(pack)}
    assert all(f"{path}:" in pack["text"] for path in paths(pack))


def test_the_bundle_is_that_of_a_folder_around_them(
    client: Client, shop: Path, desk: Path
) -> None:
    client.initialize()
    around = contextpackd.open(shop.parent).pack(QUERY, 1500)
    pack = pack_of(client, shop, desk, budgetTokens=1500)
    assert around.text == pack["text"]


def test_the_python_door_gives_the_same(client: Client, shop: Path, desk: Path) -> None:
    client.initialize()
    with contextpackd.open(shop, desk) as both:
        assert {"desk": desk, "shop": shop} == both.paths
        door = both.pack_json(QUERY, 1500)
        more = both.pack(QUERY, 1500, previous=both.pack(QUERY, 1500))
    pack = pack_of(client, shop, desk, budgetTokens=1500)
    assert door == {name: pack[name] for name in door}
    assert (1, ()) == (more.revision, more.changes)


def test_the_order_of_the_roots_does_not_matter(client: Client, shop: Path, desk: Path) -> None:
    client.initialize()
    pack_of(client, shop, desk)  # Later ones are watched.
    one, other = pack_of(client, shop, desk), pack_of(client, desk, shop, desk)
    assert {**one, "packId": ""} == {**other, "packId": ""}
    alone = pack_of(client, shop)
    assert client.command("pack", {"query": QUERY, "root": str(shop)})["text"] == alone["text"]
    assert "roots" not in alone


def test_the_answer_says_what_was_seen_in_each_root(
    client: Client, shop: Path, desk: Path
) -> None:
    client.initialize()
    (desk / ".env").write_text("TOKEN=x\n")
    pack = pack_of(client, shop, desk, ledger="all")
    told = {name: value for name, value in pack.items() if name not in ("packId", "complete")}
    jsonschema.validate(told, answer_schema())
    first, second = pack["roots"]
    assert ("desk", str(desk), 3, 1) == (
        first["name"], first["root"], first["nFiles"], first["nSkipped"],
    )  # fmt: skip
    assert ("shop", str(shop)) == (second["name"], second["root"])
    assert {"scanned"} == {root["freshness"] for root in (pack, first, second)}
    assert "root" not in pack
    for root in pack["roots"]:
        own = [e for e in pack["ledger"] if e["path"].startswith(f"{root['name']}/")]
        assert sum(root["ledgerCounts"].values()) == len(own)
    assert first["ledgerCounts"]["secret"] == 1
    total = {name for root in pack["roots"] for name in root["ledgerCounts"]}
    assert set(pack["ledgerCounts"]) == total


def test_two_folders_of_one_name_are_told_apart(client: Client, tmp_path: Path) -> None:
    client.initialize()
    roots = [tmp_path / "a" / "app", tmp_path / "b" / "app"]
    for number, root in enumerate(roots):
        root.mkdir(parents=True)
        (root / "checkout.py").write_text(f"checkout = {number}\n")
    assert {"a/app/checkout.py", "b/app/checkout.py"} == set(paths(pack_of(client, *roots)))


def test_names_tell_all_paths_apart() -> None:
    cases: list[tuple[list[str], list[str]]] = [
        (["/w/web", "/w/api"], ["api", "web"]),
        (["/w/a/app", "/w/b/app", "/w/lib"], ["a/app", "b/app", "w/lib"]),
        (["/w", "/w/app"], ["w", "app"]),
        # `app/x` alone would be a file `x` of the first as well.
        (["/app", "/q/app/x", "/r/x"], ["app", "q/app/x", "r/x"]),
        (["/app", "/app/app"], ["app", "app/app"]),
    ]
    for roots, names in cases:
        found = named(map(Path, roots))
        assert names == list(found)
        assert sorted(map(Path, roots)) == list(found.values())


def test_a_folder_inside_of_another_has_its_files_alone(
    client: Client, shop: Path, desk: Path
) -> None:
    client.initialize()
    inner = shop / "src" / "lending"
    found = [
        file["path"]
        for file in client.command("files", {"roots": [str(shop), str(inner)]})["files"]
    ]
    assert "lending/policy.py" in found
    assert not [path for path in found if path.startswith("shop/src/lending/")]
    alone = client.command("files", {"root": str(shop)})
    assert len(alone["files"]) == len(found)


def test_globs_and_pins_name_the_root_that_they_are_about(
    client: Client, shop: Path, desk: Path
) -> None:
    client.initialize()
    (desk / "src").mkdir()
    (desk / "src" / "more.ts").write_text("export const checkout = 'objections'\n")
    pack = pack_of(client, shop, desk, exclude=["shop/src/"])
    assert "desk/src/more.ts" in paths(pack)
    assert not [path for path in paths(pack) if path.startswith("shop/src/")]
    pack = pack_of(client, shop, desk, include=["desk/*.ts"])
    assert {"desk/checkout.ts", "desk/objections.ts"} == set(paths(pack))
    pins = ["desk/notes.md", (shop / "README.md").as_uri()]
    pack = pack_of(
        client, shop, desk, pins=pins, details={"shop/src/lending/fees.py": "outline"}
    )
    assert ["desk/notes.md", "shop/README.md", "shop/src/lending/fees.py"] == paths(pack)[:3]
    again = client.command("pack", {"packId": pack["packId"], "pins": None, "details": None})
    assert sorted(paths(pack_of(client, shop, desk))) == sorted(paths(again))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pins": ["notes.md"]}, "paths begin with desk/ or shop/"),
        ({"exclude": ["shop/*.ts"]}, "'shop/*.ts' matches no file below"),
        ({"stamp": True}, "stamp can name one root only"),
        ({"root": "/x"}, "root cannot be given together with roots"),
        ({"roots": []}, f"roots must be a list of 1 to {MAX_ROOTS}"),
        ({"roots": ["relative"]}, "roots must be an absolute path"),
        ({"roots": ["/nobody/here"]}, "does not exist"),
    ],
)
def test_what_cannot_be_is_refused(
    client: Client, shop: Path, desk: Path, fields: dict[str, object], message: str
) -> None:
    client.initialize()
    with pytest.raises(Refused, match=message.replace("*", r"\*")):
        pack_of(client, shop, desk, **fields)


def test_no_door_takes_more_roots_than_another(
    client: Client, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    roots = [tmp_path / f"root{number}" for number in range(MAX_ROOTS + 1)]
    for root in roots:
        root.mkdir()
    refusal = f"roots must be at most {MAX_ROOTS}, got {MAX_ROOTS + 1}"
    flags = [word for root in roots for word in ("--root", str(root))]
    assert cli.USAGE == cli.run(["pack", "fee", *flags])
    assert f"contextpackd: {refusal}\n" == capfd.readouterr().err
    with pytest.raises(OptionProblem, match=refusal):
        contextpackd.open(*roots)
    client.initialize()
    with pytest.raises(Refused, match=f"roots must be a list of 1 to {MAX_ROOTS}"):
        client.command("pack", {"query": "fee", "roots": [root.as_uri() for root in roots]})
    with contextpackd.open(*roots[1:]) as several:
        assert several.pack("fee").items == ()


def test_each_repository_says_what_is_left_out_of_its_own_files(
    client: Client, shop: Path, desk: Path
) -> None:
    client.initialize()
    (desk / ".contextpack.toml").write_text(
        'exclude = ["*.ts"]\ntext-format = "xml"\nmax-file-bytes = 30\n'
    )
    (desk / "long.md").write_text("objections to a checkout " * 9)
    (shop / "more.ts").write_text("export const checkout = 'objections'\n")
    pack = pack_of(client, shop, desk)
    assert "shop/more.ts" in paths(pack)
    assert not [
        path for path in paths(pack) if path.startswith("desk/") and path.endswith(".ts")
    ]
    assert "markdown" == pack["report"]["format"]
    assert "desk/long.md" not in paths(pack)
    assert "shop/src/lending/policy.py" in paths(pack)


def test_a_change_in_any_of_the_roots_is_told_once(
    client: Client, shop: Path, desk: Path
) -> None:
    client.initialize()
    pack = pack_of(client, shop, desk)
    client.command("live", {"packId": pack["packId"], "on": True, "text": True})
    told: dict[str, Any] = {}
    notes, policy = desk / "objections.ts", shop / "src" / "lending" / "policy.py"
    for revision, (file, path) in enumerate(
        [(notes, "desk/objections.ts"), (policy, "shop/src/lending/policy.py")], 2
    ):
        written(file, file.read_text() + "// objections to a checkout\n")
        told = client.notification(CHANGED)
        assert (True, revision) == (path in told["changed"], told["revision"])
    for file, words in ((notes, "an objection"), (policy, "a checkout")):
        document = {"uri": file.as_uri(), "languageId": "x", "version": 1, "text": words}
        client.notify("textDocument/didOpen", {"textDocument": document})
    while not all(f"\n{words}\n" in told["text"] for words in ("an objection", "a checkout")):
        told = client.notification(CHANGED)
    assert told["revision"] <= 5


def test_what_somebody_looks_at_needs_or_changed_is_found_in_its_root(
    client: Client, shop: Path, desk: Path
) -> None:
    client.initialize()
    focus = [{"uri": (desk / "notes.md").as_uri()}, {"path": "shop/README.md"}]
    pack = pack_of(client, shop, desk, query="", focus=focus)
    assert {"desk/notes.md", "shop/README.md"} == set(paths(pack)[:2])
    (desk / "use.ts").write_text("import {checkout1} from './checkout'\ncheckout1()\n")
    pack = pack_of(client, shop, desk, query="", **{"from": ["desk/use.ts"]})
    assert ["desk/checkout.ts", "desk/use.ts"] == sorted(paths(pack))
    with pytest.raises(Refused, match=f"needs a git repository: {desk}"):
        pack_of(client, shop, desk, query="", diff="HEAD")
    for root in (shop, desk):
        run_git(root, "init", "-q")
        run_git(root, "add", ".")
        run_git(root, "commit", "-qm", "all")
    written(desk / "use.ts", "import {checkout2} from './checkout'\n")
    written(shop / "README.md", "# Changed\n")
    pack = pack_of(client, shop, desk, query="", diff="HEAD")
    assert {"desk/use.ts", "shop/README.md"} == set(paths(pack)[:2])


def test_a_pack_of_several_roots_is_written_and_closed(
    client: Client, shop: Path, desk: Path, tmp_path: Path
) -> None:
    client.initialize()
    pack = pack_of(client, shop, desk)
    file = tmp_path / "bundle.md"
    client.command("export", {"packId": pack["packId"], "file": str(file)})
    assert file.read_text() == pack["text"]
    why = client.command("why", {"packId": pack["packId"], "path": "desk/checkout.ts"})
    assert ("in", "desk/checkout.ts") == (why["state"], why["path"])
    assert ["desk", "shop"] == [root["name"] for root in why["roots"]]
    ranked = client.command("explain", {"query": QUERY, "roots": [str(shop), str(desk)]})
    assert {"shop", "desk"} == {f["path"].partition("/")[0] for f in ranked["files"]}
    assert ["desk", "shop"] == [root["name"] for root in ranked["roots"]]
    found = client.command("search", {"query": QUERY, "roots": [str(shop), str(desk)]})
    assert all(Path(c["uri"].removeprefix("file://")).is_file() for c in found["chunks"])
    assert {"closed": True} == client.command("close", {"packId": pack["packId"]})


def test_an_index_that_is_not_there_yet_is_said(client: Client, shop: Path, desk: Path) -> None:
    client.initialize()
    pack = pack_of(client, shop, desk, wait=False)
    assert (False, [], "") == (pack["complete"], pack["items"], pack["text"])
    assert ["desk", "shop"] == [root["name"] for root in pack["roots"]]


def test_a_reply_is_about_all_of_a_packs_roots(client: Client, shop: Path, desk: Path) -> None:
    client.initialize()
    pack = pack_of(client, shop, desk, budgetTokens=400)
    reply = "I need `Member.age_on`, `checkout7()`, and `desk/notes.md`."
    told = client.command("answer", {"packId": pack["packId"], "reply": reply})
    assert {"Member.age_on", "checkout7", "desk/notes.md"} == {*told["wanted"], *told["shown"]}
    answer = told["pack"]
    assert {"desk", "shop"} == {one["name"] for one in answer["roots"]}
    assert {"shop/src/lending/models.py", "desk/notes.md"} <= set(paths(answer))
