"""Why a file, or the part of it at a line, is in a bundle or out of it; every claim by packing."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from contextpack import model
from contextpack.admission import (
    Admission,
    Displaced,
    State,
    Target,
    Way,
    candidate_of,
    chunk_cut,
    decision,
    displaced,
    most_of,
    overshoot,
    rank_of,
    shown,
    smallest,
    state,
    way,
    with_first,
)
from contextpack.bundle import Pack, desk_of
from contextpack.model import Detail, LedgerEntry, Outcome, Reason, Skip
from contextpack.plan import Candidate, Plan, planned
from contextpack.ranking import RankedChunk, Ranking
from contextpack.request import Request, Scorer
from contextpack.shelf import Desk, empty_shelf
from contextpack.stable import Standing, follows
from contextpack.text import Lined, Lines, display_path, lined
from contextpackd.errors import OptionProblem, Superseded
from contextpackd.joint import Site, advice, path_of, shown_roots
from contextpackd.queries import (
    MAX_ATTEMPTS,
    Made,
    checked_plan,
    packed,
    skip_of,
)
from contextpackd.view import Progress
from contextpackd.workspace import Scan

_LINE = re.compile(r"(.+):(\d{1,9})\Z", re.DOTALL)

# Signatures and closed gaps may bring in so few lines that are no candidate.
MAX_LINES_ALONG = 12

# What a part costs beyond the parts together, by a counter that rounds each up.
ROUNDED_TOKENS = 2


@dataclass(frozen=True, slots=True)
class Displacement:
    """What leaves a bundle of the same budget for a target that it is made to take in."""

    is_pinned: bool
    """Whether its file was pinned; else the part was put before all others."""
    fits: bool
    """Whether the target is in then."""
    files: tuple[Displaced, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """The account of one file, or of the part of it at a line."""

    roots: Mapping[str, Path]
    request: Request
    scan: Scan
    path: model.Path
    line: int | None
    lines: Lines | None
    """Of the part at the line."""
    state: State
    way: Way | None
    """As what it is in, or what of it is; None for what is out."""
    ranges: tuple[Lines, ...]
    """What the bundle shows of the file."""
    entry: LedgerEntry
    """What became of it; `tokens` are those of the file or part, or of what is shown of a file."""
    cut_score: float
    """Of a file: the lowest score of one that is in and that the request does not name.

    Of a part: the lowest of those that are in with all their lines, each by its own score; what
    is in another way (see `way`) may have less. 0 when there is none.
    """
    floor_score: float
    """With a lower score nothing is looked at; 0 where there is no such limit."""
    over_by: int | None
    """How many tokens too many the bundle would have with it; None where that is not the reason."""
    rank: int | None
    """Among the files with a score, or the parts; from 1."""
    n_ranked: int
    parts: Mapping[str, float]
    """What makes its score, see `contextpack.ranking.RULE`."""
    admission: Admission | None
    """None for what no budget lets in."""
    displacement: Displacement | None
    """None for what is in, or cannot be."""

    @property
    def is_outlined(self) -> bool:
        """Whether the request names the file and asks for its outline."""
        return any(
            item.path == self.path and item.detail is Detail.OUTLINE
            for item in self.request.details
        )

    @property
    def because(self) -> str:
        """The reason as a sentence, for people."""
        return _because(self)


class _Moved(Exception):
    """A file is not what the scan says any more: begin again."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A request at one moment, to be packed with changes."""

    workspace: Site
    scan: Scan
    request: Request
    """Its pins are paths of the snapshot."""
    ranking: Ranking
    progress: Progress
    previous: Standing | None

    def plan(self, request: Request) -> Plan:
        previous = self.previous
        standing = previous.digests if previous and follows(request, previous) else ()
        return planned(request, self.ranking, standing)

    def made(self, plan: Plan) -> Made:
        """Raises `_Moved`."""
        made = packed(self.workspace, self.scan, plan, self.progress, self.previous)
        if made is None:
            raise _Moved
        return made

    def text(self, path: model.Path) -> Lined:
        """Raises `_Moved`."""
        texts = self.workspace.texts(self.scan.snapshot, [path], self.request.max_file_bytes)
        if texts is None:
            raise _Moved
        return lined(texts[path])


def why(
    workspace: Site,
    request: Request,
    path: str,
    line: int | None,
    progress: Progress,
    previous: Standing | None = None,
    rules: Collection[str] = (),
) -> Why:
    """The account of a file, or with a line of the part of it there.

    `path` may have the line behind it (`src/app.py:12`) if no file is called so. `previous` is
    what the bundle follows. Raises `OptionProblem` for a path or line that is not there, and as
    `queries.answer` does.
    """
    for _ in range(MAX_ATTEMPTS):
        scan, plan = checked_plan(workspace, request, progress, previous, rules)
        if plan is None:
            continue
        found, at = _place(path, line, workspace, scan)
        skip = skip_of(found, scan) if found not in scan.snapshot.sources else None
        if skip is not None:
            return _skipped(workspace, request, scan, skip, found, at)
        asked = _Question(workspace, scan, plan.request, plan.ranking, progress, previous)
        try:
            return _account(asked, plan, found, at)
        except _Moved:
            continue
    raise Superseded(shown_roots(workspace.roots))


def _place(
    path: str, line: int | None, workspace: Site, scan: Scan
) -> tuple[model.Path, int | None]:
    """The path as the snapshot has it, and the line. Raises `OptionProblem`."""
    given = _LINE.match(path)
    tries = [(path, line)] + ([(given[1], int(given[2]))] if given and line is None else [])
    for name, at in tries:
        found = path_of(name, workspace.roots)
        if found in scan.snapshot.sources:
            n_lines = scan.snapshot.sources[found].n_lines
            if at is not None and not 1 <= at <= n_lines:
                raise OptionProblem("line", f"{name} has {n_lines} lines", at)
            return found, at
        if skip_of(found, scan) is not None:
            return found, at
    raise OptionProblem(
        "path",
        f"{path} is no file below {shown_roots(workspace.roots)}; {advice(workspace.roots)}",
    )


def _skipped(
    workspace: Site,
    request: Request,
    scan: Scan,
    skip: Skip,
    path: model.Path,
    line: int | None,
) -> Why:
    return Why(
        roots=workspace.roots, request=request, scan=scan, path=path, line=line, lines=None,
        state=State.OUT, way=None, ranges=(),
        entry=LedgerEntry(skip.path, Outcome.EXCLUDED, skip.reason, rule=skip.rule),
        cut_score=0.0, floor_score=0.0, over_by=None, rank=None, n_ranked=0,
        parts=MappingProxyType({}), admission=None, displacement=None,
    )  # fmt: skip


def _account(asked: _Question, plan: Plan, path: model.Path, line: int | None) -> Why:
    ranking, text = asked.ranking, asked.text(path)
    target = Target(path, None if line is None else _chunk(asked, path, line, text))
    made = asked.made(plan)
    pack, found = made.pack, state(made.pack, target, text)
    texts = {**made.texts, path: text.text}
    desk = desk_of(plan.request, asked.scan.snapshot, texts, made.count, made.limit)
    entry = decision(pack, plan, target, desk.texts)
    stands = way(pack, plan, target, desk)
    file = ranking.file(path)
    parts = file.parts if file is not None else MappingProxyType({})
    is_by_chunk = plan.request.scorer is not Scorer.CLASSIC
    if target.chunk is not None and is_by_chunk:
        parts = ranking.parts(target.chunk) if target.chunk.score > 0 else MappingProxyType({})
    n_ranked = ranking.n_relevant
    if target.chunk is not None and is_by_chunk:
        n_ranked = int((ranking.chunk_scores > 0).sum())
    return Why(
        roots=asked.workspace.roots,
        request=asked.request,
        scan=asked.scan,
        path=path,
        line=line,
        lines=None if target.chunk is None else target.chunk.lines,
        state=found,
        way=stands,
        ranges=shown(pack, path),
        entry=entry,
        cut_score=pack.account.cut_score
        if target.chunk is None
        else chunk_cut(pack, plan, desk.texts),
        floor_score=ranking.floor,
        over_by=_over_by(made, plan, target, entry, desk),
        rank=rank_of(ranking, target if is_by_chunk else Target(path)),
        n_ranked=n_ranked,
        parts=parts,
        admission=_admission(asked, target, found, stands, desk),
        displacement=_displacement(asked, plan, pack, target, text)
        if found is not State.IN
        else None,
    )


def _chunk(asked: _Question, path: model.Path, line: int, text: Lined) -> RankedChunk:
    """The chunk at a line: those of a text cover it.

    A bundle shows blank lines above a part, so one stands for the next line that is not blank.
    """
    ranking = asked.ranking
    rest = range(line, len(text) + 1)
    line = next((number for number in rest if text.of(Lines(number, number)).strip()), line)
    chunks = ranking.chunks_of(path)
    chunk = next(chunk for chunk in chunks if chunk.lines.start <= line <= chunk.lines.end)
    if asked.request.scorer is Scorer.CLASSIC:
        return replace(chunk, score=ranking.score(path))
    return chunk


def _over_by(
    made: Made,
    plan: Plan,
    target: Target,
    entry: LedgerEntry,
    desk: Desk,
) -> int | None:
    """By how much the bundle would be too large with the target in it."""
    if entry.reason not in (Reason.OVER_BUDGET, Reason.BELOW_CUT):
        return None
    candidate = candidate_of(plan, target)
    if target.path in made.pack.account.forced:
        lines = desk.texts[target.path].whole
    elif candidate is not None:
        lines = candidate.lines
    else:
        return None
    over = overshoot(made.pack, target.path, lines, desk)
    return over if over > 0 else None


def _admission(
    asked: _Question, target: Target, found: State, stands: Way | None, desk: Desk
) -> Admission | None:
    request, text = asked.request, desk.texts[target.path]
    most = most_of(request.budget_tokens)
    if not text.text:
        return None
    if found is State.OUT and not _may_be_in(asked, target, most):
        return Admission(None, None, None, None, 0, 0, most)
    frame = max(0, empty_shelf(desk).tokens - ROUNDED_TOKENS)

    def way_at(budget: int) -> Way | None:
        if budget == request.budget_tokens:
            return stands if found is State.IN else None
        plan = asked.plan(replace(request, budget_tokens=budget))
        pack = asked.made(plan).pack
        is_in = state(pack, target, text) is State.IN
        return way(pack, plan, target, desk) if is_in else None

    least = request.reserve_tokens + frame + 1
    return smallest(way_at, least, most, request.budget_tokens)


def _may_be_in(asked: _Question, target: Target, most: int) -> bool:
    """Whether any budget up to there may let a target in: only candidates are ever put in."""
    largest = asked.plan(replace(asked.request, budget_tokens=most))
    if target.path in {item.path for item in largest.forced}:
        return True
    if candidate_of(largest, target) is not None:
        return True
    is_file_read = any(candidate.path == target.path for candidate in largest.candidates)
    chunk = target.chunk
    return is_file_read and chunk is not None and len(chunk.lines) <= MAX_LINES_ALONG


def _displacement(
    asked: _Question, plan: Plan, pack: Pack, target: Target, text: Lined
) -> Displacement | None:
    if not text.text or target.path in pack.account.forced:
        return None
    if target.chunk is None:
        pinned = replace(asked.request, pins=(*asked.request.pins, target.path))
        changed = asked.plan(pinned)
    else:
        chunk = target.chunk
        changed = with_first(
            plan, Candidate(chunk.path, chunk.lines, chunk.score, chunk.tokens)
        )
    after = asked.made(changed).pack
    return Displacement(
        is_pinned=target.chunk is None,
        fits=state(after, target, text) is State.IN,
        files=displaced(pack, after),
    )


def _because(found: Why) -> str:
    what = "this part" if found.lines is not None else "this file"
    if found.state is State.IN:
        return _because_in(found, what)
    if found.is_outlined and found.ranges:
        return "the request asks for no more than the outline of its file"
    if found.way is Way.CHOSEN:
        return "what the request asks for of this part is in"
    if found.way is not None:
        return f"{_PARTLY[found.way]}; {_because_out(found, what)}"
    return _because_out(found, what)


def _because_in(found: Why, what: str) -> str:
    is_part = found.lines is not None
    match found.way:
        case Way.NAMED:
            return "the request names it"
        case Way.CUT if is_part:
            return "this part is in what fits of a larger one"
        case Way.CUT:
            return "no part of this file fits whole; what fits of one is shown"
        case Way.OUTLINE if is_part:
            return "this part is in the outline of its file"
        case Way.OUTLINE:
            return "its outline is worth more for its tokens than a part of it"
        case Way.POINTER if is_part:
            return "this part is the signature by which its file is pointed to"
        case Way.POINTER:
            return "no part of this file fits; a signature points to it"
        case Way.ALONG:
            return "this part comes along with better ones of its file"
        case _:
            return f"{what} ranks high enough to fit"


_PARTLY = {
    Way.NAMED: "the request names its file",
    Way.CUT: "only a cut of this part is in",
    Way.OUTLINE: "only what the outline of its file shows is in",
    Way.POINTER: "only the signature by which its file is pointed to is in",
    Way.ALONG: "only what comes along with other parts of its file is in",
}


def _because_out(found: Why, what: str) -> str:
    entry = found.entry
    rule = f" by {display_path(entry.rule)}" if entry.rule else ""
    match entry.reason:
        case Reason.NOT_RELEVANT:
            return _unrelated(found.request, what)
        case Reason.NEAR_DUPLICATE:
            assert entry.duplicate_of is not None
            alike = f"{entry.similarity:.0%}" if entry.similarity is not None else ""
            return f"a better part of {display_path(entry.duplicate_of)} says the same ({alike} alike)"
        case Reason.OVER_BUDGET | Reason.BELOW_CUT:
            return _without_room(found, what)
        case Reason.MAX_CANDIDATES:
            return (
                f"{what} ranks beyond the {found.request.max_candidates} candidates to consider"
            )
        case Reason.EMPTY:
            return "the file has no text"
        case Reason.EXCLUDED:
            return f"an exclude option matches {display_path(entry.path)}"
        case Reason.NOT_INCLUDED:
            return "there are include options and none matches it"
        case Reason.SECRET:
            held = f" ({display_path(entry.rule)})" if entry.rule else ""
            return f"{display_path(entry.path)} is taken to hold credentials{held}"
        case _:
            return f"{display_path(entry.path)} is left out as {entry.reason.value}{rule}"


def _unrelated(request: Request, what: str) -> str:
    if request.only:
        return "the request is about other files or definitions alone"
    if request.origins:
        return f"no import that the request follows leads to {what}"
    if not request.query.strip():
        return f"{what} has no link with what the request is about"
    return f"nothing of the query is in {what}"


def _without_room(found: Why, what: str) -> str:
    score = found.entry.score or 0.0
    if found.request.scorer is not Scorer.CLASSIC and score < found.floor_score:
        return f"{what} scores below a twentieth of the best part, where only noise is"
    over = f"; it is over by {found.over_by} tokens" if found.over_by is not None else ""
    if found.entry.reason is Reason.BELOW_CUT:
        return f"better ones took the budget of {found.request.budget_tokens} tokens{over}"
    return f"{what} does not fit any more into {found.request.budget_tokens} tokens{over}"
