"""Programs that others wrote, run against the real server."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.lsp_client import LIMIT_SECONDS, House
from harness.paths import FIXTURES

QUERY = "objections to a checkout"
BUDGET_TOKENS = 900


def found(name: str) -> str:
    """An editor's program. Without it the test is skipped, but never where CI is set."""
    beside = Path(sys.executable).parent / name
    program = str(beside) if beside.exists() else shutil.which(name)
    if program is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")
    return program


def shop_in(folder: Path) -> Path:
    """A workspace that editors take for a root: they look for the repository."""
    root = folder / "shop"
    shutil.copytree(FIXTURES / "python-src", root)
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def output(own: House, *command: str, **environment: str) -> str:
    """What an editor writes to its standard output. It must end well."""
    done = subprocess.run(
        command,
        env=own.env | environment,
        cwd=own.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3 * LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def private_folders(own: House) -> dict[str, str]:
    """Where Neovim keeps what is the user's, as environment."""
    return {
        "XDG_CONFIG_HOME": str(own.folder / "config"),
        "XDG_DATA_HOME": str(own.folder / "data"),
    }
