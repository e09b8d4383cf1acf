"""The Python door: the same answers as every other one."""

import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from contextpack.bundle import Pack
from contextpack.request import Request, Scorer
from contextpackd import settings
from contextpackd.disk import check_root
from contextpackd.joint import Joint, Site, named, only_root
from contextpackd.options import OPTIONS, request_of
from contextpackd.queries import Answer, FileScorer, answer
from contextpackd.why import Why, why
from contextpackd.wire import Json, answer_json, why_json
from contextpackd.workspace import Engine, Workspace, engine


class Root:
    """A workspace that stays warm between questions: only what changed is read again.

    Or several as one, under one budget: then each path of a pack begins with the name of its root.
    """

    def __init__(self, workspaces: Mapping[str, Workspace], shared: Engine) -> None:
        self._workspaces = tuple(workspaces.values())
        is_one = len(workspaces) == 1
        self._site: Site = self._workspaces[0] if is_one else Joint(workspaces)
        # Whoever forgets to close it leaves no process behind either.
        self._end = weakref.finalize(self, shared.close)

    def __enter__(self) -> "Root":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Keep what is known for the next process, and end the worker processes."""
        for workspace in self._workspaces:
            workspace.close()
        self._end()

    @property
    def path(self) -> Path:
        """The root, resolved. Raises ValueError where there are several: see `paths`."""
        return only_root(self._site)

    @property
    def paths(self) -> Mapping[str, Path]:
        """The roots, resolved, by what paths begin with; that is empty for a single one."""
        return self._site.roots

    def pack(
        self,
        query: str,
        budget_tokens: int | str | None = None,
        *,
        previous: Pack | None = None,
        **options: object,
    ) -> Pack:
        """The pack for a task in words. `options` are the fields of `contextpack.Request`.

        `scorer` may be a function, too: it takes the task and a mapping of the candidates' paths
        to their texts, and gives scores of whole files by path. Those above 0 are relevant.

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
        if callable(options.get("scorer")):
            raise TypeError("JSON has no name for a scorer that is a function: use pack")
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
        result = why(self._site, request, path, line, lambda _done, _total: None, standing)
        self._save()
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
        own = options.get("scorer")
        scorer = cast("FileScorer", own) if callable(own) else None
        if scorer is not None:
            options = {**options, "scorer": Scorer.CLASSIC.value}
        request = self._request(query, budget_tokens, options)
        standing = previous.standing if previous else None
        result = answer(
            self._site, request, lambda _done, _total: None, standing, scorer=scorer
        )
        self._save()
        return result

    def _save(self) -> None:
        for workspace in self._workspaces:
            workspace.save()

    def _request(
        self, query: str, budget_tokens: int | str | None, options: dict[str, object]
    ) -> Request:
        if budget_tokens is not None:
            options = {**options, "budget_tokens": budget_tokens}
        unknown = set(options) - {option.field for option in OPTIONS}
        if unknown:
            raise TypeError(f"no option of a pack: {', '.join(sorted(unknown))}")
        is_one = len(self._workspaces) == 1
        values = settings.rising(settings.of_repository(self.path) if is_one else {}, options)
        return request_of(query, values, lambda option: option.field)


def open_root(root: str | Path, *others: str | Path, force: bool = False) -> Root:
    """A directory as a workspace, or several as one. Nothing is read before the first question.

    Raises `contextpackd.errors.RootProblem`; `force` accepts `/` and the home directory.
    """
    roots = named(check_root(Path(one), force=force) for one in (root, *others))
    shared = engine()
    return Root({name: Workspace(one, shared) for name, one in roots.items()}, shared)
