"""The classic scorer: keywords, one hop of imports, recency. Kept as the ancestor has it.

It counts query words as substrings and reads imports with patterns, from comments and strings
too. The default scorer does neither; this one stays for those who rely on its numbers.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from contextpack.truncate import plain_number

PATH_MATCH = 10.0  # For each query term in the path.
CONTENT_MATCH = 2.0  # For each occurrence in the content.
IMPORT_SHARE = 0.3  # Of an importer's keyword score, to each file that it imports.
RECENCY_SPAN = 3.0  # From the oldest file of the set to the newest.

# What `\s` and `trim` mean in JavaScript; Python's own class differs in six characters.
_SPACE = " \t\n\v\f\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACES = re.compile(f"[{_SPACE}]+")
_ONE_SPACE = re.compile(f"[{_SPACE}]")
_DELIMITER = re.compile("['\";]")
_QUOTE = re.compile("['\"]")
# Possessive throughout: no input makes it look at a character more than a few times.
_REQUIRE = re.compile(rf"""require\([{_SPACE}]*+['"]([^'"]++)['"][{_SPACE}]*+\)""")

_SUFFIXES = (
    "", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", "/index.js", "/index.mjs", "/index.ts",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class File:
    """A candidate. `modified_at` is any clock's number, such as milliseconds; None if unknown."""

    path: str
    content: str
    modified_at: float | None = None


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """A candidate with its score; higher is better."""

    path: str
    content: str
    score: float


F = TypeVar("F", File, ScoredFile)


def known_files(files: object, kind: type[F], argument: str) -> tuple[F, ...]:
    """The files of any iterable, gone through once.

    Raises TypeError, with the argument's name, for anything but files whose paths and contents
    are text.
    """
    if not isinstance(files, Iterable) or isinstance(files, str | bytes | Mapping):
        expected = f"must be an iterable of {kind.__name__}"
        raise TypeError(f"`{argument}` {expected}, got {type(files).__name__}")
    known = []
    for position, file in enumerate(files):
        if not isinstance(file, kind):
            problem = f"must hold {kind.__name__} only, got {type(file).__name__}"
            raise TypeError(f"`{argument}` {problem} at {position}")
        # Of any type: the annotations are a promise that callers may break.
        parts: dict[str, object] = {"path": file.path, "content": file.content}
        for name, part in parts.items():
            if not isinstance(part, str):
                problem = f"whose {name} is not text but {type(part).__name__}"
                raise TypeError(f"`{argument}` holds a file at {position} {problem}")
        known.append(file)
    return tuple(known)


def normalize_query(query: str) -> tuple[str, ...]:
    """The lower-case words of a query, each once, in order. TypeError for one that is no text."""
    given: object = query
    if not isinstance(given, str):
        raise TypeError(f"`query` must be text, got {type(given).__name__}")
    return tuple(dict.fromkeys(term for term in _SPACES.split(query.lower()) if term))


def score_file(file: File, terms: Sequence[str]) -> float:
    """The file's own score: its keywords, and a small bonus for a path near the root."""
    return _keyword_score(file, terms) + _depth_bonus(file.path)


def score_repo(files: Iterable[File], terms: Sequence[str]) -> tuple[ScoredFile, ...]:
    """Every file with its score, in the given order.

    An importer with matches of its own lends a share to what it imports, one hop far. Recency
    is relative to this set: nothing depends on the time of the call. Raises TypeError for
    anything but files.
    """
    files = known_files(files, File, "files")
    keywords = {file.path: _keyword_score(file, terms) for file in files}
    lent = dict.fromkeys(keywords, 0.0)
    for importer, targets in build_import_graph(files).items():
        for target in targets:
            lent[target] += keywords[importer] * IMPORT_SHARE
    recency = _recency([_time(file) for file in files])
    return tuple(
        ScoredFile(file.path, file.content, score_file(file, terms) + lent[file.path] + recent)
        for file, recent in zip(files, recency, strict=True)
    )


def build_import_graph(files: Sequence[File]) -> dict[str, tuple[str, ...]]:
    """For each path the paths that it imports, in order of first mention, itself left out."""
    known = {file.path for file in files}
    graph = {}
    for file in files:
        specifiers = extract_import_specifiers(file.content)
        targets = [resolve_import_path(file.path, specifier, known) for specifier in specifiers]
        unique = dict.fromkeys(target for target in targets if target is not None)
        unique.pop(file.path, None)
        graph[file.path] = tuple(unique)
    return graph


def extract_import_specifiers(content: str) -> tuple[str, ...]:
    """The relative and absolute specifiers of `import`, then `export`, then `require`.

    Each once, in order of first mention. Packages (`lodash`) are left out. Takes time linear in
    the length of any content.
    """
    found = [
        *_from_specifiers("import", content),
        *_from_specifiers("export", content),
        *_REQUIRE.findall(content),
    ]
    return tuple(dict.fromkeys(name for name in found if name.startswith((".", "/"))))


def resolve_import_path(
    from_path: str, specifier: str, known_paths: Collection[str]
) -> str | None:
    """The known path that a specifier means, trying extensions and index files; None if none.

    Joined as Node's `path.posix.join` does: a leading slash is relative too, a trailing one
    stays (and finds nothing), and `.` at the root finds no index file. Give a set of paths.
    """
    directory, slash, _ = from_path.rpartition("/")
    base = _joined(directory or slash or ".", specifier)
    candidates = (base + suffix for suffix in _SUFFIXES)
    return next((path for path in candidates if path in known_paths), None)


def _keyword_score(file: File, terms: Sequence[str]) -> float:
    path, content = file.path.lower(), file.content.lower()
    in_path = sum(term in path for term in terms if term)
    in_content = sum(content.count(term) for term in terms if term)
    return PATH_MATCH * in_path + CONTENT_MATCH * in_content


def _depth_bonus(path: str) -> float:
    n_parts = sum(part != "" for part in path.split("/"))
    return 1 / max(n_parts, 1)


def _time(file: File) -> float | None:
    """When the file was modified, as a finite number; None if that is unknown."""
    if file.modified_at is None:
        return None
    time = plain_number(file.modified_at)
    if time is None:
        problem = f"must be a number or None, got {type(file.modified_at).__name__}"
        raise TypeError(f"`modified_at` {problem} for {file.path!r}")
    try:
        return time if math.isfinite(time) else None
    except OverflowError:  # An int that no float can hold.
        return None


def _recency(times: Sequence[float | None]) -> list[float]:
    finite = [time for time in times if time is not None]
    if not finite:
        return [0.0] * len(times)
    oldest, span = min(finite), max(finite) - min(finite)
    return [
        0.0 if time is None else RECENCY_SPAN * ((time - oldest) / span if span else 1.0)
        for time in times
    ]


def _from_specifiers(keyword: str, content: str) -> Iterator[str]:
    r"""What `keyword\s+(?:[^'";]+?\s+from\s+)?['"]([^'"]+)['"]` finds, in linear time.

    That pattern's three runs overlap in spaces. But between the keyword and the opening quote
    stands no other quote and no semicolon, so the next delimiter decides: it must be a quote,
    and the text before it must be spaces only, or end in ` from ` after some binding.
    """
    start, delimiter = 0, -1
    spaces_from = 0  # Where the spaces before the delimiter begin.
    while (start := content.find(keyword, start)) >= 0:
        after = start + len(keyword)
        start = after
        if delimiter < after:
            found = _DELIMITER.search(content, after)
            if not found:
                return
            delimiter = found.start()
            spaces_from = _spaces_before(content, delimiter)
        if not _opens_specifier(content, after, spaces_from, delimiter):
            continue
        closing = _QUOTE.search(content, delimiter + 1)
        if not closing:
            return
        if closing.start() > delimiter + 1:
            yield content[delimiter + 1 : closing.start()]
            start = closing.end()


def _opens_specifier(content: str, after: int, spaces_from: int, delimiter: int) -> bool:
    if content[delimiter] == ";" or spaces_from == delimiter:
        return False
    if not _ONE_SPACE.match(content, after):
        return False
    if spaces_from == after:
        return True
    word = spaces_from - len("from")
    # Before it: a space, a binding of one character or more (a space will do), and a space.
    return (
        word >= after + 3
        and content.startswith("from", word)
        and _ONE_SPACE.match(content, word - 1) is not None
    )


def _spaces_before(content: str, end: int) -> int:
    while end > 0 and _ONE_SPACE.match(content, end - 1):
        end -= 1
    return end


def _joined(directory: str, specifier: str) -> str:
    path = f"{directory}/{specifier}"
    is_absolute = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part == ".." and is_absolute:
            continue
        elif part not in ("", "."):
            parts.append(part)
    joined = "/" * is_absolute + "/".join(parts)
    if path.endswith("/") and parts:
        joined += "/"
    return joined or "."
