"""Answers for people: tables on a terminal, plain rows elsewhere."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from contextpack.admission import Admission, State, Way
from contextpack.excerpts import Status
from contextpack.graph import rates
from contextpack.ledger import Item, trail_shown
from contextpack.model import LedgerEntry, Outcome, Reason
from contextpack.ranking import RULE
from contextpack.text import Lines, display_path
from contextpackd import graphs
from contextpackd.bundles import Verification, shown_lines
from contextpackd.explanations import Explanation
from contextpackd.graphs import View
from contextpackd.queries import Answer
from contextpackd.replies import Reply
from contextpackd.store import Info
from contextpackd.view import Progress as Advance
from contextpackd.why import Displacement, Why
from contextpackd.workspace import Scan

# A table that is piped must not wrap or lose columns: rich takes 80 where it finds no terminal.
PIPE_WIDTH = 240

# Work shorter than this is over before anybody wonders.
PROGRESS_AFTER_SECONDS = 1.0

# How many entries that were left out the report names; the counts cover the rest.
SHOWN_LEFT_OUT = 12

# Below this many columns the bar and the reasons give way to the paths.
WIDE_COLUMNS = 120

_FORMS = frozenset(outcome.value for outcome in Outcome)

_BAR_CELLS = 16
_EIGHTHS = " ▏▎▍▌▋▊▉█"

# The reasons that a reader of the report may want to act on come first.
_TELLING = (
    Reason.SECRET,
    Reason.OVER_BUDGET,
    Reason.NEAR_DUPLICATE,
    Reason.MAX_CANDIDATES,
    Reason.BELOW_CUT,
)


@dataclass(frozen=True, slots=True)
class Screen:
    """What a text is drawn for: a terminal, or something that no person looks at."""

    columns: int | None
    """Of a terminal; None for anything else."""
    environment: Mapping[str, str]
    """The variables by which terminals say what they can show."""


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person looks at a stream; a closed one nobody does."""
    return stream is not None and stream.isatty()


@contextmanager
def console(stream: IO[str] | None) -> Iterator[Console]:
    """A console on a stream: colours and the window's width only on a terminal.

    A stream that is closed or full loses the report, which is no reason to lose the result.
    """
    out = Console(
        file=stream if stream is not None else io.StringIO(),
        width=None if is_terminal(stream) else PIPE_WIDTH,
        highlight=False,
    )
    try:
        yield out
        if stream is not None:
            stream.flush()
    except BrokenPipeError:
        raise
    except OSError:
        pass


def drawn(screen: Screen, draw: Callable[[Console], None]) -> str:
    """What is drawn, as the text that shows it."""
    stream = io.StringIO()
    draw(
        Console(
            file=stream,
            force_terminal=screen.columns is not None,
            width=PIPE_WIDTH if screen.columns is None else screen.columns,
            highlight=False,
            _environ=screen.environment,
        )
    )
    return stream.getvalue()


@contextmanager
def progress(
    stream: IO[str] | None,
    clock: Callable[[], float],
    after_seconds: float = PROGRESS_AFTER_SECONDS,
) -> Iterator[Advance]:
    """A progress bar with counts on a terminal, for work that takes over a second."""
    if stream is None or not stream.isatty():
        yield lambda _done, _total: None
        return
    bar = Progress(
        TextColumn("indexing"), BarColumn(), MofNCompleteColumn(), TextColumn("files"),
        console=Console(file=stream), transient=True,
    )  # fmt: skip
    task = bar.add_task("indexing", total=None)
    began = clock()

    def report(done: int, total: int) -> None:
        if clock() - began >= after_seconds:
            bar.start()
            bar.update(task, completed=done, total=total)

    try:
        yield report
    finally:
        bar.stop()


def answer_table(screen: Screen, answer: Answer) -> str:
    """What is in and why, what was left out and why, and how the budget was spent."""
    return drawn(screen, lambda out: _show_answer(out, answer))


def _show_answer(out: Console, answer: Answer) -> None:
    pack, request = answer.pack, answer.request
    counted = (
        "exact" if answer.profile.exact else f"estimate, ±{answer.profile.error_bound:.0%}"
    )
    out.print(
        f"[bold]{pack.tokens}[/] of {request.budget_tokens} tokens "
        f"({pack.tokens / request.budget_tokens:.0%}, {answer.profile.name} {counted}) · "
        f"{len(pack.items)} files of {len(answer.scan.snapshot.sources)}"
    )
    if pack.is_fallback:
        out.print("no words to look for: chosen by structure and recency (fallback)")
    if pack.items:
        is_wide = out.width >= WIDE_COLUMNS
        table = columns(
            "tokens:>",
            *([""] if is_wide else []),
            "form",
            "path",
            *(["why"] if is_wide else []),
        )
        for item in pack.items:
            bar = [_bar(item.tokens / request.budget_tokens)] if is_wide else []
            why = [f"[dim]{escape('; '.join(item.reasons[:2]))}[/]"] if is_wide else []
            place = f"{_safe(item.path)}[dim]:{_spans(item)}[/]"
            table.add_row(str(item.tokens), *bar, item.detail.value, place, *why)
        out.print(table)
    left_out = [entry for entry in pack.ledger if entry.outcome is Outcome.EXCLUDED]
    if left_out:
        counts = ", ".join(
            f"{n} {name}" for name, n in pack.ledger_counts.items() if name not in _FORMS
        )
        out.print(f"left out: {counts}")
        for entry in _telling(left_out):
            out.print(f"  {_safe(entry.path)}: {escape(_why(entry))}")
    for warning in answer.warnings:
        out.print(f"[yellow]{warning.kind}[/]: {escape(warning.message)}")


def explanation_table(screen: Screen, explanation: Explanation) -> str:
    """The scores of files and of their parts, each with what makes it."""
    return drawn(screen, lambda out: _show_explanation(out, explanation))


def _show_explanation(out: Console, explanation: Explanation) -> None:
    ranking = explanation.ranking
    if ranking.is_fallback:
        out.print("no words to look for: ranked by structure and recency (fallback)")
    if ranking.unknown_words:
        out.print(
            f"nowhere in the workspace: {escape(', '.join(map(display_path, ranking.unknown_words)))}"
        )
    names = list(dict.fromkeys(name for row in explanation.files for name in row.file.parts))
    names += [n for row in explanation.chunks for n in row.parts if n not in names]
    names = list(dict.fromkeys(names))
    headings = ("score:>", *(f"{name}:>" for name in names), "path")
    led = ["by imports"] if ranking.trails else []
    table = columns("rank:>", "in", *headings, *led)
    for row in explanation.files:
        cells = _scored(row.file.score, row.file.parts, names)
        is_in = "in" if row.is_in else ""
        trail = ranking.trails.get(row.file.path, ())
        way = [escape(trail_shown(trail)) if len(trail) > 1 else ""] if led else []
        table.add_row(str(row.rank or ""), is_in, *cells, _safe(row.file.path), *way)
    out.print(table)
    n_shown = sum(row.rank is not None for row in explanation.files)
    if ranking.n_relevant > n_shown:
        out.print(f"… {ranking.n_relevant - n_shown} more (--top N)")
    table = columns("in", *headings)
    for found in explanation.chunks:
        how = "" if found.state is State.OUT else found.state.value
        cells = _scored(found.chunk.score, found.parts, names)
        place = f"{_safe(found.chunk.path)}[dim]:{_ranges([found.chunk.lines])}[/]"
        table.add_row(how, *cells, place)
    out.print(table)
    out.print(f"[dim]{RULE}[/]")


def _scored(score: float, parts: Mapping[str, float], names: Sequence[str]) -> list[str]:
    return [f"{score:.3f}", *(f"{parts[name]:.3f}" if name in parts else "" for name in names)]


def why_table(screen: Screen, found: Why) -> str:
    """Why a file or a part of it is in or out, and what would change that."""
    return drawn(screen, lambda out: _show_why(out, found))


def _show_why(out: Console, found: Why) -> None:
    of = "" if found.lines is None else f":{found.lines.start}-{found.lines.end}"
    stands = {State.IN: "in", State.PART: "partly in", State.OUT: "out of"}[found.state]
    out.print(
        f"[bold]{_safe(found.path)}{of}[/] is {stands} the bundle of {found.request.budget_tokens} tokens"
    )
    rows = Table(box=None, pad_edge=False, show_header=False)
    rows.add_column(style="dim")
    rows.add_column(overflow="fold")
    rows.add_row("because", escape(found.because))
    if found.ranges:
        rows.add_row("shown", f"lines {_ranges(found.ranges)} of the file")
    if found.rank is not None:
        kind = "files" if found.lines is None else "parts"
        lowest = "the lowest in" if found.lines is None else "the lowest in by its own score"
        cut = f"; {lowest} has {found.cut_score:.3f}" if found.cut_score else ""
        score = found.entry.score or 0.0
        rows.add_row("rank", f"{found.rank} of {found.n_ranked} {kind}, score {score:.3f}{cut}")
    if found.parts:
        shown = sorted(found.parts.items(), key=lambda part: -part[1])
        rows.add_row("score", ", ".join(f"{name} {value:.3f}" for name, value in shown))
    if found.admission is not None:
        rows.add_row("budget", _admission(found.admission))
    if found.displacement is not None:
        rows.add_row(*_displacement(found.displacement))
    out.print(rows)


# How something is in, where that is less than by its own score.
_AS: Mapping[Way | None, str] = {
    Way.CUT: ", cut",
    Way.OUTLINE: ", in outline",
    Way.POINTER: ", as a pointer",
    Way.ALONG: ", along with others",
}


def _admission(admission: Admission) -> str:
    if admission.budget_tokens is None:
        return f"none up to {admission.most_tokens} tokens lets it in" + (
            "" if not admission.n_untried else f", as far as {admission.n_packs} of them tell"
        )
    is_least = admission.n_untried == 0
    told = f"{admission.budget_tokens} tokens is the smallest {'' if is_least else 'found '}"
    told += f"that lets it in{_AS.get(admission.way, '')}; "
    if admission.out_again is None:
        told += "a larger one may leave it out"
    else:
        told += f"it is out again at {admission.out_again}"
    if admission.in_again is not None:
        told += f", in at {admission.in_again}"
    rest = f" ({admission.n_packs} budgets tried, {admission.n_untried} smaller ones not)"
    return told + ("" if is_least else rest)


def _displacement(displacement: Displacement) -> tuple[str, str]:
    way = "pinned" if displacement.is_pinned else "put first"
    if not displacement.fits:
        return way, "it does not fit either"
    gone = [
        _safe(file.path) + ("" if file.is_gone else f":{_ranges(file.ranges)}")
        for file in displacement.files
    ]
    return way, f"it takes the place of {', '.join(gone)}" if gone else "nothing has to leave"


def files_table(screen: Screen, scan: Scan) -> str:
    """What discovery sees: each file with its tokens, and what is left out by which rule."""
    return drawn(screen, lambda out: _show_files(out, scan))


def _show_files(out: Console, scan: Scan) -> None:
    table = columns("tokens:>", "lines:>", "language", "path")
    sources = scan.snapshot.in_path_order()
    for source in sources:
        table.add_row(
            str(source.tokens), str(source.n_lines), source.language, _safe(source.path)
        )
    out.print(table)
    out.print(f"{len(sources)} files, {sum(source.tokens for source in sources)} tokens")
    if scan.snapshot.skipped:
        left_out = columns("reason", "path", "rule")
        for skip in scan.snapshot.skipped:
            left_out.add_row(
                skip.reason.value, _safe(skip.path), escape(display_path(skip.rule or ""))
            )
        out.print("\nleft out:")
        out.print(left_out)
    for notice in scan.notices:
        out.print(f"[yellow]{notice.kind.value}[/]: {escape(notice.message)}")


def reply_lines(reply: Reply) -> list[str]:
    """What a reply names besides what is packed, in words."""
    found = reply.naming
    lists = {
        "nowhere in the workspace": found.unknown,
        "in more than a few files": found.vague,
        "shown before": reply.shown,
    }
    lines = [
        f"{name}: left out, {skip.reason.value}" + (f" by {skip.rule}" if skip.rule else "")
        for name, skip in found.left_out
    ]
    return [display_path(line) for line in lines] + [
        display_path(f"{what}: {', '.join(names)}") for what, names in lists.items() if names
    ]


def show_verification(stream: IO[str] | None, verification: Verification) -> None:
    """The ranges of a bundle that no longer hold, and how many do."""
    with console(stream) as out:
        _show_verification(out, verification)


def _show_verification(out: Console, verification: Verification) -> None:
    found = verification.found
    if found.is_intact is False:
        out.print("damaged: the bundle was changed after it was made")
    for problem in found.problems:
        out.print(f"damaged: {_safe(problem)}")
    for check in verification.checks:
        if check.status is not Status.HOLDS:
            to = f" to {shown_lines(check.moved_to)}" if check.moved_to else ""
            skip = verification.rules.get(check.path)
            why = (
                f" ({skip.reason.value}{f' by {skip.rule}' if skip.rule else ''})"
                if skip
                else ""
            )
            place = f"{_safe(check.path)}:{shown_lines(check.lines)}"
            out.print(f"{check.status.value}{to}: {place}{escape(display_path(why))}")
    n_held = sum(check.status is Status.HOLDS for check in verification.checks)
    if verification.checks:
        out.print(f"{n_held} of {len(verification.checks)} ranges hold")
    else:
        out.print("no range can be compared: the bundle is cut off or was changed")


def graph_table(screen: Screen, shown: View, *, lists_unresolved: bool) -> str:
    """Resolution rates, the commonest reasons, and the edges or what did not resolve."""
    return drawn(screen, lambda out: _show_graph(out, shown, lists_unresolved=lists_unresolved))


def _show_graph(out: Console, shown: View, *, lists_unresolved: bool) -> None:
    table = columns("language", "resolved:>", "external:>", "unresolved:>", "rate:>")
    for language, rate in rates(shown.graph).items():
        own = rate.resolved + rate.unresolved
        share = f"{rate.resolved / own:.1%}" if own else ""
        counts = (rate.resolved, rate.external, rate.unresolved)
        table.add_row(language, *map(str, counts), share)
    out.print(table)
    if reasons := graphs.reasons(shown):
        out.print("unresolved: " + ", ".join(f"{n} {name}" for name, n in reasons))
    if lists_unresolved:
        table = columns("reason", "path", "import")
        for path, entry in shown.unresolved:
            table.add_row(
                entry.external.value,
                f"{_safe(path)}:{entry.found.line}",
                escape(graphs.specifier(entry.found)),
            )
    else:
        table = columns("from", "to", "kind")
        for edge in shown.edges:
            table.add_row(_safe(edge.source), _safe(edge.target), edge.kind.value)
    out.print(table)


def columns(*headings: str) -> Table:
    """A plain table; a heading that ends with `:>` is right-aligned, paths are never cut."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in headings:
        name, _, align = column.partition(":")
        is_path = name in ("path", "from", "to")
        table.add_column(
            name, justify="right" if align else "left", overflow="fold" if is_path else "ellipsis",
            no_wrap=not is_path, min_width=20 if is_path else None,
        )  # fmt: skip
    return table


def show_cache(stream: IO[str] | None, info: Info) -> None:
    """What is kept between runs: where, how much, and of which roots."""
    with console(stream) as out:
        rows = Table(box=None, pad_edge=False, show_header=False)
        rows.add_column(style="dim")
        rows.add_column(overflow="fold")
        rows.add_row("directory", _safe(str(info.directory)))
        rows.add_row("size", f"{size(info.size_bytes)} of at most {size(info.max_bytes)}")
        rows.add_row("facts", f"of {info.n_facts} texts")
        if info.problem is not None:
            rows.add_row("problem", escape(display_path(info.problem)))
        out.print(rows)
        if info.roots:
            table = columns("size:>", "last used (UTC)", "path")
            for saved in reversed(info.roots):
                used = datetime.fromtimestamp(saved.used, UTC).strftime("%Y-%m-%d %H:%M")
                path = "(cannot be read)" if saved.root is None else _safe(saved.root)
                table.add_row(size(saved.size_bytes), used, path)
            out.print(table)


def size(n_bytes: int) -> str:
    """A number of bytes for people: `950 B`, `12.3 MB`."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    shown = n_bytes / 1000
    for unit in ("kB", "MB"):
        if shown < 999.95:
            return f"{shown:.1f} {unit}"
        shown /= 1000
    return f"{shown:.1f} GB"


def _safe(path: str) -> str:
    return escape(display_path(path))


def _bar(share: float) -> str:
    eighths = round(min(max(share, 0.0), 1.0) * _BAR_CELLS * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def _spans(item: Item) -> str:
    return _ranges(item.ranges)


def _ranges(ranges: Sequence[Lines]) -> str:
    shown = [
        f"{lines.start}-{lines.end}" if lines.end > lines.start else f"{lines.start}"
        for lines in ranges
    ]
    return ",".join(shown[:4]) + (f",… {len(shown) - 4} more" if len(shown) > 4 else "")


def _telling(left_out: list[LedgerEntry]) -> list[LedgerEntry]:
    order = {reason: number for number, reason in enumerate(_TELLING)}
    telling = [entry for entry in left_out if entry.reason in order]
    telling.sort(key=lambda entry: (order[entry.reason], -(entry.score or 0.0), entry.path))
    return telling[:SHOWN_LEFT_OUT]


def _why(entry: LedgerEntry) -> str:
    parts = [entry.reason.value]
    if entry.duplicate_of is not None:
        parts.append(f"of {display_path(entry.duplicate_of)} ({entry.similarity:.0%})")
    if entry.rule is not None:
        parts.append(f"by {display_path(entry.rule)}")
    if entry.tokens is not None and entry.reason in (Reason.OVER_BUDGET, Reason.BELOW_CUT):
        parts.append(f"({entry.tokens} tokens)")
    return " ".join(parts)
