"""What is on disk below a root: which files are candidates, and their texts.

Rules of this file:

- A walk of our own visits every directory that is not pruned. Git, where it can, says what is
  tracked and which rule ignores the rest; where it cannot, `ignore` does, and the listing says so.
- No path leaves the root: links are never followed, when listing or when reading, whatever
  stands there in between. Only regular files are ever opened.
- What is left out is an entry with its reason, a pruned directory one entry that ends with `/`.
  `.git` is no entry at all.
- One bad file or directory costs that entry.

How a path is judged, in this order: an `exclude` glob, a secret's name, `.contextpackignore`,
git's index (tracked files are never ignored), git's ignore rules, directories that no project
means (`node_modules`), `include` globs (which bring ignored files back), then what kind of file
it is. The levels of the tree are visited one after the other, so that git is asked once a level.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from contextpack import model
from contextpack.content import decoded, named_reason
from contextpack.model import Reason, Skip
from contextpack.secrets import secret_rule
from contextpack.text import display_path
from contextpackd import files, ignore
from contextpackd.errors import RootProblem
from contextpackd.ignore import Glob, IgnoreFile, Verdict
from contextpackd.scope import Question, Scope, nested_scope, root_scope

OWN_IGNORE_FILE = ".contextpackignore"
# Version control, installed packages and caches: made by tools, never part of a task. A tracked
# file inside, a negated ignore rule or an `include` glob with the name brings them back.
_BUILT_IN = frozenset(
    (
        ".hg", ".svn", ".bzr", "node_modules", "bower_components", "jspm_packages", ".pnpm-store",
        "__pycache__", ".tox", ".nox", ".eggs", ".mypy_cache", ".pytest_cache", ".ruff_cache",
        ".hypothesis", ".ipynb_checkpoints", ".gradle", ".terraform", ".next", ".nuxt",
        ".svelte-kit", ".parcel-cache", ".turbo", ".dart_tool", ".stack-work", ".direnv",
    )
)  # fmt: skip
_VENV_FILE = "pyvenv.cfg"  # Every virtual environment has it, whatever its name is.
# Not folders of work, and without an end: the kernel makes up what is in them.
_PSEUDO_ROOTS = frozenset((Path("/proc"), Path("/sys"), Path("/dev")))
_DIGEST_BYTES = 20  # Enough against chance and malice, and short in a store.


class NoticeKind(StrEnum):
    """What a notice is about."""

    GIT_UNAVAILABLE = "git-unavailable-fallback-walk"
    IGNORE_LINE = "ignore-line-skipped"


@dataclass(frozen=True, slots=True, order=True)
class Notice:
    """Something about a whole listing that people should know."""

    kind: NoticeKind
    message: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a listing takes in. Globs are patterns in git's ignore syntax, from the root on."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    max_file_bytes: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A regular file below the root that may enter a bundle, as `lstat` saw it."""

    path: model.Path
    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    """When the inode changed: it cannot be set back, as the time of the content can."""
    inode: int


@dataclass(frozen=True, slots=True)
class Listing:
    """What is below a root. Every path stands once, in one of the two, both sorted by path."""

    candidates: tuple[Candidate, ...]
    skipped: tuple[Skip, ...]
    warnings: tuple[Notice, ...]
    unmatched_globs: tuple[str, ...]
    """`include` and `exclude` globs that match nothing below the root."""
    uses_git: bool
    """Whether git answered for the root's repository."""


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text without its byte order mark; line endings are as they are on disk."""

    text: str
    encoding: str
    is_lossy: bool
    """Whether bytes were guessed or replaced."""
    digest: str
    """Of the file's bytes, in hexadecimal."""


def check_root(root: Path, *, force: bool) -> Path:
    """The root with links resolved. Raises `RootProblem` for what is no workspace.

    `force` lets the file system's top and the home directory pass, nothing else.
    """
    shown = display_path(str(root))
    try:
        resolved = Path(os.path.realpath(root, strict=True))
        if not resolved.is_dir():
            raise RootProblem(shown, "is not a directory; pass the directory that holds it")
        with os.scandir(resolved):
            pass
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RootProblem(shown, "does not exist; pass an existing directory") from error
    except OSError as error:
        reason = f"cannot be read: {_cause(error)}; pass a directory that you may read"
        raise RootProblem(shown, reason) from error
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - `Path.home` may raise.
    if not force and (resolved == resolved.parent or resolved in _PSEUDO_ROOTS):
        raise RootProblem(
            shown, "is too broad for a workspace; pass a project's directory, or --force"
        )
    if not force and str(resolved) == home:
        reason = "is the home directory, too broad for a workspace; pass a project's or --force"
        raise RootProblem(shown, reason)
    return resolved


def discover(root: Path, options: Discovery) -> Listing:
    """Everything below the root. Raises `RootProblem` if the root itself cannot be listed."""
    return _Walk(Path(os.path.realpath(root)), options).listing()


def read(root: Path, candidate: Candidate, max_bytes: int) -> Text | Skip:
    """The text of a candidate, or why there is none (any more)."""
    path = candidate.path
    try:
        descriptor = files.opened(root, path)
    except OSError as error:
        return _unopened(path, error)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Skip(path, Reason.SPECIAL, _kind(status.st_mode))
        data = b"" if status.st_size > max_bytes else files.content(descriptor, max_bytes + 1)
    except OSError as error:
        return Skip(path, Reason.UNREADABLE, _cause(error))
    finally:
        os.close(descriptor)
    if max(status.st_size, len(data)) > max_bytes:
        return Skip(
            path, Reason.TOO_LARGE, _too_large(max(status.st_size, len(data)), max_bytes)
        )
    found = decoded(data)
    if found is None:
        return Skip(path, Reason.BINARY)
    digest = hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()
    return Text(found.text, found.encoding, found.is_lossy, digest)


@dataclass(frozen=True, slots=True)
class _Folder:
    """A directory to visit."""

    path: str
    """From the root; empty for the root, else ending with `/`."""
    scope: Scope
    ignore_files: tuple[IgnoreFile, ...] = ()
    """Its repository's `.gitignore` files from here upwards."""
    own_files: tuple[IgnoreFile, ...] = ()
    ignored_by: str | None = None
    """The rule that ignores it, if it is visited all the same."""
    is_included: bool = False
    """Whether an `include` glob names it or a parent."""
    is_silent: bool = False
    """Whether only what `include` globs name is of interest: the rest has its entry already."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """What stands in a directory, and what is known of it before git is asked."""

    folder: _Folder
    file: os.DirEntry[str]
    path: str
    is_directory: bool
    is_included: bool
    own: Verdict | None


class _Walk:
    """One listing in the making."""

    def __init__(self, root: Path, options: Discovery) -> None:
        self.root = root
        self.options = options
        self.include = tuple(ignore.glob(text) for text in options.include)
        self.exclude = tuple(ignore.glob(text) for text in options.exclude)
        self.matched: set[str] = set()
        self.candidates: list[Candidate] = []
        self.skipped: list[Skip] = []
        self.notices: set[Notice] = set()
        self.scopes: list[Scope] = []

    def listing(self) -> Listing:
        scope = root_scope(self.root)
        self.scopes.append(scope)
        above = ignore.loaded_above(self.root, scope.top, ".gitignore")
        own_above = ignore.loaded_above(self.root, scope.top, OWN_IGNORE_FILE)
        level = [_Folder("", scope, above, own_above)]
        while level:
            entries = [entry for folder in level for entry in self._entries(folder)]
            verdicts = self._verdicts([entry for entry in entries if self._is_open(entry)])
            level = []
            for entry in entries:
                verdict = entry.own or verdicts.get(entry.path)
                if entry.is_directory:
                    level.extend(self._settled_directory(entry, verdict))
                else:
                    self._settle_file(entry, verdict)
        for scope in self.scopes:
            if scope.problem is not None:
                self.notices.add(Notice(NoticeKind.GIT_UNAVAILABLE, scope.problem))
        globs = dict.fromkeys(self.options.include + self.options.exclude)
        return Listing(
            candidates=tuple(sorted(self.candidates, key=lambda candidate: candidate.path)),
            skipped=tuple(sorted(self.skipped, key=lambda skip: skip.path)),
            warnings=tuple(sorted(self.notices)),
            unmatched_globs=tuple(glob for glob in globs if glob not in self.matched),
            uses_git=self.scopes[0].uses_git,
        )

    # Looking into directories.

    def _entries(self, folder: _Folder) -> Iterator[_Entry]:
        try:
            with os.scandir(self.root / folder.path) as scan:
                found = list(scan)
        except OSError as error:
            if not folder.path:
                raise RootProblem(display_path(str(self.root)), _cause(error)) from error
            if not folder.is_silent:
                self.skipped.append(Skip(folder.path, Reason.UNREADABLE, _cause(error)))
            return
        entered = self._entered(folder, {file.name: file for file in found})
        if entered is None:
            return
        for file in found:
            if file.name.lower() != ".git" and (entry := self._entry(entered, file)):
                yield entry

    def _entered(self, folder: _Folder, found: dict[str, os.DirEntry[str]]) -> _Folder | None:
        """The directory with its own ignore files and repository, or None if it is pruned."""
        if folder.path:
            path = folder.path.removesuffix("/")
            is_tracked = path in folder.scope.directories
            if path in folder.scope.submodules and ".git" not in found:
                self._skip(folder, folder.path, Reason.SUBMODULE, "not checked out")
                return None
            if _VENV_FILE in found and not is_tracked and not self._is_named(path):
                self._skip(folder, folder.path, Reason.IGNORED, f"built in: {_VENV_FILE}")
                return None
            if ".git" in found and not is_tracked and not folder.is_silent:
                is_submodule = path in folder.scope.submodules
                if not is_submodule and ignore.is_linked_worktree(self.root / folder.path):
                    self._skip(folder, folder.path, Reason.IGNORED, "built in: linked worktree")
                    return None
                if scope := nested_scope(self.root, folder.path):
                    self.scopes.append(scope)
                    folder = replace(folder, scope=scope, ignore_files=())
        if ".gitignore" in found:
            if folder.scope.uses_git and _is_special(found[".gitignore"]):
                # Git would wait for a FIFO's other end.
                folder.scope.leave_git(f"{folder.path}.gitignore is not a regular file")
            loaded = self._loaded(folder, ".gitignore")
            folder = replace(folder, ignore_files=loaded + folder.ignore_files)
        if OWN_IGNORE_FILE in found:
            loaded = self._loaded(folder, OWN_IGNORE_FILE)
            folder = replace(folder, own_files=loaded + folder.own_files)
        return folder

    def _loaded(self, folder: _Folder, name: str) -> tuple[IgnoreFile, ...]:
        loaded = ignore.loaded(self.root, folder.path, name)
        if loaded is None:
            return ()
        for problem in loaded.problems:
            self.notices.add(Notice(NoticeKind.IGNORE_LINE, problem))
        return (loaded,)

    def _entry(self, folder: _Folder, file: os.DirEntry[str]) -> _Entry | None:
        """What is known of a file or directory, or None if that settles it."""
        path = folder.path + file.name
        is_directory = file.is_dir(follow_symlinks=False) and not _is_junction(file)
        shown = path + "/" if is_directory else path
        excluded = self._match(self.exclude, path, is_directory=is_directory)
        included = self._match(self.include, path, is_directory=is_directory)
        is_included = folder.is_included or included is not None
        if excluded:
            self._skip(folder, shown, Reason.EXCLUDED, excluded.text)
            return None
        if not is_directory and (rule := secret_rule(path)):
            if is_included or not folder.is_silent:
                self.skipped.append(Skip(path, Reason.SECRET, display_path(rule)))
            return None
        own = ignore.verdict(folder.own_files, path, is_directory=is_directory)
        return _Entry(folder, file, path, is_directory, is_included, own)

    def _match(self, globs: tuple[Glob, ...], path: str, *, is_directory: bool) -> Glob | None:
        first = None
        raw = os.fsencode(path) if globs else b""
        for glob in globs:
            if (first is None or glob.text not in self.matched) and glob.matches(
                raw, is_directory=is_directory
            ):
                self.matched.add(glob.text)
                first = first or glob
        return first

    # What git says.

    def _is_open(self, entry: _Entry) -> bool:
        """Whether git's ignore rules have a say in it."""
        folder, scope = entry.folder, entry.folder.scope
        if entry.own or folder.is_silent or folder.ignored_by:
            return False
        return entry.path not in (scope.submodules if entry.is_directory else scope.files)

    def _verdicts(self, entries: list[_Entry]) -> dict[str, Verdict]:
        verdicts: dict[str, Verdict] = {}
        for scope in self.scopes:
            questions = [
                Question(entry.path, entry.is_directory, entry.folder.ignore_files)
                for entry in entries
                if entry.folder.scope is scope
            ]
            verdicts |= scope.verdicts(questions)
        return verdicts

    # Judgement.

    def _settled_directory(self, entry: _Entry, verdict: Verdict | None) -> Iterator[_Folder]:
        """The directory if it is to be visited; otherwise it has its entry."""
        folder, scope = entry.folder, entry.folder.scope
        is_tracked = entry.path in scope.directories or entry.path in scope.submodules
        rule = verdict.rule if verdict and verdict.is_ignored else folder.ignored_by
        if verdict is None and rule is None and entry.file.name in _BUILT_IN and not is_tracked:
            rule = f"built in: {entry.file.name}/"
        below = replace(
            folder,
            path=entry.path + "/",
            ignored_by=None if entry.path in scope.submodules else rule,
            is_included=entry.is_included,
        )
        if folder.is_silent:
            if self._is_looked_into(entry):
                yield below
        elif rule is None or (is_tracked and not entry.own):
            yield below
        else:
            self.skipped.append(Skip(below.path, Reason.IGNORED, rule))
            # A glob that may match in there is not an error, even if nobody looks.
            anchored = (glob for glob in self.exclude if glob.is_anchored())
            self.matched.update(glob.text for glob in anchored if glob.reaches(entry.path))
            if self._is_looked_into(entry):
                yield replace(below, is_silent=True)

    def _is_looked_into(self, entry: _Entry) -> bool:
        """Whether `include` globs are after something in an ignored directory."""
        if entry.file.name in _BUILT_IN and not self._is_named(entry.path):
            return False
        return entry.is_included or any(glob.reaches(entry.path) for glob in self.include)

    def _is_named(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return any(name in glob.parts for glob in self.include)

    def _settle_file(self, entry: _Entry, verdict: Verdict | None) -> None:
        folder, path = entry.folder, entry.path
        rule = verdict.rule if verdict and verdict.is_ignored else None
        if verdict is None and path not in folder.scope.files:
            rule = folder.ignored_by
        if not entry.is_included:
            if rule:
                self._skip(folder, path, Reason.IGNORED, rule)
                return
            if self.include:
                self._skip(folder, path, Reason.NOT_INCLUDED, None)
                return
        found = self._candidate(entry)
        if isinstance(found, Candidate):
            self.candidates.append(found)
        elif found is not None:
            self.skipped.append(found)

    def _candidate(self, entry: _Entry) -> Candidate | Skip | None:
        path, file = entry.path, entry.file
        if file.is_symlink() or _is_junction(file):
            return Skip(path, Reason.SYMLINK, _link_rule(self.root, path))
        try:
            status = file.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None  # It went while we looked.
        except OSError as error:
            return Skip(path, Reason.UNREADABLE, _cause(error))
        if not stat.S_ISREG(status.st_mode):
            return Skip(path, Reason.SPECIAL, _kind(status.st_mode))
        if status.st_size > self.options.max_file_bytes:
            # The more telling reason, if the name gives one.
            named = named_reason(path)
            rule = _too_large(status.st_size, self.options.max_file_bytes)
            return Skip(path, named or Reason.TOO_LARGE, None if named else rule)
        return Candidate(
            path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        )

    def _skip(self, folder: _Folder, path: str, reason: Reason, rule: str | None) -> None:
        if not folder.is_silent:
            self.skipped.append(Skip(path, reason, rule))


def _is_special(file: os.DirEntry[str]) -> bool:
    return not (file.is_symlink() or file.is_file() or file.is_dir())


def _is_junction(file: os.DirEntry[str]) -> bool:
    """Whether it is one of the links that only Windows has (known to Python 3.12 and later)."""
    is_junction = getattr(file, "is_junction", None)
    return bool(is_junction and is_junction())


def _link_rule(root: Path, path: str) -> str:
    try:
        target = Path(os.path.realpath(root / path, strict=True))
    except OSError as error:
        return "a link in a loop" if error.errno == errno.ELOOP else "a link to nothing"
    if target == root:
        return "a link to the root"
    if not target.is_relative_to(root):
        return "a link out of the root"
    return f"a link to {display_path(target.relative_to(root).as_posix())}"


def _unopened(path: str, error: OSError) -> Skip:
    match error.errno:
        case errno.ELOOP | errno.ENOTDIR:
            return Skip(path, Reason.SYMLINK, "became a link")
        case errno.ENXIO:
            return Skip(path, Reason.SPECIAL, "a socket")
        case _:
            return Skip(path, Reason.UNREADABLE, _cause(error))


def _cause(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a directory" if stat.S_ISDIR(mode) else "a device"


def _too_large(size: int, limit: int) -> str:
    return f"{size} bytes, more than {limit}"
