"""What this process is and holds, for `contextpack.status` and `contextpackd status`."""

import logging
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from contextpack.graph import rates
from contextpack.text import display_path
from contextpackd.roots import Held, Roots
from contextpackd.store import Info
from contextpackd.version import PROTOCOL, VERSION
from contextpackd.wire import Json

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: object) -> object:
        """`typing.override`, which Python 3.11 does not have."""
        return method


class LastError(logging.Handler):
    """Remembers the last error's line, so that a user need not look for the log to see it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.line: str | None = None

    @override
    def emit(self, record: logging.LogRecord) -> None:
        """Remember this one."""
        cause = record.exc_info[1] if record.exc_info else None
        self.line = record.getMessage() + (f": {cause!r}" if cause else "")


def standing(
    roots: Roots, mode: str, log: Path | None, clock: Callable[[], float]
) -> Callable[[], Json]:
    """A function that says how things stand now. `mode` is `daemon` or `in-process`."""
    last = LastError()
    logging.getLogger().addHandler(last)
    began = clock()

    def stand() -> Json:
        return {
            "version": VERSION,
            "protocol": PROTOCOL,
            "mode": mode,
            "pid": os.getpid(),
            "python": f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}",
            "uptimeSeconds": round(clock() - began),
            "memoryBytes": _memory_bytes(),
            "log": None if log is None else display_path(str(log)),
            "lastError": last.line,
            "cache": _cache_json(roots.cache),
            "roots": [_root_json(held) for held in roots.held],
        }

    return stand


def _cache_json(info: Info | None) -> Json | None:
    if info is None:
        return None
    return {
        "directory": display_path(str(info.directory)),
        "sizeBytes": info.size_bytes,
        "maxBytes": info.max_bytes,
        "nFacts": info.n_facts,
        "nRoots": len(info.roots),
        "problem": info.problem,
    }


def _root_json(held: Held) -> Json:
    document: Json = {
        "root": display_path(str(held.workspace.root)),
        "indexed": held.scan is not None,
        "done": held.done,
        "total": held.total,
        "nClients": held.n_users,
        "watcher": mode.value if (mode := held.workspace.watch_mode) is not None else None,
        "watchMessage": held.workspace.watch_message,
    }
    if held.scan is None:
        return document
    snapshot = held.scan.snapshot
    languages = Counter(source.language for source in snapshot.sources.values())
    return document | {
        "freshness": held.scan.freshness,
        "nFiles": len(snapshot.sources),
        "nSkipped": len(snapshot.skipped),
        "languages": {str(name): n for name, n in languages.most_common()},
        "rates": {
            name: {
                "resolved": rate.resolved,
                "external": rate.external,
                "unresolved": rate.unresolved,
            }
            for name, rate in rates(snapshot.graph).items()
        },
    }


def _memory_bytes() -> int | None:
    """The memory that this process holds now; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
