"""The one place that runs git, and the answers that discovery needs from it.

Rules of this file:

- A repository may come from anywhere, with its `.git/config`: it must not get a program run.
  So only `version`, `rev-parse`, `merge-base`, `ls-files`, `check-ignore`, `config`, `log`,
  `diff-index --cached`, `ls-tree`, `cat-file --batch` without filters, and in directories of our
  own `read-tree` without a checkout are called. None of them runs
  filters, textconv, external diffs, hooks, aliases or the network, and the file system monitor,
  which `ls-files` and `check-ignore` would start, is switched off on the command line, where no
  configuration file has a say.
- The environment of this process may point git at another repository, as it does inside a hook:
  all `GIT_*` variables are dropped but those that only choose the user's own configuration.
- Whatever goes wrong becomes `GitUnavailable` with a reason; the caller walks without git.
- Paths are read with `-z`, since plain output quotes them, and stay what `os.fsdecode` makes.
"""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from contextpack.history import Commit, Touch
from contextpack.hunks import MAX_HUNKED_COMMITS, NO_HUNKS
from contextpack.text import display_path
from contextpackd.errors import GitUnavailable
from contextpackd.patches import TELLING, Patch, patches

# Listing the index of 100 000 files takes a tenth of a second. What takes this long hangs, on a
# dead network file system or on an ignore file that is a FIFO.
TIMEOUT_SECONDS = 20.0

_HARDENED = (
    "git",
    "--no-optional-locks",  # Do not even refresh the index: the repository stays as it is.
    "--no-pager",
    "--no-replace-objects",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.pager=cat"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "submodule.recurse=false"),
    *("-c", "core.quotePath=false"),  # Names that it quotes all the same have control characters.
    *("-c", "core.bigFileThreshold=1m"),  # Do not compare what is too large for the index.
    *("-c", "log.showSignature=false"),  # It would run `gpg.program`.
    # A directory that merely looks like a bare repository has a configuration file, too.
    *("-c", "safe.bareRepository=explicit"),
)  # fmt: skip
# They choose the user's configuration files and how far to look for a repository; the last one is
# git's own way of testing what it does in another user's repository.
_KEPT_VARIABLES = frozenset(
    (
        "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
        "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_TEST_ASSUME_DIFFERENT_OWNER",
    )
)  # fmt: skip
_SETTINGS_OF_RULES = ("core.", "safe.", "extensions.", "include")
SUBMODULE_MODE = "160000"


@dataclass(frozen=True, slots=True)
class Tracked:
    """What the index holds below a folder, as paths relative to that folder."""

    files: frozenset[str]
    submodules: frozenset[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """The ignore rule that decides on a path. One that begins with `!` keeps the path in."""

    source: str
    """The ignore file, absolute or relative to the top of the working tree."""
    line: int
    pattern: str

    def is_ignoring(self) -> bool:
        """Whether it ignores the path, rather than keeping it in."""
        return not self.pattern.startswith("!")


@dataclass(frozen=True, slots=True)
class Configuration:
    """Where git's configuration comes from, and what of it has a say in what is ignored."""

    files: tuple[Path, ...]
    excludes: Path | None
    """`core.excludesFile`, if it is set."""
    settings: tuple[str, ...]
    """Keys and values that decide whether git answers for a folder, and how names compare."""


def version() -> str:
    """Git's own version, such as `2.39.5`. Raises `GitUnavailable`."""
    output = _output(Path(os.sep), "version")
    return os.fsdecode(output).removeprefix("git version ").strip()


def toplevel(folder: Path) -> Path:
    """The top of the working tree that a folder lies in. Raises `GitUnavailable`."""
    output = _output(folder, "rev-parse", "--show-toplevel")
    top = Path(os.fsdecode(output.removesuffix(b"\n")))
    # `core.worktree` may name any directory on this machine.
    if not (folder.is_relative_to(top) and os.path.lexists(top / ".git")):
        raise GitUnavailable(display_path(str(folder)), f"its working tree is at {top}")
    return top


def tracked(folder: Path) -> Tracked:
    """The tracked files below a folder, those of submodules not among them.

    Raises `GitUnavailable`. Reads the index only, so files deleted from disk are listed.
    """
    output = os.fsdecode(_output(folder, "ls-files", "--cached", "--stage", "-z"))
    records = output.split("\0")[:-1]
    # Mode, digest and stage are as long in all of them.
    start = output.find("\t") + 1
    files = {record[start:] for record in records}
    submodules = {record[start:] for record in records if record.startswith(SUBMODULE_MODE)}
    return Tracked(frozenset(files - submodules), frozenset(submodules))


def rules(folder: Path, paths: Sequence[str]) -> tuple[Rule | None, ...]:
    """The rule that decides on each path, whether tracked or not; None where there is none.

    Paths are relative to the folder, and inside its repository. Raises `GitUnavailable`.
    """
    if not paths:
        return ()
    # `./` keeps a leading colon from being read as pathspec magic.
    asked = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
    options = ("--no-index", "--verbose", "--non-matching", "--stdin", "-z")
    # 1 means that no path is ignored.
    output = _output(folder, "check-ignore", *options, stdin=asked, codes=(0, 1))
    fields = [os.fsdecode(field) for field in output.split(b"\0")[:-1]]
    if len(fields) != 4 * len(paths):
        raise GitUnavailable(display_path(str(folder)), "check-ignore left paths out")
    return tuple(
        Rule(source, int(line), pattern) if source else None
        for source, line, pattern in zip(fields[::4], fields[1::4], fields[2::4], strict=True)
    )


def configuration(folder: Path) -> Configuration:
    """What git's configuration says of the repository around a folder. Raises `GitUnavailable`.

    In a folder of no repository it is the user's and the system's.
    """
    # 128 is for a file that is not there or that git may not trust: what it says does not count.
    output = _output(folder, "config", "--list", "--show-origin", "-z", codes=(0, 1, 128))
    fields = [os.fsdecode(field) for field in output.split(b"\0")]
    files: dict[Path, None] = {}
    settings: list[str] = []
    excludes = None
    for origin, setting in zip(fields[:-1:2], fields[1::2], strict=False):
        if origin.startswith("file:"):
            files[folder / origin.removeprefix("file:").strip('"')] = None
        key, _, value = setting.partition("\n")
        if key == "core.excludesfile":
            excludes = value or None
        if key.startswith(_SETTINGS_OF_RULES):
            settings.append(setting)
    path = None if excludes is None else folder / os.path.expanduser(excludes)  # noqa: PTH111
    return Configuration(tuple(files), path, tuple(settings))


def global_excludes() -> Path | None:
    """The user's `core.excludesFile`, or None if it is not set. Raises `GitUnavailable`.

    No repository is asked: what it says of this key counts only where git itself answers.
    """
    for scope in ("--global", "--system"):
        options = (scope, "--includes", "--type=path", "-z", "--get", "core.excludesFile")
        # 1 means that the key is not set; git fails, too, where there is no such file.
        output = _output(Path(os.sep), "config", *options, codes=(0, 1, 128))
        if path := output.removesuffix(b"\0"):
            return Path(os.fsdecode(path))
    return None


def _output(
    folder: Path, *arguments: str, stdin: bytes = b"", codes: tuple[int, ...] = (0,)
) -> bytes:
    shown = display_path(str(folder))
    try:
        done = subprocess.run(
            [*_HARDENED, "-C", folder, *arguments],
            input=stdin,
            capture_output=True,
            env=_environment(),
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise GitUnavailable(shown, "git is not installed") from error
    except subprocess.TimeoutExpired as error:
        reason = f"no answer to git {arguments[0]} within {TIMEOUT_SECONDS:.0f} seconds"
        raise GitUnavailable(shown, reason) from error
    except OSError as error:
        raise GitUnavailable(shown, error.strerror or "git does not start") from error
    if done.returncode not in codes:
        complaint = os.fsdecode(done.stderr).strip().partition("\n")[0]
        reason = display_path(complaint.removeprefix("fatal: "))
        raise GitUnavailable(
            shown, reason or f"git {arguments[0]} ended with {done.returncode}"
        )
    return done.stdout


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT_VARIABLES
    }
    # Messages in English, no questions, no fetching of objects that a partial clone lacks.
    return kept | {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }


# A log that takes longer, or is larger, is read as far as it came: the newest commits come first.
# Reading 5 000 commits takes half a second, and they are 2 MB.
LOG_SECONDS = 5.0
MAX_LOG_BYTES = 64 << 20

# So much of a patch is in memory at once.
BLOCK_BYTES = 1 << 20

_COMMIT_MARK = re.compile(rb"\x01[0-9a-f]{40,64}")


def head(folder: Path) -> str | None:
    """The digest of the commit that HEAD is at, or None before the first commit.

    Raises `GitUnavailable`.
    """
    # 1 means that there is no such commit.
    output = _output(folder, "rev-parse", "--quiet", "--verify", "HEAD^{commit}", codes=(0, 1))
    return os.fsdecode(output.strip()) or None


def is_ancestor(folder: Path, commit: str, later: str) -> bool:
    """Whether one commit is among those that another one is built on. Raises `GitUnavailable`."""
    # 1 means that they have none in common, 128 is for a commit that is not there any more.
    base = _output(folder, "merge-base", commit, later, codes=(0, 1, 128))
    return os.fsdecode(base.strip()) == commit


def commits(folder: Path, until: str, after: str | None, n_most: int) -> tuple[Commit, ...]:
    """The commits up to one that touched what is below a folder, the oldest first.

    No more than the newest `n_most` of those after `after`, without merges. A move counts as one
    only if the file stayed the same. Contents are read of the newest `MAX_HUNKED_COMMITS` alone,
    for their hunks. Raises `GitUnavailable`.
    """
    span = until if after is None else f"{after}..{until}"
    shown = ("--name-status", "-z", f"--max-count={n_most}", "--format=%x01%H%x00%B")
    output, is_whole = _partial_output(folder, "log", *_LOGGED, *shown, span, "--", ".")
    # What comes last may lack some of its files.
    found = _commits(output, _patches(folder, span))
    return tuple(reversed(found if is_whole else found[:-1]))


_LOGGED = (
    "--no-merges", "--no-follow", "--find-renames=100%", "--relative", "--no-color", "--no-show-signature",
    "--no-ext-diff", "--no-textconv", "--encoding=UTF-8", f"-O{os.devnull}",
)  # fmt: skip


def _patches(folder: Path, span: str) -> dict[str, Patch]:
    """The hunks of the newest commits, as far as git can tell."""
    shown = (
        "--patch", "--unified=0", "--inter-hunk-context=0", "--diff-algorithm=myers",
        "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all", "--submodule=short",
        "--no-color-moved", f"--max-count={MAX_HUNKED_COMMITS}", "--format=%x01%H",
    )  # fmt: skip
    try:
        lines, is_whole = _partial_output(
            folder, "log", *_LOGGED, *shown, span, "--", ".", telling=TELLING
        )
    except GitUnavailable:
        # A clone may have the messages and not the contents.
        return {}
    found = patches(lines)
    if not is_whole and found:
        found.popitem()
    return found


def _commits(output: bytes, patches: Mapping[str, Patch]) -> list[Commit]:
    found: list[Commit] = []
    fields = iter(output.split(b"\0"))
    field = next(fields, None)
    while field is not None:
        if not _COMMIT_MARK.fullmatch(field):
            field = next(fields, None)
            continue
        patch = patches.get(os.fsdecode(field[1:]), {})
        message = next(fields, b"").decode("utf-8", "replace")
        touched: list[Touch] = []
        # A status is a letter; that of a move has a number and two paths.
        while (field := next(fields, None)) is not None and not _COMMIT_MARK.fullmatch(field):
            status = field.lstrip(b"\n")
            if status.startswith(b"R"):
                old = os.fsdecode(next(fields, b""))
                touched.append(Touch(os.fsdecode(next(fields, b"")), old, NO_HUNKS))
            elif status:
                path = os.fsdecode(next(fields, b""))
                touched.append(Touch(path, hunks=patch.get(path)))
        found.append(Commit(message, tuple(touched)))
    return found


def _partial_output(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    max_bytes: int | None = None,
    telling: re.Pattern[bytes] | None = None,
) -> tuple[bytes, bool]:
    """What git writes within the limits of a log or this size, and whether that is all of it.

    With a pattern, those of its lines alone: the others are not kept while they are read.
    Raises `GitUnavailable` where it writes nothing.
    """
    shown = display_path(str(folder))
    most = MAX_LOG_BYTES if max_bytes is None else max_bytes
    try:
        # A file: git may wait for its output to be read before it reads more of a pipe.
        with tempfile.TemporaryFile() as asked:
            asked.write(stdin)
            asked.seek(0)
            process = subprocess.Popen(
                [*_HARDENED, "-C", folder, *arguments],
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
    except OSError as error:
        raise GitUnavailable(shown, error.strerror or "git does not start") from error
    end = threading.Timer(LOG_SECONDS, process.kill)
    end.start()
    try:
        assert process.stdout is not None
        with process.stdout as stream:
            output = _lines(stream, telling, most) if telling else stream.read(most)
            is_whole = not stream.read(1)
        if is_whole:
            process.wait()  # Git closes its output before it ends.
    finally:
        end.cancel()
        process.kill()
        code = process.wait()
    if code and not output:
        raise GitUnavailable(shown, f"git {arguments[0]} ended with {code}")
    return output, is_whole and code == 0


def _lines(stream: IO[bytes], telling: re.Pattern[bytes], max_bytes: int) -> bytes:
    kept: list[bytes] = []
    n_left, rest = max_bytes, b""
    while n_left > 0 and (block := stream.read(min(BLOCK_BYTES, n_left))):
        n_left -= len(block)
        lines, _, rest = (rest + block).rpartition(b"\n")
        kept += telling.findall(lines + b"\n")
    return b"".join(kept)


# History is read no further back than this many commits that touched the paths: the rest count
# by their file times.
MAX_COMMITS = 5000

# The shortest limit of a command line (Windows, 32 KB) holds this many paths of usual length.
MAX_ARGUMENTS = 400

_INDEX_ENTRY = re.compile(
    rb"([^\0]+)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n  dev:[^\n]*\n  uid:[^\n]*\n"
    rb"  size: (\d+)\t[^\n]*\n"
)


def commit_times(folder: Path, paths: Sequence[str]) -> dict[str, float]:
    """When each path's last commit was made, in seconds since the epoch.

    Without those that git does not know, and those that differ from their last commit: by
    their stat or by the index, since comparing contents may run a filter of the repository.
    Raises `GitUnavailable`.
    """
    files = tracked(folder).files  # What is in a submodule is another repository's.
    known = sorted(files.intersection(paths))
    times: dict[str, float] = {}
    for start in range(0, len(known), MAX_ARGUMENTS):
        times |= _commit_times(folder, known[start : start + MAX_ARGUMENTS])
    return times


def _commit_times(folder: Path, paths: Sequence[str]) -> dict[str, float]:
    options = ("--no-show-signature", "--no-renames", "--relative", "--name-only", "-z")
    log = _output(
        folder, "log", *options, f"-n{MAX_COMMITS}", "--format=%x01%ct", "--", *_literal(paths)
    )
    times: dict[str, float] = {}
    for commit in log.split(b"\x01")[1:]:
        seconds, _, names = commit.partition(b"\0")
        for name in names.removeprefix(b"\n").split(b"\0"):
            if name:
                times.setdefault(os.fsdecode(name), float(seconds))
    changed = _staged(folder, paths) | _touched(folder, paths)
    return {path: time for path, time in times.items() if path not in changed}


def _literal(paths: Sequence[str]) -> list[str]:
    """A path is a path, whatever characters it has."""
    return [f":(literal){path}" for path in paths]


def _staged(folder: Path, paths: Sequence[str]) -> set[str]:
    options = ("--cached", "--relative", "--no-renames", "--name-only", "-z")
    output = _output(folder, "diff-index", *options, "HEAD", "--", *_literal(paths))
    return {os.fsdecode(name) for name in output.split(b"\0") if name}


def _touched(folder: Path, paths: Sequence[str]) -> set[str]:
    """The paths whose file is not, by size and time, the one that the index was made from."""
    touched = set(paths)
    output = _output(folder, "ls-files", "--debug", "-z", "--", *_literal(paths))
    for name, seconds, nanoseconds, size in _INDEX_ENTRY.findall(output):
        path = os.fsdecode(name)
        try:
            stat = (folder / path).lstat()
        except OSError:
            continue
        in_index = (int(seconds) * 1_000_000_000 + int(nanoseconds), int(size))
        if (stat.st_mtime_ns, stat.st_size) == in_index:
            touched.discard(path)
    return touched


_DIGEST = re.compile(rb"[0-9a-f]{40,64}")


def written(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """What one of the commands above writes, for `revisions`. Raises `GitUnavailable`."""
    return _output(folder, *arguments, stdin=stdin)


def partly_written(
    folder: Path, *arguments: str, stdin: bytes = b"", max_bytes: int | None = None
) -> tuple[bytes, bool]:
    """The same within the limits of a log or this size, and whether that is all of it."""
    return _partial_output(folder, *arguments, stdin=stdin, max_bytes=max_bytes)


def commit_of(folder: Path, revision: str) -> str | None:
    """The digest of the commit that a revision names, or None. Raises `GitUnavailable`."""
    assert not revision.startswith("-"), "a request has no such revision"
    asked = f"{revision}^{{commit}}"
    # 128 is for what is no revision at all, and for some that are but name nothing.
    output = _output(folder, "rev-parse", "--quiet", "--verify", asked, codes=(0, 1, 128))
    # A range names two.
    return os.fsdecode(output.strip()) if _DIGEST.fullmatch(output.strip()) else None
