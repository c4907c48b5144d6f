"""The list of accelerators with what they are, what the cheapest costs now and who lists them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import PRECISIONS
from app.domain.metrics import View
from app.domain.offers import MICROS_PER_USD, PricingModel
from app.domain.query import OfferQuery
from app.domain.roofline import ridge_point
from app.domain.rows import MANAGED_KINDS
from app.web import words
from app.web.kept import answer_kept, base_of, csv_of_objects, json_of, page_of, read_some, tidied
from app.web.render import said_flag
from app.web.state import link

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.accelerators import Accelerator
    from app.domain.rows import Flag, Row
    from app.web.answers import Answer
    from app.web.boards import Served

NAMES: Final = ("precision", "as_of")
SHOWN_RATES: Final = ("fp4", "fp8", "bf16")
"""Dense rates that the list shows; each card's page and the exports have all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLine:
    """One accelerator, and the row that stands for its cheapest price (None when nobody asks one).

    `ridge` is in operations per byte at the query's precision, None without a dense rate. `providers` are
    ids with names. `marks` are the board's warnings of the cheapest row, as it says them.
    """

    card: Accelerator
    ridge: Decimal | None
    cheapest: Row | None
    usd_per_gpu_hour: Decimal | None
    marks: tuple[tuple[Flag, str, str], ...]
    providers: tuple[tuple[str, str], ...]
    offers: int

    @property
    def cheapest_name(self) -> str:
        """Return the name of the provider that asks the cheapest price; empty when nobody does."""
        return words.provider_name(self.cheapest.offer.provider) if self.cheapest else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpusPage:
    """What the template of the list shows."""

    query: OfferQuery
    canonical: str
    json_href: str
    csv_href: str
    listed: tuple[GpuLine, ...]
    others: tuple[GpuLine, ...]
    rates: tuple[str, ...]
    precisions: tuple[str, ...]
    today: str
    evidence_query: str


def gpus(request: Request) -> Response:
    """Answer the list of accelerators, those on the board first."""
    base = base_of(request)
    return tidied(request, names=NAMES) or answer_kept(
        request, lambda served, text: page_of("gpus.html", page=gpus_page(served, text), base=base), base=base
    )


def gpus_json(request: Request) -> Response:
    """Answer every accelerator with all its figures as JSON."""

    def make(served: Served, text: str) -> Answer:
        query = read_some(text, served, names=NAMES)
        lines = gpu_lines(served, query)
        return json_of(
            {"as_of": words.utc(served.board.instant), "gpus": [plain_gpu(each) for each in lines]}
        )

    return answer_kept(request, make)


def gpus_csv(request: Request) -> Response:
    """Answer every accelerator with all its figures as CSV."""

    def make(served: Served, text: str) -> Answer:
        query = read_some(text, served, names=NAMES)
        day = query.as_of or served.words.today
        return csv_of_objects(f"gpus-{day}", map(plain_gpu, gpu_lines(served, query)))

    return answer_kept(request, make)


def gpus_page(served: Served, text: str) -> GpusPage:
    """Work out what the list shows."""
    query = read_some(text, served, names=NAMES)
    lines = gpu_lines(served, query)
    day = f"?as_of={query.as_of}" if query.as_of else ""
    return GpusPage(
        query=query,
        canonical=link("/gpus", query),
        json_href=link("/gpus.json", query),
        csv_href=link("/gpus.csv", query),
        listed=tuple(each for each in lines if each.offers),
        others=tuple(each for each in lines if not each.offers),
        rates=SHOWN_RATES,
        precisions=PRECISIONS,
        today=served.words.today.isoformat(),
        evidence_query=day,
    )


def gpu_lines(served: Served, query: OfferQuery) -> list[GpuLine]:
    """Return every accelerator in file order, those that the board holds before the others."""
    rows: dict[str, list[Row]] = {}
    for row in served.board.rows:
        if row.accelerator is not None:
            rows.setdefault(row.accelerator.id, []).append(row)
    cards = served.board.catalogue.accelerators
    lines = [gpu_line(card, rows.get(card.id, []), precision=query.precision) for card in cards]
    return sorted(lines, key=lambda line: not line.offers)


def gpu_line(card: Accelerator, rows: list[Row], *, precision: str) -> GpuLine:
    """Return one accelerator with what its rows say."""
    cheapest = cheapest_on_demand(rows)
    ids = dict.fromkeys(row.offer.provider for row in rows)
    return GpuLine(
        card=card,
        ridge=ridge_point(card, precision),
        cheapest=cheapest,
        usd_per_gpu_hour=usd(cheapest),
        marks=_marks(cheapest, precision=precision),
        providers=tuple(
            sorted(((each, words.provider_name(each)) for each in ids), key=lambda pair: pair[1].casefold())
        ),
        offers=len(rows),
    )


def _marks(row: Row | None, *, precision: str) -> tuple[tuple[Flag, str, str], ...]:
    if row is None:
        return ()
    view = View(precision=precision, weights_gb=OfferQuery().weights_gb)
    return tuple(said_flag(row, view, flag=flag) for flag in row.flags)


def cheapest_on_demand(rows: Iterable[Row]) -> Row | None:
    """Return the row of the lowest on-demand price that one GPU can be had for.

    Only where there is no other: one for several GPUs at least, then one of a managed service or of a variant
    that is assumed, then a stale one. Floors and slices are no prices of a card. None when nothing is left.
    """
    priced = [
        row
        for row in rows
        if row.offer.pricing_model is PricingModel.ON_DEMAND
        and row.stored.usd_micros_per_gpu_hour
        and not row.offer.is_floor
        and not row.offer.slice_of
    ]
    return min(priced, key=_order, default=None)


def _order(row: Row) -> tuple[bool, bool, bool, int]:
    offer = row.offer
    is_other = offer.variant_assumed or offer.service_kind in MANAGED_KINDS
    return (offer.min_gpus > 1, is_other, row.is_stale, row.stored.usd_micros_per_gpu_hour or 0)


def usd(row: Row | None) -> Decimal | None:
    """Return a row's price in dollars for one GPU for one hour, None when it has none."""
    micros = None if row is None else row.stored.usd_micros_per_gpu_hour
    return None if micros is None else Decimal(micros) / MICROS_PER_USD


def plain_gpu(line: GpuLine) -> dict[str, Any]:
    """Return one accelerator for programs; numbers have their unit in the key, unknown is None."""
    card = line.card
    return {
        "id": card.id,
        "family": card.family,
        "name": card.name,
        "vendor": card.vendor,
        "architecture": card.architecture,
        "form_factor": card.form_factor,
        "status": card.status,
        "launch_year": card.launch_year,
        "memory_gb": float(card.memory_gb),
        "memory_gib_usable": _float(card.memory_gib_usable),
        "memory_type": card.memory_type or None,
        "memory_bandwidth_tb_s": float(card.bandwidth_tb_s),
        "memory_bandwidth_alt_tb_s": _float(card.bandwidth_alt_tb_s),
        "alt_note": card.alt_note or None,
        **{_rate_key(name): _float(card.dense_tflops.get(name)) for name in PRECISIONS},
        "ops_per_byte": _float(line.ridge),
        "tdp_w": card.tdp_w,
        "cheapest_on_demand_usd_per_gpu_hour": _float(line.usd_per_gpu_hour),
        "cheapest_on_demand_provider": line.cheapest.offer.provider if line.cheapest else None,
        "cheapest_on_demand_offer_id": line.cheapest.stored.offer_id if line.cheapest else None,
        "cheapest_on_demand_min_gpus": line.cheapest.offer.min_gpus if line.cheapest else None,
        "cheapest_on_demand_flags": [flag.value for flag in line.cheapest.flags] if line.cheapest else [],
        "offers": line.offers,
        "providers": [each for each, _ in line.providers],
        "sources": list(card.sources),
        "specification_as_of": card.as_of.isoformat(),
        "note": card.note or None,
    }


def _rate_key(precision: str) -> str:
    return f"dense_{precision}_{'tops' if precision == 'int8' else 'tflops'}"


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
