"""Messages of every kind in any order: each request is answered once, and the next one works."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from contextpackd.bridge import connected
from contextpackd.lsp.params import COMMANDS
from contextpackd.place import NAME, Place
from harness.lsp_client import Client, House, Refused, house, socket_client
from harness.paths import FIXTURES

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: object) -> object:
        return method


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
FIELDS = st.sampled_from(
    ["query", "root", "uri", "packId", "wait", "on", "top", "depth", "direction", "file",
     "budgetTokens", "pins", "details", "include", "strategy", "jsonrpc", "method", "id"]
)  # fmt: skip
ARGUMENTS = st.lists(st.dictionaries(FIELDS, VALUES, max_size=4) | VALUES, max_size=2)
URIS = st.sampled_from(
    [
        "file:///a.py",
        "file:///A%20b.py",
        "untitled:1",
        "",
        "file://[",
        "vscode-remote://h/a",
        "\0",
    ]
)
METHODS = st.sampled_from(
    ["textDocument/hover", "textDocument/didOpen", "textDocument/didChange", "initialize",
     "workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles", "$/setTrace",
     "workspace/didChangeWorkspaceFolders", "window/workDoneProgress/cancel", "$/cancelRequest",
     "notebookDocument/didOpen", "workspace/executeCommand", "x", "", "$/x", "initialized"]
)  # fmt: skip
POSITIONS = st.fixed_dictionaries({"line": st.integers(0, 5), "character": st.integers(0, 9)})


class Messages(RuleBasedStateMachine):
    """One connection to the daemon."""

    lsp: Path
    root: Path

    @initialize(encoding=st.sampled_from(["utf-8", "utf-16", "utf-32"]))
    def connect(self, encoding: str) -> None:
        self.client: Client = socket_client(connected(self.lsp))
        self.is_shut_down = False
        self.client.initialize(
            self.root, capabilities={"general": {"positionEncodings": [encoding]}}
        )

    @rule(method=METHODS, params=VALUES)
    def notify_anything(self, method: str, params: Any) -> None:
        self.client.notify(method, params)

    @rule(method=METHODS, params=VALUES)
    def ask_anything(self, method: str, params: Any) -> None:
        self.answered(method, params)

    @rule(command=st.sampled_from(COMMANDS), arguments=ARGUMENTS)
    def run_anything(self, command: Any, arguments: Any) -> None:
        if command.name != "contextpack.export":
            params = {"command": command.name, "arguments": arguments}
            self.answered("workspace/executeCommand", params)

    @rule(body=st.binary(max_size=40) | VALUES.map(lambda value: json.dumps(value).encode()))
    def send_any_body(self, body: bytes) -> None:
        self.client.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    @rule(size=st.sampled_from([1 << 16, 1 << 20]))
    def send_a_huge_query(self, size: int) -> None:
        params = {
            "command": "contextpack.pack",
            "arguments": [{"query": "loan " * (size // 5)}],
        }
        self.answered("workspace/executeCommand", params)

    @rule(uri=URIS, text=st.text(max_size=20))
    def open_a_document(self, uri: str, text: str) -> None:
        document = {"uri": uri, "languageId": "x", "version": 1, "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": document})

    @rule(uri=URIS, start=POSITIONS, end=POSITIONS, text=st.text(max_size=5))
    def edit_a_document(self, uri: str, start: Any, end: Any, text: str) -> None:
        change = {"range": {"start": start, "end": end}, "text": text}
        document = {"uri": uri, "version": 2}
        params = {"textDocument": document, "contentChanges": [change]}
        self.client.notify("textDocument/didChange", params)

    @rule(uri=URIS)
    def close_a_document(self, uri: str) -> None:
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    @rule(msg_id=st.integers(0, 30) | st.text(max_size=3))
    def cancel_something(self, msg_id: object) -> None:
        self.client.notify("$/cancelRequest", {"id": msg_id})

    @precondition(lambda self: not self.is_shut_down)
    @rule()
    def pack(self) -> None:
        pack = self.client.command("pack", {"query": "late fees", "root": str(self.root)})
        assert pack["items"]

    @precondition(lambda self: not self.is_shut_down)
    @rule()
    def shut_down(self) -> None:
        assert self.client.request("shutdown") is None
        self.is_shut_down = True

    @invariant()
    def the_next_request_works(self) -> None:
        if not hasattr(self, "client"):
            return
        if self.is_shut_down:
            with pytest.raises(Refused) as refused:
                self.client.command("status")
            assert -32600 == refused.value.code
        else:
            assert self.client.command("status")["version"]

    def answered(self, method: str, params: Any) -> None:
        msg_id = self.client.begin(method, params)
        message = self.client.wait_for(lambda m: m.get("id") == msg_id and "method" not in m)
        # A fault of ours would be -32603, and a traceback is never sent.
        code = message.get("error", {}).get("code")
        assert code in {None, -32602, -32601, -32600, -32803, -32801}, message
        assert "Traceback" not in json.dumps(message)

    @override
    def teardown(self) -> None:
        if hasattr(self, "client"):
            if not self.is_shut_down:
                self.client.request("shutdown")
            self.client.notify("exit")
            for message in self.client.end():
                # What nobody asked for: errors without an id, and words for the user.
                assert message.get("id") is None or "method" in message
            self.client.close()


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    with house() as found:
        yield found


def test_any_messages_in_any_order(home: House, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    keeper = home.start("lsp")
    keeper.client.initialize(root)
    pid = keeper.client.command("status")["pid"]
    [folder] = (home.folder / NAME).iterdir()
    Messages.lsp, Messages.root = Place(folder).lsp, root
    run_state_machine_as_test(
        Messages,
        settings=settings(
            max_examples=settings().max_examples // 2,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    # One and the same daemon took it all, and no request failed by a fault of its own.
    assert pid == keeper.client.command("status")["pid"]
    assert 0 == keeper.finish()
