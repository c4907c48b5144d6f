"""What tests of /mcp share: a good call of each tool, what tokens are for, and all that a database holds."""

from typing import Any

from sqlalchemy import Engine, select

from app.store.session import reading
from app.store.tables import metadata
from tests.ingest.test_duties import ON

PUBLIC = "https://prices.example"
RESOURCE = f"{PUBLIC}/mcp"

ARGUMENTS: dict[str, dict[str, Any]] = {
    "search_offers": {"limit": 1},
    "compare_accelerators": {},
    "llm_cost": {"llm": "openai/gpt-oss-20b", "limit": 1},
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
