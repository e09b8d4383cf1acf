"""Cancellation and progress: who gives up gets an answer at once, and the work stops."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextpackd.errors import Stopped
from contextpackd.options import request_of
from contextpackd.queries import answer
from contextpackd.store import Store
from contextpackd.workspace import Workspace, engine
from harness.lsp_client import Client, Refused, command
from harness.lsp_inside import Gate, Inside, inside

N_FILES = 40


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    for number in range(N_FILES):
        (root / f"m{number:02}.py").write_text(f"def loan_{number}():\n    return {number}\n")
    return root


@pytest.fixture
def gate() -> Iterator[Gate]:
    found = Gate(5)
    yield found
    found.go_on.set()


def settled(servers: Inside, root: Path) -> None:
    servers.on_loop(servers.roots.ask(root, lambda _w, _p: None, lambda _d, _t: None))


def begin(client: Client, query: str = "loan", **params: object) -> int:
    return client.begin("workspace/executeCommand", command("pack", {"query": query}, **params))


def cancel(client: Client, msg_id: int) -> None:
    client.notify("$/cancelRequest", {"id": msg_id})


def cancelled(client: Client, msg_id: int) -> bool:
    with pytest.raises(Refused) as refused:
        client.answer(msg_id)
    return bool(refused.value.code == -32800)


def test_a_cancelled_request_stops_indexing(tree: Path, gate: Gate) -> None:
    with inside(gate) as servers:
        client = servers.connect()
        client.initialize(tree)
        msg_id = begin(client)
        assert gate.reached.wait(60)
        cancel(client, msg_id)
        # The answer does not wait for the work.
        assert cancelled(client, msg_id)
        gate.go_on.set()
        settled(servers, tree)
        assert gate.n_texts < N_FILES / 2
        # What was found out until then stays, and the next question works.
        pack = client.command("pack", {"query": "loan"})
        assert N_FILES == pack["report"]["nCandidates"]


def test_a_cancelled_request_about_several_roots_stops_too(
    tree: Path, tmp_path: Path, gate: Gate
) -> None:
    other = tmp_path / "other"
    shutil.copytree(tree, other)
    with inside(gate) as servers:
        client = servers.connect()
        client.initialize(tree)
        fields = {"query": "loan", "roots": [str(other), str(tree)]}
        msg_id = client.begin("workspace/executeCommand", command("pack", fields))
        assert gate.reached.wait(60)
        cancel(client, msg_id)
        assert cancelled(client, msg_id)
        gate.go_on.set()
        settled(servers, tree)
        settled(servers, other)
        assert gate.n_texts < N_FILES / 2
        pack = client.command("pack", fields)
        assert 2 * N_FILES == pack["report"]["nCandidates"]


def test_a_client_that_vanishes_stops_its_work(tree: Path, gate: Gate) -> None:
    with inside(gate) as servers:
        client = servers.connect()
        client.initialize(tree)
        begin(client)
        assert gate.reached.wait(60)
        servers.hang_up(client)
        assert 1 == servers.exit_code(client)
        gate.go_on.set()
        settled(servers, tree)
        assert gate.n_texts < N_FILES / 2


def test_shutdown_stops_the_work(tree: Path, gate: Gate) -> None:
    with inside(gate) as servers:
        client = servers.connect()
        client.initialize(tree)
        msg_id = begin(client)
        assert gate.reached.wait(60)
        shutdown = client.begin("shutdown")
        assert cancelled(client, msg_id)
        assert client.answer(shutdown) is None
        gate.go_on.set()
        settled(servers, tree)
        assert gate.n_texts < N_FILES / 2


def test_requests_that_wait_are_cancelled_without_any_work(tree: Path, gate: Gate) -> None:
    with inside(gate) as servers:
        client = servers.connect()
        client.initialize(tree)
        requests = [begin(client, f"loan {number}") for number in range(40)]
        assert gate.reached.wait(60)
        for msg_id in requests[:-1]:
            cancel(client, msg_id)
        client.notify("$/cancelRequest", {"id": 31337})
        assert all(cancelled(client, msg_id) for msg_id in requests[:-1])
        gate.go_on.set()
        assert client.answer(requests[-1])["items"]
        answers = [m["id"] for m in client.taken if "id" in m and "method" not in m]
        assert len(set(answers)) == len(answers)
        # The cancelled scan's few, and one scan: not forty.
        assert gate.n_texts <= N_FILES + 10


def test_packing_stops_at_its_next_count(tree: Path, tmp_path: Path) -> None:
    request = request_of("loan", {}, lambda option: option.field)
    reports: list[int] = []

    def until(limit: int) -> Any:
        def report(done: int, total: int) -> None:
            del total
            reports.append(done)
            if len(reports) == limit:
                raise Stopped(str(tree))

        return report

    shared = engine(Store.opened(tmp_path / "store"), n_workers=1)
    workspace = Workspace(tree, shared)
    whole = answer(workspace, request, until(0))
    n_whole = len(reports)
    # More reports than files: the packing itself reports, too.
    assert n_whole > N_FILES + 3
    reports.clear()
    with pytest.raises(Stopped):
        answer(workspace, request, until(n_whole - 2))
    assert n_whole - 2 == len(reports)
    assert whole.pack.text == answer(workspace, request, until(0)).pack.text
    workspace.close()
    shared.close()


def progress(client: Client) -> list[dict[str, Any]]:
    return [m["params"] for m in client.taken if m.get("method") == "$/progress"]


def drain(client: Client) -> None:
    """Take the progress that came."""
    client.untaken[:] = [m for m in client.untaken if m.get("method") != "$/progress"]


def kinds(client: Client) -> list[str]:
    found = [params["value"]["kind"] for params in progress(client)]
    return [kind for kind in found if kind != "report"]


def ended(client: Client) -> None:
    client.wait_for(
        lambda m: m.get("method") == "$/progress" and m["params"]["value"]["kind"] == "end"
    )


ABLE = {"window": {"workDoneProgress": True}}


def test_a_client_that_cannot_show_progress_gets_none(tree: Path) -> None:
    with inside() as servers:
        client = servers.connect()
        client.initialize(tree)
        assert client.command("pack", {"query": "loan"})["items"]
        assert [] == [m for m in client.taken if "method" in m]


def test_progress_begins_when_the_client_has_agreed(tree: Path, gate: Gate) -> None:
    with inside(gate) as servers:
        client = servers.connect()
        client.initialize(tree, capabilities=ABLE)
        msg_id = begin(client)
        assert gate.reached.wait(60)
        begun = client.wait_for(lambda m: m.get("method") == "$/progress")
        assert "begin" == begun["params"]["value"]["kind"]
        gate.go_on.set()
        assert client.answer(msg_id)["items"]
        drain(client)
        assert ["begin", "end"] == kinds(client)
        assert 1 == len({params["token"] for params in progress(client)})
        percentages = [p["value"].get("percentage", 0) for p in progress(client)]
        assert all(0 <= percentage <= 100 for percentage in percentages)


def test_a_clients_own_token_is_used_without_asking(tree: Path) -> None:
    with inside() as servers:
        client = servers.connect()
        client.initialize(tree, capabilities=ABLE)
        assert client.command("pack", {"query": "loan"}, workDoneToken="tok-1")["items"]
        assert ["begin", "end"] == kinds(client)
        assert {"tok-1"} == {params["token"] for params in progress(client)}
        drain(client)
        # The token is free again.
        assert client.command("pack", {"query": "loan"}, workDoneToken="tok-1")["items"]
        assert ["begin", "end"] * 2 == kinds(client)


def test_a_client_that_refuses_progress_gets_its_pack(tree: Path) -> None:
    with inside() as servers:
        client = servers.connect()
        client.answers["window/workDoneProgress/create"] = Refused(
            {"code": -32603, "message": "no"}
        )
        client.initialize(tree, capabilities=ABLE)
        assert client.command("pack", {"query": "loan"})["items"]
        assert client.command("status")
        assert [] == progress(client)


def test_cancelling_the_progress_cancels_the_request(tree: Path, gate: Gate) -> None:
    with inside(gate) as servers:
        client = servers.connect()
        client.initialize(tree)
        msg_id = begin(client, workDoneToken="tok-1")
        assert gate.reached.wait(60)
        client.notify("window/workDoneProgress/cancel", {"token": "tok-1"})
        client.notify("window/workDoneProgress/cancel", {"token": "nobody"})
        assert cancelled(client, msg_id)
        ended(client)
        gate.go_on.set()
        settled(servers, tree)
        assert gate.n_texts < N_FILES / 2


def test_an_answer_while_indexing_says_how_far_it_is(tree: Path, gate: Gate) -> None:
    with inside(gate) as servers:
        client = servers.connect()
        client.initialize(tree)
        msg_id = begin(client)
        assert gate.reached.wait(60)
        early = client.command("pack", {"query": "loan", "wait": False})
        assert (False, N_FILES) == (early["complete"], early["total"])
        assert early["indexed"] < N_FILES
        # Others are served meanwhile.
        assert not client.command("status")["roots"][0]["indexed"]
        gate.go_on.set()
        assert client.answer(msg_id)["complete"]
