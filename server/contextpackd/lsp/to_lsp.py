"""Our errors as the protocol's: one table, and never a traceback."""

import asyncio
import logging

from lsprotocol.types import ErrorCodes, LSPErrorCodes, ResponseError
from pygls.exceptions import JsonRpcException

from contextpack.errors import PackError
from contextpack.text import writable
from contextpackd.errors import (
    DaemonError,
    FieldProblem,
    OptionProblem,
    RootProblem,
    Stopped,
    Superseded,
)

log = logging.getLogger(__name__)


def response_error(error: BaseException) -> ResponseError:
    """The answer to a request that failed. What nobody expected goes to the log in full."""
    match error:
        case asyncio.CancelledError() | Stopped():
            return _error(LSPErrorCodes.RequestCancelled, "the request was cancelled")
        case FieldProblem():
            return _error(ErrorCodes.InvalidParams, str(error), error.field)
        case OptionProblem():
            return _error(ErrorCodes.InvalidParams, str(error), error.option)
        case RootProblem():
            return _error(ErrorCodes.InvalidParams, str(error), "root")
        case Superseded():
            return _error(LSPErrorCodes.ContentModified, str(error))
        case DaemonError():
            return _error(LSPErrorCodes.RequestFailed, str(error))
        case PackError():
            return _error(LSPErrorCodes.RequestFailed, error.message)
        case JsonRpcException():
            return ResponseError(code=error.code, message=writable(error.message))
        case RecursionError():
            return _error(ErrorCodes.InvalidParams, "the parameters are nested too deeply")
        case _:
            log.error("a request failed", exc_info=error)
            problem = f"internal error ({type(error).__name__}); see the log"
            return _error(ErrorCodes.InternalError, problem)


def _error(
    code: ErrorCodes | LSPErrorCodes, message: str, field: str | None = None
) -> ResponseError:
    data = None if field is None else {"field": writable(field)}
    return ResponseError(code=code.value, message=writable(message), data=data)
