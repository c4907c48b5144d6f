"""Every derived column: key, label, unit, formula, source, what it assumes, and its one function.

A metric is a product of operands divided by a product of operands, done as one division of exact numbers.
So equal ratios give equal figures and a ranking cannot depend on the order of rounding.
An operand that is not known makes the metric unknown, and says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from app.domain.offers import MICROS_PER_USD, PairKey, pair_key, usd_per_instance_hour

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.domain.accelerators import Accelerator
    from app.domain.rows import Row

METHODOLOGY_VERSION: Final = "1"
"""Version of the formulas below and of how a printed price is brought to one GPU for one hour.

It stands in the hash of every past day, so that a figure can be worked out again as it was then.
"""

Nature = Literal["price", "ratio", "bound", "specification"]
Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a reader has chosen that figures depend on: a precision, gigabytes of weights, a baseline.

    `baseline_usd_per_gpu_hour` holds, for each pair key, the price that stands for the baseline there.
    """

    precision: str
    weights_gb: Decimal
    baseline: Accelerator | None = None
    baseline_usd_per_gpu_hour: Mapping[PairKey, Decimal] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A number that enters a formula: its name, its unit, where it comes from, and why it may be unknown."""

    name: str
    unit: str
    get: Callable[[Row, View], Decimal | None]
    missing: Callable[[Row, View], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One derived column. `decimals` is for display only; `depends` names the parts of the view it uses."""

    key: str
    label: str
    unit: str
    formula: str
    meaning: str
    source: str
    assumes: str
    nature: Nature
    better: Better
    decimals: int
    numerator: tuple[Operand, ...]
    denominator: tuple[Operand, ...] = ()
    scale: Decimal = Decimal(1)
    divisor: Decimal = Decimal(1)
    depends: tuple[Literal["precision", "weights_gb", "baseline"], ...] = ()

    def value(self, row: Row, view: View) -> Decimal | None:
        """Return the figure for one row, or None when an operand is unknown."""
        above = [operand.get(row, view) for operand in self.numerator]
        below = [operand.get(row, view) for operand in self.denominator]
        known_above = [value for value in above if value is not None]
        known_below = [value for value in below if value is not None]
        if len(known_above) < len(above) or len(known_below) < len(below):
            return None
        return prod(known_above, start=self.scale) / prod(known_below, start=self.divisor)

    def why_unknown(self, row: Row, view: View) -> str:
        """Return why the figure is unknown for this row, or an empty text when it is known."""
        for operand in (*self.numerator, *self.denominator):
            if operand.get(row, view) is None:
                return operand.missing(row, view)
        return ""


def _listed_usd(row: Row, _view: View) -> Decimal | None:
    """Return the price of one whole GPU: a slice has none, or it would rank as a cheap card."""
    micros = row.stored.usd_micros_per_gpu_hour
    return None if micros is None or row.offer.slice_of else Decimal(micros) / MICROS_PER_USD


def _comparable_usd(row: Row, view: View) -> Decimal | None:
    """A floor is no price: it enters no derived figure."""
    return None if row.offer.is_floor else _listed_usd(row, view)


def _instance_usd(row: Row, _view: View) -> Decimal | None:
    rate = row.stored.rate
    return usd_per_instance_hour(row.offer, usd_per_unit=None if rate is None else rate.usd_per_unit)


def _no_price(row: Row, _view: View) -> str:
    if row.offer.currency != "USD" and row.stored.rate is None:
        return f"the price is in {row.offer.currency} and there is no exchange rate"
    if row.offer.slice_of:
        return f"this is a slice of {row.offer.slice_of}, not a whole card: no price per whole GPU"
    return "the price is a floor (written as 'from'), so a figure derived from it would be too low"


def _no_accelerator(row: Row) -> str:
    if row.offer.slice_of:
        return f"this is a slice of {row.offer.slice_of}, and its share of the card is not stated"
    return f"the variant behind '{row.offer.accelerator_as_written}' is not known"


def _of_card(get: Callable[[Accelerator, View], Decimal | None]) -> Callable[[Row, View], Decimal | None]:
    return lambda row, view: None if row.accelerator is None else get(row.accelerator, view)


def _card_missing(what: str) -> Callable[[Row, View], str]:
    def missing(row: Row, view: View) -> str:
        if row.accelerator is None:
            return _no_accelerator(row)
        return f"no {what.format(precision=view.precision)} is published for the {row.accelerator.name}"

    return missing


def _dense_pflops(card: Accelerator, view: View) -> Decimal | None:
    tflops = card.dense_tflops.get(view.precision)
    return None if tflops is None else tflops / 1000


def _baseline_missing(row: Row, view: View) -> str:
    if view.baseline is None:
        return "choose a baseline accelerator to compare with"
    return f"{row.offer.provider} lists no comparable {view.baseline.name} to compare with"


LIST_PRICE = Operand(name="list price", unit="$/GPU-h", get=_listed_usd, missing=_no_price)
COMPARABLE_PRICE = Operand(name="list price", unit="$/GPU-h", get=_comparable_usd, missing=_no_price)
INSTANCE_PRICE = Operand(
    name="list price of the instance",
    unit="$/h",
    get=_instance_usd,
    missing=_no_price,
)
BANDWIDTH = Operand(
    name="peak memory bandwidth",
    unit="TB/s",
    get=_of_card(lambda card, _view: card.bandwidth_tb_s),
    missing=_card_missing("memory bandwidth"),
)
DENSE_PFLOPS = Operand(
    name="dense rate",
    unit="PFLOP/s",
    get=_of_card(_dense_pflops),
    missing=_card_missing("dense {precision} rate"),
)
MEMORY = Operand(
    name="memory",
    unit="GB",
    get=_of_card(lambda card, _view: card.memory_gb),
    missing=_card_missing("memory size"),
)
GPU_COUNT = Operand(
    name="GPUs per instance",
    unit="GPUs",
    get=lambda row, _view: Decimal(row.offer.gpu_count),
    missing=_no_price,
)
TDP = Operand(
    name="board power",
    unit="W",
    get=_of_card(lambda card, _view: None if card.tdp_w is None else Decimal(card.tdp_w)),
    missing=_card_missing("board power"),
)
WEIGHTS = Operand(
    name="weights",
    unit="GB",
    get=lambda _row, view: view.weights_gb,
    missing=lambda _row, _view: "give the weights in GB",
)
BASELINE_BANDWIDTH = Operand(
    name="baseline's peak memory bandwidth",
    unit="TB/s",
    get=lambda _row, view: None if view.baseline is None else view.baseline.bandwidth_tb_s,
    missing=_baseline_missing,
)
BASELINE_PRICE = Operand(
    name="baseline's list price at this provider",
    unit="$/GPU-h",
    get=lambda row, view: view.baseline_usd_per_gpu_hour.get(pair_key(row.offer)),
    missing=_baseline_missing,
)

_TABLE: Final = "InferPrice, Priced per TB/s, the H200 beats the H100 at 6 of 7 providers (2026-11-02)"
_ROOFLINE: Final = "Roofline: Williams, Waterman, Patterson (2009), doi 10.1145/1498765.1498785"
_SHEET: Final = "the maker's data sheet; each card's page names it with its date"
_PEAK: Final = "peak figures of the data sheet, which are never sustained"

_METRICS: Final = (
    Metric(
        key="usd_per_gpu_hour",
        label="Price",
        unit="$/GPU-h",
        formula="list price / GPUs of the instance / hours it pays for",
        meaning="List price of one GPU for one hour.",
        source="the provider's page",
        assumes="list price before any discount, without storage and traffic; a slice of a card has none",
        nature="price",
        better="lower",
        decimals=2,
        numerator=(LIST_PRICE,),
    ),
    Metric(
        key="usd_per_instance_hour",
        label="Instance price",
        unit="$/instance-h",
        formula="list price of the whole instance / hours it pays for",
        meaning="List price of the whole instance for one hour.",
        source="the provider's page",
        assumes="list price before any discount, without storage and traffic",
        nature="price",
        better="lower",
        decimals=2,
        numerator=(INSTANCE_PRICE,),
    ),
    Metric(
        key="usd_per_tbs_hour",
        label="Bandwidth price",
        unit="$/TB/s-h",
        formula="price / peak memory bandwidth",
        meaning="Ratio for decode, which waits on memory: dollars an hour for each TB/s of peak bandwidth.",
        source=_TABLE,
        assumes=_PEAK,
        nature="ratio",
        better="lower",
        decimals=3,
        numerator=(COMPARABLE_PRICE,),
        denominator=(BANDWIDTH,),
    ),
    Metric(
        key="usd_per_pflop_hour",
        label="Compute price",
        unit="$/PFLOP-h",
        formula="price / dense PFLOP/s at the chosen precision",
        meaning="Ratio for prefill, which runs out of compute: dollars an hour for each dense PFLOP/s.",
        source=_TABLE,
        assumes="dense peak at the chosen precision, never the sparse figure and never another precision's",
        nature="ratio",
        better="lower",
        decimals=2,
        numerator=(COMPARABLE_PRICE,),
        denominator=(DENSE_PFLOPS,),
        depends=("precision",),
    ),
    Metric(
        key="usd_per_gb_hour",
        label="Memory price",
        unit="$/GB-h",
        formula="price / accelerator memory",
        meaning="Ratio: dollars an hour for each GB of accelerator memory (never host memory).",
        source="division of the two facts beside it",
        assumes="the memory size on the label, not what a driver leaves for use",
        nature="ratio",
        better="lower",
        decimals=4,
        numerator=(COMPARABLE_PRICE,),
        denominator=(MEMORY,),
    ),
    Metric(
        key="ops_per_byte",
        label="Ridge point",
        unit="op/byte",
        formula="dense FLOP/s / peak memory bandwidth",
        meaning="Operations per byte below which work waits on memory.",
        source=_ROOFLINE,
        assumes=_PEAK,
        nature="ratio",
        better="neither",
        decimals=1,
        numerator=(DENSE_PFLOPS,),
        denominator=(BANDWIDTH,),
        scale=Decimal(1000),
        depends=("precision",),
    ),
    Metric(
        key="decode_ceiling_tokens_per_s",
        label="Decode ceiling",
        unit="tok/s",
        formula="peak memory bandwidth / weights",
        meaning="Upper bound on generated tokens a second of one stream on one GPU; a real stream is slower.",
        source=_TABLE,
        assumes=(
            "one stream, every weight read once a token, no KV cache; where the weights do not fit one GPU, "
            "no GPU has this speed"
        ),
        nature="bound",
        better="higher",
        decimals=1,
        numerator=(BANDWIDTH,),
        denominator=(WEIGHTS,),
        scale=Decimal(1000),
        depends=("weights_gb",),
    ),
    Metric(
        key="usd_per_mtok_at_ceiling",
        label="Cost at ceiling",
        unit="$/Mtok",
        formula="price / (decode ceiling x 3600) x 10^6",
        meaning="Dollars for a million generated tokens of one stream at its ceiling; batching costs less.",
        source=_TABLE,
        assumes=(
            "one stream at its bound; a batch shares each read of the weights and can cost far less; weights "
            "that do not fit one GPU need more"
        ),
        nature="bound",
        better="lower",
        decimals=2,
        numerator=(COMPARABLE_PRICE, WEIGHTS),
        denominator=(BANDWIDTH,),
        scale=Decimal(1000),
        divisor=Decimal(3600),
        depends=("weights_gb",),
    ),
    Metric(
        key="breakeven_multiple",
        label="Break-even",
        unit="x baseline",
        formula="peak memory bandwidth / baseline's peak memory bandwidth",
        meaning="This card costs less per TB/s while its price is under this many times the baseline's.",
        source=_TABLE,
        assumes=_PEAK,
        nature="ratio",
        better="higher",
        decimals=2,
        numerator=(BANDWIDTH,),
        denominator=(BASELINE_BANDWIDTH,),
        depends=("baseline",),
    ),
    Metric(
        key="price_multiple",
        label="Price multiple",
        unit="x baseline",
        formula="price / baseline's price at the same provider",
        meaning="How many times the baseline's price this costs, same provider, service, pricing and term.",
        source=_TABLE,
        assumes="the baseline's offer of smallest minimum quantity, then lowest price, stands for it",
        nature="ratio",
        better="lower",
        decimals=2,
        numerator=(COMPARABLE_PRICE,),
        denominator=(BASELINE_PRICE,),
        depends=("baseline",),
    ),
    Metric(
        key="memory_gb",
        label="Memory",
        unit="GB",
        formula="as published",
        meaning="Memory of one accelerator, as its label says.",
        source=_SHEET,
        assumes="decimal GB on the label; a driver reports less",
        nature="specification",
        better="higher",
        decimals=0,
        numerator=(MEMORY,),
    ),
    Metric(
        key="instance_memory_gb",
        label="Instance memory",
        unit="GB",
        formula="memory x GPUs of the instance",
        meaning="Accelerator memory of the whole instance.",
        source=_SHEET,
        assumes="decimal GB on the label; a driver reports less",
        nature="specification",
        better="higher",
        decimals=0,
        numerator=(MEMORY, GPU_COUNT),
    ),
    Metric(
        key="memory_bandwidth_tb_s",
        label="Bandwidth",
        unit="TB/s",
        formula="as published",
        meaning="Peak memory bandwidth of one accelerator.",
        source=_SHEET,
        assumes=_PEAK,
        nature="specification",
        better="higher",
        decimals=3,
        numerator=(BANDWIDTH,),
    ),
    Metric(
        key="dense_pflops",
        label="Dense rate",
        unit="PFLOP/s",
        formula="as published",
        meaning="Dense peak rate of one accelerator at the chosen precision.",
        source=_SHEET,
        assumes="dense: half the figure that makers print with sparsity",
        nature="specification",
        better="higher",
        decimals=3,
        numerator=(DENSE_PFLOPS,),
        depends=("precision",),
    ),
    Metric(
        key="tdp_w",
        label="Board power",
        unit="W",
        formula="as published",
        meaning="Thermal design power of one accelerator.",
        source=_SHEET,
        assumes="the maker's limit for the board, not a measured draw",
        nature="specification",
        better="lower",
        decimals=0,
        numerator=(TDP,),
    ),
)

METRICS: Final[Mapping[str, Metric]] = MappingProxyType({metric.key: metric for metric in _METRICS})
"""All metrics by key, in the order they show."""
