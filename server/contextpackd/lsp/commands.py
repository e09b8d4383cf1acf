"""What each command does with its checked object. Their schema stands in `params`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from contextpack import model
from contextpack.ranking import RankedChunk
from contextpack.text import display_path
from contextpackd import graphs, output, queries, replies, wire
from contextpackd.errors import FieldProblem
from contextpackd.explanations import explanation
from contextpackd.fields import top_of
from contextpackd.joint import Site, file_below, named
from contextpackd.lsp import params
from contextpackd.lsp.asking import Where, answered, shown
from contextpackd.lsp.packs import Held
from contextpackd.lsp.params import Command
from contextpackd.lsp.session import Session
from contextpackd.replies import Reply
from contextpackd.roots import Cause, Kind
from contextpackd.uris import file_of, uri_of
from contextpackd.view import Progress
from contextpackd.why import why
from contextpackd.wire import Json
from contextpackd.workspace import Scan, Workspace

Fields = Mapping[str, object]
_ENTRIES = frozenset(
    {"pins", "details", "focus", "origins", "from", "depth", "importers", "diff", "staged"}
)
"""The fields that say besides words what a pack is about."""
_PLACES = frozenset({"root", "roots", "uri"})

Run = Callable[[Session, Fields, Progress], Awaitable[Json]]


async def _pack(session: Session, fields: Fields, progress: Progress) -> Json:
    if not isinstance(pack_id := fields.get("packId"), str):
        return await _packed(session, fields, None, progress)
    for name in ("root", "uri", "roots"):
        if name in fields:
            raise FieldProblem(name, "cannot be changed; make a new pack")
    async with session.packs.named(pack_id).turn:
        before = session.packs.named(pack_id)
        return await _packed(session, {**before.fields, **fields}, before, progress)


async def _packed(
    session: Session, fields: Fields, before: Held | None, progress: Progress
) -> Json:
    roots = session.shared.roots
    where = before.roots if before is not None else session.roots_of(fields)
    request = session.request(where, fields)
    if fields.get("wait") is False and (new := [r for r in where if not roots.is_indexed(r)]):
        for root in new:
            session.live.spawn(_indexed(session, root))
        done, total = (sum(n) for n in zip(*map(roots.progress_of, where), strict=True))
        return {
            "query": request.query, **_where_json(where), "complete": False,
            "indexed": done, "total": total, "text": "", "tokens": 0, "items": [],
        }  # fmt: skip
    previous = before.answer if before is not None else None
    answer = await answered(session, where, request, previous, progress)
    document = await shown(roots, where, answer)
    kept = {n: v for n, v in fields.items() if n not in ("packId", "wait") and v is not None}
    if before is None:
        held = session.packs.add(where, kept, answer)
    else:
        held = session.packs.repacked(before, kept, answer)
    return {
        **document, "complete": True, "packId": held.pack_id, "revision": held.revision,
    }  # fmt: skip


def _where_json(where: Where) -> Json:
    shown = {name: display_path(str(root)) for name, root in named(where).items()}
    if len(shown) == 1:
        return {"root": next(iter(shown.values()))}
    return {"roots": [{"name": name, "root": root} for name, root in shown.items()]}


async def _indexed(session: Session, root: Path) -> None:
    """Bring a root up to date for the questions to come."""
    request = session.request([root], {})

    def job(workspace: Workspace, report: Progress) -> Scan:
        return workspace.scan(queries.discovery_of(request), report)

    session.shared.roots.saw(
        root, await session.shared.roots.ask(root, job, lambda _done, _total: None)
    )


async def _answer(session: Session, fields: Fields, progress: Progress) -> Json:
    held = session.packs.named(str(fields["packId"]))
    own = {n: v for n, v in fields.items() if n not in ("packId", "reply")}
    # What the pack was about in another way than by words is not what the reply is about.
    kept = {n: v for n, v in held.fields.items() if n not in _ENTRIES | _PLACES}
    request, rules = session.request(held.roots, {**kept, **own}), session.rules

    def job(site: Site, report: Progress) -> tuple[Scan, Reply]:
        shown = replies.shown_by(held.answer.pack.items)
        return replies.reply(site, request, str(fields["reply"]), shown, report, rules)

    scan, reply = await session.shared.roots.ask_of(held.roots, job, progress)
    session.shared.roots.saw_of(held.roots, scan)
    found = wire.reply_json(reply)
    if not reply.wanted:
        return {**found, "pack": None}
    where = {"roots": [str(root) for root in held.roots]}
    asked = {**kept, **own, **where, "only": list(reply.wanted)}
    return {**found, "pack": await _packed(session, asked, None, progress)}


async def _live(session: Session, fields: Fields, _progress: Progress) -> Json:
    held = session.packs.named(str(fields["packId"]))
    is_live = fields["on"] is True
    session.packs.live(held, is_live=is_live, sends_text=fields.get("text") is True)
    if is_live:
        # What changed since the pack was made, nobody has told.
        await session.live.follow(held.pack_id, [Cause(Kind.FILES)])
    revision = session.packs.named(held.pack_id).revision
    return {"packId": held.pack_id, "live": is_live, "revision": revision}


async def _close(session: Session, fields: Fields, _progress: Progress) -> Json:
    return {"closed": session.packs.close(str(fields["packId"]))}


async def _explain(session: Session, fields: Fields, progress: Progress) -> Json:
    where = session.roots_of(fields)
    request, rules = session.request(where, fields), session.rules
    top = top_of(fields)

    def job(site: Site, report: Progress) -> tuple[Scan, Json]:
        found = explanation(site, request, top, report, rules)
        return found.scan, wire.explanation_json(found)

    return await _asked(session, where, job, progress)


async def _why(session: Session, fields: Fields, progress: Progress) -> Json:
    previous = None
    if isinstance(pack_id := fields.get("packId"), str):
        held = session.packs.named(pack_id)
        for name in ("root", "roots"):
            if name in fields:
                raise FieldProblem(name, "is that of the pack")
        where, previous = held.roots, held.answer.pack.standing
        request = session.request(where, {**held.fields, **fields})
    else:
        where = session.roots_of(fields)
        request = session.request(where, fields)
    rules = session.rules
    path, uri, line = fields.get("path"), fields.get("uri"), fields.get("line")
    if not isinstance(path, str):
        document = session.located(uri) if isinstance(uri, str) else None
        if document is None:
            raise FieldProblem("path", "must be given, or `uri` of a local file")
        path = str(document)
    place, at = path, line if isinstance(line, int) else None

    def job(site: Site, report: Progress) -> tuple[Scan, Json]:
        found = why(site, request, place, at, report, previous, rules)
        return found.scan, wire.why_json(found)

    return await _asked(session, where, job, progress)


async def _search(session: Session, fields: Fields, progress: Progress) -> Json:
    where = session.roots_of(fields)
    request, rules = session.request(where, fields), session.rules
    top = top_of(fields)

    def job(site: Site, report: Progress) -> tuple[Scan, Json]:
        scan, ranking = queries.ranked(site, request, report, rules)
        best = islice(ranking.chunks(), top)
        return scan, {
            "query": request.query, **wire.where_json(site.roots, scan),
            "nRanked": ranking.n_relevant,
            "chunks": [_chunk_json(site.roots, chunk) for chunk in best],
        }  # fmt: skip

    return await _asked(session, where, job, progress)


async def _files(session: Session, fields: Fields, progress: Progress) -> Json:
    where = session.roots_of(fields)
    request, rules = session.request(where, fields), session.rules

    def job(site: Site, report: Progress) -> tuple[Scan, Json]:
        scan = queries.checked_scan(site, request, report, rules)
        return scan, wire.files_json(site.roots, scan)

    return await _asked(session, where, job, progress)


async def _graph(session: Session, fields: Fields, progress: Progress) -> Json:
    root = session.root_of(fields)
    own = {name: value for name, value in fields.items() if name != "depth"}
    request, rules = session.request([root], own), session.rules
    uri, depth = fields.get("uri"), fields.get("depth")
    document = session.located(uri) if isinstance(uri, str) else None
    if isinstance(uri, str) and document is None:
        raise FieldProblem("uri", f"names no local file: {uri}")

    def job(workspace: Site, report: Progress) -> tuple[Scan, Json]:
        scan = queries.checked_scan(workspace, request, report, rules, with_graph=True)
        paths: list[model.Path] = []
        if document is not None:
            paths.append(queries.known_path(str(document), "uri", workspace, scan))
        found = graphs.view(
            scan.snapshot.graph,
            paths,
            follows_importers=fields.get("direction") == "importers",
            depth=depth if isinstance(depth, int) else None,
        )
        return scan, graphs.graph_json(found)

    return await _asked(session, [root], job, progress)


async def _export(session: Session, fields: Fields, _progress: Progress) -> Json:
    held = session.packs.named(str(fields["packId"]))
    given = str(fields["file"])
    file = file_of(given) if given.startswith("file:") else given
    if file is None or not Path(file).is_absolute():
        raise FieldProblem("file", "must be an absolute path or a `file:` URI")
    text = held.answer.pack.text
    await asyncio.to_thread(output.write_file, Path(file), text)
    return {"file": file, "uri": uri_of(file), "bytes": len(text.encode("utf-8", "replace"))}


async def _status(session: Session, _fields: Fields, _progress: Progress) -> Json:
    return {
        **session.shared.about(),
        "folders": [display_path(str(root)) for root in session.folders.values()],
        "nOpenDocuments": len(session.buffers),
        "nPacks": len(session.packs),
    }


async def _asked(
    session: Session,
    where: Where,
    job: Callable[[Site, Progress], tuple[Scan, Json]],
    progress: Progress,
) -> Json:
    scan, document = await session.shared.roots.ask_of(where, job, progress)
    session.shared.roots.saw_of(where, scan)
    return document


def _chunk_json(roots: Mapping[str, Path], found: RankedChunk) -> Json:
    return {
        "path": display_path(found.path),
        "uri": uri_of(str(file_below(roots, found.path))),
        "lines": [found.lines.start, found.lines.end],
        "tokens": found.tokens,
        "score": found.score,
    }


RUNS: Mapping[Command, Run] = MappingProxyType(
    {
        params.PACK: _pack,
        params.ANSWER: _answer,
        params.LIVE: _live,
        params.CLOSE: _close,
        params.EXPLAIN: _explain,
        params.WHY: _why,
        params.FILES: _files,
        params.SEARCH: _search,
        params.GRAPH: _graph,
        params.EXPORT: _export,
        params.STATUS: _status,
    }
)
"""Every command of `params.COMMANDS`."""
