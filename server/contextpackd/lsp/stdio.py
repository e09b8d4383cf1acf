"""A language server on standard input and output, in this process and for one client.

The bytes go through a pair of sockets, pumped by the same threads that the bridge has, so that
there is one way in, whatever the platform and whatever the streams are.
"""

import asyncio
import socket
import threading
import time
from pathlib import Path

from contextpackd import bridge, journal
from contextpackd.backing import backing
from contextpackd.lsp import connection
from contextpackd.lsp.session import Shared
from contextpackd.roots import Roots
from contextpackd.standing import standing


def run() -> int:
    """Serve until the client leaves: the exit code."""
    log_file = journal.keep("lsp")
    outer, inner = socket.socketpair()
    pump = threading.Thread(target=bridge.pump, args=(outer,), daemon=True)
    pump.start()
    code = asyncio.run(_serve(inner, log_file))
    # What the server wrote last must be through before the process ends.
    pump.join(bridge.FLUSH_SECONDS)
    outer.close()
    return code


async def _serve(inner: socket.socket, log_file: Path | None) -> int:
    reader, writer = await asyncio.open_connection(
        sock=inner, limit=connection.MAX_HEADER_BYTES
    )
    roots = Roots(backing())
    stand = standing(roots, "in-process", log_file, time.monotonic)
    try:
        return await connection.serve(
            reader, writer, Shared(roots, stand), connection.converter()
        )
    finally:
        roots.stop()
