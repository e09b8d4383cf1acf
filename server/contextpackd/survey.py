"""What is below a root, kept true at the cost of what changed.

*How it works.* Each visited directory is a node: its names, its stat when it was listed, its
ignore files. A sweep takes the stat of every node and every file; only a directory whose stat is
another one is listed again, and only names that are new are judged. What decides on more than a
name makes a whole part be walked anew: an ignore file (what is below it), a repository's inputs
(what it holds); a changed index, which is frequent, only the names whose tracking changed.
A stat that was young when it was taken is not believed the next time, so two changes within one
tick of a file system's clock are not missed.

On Windows and macOS directories change their `mtime` with their names, too. There a name may be
found that is written otherwise, so `refresh` lists the directories of what it is told.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from contextpack import model
from contextpack.model import Reason, Skip
from contextpackd import files, inputs, survey_bytes
from contextpackd.inputs import DOUBTED, Inputs
from contextpackd.listing import Candidate, Discovery, Listing, Notice, NoticeKind
from contextpackd.nodes import Node, Repository, Round
from contextpackd.scope import nested_scope, root_scope
from contextpackd.walk import TELLING, Walk, parent_of

_FOLDS_CASE = sys.platform in ("darwin", "win32")


@dataclass(frozen=True, slots=True)
class Moves:
    """What an update found out, and what it did for it."""

    found: tuple[Candidate, ...]
    """Those that are new or have another stat. A file that was young when it was looked at may
    have changed again under the same stat: only its content tells."""
    gone: tuple[model.Path, ...]
    """Paths that are no candidates any more."""
    is_skipped_changed: bool
    n_looked: int
    """How many files and directories were looked at (`lstat`)."""
    n_listed: int
    """How many directories were listed."""


class Survey:
    """One root under one set of options. Empty until the first `sweep`.

    `now_ns` is the clock that file times are compared with, in nanoseconds since the epoch.
    """

    def __init__(
        self,
        root: Path,
        options: Discovery,
        saved: bytes | None = None,
        *,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.options = options
        self._walk = Walk(self.root, options, now_ns)
        self._sorted_skips: tuple[Skip, ...] | None = None
        if saved is not None:
            survey_bytes.restore(self._walk, saved)

    # What is known.

    @property
    def candidates(self) -> Mapping[model.Path, Candidate]:
        """The candidates by path, in no order."""
        return self._walk.candidates

    @property
    def skipped(self) -> tuple[Skip, ...]:
        """What is left out, sorted by path."""
        if self._sorted_skips is None:
            self._sorted_skips = tuple(
                self._walk.skips[path] for path in sorted(self._walk.skips)
            )
        return self._sorted_skips

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What people should know of the listing."""
        lines = {line for lines in self._walk.problems.values() for line in lines}
        found = {Notice(NoticeKind.IGNORE_LINE, line) for line in lines}
        for repository in self._walk.repositories.values():
            if repository.scope is not None and repository.scope.problem is not None:
                found.add(Notice(NoticeKind.GIT_UNAVAILABLE, repository.scope.problem))
        return tuple(sorted(found))

    @property
    def unmatched_globs(self) -> tuple[str, ...]:
        """Globs of the options that match nothing below the root."""
        globs = dict.fromkeys(self.options.include + self.options.exclude)
        if not globs:
            return ()
        matched = set().union(*(node.matched for node in self._walk.nodes.values()))
        return tuple(glob for glob in globs if glob not in matched)

    @property
    def uses_git(self) -> bool:
        """Whether git answers for the root's repository."""
        repository = self._walk.repositories.get("")
        return bool(repository and repository.scope and repository.scope.uses_git)

    def listing(self) -> Listing:
        """All of it, sorted."""
        return Listing(
            candidates=tuple(
                self._walk.candidates[path] for path in sorted(self._walk.candidates)
            ),
            skipped=self.skipped,
            warnings=self.notices,
            unmatched_globs=self.unmatched_globs,
            uses_git=self.uses_git,
        )

    def directories(self) -> frozenset[model.Path]:
        """The directories worth watching, each by itself: from the root, which is empty."""
        return frozenset(path.removesuffix("/") for path in self._walk.nodes)

    def inputs(self) -> frozenset[str]:
        """Files outside of `directories` that have a say, as absolute paths, if they exist or not.

        They are in git's directories, above the root, and among the user's configuration.
        """
        watched = {self._walk.prefix + path for path in self._walk.nodes}
        files = (
            file for one in self._walk.repositories.values() for file in _files(one.inputs)
        )
        return frozenset(
            file for file in files if file.removesuffix(Path(file).name) not in watched
        )

    def saved(self) -> bytes:
        """All of it, for a later survey of the same root and options."""
        return survey_bytes.saved(self._walk)

    # Updates.

    def sweep(self) -> Moves:
        """Look at everything. Raises `RootProblem` if the root itself cannot be listed.

        What was found out before it was raised is told by the next update.
        """
        if self._walk.base is None:
            self._walk.start()
            return self._moves()
        self._check_repositories()
        self._look_again(list(self._walk.nodes.values()))
        self._look_at_files(self._walk.candidates, self._walk.odd)
        return self._moves()

    def refresh(self, touched: Iterable[model.Path]) -> Moves:
        """Look at these paths only: from the root on, or absolute.

        A directory stands for everything in it. Raises `RootProblem` as `sweep` does.
        """
        if self._walk.base is None:
            return self.sweep()
        paths = sorted({self._relative(path) for path in touched})
        if self._is_input(paths) or any(
            one.has_left_git() for one in self._walk.repositories.values()
        ):
            self._check_repositories()
        stale: dict[str, Node] = {}
        known: set[model.Path] = set()
        again, is_link_moved = Round(), False
        for path in paths:
            if path is not None:
                is_link_moved |= not self._touch(path, again, stale, known)
        self._look_again(stale.values())
        self._walk.run(again)
        self._look_at_files(
            {
                path: self._walk.candidates[path]
                for path in known
                if path in self._walk.candidates
            },
            self._walk.odd.intersection(known),
        )
        # What was a file may have gone, or be a directory now.
        again = Round()
        for path in self._walk.odd.intersection(known):
            self._touch(path, again, {}, set())
        self._walk.run(again)
        if self._walk.is_moved or is_link_moved:
            links = [path for path in self._walk.odd if self._is_link(path)]
            self._look_at_files({}, links)
        return self._moves()

    def _moves(self) -> Moves:
        found, gone = [], []
        if self._walk.is_first:
            found = list(self._walk.candidates.values())
        for path, before in self._walk.before.items():
            now = self._walk.candidates.get(path)
            if now is None:
                if before is not None:
                    gone.append(path)
            elif now != before:
                found.append(now)
        skips = self._walk.skips_before.items()
        is_changed = any(self._walk.skips.get(path) != before for path, before in skips)
        if is_changed:
            self._sorted_skips = None
        moves = Moves(
            tuple(found), tuple(gone), is_changed, self._walk.n_looked, self._walk.n_listed
        )
        self._walk.begin()
        return moves

    # Looking again.

    def _look_again(self, nodes: Iterable[Node]) -> None:
        """Look at directories, list those that changed, and judge what is new in them."""
        again = Round()
        lstat = os.lstat
        for node in nodes:
            self._walk.n_looked += 1
            try:
                status = lstat(self._walk.file(node))
            except OSError:
                mark = None
            else:
                mark = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            if mark != node.mark and self._walk.nodes.get(node.path) is node:
                self._list_again(node, again)
            if node.ignores and node.path not in again.walks:
                self._check_ignore_files(node, again)
        self._walk.run(again)

    def _list_again(self, node: Node, again: Round) -> None:
        try:
            found = self._walk.listed(node)
        except OSError:
            again.walks.add(node.path)
            return
        is_told = any(node.names.get(name) != found.get(name) for name in TELLING)
        if is_told or (node.is_pruned and node.names != found):
            again.walks.add(node.path)
            return
        for name in node.names.keys() - found.keys():
            self._walk.forget(node, name)
            self._walk.is_moved = True
            again.names.setdefault(node.path, {})
        if found != node.names and not node.is_pruned:
            for name, is_directory in found.items():
                if node.names.get(name) is not is_directory:
                    again.add(node, name, is_directory=is_directory)

    def _check_ignore_files(self, node: Node, again: Round) -> None:
        for name, (mark, data) in list(node.ignores.items()):
            self._walk.n_looked += 1
            if inputs.link_mark_of(self._walk.prefix + node.path + name) != mark:
                self._walk.read_ignore_file(node, name)
                is_special = data is None and name == ".gitignore"
                if node.ignores[name][1] != data or is_special:
                    again.walks.add(node.path)

    def _look_at_files(
        self, candidates: Mapping[model.Path, Candidate], odd: Iterable[model.Path]
    ) -> None:
        """Look at files that passed the rules before and were not looked at just now."""
        walk, lstat, prefix = self._walk, os.lstat, self._walk.prefix
        known: Iterable[Candidate] = candidates.values()
        if walk.before:
            known = [one for one in known if one.path not in walk.before]
        changed: list[tuple[model.Path, os.stat_result | None]] = []
        n_known = 0
        for one in known:
            n_known += 1
            try:
                status = lstat(prefix + one.path)
            except OSError:
                changed.append((one.path, None))
                continue
            if (
                status.st_mtime_ns != one.mtime_ns
                or status.st_ctime_ns != one.ctime_ns
                or status.st_size != one.size_bytes
                or status.st_ino != one.inode
            ):
                changed.append((one.path, status))
        walk.n_looked += n_known
        changed += [(path, None) for path in odd if path not in walk.skips_before]
        for path, status_now in changed:
            walk.look(path, status_now)

    def _is_link(self, path: model.Path) -> bool:
        skip = self._walk.skips.get(path)
        return skip is not None and skip.reason == Reason.SYMLINK

    # Repositories.

    def _check_repositories(self) -> None:
        again = Round()
        for inside, repository in list(self._walk.repositories.items()):
            known = repository.inputs
            if repository.has_left_git():
                again.walks.add(inside)
                continue
            if known.is_rules_changed():
                found = inputs.gathered(self.root, inside, self._walk.now_ns())
                if found.digest != known.digest:
                    again.walks.add(inside)
                    continue
                known.rules = found.rules
            has_problem = repository.scope is not None and repository.scope.problem is not None
            if has_problem or known.is_index_changed():
                self._ask_again(inside, repository, again)
        self._walk.run(again)

    def _ask_again(self, inside: str, repository: Repository, again: Round) -> None:
        """Ask git what is tracked now."""
        repository.inputs = inputs.gathered(self.root, inside, self._walk.now_ns())
        old = repository.scope
        new = nested_scope(self.root, inside) if inside else root_scope(self.root)
        if old is None or new is None:
            if old is not new:
                again.walks.add(inside)
            return
        if (old.top, old.uses_git, old.problem) != (new.top, new.uses_git, new.problem):
            again.walks.add(inside)
            return
        changed = old.files ^ new.files | old.submodules ^ new.submodules
        changed |= old.directories ^ new.directories
        old.files, old.submodules, old.directories = new.files, new.submodules, new.directories
        for path in changed:
            node = self._walk.nodes.get(parent_of(path))
            name = path.rpartition("/")[2]
            if node is not None and name in node.names and not node.is_pruned:
                again.add(node, name, is_directory=node.names[name])

    # What is touched.

    def _relative(self, path: model.Path) -> model.Path:
        """A path from the root on, or an absolute one that lies outside."""
        if path == str(self.root):
            return ""
        return path.removeprefix(self._walk.prefix).removesuffix("/")

    def _is_input(self, paths: Iterable[model.Path]) -> bool:
        named: set[str] = set()
        for repository in self._walk.repositories.values():
            for file in _files(repository.inputs):
                # Whatever is named has everything above it named, too.
                while file not in named:
                    named.add(file)
                    file = os.path.dirname(file)  # noqa: PTH120, PLW2901
        # An absolute path stays as it is.
        return any(os.path.join(self.root, path).removesuffix("/") in named for path in paths)  # noqa: PTH118

    def _touch(
        self,
        path: model.Path,
        again: Round,
        stale: dict[str, Node],
        known: set[model.Path],
    ) -> bool:
        """Note what has to be looked at for a path. False if it is where nobody looks."""
        if not path:
            self._touch_below("", stale, known)
            return True
        if Path(path).is_absolute():
            return True
        node, name = self._place(path)
        if node.is_pruned:
            stale[node.path] = node
            return False
        is_deeper, path = path != node.path + name, node.path + name
        was_directory = node.names.get(name)
        is_git = name == ".git" and was_directory is not None
        # What it holds is an input, or of no interest.
        if is_git and (is_deeper or self._is_directory(path) is was_directory):
            return True
        is_telling = name in TELLING or _FOLDS_CASE
        if was_directory is False and path in self._walk.candidates and not is_telling:
            known.add(path)
            return True
        is_directory = self._is_directory(path)
        if is_directory and was_directory and path + "/" not in self._walk.nodes:
            return False
        if was_directory is is_directory is False:
            if path in self._walk.candidates or path in self._walk.odd:
                known.add(path)
            elif not is_telling:
                return False
        if is_telling:
            stale[node.path] = node
            node.mark = DOUBTED[:3]
        elif is_directory is None:
            if was_directory is not None:
                self._walk.forget(node, name)
                self._walk.is_moved = True
                again.names.setdefault(node.path, {})
        elif is_directory is not was_directory:
            again.add(node, name, is_directory=is_directory)
        elif is_directory:
            self._touch_below(path + "/", stale, known)
        return True

    def _place(self, path: model.Path) -> tuple[Node, str]:
        """The visited directory that is nearest above a path, and the name in it on the way."""
        parent, name = parent_of(path), path.rpartition("/")[2]
        while parent not in self._walk.nodes:
            parent, name = parent_of(parent), parent.removesuffix("/").rpartition("/")[2]
        return self._walk.nodes[parent], name

    def _is_directory(self, path: model.Path) -> bool | None:
        """Whether there is a directory at a path, or None if there is nothing."""
        self._walk.n_looked += 1
        try:
            return files.is_directory(os.lstat(self._walk.prefix + path))
        except OSError:
            return None

    def _touch_below(self, path: str, stale: dict[str, Node], known: set[model.Path]) -> None:
        node = self._walk.nodes[path]
        stale[path] = node
        for name, is_directory in node.names.items():
            below = path + name
            if not is_directory:
                known.add(below)
            elif below + "/" in self._walk.nodes:
                self._touch_below(below + "/", stale, known)


def _files(found: Inputs) -> Iterator[str]:
    yield from found.index
    yield from found.rules
