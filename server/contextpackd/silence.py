"""Why changes are not reported somewhere, and what people can do about it."""

import errno
import os
import re
from collections.abc import Set
from pathlib import Path

from contextpack.text import display_path

# Their servers, hosts or user programs change files without telling this kernel.
_SILENT_FILE_SYSTEMS = (
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "drvfs", "fakeowner", "fuse", "gfs2",
    "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "ocfs2", "orangefs", "prl_fs", "smb",
    "vboxsf", "virtiofs", "vmhgfs",
)  # fmt: skip
_GENEROUS = {"max_user_watches": 524_288, "max_user_instances": 1024}  # As editors advise.


class Silence(Exception):
    """Changes are not reported. `message` is for people, None if there is nothing they can do."""

    def __init__(self, reason: str, message: str | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message


def mounts() -> str:
    """What is mounted where, as in fstab(5): an empty text where the system does not say."""
    try:
        return Path("/proc/self/mounts").read_text(errors="surrogateescape")
    except OSError:
        return ""


def check_mounts(table: str, root: Path, directories: Set[str]) -> None:
    """Raises `Silence` if the root, or one of the directories below it, reports no changes."""
    real = os.path.realpath(root)
    above, below = ("", ""), ("", "")
    for line in table.splitlines():
        point, kind = _mount(line)
        if (real + "/").startswith(point.rstrip("/") + "/"):
            # The deepest counts, and of several at one place the last.
            above = (point, kind) if len(point) >= len(above[0]) else above
        elif point.startswith(real + "/") and point[len(real) + 1 :] in directories:
            below = (point, kind) if kind.startswith(_SILENT_FILE_SYSTEMS) else below
    for point, kind in (above, below):
        if kind.startswith(_SILENT_FILE_SYSTEMS):
            raise _noted(f"the file system {kind} at {display_path(point)} reports no changes")


def no_queue(error: OSError) -> Silence:
    """What it means that there is no queue of events to be had."""
    if error.errno == errno.EMFILE:
        return _limited("event queues", "max_user_instances")
    if error.errno == errno.ENOSYS:
        return Silence("the change events of this system prove nothing", None)
    return _noted(f"the system reports no changes: {error.strerror}")


def no_watches() -> Silence:
    """The limit of watched directories is reached."""
    return _limited("watched directories", "max_user_watches")


def not_notified(problem: str) -> Silence:
    """The system wakes nobody for changes, though it could."""
    reason = f"the system does not say when something changes ({problem})"
    return Silence(reason, f"{reason}, so changes are looked for every two seconds")


def _mount(line: str) -> tuple[str, str]:
    """The mount point and the file system of one line of the table."""
    _, point, kind, *_ = [*line.split(" "), "", "", ""]
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), point), kind


def _noted(reason: str) -> Silence:
    return Silence(reason, f"{reason}, so every answer looks at every file")


def _limited(what: str, setting: str) -> Silence:
    try:
        limit = int(Path("/proc/sys/fs/inotify", setting).read_text())
    except (OSError, ValueError):
        limit = 0
    reason = f"the system's limit of {what} is reached (fs.inotify.{setting} is {limit})"
    higher = max(_GENEROUS[setting], 2 * limit)
    advice = f"run `sudo sysctl fs.inotify.{setting}={higher}` and start again"
    return Silence(reason, f"{reason}, so every answer looks at every file; {advice}")
