"""Chunks as JSON: what `pack-chunks` reads and prints, for pipelines in any language.

Field names are camelCase, as in the library that this format comes from. What a number or a
name may be is the library's business (`PackError`); this module refuses the wrong shape and
fields that nobody would read (`ValueError`).
"""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from contextpack.select import ExcludedChunk, PackedChunk, PackReport, ScoredChunk, pack

_OPTIONS = {
    "budget": "budget",
    "strategy": "strategy",
    "lambda": "mmr_lambda",
    "ordering": "ordering",
    "redundancyThreshold": "redundancy_threshold",
    "similarityMetric": "similarity_metric",
    "chunkOverheadTokens": "chunk_overhead_tokens",
    "maxCandidates": "max_candidates",
}
_CHUNK_FIELDS = ("content", "score", "id", "tokens", "embedding", "metadata")
_REQUIRED_FIELDS = ("content", "score")
_DOCUMENT_FIELDS = ("chunks", "options")


def packed_json(document: object, overrides: Mapping[str, object]) -> dict[str, object]:
    """Pack the chunks of a parsed JSON document; the answer is ready for `json.dumps`.

    The document is `{"chunks": [...], "options": {...}}` or a bare list of chunks. `overrides`
    are options by the names of `PackOptions` (the command's flags, a `clock`, a
    `token_counter`); they win over the document's, and those that are None count as not given.
    A null in the document does too. The answer is `{"chunks": [...], "report": {...}}`.

    Raises ValueError for a wrong shape, naming the field, and PackError for wrong values.
    """
    if isinstance(document, list):
        document = {"chunks": document}
    if not isinstance(document, dict):
        raise ValueError(
            "the document must be a list of chunks or an object with `chunks`, "
            f"got {_kind(document)}"
        )
    _refuse_unknown(document, _DOCUMENT_FIELDS, "the document")
    options = _options(document.get("options"))
    options.update((name, value) for name, value in overrides.items() if value is not None)
    result = pack(_chunks(document.get("chunks")), None, **options)
    return {
        "chunks": [_chunk_json(chunk) for chunk in result.chunks],
        "report": _report_json(result.report),
    }


def _options(given: object) -> dict[str, object]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ValueError(f"`options` must be an object, got {_kind(given)}")
    _refuse_unknown(given, tuple(_OPTIONS), "`options`")
    return {_OPTIONS[name]: value for name, value in given.items() if value is not None}


def _chunks(given: object) -> list[ScoredChunk]:
    if not isinstance(given, list):
        raise ValueError(f"`chunks` must be a list, got {_kind(given)}")
    return [_chunk(chunk, f"`chunks[{position}]`") for position, chunk in enumerate(given)]


def _chunk(given: object, where: str) -> ScoredChunk:
    if not isinstance(given, dict):
        raise ValueError(f"{where} must be an object, got {_kind(given)}")
    _refuse_unknown(given, _CHUNK_FIELDS, where)
    for name in _REQUIRED_FIELDS:
        if name not in given:
            raise ValueError(f"{where} has no `{name}`")
    content, own_id, score, tokens, embedding, metadata = (
        given.get(name)
        for name in ("content", "id", "score", "tokens", "embedding", "metadata")
    )
    if not isinstance(content, str):
        raise ValueError(f"`content` of {where} must be text, got {_kind(content)}")
    if not _is_number(score):
        raise ValueError(f"`score` of {where} must be a number, got {_kind(score)}")
    if not isinstance(own_id, str | None):
        raise ValueError(f"`id` of {where} must be text, got {_kind(own_id)}")
    if tokens is not None and not _is_number(tokens):
        raise ValueError(f"`tokens` of {where} must be a number, got {_kind(tokens)}")
    if embedding is not None and not (
        isinstance(embedding, list) and all(map(_is_number, embedding))
    ):
        raise ValueError(f"`embedding` of {where} must be a list of numbers")
    if not isinstance(metadata, dict | None):
        raise ValueError(f"`metadata` of {where} must be an object, got {_kind(metadata)}")
    return ScoredChunk(
        content=content,
        score=score,
        id=own_id,
        tokens=tokens,
        embedding=embedding,
        metadata=metadata,
    )


def _chunk_json(chunk: PackedChunk) -> dict[str, object]:
    return {
        "id": chunk.id,
        "content": chunk.content,
        "score": chunk.score,
        "tokens": chunk.tokens,
        "position": chunk.position,
        **_present(metadata=chunk.metadata),
    }


def _excluded_json(chunk: ExcludedChunk) -> dict[str, object]:
    return {
        "id": chunk.id,
        "content": chunk.content,
        "score": chunk.score,
        "tokens": chunk.tokens,
        "reason": str(chunk.reason),
        **_present(
            redundantWith=chunk.redundant_with,
            similarity=chunk.similarity,
            metadata=chunk.metadata,
        ),
    }


def _report_json(report: PackReport) -> dict[str, object]:
    return {
        "tokensUsed": report.tokens_used,
        "budget": report.budget,
        "tokensRemaining": report.tokens_remaining,
        "utilization": report.utilization,
        "selectedCount": report.selected_count,
        "excludedCount": report.excluded_count,
        "strategy": report.strategy,
        "ordering": report.ordering,
        "diversity": report.diversity,
        "optimalityGap": report.optimality_gap,
        "excluded": [_excluded_json(chunk) for chunk in report.excluded],
        "timestamp": report.timestamp,
        "durationMs": report.duration_ms,
    }


def _present(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _refuse_unknown(given: Mapping[str, object], known: Sequence[str], where: str) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        names = ", ".join(f"`{name}`" for name in unknown)
        raise ValueError(f"{where} has no field {names}; there are {', '.join(known)}")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: object) -> str:
    """What JSON calls it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
