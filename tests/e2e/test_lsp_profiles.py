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
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

import contextpackd
from contextpackd.lsp.params import NOTIFICATION
from harness.edits import written
from harness.lsp_client import LIMIT_SECONDS, House, house
from harness.paths import FIXTURES

QUERY = "objections to a checkout"


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
    changed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    @client.feature(NOTIFICATION)  # type: ignore[untyped-decorator]  # pygls
    def told(params: Any) -> None:
        changed.set_result(params)

    command = [sys.executable, "-P", "-m", "contextpackd", "lsp", *flags]
    await client.start_io(*command, env=home.env, cwd=str(home.folder))
    await client.initialize_session(
        types.InitializeParams(
            process_id=os.getpid(),
            capabilities=client_capabilities(profile),
            workspace_folders=[types.WorkspaceFolder(shop.as_uri(), "shop")],
        )
    )
    door = contextpackd.open(shop)
    pack = await run(client, "pack", {"query": QUERY})
    assert door.pack(QUERY).text == field(pack, "text")
    for name, argument in (
        ("explain", {"query": QUERY}), ("search", {"query": QUERY}), ("files", {}),
        ("graph", {}), ("status", {}),
    ):  # fmt: skip
        assert await run(client, name, argument)
    await run(client, "live", {"packId": field(pack, "packId"), "on": True, "text": True})
    policy = shop / "src/lending/policy.py"
    written(policy, policy.read_text().replace("the copy is withdrawn", "gone"))
    saved = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(policy.as_uri()))
    client.text_document_did_save(saved)
    params = await asyncio.wait_for(changed, LIMIT_SECONDS)
    assert door.pack(QUERY).text == field(params, "text")
    # What a quick pack began to show is over by now.
    kinds = [
        [type(report).__name__ for report in reports]
        for reports in client.progress_reports.values()
    ]
    for reports in kinds:
        assert ("WorkDoneProgressBegin", "WorkDoneProgressEnd") == (reports[0], reports[-1])
    assert [] == [m for m in client.messages if m.type is types.MessageType.Error]
    await client.shutdown_session()
    await client.stop()  # type: ignore[no-untyped-call]  # pytest-lsp


@pytest.mark.parametrize("flags", [(), ("--no-daemon",)], ids=["daemon", "in-process"])
@pytest.mark.parametrize("profile", ["visual_studio_code", "neovim", "emacs"])
def test_a_session(home: House, shop: Path, profile: str, flags: tuple[str, ...]) -> None:
    asyncio.run(session(home, shop, profile, *flags))
