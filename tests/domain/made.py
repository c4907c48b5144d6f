"""Makes random offers, boards and queries, drawn from small pools so that equal and odd values meet often."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from app.domain.accelerators import PRECISIONS, load_catalogue
from app.domain.columns import COLUMNS
from app.domain.listing import NextPrice, StoredOffer
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind, usd_micros_per_gpu_hour
from app.domain.query import WHERE, OfferQuery, Vocabulary, make_vocabulary, parse_query
from app.domain.shown import PERIODS
from tests.domain.plain import CONDITIONS
from tests.make import make_offer

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOW.date()

# The trap's two cards, the article's others, a card without FP8, one with a second bandwidth, one announced.
CARDS = ("h100-sxm", "h100-pcie", "h200-sxm", "b200-sxm", "a100-sxm-80", "rtx-pro-6000-server", "rubin")
PROVIDERS = ("acme", "runpod", "vast", "Zed & Co")
REGIONS = ("", "eu, north", "us-east", "US-East", "région 1", "a+b c%20")
PRICES = ("0.000277", "0.001", "2.89", "3.99", "5.985", "5.29", "31.92", "1000", "2880", "8000")
CURRENCIES = ("USD", "USD", "USD", "EUR")

VOCABULARY: Vocabulary = make_vocabulary(
    load_catalogue(), providers=PROVIDERS, regions=[region for region in REGIONS if region], today=TODAY
)


@st.composite
def offers(draw: st.DrawFn, **fixed: Any) -> Offer:
    """Draw an offer: any card, any terms, now and then a floor, a slice, another currency."""
    kind = draw(st.sampled_from(("card", "card", "card", "card", "slice", "family only", "unknown")))
    card = load_catalogue().get(draw(st.sampled_from(CARDS)))
    assert card is not None
    low, high = draw(st.sampled_from(((None, None), (30, 30), (91, 180), (None, 365))))
    basis = draw(st.sampled_from(tuple(PriceBasis)))
    if high is None and basis.value.endswith("term"):
        basis = PriceBasis.GPU_HOUR
    fields = {
        "provider": draw(st.sampled_from(PROVIDERS)),
        "sku": draw(st.sampled_from(("gpu", "GPU", "8x.large"))),
        "accelerator_as_written": draw(st.sampled_from(("NVIDIA H100", "h100", "?"))),
        "accelerator": card.id if kind == "card" else None,
        "family": card.family if kind in {"card", "family only"} else None,
        "slice_of": card.id if kind == "slice" else None,
        "gpu_count": draw(st.sampled_from((1, 2, 8, 72))),
        "min_gpus": draw(st.sampled_from((1, 1, 8, 16))),
        "list_price": draw(st.sampled_from(PRICES)),
        "price_basis": basis,
        "currency": draw(st.sampled_from(CURRENCIES)),
        "pricing_model": draw(st.sampled_from(tuple(PricingModel))),
        "service_kind": draw(st.sampled_from(tuple(ServiceKind))),
        "tier": draw(st.sampled_from(("", "", "secure", "Community"))),
        "term_days_min": low,
        "term_days_max": high,
        "region": draw(st.sampled_from(REGIONS)),
        "is_floor": draw(st.sampled_from((False, False, False, True))),
        "variant_assumed": draw(st.booleans()),
        "memory_gb_as_written": draw(st.sampled_from((None, Decimal(80), Decimal("79.6")))),
        "provider_term": draw(st.sampled_from(("", "interruptible"))),
    }
    return make_offer(**{**fields, **fixed})


@st.composite
def boards(draw: st.DrawFn, *, most: int = 24) -> list[StoredOffer]:
    """Draw the stored offers of a board, in no order."""
    drawn = draw(st.lists(offers(), max_size=most))
    ids = draw(st.permutations(range(1, len(drawn) + 1)))
    return [draw(stored(offer, offer_id)) for offer, offer_id in zip(drawn, ids, strict=True)]


COMING = NextPrice(
    list_price=Decimal(1),
    currency="USD",
    price_basis=PriceBasis.GPU_HOUR,
    usd_micros_per_gpu_hour=1_000_000,
    valid_from=NOW + timedelta(days=9),
)


def store(offer: Offer, offer_id: int, *, seen_hours_ago: int = 1, **fields: Any) -> StoredOffer:
    """Return an offer as the store would give it, first seen 30 days ago and last seen an hour ago."""
    since, seen = NOW - timedelta(days=30), NOW - timedelta(hours=seen_hours_ago)
    defaults: dict[str, Any] = {
        "offer": offer,
        "offer_id": offer_id,
        "usd_micros_per_gpu_hour": usd_micros_per_gpu_hour(offer),
        "price_valid_from": since,
        "announced_since_page": False,
        "first_seen_at": since,
        "last_seen_at": seen,
        "observed_at": seen,
        "capture_sha256": "0" * 64,
        "next_price": None,
    }
    return StoredOffer(**{**defaults, **fields})


@st.composite
def stored(draw: st.DrawFn, offer: Offer, offer_id: int) -> StoredOffer:
    """Draw when an offer was seen, and whether another price is announced."""
    return store(
        offer,
        offer_id,
        seen_hours_ago=draw(st.sampled_from((1, 13, 48, 49, 168, 169))),
        price_valid_from=NOW - timedelta(days=draw(st.sampled_from((3, 30)))),
        announced_since_page=draw(st.sampled_from((False, False, True))),
        next_price=draw(st.sampled_from((None, None, COMING))),
    )


def some(values: tuple[Any, ...], *, most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    """Draw none, one or a few different values, in any order; more often none."""
    return st.just(()) | at_least_one(values, most=most)


def at_least_one(values: tuple[Any, ...], *, most: int) -> st.SearchStrategy[tuple[Any, ...]]:
    """Draw one or a few different values, in any order."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True).map(tuple)


def in_order(query: OfferQuery) -> OfferQuery:
    """Give the same query as it may be asked: conditions read, its two sizes in order."""
    pairs = [(f"{WHERE}{column}", text) for column, text in query.where]  # type: ignore[misc]  # drawn as texts
    pairs += [("period", query.period), ("per", query.per)]
    query = query.replace(where=parse_query(pairs, VOCABULARY).where)
    low, high = query.min_gpus, query.max_gpus
    if low is None or high is None or low <= high:
        return query
    return query.replace(min_gpus=high, max_gpus=low)


def queries(
    *,
    providers: tuple[str, ...] = PROVIDERS,
    regions: tuple[str, ...] = REGIONS[1:],
    days: tuple[date | None, ...] = (None,),
    most_per_page: int = 1000,
) -> st.SearchStrategy[OfferQuery]:
    """Draw a query that may be asked: every field, every sort key both ways."""
    families = tuple(dict.fromkeys(card.family for card in load_catalogue().accelerators if card.id in CARDS))
    sizes = st.sampled_from((None, None, 1, 2, 8, 9))
    return st.builds(
        OfferQuery,
        gpu=some((*CARDS, *families)),
        provider=some(providers),
        pricing=some(tuple(kind.value for kind in PricingModel)),
        service=some(tuple(kind.value for kind in ServiceKind)),
        form_factor=some(("sxm", "pcie", "superchip", "neuron")),
        region=some(regions),
        min_gpus=sizes,
        max_gpus=sizes,
        min_memory_gb=st.sampled_from((None, None, Decimal(0), Decimal(80), Decimal("140.5"))),
        precision=st.sampled_from(PRECISIONS),
        weights_gb=st.sampled_from((Decimal(70), Decimal("0.001"), Decimal("13.5"), Decimal(1_000_000))),
        baseline=st.sampled_from((None, *CARDS)),
        as_of=st.sampled_from(days),
        where=some(CONDITIONS, most=2),
        period=st.sampled_from(("hour", "hour", *PERIODS)),
        per=st.sampled_from(("gpu", "gpu", "instance")),
        sort=sorts(),
        columns=st.just(OfferQuery().columns) | at_least_one(tuple(COLUMNS), most=6),
        q=st.sampled_from(("", "", "", "h100", "H100 sxm", "secure acme", "nothing like it", "%_")),
        page=st.sampled_from((1, 1, 1, 2, 3)),
        per_page=st.sampled_from(tuple(n for n in (100, 1, 3, 10, 1000) if n <= most_per_page)),
    ).map(in_order)


def sorts() -> st.SearchStrategy[str]:
    """Draw one to three columns to sort by, each either way."""
    columns = st.lists(st.sampled_from(tuple(COLUMNS)), min_size=1, max_size=3, unique=True)
    return columns.flatmap(
        lambda names: st.tuples(*(st.sampled_from((name, f"-{name}")) for name in names)).map(",".join)
    )
