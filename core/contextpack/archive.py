"""A snapshot as bytes and back, so that a warm start computes nothing again.

MessagePack around the arrays as they are: reading them back is a look at the bytes. The graph
stands apart, since ranking needs no more of it than its edges, which are arrays, too: the files'
imports and where they lead are only read when something changes, or when somebody asks.

Whoever keeps the bytes sees to it that they are undamaged and of this version of the program.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import msgspec
import numpy as np

from contextpack.codec import Damaged
from contextpack.graph import Graph, Said, graph, said
from contextpack.graph import restored as graph_of
from contextpack.model import Path, Skip
from contextpack.postings import Rows, Segment, postings
from contextpack.resolve import Resolved, Tree
from contextpack.snapshot import Snapshot, Source, empty

ARCHIVE_VERSION = 3
"""Kept by hand: raised when a snapshot is written or read otherwise."""

_RowsWire = tuple[bytes, bytes, bytes, bytes]
_SegmentWire = tuple[
    str, _RowsWire, _RowsWire, _RowsWire, bytes, bytes, bytes, bytes, bytes, bytes
]  # fmt: skip
_Wire = tuple[
    int, list[Source], list[Path], bytes, bytes, list[_SegmentWire], bytes, bytes, dict[Path, str]
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
        list(snapshot.sources.values()),
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
        dict(graph.said),
        dict(graph.resolved),
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
        by_path = {source.path: source for source in sources}
        slots = {path: n for n, path in enumerate(paths) if is_alive[n]}
        modified = [by_path[path].modified if path in by_path else 0.0 for path in paths]
        made = postings([_segment_of(segment) for segment in segments], is_alive)
        column = np.empty(len(paths), np.object_)
        column[:] = paths
        if by_path.keys() != slots.keys() or made.n_slots != len(paths):
            raise Damaged
    except (msgspec.MsgspecError, ValueError, IndexError) as error:
        raise Damaged from error
    tree = Tree(frozenset(by_path), configs, standard_library)
    return replace(
        empty(standard_library),
        graph=graph({}, tree),
        sources=MappingProxyType(by_path),
        skipped=skipped,
        postings=made,
        paths=column,
        kinds=np.frombuffer(kinds, np.uint8),
        modified=np.array(modified, np.float64),
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


def _segment_wire(segment: Segment) -> _SegmentWire:
    return (
        "\n".join(segment.vocabulary),
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
    terms = vocabulary.split("\n") if vocabulary else []
    numbers: Mapping[str, int] = dict(zip(terms, range(len(terms)), strict=True))
    return Segment(
        vocabulary=MappingProxyType(numbers),
        terms=tuple(terms),
        chunks=_rows_of(chunks),
        directories=_rows_of(directories),
        stems=_rows_of(stems),
        first_chunks=np.frombuffer(first_chunks, np.int32),
        rare_starts=np.frombuffer(rare_starts, np.int32),
        rare_terms=np.frombuffer(rare_terms, np.int32),
        is_defined=np.frombuffer(is_defined, np.bool_),
        chunk_lengths=np.frombuffer(lengths, np.int32),
        chunk_table=np.frombuffer(table, np.int32).reshape(-1, 3),
    )


def _rows_of(wire: _RowsWire) -> Rows:
    starts, documents, uses, names = wire
    return Rows(
        np.frombuffer(starts, np.int32),
        np.frombuffer(documents, np.int32),
        np.frombuffer(uses, np.uint16),
        np.frombuffer(names, np.uint16),
    )
