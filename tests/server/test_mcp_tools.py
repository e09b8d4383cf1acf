"""The tools of agents: what each takes and gives, and what it says of mistakes."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from contextpack.request import Request
from contextpackd import agents, door
from contextpackd.fields import Takes
from contextpackd.joint import MAX_ROOTS
from contextpackd.mcp.schemas import input_schema
from contextpackd.mcp.server import NOTE_BYTES, TOOLS
from contextpackd.mcp.session import MAX_KEPT
from contextpackd.options import OPTIONS
from harness.agents import begin, call, list_roots, note, problem, text
from harness.lsp_client import Client, Refused
from harness.lsp_inside import Gate, Inside, inside
from harness.paths import FIXTURES

QUERY = "objections to a checkout"


@pytest.fixture(scope="module")
def servers() -> Iterator[Inside]:
    with inside() as found:
        yield found


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


@pytest.fixture
def client(servers: Inside, shop: Path) -> Iterator[Client]:
    found = servers.agent(shop)
    begin(found)
    yield found
    servers.hang_up(found)
    assert 0 == servers.exit_code(found)


# What an agent reads.


def test_the_one_tool_with_all_options_has_them_from_the_table() -> None:
    shown = input_schema(TOOLS["pack_context"])["properties"]
    assert isinstance(shown, dict)
    assert {option.json_name for option in OPTIONS} < set(shown)
    for words in ("--", "(repeatable)", "(8k is", "(alone:"):
        assert not any(words in field["description"] for field in shown.values())
    for option in OPTIONS:
        assert shown[option.json_name].get("default") == json_default(option.field)


def json_default(field: str) -> object:
    value = getattr(Request(query=""), field)
    return None if value in (None, (), False) else value


def test_the_list_of_tools(client: Client) -> None:
    listed = client.request("tools/list")["tools"]
    assert list(TOOLS) == [tool["name"] for tool in listed]
    for tool in listed:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["annotations"]["readOnlyHint"] is True
        assert tool["title"] == tool["annotations"]["title"]
        # A client shows its model the structured part in place of the text.
        is_small = "outputSchema" in tool
        assert is_small == (TOOLS[tool["name"]].model is not None)
        assert is_small != ("page" in tool["inputSchema"]["properties"])
        mentioned = "every option of `pack_context`" in tool["description"]
        takes_all = TOOLS[tool["name"]].takes is Takes.ALL
        assert mentioned == (takes_all and tool["name"] != "pack_context")
    # Read before every task: what it costs an agent is part of the design.
    assert len(json.dumps([{k: t[k] for k in ("name", "description", "inputSchema")} for t in listed])) < 16_000  # fmt: skip


def test_what_the_schema_says_of_values_is_taken(servers: Inside, tmp_path: Path) -> None:
    """A value made by the schema alone may be refused for what it says, never for its type."""
    client = servers.agent(written(tmp_path / "desk", "a.py"))
    begin(client)
    shown = input_schema(TOOLS["pack_context"])["properties"]
    assert isinstance(shown, dict)
    made = {"string": "o200k", "integer": 3, "number": 0.5, "boolean": True, "array": [], "object": {}}  # fmt: skip
    for option in OPTIONS:
        schema = shown[option.json_name]
        for value in schema.get("enum", [made[schema["type"]]]):
            result = call(client, "search", query="checkout", **{option.json_name: value})
            said = problem(result) if result.get("isError") else ""
            assert not re.search("must (be (a|true|text|one)|hold) ", said), said


# What tools give.


@pytest.mark.parametrize("tool", ["search", "explain"])
def test_more_than_there_can_be_is_all_that_there_is(client: Client, tool: str) -> None:
    found = text(call(client, tool, query=QUERY, top=10**30, pageBytes=10**6))
    assert text(call(client, tool, query=QUERY, top=9999, pageBytes=10**6)) == found


def test_small_results_are_alike_as_text_and_as_structure(client: Client, shop: Path) -> None:
    schemas = {
        tool["name"]: tool.get("outputSchema") for tool in client.request("tools/list")["tools"]
    }
    bundle = call(client, "pack_manifest", query=QUERY)["structuredContent"]["bundle"]
    (shop / "src/lending/policy.py").write_text("loan = 1\n")
    for name, arguments in (
        ("pack_manifest", {"query": QUERY, "budgetTokens": 900}),
        ("why", {"query": QUERY, "path": "src/lending/fees.py"}),
        ("why", {"query": QUERY, "path": ".env"}),
        ("why", {"query": QUERY, "path": "src/lending/desk.py:30", "budgetTokens": 400}),
        ("verify", {"bundle": bundle}),
        ("status", {}),
    ):
        result = call(client, name, **arguments)
        jsonschema.validate(result["structuredContent"], schemas[name])
        assert json.loads(text(result)) == result["structuredContent"]
        assert 1 == len(result["content"])


def test_a_manifest_is_what_the_bundle_shows(client: Client, shop: Path) -> None:
    found = call(client, "pack_manifest", query=QUERY, budgetTokens=900)["structuredContent"]
    with door.open_root(shop) as root:
        pack: Any = root.pack_json(QUERY, 900)
    assert pack["tokens"] == found["tokens"]
    assert [(item["path"], item["ranges"], item["tokens"]) for item in pack["items"]] == [
        (file["path"], file["ranges"], file["tokens"]) for file in found["files"]
    ]
    assert found["nFiles"] == len(found["files"])
    assert pack["ledgerCounts"].items() >= found["leftOutCounts"].items()
    assert "secret" in found["leftOutCounts"]
    assert "whole" not in found["leftOutCounts"]
    assert "chunks" not in found["leftOutCounts"]
    assert all(
        entry["path"] not in {f["path"] for f in found["files"]} for entry in found["leftOut"]
    )
    assert pack["text"] == text(call(client, "pack_context", pageOf=found["bundle"]))


def test_why_and_the_other_answers_are_those_of_other_doors(client: Client, shop: Path) -> None:
    editor_answers = {}
    with door.open_root(shop) as root:
        editor_answers["why"] = root.why_json("src/lending/fees.py", QUERY, 900)
    found = call(client, "why", path="src/lending/fees.py", query=QUERY, budgetTokens=900)
    shown = {**found["structuredContent"], "freshness": "scanned"}
    assert {**editor_answers["why"], "freshness": "scanned"} == shown


@pytest.mark.parametrize("tool", ["explain", "search", "graph", "files"])
def test_documents_are_those_of_an_editor(
    servers: Inside, client: Client, shop: Path, tool: str
) -> None:
    editor = servers.connect()
    editor.initialize(shop)
    fields: dict[str, Any] = {"query": QUERY, "top": 4} if tool in ("explain", "search") else {}
    theirs = editor.command(tool, fields)
    for chunk in theirs.get("chunks", []) if tool == "search" else []:
        del chunk["uri"]
    assert theirs == json.loads(text(call(client, tool, **fields)))
    assert editor.untaken == []


def test_a_part_of_the_graph(client: Client) -> None:
    found = json.loads(
        text(
            call(client, "graph", paths=["src/lending/fees.py"], direction="importers", depth=1)
        )
    )
    assert ["src/lending/desk.py", "src/lending/fees.py"] in found["edges"]


def test_a_bundle_is_followed_after_edits(client: Client, shop: Path) -> None:
    given = call(client, "pack_context", query=QUERY, budgetTokens=2000)
    bundle = note(given).split()[1].rstrip(":")
    assert call(client, "verify", bundle=bundle)["structuredContent"]["holds"]
    assert "" == text(call(client, "refresh", bundle=bundle))
    file = shop / "src/lending/policy.py"
    file.write_text(file.read_text().replace("checkout", "lend_out"))
    broken = call(client, "verify", bundle=bundle)["structuredContent"]
    assert not broken["holds"]
    assert {"src/lending/policy.py"} == {entry["path"] for entry in broken["ranges"]}
    assert broken["nRanges"] > len(broken["ranges"])
    renewed = call(client, "refresh", bundle=bundle)
    assert "+++ the bundle (now)" in text(renewed)
    assert "lend_out" in text(renewed)
    new = note(renewed).partition("bundle ")[2].partition(":")[0]
    shown = text(call(client, "pack_context", pageOf=new))
    assert "lend_out" in shown
    assert call(client, "verify", text=shown)["structuredContent"]["holds"]
    # The new one is what the next question follows.
    assert "" == text(call(client, "refresh", bundle=new))
    about = call(client, "why", bundle=new, path="src/lending/policy.py")["structuredContent"]
    assert (2000, "in") == (about["budgetTokens"], about["state"])


def test_a_refreshed_bundle_follows_as_an_editors_does(
    servers: Inside, client: Client, shop: Path
) -> None:
    editor = servers.connect()
    editor.initialize(shop)
    question = {"query": QUERY, "budgetTokens": 2000}
    pack_id = editor.command("pack", question)["packId"]
    bundle = call(client, "pack_manifest", **question)["structuredContent"]["bundle"]
    (shop / "src/lending/objections.py").write_text("def objections_to_a_checkout(): ...\n")
    theirs = editor.command("pack", {"packId": pack_id})["text"]
    renewed = note(call(client, "refresh", bundle=bundle))
    name = renewed.partition("bundle ")[2].partition(":")[0]
    assert theirs == text(call(client, "pack_context", pageOf=name))
    assert theirs != text(call(client, "pack_context", **question))
    assert editor.untaken == []


def test_why_asks_of_the_bundle_that_is_named(client: Client, shop: Path) -> None:
    question = {"query": QUERY, "budgetTokens": 900, "exclude": ["src/lending/fees.py"]}
    bundle = call(client, "pack_manifest", **question)["structuredContent"]["bundle"]
    (shop / "src/lending/fees.py").unlink()
    # A glob that named something then may name nothing now.
    found = call(client, "why", bundle=bundle, path="README.md")["structuredContent"]
    assert (QUERY, 900) == (found["query"], found["budgetTokens"])
    assert "matches no file" in problem(call(client, "why", **question, path="README.md"))


def test_a_stamped_text_is_asked_again(client: Client, shop: Path) -> None:
    stamped = text(call(client, "pack_context", query=QUERY, budgetTokens=900, stamp=True))
    assert "" == text(call(client, "refresh", text=stamped))
    bare = text(call(client, "pack_context", query=QUERY, budgetTokens=900))
    assert "does not say what was asked" in problem(call(client, "refresh", text=bare))


def test_a_bundle_says_what_is_odd(client: Client, shop: Path) -> None:
    (shop / ".contextpack.toml").write_text("budget-tokens = 'lots'\n")
    said = note(call(client, "pack_context", query="zzyzx"))
    assert "nowhere in the workspace: zzyzx" in said
    assert "the bundle is empty" in said
    assert "settings key `budget-tokens` must be a whole number" in said
    assert "chosen by structure" in note(call(client, "pack_context", query=""))


# Pages.


@pytest.mark.parametrize("size", [2_000, 3_001, 9_000, 60_000])
def test_pages_join_to_the_bundle_and_stay_below_the_cut(
    client: Client, shop: Path, size: int
) -> None:
    question = {"query": QUERY, "budgetTokens": 4000}
    whole = text(call(client, "pack_context", **question))
    result = call(client, "pack_context", **question, pageBytes=size)
    parts = [text(result)]
    while "; the next one: pack_context " in note(result):
        assert sum(len(block["text"].encode()) for block in result["content"]) <= size
        # Whatever happens in between, the pages are of one text.
        (shop / "src/lending/desk.py").write_text(f"checkout = {len(parts)}\n")
        rest = note(result).partition("pack_context ")[2].partition(". ")[0]
        result = call(client, "pack_context", **json.loads(rest))
        parts.append(text(result))
    assert whole == "".join(parts)
    assert (len(parts) > 1) == (len(whole.encode()) > size - NOTE_BYTES)


@pytest.mark.parametrize("tool", ["explain", "search", "graph", "files"])
def test_documents_come_in_pages_too(client: Client, tool: str) -> None:
    asked = {"query": QUERY, "top": 40} if tool in ("explain", "search") else {}
    whole = text(call(client, tool, **asked))
    result = call(client, tool, **asked, pageBytes=2_000)
    parts = [text(result)]
    while "; the next one: " in note(result):
        rest = note(result).partition(f"{tool} ")[2]
        result = call(client, tool, **json.loads(rest))
        parts.append(text(result))
    assert whole == "".join(parts)
    assert len(parts) > 1


def test_the_id_is_that_of_the_question_and_its_text(client: Client) -> None:
    asked = {"query": QUERY, "budgetTokens": 900}
    named = [
        note(call(client, "pack_context", **asked, **more)).split("bundle ")[1].split(":")[0]
        for more in ({}, {"pageBytes": 3_000}, {"dedup": 0.96}, {"tree": True})
    ]
    named.append(call(client, "pack_manifest", **asked)["structuredContent"]["bundle"])
    assert named[0] == named[1] == named[4]
    assert 3 == len(set(named))


def test_a_page_that_is_not_there(client: Client) -> None:
    assert "page must be at most 1, got 2" == problem(
        call(client, "pack_context", query=QUERY, page=2)
    )


def test_the_last_results_are_kept(client: Client) -> None:
    def bundle(number: int) -> str:
        result = call(client, "pack_context", query=QUERY, budgetTokens=400 + 40 * number)
        return note(result).split()[1].rstrip(":")

    names = [bundle(number) for number in range(MAX_KEPT)]
    assert MAX_KEPT == len(set(names))
    # What is asked for once more counts as new.
    assert names[0] == bundle(0)
    bundle(MAX_KEPT)
    assert "names nothing that is kept" in problem(call(client, "verify", bundle=names[1]))
    for name in (names[0], names[2]):
        assert call(client, "verify", bundle=name)["structuredContent"]["holds"]


# Mistakes.

MISTAKES: list[tuple[str, dict[str, object], str]] = [
    ("pack_context", {}, "query must be given"),
    ("pack_context", {"query": 1}, "query must be text"),
    ("pack_context", {"query": QUERY, "budgetTokens": 0}, "budgetTokens must be positive, got 0"),
    ("pack_context", {"query": QUERY, "budgetTokens": "lots"}, "budgetTokens must be a whole number"),
    ("pack_context", {"query": QUERY, "depth": 3}, "depth needs a file to begin at: give origins"),
    ("pack_context", {"query": QUERY, "budgt": 3}, "budgt is no field; there are query, root,"),
    ("pack_context", {"query": QUERY, "pins": ["no/such.py"]}, "is no file below"),
    ("pack_context", {"query": QUERY, "include": ["*.zig"]}, "matches no file below"),
    ("pack_context", {"query": QUERY, "root": "/etc"}, "start the server with `--root DIR`"),
    ("pack_context", {"query": QUERY, "root": "."}, "root must be one of /"),
    ("pack_context", {"query": QUERY, "roots": []}, f"roots must be a list of 1 to {MAX_ROOTS}"),
    ("pack_context", {"query": QUERY, "pageBytes": 100}, f"must be {agents.MIN_PAGE_BYTES} or more"),
    ("pack_context", {"pageOf": "abc"}, "names nothing that is kept: 'abc'"),
    ("pack_context", {"query": QUERY, "top": 3}, "top is no field"),
    ("explain", {}, "query must be given"),
    ("search", {"top": 3}, "query must be given"),
    ("explain", {"query": QUERY, "top": 0}, "top must be a whole number above 0"),
    ("why", {"query": QUERY}, "path must be text that is not empty"),
    ("why", {"path": "README.md"}, "query must be given"),
    ("why", {"query": QUERY, "path": "no/such.py"}, "no/such.py"),
    ("graph", {"paths": ["no/such.py"]}, "paths no/such.py is no file below"),
    ("verify", {}, "bundle must be given, or `text`"),
    ("verify", {"text": "no bundle"}, "shows no lines of files as a bundle does"),
    ("status", {"query": QUERY}, "query is no field; there are none"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "said"), MISTAKES)
def test_a_mistake_is_a_result_that_says_what_to_do(
    client: Client, tool: str, arguments: dict[str, object], said: str
) -> None:
    result = call(client, tool, **arguments)
    assert said in problem(result)
    assert "structuredContent" not in result
    assert "internal error" not in problem(result)


def test_a_result_that_is_no_bundle_cannot_be_one(client: Client) -> None:
    result = call(client, "files", pageBytes=2_000)
    name = json.loads(note(result).partition("files ")[2])["pageOf"]
    assert "is no bundle" in problem(call(client, "verify", bundle=name))


# Roots.


def written(root: Path, name: str) -> Path:
    root.mkdir()
    (root / name).write_text("def checkout():\n    return 1\n")
    return root


def test_several_roots_are_one_unless_one_is_named(servers: Inside, tmp_path: Path) -> None:
    desk, till = written(tmp_path / "desk", "a.py"), written(tmp_path / "till", "b.py")
    client = servers.agent(till, desk)
    begin(client)

    def paths(**where: object) -> list[str]:
        found = call(client, "pack_manifest", query="checkout", dedup=1, **where)
        return sorted(file["path"] for file in found["structuredContent"]["files"])

    assert ["desk/a.py", "till/b.py"] == paths()
    assert ["desk/a.py", "till/b.py"] == paths(roots=["desk", str(till)])
    assert ["a.py"] == paths(root="desk")
    assert ["b.py"] == paths(root=till.as_uri())
    both = call(client, "pack_manifest", query="checkout")["structuredContent"]["bundle"]
    assert "is of several roots" in problem(call(client, "verify", bundle=both))
    assert f"root must be given, as one of {desk}, {till}" == problem(call(client, "graph"))
    assert "cannot be given together" in problem(
        call(client, "files", root="desk", roots=["till"])
    )


def test_the_clients_roots_are_asked_for_once_and_after_they_changed(
    servers: Inside, tmp_path: Path
) -> None:
    desk, till = written(tmp_path / "desk", "a.py"), written(tmp_path / "till", "b.py")
    client = servers.agent()
    begin(client, roots=(desk, tmp_path / "gone"))

    def roots() -> list[str]:
        return [r["root"] for r in call(client, "status")["structuredContent"]["roots"]]

    assert [str(desk)] == roots()
    # Nobody is asked again while nothing changed.
    list_roots(client, till)
    assert [str(desk)] == roots()
    client.notify("notifications/roots/list_changed")
    assert [str(till)] == roots()
    asked = [message for message in client.taken if message.get("method") == "roots/list"]
    assert 2 == len(asked)
    held = {h.workspace.root for h in servers.roots.held if h.n_users}
    assert (True, False) == (till in held, desk in held)
    servers.hang_up(client)
    servers.exit_code(client)
    assert till not in {h.workspace.root for h in servers.roots.held if h.n_users}


def test_a_bundle_of_a_root_that_was_taken_away_is_not_asked_about(
    servers: Inside, tmp_path: Path
) -> None:
    desk, till = written(tmp_path / "desk", "a.py"), written(tmp_path / "till", "b.py")
    client = servers.agent()
    begin(client, roots=(desk, till))
    bundle = call(client, "pack_manifest", query="checkout", root="desk")["structuredContent"]["bundle"]  # fmt: skip
    assert call(client, "verify", bundle=bundle)["structuredContent"]["holds"]
    list_roots(client, till)
    client.notify("notifications/roots/list_changed")
    for tool, more in (("verify", {}), ("refresh", {}), ("why", {"path": "a.py"})):
        said = problem(call(client, tool, bundle=bundle, **more))
        assert f"bundle is of {desk}, no root any more; pack again" == said
    servers.hang_up(client)
    servers.exit_code(client)


def test_without_any_root_it_is_said_what_to_do(servers: Inside, tmp_path: Path) -> None:
    nobody, refusing, gone = servers.agent(), servers.agent(), servers.agent(tmp_path / "gone")
    begin(nobody)
    begin(refusing, roots=())
    refusing.answers["roots/list"] = Refused({"code": -32603, "message": "no"})
    begin(gone)
    for client in (nobody, refusing):
        assert "the client lists none; start the server with" in problem(call(client, "files"))
    assert "gone does not exist" in problem(call(gone, "files"))


# Work that is given up, or that takes a while.


N_FILES = 40


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    for number in range(N_FILES):
        (root / f"m{number:02}.py").write_text(f"def loan_{number}():\n    return {number}\n")
    return root


def test_a_cancelled_call_stops_and_is_not_answered(tree: Path) -> None:
    gate = Gate(5)
    with inside(gate) as servers:
        client = servers.agent(tree)
        begin(client)
        params = {"name": "pack_context", "arguments": {"query": "loan"}}
        msg_id = client.begin("tools/call", params)
        assert gate.reached.wait(60)
        client.notify("notifications/cancelled", {"requestId": msg_id, "reason": "enough"})
        assert {} == client.request("ping")
        gate.go_on.set()
        servers.on_loop(servers.roots.ask(tree, lambda _w, _p: None, lambda _d, _t: None))
        assert gate.n_texts < N_FILES / 2
        assert "loan_1" in text(call(client, "pack_context", query="loan"))
        # Nobody asked to hear of progress, and what was given up has no answer.
        assert [] == client.untaken


def test_progress_grows_while_the_work_goes_on(tree: Path) -> None:
    gate = Gate(20)
    with inside(gate) as servers:
        client = servers.agent(tree)
        begin(client)
        params = {"name": "pack_context", "arguments": {"query": "loan"}, "_meta": {"progressToken": 7}}  # fmt: skip
        msg_id = client.begin("tools/call", params)
        assert gate.reached.wait(60)
        told = [client.notification("notifications/progress")]
        gate.go_on.set()
        assert "loan_1" in text(client.answer(msg_id))
        told += [message["params"] for message in client.untaken]
        done = [params["progress"] for params in told]
        assert done == sorted(set(done))
        assert 0 < done[0] < 20
        assert {(7, N_FILES)} == {(params["progressToken"], params["total"]) for params in told}
        # Nothing comes after the answer.
        assert {} == client.request("ping")
        assert len(told) == len(client.untaken) + 1


def test_a_fault_of_ours_is_answered_and_the_next_call_works(shop: Path) -> None:
    def faulty() -> Any:
        raise ZeroDivisionError("inside")

    with inside(cache=faulty) as servers:
        client = servers.agent(shop)
        begin(client)
        with pytest.raises(Refused) as refused:
            call(client, "status")
        assert -32603 == refused.value.code
        assert "internal error (ZeroDivisionError); see the log" == refused.value.message
        assert "checkout" in text(call(client, "pack_context", query=QUERY))
