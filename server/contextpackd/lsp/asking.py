"""The way from a request to `queries` and back: everything heavy on the workspaces' threads."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextpack.request import Request
from contextpackd import queries, wire
from contextpackd.joint import Site
from contextpackd.queries import Answer
from contextpackd.roots import Roots
from contextpackd.view import Progress
from contextpackd.wire import Json

if TYPE_CHECKING:
    from contextpackd.lsp.session import Session

Where = Sequence[Path]
"""The one root that a question is about, or several."""


async def answered(
    session: "Session",
    where: Where,
    request: Request,
    previous: Answer | None,
    progress: Progress,
) -> Answer:
    """The pack for a request. `previous` is what the client has of it."""
    roots, rules = session.shared.roots, session.rules
    standing = previous.pack.standing if previous is not None else None

    def job(site: Site, report: Progress) -> Answer:
        return queries.answer(site, request, report, standing, rules)

    answer = await roots.ask_of(where, job, progress)
    roots.saw_of(where, answer.scan)
    return answer


async def shown(roots: Roots, where: Where, answer: Answer) -> Json:
    """An answer as JSON, made on another thread: a whole ledger takes a while."""

    def job(_site: Site, _report: Progress) -> Json:
        return wire.answer_json(answer)

    return await roots.ask_of(where, job, lambda _done, _total: None)
