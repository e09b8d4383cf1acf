"""A survey as bytes, so that the next process begins where this one ended.

Compact and fast rather than readable: paths stand together in one piece, numbers in arrays, and
what is in a directory is taken apart only when that is looked into. Bytes that are damaged, of
another version, root, set of options or environment are worth nothing, and do no harm.
"""

import hashlib
import os
from array import array
from collections.abc import Iterable
from pathlib import Path

import msgspec

from contextpack.model import Reason, Skip
from contextpackd.inputs import Inputs, Mark
from contextpackd.listing import Candidate, Discovery
from contextpackd.nodes import Node, Repository
from contextpackd.scope import Scope, directories_of
from contextpackd.walk import Walk

VERSION = (
    1  # Of this format and of the rules: any change in how a name is judged is another one.
)
_DIGEST_BYTES = 16
# What in the environment decides which configuration git reads, and which git that is.
_VARIABLES = ("GIT_", "HOME", "XDG_CONFIG_HOME", "PATH", "USERPROFILE")


class _Directory(msgspec.Struct, array_like=True):
    path: bytes
    ignored_by: bytes | None
    flags: int
    mark: tuple[int, int, int]
    names: bytes
    ignores: dict[str, tuple[Mark, bytes | None]]
    matched: list[bytes]
    problems: list[bytes]


class _Scope(msgspec.Struct, array_like=True):
    top: bytes
    uses_git: bool
    problem: bytes | None
    files: bytes
    submodules: bytes


class _Repository(msgspec.Struct, array_like=True):
    inside: bytes
    scope: _Scope | None
    index: dict[bytes, Mark]
    rules: dict[bytes, Mark]
    digest: bytes
    used_git: bool


class _Survey(msgspec.Struct, array_like=True):
    paths: bytes
    sizes: bytes
    mtimes: bytes
    ctimes: bytes
    inodes: bytes
    skips: list[tuple[bytes, str, bytes | None]]
    odd: bytes
    directories: list[_Directory]
    repositories: list[_Repository]


def saved(walk: Walk) -> bytes:
    """What a walk has seen. Empty before the first walk, and for numbers that no file has."""
    if walk.base is None:
        return b""
    found = list(walk.candidates.values())
    try:
        columns = (
            _numbers("q", (one.size_bytes for one in found)),
            _numbers("q", (one.mtime_ns for one in found)),
            _numbers("q", (one.ctime_ns for one in found)),
            _numbers("Q", (one.inode for one in found)),
        )
    except OverflowError:
        return b""
    skips = [
        (os.fsencode(skip.path), str(skip.reason), _optional(skip.rule))
        for skip in walk.skips.values()
    ]
    survey = _Survey(
        _joined(one.path for one in found),
        *columns,
        skips,
        _joined(walk.odd),
        [_directory(walk, node) for node in walk.nodes.values()],
        [_repository(inside, one) for inside, one in walk.repositories.items()],
    )
    body = msgspec.msgpack.encode(survey)
    return _digest(walk.root, walk.options, body) + body


def restore(walk: Walk, data: bytes) -> None:
    """Bring a new walk to where another one was when it was saved; do nothing if it cannot be."""
    body = data[_DIGEST_BYTES:]
    if data[:_DIGEST_BYTES] != _digest(walk.root, walk.options, body):
        return
    # What follows cannot fail: nobody else made these bytes.
    survey = msgspec.msgpack.decode(body, type=_Survey)
    found = map(
        Candidate,
        _split(survey.paths),
        array("q", survey.sizes),
        array("q", survey.mtimes),
        array("q", survey.ctimes),
        array("Q", survey.inodes),
    )
    walk.candidates = {one.path: one for one in found}
    for path, reason, rule in survey.skips:
        skip = Skip(os.fsdecode(path), Reason(reason), _text(rule))
        walk.skips[skip.path] = skip
    walk.odd.update(_split(survey.odd))
    for directory in survey.directories:
        node = _node(directory)
        walk.nodes[node.path] = node
        if directory.problems:
            walk.problems[node.path] = tuple(map(os.fsdecode, directory.problems))
    for one in survey.repositories:
        inside = os.fsdecode(one.inside)
        scope = None if one.scope is None else _scope(walk.root, inside, one.scope)
        found_inputs = Inputs(_decoded(one.index), _decoded(one.rules), one.digest)
        walk.repositories[inside] = Repository(scope, found_inputs, one.used_git)
        if scope is not None and not inside:
            walk.base = walk.base_of(scope)
    walk.begin()


def _digest(root: Path, options: Discovery, body: bytes) -> bytes:
    environment = sorted(
        (name, value) for name, value in os.environ.items() if name.startswith(_VARIABLES)
    )
    # A number of this process, where there is one: a repository may be trusted by one user only.
    user = getattr(os, "getuid", int)()
    about = repr((VERSION, str(root), options, environment, user))
    digest = hashlib.blake2b(
        about.encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES
    )
    digest.update(body)
    return digest.digest()


def _directory(walk: Walk, node: Node) -> _Directory:
    return _Directory(
        os.fsencode(node.path),
        _optional(node.ignored_by),
        node.is_included | node.is_silent << 1 | node.is_pruned << 2,
        node.mark,
        node.repacked(),
        node.ignores,
        [os.fsencode(glob) for glob in node.matched],
        [os.fsencode(line) for line in walk.problems.get(node.path, ())],
    )


def _node(directory: _Directory) -> Node:
    flags = directory.flags
    return Node(
        os.fsdecode(directory.path),
        _text(directory.ignored_by),
        is_included=bool(flags & 1),
        is_silent=bool(flags & 2),
        is_pruned=bool(flags & 4),
        mark=directory.mark,
        ignores=directory.ignores,
        matched=set(map(os.fsdecode, directory.matched)),
        packed=directory.names,
    )


def _repository(inside: str, one: Repository) -> _Repository:
    scope = None
    if one.scope is not None:
        scope = _Scope(
            os.fsencode(one.scope.top),
            one.scope.uses_git,
            _optional(one.scope.problem),
            _joined(one.scope.files),
            _joined(one.scope.submodules),
        )
    index, rules = _encoded(one.inputs.index), _encoded(one.inputs.rules)
    return _Repository(
        os.fsencode(inside), scope, index, rules, one.inputs.digest, one.used_git
    )


def _scope(root: Path, inside: str, one: _Scope) -> Scope:
    files, submodules = _split(one.files), _split(one.submodules)
    return Scope(
        root,
        inside,
        Path(os.fsdecode(one.top)),
        uses_git=one.uses_git,
        problem=_text(one.problem),
        files=frozenset(files),
        submodules=frozenset(submodules),
        directories=directories_of((*files, *submodules)),
    )


def _numbers(kind: str, numbers: Iterable[int]) -> bytes:
    return array(kind, numbers).tobytes()


def _joined(paths: Iterable[str]) -> bytes:
    return os.fsencode("\0".join(paths))


def _split(data: bytes) -> list[str]:
    return os.fsdecode(data).split("\0") if data else []


def _encoded(marks: dict[str, Mark]) -> dict[bytes, Mark]:
    return {os.fsencode(file): mark for file, mark in marks.items()}


def _decoded(marks: dict[bytes, Mark]) -> dict[str, Mark]:
    return {os.fsdecode(file): mark for file, mark in marks.items()}


def _optional(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def _text(data: bytes | None) -> str | None:
    return None if data is None else os.fsdecode(data)
