"""Entry points besides words, at every door: flags, JSON lines, Python, and editors."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import contextpackd
from contextpack.request import Focus
from contextpack.text import Lines
from contextpackd import batch, cli
from contextpackd.errors import OptionProblem
from contextpackd.options import request_of
from harness.lsp_client import Client, Refused
from harness.paths import FIXTURES
from harness.trees import isolate_git, run_git

FEES = "src/lending/fees.py"
POLICY = "src/lending/policy.py"
DESK = "src/lending/desk.py"
CHANGED = "contextpack/packChanged"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a commit, after which the fees changed."""
    isolate_git(monkeypatch, tmp_path / "home")
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    run_git(root, "init", "-q")
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "first")
    change(root / FEES)
    return root


def change(file: Path) -> None:
    """Put a new line at the end of the last function of a file."""
    file.write_text(file.read_text().rstrip("\n") + "  # changed\n")


def without(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def paths(document: dict[str, Any]) -> list[str]:
    return [item["path"] for item in document["items"]]


def read(value: object) -> tuple[Focus, ...]:
    return request_of("", {"focus": [value]}, lambda option: option.field).focus


def at(first: int, begin: int, last: int, end: int) -> dict[str, dict[str, int]]:
    return {
        "start": {"line": first, "character": begin},
        "end": {"line": last, "character": end},
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a.py", Focus("a.py")),
        ("a.py:3", Focus("a.py", Lines(3, 3))),
        ("a.py:3-9", Focus("a.py", Lines(3, 9))),
        ("a:b.py:3-9", Focus("a:b.py", Lines(3, 9))),
        ("a.py:x", Focus("a.py:x")),
        ("a\nb.py:3", Focus("a\nb.py", Lines(3, 3))),
        ({"path": "a.py:3"}, Focus("a.py:3")),
        ({"path": "a.py", "lines": [3, 9]}, Focus("a.py", Lines(3, 9))),
        # A cursor; a selection of one line and of two; whole lines, which end before the next.
        ({"path": "a.py", "range": at(2, 4, 2, 4)}, Focus("a.py", Lines(3, 3))),
        ({"path": "a.py", "range": at(2, 0, 2, 9)}, Focus("a.py", Lines(3, 3))),
        ({"path": "a.py", "range": at(2, 4, 3, 1)}, Focus("a.py", Lines(3, 4))),
        ({"path": "a.py", "range": at(2, 0, 4, 0)}, Focus("a.py", Lines(3, 4))),
        ({"path": "a.py", "range": at(0, 0, 0, 0)}, Focus("a.py", Lines(1, 1))),
        ({"path": "a.py", "optional": True}, Focus("a.py", None, is_optional=True)),
    ],
)
def test_a_place_may_be_written_in_several_ways(value: object, expected: Focus) -> None:
    assert (expected,) == read(value)


@pytest.mark.parametrize(
    "value",
    [
        "", "a.py:9-3", "a.py:0", 3, None, {}, {"path": ""}, {"path": 3}, {"path": "a", "line": 3},
        {"path": "a", "lines": 3}, {"path": "a", "lines": [3]}, {"path": "a", "lines": [0, 1]},
        {"path": "a", "lines": [1, 10**16]}, {"path": "a", "lines": ["1", "2"]},
        {"path": "a", "range": [1, 2]}, {"path": "a", "range": {"start": {"line": 1}}},
        {"path": "a", "range": at(3, 0, 2, 0)}, {"path": "a", "range": at(-1, 0, 2, 0)},
        {"path": "a", "range": at(1, 0, 2, -1)}, {"path": "a", "range": at(0, 0, 10**16, 0)},
        {"path": "a", "lines": [1, 2], "range": at(0, 0, 1, 0)},
    ],
)  # fmt: skip
def test_what_is_no_place_is_refused(value: object) -> None:
    with pytest.raises(OptionProblem, match="focus"):
        read(value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [(True, "HEAD"), (False, None), (None, None), ("v1.0", "v1.0")],
)
def test_a_revision_is_its_name_or_that_there_is_one(given: object, expected: object) -> None:
    assert expected == request_of("", {"diff": given}, lambda option: option.field).diff


@pytest.mark.parametrize("given", ["", "-x", "a\0b", "\ud800"])
def test_what_no_commit_can_be_called_is_refused(given: str) -> None:
    with pytest.raises(OptionProblem, match="diff must be the name of a commit"):
        request_of("", {"diff": given}, lambda option: option.field)


QUESTIONS: list[tuple[list[str], dict[str, Any]]] = [
    (["--focus", f"{FEES}:10-20", "--focus", DESK], {"focus": [f"{FEES}:10-20", DESK]}),
    (["--from", DESK, "--depth", "1"], {"origins": [DESK], "depth": 1}),
    (["--from", FEES, "--importers"], {"origins": [FEES], "importers": True}),
    (["--diff"], {"diff": True}),
    (["--staged"], {"staged": True}),
    (
        ["--diff=HEAD", "--focus", POLICY, "--from", DESK],
        {"diff": "HEAD", "focus": [POLICY], "from": [DESK]},
    ),
]


@pytest.mark.parametrize("words", ["", "late fee"])
@pytest.mark.parametrize(("flags", "fields"), QUESTIONS, ids=lambda value: str(value)[:30])
def test_every_door_gives_the_same_answer(
    client: Client,
    shop: Path,
    words: str,
    flags: list[str],
    fields: dict[str, Any],
    capfd: pytest.CaptureFixture[str],
) -> None:
    run_git(shop, "add", ".")
    query = [words] if words else []  # A task is not needed.
    code = cli.run(["pack", *query, *flags, "--root", str(shop), "--format", "json"])
    by_flags = json.loads(capfd.readouterr().out)
    assert (cli.OK, True) == (code, bool(by_flags["items"]))
    assert not by_flags["report"]["fallback"]
    line = json.dumps({"root": str(shop), "query": words, **fields})
    (by_line,) = batch.answers([line], force=False)
    assert by_flags == json.loads(by_line)
    options = {{"from": "origins"}.get(name, name): value for name, value in fields.items()}
    with contextpackd.open(shop) as root:
        assert by_flags == root.pack_json(words, **options)
    client.initialize(shop)
    pack = client.command("pack", {"query": words, **fields})
    same = without(pack, "packId", "complete", "freshness")
    assert without(by_flags, "freshness") == same


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "QUERY must be given, or --focus, --from, --diff"),
        (["late fee", "--depth", "3"], "--depth needs a file to begin at: give --from"),
        (["--diff", "--importers"], "--importers needs a file to begin at: give --from"),
        (["--from", FEES, "--only", DESK], "--from cannot be with --only, which ranks nothing"),
        (["--diff", "--only", DESK], "--diff cannot be with --only, which ranks nothing"),
        (["--focus", "nobody.py"], "focus nobody.py is no file below"),
        (["--focus", ".env:1"], "focus .env cannot be in a bundle: .env is secret"),
        (["--focus", f"{FEES}:9-3"], "--focus must have lines as [first, last]"),
        (["--from", ".env"], "from .env cannot be in a bundle: .env is secret"),
        (["--from", "src"], "from src is no file below"),
        (["--from", FEES, "--depth", "0"], "--depth must be at least 1"),
        (["--diff=-x"], "--diff must be the name of a commit, got -x"),
        (
            ["--diff", "late fees"],
            "diff names no commit here: 'late fees'; give the task first",
        ),
    ],
    ids=str,
)
def test_what_leads_nowhere_is_one_line(
    shop: Path, flags: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.USAGE == cli.run(["pack", *flags, "--root", str(shop)])
    said = capfd.readouterr()
    assert message in said.err
    assert ("", 1) == (said.out, said.err.count("\n"))


def test_explain_names_the_imports_and_the_parts(
    shop: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = ["--root", str(shop)]
    assert cli.OK == cli.run(["explain", "--from", DESK, *root, "--format", "json"])
    files = json.loads(capfd.readouterr().out)["files"]
    assert (DESK, None) == (files[0]["path"], files[0].get("imports"))
    assert all(f["imports"][0] == DESK and f["imports"][-1] == f["path"] for f in files[1:])
    assert all(f["score"] == pytest.approx(sum(f["parts"].values()), abs=1e-5) for f in files)
    assert cli.OK == cli.run(["explain", "--from", DESK, *root])
    assert f"{DESK} → {POLICY}" in capfd.readouterr().out
    assert cli.OK == cli.run(["explain", "--diff", *root])
    assert "changed" in capfd.readouterr().out


def test_a_bundle_with_entry_points_is_asked_again(
    shop: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bundle = shop.parent / "bundle.md"
    entry = ["--focus", f"{POLICY}:5-9", "--diff", "--from", DESK]
    made = ["pack", *entry, "--root", str(shop), "--stamp", "--output", str(bundle)]
    assert cli.OK == cli.run(made)
    before = bundle.read_text()
    change(shop / POLICY)
    assert cli.OK == cli.run(["refresh", str(bundle), "--root", str(shop), "--write"])
    capfd.readouterr()
    after = bundle.read_text()
    assert (before.count("  # changed\n"), after.count("  # changed\n")) == (1, 2)
    assert cli.OK == cli.run(["pack", *entry, "--root", str(shop)])
    assert f"`{POLICY}" in capfd.readouterr().out


# What editors send.


def test_what_an_editor_shows_may_be_no_candidate(client: Client, shop: Path) -> None:
    client.initialize(shop)
    shown = [
        {"uri": "untitled:Untitled-1", "range": at(0, 0, 3, 0)},
        {"uri": (shop / ".env").as_uri()},
        {"uri": (shop.parent / "elsewhere.py").as_uri()},
        {"uri": (shop / FEES).as_uri(), "range": at(3, 0, 9, 0)},
    ]
    pack = client.command("pack", {"query": "", "focus": shown})
    assert FEES == paths(pack)[0]
    warnings = [w["message"] for w in pack["report"]["warnings"] if w["kind"] == "no-focus"]
    assert 3 == len(warnings)
    assert "untitled:Untitled-1 is no file below" in warnings[0]
    assert ".env is secret" in warnings[1]
    assert "elsewhere.py is no file below" in warnings[2]
    # Nothing is left to look at: the workspace as such.
    pack = client.command("pack", {"query": "", "focus": shown[:2]})
    assert pack["report"]["fallback"]
    words = client.command("pack", {"query": "late fee", "focus": shown[:2]})
    assert client.command("pack", {"query": "late fee"})["text"] == words["text"]


def test_a_text_must_name_a_candidate(client: Client, shop: Path) -> None:
    client.initialize(shop)
    with pytest.raises(Refused, match=r"focus nobody.py is no file"):
        client.command("pack", {"query": "", "focus": ["nobody.py:3"]})
    with pytest.raises(Refused, match=r"focus must have a range"):
        client.command("pack", {"query": "", "focus": [{"uri": "file:///a", "range": 3}]})
    with pytest.raises(Refused, match=r"from nobody.py is no file"):
        client.command("explain", {"query": "", "from": ["nobody.py"]})


def test_a_range_lifts_its_lines_and_origins_may_be_uris(client: Client, shop: Path) -> None:
    client.initialize(shop)
    where = {"uri": (shop / FEES).as_uri(), "range": at(30, 2, 30, 5)}
    (best,) = client.command("search", {"query": "", "focus": [where], "top": 1})["chunks"]
    assert FEES == best["path"]
    assert best["lines"][0] <= 31 <= best["lines"][1]
    origin = (shop / FEES).as_uri()
    found = client.command("explain", {"query": "", "origins": [origin], "importers": True})
    ways = {file["path"]: file.get("imports") for file in found["files"]}
    assert (None, [DESK, FEES]) == (ways[FEES], ways[DESK])


def test_unsaved_lines_are_changes(client: Client, shop: Path) -> None:
    client.initialize(shop)
    policy = shop / POLICY
    document = {"uri": policy.as_uri(), "languageId": "python", "version": 1}
    text = policy.read_text().replace("import", "import  # here\n", 1)
    client.notify("textDocument/didOpen", {"textDocument": {**document, "text": text}})
    found = client.command("explain", {"query": "", "diff": True})
    changed = [f["path"] for f in found["files"] if "changed" in f["parts"]]
    assert sorted([FEES, POLICY]) == sorted(changed)
    client.notify("textDocument/didClose", {"textDocument": {"uri": policy.as_uri()}})
    assert [FEES] == [
        f["path"]
        for f in client.command("explain", {"query": "", "diff": True})["files"]
        if "changed" in f["parts"]
    ]


def test_a_live_pack_takes_the_difference_anew(client: Client, shop: Path) -> None:
    client.initialize(shop)
    pack = client.command("pack", {"query": "", "diff": True, "budgetTokens": 20_000})
    client.command("live", {"packId": pack["packId"], "on": True})
    assert FEES == paths(pack)[0]
    change(shop / POLICY)
    client.notify("textDocument/didSave", {"textDocument": {"uri": (shop / POLICY).as_uri()}})
    assert client.notification(CHANGED)["packId"] == pack["packId"]
    again = client.command("pack", {"packId": pack["packId"], "ledger": "all"})
    parts = {item["path"]: item["parts"] for item in again["items"]}
    assert parts[POLICY]["changed"] > 0 < parts[FEES]["changed"]
    # A commit is a change of files, too: nothing is different any more.
    run_git(shop, "commit", "-qam", "second")
    client.command("live", {"packId": pack["packId"], "on": False})
    done = client.command("pack", {"packId": pack["packId"]})
    assert [] == done["items"]
    assert "no-changes" in [w["kind"] for w in done["report"]["warnings"]]


def test_a_live_pack_keeps_its_focus_when_the_file_goes(client: Client, shop: Path) -> None:
    client.initialize(shop)
    focus = [{"uri": (shop / FEES).as_uri()}]
    pack = client.command("pack", {"query": "", "focus": focus})
    client.command("live", {"packId": pack["packId"], "on": True})
    (shop / FEES).unlink()
    gone = [{"uri": (shop / FEES).as_uri(), "type": 3}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": gone})
    assert FEES in client.notification(CHANGED)["removed"]
