"""The nouns of the project: frozen values that every other module speaks of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from contextpack.text import Lines

Path = str
"""A path relative to the root, `/` between its parts, as `os.fsdecode` gives it.

It may hold lone surrogates (bytes that are not UTF-8); `text.display_path` makes it printable.
"""


class Detail(StrEnum):
    """In which form a file stands in a bundle."""

    WHOLE = "whole"
    CHUNKS = "chunks"  # Some ranges of lines, the gaps between them marked.
    OUTLINE = "outline"  # The signatures of its definitions.
    TRUNCATED = "truncated"  # Cut to the tokens that were left.


class Outcome(StrEnum):
    """What became of one candidate. The first four are the details."""

    WHOLE = "whole"
    CHUNKS = "chunks"
    OUTLINE = "outline"
    TRUNCATED = "truncated"
    EXCLUDED = "excluded"


class Reason(StrEnum):
    """Why: the closed list of reasons in a ledger."""

    # Included.
    RANKED = "ranked"  # Its score won it a place.
    PINNED = "pinned"  # The request named it.
    # Left out by the choice.
    NEAR_DUPLICATE = "near-duplicate"  # `duplicate_of` holds the path that has its place.
    OVER_BUDGET = "over-budget"  # It was chosen, and did not fit any more.
    BELOW_CUT = "below-cut"  # Relevant, but better ones took the budget.
    MAX_CANDIDATES = "max-candidates"  # Ranked beyond `max_candidates`.
    NOT_RELEVANT = "not-relevant"  # Nothing of the query is in it.
    # Left out before any choice.
    IGNORED = "ignored"  # `rule` says which ignore rule, as `file:line: pattern`.
    EXCLUDED = "excluded"  # An `exclude` option matches it.
    NOT_INCLUDED = "not-included"  # There are `include` options and none matches it.
    SECRET = "secret"  # Its name says that it holds credentials, or it holds a private key.
    BINARY = "binary"
    TOO_LARGE = "too-large"
    MINIFIED = "minified"
    GENERATED = "generated"
    EMPTY = "empty"
    UNREADABLE = "unreadable"
    SYMLINK = "symlink"  # It points out of the root, at a candidate, at nothing, or in a loop.
    SPECIAL = "special"  # A FIFO, a socket or a device: never opened.
    SUBMODULE = "submodule"  # A submodule that is not checked out.
    TOO_SLOW = "too-slow"  # Reading its text took longer than any sound file does.
    CRASHED = "crashed"  # The parser or another part of ours failed on it; `rule` says how.


class ImportKind(StrEnum):
    """How an import is written, as far as a reader of the graph may care."""

    STATIC = "static"
    TYPE = "type"  # Only for the type checker: `import type`, `TYPE_CHECKING`, stubs.
    # `import()` or `importlib` with a literal; a computed path in Ruby, PHP and Bash.
    DYNAMIC = "dynamic"
    REQUIRE = "require"
    MOCK = "mock"  # `jest.mock`, `vi.mock`: names a module without using it.
    COMPUTED = "computed"  # The specifier is an expression's source: nothing can resolve it.


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement's target as it is written, before anything resolves it.

    Python: `specifier` is the dotted module without leading dots, `level` their number, and
    `names` what a `from` takes from it (`*` for a star). JS/TS: `specifier` is the string.
    Go: the import path. Rust: a path as it is used (`crate::a::B`, `a::*`, `::std::io`), one for
    each name of a group, or a declaration (`mod x`, `mod "x.rs"` with a `#[path]`); `names` are
    the modules written in the file around it. Java: the dotted name, `names` is `*` for a
    wildcard, and `level` the number of parts of the file's own package, 0 without one. C and
    C++: the path, in `<>` as written; what a macro or `#include_next` names is `DYNAMIC`.
    The other languages say at the top of their modules what the fields hold.
    """

    specifier: str
    line: int
    level: int = 0
    names: tuple[str, ...] = ()
    kind: ImportKind = ImportKind.STATIC


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition: its whole span and the lines of its signature (decorators included)."""

    name: str
    kind: str
    lines: Lines
    signature: Lines
    depth: int
    """0 at the top level, 1 inside one class or function, and so on."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A range of lines worth showing by itself. The chunks of a text cover it, in order."""

    lines: Lines
    tokens: int
    """Of its text alone, counted with the facts' counter."""
    is_data: bool = False
    """Nothing to read, such as the outputs of a notebook: it has no terms."""


@dataclass(frozen=True, slots=True)
class TermCounts:
    """How often which term stands in which chunk, by field; parallel arrays as bytes.

    Bytes are immutable, small, and ready for a store. `n` postings: `chunks` holds `n` uint32
    indices of chunks, `terms` `n` uint32 indices into `vocabulary`, `body` and `names` `n`
    uint16 counts each (in the text, and among the names that the chunk defines), all little
    endian. Sorted by chunk, then by term.
    """

    vocabulary: str
    """The distinct terms of the text, joined by newlines, in order of first use."""
    chunks: bytes
    terms: bytes
    body: bytes
    names: bytes


@dataclass(frozen=True, slots=True)
class Facts:
    """What one text says, from the text and its language alone: never the path or neighbours."""

    language: str
    n_lines: int
    tokens: int
    imports: tuple[Import, ...]
    symbols: tuple[Symbol, ...]
    chunks: tuple[Chunk, ...]
    problems: tuple[str, ...] = ()
    """What could not be read of it, in words; empty for sound text."""


@dataclass(frozen=True, slots=True)
class Section:
    """A run of verbatim text in a piece. `lines` is None when it holds no complete line."""

    lines: Lines | None
    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """What of one file goes into a bundle, ready to be rendered. Sections stand in file order."""

    path: str
    language: str
    """The tag of a Markdown fence; empty for plain text."""
    detail: Detail
    sections: tuple[Section, ...]
    n_lines: int
    """Of the whole file, so that gaps at its end can be marked."""


class Format(StrEnum):
    """The syntax of a bundle's text."""

    MARKDOWN = "markdown"
    XML = "xml"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Style:
    """How a bundle is written down. Every part of it is counted."""

    format: Format = Format.MARKDOWN
    task: str | None = None
    """The task to print on top, or None."""
    tree: bool = False
    """Whether a directory tree of the bundle's files stands on top."""
    line_numbers: bool = False
    stamp: str | None = None
    """The question as `stamp.question_of` writes it, to print at the end, or None."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What became of one candidate, and why. Every candidate has exactly one."""

    path: str
    outcome: Outcome
    reason: Reason
    tokens: int | None = None
    """Of its part in the bundle, or of the whole file when it is left out; None if unread."""
    score: float | None = None
    duplicate_of: str | None = None
    similarity: float | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """A file or directory that was left out before any choice, and why."""

    path: str
    reason: Reason
    rule: str | None = None
    """The ignore rule as `file:line: pattern`, or what went wrong."""


TokenCounter = Callable[[str], int]
"""Text to its number of tokens. Total: any `str` has a count."""


class BatchCounter(Protocol):
    """A token counter that counts many texts at once, which is far cheaper than one by one."""

    def __call__(self, text: str) -> int:
        """The tokens of one text."""

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """The tokens of each text, in order."""
