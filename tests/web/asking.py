"""What tests of /mcp share: a served market, questions to it, good calls, and all that a database holds."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from mcp import Client
from mcp_types import CallToolResult, TextContent
from sqlalchemy import Engine, select

from app.settings import Settings
from app.store.migrate import upgrade
from app.store.session import make_engine, reading
from app.store.tables import metadata
from app.web.main import create_app
from tests.databases import empty_sqlite
from tests.ingest.test_duties import ON
from tests.web import market
from tests.web.server import listening

PUBLIC = "https://prices.example"
RESOURCE = f"{PUBLIC}/mcp"
READING = ["search_offers", "compare_accelerators", "llm_cost", "price_history", "claims", "explain_figure"]
LLM = "openai/gpt-oss-20b"

ARGUMENTS: dict[str, dict[str, Any]] = {
    "search_offers": {"limit": 1},
    "compare_accelerators": {},
    "llm_cost": {"llm": LLM, "limit": 1},
    "price_history": {},
    "claims": {},
    "explain_figure": {"offer_id": 1},
    "start_scrape": {"provider": ON},
    "decide_quarantine": {"number": 1, "decision": "reject", "because": "It is a typo."},
}
"""A good call of each tool."""


def contents(engine: Engine) -> dict[str, list[str]]:
    """Give every row of every table."""
    with reading(engine) as connection:
        return {
            table.name: sorted(repr(tuple(row)) for row in connection.execute(select(table)))
            for table in metadata.tables.values()
        }


@contextmanager
def serving(folder: Path, *, fresh: bool = False) -> Iterator[str]:
    """Give the address of a served market whose /mcp is open; a `fresh` one has its tables and no prices."""
    url = empty_sqlite(folder)
    if fresh:
        engine = make_engine(url)
        upgrade(engine)
        engine.dispose()
    else:
        market.fill(url)
    with listening(create_app(Settings(DATABASE_URL=url), clock=lambda: market.NOW)) as address:
        yield address


T = TypeVar("T")


def asked(site: str, ask: Callable[[Client], Awaitable[T]], *, mode: str = "auto") -> T:
    """Give what the SDK's client gets."""

    async def run() -> T:
        async with Client(f"{site}/mcp", mode=mode) as client:
            return await ask(client)

    return asyncio.run(run())


def called(site: str, name: str, **arguments: Any) -> CallToolResult:
    async def ask(client: Client) -> CallToolResult:
        await client.list_tools()  # so that the client holds the result to the schema that it was told
        return await client.call_tool(name, arguments)

    return asked(site, ask)


def text_of(result: CallToolResult) -> str:
    """Give the words of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def result(site: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Give the result of a tool that is no error; as text it says the same."""
    found = called(site, name, **arguments)
    assert not found.is_error, found.content
    assert json.loads(text_of(found)) == found.structured_content
    document: dict[str, Any] = found.structured_content
    return document


def refusal(site: str, name: str, **arguments: Any) -> str:
    found = called(site, name, **arguments)
    assert found.is_error
    return text_of(found)


def document(address: str) -> dict[str, Any]:
    answer = httpx2.get(address)
    assert answer.status_code == 200, address
    found: dict[str, Any] = answer.json()
    return found
