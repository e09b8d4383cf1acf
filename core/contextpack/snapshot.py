"""One root at one moment: facts, graph and postings. Immutable, and without file contents."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from contextpack.graph import Graph, graph
from contextpack.model import Facts, Path, Skip, TermCounts
from contextpack.postings import Postings, postings
from contextpack.resolve import Tree


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a snapshot: its facts, and what the shell knew when it read the text."""

    path: Path
    digest: str
    """Of the bytes on disk: a text read later belongs to these facts only if it is equal."""
    size_bytes: int
    modified: float
    """Seconds since the epoch."""
    facts: Facts
    terms: TermCounts
    is_lossy: bool = False
    """Whether some bytes were no text in the encoding that was taken."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that ranking needs to know of a root, and what was left out of it."""

    sources: Mapping[Path, Source]
    """In path order, which is also the order of files in `postings`."""
    paths: tuple[Path, ...]
    graph: Graph
    postings: Postings
    skipped: tuple[Skip, ...]


def snapshot(
    sources: Iterable[Source],
    skipped: Iterable[Skip],
    *,
    configs: Mapping[Path, str],
    standard_library: frozenset[str],
) -> Snapshot:
    """The snapshot of these files, in whichever order they come."""
    by_path = {source.path: source for source in sorted(sources, key=lambda s: s.path)}
    facts = {path: source.facts for path, source in by_path.items()}
    return Snapshot(
        sources=MappingProxyType(by_path),
        paths=tuple(by_path),
        graph=graph(facts, Tree(frozenset(by_path), configs, standard_library)),
        postings=postings([(s.path, s.terms, len(s.facts.chunks)) for s in by_path.values()]),
        skipped=tuple(sorted(skipped, key=lambda skip: (skip.path, skip.reason))),
    )
