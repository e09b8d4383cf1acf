"""Scans that have to agree: one of a workspace that lived on, and a first one of the same files."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from contextpack.rank import rank
from contextpack.request import Request
from contextpackd.queries import discovery_of
from contextpackd.reader import Buffer
from contextpackd.store import Store
from contextpackd.workspace import Engine, Scan, Workspace, engine

ALL = discovery_of(Request(query=""))


def forgetful() -> Engine:
    """An engine that keeps nothing and finds nothing: below a file there is no directory."""
    return engine(Store.opened(Path(__file__) / "cache"), n_workers=1)


def first_scan(root: Path, shared: Engine, buffers: Mapping[str, Buffer] | None = None) -> Scan:
    """What a workspace sees that knows nothing of the root."""
    workspace = Workspace(root, shared)
    workspace.set_buffers(buffers or {})
    return workspace.scan(ALL, with_graph=True)


def assert_same(ours: Scan, theirs: Scan) -> None:
    """Assert that nobody can tell two scans apart by what they hold. Both have their graphs."""
    assert ours.snapshot.sources == theirs.snapshot.sources
    assert ours.snapshot.skipped == theirs.snapshot.skipped
    assert ours.snapshot.graph.imports == theirs.snapshot.graph.imports
    assert ours.snapshot.graph.importers == theirs.snapshot.graph.importers
    assert ours.unsaved == theirs.unsaved
    for query in ("load the cache", "app.ts", ""):
        assert rank(ours.snapshot, query).files == rank(theirs.snapshot, query).files


def fingerprint(scan: Scan) -> str:
    """The same for two scans of any processes that hold the same. The scan has its graph."""
    made = scan.snapshot
    files = [
        (one.path, one.digest, one.size_bytes, one.modified, one.outline, one.terms_digest)
        for one in made.in_path_order()
    ]
    edges = sorted((path, tuple(to)) for path, to in made.graph.imports.items() if to)
    ranked = [(one.path, one.score) for one in rank(made, "load the cache").files]
    return hashlib.sha256(repr((files, made.skipped, edges, ranked)).encode()).hexdigest()
