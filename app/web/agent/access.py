"""Who may call which tool: each has one scope, checked inside it; what is not listed here nobody may call."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver.exceptions import ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

READ: Final = "prices:read"
ADMIN: Final = "prices:admin"

SCOPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "search_offers": READ,
        "compare_accelerators": READ,
        "llm_cost": READ,
        "price_history": READ,
        "claims": READ,
        "explain_figure": READ,
        "read_resource": READ,
        "start_scrape": ADMIN,
        "decide_quarantine": ADMIN,
    }
)
"""The scope of each tool, and of reading a resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Tells who may do what. When it `is_open`, as it is without an issuer, anybody may read."""

    is_open: bool

    def require(self, name: str) -> None:
        """Raise ToolError, naming the missing scope, unless whoever asks may call the tool."""
        scope = SCOPES.get(name)
        if scope is None:
            raise ToolError(f"{name} has no scope, so nobody may call it.")
        if self.is_open and scope == READ:
            return
        token = get_access_token()
        if token is None or scope not in token.scopes:
            raise ToolError(f"{name} needs a token with the scope {scope}.")
