"""The page of one accelerator: each figure with its source, who rents it at what, roofline, siblings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from app.domain.accelerators import WITHOUT_BANDWIDTH, load_catalogue
from app.domain.aliases import names_for
from app.domain.columns import COLUMNS, DEFAULT_COLUMNS
from app.domain.metrics import METRICS, Metric
from app.domain.query import OfferQuery, QueryError
from app.domain.roofline import ridge_point
from app.web import charts, words
from app.web.gpu_pages import gpu_line, plain_gpu
from app.web.history_page import table_lines
from app.web.history_query import HistoryQuery, history_link, load_history, read_history_query
from app.web.kept import (
    answer_kept,
    base_of,
    csv_of_objects,
    json_of,
    nothing_near,
    page_of,
    read_some,
)
from app.web.render import row_html, unit
from app.web.state import link, read_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from decimal import Decimal

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.accelerators import Accelerator
    from app.domain.aliases import Name
    from app.domain.board import Selection
    from app.domain.rows import Row
    from app.web.answers import Answer
    from app.web.boards import Served
    from app.web.gpu_pages import GpuLine
    from app.web.history_page import HistoryLine
    from app.web.shared import Shared

NAMES: Final = ("precision", "quote", "own")

MOST_ROWS: Final = 60
"""Offers that the page shows, beside the reader's own; the board has all."""
MOST_STEPS: Final = 40
"""Stretches of the history that the page shows; the history page has more."""

_FORM: Final = {"superchip": "superchip", "workstation": "workstation card", "consumer": "desktop card"}


class Fact(NamedTuple):
    """One figure: what it is, its value with its unit, and what has to be said beside it."""

    label: str
    value: str
    beside: str


class Rate(NamedTuple):
    """One dense rate with where its roofline bends; numbers are in TFLOPS (TOPS for int8) and op/byte."""

    precision: str
    rate: Decimal
    unit: str
    ridge: Decimal | None


class Heading(NamedTuple):
    """One heading of the table of offers."""

    label: str
    unit: str
    numeric: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPage:
    """What the template of one accelerator shows; `usd_per_tbs_hour` is that of its cheapest offer."""

    title: str
    canonical: str
    as_of: str
    usd_per_tbs_hour: Decimal | None
    line: GpuLine
    facts: tuple[Fact, ...]
    rates: tuple[Rate, ...]
    headings: tuple[Heading, ...]
    rows: tuple[str, ...]
    total: int
    board_href: str
    siblings: tuple[Accelerator, ...]
    precision: str
    own_names: tuple[Name, ...]
    open_names: tuple[Name, ...]
    sibling_names: tuple[tuple[Accelerator, tuple[str, ...]], ...]
    history: tuple[HistoryLine, ...]
    history_href: str
    history_csv: str
    figure_href: str
    roofline_href: str
    json_href: str
    csv_href: str
    source_links: tuple[tuple[str, str], ...]


def gpu(request: Request) -> Response:
    """Answer the page of one variant; an unknown one is answered with names like it."""
    shared: Shared = request.app.state.shared
    base = base_of(request)

    def make(served: Served, card: Accelerator, *, query: OfferQuery) -> Answer:
        page = gpu_page(served, card, shared=shared, asked=query)
        return page_of("gpu.html", page=page, base=base)

    return _answer(request, make, base=base)


def gpu_json(request: Request) -> Response:
    """Answer one variant as JSON: its figures with their sources, and the names it goes by."""

    def make(served: Served, card: Accelerator, *, query: OfferQuery) -> Answer:
        names = [
            {"name": each.name, "used_by": list(each.contexts), "may_mean": list(each.parts)}
            for each in names_for(card.id)
        ]
        return json_of({**_plain(served, card, query), "names": names})

    return _answer(request, make)


def gpu_csv(request: Request) -> Response:
    """Answer one variant as a line of CSV with the columns of the list, its siblings and its names."""

    def make(served: Served, card: Accelerator, *, query: OfferQuery) -> Answer:
        names = [each.name for each in names_for(card.id) if len(each.parts) == 1]
        return csv_of_objects(f"gpu-{card.id}", [{**_plain(served, card, query), "names": names}])

    return _answer(request, make)


def _answer(request: Request, make: Callable[..., Answer], *, base: str = "") -> Response:
    """Answer what is made of the variant that the address names and of its query."""
    asked = request.path_params["variant"]
    found = load_catalogue().get(asked)
    if found is None:
        names = [*load_catalogue().by_id, *WITHOUT_BANDWIDTH]
        return nothing_near(request, "GPU", asked=asked[:80], names=names)
    return answer_kept(
        request,
        lambda served, text: make(served, found, query=read_some(text, served, names=NAMES)),
        base=base,
    )


def _plain(served: Served, card: Accelerator, query: OfferQuery) -> dict[str, Any]:
    """Return what is known of a variant, and where its offers and its history are, for programs."""
    line = gpu_line(card, _rows(served, card), precision=query.precision)
    per_tbs = _usd_per_tbs_hour(served, line, query)
    return {
        "as_of": words.utc(served.board.instant),
        **plain_gpu(line),
        "cheapest_on_demand_usd_per_tbs_hour": None if per_tbs is None else float(per_tbs),
        "siblings": [each.id for each in _siblings(card)],
        "offers_href": link("/offers.json", OfferQuery(gpu=(card.id,), quote=query.quote, own=query.own)),
        "history_href": history_link("/history.json", _over_time(card, query)),
    }


def _usd_per_tbs_hour(served: Served, line: GpuLine, query: OfferQuery) -> Decimal | None:
    if line.cheapest is None:
        return None
    return METRICS["usd_per_tbs_hour"].value(line.cheapest, served.board.view(query))


def roofline_figure(request: Request) -> Response:
    """Answer the roofline of one variant as a figure for plotly."""
    return answer_kept(
        request, lambda served, text: json_of(charts.roofline_figure(_asked_card(served, text)))
    )


def _asked_card(served: Served, text: str) -> Accelerator:
    """Return the one card that `gpu` names; raises QueryError."""
    pairs = read_pairs(text)
    for name, value in pairs:
        if name != "gpu":
            raise QueryError("parameter", name or value, "use gpu")
    if len(pairs) != 1 or not pairs[0][1].strip():
        raise QueryError("gpu", "", "give one variant, such as h100-sxm")
    query = read_history_query(text, served.words)
    return served.board.catalogue.by_id[query.gpu]


def _siblings(card: Accelerator) -> tuple[Accelerator, ...]:
    members = load_catalogue().family_members(card.family)
    return tuple(each for each in members if each.id != card.id)


def _rows(served: Served, card: Accelerator) -> list[Row]:
    """Return the rows of a card but the reader's own, which are nobody's price of it."""
    return [row for row in served.board.rows if row.accelerator is card and not row.offer.is_own]


def _shown_rows(served: Served, selection: Selection) -> Iterator[Row]:
    for place, number in enumerate(selection.rows):
        row = served.board.rows[number]
        if place < MOST_ROWS or row.offer.is_own:
            yield row


def gpu_page(served: Served, card: Accelerator, *, shared: Shared, asked: OfferQuery) -> GpuPage:
    """Work out what the page of one accelerator shows; `asked` holds what its address may say."""
    query = asked.replace(gpu=(card.id,))
    text = link("", asked)
    line = gpu_line(card, _rows(served, card), precision=query.precision)
    selection = served.board.select(query, everything=True)
    over_time = _over_time(card, asked)
    steps = table_lines(load_history(shared, served, query=over_time), most=MOST_STEPS)
    return GpuPage(
        title=card.name,
        canonical=link(f"/gpus/{card.id}", asked),
        as_of=words.moment(served.board.instant),
        usd_per_tbs_hour=_usd_per_tbs_hour(served, line, query),
        line=line,
        facts=tuple(_facts(card)),
        rates=tuple(
            Rate(name, rate, "TOPS" if name == "int8" else "TFLOPS", ridge_point(card, name))
            for name, rate in card.dense_tflops.items()
        ),
        headings=tuple(_heading(key, query) for key in DEFAULT_COLUMNS),
        rows=tuple(
            row_html(row, selection.view, columns=selection.columns, evidence_query=text)
            for row in _shown_rows(served, selection)
        ),
        total=selection.total,
        board_href=link("/", OfferQuery(gpu=(card.id,), quote=asked.quote, own=asked.own)),
        siblings=(card, *_siblings(card)),
        precision=query.precision,
        own_names=tuple(each for each in names_for(card.id) if len(each.parts) == 1),
        open_names=tuple(each for each in names_for(card.id) if len(each.parts) > 1),
        sibling_names=tuple(_sibling_names(card)),
        history=tuple(steps),
        history_href=history_link("/history", over_time),
        history_csv=history_link("/history.csv", over_time),
        figure_href=history_link("/figures/history.json", over_time),
        roofline_href=f"/figures/roofline.json?gpu={card.id}",
        json_href=link(f"/gpus/{card.id}.json", asked),
        csv_href=link(f"/gpus/{card.id}.csv", asked),
        source_links=tuple((each, words.safe_url(each.split(" ")[0])) for each in card.sources),
    )


def _over_time(card: Accelerator, asked: OfferQuery) -> HistoryQuery:
    """Return the question to the history of a card, with the reader's own figures."""
    return HistoryQuery(gpu=card.id, quote=asked.quote, own=asked.own)


def _heading(key: str, query: OfferQuery) -> Heading:
    column = COLUMNS[key]
    metric = column if isinstance(column, Metric) else None
    numeric = metric is not None or getattr(column, "numeric", False)
    return Heading(column.label, unit(column, query), numeric)


def _sibling_names(card: Accelerator) -> Iterator[tuple[Accelerator, tuple[str, ...]]]:
    """Yield each sibling with the names that mean it and never this card."""
    for sibling in _siblings(card):
        names = [each.name for each in names_for(sibling.id) if each.parts == (sibling.id,)]
        if names:
            yield sibling, tuple(dict.fromkeys(names))


def _facts(card: Accelerator) -> Iterator[Fact]:
    """Yield every figure of a card but its rates, with what has to be said beside it."""
    form = words.FORM_FACTOR.get(card.form_factor) or _FORM.get(card.form_factor, card.form_factor)
    yield Fact("Maker", card.vendor, card.architecture)
    yield Fact("Form factor", form, "")
    usable = f"a driver reports {words.exact(card.memory_gib_usable)} GiB" if card.memory_gib_usable else ""
    labels = ", ".join(f"{words.exact(each)} GB" for each in card.memory_labels_gb)
    said = "; ".join(
        part for part in (card.memory_type, usable, f"also sold as {labels}" if labels else "") if part
    )
    yield Fact("Memory", f"{words.exact(card.memory_gb)} GB", said)
    alternative = (
        f"or {words.exact(card.bandwidth_alt_tb_s)} TB/s: {card.alt_note}" if card.bandwidth_alt_tb_s else ""
    )
    yield Fact("Peak memory bandwidth", f"{words.exact(card.bandwidth_tb_s)} TB/s", alternative)
    if card.fp64_matrix_tflops is not None:
        yield Fact("FP64 on matrix cores", f"{words.exact(card.fp64_matrix_tflops)} TFLOPS", "")
    yield Fact(
        "Board power", f"{card.tdp_w} W" if card.tdp_w else words.DASH, "" if card.tdp_w else "not published"
    )
    if card.interconnect:
        speed = f"{words.exact(card.interconnect_gb_s)} GB/s" if card.interconnect_gb_s else ""
        yield Fact("Link between GPUs", card.interconnect, speed)
    if card.launch_year:
        yield Fact(
            "First sold",
            str(card.launch_year),
            "announced, figures from before release" if card.is_announced else "",
        )
    yield Fact(
        "How rates were got",
        card.compute_basis or "as published",
        f"{card.sources_agreeing} independent sources agree" if card.sources_agreeing > 1 else "one source",
    )
