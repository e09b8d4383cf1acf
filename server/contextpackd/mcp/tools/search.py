"""`search`: the ranked parts of files for a task."""

from itertools import islice

from contextpack.text import display_path, writable
from contextpackd import queries, wire
from contextpackd.fields import Takes, top_of
from contextpackd.joint import Site
from contextpackd.mcp.session import Fields, Session
from contextpackd.mcp.tool import QUERY, ROOTS, TOP, Found, Tool
from contextpackd.mcp.tools.documents import document
from contextpackd.mcp.tools.pack_context import check_subject
from contextpackd.view import Progress
from contextpackd.workspace import Scan


async def _run(session: Session, fields: Fields, progress: Progress) -> Found:
    check_subject(fields)
    where = session.where(fields)
    request = session.request(where, fields)

    def job(site: Site, report: Progress) -> tuple[Scan, str]:
        scan, ranking = queries.ranked(site, request, report)
        return scan, document(
            {
                "query": writable(request.query),
                **wire.where_json(site.roots, scan),
                "nRanked": ranking.n_relevant,
                "chunks": [
                    {
                        "path": display_path(chunk.path),
                        "lines": [chunk.lines.start, chunk.lines.end],
                        "tokens": chunk.tokens,
                        "score": chunk.score,
                    }
                    for chunk in islice(ranking.chunks(), top_of(fields))
                ],
            }
        )

    return Found(await session.ask(where, job, progress), where)


TOOL = Tool(
    "search",
    "Find where code is",
    "Where the code about a task stands: the best functions, classes and regions with path,"
    " lines, tokens and score, best first, as JSON and without their text. Use it to find"
    " places; `pack_context` to read them. Takes every option of `pack_context`.",
    Takes.ALL,
    (QUERY, *ROOTS, TOP),
    _run,
)
