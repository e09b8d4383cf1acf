"""How much of the code that tasks are about stands in bundles, and what each signal is worth.

    PYTHONPATH=tests python tests/benchmarks/quality.py
    PYTHONPATH=tests python tests/benchmarks/quality.py --tasks TASKS --mirror DIR \\
        --trees DIR [--ablations]

Without arguments it asks the questions of `fixtures/recall/questions.jsonl` on the fixtures. A
file of tasks is a line of JSON each, as `harness.recall` says, with `repo` and `base_commit`;
`--mirror` holds histories as `OWNER+NAME/repo`, `--trees` is where they are checked out, one at
a time.

Figures are percent with 95 % intervals by bootstrap, tasks drawn anew within each repository. An
ablation packs the same tasks without one signal: its worth is what is lost, with the interval of
the paired differences. No constant is fitted here, so that nothing has to be left out when a
repository is scored; `--leave-out` shows instead whether one repository decides what a signal is
worth: the least and the most that it is worth without one of them.
"""

import argparse
import importlib
import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from contextpack.bundle import Pack, finish
from contextpack.plan import plan
from contextpack.request import Request
from contextpack.snapshot import Snapshot
from contextpack.tokens import profile_of, usable_budget
from contextpackd.counters import counter
from contextpackd.disk import check_root
from contextpackd.queries import discovery_of
from contextpackd.worker import INDEX_MODEL
from contextpackd.workspace import Workspace, engine
from harness.recall import Recall, Task, mean, recall, tasks

FIXTURES = Path(__file__).parents[2] / "fixtures"
BUDGETS = (4000, 8000, 16000)
FIXTURE_BUDGETS = (300, 450, 600)
ABLATION_BUDGET = 8000
N_DRAWS = 1000

# Each signal, and the constants that are without it as if it were not there.
ABLATIONS: Mapping[str, tuple[tuple[str, str, object], ...]] = {
    "kinds": (("factors", "KIND_FACTORS", {}), ("factors", "ASKED_FACTOR", 1.0)),
    "history": (("rank", "HISTORY_WEIGHT", 0.0),),
    "touched": (("rank", "TOUCHED_WEIGHT", 0.0),),
    "together": (("rank", "TOGETHER_WEIGHT", 0.0),),
    "imports": (("rank", "IMPORT_WEIGHT", 0.0),),
    "used": (("rank", "USED_WEIGHT", 0.0),),
    "using": (("rank", "USING_WEIGHT", 0.0),),
    "stem": (("rank", "STEM_WEIGHT", 0.0),),
    "named": (("rank", "NAMED_WEIGHT", 0.0),),
    "directory": (("rank", "DIRECTORY_WEIGHT", 0.0),),
    "file": (("rank", "FILE_SHARE", 0.0),),
    "defined names": (("rank", "NAME_USES", 0.0),),
    "joined words": (("rank", "JOINED_WEIGHT", 0.0),),
    "task words": (("query", "TASK_WEIGHT", 1.0),),
    "starts of files": (("rank", "HEADER_SHARE", 0.0),),
    "breadth": (("rank", "REPEAT_DISCOUNT", 0.0),),
    "pointers": (("pointers", "POINTER_SHARE", 0.0),),
    "blank lines": (("shelf", "MAX_BLANKS_BEFORE", 0), ("shelf", "MAX_BLANKS_BEHIND", 0)),
}

PROFILE = profile_of(INDEX_MODEL)
COUNT = counter(PROFILE)

Scores = dict[tuple[str, str, int], Recall]
"""By task, by what is left out ("" for nothing), by budget."""


@contextmanager
def without(signal: str) -> Iterator[None]:
    """The ranking without one signal, or with all of them for ""."""
    settings = [
        (importlib.import_module(f"contextpack.{module}"), name, value)
        for module, name, value in ABLATIONS.get(signal, ())
    ]
    before = [getattr(module, name) for module, name, _ in settings]
    for module, name, value in settings:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(settings, before, strict=True):
            setattr(module, name, value)


def packed(workspace: Workspace, snapshot: Snapshot, query: str, budget_tokens: int) -> Pack:
    request = Request(query=query, budget_tokens=budget_tokens)
    planned = plan(snapshot, request)
    texts = workspace.texts(snapshot, planned.paths, request.max_file_bytes) or {}
    limit = usable_budget(request.spendable_tokens, PROFILE)
    return finish(planned, snapshot, texts, count=COUNT, limit=limit, is_index_counter=True)


def scores(
    asked: Sequence[Task], roots: Iterator[Path], budgets: Sequence[int], signals: Sequence[str]
) -> Scores:
    found: Scores = {}
    with closing(engine()) as made:
        for task, root in zip(asked, roots, strict=True):
            workspace = Workspace(check_root(root, force=False), made)
            snapshot = workspace.scan(discovery_of(Request(query=task.query))).snapshot
            for signal in ("", *signals):
                for budget in (ABLATION_BUDGET,) if signal else budgets:
                    with without(signal):
                        pack = packed(workspace, snapshot, task.query, budget)
                    found[task.id, signal, budget] = recall(task, pack)
    return found


def checked_out(asked: Sequence[Task], mirror: Path, trees: Path) -> Iterator[Path]:
    """The tree of each task's repository at its commit: one after the other, in one place."""
    for task in asked:
        name = task.place.replace("/", "+")
        tree = trees / name
        if not tree.exists():
            source = mirror / name / "repo"
            subprocess.run(["git", "clone", "-q", "-s", "-n", source, tree], check=True)
        assert task.commit is not None, f"{task.id} has no commit"
        checkout = ("checkout", "-q", "-f", "--detach", task.commit)
        subprocess.run(["git", "-C", tree, *checkout], check=True)
        yield tree


def interval(places: Sequence[str], values: Sequence[float]) -> str:
    """The mean in percent, with its 95 % interval: tasks drawn anew within their repository."""
    groups: dict[str, list[float]] = {}
    for place, value in zip(places, values, strict=True):
        groups.setdefault(place, []).append(100 * value)
    draw = random.Random(1)
    means = sorted(
        mean([v for group in groups.values() for v in draw.choices(group, k=len(group))])
        for _ in range(N_DRAWS)
    )
    low, high = means[N_DRAWS // 40], means[-N_DRAWS // 40 - 1]
    return f"{100 * mean(values):5.1f} [{low:.1f}, {high:.1f}]"


def report(asked: Sequence[Task], found: Scores, budgets: Sequence[int]) -> None:
    places = [task.place for task in asked]
    print("| budget | lines | files | all files |\n| --- | --- | --- | --- |")
    for budget in budgets:
        rows = [found[task.id, "", budget] for task in asked]
        columns = (
            [r.lines for r in rows],
            [r.files for r in rows],
            [r.all_files for r in rows],
        )
        print(f"| {budget} | " + " | ".join(interval(places, c) for c in columns) + " |")
    print("\n| repository | tasks | " + " | ".join(f"lines at {b}" for b in budgets) + " |")
    print("| --- | --- |" + " --- |" * len(budgets))
    for place in dict.fromkeys(places):
        own = [task for task in asked if task.place == place]
        cells = [mean([found[t.id, "", b].lines for t in own]) for b in budgets]
        shown = " | ".join(f"{100 * cell:.1f}" for cell in cells)
        print(f"| {place} | {len(own)} | {shown} |")


def report_ablations(asked: Sequence[Task], found: Scores, *, leave_out: bool) -> None:
    places = [task.place for task in asked]
    print(
        f"\n| without, at {ABLATION_BUDGET} | lines lost | files lost |"
        + " range |" * leave_out
    )
    print("| --- | --- | --- |" + " --- |" * leave_out)
    for signal in ABLATIONS:
        pairs = [
            (found[task.id, "", ABLATION_BUDGET], found[task.id, signal, ABLATION_BUDGET])
            for task in asked
        ]
        lines = [one.lines - other.lines for one, other in pairs]
        files = [one.files - other.files for one, other in pairs]
        row = f"| {signal} | {interval(places, lines)} | {interval(places, files)} |"
        if leave_out:
            rest = [
                100 * mean([v for p, v in zip(places, lines, strict=True) if p != place])
                for place in set(places)
            ]
            row += f" {min(rest):+.1f} to {max(rest):+.1f} |"
        print(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--trees", type=Path)
    parser.add_argument("--ablations", action="store_true")
    parser.add_argument("--leave-out", action="store_true")
    args = parser.parse_args()
    asked = tasks(args.tasks or FIXTURES / "recall" / "questions.jsonl")
    if args.tasks is None:
        roots, budgets = iter([FIXTURES / task.place for task in asked]), FIXTURE_BUDGETS
    else:
        roots, budgets = checked_out(asked, args.mirror, args.trees), BUDGETS
    signals = list(ABLATIONS) if args.ablations and args.tasks else []
    found = scores(asked, roots, budgets, signals)
    report(asked, found, budgets)
    if signals:
        report_ablations(asked, found, leave_out=args.leave_out)


if __name__ == "__main__":
    main()
