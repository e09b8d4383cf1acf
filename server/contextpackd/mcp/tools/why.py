"""`why`: the account of one file, or a part of it."""

from contextpackd import wire
from contextpackd.errors import FieldProblem
from contextpackd.fields import Field, Shape, Takes
from contextpackd.joint import Site
from contextpackd.mcp.session import Fields, Session
from contextpackd.mcp.tool import BUNDLE, QUERY, ROOTS, Lines, Model, Tool
from contextpackd.view import Progress
from contextpackd.why import why
from contextpackd.wire import Json
from contextpackd.workspace import Scan


class Admission(Model):
    """The smallest budget found that lets the file or part in."""

    budget_tokens: int | None
    way: str | None
    out_again_at: int | None
    in_again_at: int | None
    n_packs: int
    n_untried: int
    most_tokens: int


class Displaced(Model):
    """A file of the bundle that would lose something."""

    path: str
    ranges: list[Lines]
    gone: bool


class Displacement(Model):
    """What would leave the bundle if the file or part were put in."""

    by: str
    fits: bool
    files: list[Displaced]


class Account(Model):
    """Why a file, or the part of it at a line, is in a bundle or out."""

    query: str
    root: str | None = None
    roots: list[dict[str, object]] | None = None
    budget_tokens: int
    freshness: str
    path: str
    line: int | None
    lines: Lines | None
    state: str
    way: str | None
    detail: str | None
    ranges: list[Lines]
    reason: str
    because: str
    rule: str | None
    duplicate_of: str | None
    similarity: float | None
    tokens: int | None
    over_by: int | None
    rank: int | None
    n_ranked: int
    score: float | None
    cut_score: float
    parts: dict[str, float]
    score_rule: str
    admission: Admission | None
    displaces: Displacement | None


async def _run(session: Session, fields: Fields, progress: Progress) -> Account:
    previous = None
    asked = fields
    if isinstance(bundle := fields.get("bundle"), str):
        kept = session.bundle(bundle)
        for name in ("root", "roots"):
            if name in fields:
                raise FieldProblem(name, "is that of the bundle")
        asked, where = {**kept.fields, **fields}, kept.where
        previous = kept.standing
    elif "query" not in fields:
        raise FieldProblem("query", "must be given, or `bundle`")
    else:
        where = session.where(fields)
    request = session.request(where, asked)
    path, line = str(fields["path"]), fields.get("line")
    at = line if isinstance(line, int) else None

    def job(site: Site, report: Progress) -> tuple[Scan, Json]:
        found = why(site, request, path, at, report, previous)
        return found.scan, wire.why_json(found)

    return Account.model_validate(await session.ask(where, job, progress))


TOOL = Tool(
    "why",
    "Why a file is in or out",
    "Why a file, or the part of it at a line, is in the bundle for a task or out: its rank,"
    " what makes its score, the smallest budget that lets it in, and what it would displace."
    " `because` says it in a sentence. Takes a second or two. Takes every option of"
    " `pack_context`.",
    Takes.ALL,
    (
        Field("path", Shape.NAME, "the file, relative to the root; also PATH:LINE", is_required=True),
        QUERY,
        BUNDLE,
        Field("line", Shape.COUNT, "a line of it, from 1; without one the whole file is meant"),
        *ROOTS,
    ),
    _run,
    model=Account,
)  # fmt: skip
