"""What the Neovim plugin says of options and settings is what the server takes."""

import json
import re
import textwrap
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import pytest

from contextpackd.fields import shape_of
from contextpackd.lsp.params import COMMANDS, NOTIFICATION
from contextpackd.options import OPTIONS, Option, default_of
from contextpackd.settings import CLIENT_OPTIONS
from contextpackd.version import PROTOCOL
from harness.paths import ROOT

PLUGIN = ROOT / "editors" / "nvim"
LUA = PLUGIN / "lua" / "contextpack"
HELP_COLUMNS = 78

PER_TASK = [option for option in OPTIONS if option not in CLIENT_OPTIONS]


def shown(value: object) -> str:
    match value:
        case StrEnum():
            return value.value
        case None | ():
            return ""
        case _:
            return json.dumps(value).strip('"')


def lua_shape(option: Option) -> str:
    match option.metavar:
        case "":
            return "'switch'"
        case "GLOB" | "PATH" | "PATH[:RANGE]":
            return "'list'"
        case "PATH=whole|outline":
            return "'details'"
        case choices if "|" in choices:
            return "{ " + ", ".join(f"'{choice}'" for choice in choices.split("|")) + " }"
        case _:
            return "'text'"


def options_lua() -> str:
    return "".join(f"  {option.json_name} = {lua_shape(option)},\n" for option in OPTIONS)


def help_entry(name: str, about: str, tag: str) -> str:
    """An entry of the help, with a tag for each."""
    mark = f"*{tag}*"
    lines = textwrap.wrap(about, HELP_COLUMNS - 8)
    title = f"{name}{mark.rjust(HELP_COLUMNS - len(name))}"
    return f"{title}\n" + "".join(f"        {line}\n" for line in lines)


def help_options(options: tuple[Option, ...] | list[Option]) -> str:
    entries = []
    for option in options:
        default = shown(default_of(option))
        about = f"{option.help}. Value: {shape_of(option).replace('`', '')}."
        about += f" Default: {default}." if default else ""
        entries.append(help_entry(option.json_name, about, f"contextpack-{option.json_name}"))
    return "".join(entries)


def plugin_settings() -> list[tuple[str, str, str]]:
    """The plugin's settings as its source has them: name, what it is, default."""
    source = (LUA / "config.lua").read_text(encoding="utf-8")
    abouts = dict(re.findall(r"---@field (\w+) \S+ (.+)", source))
    defaults = re.search(r"M\.defaults = \{\n(.*?)\n\}", source, re.DOTALL)
    assert defaults is not None
    found = re.findall(r"^  (\w+) = (.+),$", defaults[1], re.MULTILINE)
    assert set(abouts) == {name for name, _ in found}
    return [(name, abouts[name], default) for name, default in found]


def help_config() -> str:
    return "".join(
        help_entry(name, f"{about} Default: {default}.", f"contextpack-config-{name}")
        for name, about, default in plugin_settings()
    )


def readme_settings() -> str:
    rows = "".join(
        f"| `{option.json_name}` | {shape_of(option)} | {shown(default_of(option))} | {option.help.replace('|', chr(92) + '|')} |\n"
        for option in CLIENT_OPTIONS
    )
    return "| setting | must be | default | |\n| --- | --- | --- | --- |\n" + rows


def replaced(document: str, pattern: str, made: str) -> str:
    """The document with what follows a mark replaced."""
    found = re.search(pattern, document)
    assert found is not None, pattern
    return document[: found.end(1)] + made + document[found.end() :]


def help_written(text: str) -> str:
    for name, made in (
        ("settings", help_options(CLIENT_OPTIONS)),
        ("options", help_options(PER_TASK)),
        ("config", help_config()),
    ):
        text = replaced(
            text, rf"( +\*contextpack-{name}-table\*\n)(?:\S.*\n {{8}}.*\n| {{8}}\S.*\n)*", made
        )
    return text


def options_written(text: str) -> str:
    return replaced(text, r"(return \{\n)(?:  .*\n)*", options_lua())


def readme_written(text: str) -> str:
    return replaced(text, r"(<!-- settings -->\n)(?:\|.*\n)+", readme_settings())


@pytest.mark.parametrize(
    ("path", "written"),
    [
        (PLUGIN / "doc" / "contextpack.txt", help_written),
        (LUA / "options.lua", options_written),
        (PLUGIN / "README.md", readme_written),
    ],
    ids=["help", "options", "readme"],
)
def test_options_and_settings_are_the_servers(
    path: Path, written: Callable[[str], str], request: pytest.FixtureRequest
) -> None:
    before = path.read_text(encoding="utf-8")
    after = written(before)
    if before != after and request.config.getoption("--update-golden"):
        path.write_text(after, encoding="utf-8")
        pytest.fail(f"rewrote {path.name}")
    assert after == before


def test_the_plugin_speaks_the_servers_protocol() -> None:
    assert f"M.PROTOCOL = {PROTOCOL}\n" in (LUA / "client.lua").read_text(encoding="utf-8")
    config = (PLUGIN / "lsp" / "contextpackd.lua").read_text(encoding="utf-8")
    assert f"['{NOTIFICATION}']" in config


def test_the_plugin_sends_commands_that_the_server_has() -> None:
    known = {command.name.removeprefix("contextpack.") for command in COMMANDS}
    sent = {
        name
        for path in sorted(LUA.glob("*.lua"))
        for name in re.findall(
            r"(?:client\.send|ask|about)\((?:\w+, )?'(\w+)'", path.read_text("utf-8")
        )
    }
    assert {"pack", "answer", "live", "close", "explain", "why"} == sent
    assert sent <= known


def answer_schema() -> dict[str, dict[str, object]]:
    """The properties of an answer and of what stands in it, by the type that names them."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- schema -->\n```json\n(.*?)\n```", text, re.DOTALL)
    assert found is not None
    top = json.loads(found[1])["properties"]
    return {
        "Answer": {**top, "complete": {}, "packId": {}},
        "Item": top["items"]["items"]["properties"],
        "Entry": top["ledger"]["items"]["properties"],
        "Report": top["report"]["properties"],
        "Reply": result_schema("answer"),
        "Why": result_schema("why"),
    }


def result_schema(command: str) -> dict[str, object]:
    """The properties of what a command answers."""
    text = (ROOT / "editors" / "PROTOCOL.md").read_text(encoding="utf-8")
    found = re.search(
        rf"<!-- result contextpack.{command} -->\n```json\n(.*?)\n```", text, re.DOTALL
    )
    assert found is not None
    properties: dict[str, object] = json.loads(found[1])["properties"]
    return properties


@pytest.mark.parametrize("name", ["Answer", "Item", "Entry", "Report", "Reply", "Why"])
def test_the_types_are_those_of_the_schema(name: str) -> None:
    source = (LUA / "types.lua").read_text(encoding="utf-8")
    found = re.search(rf"---@class contextpack\.{name}\b.*\n((?:---@field .*\n)+)", source)
    assert found is not None
    fields = re.findall(r"---@field (\w+)\??", found[1])
    assert set(answer_schema()[name]) == set(fields)


def test_the_help_has_every_command_and_map() -> None:
    source = (PLUGIN / "plugin" / "contextpack.lua").read_text(encoding="utf-8")
    text = (PLUGIN / "doc" / "contextpack.txt").read_text(encoding="utf-8")
    names = re.findall(r"^command\('(\w*)'", source, re.MULTILINE)
    assert 8 == len(names)
    for name in names:
        assert f"*:ContextPack{name}*" in text
        assert not name or f"<Plug>(contextpack-{name.lower()})" in text
    tags = re.findall(r"(?<=\*)[^*\s|]+(?=\*)", text)
    links = set(re.findall(r"\|((?::ContextPack|contextpack)[^|\s]*)\|", text))
    assert links <= set(tags)
    assert len(tags) == len(set(tags))
    assert [] == [line for line in text.splitlines() if len(line) > 80]


def test_every_public_function_has_types_and_the_style_is_kept() -> None:
    """No formatter for Lua is in the registries; this much of one stands here."""
    paths = sorted([*PLUGIN.rglob("*.lua"), *(ROOT / "tests" / "e2e" / "nvim").glob("*.lua")])
    assert len(paths) > 20
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            place = f"{path.name}:{number}"
            assert "\t" not in line, place
            assert line == line.rstrip(), place
            assert len(line) <= 100, place
            indent = len(line) - len(line.lstrip())
            assert indent % 2 == 0, place
            signature = re.match(r"function M\.\w+\((.*)\)", line)
            if signature and signature[1] and path.is_relative_to(PLUGIN):
                assert lines[number - 2].startswith("---@"), f"{place} has no types"
