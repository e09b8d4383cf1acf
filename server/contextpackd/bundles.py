"""Bundles that were made before: whether they still hold, and what their question gives now."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from contextpack.excerpts import Check, Excerpt, Excerpts, Status, checks, excerpts
from contextpack.model import Detail, Piece, Section, Skip
from contextpack.model import Path as ShownPath
from contextpack.request import Request
from contextpack.snapshot import Source
from contextpack.stable import Standing
from contextpack.text import Lined, Lines, display_path, lined
from contextpackd.errors import BundleProblem, OptionProblem, Superseded
from contextpackd.options import request_from_json
from contextpackd.queries import MAX_ATTEMPTS, Answer, answer, discovery_of
from contextpackd.view import Progress
from contextpackd.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Verification:
    """A bundle held against a workspace."""

    root: str
    found: Excerpts
    checks: tuple[Check, ...]
    rules: Mapping[str, Skip]
    """Why files that the bundle shows are left out of the workspace now, by shown path."""

    @property
    def holds(self) -> bool:
        """Whether the workspace says everything that the bundle shows."""
        is_whole = not self.found.problems and self.found.is_intact is not False
        return is_whole and all(check.status is Status.HOLDS for check in self.checks)


@dataclass(frozen=True, slots=True)
class Renewal:
    """The question of a bundle, asked again."""

    answer: Answer
    difference: str
    """From the old text to the new one, as `diff -u` shows it; empty where they are equal."""


def read_bundle(file: Path, data: bytes) -> str:
    """The text of a bundle. Raises `BundleProblem` when it shows nothing."""
    text = data.decode("utf-8-sig", "replace")
    if not excerpts(text).parts and not excerpts(text).problems:
        raise BundleProblem(str(file), "shows no lines of files as a bundle does")
    return text


def verification(workspace: Workspace, text: str, progress: Progress) -> Verification:
    """A bundle's text held against what is on disk now. Raises as `queries.answer` does."""
    found = excerpts(text)
    try:
        asked = _request(found) or Request(query="")
    except OptionProblem:  # Another version's stamp: it does not matter for what is shown.
        asked = Request(query="")
    shown = {part.path for part in found.parts}
    sources, files, skipped = _files(workspace, asked, shown, progress)
    left_out = {skip.path: skip for skip in skipped if skip.path in shown - sources.keys()}
    return Verification(
        root=str(workspace.root),
        found=found,
        checks=checks(found, files),
        rules=MappingProxyType(left_out),
    )


def renewal(workspace: Workspace, file: Path, text: str, progress: Progress) -> Renewal:
    """What the question in a bundle's stamp gives now; what still holds keeps its place.

    Raises `BundleProblem` for a bundle without a stamp, or with one that asks for what cannot be,
    and as `queries.answer` does.
    """
    found = excerpts(text)
    try:
        request = _request(found)
    except OptionProblem as error:
        raise BundleProblem(str(file), f"has a stamp that cannot be asked: {error}") from error
    if request is None:
        raise BundleProblem(
            str(file), "does not say what was asked; make it with --stamp, or pack again"
        )
    shown = {part.path for part in found.parts}
    sources, files, _ = _files(workspace, request, shown, progress)
    standing = replace(_standing(found, text, sources, files), request=request)
    result = answer(workspace, request, progress, standing)
    return Renewal(result, difference(file, text, result.pack.text))


def difference(file: Path, then: str, now: str) -> str:
    """From a bundle's old text to its new one, as `diff -u` shows it; empty where equal."""
    if _is_converted(then):
        then, now = (shown.replace("\r\n", "\n") for shown in (then, now))
    lines = difflib.unified_diff(
        then.splitlines(keepends=True),
        now.splitlines(keepends=True),
        f"{file} (then)",
        f"{file} (now)",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _is_converted(text: str) -> bool:
    """Whether an editor or a mail gave the whole bundle other line ends: its own are bare."""
    return text.partition("\n")[0].endswith("\r")


def is_nothing_else(text: str) -> bool:
    """Whether a text is a bundle with nothing around it, so that it may be written anew."""
    starts = ("Code from a workspace", "Task:\n", "<context>\n")
    return text.startswith(starts) and text.endswith("-->\n")


def _request(found: Excerpts) -> Request | None:
    if found.stamp is None:
        return None
    return request_from_json(found.stamp.question, other=frozenset(), below={})


def _files(
    workspace: Workspace, request: Request, shown: set[str], progress: Progress
) -> tuple[Mapping[str, Source], Mapping[str, Lined], tuple[Skip, ...]]:
    """The files with these shown paths, and their texts; and what is left out."""
    for _ in range(MAX_ATTEMPTS):
        snapshot = workspace.scan(discovery_of(request), progress).snapshot
        sources = {
            name: source
            for source in snapshot.in_path_order()
            if (name := display_path(source.path)) in shown
        }
        paths = [source.path for source in sources.values()]
        texts = workspace.texts(snapshot, paths, request.max_file_bytes)
        if texts is not None:
            files = {name: lined(texts[source.path]) for name, source in sources.items()}
            return sources, files, snapshot.skipped
    raise Superseded(str(workspace.root))


def _standing(
    found: Excerpts,
    text: str,
    sources: Mapping[str, Source],
    files: Mapping[str, Lined],
) -> Standing:
    """What stands in the old bundle. A file is unchanged if all that is shown of it holds."""
    pieces: list[Piece] = []
    digests: dict[ShownPath, str] = {}
    for part in found.parts:
        source = sources.get(part.path)
        path = source.path if source else part.path
        own = checks(replace(found, parts=(part,)), files)
        if source and all(check.status is Status.HOLDS for check in own):
            pieces.append(_piece(part, source, files[part.path]))
            digests[path] = source.digest
        else:
            pieces.append(_old_piece(part, path))
            digests[path] = ""
    return Standing(text, 1, tuple(pieces), MappingProxyType(digests))


def _piece(part: Excerpt, source: Source, file: Lined) -> Piece:
    spans = [shown.lines for shown in part.shown]
    is_whole = spans == [file.whole]
    detail = Detail.WHOLE if is_whole else Detail.CHUNKS
    return Piece(
        path=source.path,
        language=source.language,
        detail=Detail(part.detail) if part.detail else detail,
        sections=tuple(
            Section(shown.lines, file.of(shown.lines) if shown.lines else "".join(shown.rows))
            for shown in part.shown
        ),
        n_lines=len(file),
    )


def _old_piece(part: Excerpt, path: ShownPath) -> Piece:
    """What the bundle showed of a file that is another now, or gone."""
    sections = tuple(
        Section(shown.lines, "".join(f"{row}\n" for row in shown.rows)) for shown in part.shown
    )
    last = max((shown.lines.end for shown in part.shown if shown.lines), default=1)
    return Piece(path, "", Detail.CHUNKS, sections, last)


def shown_lines(lines: Lines | None) -> str:
    """A range for people; a part of a line has none."""
    if lines is None:
        return "(part of a line)"
    return f"{lines.start}-{lines.end}" if lines.end > lines.start else f"{lines.start}"
