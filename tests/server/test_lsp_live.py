"""Live packs: made again after a change, told when their text is another one, else silent."""

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import contextpackd
from contextpackd.lsp.live import MAX_CAUSE_URIS
from contextpackd.workspace import Workspace
from harness.edits import written
from harness.lsp_client import Client, Refused
from harness.lsp_inside import Inside, inside
from harness.paths import FIXTURES

QUERY = "objections to a checkout"
CHANGED = "contextpack/packChanged"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


def live_pack(client: Client, *, text: bool = False, **fields: object) -> dict[str, Any]:
    pack: dict[str, Any] = client.command("pack", {"query": QUERY, **fields})
    client.command("live", {"packId": pack["packId"], "on": True, "text": text})
    return pack


def save(client: Client, *files: Path) -> None:
    for file in files:
        client.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})


def settled(servers: Inside, root: Path) -> None:
    """Wait until everything that was asked of a root's thread is done."""
    servers.on_loop(servers.roots.ask(root, lambda _w, _p: None, lambda _d, _t: None))


def edit(file: Path, line: str = "# objections to a checkout are rules\n") -> None:
    written(file, file.read_text() + line)


def test_a_save_that_changes_the_bundle_is_told(client: Client, shop: Path) -> None:
    client.initialize(shop)
    pack = live_pack(client, text=True)
    before = contextpackd.open(shop).pack(QUERY)
    policy = shop / "src/lending/policy.py"
    written(policy, policy.read_text().replace("the copy is withdrawn", "gone"))
    save(client, policy)
    told = client.notification(CHANGED)
    after = contextpackd.open(shop).pack(QUERY, previous=before)
    assert (after.text, after.tokens) == (told["text"], told["tokens"])
    assert after.text != pack["text"]
    assert (pack["packId"], 2) == (told["packId"], told["revision"])
    assert ["src/lending/policy.py"] == told["changed"]
    assert {"kind": "save", "uris": [policy.as_uri()]} == told["cause"]


def test_files_that_come_and_go_are_named(client: Client, shop: Path) -> None:
    client.initialize(shop)
    live_pack(client)
    new = shop / "src/lending/objections.py"
    written(new, "def objections_to_a_checkout():\n    return 'checkout objections'\n")
    changes = [{"uri": new.as_uri(), "type": 1}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    told = client.notification(CHANGED)
    assert (["src/lending/objections.py"], "files") == (told["added"], told["cause"]["kind"])
    assert "text" not in told
    new.unlink()
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    told = client.notification(CHANGED)
    assert (["src/lending/objections.py"], 3) == (told["removed"], told["revision"])


def test_nothing_is_told_when_the_bytes_are_equal(
    client: Client, servers: Inside, shop: Path
) -> None:
    client.initialize(shop)
    # Small, so that not every file is in it.
    pack = live_pack(client, budgetTokens=1500)
    save(client, shop / "README.md")
    fees = shop / "src/lending/storage/files.py"
    edit(fees, "# nothing that anybody asked for\n")
    save(client, fees)
    # A change that matters is the first that is told of.
    edit(shop / "src/lending/policy.py")
    save(client, shop / "src/lending/policy.py")
    assert 2 == client.notification(CHANGED)["revision"]
    again = client.command("pack", {"packId": pack["packId"]})
    assert 2 == again["revision"]


def test_a_pack_that_is_not_live_any_more_is_silent(client: Client, shop: Path) -> None:
    client.initialize(shop)
    pack = live_pack(client)
    other = live_pack(client, budgetTokens=2000)
    done = client.command("live", {"packId": pack["packId"], "on": False})
    assert {"packId": pack["packId"], "live": False, "revision": 1} == done
    edit(shop / "src/lending/policy.py")
    save(client, shop / "src/lending/policy.py")
    assert other["packId"] == client.notification(CHANGED)["packId"]
    client.command("close", {"packId": other["packId"]})


def test_another_clients_save_is_told_too(client: Client, servers: Inside, shop: Path) -> None:
    client.initialize(shop)
    live_pack(client)
    other = servers.connect()
    other.initialize(shop)
    edit(shop / "src/lending/policy.py")
    save(other, shop / "src/lending/policy.py")
    assert "save" == client.notification(CHANGED)["cause"]["kind"]
    other.shut_down()
    assert [] == other.end()


def test_a_burst_of_changes_is_told_once(client: Client, servers: Inside, shop: Path) -> None:
    client.initialize(shop)
    live_pack(client)
    files = sorted((shop / "src").rglob("*.py"))
    for file in files:
        edit(file)
    changes = [{"uri": file.as_uri(), "type": 2} for file in files] * 3
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    save(client, *files)
    told = client.notification(CHANGED)
    assert 2 == told["revision"]
    assert len(told["cause"]["uris"]) <= MAX_CAUSE_URIS
    settled(servers, shop)
    again = client.command("pack", {"query": QUERY})
    assert again["tokens"] == told["tokens"]


def test_a_pack_that_cannot_follow_says_so_and_waits_for_the_next_change(
    client: Client, servers: Inside, shop: Path
) -> None:
    client.initialize(shop)
    pinned = shop / "src/lending/fees.py"
    live_pack(client, pins=["src/lending/fees.py"])
    text = pinned.read_text()
    pinned.unlink()
    save(client, pinned)
    said = client.notification("window/showMessage")["message"]
    assert "ContextPack: pack-1 does not follow changes: pin src/lending/fees.py" in said
    with pytest.raises(Exception, match="is no file below"):
        client.command("pack", {"packId": "pack-1"})
    written(pinned, text + "# back\n")
    save(client, pinned)
    assert ["src/lending/fees.py"] == client.notification(CHANGED)["changed"]


def test_a_pack_follows_when_what_its_globs_named_is_gone(client: Client, shop: Path) -> None:
    client.initialize(shop)
    fees, policy = shop / "src/lending/fees.py", shop / "src/lending/policy.py"
    globs = {"exclude": ["src/lending/fees.py"], "include": ["src/", "README.md"]}
    pack = live_pack(client, text=True, **globs)
    assert "README.md" in pack["text"]
    fees.unlink()
    (shop / "README.md").unlink()
    save(client, fees)
    assert ["README.md"] == client.notification(CHANGED)["removed"]
    edit(policy)
    save(client, policy)
    assert "src/lending/policy.py" in client.notification(CHANGED)["changed"]
    # Another question is answered anew, with the globs as they were.
    again = client.command("pack", {"packId": pack["packId"], "budgetTokens": 7000})
    assert "src/lending/policy.py" in [item["path"] for item in again["items"]]
    with pytest.raises(Refused, match="'nobody' matches no file"):
        client.command("pack", {"packId": pack["packId"], "exclude": ["nobody"]})


def test_a_change_before_following_began_is_told_when_it_begins(
    client: Client, shop: Path
) -> None:
    client.initialize(shop)
    pack = client.command("pack", {"query": QUERY})
    edit(shop / "src/lending/policy.py")
    done = client.command("live", {"packId": pack["packId"], "on": True})
    assert [CHANGED] == [message.get("method") for message in client.untaken]
    told = client.notification(CHANGED)
    assert (2, "files") == (told["revision"], told["cause"]["kind"])
    assert "src/lending/policy.py" in told["changed"]
    assert {"packId": pack["packId"], "live": True, "revision": 2} == done


def test_a_setting_of_the_client_makes_live_packs_again(client: Client, shop: Path) -> None:
    client.initialize(shop)
    live_pack(client)
    client.notify(
        "workspace/didChangeConfiguration", {"settings": {"contextpack": {"tree": True}}}
    )
    assert "settings" == client.notification(CHANGED)["cause"]["kind"]


def test_the_edits_of_a_buffer_reach_the_workspace_before_the_next_question(
    shop: Path,
) -> None:
    seen: list[tuple[str, str, int, str | None]] = []
    with inside(
        edit=lambda w, e: seen.append((w.root.name, e.file, e.version, e.text))
    ) as servers:
        client = servers.connect()
        client.initialize(shop)
        file = shop / "a.py"
        document = {
            "uri": file.as_uri(),
            "languageId": "python",
            "version": 1,
            "text": 'x="😋"\n',
        }
        client.notify("textDocument/didOpen", {"textDocument": document})
        start = {"line": 0, "character": 5}
        client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": file.as_uri(), "version": 2},
                "contentChanges": [{"range": {"start": start, "end": start}, "text": "y"}],
            },
        )
        client.command("files")
        client.notify("textDocument/didClose", {"textDocument": {"uri": file.as_uri()}})
        client.command("files")
        name = str(file)
        expected = [
            ("shop", name, 1, 'x="😋"\n'), ("shop", name, 2, 'x="😋y"\n'), ("shop", name, 2, None),
        ]  # fmt: skip
        assert expected == seen


def test_a_client_that_leaves_closes_its_buffers(shop: Path) -> None:
    seen: list[str | None] = []
    with inside(edit=lambda _w, e: seen.append(e.text)) as servers:
        stays, leaves = servers.connect(), servers.connect()
        stays.initialize(shop)
        leaves.initialize(shop)
        uri = (shop / "a.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": "x"}
        leaves.notify("textDocument/didOpen", {"textDocument": document})
        leaves.command("files")
        servers.hang_up(leaves)
        servers.exit_code(leaves)
        stays.command("files")
        assert ["x", None] == seen


def test_a_root_that_is_opened_later_sees_the_buffers_that_are_open(shop: Path) -> None:
    seen: list[tuple[int, int, str | None]] = []
    with inside(edit=lambda _w, e: seen.append((e.owner, e.version, e.text))) as servers:
        first, second = servers.connect(), servers.connect()
        first.initialize()
        second.initialize()
        uri = (shop / "a.py").as_uri()
        for client, text in ((first, "one"), (second, "two")):
            document = {"uri": uri, "languageId": "python", "version": 7, "text": text}
            client.notify("textDocument/didOpen", {"textDocument": document})
            client.command("status")
        change = {"textDocument": {"uri": uri, "version": 8}, "contentChanges": [{"text": "x"}]}
        first.notify("textDocument/didChange", change)
        first.command("files", {"root": str(shop)})
        # The latest change last, so that it is the one that is seen.
        assert [(2, 7, "two"), (1, 8, "x")] == seen


def test_a_change_on_disk_is_told_though_no_client_saw_it(client: Client, shop: Path) -> None:
    client.initialize(shop)
    live_pack(client)
    for number in range(3):
        edit(shop / "src/lending/policy.py", f"# objections to a checkout {number}\n")
        told = client.notification(CHANGED)
        assert {"kind": "files", "uris": []} == told["cause"]


def opened(client: Client, file: Path, text: str) -> None:
    document = {"uri": file.as_uri(), "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})


def typed(client: Client, file: Path, text: str) -> None:
    document = {"uri": file.as_uri(), "version": 2}
    params = {"textDocument": document, "contentChanges": [{"text": text}]}
    client.notify("textDocument/didChange", params)


def test_an_unsaved_edit_is_in_the_next_pack_and_told(client: Client, shop: Path) -> None:
    client.initialize(shop)
    live_pack(client, text=True)
    policy = shop / "src/lending/policy.py"
    text = policy.read_text()
    opened(client, policy, text)
    typed(client, policy, text.replace("the copy is withdrawn", "unsaved words"))
    told = client.notification(CHANGED)
    assert "edit" == told["cause"]["kind"]
    assert "unsaved words" in told["text"]
    assert "unsaved words" in client.command("pack", {"query": QUERY})["text"]
    client.notify("textDocument/didClose", {"textDocument": {"uri": policy.as_uri()}})
    assert "unsaved words" not in client.command("pack", {"query": QUERY})["text"]
    assert "unsaved words" not in client.notification(CHANGED)["text"]


def test_typing_is_followed_at_once_and_then_at_its_end(client: Client, shop: Path) -> None:
    client.initialize(shop)
    live_pack(client, text=True)
    policy = shop / "src/lending/policy.py"
    text = policy.read_text()
    opened(client, policy, text)
    for number in range(30):
        typed(client, policy, text.replace("the copy is withdrawn", f"words {number}."))
    told: list[str] = []
    while not told or "words 29." not in told[-1]:
        told.append(client.notification(CHANGED)["text"])
    assert len(told) <= 4


def test_the_latest_change_of_two_clients_wins_and_a_closing_one_gives_way(
    client: Client, servers: Inside, shop: Path
) -> None:
    other = servers.connect()
    client.initialize(shop)
    other.initialize(shop)
    policy = shop / "src/lending/policy.py"
    text = policy.read_text()

    def packed() -> set[str]:
        text = client.command("pack", {"query": QUERY})["text"]
        return {words for words in ("first's", "second's", 'is withdrawn"') if words in text}

    opened(client, policy, text.replace("the copy is withdrawn", "the first's words"))
    assert {"first's"} == packed()
    opened(other, policy, text.replace("the copy is withdrawn", "the second's words"))
    other.command("status")
    assert {"second's"} == packed()
    typed(client, policy, text.replace("the copy is withdrawn", "the first's later words"))
    assert {"first's"} == packed()
    client.notify("textDocument/didClose", {"textDocument": {"uri": policy.as_uri()}})
    assert {"second's"} == packed()
    servers.hang_up(other)
    servers.exit_code(other)
    assert {'is withdrawn"'} == packed()


def test_a_workspace_is_closed_on_its_own_thread_after_its_work(shop: Path) -> None:
    names: list[str] = []
    is_closed = threading.Event()

    def close(workspace: Workspace) -> None:
        workspace.close()
        names.append(threading.current_thread().name)
        is_closed.set()

    with inside(close=close) as servers:
        client = servers.connect()
        client.initialize(shop)
        client.command("files")
        thread = servers.on_loop(
            servers.roots.ask(
                shop, lambda _w, _p: threading.current_thread().name, lambda _d, _t: None
            )
        )
        assert not is_closed.is_set()
    assert is_closed.wait(60)
    assert [thread] == names
