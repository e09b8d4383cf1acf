"""Bytes of one client to messages and back, until it leaves.

pygls' own loop takes only one spelling of its header, gives up on a message's nested parts that
look like messages, and never answers what it cannot read; so the loop stands here.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable

from cattrs import Converter
from lsprotocol.converters import get_converter

from contextpackd.lsp.protocol import INVALID_REQUEST, PARSE_ERROR
from contextpackd.lsp.server import ContextServer
from contextpackd.lsp.session import Shared

log = logging.getLogger(__name__)

# Ten times what an editor sends for the largest file that enters an index.
MAX_MESSAGE_BYTES = 64 << 20

MAX_HEADER_BYTES = 1 << 16  # A line that is longer is no header; what sent it is no client.

# A client that reads nothing while so much waits for it is gone for all purposes.
MAX_UNSENT_BYTES = 256 << 20

CLIENT_LEFT = 1
"""The exit code of a connection that ended without `exit`."""

SESSION_HEADER = b"contextpackd-session"
"""With it the bridge says whose connection this is, in the first message's header."""


class Writer:
    """Where pygls writes to. Never raises: a client that left is noticed by the reader."""

    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        """Queue these bytes."""
        transport = self._stream.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            log.warning("closed a connection whose client reads nothing")
            transport.abort()
            return
        self._stream.write(data)

    def close(self) -> None:
        """Close at once: nobody reads what is queued."""
        self._stream.transport.abort()


def converter() -> Converter:
    """What turns messages into types. It may serve many connections: it learns each type once."""
    return get_converter()


async def serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    shared: Shared,
    types: Converter,
    named: Callable[[str], None] = lambda _name: None,
) -> int:
    """Serve one client until it leaves: its exit code. `named` hears the bridge's session.

    The reader's limit must be `MAX_HEADER_BYTES`.
    """
    server = ContextServer(shared, types)
    server.protocol.set_writer(Writer(writer))
    try:
        async for body in _bodies(reader, server, named):
            _receive(body, server)
            if server.protocol.exit_code is not None:
                return server.protocol.exit_code
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # The client left in the middle of a message.
    except (asyncio.LimitOverrunError, ValueError):
        log.warning("closed a connection that does not speak the protocol")
    finally:
        server.close()
        await _closed(writer)
    return CLIENT_LEFT


def _receive(body: bytes, server: ContextServer) -> None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        server.protocol.refuse(None, PARSE_ERROR, f"not JSON: {error}")
        return
    try:
        server.protocol.receive(document)
    except Exception:
        # Whatever a message does, the connection takes the next one.
        log.exception("a message failed")


async def _bodies(
    reader: asyncio.StreamReader, server: ContextServer, named: Callable[[str], None]
) -> AsyncIterator[bytes]:
    length: int | None = None
    while line := await reader.readline():
        name, _, value = line.strip().partition(b":")
        match name.strip().lower():
            case b"content-length":
                length = int(value) if value.strip().isdigit() else None
            case _ if name.lower() == SESSION_HEADER:
                named(value.strip().decode("ascii", "replace"))
            case b"" if length is not None:
                if length <= MAX_MESSAGE_BYTES:
                    yield await reader.readexactly(length)
                else:
                    await _skipped(reader, length)
                    problem = f"a message of {length} bytes is over {MAX_MESSAGE_BYTES}"
                    server.protocol.refuse(None, INVALID_REQUEST, problem)
                length = None
            case _:
                pass  # Other headers say nothing that matters here.


async def _skipped(reader: asyncio.StreamReader, length: int) -> None:
    while length > 0 and (part := await reader.read(min(length, MAX_HEADER_BYTES))):
        length -= len(part)


async def _closed(writer: asyncio.StreamWriter) -> None:
    try:
        writer.close()
        await writer.wait_closed()
    except (ConnectionError, OSError):
        pass
