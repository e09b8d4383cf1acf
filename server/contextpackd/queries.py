"""What every door calls: a workspace, or several as one, and a request to an answer."""

import contextlib
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from contextpack import model
from contextpack.bundle import Pack, finish
from contextpack.classic import File, normalize_query, score_repo
from contextpack.mentions import missing
from contextpack.model import BatchCounter, Reason, Skip
from contextpack.plan import Plan, plan
from contextpack.ranking import Ranking
from contextpack.request import Forced, Order, Request, Scorer
from contextpack.stable import Standing, follows
from contextpack.text import Lines, display_path, has_bidi_controls
from contextpack.tokens import Profile, profile_of, usable_budget
from contextpackd import changes, settings, tokenizer
from contextpackd.changes import Changed
from contextpackd.counters import Counter, Elsewhere
from contextpackd.disk import Discovery
from contextpackd.errors import GitUnavailable, OptionProblem, Superseded
from contextpackd.git import commit_times
from contextpackd.joint import Site, advice, by_root, path_of, shown_roots, under
from contextpackd.revisions import Revisions
from contextpackd.view import Progress
from contextpackd.worker import INDEX_MODEL
from contextpackd.workspace import Scan

# Files that change while they are read make the plan again; a tree that never holds still is
# an error rather than an answer about no moment at all.
MAX_ATTEMPTS = 5

# Of what a warning is about.
MAX_NAMED = 3

FileScorer = Callable[[str, Mapping[model.Path, str]], Mapping[model.Path, float]]
"""The task in words, and the texts of all candidates by path, to scores: higher is better, and
what has none above 0 is not relevant."""


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that a person should know about an answer."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A pack, and what it was made of."""

    roots: Mapping[str, Path]
    """As what was asked has them."""
    request: Request
    profile: Profile
    pack: Pack
    scan: Scan
    warnings: tuple[Warned, ...]


@dataclass(frozen=True, slots=True)
class Made:
    """A pack, and what it was made with."""

    pack: Pack
    texts: Mapping[model.Path, str]
    count: BatchCounter
    limit: int
    """How many tokens the text may have."""


@dataclass(frozen=True, slots=True)
class _Noticed:
    """A counter that says at each use that work goes on: who gave up stops the packing there."""

    counter: Counter
    progress: Progress
    n_files: int

    def __call__(self, text: str) -> int:
        self.progress(self.n_files, self.n_files)
        return self.counter(text)

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """The tokens of each text, in order."""
        self.progress(self.n_files, self.n_files)
        return self.counter.count_many(texts)


def answer(
    workspace: Site,
    request: Request,
    progress: Progress,
    previous: Standing | None = None,
    rules: Collection[str] = (),
    scorer: FileScorer | None = None,
) -> Answer:
    """The pack for a request, from what is on disk now; it follows `previous`.

    With a `scorer` of the caller's own that takes the place of the classic one, which the request
    must ask for.

    Raises `OptionProblem` for a stamp with several roots, and for pins and globs that name
    nothing, but for `rules` and the globs that `previous` was asked with, which named something
    then; and `Superseded` when files keep changing while they are read.
    """
    if request.stamp and len(workspace.roots) > 1:
        raise OptionProblem("stamp", "can name one root only; leave it out with several")
    profile = profile_of(request.model)
    with tokenizer.ahead(profile.encoding) as elsewhere:
        for _ in range(MAX_ATTEMPTS):
            scan, planned = checked_plan(workspace, request, progress, previous, rules, scorer)
            made = planned and packed(workspace, scan, planned, progress, previous, elsewhere)
            if planned and made:
                return Answer(
                    roots=workspace.roots,
                    request=request,
                    profile=profile,
                    pack=made.pack,
                    scan=scan,
                    warnings=(
                        *_entry_warnings(request, planned, workspace, scan),
                        *_warnings(request.query, scan, made),
                    ),
                )
    raise Superseded(shown_roots(workspace.roots))


def packed(
    workspace: Site,
    scan: Scan,
    planned: Plan,
    progress: Progress,
    previous: Standing | None = None,
    elsewhere: Elsewhere | None = None,
) -> Made | None:
    """The pack of a plan, or None when a file is not any more what the scan says.

    `elsewhere` counts as long as this process has no vocabulary.
    """
    request = planned.request
    profile = profile_of(request.model)
    texts = workspace.texts(scan.snapshot, planned.paths, request.max_file_bytes)
    if texts is None:
        return None
    counted = replace(workspace.counter(profile), elsewhere=elsewhere)
    count = _Noticed(counted, progress, len(scan.snapshot.sources))
    limit = usable_budget(request.spendable_tokens, profile)
    pack = finish(
        planned,
        scan.snapshot,
        texts,
        count=count,
        limit=limit,
        is_index_counter=profile == profile_of(INDEX_MODEL),
        times=_times(workspace, scan, planned),
        previous=previous,
    )
    return Made(pack, texts, count, limit)


def ranked(
    workspace: Site, request: Request, progress: Progress, rules: Collection[str] = ()
) -> tuple[Scan, Ranking]:
    """The ranking for a request, without a pack. Raises as `answer` does."""
    for _ in range(MAX_ATTEMPTS):
        scan, planned = checked_plan(workspace, request, progress, rules=rules)
        if planned is not None:
            return scan, planned.ranking
    raise Superseded(shown_roots(workspace.roots))


def discovery_of(request: Request) -> Discovery:
    """What a request's scan takes in."""
    return Discovery(request.include, request.exclude, request.max_file_bytes)


def checked_scan(
    workspace: Site,
    request: Request,
    progress: Progress,
    rules: Collection[str] = (),
    *,
    with_graph: bool = False,
) -> Scan:
    """The scan for a request.

    Raises `OptionProblem` for a glob that matches nothing: somebody mistyped it. Globs in `rules`,
    and in the repository's settings, were written for more than this question and this moment.
    """
    scan = workspace.scan(discovery_of(request), progress, with_graph=with_graph)
    if not scan.unmatched_globs:
        return scan
    of_settings = settings.globs(*map(settings.repository, workspace.roots.values()))
    for glob in scan.unmatched_globs:
        if glob not in rules and glob not in of_settings:
            option = "include" if glob in request.include else "exclude"
            where = shown_roots(workspace.roots)
            raise OptionProblem(
                option,
                f"{glob!r} matches no file below {where}; globs are relative to the root",
            )
    return scan


def checked_plan(
    workspace: Site,
    request: Request,
    progress: Progress,
    previous: Standing | None = None,
    rules: Collection[str] = (),
    scorer: FileScorer | None = None,
) -> tuple[Scan, Plan | None]:
    """The scan and the plan for a request; no plan when a file changed meanwhile."""
    before = previous.request if previous else None
    known = (*rules, *before.include, *before.exclude) if before else rules
    has_graph = bool(request.origins)
    scan = checked_scan(workspace, request, progress, known, with_graph=has_graph)
    request = _with_known_paths(request, workspace, scan)
    changed = None
    if request.revision is not None:
        changed = _changed(workspace, scan, request)
        if changed is None:
            return scan, None
    scores = given = None
    if request.scorer is Scorer.CLASSIC and not request.only:
        texts = workspace.texts(scan.snapshot, scan.snapshot.sources, request.max_file_bytes)
        if texts is None:
            return scan, None
        if scorer is None:
            scores = _classic_scores(scan, request, texts)
        else:
            given = _given_scores(scorer, request, texts)
    standing = previous.digests if previous and follows(request, previous) else ()
    return scan, plan(scan.snapshot, request, scores, standing, changed, given=given)


def _changed(workspace: Site, scan: Scan, request: Request) -> Changed | None:
    """What differs from the request's revision, in the repository of each root."""
    scans = {part.name: part.scan for part in scan.parts}
    result: dict[model.Path, tuple[Lines, ...]] = {}
    for name, site in workspace.sites.items():
        found = changes.changed(site, scans.get(name, scan), request)
        if found is None:
            return None
        result |= {under(name, path): lines for path, lines in found.items()}
    return result


def _given_scores(
    scorer: FileScorer, request: Request, texts: Mapping[model.Path, str]
) -> Mapping[model.Path, float]:
    scores = scorer(request.query, MappingProxyType(dict(texts)))
    for path, score in scores.items():
        if path not in texts:
            raise OptionProblem("scorer", f"scored what is no file here: {display_path(path)}")
        if not math.isfinite(score):
            raise OptionProblem("scorer", f"gave {score} for {display_path(path)}: not finite")
    return scores


def _classic_scores(
    scan: Scan, request: Request, texts: Mapping[model.Path, str]
) -> Mapping[model.Path, float]:
    """The classic scorer's scores.

    Where no word of the query stands anywhere, nothing is relevant: without this, the bonuses
    for depth and recency would fill every bundle.
    """
    sources = scan.snapshot.sources
    files = [File(path, texts[path], source.modified) for path, source in sources.items()]
    terms = normalize_query(request.query)
    is_hit = any(
        term in file.path.lower() or term in file.content.lower()
        for file in files
        for term in terms
    )
    if (terms or request.has_entry) and not is_hit:
        return {}
    return {scored.path: scored.score for scored in score_repo(files, terms)}


def _with_known_paths(request: Request, workspace: Site, scan: Scan) -> Request:
    """The request with its files as paths of the snapshot. Raises `OptionProblem`.

    What an editor shows need not be one.
    """
    foci = [
        replace(focus, path=known_path(focus.path, "focus", workspace, scan))
        for focus in request.focus
        if not (focus.is_optional and _no_candidate(focus.path, workspace, scan))
    ]
    return replace(
        request,
        focus=tuple(foci),
        origins=tuple(known_path(path, "from", workspace, scan) for path in request.origins),
        pins=tuple(known_path(pin, "pin", workspace, scan) for pin in request.pins),
        details=tuple(
            Forced(known_path(item.path, "detail", workspace, scan), item.detail)
            for item in request.details
        ),
    )


def known_path(path: str, option: str, workspace: Site, scan: Scan) -> model.Path:
    """A path that a person named, as the snapshot has it. Raises `OptionProblem`."""
    relative = path_of(path, workspace.roots)
    if relative in scan.snapshot.sources:
        return relative
    if (skip := skip_of(relative, scan)) is not None:
        why = f" by {skip.rule}" if skip.rule else ""
        shown = display_path(skip.path)
        raise OptionProblem(
            option, f"{path} cannot be in a bundle: {shown} is {skip.reason.value}{why}"
        )
    raise OptionProblem(
        option,
        f"{path} is no file below {shown_roots(workspace.roots)}; {advice(workspace.roots)}",
    )


def _no_candidate(path: str, workspace: Site, scan: Scan) -> str | None:
    """Why a path is no candidate, in words; None if it is one."""
    try:
        known_path(path, "", workspace, scan)
    except OptionProblem as problem:
        return problem.problem
    return None


def skip_of(path: model.Path, scan: Scan) -> Skip | None:
    """What leaves a path out before any choice: an entry of its own, or of a directory above."""
    return next((skip for skip in scan.snapshot.skipped if _covers(skip, path)), None)


def _covers(skip: Skip, path: model.Path) -> bool:
    return path == skip.path or (skip.path.endswith("/") and path.startswith(skip.path))


def _times(workspace: Site, scan: Scan, planned: Plan) -> Mapping[model.Path, float] | None:
    """The time of each planned file's last change: its last commit, or its mtime without one."""
    if planned.request.ordering is not Order.CHRONOLOGICAL:
        return None
    times = {path: scan.snapshot.sources[path].modified for path in planned.paths}
    for name, paths in by_root(planned.paths, workspace.roots).items():
        with contextlib.suppress(GitUnavailable):
            committed = commit_times(workspace.roots[name], paths)
            times |= {under(name, path): seconds for path, seconds in committed.items()}
    return times


def _entry_warnings(
    request: Request, planned: Plan, workspace: Site, scan: Scan
) -> list[Warned]:
    """Entry points of the request that lead nowhere."""
    found = [
        Warned("no-focus", f"in focus, but passed over: {display_path(reason)}")
        for focus in request.focus
        if focus.is_optional and (reason := _no_candidate(focus.path, workspace, scan))
    ]
    for place in planned.request.focus:
        source = scan.snapshot.sources.get(place.path)
        if source is not None and place.lines and place.lines.start > source.n_lines:
            shown = f"{display_path(place.path)} has {source.n_lines} lines"
            found.append(Warned("no-focus", f"in focus, but not there: {shown}"))
    made = planned.ranking.breakdown
    changed = [part.values for part in made.parts if part.name == "changed"] if made else []
    if changed and not changed[0].any():
        kind = "is staged and " if request.staged else ""
        found.append(
            Warned(
                "no-changes", f"nothing that {kind}can be shown differs from {request.revision}"
            )
        )
    if request.revision is not None and (passed_over := _submodules(workspace, scan)):
        named = ", ".join(map(display_path, passed_over[:MAX_NAMED]))
        more = len(passed_over) - MAX_NAMED
        told = f"{named} and {more} more" if more > 0 else named
        found.append(
            Warned(
                "submodules",
                f"changes inside of submodules are not looked at: {told}; ask with one as root",
            )
        )
    return found


def _submodules(workspace: Site, scan: Scan) -> list[str]:
    """The submodules with files among the candidates, where changes were asked for."""
    found = [
        under(name, folder)
        for name, site in workspace.sites.items()
        for folder in sorted(site.kept(Revisions.submodules))
    ]
    sources = scan.snapshot.sources
    return [
        folder for folder in found if any(path.startswith(f"{folder}/") for path in sources)
    ]


def _warnings(query: str, scan: Scan, made: Made) -> tuple[Warned, ...]:
    pack = made.pack
    found = [Warned(notice.kind.value, notice.message) for notice in scan.notices]
    if not scan.snapshot.sources:
        found.append(Warned("no-candidates", "no file is left to choose from"))
        return tuple(found)
    included = [item.path for item in pack.items]
    for path in included:
        shown = display_path(path)
        if has_bidi_controls(made.texts[path]):
            found.append(
                Warned("bidi-control", f"{shown} has characters that reorder text on screen")
            )
        if path in scan.unsaved:
            found.append(Warned("unsaved", f"{shown} is as in the editor, not as on disk"))
        if scan.snapshot.sources[path].is_lossy:
            found.append(
                Warned("lossy-decode", f"{shown} is not UTF-8; some characters may be wrong")
            )
    if not included and Reason.OVER_BUDGET.value in pack.ledger_counts:
        found.append(
            Warned(
                "budget-too-small", f"nothing fits into {made.limit} tokens; raise the budget"
            )
        )
    for path in missing(scan.snapshot, query):
        if skip_of(path, scan) is None:
            told = f"the task names {display_path(path)}, which is no file of the workspace"
            found.append(Warned("named-but-missing", told))
    if pack.unknown_words:
        words = ", ".join(display_path(word) for word in pack.unknown_words[:10])
        found.append(Warned("unknown-words", f"nowhere in the workspace: {words}"))
    return tuple(found)
