"""One client: its folders, its open documents, its settings, the packs that it holds."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from contextpack.request import Request
from contextpackd import settings
from contextpackd.disk import check_root
from contextpackd.errors import FieldProblem, RootProblem, SettingsProblem
from contextpackd.lsp.buffers import Buffer, Buffers
from contextpackd.lsp.live import Live
from contextpackd.lsp.packs import MAX_PACKS, Held, Packs
from contextpackd.lsp.positions import Encoding
from contextpackd.options import OPTIONS, request_of
from contextpackd.roots import Cause, Edit, Kind, Roots
from contextpackd.settings import Settings
from contextpackd.uris import file_of, uri_of
from contextpackd.wire import Json

if TYPE_CHECKING:
    from contextpackd.lsp.server import ContextServer

log = logging.getLogger(__name__)

SECTION = "contextpack"
"""Of the client's settings."""

MAX_MESSAGES = 100  # Whoever has not read so many reads no more.

_OPTIONS = {name: option for option in OPTIONS for name in (option.json_name, *option.aliases)}
_PATHS = frozenset({"pins", "origins"})


@dataclass(frozen=True, slots=True)
class Shared:
    """What all connections of a process have in common."""

    roots: Roots
    about: Callable[[], Json]
    """What `contextpack.status` says of the process."""


# Clients answer at once; one that never does shall have its packs nevertheless.
SETTINGS_SECONDS = 2.0


class Session:
    """The state of one connection. Lives on the event loop's thread."""

    def __init__(self, server: "ContextServer", shared: Shared) -> None:
        self.server = server
        self.shared = shared
        self.owner = shared.roots.owner()
        self.folders: dict[str, Path] = {}
        """By URI, as the client wrote it; each is held open in the roots."""
        self.buffers = Buffers(Encoding.UTF16)
        self.packs = Packs(self._pack_gone)
        self.live = Live(self)
        self._settings = settings.NONE
        self._asked: Future[Any] | None = None
        """The client's settings, while they are asked for."""
        self._said: set[str] = set()
        self._unlisten = shared.roots.listen(self.live.changed)

    # Life.

    def opened(self, params: types.InitializeParams, encoding: Encoding) -> None:
        """Take the client's folders and first settings."""
        self.buffers = Buffers(encoding)
        if params.workspace_folders is not None:
            uris = [folder.uri for folder in params.workspace_folders]
        elif params.root_uri is not None:
            uris = [params.root_uri]
        else:
            path = params.root_path or ""
            uris = [uri_of(path)] if _is_absolute(path) else []
        for uri in uris:
            self._open_folder(uri)
        if isinstance(params.initialization_options, Mapping):
            self.configure(params.initialization_options.get("settings"))

    def initialized(self) -> None:
        """Ask for the settings, if the client has a place for them."""
        workspace = self.server.client_capabilities.workspace
        if workspace is not None and workspace.configuration:
            self._fetch_settings()

    def close(self) -> None:
        """Give back everything that is shared."""
        self._unlisten()
        self.live.close()
        for buffer in self.buffers:
            self._show(buffer, None)
        for root in self.folders.values():
            self.shared.roots.close(root)
        self.folders.clear()

    # Folders.

    def folders_changed(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Folders came or went. One that does both is there afterwards."""
        for folder in params.event.removed:
            root = self.folders.pop(folder.uri, None)
            if root is not None:
                self.shared.roots.close(root)
        for folder in params.event.added:
            self._open_folder(folder.uri)

    def root_of(self, fields: Mapping[str, object]) -> Path:
        """The root that a command is about. Raises `FieldProblem` and `RootProblem`."""
        root, uri = fields.get("root"), fields.get("uri")
        if isinstance(root, str):
            return _root("root", root)
        if isinstance(uri, str) and (document := self.located(uri)) is not None:
            around = [r for r in self.folders.values() if document.is_relative_to(r)]
            if around:
                return max(around, key=lambda folder: len(folder.parts))
            raise FieldProblem("uri", f"is in no open folder: {uri}; open it or pass root")
        distinct = list(dict.fromkeys(self.folders.values()))
        if len(distinct) == 1:
            return distinct[0]
        state = "several folders are open" if distinct else "no folder is open"
        raise FieldProblem("root", f"must be given: {state}")

    def roots_of(self, fields: Mapping[str, object]) -> tuple[Path, ...]:
        """The roots that a command is about, each once, in an order of their own.

        Raises as `root_of`.
        """
        given = fields.get("roots")
        if not isinstance(given, list):
            return (self.root_of(fields),)
        for name in ("root", "uri"):
            if name in fields:
                raise FieldProblem(name, "cannot be given together with roots")
        return tuple(sorted({_root("roots", str(root)) for root in given}))

    def located(self, uri: str) -> Path | None:
        """The file that a URI names, its directory without links; None if it is not local."""
        file = file_of(uri)
        if file is None:
            return None
        # The file itself must be judged as what it is.
        return Path(os.path.realpath(os.path.dirname(file))) / os.path.basename(file)  # noqa: PTH119, PTH120

    def _open_folder(self, uri: str) -> None:
        file = file_of(uri)
        if file is None or uri in self.folders:
            return  # Nothing of another scheme is on this disk.
        try:
            root = check_root(Path(file), force=False)
        except RootProblem as problem:
            self.say_once(types.MessageType.Warning, str(problem))
            return
        self.folders[uri] = root
        self.shared.roots.open(root)

    # Documents.

    def document_opened(self, params: types.DidOpenTextDocumentParams) -> None:
        """A document was opened: its text hides the file on disk."""
        buffer = self.buffers.opened(params.text_document)
        self._show(buffer, buffer.text)

    def document_changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """A document was edited."""
        buffer = self.buffers.changed(params.text_document, params.content_changes)
        if buffer is None:
            log.warning("a document that is not open was edited")
            return
        self._show(buffer, buffer.text)

    def document_closed(self, params: types.DidCloseTextDocumentParams) -> None:
        """A document was closed."""
        buffer = self.buffers.closed(params.text_document.uri)
        if buffer is not None:
            self._show(buffer, None)

    def document_saved(self, params: types.DidSaveTextDocumentParams) -> None:
        """A document was written to disk."""
        self._touched([params.text_document.uri], Kind.SAVE)

    def files_changed(self, params: types.DidChangeWatchedFilesParams) -> None:
        """The client saw files change."""
        self._touched([change.uri for change in params.changes], Kind.FILES)

    def _show(self, buffer: Buffer, text: str | None) -> None:
        located = self.located(buffer.uri)
        edit = Edit(
            owner=self.owner,
            file=str(located) if located is not None else buffer.uri,
            version=buffer.version,
            text=text,
        )
        self.shared.roots.edit(edit, Cause(Kind.EDIT, (buffer.uri,)))

    def _touched(self, uris: list[str], kind: Kind) -> None:
        located = [(uri, self.located(uri)) for uri in uris]
        files = [str(file) for _, file in located if file is not None]
        self.shared.roots.touched(files, Cause(kind, tuple(uris)))

    # Settings.

    def configure(self, document: object) -> None:
        """Take the client's settings. A value that cannot be leaves the one before."""
        self._settings = settings.client(document, self._settings)
        self._say_problems(self._settings)
        for root in self.folders.values():
            self.live.changed(root, Cause(Kind.SETTINGS))

    def settings_changed(self, params: types.DidChangeConfigurationParams) -> None:
        """The client's settings changed: they come along, or wait to be fetched."""
        workspace = self.server.client_capabilities.workspace
        if workspace is not None and workspace.configuration:
            self._fetch_settings()
        elif isinstance(params.settings, Mapping):
            self.configure(params.settings.get(SECTION))

    def _fetch_settings(self) -> None:
        params = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
        method = types.WORKSPACE_CONFIGURATION
        # Not awaited: the answer must count for a question that comes right behind it.
        asked = self.server.protocol.send_request(method, params)
        self._asked = asked
        asked.add_done_callback(self._settings_came)

    async def settled(self) -> None:
        """Wait for settings that are asked for: a question may come before their answer."""
        asked = self._asked
        if asked is not None and not asked.done():
            answered = asyncio.Event()
            loop = asyncio.get_running_loop()
            asked.add_done_callback(lambda _: loop.call_soon_threadsafe(answered.set))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(answered.wait(), SETTINGS_SECONDS)
            # Who lets one question wait in vain does not answer the next one either.
            self._asked = None

    def _settings_came(self, asked: Future[Any]) -> None:
        if asked.cancelled() or asked.exception() is not None:
            return  # The client left, or has no settings after all.
        found = asked.result()
        if isinstance(found, list | tuple) and found:
            self.configure(found[0])

    @property
    def rules(self) -> frozenset[str]:
        """The globs of the client's settings, which are for all roots: they may match nothing."""
        return settings.globs(self._settings)

    def request(self, roots: Sequence[Path], fields: Mapping[str, object]) -> Request:
        """The request for a command's fields over the settings. Raises `OptionProblem`.

        What a repository says counts where its root is the only one; of several, each scan
        goes by its own, and how they look together is for the client to say.
        """
        given: dict[str, object] = {}
        for name, value in fields.items():
            option = _OPTIONS.get(name)
            if option is not None and value is not None:
                if option.field == "focus":
                    given[option.field] = _as_places(value)
                else:
                    given[option.field] = _as_paths(value) if option.field in _PATHS else value
        found = [settings.repository(root) for root in roots]
        for of_root in found:
            self._say_problems(of_root)
        below = found[0].values if len(found) == 1 else {}
        values = settings.rising(below, self._settings.values, given)
        return request_of(fields.get("query", ""), values, lambda option: option.json_name)

    # What the user must know.

    def say_once(self, kind: types.MessageType, message: str) -> None:
        """Show a message, but never the same one twice."""
        if message not in self._said and len(self._said) < MAX_MESSAGES:
            self._said.add(message)
            self.server.window_show_message(types.ShowMessageParams(kind, message))

    def _say_problems(self, found: Settings) -> None:
        for problem in found.problems:
            self._say_problem(problem)

    def _say_problem(self, problem: SettingsProblem) -> None:
        self.say_once(types.MessageType.Warning, f"ContextPack: {problem}")

    def _pack_gone(self, held: Held) -> None:
        message = f"let {held.pack_id} go: a connection holds its last {MAX_PACKS} packs"
        self.server.window_log_message(types.LogMessageParams(types.MessageType.Info, message))


def _root(field: str, given: str) -> Path:
    file = file_of(given) if given.startswith("file:") else given
    if file is None or not _is_absolute(file):
        raise FieldProblem(field, f"must be an absolute path or a `file:` URI, got {given!r}")
    return check_root(Path(file), force=False)


def _is_absolute(path: str) -> bool:
    return Path(path).is_absolute()


def _as_paths(value: object) -> object:
    """Files may be named by URIs, which editors have at hand; what is none stays."""
    if not isinstance(value, list):
        return value
    return [file_of(item) or item if isinstance(item, str) else item for item in value]


def _as_places(value: object) -> object:
    """What an editor shows may be no file of the workspace at all, and is lifted if it is one."""
    if not isinstance(value, list):
        return value
    return [_as_place(item) if isinstance(item, Mapping) else item for item in value]


def _as_place(item: Mapping[object, object]) -> Mapping[object, object]:
    if not isinstance(uri := item.get("uri"), str) or "path" in item:
        return {**item, "optional": True}
    rest = {name: value for name, value in item.items() if name != "uri"}
    return {**rest, "path": file_of(uri) or uri, "optional": True}
