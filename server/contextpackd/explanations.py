"""What makes the scores of a pack's files and chunks, and of the best that it leaves out."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from contextpack import model
from contextpack.admission import State, Target, state
from contextpack.ranking import RankedChunk, RankedFile, Ranking
from contextpack.request import Request
from contextpack.text import lined
from contextpackd.errors import Superseded
from contextpackd.joint import Site, shown_roots
from contextpackd.queries import MAX_ATTEMPTS, Made, checked_plan, packed
from contextpackd.view import Progress
from contextpackd.workspace import Scan

_NO_PARTS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FileScore:
    """A file with its score and what makes it, see `contextpack.ranking.RULE`."""

    file: RankedFile
    rank: int | None
    """Among the files with a score, from 1."""
    is_in: bool


@dataclass(frozen=True, slots=True)
class ChunkScore:
    """A chunk with its score and what makes it."""

    chunk: RankedChunk
    parts: Mapping[str, float]
    state: State


@dataclass(frozen=True, slots=True)
class Explanation:
    """The scores of what is in a pack, and of the best that is not; the best first."""

    roots: Mapping[str, Path]
    request: Request
    ranking: Ranking
    scan: Scan
    files: tuple[FileScore, ...]
    chunks: tuple[ChunkScore, ...]
    """Those of which a line is shown, and the best of the others."""


def explanation(
    workspace: Site,
    request: Request,
    n_outside: int,
    progress: Progress,
    rules: Collection[str] = (),
) -> Explanation:
    """The scores for a request: of the pack, and of so many outside. Raises as `answer` does."""
    for _ in range(MAX_ATTEMPTS):
        scan, planned = checked_plan(workspace, request, progress, rules=rules)
        made = planned and packed(workspace, scan, planned, progress)
        if planned and made:
            ranking = planned.ranking
            return Explanation(
                roots=workspace.roots,
                request=request,
                ranking=ranking,
                scan=scan,
                files=tuple(_files(ranking, made, n_outside)),
                chunks=tuple(_chunks(ranking, made, n_outside)),
            )
    raise Superseded(shown_roots(workspace.roots))


def _files(ranking: Ranking, made: Made, n_outside: int) -> Iterator[FileScore]:
    inside = made.pack.account.shelf.pieces.keys()
    for rank, path in enumerate(ranking.best(), 1):
        n_outside -= path not in inside
        if path in inside or n_outside >= 0:
            file = ranking.file(path)
            assert file is not None
            yield FileScore(file, rank, path in inside)
    # What the request names is in without a score.
    for path in made.pack.account.order:
        if ranking.file(path) is None:
            yield FileScore(RankedFile(path, 0.0, _NO_PARTS, None), None, is_in=True)


def _chunks(ranking: Ranking, made: Made, n_outside: int) -> list[ChunkScore]:
    shown = {
        chunk.number: ChunkScore(chunk, ranking.parts(chunk) if chunk.score else _NO_PARTS, how)
        for path in made.pack.account.order
        for chunk, how in _shown(ranking, made, path)
    }
    others = (chunk for chunk in ranking.chunks() if chunk.number not in shown)
    found = [*shown.values()] + [
        ChunkScore(chunk, ranking.parts(chunk), State.OUT)
        for chunk in islice(others, n_outside)
    ]
    found.sort(key=lambda row: (-row.chunk.score, row.chunk.path, row.chunk.number))
    return found


def _shown(
    ranking: Ranking, made: Made, path: model.Path
) -> Iterator[tuple[RankedChunk, State]]:
    """The chunks of a file of which some lines are shown."""
    text = lined(made.texts[path])
    for chunk in ranking.chunks_of(path):
        how = state(made.pack, Target(path, chunk), text)
        if how is not State.OUT:
            yield chunk, how
