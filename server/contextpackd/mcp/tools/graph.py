"""`graph`: who imports whom."""

from contextpackd import graphs, queries
from contextpackd.fields import Field, Shape, Takes
from contextpackd.joint import Site
from contextpackd.mcp.session import Fields, Session
from contextpackd.mcp.tool import ROOT, Found, Tool
from contextpackd.mcp.tools.documents import document
from contextpackd.view import Progress
from contextpackd.workspace import Scan


async def _run(session: Session, fields: Fields, progress: Progress) -> Found:
    root = session.single(fields)
    given, depth = fields.get("paths"), fields.get("depth")
    own = {name: value for name, value in fields.items() if name != "depth"}
    request = session.request([root], own)

    def job(site: Site, report: Progress) -> tuple[Scan, str]:
        scan = queries.checked_scan(site, request, report, with_graph=True)
        names = [str(path) for path in given] if isinstance(given, list) else []
        found = graphs.view(
            scan.snapshot.graph,
            [queries.known_path(name, "paths", site, scan) for name in names],
            follows_importers=fields.get("direction") == "importers",
            depth=depth if isinstance(depth, int) else None,
        )
        return scan, document(graphs.graph_json(found))

    return Found(await session.ask([root], job, progress), (root,))


TOOL = Tool(
    "graph",
    "Who imports whom",
    "The import graph around files: what they import, or with `direction` importers who"
    " imports them, over `depth` steps, as JSON edges from importing to imported file, with the"
    " imports that did not resolve. Use it before you move, rename or change what others use."
    " Without `paths` it is the whole workspace's.",
    Takes.DISCOVERY,
    (
        Field("paths", Shape.NAMES, "files, relative to the root"),
        ROOT,
        Field("direction", Shape.WAY, "what the files import, or who imports them (default: imports)"),
        Field("depth", Shape.COUNT, "at most so many steps (default: all that can be reached)"),
    ),
    _run,
)  # fmt: skip
