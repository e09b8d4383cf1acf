"""Lines of one agent to messages and back, until it leaves.

The library's own loop takes over the process's standard streams and says nothing about a line
that it cannot read; so the loop stands here.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, ValidationError

from contextpackd.agents import MAX_LINE_BYTES, Start
from contextpackd.mcp.server import Context, server_of
from contextpackd.mcp.session import Session
from contextpackd.roots import Roots
from contextpackd.wire import Json

log = logging.getLogger(__name__)

_Incoming = MemoryObjectSendStream[SessionMessage | Exception]


async def serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    first: bytes,
    roots: Roots,
    about: Callable[[], Json],
    started: Start,
) -> None:
    """Serve one client until it leaves. `first` is a line that was read of it already.

    The reader's limit must be `MAX_LINE_BYTES`.
    """
    session = Session(roots, about, started)
    server = server_of(session)
    server.middleware.append(_guarded)
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage]()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_write, from_server, writer, tasks.cancel_scope)
            tasks.start_soon(_read, reader, writer, first, to_server)
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        session.close()
        for stream in (to_server, incoming, outgoing, from_server):
            stream.close()
        await _closed(writer)


async def _read(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes, to: _Incoming
) -> None:
    async with to:
        async for line in _lines(reader, writer, first):
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError:
                _write_line(writer, _refusal(line))
                continue
            await to.send(SessionMessage(message))


async def _lines(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes
) -> AsyncIterator[bytes]:
    line = first
    while True:
        if line.strip():
            yield line
        try:
            line = await reader.readline()
        except ConnectionError:
            return
        except ValueError:
            # Where the line ends nobody knows: what follows cannot be read either.
            problem = f"a message of more than {MAX_LINE_BYTES} bytes"
            _write_line(writer, _error(None, types.INVALID_REQUEST, problem))
            return
        if not line:
            return


async def _write(
    messages: MemoryObjectReceiveStream[SessionMessage],
    writer: asyncio.StreamWriter,
    everything: anyio.CancelScope,
) -> None:
    async with messages:
        async for message in messages:
            _write_line(writer, message.message)
            try:
                await writer.drain()
            except ConnectionError:
                everything.cancel()  # Nobody reads: what runs for this client ends.
                return


def _write_line(writer: asyncio.StreamWriter, message: BaseModel) -> None:
    if not writer.is_closing():
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        writer.write(text.encode() + b"\n")


def _refusal(line: bytes) -> types.JSONRPCError:
    """The answer to a line that is no message."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, types.PARSE_ERROR, "not JSON")
    found = document.get("id") if isinstance(document, dict) else None
    is_id = isinstance(found, str | int) and not isinstance(found, bool)
    return _error(found if is_id else None, types.INVALID_REQUEST, "not a message of JSON-RPC")


def _error(message_id: str | int | None, code: int, message: str) -> types.JSONRPCError:
    error = types.ErrorData(code=code, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=message_id, error=error)


async def _guarded(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Whatever a message does, it is answered, and the connection takes the next one."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise  # The library turns these into answers.
    except Exception as error:
        log.exception("a message failed")
        problem = f"internal error ({type(error).__name__}); see the log"
        raise MCPError(types.INTERNAL_ERROR, problem) from error


async def _closed(writer: asyncio.StreamWriter) -> None:
    try:
        writer.close()
        await writer.wait_closed()
    except (ConnectionError, OSError):
        pass
