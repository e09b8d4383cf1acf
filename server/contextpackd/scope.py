"""Which part of a workspace belongs to which repository, and what its rules say of a path.

A root in a repository is one scope; every submodule and every repository below it is another,
since ignore rules end where a repository ends. Git answers for a scope as long as it can; from its
first failure on, `ignore` does, and `problem` says why.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextpackd import git, ignore
from contextpackd.errors import GitUnavailable
from contextpackd.ignore import IgnoreFile, Verdict


@dataclass(frozen=True, slots=True)
class Question:
    """A path, from the root on, whose parents are not ignored."""

    path: str
    is_directory: bool
    ignore_files: tuple[IgnoreFile, ...]
    """The `.gitignore` files of its scope that have a say, deepest first."""


@dataclass(slots=True)
class Scope:
    """The ignore rules of one repository, or of a folder without one."""

    root: Path
    inside: str
    """Where its part of the workspace begins: empty for the root, else ending with `/`."""
    top: Path
    """The top of its working tree, which may lie above the root."""
    uses_git: bool = False
    problem: str | None = None
    """Why git does not answer, for people; None where none is needed."""
    files: frozenset[str] = frozenset()
    """Tracked files, as paths from the root."""
    submodules: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()
    """Those with tracked files or submodules below."""
    config: tuple[IgnoreFile, ...] | None = None
    """Excludes that lie in no directory; read when git does not answer."""

    def leave_git(self, reason: str) -> None:
        """Do without git from now on."""
        self.uses_git = False
        self.problem = f"{reason}; ignore files are read without git"

    def verdicts(self, questions: Sequence[Question]) -> dict[str, Verdict]:
        """What the rules say, by path. No entry means that no rule matches."""
        if self.uses_git:
            try:
                return self._by_git(questions)
            except GitUnavailable as problem:
                self.leave_git(str(problem))
        return self._by_files(questions)

    def _by_git(self, questions: Sequence[Question]) -> dict[str, Verdict]:
        asked = [question.path.removeprefix(self.inside) for question in questions]
        rules = git.rules(self.root / self.inside, asked)
        return {
            question.path: self._verdict(rule)
            for question, rule in zip(questions, rules, strict=True)
            if rule is not None
        }

    def _verdict(self, rule: git.Rule) -> Verdict:
        source = ignore.shown_source(self.top / rule.source, self.root, self.top)
        return Verdict(rule.is_ignoring(), ignore.shown_rule(source, rule.line, rule.pattern))

    def _by_files(self, questions: Sequence[Question]) -> dict[str, Verdict]:
        if self.config is None:
            self.config = ignore.loaded_config(self.root, self.inside, self.top)
        verdicts = {}
        for question in questions:
            files = question.ignore_files + self.config
            verdict = ignore.verdict(files, question.path, is_directory=question.is_directory)
            if verdict is not None:
                verdicts[question.path] = verdict
        return verdicts


def root_scope(root: Path) -> Scope:
    """The scope of a root, which may be a repository, a part of one, or a plain folder."""
    top = ignore.repository_top(root)
    if top is None:
        return Scope(root, "", root)
    try:
        top = git.toplevel(root)
        scope = _git_scope(root, "", top)
        # Whoever makes an ignored directory the root means it: the rules that hide it from the
        # repository around it say nothing about what is in it.
        if top != root and not scope.files and not scope.submodules:
            (rule,) = git.rules(top, [root.relative_to(top).as_posix()])
            if rule is not None and rule.is_ignoring():
                return Scope(root, "", root)
    except GitUnavailable as problem:
        scope = Scope(root, "", top)
        scope.leave_git(str(problem))
    return scope


def nested_scope(root: Path, path: str) -> Scope | None:
    """The scope of a directory below the root with a `.git` in it, or None if that is none."""
    folder = root / path
    try:
        return _git_scope(root, path, folder) if git.toplevel(folder) == folder else None
    except GitUnavailable as problem:
        scope = Scope(root, path, folder)
        scope.leave_git(str(problem))
        return scope


def directories_of(paths: Iterable[str]) -> frozenset[str]:
    """Every directory that some path is below of."""
    directories: set[str] = set()
    for direct in {path.rpartition("/")[0] for path in paths}:
        parent = direct
        while parent and parent not in directories:
            directories.add(parent)
            parent = parent.rpartition("/")[0]
    return frozenset(directories)


def _git_scope(root: Path, inside: str, top: Path) -> Scope:
    tracked = git.tracked(root / inside)
    files, submodules = tracked.files, tracked.submodules
    if inside:
        files = frozenset(inside + path for path in files)
        submodules = frozenset(inside + path for path in submodules)
    return Scope(
        root,
        inside,
        top,
        uses_git=True,
        files=files,
        submodules=submodules,
        directories=directories_of((*files, *submodules)),
    )
