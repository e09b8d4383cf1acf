"""Questions as JSON lines, answers as JSON lines: one process that stays warm."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from contextpack.errors import PackError
from contextpack.text import writable
from contextpackd import settings
from contextpackd.disk import check_root
from contextpackd.errors import DaemonError, OptionProblem
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
                document = _answered(line, workspaces, shared, force=force)
                yield json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    finally:
        for workspace in workspaces.values():
            workspace.close()
        shared.close()


def _answered(
    line: str, workspaces: dict[Path, Workspace], shared: Engine, *, force: bool
) -> Json:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        return error_json("INVALID_LINE", f"a line must be a JSON object: {error}")
    if not isinstance(document, dict):
        return error_json("INVALID_LINE", "a line must be a JSON object")
    try:
        workspace = _workspace(document, workspaces, shared, force=force)
        request = request_from_json(
            document, other=_FIELDS, below=settings.of_repository(workspace.root)
        )
        return answer_json(answer(workspace, request, lambda _done, _total: None))
    except OptionProblem as error:
        return error_json("INVALID_OPTION", str(error), {"option": writable(error.option)})
    except DaemonError as error:
        return error_json(_code(error), str(error))
    except PackError as error:
        return error_json(error.code.value, error.message)
    except Exception as error:
        log.exception("a line failed")
        return error_json("INTERNAL", f"internal error: {error!r}; the traceback is on stderr")


def _workspace(
    document: Mapping[str, object],
    workspaces: dict[Path, Workspace],
    shared: Engine,
    *,
    force: bool,
) -> Workspace:
    root = document.get("root")
    if not isinstance(root, str) or not root or "\0" in root:
        raise OptionProblem("root", "must be the path of a directory", root)
    file = check_root(Path(root), force=force or document.get("force") is True)
    workspace = workspaces.pop(file, None) or Workspace(file, shared)
    workspaces[file] = workspace
    while len(workspaces) > MAX_WORKSPACES:
        workspaces.pop(next(iter(workspaces))).close()
    return workspace


def _code(error: DaemonError) -> str:
    words = [f"_{char}" if char.isupper() else char for char in type(error).__name__]
    return "".join(words).strip("_").upper()
