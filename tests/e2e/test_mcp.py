"""Agents over real pipes: the protocol by the book, the same bytes as other doors, and ends."""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client as SdkClient
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ListRootsResult, Root

from contextpackd import agents, bridge, daemon_arguments, door, place
from contextpackd.options import OPTIONS
from harness.agents import VERSION, begin, call, note, text
from harness.lsp_client import LIMIT_SECONDS, House, Refused, house, socket_client
from harness.paths import FIXTURES

QUERY = "objections to a checkout"
DOORS = [(), ("--no-daemon",)]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for processes")


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    with house() as found:
        yield found


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mcp") / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


# By the book.


@pytest.mark.parametrize("flags", DOORS, ids=str)
def test_a_session_by_the_book(home: House, shop: Path, flags: tuple[str, ...]) -> None:
    agent = home.start("mcp", *flags, cwd=shop)
    client = agent.client
    found = begin(client)
    assert VERSION == found["protocolVersion"]
    assert "contextpackd" == found["serverInfo"]["name"]
    assert {"tools", "prompts"} == {
        name for name, value in found["capabilities"].items() if value
    }
    assert "pack_context" in found["instructions"]
    assert {} == client.request("ping")
    assert "pack_context" == client.request("tools/list")["tools"][0]["name"]
    result = call(client, "pack_context", query=QUERY, budgetTokens=900)
    assert "`src/lending/desk.py:" in text(result)
    assert str(shop) in note(result)
    for method, params, code, said in (
        ("tools/call", {"name": "nope"}, -32602, "unknown tool: nope; there are pack_context"),
        ("tools/call", {}, -32602, "Invalid"),
        ("no/such", {}, -32601, "not found"),
        ("prompts/get", {"name": "nope"}, -32602, "unknown prompt: nope"),
        ("prompts/get", {"name": "pack"}, -32602, "query must be given"),
    ):
        with pytest.raises(Refused) as refused:
            client.request(method, params)
        assert (code, True) == (refused.value.code, said in refused.value.message)
    lines: list[tuple[bytes, object, int]] = [
        (b"{", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"[]", None, -32600),
        (b'"text"', None, -32600),
        (b'{"jsonrpc": "2.0", "id": 70}', 70, -32600),
        (b'{"id": true, "method": 3}', None, -32600),
    ]
    for line, msg_id, code in lines:
        client.write(line + b"\n\n  \n")
        came = client.wait_for(lambda message: "error" in message)
        assert (msg_id, code) == (came["id"], came["error"]["code"])
    assert {} == client.request("ping")
    client.hang_up()
    assert 0 == agent.ended()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2099-01-01"])
def test_versions_are_agreed_upon(home: House, shop: Path, version: str) -> None:
    agent = home.start("mcp", "--root", str(shop))
    expected = VERSION if version.startswith("2099") else version
    assert expected == begin(agent.client, version)["protocolVersion"]
    agent.client.hang_up()
    assert 0 == agent.ended()


def test_a_prompt_is_the_task_with_its_code(home: House, shop: Path) -> None:
    agent = home.start("mcp", "--root", str(shop))
    begin(agent.client)
    (listed,) = agent.client.request("prompts/list")["prompts"]
    assert ["query", "budgetTokens"] == [argument["name"] for argument in listed["arguments"]]
    arguments = {"query": QUERY, "budgetTokens": "900"}
    found = agent.client.request("prompts/get", {"name": "pack", "arguments": arguments})
    bundle, task = (message["content"]["text"] for message in found["messages"])
    assert QUERY == task
    assert bundle == text(call(agent.client, "pack_context", query=QUERY, budgetTokens=900))
    agent.client.hang_up()
    assert 0 == agent.ended()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_librarys_own_client(home: House, shop: Path, mode: Any) -> None:
    """Of the handshake's era and of the one after it, where a tool asks for roots on its way."""
    asked: list[object] = []

    async def list_roots(context: object) -> ListRootsResult:
        asked.append(context)
        return ListRootsResult(roots=[Root(uri=shop.as_uri())])  # type: ignore[arg-type]  # it reads text

    async def told(progress: float, total: float | None, message: str | None) -> None:
        assert message is not None
        assert message.endswith("/27 files")

    async def session() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "contextpackd", "mcp"],
            env=home.env, cwd=home.folder,
        )  # fmt: skip
        async with SdkClient(
            stdio_client(server), mode=mode, list_roots_callback=list_roots
        ) as client:
            question = {"query": QUERY, "budgetTokens": 900}
            for _ in range(2):
                result = await client.call_tool(
                    "pack_context", question, progress_callback=told
                )
                assert not result.is_error
                assert str(shop) in getattr(result.content[-1], "text", "")
            found = await client.call_tool("pack_manifest", question)
            assert [str(shop)] == found.structured_content["roots"]
            assert 1 == len(asked)

    asyncio.run(asyncio.wait_for(session(), LIMIT_SECONDS))


# The same bytes.

QUESTIONS: list[dict[str, object]] = [
    {"query": QUERY},
    {"query": QUERY, "textFormat": "xml", "tree": True, "task": True, "lineNumbers": True, "budgetTokens": 900},
    {"query": QUERY, "strategy": "knapsack", "ordering": "path", "budgetTokens": "3k", "exclude": ["docs/**"], "stamp": True},
    {"query": "", "origins": ["src/lending/desk.py"], "depth": 1, "focus": ["src/lending/fees.py:3-9"]},
    {"query": QUERY, "scorer": "classic", "textFormat": "plain", "pins": ["src/lending/fees.py"]},
    {"query": "", "only": ["src/lending/policy.py:12", "README.md"]},
    {"query": ""},
]  # fmt: skip


def test_every_door_gives_the_same_bytes(home: House, shop: Path) -> None:
    agent, editor = home.start("mcp", "--root", "shop", cwd=shop.parent), home.start("lsp")
    begin(agent.client)
    editor.client.initialize(shop)
    lines = "".join(json.dumps({"root": str(shop), **asked}) + "\n" for asked in QUESTIONS)
    batch = home.run("batch", "--no-daemon", stdin=lines).stdout.splitlines()
    fields = {option.json_name: option.field for option in OPTIONS}
    with door.open_root(shop) as root:
        for asked, line in zip(QUESTIONS, batch, strict=True):
            options = {fields[name]: value for name, value in asked.items() if name != "query"}
            texts = {
                "batch": json.loads(line)["text"],
                "python": root.pack(str(asked["query"]), **options).text,  # type: ignore[arg-type]  # by name
                "editor": editor.client.command("pack", asked)["text"],
                "agent": text(call(agent.client, "pack_context", **asked)),
            }
            assert 1 == len(set(texts.values())), asked
    agent.client.hang_up()
    assert 0 == agent.ended()
    assert 0 == editor.finish()


def test_an_agent_sees_the_editors_unsaved_text(home: House, shop: Path) -> None:
    agent, editor = home.start("mcp", "--root", str(shop)), home.start("lsp")
    begin(agent.client)
    editor.client.initialize(shop)
    uri = (shop / "src/lending/fees.py").as_uri()
    document = {
        "uri": uri,
        "languageId": "python",
        "version": 1,
        "text": "def zebra_fee(): ...\n",
    }
    editor.client.notify("textDocument/didOpen", {"textDocument": document})
    pid = editor.client.command("status")["pid"]  # Comes after the text.
    result = call(agent.client, "pack_context", query="zebra_fee", budgetTokens=900)
    assert "def zebra_fee" in text(result)
    assert "src/lending/fees.py is as in the editor, not as on disk" in note(result)
    assert pid == call(agent.client, "status")["structuredContent"]["pid"]
    assert 0 == editor.finish()
    assert "zebra" not in text(call(agent.client, "pack_context", query="zebra_fee"))
    agent.client.hang_up()
    assert 0 == agent.ended()


# Ends.


def test_a_killed_daemon_ends_the_agents_server_with_an_error(shop: Path) -> None:
    with house() as own:
        agent = own.start("mcp", "--root", str(shop))
        begin(agent.client)
        os.kill(call(agent.client, "status")["structuredContent"]["pid"], 9)
        assert 70 == agent.ended()


def test_a_message_without_an_end_ends_the_connection_alone(home: House, shop: Path) -> None:
    long, other = home.start("mcp", "--root", str(shop)), home.start("mcp", "--root", str(shop))
    for agent in (long, other):
        begin(agent.client)
    long.client.write(b'{"' + b"x" * agents.MAX_LINE_BYTES)
    came = long.client.wait_for(lambda message: "error" in message)
    assert (None, -32600) == (came["id"], came["error"]["code"])
    assert 0 == long.ended()
    assert {} == other.client.request("ping")
    other.client.hang_up()
    assert 0 == other.ended()


def test_the_socket_serves_whoever_connects_to_it(home: House, shop: Path) -> None:
    keeper = home.start("mcp")
    begin(keeper.client)
    (found,) = (home.folder / place.NAME).iterdir()
    connection = bridge.connected(found / "mcp.sock")
    assert 0o600 == (found / "mcp.sock").stat().st_mode & 0o777
    client = socket_client(connection, is_agent=True)
    begin(client, roots=(shop,))
    assert text(call(client, "pack_context", query=QUERY))
    client.hang_up()
    keeper.client.hang_up()
    assert 0 == keeper.ended()


def test_a_root_that_is_none_is_said_at_the_start(home: House) -> None:
    done = home.run("mcp", "--root", "no/such")
    said = (
        f"contextpackd: root {home.folder}/no/such is not a directory; pass an existing one\n"
    )
    assert (2, "", said) == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], ([], None)),
        (["--root", "a", "--root", "b"], (["a", "b"], None)),
        (["--page-bytes", "2000", "--root", "a"], (["a"], 2000)),
        (["--page-bytes", "1999"], None),
        (["--page-bytes", "2e9"], None),
        (["--page-bytes"], None),
        (["--root"], None),
        (["--root", "--nope"], None),
        (["--no-daemon"], None),
        (["--help"], None),
        (["a"], None),
    ],
)
def test_the_short_way_in_understands_what_the_command_line_does(
    words: list[str], found: tuple[list[str], int | None] | None
) -> None:
    assert found == agents.plain(words)
    if found is not None:
        mcp = argparse.ArgumentParser()
        daemon_arguments.add_commands(
            lambda name, *_: mcp if name == "mcp" else argparse.ArgumentParser()
        )
        parsed = mcp.parse_args(words)
        assert found == (parsed.roots, parsed.page_bytes)


def test_a_command_lines_page_bounds_results(home: House, shop: Path) -> None:
    agent = home.start("mcp", "--page-bytes", "2500", "--root", str(shop))
    begin(agent.client)
    result = call(agent.client, "pack_context", query=QUERY)
    assert sum(len(block["text"].encode()) for block in result["content"]) <= 2500
    assert note(result).startswith("page 1 of ")
    agent.client.hang_up()
    assert 0 == agent.ended()


# Without the extra.

HIDDEN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("mcp", "mcp_types", "pydantic"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def test_without_the_extra_editors_are_served_and_agents_told(shop: Path) -> None:
    with house() as own:
        (own.folder / "hidden").mkdir()
        (own.folder / "hidden" / "sitecustomize.py").write_text(HIDDEN)
        own.env["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(own.folder / "hidden"), own.env["PYTHONPATH"]])
        )
        editor = own.start("lsp")
        editor.client.initialize(shop)
        for flags in DOORS:
            done = own.run("mcp", "--root", str(shop), *flags)
            assert (2, "") == (done.returncode, done.stdout)
            assert "agents need the extra `mcp`: it is not installed; " in done.stderr
            assert f"-m pip install '{agents.REQUIREMENT}'" in done.stderr
        # A bridge that has it, on a daemon that has not.
        (found,) = (own.folder / place.NAME).iterdir()
        client = socket_client(bridge.connected(found / "mcp.sock"), is_agent=True)
        client.send({"id": 1, "method": "ping"})
        assert [] == client.end()
        assert editor.client.command("pack", {"query": QUERY})["items"]
        assert 0 == editor.finish()


def test_nobody_else_loads_the_library() -> None:
    """It takes seconds, which editors and the command line would wait for."""
    script = (
        "import sys, contextpackd.cli, contextpackd.serving\n"
        "print([name for name in ('mcp', 'mcp_types', 'pydantic', 'anyio') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "[]\n" == done.stdout
