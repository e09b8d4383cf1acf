"""A snapshot as bytes and back, so that a warm start computes nothing again.

MessagePack around the arrays as they are: reading them back is a look at the bytes. The graph
stands apart, since ranking needs no more of it than its edges, which are arrays, too: the files'
imports and where they lead are only read when something changes, or when somebody asks.

Whoever keeps the bytes sees to it that they are undamaged and of this version of the program.
"""

from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType

import msgspec
import numpy as np
from numpy.typing import NDArray

from contextpack.codec import Damaged, made_of
from contextpack.graph import Graph, Said, graph, said
from contextpack.graph import restored as graph_of
from contextpack.mappings import copied
from contextpack.model import Path, Skip
from contextpack.postings import postings
from contextpack.resolve import Resolved, Tree
from contextpack.segment import Rows, Segment, n_terms_each
from contextpack.snapshot import Snapshot, Source, empty
from contextpack.vocabulary import Vocabulary

ARCHIVE_VERSION = 4
"""Kept by hand: raised when a snapshot is written or read otherwise."""

# Of so many files a start makes all at once, within some ten milliseconds: a pack looks at a few
# hundred, which costs it half a millisecond where they are made one by one.
MANY_FILES = 20_000

_RowsWire = tuple[bytes, bytes, bytes, bytes]
_SegmentWire = tuple[
    tuple[bytes, bytes, bytes], _RowsWire, _RowsWire, _RowsWire,
    bytes, bytes, bytes, bytes, bytes, bytes,
]  # fmt: skip
_SourcesWire = tuple[
    list[str], bytes, bytes, list[str], bytes, bytes, bytes, bytes, bytes, list[bytes], bytes
]  # fmt: skip
_Wire = tuple[
    int, _SourcesWire, list[Path], bytes, bytes, list[_SegmentWire], bytes, bytes, dict[Path, str]
]  # fmt: skip
_GraphWire = tuple[int, dict[Path, Said], dict[Path, Resolved]]

_DECODER = msgspec.msgpack.Decoder(_Wire)
_GRAPH_DECODER = msgspec.msgpack.Decoder(_GraphWire)


def archived(snapshot: Snapshot) -> bytes:
    """What `restored` makes the snapshot of again, its graph and its skips aside.

    Raises `UnicodeEncodeError` for paths that are not UTF-8.
    """
    # Slots of files that went keep their names, which nobody asks for and which may be odd.
    paths = np.where(snapshot.postings.is_alive, snapshot.paths, "")
    wire: _Wire = (
        ARCHIVE_VERSION,
        _sources_wire([snapshot.sources.get(path) for path in paths.tolist()]),
        paths.tolist(),
        snapshot.kinds.tobytes(),
        snapshot.postings.is_alive.tobytes(),
        [_segment_wire(segment) for segment in snapshot.postings.segments],
        snapshot.importing.tobytes(),
        snapshot.imported.tobytes(),
        dict(snapshot.graph.tree.configs),
    )
    return msgspec.msgpack.encode(wire)


def archived_graph(graph: Graph) -> bytes:
    """What `with_graph` makes the graph of again. Raises `UnicodeEncodeError` as `archived`."""
    wire: _GraphWire = (
        ARCHIVE_VERSION,
        copied(graph.said),
        copied(graph.resolved),
    )
    return msgspec.msgpack.encode(wire)


def restored(
    data: bytes, skipped: tuple[Skip, ...], standard_library: frozenset[str]
) -> Snapshot:
    """The snapshot that these bytes were made of, with an empty graph. Raises `Damaged`."""
    try:
        wire = _DECODER.decode(data)
        version, sources, paths, kinds, alive, segments, importing, imported, configs = wire
        if version != ARCHIVE_VERSION:
            raise Damaged
        is_alive = np.frombuffer(alive, np.bool_)
        slots = dict(zip(paths, range(len(paths)), strict=True))
        if not is_alive.all():
            slots = {path: slot for path, slot in slots.items() if is_alive[slot]}
        made = postings([_segment_of(segment) for segment in segments], is_alive)
        column = np.empty(len(paths), np.object_)
        column[:] = paths
        files = _sources_of(slots, paths, sources)
        if made.n_slots != len(paths) or files.n_rows != len(paths):
            raise Damaged
    except (msgspec.MsgspecError, ValueError, IndexError) as error:
        raise Damaged from error
    tree = Tree(frozenset(slots), configs, standard_library)
    return replace(
        empty(standard_library),
        graph=graph({}, tree),
        sources=files if len(slots) > MANY_FILES else files.all(),
        skipped=skipped,
        postings=made,
        paths=column,
        kinds=np.frombuffer(kinds, np.uint8),
        modified=files.modified,
        slots=MappingProxyType(slots),
        importing=np.frombuffer(importing, np.int64),
        imported=np.frombuffer(imported, np.int64),
    )


def with_graph(snapshot: Snapshot, data: bytes) -> Snapshot:
    """A restored snapshot with its graph. What is no graph of its files is made anew."""
    known = snapshot.graph.tree
    try:
        version, said_by_path, found = _GRAPH_DECODER.decode(data)
    except (msgspec.MsgspecError, ValueError):
        version, said_by_path, found = 0, {}, {}
    tree = replace(known, paths=frozenset(said_by_path.keys() | snapshot.sources.keys()))
    if version == ARCHIVE_VERSION and said_by_path.keys() >= snapshot.sources.keys():
        return replace(snapshot, graph=graph_of(said_by_path, tree, found))
    files = {path: said(snapshot.facts(path)) for path in snapshot.sources}
    return replace(snapshot, graph=graph(files, tree))


@dataclass(frozen=True, slots=True, eq=False)
class _Sources(Mapping[Path, Source]):
    """The files of a large workspace in columns, by slot: each is made when it is asked for.

    To make them all takes a third of the start, and the snapshot after a change has them all.
    """

    slots: Mapping[Path, int]
    paths: Sequence[Path]
    digests: Sequence[str]
    sizes: NDArray[np.int64]
    modified: NDArray[np.float64]
    names: Sequence[str]
    """Of the languages."""
    languages: NDArray[np.uint16]
    n_lines: NDArray[np.int64]
    tokens: NDArray[np.int64]
    outlines: bytes
    ends: NDArray[np.int64]
    """Where each outline ends."""
    terms: Sequence[bytes]
    is_lossy: NDArray[np.bool_]

    @property
    def n_rows(self) -> int:
        """How many slots there are. Raises `ValueError` where a column has another length."""
        columns: tuple[Sized, ...] = (
            self.paths, self.digests, self.sizes, self.modified, self.languages, self.n_lines,
            self.tokens, self.ends, self.terms, self.is_lossy,
        )  # fmt: skip
        (n,) = {len(column) for column in columns}
        return n

    def __getitem__(self, path: Path) -> Source:  # type: ignore[explicit-override]  # not in 3.11
        slot = self.slots[path]
        return Source(
            path=path,
            digest=self.digests[slot],
            size_bytes=self.sizes.item(slot),
            modified=self.modified.item(slot),
            language=self.names[self.languages.item(slot)],
            n_lines=self.n_lines.item(slot),
            tokens=self.tokens.item(slot),
            outline=self.outlines[
                self.ends.item(slot - 1) if slot else 0 : self.ends.item(slot)
            ],
            terms_digest=self.terms[slot],
            is_lossy=self.is_lossy.item(slot),
        )

    def __contains__(self, path: object) -> bool:  # type: ignore[explicit-override]  # not in 3.11
        return path in self.slots

    def __iter__(self) -> Iterator[Path]:  # type: ignore[explicit-override]  # not in 3.11
        return iter(self.slots)

    def __len__(self) -> int:  # type: ignore[explicit-override]  # not in 3.11
        return len(self.slots)

    def keys(self) -> KeysView[Path]:  # type: ignore[explicit-override]  # not in 3.11
        """The paths. Those of a dictionary are compared with others' at once."""
        return self.slots.keys()

    def all(self) -> Mapping[Path, Source]:
        """All of them, made at once."""
        names, outlines = self.names, self.outlines
        found = made_of(
            Source,
            self.n_rows,
            path=self.paths,
            digest=self.digests,
            size_bytes=self.sizes.tolist(),
            modified=self.modified.tolist(),
            language=[names[number] for number in self.languages.tolist()],
            n_lines=self.n_lines.tolist(),
            tokens=self.tokens.tolist(),
            outline=[outlines[start:end] for start, end in pairwise([0, *self.ends.tolist()])],
            terms_digest=self.terms,
            is_lossy=self.is_lossy.tolist(),
        )
        return MappingProxyType({path: found[slot] for path, slot in self.slots.items()})


_NO_SOURCE = Source("", "", 0, 0.0, "", 0, 0, b"", b"")
"""In the place of a file that went."""


def _sources_wire(found: Iterable[Source | None]) -> _SourcesWire:
    """The files by their slots."""
    rows = [_NO_SOURCE if source is None else source for source in found]
    languages = {one: n for n, one in enumerate(dict.fromkeys(row.language for row in rows))}
    ends = np.cumsum([len(row.outline) for row in rows], dtype=np.int64)
    return (
        [row.digest for row in rows],
        np.array([row.size_bytes for row in rows], np.int64).tobytes(),
        np.array([row.modified for row in rows], np.float64).tobytes(),
        list(languages),
        np.array([languages[row.language] for row in rows], np.uint16).tobytes(),
        np.array([row.n_lines for row in rows], np.int64).tobytes(),
        np.array([row.tokens for row in rows], np.int64).tobytes(),
        b"".join([row.outline for row in rows]),
        ends.tobytes(),
        [row.terms_digest for row in rows],
        np.array([row.is_lossy for row in rows], np.bool_).tobytes(),
    )


def _sources_of(slots: dict[Path, int], paths: list[Path], wire: _SourcesWire) -> _Sources:
    (
        digests, sizes, modified, names, languages, n_lines, tokens, outlines, ends, terms, lossy
    ) = wire  # fmt: skip
    return _Sources(
        slots=MappingProxyType(slots),
        paths=tuple(paths),
        digests=tuple(digests),
        sizes=np.frombuffer(sizes, np.int64),
        modified=np.frombuffer(modified, np.float64),
        names=tuple(names),
        languages=np.frombuffer(languages, np.uint16),
        n_lines=np.frombuffer(n_lines, np.int64),
        tokens=np.frombuffer(tokens, np.int64),
        outlines=outlines,
        ends=np.frombuffer(ends, np.int64),
        terms=tuple(terms),
        is_lossy=np.frombuffer(lossy, np.bool_),
    )


def _segment_wire(segment: Segment) -> _SegmentWire:
    return (
        (
            segment.vocabulary.text,
            segment.vocabulary.starts.tobytes(),
            segment.vocabulary.table.tobytes(),
        ),
        _rows_wire(segment.chunks),
        _rows_wire(segment.directories),
        _rows_wire(segment.stems),
        segment.first_chunks.tobytes(),
        segment.rare_starts.tobytes(),
        segment.rare_terms.tobytes(),
        segment.is_defined.tobytes(),
        segment.chunk_lengths.tobytes(),
        segment.chunk_table.tobytes(),
    )


def _rows_wire(rows: Rows) -> _RowsWire:
    columns = (rows.starts, rows.documents, rows.uses, rows.names)
    starts, documents, uses, names = (column.tobytes() for column in columns)
    return starts, documents, uses, names


def _segment_of(wire: _SegmentWire) -> Segment:
    vocabulary, chunks, directories, stems, first_chunks, *rare, lengths, table = wire
    rare_starts, rare_terms, is_defined = rare
    text, starts, places = vocabulary
    stem_rows, n_files = _rows_of(stems), len(first_chunks) // np.dtype(np.int32).itemsize - 1
    return Segment(
        vocabulary=Vocabulary(
            text, np.frombuffer(starts, np.int32), np.frombuffer(places, np.int32)
        ),
        chunks=_rows_of(chunks),
        directories=_rows_of(directories),
        stems=stem_rows,
        first_chunks=np.frombuffer(first_chunks, np.int32),
        rare_starts=np.frombuffer(rare_starts, np.int32),
        rare_terms=np.frombuffer(rare_terms, np.int32),
        is_defined=np.frombuffer(is_defined, np.bool_),
        chunk_lengths=np.frombuffer(lengths, np.int32),
        chunk_table=np.frombuffer(table, np.int32).reshape(-1, 3),
        n_stem_terms=n_terms_each(stem_rows, n_files),
    )


def _rows_of(wire: _RowsWire) -> Rows:
    starts, documents, uses, names = wire
    return Rows(
        np.frombuffer(starts, np.int32),
        np.frombuffer(documents, np.int32),
        np.frombuffer(uses, np.uint16),
        np.frombuffer(names, np.uint16),
    )
