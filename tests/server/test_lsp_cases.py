"""The cases of `fixtures/cases/g.jsonl` about the life of a language server."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

import contextpackd
from contextpackd.lsp.buffers import Buffers
from contextpackd.lsp.positions import Encoding
from contextpackd.uris import file_of, key_of
from harness.lsp_client import Client, Refused, command
from harness.lsp_inside import Gate, inside
from harness.paths import FIXTURES
from harness.trees import cases

CASES = cases("g.jsonl")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


def opened(uri: str, text: str) -> dict[str, Any]:
    return {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}}


def test_g03_documents_that_are_no_local_files(client: Client, shop: Path) -> None:
    uris = CASES["g03"]["input"]["uris"]
    client.initialize(shop)
    for uri in uris:
        client.notify("textDocument/didOpen", opened(uri, "BUF"))
        assert file_of(uri) is None
    pack = client.command("pack", {"query": "buf", "ledger": "all"})
    # Whatever a buffer's URI looks like, no local file comes in by it.
    door: Any = contextpackd.open(shop).pack_json("buf", ledger="all")
    assert door["ledger"] == pack["ledger"]
    assert len(uris) == client.command("status")["nOpenDocuments"]


def test_g04_a_drive_letter_is_lowered_and_nothing_else() -> None:
    case = CASES["g04"]
    files = {file_of(uri, is_windows=True) for uri in case["input"]["uris"]}
    assert {case["expect"]["drive_only_lowercased"]} == files


def test_g06_every_id_is_answered_once(shop: Path) -> None:
    expect = CASES["g06"]["expect"]
    gate = Gate(3)
    with inside(gate) as servers:
        client = servers.connect()
        client.initialize(shop)
        ids = [
            client.begin("workspace/executeCommand", command("pack", {"query": f"loan {n}"}))
            for n in range(40)
        ]
        for msg_id in ids[:-1]:
            client.notify("$/cancelRequest", {"id": msg_id})
        client.notify("$/cancelRequest", {"id": 31337})
        for msg_id in ids[:-1]:
            with pytest.raises(Refused) as refused:
                client.answer(msg_id)
            assert expect["cancelled_code"] == refused.value.code
        gate.go_on.set()
        assert client.answer(ids[-1])["items"]
        answered = [m["id"] for m in client.taken if "id" in m and "method" not in m]
        assert sorted(answered) == sorted(set(answered))
        assert set(ids) <= set(answered)


def argument_lists() -> list[Any]:
    return [
        item if item != ["q", "<raw JSON number 1e999>"] else ["q", float("inf")]
        for item in CASES["g07"]["input"]["executeCommand_arguments"]
    ]


@pytest.mark.parametrize("arguments", argument_lists(), ids=str)
def test_g07_any_arguments_get_an_answer(client: Client, shop: Path, arguments: Any) -> None:
    client.initialize(shop)
    params = {"command": "contextpack.pack", "arguments": arguments}
    msg_id = client.begin("workspace/executeCommand", params)
    message = client.wait_for(lambda m: m.get("id") == msg_id and "method" not in m)
    if arguments == [{"query": "q", "budget": "1000"}]:
        # Counts may be texts (`8k`), as everywhere here.
        assert 1000 == message["result"]["budgetTokens"]
    else:
        assert CASES["g07"]["expect"]["errors_are"] == message["error"]["code"]
        assert message["error"]["data"]["field"] in message["error"]["message"]
        assert "Traceback" not in json.dumps(message)
    assert client.command("status")


def test_g09_folders_change_in_every_way(client: Client, shop: Path) -> None:
    for name in ("client/sub", "server"):
        (shop / name).mkdir(parents=True)
        (shop / name / "loan.py").write_text("def loan(): pass\n")
    client.initialize()
    buffer = (shop / "client" / "sub" / "loan.py").as_uri()
    client.notify("textDocument/didOpen", opened(buffer, "x"))
    for message in CASES["g09"]["input"]["messages"]:
        text = json.dumps(message).replace("file:///w/", f"{shop.as_uri()}/")
        client.notify("workspace/didChangeWorkspaceFolders", json.loads(text))
    assert "too broad" in client.notification("window/showMessage")["message"]
    status = client.command("status")
    expected = [str(shop / "client"), str(shop / "server"), str(shop / "client" / "sub")]
    assert expected == status["folders"]
    assert 1 == status["nOpenDocuments"]
    pack = client.command("pack", {"query": "loan", "uri": buffer})
    assert ["loan.py"] == [item["path"] for item in pack["items"]]
    outer = client.command("pack", {"query": "loan", "root": str(shop / "client")})
    assert ["sub/loan.py"] == [item["path"] for item in outer["items"]]


def test_g10_edits_count_in_the_negotiated_units() -> None:
    case = CASES["g10"]
    for text, change, expected in zip(
        case["input"]["open"], case["input"]["changes"], case["expect"]["text"], strict=True
    ):
        buffers = Buffers(Encoding.UTF16)
        uri = "file:///a.py"
        buffers.opened(types.TextDocumentItem(uri, "python", 1, text))
        start_line, start, end_line, end = change["range"]
        edit = types.TextDocumentContentChangePartial(
            range=types.Range(types.Position(start_line, start), types.Position(end_line, end)),
            text=change["text"],
        )
        after = buffers.changed(types.VersionedTextDocumentIdentifier(2, uri), [edit])
        assert after is not None
        assert (expected, 2) == (after.text, after.version)


@pytest.mark.parametrize(
    ("encoding", "column"), [(Encoding.UTF8, 7), (Encoding.UTF16, 5), (Encoding.UTF32, 4)]
)
def test_each_encoding_finds_the_same_place(encoding: Encoding, column: int) -> None:
    buffers = Buffers(encoding)
    buffers.opened(types.TextDocumentItem("file:///a.py", "python", 1, 'x="😋"\r\n你好\n'))
    at = types.Position(0, column)
    edit = types.TextDocumentContentChangePartial(range=types.Range(at, at), text="y")
    after = buffers.changed(types.VersionedTextDocumentIdentifier(2, "file:///a.py"), [edit])
    assert after is not None
    assert 'x="😋y"\r\n你好\n' == after.text


def test_one_document_under_two_spellings_is_one() -> None:
    assert key_of("file:///a%20b") == key_of("file:///a b")
    assert key_of("untitled:a%20b") != key_of("untitled:a b")


def test_g11_a_question_right_behind_initialize_is_not_answered_empty(shop: Path) -> None:
    gate = Gate(2)
    with inside(gate) as servers:
        client = servers.connect()
        folders = [{"uri": shop.as_uri(), "name": "w"}]
        params: dict[str, Any] = {"capabilities": {}, "processId": None}
        params["workspaceFolders"] = folders
        initialize = client.begin("initialize", params)
        client.notify("initialized", {})
        waits = client.begin("workspace/executeCommand", command("pack", {"query": "loan"}))
        # Answered while the index is being made.
        assert client.answer(initialize)["capabilities"]
        assert gate.reached.wait(60)
        early = client.command("pack", {"query": "loan", "wait": False})
        assert not early["complete"]
        assert {"indexed", "total"} <= early.keys()
        gate.go_on.set()
        whole = client.answer(waits)
        assert whole["complete"]
        assert whole["items"]


def test_g13_packs_in_flight_do_not_mix(client: Client, shop: Path) -> None:
    client.initialize(shop)
    queries = ["late fees", "objections to a checkout", "holds expire"]
    budgets = [400, 700, 1000]
    ids = [
        client.begin(
            "workspace/executeCommand",
            command("pack", {"query": query, "budgetTokens": budget}),
        )
        for query, budget in zip(queries, budgets, strict=True)
    ]
    door = contextpackd.open(shop)
    packs = {msg_id: client.answer(msg_id) for msg_id in reversed(ids)}
    for msg_id, query, budget in zip(ids, queries, budgets, strict=True):
        assert (query, 1) == (packs[msg_id]["query"], packs[msg_id]["revision"])
        assert door.pack(query, budget).text == packs[msg_id]["text"]
    assert 3 == len({pack["packId"] for pack in packs.values()})


def test_g14_lengths_are_bytes_and_large_texts_pass(client: Client, shop: Path) -> None:
    case = CASES["g14"]
    body = case["input"]["content_length_of"].encode()
    assert case["expect"]["content_length_bytes"] == len(body)
    client.initialize(shop)
    client.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    text = "x" * 5_000_000 + "é😀"
    uri = (shop / "big.py").as_uri()
    client.notify("textDocument/didOpen", opened(uri, text))
    at = {"line": 0, "character": 5_000_003}
    change = {"range": {"start": at, "end": at}, "text": "!"}
    document = {"uri": uri, "version": 2}
    client.notify(
        "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}
    )
    assert 1 == client.command("status")["nOpenDocuments"]
