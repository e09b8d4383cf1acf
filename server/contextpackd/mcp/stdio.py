"""A server of agents on standard input and output, in this process and for one client.

As LSP's: the bytes go through a pair of sockets, pumped by the bridge's threads.
"""

import asyncio
import socket
import threading
import time
from pathlib import Path

from contextpackd import bridge, journal
from contextpackd.agents import MAX_LINE_BYTES, Start
from contextpackd.backing import backing
from contextpackd.mcp import connection
from contextpackd.roots import Roots
from contextpackd.standing import standing


def run(started: Start) -> int:
    """Serve until the client leaves: the exit code."""
    log_file = journal.keep("mcp")
    outer, inner = socket.socketpair()
    pump = threading.Thread(target=bridge.pump, args=(outer,), daemon=True)
    pump.start()
    asyncio.run(_serve(inner, started, log_file))
    # What the server wrote last must be through before the process ends.
    pump.join(bridge.FLUSH_SECONDS)
    outer.close()
    return 0


async def _serve(inner: socket.socket, started: Start, log_file: Path | None) -> None:
    reader, writer = await asyncio.open_connection(sock=inner, limit=MAX_LINE_BYTES)
    roots = Roots(backing())
    stand = standing(roots, "in-process", log_file, time.monotonic)
    try:
        await connection.serve(reader, writer, b"", roots, stand, started)
    finally:
        roots.stop()
