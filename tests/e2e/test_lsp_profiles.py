"""The server with what VS Code, Neovim and Emacs say of themselves, over a client of pytest-lsp."""

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

import contextpackd
from contextpackd.lsp.params import NOTIFICATION
from harness.edits import written
from harness.lsp_client import LIMIT_SECONDS, House, house
from harness.paths import FIXTURES

QUERY = "objections to a checkout"

N_LARGE = 1000
"""Files whose indexing takes long enough to be cancelled."""


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    with house() as found:
        yield found


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


async def run(client: LanguageClient, name: str, argument: dict[str, Any]) -> Any:
    params = types.ExecuteCommandParams(f"contextpack.{name}", [argument])
    return await client.workspace_execute_command_async(params)


def field(document: Any, name: str) -> Any:
    """pygls gives objects that it has no types for as named tuples, others as they are."""
    return document[name] if isinstance(document, dict) else getattr(document, name)


async def session(home: House, shop: Path, profile: str, *flags: str) -> None:
    client = make_test_lsp_client()
    changes: asyncio.Queue[Any] = asyncio.Queue()

    @client.feature(NOTIFICATION)  # type: ignore[untyped-decorator]  # pygls
    def changed(params: Any) -> None:
        changes.put_nowait(params)

    command = [sys.executable, "-P", "-m", "contextpackd", "lsp", *flags]
    await client.start_io(*command, env=home.env, cwd=str(home.folder))
    initialized = await client.initialize_session(
        types.InitializeParams(
            process_id=os.getpid(),
            capabilities=client_capabilities(profile),
            workspace_folders=[types.WorkspaceFolder(shop.as_uri(), "shop")],
        )
    )
    encoding = initialized.capabilities.position_encoding or types.PositionEncodingKind.Utf16
    door = contextpackd.open(shop)
    pack = await run(client, "pack", {"query": QUERY})
    assert door.pack(QUERY).text == field(pack, "text")
    for name, argument in (
        ("explain", {"query": QUERY}), ("search", {"query": QUERY}), ("files", {}),
        ("graph", {}), ("status", {}),
    ):  # fmt: skip
        assert await run(client, name, argument)
    pack_id = field(pack, "packId")
    bundle = shop.parent / "bundle.md"
    await run(client, "export", {"packId": pack_id, "file": bundle.as_uri()})
    assert bundle.read_text() == field(pack, "text")
    await run(client, "live", {"packId": pack_id, "on": True, "text": True})
    await saved_and_edited(client, changes, shop, encoding)
    await run(client, "close", {"packId": pack_id})
    await several_folders(client, changes, shop)
    await cancelled(client, shop.parent / "large")
    # What a quick pack began to show is over by now.
    kinds = [
        [type(report).__name__ for report in reports]
        for reports in client.progress_reports.values()
    ]
    for reports in kinds:
        assert ("WorkDoneProgressBegin", "WorkDoneProgressEnd") == (reports[0], reports[-1])
    assert [] == [m for m in client.messages if m.type is types.MessageType.Error]
    assert changes.empty()
    await client.shutdown_session()
    await client.stop()  # type: ignore[no-untyped-call]  # pytest-lsp


async def told(changes: "asyncio.Queue[Any]", words: str) -> Any:
    """The next new text with these words; those before show a part of what happened."""
    while True:
        params = await asyncio.wait_for(changes.get(), LIMIT_SECONDS)
        if words in field(params, "text"):
            return params


async def saved_and_edited(
    client: LanguageClient, changes: "asyncio.Queue[Any]", shop: Path, encoding: str
) -> None:
    """A save, and then unsaved edits behind characters that encodings count differently."""
    policy = shop / "src/lending/policy.py"
    text = policy.read_text().replace("the copy is withdrawn", "the 😋 本 is withdrawn")
    written(policy, text)
    document = types.TextDocumentIdentifier(policy.as_uri())
    client.text_document_did_save(types.DidSaveTextDocumentParams(document))
    await told(changes, "the 😋 本 is withdrawn")
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(policy.as_uri(), "python", 1, text)
        )
    )
    row = next(n for n, line in enumerate(text.splitlines()) if "😋" in line)
    before = text.splitlines()[row].partition(" is withdrawn")[0]
    codec, size = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}.get(
        encoding, ("utf-32-le", 4)
    )
    start = len(before.encode(codec)) // size
    places = types.Range(
        types.Position(row, start), types.Position(row, start + len(" is withdrawn"))
    )
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(2, policy.as_uri()),
            [types.TextDocumentContentChangePartial(places, " was unsaved")],
        )
    )
    await told(changes, "the 😋 本 was unsaved")
    client.text_document_did_close(types.DidCloseTextDocumentParams(document))
    await told(changes, "the 😋 本 is withdrawn")


async def several_folders(
    client: LanguageClient, changes: "asyncio.Queue[Any]", shop: Path
) -> None:
    """A folder that comes, is packed together with the other, followed, and goes."""
    desk = shop.parent / "desk"
    folder = types.WorkspaceFolder(desk.as_uri(), "desk")
    for event in (
        types.WorkspaceFoldersChangeEvent(added=[folder], removed=[]),
        types.WorkspaceFoldersChangeEvent(added=[], removed=[folder]),
    ):
        client.workspace_did_change_workspace_folders(
            types.DidChangeWorkspaceFoldersParams(event)
        )
        n_folders = len(field(await run(client, "status", {}), "folders"))
        assert 1 + len(event.added) == n_folders
    roots = [shop.as_uri(), str(desk)]
    pack = await run(client, "pack", {"query": QUERY, "roots": roots})
    assert "`desk/checkout.py:1`" in field(pack, "text")
    assert "`shop/src/lending/policy.py:" in field(pack, "text")
    await run(client, "live", {"packId": field(pack, "packId"), "on": True, "text": True})
    written(desk / "checkout.py", "objections = ['checkout refused']\n")
    document = types.TextDocumentIdentifier((desk / "checkout.py").as_uri())
    client.text_document_did_save(types.DidSaveTextDocumentParams(document))
    await told(changes, "checkout refused")
    await run(client, "close", {"packId": field(pack, "packId")})


async def cancelled(client: LanguageClient, root: Path) -> None:
    """A pack that nobody waits for any more: its indexing stops, and the next question works."""
    params = types.ExecuteCommandParams(
        "contextpack.pack", [{"query": "loan", "root": str(root)}]
    )
    sent = client.protocol.send_request_async("workspace/executeCommand", params, msg_id="it")  # type: ignore[no-untyped-call]  # pygls
    asked = asyncio.ensure_future(sent)
    while not (await work_at(client, root))[0]:
        assert not asked.done()
    client.cancel_request(types.CancelParams("it"))
    with pytest.raises(JsonRpcRequestCancelled):
        await asyncio.wait_for(asked, LIMIT_SECONDS)
    assert await run(client, "search", {"query": QUERY})
    done, total = await work_at(client, root)
    assert (done, total) == await work_at(client, root)
    assert done < total


async def work_at(client: LanguageClient, root: Path) -> tuple[int, int]:
    """How many files of a root's index are done, and of how many."""
    found = field(await run(client, "status", {}), "roots")
    states = [
        (field(r, "done"), field(r, "total")) for r in found if field(r, "root") == str(root)
    ]
    return states[0] if states else (0, 0)


@pytest.mark.parametrize("flags", [(), ("--no-daemon",)], ids=["daemon", "in-process"])
@pytest.mark.parametrize("profile", ["visual_studio_code", "neovim", "emacs"])
def test_a_session(home: House, shop: Path, profile: str, flags: tuple[str, ...]) -> None:
    large, desk = shop.parent / "large", shop.parent / "desk"
    large.mkdir()
    for number in range(N_LARGE):
        (large / f"m{number}.py").write_text(f"def loan_{number}(): ...\n" * 40)
    desk.mkdir()
    (desk / "checkout.py").write_text("objections = ['no checkout']\n")
    asyncio.run(session(home, shop, profile, *flags))
