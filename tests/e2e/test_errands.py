"""Commands that a running daemon answers: the same bytes, and nothing else of theirs is its own."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextpackd import __main__, envoy, git, place
from harness.lsp_client import LIMIT_SECONDS, House, Process, house
from harness.paths import FIXTURES

QUERY = "objections to a checkout"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for processes")

BY_DAEMON = re.compile(r"answered by the daemon \(process \d+\)\n\Z")


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    """With a daemon that an editor keeps, which looks at nothing."""
    with house() as found:
        editor = found.start("lsp")
        editor.client.initialize()
        yield found
        assert 0 == editor.finish()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


def answered(
    home: House, *arguments: str, stdin: str = "", cwd: Path | None = None, **env: str
) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "contextpackd", *arguments],
        input=stdin, capture_output=True, text=True, env=home.env | env,
        cwd=cwd or home.folder, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


COMMANDS = [
    ("pack", "checkout", "--root", "shop/src", "--exclude", "src/lending/fees.py"),
    ("explain", "checkout", "--root", "shop/src", "--report"),
    ("files", "--root", "shop/src", "--format", "json"),
    ("pack", QUERY, "--budget", "900"),
    ("pack", QUERY, "--format", "json", "--ledger", "all", "--strategy", "knapsack"),
    ("pack", "-", "--text", "xml", "--tree", "--task", "--line-numbers", "--ordering", "path"),
    ("pack", "--from", "src/lending/desk.py", "--focus", "src/lending/fees.py:3-9"),
    ("explain", "--from", "src/lending/fees.py", "--importers", "--format", "json"),
    ("pack",),
    ("pack", QUERY, "--pin", "src/lending/fees.py", "--exclude", "docs/**", "--stamp"),
    ("pack", QUERY, "--scorer", "classic", "--format", "plain", "--max-file-bytes", "3k"),
    ("pack", "zzyzx qwghlm"),
    ("pack", QUERY, "--pin", "no/such.py"),
    ("pack", QUERY, "--budget", "lots"),
    ("pack", QUERY, "--no-such-flag"),
    ("explain", QUERY),
    ("explain", QUERY, "--top", "3", "--format", "json"),
    ("why", "src/lending/policy.py:12", QUERY, "--budget", "300"),
    ("why", "src/lending/policy.py", QUERY, "--format", "json"),
    ("why", "src/lending/policy.py", "--budget", "300", QUERY),
    ("files", "--include", "**/*.py"),
    ("files", "--format", "json"),
    ("graph",),
    ("graph", "src/lending/desk.py", "--depth", "1", "--format", "json"),
    ("graph", "src/lending/desk.py", "--importers", "--format", "mermaid"),
]


def test_every_command_that_the_daemon_answers_asks_it() -> None:
    assert envoy.COMMANDS == __main__._ASKED  # Loading `envoy` for it would cost more.


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_daemon_gives_the_bytes_of_a_process_of_its_own(
    home: House, shop: Path, command: tuple[str, ...]
) -> None:
    (shop / ".contextpack.toml").write_text("budget-tokens = 4000\nmargin-percent = 'much'\n")
    asked = [*command, "--root", "shop"]
    theirs = answered(home, *asked, "--report", stdin=QUERY, cwd=shop.parent)
    alone = answered(home, *asked, "--report", "--no-daemon", stdin=QUERY, cwd=shop.parent)
    # How it is known that no change was missed is all that differs.
    shown = theirs[1].replace('"freshness": "watched"', '"freshness": "scanned"')
    assert (alone[0], alone[1]) == (theirs[0], shown)
    ours, others = alone[2], theirs[2]
    if alone[0] == 2:
        assert ours == others
    else:
        assert ours.removesuffix("answered by this process: --no-daemon\n") == BY_DAEMON.sub(
            "", others
        )
        assert BY_DAEMON.search(others)


def test_batch_lines_are_answered_by_the_daemon(home: House, shop: Path) -> None:
    lines = [
        json.dumps({"root": "shop", "query": QUERY, "budgetTokens": 900}),
        "",
        "{",
        json.dumps({"root": str(shop), "query": QUERY, "strategy": "best"}),
        json.dumps({"root": "no such", "query": QUERY}),
        json.dumps({"root": str(shop), "query": "\ud800 checkout", "format": "xml"}),
    ]
    stdin = "".join(f"{line}\n" for line in lines)
    theirs = answered(home, "batch", "--report", stdin=stdin, cwd=shop.parent)
    alone = answered(home, "batch", "--report", stdin=stdin, cwd=shop.parent, **OFF)
    shown = theirs[1].replace('"freshness":"watched"', '"freshness":"scanned"')
    assert (0, 5, alone[1]) == (theirs[0], shown.count("\n"), shown)
    assert "answered by the daemon\n" == theirs[2]
    assert f"answered by this process: {envoy.VARIABLE} is set\n" == alone[2]


OFF = {envoy.VARIABLE: "1"}


def test_files_are_written_where_the_command_was_typed(home: House, shop: Path) -> None:
    code, out, _ = answered(home, "pack", QUERY, "--root", ".", "--output", "b.md", cwd=shop)
    assert (0, "") == (code, out)
    assert "checkout" in (shop / "b.md").read_text()
    assert 0o644 == (shop / "b.md").stat().st_mode & 0o777


def test_a_terminal_sees_the_same(home: House, shop: Path) -> None:
    (shop / "bad.py").write_text("checkout = '\x1b[2J\u202e'\n")
    command = [sys.executable, "-m", "contextpackd", "pack", "checkout", "--pin", "bad.py"]

    def shown(*flags: str) -> str:
        line = " ".join([*command, "--root", str(shop), *flags])
        done = subprocess.run(
            ["script", "-qec", f"stty cols 90; {line}", "/dev/null"],
            capture_output=True, stdin=subprocess.DEVNULL, check=False,
            env=home.env | {"TERM": "xterm-256color"},
        )  # fmt: skip
        return done.stdout.decode()

    theirs, alone = shown(), shown("--no-daemon")
    assert "\x1b[1m" in theirs
    assert "\\x1b[2J" in theirs
    # A busy machine shows a progress bar before, of whoever works.
    texts = [text[text.index("Code from") :] for text in (theirs, alone)]
    heads, ends = zip(*(text.split("answered by ") for text in texts), strict=True)
    assert heads[0] == heads[1]
    assert ends[0].startswith("the daemon")


def test_an_editors_unsaved_text_is_seen_and_flagged(home: House, shop: Path) -> None:
    editor = home.start("lsp")
    editor.client.initialize(shop)
    file = shop / "src/lending/desk.py"
    document = {"uri": file.as_uri(), "languageId": "python", "version": 1}
    text = "def zebra_crossing():\n    return 'zebra'\n"
    editor.client.notify("textDocument/didOpen", {"textDocument": {**document, "text": text}})
    editor.client.command("status")  # It has been read by now.
    root = ("--root", str(shop))
    code, out, err = answered(home, "pack", "zebra crossing", *root, "--report")
    assert (0, True) == (code, "def zebra_crossing" in out)
    assert "unsaved: src/lending/desk.py is as in the editor, not as on disk\n" in err
    code, _, err = answered(home, "explain", "zebra crossing", *root)
    said = "contextpackd: as in the editor, not as on disk: src/lending/desk.py\n"
    assert (0, said) == (code, err)
    # What sees the disk only finds nothing.
    assert 1 == answered(home, "pack", "zebra crossing", *root, "--no-daemon")[0]
    assert 0 == editor.finish()


def test_without_a_daemon_none_is_started(shop: Path) -> None:
    with house() as own:
        code, _, err = answered(own, "explain", QUERY, "--root", str(shop), "--report")
        assert (0, "answered by this process: no daemon is running\n") == (code, err)
        assert [] == own.daemons()
        assert not (own.folder / place.NAME).exists()


def test_a_daemon_with_another_configuration_of_git_is_not_asked(
    home: House, shop: Path
) -> None:
    asked = ("explain", QUERY, "--root", str(shop), "--report")
    code, _, err = answered(home, *asked, XDG_CONFIG_HOME=str(shop))
    why = "the daemon was started with another configuration of git"
    assert (0, f"answered by this process: {why}\n") == (code, err)


def test_every_variable_that_git_keeps_decides() -> None:
    assert set(envoy.DECIDING) >= git._KEPT_VARIABLES


@contextlib.contextmanager
def false_daemon(shop: Path, said: bytes) -> Iterator[House]:
    """A place whose socket says just this to everybody, and closes."""
    with house() as own:
        folder = own.folder / place.NAME
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", str(own.folder))
            found = place.place()
        folder.mkdir(mode=0o700)
        found.folder.mkdir(mode=0o700)
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(found.control))
        server.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.recv(1 << 16)
                    connection.sendall(said)
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield own
        finally:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
            thread.join()
            found.control.unlink()


@pytest.mark.parametrize(
    "said",
    [b"", b"{\n", b'{"taken": true}\n', b'{"taken": true}\n{"what": 1}\n', b'{"error": "?"}\n'],
)
def test_a_daemon_that_fails_costs_nothing(shop: Path, said: bytes) -> None:
    with false_daemon(shop, said) as own:
        code, out, err = answered(
            own, "pack", "-", "--root", str(shop), "--report", stdin=QUERY
        )
        assert (0, True) == (code, "src/lending/policy.py" in out)
        assert "answered by this process: the daemon " in err


def test_a_batch_goes_on_when_its_daemon_dies(shop: Path) -> None:
    with house() as own:
        editor = own.start("lsp")
        editor.client.initialize()
        [pid] = own.daemons()
        batch = Popen("batch", "--report", home=own)
        line = json.dumps({"root": str(shop), "query": QUERY}) + "\n"
        first = batch.ask(line)
        os.kill(pid, signal.SIGKILL)
        assert 70 == editor.ended()
        second = batch.ask(line)
        assert first["text"] == second["text"] != ""
        code, said = batch.finish()
        assert 0 == code
        assert "1 lines answered by the daemon, the others in this process: " in said


class Popen:
    """A command that is spoken to line by line."""

    def __init__(self, *arguments: str, home: House) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "contextpackd", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=home.env, cwd=home.folder, text=True,
        )  # fmt: skip

    def ask(self, line: str) -> dict[str, object]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()
        found: dict[str, object] = json.loads(self.process.stdout.readline())
        return found

    def finish(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=LIMIT_SECONDS)
        return self.process.returncode, said


def test_two_editors_a_batch_and_a_command_at_once_get_the_same_bytes(
    home: House, shop: Path
) -> None:
    editors = [home.start("lsp"), home.start("lsp")]
    for editor in editors:
        editor.client.initialize(shop)
    command = {"query": QUERY, "budgetTokens": 900}
    line = json.dumps({"root": str(shop), **command}) + "\n"
    batch = Popen("batch", home=home)
    texts: list[object] = []

    def ask_editor(editor: Process) -> None:
        texts.extend(editor.client.command("pack", command)["text"] for _ in range(3))

    def ask_batch() -> None:
        texts.extend(batch.ask(line)["text"] for _ in range(3))

    def ask_command() -> None:
        root = ("--root", str(shop))
        done = answered(home, "pack", QUERY, "--budget", "900", "--report", *root)
        assert BY_DAEMON.search(done[2])
        texts.append(done[1])

    threads = [threading.Thread(target=ask_editor, args=(editor,)) for editor in editors]
    threads += [threading.Thread(target=ask_batch), threading.Thread(target=ask_command)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 10 == len(texts)
    assert 1 == len(set(texts))
    assert (0, "") == batch.finish()
    assert [0, 0] == [editor.finish() for editor in editors]


def test_an_interrupted_command_stops_the_daemons_work(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    for number in range(3000):
        text = "".join(f"def work_{number}_{n}(value):\n    return value\n" for n in range(30))
        (root / f"m{number}.py").write_text(text)
    with house() as own:
        editor = own.start("lsp")
        editor.client.initialize()
        command = Popen("pack", "work", "--root", str(root), home=own)

        def state() -> dict[str, int]:
            found: list[dict[str, int]] = editor.client.command("status")["roots"]
            return found[0] if found else {"done": 0}

        while not 0 < state()["done"]:
            assert command.process.poll() is None
        command.process.send_signal(signal.SIGINT)
        code, said = command.finish()
        assert (130, "contextpackd: interrupted; nothing was written\n") == (code, said)
        # Another question is answered at once: nobody works for the first any more.
        other = tmp_path / "other"
        other.mkdir()
        (other / "a.py").write_text("work = 1\n")
        assert 0 == answered(own, "pack", "work", "--root", str(other))[0]
        first = state()
        assert not first["indexed"]
        assert first["done"] < first["total"]
        done = first["done"]
        editor.client.command("status")
        assert done == state()["done"]
        assert 0 == editor.finish()


def test_the_way_to_the_daemon_loads_the_standard_library_only(home: House, shop: Path) -> None:
    script = (
        "import sys\n"
        f"sys.argv = ['contextpackd', 'pack', 'checkout', '--root', {str(shop)!r}]\n"
        "from contextpackd.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    heavy = {'numpy', 'pygls', 'tree_sitter', 'rich', 'argparse', 'asyncio', 'contextpack'}\n"
        "    loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "    sys.stderr.write(repr(sorted(heavy & loaded)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=home.env, capture_output=True, text=True, check=True
    )
    assert "src/lending" in done.stdout
    assert "[]" == done.stderr
