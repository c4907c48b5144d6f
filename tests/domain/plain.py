"""Works a board out the slow and obvious way, with loops and exact fractions, to hold the fast one to.

Nothing of `app.domain.board`, `bitsets`, `columns` or `metrics` is used: only the facts of the accelerators
and the plain records. Formulas are those of the article of 2026-11-02 and of issue 2.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from app.domain.accelerators import Accelerator, load_catalogue
from app.domain.listing import StoredOffer
from app.domain.offers import Offer
from app.domain.providers import load_providers, name_of
from app.domain.query import OfferQuery
from app.domain.searching import card_names

Number = Fraction | None

USUAL_WEIGHTS_GB = Fraction(70)
PairOf = tuple[object, ...]

HOURS = {
    "second": Fraction(1, 3600),
    "minute": Fraction(1, 60),
    "hour": Fraction(1),
    "month": Fraction(8760, 12),
}
FACETS = ("family", "variant", "provider", "pricing", "service", "form_factor", "region", "gpu_count")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a board must answer: the ids of all rows in order, and how often each choice would be met."""

    ids: tuple[int, ...]
    facets: dict[str, dict[object, int]]

    def page(self, number: int, per_page: int) -> tuple[int, ...]:
        return self.ids[(number - 1) * per_page : number * per_page]


def card_of(offer: Offer) -> Accelerator | None:
    return load_catalogue().get(offer.accelerator) if offer.accelerator else None


def family_of(offer: Offer) -> str | None:
    card = card_of(offer)
    return card.family if card else offer.family


def instance_usd(offer: Offer) -> Number:
    """Dollars of the whole instance for one hour, exactly."""
    if offer.currency != "USD":
        return None
    scope, _, unit = offer.price_basis.value.partition("_")
    hours = Fraction(offer.term_days_max or 0) * 24 if unit == "term" else HOURS[unit]
    return Fraction(offer.list_price) / hours * (1 if scope == "instance" else offer.gpu_count)


def gpu_usd(offer: Offer) -> Number:
    """Dollars of one GPU for one hour, to the micro-dollar, a half to the even one; a slice has none."""
    whole = None if offer.slice_of else instance_usd(offer)
    return None if whole is None else Fraction(round(whole / offer.gpu_count * 1_000_000), 1_000_000)


def comparable_usd(offer: Offer) -> Number:
    """The same, where figures may be derived from it: not from a floor."""
    return None if offer.is_floor else gpu_usd(offer)


def pair_of(offer: Offer) -> PairOf:
    return (
        offer.provider,
        offer.service_kind,
        offer.pricing_model,
        offer.tier,
        offer.term_days_min,
        offer.term_days_max,
    )


def baseline_prices(offers: Iterable[Offer], baseline: str | None) -> dict[PairOf, Fraction]:
    """For each set of terms: the baseline's price at the smallest minimum, of several the lowest."""
    found: dict[PairOf, list[tuple[int, Fraction]]] = {}
    for offer in offers:
        usd = gpu_usd(offer)
        if offer.accelerator == baseline and baseline and usd and not offer.is_floor:
            found.setdefault(pair_of(offer), []).append((offer.min_gpus, usd))
    return {pair: min(prices)[1] for pair, prices in found.items()}


def ratio(above: Iterable[Number], below: Iterable[Number] = ()) -> Number:
    """Product over product; one unknown makes it unknown."""
    result = Fraction(1)
    for value in above:
        if value is None:
            return None
        result *= value
    for value in below:
        if value is None:
            return None
        result /= value
    return result


def figures(offer: Offer, query: OfferQuery, *, baselines: dict[PairOf, Fraction]) -> dict[str, Number]:
    """Every derived figure of an offer, each formula written out."""
    card = card_of(offer)
    base = load_catalogue().get(query.baseline) if query.baseline else None
    usd = comparable_usd(offer)
    weights = Fraction(query.weights_gb)
    bandwidth = Fraction(card.bandwidth_tb_s) if card else None
    base_bandwidth = Fraction(base.bandwidth_tb_s) if base else None
    memory = Fraction(card.memory_gb) if card else None
    tflops = card.dense_tflops.get(query.precision) if card else None
    pflops = None if tflops is None else Fraction(tflops) / 1000
    return {
        "usd_per_gpu_hour": gpu_usd(offer),
        "usd_per_instance_hour": instance_usd(offer),
        "usd_per_tbs_hour": ratio([usd], [bandwidth]),
        "usd_per_pflop_hour": ratio([usd], [pflops]),
        "usd_per_gb_hour": ratio([usd], [memory]),
        "ops_per_byte": ratio([pflops, Fraction(1000)], [bandwidth]),
        "decode_ceiling_tokens_per_s": ratio([bandwidth, Fraction(1000)], [weights]),
        "usd_per_mtok_at_ceiling": ratio([usd, Fraction(1000), weights], [bandwidth, Fraction(3600)]),
        "breakeven_multiple": ratio([bandwidth], [base_bandwidth]),
        "price_multiple": ratio([usd], [baselines.get(pair_of(offer))]),
        "memory_gb": memory,
        "instance_memory_gb": ratio([memory, Fraction(offer.gpu_count)]),
        "memory_bandwidth_tb_s": bandwidth,
        "dense_pflops": pflops,
        "tdp_w": Fraction(card.tdp_w) if card and card.tdp_w is not None else None,
    }


def gpus_for(offer: Offer, weights_gb: Fraction) -> int | None:
    """How many cards hold the weights: a pile of them, one more until they fit."""
    card, gpus = card_of(offer), 1
    while card is not None and gpus * Fraction(card.memory_gb) < weights_gb:
        gpus += 1
    return None if card is None else gpus


def flags(
    stored: StoredOffer,
    everything: Sequence[StoredOffer],
    *,
    instant: datetime,
    weights_gb: Fraction = USUAL_WEIGHTS_GB,
) -> list[str]:
    """The warnings of a row, the gravest first."""
    offer = stored.offer
    missed = (instant - stored.last_seen_at) / read_every(offer.provider)
    checks = {
        "over_memory": (gpus_for(offer, weights_gb) or 1) > 1,
        "dearer_per_tbs": is_trap(offer, [each.offer for each in everything]),
        "disputed_order": is_disputed(offer, [each.offer for each in everything]),
        "stale": 2 < missed <= 7,
        "very_stale": missed > 7,
        "assumed": offer.variant_assumed,
        "announced": stored.announced_since_page,
        "change_announced": stored.next_price is not None,
        "floor": offer.is_floor,
        "min_quantity": offer.min_gpus > 1,
        "managed": offer.service_kind.value in {"serverless", "dedicated_deployment"},
        "slice": offer.slice_of is not None,
        "unknown_accelerator": card_of(offer) is None and offer.slice_of is None,
        "converted": stored.rate is not None,
        "aggregator": "-via-" in offer.provider,
    }
    return [name for name, holds in checks.items() if holds]


def is_disputed(offer: Offer, everything: Iterable[Offer]) -> bool:
    """Whether another card's cheapest offer on the same terms is dearer per TB/s hangs on the bandwidths."""
    card, usd = card_of(offer), gpu_usd(offer)
    if card is None or not usd or offer.is_floor:
        return False
    cheapest: dict[str, Fraction] = {}
    for other in everything:
        price = gpu_usd(other)
        if card_of(other) and price and not other.is_floor and pair_of(other) == pair_of(offer):
            cheapest[other.accelerator] = min(cheapest.get(other.accelerator, price), price)
    for name, price in cheapest.items():
        rival = load_catalogue().by_id[name]
        if rival is card:
            continue
        orders = set()
        for ours in {card.bandwidth_tb_s, card.bandwidth_alt_tb_s or card.bandwidth_tb_s}:
            for theirs in {rival.bandwidth_tb_s, rival.bandwidth_alt_tb_s or rival.bandwidth_tb_s}:
                gap = usd / Fraction(ours) - price / Fraction(theirs)
                orders.add((gap > 0) - (gap < 0))
        if len(orders) > 1:
            return True
    return False


def read_every(provider: str) -> timedelta:
    """The time between two readings: a day, or its share where the registry says more often."""
    facts = load_providers().get(provider)
    return timedelta(days=1) / (facts.times_a_day if facts else 1)


def is_trap(offer: Offer, everything: Iterable[Offer]) -> bool:
    """The article's trap: cheaper by the hour than a sibling card on the same terms, dearer per TB/s."""
    card, usd = card_of(offer), gpu_usd(offer)
    if card is None or not usd or offer.is_floor:
        return False
    for other in everything:
        sibling, price = card_of(other), gpu_usd(other)
        if sibling is None or not price or other.is_floor or sibling is card:
            continue
        if sibling.family != card.family or pair_of(other) != pair_of(offer):
            continue
        if price > usd and price / Fraction(sibling.bandwidth_tb_s) < usd / Fraction(card.bandwidth_tb_s):
            return True
    return False


def facts(
    stored: StoredOffer,
    everything: Sequence[StoredOffer],
    *,
    instant: datetime,
    weights_gb: Fraction = USUAL_WEIGHTS_GB,
) -> dict[str, object]:
    """Every column that is read rather than worked out, as it sorts: texts without case, unknown as None."""
    offer, card = stored.offer, card_of(stored.offer)
    texts = {
        "provider": offer.provider,
        "sku": offer.sku,
        "accelerator": offer.accelerator,
        "accelerator_as_written": offer.accelerator_as_written,
        "currency": offer.currency,
        "price_basis": offer.price_basis.value,
        "pricing_model": offer.pricing_model.value,
        "service_kind": offer.service_kind.value,
        "tier": offer.tier,
        "region": offer.region,
        "form_factor": card.form_factor if card else None,
        "valid_from": stored.price_valid_from.strftime("%Y-%m-%d"),
        "flags": " ".join(flags(stored, everything, instant=instant, weights_gb=weights_gb)),
        "source_url": offer.source_url,
        "fragment": offer.fragment,
        "family": family_of(offer),
        "observed_at": stored.observed_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "last_seen_at": stored.last_seen_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "assumptions": "; ".join(offer.assumptions),
    }
    folded: dict[str, object] = {name: text.casefold() if text else None for name, text in texts.items()}
    return folded | {
        "gpu_count": offer.gpu_count,
        "min_gpus": offer.min_gpus,
        "list_price": offer.list_price,
        "term_days_min": offer.term_days_min,
        "term_days_max": offer.term_days_max,
        "form_factor_assumed": offer.variant_assumed,
        "is_floor": offer.is_floor,
        "memory_gb_as_written": offer.memory_gb_as_written,
        "offer_id": stored.offer_id,
        "gpus_for_weights": gpus_for(offer, weights_gb),
    }


def usual_order(stored: StoredOffer) -> tuple[object, ...]:
    """The order of rows whose figures are equal: provider, GPU, terms, SKU."""
    offer = stored.offer
    return (
        offer.provider,
        offer.accelerator or "~",
        offer.accelerator_as_written,
        offer.pricing_model.value,
        offer.tier,
        offer.region,
        offer.gpu_count,
        offer.term_days_min or 0,
        offer.sku,
        stored.offer_id,
    )


def filters(query: OfferQuery) -> dict[str, Callable[[Offer], bool]]:
    """Each filter of a query by the facet it stands for; an announced card shows only when asked for."""

    def has_gpu(offer: Offer) -> bool:
        if query.gpu:
            return offer.accelerator in query.gpu or family_of(offer) in query.gpu
        card = card_of(offer)
        return card is None or card.status != "announced"

    def has_text(offer: Offer) -> bool:
        card = card_of(offer)
        said = [offer.provider, offer.sku, offer.accelerator or "", offer.accelerator_as_written]
        said += [card.name if card else "", offer.region, offer.tier, offer.provider_term]
        said += [offer.pricing_model.value, offer.service_kind.value, name_of(offer.provider)]
        cut = load_catalogue().get(offer.slice_of or "")
        family = cut.family if cut else family_of(offer)
        makers = [each.vendor for each in load_catalogue().accelerators if each.family == family]
        said += card_names(card).split("\n") if card else makers[:1]
        return all(any(word in text.casefold() for text in said) for word in query.q.casefold().split())

    def has_memory(offer: Offer) -> bool:
        card = card_of(offer)
        return query.min_memory_gb is None or (card is not None and card.memory_gb >= query.min_memory_gb)

    def has_form(offer: Offer) -> bool:
        card = card_of(offer)
        return not query.form_factor or (card is not None and card.form_factor in query.form_factor)

    return {
        "gpu": has_gpu,
        "provider": lambda offer: not query.provider or offer.provider in query.provider,
        "pricing": lambda offer: not query.pricing or offer.pricing_model.value in query.pricing,
        "service": lambda offer: not query.service or offer.service_kind.value in query.service,
        "form_factor": has_form,
        "region": lambda offer: not query.region or offer.region in query.region,
        "gpu_count": lambda offer: (query.min_gpus or 0) <= offer.gpu_count <= (query.max_gpus or 10**9),
        "memory": has_memory,
        "q": has_text,
    }


def facet_values(offer: Offer) -> dict[str, object]:
    card = card_of(offer)
    return {
        "family": family_of(offer),
        "variant": offer.accelerator,
        "provider": offer.provider,
        "pricing": offer.pricing_model.value,
        "service": offer.service_kind.value,
        "form_factor": card.form_factor if card else None,
        "region": offer.region or None,
        "gpu_count": offer.gpu_count,
    }


def in_units(known: dict[str, Number], name: str, query: OfferQuery) -> Number:
    """A figure for the period of a query, a price of one GPU or of its instance."""
    if name == "usd_per_gpu_hour" and query.per == "instance":
        name = "usd_per_instance_hour"
    hours = {"hour": 1, "day": 24, "month": 730, "year": 8760}[query.period] if name.endswith("_hour") else 1
    value = known[name]
    return None if value is None else value * hours


def conditions(query: OfferQuery, *, baselines: dict[PairOf, Fraction]) -> list[Callable[[Offer], bool]]:
    """Each condition of `CONDITIONS`, written out: by the figures as they show, an unknown one never."""

    def shown(offer: Offer, name: str) -> Fraction | None:
        """A price as it shows, rounded half up to its decimals."""
        usd = in_units(figures(offer, query, baselines=baselines), name, query)
        fewer = {"month": 2, "year": 3}.get(query.period, 0)
        if usd is None:
            return None
        step = 10 ** max(0, {"usd_per_tbs_hour": 3}.get(name, 2) - fewer)
        return Fraction(int(usd * step + Fraction(1, 2)), step)

    def price_above_2(offer: Offer) -> bool:
        usd = shown(offer, "usd_per_gpu_hour")
        return usd is not None and usd > 2

    def tbs_below(offer: Offer) -> bool:
        usd = shown(offer, "usd_per_tbs_hour")
        return usd is not None and usd <= Fraction("1.2")

    written: dict[tuple[str, str], Callable[[Offer], bool]] = {
        CONDITIONS[0]: price_above_2,
        CONDITIONS[1]: tbs_below,
        CONDITIONS[2]: lambda offer: 2 <= offer.gpu_count <= 8,
        CONDITIONS[3]: lambda offer: card_of(offer) is None,
        CONDITIONS[4]: lambda offer: offer.pricing_model.value != "spot",
        CONDITIONS[5]: lambda offer: bool(card_of(offer)) and "h100" in str(offer.accelerator),
    }
    return [written[condition.column, condition.text] for condition in query.where]


CONDITIONS = (
    ("usd_per_gpu_hour", ">2"),
    ("usd_per_tbs_hour", "<=1.2"),
    ("gpu_count", "2..8"),
    ("memory_bandwidth_tb_s", "unknown"),
    ("pricing_model", "!spot"),
    ("accelerator", "H100"),
)
"""The conditions that queries are drawn with, as a link spells them."""


def count_facets(everything: Sequence[StoredOffer], query: OfferQuery) -> dict[str, dict[object, int]]:
    """How many rows each choice would give with all the other filters as they are."""
    tests: dict[str, Callable[[Offer], bool]] = {**filters(query)}
    baselines = baseline_prices([each.offer for each in everything], query.baseline)
    tests |= {f"where {number}": one for number, one in enumerate(conditions(query, baselines=baselines))}
    counts: dict[str, dict[object, int]] = {}
    for facet in FACETS:
        own = "gpu" if facet in {"family", "variant"} else facet
        found = Counter({facet_values(each.offer)[facet]: 0 for each in everything})
        for each in everything:
            if all(holds(each.offer) for name, holds in tests.items() if name != own):
                found[facet_values(each.offer)[facet]] += 1
        counts[facet] = {value: number for value, number in found.items() if value is not None}
    return counts


def answer(everything: Sequence[StoredOffer], query: OfferQuery, *, instant: datetime) -> Answer:
    """Answer a query: every matching row in order, unknown last both ways, equal ones in the usual order."""
    baselines = baseline_prices([each.offer for each in everything], query.baseline)
    tests = [*filters(query).values(), *conditions(query, baselines=baselines)]
    matching = [each for each in everything if all(holds(each.offer) for holds in tests)]
    matching.sort(key=usual_order)
    for part in reversed(query.sort.split(",")):
        key = part.removeprefix("-")
        if key == "usd_per_gpu_hour" and query.per == "instance":
            key = "usd_per_instance_hour"
        values: dict[int, object] = {}
        for each in matching:
            known = figures(each.offer, query, baselines=baselines)
            values[each.offer_id] = (
                known[key]
                if key in known
                else facts(each, everything, instant=instant, weights_gb=Fraction(query.weights_gb))[key]
            )
        matching = by_value(matching, values, descending=part.startswith("-"))
    return Answer(tuple(each.offer_id for each in matching), count_facets(everything, query))


def by_value(
    rows: Sequence[StoredOffer], values: dict[int, object], *, descending: bool
) -> list[StoredOffer]:
    """Rows by value, unknown last, equal ones in the order they come in."""
    groups: dict[object, list[StoredOffer]] = {}
    for each in rows:
        groups.setdefault(values[each.offer_id], []).append(each)
    unknown = groups.pop(None, [])
    ordered = sorted(groups, reverse=descending)  # type: ignore[type-var]  # one kind a column
    return [each for group in ordered for each in groups[group]] + unknown
