"""`explain`: the scores of a bundle, and of the best outside of it."""

from contextpackd import wire
from contextpackd.explanations import explanation
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
        found = explanation(site, request, top_of(fields), report)
        return found.scan, document(wire.explanation_json(found))

    return Found(await session.ask(where, job, progress), where)


TOOL = Tool(
    "explain",
    "Explain the scores",
    "Why files and parts of files rank as they do for a task: the scores of what is in the"
    " bundle and of the best outside, each with the parts that make it, as JSON. Use it when a"
    " bundle surprises you. Takes every option of `pack_context`.",
    Takes.ALL,
    (QUERY, *ROOTS, TOP),
    _run,
)
