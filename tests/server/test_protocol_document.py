"""`editors/PROTOCOL.md` says what the server does: its tables are the code's, its examples run."""

import json
import re
import shutil
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from contextpackd.fields import shape_of
from contextpackd.lsp.packs import MAX_PACKS
from contextpackd.lsp.params import COMMANDS, NOTIFICATION, Command
from contextpackd.options import OPTIONS, default_of
from contextpackd.settings import CLIENT_OPTIONS, REPOSITORY_OPTIONS, kebab
from contextpackd.version import PROTOCOL
from harness import edits
from harness.lsp_client import Client
from harness.lsp_inside import inside
from harness.paths import FIXTURES, ROOT

DOCUMENT = ROOT / "editors" / "PROTOCOL.md"


def shown(value: object) -> str:
    match value:
        case StrEnum():
            return f"`{value.value}`"
        case None | ():
            return ""
        case _:
            return f"`{json.dumps(value)}`"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def options_table() -> str:
    rows = "".join(
        f"| `{option.json_name}` | {shape_of(option)}: {cell(option.help)} | {shown(default_of(option))} |\n"
        for option in OPTIONS
    )
    return "| field | must be | default |\n| --- | --- | --- |\n" + rows


def settings_table() -> str:
    rows = "".join(
        f"| `{option.json_name}` | {f'`{kebab(option)}`' if option in REPOSITORY_OPTIONS else ''} | {shape_of(option)} |\n"
        for option in CLIENT_OPTIONS
    )
    return "| client | repository | must be |\n| --- | --- | --- |\n" + rows


def command_section(command: Command) -> str:
    with_options = {
        "none": "",
        "all": "Takes all options.",
        "discovery": "Takes the options about files.",
    }
    rows = "".join(
        f"| `{field.name}` | {field.shape.value} | {'yes' if field.is_required else ''} | {cell(field.help)} |\n"
        for field in command.fields
    )
    table = (
        "| field | must be | required | |\n| --- | --- | --- | --- |\n" + rows + "\n"
        if rows
        else ""
    )
    takes = with_options[command.takes.value]
    return (
        f"### `{command.name}`\n\n{command.summary}\n{takes}{chr(10) if takes else ''}\n{table}"
    )


def replaced(document: str, pattern: str, made: str) -> str:
    """The document with what follows a mark replaced."""
    found = re.search(pattern, document)
    assert found is not None, pattern
    return document[: found.end(1)] + made + document[found.end() :]


def written(document: str) -> str:
    """The document with everything that is made from the code made anew."""
    for mark, table in (("options", options_table()), ("settings", settings_table())):
        document = replaced(document, rf"(<!-- {mark} -->\n)(?:\|.*\n)+", table)
    for command in COMMANDS:
        mark = re.escape(f"<!-- command {command.name} -->")
        section = command_section(command)
        document = replaced(document, rf"({mark}\n)(?:(?!```json).*\n)*", section)
    return document


def block(name: str) -> Any:
    text = DOCUMENT.read_text(encoding="utf-8")
    found = re.search(
        rf"<!-- {re.escape(name)} -->\n[^`]*(?:`[^`]+`[^`]*)*?```json\n(.*?)\n```",
        text,
        re.DOTALL,
    )
    assert found is not None, name
    return json.loads(found[1])


def test_the_tables_are_the_codes(request: pytest.FixtureRequest) -> None:
    before = DOCUMENT.read_text(encoding="utf-8")
    after = written(before)
    if before != after and request.config.getoption("--update-golden"):
        DOCUMENT.write_text(after, encoding="utf-8")
        pytest.fail("rewrote the tables")
    assert after == before


def test_the_document_has_the_codes_numbers() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert f"Protocol version: {PROTOCOL}." in text
    assert f"it holds the last {MAX_PACKS}" in text


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("protocol") / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


@pytest.fixture
def client(shop: Path) -> Iterator[Client]:
    with inside() as servers:
        client = servers.connect()
        client.initialize(shop)
        yield client
        client.shut_down()
        assert [] == client.end()


def test_the_examples_run_and_answer_as_described(client: Client, tmp_path: Path) -> None:
    order = sorted(COMMANDS, key=lambda c: c.name == "contextpack.close")
    for command in order:
        example = block(f"command {command.name}")
        if "file" in example:
            example["file"] = str(tmp_path / "bundle.md")
        result = client.command(command.name.removeprefix("contextpack."), example)
        if command.name == "contextpack.pack":
            assert {
                "complete": True,
                "packId": "pack-1",
                "revision": 1,
            }.items() <= result.items()
        else:
            jsonschema.validate(result, block(f"result {command.name}"))


def test_the_notification_is_as_described(client: Client, shop: Path) -> None:
    pack = client.command("pack", {"query": "objections to a checkout"})
    client.command("live", {"packId": pack["packId"], "on": True, "text": True})
    policy = shop / "src/lending/policy.py"
    edits.written(policy, policy.read_text().replace("the copy is withdrawn", "gone"))
    client.notify("textDocument/didSave", {"textDocument": {"uri": policy.as_uri()}})
    told = client.notification(NOTIFICATION)
    jsonschema.validate(told, block(f"notification {NOTIFICATION}"))
    assert told["text"]
