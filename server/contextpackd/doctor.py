"""Whether everything that the daemon needs is there, and what to do where it is not."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from contextpack.languages import GRAMMAR_SOURCES
from contextpack.tokens import profile_of
from contextpackd import agents, bridge, git, journal, place
from contextpackd.counters import counter
from contextpackd.errors import DaemonError, GitUnavailable
from contextpackd.grammars import grammars
from contextpackd.report import size
from contextpackd.store import DIRECTORY_VARIABLE, Store
from contextpackd.version import VERSION
from contextpackd.wire import Json

_OLDEST_PYTHON = (3, 11)

MIN_WATCHES = 65_536
"""Of inotify, for one user: a directory takes one, and editors watch the same trees."""

_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: str
    advice: str | None = None
    """What to do; None if it is well."""

    @property
    def is_ok(self) -> bool:
        """Whether nothing is to be done."""
        return self.advice is None


def findings() -> Iterator[Finding]:
    """Everything, one after the other. A check that fails is a finding, never an exception."""
    yield _python()
    yield _grammars()
    yield _tokenizer()
    yield _git()
    if _WATCHES.exists():
        yield _watches()
    yield _cache()
    yield _writable("log", journal.log_file("daemon").parent)
    yield _sockets()
    yield _agents()
    yield from _daemon()


def findings_json(found: list[Finding]) -> Json:
    """The findings as JSON."""
    return {
        "version": VERSION,
        "ok": all(finding.is_ok for finding in found),
        "findings": [
            {"name": f.name, "ok": f.is_ok, "state": f.state, "advice": f.advice} for f in found
        ],
    }


def _python() -> Finding:
    state = ".".join(map(str, sys.version_info[:3])) + f" at {sys.executable}"
    is_ok = sys.version_info[:2] >= _OLDEST_PYTHON
    return Finding("python", state, None if is_ok else "install Python 3.11 or newer")


def _grammars() -> Finding:
    compiled = grammars()
    missing = [name for name, _ in GRAMMAR_SOURCES if compiled.get(name) is None]
    state = f"{len(compiled)} languages"
    if not missing:
        return Finding("grammars", state)
    advice = f"reinstall contextpackd; without them these get no outlines: {', '.join(missing)}"
    return Finding("grammars", state, advice)


def _tokenizer() -> Finding:
    profile = profile_of("o200k")
    n_tokens = counter(profile)("def f(): return 1\n")
    is_ok = profile.exact and n_tokens > 0
    advice = None if is_ok else "reinstall toktok-rs"
    return Finding("tokenizer", f"{profile.name}, exact", advice)


def _git() -> Finding:
    try:
        return Finding("git", git.version())
    except GitUnavailable as problem:
        advice = "install git; without it ignore rules are read by other means"
        return Finding("git", problem.reason, advice)


def _watches() -> Finding:
    try:
        limit = int(_WATCHES.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        return Finding("inotify", str(error), "check that /proc can be read")
    advice = f"as root: sysctl -w fs.inotify.max_user_watches={8 * MIN_WATCHES}"
    is_ok = limit >= MIN_WATCHES
    return Finding("inotify", f"{limit} watches a user", None if is_ok else advice)


def _cache() -> Finding:
    with contextlib.closing(Store.opened()) as store:
        info = store.info()
    if info.problem is not None:
        advice = f"make the directory writable and your own, or set {DIRECTORY_VARIABLE}"
        return Finding("cache", f"{info.directory}: {info.problem}", advice)
    room = f"{size(info.size_bytes)} of at most {size(info.max_bytes)}"
    kept = f"facts of {info.n_facts} texts, indexes of {len(info.roots)} workspaces"
    return Finding("cache", f"{info.directory}: {room}, {kept}")


def _writable(name: str, folder: Path) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        advice = "make the directory writable, or set XDG_STATE_HOME"
        return Finding(name, f"{folder}: {error.strerror}", advice)
    return Finding(name, str(folder))


def _sockets() -> Finding:
    def state() -> str:
        found = place.place()
        place.secure(found)
        return str(found.folder)

    if not bridge.HAS_SOCKETS:
        return Finding("sockets", f"none on {os.name}: each client has its own server")
    return _tried("sockets", state)


def _agents() -> Finding:
    try:
        agents.check_extra()
    except agents.MissingExtra as missing:
        return Finding("agents", str(missing))  # Not everybody has one: nothing to be done.
    return Finding("agents", "the extra `mcp` is there")


def _daemon() -> Iterator[Finding]:
    if not bridge.HAS_SOCKETS:
        yield Finding("daemon", "none here")
        return
    found: Json = {}

    def state() -> str:
        control = bridge.reached(place.place())
        if control is None:
            return "not running; editors and agents start it"
        answer = control.ask({"do": "status"})
        control.close()
        found.update(answer or {})
        return f"version {answer['version']}, process {answer['pid']}" if answer else "leaving"

    yield _tried("daemon", state)
    roots = found.get("roots")
    if isinstance(roots, list) and roots:
        yield _watchers(roots)


def _watchers(roots: list[Json]) -> Finding:
    """How the daemon learns of changes, and what keeps it from hearing of them."""
    state = ", ".join(f"{root['root']}: {root['watcher'] or 'not yet'}" for root in roots)
    messages = dict.fromkeys(
        str(root["watchMessage"]) for root in roots if root["watchMessage"]
    )
    return Finding("watch", state, "; ".join(messages) or None)


def _tried(name: str, state: Callable[[], str]) -> Finding:
    try:
        return Finding(name, state())
    except DaemonError as error:
        return Finding(name, str(error), "do what it says, then try again")
    except OSError as error:
        return Finding(name, str(error), "run `contextpackd restart`")
