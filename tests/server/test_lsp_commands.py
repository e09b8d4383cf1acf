"""What the commands take and give: the same answers as every other door."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import contextpackd
from contextpackd.lsp.packs import MAX_PACKS
from contextpackd.lsp.params import COMMANDS, GRAPH
from harness.lsp_client import Client, Refused, command
from harness.lsp_inside import Inside
from harness.paths import FIXTURES

QUERY = "objections to a checkout"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


def without(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def test_a_pack_is_the_same_as_at_the_python_door(client: Client, shop: Path) -> None:
    client.initialize(shop)
    pack = client.command("pack", {"query": QUERY, "budgetTokens": 900, "tree": True})
    door = contextpackd.open(shop).pack_json(QUERY, 900, tree=True)
    # How the answer's freshness was proven is the only thing that may differ.
    assert without(door, "freshness") == without(pack, "packId", "complete", "freshness")
    assert ("pack-1", 1, True) == (pack["packId"], pack["revision"], pack["complete"])


def test_globs_of_settings_may_match_nothing(client: Client, shop: Path) -> None:
    (shop / ".contextpack.toml").write_text('exclude = ["*.lock"]\n')
    client.initialize(shop, options={"settings": {"exclude": ["*.cobol"]}})
    for name in ("pack", "explain", "search", "files", "graph"):
        asked = {} if name in ("files", "graph") else {"query": QUERY}
        assert client.command(name, asked)
        with pytest.raises(Refused, match="'nobody' matches no file"):
            client.command(name, {**asked, "exclude": ["nobody"]})


def test_every_command_is_offered_and_described(client: Client) -> None:
    offered = client.initialize()["capabilities"]["executeCommandProvider"]["commands"]
    assert [command.name for command in COMMANDS] == offered


WRONG: list[tuple[str, list[object] | None, str]] = [
    ("pack", None, "query"),
    ("pack", [], "query"),
    ("pack", [{}], "query"),
    ("pack", ["q"], "arguments[0]"),
    ("pack", [["q"]], "arguments[0]"),
    ("pack", [None], "arguments[0]"),
    ("pack", ["q", 100, "extra"], "arguments"),
    ("pack", [{"query": 5}], "query"),
    ("pack", [{"query": "q", "budget": "lots"}], "budgetTokens"),
    ("pack", [{"query": "q", "budgetTokens": -1}], "budgetTokens"),
    ("pack", [{"query": "q", "budgetTokens": True}], "budgetTokens"),
    ("pack", [{"query": "q", "budgetTokens": float("inf")}], "budgetTokens"),
    ("pack", [{"query": "q", "budgetTokens": float("nan")}], "budgetTokens"),
    ("pack", [{"query": "q", "reserveTokens": 9000}], "reserveTokens"),
    ("pack", [{"query": "q", "strategy": "best"}], "strategy"),
    ("pack", [{"query": "q", "pins": ["nobody.py"]}], "pin"),
    ("pack", [{"query": "q", "include": ["*.nobody"]}], "include"),
    ("pack", [{"query": "q", "wait": "yes"}], "wait"),
    ("pack", [{"query": "q", "bogus": 1}], "bogus"),
    ("pack", [{"query": "q", "root": "relative"}], "root"),
    ("pack", [{"query": "q", "root": "/nobody/here"}], "root"),
    ("pack", [{"query": "q", "root": "/"}], "root"),
    ("pack", [{"query": "q", "root": "untitled:x"}], "root"),
    ("pack", [{"query": "q", "uri": "file:///nobody/here.py"}], "uri"),
    ("pack", [{"packId": "pack-99"}], "packId"),
    ("pack", [{"packId": ""}], "packId"),
    ("live", [{"packId": "pack-99", "on": True}], "packId"),
    ("live", [{"packId": "pack-99"}], "on"),
    ("explain", [{"query": "q", "top": 0}], "top"),
    ("explain", [{"query": "q", "top": True}], "top"),
    ("search", [{}], "query"),
    ("graph", [{"direction": "sideways"}], "direction"),
    ("graph", [{"uri": "untitled:x"}], "uri"),
    ("graph", [{"depth": "1"}], "depth"),
    ("graph", [{"strategy": "greedy"}], "strategy"),
    ("export", [{"packId": "pack-1"}], "file"),
    ("status", [{"x": 1}], "x"),
    ("nobody", [{}], "command"),
]


@pytest.mark.parametrize(("name", "arguments", "field"), WRONG)
def test_wrong_parameters_name_the_field(
    client: Client, shop: Path, name: str, arguments: list[object] | None, field: str
) -> None:
    client.initialize(shop)
    given = {} if arguments is None else {"arguments": arguments}
    with pytest.raises(Refused) as refused:
        client.request("workspace/executeCommand", {"command": f"contextpack.{name}", **given})
    assert (-32602, {"field": field}) == (refused.value.code, refused.value.data)
    assert field in refused.value.message
    assert client.command("status")


def test_a_number_too_large_for_json_is_refused(client: Client, shop: Path) -> None:
    client.initialize(shop)
    body = (
        b'{"jsonrpc": "2.0", "id": 77, "method": "workspace/executeCommand", "params":'
        b' {"command": "contextpack.pack", "arguments": [{"query": "q", "budget": 1e999}]}}'
    )
    client.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    with pytest.raises(Refused, match="budgetTokens must be a whole number"):
        client.answer(77)


def test_a_pack_is_made_again_with_changed_fields(client: Client, shop: Path) -> None:
    client.initialize(shop)
    first = client.command("pack", {"query": QUERY, "budgetTokens": 400})
    second = client.command(
        "pack",
        {"packId": first["packId"], "budgetTokens": 700, "pins": ["src/lending/fees.py"]},
    )
    assert "src/lending/fees.py" in [item["path"] for item in second["items"]]
    assert ("src/lending/fees.py", "added", "pinned") in [
        (change["path"], change["kind"], change["cause"]) for change in second["changes"]
    ]
    assert first["tokens"] < second["tokens"] <= 700
    assert (first["packId"], 2) == (second["packId"], second["revision"])
    third = client.command("pack", {"packId": first["packId"], "pins": None})
    assert "pinned" not in str(third["ledger"])
    same = client.command("pack", {"packId": first["packId"]})
    assert (third["text"], 3) == (same["text"], same["revision"])


def test_a_packs_root_stays(client: Client, shop: Path) -> None:
    client.initialize(shop)
    first = client.command("pack", {"query": QUERY})
    with pytest.raises(Refused, match="root cannot be changed"):
        client.command("pack", {"packId": first["packId"], "root": str(shop)})


def test_pins_may_be_uris(client: Client, shop: Path) -> None:
    client.initialize(shop)
    pin = shop / "src/lending/fees.py"
    pack = client.command("pack", {"query": QUERY, "pins": [pin.as_uri()]})
    assert "src/lending/fees.py" in [item["path"] for item in pack["items"]]


def test_a_closed_pack_is_gone(client: Client, shop: Path) -> None:
    client.initialize(shop)
    pack_id = client.command("pack", {"query": QUERY})["packId"]
    assert {"closed": True} == client.command("close", {"packId": pack_id})
    assert {"closed": False} == client.command("close", {"packId": pack_id})
    with pytest.raises(Refused, match="names no pack"):
        client.command("pack", {"packId": pack_id})


def test_changes_of_one_pack_that_do_not_wait_for_answers_add_up(
    client: Client, shop: Path
) -> None:
    client.initialize(shop)
    pack_id = client.command("pack", {"query": QUERY, "budgetTokens": 900})["packId"]
    changes: list[dict[str, object]] = [{"tree": True}, {"lineNumbers": True}, {"task": True}]
    asked = [
        client.begin("workspace/executeCommand", command("pack", {"packId": pack_id, **change}))
        for change in changes
    ]
    answers = [client.answer(one) for one in asked]
    assert [2, 3, 4] == [answer["revision"] for answer in answers]
    door = contextpackd.open(shop).pack(QUERY, 900, tree=True, line_numbers=True, task=True)
    assert door.text == answers[-1]["text"]


def test_a_pack_that_is_closed_while_it_is_made_again_stays_closed(
    client: Client, shop: Path
) -> None:
    client.initialize(shop)
    pack_id = client.command("pack", {"query": QUERY})["packId"]
    again = client.begin(
        "workspace/executeCommand", command("pack", {"packId": pack_id, "budgetTokens": 500})
    )
    assert client.command("close", {"packId": pack_id})["closed"]
    with pytest.raises(Refused, match="packId names no pack that is held"):
        client.answer(again)
    assert 0 == client.command("status")["nPacks"]


def test_held_packs_are_bounded_and_the_oldest_goes_with_a_word(
    client: Client, shop: Path
) -> None:
    client.initialize(shop)
    for number in range(MAX_PACKS + 1):
        client.command("pack", {"query": f"loan {number}", "budgetTokens": 100})
    word = client.notification("window/logMessage")
    assert "pack-1 go" in word["message"]
    assert MAX_PACKS == client.command("status")["nPacks"]
    with pytest.raises(Refused, match="holds its last"):
        client.command("pack", {"packId": "pack-1"})


def test_explain_gives_the_ranking(client: Client, shop: Path) -> None:
    client.initialize(shop)
    found = client.command("explain", {"query": QUERY, "top": 3})
    assert 3 == sum(file["state"] == "out" for file in found["files"])
    assert "src/lending/policy.py" in [file["path"] for file in found["files"]]
    assert found["files"][0]["parts"]


def test_search_gives_ranked_chunks(client: Client, shop: Path) -> None:
    client.initialize(shop)
    found = client.command("search", {"query": "objections_to_checkout", "top": 2})
    policy = (shop / "src/lending/policy.py").as_uri()
    best = next(chunk for chunk in found["chunks"] if policy == chunk["uri"])
    start, end = best["lines"]
    lines = (shop / best["path"]).read_text().splitlines()[start - 1 : end]
    assert "def objections_to_checkout(" in lines
    assert found["chunks"][0]["score"] >= found["chunks"][1]["score"]


def test_files_lists_what_is_in_and_what_is_out(client: Client, shop: Path) -> None:
    client.initialize(shop)
    found = client.command("files", {"exclude": ["docs/"]})
    reasons = {skip["path"]: skip["reason"] for skip in found["skipped"]}
    assert ("secret", "excluded") == (reasons[".env"], reasons["docs/"])
    assert "src/lending/desk.py" in [file["path"] for file in found["files"]]
    assert found["nFiles"] == client.command("files")["nFiles"] - 2


def test_graph_goes_both_ways_around_a_document(client: Client, shop: Path) -> None:
    client.initialize(shop)
    uri = (shop / "src/lending/fees.py").as_uri()
    imports = client.command("graph", {"uri": uri, "depth": 1})
    importers = client.command("graph", {"uri": uri, "depth": 1, "direction": "importers"})
    everything = client.command("graph")
    needed = {target for source, target in imports["edges"] if source == "src/lending/fees.py"}
    needing = {s for s, target in importers["edges"] if target == "src/lending/fees.py"}
    assert {"src/lending/calendar.py", "src/lending/models.py"} == needed
    assert "src/lending/policy.py" in needing
    assert len(imports["edges"]) < len(everything["edges"])
    assert everything["rates"]["python"]["resolved"]


def test_graph_of_a_file_that_is_left_out_says_why(client: Client, shop: Path) -> None:
    client.initialize(shop)
    with pytest.raises(Refused, match="secret"):
        client.command("graph", {"uri": (shop / ".env").as_uri()})


def test_export_writes_the_text(client: Client, shop: Path, tmp_path: Path) -> None:
    client.initialize(shop)
    pack = client.command("pack", {"query": QUERY})
    file = tmp_path / "bündle.md"
    for name in (str(file), file.as_uri()):
        done = client.command("export", {"packId": pack["packId"], "file": name})
        assert file.as_uri() == done["uri"]
        assert pack["text"] == file.read_text(encoding="utf-8")
        file.unlink()
    for bad in ("bundle.md", "untitled:x"):
        with pytest.raises(Refused, match="file must be"):
            client.command("export", {"packId": pack["packId"], "file": bad})
    with pytest.raises(Refused, match="cannot write") as refused:
        client.command("export", {"packId": pack["packId"], "file": str(tmp_path)})
    assert -32803 == refused.value.code


def test_status_says_what_the_server_is_and_holds(client: Client, shop: Path) -> None:
    client.initialize(shop)
    client.command("pack", {"query": QUERY})
    status = client.command("status")
    root = next(root for root in status["roots"] if root["root"] == str(shop))
    assert (True, 27, 1) == (root["indexed"], root["nFiles"], root["nClients"])
    assert root["languages"]["python"]
    assert status["memoryBytes"] > 0
    assert [str(shop)] == status["folders"]


def test_a_pack_while_indexing_may_be_incomplete(
    client: Client, servers: Inside, shop: Path
) -> None:
    client.initialize(shop)
    early = client.command("pack", {"query": QUERY, "wait": False})
    assert (False, "", []) == (early["complete"], early["text"], early["items"])
    assert {"indexed", "total"} <= early.keys()
    later = client.command("pack", {"query": QUERY})
    assert later["complete"]
    assert later["items"]
    assert client.command("pack", {"query": QUERY, "wait": False})["complete"]


def test_the_innermost_folder_of_a_document_is_its_root(client: Client, shop: Path) -> None:
    inner = shop / "src"
    client.initialize(shop, inner)
    with pytest.raises(Refused, match="root must be given: several folders are open"):
        client.command("files")
    uri = (inner / "lending/desk.py").as_uri()
    assert str(inner) == client.command("files", {"uri": uri})["root"]
    assert str(shop) == client.command("files", {"uri": (shop / "README.md").as_uri()})["root"]
    assert str(shop) == client.command("files", {"root": shop.as_uri()})["root"]


def folders(added: list[Path | str], removed: list[Path | str]) -> dict[str, Any]:
    def shown(items: list[Path | str]) -> list[dict[str, str]]:
        uris = [item if isinstance(item, str) else item.as_uri() for item in items]
        return [{"uri": uri, "name": uri} for uri in uris]

    return {"event": {"added": shown(added), "removed": shown(removed)}}


def test_folders_come_and_go(client: Client, shop: Path) -> None:
    client.initialize()
    change = "workspace/didChangeWorkspaceFolders"
    client.notify(change, folders([], []))
    client.notify(change, folders([shop], []))
    client.notify(change, folders([], ["file:///never"]))
    assert [str(shop)] == client.command("status")["folders"]
    client.notify(change, folders([shop], [shop]))
    assert [str(shop)] == client.command("status")["folders"]
    client.notify(change, folders(["vscode-remote://host/w"], []))
    client.notify(change, folders(["file:///"], []))
    assert "too broad" in client.notification("window/showMessage")["message"]
    client.notify(change, folders([], [shop]))
    status = client.command("status")
    assert [] == status["folders"]
    assert 0 == next(r for r in status["roots"] if r["root"] == str(shop))["nClients"]


def test_a_folder_through_a_link_is_its_target(
    client: Client, shop: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(shop)
    client.initialize(link)
    assert str(shop) == client.command("files")["root"]
    uri = (link / "src/lending/desk.py").as_uri()
    assert client.command("graph", {"uri": uri})["edges"]


OTHER_URIS = [
    "untitled:Untitled-1",
    "vscode-remote://ssh-remote%2Bhost/etc/passwd",
    "inmemory://dummy.py",
    "vscode-notebook-cell:/w/n.ipynb#X1",
    "git:/etc/passwd?ref",
    "",
]


@pytest.mark.parametrize("uri", OTHER_URIS)
def test_documents_that_are_no_files_are_taken_and_never_read(
    client: Client, shop: Path, uri: str
) -> None:
    client.initialize(shop)
    document = {"uri": uri, "languageId": "python", "version": 1, "text": "BUF"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    pack = client.command("pack", {"query": "root passwd", "budgetTokens": 500})
    assert "root:" not in pack["text"]
    assert 1 == client.command("status")["nOpenDocuments"]
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert 0 == client.command("status")["nOpenDocuments"]


def test_the_schema_has_each_field_once() -> None:
    for offered in COMMANDS:
        names = [field.name for field in offered.fields]
        assert len(set(names)) == len(names)
    assert "uri" in [field.name for field in GRAPH.fields]


def test_answers_are_json(client: Client, shop: Path) -> None:
    client.initialize(shop)
    json.dumps(client.command("explain", {"query": QUERY}), allow_nan=False)


def code_actions(client: Client, uri: str, column: int, **context: object) -> list[Any]:
    at = {"line": 1, "character": column}
    return client.request(  # type: ignore[no-any-return]  # JSON
        "textDocument/codeAction",
        {
            "textDocument": {"uri": uri},
            "range": {"start": at, "end": at},
            "context": {"diagnostics": [], **context},
        },
    )


def test_the_symbol_under_the_cursor_can_be_packed(client: Client, shop: Path) -> None:
    provider = client.initialize(shop)["capabilities"]["codeActionProvider"]
    assert ["source.contextpack"] == provider["codeActionKinds"]
    uri = (shop / "src/lending/desk.py").as_uri()
    assert [] == code_actions(client, uri, 6)
    text = "x = 1\ny😀 = objections_to_checkout(1)\n"  # It hides the file on disk.
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    [action] = code_actions(client, uri, 10)
    assert "Pack context for objections_to_checkout" == action["title"]
    pack = client.request("workspace/executeCommand", action["command"])
    assert "src/lending/policy.py" in [item["path"] for item in pack["items"]]
    # Not for the light bulb, not for other kinds, not between words.
    assert [] == code_actions(client, uri, 10, triggerKind=2)
    assert [] == code_actions(client, uri, 10, only=["quickfix"])
    assert 1 == len(code_actions(client, uri, 10, triggerKind=1, only=["source"]))
    assert [] == code_actions(client, uri, 5)
    assert [] == code_actions(client, "untitled:x", 5)


REPLY = (
    "I would change `objections_to_checkout`; for that I have to see `Member.age_on` and"
    " `src/lending/fees.py`, and there may be a `fee_table`. `.env` too, please.\n"
)


def test_a_reply_gets_what_it_names_and_the_pack_lacked(client: Client, shop: Path) -> None:
    client.initialize(shop)
    pack = client.command("pack", {"query": QUERY, "budgetTokens": 900})
    assert "def objections_to_checkout" in pack["text"]
    told = client.command("answer", {"packId": pack["packId"], "reply": REPLY})
    assert {
        "wanted": ["src/lending/fees.py", "Member.age_on"],
        "shown": ["objections_to_checkout"],
        "leftOut": [
            {
                "name": ".env",
                "path": ".env",
                "reason": "secret",
                "rule": "environment file: .env",
            }
        ],
        "vague": [],
        "unknown": ["fee_table"],
    } == without(told, "pack")
    answer = told["pack"]
    assert ["src/lending/fees.py", "src/lending/models.py"] == sorted(
        item["path"] for item in answer["items"]
    )
    assert "def age_on(" in answer["text"]
    assert "class Loan" not in answer["text"]
    assert QUERY == answer["query"]
    # It is a pack as others are.
    again = client.command("pack", {"packId": answer["packId"], "budgetTokens": 300})
    assert again["tokens"] <= 300
    door = contextpackd.open(shop).pack(QUERY, 300, only=told["wanted"])
    assert door.text == again["text"]


def test_a_reply_that_wants_nothing_gets_no_pack(client: Client, shop: Path) -> None:
    client.initialize(shop)
    pack = client.command("pack", {"query": QUERY, "budgetTokens": 900})
    told = client.command("answer", {"packId": pack["packId"], "reply": "Looks good to me."})
    assert {
        "wanted": [],
        "shown": [],
        "leftOut": [],
        "vague": [],
        "unknown": [],
        "pack": None,
    } == told


def test_a_file_that_the_person_left_out_is_left_out_of_the_answer(
    client: Client, shop: Path
) -> None:
    client.initialize(shop)
    fields = {"query": QUERY, "exclude": ["/src/lending/fees.py"], "pins": ["README.md"]}
    pack = client.command("pack", fields)
    told = client.command(
        "answer", {"packId": pack["packId"], "reply": "`src/lending/fees.py`?"}
    )
    assert [("src/lending/fees.py", "excluded")] == [
        (one["path"], one["reason"]) for one in told["leftOut"]
    ]
    assert None is told["pack"]
