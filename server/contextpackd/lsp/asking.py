"""The way from a request to `queries` and back: everything heavy on the workspace's thread."""

from pathlib import Path

from contextpack.request import Request
from contextpackd import queries, wire
from contextpackd.queries import Answer
from contextpackd.roots import Roots
from contextpackd.view import Progress
from contextpackd.wire import Json
from contextpackd.workspace import Workspace


async def answered(
    roots: Roots, root: Path, request: Request, previous: Answer | None, progress: Progress
) -> Answer:
    """The pack for a request. `previous` is what the client has of it."""
    standing = previous.pack.standing if previous is not None else None

    def job(workspace: Workspace, report: Progress) -> Answer:
        return queries.answer(workspace, request, report, standing)

    answer = await roots.ask(root, job, progress)
    roots.saw(root, answer.scan)
    return answer


async def shown(roots: Roots, root: Path, answer: Answer) -> Json:
    """An answer as JSON, made on the workspace's thread: a whole ledger takes a while."""

    def job(_workspace: Workspace, _report: Progress) -> Json:
        return wire.answer_json(answer)

    return await roots.ask(root, job, lambda _done, _total: None)
