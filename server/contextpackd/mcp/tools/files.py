"""`files`: what is seen of a workspace, and what is left out by which rule."""

from contextpackd import queries, wire
from contextpackd.fields import Takes
from contextpackd.joint import Site
from contextpackd.mcp.session import Fields, Session
from contextpackd.mcp.tool import ROOTS, Found, Tool
from contextpackd.mcp.tools.documents import document
from contextpackd.view import Progress
from contextpackd.workspace import Scan


async def _run(session: Session, fields: Fields, progress: Progress) -> Found:
    where = session.where(fields)
    request = session.request(where, fields)

    def job(site: Site, report: Progress) -> tuple[Scan, str]:
        scan = queries.checked_scan(site, request, report)
        return scan, document(wire.files_json(site.roots, scan))

    return Found(await session.ask(where, job, progress), where)


TOOL = Tool(
    "files",
    "Which files are seen",
    "Every file that bundles can show, with language, lines and tokens, and everything that is"
    " left out with the rule that does it (ignored, secret, binary, too large), as JSON. Use"
    " it when a file that should be there is not; narrow it with `include`.",
    Takes.DISCOVERY,
    ROOTS,
    _run,
)
