"""How well bundles hold what past commits of this very repository changed: `contextpackd eval`.

Each commit is a task: its message is the query, the state before it the workspace, the lines
that it changed the answer. History ends before it, as it did for whoever made it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contextpack.baseline import plain
from contextpack.bundle import Pack
from contextpack.model import Path as FilePath
from contextpack.plan import Plan, planned
from contextpack.render import ranges
from contextpack.request import Request
from contextpack.text import Lines, display_path
from contextpackd import git
from contextpackd.errors import GitUnavailable, Stopped, Superseded
from contextpackd.queries import checked_plan, discovery_of, packed
from contextpackd.replays import LeftOut, Replay, Unfit, replays
from contextpackd.replica import Replica
from contextpackd.view import Progress
from contextpackd.workspace import Engine, Scan, Workspace

BUDGETS = (4000, 8000, 16_000)

# As often are the commits drawn anew for an interval, by a generator that starts the same.
N_RESAMPLES = 2000
SEED = 1
INTERVAL = (2.5, 97.5)

OURS = "contextpackd"
PLAIN = "bm25"
RANKINGS = (OURS, PLAIN)
"""What is measured: the request's own ranking, and BM25 over chunks alone."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What of one answer a bundle has: shares from 0 to 1."""

    line: float
    """Of the lines that the commit changed."""
    file: float
    """Of the files, those of which any line is in."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One commit, tried."""

    replay: Replay
    recalls: Mapping[tuple[str, int], Recall]
    """By ranking and budget."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over commits, and the interval of 95 % that the bootstrap gives."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of it."""

    root: str
    budgets: tuple[int, ...]
    trials: tuple[Trial, ...]
    left_out: tuple[LeftOut, ...]
    n_unreached: int
    """How many tasks the time did not suffice for."""

    def estimate(self, ranking: str, budget: int, measure: str) -> Estimate:
        """The mean of `line` or `file` for a ranking and a budget."""
        return estimated(self._values(ranking, budget, measure))

    def difference(self, budget: int, measure: str) -> Estimate:
        """By how much ours is better, commit by commit."""
        ours, other = (self._values(ranking, budget, measure) for ranking in RANKINGS)
        return estimated(ours - other)

    def _values(self, ranking: str, budget: int, measure: str) -> NDArray[np.float64]:
        found = (trial.recalls[ranking, budget] for trial in self.trials)
        return np.array([r.line if measure == "line" else r.file for r in found], np.float64)


def estimated(values: NDArray[np.float64]) -> Estimate:
    """The mean of some values and its interval; all NaN without a value."""
    if not len(values):
        return Estimate(math.nan, math.nan, math.nan)
    drawn = np.random.default_rng(SEED).integers(0, len(values), (N_RESAMPLES, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), INTERVAL).tolist()
    return Estimate(float(values.mean()), low, high)


def evaluation(
    root: Path,
    request: Request,
    budgets: Sequence[int],
    n_last: int,
    shared: Engine,
    *,
    is_over: Callable[[], bool],
    report: Callable[[int, int, Replay], None],
) -> Evaluation:
    """The last commits below a root, tried with the options of a request.

    When `is_over`, what is tried is given up, too; `report` is told of each before it begins.
    The oldest of them goes first: its successors' files and history differ by little.
    Raises `GitUnavailable` where there is no repository, or no commit in it.
    """
    git.toplevel(root)
    if git.head(root) is None:
        raise GitUnavailable(display_path(str(root)), "there is no commit yet, and so no task")
    tasks, left_out = replays(root, n_last, request.max_file_bytes)
    trials: list[Trial] = []
    n_reached = 0

    def progress(_done: int, _total: int) -> None:
        if is_over():
            raise Stopped(str(root))

    with Replica(root, request.max_file_bytes) as replica:
        workspace = Workspace(replica.root, shared)
        for task in reversed(tasks):
            try:
                progress(0, 0)
                report(n_reached + 1, len(tasks), task)
                replica.become(task.parent)
                trials.append(_trial(workspace, request, budgets, task, progress))
            except Stopped:
                break
            except (GitUnavailable, Superseded):
                left_out.append(LeftOut(task.commit, task.subject, Unfit.UNREADABLE))
            n_reached += 1
    return Evaluation(
        root=display_path(str(root)),
        budgets=tuple(budgets),
        trials=tuple(trials),
        left_out=tuple(left_out),
        n_unreached=len(tasks) - n_reached,
    )


def _trial(
    workspace: Workspace,
    request: Request,
    budgets: Sequence[int],
    task: Replay,
    progress: Progress,
) -> Trial:
    asked = replace(request, query=task.query, budget_tokens=max(budgets))
    # A glob may be about files that were not there yet.
    unmatched = workspace.scan(discovery_of(asked), progress).unmatched_globs
    kept = tuple(glob for glob in asked.exclude if glob not in unmatched)
    scan, plan = checked_plan(workspace, replace(asked, exclude=kept), progress)
    if plan is None:
        raise Superseded(str(workspace.root))
    recalls: dict[tuple[str, int], Recall] = {}
    rankings = zip(RANKINGS, (plan.ranking, plain(scan.snapshot, task.query)), strict=True)
    for name, ranking in rankings:
        for budget in budgets:
            sized = planned(replace(plan.request, budget_tokens=budget), ranking)
            recalls[name, budget] = recall(_pack(workspace, scan, sized, progress), task.gold)
    return Trial(task, recalls)


def _pack(workspace: Workspace, scan: Scan, plan: Plan, progress: Progress) -> Pack:
    made = packed(workspace, scan, plan, progress)
    if made is None:
        raise Superseded(str(workspace.root))
    return made.pack


def recall(pack: Pack, gold: Mapping[FilePath, Sequence[Lines]]) -> Recall:
    """What of the lines of an answer, and of its files, a pack has."""
    pieces = pack.account.shelf.pieces
    n_lines = n_found = n_files = 0
    for path, spans in gold.items():
        wanted = {line for span in spans for line in range(span.start, span.end + 1)}
        piece = pieces.get(path)
        shown = {
            line
            for span in (ranges(piece) if piece is not None else ())
            for line in range(span.start, span.end + 1)
        }
        n_lines += len(wanted)
        n_found += len(wanted & shown)
        n_files += bool(shown)
    return Recall(n_found / n_lines, n_files / len(gold))
