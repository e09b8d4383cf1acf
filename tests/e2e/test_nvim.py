"""The Neovim plugin in the real editor: a spec in Lua for each behaviour, and typed keys."""

import contextlib
import os
import pty
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import contextpackd
from contextpackd.version import VERSION
from harness.editors import BUDGET_TOKENS, QUERY, found, output, private_folders, shop_in
from harness.lsp_client import LIMIT_SECONDS, House, house
from harness.paths import FIXTURES, ROOT

PLUGIN = ROOT / "editors" / "nvim"
SPECS = ROOT / "tests" / "e2e" / "nvim"


@pytest.fixture(scope="module")
def own() -> Iterator[House]:
    """One daemon for all specs, as people have it."""
    with house() as made:
        yield made


@pytest.fixture(scope="module")
def expected(own: House) -> Path:
    """A file with the bundle of `QUERY`, as the library makes it."""
    file = own.folder / "expected.md"
    pack = contextpackd.open(FIXTURES / "python-src").pack(QUERY, BUDGET_TOKENS)
    file.write_text(pack.text, "utf-8")
    return file


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return shop_in(tmp_path)


class Terminal:
    """Neovim in a terminal of its own: keys go in as a person types them."""

    def __init__(
        self, nvim: str, arguments: list[str], own: House, env: dict[str, str]
    ) -> None:
        self._nvim, self._env, self._own = nvim, own.env | env, own
        self._socket = own.folder / "nvim.sock"
        self._screen, inside = pty.openpty()
        termios.tcsetwinsize(inside, (40, 120))
        self._process = subprocess.Popen(
            [nvim, "--listen", str(self._socket), *arguments],
            env=self._env | {"TERM": "xterm-256color"},
            cwd=own.folder,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )
        os.close(inside)
        # What nobody reads would stop it.
        self._drain = threading.Thread(target=self._read, daemon=True)
        self._drain.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while os.read(self._screen, 1 << 16):
                pass

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def value(self, expression: str) -> str:
        """An expression of Vim's, evaluated from outside; empty while nobody answers."""
        done = subprocess.run(
            [self._nvim, "--clean", "--headless", "--server", str(self._socket), "--remote-expr", expression],
            env=self._env, cwd=self._own.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
        return done.stdout if done.returncode == 0 else ""

    def wait_for(self, expression: str, wanted: str) -> None:
        end = time.monotonic() + LIMIT_SECONDS
        while wanted not in (said := self.value(expression)):
            assert time.monotonic() < end, f"no {wanted!r} in {expression}: {said!r}"
            assert self._process.poll() is None, "the editor has ended"

    def close(self) -> int:
        """The exit code. Whatever happened, the editor is gone afterwards."""
        try:
            return self._process.wait(LIMIT_SECONDS)
        finally:
            self._process.kill()
            self._process.wait(LIMIT_SECONDS)
            os.close(self._screen)


REPORT = "join(getbufline('contextpack://report', 1, '$'), \"\\n\")"
CONFIG = (
    "lua vim.lsp.config('contextpackd',"
    " {cmd = {vim.env.SERVER_PYTHON, '-P', '-m', 'contextpackd', 'lsp'}})"
)


def environment(own: House, shop: Path, expected: Path) -> dict[str, str]:
    return {
        **private_folders(own),
        "STAGE": str(SPECS / "stage.lua"),
        "PLUGIN": str(PLUGIN),
        "SERVER_PYTHON": sys.executable,
        "ROOT": str(shop),
        "EXPECTED": str(expected),
        "VERSION": VERSION,
    }


@pytest.mark.parametrize("spec", sorted(SPECS.glob("*_spec.lua")), ids=lambda spec: spec.stem)
def test_spec(spec: Path, own: House, shop: Path, expected: Path) -> None:
    nvim = found("nvim")
    env = environment(own, shop, expected)
    output(own, nvim, "--headless", "--clean", "-l", str(spec), **env)


@pytest.mark.parametrize("chat", ["codecompanion", "copilotchat", "avante"])
def test_the_chat_plugins_themselves_take_the_bundle(
    chat: str, own: House, shop: Path, expected: Path
) -> None:
    # They are in no package registry, so nobody has to have them.
    chats = os.environ.get("CONTEXTPACKD_CHAT_PLUGINS")
    if not chats:
        pytest.skip("CONTEXTPACKD_CHAT_PLUGINS names no folder with their repositories")
    env = environment(own, shop, expected) | {"CHATS": chats, "CHAT": chat}
    nvim, spec = found("nvim"), str(SPECS / "chats.lua")
    output(own, nvim, "--headless", "--clean", "-l", spec, **env)


def test_a_person_at_the_keyboard(own: House, shop: Path, expected: Path) -> None:
    env = environment(own, shop, expected)
    policy = shop / "src/lending/policy.py"
    before = f"let g:loaded_python3_provider = 0 | set rtp^={PLUGIN}"
    arguments = ["--clean", "--cmd", before, "-c", CONFIG, str(policy)]
    editor = Terminal(found("nvim"), arguments, own, env)
    try:
        editor.wait_for("bufname()", "policy.py")
        editor.type(":nmap gp <Plug>(contextpack)\r")
        editor.type("gp")
        editor.wait_for("mode()", "c")
        editor.type(f"{QUERY}\r")
        editor.wait_for("bufname()", "contextpack://bundle")
        assert "def objections_to_checkout" in editor.value("join(getline(1, '$'))")
        # Down to the report, to a file that is left out, and pin it.
        editor.type("\x17j/README\rp")
        editor.wait_for(REPORT, "+ ")
        editor.type("b")
        editor.wait_for("mode()", "c")
        editor.type("\x159" + "00\r")
        editor.wait_for(REPORT, "/900 tokens")
        editor.type("y")
        editor.wait_for("getreg('\"')", "# lending")
        text = editor.value("getreg('\"')")
        assert text.rstrip("\n") == editor.value(
            "join(getbufline('contextpack://bundle', 1, '$'), \"\\n\")"
        ).rstrip("\n")
        # Back to the file; a saved edit is followed.
        editor.type(":ContextPackLive\r")
        editor.wait_for("v:lua.require'contextpack'.statusline()", " · live")
        editor.type("\x17t:%s/the copy is withdrawn/it is gone/|w\r")
        editor.wait_for("join(getbufline('contextpack://bundle', 1, '$'))", "it is gone")
        editor.type(":qa\r")
    except BaseException:
        editor.type("\x1b:qa!\r")
        editor.close()
        raise
    assert 0 == editor.close()
