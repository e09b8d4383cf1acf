"""The Python door: the same answers as every other one."""

import weakref
from pathlib import Path

from contextpack.bundle import Pack
from contextpack.request import Request
from contextpackd import settings
from contextpackd.disk import check_root
from contextpackd.options import OPTIONS, request_of
from contextpackd.queries import Answer, answer
from contextpackd.why import Why, why
from contextpackd.wire import Json, answer_json, why_json
from contextpackd.workspace import Engine, Workspace, engine


class Root:
    """A workspace that stays warm between questions: only what changed is read again."""

    def __init__(self, workspace: Workspace, shared: Engine) -> None:
        self._workspace = workspace
        # Whoever forgets to close it leaves no process behind either.
        self._end = weakref.finalize(self, shared.close)

    def __enter__(self) -> "Root":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Keep what is known for the next process, and end the worker processes."""
        self._workspace.close()
        self._end()

    @property
    def path(self) -> Path:
        """The root, resolved."""
        return self._workspace.root

    def pack(
        self,
        query: str,
        budget_tokens: int | str | None = None,
        *,
        previous: Pack | None = None,
        **options: object,
    ) -> Pack:
        """The pack for a task in words. `options` are the fields of `contextpack.Request`.

        With a predecessor, what it shows keeps its place and bytes where that costs little; the
        pack's `changes` name the rest. Raises `contextpackd.errors.OptionProblem` for a value
        that cannot be.
        """
        return self._answer(query, budget_tokens, previous, options).pack

    def pack_json(
        self,
        query: str,
        budget_tokens: int | str | None = None,
        *,
        previous: Pack | None = None,
        **options: object,
    ) -> Json:
        """The same as the JSON of `contextpackd pack --format json`."""
        return answer_json(self._answer(query, budget_tokens, previous, options))

    def why(
        self,
        path: str,
        query: str,
        budget_tokens: int | str | None = None,
        *,
        line: int | None = None,
        previous: Pack | None = None,
        **options: object,
    ) -> Why:
        """Why a file, or the part of it at a line (from 1), is in the pack for a task, or out.

        Everything else as in `pack`.
        """
        request = self._request(query, budget_tokens, options)
        standing = previous.standing if previous else None
        result = why(self._workspace, request, path, line, lambda _done, _total: None, standing)
        self._workspace.save()
        return result

    def why_json(
        self,
        path: str,
        query: str,
        budget_tokens: int | str | None = None,
        *,
        line: int | None = None,
        previous: Pack | None = None,
        **options: object,
    ) -> Json:
        """The same as the JSON of `contextpackd why --format json`."""
        return why_json(
            self.why(path, query, budget_tokens, line=line, previous=previous, **options)
        )

    def _answer(
        self,
        query: str,
        budget_tokens: int | str | None,
        previous: Pack | None,
        options: dict[str, object],
    ) -> Answer:
        request = self._request(query, budget_tokens, options)
        standing = previous.standing if previous else None
        result = answer(self._workspace, request, lambda _done, _total: None, standing)
        self._workspace.save()
        return result

    def _request(
        self, query: str, budget_tokens: int | str | None, options: dict[str, object]
    ) -> Request:
        if budget_tokens is not None:
            options = {**options, "budget_tokens": budget_tokens}
        unknown = set(options) - {option.field for option in OPTIONS}
        if unknown:
            raise TypeError(f"no option of a pack: {', '.join(sorted(unknown))}")
        values = settings.rising(settings.of_repository(self.path), options)
        return request_of(query, values, lambda option: option.field)


def open_root(root: str | Path, *, force: bool = False) -> Root:
    """A directory as a workspace. Nothing is read before the first question.

    Raises `contextpackd.errors.RootProblem`; `force` accepts `/` and the home directory.
    """
    checked = check_root(Path(root), force=force)
    shared = engine()
    return Root(Workspace(checked, shared), shared)
