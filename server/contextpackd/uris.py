"""URIs to local files and back. Only `file:` URIs ever become one."""

import os
from urllib.parse import quote, unquote, urlsplit

_IS_WINDOWS = os.name == "nt"


def file_of(uri: str, *, is_windows: bool = _IS_WINDOWS) -> str | None:
    """The absolute local path that a `file:` URI names, with `/`; None for anything else.

    `untitled:`, `vscode-remote:` and the like hold paths that may exist here too and mean
    another file. A drive letter becomes lower case and nothing else does; bytes that are not
    UTF-8 come back as `os.fsdecode` gives them.
    """
    try:
        parts = urlsplit(uri)
    except ValueError:  # Such as an IPv6 address without its end.
        return None
    if parts.scheme.lower() != "file" or "\0" in uri or "%00" in uri:
        return None
    # Editors that do not escape `?` and `#` mean them as parts of the name.
    raw = uri.partition(":")[2].removeprefix("//").removeprefix(parts.netloc)
    path = unquote(raw, errors="surrogateescape")
    if parts.netloc not in ("", "localhost"):
        return f"//{parts.netloc}{path}" if is_windows else None
    if is_windows and path[2:3] == ":" and path[1:2].isalpha():
        return path[1].lower() + path[2:]
    return path if path.startswith("/") else None


def uri_of(file: str) -> str:
    """The `file:` URI of an absolute local path."""
    path = file.replace(os.sep, "/")
    if not path.startswith("/"):  # A drive letter.
        path = "/" + path
    return "file://" + quote(os.fsencode(path), safe="/:" if _IS_WINDOWS else "/")


def key_of(uri: str) -> str:
    """What tells documents apart: the local file where there is one, else the URI as it is.

    Clients write one file's URI in several ways (`c%3A`, `C:`), sometimes in one session.
    """
    return file_of(uri) or uri
