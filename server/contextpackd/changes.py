"""Which lines of a workspace's files differ from a commit, or are staged.

Texts are those of the snapshot: open buffers, else the disk. What git has is only compared with
them and never shown, and only candidates are looked at: a secret that is tracked stays one.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from contextpack.alignment import changed_lines, is_alike, moved_lines
from contextpack.model import Path
from contextpack.request import HEAD, Request
from contextpack.text import Lines, display_path
from contextpackd import git
from contextpackd.errors import GitUnavailable, OptionProblem
from contextpackd.joint import OneRoot, only_root
from contextpackd.revisions import Revisions
from contextpackd.workspace import Scan

# New files are held against those that went only while there are few: a moved directory is many
# of both, and each pair costs reading two texts.
MAX_MOVES = 50

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


def changed(workspace: OneRoot, scan: Scan, request: Request) -> Changed | None:
    """The lines of one root's candidates that differ from the request's revision.

    None when a file changed meanwhile. Raises `OptionProblem` where there is no such revision,
    or no repository.
    """
    assert request.revision is not None
    root = only_root(workspace)
    try:
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


def _difference(workspace: OneRoot, scan: Scan, request: Request, revision: str) -> _Difference:
    root, sources = only_root(workspace), scan.snapshot.sources
    index = workspace.kept(Revisions.index)
    # The history was read at the commit that HEAD is at.
    head = scan.snapshot.history.head if revision == HEAD else None
    commit = head or git.commit_of(root, revision)
    # Before the first commit everything is new.
    if commit is None and (revision != HEAD or git.head(root) is not None):
        raise OptionProblem(
            "diff",
            f"names no commit here: {revision!r}; give the task first, or write --diff={HEAD}",
        )
    changes = (
        workspace.kept(lambda kept: kept.staged_changes(commit))
        if commit is not None
        else {path: (None, blob) for path, (blob, _, _) in index.entries.items()}
    )
    if request.staged:
        staged = {path: now for path, (_, now) in changes.items() if now and path in sources}
        gone = {path: old for path, (old, now) in changes.items() if old and not now}
        before = {path: changes[path][0] for path in staged}
        return _Difference(before, staged, gone)
    before = {path: old for path, (old, _) in changes.items() if path in sources}
    touched, others = workspace.kept(lambda kept: kept.unlike(sources))
    untracked = [path for path in others if not _is_below(path, index.submodules)]
    before = touched | dict.fromkeys(_kept(workspace, request, untracked)) | before
    gone = {}
    if commit is not None and any(blob is None for blob in before.values()):
        was = {path: blob for path, (blob, _, _) in index.entries.items()} | {
            path: old for path, (old, _) in changes.items() if old
        }
        gone = {
            path: blob
            for path, blob in was.items()
            if path not in sources and not os.path.lexists(root / path)
        }
    return _Difference(before, None, gone)


def _is_below(path: Path, folders: frozenset[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _kept(workspace: OneRoot, request: Request, untracked: list[Path]) -> Iterable[Path]:
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
    workspace: OneRoot, request: Request, found: _Difference, texts: Mapping[Path, str]
) -> dict[Path, tuple[Lines, ...]]:
    staged = found.staged or {}
    new = [path for path, blob in found.before.items() if blob is None]
    moves = found.gone if len(new) <= MAX_MOVES and len(found.gone) <= MAX_MOVES else {}
    wanted = [*found.before.values(), *staged.values(), *(moves.values() if new else ())]
    olds = workspace.kept(
        lambda kept: kept.texts([blob for blob in wanted if blob], request.max_file_bytes)
    )
    result: dict[Path, tuple[Lines, ...]] = {}
    for path, blob in found.before.items():
        now = olds.get(staged[path]) if path in staged else texts[path]
        old = olds.get(blob or "")
        if _is_pointer(old) and not _is_pointer(texts[path]):
            continue
        if blob is None and now is not None:
            moved = (olds.get(one) for one in moves.values())
            old = next((one for one in moved if one is not None and is_alike(one, now)), None)
        lines = changed_lines(old or "", now if now is not None else texts[path])
        if path in staged and now is not None:
            lines = moved_lines(lines, now, texts[path])
        if lines:
            result[path] = lines
    return result


def _is_pointer(text: str | None) -> bool:
    return text is not None and text.startswith(_POINTER)
