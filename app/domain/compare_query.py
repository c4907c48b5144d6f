"""What a URL may ask of a comparison of cards: one frozen query, read from and written to a query string."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from app.domain.metrics import METRICS, Metric
from app.domain.query import OfferQuery, QueryError, Vocabulary, parse_query, query_pairs
from app.domain.question import make_question

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date
    from decimal import Decimal

    from app.domain.accelerators import Catalogue
    from app.domain.question import Question
    from app.domain.quotes import OwnHardware, Quote

DEFAULT_CARDS: Final = ("h100-sxm", "h200-sxm", "b200-sxm")
DEFAULT_METRIC: Final = "usd_per_tbs_hour"
DEFAULT_PRICING: Final = ("on_demand",)
FEWEST_CARDS: Final = 2
MOST_CARDS: Final = 8

COMPARED: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        key: metric
        for key, metric in METRICS.items()
        if metric.nature in {"price", "ratio", "bound"} and metric.better != "neither"
    }
)
"""The metrics that cards can be compared by: of prices, ratios and bounds those with a better side."""

_SHARED: Final = (
    "gpu",
    "precision",
    "weights_gb",
    "baseline",
    "as_of",
    "pricing",
    "service",
    "spec",
    "quote",
    "own",
)
NAMES: Final = (*_SHARED, "metric")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareQuery:
    """One comparison. `gpu` holds variants in the order asked for; `baseline` None is the first of them."""

    gpu: tuple[str, ...] = DEFAULT_CARDS
    metric: str = DEFAULT_METRIC
    precision: str = OfferQuery().precision
    weights_gb: Decimal = OfferQuery().weights_gb
    baseline: str | None = None
    as_of: date | None = None
    pricing: tuple[str, ...] = DEFAULT_PRICING
    service: tuple[str, ...] = ()
    spec: str = "main"
    quote: tuple[Quote, ...] = ()
    own: tuple[OwnHardware, ...] = ()

    def replace(self, **changes: Any) -> CompareQuery:
        """Return the query with some fields changed."""
        return replace(self, **changes)


def parse_compare(
    pairs: Sequence[tuple[str, str]], words: Vocabulary, *, catalogue: Catalogue
) -> CompareQuery:
    """Read a comparison from decoded pairs; empty values mean the default.

    Raises QueryError naming the field, its value and what would be right.
    """
    for name, value in pairs:
        if name not in NAMES:
            raise QueryError("parameter", name or value, f"use one of {', '.join(NAMES)}")
    metric = _once(pairs, "metric", COMPARED)
    asked = parse_query([pair for pair in pairs if pair[0] in _SHARED], words)
    gpu = _variants(asked.gpu, catalogue) or DEFAULT_CARDS
    if not FEWEST_CARDS <= len(gpu) <= MOST_CARDS:
        expected = f"compare {FEWEST_CARDS} to {MOST_CARDS} different cards"
        raise QueryError("gpu", ",".join(gpu), expected)
    baseline = asked.baseline
    if baseline is not None and baseline not in gpu:
        raise QueryError("baseline", baseline, f"use one of the compared cards: {', '.join(gpu)}")
    return CompareQuery(
        gpu=gpu,
        precision=asked.precision,
        weights_gb=asked.weights_gb,
        baseline=None if baseline == gpu[0] else baseline,
        as_of=asked.as_of,
        pricing=asked.pricing or DEFAULT_PRICING,
        service=asked.service,
        metric=metric or DEFAULT_METRIC,
        spec=asked.spec,
        quote=asked.quote,
        own=asked.own,
    )


def _once(pairs: Iterable[tuple[str, str]], name: str, allowed: Iterable[str]) -> str:
    """Return the one value of a field, empty when it is not given."""
    values = [value for key, value in pairs if key == name and value.strip()]
    if len(values) > 1:
        raise QueryError(name, values[1], "give it once")
    known = tuple(allowed)
    if values and values[0].strip().lower() not in known:
        raise QueryError(name, values[0], f"use one of {', '.join(known)}")
    return values[0].strip().lower() if values else ""


def _variants(names: Iterable[str], catalogue: Catalogue) -> tuple[str, ...]:
    """Return variants; a family of one variant stands for it, any other family is refused."""
    found = []
    for name in names:
        members = () if catalogue.get(name) else catalogue.family_members(name)
        if len(members) > 1:
            known = " or ".join(each.id for each in members[:6])
            raise QueryError("gpu", name, f"name the variant: {known}")
        found.append(members[0].id if members else name)
    return tuple(dict.fromkeys(found))


def compare_pairs(query: CompareQuery) -> list[tuple[str, str]]:
    """Return the pairs of a link to this comparison: only what differs from the default, in a fixed order."""
    changed = [part.name for part in fields(CompareQuery) if getattr(query, part.name) != part.default]
    shared = OfferQuery(**{name: getattr(query, name) for name in changed if name in _SHARED})
    own = [(name, getattr(query, name)) for name in changed if name not in _SHARED]
    return [*query_pairs(shared), *own]


def question_of(
    query: CompareQuery, catalogue: Catalogue, *, use_alt: frozenset[str] = frozenset()
) -> Question:
    """Return the question that a query asks of a catalogue, which has the figures that its `spec` names.

    `use_alt` names cards of which the other published figure counts.
    """
    return make_question(
        catalogue,
        query.gpu,
        metric=METRICS[query.metric],
        precision=query.precision,
        weights_gb=query.weights_gb,
        baseline=query.baseline,
        pricing=query.pricing,
        service=query.service,
        use_alt=use_alt,
    )
