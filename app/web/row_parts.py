"""What the rows of the twins are made of, beside those of the board: each value's kind, unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.accelerators import PRECISIONS
from app.domain.cadence import Freshness
from app.domain.changes import ChangeKind
from app.domain.doubts import Why
from app.domain.fields import IS_FLOOR, PARTS_OF_KEY, PRINTED, TERMS, Field, flag, text, time, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A value that is an object, or a list of them when it is `many`."""

    key: str
    meaning: str
    fields: tuple[Field | Part, ...]
    many: bool = True
    is_known: bool = True


def _number(key: str, meaning: str, *, unit: str = "", is_known: bool = False) -> Field:
    return Field(key=key, kind="number", meaning=meaning, unit=unit, is_known=is_known)


def _texts(key: str, meaning: str) -> Field:
    return Field(key=key, kind="texts", meaning=meaning, is_known=True)


def _day(key: str, meaning: str) -> Field:
    return Field(key=key, kind="day", meaning=meaning)


def _maybe(key: str, meaning: str) -> Field:
    return Field(key=key, kind="flag", meaning=meaning)


_PROVIDER, _SKU, _ACCELERATOR, _AS_WRITTEN, _GPU_COUNT, _MIN_GPUS = PARTS_OF_KEY
_PRICING, _SERVICE, _TIER, _TERM_MIN, _TERM_MAX, _REGION = TERMS
_CARD: Final = text("accelerator", "The variant's id.", is_known=True)
_OFFER_ID: Final = whole("offer_id", "The number of the offer that stands for the value.", unit="")
_USD: Final = _number("usd_per_gpu_hour", "List price of one GPU for one hour.", unit="$/GPU-h")

GPUS: Final = (
    text("id", "The variant's id, which links and queries use.", is_known=True),
    text("family", "The family of the variant.", is_known=True),
    text("name", "The name as people say it.", is_known=True),
    text("vendor", "Who makes it.", is_known=True),
    text("architecture", "The maker's name for its generation.", is_known=True),
    text("form_factor", "How it is built in: sxm, pcie and so on.", is_known=True),
    text("status", "Whether it can be rented, or is announced.", is_known=True),
    whole("launch_year", "The year it came out.", unit=""),
    _number("memory_gb", "Memory as its label says.", unit="GB", is_known=True),
    _number("memory_gib_usable", "Memory that a driver reports.", unit="GiB"),
    text("memory_type", "The kind of memory."),
    _number("memory_bandwidth_tb_s", "Peak memory bandwidth.", unit="TB/s", is_known=True),
    _number("memory_bandwidth_alt_tb_s", "Another bandwidth that is also published.", unit="TB/s"),
    text("alt_note", "Where the other bandwidth stands."),
    *(
        _number(
            f"dense_{name}_{'tops' if name == 'int8' else 'tflops'}",
            f"Dense peak rate at {name}, never the sparse one.",
            unit="TOP/s" if name == "int8" else "TFLOP/s",
        )
        for name in PRECISIONS
    ),
    _number("ops_per_byte", "Operations per byte below which work waits on memory.", unit="op/byte"),
    whole("tdp_w", "Thermal design power.", unit="W"),
    _number(
        "cheapest_on_demand_usd_per_gpu_hour",
        "The lowest price on demand that one GPU can be had for, if any can.",
        unit="$/GPU-h",
    ),
    text("cheapest_on_demand_provider", "Whose that is."),
    whole("cheapest_on_demand_offer_id", "The number of that offer.", unit=""),
    whole("cheapest_on_demand_min_gpus", "The fewest that are rented at that price.", unit="GPUs"),
    _texts("cheapest_on_demand_flags", "The warnings that stand beside that price."),
    whole("offers", "Offers on the board.", unit="offers", is_known=True),
    _texts("providers", "Who lists it, by id."),
    _texts("sources", "Where its figures were read."),
    Field(key="specification_as_of", kind="day", meaning="The day they were read.", is_known=True),
    text("note", "What else is to be known of its figures."),
)

_CELL: Final = (
    _CARD,
    _USD,
    _number("value", "The figure that is compared, as `metric` of the document names it."),
    _number("price_multiple", "How many times the baseline's price it costs.", unit="x baseline"),
    _number("breakeven_multiple", "The multiple up to which it is worth it.", unit="x baseline"),
    _maybe("passes", "Whether the multiple is under the break-even one."),
    _OFFER_ID,
    text("sku", "What the provider calls it."),
    whole("min_gpus", "The smallest number that can be rented.", unit="GPUs"),
    whole("stands_for", "Offers that this one stands for.", unit="offers", is_known=True),
    _texts("flags", "The warnings that stand beside the price."),
    whole("gpus_for_weights", "GPUs that hold the weights at the least, before any KV cache.", unit="GPUs"),
    text("why", "Why there is no figure."),
)
_DOUBT: Final = (
    text("why", "What puts the order in doubt.", words=Why),
    _CARD,
    text("other", "The card that it would change places with."),
    text("instead", "The card that it may be."),
    _number("instead_bandwidth_tb_s", "The bandwidth that it would have.", unit="TB/s"),
    _number("value", "Its figure then."),
    _number("other_value", "The other card's figure then."),
    text("sentence", "The doubt in a sentence.", is_known=True),
)
COMPARE: Final = (
    _PROVIDER,
    _SERVICE,
    _PRICING,
    _TIER,
    _TERM_MIN,
    _TERM_MAX,
    flag("is_own", "Whether it is the reader's own figure, which the link gives."),
    flag("counts", "Whether these terms are the ones that count for the provider."),
    _texts("winners", "The best of the cards; several when they are equal."),
    Part(key="cells", meaning="One offer for each card.", fields=_CELL),
    Part(key="doubts", meaning="What could change the order.", fields=_DOUBT),
)

HISTORY: Final = (
    _PROVIDER,
    text(
        "line", "What the line follows: a price, or the min, median or max of a marketplace.", is_known=True
    ),
    flag(
        "is_own", "Whether it is the reader's own figure, which the link gives: level over all that is shown."
    ),
    Part(
        key="stretches",
        meaning="The times over which a price is known to have held; between two of them nobody read.",
        fields=(
            time("from", "When it began."),
            time("to", "When it ended, or was last known to hold."),
            _number("value", "The figure asked for, as `metric` of the document names it."),
            _number("usd_per_gpu_hour", "The price behind it.", unit="$/GPU-h", is_known=True),
            flag("announced", "Whether it is only announced."),
            _OFFER_ID,
        ),
    ),
)

PROVIDERS: Final = (
    _PROVIDER,
    text("name", "The provider's name as it writes it.", is_known=True),
    text("home_url", "Its site."),
    text("pricing_url", "Its page of prices."),
    text("kind", "How it sets prices."),
    flag("is_on", "Whether it is read here."),
    text("freshness", "How old what is known of it is.", words=Freshness),
    time("last_good_run_at", "When it was last read well.", is_known=False),
    whole("offers", "Offers on the board.", unit="offers", is_known=True),
    _texts("gpus", "The variants that it lists."),
)

_POINT: Final = (
    *PRINTED,
    _USD,
    IS_FLOOR,
)
CHANGES: Final = (
    text("kind", "What happened.", words=ChangeKind),
    time("at", "When it was seen, or began."),
    _PROVIDER,
    whole("offer_id", "The number of the offer.", unit="", is_known=True),
    _SKU,
    _ACCELERATOR,
    text("family", "The card's family; it may be known where the variant is not."),
    _AS_WRITTEN,
    _GPU_COUNT,
    _MIN_GPUS,
    _SERVICE,
    _PRICING,
    _TIER,
    _TERM_MIN,
    _TERM_MAX,
    _REGION,
    Part(
        key="before", meaning="The price before, if there was one.", fields=_POINT, many=False, is_known=False
    ),
    Part(key="after", meaning="The price since, if there is one.", fields=_POINT, many=False, is_known=False),
    _number("change_percent", "By how much the price moved.", unit="%"),
    text("note", "What else is to be known of it."),
    _day("starts_on", "The day on which an announced price begins."),
    time("announced_at", "When it was announced.", is_known=False),
    text("evidence", "The address of the evidence."),
    text("source_url", "The page that it was read on."),
    text("fragment", "The words that it was read from."),
)

_DECIDER: Final = (
    _PROVIDER,
    text("rival", "The card that it is held against."),
    _number("value", "The figure that decides.", is_known=True),
    _number("rival_value", "The rival's figure.", is_known=True),
    _number("slack_percent", "By how much it is decided; below zero it is missed.", unit="%", is_known=True),
)


def _decider(meaning: str) -> Part:
    return Part(key="decided_by", meaning=meaning, fields=_DECIDER, many=False, is_known=False)


CLAIMS: Final = (
    text("id", "The claim's id.", is_known=True),
    text("sentence", "The claim.", is_known=True),
    text("source", "Who says it.", is_known=True),
    _maybe("holds", "Whether it holds; missing when that cannot be told."),
    _day("since", "The day since which that is so."),
    _decider("What decides it most narrowly."),
    Part(
        key="depends_on",
        meaning="The disputed figures that it depends on.",
        fields=(
            _CARD,
            _number("bandwidth_tb_s", "The bandwidth that is used.", unit="TB/s", is_known=True),
            _number("other_bandwidth_tb_s", "The other published one.", unit="TB/s", is_known=True),
        ),
    ),
    Part(
        key="parts",
        meaning="The conditions that all have to hold.",
        fields=(
            text("sentence", "The condition with its count.", is_known=True),
            text("compare", "The address of the comparison.", is_known=True),
            text("card", "The variant that it is about.", is_known=True),
            text("relation", "What it has to do.", is_known=True),
            text("provider", "The only provider that is looked at."),
            Field(key="term_days", kind="range", meaning="The shortest and the longest term.", unit="days"),
            _maybe("holds", "Whether it holds."),
            whole("providers", "Providers that are looked at.", unit="providers", is_known=True),
            whole("hits", "Those at which it is so.", unit="providers", is_known=True),
            whole("needed", "How many have to be.", unit="providers", is_known=True),
            _decider("What decides it most narrowly."),
        ),
    ),
    Part(
        key="steps",
        meaning="The days on which its standing changed, the first with it.",
        fields=(
            Field(key="day", kind="day", meaning="The day.", is_known=True),
            _maybe("holds", "Whether it held from then on."),
        ),
    ),
)
