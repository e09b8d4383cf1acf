"""What a warm pack costs by stage, and what following a predecessor keeps of its bytes.

    python tests/benchmarks/bench_packs.py ROOT [--edits N]

Stages are CPU milliseconds of one thread, the best of several rounds, beside one count of the
finished text: that is the part that no implementation can leave out. The edits are made to a
snapshot in memory: each time a function is written into another file among those that a query
ranks best, as somebody who works on the query's task would.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from contextpack.bundle import Pack, finish
from contextpack.codec import encoded, encoded_terms
from contextpack.facts import facts
from contextpack.plan import Plan, plan
from contextpack.rank import rank
from contextpack.request import Request
from contextpack.snapshot import Change, Snapshot, applied, reading
from contextpack.stable import Standing
from contextpack.tokens import profile_of
from contextpackd.counters import counter
from contextpackd.disk import check_root
from contextpackd.grammars import grammars
from contextpackd.queries import discovery_of
from contextpackd.worker import INDEX_MODEL, Words
from contextpackd.workspace import Workspace, engine

QUERIES = (
    "how does the template loader cache compiled templates",
    "session cookie expiry wrong",
    "fix queryset union ordering bug",
    "migration autodetector renames field",
    "csrf token rotate login",
)
BUDGET_TOKENS = 8000
ROUNDS = 12

GRAMMARS = grammars()
COUNT = counter(profile_of(INDEX_MODEL))
LEXICON = Words().lexicon


def best_ms(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        work()
        spent.append(time.thread_time() - began)
    return min(spent) * 1e3


def finished(
    planned: Plan, snapshot: Snapshot, texts: dict[str, str], previous: Standing | None = None
) -> Pack:
    return finish(
        planned,
        snapshot,
        texts,
        count=COUNT,
        limit=BUDGET_TOKENS,
        is_index_counter=True,
        previous=previous,
    )


def stages(workspace: Workspace, snapshot: Snapshot) -> None:
    rows = [costs(workspace, snapshot, query) for query in QUERIES]
    count, planning, finishing = (
        statistics.median(column) for column in zip(*rows, strict=True)
    )
    print(
        f"{len(snapshot.sources)} files: one count of the text {count:.2f} ms, rank + plan "
        f"{planning / count:.0f} times that ({planning:.1f} ms), finish {finishing / count:.0f} "
        f"times ({finishing:.1f} ms)"
    )


def costs(workspace: Workspace, snapshot: Snapshot, query: str) -> tuple[float, float, float]:
    request = Request(query=query, budget_tokens=BUDGET_TOKENS)
    planned = plan(snapshot, request)
    texts = workspace.texts(snapshot, planned.paths, request.max_file_bytes) or {}
    text = finished(planned, snapshot, texts).text
    return (
        best_ms(lambda: COUNT(text)),
        best_ms(lambda: plan(snapshot, request)),
        best_ms(lambda: finished(planned, snapshot, texts)),
    )


def edited(snapshot: Snapshot, path: str, text: str) -> Snapshot:
    source = snapshot.sources[path]
    said, counted = facts(
        text, source.language, grammars=GRAMMARS, count=COUNT, lexicon=LEXICON
    )
    digest = f"edited-{len(text)}-{source.digest}"
    read = reading(path, digest, len(text), 0.0, encoded(said), encoded_terms(counted))
    return applied(snapshot, Change(read=(read,)))[0]


def common_share(one: str, other: str) -> float:
    """Which share of the first text's bytes the second begins with."""
    n = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return (min(len(one), len(other)) if n is None else n) / max(1, len(one))


def follow(workspace: Workspace, snapshot: Snapshot, query: str, n_edits: int) -> None:
    draw = random.Random(query)
    request = Request(query=query, budget_tokens=BUDGET_TOKENS)
    planned = plan(snapshot, request)
    texts = dict(workspace.texts(snapshot, planned.paths, request.max_file_bytes) or {})
    fresh = live = finished(planned, snapshot, texts)
    kept: list[tuple[float, float, float, float]] = []
    for number in range(n_edits):
        path = draw.choice(planned.paths)
        lines = texts[path].splitlines(keepends=True)
        place = draw.randrange(len(lines) + 1)
        lines[place:place] = [f"def added_{number}(value):\n", f"    return value * {number}\n"]
        texts[path] = "".join(lines)
        before = rank(snapshot, query)
        snapshot = edited(snapshot, path, texts[path])
        after = rank(snapshot, query)
        planned = plan(snapshot, request, standing=live.standing.digests)
        missing = [other for other in planned.paths if other not in texts]
        texts.update(workspace.texts(snapshot, missing, request.max_file_bytes) or {})
        wanted = {other: texts[other] for other in planned.paths}
        made = finished(planned, snapshot, wanted)
        followed = finished(planned, snapshot, wanted, live.standing)
        moved = max(
            abs(after.score(other) / score - 1)
            for other in before.best(50)
            if other != path and (score := before.score(other)) > 0
        )
        kept.append(
            (
                common_share(fresh.text, made.text),
                common_share(live.text, followed.text),
                followed.given_up / max(followed.score + followed.given_up, 1e-9),
                moved,
            )
        )
        fresh, live = made, followed
    anew, following, given_up, movements = zip(*kept, strict=True)
    print(
        f"{query}: of the text before, {statistics.mean(anew):.0%} begins the next one made anew,"
        f" {statistics.mean(following):.0%} the one that follows; given up"
        f" {statistics.mean(given_up):.2%} of the score (at most {max(given_up):.2%}); an edit"
        f" moved the scores of other files by {statistics.median(movements):.2%}"
        f" (at most {max(movements):.2%})"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("root", type=Path)
    arguments.add_argument("--edits", type=int, default=20)
    asked = arguments.parse_args()
    shared = engine()
    workspace = Workspace(check_root(asked.root, force=True), shared)
    snapshot = workspace.scan(discovery_of(Request(query="")), with_graph=True).snapshot
    stages(workspace, snapshot)
    for query in QUERIES:
        follow(workspace, snapshot, query, asked.edits)
    shared.close()


if __name__ == "__main__":
    main()
