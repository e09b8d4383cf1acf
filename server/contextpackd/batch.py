"""Questions as JSON lines, answers as JSON lines: one process that stays warm."""

import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from contextpack.errors import PackError
from contextpack.request import Request
from contextpack.text import writable
from contextpackd import settings
from contextpackd.disk import checked_root
from contextpackd.errors import DaemonError, LineProblem, OptionProblem
from contextpackd.options import request_from_json
from contextpackd.queries import answer
from contextpackd.wire import Json, answer_json, error_json
from contextpackd.workspace import Engine, Workspace, engine

log = logging.getLogger(__name__)

# Workspaces that are kept warm; the one that was asked longest ago goes first. A root of 3 000
# files holds about 60 MB.
MAX_WORKSPACES = 8

_FIELDS = frozenset({"root", "force"})
"""The fields of a line that are not the request's."""


def answers(lines: Iterable[str], *, force: bool) -> Iterator[str]:
    """The answer to each line that is not blank, as a line of JSON without its end."""
    workspaces: dict[Path, Workspace] = {}
    shared = engine()
    try:
        for line in lines:
            if line.strip():
                yield encoded(_answered(line, workspaces, shared, force=force))
    finally:
        for workspace in workspaces.values():
            workspace.close()
        shared.close()


def encoded(document: Json) -> str:
    """An answer as a line, without its end."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def question(line: str, folder: Path, *, force: bool) -> tuple[Path, Request]:
    """The root and the request of a line; relative roots are below `folder`.

    Raises what `error_of` makes an answer of.
    """
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LineProblem(f"a line must be a JSON object: {error}") from error
    if not isinstance(document, dict):
        raise LineProblem("a line must be a JSON object")
    given = document.get("root")
    if not isinstance(given, str) or not given or "\0" in given:
        raise OptionProblem("root", "must be the path of a directory", given)
    is_forced = force or document.get("force") is True
    root = checked_root(Path(given), folder, force=is_forced)
    below = settings.of_repository(root)
    return root, request_from_json(document, other=_FIELDS, below=below)


def error_of(error: DaemonError | PackError) -> Json:
    """The answer to a line that cannot be answered as asked."""
    match error:
        case OptionProblem():
            return error_json("INVALID_OPTION", str(error), {"option": writable(error.option)})
        case LineProblem():
            return error_json("INVALID_LINE", str(error))
        case DaemonError():
            return error_json(_code(error), str(error))
        case PackError():
            return error_json(error.code.value, error.message)


def _answered(
    line: str, workspaces: dict[Path, Workspace], shared: Engine, *, force: bool
) -> Json:
    try:
        root, request = question(line, Path(), force=force)
        workspace = _workspace(root, workspaces, shared)
        return answer_json(answer(workspace, request, lambda _done, _total: None))
    except (DaemonError, PackError) as error:
        return error_of(error)
    except Exception as error:
        log.exception("a line failed")
        return error_json("INTERNAL", f"internal error: {error!r}; the traceback is on stderr")


def _workspace(root: Path, workspaces: dict[Path, Workspace], shared: Engine) -> Workspace:
    workspace = workspaces.pop(root, None) or Workspace(root, shared)
    workspaces[root] = workspace
    while len(workspaces) > MAX_WORKSPACES:
        workspaces.pop(next(iter(workspaces))).close()
    return workspace


def _code(error: DaemonError) -> str:
    words = [f"_{char}" if char.isupper() else char for char in type(error).__name__]
    return "".join(words).strip("_").upper()
