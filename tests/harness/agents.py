"""What an agent's client says by the book, over `lsp_client.Client`."""

from pathlib import Path
from typing import Any

from harness.lsp_client import Client

VERSION = "2025-11-25"


def begin(client: Client, version: str = VERSION, roots: tuple[Path, ...] | None = None) -> Any:
    """The handshake; with roots the client says that it lists them."""
    capabilities: dict[str, object] = {}
    if roots is not None:
        capabilities = {"roots": {"listChanged": True}}
        list_roots(client, *roots)
    about = {"name": "test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": about}
    result = client.request("initialize", params)
    client.notify("notifications/initialized")
    return result


def list_roots(client: Client, *roots: Path) -> None:
    """What the client answers when it is asked for its roots."""
    listed = [{"uri": root.as_uri(), "name": root.name} for root in roots]
    client.answers["roots/list"] = {"roots": listed}


def call(client: Client, tool: str, **arguments: object) -> Any:
    """A tool's result."""
    return client.request("tools/call", {"name": tool, "arguments": arguments})


def text(result: Any) -> str:
    """The first block of a result that is none of an error: a bundle, or a page of one."""
    assert not result.get("isError"), result
    first = result["content"][0]["text"]
    assert isinstance(first, str)
    return first


def note(result: Any) -> str:
    """The line below it."""
    last = result["content"][-1]["text"]
    assert last.startswith("[contextpack] "), last
    return str(last.removeprefix("[contextpack] "))


def problem(result: Any) -> str:
    """What an error says."""
    assert result["isError"] is True
    return str(result["content"][0]["text"])
