"""Ignore files in git's syntax: their patterns, which of them decides, and where they lie.

Git answers for sound repositories; this module answers where it cannot, and for
`.contextpackignore` and the globs of options everywhere.

*Rules.* The deepest ignore file with a match decides, in it the last line. Parents are asked
before children and pruned, so nothing below an ignored directory is re-included. The tests hold
this against git itself, on random trees.

*How it works.* A pattern becomes a regular expression over bytes, since git's wildcards match
bytes, by a translation that behaves as git is seen to behave, oddities included. This is not left
to `pathspec`: it matches characters, knows no line breaks in names, strips tabs that git
keeps, lets `a/**` match `a` itself, and backtracks without end on patterns such as `*a*a*a*b`.
Ours takes the leftmost match of each part between wildcards, in atomic groups, which is complete
for such patterns and bounds the work.
"""

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from contextpack.text import display_path
from contextpackd import git
from contextpackd.errors import GitUnavailable
from contextpackd.files import NO_FOLLOW, READING, content

MAX_IGNORE_BYTES = 1 << 20  # Ten thousand lines fit; more is not an ignore file.

_UTF8_MARK = b"\xef\xbb\xbf"
_WILD = re.compile(rb"[*?\[\\]")
_NEVER = re.compile(rb"(?!)")
_ANY_BYTES = frozenset(range(1, 256))
_BYTE_CLASSES = (
    (b"alnum", b"0-9A-Za-z"),
    (b"alpha", b"A-Za-z"),
    (b"blank", b" \t"),
    (b"cntrl", rb"\x01-\x1f\x7f"),
    (b"digit", b"0-9"),
    (b"graph", rb"\x21-\x7e"),
    (b"lower", b"a-z"),
    (b"print", rb"\x20-\x7e"),
    (b"punct", rb"!-/:-@\[-`{-~"),
    (b"space", rb" \t\n\r"),
    (b"upper", b"A-Z"),
    (b"xdigit", b"0-9A-Fa-f"),
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file."""

    regex: re.Pattern[bytes]
    """Matches the whole last part of a path, or the whole path from the file's directory on."""
    is_for_names: bool
    is_for_directories: bool
    is_negated: bool
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The patterns of one file, and what its paths are relative to.

    A path relative to the root loses `inside` and then gets `above` in front: `inside` is the
    file's directory if that is below the root, `above` the way from it to the root otherwise.
    """

    source: str
    """As rules show it: relative to the root, or with `~` for the home directory."""
    inside: bytes
    above: bytes
    patterns: tuple[Pattern, ...]
    """In the order in which they are asked: the last line first."""
    problems: tuple[str, ...]
    """Lines that can match nothing, as `file:line: what is wrong`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the deciding line says of a path. `rule` is `file:line: pattern`."""

    is_ignored: bool
    rule: str


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern of an option, relative to the root. A match on a directory holds below it."""

    text: str
    pattern: Pattern
    parts: tuple[str, ...]
    """The parts of an anchored glob; of others, which match at any depth, the same."""

    def matches(self, path: bytes, *, is_directory: bool) -> bool:
        """Whether it names this very path."""
        return is_match(self.pattern, path, path.rpartition(b"/")[2], is_directory=is_directory)

    def reaches(self, directory: str) -> bool:
        """Whether something below a directory could match."""
        if self.pattern.is_for_names:
            return True
        names = directory.rstrip("/").split("/")
        for part, name in zip(self.parts, names, strict=False):
            if part == "**":
                return True
            if part != name and not _WILD.search(os.fsencode(part)):
                return False
        return len(self.parts) > len(names)

    def is_anchored(self) -> bool:
        """Whether it matches at one place only, not at any depth."""
        return not self.pattern.is_for_names and self.parts[:1] != ("**",)


def glob(text: str) -> Glob:
    """The glob that an option gives. One that is not well formed matches nothing."""
    plain = text.removeprefix("./")
    raw = os.fsencode(plain)
    try:
        pattern = pattern_of(raw, 1)
    except ValueError:
        pattern = Pattern(
            _NEVER,
            is_for_names=True,
            is_for_directories=False,
            is_negated=False,
            line=1,
            text=text,
        )
    return Glob(text, pattern, tuple(plain.strip("/").split("/")))


def parsed(data: bytes, source: str, inside: str = "", above: str = "") -> IgnoreFile:
    """The patterns of an ignore file. Its byte order mark and carriage returns are dropped."""
    patterns, problems = [], []
    for number, raw in enumerate(data.removeprefix(_UTF8_MARK).split(b"\n"), start=1):
        line = _without_trailing_spaces(raw.removesuffix(b"\r").partition(b"\0")[0])
        if not line or line.startswith(b"#"):
            continue
        is_negated = line.startswith(b"!")
        try:
            pattern = pattern_of(line[is_negated:], number, line)
        except ValueError as error:
            problems.append(f"{source}:{number}: {error}")
        else:
            patterns.append(pattern)
    return IgnoreFile(
        source=source,
        inside=os.fsencode(inside),
        above=os.fsencode(above),
        patterns=tuple(reversed(patterns)),
        problems=tuple(problems),
    )


def verdict(files: Iterable[IgnoreFile], path: str, *, is_directory: bool) -> Verdict | None:
    """What ignore files, the most important first, say of a path whose parents are not ignored."""
    raw = os.fsencode(path)
    name = raw.rpartition(b"/")[2]
    for file in files:
        tail = file.above + raw[len(file.inside) :]
        for pattern in file.patterns:
            if is_match(pattern, tail, name, is_directory=is_directory):
                rule = shown_rule(file.source, pattern.line, pattern.text)
                return Verdict(not pattern.is_negated, rule)
    return None


def shown_rule(source: str, line: int, pattern: str) -> str:
    """A rule as a ledger shows it."""
    return f"{source}:{line}: {display_path(pattern)}"


def shown_source(file: Path, root: Path, top: Path) -> str:
    """An ignore file's name for people: relative to the root inside the repository, or from ~."""
    if file.is_relative_to(top) or file.is_relative_to(root):
        return display_path(Path(os.path.relpath(file, root)).as_posix())
    home = Path.home()
    if file.is_relative_to(home):
        return display_path("~/" + file.relative_to(home).as_posix())
    return display_path(file.as_posix())


def loaded(root: Path, directory: str, name: str) -> IgnoreFile | None:
    """The ignore file of this name in a directory below the root, or None if there is none.

    `directory` is relative to the root and ends with `/`, or is empty. Links are not followed,
    as git does not follow them.
    """
    data = small_content(root / directory / name, NO_FOLLOW)
    return None if data is None else parsed(data, display_path(directory + name), directory, "")


def loaded_above(root: Path, top: Path, name: str) -> tuple[IgnoreFile, ...]:
    """The ignore files of this name from the root's parent up to the top, deepest first."""
    files = []
    if root.is_relative_to(top):
        for folder in root.parents[: len(root.relative_to(top).parts)]:
            data = small_content(folder / name, NO_FOLLOW)
            if data is not None:
                above = root.relative_to(folder).as_posix() + "/"
                files.append(parsed(data, shown_source(folder / name, root, top), "", above))
    return tuple(files)


def loaded_config(root: Path, inside: str, top: Path) -> tuple[IgnoreFile, ...]:
    """A repository's `info/exclude` and the user's global excludes, the former first.

    `top` is the top of the working tree; the workspace's part of it begins at `inside`.
    """
    files = []
    folder = root / inside
    above = "" if folder == top else folder.relative_to(top).as_posix() + "/"
    git_dir = common_git_dir(top)
    for file in ((git_dir / "info" / "exclude") if git_dir else None, _global_excludes()):
        data = None if file is None else small_content(file, 0)
        if file is not None and data is not None:
            files.append(parsed(data, shown_source(file, root, top), inside, above))
    return tuple(files)


def small_content(file: Path, flags: int) -> bytes | None:
    """The bytes of a small regular file, or None. Never waits, as on a FIFO it would.

    `flags` are those of `os.open`: `NO_FOLLOW` for files of a working tree, as git does.
    """
    try:
        descriptor = os.open(file, READING | flags)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = content(descriptor, MAX_IGNORE_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data if len(data) <= MAX_IGNORE_BYTES else None


def repository_top(folder: Path) -> Path | None:
    """The nearest directory at or above a folder that has a `.git`, sound or not."""
    for parent in (folder, *folder.parents):
        if os.path.lexists(parent / ".git"):
            return parent
    return None


def is_linked_worktree(folder: Path) -> bool:
    """Whether a folder is a second working tree of a repository that has another one."""
    link = git_link(folder)
    return link is not None and link.parent.name == "worktrees"


def common_git_dir(top: Path) -> Path | None:
    """Where the repository of a working tree keeps what all its working trees share."""
    if (top / ".git").is_dir():
        return top / ".git"
    link = git_link(top)
    if link is None:
        return None
    common = small_content(link / "commondir", 0)  # A linked worktree shares `info/exclude`.
    return link if common is None else link / os.fsdecode(common.strip())


def git_link(folder: Path) -> Path | None:
    """Where the `.git` file of a worktree or a submodule points."""
    data = small_content(folder / ".git", 0)
    if data is None or not data.startswith(b"gitdir:"):
        return None
    return Path(os.path.normpath(folder / os.fsdecode(data.removeprefix(b"gitdir:").strip())))


def _global_excludes() -> Path | None:
    try:
        configured = git.global_excludes()
    except GitUnavailable:
        configured = None
    if configured:
        return configured
    config = os.environ.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "git" / "ignore"


def is_match(pattern: Pattern, path: bytes, name: bytes, *, is_directory: bool) -> bool:
    """Whether a pattern matches a path, relative to its file's directory, with this last part."""
    if pattern.is_for_directories and not is_directory:
        return False
    subject = name if pattern.is_for_names else path
    return pattern.regex.fullmatch(subject) is not None


def _without_trailing_spaces(line: bytes) -> bytes:
    """The line without the spaces at its end that no backslash protects. Tabs stay."""
    end, at = None, 0
    while at < len(line):
        if line[at] == ord(" "):
            end = at if end is None else end
        else:
            end = None
            at += line[at] == ord("\\")
        at += 1
    return line if end is None else line[:end]


def pattern_of(body: bytes, number: int, text: bytes | None = None) -> Pattern:
    """The pattern of a line without its `!`. Raises `ValueError` if it can match nothing."""
    shown = os.fsdecode(body if text is None else text)
    is_negated = text is not None and text.startswith(b"!")
    is_for_directories = body.endswith(b"/")
    body = body.removesuffix(b"/")
    is_for_names = b"/" not in body
    body = body.removeprefix(b"/")
    regex = re.compile(_translated(body, is_for_names=is_for_names), re.DOTALL)
    return Pattern(regex, is_for_names, is_for_directories, is_negated, number, shown)


def _translated(body: bytes, *, is_for_names: bool) -> bytes:
    """The regular expression of a pattern.

    A block begins at each `**/` (`lead` is what that matches) and holds runs of one-byte pieces,
    each run but the first behind a `*`.
    """
    wild = _WILD.search(body)
    # Git compares the literal beginning first and matches only the rest as a pattern: to it, `**`
    # right behind that beginning stands at the start, whatever is before it.
    start = wild.start() if wild else len(body)
    lead, runs, ending = b"", [b""], b""
    blocks: list[tuple[bytes, list[bytes]]] = []
    at = 0
    while at < len(body):
        if body[at : at + 1] != b"*":
            piece, at = _piece(body, at)
            runs[-1] += piece
            continue
        first = at
        while body[at : at + 1] == b"*":
            at += 1
        is_free = first == start or body[first - 1 : first] == b"/"
        if at - first == 1 or is_for_names or not is_free:
            runs.append(b"")
        elif at == len(body):
            ending = b".*"
        elif body[at : at + 1] == b"/" or body[at : at + 2] == b"\\/":
            blocks.append((lead, runs))
            lead = rb"(?:[^/]*/)*?" if body[at : at + 1] == b"/" else rb"(?:[^/]*/)+?"
            at += 1 if body[at : at + 1] == b"/" else 2
            runs = [b""]
        else:
            runs.append(b"")
    result = b""
    for before, pieces in blocks:
        result += b"(?>" + before + pieces[0] + b"".join(map(_leftmost, pieces[1:])) + b")"
    result += lead + runs[0] + b"".join(map(_leftmost, runs[1:-1]))
    if len(runs) > 1:
        result += b"[^/]*" + runs[-1]
    return result + ending


def _leftmost(run: bytes) -> bytes:
    return b"(?>[^/]*?" + run + b")"


def _piece(body: bytes, at: int) -> tuple[bytes, int]:
    """What matches one byte at a place of a pattern, and the place behind it."""
    match body[at : at + 1]:
        case b"?":
            return b"[^/]", at + 1
        case b"\\":
            if at + 1 == len(body):
                raise ValueError("a backslash at the end escapes nothing")
            return re.escape(body[at + 1 : at + 2]), at + 2
        case b"[":
            members, after = _bracketed(body, at + 1)
            inner = b"".join(b"\\x%02x" % byte for byte in sorted(members - {ord("/")}))
            return (b"[" + inner + b"]") if inner else b"(?!)", after
        case literal:
            return re.escape(literal), at + 1


def _bracketed(body: bytes, at: int) -> tuple[frozenset[int], int]:
    """The bytes that `[...]` matches, read in the order in which git reads it."""

    def byte(place: int) -> int:
        if place >= len(body):
            raise ValueError("a [ is not closed")
        return body[place]

    is_negated = byte(at) in b"!^"
    at += is_negated
    members: set[int] = set()
    before = 0  # The lower end, if a `-` follows.
    while True:
        here = byte(at)
        if here == ord("\\"):
            at += 1
            here = byte(at)
            members.add(here)
        elif here == ord("-") and before and body[at + 1 : at + 2] not in (b"", b"]"):
            at += 1 + (byte(at + 1) == ord("\\"))
            members.update(range(before, byte(at) + 1))
            here = 0
        elif here == ord("[") and body[at + 1 : at + 2] == b":":
            close = body.find(b"]", at + 2)
            if close < 0:
                raise ValueError("a [: is not closed")
            name = body[at + 2 : close]
            if name.endswith(b":"):
                members |= _byte_class(name[:-1])
                at, here = close, 0
            else:
                members.add(here)
        else:
            members.add(here)
        before = here
        at += 1
        if byte(at) == ord("]"):
            return _ANY_BYTES - members if is_negated else frozenset(members), at + 1


def _byte_class(name: bytes) -> frozenset[int]:
    for known, inner in _BYTE_CLASSES:
        if known == name:
            member = re.compile(b"[" + inner + b"]")
            return frozenset(n for n in range(1, 128) if member.match(bytes((n,))))
    raise ValueError(f"[:{os.fsdecode(name)}:] is no class of characters")
