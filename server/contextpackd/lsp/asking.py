"""The way from a request to `queries` and back: everything heavy on the workspace's thread."""

from pathlib import Path

from contextpack.request import Request
from contextpackd import queries, wire
from contextpackd.queries import Answer
from contextpackd.roots import Roots
from contextpackd.wire import Json
from contextpackd.workspace import Progress, Workspace


async def answered(
    roots: Roots, root: Path, request: Request, previous: Answer | None, progress: Progress
) -> tuple[Answer, Json]:
    """The pack for a request, and its JSON. `previous` is what the client has of it."""
    del previous  # Until the core keeps a predecessor's pieces in their places.

    def job(workspace: Workspace, report: Progress) -> tuple[Answer, Json]:
        answer = queries.answer(workspace, request, report)
        return answer, wire.answer_json(answer)

    answer, document = await roots.ask(root, job, progress)
    roots.saw(root, answer.scan)
    return answer, document
