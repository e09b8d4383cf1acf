"""`pack_context`: the bundle for a task, with the bytes that every door gives."""

from contextpack.text import display_path
from contextpackd import queries, settings
from contextpackd.errors import FieldProblem
from contextpackd.fields import Takes
from contextpackd.joint import Site
from contextpackd.mcp.session import Fields, Session
from contextpackd.mcp.tool import QUERY, ROOTS, Found, Tool
from contextpackd.queries import Answer
from contextpackd.view import Progress
from contextpackd.workspace import Scan

MAX_WARNINGS = 5

_ENTRIES = ("query", "focus", "origins", "from", "diff", "only")


def check_subject(fields: Fields) -> None:
    """Raises `FieldProblem` for a question that says nothing of what it is about.

    An empty task asks for the workspace as such, here as elsewhere; one that lacks was forgotten.
    """
    if not any(name in fields for name in _ENTRIES):
        raise FieldProblem("query", "must be given: the task in words; or focus, origins, diff")


async def answered(session: Session, fields: Fields, progress: Progress) -> Answer:
    """The pack for a request. Raises as `check_subject` does."""
    check_subject(fields)
    where = session.where(fields)
    request = session.request(where, fields)

    def job(site: Site, report: Progress) -> tuple[Scan, Answer]:
        found = queries.answer(site, request, report)
        return found.scan, found

    return await session.ask(where, job, progress)


def warnings_of(answer: Answer) -> list[str]:
    """What an agent should know of an answer: what is odd, and what settings could not be."""
    found = [warning.message for warning in answer.warnings]
    if answer.pack.is_fallback and not answer.request.has_entry:
        found.append("the task has no words to go by: the bundle is chosen by structure alone")
    for root in answer.roots.values():
        found += [str(problem) for problem in settings.repository(root).problems]
    if not answer.pack.items:
        found.append("the bundle is empty: use other words, or a larger budget")
    return found


def note(answer: Answer) -> str:
    """A line about a bundle, for who reads it."""
    pack, request = answer.pack, answer.request
    count = "exact" if answer.profile.exact else "estimated"
    said = warnings_of(answer)
    more = f"; and {len(said) - MAX_WARNINGS} more" if len(said) > MAX_WARNINGS else ""
    warned = f"; warnings: {'; '.join(said[:MAX_WARNINGS])}{more}" if said else ""
    return (
        f"{pack.tokens} of {request.budget_tokens} tokens ({answer.profile.name}, {count}),"
        f" {len(pack.items)} of {len(answer.scan.snapshot.sources)} files of"
        f" {', '.join(display_path(str(root)) for root in answer.roots.values())}{warned}"
    )


async def _run(session: Session, fields: Fields, progress: Progress) -> Found:
    answer = await answered(session, fields, progress)
    where = tuple(answer.roots.values())
    return Found(answer.pack.text, where, note(answer), answer)


TOOL = Tool(
    "pack_context",
    "Pack code for a task",
    "The code of the workspace that matters for a task, chosen, cut to the useful lines and"
    " packed under a token budget: use it first, before reading files one by one. Excerpts"
    " carry their paths and line numbers and are verbatim. Say the task in words with the names"
    " you know (functions, files, error messages, stack traces); or give `diff` for what"
    " changed and what uses it, `focus` for a place, `origins` for a file and what it needs"
    " (`importers`: who needs it), `only` for named files or definitions. The line below the"
    " bundle names its id, what it costs and what is odd; a long bundle comes in pages.",
    Takes.ALL,
    (QUERY, *ROOTS),
    _run,
    shows_options=True,
)
