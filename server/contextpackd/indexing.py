"""`contextpackd index`: build or refresh what is kept of a root, say what is in it, and watch."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import IO

from rich.markup import escape

from contextpack.graph import Rate, rates
from contextpack.model import Path
from contextpack.snapshot import Snapshot
from contextpack.text import display_path
from contextpackd import output, report
from contextpackd.disk import Discovery
from contextpackd.store import Store
from contextpackd.view import Effort
from contextpackd.wire import Json
from contextpackd.workspace import Scan, Workspace

# A batch names so many paths, and counts the others.
NAMED_PATHS = 5


@dataclass(frozen=True, slots=True)
class Languages:
    """How much of a language there is."""

    files: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What an index holds, and what making it cost."""

    root: str
    languages: Mapping[str, Languages]
    """By language, the one with the most tokens first."""
    skipped: Mapping[str, int]
    """How many files and directories were left out, by reason."""
    rates: Mapping[str, Rate]
    """What became of the imports, by language."""
    effort: Effort
    seconds: float
    freshness: str
    store_bytes: int
    store_directory: str
    problem: str | None
    """What is wrong with the store or the watch, for people; None when all is well."""


def summary(workspace: Workspace, scan: Scan, store: Store, seconds: float) -> Summary:
    """The account of a scan that took so many seconds."""
    files = Counter[str]()
    tokens = Counter[str]()
    for source in scan.snapshot.sources.values():
        files[source.language] += 1
        tokens[source.language] += source.tokens
    ordered = sorted(files, key=lambda language: (-tokens[language], language))
    info = store.info()
    return Summary(
        root=str(workspace.root),
        languages={name: Languages(files[name], tokens[name]) for name in ordered},
        skipped=dict(sorted(Counter(s.reason.value for s in scan.snapshot.skipped).items())),
        rates=rates(scan.snapshot.graph),
        effort=scan.effort,
        seconds=seconds,
        freshness=scan.freshness,
        store_bytes=info.size_bytes,
        store_directory=str(info.directory),
        problem=info.problem or workspace.watch_message,
    )


def summary_json(made: Summary) -> Json:
    """The account as JSON."""
    effort = made.effort
    return {
        "root": display_path(made.root),
        "nFiles": sum(language.files for language in made.languages.values()),
        "tokens": sum(language.tokens for language in made.languages.values()),
        "languages": {name: asdict(found) for name, found in made.languages.items()},
        "skipped": dict(made.skipped),
        "rates": {name: asdict(rate) for name, rate in made.rates.items()},
        "work": {
            "looked": effort.n_looked,
            "listed": effort.n_listed,
            "read": effort.n_read,
            "stored": effort.n_stored,
            "made": effort.n_made,
            "indexed": effort.indexed,
            "resolved": sum(n for _, n in effort.resolved),
        },
        "seconds": round(made.seconds, 3),
        "freshness": made.freshness,
        "cache": {"directory": display_path(made.store_directory), "bytes": made.store_bytes},
        "problem": made.problem,
    }


def index(
    workspace: Workspace,
    discovery: Callable[[], Discovery],
    store: Store,
    *,
    as_json: bool,
    watches: bool,
) -> None:
    """Bring the index up to date and say what is in it; with `watches`, do so until interrupted.

    `discovery` is asked each time: the settings that it comes from change as other files do.
    """
    began = time.monotonic()
    with report.progress(sys.stderr, time.monotonic) as progress:
        scan = workspace.scan(discovery(), progress, with_graph=True)
    workspace.save()
    made = summary(workspace, scan, store, time.monotonic() - began)
    if as_json:
        # With `--watch` each batch is a line, and so is this.
        indent = None if watches else 2
        text = json.dumps(summary_json(made), ensure_ascii=False, indent=indent)
        output.write_stdout(f"{text}\n")
    else:
        show(sys.stdout, made)
    if not watches:
        return
    while True:
        workspace.wait(None)
        after = workspace.scan(discovery())
        changed = _changed(scan.snapshot, after.snapshot)
        if changed:
            output.write_stdout(_batch(changed, after, as_json=as_json))
            workspace.save()
        scan = after


def show(stream: IO[str], made: Summary) -> None:
    """The account for people."""
    with report.console(stream) as out:
        table = report.columns("language", "files:>", "tokens:>", "imports resolved:>")
        for name, found in made.languages.items():
            rate = made.rates.get(name)
            own = rate.resolved + rate.unresolved if rate else 0
            share = f"{rate.resolved / own:.1%}" if rate and own else ""
            table.add_row(name, str(found.files), str(found.tokens), share)
        out.print(table)
        effort = made.effort
        n_files = sum(found.files for found in made.languages.values())
        tokens = sum(found.tokens for found in made.languages.values())
        out.print(
            f"{n_files} files, {tokens} tokens in {made.seconds:.2f} s: {effort.n_read} read, "
            f"{effort.n_made} analysed, {effort.n_stored} from the cache"
        )
        if made.skipped:
            left_out = ", ".join(f"{n} {reason}" for reason, n in made.skipped.items())
            out.print(f"left out: {left_out}")
        out.print(
            f"cache: {made.store_bytes / 1e6:.1f} MB in {escape(display_path(made.store_directory))}"
        )
        if made.problem:
            out.print(f"[yellow]{escape(made.problem)}[/]")


def _changed(before: Snapshot, after: Snapshot) -> list[Path]:
    """The files that came, went, or have another text; sorted."""
    old, new = before.sources, after.sources
    return sorted(
        path
        for path in old.keys() | new.keys()
        if path not in old or path not in new or old[path].digest != new[path].digest
    )


def _batch(changed: list[Path], scan: Scan, *, as_json: bool) -> str:
    shown = [display_path(path) for path in changed]
    if as_json:
        work = {"read": scan.effort.n_read, "made": scan.effort.n_made}
        document = {"changed": shown, "nFiles": len(scan.snapshot.sources), "work": work}
        return json.dumps(document, ensure_ascii=False) + "\n"
    more = f" and {len(shown) - NAMED_PATHS} more" if len(shown) > NAMED_PATHS else ""
    clock = time.strftime("%H:%M:%S")
    return f"{clock} {len(shown)} changed: {', '.join(shown[:NAMED_PATHS])}{more}\n"
