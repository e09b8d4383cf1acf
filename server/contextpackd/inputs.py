"""What outside of a directory's own names decides how they are judged, and whether it changed.

Each repository has its inputs: its index and `HEAD`, its configuration and excludes, the user's,
and the ignore files between the root and the top of its working tree. A file is known by its
mark, and one that was young when it was marked is not believed the next time.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from contextpackd import git, ignore
from contextpackd.errors import GitUnavailable

# A file or directory that changed less than this before it was looked at may change again within
# the same tick of its file system's clock (2 s on FAT).
YOUNG_NS = 2_000_000_000

Mark = tuple[int, int, int, int]
"""The stat of a file as far as it tells of change; of a directory only which one it is."""

ABSENT: Mark = (0, 0, 0, 0)
DOUBTED: Mark = (-1, 0, 0, 0)
"""The mark of what was young: it equals no other."""

RULE_FILES = (".gitignore", ".contextpackignore", ".gitattributes")


@dataclass(slots=True)
class Inputs:
    """The inputs of one repository, by absolute path."""

    index: dict[str, Mark]
    """Those that say what is tracked: they change with every commit."""
    rules: dict[str, Mark]
    """Those that decide on more than single paths: they change rarely."""
    digest: bytes
    """Of what `rules` say. It is the same after a change that has nothing to do with ignoring."""

    def is_index_changed(self) -> bool:
        """Whether what is tracked may have changed."""
        return is_changed(self.index)

    def is_rules_changed(self) -> bool:
        """Whether the rules may have changed."""
        return is_changed(self.rules)


def gathered(root: Path, inside: str, now_ns: int) -> Inputs:
    """The inputs of the repository at or around `inside`, a directory below the root, by now.

    Ask before the answers that depend on them are read.
    """
    folder = root / inside
    top = folder if inside else ignore.repository_top(root)
    above = _above(root, top) if not inside else ()
    index: list[Path] = []
    rules: list[Path] = []
    facts = [parent / ".git" for parent in (folder, *above)]
    contents = [parent / name for parent in above for name in RULE_FILES] if top else []
    common = None if top is None else ignore.common_git_dir(top)
    if top is not None and common is not None:
        private = ignore.git_link(top) or common
        index = [private / "index", private / "HEAD"]
        facts += [private / "commondir", common / "objects", common / "refs"]
        rules += [private / "config.worktree", common / "config"]
        contents.append(common / "info" / "exclude")
    configuration = _configuration(top or Path(os.sep))
    contents.append(configuration.excludes or default_excludes())
    rules += [*facts, *configuration.files, *_usual_configurations(), *contents]
    # Marks come first: what changes while we look is then seen as a change the next time.
    marks = marked(map(str, index), now_ns), marked(map(str, rules), now_ns)
    digest = hashlib.blake2b(
        "\0".join(configuration.settings).encode("utf-8", "surrogateescape")
    )
    for file in facts:
        digest.update(b"\1" + (ignore.small_content(file, 0) or b"%d" % os.path.lexists(file)))
    for file in contents:
        data = ignore.small_content(file, 0)
        digest.update(os.fsencode(file) + (b"\0" if data is None else b"\1" + data))
    return Inputs(*marks, digest.digest())


def default_excludes() -> Path:
    """Where git looks for the user's excludes if no configuration says so."""
    return Path(_user_configuration(), "git", "ignore")


def marked(files: Iterable[str], now_ns: int) -> dict[str, Mark]:
    """The marks of files, those of young ones doubted."""
    return {file: mark_of(file, now_ns) for file in files}


def mark_of(file: str, now_ns: int) -> Mark:
    """The mark of a file, doubted if it is young."""
    return believed(_mark(file), now_ns)


def link_mark_of(file: str) -> Mark:
    """The mark of what is at a path, be it a link."""
    try:
        status = os.lstat(file)
    except OSError:
        return ABSENT
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def believed(mark: Mark, now_ns: int) -> Mark:
    """A mark, doubted if the file was young when it was taken."""
    return DOUBTED if now_ns - max(mark[1], mark[2]) < YOUNG_NS and mark[1] else mark


def is_changed(marks: Mapping[str, Mark]) -> bool:
    """Whether some file is not the one that was marked."""
    return any(_mark(file) != mark for file, mark in marks.items())


def _mark(file: str) -> Mark:
    try:
        status = os.stat(file)  # noqa: PTH116 - Half the time of `Path.stat`.
    except (OSError, ValueError):
        return ABSENT
    if stat.S_ISDIR(status.st_mode):
        return (status.st_ino, 0, 0, 1)  # Its times change with every name in it.
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _above(root: Path, top: Path | None) -> tuple[Path, ...]:
    parents = tuple(root.parents)
    if top is None:
        return parents
    return parents[: len(root.relative_to(top).parts)]


def _configuration(folder: Path) -> git.Configuration:
    try:
        return git.configuration(folder)
    except GitUnavailable:
        return git.Configuration((), None, ())


def _usual_configurations() -> list[Path]:
    """Where git's configuration is made if there is none yet."""
    home = os.path.expanduser("~")  # noqa: PTH111 - `Path.home` may raise.
    chosen = os.environ.get("GIT_CONFIG_GLOBAL")
    users = (
        [chosen] if chosen else [f"{home}/.gitconfig", f"{_user_configuration()}/git/config"]
    )
    return [
        Path(file) for file in [*users, os.environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig")]
    ]


def _user_configuration() -> str:
    home = os.path.expanduser("~")  # noqa: PTH111
    return os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
