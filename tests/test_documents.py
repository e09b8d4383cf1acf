"""The documents say what the code does."""

import json
import re
import shutil
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contextpackd
from contextpack.model import Detail, Outcome, Reason
from contextpackd import agents
from contextpackd.door import Root
from contextpackd.options import OPTIONS, default_of
from contextpackd.version import VERSION
from harness.paths import FIXTURES, ROOT
from harness.trees import isolate_git, run_git, write

ARCHITECTURE = ROOT / "ARCHITECTURE.md"


def shown_default(value: object) -> str:
    match value:
        case StrEnum():
            return f"`{value.value}`"
        case None | ():
            return "none"
        case bool():
            return "off"
        case _:
            return f"`{value}`"


def test_the_table_of_defaults_is_the_codes(request: pytest.FixtureRequest) -> None:
    rows = "".join(
        f"| `{option.field}` | `--{option.flag}` | `{option.json_name}` | {shown_default(default_of(option))} |\n"
        for option in OPTIONS
    )
    text = ARCHITECTURE.read_text(encoding="utf-8")
    table = re.search(r"<!-- defaults -->\n\|.*\n\|.*\n((?:\|.*\n)*)", text)
    assert table is not None
    if table[1] != rows and request.config.getoption("--update-golden"):
        start, end = table.span(1)
        ARCHITECTURE.write_text(text[:start] + rows + text[end:], encoding="utf-8")
        pytest.fail("rewrote the table of defaults")
    assert table[1] == rows


def schema() -> dict[str, object]:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    block = re.search(r"<!-- schema -->\n```json\n(.*?)\n```", text, re.DOTALL)
    assert block is not None
    document: dict[str, object] = json.loads(block[1])
    return document


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.sampled_from(["cart discount", "", "zzyzx", "overdue loan"]),
    options=st.fixed_dictionaries(
        {},
        optional={
            "budget_tokens": st.integers(1, 4000),
            "ledger": st.sampled_from(["brief", "all"]),
            "strategy": st.sampled_from(["greedy", "mmr", "knapsack", "coverage", "levels"]),
            "scorer": st.sampled_from(["fused", "classic"]),
            "model": st.sampled_from(["gpt-4o", "claude", "estimate"]),
            "ordering": st.sampled_from(["u-shaped", "chronological"]),
            "max_candidates": st.integers(1, 5),
        },
    ),
)
def test_every_answer_keeps_to_the_schema(
    query: str, options: dict[str, Any], both: Root
) -> None:
    answer = both.pack_json(query, **options)
    jsonschema.validate(answer, schema())
    json.dumps(answer, allow_nan=False)


def test_entry_points_that_lead_nowhere_are_told_as_the_schema_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate_git(monkeypatch, tmp_path / "home")
    root = tmp_path / "root"
    write(root, {"a.py": "x = 1\ny = 2\n"})
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "all of it"]):
        run_git(root, *words)
    answer: Any = contextpackd.open(root).pack_json("", diff=True, focus=["a.py:3", "a.py:2-3"])
    jsonschema.validate(answer, schema())
    assert [
        ("no-focus", "in focus, but not there: a.py has 2 lines"),
        ("no-changes", "nothing that can be shown differs from HEAD"),
    ] == [(told["kind"], told["message"]) for told in answer["report"]["warnings"]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Root:
    root = tmp_path_factory.mktemp("both")
    for name in ("python-src", "js-app"):
        shutil.copytree(FIXTURES / name, root / name)
    return contextpackd.open(root)


def test_the_schema_knows_every_outcome_and_reason() -> None:
    text = json.dumps(schema())
    for value in (*Outcome, *Reason, *Detail):
        assert f'"{value.value}"' in text


def test_the_readme_names_the_commands_that_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("try", "test"):
        block = re.search(rf"<!-- {name} -->\n```bash\n(.+)\n```", readme)
        assert block is not None, name
        assert "pip install" in block[1]


def test_the_readmes_configurations_of_agents_start_our_server() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"<!-- agents -->\n```(json|toml)\n(.+?)\n```", readme, re.DOTALL)
    assert ["json", "json", "toml"] == [kind for kind, _ in blocks]
    for kind, text in blocks:
        document = json.loads(text) if kind == "json" else tomllib.loads(text)
        ((_, servers),) = document.items()
        server = servers["contextpack"]
        assert ("contextpackd", "mcp") == (server["command"], server["args"][0])
        assert agents.plain(server["args"][1:]) is not None


def test_the_extra_is_what_is_asked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [agents.REQUIREMENT] == project["optional-dependencies"]["mcp"]


def test_every_fixture_is_described() -> None:
    readme = (FIXTURES / "README.md").read_text(encoding="utf-8")
    for folder in FIXTURES.iterdir():
        assert folder.name == "README.md" or f"`{folder.name}/`" in readme


def test_nothing_speaks_of_other_machines() -> None:
    words = re.compile(r"/work/|\.library|pypi\.org|registry\.npmjs|deb\.debian")
    for file in ROOT.rglob("*"):
        is_ours = file.suffix in {".py", ".md", ".toml", ".yml", ".json", ""} and file.is_file()
        inside = file.relative_to(ROOT).parts
        if (
            not is_ours
            or (inside[0].startswith(".") and inside[0] != ".ci")
            or "cases" in inside
        ):
            continue
        if file == Path(__file__) or "conformance" in inside or "node_modules" in inside:
            continue
        assert not words.search(file.read_text(encoding="utf-8", errors="replace")), file


def test_the_version_is_the_packages() -> None:
    assert VERSION == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
