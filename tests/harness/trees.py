"""Workspaces on disk for tests: files as cases describe them, git repositories, listings."""

import base64
import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from contextpack.content import content_reason
from contextpack.model import Skip
from contextpackd.disk import Discovery, Listing, Text, discover, read

MAX_FILE_BYTES = 1 << 20
EVERYTHING = Discovery(include=(), exclude=(), max_file_bytes=MAX_FILE_BYTES)
CASES = Path(__file__).parents[2] / "fixtures" / "cases"


def cases(name: str) -> dict[str, Mapping[str, Any]]:
    # Not `splitlines`: the cases have line separators in their strings.
    lines = (CASES / name).read_text(encoding="utf-8").strip().split("\n")
    return {case["id"]: case for case in map(json.loads, lines)}


def isolate_git(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Give git a user without configuration, whose home directory is `home`."""
    home.mkdir(exist_ok=True)
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "someone")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "someone@example.org")


def run_git(folder: Path, *arguments: str | Path) -> str:
    command = ["git", "-c", "protocol.file.allow=always", "-C", folder, *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return os.fsdecode(done.stdout)


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        (root / path).write_bytes(data)


def build(root: Path, files: Iterable[Mapping[str, Any]]) -> None:
    """The files of a case: `path` or `path_b64`, and what is there."""
    for file in files:
        path = root / path_of(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        if "symlink" in file:
            path.symlink_to(file["symlink"])
        elif file.get("fifo"):
            os.mkfifo(path)
        else:
            path.write_bytes(content_of(file))


def path_of(file: Mapping[str, Any]) -> str:
    if "path_b64" in file:
        return os.fsdecode(base64.b64decode(file["path_b64"]))
    return str(file["path"])


def content_of(file: Mapping[str, Any]) -> bytes:
    if "b64" in file:
        return base64.b64decode(file["b64"])
    if "gen" in file:
        gen = file["gen"]
        text = gen.get("prefix", "") + gen["unit"] * gen["n"] + gen.get("suffix", "")
    else:
        text = eval(file["py"], {"json": json}) if "py" in file else file["text"]
    assert isinstance(text, str)
    return text.encode()


def entries(listing: Listing) -> dict[str, Skip]:
    """What was left out, by path. Fails if a path stands twice."""
    paths = [candidate.path for candidate in listing.candidates]
    paths += [skip.path for skip in listing.skipped]
    assert len(paths) == len(set(paths))
    return {skip.path: skip for skip in listing.skipped}


def texts(
    root: Path, options: Discovery = EVERYTHING
) -> tuple[dict[str, Text], dict[str, Skip], Listing]:
    """A workspace as the pipeline takes it in: texts, what was left out, and the listing."""
    listing = discover(root, options)
    skipped, found = entries(listing), {}
    for candidate in listing.candidates:
        text = read(root, candidate.path, options.max_file_bytes)
        if isinstance(text, Text):
            reason = content_reason(candidate.path, text.text)
            if reason is None:
                found[candidate.path] = text
                continue
            text = Skip(candidate.path, reason)
        skipped[candidate.path] = text
    return found, skipped, listing
