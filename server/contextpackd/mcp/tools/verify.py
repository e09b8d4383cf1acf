"""`verify`: whether what a bundle shows still stands in the files."""

from pathlib import Path

from contextpackd import bundles, wire
from contextpackd.errors import FieldProblem
from contextpackd.fields import Field, Shape, Takes
from contextpackd.mcp.session import Fields, Kept, Session
from contextpackd.mcp.tool import BUNDLE, ROOT, Lines, Model, Tool
from contextpackd.view import Progress
from contextpackd.wire import Json
from contextpackd.workspace import Workspace

TEXT = Field("text", Shape.TEXT, "the text of a bundle, if it is not this connection's")


class Checked(Model):
    """One range of the bundle, held against its file."""

    path: str
    lines: Lines | None
    status: str
    moved_to: Lines | None = None
    reason: str | None = None
    rule: str | None = None


class Verified(Model):
    """A bundle, held against the workspace."""

    root: str
    holds: bool
    intact: bool | None
    problems: list[str]
    n_ranges: int
    """In the bundle; `ranges` has those that do not hold."""
    ranges: list[Checked]


def subject(session: Session, fields: Fields) -> tuple[str, Path, Kept | None]:
    """A bundle's text, its root, and what is kept of it. Raises as `Session.single`."""
    given, text = fields.get("bundle"), fields.get("text")
    if isinstance(given, str) == isinstance(text, str):
        raise FieldProblem("bundle", "must be given, or `text`, and not both")
    if isinstance(text, str):
        return text, session.single(fields), None
    kept = session.bundle(str(given))
    if len(kept.where) > 1:
        raise FieldProblem("bundle", "is of several roots; pack again with `root`")
    return kept.text, kept.where[0], kept


async def _run(session: Session, fields: Fields, progress: Progress) -> Verified:
    given, root, _ = subject(session, fields)
    text = bundles.read_bundle(Path("the bundle"), given.encode("utf-8", "replace"))

    def job(workspace: Workspace, report: Progress) -> Json:
        return wire.verification_json(bundles.verification(workspace, text, report))

    found = await session.workspaces.ask(root, job, progress)
    ranges = found.pop("ranges")
    assert isinstance(ranges, list)
    broken = [entry for entry in ranges if entry["status"] != "holds"]
    return Verified.model_validate({**found, "nRanges": len(ranges), "ranges": broken})


TOOL = Tool(
    "verify",
    "Check that a bundle holds",
    "Whether the lines that a bundle shows still stand in the files as they are now, and which"
    " do not any more or moved. Use it after edits, before you rely on code that you read"
    " earlier.",
    Takes.NOTHING,
    (BUNDLE, TEXT, ROOT),
    _run,
    model=Verified,
)
