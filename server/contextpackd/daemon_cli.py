"""The commands around the daemon: serving, the stdio ends, and asking how it stands."""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from contextpackd import agents, bridge, daemons, output, place
from contextpackd.bridge import Json
from contextpackd.daemons import Daemon
from contextpackd.errors import OptionProblem

OK, NOTHING = 0, 1

Handler = Callable[[argparse.Namespace], int]


def _lsp(parsed: argparse.Namespace) -> int:
    if parsed.no_daemon or not bridge.HAS_SOCKETS:
        from contextpackd.lsp import stdio  # A second of loading that only this command needs.

        return stdio.run()
    return bridge.run()


def _mcp(parsed: argparse.Namespace) -> int:
    agents.check_extra()
    started = agents.start(parsed.roots, parsed.page_bytes)
    if parsed.no_daemon or not bridge.HAS_SOCKETS:
        from contextpackd.mcp import stdio  # Two seconds of loading, likewise.

        return stdio.run(started)
    return agents.run(started)


def _daemon(parsed: argparse.Namespace) -> int:
    _check_sockets("daemon")
    from contextpackd import daemon  # Unix only.

    idle = daemon.IDLE_SECONDS if parsed.idle is None else parsed.idle
    return daemon.run(daemon.Terms(place.place(), idle, parsed.detached))


def _status(parsed: argparse.Namespace) -> int:
    found = daemons.daemons() if bridge.HAS_SOCKETS else []
    ours, others = _told_apart(found)
    own = ours.standing if ours is not None else None
    if parsed.format == "json" and found:
        document = {**(own or {}), "others": [_other_json(other) for other in others]}
        output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    elif parsed.format != "json":
        lines = [*(_lines(own) if own is not None else ()), *map(_other_line, others)]
        output.write_stdout("".join(f"{line}\n" for line in lines))
    if own is not None:
        return OK
    if ours is not None:
        output.say(f"process {ours.pid} does not answer; end it with stop, or kill -9")
    else:
        _say_none(others)
    return NOTHING


def _stop(parsed: argparse.Namespace) -> int:
    if not parsed.all:
        if bridge.HAS_SOCKETS and bridge.stopped(place.place()):
            return OK
        _say_none(daemons.daemons() if bridge.HAS_SOCKETS else [])
        return NOTHING
    found = daemons.daemons() if bridge.HAS_SOCKETS else []
    n_ended = 0
    for daemon in found:
        try:
            daemons.end(daemon)
        except daemons.Unending as error:
            output.say(str(error))
        else:
            n_ended += 1
    if not found:
        _say_none(found)
    return OK if found and n_ended == len(found) else NOTHING


def _told_apart(found: Sequence[Daemon]) -> tuple[Daemon | None, Sequence[Daemon]]:
    """The daemon of this code, and the others."""
    here = place.place() if found else None
    ours = next((daemon for daemon in found if daemon.place == here), None)
    return ours, [daemon for daemon in found if daemon.place != here]


def _say_none(others: Sequence[Daemon]) -> None:
    more = " of this version; stop --all ends the others" if others else ""
    output.say(f"no daemon is running{more}")


def _other_json(other: Daemon) -> Json:
    return other.standing or {"pid": other.pid, "isRetired": not other.place.control.exists()}


def _other_line(other: Daemon) -> str:
    standing = other.standing
    if standing is not None:
        version, n = standing.get("version"), standing.get("nClients")
        return f"another: contextpackd {version}, process {other.pid}, clients: {n}"
    is_there = other.place.control.exists()
    state = "does not answer" if is_there else "is retired and goes with its last client"
    return f"another: process {other.pid} {state}"


def _restart(_parsed: argparse.Namespace) -> int:
    _check_sockets("restart")
    found = place.place()
    bridge.stopped(found)
    control, _ = bridge.joined(found)
    control.close()
    return OK


def _doctor(parsed: argparse.Namespace) -> int:
    from contextpackd import doctor  # It loads everything, to see whether it loads.

    found = list(doctor.findings())
    if parsed.format == "json":
        document = doctor.findings_json(found)
        output.write_stdout(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        for finding in found:
            mark = "ok  " if finding.is_ok else "FAIL"
            output.write_stdout(f"{mark} {finding.name}: {finding.state}\n")
            if finding.advice is not None:
                output.write_stdout(f"     {finding.advice}\n")
    return OK if all(finding.is_ok for finding in found) else NOTHING


def _check_sockets(name: str) -> None:
    if not bridge.HAS_SOCKETS:
        raise OptionProblem(
            name, "needs Unix sockets; use `lsp --no-daemon` or `mcp --no-daemon` here"
        )


def _lines(found: Json) -> list[str]:
    memory = found["memoryBytes"]
    size = f", {memory / 1e6:.0f} MB" if isinstance(memory, int) else ""
    lines = [
        f"contextpackd {found['version']}, process {found['pid']}, Python {found['python']}{size}",
        f"clients: {found['nClients']}",
        f"socket: {found['socket']}",
        f"log: {found['log'] or 'none'}",
    ]
    cache = found["cache"]
    if isinstance(cache, dict):
        lines.append(f"cache: {cache['directory']}, {cache['sizeBytes'] / 1e6:.1f} MB")
    if found["lastError"]:
        lines.append(f"last error: {found['lastError']}")
    roots = found["roots"]
    assert isinstance(roots, list)
    for root in roots:
        state = f"{root['nFiles']} files" if root["indexed"] else "not indexed yet"
        lines.append(f"root: {root['root']}: {state}, {root['nClients']} clients")
        if root["watchMessage"]:
            lines.append(f"  {root['watchMessage']}")
    return lines


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "lsp": _lsp,
        "mcp": _mcp,
        "daemon": _daemon,
        "status": _status,
        "stop": _stop,
        "restart": _restart,
        "doctor": _doctor,
    }
)
"""What runs the commands of `daemon_arguments`, by their names."""
