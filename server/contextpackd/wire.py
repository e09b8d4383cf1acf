"""Answers as JSON: the one schema of the command line, batch, and Python's `as_json`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from contextpack.admission import Admission, State
from contextpack.bundle import Pack
from contextpack.excerpts import Check
from contextpack.ledger import Item, brief_ledger, ledger
from contextpack.model import LedgerEntry, Outcome, Skip
from contextpack.ranking import RULE
from contextpack.request import LedgerScope
from contextpack.snapshot import Source
from contextpack.stable import Change
from contextpack.text import Lines, display_path, writable
from contextpackd.bundles import Renewal, Verification
from contextpackd.explanations import ChunkScore, Explanation, FileScore
from contextpackd.joint import name_of
from contextpackd.queries import Answer
from contextpackd.replies import Reply
from contextpackd.why import Displacement, Why
from contextpackd.workspace import Part, Scan

Json = dict[str, object]

# How many of the entries that were left out a brief ledger shows, secrets aside.
BRIEF_ENTRIES = 50


def answer_json(answer: Answer) -> Json:
    """A pack as JSON. Byte-stable for the same input: no times, no durations."""
    pack = answer.pack
    return {
        "query": writable(answer.request.query),
        **where_json(answer.roots, answer.scan, answer.pack),
        "budgetTokens": answer.request.budget_tokens,
        "freshness": answer.scan.freshness,
        "tokens": pack.tokens,
        "tokenizer": answer.profile.name,
        "exact": answer.profile.exact,
        "revision": pack.revision,
        "changes": [_change_json(change) for change in pack.changes],
        "text": pack.text,
        "items": [_item_json(item) for item in pack.items],
        "ledger": [_entry_json(entry) for entry in shown_entries(answer)],
        "ledgerCounts": dict(pack.ledger_counts),
        "report": _report_json(answer),
    }


def explanation_json(explanation: Explanation) -> Json:
    """The scores of a pack and of the best outside of it, as JSON, each with its parts."""
    ranking = explanation.ranking
    return {
        "query": writable(explanation.request.query),
        **where_json(explanation.roots, explanation.scan),
        "scorer": explanation.request.scorer.value,
        "budgetTokens": explanation.request.budget_tokens,
        "fallback": ranking.is_fallback,
        "unknownWords": [writable(word) for word in ranking.unknown_words],
        "nFiles": len(explanation.scan.snapshot.sources),
        "nRanked": ranking.n_relevant,
        "scoreRule": RULE,
        "files": [_file_score_json(row, ranking.trails) for row in explanation.files],
        "chunks": [_chunk_score_json(row) for row in explanation.chunks],
    }


def _file_score_json(row: FileScore, trails: Mapping[str, Sequence[str]]) -> Json:
    trail = trails.get(row.file.path, ())
    via = {"imports": [display_path(path) for path in trail]} if len(trail) > 1 else {}
    return {
        "path": display_path(row.file.path),
        "state": (State.IN if row.is_in else State.OUT).value,
        "score": row.file.score,
        "parts": dict(row.file.parts),
        "best": _lines_json(row.file.best),
        **via,
    }


def _chunk_score_json(row: ChunkScore) -> Json:
    return {
        "path": display_path(row.chunk.path),
        "lines": _lines_json(row.chunk.lines),
        "state": row.state.value,
        "tokens": row.chunk.tokens,
        "score": row.chunk.score,
        "parts": dict(row.parts),
    }


def why_json(found: Why) -> Json:
    """The account of a file or a part of it, as JSON. `null` where something does not apply."""
    entry, request = found.entry, found.request
    is_in = entry.outcome is not Outcome.EXCLUDED
    return {
        "query": writable(request.query),
        **where_json(found.roots, found.scan),
        "budgetTokens": request.budget_tokens,
        "freshness": found.scan.freshness,
        "path": display_path(found.path),
        "line": found.line,
        "lines": _lines_json(found.lines),
        "state": found.state.value,
        "way": None if found.way is None else found.way.value,
        "detail": entry.outcome.value if is_in else None,
        "ranges": [_lines_json(lines) for lines in found.ranges],
        "reason": entry.reason.value,
        "because": found.because,
        "rule": None if entry.rule is None else display_path(entry.rule),
        "duplicateOf": None if entry.duplicate_of is None else display_path(entry.duplicate_of),
        "similarity": entry.similarity,
        "tokens": entry.tokens,
        "overBy": found.over_by,
        "rank": found.rank,
        "nRanked": found.n_ranked,
        "score": entry.score,
        "cutScore": found.cut_score,
        "parts": dict(found.parts),
        "scoreRule": RULE,
        "admission": _admission_json(found.admission),
        "displaces": _displacement_json(found.displacement),
    }


def _admission_json(admission: Admission | None) -> Json | None:
    if admission is None:
        return None
    return {
        "budgetTokens": admission.budget_tokens,
        "way": None if admission.way is None else admission.way.value,
        "outAgainAt": admission.out_again,
        "inAgainAt": admission.in_again,
        "nPacks": admission.n_packs,
        "nUntried": admission.n_untried,
        "mostTokens": admission.most_tokens,
    }


def _displacement_json(displacement: Displacement | None) -> Json | None:
    if displacement is None:
        return None
    return {
        "by": "pin" if displacement.is_pinned else "first",
        "fits": displacement.fits,
        "files": [
            {
                "path": display_path(file.path),
                "ranges": [_lines_json(lines) for lines in file.ranges],
                "gone": file.is_gone,
            }
            for file in displacement.files
        ],
    }


def files_json(roots: Mapping[str, Path], scan: Scan) -> Json:
    """What discovery sees, as JSON."""
    sources = scan.snapshot.in_path_order()
    return {
        **where_json(roots, scan),
        "nFiles": len(sources),
        "tokens": sum(source.tokens for source in sources),
        "files": [_source_json(source) for source in sources],
        "skipped": [_skip_json(skip) for skip in scan.snapshot.skipped],
        "warnings": [{"kind": n.kind.value, "message": n.message} for n in scan.notices],
    }


def reply_json(reply: Reply) -> Json:
    """What a reply names, as JSON."""
    found = reply.naming
    return {
        "wanted": [writable(name) for name in reply.wanted],
        "shown": [writable(name) for name in reply.shown],
        "leftOut": [
            {"name": writable(name), **_skip_json(skip)} for name, skip in found.left_out
        ],
        "vague": [writable(name) for name in found.vague],
        "unknown": [writable(name) for name in found.unknown],
    }


def where_json(roots: Mapping[str, Path], scan: Scan, pack: Pack | None = None) -> Json:
    """The `root` that was asked; of several, `roots` with what was seen in each.

    With a pack, what became of the candidates of each, too.
    """
    if not scan.parts:
        (root,) = roots.values()
        return {"root": display_path(str(root))}
    told: dict[str, Counter[str]] = {part.name: Counter() for part in scan.parts}
    for entry in pack.ledger if pack else ():
        is_in = entry.outcome is not Outcome.EXCLUDED
        told[name_of(entry.path, roots)][entry.outcome if is_in else entry.reason] += 1
    documents = [_part_json(part) for part in scan.parts]
    if pack is None:
        return {"roots": documents}
    counts = [dict(sorted(told[part.name].items())) for part in scan.parts]
    return {
        "roots": [
            {**document, "ledgerCounts": count}
            for document, count in zip(documents, counts, strict=True)
        ]
    }


def _part_json(part: Part) -> Json:
    snapshot = part.scan.snapshot
    return {
        "name": display_path(part.name),
        "root": display_path(str(part.root)),
        "freshness": part.scan.freshness,
        "nFiles": len(snapshot.sources),
        "nSkipped": len(snapshot.skipped),
    }


def verification_json(verification: Verification) -> Json:
    """A bundle held against a workspace, as JSON."""
    found = verification.found
    return {
        "root": display_path(verification.root),
        "holds": verification.holds,
        "intact": found.is_intact,
        "problems": list(found.problems),
        "ranges": [_check_json(check, verification.rules) for check in verification.checks],
    }


def renewal_json(renewal: Renewal) -> Json:
    """A question asked again, as JSON."""
    pack = renewal.answer.pack
    return {
        **where_json(renewal.answer.roots, renewal.answer.scan),
        "changed": bool(renewal.difference),
        "changes": [_change_json(change) for change in pack.changes],
        "difference": renewal.difference,
        "tokens": pack.tokens,
        "text": pack.text,
    }


def _check_json(check: Check, rules: Mapping[str, Skip]) -> Json:
    skip = rules.get(check.path)
    optional = {
        "movedTo": _lines_json(check.moved_to),
        "reason": skip.reason.value if skip else None,
        "rule": skip.rule if skip else None,
    }
    return {
        "path": check.path,
        "lines": _lines_json(check.lines),
        "status": check.status.value,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _lines_json(lines: Lines | None) -> list[int] | None:
    return None if lines is None else [lines.start, lines.end]


def shown_entries(answer: Answer) -> Sequence[LedgerEntry]:
    """The ledger entries that a request asks to see: all, or the briefest telling part."""
    account = answer.pack.account
    is_all = answer.request.ledger is LedgerScope.ALL
    return ledger(account) if is_all else brief_ledger(account, BRIEF_ENTRIES)


def _item_json(item: Item) -> Json:
    return {
        "path": display_path(item.path),
        "detail": item.detail.value,
        "ranges": [[lines.start, lines.end] for lines in item.ranges],
        "tokens": item.tokens,
        "score": item.score,
        "parts": dict(item.parts),
        "reasons": list(item.reasons),
    }


def _change_json(change: Change) -> Json:
    return {
        "path": display_path(change.path),
        "kind": change.kind.value,
        "cause": change.cause.value,
    }


def _entry_json(entry: LedgerEntry) -> Json:
    optional = {
        "duplicateOf": None if entry.duplicate_of is None else display_path(entry.duplicate_of),
        "similarity": entry.similarity,
        "rule": entry.rule,
    }
    return {
        "path": display_path(entry.path),
        "outcome": entry.outcome.value,
        "reason": entry.reason.value,
        "tokens": entry.tokens,
        "score": entry.score,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _report_json(answer: Answer) -> Json:
    pack, request = answer.pack, answer.request
    return {
        "scorer": request.scorer.value,
        "strategy": request.strategy.value,
        "ordering": request.ordering.value,
        "format": request.text_format.value,
        "model": request.model,
        "errorBound": answer.profile.error_bound,
        "spendableTokens": request.spendable_tokens,
        "remainingTokens": request.budget_tokens - pack.tokens,
        "utilization": round(pack.tokens / request.budget_tokens, 4),
        "nItems": len(pack.items),
        "nCandidates": len(answer.scan.snapshot.sources),
        "score": pack.score,
        "givenUp": pack.given_up,
        "diversity": pack.diversity,
        "optimalityGap": pack.optimality_gap,
        "fallback": pack.is_fallback,
        "unknownWords": [writable(word) for word in pack.unknown_words],
        "warnings": [{"kind": w.kind, "message": w.message} for w in answer.warnings],
    }


def _source_json(source: Source) -> Json:
    return {
        "path": display_path(source.path),
        "language": source.language,
        "lines": source.n_lines,
        "tokens": source.tokens,
        "bytes": source.size_bytes,
    }


def _skip_json(skip: Skip) -> Json:
    return {"path": display_path(skip.path), "reason": skip.reason.value, "rule": skip.rule}


def error_json(code: str, message: str, details: Mapping[str, object] | None = None) -> Json:
    """An error as JSON: a code for programs, a line for people."""
    return {"error": {"code": code, "message": writable(message), **(details or {})}}
