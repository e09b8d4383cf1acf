"""The log of a process that nobody watches: a file of bounded size in the user's state folder."""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from platformdirs import user_state_path

MAX_LOG_BYTES = 1 << 20
N_OLD_LOGS = 2

_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


def log_file(name: str) -> Path:
    """Where the log of this kind of process stands."""
    return user_state_path("contextpackd", appauthor=False) / f"{name}.log"


def keep(name: str) -> Path | None:
    """Log into the file from now on, nowhere else; None if it cannot be written."""
    file = log_file(name)
    root = logging.getLogger()
    handler: logging.Handler
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handler = RotatingFileHandler(
            file, maxBytes=MAX_LOG_BYTES, backupCount=N_OLD_LOGS, encoding="utf-8", delay=False
        )
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    # They write every message, with its whole content or without.
    for library in ("pygls", "mcp"):
        logging.getLogger(library).setLevel(logging.WARNING)
    return None if isinstance(handler, logging.NullHandler) else file
