"""The commands around the daemon: serving, the stdio ends, and asking how it stands."""

import argparse
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from contextpackd import bridge, output, place
from contextpackd.bridge import Json
from contextpackd.errors import OptionProblem

OK, NOTHING = 0, 1

Handler = Callable[[argparse.Namespace], int]


def _lsp(parsed: argparse.Namespace) -> int:
    if parsed.no_daemon or not bridge.HAS_SOCKETS:
        from contextpackd.lsp import stdio  # A second of loading that only this command needs.

        return stdio.run()
    return bridge.run()


def _daemon(parsed: argparse.Namespace) -> int:
    _check_sockets("daemon")
    from contextpackd import daemon  # Unix only.

    idle = daemon.IDLE_SECONDS if parsed.idle is None else parsed.idle
    return daemon.run(daemon.Terms(place.place(), idle, parsed.detached))


def _status(parsed: argparse.Namespace) -> int:
    control = bridge.reached(place.place()) if bridge.HAS_SOCKETS else None
    found = control.ask({"do": "status"}) if control is not None else None
    if control is None or found is None:
        output.say("no daemon is running")
        return NOTHING
    control.close()
    if parsed.format == "json":
        output.write_stdout(json.dumps(found, ensure_ascii=False, indent=2) + "\n")
    else:
        output.write_stdout("".join(f"{line}\n" for line in _lines(found)))
    return OK


def _stop(_parsed: argparse.Namespace) -> int:
    if bridge.HAS_SOCKETS and bridge.stopped(place.place()):
        return OK
    output.say("no daemon is running")
    return NOTHING


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
        raise OptionProblem(name, "needs Unix sockets; use `lsp --no-daemon` here")


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
        "daemon": _daemon,
        "status": _status,
        "stop": _stop,
        "restart": _restart,
        "doctor": _doctor,
    }
)
"""What runs the commands of `daemon_arguments`, by their names."""
