"""Puts the tools and resources together as one server of the protocol, and guards the way to it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import orjson
from anyio import to_thread
from mcp import MCPError
from mcp.server.auth.routes import create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel import Server
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
)
from starlette.datastructures import MutableHeaders
from starlette.status import HTTP_401_UNAUTHORIZED

from app import __version__
from app.domain.query import QueryError
from app.web.agent.access import ADMIN, READ, Access
from app.web.agent.asking import Call
from app.web.agent.reading import READING
from app.web.agent.resources import JSON, RESOURCES, TEMPLATES, read_resource
from app.web.agent.tokens import IssuedTokens
from app.web.agent.tool import answer_of
from app.web.agent.writing import WRITING
from app.web.boards import NoBoardError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fastapi import FastAPI
    from mcp.server.context import ServerRequestContext
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from app.domain.duties import Duties
    from app.settings import Settings
    from app.web.agent.tool import Tool

log = logging.getLogger(__name__)

ABOUT: Final = (
    "List prices of rented GPUs, read from providers' own pages, as dollars for one GPU for one hour and as "
    "ratios to what a card can do. Rates are dense; ceilings are bounds from peak figures, not forecasts. "
    "Unknown is null and says why, never zero. Give the address of a result when you cite it."
)
BROKEN: Final = "Something broke here. The fault has been logged."
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def tools_of(*, has_issuer: bool, duties: Duties | None) -> dict[str, Tool]:
    """Return the tools by name: those that write are there only for an issuer's tokens."""
    every = (*READING, *WRITING) if has_issuer and duties is not None else READING
    return {tool.name: tool for tool in every}


class Tools:
    """Answers what a server of the protocol is asked."""

    def __init__(self, site: FastAPI, settings: Settings, *, duties: Duties | None) -> None:
        self._site = site
        self._public_url = settings.public_url
        self._access = Access(is_open=not settings.oauth_issuer)
        self._duties = duties if settings.oauth_issuer else None
        self.tools: Mapping[str, Tool] = tools_of(has_issuer=bool(settings.oauth_issuer), duties=self._duties)

    def server(self) -> Server[Any]:
        """Return a server that answers from here."""
        return Server(
            "inferprice",
            version=__version__,
            title="InferPrice",
            instructions=ABOUT,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    def answer(self, name: str, arguments: Mapping[str, Any], *, base: str) -> dict[str, Any]:
        """Return what a tool answers; raises ToolError."""
        tool = self.tools.get(name)
        if tool is None:
            raise ToolError(f"There is no tool '{name[:40]}': there are {', '.join(self.tools)}.")
        return answer_of(tool, self._call(arguments, base))

    def _call(self, arguments: Mapping[str, Any], base: str) -> Call:
        return Call(site=self._site, access=self._access, arguments=arguments, base=base, duties=self._duties)

    def _base(self, context: ServerRequestContext[Any]) -> str:
        if self._public_url:
            return f"{self._public_url}/"
        return str(context.request.base_url) if context.request is not None else "/"

    async def _list_tools(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[tool.listed() for tool in self.tools.values()])

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        def answer() -> dict[str, Any]:
            return self.answer(params.name, params.arguments or {}, base=self._base(context))

        try:
            document = await to_thread.run_sync(answer)
        except ToolError as error:
            return _refused(str(error))
        except Exception:
            log.exception("The tool %s broke", params.name[:40])
            return _refused(BROKEN)
        text = orjson.dumps(document).decode()
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=document)

    async def _list_resources(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return ListResourcesResult(resources=list(RESOURCES))

    async def _list_templates(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def _read_resource(
        self, context: ServerRequestContext[Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        uri = str(params.uri)
        call = self._call({}, self._base(context))
        try:
            document = await to_thread.run_sync(read_resource, call, uri)
        except (ToolError, QueryError) as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from error
        except NoBoardError as error:
            raise MCPError(code=INTERNAL_ERROR, message=str(error)) from error
        if document is None:
            raise MCPError(code=INVALID_PARAMS, message=f"There is no resource {uri[:80]}.")
        text = orjson.dumps(document).decode()
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=JSON)])


def _refused(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)


def security_of(settings: Settings) -> TransportSecuritySettings:
    """Return which names a request may call this server by, and from which pages it may come.

    A page elsewhere that lets its own name point here (DNS rebinding) must not reach what only this machine
    reaches. A server that listens for everybody and has no public address gives to everybody what it has.
    """
    if not settings.public_url and settings.host not in {"127.0.0.1", "localhost", "::1"}:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [*LOOPBACK, *(f"{name}:*" for name in LOOPBACK)]
    origins = [f"http://{host}" for host in hosts]
    if settings.public_url:
        public = urlsplit(settings.public_url)
        hosts.append(public.netloc)
        origins.append(f"{public.scheme}://{public.netloc}")
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
    )


class Challenge:
    """Adds to a refusal of who has no good token the scope that reading needs (RFC 6750, section 3).

    A client that is told none asks its issuer for every scope that the metadata name.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does, with the scope in the header that asks for a token."""

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == HTTP_401_UNAUTHORIZED:
                headers = MutableHeaders(scope=message)
                stated = headers.get("www-authenticate", "Bearer")
                headers["www-authenticate"] = f'{stated}, scope="{READ}"'
            await send(message)

        await self._app(scope, receive, answer)


def make_protocol_app(
    site: FastAPI, settings: Settings, *, duties: Duties | None, path: str, largest_body_bytes: int
) -> tuple[Starlette, Callable[[], Any]]:
    """Return the application that speaks the protocol at `path`, and what keeps it running as a context."""
    server = Tools(site, settings, duties=duties).server()
    resource = settings.oauth_resource
    auth = None
    if settings.oauth_issuer:
        # From texts: an address made before gets a slash, and issuers are compared by letters (RFC 8414).
        auth = AuthSettings.model_validate(
            {
                "issuer_url": settings.oauth_issuer,
                "resource_server_url": resource,
                "validate_token_resource": True,
            }
        )
    application = server.streamable_http_app(
        streamable_http_path=path,
        json_response=True,
        stateless_http=True,
        max_request_body_size=largest_body_bytes,
        transport_security=security_of(settings),
        auth=auth,
        token_verifier=IssuedTokens(
            issuer=settings.oauth_issuer, jwks_url=settings.oauth_jwks_url, resource=resource
        )
        if auth
        else None,
    )
    if auth and auth.resource_server_url:
        application.add_middleware(Challenge)
        # Before the SDK's own, which names no scopes as none of them is needed for everything.
        application.router.routes[:0] = create_protected_resource_routes(
            resource_url=auth.resource_server_url,
            authorization_servers=[auth.issuer_url],
            scopes_supported=[READ, ADMIN],
            resource_name="InferPrice",
        )
    return application, server.session_manager.run
