"""Settings rise, a repository cannot loosen them, and a bad one leaves the one below."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import contextpackd
from contextpackd import settings
from contextpackd.batch import answers
from contextpackd.settings import NONE, client, repository
from harness.lsp_inside import inside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(5):
        text = f"def loan_{number}():\n    '''A loan of {number}.'''\n    return {number}\n"
        (tmp_path / f"m{number}.py").write_text(text * 5)
    return tmp_path


def said(found: settings.Settings) -> list[str]:
    return [str(problem) for problem in found.problems]


def test_pyproject_has_a_table_for_us(root: Path) -> None:
    (root / "pyproject.toml").write_text(
        '[tool.contextpack]\nbudget-tokens = "2k"\ntree = true\n'
    )
    assert {"budget_tokens": "2k", "tree": True} == dict(repository(root).values)


def test_a_file_of_our_own_wins_over_pyproject(root: Path) -> None:
    (root / "pyproject.toml").write_text("[tool.contextpack]\ntree = true\n")
    (root / ".contextpack.toml").write_text('exclude = ["m1.py"]\n')
    assert {"exclude": ["m1.py"]} == dict(repository(root).values)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("budget-tokens = 9000", "may only lower the limit of 8000, got 9000"),
        ("max-file-bytes = 2000000", "may only lower the limit of 1048576"),
        ('include = ["secret/"]', "cannot be set here"),
        ('pins = ["a.py"]', "cannot be set here"),
        ('details = ["a.py=whole"]', "cannot be set here"),
        ('ledger = "all"', "cannot be set here"),
        ('command = "rm"', "is no setting"),
        ("budgetTokens = 5", "is no setting"),
        ("budget-tokens = 0", "must be positive, got 0"),
        ('strategy = "best"', "must be one of greedy"),
        ("dedup = nan", "must be a number"),
        ("mmr-lambda = 3", "must be between 0 and 1"),
    ],
)
def test_a_repository_cannot_loosen_or_break_anything(
    root: Path, line: str, problem: str
) -> None:
    (root / ".contextpack.toml").write_text(f"tree = true\n{line}\n")
    found = repository(root)
    assert {"tree": True} == dict(found.values)
    assert 1 == len(found.problems)
    assert problem in said(found)[0]
    assert f".contextpack.toml: settings key `{line.partition(' ')[0]}`" in said(found)[0]


def test_what_cannot_be_read_is_a_problem_or_nothing(root: Path) -> None:
    (root / "pyproject.toml").write_text("not = [toml\n")
    assert NONE == repository(root)
    (root / "pyproject.toml").write_text("[tool.contextpack\nnot = [toml\n")
    assert "cannot be read" in said(repository(root))[0]
    (root / "pyproject.toml").write_text("[tool]\ncontextpack = 5\n")
    assert "must be a table" in said(repository(root))[0]
    (root / "pyproject.toml").write_bytes(b"# tool.contextpack\n\xff\n")
    assert "cannot be read" in said(repository(root))[0]
    (root / ".contextpack.toml").mkdir()
    assert "cannot be read" in said(repository(root))[0]


def test_a_link_is_nothing_that_the_repository_says(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.toml").write_text("tree = true\n")
    (root / ".contextpack.toml").symlink_to(tmp_path / "elsewhere.toml")
    assert NONE == repository(root)


def test_a_bad_value_of_the_client_leaves_the_one_before() -> None:
    first = client({"budgetTokens": "4k", "tree": True, "task": None}, NONE)
    assert {"budget_tokens": "4k", "tree": True} == dict(first.values)
    second = client({"budgetTokens": "big", "tree": False}, first)
    assert {"budget_tokens": "4k", "tree": False} == dict(second.values)
    expected = "client: settings key `budgetTokens` must be a whole number, such as 8000 or 8k"
    assert [expected] == said(second)
    assert {} == dict(client(None, second).values)
    assert dict(second.values) == dict(client(5, second).values)


@given(
    st.dictionaries(
        st.sampled_from(["budgetTokens", "dedup", "strategy", "include", "model", "x", "tree"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
        | st.lists(st.text(max_size=5), max_size=3) | st.dictionaries(st.text(), st.none(), max_size=2),
    )
)  # fmt: skip
def test_whatever_a_client_sets_a_request_can_be_made(document: dict[str, object]) -> None:
    found = client(document, NONE)
    contextpackd.options.request_of("q", dict(found.values), lambda option: option.field)
    assert len(found.values) + len(found.problems) == sum(
        value is not None for value in document.values()
    )


def test_all_doors_take_the_repositorys_settings(root: Path) -> None:
    plain = contextpackd.open(root).pack("loan").text
    (root / ".contextpack.toml").write_text('text-format = "xml"\nexclude = ["m1.py"]\n')
    door = contextpackd.open(root).pack_json("loan")
    assert door["text"] != plain
    assert "m1.py" not in str(door["items"])
    line = json.dumps({"root": str(root), "query": "loan"})
    assert door == json.loads(next(answers([line], force=False)))
    with inside() as servers:
        editor = servers.connect()
        editor.initialize(root)
        assert door["text"] == editor.command("pack", {"query": "loan"})["text"]
        # The client's rise over them, and the command's over both.
        editor.notify(
            "workspace/didChangeConfiguration",
            {"settings": {"contextpack": {"textFormat": "plain", "budgetTokens": 100}}},
        )
        mine = editor.command("pack", {"query": "loan"})
        assert ("plain", 100) == (mine["report"]["format"], mine["budgetTokens"])
        asked = editor.command("pack", {"query": "loan", "textFormat": "markdown"})
        assert ("markdown", 100) == (asked["report"]["format"], asked["budgetTokens"])


def test_a_problem_is_shown_once(root: Path) -> None:
    (root / ".contextpack.toml").write_text("budget-tokens = 9000\n")
    with inside() as servers:
        editor = servers.connect()
        editor.initialize(root)
        for _ in range(3):
            editor.command("pack", {"query": "loan"})
        told = editor.notification("window/showMessage")
        assert "may only lower the limit" in told["message"]
        editor.shut_down()
        assert [] == editor.end()


def test_a_client_is_asked_for_its_settings(root: Path) -> None:
    with inside() as servers:
        editor = servers.connect()
        editor.answers["workspace/configuration"] = [{"budgetTokens": 150}]
        able = {"workspace": {"configuration": True}}
        editor.initialize(root, capabilities=able)
        request = editor.wait_for_request("workspace/configuration")
        assert [{"section": "contextpack"}] == request["params"]["items"]
        assert 150 == editor.command("pack", {"query": "loan"})["budgetTokens"]
        editor.answers["workspace/configuration"] = [None]
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        editor.wait_for_request("workspace/configuration")
        assert 8000 == editor.command("pack", {"query": "loan"})["budgetTokens"]


def test_initialization_options_may_bring_settings(root: Path) -> None:
    with inside() as servers:
        editor = servers.connect()
        editor.initialize(root, options={"settings": {"budgetTokens": 200}})
        assert 200 == editor.command("pack", {"query": "loan"})["budgetTokens"]


def test_globs_to_exclude_add_up_at_all_doors(root: Path) -> None:
    """Somebody who takes one file out does not let in what the repository leaves out."""
    (root / ".contextpack.toml").write_text('exclude = ["m1.py"]\n')
    found = contextpackd.open(root).pack("loan", exclude=["m2.py"])
    assert ["m0.py", "m3.py", "m4.py"] == sorted(item.path for item in found.items)
    line = json.dumps({"root": str(root), "query": "loan", "exclude": ["m2.py"]})
    assert found.text == json.loads(next(answers([line], force=False)))["text"]
    with inside() as servers:
        editor = servers.connect()
        editor.initialize(root)
        editor.notify(
            "workspace/didChangeConfiguration",
            {"settings": {"contextpack": {"exclude": ["m3.py"]}}},
        )
        mine = editor.command("pack", {"query": "loan", "exclude": ["m2.py"]})
        assert ["m0.py", "m4.py"] == sorted(item["path"] for item in mine["items"])
        editor.shut_down()
        assert [] == editor.end()


def test_settings_that_come_after_the_first_question_count_for_it(root: Path) -> None:
    with inside() as servers:
        editor = servers.connect()
        editor.initialize(root, capabilities={"workspace": {"configuration": True}})
        asked = editor.begin(
            "workspace/executeCommand",
            {"command": "contextpack.pack", "arguments": [{"query": "loan"}]},
        )
        editor.answers["workspace/configuration"] = [{"budgetTokens": 150}]
        assert 150 == editor.answer(asked)["budgetTokens"]
        editor.shut_down()
        assert [] == editor.end()
