"""The reader's own prices and hardware: read from a link, written back to it, and made into offers.

They stand in the link alone. What they become carries the reader's figures and says that it does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from app.domain.barred import MAX_LENGTH, Range, bounds, name_part, parts_of, variant_part
from app.domain.barred import MAX_NAME_LENGTH as MAX_NAME_LENGTH
from app.domain.listing import StoredOffer
from app.domain.offers import (
    MICROS_PER_USD,
    Offer,
    PriceBasis,
    PricingModel,
    ServiceKind,
    usd_micros_per_gpu_hour,
)
from app.domain.offers import (
    OWN_PREFIX as OWN_PREFIX,
)
from app.domain.query_error import QueryError
from app.domain.typed import plain_number, read_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from app.domain.accelerators import Catalogue
    from app.domain.names import Names

MAX_QUOTES: Final = 20
MAX_QUOTE_LENGTH: Final = MAX_LENGTH
MAX_DECIMALS: Final = 6
"""A price is kept to the micro-dollar."""

DAYS_PER_YEAR: Final = 365
HOURS_PER_YEAR: Final = 8760
MAX_TERM_DAYS: Final = 36_500
MAX_GPUS: Final = 100_000

QUOTE_PARTS: Final = "name|accelerator|usd_per_gpu_hour|terms"
OWN_PARTS: Final = "name|accelerator|price_usd|lifetime_years|power_w|usd_per_kwh|utilisation"
TERM_WORDS: Final = (
    f"{', '.join(PricingModel)}, {', '.join(ServiceKind)}, 8x for the GPUs of an instance, "
    "min 16 for the fewest GPUs, 90d, 91-180d, 3mo or 1y for the term"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A price that the reader was told. `terms` is the canonical spelling, empty for the defaults.

    The defaults are on demand, an instance, one GPU. A term makes it reserved unless it says otherwise.
    """

    name: str
    accelerator: str
    usd_per_gpu_hour: Decimal
    terms: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnHardware:
    """Hardware of the reader's: `price_usd` is for one GPU with its share of the server.

    `power_w` is what that draws while in use; `utilisation` is the share of all hours in use, up to 1.
    """

    name: str
    accelerator: str
    price_usd: Decimal
    lifetime_years: Decimal
    power_w: Decimal
    usd_per_kwh: Decimal
    utilisation: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    pricing_model: PricingModel = PricingModel.ON_DEMAND
    service_kind: ServiceKind = ServiceKind.INSTANCE
    gpu_count: int = 1
    min_gpus: int = 1
    term_days: tuple[int, int] | None = None


def _any_of(words: Iterable[str]) -> str:
    return "|".join(word.replace("_", "[ _-]") for word in words).replace(" ", r"\ ")


_PRICE: Final = Range(low=Decimal("0.000001"), high=Decimal("99999.999999"))
_HARDWARE: Final = {
    "price_usd": Range(low=Decimal("0.01"), high=Decimal(10_000_000)),
    "lifetime_years": Range(low=Decimal("0.1"), high=Decimal(50)),
    "power_w": Range(low=Decimal(0), high=Decimal(100_000)),
    "usd_per_kwh": Range(low=Decimal(0), high=Decimal(100)),
    "utilisation": Range(low=Decimal("0.001"), high=Decimal(1)),
}

_WORD: Final = re.compile(
    rf"""(?:
        (?P<pricing_model>{_any_of(PricingModel)})
        | (?P<service_kind>{_any_of(ServiceKind)})
        | (?P<gpu_count>[0-9]{{1,6}})\ ?x
        | min\ ?(?P<min_gpus>[0-9]{{1,6}})
        | (?P<term>[0-9]{{1,5}}(?:\ ?-\ ?[0-9]{{1,5}})?\ ?(?:d|days?|mo|months?|y|years?))
    )(?:\ |$)""",
    re.VERBOSE,
)
_TERM: Final = re.compile("([0-9]+)(?: ?- ?([0-9]+))? ?([dmy])[a-z]*")


def parse_quote(text: str, variants: Names) -> Quote:
    """Read `name|accelerator|usd_per_gpu_hour` and, if wanted, `|terms`; raises QueryError for `quote`."""
    try:
        parts = parts_of(text, QUOTE_PARTS, fewest=3)
        return Quote(
            name=name_part(parts["name"]),
            accelerator=variant_part(parts["accelerator"], variants),
            usd_per_gpu_hour=_number("usd_per_gpu_hour", parts["usd_per_gpu_hour"], _PRICE),
            terms=_spelled(_terms(parts.get("terms", ""))),
        )
    except ValueError as error:
        raise QueryError("quote", text, str(error)) from None


def parse_own(text: str, variants: Names) -> OwnHardware:
    """Read the seven parts of own hardware; raises QueryError for `own`, naming the part that is wrong."""
    try:
        parts = parts_of(text, OWN_PARTS, fewest=7)
        own = OwnHardware(
            name=name_part(parts["name"]),
            accelerator=variant_part(parts["accelerator"], variants),
            **{part: _number(part, parts[part], allowed) for part, allowed in _HARDWARE.items()},
        )
        _check(usd_per_gpu_hour(own))
    except ValueError as error:
        raise QueryError("own", text, str(error)) from None
    return own


def _check(usd: Decimal) -> None:
    if not _PRICE.low <= usd <= _PRICE.high:
        raise ValueError(f"it comes to {usd:,} dollars per GPU-hour; that has to be {bounds(_PRICE)}")


def canonical(quote: Quote | OwnHardware) -> str:
    """Return the text for a link, which parses back to an equal object."""
    if isinstance(quote, OwnHardware):
        numbers = [plain_number(getattr(quote, part)) for part in _HARDWARE]
        return "|".join([quote.name, quote.accelerator, *numbers])
    parts = [quote.name, quote.accelerator, plain_number(quote.usd_per_gpu_hour), quote.terms]
    return "|".join(part for part in parts if part)


def usd_per_gpu_hour(own: OwnHardware) -> Decimal:
    """Return dollars for one GPU for one hour of use, to the micro-dollar, half to even.

    The price is spread evenly over the hours in use of its lifetime, a year being 8,760 hours; the power is
    paid for while in use, and what is drawn while idle is not counted.
    """
    hours_of_use = Fraction(own.lifetime_years) * HOURS_PER_YEAR * Fraction(own.utilisation)
    kilowatts = Fraction(own.power_w) / 1000
    usd = Fraction(own.price_usd) / hours_of_use + kilowatts * Fraction(own.usd_per_kwh)
    return Decimal(round(usd * MICROS_PER_USD)) / MICROS_PER_USD


def own_arithmetic(own: OwnHardware) -> str:
    """Return the sum behind the price of own hardware, with the numbers in it."""
    times = " \N{MULTIPLICATION SIGN} "
    years = f"{own.lifetime_years} {'year' if own.lifetime_years == 1 else 'years'}"
    hours = times.join((years, f"{HOURS_PER_YEAR:,} h", str(own.utilisation)))
    power = times.join((f"{own.power_w:,} W / 1,000", f"${own.usd_per_kwh} per kWh"))
    total = f"${usd_per_gpu_hour(own)} per GPU-hour in use"
    return f"${own.price_usd:,} / ({hours}) + {power} = {total}; power drawn while idle is not counted"


def to_stored(
    quotes: Sequence[Quote | OwnHardware], *, instant: datetime, catalogue: Catalogue
) -> tuple[StoredOffer, ...]:
    """Return the offers of the reader's figures at `instant` (aware, UTC), numbered -1, -2 and so on."""
    return tuple(
        _stored(_offer(quote, catalogue), offer_id=-number, instant=instant)
        for number, quote in enumerate(quotes, start=1)
    )


def _stored(offer: Offer, *, offer_id: int, instant: datetime) -> StoredOffer:
    return StoredOffer(
        offer=offer,
        offer_id=offer_id,
        usd_micros_per_gpu_hour=usd_micros_per_gpu_hour(offer),
        price_valid_from=instant,
        announced_since_page=False,
        first_seen_at=instant,
        last_seen_at=instant,
        observed_at=instant,
        capture_sha256="",
    )


def _offer(quote: Quote | OwnHardware, catalogue: Catalogue) -> Offer:
    is_quote = isinstance(quote, Quote)
    terms = _terms(quote.terms) if isinstance(quote, Quote) else _Terms()
    card = catalogue.get(quote.accelerator)
    return Offer(
        provider=f"{OWN_PREFIX}{quote.name}",
        sku="your quote" if is_quote else "your hardware",
        accelerator_as_written=quote.accelerator,
        accelerator=quote.accelerator,
        family=card.family if card else None,
        gpu_count=terms.gpu_count,
        min_gpus=terms.min_gpus,
        list_price=quote.usd_per_gpu_hour if isinstance(quote, Quote) else usd_per_gpu_hour(quote),
        price_basis=PriceBasis.GPU_HOUR,
        pricing_model=terms.pricing_model,
        service_kind=terms.service_kind,
        term_days_min=terms.term_days[0] if terms.term_days else None,
        term_days_max=terms.term_days[1] if terms.term_days else None,
        source_url="",
        fragment=canonical(quote),
        assumptions=(_assumption(quote),),
    )


def _assumption(quote: Quote | OwnHardware) -> str:
    if isinstance(quote, Quote):
        return "your own figure, a quote that the link gives: nobody has checked it"
    return f"your own figure, worked out from what the link gives: {own_arithmetic(quote)}"


# ---------------------------------------------------------------- parts of a text


def _number(part: str, text: str, allowed: Range) -> Decimal:
    """Return the number of a part, which may be a percentage for the utilisation."""
    percent = part == "utilisation" and text.endswith("%")
    decimals = MAX_DECIMALS + 2 if part == "utilisation" and not percent else MAX_DECIMALS
    try:
        typed = read_number(text.removesuffix("%").rstrip() if percent else text, decimals=decimals)
    except ValueError as error:
        raise ValueError(f"{part}: {error}") from None
    number = typed.scaleb(-2) if percent else typed
    if not allowed.low <= number <= allowed.high:
        also = ", or 60% for 0.6" if part == "utilisation" else ""
        raise ValueError(f"{part}: give a number {bounds(allowed)}{also}")
    return Decimal(plain_number(number))


# ---------------------------------------------------------------- terms


def _terms(text: str) -> _Terms:
    """Read terms in any order, each at most once; raises ValueError with the words there are."""
    said = _said(text)
    term_days = _term_days(said["term"]) if "term" in said else None
    usual = PricingModel.RESERVED if term_days else PricingModel.ON_DEMAND
    gpu_count = _whole(said.get("gpu_count", "1"), "GPUs of an instance", high=MAX_GPUS)
    min_gpus = _whole(said["min_gpus"], "fewest GPUs", high=MAX_GPUS) if "min_gpus" in said else gpu_count
    if min_gpus < gpu_count:
        raise ValueError(f"terms: min {min_gpus} is less than the {gpu_count} GPUs of an instance")
    return _Terms(
        pricing_model=PricingModel(said.get("pricing_model", usual)),
        service_kind=ServiceKind(said.get("service_kind", ServiceKind.INSTANCE)),
        gpu_count=gpu_count,
        min_gpus=min_gpus,
        term_days=term_days,
    )


def _said(text: str) -> dict[str, str]:
    """Return what the words of the terms say, by what they are about."""
    line = " ".join(text.casefold().replace(",", " ").replace("\N{EN DASH}", "-").split())
    said: dict[str, str] = {}
    at = 0
    while at < len(line):
        found = _WORD.match(line, at)
        if found is None or found.lastgroup is None:
            raise ValueError(f"terms: '{line[at : at + 40]}' is none of {TERM_WORDS}")
        about, word = found.lastgroup, found[found.lastgroup]
        if about in said:
            raise ValueError(f"terms: give the {about.replace('_', ' ')} once")
        said[about] = re.sub("[ -]", "_", word) if about in {"pricing_model", "service_kind"} else word
        at = found.end()
    return said


def _term_days(text: str) -> tuple[int, int]:
    """Return the days of a term: a year has 365, and a month a twelfth of that, whole days of it."""
    found = _TERM.fullmatch(text)
    if found is None:
        raise ValueError(f"terms: '{text}' is none of {TERM_WORDS}")
    days = [_days(int(number), found[3]) for number in (found[1], found[2] or found[1])]
    if not 1 <= days[0] <= days[1] <= MAX_TERM_DAYS:
        raise ValueError(f"terms: give a term of 1 to {MAX_TERM_DAYS:,} days, the shorter end first")
    return days[0], days[1]


def _days(count: int, unit: str) -> int:
    if unit == "d":
        return count
    return count * DAYS_PER_YEAR if unit == "y" else count * DAYS_PER_YEAR // 12


def _whole(text: str, what: str, *, high: int) -> int:
    if not 1 <= int(text) <= high:
        raise ValueError(f"terms: the {what} are a number from 1 to {high:,}")
    return int(text)


def _spelled(terms: _Terms) -> str:
    return " ".join(_term_words(terms))


def _term_words(terms: _Terms) -> Iterator[str]:
    if terms.pricing_model is not PricingModel.ON_DEMAND or terms.term_days:
        yield terms.pricing_model.value
    if terms.service_kind is not ServiceKind.INSTANCE:
        yield terms.service_kind.value
    if terms.gpu_count > 1:
        yield f"{terms.gpu_count}x"
    if terms.min_gpus > terms.gpu_count:
        yield f"min {terms.min_gpus}"
    if terms.term_days:
        low, high = terms.term_days
        yield f"{low}d" if low == high else f"{low}-{high}d"
