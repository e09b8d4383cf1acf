"""The protocol's server for one agent: what it offers, and its calls to the tools."""

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from contextpack.errors import PackError
from contextpack.text import writable
from contextpackd.agents import MIN_PAGE_BYTES
from contextpackd.errors import DaemonError, FieldProblem
from contextpackd.fields import taken
from contextpackd.mcp.pages import pages
from contextpackd.mcp.progress import Reporter
from contextpackd.mcp.schemas import input_schema
from contextpackd.mcp.session import Fields, Kept, Session
from contextpackd.mcp.tool import Found, Model, Tool
from contextpackd.mcp.tools import (
    explain,
    files,
    graph,
    pack_context,
    pack_manifest,
    refresh,
    search,
    status,
    verify,
    why,
)
from contextpackd.version import VERSION

log = logging.getLogger(__name__)

NAME = "contextpackd"

TOOLS = {
    module.TOOL.name: module.TOOL
    for module in (
        pack_context, pack_manifest, search, explain, why, graph, files, verify, refresh, status,
    )
}  # fmt: skip
"""Every tool, in the order of the list that agents read."""

INSTRUCTIONS = (
    "Packs the code of a workspace that matters for a task under a token budget."
    " Begin a task with pack_context; it saves searching and reading files one by one."
)

NOTE_BYTES = 800
"""Room for the note below a page. A longer one is cut."""

CLAUDE_CHARS = 500_000
"""Claude Code's highest limit for a tool's result: pages are bounded here already."""

ROOTS_SECONDS = 5.0
"""Clients answer at once; one that never does shall have its answer nevertheless."""

_ROOTS = "roots"

Context = ServerRequestContext[Any, Any]


def server_of(session: Session) -> "Server[Any]":
    """The server of one connection."""
    offered = _Offered(session)
    made: Server[Any] = Server(
        NAME,
        version=VERSION,
        title="ContextPack",
        instructions=INSTRUCTIONS,
        on_list_tools=offered.list_tools,
        on_call_tool=offered.call_tool,
        on_list_prompts=offered.list_prompts,
        on_get_prompt=offered.get_prompt,
    )
    made.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, offered.roots_changed
    )
    # It only traces, for tools that nobody here has installed.
    made.middleware.clear()
    return made


class _Offered:
    """The handlers of one connection's requests."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asking = asyncio.Lock()

    async def list_tools(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool in TOOLS.values()])

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(TOOLS)
            message = writable(f"unknown tool: {params.name}; there are {known}")
            raise MCPError(types.INVALID_PARAMS, message)
        if (wanted := await self._roots(ctx, params.input_responses)) is not None:
            return wanted
        try:
            return await self._called(ctx, tool, params.arguments or {})
        except PackError as error:
            return _failed(error.message)
        except DaemonError as error:
            return _failed(str(error))

    async def _called(
        self, ctx: Context, tool: Tool, arguments: dict[str, Any]
    ) -> types.CallToolResult:
        session = self._session
        fields = taken(arguments, tool.own, tool.takes.options)
        size = _page_bytes(fields, session)
        if isinstance(of := fields.get("pageOf"), str):
            kept = session.kept("pageOf", of)
            return _paged(of, kept, fields, size, tool)
        wants = ctx.meta is not None and "progress_token" in ctx.meta
        reporter = Reporter(ctx.session.report_progress, is_wanted=wants)
        try:
            found = await tool.run(session, fields, reporter.report)
        finally:
            await reporter.end()
        if isinstance(found, Model):
            return _structured(found)
        name, kept = _keep(session, found, fields)
        return _paged(name, kept, fields, size, tool)

    async def _roots(
        self, ctx: Context, given: types.InputResponses | None
    ) -> types.InputRequiredResult | None:
        """See that the client's roots are known; what it must be asked first, if anything."""
        session = self._session
        capabilities = ctx.session.client_capabilities
        if session.has_own_roots or capabilities is None or capabilities.roots is None:
            return None
        if given is not None and isinstance(listed := given.get(_ROOTS), types.ListRootsResult):
            session.listed = _uris(listed)
        if session.listed is not None:
            return None
        request = types.ListRootsRequest()
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return types.InputRequiredResult(input_requests={_ROOTS: request})
        async with self._asking:
            if session.listed is None:
                try:
                    found = await ctx.session.send_request(
                        request, types.ListRootsResult, ROOTS_SECONDS
                    )
                    session.listed = _uris(found)
                except (MCPError, ValidationError) as error:
                    log.warning("the client does not list its roots: %s", error)
                    session.listed = ()
        return None

    async def roots_changed(self, _ctx: Context, _params: types.NotificationParams) -> None:
        self._session.listed = None

    async def list_prompts(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[PROMPT])

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        if params.name != PROMPT.name:
            message = writable(f"unknown prompt: {params.name}; there is {PROMPT.name}")
            raise MCPError(types.INVALID_PARAMS, message)
        if (wanted := await self._roots(ctx, params.input_responses)) is not None:
            return wanted
        arguments = params.arguments or {}
        given = {name: value for name, value in arguments.items() if value != ""}
        reporter = Reporter(ctx.session.report_progress, is_wanted=False)
        try:
            fields = taken(given, pack_context.TOOL.fields, pack_context.TOOL.takes.options)
            answer = await pack_context.answered(self._session, fields, reporter.report)
        except PackError as error:
            raise MCPError(types.INVALID_PARAMS, writable(error.message)) from error
        except DaemonError as error:
            raise MCPError(types.INVALID_PARAMS, writable(str(error))) from error
        return types.GetPromptResult(
            description=pack_context.note(answer),
            messages=[
                types.PromptMessage(role="user", content=_text(text))
                for text in (answer.pack.text, answer.request.query)
                if text
            ],
        )


PROMPT = types.Prompt(
    name="pack",
    title="Task with its code",
    description="The task, and the code of the workspace that matters for it.",
    arguments=[
        types.PromptArgument(name="query", description="the task in words", required=True),
        types.PromptArgument(
            name="budgetTokens",
            description="most tokens of code (default: 8000)",
            required=False,
        ),
    ],
)


def _listed(tool: Tool) -> types.Tool:
    meta = {"anthropic/maxResultSizeChars": CLAUDE_CHARS} if tool.model is None else None
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.summary,
        input_schema=input_schema(tool),
        output_schema=None if tool.model is None else tool.model.model_json_schema(),
        # Files are read and nothing is reached beyond them.
        annotations=types.ToolAnnotations(
            title=tool.title, read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
        _meta=meta,
    )


def _page_bytes(fields: Fields, session: Session) -> int:
    given = fields.get("pageBytes", session.page_bytes)
    assert isinstance(given, int)
    if given < MIN_PAGE_BYTES:
        raise FieldProblem("pageBytes", f"must be {MIN_PAGE_BYTES} or more, got {given}")
    return given


def _keep(session: Session, found: Found, fields: Fields) -> tuple[str, Kept]:
    """Keep a result, and the bundle that it is about; the result's name."""
    answer, note = found.answer, found.note
    if answer is None:
        kept = Kept(found.text, note, found.where, fields, None)
        return session.keep(kept), kept
    asked = fields if found.fields is None else found.fields
    bundle = Kept(answer.pack.text, note, found.where, asked, answer.pack.standing)
    name = session.keep(bundle)
    if found.text == bundle.text:
        return name, bundle
    kept = Kept(found.text, f"bundle {name}: {note}", found.where, asked, None)
    return session.keep(kept), kept


def _paged(
    name: str, kept: Kept, fields: Fields, size: int, tool: Tool
) -> types.CallToolResult:
    found = pages(kept.text, size - NOTE_BYTES)
    number = fields.get("page", 1)
    assert isinstance(number, int)
    if number > len(found):
        raise FieldProblem("page", f"must be at most {len(found)}, got {number}")
    said = kept.note
    if kept.standing is not None:
        said = f"bundle {name}: {said}"
    if len(found) > 1:
        ahead = f"page {number} of {len(found)}"
        if number < len(found):
            size_given = {"pageBytes": size} if "pageBytes" in fields else {}
            rest = {"pageOf": name, "page": number + 1, **size_given}
            ahead += f"; the next one: {tool.name} {json.dumps(rest)}"
        said = f"{ahead}. {said}" if said else ahead
    return _answered([found[number - 1], *([_cut(said)] if said else [])])


def _structured(found: Model) -> types.CallToolResult:
    document = found.model_dump(mode="json", by_alias=True, exclude_unset=True)
    # The same in both: several clients show a model only one of them.
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(content=[_text(text)], structured_content=document)


def _answered(texts: Sequence[str]) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(text) for text in texts])


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(message)], is_error=True)


def _text(text: str) -> types.TextContent:
    return types.TextContent(text=writable(text))


def _cut(note: str) -> str:
    """A note in its room."""
    raw = f"[contextpack] {writable(note)}".encode()
    if len(raw) <= NOTE_BYTES:
        return raw.decode()
    return raw[: NOTE_BYTES - len("…".encode())].decode("utf-8", "ignore") + "…"


def _uris(listed: types.ListRootsResult) -> tuple[str, ...]:
    return tuple(str(root.uri) for root in listed.roots)
