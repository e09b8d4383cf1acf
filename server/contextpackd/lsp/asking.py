"""The way from a request to `queries` and back: everything heavy on the workspaces' threads."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from contextpack.request import Request
from contextpackd import queries, wire
from contextpackd.joint import Site, named
from contextpackd.queries import Answer
from contextpackd.roots import Roots
from contextpackd.view import Progress
from contextpackd.wire import Json
from contextpackd.workspace import Scan

if TYPE_CHECKING:
    from contextpackd.lsp.session import Session

T = TypeVar("T")

Where = Sequence[Path]
"""The one root that a question is about, or several."""


async def asked(
    roots: Roots, where: Where, job: Callable[[Site, Progress], T], progress: Progress
) -> T:
    """The job's result, of one root or of several as one."""
    if len(where) == 1:
        return await roots.ask(where[0], job, progress)
    return await roots.ask_joint(named(where), job, progress)


def saw(roots: Roots, where: Where, scan: Scan) -> None:
    """Let the roots keep what an answer was made from."""
    for root, seen in [(p.root, p.scan) for p in scan.parts] or [(where[0], scan)]:
        roots.saw(root, seen)


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

    answer = await asked(roots, where, job, progress)
    saw(roots, where, answer.scan)
    return answer


async def shown(roots: Roots, where: Where, answer: Answer) -> Json:
    """An answer as JSON, made on another thread: a whole ledger takes a while."""

    def job(_site: Site, _report: Progress) -> Json:
        return wire.answer_json(answer)

    return await asked(roots, where, job, lambda _done, _total: None)
