"""How the names in a directory are judged. Nothing here looks at the disk.

The order: an `exclude` glob, a secret's name, `.contextpackignore`, git's index (tracked files are
never ignored), git's ignore rules, directories that no project means (`node_modules`), `include`
globs (which bring ignored files back), attributes that mark it as generated. What passes is
looked at, see `files.looked`.

What git's rules say is asked for many names at once, so a name is judged in two steps: `entry`
before git is asked, `file` or `directory` after.
"""

import os
from dataclasses import dataclass, replace

import msgspec

from contextpack.model import Reason, Skip
from contextpack.secrets import is_about_name, is_telling_directory, secret_rule
from contextpack.text import display_path
from contextpackd import attributes, ignore
from contextpackd.attributes import AttributeFile
from contextpackd.ignore import Glob, IgnoreFile, Verdict
from contextpackd.listing import Discovery
from contextpackd.scope import Question, Scope

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
# A bound for repositories of a million different names, at some 100 bytes each.
_MAX_KNOWN_NAMES = 200_000


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory to visit, and the rules that hold in it."""

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

    attributes: tuple[AttributeFile, ...] = ()
    """Attribute files that mark something, from here upwards."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A name in a directory, and what is known of it before git is asked."""

    folder: Folder
    name: str
    path: str
    is_directory: bool
    is_included: bool
    own: Verdict | None

    def question(self) -> Question | None:
        """What git's ignore rules have to be asked, or None if they have no say in it."""
        folder, scope = self.folder, self.folder.scope
        if self.own or folder.is_silent or folder.ignored_by:
            return None
        if self.path in (scope.submodules if self.is_directory else scope.files):
            return None
        return Question(self.path, self.is_directory, folder.ignore_files)


class Judge:
    """The judgement of one set of options. Remembers what it found about names, no paths."""

    def __init__(self, options: Discovery) -> None:
        self._include = tuple(ignore.glob(text) for text in options.include)
        self._exclude = tuple(ignore.glob(text) for text in options.exclude)
        self._secret_names: dict[str, str | None] = {}
        self._about: dict[str, bool] = {}

    def has_globs(self) -> bool:
        """Whether any option has to be asked about every name."""
        return bool(self._include or self._exclude)

    def entry(
        self, folder: Folder, name: str, matched: set[str], *, is_directory: bool
    ) -> Entry | Skip | None:
        """A name before git is asked, or what settles it; None is for a silent folder's.

        `matched` takes up the globs that match.
        """
        path = folder.path + name
        is_included = folder.is_included
        if self._include or self._exclude:
            raw = os.fsencode(path)
            excluded = _match(self._exclude, raw, matched, is_directory=is_directory)
            included = _match(self._include, raw, matched, is_directory=is_directory)
            is_included = is_included or included is not None
            if excluded:
                shown = path + "/" if is_directory else path
                return _audible(folder, Skip(shown, Reason.EXCLUDED, excluded.text))
        if not is_directory and (rule := self._secret(folder.path, name)):
            if is_included or not folder.is_silent:
                return Skip(path, Reason.SECRET, display_path(rule))
            return None
        own = None
        if folder.own_files:
            own = ignore.verdict(folder.own_files, path, is_directory=is_directory)
        return Entry(folder, name, path, is_directory, is_included, own)

    def is_plain(self, folder: Folder) -> bool:
        """Whether tracked files in a directory are looked at unless their names are secret."""
        has_globs = bool(self._include or self._exclude)
        is_judged = has_globs or bool(folder.own_files or folder.attributes or folder.is_silent)
        return not is_judged and not is_telling_directory(folder.path)

    def directory(
        self, entry: Entry, verdict: Verdict | None
    ) -> tuple[Skip | None, Folder | None]:
        """Why a directory is left out, and how it is to be visited: both, one or neither."""
        folder, scope = entry.folder, entry.folder.scope
        is_tracked = entry.path in scope.directories or entry.path in scope.submodules
        rule = verdict.rule if verdict and verdict.is_ignored else folder.ignored_by
        if verdict is None and rule is None and entry.name in _BUILT_IN and not is_tracked:
            rule = f"built in: {entry.name}/"
        below = Folder(
            entry.path + "/",
            scope,
            folder.ignore_files,
            folder.own_files,
            None if entry.path in scope.submodules else rule,
            entry.is_included,
            folder.is_silent,
            folder.attributes,
        )
        if folder.is_silent:
            return None, below if self._is_looked_into(entry) else None
        if rule is None or (is_tracked and not entry.own):
            return None, below
        skip = Skip(below.path, Reason.IGNORED, rule)
        is_wanted = self._is_looked_into(entry)
        return skip, replace(below, is_silent=True) if is_wanted else None

    def file(self, entry: Entry, verdict: Verdict | None) -> Skip | bool:
        """Why a file is left out, or whether it is to be looked at."""
        folder, path = entry.folder, entry.path
        rule = verdict.rule if verdict and verdict.is_ignored else None
        if verdict is None and path not in folder.scope.files:
            rule = folder.ignored_by
        if not entry.is_included:
            if rule:
                return _audible(folder, Skip(path, Reason.IGNORED, rule)) or False
            if self._include:
                return _audible(folder, Skip(path, Reason.NOT_INCLUDED, None)) or False
        if folder.attributes and (marked := attributes.rule(folder.attributes, path)):
            return Skip(path, Reason.GENERATED, marked)
        return True

    def is_named(self, path: str) -> bool:
        """Whether an `include` glob has the last part of a path as one of its own."""
        name = path.rpartition("/")[2]
        return any(name in glob.parts for glob in self._include)

    def match(self, path: str, matched: set[str], *, is_directory: bool) -> None:
        """Take up the globs that match a path."""
        raw = os.fsencode(path)
        _match(self._exclude, raw, matched, is_directory=is_directory)
        _match(self._include, raw, matched, is_directory=is_directory)

    def match_below(self, directory: str, matched: set[str]) -> None:
        """Take up the globs that may match in an ignored directory, even if nobody looks."""
        anchored = (glob for glob in self._exclude if glob.is_anchored())
        matched.update(glob.text for glob in anchored if glob.reaches(directory))

    def _is_looked_into(self, entry: Entry) -> bool:
        """Whether `include` globs are after something in an ignored directory."""
        if entry.name in _BUILT_IN and not self.is_named(entry.path):
            return False
        return entry.is_included or any(glob.reaches(entry.path) for glob in self._include)

    def secret_name(self, name: str) -> str | None:
        """Which kind of credential a file holds by its name, in a directory that tells nothing.

        `secret_rule` is the name's there, which many directories share: it is remembered.
        """
        extension = name[name.rfind(".") + 1 :]
        is_about = self._about.get(extension)
        if is_about is None:
            is_about = self._about[extension] = is_about_name(f".{extension}")
        if is_about and "\n" not in name:
            return None
        if name in self._secret_names:
            return self._secret_names[name]
        if len(self._secret_names) >= _MAX_KNOWN_NAMES:
            self._secret_names.clear()
            self._about.clear()
        rule = self._secret_names[name] = secret_rule("_/" + name)
        return rule

    def _secret(self, directory: str, name: str) -> str | None:
        if is_telling_directory(directory):
            return secret_rule(directory + name)
        return self.secret_name(name)


def _match(
    globs: tuple[Glob, ...], raw: bytes, matched: set[str], *, is_directory: bool
) -> Glob | None:
    first = None
    for glob in globs:
        if (first is None or glob.text not in matched) and glob.matches(
            raw, is_directory=is_directory
        ):
            matched.add(glob.text)
            first = first or glob
    return first


def _audible(folder: Folder, skip: Skip) -> Skip | None:
    return None if folder.is_silent else skip
