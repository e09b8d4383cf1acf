"""Reads where commits changed lines from git's patches without context. Runs nothing."""

import os
import re
from collections.abc import Mapping

import numpy as np

from contextpack.hunks import Ints
from contextpack.model import Path

TELLING = re.compile(
    rb"^(?:\x01[0-9a-f]{40,64}|diff --git |--- |\+\+\+ |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@).*\n",
    re.MULTILINE,
)
"""The lines of such patches that say where something changed, and some that look like it."""

_COMMIT, _FILE = re.compile(rb"^\x01", re.MULTILINE), re.compile(rb"^diff --git ", re.MULTILINE)
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OLD, _NEW, _NO_FILE = b"--- ", b"+++ ", b"/dev/null"

Patch = Mapping[Path, Ints]
"""The hunks of each file that a commit changed, see `hunks.Edit`."""


def patches(lines: bytes) -> dict[str, Patch]:
    """The patches of commits by their digests, in the order of the log.

    Without files whose names git quotes, and those of which it shows no lines. Paths are those
    after the change, or before it where the file is gone.
    """
    found: dict[str, Patch] = {}
    for commit in _COMMIT.split(lines)[1:]:
        digest, _, rest = commit.partition(b"\n")
        files: dict[Path, Ints] = {}
        for file in _FILE.split(rest)[1:]:
            path, hunks = _file(file.split(b"\n"))
            if path is not None:
                files[path] = hunks
        found[os.fsdecode(digest)] = files
    return found


def _file(lines: list[bytes]) -> tuple[Path | None, Ints]:
    """A file's path, if there is one, and its hunks."""
    path = None
    # What looks like a name after the first hunk is a line of the file.
    for line in lines[1:3]:
        name = line[len(_OLD) :].removesuffix(b"\t")
        if line.startswith((_OLD, _NEW)) and name != _NO_FILE and not name.startswith(b'"'):
            path = os.fsdecode(name[len(b"a/") :])
    hunks = [match.groups(b"1") for line in lines[3:] if (match := _HUNK.match(line))]
    return path, np.array(hunks, np.int64).astype(np.int32).reshape(-1, 4)
