"""What role a file plays, by its path: product code, a test, documentation, an example ..."""

import re
from enum import StrEnum

from contextpack.model import Path


class Kind(StrEnum):
    """The role of a file in its workspace."""

    SOURCE = "source"
    TEST = "test"
    DOCUMENT = "document"
    EXAMPLE = "example"
    TOOLING = "tooling"
    """Benchmarks, scripts, continuous integration."""
    VENDORED = "vendored"
    DATA = "data"
    """Configuration, markup, styles."""


KINDS = tuple(Kind)
"""In the order by which columns number them."""

_DIRECTORIES = (
    (Kind.VENDORED, frozenset({"vendor", "vendors", "vendored", "_vendor", "third_party", "node_modules", "extern", "legacy", "deprecated"})),
    (Kind.TEST, frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "e2e", "__mocks__", "__snapshots__", "fixtures", "testdata", "test-dts", "playground"})),
    (Kind.EXAMPLE, frozenset({"example", "examples", "demo", "demos", "sample", "samples", "tutorial", "tutorials"})),
    (Kind.DOCUMENT, frozenset({"doc", "docs", "documentation", "website", "changelog", "changelogs", "blog"})),
    (Kind.TOOLING, frozenset({"bench", "benches", "benchmark", "benchmarks", "script", "scripts", ".github", "ci", "tools"})),
)  # fmt: skip
_TEST_NAME = re.compile(
    r"^(?:test_.*|tests?|conftest|.*[._-](?:test|tests|spec|e2e|bench|test-d)|.*Tests?)$"
)
_DOCUMENT_NAME = re.compile(
    r"^(?:AUTHORS|CHANGELOG|CHANGES|CONTRIBUTING|CONTRIBUTORS|COPYING|HISTORY|LICEN[CS]E"
    r"|MAINTAINERS|NEWS|NOTICE|README|TODO)\b"
)
_DOCUMENT_SUFFIXES = (".md", ".mdx", ".rst", ".txt", ".adoc")
_DATA_SUFFIXES = (
    ".json", ".jsonc", ".json5", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".xml", ".svg", ".csv",
    ".html", ".htm", ".css", ".scss", ".less", ".po", ".pot", ".lock", ".snap", ".conf",
)  # fmt: skip


_SOURCE_DIRECTORIES = frozenset({"src", "lib", "source", "sources"})


def _source_depth(directories: list[str]) -> int:
    """How many directories stand above the outermost source directory; all without one."""
    for depth, directory in enumerate(directories):
        if directory in _SOURCE_DIRECTORIES:
            return depth
    return len(directories)


def kind_of(path: Path) -> Kind:
    """The role of a file. Its directories decide first, then its name, then its suffix.

    Below a source directory names say what the product is about (`src/compiler/script`), except
    for tests, which stand beside what they test.
    """
    *directories, name = path.split("/")
    lowered = [directory.lower() for directory in directories]
    outside = lowered[: _source_depth(lowered)]
    for kind, names in _DIRECTORIES:
        telling = lowered if kind is Kind.TEST else outside
        if any(directory in names for directory in telling):
            return kind
    if _TEST_NAME.match(name.rpartition(".")[0] or name):
        return Kind.TEST
    if name.lower().endswith(_DOCUMENT_SUFFIXES) or _DOCUMENT_NAME.match(name):
        return Kind.DOCUMENT
    if name.startswith(".") or name.lower().removesuffix(".jinja").endswith(_DATA_SUFFIXES):
        return Kind.DATA
    return Kind.SOURCE
