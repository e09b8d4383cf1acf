"""The command line over real pipes: exit codes, bytes, and what is said to whom."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

import contextpackd
from contextpack.tokens import profile_of
from contextpackd.counters import counter
from harness.paths import FIXTURES
from harness.trees import isolate_git, run_git, write


def environment() -> dict[str, str]:
    """What a command needs, and nothing of the machine it runs on."""
    kept = {name: os.environ[name] for name in ("PATH", "CONTEXTPACKD_CACHE_DIR")}
    return kept | {"HOME": "/dev/null", "LC_ALL": "C.UTF-8", "CONTEXTPACKD_NO_DAEMON": "1"}


def run(
    *arguments: str, stdin: str = "", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "contextpackd", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=environment() | (env or {}),
        check=False,
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    return root


def test_pack_prints_the_bundle_and_nothing_else(shop: Path) -> None:
    done = run("pack", "objections to a checkout", "--root", str(shop), "--budget", "1k")
    assert (0, "") == (done.returncode, done.stderr)
    assert "src/lending/policy.py" in done.stdout
    assert counter(profile_of("o200k"))(done.stdout) <= 1000


def test_the_report_goes_to_stderr(shop: Path) -> None:
    done = run("pack", "objections to a checkout", "--root", str(shop), "--report")
    assert done.returncode == 0
    assert "o200k exact" in done.stderr
    assert "left out: " in done.stderr
    assert ".env: secret" in done.stderr


def test_the_picture_in_the_readme_is_what_the_command_prints() -> None:
    readme = (FIXTURES.parent / "README.md").read_text(encoding="utf-8")
    root = str(FIXTURES / "python-src")
    done = run(
        "pack", "objections to a checkout", "--root", root, "--budget", "1000", "--report"
    )
    head, *table = done.stderr.splitlines()[:6]
    assert head in readme
    for row in table:
        assert row.partition(";")[0].rstrip() in readme


def test_every_door_gives_the_same_bytes(shop: Path) -> None:
    query = "objections to a checkout"
    text = run("pack", query, "--root", str(shop), "--budget", "900").stdout
    envelope = json.loads(
        run("pack", query, "--root", str(shop), "--budget", "900", "--format", "json").stdout
    )
    line = json.dumps({"root": str(shop), "query": query, "budgetTokens": 900})
    batch = json.loads(run("batch", stdin=line + "\n").stdout)
    root = contextpackd.open(shop)
    assert text == envelope["text"] == batch["text"] == root.pack(query, 900).text
    assert envelope == batch == root.pack_json(query, "900")


def test_the_query_may_come_from_stdin(shop: Path) -> None:
    by_argument = run("pack", "loan renewals", "--root", str(shop))
    by_stdin = run("pack", "-", "--root", str(shop), stdin="loan renewals")
    assert by_argument.stdout == by_stdin.stdout != ""


def test_nothing_relevant_is_one_line_and_exit_code_1(shop: Path) -> None:
    done = run("pack", "zzyzx qwghlm", "--root", str(shop))
    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.count("\n") == 1
    assert "nothing relevant found" in done.stderr


def test_an_empty_query_packs_by_structure(shop: Path) -> None:
    done = run("pack", "", "--root", str(shop), "--format", "json")
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert answer["report"]["fallback"]
    assert answer["items"]


BAD = [
    (["--budget", "0"], "--budget must be positive"),
    (["--budget=-5"], "--budget must be a whole number"),
    (["--budget", "nan"], "--budget must be a whole number"),
    (["--budget", "lots"], "--budget must be a whole number"),
    (["--reserve", "9000"], "--reserve must be"),
    (["--strategy", "best"], "--strategy must be one of greedy"),
    (["--ordering", "random"], "--ordering must be one of natural"),
    (["--model", "gpt-9000"], "--model names no model"),
    (["--scorer", "magic"], "--scorer must be one of fused"),
    (["--mmr-lambda", "2"], "--mmr-lambda must be between 0 and 1"),
    (["--dedup", "nan"], "--dedup must be a number"),
    (["--max-candidates", "0"], "--max-candidates must be at least 1"),
    (["--truncate", "middle"], "--truncate must be one of head"),
    (["--include", "*.cobol"], "'*.cobol' matches no file"),
    (["--exclude", "*.cobol"], "'*.cobol' matches no file"),
    (["--pin", "src/none.py"], "src/none.py is no file below"),
    (["--pin", ".env"], ".env is secret"),
    (["--detail", "README.md=short"], "--detail knows whole and outline"),
    (["--detail", "README.md"], "--detail must be PATH=whole"),
    (["--output", "/dev/null/out.md"], "cannot write /dev/null/out.md"),
    (["--output", "."], "is a directory"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=" ".join)
def test_bad_options_are_one_line_that_names_them(
    shop: Path, arguments: Sequence[str], message: str
) -> None:
    done = run("pack", "checkout", "--root", str(shop), *arguments, cwd=shop)
    assert (2, "") == (done.returncode, done.stdout)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_bad_roots_are_refused(shop: Path, tmp_path: Path) -> None:
    for root, message in (
        (tmp_path / "none", "does not exist"),
        (shop / "README.md", "is not a directory"),
        (Path("/"), "--force"),
    ):
        done = run("pack", "x", "--root", str(root))
        assert (2, "") == (done.returncode, done.stdout)
        assert message in done.stderr
    home = run("pack", "x", "--root", str(shop), env={"HOME": str(shop)})
    assert home.returncode == 2
    assert "--force" in home.stderr
    forced = run("pack", "checkout", "--root", str(shop), "--force", env={"HOME": str(shop)})
    assert forced.returncode == 0


def test_unknown_commands_and_flags_are_wrong_usage() -> None:
    for arguments in ([], ["pak"], ["pack", "x", "--budgt", "5"]):
        done = run(*arguments)
        assert done.returncode == 2
        assert "usage: contextpackd" in done.stderr


@pytest.mark.parametrize(
    "command", ["", "pack", "explain", "why", "files", "graph", "eval", "pack-chunks", "batch"]
)
def test_help_has_examples(command: str) -> None:
    done = run(*command.split(), "--help")
    assert done.returncode == 0
    assert "example" in done.stdout or not command


def test_output_is_written_whole_with_nothing_beside_it(shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    file = out / "bundle.md"
    file.write_text("old")
    done = run("pack", "checkout", "--root", str(shop), "--output", str(file))
    assert (0, "") == (done.returncode, done.stdout)
    assert file.read_text() == run("pack", "checkout", "--root", str(shop)).stdout
    assert [file] == list(out.iterdir())


def test_output_goes_into_a_fifo_and_through_a_link(shop: Path, tmp_path: Path) -> None:
    fifo, link, target = tmp_path / "fifo", tmp_path / "link", tmp_path / "target.md"
    os.mkfifo(fifo)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(fifo.read_text()))
    reader.start()
    assert run("pack", "checkout", "--root", str(shop), "--output", str(fifo)).returncode == 0
    reader.join(20)
    target.write_text("old")
    link.symlink_to(target)
    assert run("pack", "checkout", "--root", str(shop), "--output", str(link)).returncode == 0
    assert [target.read_text()] == received
    assert link.is_symlink()
    assert fifo.is_fifo()
    link.unlink()
    link.symlink_to(link)
    assert run("pack", "checkout", "--root", str(shop), "--output", str(link)).returncode == 2


def test_a_refused_request_leaves_the_output_as_it_was(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "bundle.md"
    file.write_text("old")
    run("pack", "checkout", "--root", str(shop), "--budget", "0", "--output", str(file))
    assert file.read_text() == "old"


def test_without_a_clipboard_the_bundle_is_printed_and_the_reason_said(shop: Path) -> None:
    done = run("pack", "checkout", "--root", str(shop), "--copy", env={"PATH": "/nonexistent"})
    assert done.returncode == 0
    assert "no clipboard" in done.stderr
    assert "src/lending" in done.stdout


def test_over_ssh_the_terminal_gets_the_bundle(shop: Path) -> None:
    controller, terminal = pty.openpty()
    received = bytearray()

    def drain() -> None:
        while b"\x07" not in received:
            received.extend(os.read(controller, 65536))

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    code = (
        "import os, sys; os.setsid(); "
        "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "os.execv(sys.executable, [sys.executable, '-m', 'contextpackd', *sys.argv[1:]])"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            "pack",
            "checkout",
            "--root",
            str(shop),
            "--copy",
            "--budget",
            "500",
        ],
        stdin=terminal,
        capture_output=True,
        env=environment() | {"SSH_TTY": "/dev/pts/0"},
        check=False,
    )
    reader.join(10)
    assert (0, b"") == (done.returncode, done.stdout)
    assert b"copied" in done.stderr
    assert b"\x1b]52;c;" in received


def test_explain_shows_every_part(shop: Path) -> None:
    done = run("explain", "calendar of open days", "--root", str(shop))
    assert done.returncode == 0
    assert "stem" in done.stdout
    document = json.loads(
        run("explain", "calendar of open days", "--root", str(shop), "--format", "json").stdout
    )
    assert document["files"][0]["path"] == "src/lending/calendar.py"
    assert document["files"][0]["parts"]["stem"] > 0


def test_eval_says_how_well_past_commits_are_found(
    shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate_git(monkeypatch, tmp_path / "home")
    policy = shop / "src/lending/policy.py"
    for message in ("the very first one", "Refuse a copy that is withdrawn"):
        run_git(shop, *(("init", "-q") if not (shop / ".git").exists() else ("status", "-s")))
        run_git(shop, "add", "-A")
        run_git(shop, "commit", "-qm", message)
        policy.write_text(policy.read_text().replace("the copy is withdrawn", "withdrawn"))
    done = run("eval", "--root", str(shop), "--budget", "1k", "--format", "json")
    assert (0, 1) == (done.returncode, done.stderr.count("1 of 1: "))
    document = json.loads(done.stdout)
    assert ["src/lending/policy.py"] == [f["path"] for f in document["commits"][0]["files"]]
    assert [1000, 1000] == [result["budgetTokens"] for result in document["results"]]
    assert 1.0 == document["results"][1]["contextpackd"]["mean"]
    assert "has no parent" == document["passedOver"][0]["reason"]
    again = run("eval", "--root", str(shop), "--budget", "1k", "--format", "json")
    assert done.stdout == again.stdout
    table = run("eval", "--root", str(shop), "--budget", "1k").stdout
    assert "line recall" in table
    assert "passed over: has no parent: 1" in table
    assert (2, "") == (run("eval", "--root", str(shop), "--budget", "x").returncode, "")
    (shop / ".git").rename(tmp_path / "gone")
    alone = run("eval", "--root", str(shop))
    assert (2, "") == (alone.returncode, alone.stdout)


@pytest.mark.parametrize(
    "command", [["why", "a.py", "x"], ["graph"], ["verify", "b"], ["eval"]]
)
def test_a_second_root_is_refused_where_one_is_asked(shop: Path, command: list[str]) -> None:
    done = run(*command, "--root", str(shop), "--root", str(shop / "src"))
    assert (2, "") == (done.returncode, done.stdout)
    assert f"{command[0]} is about one --root; there are 2" in done.stderr


def test_files_names_the_rule_behind_what_is_left_out(shop: Path) -> None:
    document = json.loads(run("files", "--root", str(shop), "--format", "json").stdout)
    skipped = {skip["path"]: skip for skip in document["skipped"]}
    assert skipped["scripts/legacy_import.py"]["reason"] == "ignored"
    assert skipped["scripts/legacy_import.py"]["rule"].startswith(".contextpackignore:")
    assert skipped[".env"]["reason"] == "secret"
    assert "scripts/legacy_import.py" in run("files", "--root", str(shop)).stdout


def test_graph_shows_rates_edges_and_what_does_not_resolve(shop: Path) -> None:
    table = run("graph", "--root", str(shop))
    assert table.returncode == 0
    assert "python" in table.stdout
    document = json.loads(run("graph", "--root", str(shop), "--format", "json").stdout)
    assert ["src/lending/desk.py", "src/lending/policy.py"] in document["edges"]
    assert len(document["edges"]) == len(document["kinds"])
    assert document["rates"]["python"]["resolved"] > 20
    assert {"standard-library", "package"} >= {e["reason"] for e in document["external"]}

    def targets(*arguments: str) -> set[str]:
        done = run("graph", *arguments, "--root", str(shop), "--format", "json")
        return {target for _, target in json.loads(done.stdout)["edges"]}

    one = targets("src/lending/desk.py", "--depth", "1")
    every = targets("src/lending/desk.py")
    assert "src/lending/policy.py" in one
    assert one <= every
    importers = run(
        "graph", "src/lending/policy.py", "--importers", "--depth", "1", "--root", str(shop)
    )
    assert "src/lending/desk.py" in importers.stdout
    unknown = run("graph", "nowhere.py", "--root", str(shop))
    assert (2, "") == (unknown.returncode, unknown.stdout)


def test_graph_is_written_for_other_tools(shop: Path) -> None:
    dot = run("graph", "--root", str(shop), "--format", "dot").stdout
    assert '"src/lending/desk.py" -> "src/lending/policy.py";' in dot
    mermaid = run("graph", "--root", str(shop), "--format", "mermaid").stdout
    assert mermaid.startswith("flowchart LR\n")
    picture = run("graph", "--root", str(shop), "--format", "svg", env={"PATH": "/nonexistent"})
    assert (2, "") == (picture.returncode, picture.stdout)
    assert "--format dot" in picture.stderr
    assert dot == run("graph", "--root", str(shop), "--format", "dot").stdout


def test_batch_answers_each_line_and_survives_bad_ones(shop: Path) -> None:
    root = str(shop)
    lines = [
        json.dumps({"root": root, "query": "checkout", "budget": 500}),
        "not json",
        "[]",
        json.dumps({"root": root, "query": "checkout", "budgetTokns": 5}),
        json.dumps({"root": root, "query": "checkout", "strategy": "best"}),
        json.dumps({"root": "/none", "query": "checkout"}),
        json.dumps({"root": root}),
        "",
        json.dumps({"root": root, "query": "checkout", "budgetTokens": 500, "format": "xml"}),
    ]
    done = run("batch", stdin="\n".join(lines))
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [
        None, "INVALID_LINE", "INVALID_LINE", "INVALID_OPTION", "INVALID_OPTION", "ROOT_PROBLEM",
        "INVALID_OPTION", None,
    ]  # fmt: skip
    assert answers[-1]["text"].startswith("<context>")


def test_batch_survives_odd_lines(shop: Path) -> None:
    root = str(shop)
    lines = [
        "\ufeff" + json.dumps({"root": root, "query": "checkout"}),
        json.dumps({"root": root, "query": "checkout caf\ud800", "pins": []}),
        json.dumps({"root": root, "query": "x", "pins": ["\ud800"]}),
        json.dumps({"root": root, "query": "x", "caf\ud800": 1}),
        "[" * 100_000,
        json.dumps({"root": root, "query": "x", "budget": "9" * 400}),
        json.dumps({"root": root, "query": "x", "marginPercent": 10**400}),
        json.dumps({"root": "", "query": "x"}),
        json.dumps({"root": "a\0b", "query": "x"}),
        json.dumps({"root": root, "query": "checkout"}),
    ]
    done = run("batch", stdin="\n".join(lines))
    assert (0, "") == (done.returncode, done.stderr)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [
        None,
        None,
        *["INVALID_OPTION"] * 2,
        "INVALID_LINE",
        *["INVALID_OPTION"] * 4,
        None,
    ]
    assert answers[0] == answers[-1]


def test_a_query_of_any_bytes_is_answered(shop: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "contextpackd",
            "pack",
            b"checkout caf\xff",
            "--root",
            shop,
            "--format",
            "json",
        ],
        capture_output=True,
        env=environment(),
        check=False,
    )
    assert (0, b"") == (done.returncode, done.stderr)
    assert json.loads(done.stdout)["items"]


CLOSED = [
    ("2>&-", 0),
    (">&-", 2),
    ("--report 2>/dev/full", 0),
    (">/dev/full", 2),
]


@pytest.mark.parametrize(("redirection", "code"), CLOSED)
def test_closed_and_full_streams_lose_only_what_went_there(
    shop: Path, redirection: str, code: int
) -> None:
    shell = f"{sys.executable} -m contextpackd pack checkout --root {shop} {redirection}"
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, env=environment(), check=False
    )
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert (b"src/lending" in done.stdout) is (code == 0)


def test_a_closed_input_is_wrong_usage(shop: Path) -> None:
    for command in (f"pack - --root {shop}", "batch", "pack-chunks --budget 5"):
        shell = f"{sys.executable} -m contextpackd {command} <&-"
        done = subprocess.run(
            ["bash", "-c", shell], capture_output=True, env=environment(), check=False
        )
        assert (2, b"") == (done.returncode, done.stdout)
        assert b"standard input is closed" in done.stderr


def on_a_terminal(shop: Path, columns: int, *arguments: str) -> str:
    """What a command shows on a terminal of so many columns, standard output and error as one."""
    command = " ".join([sys.executable, "-m", "contextpackd", *arguments, "--root", str(shop)])
    done = subprocess.run(
        ["script", "-qec", f"stty cols {columns}; {command}", "/dev/null"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environment() | {"TERM": "xterm"},
        check=False,
    )
    return done.stdout.decode()


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
def test_the_report_shows_paths_on_any_width(shop: Path, columns: int) -> None:
    shown = on_a_terminal(
        shop, columns, "pack", "checkout", "--output", str(shop.parent / "o.md")
    )
    assert "src/lending/policy.py" in shown


def test_a_terminal_gets_no_raw_controls(shop: Path) -> None:
    (shop / "bad.py").write_text("checkout = '\x1b[2J\u202e'\n")
    shown = on_a_terminal(shop, 100, "pack", "checkout", "--pin", "bad.py")
    assert "\\x1b[2J" in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown


def test_pins_are_found_however_they_are_written(shop: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(shop)
    for root, pin in (
        (shop, "./src/../README.md"),
        (shop, str(shop / "README.md")),
        (link, str(link / "README.md")),
    ):
        done = run("pack", "checkout", "--root", str(root), "--pin", pin, "--format", "json")
        assert json.loads(done.stdout)["items"][0]["path"] == "README.md"
    outside = run("pack", "checkout", "--root", str(shop), "--pin", "../x")
    assert outside.returncode == 2


def test_contradicting_flags_are_refused(shop: Path) -> None:
    root = str(shop)
    assert (
        run("pack", "x", "--root", root, "--text", "xml", "--format", "plain").returncode == 2
    )
    assert run("explain", "x", "--root", root, "--top", "-1").returncode == 2
    empty = run("pack", "checkout", "--root", root, "--exclude", "*")
    assert empty.returncode == 1
    assert "no file is left" in empty.stderr


def test_batch_sees_a_write_made_before_the_question(shop: Path) -> None:
    question = json.dumps({"root": str(shop), "query": "zebra"}) + "\n"
    with subprocess.Popen(
        [sys.executable, "-m", "contextpackd", "batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for n in range(30):
            (shop / "src" / "lending" / "fees.py").write_text(f"def zebra_{n}(): ...\n")
            process.stdin.write(question)
            process.stdin.flush()
            assert f"zebra_{n}(" in json.loads(process.stdout.readline())["text"]
        process.stdin.close()
        assert process.wait(10) == 0


def test_pack_chunks_is_the_library_as_a_filter() -> None:
    chunks = [
        {"content": "one", "score": 0.9, "tokens": 50},
        {"content": "two", "score": 0.5, "tokens": 60},
    ]
    done = run("pack-chunks", "--budget", "100", stdin=json.dumps(chunks))
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert [chunk["content"] for chunk in result["chunks"]] == ["one"]
    assert result["report"]["excluded"][0]["reason"] == "budget"
    for stdin, arguments in (
        ("nonsense", ["--budget", "5"]),
        (json.dumps(chunks), []),
        ("{}", ["--budget", "5"]),
    ):
        refused = run("pack-chunks", *arguments, stdin=stdin)
        assert (2, "") == (refused.returncode, refused.stdout)
        assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_an_evaluation_that_is_told_to_end_leaves_nothing(
    shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    isolate_git(monkeypatch, tmp_path / "home")
    run_git(shop, "init", "-q")
    for n in range(12):
        write(shop, {"counted.py": f"def counted():\n    return {n}\n"})
        run_git(shop, "add", "-A")
        run_git(shop, "commit", "-qm", f"Return the next number {n} when counted")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "contextpackd", "eval", "--root", str(shop)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment() | {"PYTHONUNBUFFERED": "1", "TMPDIR": str(temporary)},
        # Whatever runs the tests may ignore it, as `nohup` does.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509  # no threads
        text=True,
    ) as process:
        assert process.stderr is not None
        assert "1 of 11" in process.stderr.readline()
        assert 1 == len(list(temporary.iterdir()))
        process.send_signal(number)
        process.stderr.read()
        assert 128 + number == process.wait(20)
    assert [] == list(temporary.iterdir())


def test_an_interrupt_leaves_no_file(shop: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "query"
    os.mkfifo(fifo)
    file = tmp_path / "bundle.md"
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "contextpackd",
            "pack",
            "-",
            "--root",
            str(shop),
            "--output",
            str(file),
        ],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment() | {"PYTHONUNBUFFERED": "1"},
        text=True,
    ) as process:
        # The command waits for its query: it has started, and nothing is written yet.
        wait_until_reading(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert "interrupted" in process.stderr.read()
    assert not file.exists()


def wait_until_reading(pid: int) -> None:
    """Until the process sleeps in a read of its standard input."""
    call = Path(f"/proc/{pid}/syscall")
    for _ in range(1_000_000):
        fields = call.read_text().split()
        if fields[:2] == ["0", "0x0"]:  # read(0, ...) on x86-64
            return
    pytest.fail("the command never read its standard input")


def test_a_reader_that_leaves_early_is_no_error(shop: Path) -> None:
    shell = f"{sys.executable} -m contextpackd files --root {shop} --format json | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, env=environment(), check=False
    )
    assert b"Traceback" not in done.stderr


def test_nothing_reaches_the_network(shop: Path) -> None:
    hook = (
        "import sys\n"
        "def audit(event, _arguments):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo', 'urllib.Request'):\n"
        "        raise SystemExit(f'network: {event}')\n"
        "sys.addaudithook(audit)\n"
        "from contextpackd.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            hook,
            "pack",
            "checkout",
            "--root",
            str(shop),
            "--model",
            "gpt-4",
        ],
        capture_output=True,
        env=environment(),
        check=False,
    )
    assert (0, b"") == (done.returncode, done.stderr)
