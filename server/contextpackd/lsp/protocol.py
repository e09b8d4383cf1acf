"""The life of one connection by the book: who may say what when, and one answer to each request.

pygls does the typing of messages and the keeping of futures. What it leaves open stands here:

- Envelopes are checked before they are typed, so that a broken message gets an error, not
  silence; only the outermost object is a message, whatever its parts look like.
- Requests before `initialize` and after `shutdown` are answered with an error.
- A command runs in the request's own task, so that cancelling the request cancels the work.
- `exit` ends the connection, never the process.
- Documents are ours (`buffers`): pygls' would read a local file for `untitled:`, and split
  lines where the protocol does not. `server` puts ours in the place of pygls'.
"""

import asyncio
import logging
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from cattrs import Converter, transform_error
from cattrs.errors import ClassValidationError
from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol

from contextpackd.errors import FieldProblem
from contextpackd.lsp.to_lsp import response_error

if TYPE_CHECKING:
    from typing_extensions import override

    from contextpackd.lsp.server import ContextServer
else:

    def override(method: object) -> object:
        """`typing.override`, which Python 3.11 does not have."""
        return method


log = logging.getLogger(__name__)

_ALWAYS = frozenset({types.EXIT})
_MAX_SHOWN_PROBLEMS = 3
"""A message with a thousand wrong fields is told of a few."""

PARSE_ERROR = types.ErrorCodes.ParseError.value
INVALID_REQUEST = types.ErrorCodes.InvalidRequest.value


class Protocol(LanguageServerProtocol):
    """One connection's messages."""

    exit_code: int | None = None
    """0 for `exit` after `shutdown`, 1 for `exit` alone; None as long as neither came."""

    def __init__(self, server: "ContextServer", converter: Converter) -> None:
        super().__init__(server, converter)
        self._context = server
        self.has_shut_down = False
        self.is_initialized = False
        # In the place of pygls' own, which end the process, leave commands running when their
        # request is cancelled, and read local files for documents that are none.
        self.fm.add_builtin_feature(types.INITIALIZE, self._initialize)
        self.fm.add_builtin_feature(types.SHUTDOWN, self._shutdown_asked)
        self.fm.add_builtin_feature(types.EXIT, self._exit)
        self.fm.add_builtin_feature(types.WORKSPACE_EXECUTE_COMMAND, self._execute)

    # What comes in.

    def receive(self, document: object) -> None:
        """Take one message, as JSON has it."""
        if not isinstance(document, dict):
            what = "batches are no part of the protocol" if isinstance(document, list) else ""
            self.refuse(None, INVALID_REQUEST, what or "a message must be an object")
            return
        has_id = "id" in document
        msg_id = document.get("id")
        is_id = isinstance(msg_id, str | int) and not isinstance(msg_id, bool)
        method = document.get("method")
        if "method" not in document and ("result" in document or "error" in document):
            if is_id:
                self._take_response(document)
            return
        if document.get("jsonrpc") != self.VERSION or not isinstance(method, str):
            problem = "a message must have jsonrpc 2.0 and a method"
        elif has_id and not is_id:
            problem = "an id must be text or a whole number"
        else:
            self._take(document, method, msg_id if is_id else None)
            return
        self.refuse(msg_id if is_id else None, INVALID_REQUEST, problem)

    def refuse(self, msg_id: object, code: int, message: str) -> None:
        """Answer with an error that no request of ours stands behind."""
        error = {"code": code, "message": message}
        self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "error": error})

    def _take(self, document: dict[str, Any], method: str, msg_id: Any) -> None:
        is_request = msg_id is not None
        problem = self._untimely(method)
        if problem is None and not self._is_known(method):
            if not is_request:
                return  # Notifications that nobody knows are ignored, by the book.
            problem = JsonRpcMethodNotFound.of(method)
        if problem is None and is_request != self._is_request(method):
            kind = "notification" if is_request else "request"
            problem = JsonRpcInvalidRequest(f"{method} is a {kind}")
        if problem is None:
            try:
                message = self.structure_message(document)
            except ClassValidationError as error:
                found = transform_error(error, path="params")
                shown = "; ".join(found[:_MAX_SHOWN_PROBLEMS])
                problem = JsonRpcInvalidParams(f"{method}: {shown}")
            except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
                problem = JsonRpcInvalidParams(f"{method}: {error}")
            else:
                self.handle_message(message)
                return
        if is_request:
            self._send_response(msg_id, error=response_error(problem))
        else:
            log.warning("ignored a notification: %s", problem)

    def _untimely(self, method: str) -> JsonRpcException | None:
        if method in _ALWAYS:
            return None
        if self.has_shut_down:
            return JsonRpcInvalidRequest(f"{method} came after shutdown")
        if method == types.INITIALIZE:
            if self.is_initialized:
                return JsonRpcInvalidRequest("initialize came twice")
            return None
        if not self.is_initialized:
            return JsonRpcServerNotInitialized(f"{method} came before initialize")
        return None

    def _is_known(self, method: str) -> bool:
        return (
            method == types.CANCEL_REQUEST
            or method in self.fm.features
            or method in self.fm.builtin_features
        )

    def _is_request(self, method: str) -> bool:
        return self.get_result_type(method) is not None

    def _take_response(self, document: dict[str, Any]) -> None:
        msg_id = document["id"]
        future = self._request_futures.get(msg_id)
        # Only what we asked ourselves has an answer; our ids are UUIDs.
        if not isinstance(future, Future) or future.done() or not isinstance(msg_id, str):
            self._result_types.pop(msg_id, None)
            return
        try:
            message = self.structure_message({"jsonrpc": self.VERSION, **document})
        except (ClassValidationError, TypeError, ValueError, KeyError, AttributeError) as error:
            self._request_futures.pop(msg_id, None)
            future.set_exception(JsonRpcInvalidParams(f"the client's answer: {error}"))
            return
        self.handle_message(message)

    @override
    def structure_message(self, data: dict[str, Any]) -> Any:
        """The typed message of one outermost object. Raises what `cattrs` raises."""
        if "method" not in data:
            kind = self._result_types.pop(data["id"], None)
            if "error" in data:
                return self._converter.structure(data, types.ResponseErrorMessage)
            if kind is None:
                raise ValueError("nobody asked")
            return self._converter.structure(data, kind)
        kind = self.get_message_type(data["method"])
        if kind is None:
            raise ValueError("no such message")
        return self._converter.structure(data, kind)

    # What goes out.

    @override
    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        """Answer a request: with its result, or with an error that has no traceback."""
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self._send_response(msg_id, error=response_error(asyncio.CancelledError()))
        elif (error := future.exception()) is not None:
            self._send_response(msg_id, error=response_error(error))
        else:
            self._send_response(msg_id, result=future.result())

    @override
    def _check_handler_result(self, future: Any) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            log.error("a notification failed", exc_info=error)

    # pygls remembers these in a cache of the class, which would keep closed connections alive.

    @override
    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]  # pygls' is wrapped
        """The type of a method's message."""
        return types.METHOD_TO_TYPES.get(method, (None,))[0]

    @override
    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]  # pygls' is wrapped
        """The type of a method's answer."""
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    # Life. The answers to the messages that every server has.

    def _initialize(self, params: types.InitializeParams) -> types.InitializeResult:
        self.client_capabilities = params.capabilities
        encoding = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
        self._context.opened(params, encoding)
        builder = ServerCapabilitiesBuilder(
            params.capabilities,
            {*self.fm.features, *self.fm.builtin_features},
            self.fm.feature_options,
            list(self.fm.commands),
            types.TextDocumentSyncKind.Incremental,
            None,
            encoding,
        )
        self.server_capabilities = builder.build()  # type: ignore[no-untyped-call]  # pygls'
        self.server_capabilities.experimental = self._context.experimental()
        self.is_initialized = True
        return types.InitializeResult(self.server_capabilities, self.server_info)

    def _shutdown_asked(self, *_: Any) -> None:
        self.has_shut_down = True
        for future in tuple(self._request_futures.values()):
            future.cancel()  # This request is not among them: it has no task.

    def _exit(self, *_: Any) -> None:
        self.exit_code = 0 if self.has_shut_down else 1

    async def _execute(self, params: types.ExecuteCommandParams) -> Any:
        command = self.fm.commands.get(params.command)
        if command is None:
            raise FieldProblem("command", f"names no command: {params.command!r}")
        return await command(params)

    def hang_up(self) -> None:
        """End the connection: nobody is at its other end."""
        if self.writer is not None:
            self.writer.close()

    def give_up(self) -> None:
        """Cancel everything that runs for this client or waits for it."""
        for future in tuple(self._request_futures.values()):
            future.cancel()
        self._request_futures.clear()
