"""`status`: what the server is, and how the roots stand."""

from contextpack.text import display_path
from contextpackd.fields import Takes
from contextpackd.mcp.session import Fields, Session
from contextpackd.mcp.tool import Model, Tool
from contextpackd.view import Progress


class RootStatus(Model):
    """One root of this connection."""

    root: str
    indexed: bool
    n_files: int | None = None
    freshness: str | None = None
    watcher: str | None = None
    watch_message: str | None = None


class Status(Model):
    """The server as this connection sees it."""

    version: str
    mode: str
    pid: int
    log: str | None
    last_error: str | None
    page_bytes: int
    roots: list[RootStatus]


async def _run(session: Session, _fields: Fields, _progress: Progress) -> Status:
    about = session.about()
    own = {display_path(str(root)): RootStatus(root=display_path(str(root)), indexed=False) for root in session.roots()}  # fmt: skip
    known = RootStatus.model_fields
    names = {field.alias or name for name, field in known.items()}
    standings = about["roots"]
    assert isinstance(standings, list)
    for standing in standings:
        if standing["root"] in own:
            shown = {name: value for name, value in standing.items() if name in names}
            own[standing["root"]] = RootStatus.model_validate(shown)
    return Status.model_validate(
        {
            **{name: about[name] for name in ("version", "mode", "pid", "log", "lastError")},
            "pageBytes": session.page_bytes,
            "roots": list(own.values()),
        }
    )


TOOL = Tool(
    "status",
    "How the server stands",
    "Which roots this server may look at, whether they are indexed and kept fresh, where its"
    " log is, and its last error. Use it when answers are missing or look old.",
    Takes.NOTHING,
    (),
    _run,
    model=Status,
)
