"""`refresh`: a bundle's question asked again, and the difference."""

from pathlib import Path

from contextpack.excerpts import excerpts
from contextpackd import bundles, queries
from contextpackd.fields import Takes
from contextpackd.joint import Site
from contextpackd.mcp.session import Fields, Session
from contextpackd.mcp.tool import BUNDLE, ROOT, Found, Tool
from contextpackd.mcp.tools.pack_context import note
from contextpackd.mcp.tools.verify import TEXT, subject
from contextpackd.queries import Answer
from contextpackd.view import Progress
from contextpackd.workspace import Scan, Workspace

NAME = Path("the bundle")


async def _run(session: Session, fields: Fields, progress: Progress) -> Found:
    given, root, kept = subject(session, fields)
    if kept is not None and (before := kept.standing) and (request := before.request):

        def again(site: Site, report: Progress) -> tuple[Scan, Answer]:
            found = queries.answer(site, request, report, before)
            return found.scan, found

        answer = await session.ask([root], again, progress)
        difference = bundles.difference(NAME, given, answer.pack.text)
        asked = kept.fields
    else:
        text = bundles.read_bundle(NAME, given.encode("utf-8", "replace"))

        def renewed(workspace: Workspace, report: Progress) -> bundles.Renewal:
            return bundles.renewal(workspace, NAME, text, report)

        renewal = await session.workspaces.ask(root, renewed, progress)
        answer, difference = renewal.answer, renewal.difference
        stamp = excerpts(text).stamp
        asked = {} if stamp is None else stamp.question
    return Found(difference, (root,), note(answer), answer, asked)


TOOL = Tool(
    "refresh",
    "What changed in a bundle",
    "A bundle's question asked again: the difference to the bundle that you have, as a unified"
    " diff, empty where nothing changed. What still holds keeps its place. Much shorter than"
    " a new bundle; the note names the new one's id, under which `pack_context` gives its text"
    " (`pageOf`). A bundle given as `text` must have been made with `stamp`.",
    Takes.NOTHING,
    (BUNDLE, TEXT, ROOT),
    _run,
)
