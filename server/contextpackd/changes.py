"""Which lines of a workspace's files differ from a commit, or are staged.

Texts are those of the snapshot: open buffers, else the disk. What git has is only compared with
them and never shown, and only candidates are looked at: a secret that is tracked stays one.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from contextpack.alignment import changed_lines, is_alike, moved_lines
from contextpack.content import decoded
from contextpack.model import Path
from contextpack.request import HEAD, Request
from contextpack.snapshot import Source
from contextpack.text import Lines, display_path
from contextpackd import git, revisions
from contextpackd.errors import GitUnavailable, OptionProblem
from contextpackd.joint import Site, only_root
from contextpackd.revisions import Index
from contextpackd.workspace import Scan

# New files are held against those that went only while there are few: a moved directory is many
# of both, and each pair costs reading two texts.
MAX_MOVES = 50

# A file's time as a float is exact to less than this.
SAME_SECONDS = 1e-6

# What git keeps in place of a file that is stored elsewhere: nothing to compare with.
_POINTER = "version https://git-lfs.github.com/spec/"

Changed = Mapping[Path, tuple[Lines, ...]]
"""The lines of each file that are new, in order."""


@dataclass(frozen=True, slots=True)
class _Difference:
    """What may differ, as blobs. None is for what is not there."""

    before: Mapping[Path, str | None]
    """Of the candidates that may have changed: what the commit has of each."""
    staged: Mapping[Path, str] | None
    """What the index has of each, if that is what counts."""
    gone: Mapping[Path, str]
    """Files of the commit that are not there any more."""


def changed(workspace: Site, scan: Scan, request: Request) -> Changed | None:
    """The lines of one root's candidates that differ from the request's revision.

    None when a file changed meanwhile. Raises `OptionProblem` where there is no such revision,
    or no repository.
    """
    assert request.revision is not None
    root = only_root(workspace)
    try:
        git.toplevel(root)
        found = _difference(workspace, scan, request, request.revision)
        texts = workspace.texts(scan.snapshot, found.before, request.max_file_bytes)
        if texts is None:
            return None
        return MappingProxyType(_lines(workspace, request, found, texts))
    except GitUnavailable as problem:
        shown = display_path(str(root))
        raise OptionProblem(
            "staged" if request.diff is None else "diff",
            f"needs a git repository: {shown}: {problem.reason}; --focus and --from work without",
        ) from problem


def _difference(workspace: Site, scan: Scan, request: Request, revision: str) -> _Difference:
    root, sources = only_root(workspace), scan.snapshot.sources
    commit = git.commit_of(root, revision)
    # Before the first commit everything is new.
    if commit is None and (revision != HEAD or git.head(root) is not None):
        raise OptionProblem(
            "diff",
            f"names no commit here: {revision!r}; give the task first, or write --diff={HEAD}",
        )
    index = revisions.index(root)
    changes = (
        revisions.staged_changes(root, commit)
        if commit is not None
        else {path: (None, blob) for path, (blob, _, _) in index.entries.items()}
    )
    if request.staged:
        staged = {path: now for path, (_, now) in changes.items() if now and path in sources}
        gone = {path: old for path, (old, now) in changes.items() if old and not now}
        before = {path: changes[path][0] for path in staged}
        return _Difference(before, staged, gone)
    before = {path: old for path, (old, _) in changes.items() if path in sources}
    untracked: list[Path] = []
    for path, source in sources.items():
        if path in before:
            continue
        if (entry := index.entries.get(path)) is not None:
            if _is_touched(source, entry, index):
                before[path] = entry[0]
        elif not _is_below(path, index.submodules):
            untracked.append(path)
    before |= dict.fromkeys(_kept(workspace, request, untracked))
    was = {path: blob for path, (blob, _, _) in index.entries.items()} | {
        path: old for path, (old, _) in changes.items() if old
    }
    is_new = any(blob is None for blob in before.values())
    gone = {
        path: blob
        for path, blob in (was.items() if is_new and commit is not None else ())
        if path not in sources and not os.path.lexists(root / path)
    }
    return _Difference(before, None, gone)


def _is_touched(source: Source, entry: revisions.Entry, index: Index) -> bool:
    """Whether a file may have another text than the index says; a buffer has a time of its own."""
    _, modified, size_bytes = entry
    return (
        source.size_bytes != size_bytes
        or abs(source.modified - modified) > SAME_SECONDS
        # Git, too, does not believe what was written together with the index.
        or modified >= index.written
    )


def _is_below(path: Path, folders: frozenset[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _kept(workspace: Site, request: Request, untracked: list[Path]) -> Iterable[Path]:
    """Those that git would show as untracked: an option may bring in what it ignores."""
    if not request.include:
        return untracked
    rules = git.rules(only_root(workspace), untracked)
    return [
        path
        for path, rule in zip(untracked, rules, strict=True)
        if rule is None or not rule.is_ignoring()
    ]


def _lines(
    workspace: Site, request: Request, found: _Difference, texts: Mapping[Path, str]
) -> dict[Path, tuple[Lines, ...]]:
    staged = found.staged or {}
    new = [path for path, blob in found.before.items() if blob is None]
    moves = found.gone if len(new) <= MAX_MOVES and len(found.gone) <= MAX_MOVES else {}
    wanted = [*found.before.values(), *staged.values(), *(moves.values() if new else ())]
    blobs = revisions.blobs(
        only_root(workspace), [blob for blob in wanted if blob], request.max_file_bytes
    )
    result: dict[Path, tuple[Lines, ...]] = {}
    for path, blob in found.before.items():
        now = _text(blobs.get(staged[path])) if path in staged else texts[path]
        old = _text(blobs.get(blob or ""))
        if _is_pointer(old) and not _is_pointer(texts[path]):
            continue
        if blob is None and now is not None:
            moved = (_text(blobs.get(one)) for one in moves.values())
            old = next((one for one in moved if one is not None and is_alike(one, now)), None)
        lines = changed_lines(old or "", now if now is not None else texts[path])
        if path in staged and now is not None:
            lines = moved_lines(lines, now, texts[path])
        if lines:
            result[path] = lines
    return result


def _is_pointer(text: str | None) -> bool:
    return text is not None and text.startswith(_POINTER)


def _text(data: bytes | None) -> str | None:
    """The text of a blob as that of a file is read; None where there is none."""
    read = None if data is None else decoded(data)
    return None if read is None else read.text
