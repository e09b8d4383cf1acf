"""The language server's life by the book: who may say what when, in which form."""

import asyncio
import contextlib
import gc
import json
from pathlib import Path

import pytest

from contextpackd.lsp.protocol import Protocol
from contextpackd.lsp.server import ContextServer
from contextpackd.lsp.session import Session
from harness.lsp_client import Client, Refused, command
from harness.lsp_inside import Inside
from harness.paths import FIXTURES

SHOP = FIXTURES / "python-src"


def test_a_session_by_the_book_ends_with_0(servers: Inside) -> None:
    client = servers.connect()
    result = client.initialize(SHOP)
    assert "contextpackd" == result["serverInfo"]["name"]
    assert 2 == result["capabilities"]["textDocumentSync"]["change"]
    assert {"contextpack": {"protocol": 1}} == result["capabilities"]["experimental"]
    client.shut_down()
    assert [] == client.end()
    assert 0 == servers.exit_code(client)


def test_exit_without_shutdown_ends_with_1(servers: Inside) -> None:
    client = servers.connect()
    client.initialize(SHOP)
    client.notify("exit")
    assert [] == client.end()
    assert 1 == servers.exit_code(client)


def test_a_client_that_vanishes_ends_with_1(servers: Inside) -> None:
    client = servers.connect()
    client.initialize(SHOP)
    client.write(b"Content-Length: 100\r\n\r\n{")
    servers.hang_up(client)
    assert 1 == servers.exit_code(client)


def test_requests_before_initialize_are_refused(client: Client) -> None:
    client.notify("textDocument/didOpen", {"textDocument": {}})
    with pytest.raises(Refused, match="came before initialize") as refused:
        client.command("status")
    assert -32002 == refused.value.code
    client.initialize(SHOP)
    assert client.command("status")["version"]


def test_initialize_twice_is_refused(client: Client) -> None:
    client.initialize(SHOP)
    with pytest.raises(Refused, match="twice") as refused:
        client.initialize(SHOP)
    assert -32600 == refused.value.code


def test_requests_after_shutdown_are_refused(client: Client) -> None:
    client.initialize(SHOP)
    assert client.request("shutdown") is None
    for method in ("workspace/executeCommand", "shutdown", "nobody/knows"):
        with pytest.raises(Refused, match="after shutdown") as refused:
            client.request(method, command("status"))
        assert -32600 == refused.value.code


def test_unknown_methods_are_refused_and_unknown_notifications_ignored(client: Client) -> None:
    client.initialize(SHOP)
    client.notify("$/nobodyKnows", {"x": 1})
    client.notify("nobody/knows")
    client.notify("$/setTrace", {"value": "verbose"})
    client.notify("$/cancelRequest", {"id": 31337})
    with pytest.raises(Refused, match="nobody/knows") as refused:
        client.request("nobody/knows", {"x": 1})
    assert -32601 == refused.value.code


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (None, "utf-16"),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-32"], "utf-32"),
        (["utf-7"], "utf-16"),
    ],
)
def test_the_encoding_is_the_first_that_both_know(
    client: Client, offered: list[str] | None, expected: str
) -> None:
    general = {} if offered is None else {"general": {"positionEncodings": offered}}
    result = client.initialize(SHOP, capabilities=general)
    assert expected == result["capabilities"]["positionEncoding"]


BROKEN = [
    (b"{", -32700, None),
    (b"\xff\xfe\xfd", -32700, None),
    (b"[" * 100_000, -32700, None),
    (b"[]", -32600, None),
    (b"7", -32600, None),
    (b"null", -32600, None),
    (b'{"jsonrpc": "2.0", "id": 5}', -32600, 5),
    (b'{"jsonrpc": "1.0", "id": 5, "method": "shutdown"}', -32600, 5),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": null, "method": "shutdown"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": true, "method": "shutdown"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": 5, "method": 5}', -32600, 5),
    (b'{"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": {}}', -32602, 5),
    (b'{"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": 5}', -32602, 5),
    (b'{"jsonrpc": "2.0", "id": 5, "method": "initialize"}', -32602, 5),
]


@pytest.mark.parametrize(("body", "code", "msg_id"), BROKEN)
def test_broken_messages_get_an_error_and_the_next_one_works(
    client: Client, body: bytes, code: int, msg_id: object
) -> None:
    client.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    message = client.wait_for(lambda m: "error" in m)
    assert (code, msg_id) == (message["error"]["code"], message["id"])
    assert "Traceback" not in json.dumps(message)
    assert client.initialize(SHOP)


def test_answers_that_nobody_asked_for_are_ignored(client: Client) -> None:
    client.send({"id": 1, "result": None})
    client.send({"id": "x", "error": {"code": 1, "message": "no"}})
    client.send({"id": [], "result": 5})
    assert client.initialize(SHOP)


def framed(message: dict[str, object], header: str = "Content-Length") -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
    return f"{header}: {len(body)}\r\n\r\n".encode() + body


INITIALIZE: dict[str, object] = {
    "id": 9,
    "method": "initialize",
    "params": {"capabilities": {}, "processId": None, "rootUri": None, "locale": "é😀"},
}


@pytest.mark.parametrize("header", ["Content-Length", "content-length", "CONTENT-LENGTH"])
def test_header_names_may_be_written_in_any_case(client: Client, header: str) -> None:
    client.write(framed(INITIALIZE, header))
    assert client.answer(9)


def test_other_headers_are_ignored(client: Client) -> None:
    kind = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
    client.write(kind + framed(INITIALIZE))
    assert client.answer(9)


def test_two_messages_may_come_in_one_write(client: Client) -> None:
    client.write(framed(INITIALIZE) + framed({"id": 10, "method": "shutdown"}))
    assert client.answer(9)
    assert client.answer(10) is None


def test_a_message_may_come_in_many_writes(client: Client) -> None:
    message = framed(INITIALIZE)
    step = len(message) // 7
    for start in range(0, len(message), step):
        client.write(message[start : start + step])
    assert client.answer(9)


def test_a_part_that_looks_like_a_message_is_none(client: Client) -> None:
    client.initialize(SHOP)
    nested = {"jsonrpc": "2.0", "method": "exit", "id": 1}
    with pytest.raises(Refused, match="jsonrpc is no field"):
        client.command("status", nested)
    assert client.command("status")


def test_a_message_over_the_limit_is_skipped(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextpackd.lsp.connection.MAX_MESSAGE_BYTES", 2000)
    client.write(framed({"id": 1, "method": "initialize", "params": "x" * 3000}))
    message = client.wait_for(lambda m: "error" in m)
    assert (None, -32600) == (message["id"], message["error"]["code"])
    assert client.initialize(SHOP)


def test_noise_without_a_length_is_passed_over(client: Client) -> None:
    client.write(b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n")
    assert client.initialize(SHOP)


def test_what_is_no_protocol_at_all_is_hung_up_on(servers: Inside) -> None:
    client = servers.connect()
    with contextlib.suppress(BrokenPipeError):
        client.write(b"\0" * (1 << 18))
    assert 1 == servers.exit_code(client)


def test_a_root_that_is_no_folder_is_told_once(client: Client, tmp_path: Path) -> None:
    client.initialize(tmp_path / "gone")
    told = client.notification("window/showMessage")
    assert "does not exist" in told["message"]
    with pytest.raises(Refused, match="root must be given: no folder is open"):
        client.command("files")


def test_a_closed_connection_leaves_nothing_in_memory(servers: Inside) -> None:
    for _ in range(5):
        client = servers.connect()
        client.initialize(SHOP)
        client.command("status")
        client.shut_down()
        assert [] == client.end()
        servers.exit_code(client)
    servers.on_loop(asyncio.sleep(0))  # What was scheduled for the last one has run.
    gc.collect()
    kinds = (ContextServer, Protocol, Session)
    left = [thing for thing in gc.get_objects() if isinstance(thing, kinds)]
    # Those of other tests' connections are closed, too.
    assert [] == left
