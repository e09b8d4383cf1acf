"""Settings, rising: the repository's files, then the client's, then what the command says.

One table for all of them: `options.OPTIONS`. The repository's file speaks kebab-case
(`budget-tokens`), clients camelCase (`budgetTokens`). A value that cannot be leaves the one
below it and is a problem for people; it fails nothing.

A repository comes from anywhere: it may tighten what a request takes in and choose how the
bundle looks, but not bring ignored files back, pin files, or raise a limit.
"""

import logging
import os
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from types import MappingProxyType

from contextpack.request import Request
from contextpackd import files
from contextpackd.errors import SettingsProblem
from contextpackd.options import OPTIONS, Option, default_of, over

log = logging.getLogger(__name__)

REPOSITORY_FILES = (".contextpack.toml", "pyproject.toml")
"""Where a repository's settings stand; the first that has some wins."""

MAX_FILE_BYTES = 1 << 20  # A pyproject.toml above it is no settings file.

_PER_TASK = frozenset(
    {"only", "pins", "details", "focus", "origins", "depth", "importers", "diff", "staged"}
)
"""Options that mean something for one question only."""
_CLIENT_ONLY = frozenset({"include", "ledger"})
_ONLY_LOWER = frozenset({"budget_tokens", "max_file_bytes", "max_candidates"})


@dataclass(frozen=True, slots=True)
class Settings:
    """Values of options by field name, as they were written, and what was wrong with others."""

    values: Mapping[str, object]
    problems: tuple[SettingsProblem, ...]


NONE = Settings(MappingProxyType({}), ())

CLIENT_OPTIONS = tuple(option for option in OPTIONS if option.field not in _PER_TASK)
"""What a client may set for all its questions."""

REPOSITORY_OPTIONS = tuple(
    option for option in CLIENT_OPTIONS if option.field not in _CLIENT_ONLY
)
"""What a repository may set for everybody who works in it."""


def kebab(option: Option) -> str:
    """An option's name in a repository's file."""
    return option.field.replace("_", "-")


def client(document: object, before: Settings) -> Settings:
    """A client's `contextpack.*`. A value that cannot be leaves the one before."""
    if document is None:
        return NONE
    if not isinstance(document, Mapping):
        problem = SettingsProblem("client", "contextpack", "must be an object")
        return Settings(before.values, (problem,))
    # `null` is what clients send for a setting that nobody set.
    given = {str(key): value for key, value in document.items() if value is not None}
    return _read("client", given, CLIENT_OPTIONS, lambda option: option.json_name, before)


def repository(root: Path) -> Settings:
    """What the repository at a root sets. Never raises: what cannot be read is a problem."""
    for name in REPOSITORY_FILES:
        table = _table(root, name)
        if isinstance(table, SettingsProblem):
            return Settings(NONE.values, (table,))
        if table is not None:
            return _read(name, table, REPOSITORY_OPTIONS, kebab, NONE)
    return NONE


def of_repository(root: Path) -> Mapping[str, object]:
    """What the repository at a root sets, its problems said in the log."""
    found = repository(root)
    for problem in found.problems:
        log.warning("%s", problem)
    return found.values


def of_roots(roots: Collection[Path]) -> Mapping[str, object]:
    """The same of the only root: how the files of several look together, none of them says."""
    return of_repository(*roots) if len(roots) == 1 else NONE.values


def globs(*found: Settings) -> frozenset[str]:
    """The globs that settings give."""
    lists = (one.values.get(field) for one in found for field in ("include", "exclude"))
    return frozenset(
        glob for some in lists if isinstance(some, list | tuple) for glob in map(str, some)
    )


def rising(*levels: Mapping[str, object]) -> dict[str, object]:
    """The values by field name, each level over those before it; globs to exclude add up."""
    return reduce(over, levels, {})


def _table(root: Path, name: str) -> Mapping[str, object] | SettingsProblem | None:
    try:
        descriptor = files.opened(root, name)
    except OSError:
        return None  # Not there, or a link: nothing that the repository says.
    try:
        raw = files.content(descriptor, MAX_FILE_BYTES + 1)
    except OSError as error:
        return SettingsProblem(name, "contextpack", f"cannot be read: {error.strerror}")
    finally:
        os.close(descriptor)
    if len(raw) > MAX_FILE_BYTES:
        return SettingsProblem(name, "contextpack", f"stands in over {MAX_FILE_BYTES} bytes")
    try:
        document = tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        # A broken pyproject.toml is its own tools' to report, unless it names us.
        if name == REPOSITORY_FILES[0] or b"tool.contextpack" in raw:
            return SettingsProblem(name, "contextpack", f"cannot be read: {error}")
        return None
    if name == REPOSITORY_FILES[0]:
        return document
    tool = document.get("tool")
    table = tool.get("contextpack") if isinstance(tool, dict) else None
    if table is None or isinstance(table, dict):
        return table
    return SettingsProblem(name, "tool.contextpack", "must be a table")


def _read(
    source: str,
    document: Mapping[str, object],
    options: tuple[Option, ...],
    name: Callable[[Option], str],
    before: Settings,
) -> Settings:
    by_name = {name(option): option for option in options}
    refused = {name(option) for option in OPTIONS} - set(by_name)
    values: dict[str, object] = {}
    problems: list[SettingsProblem] = []
    for key, value in document.items():
        option = by_name.get(key)
        if option is None:
            why = "cannot be set here" if key in refused else "is no setting"
            problems.append(SettingsProblem(source, key, why))
            continue
        try:
            _check(option, value, may_raise=options is not REPOSITORY_OPTIONS)
        except ValueError as error:
            problems.append(SettingsProblem(source, key, str(error)))
            if option.field in before.values:
                values[option.field] = before.values[option.field]
        else:
            values[option.field] = value
    return Settings(MappingProxyType(values), tuple(problems))


def _check(option: Option, value: object, *, may_raise: bool) -> None:
    """Raise ValueError for a value that cannot be."""
    read = option.read(value)
    if not may_raise and option.field in _ONLY_LOWER:
        limit = default_of(option)
        if isinstance(limit, int) and isinstance(read, int) and read > limit:
            raise ValueError(f"may only lower the limit of {limit}, got {read}")
    if option.field == "reserve_tokens" and isinstance(read, int) and read >= 0:
        return  # It depends on the budget; the request will say.
    try:
        Request(query="", **{option.field: read})  # type: ignore[arg-type]  # `read` gives its type
    except ValueError as error:
        raise ValueError(str(error).partition(" ")[2]) from error
