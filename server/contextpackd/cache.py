"""The command `cache`: what is kept between runs, and removing it."""

import argparse
import json
import os
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from contextpack.text import display_path
from contextpackd import output, report
from contextpackd.errors import CacheProblem
from contextpackd.store import Info, Store
from contextpackd.wire import Json

_EXAMPLES = """examples:
  contextpackd cache info
  contextpackd cache clear --root ~/src/app    # its index; facts stay, roots share them
  contextpackd cache clear"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `cache info` and `cache clear`."""
    summary = "what is kept between runs, and removing it"
    cache = _added(commands, "cache", summary)
    actions = cache.add_subparsers(required=True, metavar="ACTION")
    info = _added(actions, "info", "where it is, its size, and what it holds")
    info.add_argument(
        "--format",
        choices=["table", "json"],
        default="table",
        help="for people or for programs",
    )
    info.set_defaults(command=_info)
    clear = _added(actions, "clear", "remove everything, or the index of one root")
    clear.add_argument(
        "--root", type=Path, metavar="DIR", help="only what is kept of this workspace"
    )
    clear.set_defaults(command=_clear)


def info_json(info: Info) -> Json:
    """What is kept, as JSON."""
    return {
        "directory": display_path(str(info.directory)),
        "sizeBytes": info.size_bytes,
        "maxBytes": info.max_bytes,
        "nFacts": info.n_facts,
        "roots": [
            {
                "root": None if saved.root is None else display_path(saved.root),
                "sizeBytes": saved.size_bytes,
                "lastUsed": datetime.fromtimestamp(saved.used, UTC).isoformat(
                    timespec="seconds"
                ),
            }
            for saved in info.roots
        ],
        "problem": None if info.problem is None else display_path(info.problem),
    }


def _added(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, summary: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip


def _info(parsed: argparse.Namespace) -> int:
    with closing(Store.opened()) as store:
        info = store.info()
    if parsed.format == "json":
        text = json.dumps(info_json(info), ensure_ascii=False, indent=2)
        output.write_stdout(f"{text}\n")
    else:
        report.show_cache(sys.stdout, info)
    return 0


def _clear(parsed: argparse.Namespace) -> int:
    # The root may be gone: that is a reason to clear what is kept of it.
    root = None if parsed.root is None else Path(os.path.realpath(parsed.root))
    with closing(Store.opened()) as store:
        freed = store.clear(root)
        directory = display_path(str(store.directory))
    if freed.problem is not None:
        raise CacheProblem(directory, freed.problem)
    shown = report.size(freed.size_bytes)
    if root is not None:
        name = display_path(str(root))
        kept = (
            f"freed {shown}: the index of {name}; facts stay, other workspaces may share them"
        )
        line = kept if freed.n_roots else f"nothing is kept of {name} in {directory}"
    elif freed.size_bytes or freed.n_facts or freed.n_roots:
        line = f"freed {shown} in {directory}: facts of {freed.n_facts} texts, indexes of {freed.n_roots} workspaces"
    else:
        line = f"nothing is kept in {directory}"
    output.write_stdout(f"{line}\n")
    return 0
