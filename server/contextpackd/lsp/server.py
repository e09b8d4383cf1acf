"""The language server of one connection: its features and commands, registered."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from cattrs import Converter
from lsprotocol import types
from pygls.lsp.server import LanguageServer

from contextpackd.lsp.actions import KIND, actions
from contextpackd.lsp.commands import RUNS, Run
from contextpackd.lsp.params import EXPLAIN, FILES, GRAPH, PACK, SEARCH, WHY, Command, checked
from contextpackd.lsp.parent import watched
from contextpackd.lsp.positions import Encoding
from contextpackd.lsp.progress import WorkDone
from contextpackd.lsp.protocol import Protocol
from contextpackd.lsp.session import Session, Shared
from contextpackd.version import PROTOCOL, VERSION
from contextpackd.wire import Json

if TYPE_CHECKING:
    from pygls.server import ServerErrors
    from typing_extensions import override
else:

    def override(method: object) -> object:
        """`typing.override`, which Python 3.11 does not have."""
        return method


NAME = "contextpackd"

_SHOWS_WORK = frozenset({PACK, EXPLAIN, WHY, FILES, SEARCH, GRAPH})
"""The commands that may have to index first."""


class ContextServer(LanguageServer):
    """One connection's server: pygls' part of it, and the session."""

    protocol: Protocol

    def __init__(self, shared: Shared, converter: Converter) -> None:
        super().__init__(
            NAME, VERSION, protocol_cls=Protocol, converter_factory=lambda: converter
        )
        self.session = Session(self, shared)
        self._unwatch: Callable[[], None] = lambda: None
        for command, run in RUNS.items():
            self.command(command.name)(_executed(self, command, run))
        _register_features(self)

    def opened(self, params: types.InitializeParams, encoding: str) -> None:
        """Begin with what the client says of itself."""
        self._unwatch = watched(params.process_id, self.protocol.hang_up)
        self.session.opened(params, Encoding(encoding))

    def experimental(self) -> Json:
        """What a client may want to know before it sends a command."""
        return {"contextpack": {"protocol": PROTOCOL}}

    def close(self) -> None:
        """Give up what still runs for this client, and give back what is shared."""
        self._unwatch()
        self.protocol.give_up()
        self.session.close()

    @override
    def report_server_error(self, error: Exception, source: "ServerErrors") -> None:
        """Nothing: requests are answered, the rest is in the log; users can do nothing."""


def _executed(
    server: ContextServer, command: Command, run: Run
) -> Callable[[types.ExecuteCommandParams], Coroutine[None, None, Json]]:
    async def executed(params: types.ExecuteCommandParams) -> Json:
        fields = checked(command, params.arguments)
        if command not in _SHOWS_WORK:
            return await run(server.session, fields, lambda _done, _total: None)
        await server.session.settled()
        title = f"ContextPack: {command.name.rpartition('.')[2]}"
        with WorkDone(server, title, params.work_done_token) as progress:
            return await run(server.session, fields, progress.report)

    return executed


def _register_features(server: ContextServer) -> None:
    session = server.session
    # pygls has documents and folders of its own; ours stand in their place.
    for method, handle in (
        (types.INITIALIZED, lambda _params: session.initialized()),
        (types.TEXT_DOCUMENT_DID_OPEN, session.document_opened),
        (types.TEXT_DOCUMENT_DID_CHANGE, session.document_changed),
        (types.TEXT_DOCUMENT_DID_CLOSE, session.document_closed),
        (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, session.folders_changed),
    ):
        server.protocol.fm.add_builtin_feature(method, handle)
    for method in (
        types.NOTEBOOK_DOCUMENT_DID_OPEN,
        types.NOTEBOOK_DOCUMENT_DID_CHANGE,
        types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    ):
        server.protocol.fm.builtin_features.pop(method)  # We do not offer to follow notebooks.

    # Functions of their own, because pygls marks what it registers.

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        session.document_saved(params)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([KIND]))
    def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return actions(session, params)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        session.files_changed(params)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def settings_changed(params: types.DidChangeConfigurationParams) -> None:
        session.settings_changed(params)
