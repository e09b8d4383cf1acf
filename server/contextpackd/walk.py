"""Walking a root: which directories are visited, what is in them, and how each name came out.

Rules of this file:

- Every directory that is not pruned is visited. Git, where it can, says what is tracked and which
  rule ignores the rest; where it cannot, `ignore` does, and a notice says so.
- No path leaves the root: links are never followed.
- What is left out is an entry with its reason, a pruned directory one entry that ends with `/`.
  `.git` is no entry at all.
- One bad file or directory costs that entry.

The levels of the tree are visited one after the other, so that git is asked once a level.
"""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from contextpack import model
from contextpack.model import Reason, Skip
from contextpack.text import display_path
from contextpackd import attributes, files, ignore, inputs
from contextpackd.errors import RootProblem
from contextpackd.inputs import DOUBTED, YOUNG_NS, Inputs
from contextpackd.judgement import Entry, Folder, Judge
from contextpackd.listing import Candidate, Discovery
from contextpackd.nodes import Node, Repository, Round
from contextpackd.scope import Scope, nested_scope, root_scope

OWN_IGNORE_FILE = ".contextpackignore"
_RULE_FILES = (".gitignore", OWN_IGNORE_FILE, attributes.FILE)
_VENV_FILE = "pyvenv.cfg"  # Every virtual environment has it, whatever its name is.
TELLING = (".git", *_RULE_FILES, _VENV_FILE)
"""Names that say something of the directory that they stand in."""


class Walk:
    """What has been seen of a root, and the walk that sees more. One survey owns it."""

    def __init__(self, root: Path, options: Discovery, now_ns: Callable[[], int]) -> None:
        self.root = root
        self.options = options
        self.prefix = os.path.join(root, "")  # noqa: PTH118 - It ends with a separator.
        self.now_ns = now_ns
        self.judge = Judge(options)
        self.candidates: dict[model.Path, Candidate] = {}
        self.skips: dict[str, Skip] = {}
        self.odd: set[model.Path] = set()
        """Paths that pass the rules but are no candidates: too large, links, just gone."""
        self.nodes: dict[str, Node] = {}
        self.repositories: dict[str, Repository] = {}
        self.problems: dict[str, tuple[str, ...]] = {}
        """Lines of ignore files that match nothing, by directory."""
        self.base: Folder | None = None
        self.begin()

    def begin(self) -> None:
        """Begin an update: count from zero, and remember what stood before."""
        self.n_looked = self.n_listed = 0
        self.before: dict[model.Path, Candidate | None] = {}
        self.skips_before: dict[str, Skip | None] = {}
        self.is_first = self.base is None
        """Whether nothing stood before."""
        self.is_moved = False
        """Whether a name came or went."""

    # Outcomes.

    def leave_out(self, skip: Skip) -> None:
        """Note what is left out."""
        self.skips_before.setdefault(skip.path, self.skips.get(skip.path))
        self.skips[skip.path] = skip

    def clear(self, path: str) -> None:
        """Note that nothing stands at a path."""
        if path in self.candidates:
            before = self.candidates.pop(path)
            self.before.setdefault(path, before)
        elif path in self.skips:
            skip = self.skips.pop(path)
            self.skips_before.setdefault(path, skip)

    def forget(self, node: Node, name: str) -> None:
        """Drop what a directory has under a name, with everything below it."""
        is_directory = node.names.pop(name, None)
        if is_directory is None:
            return
        path = node.path + name
        if is_directory:
            path += "/"
            self.drop(path)
        self.clear(path)
        self.odd.discard(path)

    def drop(self, path: str) -> None:
        """Drop a visited directory with everything below it."""
        node = self.nodes.pop(path, None)
        if node is not None:
            for name in list(node.names):
                self.forget(node, name)
            self.repositories.pop(path, None)
            self.problems.pop(path, None)

    # Walking.

    def start(self) -> None:
        """Walk everything."""
        self.drop("")
        found = inputs.gathered(self.root, "", self.now_ns())
        scope = root_scope(self.root)
        self.repositories[""] = Repository(scope, found, scope.uses_git)
        self.base = self.base_of(scope)
        try:
            self.walk([], [self.base])
        except RootProblem:
            self.base = None
            raise

    def base_of(self, scope: Scope) -> Folder:
        """The root with the rules that hold around it."""
        above = ignore.loaded_above(self.root, scope.top, ".gitignore")
        own_above = ignore.loaded_above(self.root, scope.top, OWN_IGNORE_FILE)
        marking = attributes.loaded_above(self.root, scope.top)
        return Folder("", scope, above, own_above, attributes=marking)

    def walk(self, entries: list[Entry], folders: list[Folder]) -> None:
        """Settle what waits for git, then visit the directories, level by level."""
        while entries or folders:
            self._ask(entries, folders)
            level, folders, entries = folders, [], []
            for folder in level:
                self._visit(folder, entries, folders)

    def run(self, again: Round) -> None:
        """Judge again."""
        unmatched = [self.nodes[path] for path in again.names if path in self.nodes]
        for path in sorted(again.names):
            if node := self.nodes.get(path):
                self.is_moved = True
                for name, is_directory in again.names[path].items():
                    self.forget(node, name)
                    node.names[name] = is_directory
        folders = []
        for path in sorted(again.walks):
            if node := self.nodes.get(path):
                self.is_moved = True
                if not path:
                    self.start()
                    return
                folders.append(self._given(node))
                self.drop(path)
                if not node.is_silent:  # A silent one has its entry from above.
                    self.clear(path)
        entries: list[Entry] = []
        for path in sorted(again.names):
            if node := self.nodes.get(path):
                folder = self._folder(node)
                for name, is_directory in again.names[path].items():
                    self._judge_name(node, folder, name, is_directory, entries, folders)
        self.walk(entries, folders)
        if self.judge.has_globs():
            for node in unmatched:
                self._match_again(node)

    def _ask(self, entries: list[Entry], folders: list[Folder]) -> None:
        """Settle entries by what their repositories' rules say."""
        by_scope: dict[int, list[Entry]] = {}
        for entry in entries:
            by_scope.setdefault(id(entry.folder.scope), []).append(entry)
        for group in by_scope.values():
            questions = [entry.question() for entry in group]
            verdicts = group[0].folder.scope.verdicts([one for one in questions if one])
            for entry in group:
                self._settle(entry, verdicts.get(entry.path), folders)

    def _visit(self, folder: Folder, entries: list[Entry], folders: list[Folder]) -> None:
        node = Node(folder.path, folder.ignored_by, folder.is_included, folder.is_silent)
        self.nodes[folder.path] = node
        try:
            found = self.listed(node)
        except OSError as error:
            if not folder.path:
                raise RootProblem(display_path(str(self.root)), files.cause(error)) from error
            if not folder.is_silent:
                self.leave_out(Skip(folder.path, Reason.UNREADABLE, files.cause(error)))
            return
        node.unpacked = found
        if skip := self._pruned(node, folder):
            node.is_pruned = True
            if not folder.is_silent:
                self.leave_out(skip)
            return
        for name in _RULE_FILES:
            if name in found:
                self.read_ignore_file(node, name)
        folder = self._folder(node, folder)
        if self.judge.is_plain(folder):
            found = self._without_plain_files(folder, found)
        for name, is_directory in found.items():
            self._judge_name(node, folder, name, is_directory, entries, folders)

    def _without_plain_files(self, folder: Folder, found: dict[str, bool]) -> dict[str, bool]:
        """Look at a directory's tracked files, and return what else is in it.

        Most files of most repositories are such: the same judgement, in a third of the time.
        """
        others: dict[str, bool] = {}
        tracked, secret_name, prefix = folder.scope.files, self.judge.secret_name, folder.path
        candidates, lstat, root = self.candidates, os.lstat, self.prefix
        is_first, limit = self.is_first, self.options.max_file_bytes
        for name, is_directory in found.items():
            path = prefix + name
            if is_directory or path not in tracked or secret_name(name) is not None:
                others[name] = is_directory
                continue
            try:
                status = lstat(root + path)
            except OSError:
                self.look(path)
                continue
            self.n_looked += 1
            if is_first and stat.S_ISREG(status.st_mode) and status.st_size <= limit:
                candidates[path] = Candidate(
                    path,
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                    status.st_ino,
                )
            else:
                self.look(path, status)
        return others

    def listed(self, node: Node) -> dict[str, bool]:
        """The names in a directory, and which are directories. Raises `OSError`."""
        file = self.file(node)
        node.mark = DOUBTED[:3]
        self.n_listed += 1
        status = os.lstat(file)
        if not files.is_directory(status):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory")
        with os.scandir(file) as scan:
            found = {
                entry.name: entry.is_dir(follow_symlinks=False) and not _is_junction(entry)
                for entry in scan
            }
        if self.now_ns() - max(status.st_mtime_ns, status.st_ctime_ns) >= YOUNG_NS:
            node.mark = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        return found

    def _pruned(self, node: Node, folder: Folder) -> Skip | None:
        """Why a directory is not looked into after all; its repository, if it is one, is noted."""
        path, found = folder.path.removesuffix("/"), node.names
        if not path:
            return None
        is_tracked = path in folder.scope.directories
        is_submodule = path in folder.scope.submodules
        if is_submodule and ".git" not in found:
            return Skip(folder.path, Reason.SUBMODULE, "not checked out")
        if _VENV_FILE in found and not is_tracked and not self.judge.is_named(path):
            return Skip(folder.path, Reason.IGNORED, f"built in: {_VENV_FILE}")
        if ".git" in found and not is_tracked and not folder.is_silent:
            if not is_submodule and ignore.is_linked_worktree(self.root / folder.path):
                link = inputs.marked([f"{self.prefix}{folder.path}.git"], self.now_ns())
                self.repositories[folder.path] = Repository(
                    None, Inputs({}, link, b""), used_git=False
                )
                return Skip(folder.path, Reason.IGNORED, "built in: linked worktree")
            before = inputs.gathered(self.root, folder.path, self.now_ns())
            scope = nested_scope(self.root, folder.path)
            used_git = scope is not None and scope.uses_git
            self.repositories[folder.path] = Repository(scope, before, used_git)
        return None

    def read_ignore_file(self, node: Node, name: str) -> None:
        """Read one of a directory's ignore files, marking it first."""
        file = self.prefix + node.path + name
        mark = inputs.believed(inputs.link_mark_of(file), self.now_ns())
        data = ignore.small_content(Path(file), files.NO_FOLLOW)
        node.ignores[name] = (mark, data)

    def _given(self, node: Node) -> Folder:
        """A directory with the rules that hold around it."""
        if not node.path:
            assert self.base is not None
            return self.base
        parent = self._folder(self.nodes[parent_of(node.path)])
        return Folder(
            node.path,
            parent.scope,
            parent.ignore_files,
            parent.own_files,
            node.ignored_by,
            node.is_included,
            node.is_silent,
            parent.attributes,
        )

    def _folder(self, node: Node, given: Folder | None = None) -> Folder:
        """A directory with the rules that hold in it."""
        if node.folder is not None:
            return node.folder
        folder = given or self._given(node)
        repository = self.repositories.get(node.path)
        if node.path and repository and repository.scope:
            folder = replace(folder, scope=repository.scope, ignore_files=(), attributes=())
        problems: list[str] = []
        for name, (_, data) in node.ignores.items():
            if data is None:
                if name == ".gitignore" and folder.scope.uses_git:
                    self._leave_git_at_special(node, folder.scope)
                continue
            if name == attributes.FILE:
                if file := attributes.loaded(data, node.path):
                    folder = replace(folder, attributes=(file, *folder.attributes))
                continue
            loaded = ignore.parsed(data, display_path(node.path + name), node.path)
            problems.extend(loaded.problems)
            if name == ".gitignore":
                folder = replace(folder, ignore_files=(loaded, *folder.ignore_files))
            else:
                folder = replace(folder, own_files=(loaded, *folder.own_files))
        if problems:
            self.problems[node.path] = tuple(problems)
        node.folder = folder
        return folder

    def _leave_git_at_special(self, node: Node, scope: Scope) -> None:
        file = self.prefix + node.path + ".gitignore"
        if files.is_special(file):
            # Git would wait for a FIFO's other end.
            scope.leave_git(f"{node.path}.gitignore is not a regular file")

    def _judge_name(
        self,
        node: Node,
        folder: Folder,
        name: str,
        is_directory: bool,  # noqa: FBT001 - It comes from the directory.
        entries: list[Entry],
        folders: list[Folder],
    ) -> None:
        if name[0] == "." and name.lower() == ".git":
            return
        entry = self.judge.entry(folder, name, node.matched, is_directory=is_directory)
        if entry is None:
            return
        if isinstance(entry, Skip):
            self.leave_out(entry)
        elif entry.question():
            entries.append(entry)
        else:
            self._settle(entry, entry.own, folders)

    def _settle(
        self, entry: Entry, verdict: ignore.Verdict | None, folders: list[Folder]
    ) -> None:
        if entry.is_directory:
            skip, folder = self.judge.directory(entry, verdict)
            if skip is not None:
                self.leave_out(skip)
                if self.judge.has_globs():
                    matched = self.nodes[entry.folder.path].matched
                    self.judge.match_below(entry.path, matched)
            if folder is not None:
                folders.append(folder)
            return
        found = self.judge.file(entry, verdict)
        if isinstance(found, Skip):
            self.leave_out(found)
        elif found:
            self.look(entry.path)

    def _match_again(self, node: Node) -> None:
        """Which globs match something in a directory, when a name may have gone."""
        node.matched.clear()
        if self.nodes.get(node.path) is not node or node.is_pruned:
            return
        for name, is_directory in node.names.items():
            if name.lower() == ".git":
                continue
            path = node.path + name
            self.judge.match(path, node.matched, is_directory=is_directory)
            skip = self.skips.get(path + "/") if is_directory else None
            if skip and skip.reason == Reason.IGNORED:
                below = self.nodes.get(path + "/")
                if below is None or below.is_silent:
                    self.judge.match_below(path, node.matched)

    def look(self, path: model.Path, status: os.stat_result | None = None) -> None:
        """Look at a file that passes the rules, unless its `lstat` is known already."""
        try:
            if status is None:
                self.n_looked += 1
                status = os.lstat(self.prefix + path)
            found = files.looked(self.root, path, self.options.max_file_bytes, status)
        except (FileNotFoundError, NotADirectoryError):
            self.clear(path)
            self.odd.add(path)  # It may come back before its directory is listed again.
            return
        except OSError as error:
            found = Skip(path, Reason.UNREADABLE, files.cause(error))
        if isinstance(found, Candidate):
            if path in self.odd:
                self.odd.remove(path)
                self.clear(path)
            if not self.is_first and path not in self.before:
                self.before[path] = self.candidates.get(path)
            self.candidates[path] = found
            return
        if path in self.candidates:
            self.clear(path)
        self.odd.add(path)
        self.leave_out(found)

    def file(self, node: Node) -> str:
        """Where a directory is."""
        # Without the slash, which would follow a link.
        return self.prefix + node.path[:-1] if node.path else str(self.root)


def parent_of(path: str) -> str:
    """The directory of a path, ending with `/`, or empty."""
    return path[: path.rstrip("/").rfind("/") + 1]


def _is_junction(entry: os.DirEntry[str]) -> bool:
    """Whether it is one of the links that only Windows has (known to Python 3.12 and later)."""
    is_junction = getattr(entry, "is_junction", None)
    return bool(is_junction and is_junction())
