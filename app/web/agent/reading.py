"""The tools that read: each asks an address of this site and gives its rows, with units, source and date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.domain.columns import COLUMNS, DEFAULT_COLUMNS
from app.domain.llms.facts import load_llms
from app.domain.metrics import METRICS
from app.domain.names import fold, one_of
from app.domain.query import OfferQuery, QueryError
from app.web import words
from app.web.agent.asking import Call, ask, listed, pairs_of, taken, window
from app.web.agent.sources import (
    SOURCE,
    meanings,
    schema_with_source,
    with_sources,
    with_sources_then,
)
from app.web.agent.tool import WINDOW, Tool, argument, named, rows_schema, told_once
from app.web.api import offers_json
from app.web.claims_page import claims_json
from app.web.compare_page import compare_json
from app.web.evidence_twins import evidence_json
from app.web.exports import describe
from app.web.history_page import history_json
from app.web.llm_page import llm_json
from app.web.llm_parameters import LLM_PARAMETERS
from app.web.more_pages import HISTORY_PARAMETERS
from app.web.pages import MAX_ID_DIGITS
from app.web.pairing_api import COMPARE_PARAMETERS
from app.web.parameters import PARAMETERS
from app.web.schemas import SCHEMAS, document_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.web.agent.asking import Pairs, Window

Document = dict[str, Any]

_OURS: Final = frozenset({"quote", "own", "page", "per_page", "density", "columns"})
"""Parameters of the site that no tool takes: a reader's own figures belong in no log of tools."""

_READ: Final = "Each price: the page that its source_url names, read when its observed_at says."


def _own(parameters: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the parameters that a tool takes of an address's, and those of its rows."""
    return [*told_once(each for each in parameters if each["name"] not in _OURS), *WINDOW]


def _asked(call: Call, tool: Tool) -> tuple[Pairs, Window]:
    pairs = pairs_of(call.arguments, [each["name"] for each in tool.parameters])
    return pairs, window(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a tool found: rows, those that are shown, and what holds for all of them."""

    path: str
    pairs: Pairs
    shown: Window
    rows: Sequence[Any]
    total: int
    as_of: str
    source: str
    units: dict[str, str]
    about: Document

    def result(self, call: Call) -> Document:
        """Return it as a reader gets it."""
        shown = self.shown
        return {
            "address": call.address(self.path or "/", self.pairs),
            "json_address": call.address(f"{self.path or '/offers'}.json", self.pairs),
            "as_of": self.as_of,
            "source": self.source,
            "units": self.units,
            "total": self.total,
            "page": shown.page,
            "limit": shown.limit,
            "next_page": shown.page + 1 if shown.page * shown.limit < self.total else None,
            "about": self.about,
            "rows": list(self.rows),
        }


def _rest(document: Document, *names: str) -> Document:
    """Return a document without these parts."""
    return {key: value for key, value in document.items() if key not in names}


_TEXT: Final[dict[str, Any]] = {"type": "string"}
_USD_UNIT: Final = {"usd_per_gpu_hour": describe("usd_per_gpu_hour", OfferQuery())["unit"]}


# ---------------------------------------------------------------- the board


def search_offers(call: Call) -> Document:
    """Return offers of the board's query, in its order."""
    call.access.require("search_offers")
    pairs, shown = _asked(call, SEARCH_OFFERS)
    pairs += [("page", str(shown.page)), ("per_page", str(shown.limit))]
    pairs += _columns(pairs)
    document = ask(call, offers_json, path="/offers.json", pairs=pairs)
    found = Found(
        path="",
        pairs=pairs,
        shown=shown,
        rows=document["rows"],
        total=document["total"],
        as_of=document["as_of"],
        source=_READ,
        units={each["key"]: each["unit"] for each in document["columns"] if each["unit"]},
        about=_rest(document, "rows", "columns", "total", "page", "per_page", "next")
        | {"flag_meanings": meanings(flag for row in document["rows"] for flag in row["flags"])},
    )
    return found.result(call)


def _columns(pairs: Pairs) -> Pairs:
    """Return the columns that a query is about, when they are more than those that are always shown."""
    asked = [key for name, text in pairs if name == "sort" for key in text.replace("-", "").split(",")]
    asked += [name.removeprefix("where.") for name, _ in pairs if name.startswith("where.")]
    for name, keys in _ABOUT.items():
        asked += keys if any(pair[0] == name for pair in pairs) else ()
    more = [key for key in COLUMNS if key in asked and key in METRICS and key not in DEFAULT_COLUMNS]
    return [("columns", ",".join((*DEFAULT_COLUMNS, *more)))] if more else []


_ABOUT: Final = {
    "min_memory_gb": ("memory_gb",),
    "baseline": ("breakeven_multiple", "price_multiple"),
}
"""The columns that a parameter is about."""


SEARCH_OFFERS: Final = Tool(
    name="search_offers",
    title="Search offers",
    about=(
        "List prices of rented GPUs with what they come to for each TB/s of memory bandwidth and each dense "
        "PFLOP. The cheapest by usd_per_tbs_hour come first unless sort says otherwise, spot and reserved "
        "prices among them unless pricing says on_demand. Prices are for one GPU; usd_per_instance_hour is "
        "for all gpu_count of them. Before you call one the cheapest read its flags, which "
        "about.flag_meanings explains: a price may be stale, a floor or only for many GPUs. Unknown figures "
        "are null, with the reason."
    ),
    parameters=_own(PARAMETERS),
    result=rows_schema(document_of(SCHEMAS["offers"])),
    run=search_offers,
    is_read_only=True,
)


# ---------------------------------------------------------------- cards side by side


def compare_accelerators(call: Call) -> Document:
    """Return the lines of a comparison: a provider and terms, with a cell for each card."""
    call.access.require("compare_accelerators")
    pairs, shown = _asked(call, COMPARE_ACCELERATORS)
    document = ask(call, compare_json, path="/compare.json", pairs=pairs)
    lines, metric = document["lines"], document["metric"]
    found = Found(
        path="/compare",
        pairs=pairs,
        shown=shown,
        rows=[{**line, "cells": with_sources(call, pairs, rows=line["cells"])} for line in shown.cut(lines)],
        total=len(lines),
        as_of=document["as_of"],
        source=_READ,
        units={
            **_USD_UNIT,
            "value": metric["unit"],
            "price_multiple": "times the baseline's price",
            "breakeven_multiple": "times the baseline's price",
        },
        about=_rest(document, "lines")
        | {
            "flag_meanings": meanings(
                flag for line in lines for cell in line["cells"] for flag in cell["flags"]
            )
        },
    )
    return found.result(call)


def _compare_row() -> Document:
    row = document_of(SCHEMAS["compare"])
    cells = row["properties"]["cells"]
    cells = {**cells, "items": schema_with_source(cells["items"])}
    return {**row, "properties": {**row["properties"], "cells": cells}}


COMPARE_ACCELERATORS: Final = Tool(
    name="compare_accelerators",
    title="Compare accelerators",
    about=(
        "Cards side by side at the same provider under the same terms: who wins by a figure, at what "
        "multiple of the price it would be even, what is in doubt, and which providers are left out and why. "
        "On-demand prices unless pricing says otherwise; the first gpu is the baseline. about.counts and "
        "about.doubts say the outcome in sentences, the rows give a provider and terms each."
    ),
    parameters=_own(COMPARE_PARAMETERS),
    result=rows_schema(_compare_row()),
    run=compare_accelerators,
    is_read_only=True,
)


# ---------------------------------------------------------------- language models


def llm_cost(call: Call) -> Document:
    """Return what a language model costs at best at each offer, the cheapest first."""
    call.access.require("llm_cost")
    pairs, shown = _asked(call, LLM_COST)
    for name in ("batch", "cards"):
        listed(pairs, name)
    known = call.site.state.shared.llms
    llm = one_of("llm", taken(pairs, "llm"), names=fold(known))
    path = f"/llms/{llm}"
    document = ask(call, llm_json, path=f"{path}.json", pairs=pairs, names={"llm": llm})
    facts, rows = known[llm], with_sources(call, pairs, rows=shown.cut(document["offers"]))
    found = Found(
        path=path,
        pairs=pairs,
        shown=shown,
        rows=rows,
        total=document["total"],
        as_of=document["as_of"],
        source=f"{_READ} The model: {facts.config_source}, as of {facts.as_of}.",
        units={**_USD_UNIT, **_LLM_UNITS},
        about=_rest(document, "offers", "curves", "total")
        | {"flag_meanings": meanings(flag for row in rows for flag in row["flags"])},
    )
    return found.result(call)


_LLM_UNITS: Final = {
    "batch": "requests at once",
    "context": "tokens of a request",
    "tokens_per_s": "tokens/s of one copy, a ceiling",
    "tokens_per_s_per_stream": "tokens/s of one request, a ceiling",
    "prefill_tokens_per_s": "tokens/s, a ceiling",
    "step_s": "s",
    "usd_per_hour": "USD/hour",
    "usd_per_mtok_output": "USD/million output tokens, a floor",
    "usd_per_mtok_input": "USD/million input tokens, a floor",
    "usd_per_mtok_blended": "USD/million tokens, input_per_output of them input",
    "used_usd_per_mtok_output": "USD/million output tokens, of the used GPUs alone",
    "api_needed_utilisation": "share of the paid time",
    "missing_gb_per_gpu": "GB",
    "max_concurrency": "requests",
}
_NUMBER: Final[dict[str, Any]] = {"type": ["number", "null"]}
_BATCH: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["batch", "fits", "gpus", "tokens_per_s", "usd_per_mtok_output", "why"],
    "properties": {
        "batch": {"type": "integer"},
        "fits": {"type": "boolean"},
        "gpus": {"type": ["integer", "null"]},
        **{key: _NUMBER for key in _LLM_UNITS if key not in {"batch", "context"}},
        "why": {"type": ["string", "null"], "description": "Why a figure is unknown, or it does not fit."},
    },
}
LLM_COST: Final = Tool(
    name="llm_cost",
    title="Cost of a language model",
    about=(
        "What a language model costs at best at each offer: whether it fits, the ceiling of its speed, and "
        "the floor of dollars for a million tokens by requests at once, the cheapest by the first of batch "
        "first. Bounds from peaks, no forecasts: real serving is slower and dearer. Weights are taken as fp8 "
        "unless format says otherwise; spot and reserved prices are among the offers unless pricing does."
    ),
    parameters=[
        argument(
            "llm",
            {"type": "string"},
            about=f"A model's id: {', '.join(load_llms())}, or one of the operator's own at /llms.",
            required=True,
        ),
        *_own(LLM_PARAMETERS),
    ],
    result=rows_schema(
        {
            "type": "object",
            "required": [
                "provider",
                "accelerator",
                "offer_id",
                "usd_per_gpu_hour",
                "batches",
                "why",
                "flags",
                *SOURCE,
            ],
            "properties": {
                **SOURCE,
                "provider": {"type": "string"},
                "accelerator": {"type": ["string", "null"]},
                "offer_id": {"type": "integer"},
                "flags": {"type": "array", "items": _TEXT, "description": "Warnings beside the price."},
                "usd_per_gpu_hour": _NUMBER,
                "batches": {"type": "array", "items": _BATCH},
                "why": {"type": ["string", "null"]},
            },
        }
    ),
    run=llm_cost,
    is_read_only=True,
)


# ---------------------------------------------------------------- history


def price_history(call: Call) -> Document:
    """Return the stretches over which a card's price stood at each provider, the latest first."""
    call.access.require("price_history")
    pairs, shown = _asked(call, PRICE_HISTORY)
    document = ask(call, history_json, path="/history.json", pairs=pairs)
    rows = sorted(_stretches(document), key=lambda row: str(row["from"]), reverse=True)
    found = Found(
        path="/history",
        pairs=pairs,
        shown=shown,
        rows=with_sources_then(call, shown.cut(rows)),
        total=len(rows),
        as_of=words.utc(call.site.state.shared.keeper.current().board.instant),
        source=_READ,
        units={**_USD_UNIT, "value": document["unit"]},
        about=_rest(document, "lines", "own_not_shown"),
    )
    return found.result(call)


def _stretches(document: Document) -> Iterator[Document]:
    for line in document["lines"]:
        for each in line["stretches"]:
            yield {"provider": line["provider"], "line": line["line"], **each}


PRICE_HISTORY: Final = Tool(
    name="price_history",
    title="Price history",
    about=(
        "What a card cost at each provider over time: a row for each stretch over which a price stood, the "
        "latest first, of one card, at all providers unless told which. A stretch begins and ends with what "
        "was asked, too. A time without a stretch is one that nobody read. What is announced says so."
    ),
    parameters=_own(HISTORY_PARAMETERS),
    result=rows_schema(
        {
            "type": "object",
            "required": [
                *("provider", "line", "from", "to", "value", "usd_per_gpu_hour", "announced"),
                *SOURCE,
            ],
            "properties": {
                **SOURCE,
                "provider": {"type": "string"},
                "line": {
                    **_TEXT,
                    "description": "price: the provider's lowest; min, median or max: a marketplace's.",
                },
                "from": {"type": "string", "format": "date-time"},
                "to": {"type": "string", "format": "date-time"},
                "value": _NUMBER,
                "usd_per_gpu_hour": {"type": "number"},
                "announced": {"type": "boolean"},
                "offer_id": {"type": ["integer", "null"]},
            },
        }
    ),
    run=price_history,
    is_read_only=True,
)


# ---------------------------------------------------------------- claims


def claims(call: Call) -> Document:
    """Return the claims, and whether each holds."""
    call.access.require("claims")
    pairs, shown = _asked(call, CLAIMS)
    document = ask(call, claims_json, path="/claims.json", pairs=pairs)
    found = Found(
        path="/claims",
        pairs=pairs,
        shown=shown,
        rows=shown.cut(document["claims"]),
        total=len(document["claims"]),
        as_of=document["as_of"],
        source="Each claim's own source; it is judged by providers' own pages.",
        units={
            **dict.fromkeys(("value", "rival_value"), "as the part's sentence says"),
            "slack_percent": "%",
            "bandwidth_tb_s": "TB/s",
            "other_bandwidth_tb_s": "TB/s",
        },
        about=_rest(document, "claims"),
    )
    return found.result(call)


CLAIMS: Final = Tool(
    name="claims",
    title="Claims and whether they hold",
    about=(
        "Published claims about prices of cards, judged by the prices of a day: whether each holds, since "
        "when, by how much, what decides it and on which disputed figures it depends."
    ),
    parameters=_own(named(PARAMETERS, ("as_of",))),
    result=rows_schema(document_of(SCHEMAS["claims"])),
    run=claims,
    is_read_only=True,
)


# ---------------------------------------------------------------- one figure


def explain_figure(call: Call) -> Document:
    """Return how the figures of one offer are worked out, and what was printed where and when."""
    call.access.require("explain_figure")
    pairs, shown = _asked(call, EXPLAIN_FIGURE)
    number, figure = _offer_id(taken(pairs, "offer_id")), taken(pairs, "figure")
    path = f"/offers/{number}"
    document = ask(call, evidence_json, path=f"{path}.json", pairs=pairs, names={"offer_id": number})
    rows = document["worked"]
    if figure:
        key = one_of("figure", figure, names=fold(each["key"] for each in rows))
        rows = [each for each in rows if each["key"] == key]
    found = Found(
        path=path,
        pairs=pairs,
        shown=shown,
        rows=shown.cut(rows),
        total=len(rows),
        as_of=document["as_of"],
        source=f"{document['source_url']}, read at {document['observed_at']}",
        units={each["key"]: each["unit"] for each in rows},
        about=_rest(document, "worked") | {"flag_meanings": meanings(document["flags"])},
    )
    return found.result(call)


def _offer_id(text: str) -> str:
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_ID_DIGITS):
        raise QueryError("offer_id", text, "give the number of an offer, as search_offers has it")
    return text


EXPLAIN_FIGURE: Final = Tool(
    name="explain_figure",
    title="Explain a figure",
    about=(
        "The evidence of one offer: what was printed on which page and when, and each figure with its "
        "formula, the numbers in it, its assumptions, or why it is unknown."
    ),
    parameters=[
        argument(
            "offer_id", {"type": "integer", "minimum": 1}, about="The number of an offer.", required=True
        ),
        argument("figure", _TEXT, about="The key of one figure, such as usd_per_tbs_hour; all without it."),
        *_own(named(PARAMETERS, ("precision", "weights_gb", "baseline", "as_of", "spec"))),
    ],
    result=rows_schema(
        {
            "type": "object",
            "required": ["key", "label", "unit", "shown", "formula", "working", "kind", "why_unknown"],
            "properties": {
                **dict.fromkeys(("key", "label", "unit", "shown", "formula", "kind", "assumes"), _TEXT),
                **{key: {"type": ["string", "null"]} for key in ("working", "why_unknown")},
            },
        }
    ),
    run=explain_figure,
    is_read_only=True,
)

READING: Final = (SEARCH_OFFERS, COMPARE_ACCELERATORS, LLM_COST, PRICE_HISTORY, CLAIMS, EXPLAIN_FIGURE)
"""The tools that read, in the order in which they are listed."""
