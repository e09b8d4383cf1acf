"""The daemon and its stdio ends over real processes and sockets: beginnings, sharing, ends."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextpackd import bridge, place
from contextpackd.bridge import Control, connected
from harness.lsp_client import LIMIT_SECONDS, House, has_ended, house, socket_client
from harness.paths import FIXTURES, ROOT

QUERY = "objections to a checkout"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for processes")


@pytest.fixture(scope="module")
def shared() -> Iterator[House]:
    with house() as found:
        yield found


@pytest.fixture
def own() -> Iterator[House]:
    with house() as found:
        yield found


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


def places(home: House) -> list[place.Place]:
    folder = home.folder / place.NAME
    return [place.Place(found) for found in sorted(folder.iterdir())]


def status(home: House) -> dict[str, Any]:
    done = home.run("status", "--format", "json")
    assert (0, "") == (done.returncode, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("flags", [(), ("--no-daemon",), ("--stdio",)])
def test_a_session_by_the_book(shared: House, shop: Path, flags: tuple[str, ...]) -> None:
    process = shared.start("lsp", *flags)
    process.client.initialize(shop)
    assert process.client.command("pack", {"query": QUERY})["items"]
    assert 0 == process.finish()


@pytest.mark.parametrize("flags", [(), ("--no-daemon",)])
def test_exit_without_shutdown_is_1(shared: House, shop: Path, flags: tuple[str, ...]) -> None:
    process = shared.start("lsp", *flags)
    process.client.initialize(shop)
    process.client.notify("exit")
    assert 1 == process.ended()


@pytest.mark.parametrize("flags", [(), ("--no-daemon",)])
def test_a_client_that_closes_its_end_ends_the_server(
    shared: House, shop: Path, flags: tuple[str, ...]
) -> None:
    process = shared.start("lsp", *flags)
    process.client.initialize(shop)
    process.client.hang_up()
    assert 1 == process.ended()


@pytest.mark.parametrize("flags", [(), ("--no-daemon",)])
def test_a_client_that_stops_reading_ends_the_server(
    shared: House, shop: Path, flags: tuple[str, ...]
) -> None:
    process = shared.start("lsp", *flags)
    assert process.process.stdout is not None
    process.client.initialize(shop)
    # The reader of our pipe dies with its descriptor, as the client's would.
    reader, writer = os.pipe()
    os.dup2(reader, process.process.stdout.fileno())
    os.close(reader)
    os.close(writer)
    process.client.begin("shutdown")
    process.client.notify("exit")
    assert process.process.wait(LIMIT_SECONDS) in (0, 1)
    process.close()


@pytest.mark.parametrize("flags", [(), ("--no-daemon",)])
def test_a_dead_editor_ends_its_server_though_its_pipes_are_open(
    shared: House, shop: Path, flags: tuple[str, ...]
) -> None:
    process = shared.start("lsp", *flags)
    with subprocess.Popen(["sleep", "600"]) as editor:
        params = {"capabilities": {}, "processId": editor.pid, "rootUri": shop.as_uri()}
        process.client.request("initialize", params)
        editor.kill()
    assert 1 == process.ended()


@pytest.mark.parametrize("flags", [(), ("--no-daemon",)])
def test_g01_a_killed_parent_leaves_no_server(
    shared: House, shop: Path, flags: tuple[str, ...]
) -> None:
    script = (
        "import subprocess, sys\n"
        "server = subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1)\n"
        "print(server.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-m", "contextpackd", "lsp", *flags]
    with subprocess.Popen(
        [sys.executable, "-c", script, *command],
        env=shared.env, cwd=shared.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        parent.kill()
    assert has_ended(server)


def test_editors_and_sockets_share_one_daemon_and_get_the_same_bytes(
    shared: House, shop: Path
) -> None:
    editors = [shared.start("lsp"), shared.start("lsp")]
    question = {"query": QUERY, "budgetTokens": 900}
    texts = []
    for editor in editors:
        editor.client.initialize(shop)
        texts.append(editor.client.command("pack", question)["text"])
    [found] = places(shared)
    direct = socket_client(connected(found.lsp))
    direct.initialize(shop)
    texts.append(direct.command("pack", question)["text"])
    texts.append(shared.run("pack", QUERY, "--budget", "900", "--root", str(shop)).stdout)
    line = json.dumps({"root": str(shop), **question})
    texts.append(json.loads(shared.run("batch", stdin=line + "\n").stdout)["text"])
    assert 1 == len(set(texts))
    pids = {editor.client.command("status")["pid"] for editor in editors}
    assert pids == set(shared.daemons())
    direct.shut_down()
    assert [] == direct.end()
    direct.close()
    assert [0, 0] == [editor.finish() for editor in editors]


def test_one_clients_death_disturbs_nobody(shared: House, shop: Path) -> None:
    stays, dies = shared.start("lsp"), shared.start("lsp")
    for editor in (stays, dies):
        editor.client.initialize(shop)
    dies.process.kill()
    assert stays.client.command("pack", {"query": QUERY})["items"]
    assert 0 == stays.finish()


def test_a_killed_clients_buffer_gives_way_to_anothers(shared: House, shop: Path) -> None:
    stays, dies = shared.start("lsp"), shared.start("lsp")
    file = shop / "src/lending/desk.py"
    for editor, word in ((stays, "giraffe"), (dies, "zebra")):
        editor.client.initialize(shop)
        document = {"uri": file.as_uri(), "languageId": "python", "version": 1}
        text = f"def {word}(): ...\n"
        editor.client.notify(
            "textDocument/didOpen", {"textDocument": document | {"text": text}}
        )
        editor.client.command("status")  # The text has been read by now.
    question = {"query": "giraffe zebra"}
    assert "def zebra" in stays.client.command("pack", question)["text"]
    dies.process.kill()
    while stays.client.command("status")["nClients"] > 1:
        pass
    while "def zebra" in (text := stays.client.command("pack", question)["text"]):
        pass
    assert "def giraffe" in text
    assert 0 == stays.finish()


def test_the_sockets_are_private(shared: House, shop: Path) -> None:
    process = shared.start("lsp")
    process.client.initialize(shop)
    [found] = places(shared)
    modes = {
        file.name: oct(stat.S_IMODE(file.lstat().st_mode))
        for file in (found.folder.parent, found.folder, found.control, found.lsp, found.lock)
    }
    name = found.folder.name
    assert {"0o700"} == {modes[place.NAME], modes[name]}
    assert {"0o600"} == {modes["control.sock"], modes["lsp.sock"], modes["lock"]}
    assert 0 == process.finish()


def test_nothing_listens_on_the_network(shared: House, shop: Path) -> None:
    process = shared.start("lsp")
    process.client.initialize(shop)
    pid = process.client.command("status")["pid"]
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        target = str(descriptor.readlink())
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        table = Path(f"/proc/{pid}/net/{kind}")
        rows = table.read_text().splitlines()[1:] if table.exists() else []
        assert not inodes & {row.split()[9] for row in rows}
    assert inodes
    assert 0 == process.finish()


def test_twenty_clients_at_once_start_one_daemon(own: House) -> None:
    processes = [own.start("lsp") for _ in range(20)]
    pids = set()
    for process in processes:
        process.client.initialize()
        pids.add(process.client.command("status")["pid"])
    assert 1 == len(pids)
    assert pids == set(own.daemons())
    for process in processes:
        process.client.shut_down()
    assert [0] * 20 == [process.ended() for process in processes]


def test_a_daemon_that_is_killed_is_replaced(own: House, shop: Path) -> None:
    editor = own.start("lsp")
    editor.client.initialize(shop)
    pid = editor.client.command("status")["pid"]
    os.kill(pid, signal.SIGKILL)
    # The editor sees its server fail, and starts it again.
    assert 70 == editor.ended()
    again = own.start("lsp")
    again.client.initialize(shop)
    assert pid != again.client.command("status")["pid"]
    assert 0 == again.finish()


def test_a_stopped_daemon_ends_its_clients_servers(own: House, shop: Path) -> None:
    editor = own.start("lsp")
    editor.client.initialize(shop)
    pid = editor.client.command("status")["pid"]
    assert 0 == own.run("stop").returncode
    assert 70 == editor.ended()
    assert has_ended(pid)
    done = own.run("stop")
    assert (1, "contextpackd: no daemon is running\n") == (done.returncode, done.stderr)
    assert 0 == own.run("restart").returncode
    assert 1 == len(own.daemons())
    assert 0 == own.run("restart").returncode


def test_status_is_for_people_and_programs(own: House, shop: Path) -> None:
    done = own.run("status")
    assert (1, "", "contextpackd: no daemon is running\n") == (
        done.returncode,
        done.stdout,
        done.stderr,
    )
    editor = own.start("lsp")
    editor.client.initialize(shop)
    editor.client.command("pack", {"query": QUERY})
    found = status(own)
    assert (1, "daemon") == (found["nClients"], found["mode"])
    [root], cache = found["roots"], found["cache"]
    assert ("events", None) == (root["watcher"], root["watchMessage"])
    assert (str(own.folder / "cache" / "contextpackd"), None) == (
        cache["directory"],
        cache["problem"],
    )
    assert 27 == cache["nFacts"]
    shown = own.run("status").stdout
    assert f"cache: {cache['directory']}, " in shown
    assert f"root: {shop}: 27 files, 1 clients\n" in shown
    assert f"process {found['pid']}" in shown
    assert 0 == editor.finish()


def started(
    home: House, *flags: str, path: str | None = None
) -> tuple[subprocess.Popen[bytes], place.Place]:
    """A daemon that is our child, once its sockets are there."""
    folder = home.folder / place.NAME
    before = set(folder.iterdir()) if folder.exists() else set()
    process = subprocess.Popen(
        [sys.executable, "-m", "contextpackd", "daemon", *flags],
        env=home.env if path is None else home.env | {"PYTHONPATH": path},
        cwd=home.folder,
        stdin=subprocess.DEVNULL,
    )
    home.daemons_of_ours.append(process)
    pause = threading.Event()
    for _ in range(600):
        after = set(folder.iterdir()) if folder.exists() else set()
        for new in after - before:
            if (new / "control.sock").exists():
                return process, place.Place(new)
        assert process.poll() is None
        pause.wait(0.1)
    raise AssertionError("the daemon did not start")


def test_an_idle_daemon_leaves_nothing_behind(own: House) -> None:
    process, found = started(own, "--idle", "0.5")
    assert 0 == process.wait(LIMIT_SECONDS)
    assert {"lock"} == {file.name for file in found.folder.iterdir()}


def test_a_daemon_stays_while_somebody_has_joined(own: House) -> None:
    process, found = started(own, "--idle", "0.5")
    control = Control(connected(found.control))
    answer = control.ask({"do": "join"})
    assert answer is not None
    # Longer than the idle time: the daemon would be gone.
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5)
    assert control.ask({"do": "status"}) is not None
    control.close()
    assert 0 == process.wait(LIMIT_SECONDS)


def test_an_idle_daemon_leaves_no_process_behind(own: House, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    for number in range(400):  # Enough for worker processes.
        (root / f"m{number}.py").write_text(f"def loan_{number}(): ...\n" * 50)
    process, found = started(own, "--idle", "4")
    editor = socket_client(connected(found.lsp))
    editor.initialize(root)
    assert editor.command("pack", {"query": "loan"})["items"]
    assert len(own.everything()) > 1
    editor.shut_down()
    assert [] == editor.end()
    editor.close()
    assert 0 == process.wait(LIMIT_SECONDS)
    assert all(has_ended(pid) for pid in own.everything())


def test_a_second_daemon_gives_way(own: House) -> None:
    process, _ = started(own)
    done = own.run("daemon")
    assert 2 == done.returncode
    assert f"a daemon is running already (process {process.pid})" in done.stderr
    process.terminate()
    assert 0 == process.wait(LIMIT_SECONDS)


def test_stale_sockets_are_replaced(own: House) -> None:
    process, found = started(own)
    process.kill()
    process.wait(LIMIT_SECONDS)
    assert found.control.exists()
    editor = own.start("lsp")
    editor.client.initialize()
    assert 0 == editor.finish()


def copy_of_the_code(folder: Path) -> str:
    """A `PYTHONPATH` with another installation of this code."""
    for name in ("core", "server"):
        shutil.copytree(ROOT / name, folder / name)
    return f"{folder / 'core'}:{folder / 'server'}"


def test_another_versions_daemon_goes_with_its_last_client(
    own: House, shop: Path, tmp_path: Path
) -> None:
    process, other = started(own, path=copy_of_the_code(tmp_path))
    old = socket_client(connected(other.lsp))
    old.initialize(shop)
    editor = own.start("lsp")
    editor.client.initialize(shop)
    new = editor.client.command("status")["pid"]
    assert new != process.pid
    # The old one still serves who it has, and nobody else.
    assert old.command("pack", {"query": QUERY})["items"]
    assert not other.control.exists()
    assert process.poll() is None
    old.shut_down()
    assert [] == old.end()
    old.close()
    assert 0 == process.wait(LIMIT_SECONDS)
    assert 0 == editor.finish()
    assert [new] == own.daemons()


def test_all_daemons_of_this_user_are_seen_and_end_at_once(
    own: House, shop: Path, tmp_path: Path
) -> None:
    process, other = started(own, path=copy_of_the_code(tmp_path))
    # Nothing of this version runs yet.
    done = own.run("status")
    assert (1, f"process {process.pid}, clients: 0" in done.stdout) == (done.returncode, True)
    assert "no daemon is running of this version; stop --all ends the others" in done.stderr
    assert (1, done.stderr) == ((stop := own.run("stop")).returncode, stop.stderr)
    old = socket_client(connected(other.lsp))
    old.initialize(shop)
    editor = own.start("lsp")  # It retires the older one, which still serves its client.
    editor.client.initialize(shop)
    pid = editor.client.command("status")["pid"]
    found = status(own)
    assert (pid, [{"pid": process.pid, "isRetired": True}]) == (found["pid"], found["others"])
    assert f"another: process {process.pid} is retired" in own.run("status").stdout
    stop = own.run("stop", "--all")
    assert (0, "", "") == (stop.returncode, stop.stdout, stop.stderr)
    assert 0 == process.wait(LIMIT_SECONDS)
    assert has_ended(pid)
    assert 70 == editor.ended()
    old.close()
    assert 1 == own.run("stop", "--all").returncode


def test_what_a_dead_version_left_is_tidied_away(own: House, tmp_path: Path) -> None:
    process, other = started(own, path=copy_of_the_code(tmp_path))
    process.kill()
    process.wait(LIMIT_SECONDS)
    assert other.folder.exists()
    editor = own.start("lsp")
    editor.client.initialize()
    assert 0 == editor.finish()
    assert 0 == own.run("stop").returncode
    assert not other.folder.exists()


def refused(home: House) -> str:
    done = home.run("lsp")
    assert (2, "") == (done.returncode, done.stdout)
    return done.stderr


def test_a_directory_that_others_can_enter_is_refused(own: House) -> None:
    (own.folder / place.NAME).mkdir(mode=0o755)
    assert "is open to other users; chmod 700" in refused(own)


def test_a_linked_directory_is_refused(own: House) -> None:
    (own.folder / "elsewhere").mkdir(mode=0o700)
    (own.folder / place.NAME).symlink_to(own.folder / "elsewhere")
    assert "is not a directory of its own" in refused(own)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_another_users_directory_is_refused(own: House) -> None:
    (own.folder / place.NAME).mkdir(mode=0o700)
    os.chown(own.folder / place.NAME, 12345, 12345)
    assert "belongs to another user" in refused(own)


def test_a_link_in_place_of_a_socket_is_refused(own: House) -> None:
    process, found = started(own)
    moved = own.folder / "moved.sock"
    found.control.rename(moved)
    found.control.symlink_to(moved)
    assert "is no socket; remove it" in refused(own)
    process.terminate()
    process.wait(LIMIT_SECONDS)


def test_a_path_that_is_too_long_for_sockets_gives_way(own: House) -> None:
    long = own.folder / ("x" * 90)
    long.mkdir(mode=0o700)
    own.env["XDG_RUNTIME_DIR"] = str(long)
    own.env["TMPDIR"] = str(own.folder)
    process = own.start("lsp")
    process.client.initialize()
    name = f"{place.NAME}-{os.geteuid()}"
    assert process.client.command("status")["socket"].startswith(str(own.folder / name))
    assert 0 == process.finish()


def test_nothing_of_the_current_directory_is_imported(own: House) -> None:
    hostile = own.folder / "hostile"
    hostile.mkdir()
    for name in ("json.py", "contextpackd.py", "logging.py"):
        (hostile / name).write_text("raise SystemExit('hijacked')\n")
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "contextpackd", "lsp"],
        env=own.env, cwd=hostile, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    assert b"" == process.stdout.read()
    assert 1 == process.wait(LIMIT_SECONDS)
    process.stdout.close()
    assert 1 == len(own.daemons())


def test_control_questions_of_any_kind_are_answered(own: House) -> None:
    process, found = started(own)
    control = Control(connected(found.control))
    for line in (b"{\n", b"[]\n", b"\xff\n", b'{"do": "nothing"}\n', b"[" * 5000 + b"\n"):
        control._connection.sendall(line)
        assert {"error": "no such question"} == control.heard()
    assert control.ask({"do": "status"}) is not None
    control.close()
    process.terminate()
    assert 0 == process.wait(LIMIT_SECONDS)


def test_the_logs_are_in_the_state_folder(own: House, shop: Path) -> None:
    editor = own.start("lsp")
    editor.client.initialize(shop)
    log = Path(editor.client.command("status")["log"])
    assert own.folder / "state" / "contextpackd" / "daemon.log" == log
    assert "serving at" in log.read_text()
    assert 0 == editor.finish()


def test_the_bridge_loads_the_standard_library_only(own: House) -> None:
    script = (
        "import sys, contextpackd.__main__, contextpackd.bridge\n"
        "heavy = {'pygls', 'numpy', 'asyncio', 'argparse', 'subprocess', 'contextpack', 'logging'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=own.env, capture_output=True, text=True, check=True
    )
    assert "[]\n" == done.stdout


def test_a_daemon_that_does_not_answer_holds_nobody_up(
    own: House, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = own.start("lsp")
    process.client.initialize(shop)
    (daemon,) = own.daemons()
    (found,) = places(own)
    monkeypatch.setattr(bridge, "ANSWER_SECONDS", 0.1)
    os.kill(daemon, signal.SIGSTOP)
    try:
        control = Control(connected(found.control))
        with pytest.raises(bridge.NoDaemon, match=f"end its process {daemon} "):
            control.ask({"do": "status"})
    finally:
        os.kill(daemon, signal.SIGCONT)
    assert 0 == process.finish()


def test_one_interpreter_by_another_name_has_the_same_daemon(own: House) -> None:
    """Editors start `python -m`, shells a script that says `python3`."""
    code = "from contextpackd.place import place; print(place().folder)"
    here = Path(sys.executable)
    names = [name for name in here.parent.glob("python*") if name.resolve() == here.resolve()]
    said = {
        subprocess.run(
            [name, "-c", code], env=own.env, cwd=own.folder, capture_output=True, check=True
        ).stdout
        for name in names
    }
    assert 1 == len(said)
