"""The VS Code extension says what the server does: settings, commands, protocol, version."""

import json
import re
from typing import Any

import pytest

from contextpackd.lsp.params import COMMANDS, NOTIFICATION, PACK, options_of
from contextpackd.options import Option, default_of
from contextpackd.settings import CLIENT_OPTIONS
from contextpackd.version import PROTOCOL, VERSION
from harness.paths import ROOT

EXTENSION = ROOT / "editors" / "vscode"
MANIFEST = EXTENSION / "package.json"
README = EXTENSION / "README.md"
SECTION = "contextpack."
OWN = {"contextpack.server.command", "contextpack.editor.live", "contextpack.editor.focus"}
"""The settings that are the extension's and not the server's."""

MARK = "<!-- settings -->\n"


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    return found


def source(name: str) -> str:
    return (EXTENSION / "src" / name).read_text(encoding="utf-8")


def schema(option: Option) -> dict[str, object]:
    """A setting as VS Code's settings editor takes it."""
    described = {"description": sentence(option)}
    default = default_of(option)
    match option.metavar:
        case "":
            shape: dict[str, object] = {"type": "boolean"}
        case "N":
            # A count that has no default may be null.
            shape = {"type": ["integer", "null"] if default is None else ["integer", "string"]}
        case "PERCENT" | "X" | "T":
            shape = {"type": "number"}
        case "NAME":
            shape = {"type": "string"}
        case "GLOB" | "PATH":
            shape = {"type": "array", "items": {"type": "string"}}
            default = []
        case choices:
            shape = {"type": "string", "enum": choices.split("|")}
            default = str(default)
    return {**shape, "default": default, **described}


def sentence(option: Option) -> str:
    text = option.help.removesuffix(" (repeatable)")
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def with_settings(document: dict[str, Any]) -> dict[str, Any]:
    """The manifest with the server's settings made anew."""
    configuration = document["contributes"]["configuration"]
    kept = {name: value for name, value in configuration["properties"].items() if name in OWN}
    made = {SECTION + option.json_name: schema(option) for option in CLIENT_OPTIONS}
    configuration["properties"] = {**kept, **made}
    restricted = document["capabilities"]["untrustedWorkspaces"]
    restricted["restrictedConfigurations"] = [*kept, *made]
    return document


def with_table(document: dict[str, Any]) -> str:
    """The README with its table of settings made anew."""
    head, mark, _ = README.read_text(encoding="utf-8").partition(MARK)
    assert mark, "no mark"
    rows = "".join(
        f"| `{name}` | `{json.dumps(value['default'])}` | {described(value)} |\n"
        for name, value in document["contributes"]["configuration"]["properties"].items()
    )
    return head + mark + "| setting | default | |\n| --- | --- | --- |\n" + rows


def described(value: dict[str, Any]) -> str:
    choices = " ".join(f"`{choice}`" for choice in value.get("enum", ()))
    text: str = value.get("description") or value["markdownDescription"]
    return text + (f" One of {choices}." if choices else "")


def test_the_settings_are_the_servers(request: pytest.FixtureRequest) -> None:
    expected = with_settings(manifest())
    pages = {MANIFEST: json.dumps(expected, indent=2, ensure_ascii=False) + "\n"}
    pages[README] = with_table(expected)
    if request.config.getoption("--update-golden"):
        old = [page for page in pages if page.read_text(encoding="utf-8") != pages[page]]
        for page in old:
            page.write_text(pages[page], encoding="utf-8")
        if old:
            pytest.fail(f"rewrote {', '.join(page.name for page in old)}")
    for page, text in pages.items():
        assert text == page.read_text(encoding="utf-8")


def test_the_commands_asked_are_the_servers() -> None:
    text = source("protocol.ts")
    asked = set(re.findall(r"'(contextpack\.\w+)'", text))
    assert asked <= {command.name for command in COMMANDS}
    assert f"PACK_CHANGED = '{NOTIFICATION}'" in text
    assert f"PROTOCOL = {PROTOCOL};" in text


def test_the_fields_asked_are_the_servers() -> None:
    fields = re.search(r"interface PackFields \{\n(.*?)\n\}", source("protocol.ts"), re.DOTALL)
    assert fields is not None
    known = {f.name for f in PACK.fields} | {option.json_name for option in options_of(PACK)}
    assert set(re.findall(r"^  (\w+)\?:", fields[1], re.MULTILINE)) <= known


def test_the_editors_commands_are_apart_from_the_servers() -> None:
    # The client registers the server's commands under their own names.
    own = [command["command"] for command in manifest()["contributes"]["commands"]]
    assert len(set(own)) == len(own)
    assert set() == set(own) & {command.name for command in COMMANDS}
    registered = re.findall(r"^    (\w+): (?:async )?\(", source("extension.ts"), re.MULTILINE)
    assert sorted(own) == sorted(SECTION + name for name in registered)


def test_menus_and_keys_name_commands_that_are_there() -> None:
    contributes = manifest()["contributes"]
    own = {command["command"] for command in contributes["commands"]}
    entries = [entry for menu in contributes["menus"].values() for entry in menu]
    named = {entry["command"] for entry in [*entries, *contributes["keybindings"]]}
    assert named <= own


def test_a_workspace_names_no_program_and_counts_for_nothing_untrusted() -> None:
    document = manifest()
    properties = document["contributes"]["configuration"]["properties"]
    untrusted = document["capabilities"]["untrustedWorkspaces"]
    assert "machine" == properties["contextpack.server.command"]["scope"]
    assert "limited" == untrusted["supported"]
    assert list(properties) == untrusted["restrictedConfigurations"]


def test_the_version_and_the_licence_are_the_servers() -> None:
    assert VERSION == manifest()["version"]
    assert (ROOT / "LICENSE").read_bytes() == (EXTENSION / "LICENSE").read_bytes()
