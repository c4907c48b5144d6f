"""The same offers as datasette shows them: a JSON page of one SQL query over the same SQLite file."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from app.domain.accelerators import load_catalogue
from benchmarks.peer_programs import PINS, install
from benchmarks.processes import serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.processes import Server

DATASETTE: Final = f"JSON page of 100 rows, 5 GPUs ranked by $/TB/s, against datasette {PINS['datasette']}"

_SQL: Final = """
WITH card(id, bandwidth_tb_s) AS (VALUES {cards})
SELECT offer.id, provider, sku, accelerator, family, accelerator_as_written, gpu_count, min_gpus,
       list_price, currency, price_basis, usd_micros_per_gpu_hour / 1e6 AS usd_per_gpu_hour,
       usd_micros_per_gpu_hour / 1e6 / bandwidth_tb_s AS usd_per_tbs_hour, pricing_model, service_kind, tier,
       term_days_min, term_days_max, region, variant_assumed, valid_from, source_url, fragment, observed_at
FROM price JOIN offer ON offer.id = price.offer_id JOIN card ON card.id = offer.accelerator
WHERE price.valid_to IS NULL
ORDER BY usd_per_tbs_hour LIMIT 100
"""


@contextmanager
def datasette(url: str) -> Iterator[Server]:
    """Run datasette over the file of a SQLite URL, as it comes."""
    command = [str(install("datasette") / "datasette"), "serve", url.removeprefix("sqlite:///")]
    with serving([*command, "--host", "127.0.0.1", "--port"], first_path="/-/versions.json") as server:
        yield server


def datasette_path(gpus: Sequence[str]) -> str:
    """Return the path of datasette's JSON page for these GPUs; its database is called as the file."""
    catalogue = load_catalogue()
    cards = [card for gpu in gpus if (card := catalogue.get(gpu)) is not None]
    values = ", ".join(f"('{card.id}', {card.bandwidth_tb_s})" for card in cards)
    sql = " ".join(_SQL.format(cards=values).split())
    return f"/few.json?{urlencode({'sql': sql, '_shape': 'array'})}"


def first_sku(server: Server, gpus: Sequence[str]) -> str:
    """Return the SKU that datasette ranks first."""
    return str(json.loads(server.get(datasette_path(gpus)).body)[0]["sku"])
