"""Workspaces in memory: files as a mapping, through the whole pipeline without a disk."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from contextpack.bundle import Pack, finish
from contextpack.codec import encoded, encoded_terms
from contextpack.facts import facts
from contextpack.history import NO_HISTORY, Commit, History, Touch, extended
from contextpack.hunks import NO_HUNKS
from contextpack.languages import language_of
from contextpack.model import Facts, Skip, TermCounts
from contextpack.plan import plan
from contextpack.request import Request
from contextpack.resolve import is_config
from contextpack.snapshot import Reading, Snapshot, reading, snapshot
from contextpack.stable import follows
from contextpack.text import Lines
from contextpack.tokens import profile_of, usable_budget
from contextpackd.counters import counter
from contextpackd.grammars import grammars
from contextpackd.worker import Words

GRAMMARS = grammars()
COUNT = counter(profile_of("o200k"))
LEXICON = Words().lexicon

# Cases must not change when Python's standard library grows.
STANDARD_LIBRARY = frozenset(
    {"asyncio", "calendar", "importlib", "json", "os", "re", "sys", "typing"}
)


def facts_of(path: str, text: str) -> Facts:
    return read_of(path, text)[0]


def read_of(path: str, text: str) -> tuple[Facts, TermCounts]:
    return facts(text, language_of(path), grammars=GRAMMARS, count=COUNT, lexicon=LEXICON)


def reading_of(path: str, text: str, modified: float = 0.0) -> Reading:
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    said, counted = read_of(path, text)
    return reading(path, digest, len(data), modified, encoded(said), encoded_terms(counted))


def snapshot_of(
    files: Mapping[str, str],
    skipped: Sequence[Skip] = (),
    order: Sequence[str] | None = None,
) -> Snapshot:
    return snapshot(
        [reading_of(path, files[path]) for path in order or files],
        skipped,
        configs={path: text for path, text in files.items() if is_config(path)},
        standard_library=STANDARD_LIBRARY,
    )


def history_of(commits: Iterable[tuple[str, Sequence[str]]]) -> History:
    """The history of these messages, the oldest first, with what they touched.

    `old => new` is a move, `path:first-last` says which lines were changed there.
    """
    made = [Commit(message, tuple(map(_touch, touched))) for message, touched in commits]
    return extended(NO_HISTORY, "0" * 40, made) if made else NO_HISTORY


def _touch(shown: str) -> Touch:
    old, arrow, new = shown.partition(" => ")
    if arrow:
        return Touch(new, old, NO_HUNKS)
    path, colon, lines = shown.partition(":")
    if not colon:
        return Touch(path)
    first, last = map(int, lines.split("-"))
    n = last - first + 1
    return Touch(path, hunks=np.array([[first, n, first, n]], np.int32))


def packed(
    files: Mapping[str, str],
    request: Request,
    snapshot: Snapshot | None = None,
    previous: Pack | None = None,
    changed: Mapping[str, tuple[Lines, ...]] | None = None,
) -> Pack:
    made = snapshot or snapshot_of(files)
    is_followed = previous is not None and follows(request, previous.standing)
    standing = previous.standing.digests if previous and is_followed else ()
    planned = plan(made, request, standing=standing, changed=changed)
    profile = profile_of(request.model)
    return finish(
        planned,
        made,
        {path: files[path] for path in planned.paths},
        count=counter(profile),
        limit=usable_budget(request.spendable_tokens, profile),
        previous=previous.standing if previous else None,
    )
