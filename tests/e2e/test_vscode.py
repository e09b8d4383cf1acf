"""Real VS Code in a browser, with the extension as users install it.

One session by keys and mouse, looked at from outside (`vscode/pack.mjs`) and from within the
extension host (`vscode/inside`), and one in a workspace that nobody trusts. The scripts say
what they saw; it is judged here. Set CONTEXTPACKD_PICTURES to a folder to see it, too.

All of it carries the mark `vscode`: it takes a minute, a browser and npm's registry.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import contextpackd
from contextpackd.version import VERSION
from harness.editors import found, output, private_folders
from harness.lsp_client import LIMIT_SECONDS, House, house
from harness.paths import FIXTURES, ROOT

pytestmark = pytest.mark.vscode

EXTENSION = ROOT / "editors" / "vscode"
SCRIPTS = ROOT / "tests" / "e2e" / "vscode"
QUERY = "objections to a checkout"
POLICY = "src/lending/policy.py"

LISTENING = re.compile(r"listening on (http://\S+?)/?\s")
SESSION_SECONDS = 8 * LIMIT_SECONDS
NPM_SECONDS = 5 * LIMIT_SECONDS

QUIET = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "security.workspace.trust.startupPrompt": "never",
}
"""What would stand in the way, or ask before anybody did something."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The programs. Without one the tests are skipped, but never where CI is set."""

    code_server: str
    node: str
    npm: str
    chromium: str


@pytest.fixture(scope="module")
def tools() -> Tools:
    programs = {name: shutil.which(name) for name in ("code-server", "node", "npm", "chromium")}
    missing = [name for name, program in programs.items() if program is None]
    if missing:
        refuse = pytest.fail if os.environ.get("CI") else pytest.skip
        refuse(f"not installed: {', '.join(missing)}")
    return Tools(*(str(program) for program in programs.values()))


@pytest.fixture(scope="module")
def built(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the extension's package, that of the one which looks, and node's modules."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "extension"
    shutil.copytree(EXTENSION, source, ignore=shutil.ignore_patterns("node_modules", "dist"))
    npm = [tools.npm, "--no-audit", "--no-fund", "--loglevel=error"]
    for command in ([*npm, "install"], [*npm, "run", "package"]):
        said(command, source, NPM_SECONDS)
    shutil.copytree(SCRIPTS / "inside", folder / "inside")
    vsce = str(source / "node_modules" / ".bin" / "vsce")
    flags = ["--no-dependencies", "--skip-license", "--allow-missing-repository"]
    said([vsce, "package", *flags, "--out", "../inside.vsix"], folder / "inside", LIMIT_SECONDS)
    return folder


def said(
    command: list[str], cwd: Path, seconds: float, env: Mapping[str, str] | None = None
) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def written(file: Path, text: str, mode: int = 0o644) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)


def shop(folder: Path, environment: str) -> Path:
    """A repository with a commit, whose virtual environment has a program of this script."""
    root = folder / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    git = ["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=e@localhost"]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run([*git, "add", "--all", "--force"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "all"], check=True)
    written(root / ".git" / "info" / "exclude", ".venv\n.vscode\n")
    written(root / ".venv" / "bin" / "contextpackd", f"#!/bin/sh\n{environment}\n", 0o755)
    return root


@contextlib.contextmanager
def code_server(
    tools: Tools, built: Path, own: House, *flags: str, **environment: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """VS Code at a URL, and the environment that it runs in."""
    written(own.folder / "user" / "User" / "settings.json", json.dumps(QUIET))
    folders = ["--user-data-dir", str(own.folder / "user")]
    folders += ["--extensions-dir", str(own.folder / "extensions")]
    # Nothing of this Python's: the server must be found where the extension looks.
    path = os.pathsep.join([str(Path(tools.node).parent), "/usr/bin", "/bin"])
    env = own.env | {"PATH": path} | environment
    for package in (built / "extension" / "dist" / "contextpackd.vsix", built / "inside.vsix"):
        install = [tools.code_server, *folders, "--install-extension", str(package)]
        said(install, own.folder, LIMIT_SECONDS, env)
    process = subprocess.Popen(
        [
            tools.code_server, *folders, *flags, "--auth", "none", "--bind-addr", "127.0.0.1:0",
            "--disable-telemetry", "--disable-update-check",
            "--disable-getting-started-override",
        ],
        cwd=own.folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        log = ""
        while (listening := LISTENING.search(log)) is None:
            line = process.stdout.readline()
            assert line, log
            log += line
        yield listening[1], env
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def driven(tools: Tools, built: Path, env: Mapping[str, str], script: str, *args: str) -> Any:
    """What a script saw."""
    modules = {
        "NODE_MODULES": str(built / "extension" / "node_modules"),
        "CHROMIUM": tools.chromium,
        "PICTURES": os.environ.get("CONTEXTPACKD_PICTURES", ""),
    }
    command = [tools.node, str(SCRIPTS / script), *args]
    return json.loads(said(command, SCRIPTS, SESSION_SECONDS, {**env, **modules}))


@dataclass(frozen=True, slots=True)
class Session:
    """What was seen, and what the same questions give without an editor."""

    root: Path
    outside: dict[str, Any]
    within: dict[str, Any]
    expected: dict[str, str]
    neovim: str
    """The bundle of the last question, asked in Neovim."""
    n_daemons: int
    """How many served both, while both were there."""


@pytest.fixture(scope="module")
def session(tools: Tools, built: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("session")
    python = shlex.quote(sys.executable)
    root = shop(folder, f'exec {python} -P -m contextpackd "$@"')
    expected = asked_alone(root, folder / "twin")
    seen = folder / "seen.json"
    with (
        house() as own,
        code_server(
            tools, built, own, "--disable-workspace-trust", SEEN=str(seen)
        ) as (url, env),
    ):  # fmt: skip
        outside = driven(
            tools, built, env | {"SEEN": str(seen)}, "pack.mjs", f"{url}/?folder={root}", QUERY
        )
        neovim = asked_in_neovim(own, root, folder / "neovim.md")
        n_daemons = len(own.daemons())
    within = json.loads(seen.read_text(encoding="utf-8"))
    assert "error" not in within, within["error"]
    return Session(root, outside, within, expected, neovim, n_daemons)


def asked_in_neovim(own: House, root: Path, seen: Path) -> str:
    specs = ROOT / "tests" / "e2e" / "nvim"
    environment = {
        **private_folders(own),
        "STAGE": str(specs / "stage.lua"),
        "PLUGIN": str(ROOT / "editors" / "nvim"),
        "SERVER_PYTHON": sys.executable,
        "ROOT": str(root),
        "SEEN": str(seen),
    }
    command = [found("nvim"), "--headless", "--clean", "-l", str(specs / "same.lua")]
    output(own, *command, **environment)
    return seen.read_text(encoding="utf-8")


def asked_alone(root: Path, twin: Path) -> dict[str, str]:
    """The bundles of the session's questions, from a copy to which the same happens."""
    shutil.copytree(root, twin, symlinks=True)
    policy = twin / POLICY
    bundles = {"whole": contextpackd.open(twin).pack(QUERY, 8000).text}
    text = policy.read_text()
    policy.write_text(text.replace("the copy is withdrawn", "the copy is gone"))
    bundles["tool"] = contextpackd.open(twin).pack(QUERY, 700).text
    policy.write_text(text.replace("the copy is withdrawn", "the copy is lost"))
    bundles["last"] = contextpackd.open(twin).pack(QUERY, 900, focus=[POLICY]).text
    return bundles


def row(rows: list[str], start: str) -> str:
    return next((row for row in rows if row.startswith(start)), "")


def test_nothing_runs_before_somebody_asks(session: Session) -> None:
    assert not session.within["wasActive"]
    # How long is for people to look at: machines are busy.
    assert re.fullmatch(
        r"Activated in \d+\.\d ms, \d+\.\d of them busy", session.outside["activation"]
    )


def test_a_pack_by_keys_shows_what_is_in_and_out(session: Session) -> None:
    rows = session.outside["rows"]
    status = re.fullmatch(r"ctx (?:1\.\d|2)k/2k · (\d) files · live", session.outside["status"])
    assert status is not None, session.outside["status"]
    assert re.fullmatch(r"src/lending/policy.py\d+ ▰+▱+ chunks", row(rows, POLICY))
    assert f"Included{status[1]}" in row(rows, "Included")
    assert row(rows, "Left out: below-cut")
    assert "Left out: secret1" == row(rows, "Left out: secret")


def test_a_file_is_left_out_and_pinned_with_the_mouse(session: Session) -> None:
    left_out, pinned = session.outside["leftOut"], session.outside["pinned"]
    assert left_out.index(POLICY) == left_out.index("Left out by you1") + 1
    assert "" == row(pinned, "Left out by you")
    assert row(pinned, POLICY).endswith("whole")


def test_the_bundle_is_copied(session: Session) -> None:
    assert session.outside["clipboard"].startswith("Code from a workspace;")
    assert f"`{POLICY}:1-82`" in session.outside["clipboard"]


def test_the_budget_is_picked(session: Session) -> None:
    assert re.fullmatch(r"ctx \d\.\dk/8k · \d+ files · live", session.outside["budget"])


def test_the_bundle_is_the_servers(session: Session) -> None:
    assert session.expected["whole"] == session.within["pack"]["text"]
    assert {
        "text": session.expected["whole"],
        "language": "markdown",
    } == session.within["bundle"]


def test_the_bundle_folds_by_file_and_leads_to_the_source(session: Session) -> None:
    lines = session.within["bundle"]["text"].split("\n")
    # Those that VS Code's own Markdown support adds begin at the fences.
    folded = [lines[start] for start, _ in session.within["folds"]]
    headings = [line.partition(":")[0] for line in folded if "```" not in line]
    assert [f"`{path}" for path in session.within["pack"]["paths"]] == headings
    targets = [target for _, target in session.within["links"]]
    assert all(target.startswith(f"file://{session.root}/") for target in targets)
    assert any(re.search(rf"{POLICY}#L\d+-L\d+$", target) for target in targets)


def test_a_budget_a_pin_and_an_exclusion_count_at_once(session: Session) -> None:
    seen = session.within
    assert POLICY not in seen["leftOut"]["paths"]
    assert f"an exclude option matches {POLICY}" == seen["leftOut"]["why"]
    assert POLICY in seen["takenBack"]
    assert "pyproject.toml" in seen["pinned"]["paths"]
    assert ["in", "the request names it"] == seen["pinned"]["why"]
    assert seen["pinned"]["tokens"] <= 900


def test_a_save_is_followed(session: Session) -> None:
    assert "the copy is gone" in session.within["followed"]
    assert "the copy is withdrawn" not in session.within["followed"]


def test_the_chats_tool_answers(session: Session) -> None:
    assert session.expected["tool"] == session.within["tool"]


def test_a_selection_is_what_a_pack_is_about(session: Session) -> None:
    seen = session.within["selection"]
    assert ("", POLICY) == (seen["query"], seen["path"])
    assert "it is what you look at" == seen["reasons"][0]


def test_diagnostics_say_what_is_wrong_and_where(session: Session) -> None:
    seen = session.within["diagnostics"]
    assert ("withdrawn copies", POLICY) == (seen["query"], seen["path"])
    assert "it is what you look at" in seen["reasons"]


def test_changes_are_packed_and_no_secret_among_them(session: Session) -> None:
    seen = session.within["changes"]
    assert ("", POLICY, "it has changes") == (seen["query"], seen["path"], seen["reasons"][0])
    assert 'reasons.append("the copy is gone")' in seen["text"]
    assert "hunter2" not in seen["text"]


def test_neovim_shows_the_same_bytes_by_the_same_daemon(session: Session) -> None:
    assert session.within["afterKill"]["text"] == session.neovim
    assert 1 == session.n_daemons


def test_the_ranking_is_explained(session: Session) -> None:
    assert f"`{POLICY}`" in session.within["explanation"]


def test_the_answer_gets_what_it_asks_for(session: Session) -> None:
    assert {
        "wanted": ["Member.age_on"],
        "shown": ["objections_to_checkout"],
        "leftOut": [],
        "vague": [],
        "unknown": ["fee_table"],
        "paths": ["src/lending/models.py"],
        "budget": 900,
    } == session.within["answer"]
    # What is selected comes before the clipboard, and three quotation marks name nothing.
    assert None is session.within["selected"]


def test_why_a_file_is_in_is_told(session: Session) -> None:
    told = f"`{POLICY}` is in the bundle: this file ranks high enough to fit."
    # A narrow editor breaks the line.
    assert told.startswith(session.outside["why"].strip())


def test_a_server_that_dies_is_replaced_and_its_pack_made_again(session: Session) -> None:
    assert session.within["afterKill"]["isAnother"]
    assert session.expected["last"] == session.within["afterKill"]["text"]


def test_without_ai_features_the_clipboard_is_all_that_is_claimed(session: Session) -> None:
    assert {
        "said": "The bundle is on the clipboard. AI features are switched off.",
        "clipboard": session.expected["last"],
    } == session.within["chatOff"]


def test_several_folders_are_packed_together_or_one_of_them(
    tools: Tools, built: Path, tmp_path: Path
) -> None:
    root = shop(tmp_path, f'exec {shlex.quote(sys.executable)} -P -m contextpackd "$@"')
    letters = f'"""Letters about {QUERY}."""\n\n\ndef letter(): ...\n'
    written(tmp_path / "mail" / "letters.py", letters)
    folders = [{"path": str(root)}, {"path": str(tmp_path / "mail")}]
    written(tmp_path / "both.code-workspace", json.dumps({"folders": folders}))
    with (
        house() as own,
        code_server(tools, built, own, "--disable-workspace-trust") as (url, env),
    ):
        at = f"{url}/?workspace={tmp_path / 'both.code-workspace'}"
        seen = driven(tools, built, env, "folders.mjs", at, QUERY)
    assert row(seen["rows"], "mail/letters.py")
    assert row(seen["rows"], f"shop/{POLICY}")
    assert "letters.py" == seen["file"]
    assert row(seen["single"], "letters.py")
    assert "" == row(seen["single"], POLICY)


def wheel(folder: Path) -> Path:
    """A package of the server's name and version, whose program is the server of this Python."""
    start = f"os.execv({sys.executable!r}, [{sys.executable!r}, '-P', '-m', 'contextpackd', *sys.argv[1:]])"
    about = f"contextpackd-{VERSION}.dist-info"
    files = {
        "contextpackd_start.py": f"import os\nimport sys\n\n\ndef main():\n    {start}\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: contextpackd\nVersion: {VERSION}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[console_scripts]\ncontextpackd = contextpackd_start:main\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{about}/RECORD"])
    made = folder / f"contextpackd-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made


@pytest.fixture(scope="module")
def restricted(
    tools: Tools, built: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What was seen in a workspace that nobody trusts, and whether a program of its ran."""
    folder = tmp_path_factory.mktemp("restricted")
    ran, shelf, programs = folder / "ran", folder / "shelf", folder / "programs"
    shelf.mkdir()
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    root = shop(folder, f"touch {shlex.quote(str(ran))}")
    command = {"contextpack.server.command": ["touch", str(ran)]}
    written(root / ".vscode" / "settings.json", json.dumps(command))
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shelf)}
    path = os.pathsep.join([str(Path(tools.node).parent), str(programs), "/usr/bin", "/bin"])
    with house() as own, code_server(tools, built, own, PATH=path, **pip) as (url, env):
        at = f"{url}/?folder={root}"
        packages = str(wheel(folder)), str(shelf)
        seen: dict[str, Any] = driven(tools, built, env, "restricted.mjs", at, QUERY, *packages)
    return {**seen, "ran": ran.exists()}


def test_an_untrusted_workspace_names_no_program(restricted: dict[str, Any]) -> None:
    assert "found no contextpackd" in restricted["said"]
    assert not restricted["ran"]


def test_the_server_is_installed_when_the_person_agrees_and_found_again(
    restricted: dict[str, Any],
) -> None:
    assert f"pip install contextpackd=={VERSION}" in restricted["question"]
    assert re.fullmatch(r"ctx (?:1\.\d|2)k/2k · \d files · live", restricted["status"])
    assert restricted["status"] == restricted["again"]


def test_a_failed_installation_says_what_to_do(restricted: dict[str, Any]) -> None:
    assert "No matching distribution found for contextpackd" in restricted["failure"]
    assert f"run pip install contextpackd=={VERSION} yourself" in re.sub(
        "`", "", restricted["failure"]
    )
