"""An evaluation for people and for programs."""

from collections import Counter

from rich.console import Console
from rich.markup import escape

from contextpack.text import display_path, writable
from contextpackd.evaluation import OURS, PLAIN, RANKINGS, Estimate, Evaluation
from contextpackd.replays import LeftOut
from contextpackd.report import Screen, columns, drawn
from contextpackd.wire import Json

MEASURES = ("line", "file")

_TITLES = {OURS: "contextpackd", PLAIN: "BM25 chunks"}

# Figures have as many digits in JSON: more would be chance.
DIGITS = 4


def evaluation_table(screen: Screen, found: Evaluation) -> str:
    """Shares in per cent with their intervals, and which commits were taken."""
    return drawn(screen, lambda out: _show(out, found))


def _show(out: Console, found: Evaluation) -> None:
    n = len(found.trials)
    out.print(f"{n} past commits: the message is the task, what it changed the answer")
    if found.trials:
        heads = [f"{_TITLES[name]}:>" for name in RANKINGS]
        table = columns("measure", "budget:>", *heads, "difference:>")
        for measure in MEASURES:
            for budget in found.budgets:
                cells = [_shown(found.estimate(name, budget, measure)) for name in RANKINGS]
                gain = _shown(found.difference(budget, measure), sign="+")
                table.add_row(f"{measure} recall", str(budget), *cells, gain)
        out.print(table)
        out.print("[dim]per cent, mean over commits (95 % of the bootstrap's resamples)[/]")
    if found.n_unreached:
        out.print(f"{found.n_unreached} more were not reached in time (--seconds)")
    reasons = Counter(left_out.reason for left_out in found.left_out)
    if reasons:
        told = ", ".join(f"{reason.value}: {count}" for reason, count in reasons.most_common())
        out.print(f"passed over: {told}")
    for trial in found.trials:
        best = trial.recalls[OURS, max(found.budgets)]
        subject = escape(display_path(trial.replay.subject))
        out.print(f"  [dim]{trial.replay.commit[:10]}[/] {best.line:4.0%} of lines  {subject}")


def _shown(estimate: Estimate, sign: str = "") -> str:
    mean, low, high = (
        f"{100 * share:{sign}.0f}" for share in (estimate.mean, estimate.low, estimate.high)
    )
    return f"{mean} ({low} to {high})"


def evaluation_json(found: Evaluation) -> Json:
    """The same, with the shares of every commit. Byte-stable: no times."""
    return {
        "root": found.root,
        "nTaken": len(found.trials),
        "nUnreached": found.n_unreached,
        "results": [
            {
                "budgetTokens": budget,
                "measure": measure,
                **{name: _json(found.estimate(name, budget, measure)) for name in RANKINGS},
                "difference": _json(found.difference(budget, measure)),
            }
            for measure in MEASURES
            for budget in (found.budgets if found.trials else ())
        ],
        "commits": [
            {
                "commit": trial.replay.commit,
                "parent": trial.replay.parent,
                "subject": writable(trial.replay.subject),
                "files": [
                    {
                        "path": display_path(path),
                        "ranges": [[lines.start, lines.end] for lines in ranges],
                    }
                    for path, ranges in trial.replay.gold.items()
                ],
                "recalls": [
                    {
                        "ranking": name,
                        "budgetTokens": budget,
                        "line": round(recall.line, DIGITS),
                        "file": round(recall.file, DIGITS),
                    }
                    for (name, budget), recall in trial.recalls.items()
                ],
            }
            for trial in found.trials
        ],
        "passedOver": [_left_out_json(left_out) for left_out in found.left_out],
    }


def _json(estimate: Estimate) -> Json:
    return {
        "mean": round(estimate.mean, DIGITS),
        "low": round(estimate.low, DIGITS),
        "high": round(estimate.high, DIGITS),
    }


def _left_out_json(left_out: LeftOut) -> Json:
    return {
        "commit": left_out.commit,
        "subject": writable(left_out.subject),
        "reason": left_out.reason.value,
    }
