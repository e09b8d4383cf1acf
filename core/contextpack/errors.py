"""The core's one exception class."""

from collections.abc import Mapping
from enum import StrEnum


class Code(StrEnum):
    """Why a call was refused. The values are part of the public contract."""

    INVALID_BUDGET = "INVALID_BUDGET"
    INVALID_CHUNK = "INVALID_CHUNK"
    INVALID_STRATEGY = "INVALID_STRATEGY"
    INVALID_STRATEGY_RESULT = "INVALID_STRATEGY_RESULT"
    MISSING_CUSTOM_STRATEGY = "MISSING_CUSTOM_STRATEGY"
    DIMENSION_MISMATCH = "DIMENSION_MISMATCH"
    MISSING_EMBEDDINGS = "MISSING_EMBEDDINGS"
    INVALID_EMBEDDING = "INVALID_EMBEDDING"
    INVALID_SCORE = "INVALID_SCORE"
    INVALID_TOKENS = "INVALID_TOKENS"
    INVALID_OVERHEAD = "INVALID_OVERHEAD"
    INVALID_LAMBDA = "INVALID_LAMBDA"
    INVALID_THRESHOLD = "INVALID_THRESHOLD"
    INVALID_ORDERING = "INVALID_ORDERING"
    INVALID_METRIC = "INVALID_METRIC"
    INVALID_MAX_CANDIDATES = "INVALID_MAX_CANDIDATES"
    INVALID_TRUNCATION = "INVALID_TRUNCATION"
    DUPLICATE_ID = "DUPLICATE_ID"


class PackError(Exception):
    """A call that cannot be answered as asked. `code` is for programs, `message` for people."""

    def __init__(
        self, code: Code, message: str, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = dict(details or {})
