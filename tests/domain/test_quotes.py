"""The reader's own prices are read from a link, written back to it, and stand as offers of their own."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.accelerators import load_catalogue
from app.domain.names import fold
from app.domain.offers import PriceBasis, PricingModel, ServiceKind, offer_key
from app.domain.query_error import QueryError
from app.domain.quotes import (
    MAX_QUOTES,
    OWN_PREFIX,
    OwnHardware,
    Quote,
    canonical,
    own_arithmetic,
    parse_own,
    parse_quote,
    to_stored,
    usd_per_gpu_hour,
)

MANY = settings(max_examples=300, deadline=None)
CARDS = ("h100-sxm", "h100-pcie", "h200-sxm", "b200-sxm", "mi300x", "l4")
VARIANTS = fold(accelerator.id for accelerator in load_catalogue().accelerators)
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def quote(text: str) -> Quote:
    return parse_quote(text, VARIANTS)


def own(text: str) -> OwnHardware:
    return parse_own(text, VARIANTS)


def quote_terms(terms: str) -> str:
    return quote(f"Acme|h100-sxm|2.50|{terms}").terms


# ---------------------------------------------------------------- quotes


@pytest.mark.parametrize(
    "text",
    [
        "Acme & Sons|h200-sxm|2.5",
        "Acme & Sons|h200-sxm|$2.50",
        "Acme & Sons|H200-SXM|2.500000|",
        "  Acme  &  Sons | h200-sxm | 2.50 |  ",
        "Acme & Sons|h200-sxm|2.5|on demand",
        "Acme & Sons|h200-sxm|2.5|instance, on_demand, 1x, min 1",
    ],
)
def test_a_quote_is_read_however_it_is_spelled(text: str) -> None:
    read = quote(text)
    assert read == Quote(
        name="Acme & Sons", accelerator="h200-sxm", usd_per_gpu_hour=Decimal("2.5"), terms=""
    )
    assert canonical(read) == "Acme & Sons|h200-sxm|2.5"


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("", ""),
        ("spot", "spot"),
        ("On-Demand", ""),
        ("reserved", "reserved"),
        ("pod", "pod"),
        ("dedicated deployment", "dedicated_deployment"),
        ("DEDICATED_DEPLOYMENT", "dedicated_deployment"),
        ("serverless spot", "spot serverless"),
        ("8x", "8x"),
        ("8 x", "8x"),
        ("8x min 8", "8x"),
        ("min 16, 8x", "8x min 16"),
        ("min16", "min 16"),
        ("90d", "reserved 90d"),
        ("90 days", "reserved 90d"),
        ("1 day", "reserved 1d"),
        ("91-180d", "reserved 91-180d"),
        ("91 - 180 days", "reserved 91-180d"),
        ("91\N{EN DASH}180 days", "reserved 91-180d"),
        ("90-90d", "reserved 90d"),
        ("on_demand 90d", "on_demand 90d"),
        ("spot,90d", "spot 90d"),
        # A year of 365 days as the scrapers read it, and a month a twelfth of that, whole days.
        ("1y", "reserved 365d"),
        ("3 years", "reserved 1095d"),
        ("1 month", "reserved 30d"),
        ("3mo", "reserved 91d"),
        ("6 months", "reserved 182d"),
        ("12mo", "reserved 365d"),
        ("36 months", "reserved 1095d"),
        ("1-3 years", "reserved 365-1095d"),
        ("1y pod min 16 8x reserved", "reserved pod 8x min 16 365d"),
    ],
)
def test_terms_have_one_spelling(terms: str, expected: str) -> None:
    assert quote_terms(terms) == expected
    assert quote_terms(expected) == expected


@pytest.mark.parametrize("usd", ["0.000001", "99,999.999999", "$1,234.5"])
def test_prices_at_the_limits_are_kept_to_the_micro_dollar(usd: str) -> None:
    assert quote(f"a|l4|{usd}").usd_per_gpu_hour == Decimal(usd.replace(",", "").replace("$", ""))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "it has 1 of the parts name|accelerator|usd_per_gpu_hour|terms"),
        (
            "Acme|h100-sxm",
            "it has 2 of the parts name|accelerator|usd_per_gpu_hour|terms; terms may be left out",
        ),
        ("Acme|h100-sxm|2|8x|pod", "it has 5 of the parts"),
        ("|h100-sxm|2", "name: give 1 to 40 printable characters"),
        ("  |h100-sxm|2", "name: give 1 to 40 printable characters"),
        ("a" * 41 + "|h100-sxm|2", "name: give 1 to 40 printable characters"),
        ("a\x00|h100-sxm|2", "name: give 1 to 40 printable characters"),
        ("a\N{RIGHT-TO-LEFT OVERRIDE}b|h100-sxm|2", "name: give 1 to 40 printable characters"),
        ("Acme|h100|2", "accelerator: 'h100' is none; did you mean h100-nvl or h100-sxm or h100-pcie?"),
        ("Acme|h100-sxn|2", "did you mean h100-sxm"),
        ("Acme||2", "accelerator: '' is none; use one of"),
        ("Acme|h100-sxm|", "usd_per_gpu_hour: '' is no number as 1,200 or 0.5"),
        ("Acme|h100-sxm|two", "usd_per_gpu_hour: 'two' is no number"),
        ("Acme|h100-sxm|2,50", "usd_per_gpu_hour: '2,50' is no number"),
        ("Acme|h100-sxm|1e1", "usd_per_gpu_hour: '1e1' is no number"),
        ("Acme|h100-sxm|50%", "usd_per_gpu_hour: '50%' is no number"),
        ("Acme|h100-sxm|\N{EURO SIGN}2", "usd_per_gpu_hour: '\N{EURO SIGN}2' is no number"),
        ("Acme|h100-sxm|0", "usd_per_gpu_hour: give a number from 0.000001 to 99,999.999999"),
        ("Acme|h100-sxm|-2", "usd_per_gpu_hour: give a number from 0.000001 to 99,999.999999"),
        ("Acme|h100-sxm|100000", "usd_per_gpu_hour: give a number from 0.000001 to 99,999.999999"),
        ("Acme|h100-sxm|0.1234567", "usd_per_gpu_hour: give at most 6 decimals"),
        ("Acme|h100-sxm|2|cheap", "terms: 'cheap' is none of on_demand, spot, reserved, instance, pod"),
        ("Acme|h100-sxm|2|spotty", "terms: 'spotty' is none of"),
        ("Acme|h100-sxm|2|8x cheap", "terms: 'cheap' is none of"),
        ("Acme|h100-sxm|2|8", "terms: '8' is none of"),
        ("Acme|h100-sxm|2|min", "terms: 'min' is none of"),
        ("Acme|h100-sxm|2|spot on demand", "terms: give the pricing model once"),
        ("Acme|h100-sxm|2|pod pod", "terms: give the service kind once"),
        ("Acme|h100-sxm|2|8x 4x", "terms: give the gpu count once"),
        ("Acme|h100-sxm|2|min 8 min 8", "terms: give the min gpus once"),
        ("Acme|h100-sxm|2|1y 90d", "terms: give the term once"),
        ("Acme|h100-sxm|2|0x", "terms: the GPUs of an instance are a number from 1 to 100,000"),
        ("Acme|h100-sxm|2|min 100001", "terms: the fewest GPUs are a number from 1 to 100,000"),
        ("Acme|h100-sxm|2|8x min 4", "terms: min 4 is less than the 8 GPUs of an instance"),
        ("Acme|h100-sxm|2|0d", "terms: give a term of 1 to 36,500 days"),
        ("Acme|h100-sxm|2|180-91d", "terms: give a term of 1 to 36,500 days, the shorter end first"),
        ("Acme|h100-sxm|2|101y", "terms: give a term of 1 to 36,500 days"),
        ("Acme|h100-sxm|2|" + " " * 300, "give at most 300 characters"),
    ],
)
def test_what_is_no_quote_is_refused_and_names_the_part(text: str, expected: str) -> None:
    with pytest.raises(QueryError) as caught:
        quote(text)
    start = text if len(text) <= 80 else f"{text[:80]}..."
    assert (caught.value.field, caught.value.value) == ("quote", start)
    assert expected in caught.value.expected


# ---------------------------------------------------------------- own hardware


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 30,000 / (4 * 8,760 * 0.6 = 21,024) = 1.4269406...; 0.7 kW * 0.12 = 0.084.
        ("Lab|h100-sxm|$30,000|4|700|0.12|60%", "1.510941"),
        # 35,040 / (4 * 8,760) = 1 and nothing for power.
        ("Lab|h100-sxm|35040|4|0|0.12|100%", "1"),
        ("Lab|h100-sxm|35040|4|1000|0|1", "1"),
        # 8,760 / (1 * 8,760 * 0.5) = 2; 1 kW * 0.25 = 0.25.
        ("Lab|l4|8760|1|1000|0.25|0.5", "2.25"),
        # 0.0438 dollars of 43,800 hours: 0.000001 to the hour.
        ("Lab|l4|0.0438|5|0|0|1", "0.000001"),
        # Halves of a micro-dollar go to the even one: 0.0000025 and 0.0000035 from power alone beside 1.
        ("Lab|l4|8760|1|1|0.0025|1", "1.000002"),
        ("Lab|l4|8760|1|1|0.0035|1", "1.000004"),
        # 10,000 / (3 * 8,760) = 0.38051750...
        ("Lab|l4|10000|3|0|0|1", "0.380518"),
    ],
)
def test_hardware_costs_its_price_over_the_hours_in_use_and_its_power(text: str, expected: str) -> None:
    assert usd_per_gpu_hour(own(text)) == Decimal(expected)


def test_utilisation_is_a_share_or_a_percentage() -> None:
    shares = [own(f"Lab|l4|10000|3|72|0.1|{text}").utilisation for text in ("60%", "60 %", "0.6", "0.600")]
    assert shares == [Decimal("0.6")] * 4
    assert own("Lab|l4|10000|3|72|0.1|12.345678%").utilisation == Decimal("0.12345678")


def test_the_arithmetic_is_written_out_with_its_numbers() -> None:
    assert own_arithmetic(own("Lab|h100-sxm|$30,000|4|700|0.12|60%")) == (
        "$30,000 / (4 years \N{MULTIPLICATION SIGN} 8,760 h \N{MULTIPLICATION SIGN} 0.6)"
        " + 700 W / 1,000 \N{MULTIPLICATION SIGN} $0.12 per kWh = $1.510941 per GPU-hour in use;"
        " power drawn while idle is not counted"
    )
    assert "(1 year \N{MULTIPLICATION SIGN} 8,760 h" in own_arithmetic(own("Lab|l4|8760|1|1000|0.25|0.5"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lab|l4|10000|3|72|0.1", "it has 6 of the parts name|accelerator|price_usd|lifetime_years|power_w"),
        ("Lab|l4|10000|3|72|0.1|1|x", "it has 8 of the parts"),
        ("|l4|10000|3|72|0.1|1", "name: give 1 to 40 printable characters"),
        ("Lab|l|10000|3|72|0.1|1", "accelerator: 'l' is none; did you mean"),
        ("Lab|l4|free|3|72|0.1|1", "price_usd: 'free' is no number as 1,200 or 0.5"),
        ("Lab|l4|0|3|72|0.1|1", "price_usd: give a number from 0.01 to 10,000,000"),
        ("Lab|l4|10000|0|72|0.1|1", "lifetime_years: give a number from 0.1 to 50"),
        ("Lab|l4|10000|51|72|0.1|1", "lifetime_years: give a number from 0.1 to 50"),
        ("Lab|l4|10000|3|-1|0.1|1", "power_w: give a number from 0 to 100,000"),
        ("Lab|l4|10000|3|72 W|0.1|1", "power_w: '72 W' is no number"),
        ("Lab|l4|10000|3|72|101|1", "usd_per_kwh: give a number from 0 to 100"),
        ("Lab|l4|10000|3|72|0.1|0", "utilisation: give a number from 0.001 to 1, or 60% for 0.6"),
        ("Lab|l4|10000|3|72|0.1|60", "utilisation: give a number from 0.001 to 1, or 60% for 0.6"),
        ("Lab|l4|10000|3|72|0.1|101%", "utilisation: give a number from 0.001 to 1, or 60% for 0.6"),
        ("Lab|l4|10000|3|72|0.1|%", "utilisation: '' is no number"),
        ("Lab|l4|10000|3|72|0.1|", "utilisation: '' is no number"),
        ("Lab|l4|10000|3|72|0.1234567|1", "usd_per_kwh: give at most 6 decimals"),
        # A cent over fifty years is no micro-dollar an hour; ten millions over 0.876 hours are too many.
        ("Lab|l4|0.01|50|0|0|1", "it comes to 0 dollars per GPU-hour; that has to be from 0.000001"),
        ("Lab|l4|10000000|0.1|0|0|0.001", "it comes to 11,415,525.114155 dollars per GPU-hour"),
    ],
)
def test_what_is_no_hardware_is_refused_and_names_the_part(text: str, expected: str) -> None:
    with pytest.raises(QueryError) as caught:
        own(text)
    assert (caught.value.field, caught.value.value) == ("own", text)
    assert expected in caught.value.expected


# ---------------------------------------------------------------- to a link and back

names = st.text(
    alphabet=st.characters(exclude_characters="|", exclude_categories=("C", "Z")), min_size=1, max_size=40
)
variants = st.sampled_from(CARDS)


@st.composite
def terms(draw: st.DrawFn) -> str:
    """Draw terms in any order and spelling."""
    count = draw(st.integers(min_value=1, max_value=72))
    low = draw(st.integers(min_value=1, max_value=1000))
    words = [
        draw(st.sampled_from(("", *PricingModel, "on demand"))),
        draw(st.sampled_from(("", *ServiceKind))),
        draw(st.sampled_from((f"{count}x", f"{count} x"))),
        draw(st.sampled_from(("", f"min {count + low}", f"min{count}"))),
        draw(st.sampled_from(("", f"{low}d", f"{low}-{low + 30} days", f"{low}mo", "3 years"))),
    ]
    return draw(st.sampled_from((" ", ", "))).join(word for word in draw(st.permutations(words)) if word)


def micros(*, low: str, high: str, places: int = 6) -> st.SearchStrategy[Decimal]:
    return st.decimals(min_value=Decimal(low), max_value=Decimal(high), places=places)


@given(names, variants, micros(low="0.000001", high="99999.999999"), terms())
@MANY
def test_a_quote_goes_into_a_link_and_comes_back_the_same(
    name: str, variant: str, usd: Decimal, text: str
) -> None:
    read = quote(f"{name}|{variant}|{usd:f}|{text}")
    assert (read.name, read.accelerator, read.usd_per_gpu_hour) == (name, variant, usd)
    assert quote(canonical(read)) == read
    assert canonical(quote(canonical(read))) == canonical(read)


@st.composite
def hardware(draw: st.DrawFn) -> OwnHardware:
    return OwnHardware(
        name=draw(names),
        accelerator=draw(variants),
        price_usd=draw(micros(low="100", high="200000")),
        lifetime_years=draw(micros(low="0.5", high="10")),
        power_w=draw(micros(low="0", high="3000")),
        usd_per_kwh=draw(micros(low="0", high="2")),
        utilisation=draw(micros(low="0.01", high="1", places=8)),
    )


@given(hardware())
@MANY
def test_hardware_goes_into_a_link_and_comes_back_the_same(made: OwnHardware) -> None:
    assert own(canonical(made)) == made


@given(hardware())
@MANY
def test_hardware_costs_what_fractions_say_to_half_a_micro_dollar(made: OwnHardware) -> None:
    hours = Fraction(made.lifetime_years) * 24 * 365 * Fraction(made.utilisation)
    exact = Fraction(made.price_usd) / hours + Fraction(made.power_w) * Fraction(made.usd_per_kwh) / 1000
    usd = usd_per_gpu_hour(made)
    assert abs(Fraction(usd) - exact) <= Fraction(1, 2_000_000)
    assert usd == usd.quantize(Decimal("0.000001"))


def read(parse: Callable[[str], object], text: str) -> object:
    try:
        return parse(text)
    except QueryError as error:
        return error


odd_texts = st.lists(
    st.sampled_from(("Lab", "l4", "h100", "|", "|", "1", "0.5", "$", "%", "8x", " ", "90d", "-"))
)


@given(odd_texts.map("".join) | st.text(max_size=60))
@MANY
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (quote, own):
        found = read(parse, text)
        if isinstance(found, QueryError):
            assert found.value == (text if len(text) <= 80 else f"{text[:80]}...")
            assert found.expected
        else:
            assert isinstance(found, (Quote, OwnHardware))
            assert parse(canonical(found)) == found


# ---------------------------------------------------------------- as offers


def test_a_quote_becomes_an_offer_that_says_whose_it_is() -> None:
    (stored,) = to_stored(
        [quote("Acme|h200-sxm|2.75|reserved pod 8x min 16 91-180d")], instant=NOW, catalogue=load_catalogue()
    )
    offer = stored.offer
    assert (stored.offer_id, stored.usd_micros_per_gpu_hour) == (-1, 2_750_000)
    assert {stored.price_valid_from, stored.first_seen_at, stored.last_seen_at, stored.observed_at} == {NOW}
    assert (stored.announced_since_page, stored.capture_sha256, stored.next_price) == (False, "", None)
    assert (offer.provider, offer.sku) == (f"{OWN_PREFIX}Acme", "your quote")
    assert offer.provider == "own:Acme"
    assert (offer.accelerator, offer.family) == ("h200-sxm", "h200")
    assert (offer.gpu_count, offer.min_gpus) == (8, 16)
    assert (offer.list_price, offer.currency) == (Decimal("2.75"), "USD")
    assert offer.price_basis is PriceBasis.GPU_HOUR
    assert (offer.pricing_model, offer.service_kind) == (PricingModel.RESERVED, ServiceKind.POD)
    assert (offer.term_days_min, offer.term_days_max) == (91, 180)
    assert (offer.source_url, offer.is_own) == ("", True)
    assert offer.fragment == "Acme|h200-sxm|2.75|reserved pod 8x min 16 91-180d"
    assert offer.assumptions == ("your own figure, a quote that the link gives: nobody has checked it",)


def test_a_quote_without_terms_is_one_gpu_of_an_instance_on_demand() -> None:
    (stored,) = to_stored([quote("Acme|l4|0.5")], instant=NOW, catalogue=load_catalogue())
    offer = stored.offer
    assert (offer.gpu_count, offer.min_gpus, offer.term_days_min, offer.term_days_max) == (1, 1, None, None)
    assert (offer.pricing_model, offer.service_kind) == (PricingModel.ON_DEMAND, ServiceKind.INSTANCE)


def test_hardware_becomes_an_offer_with_its_arithmetic() -> None:
    made = own("Lab|h100-sxm|$30,000|4|700|0.12|60%")
    (stored,) = to_stored([made], instant=NOW, catalogue=load_catalogue())
    offer = stored.offer
    assert stored.usd_micros_per_gpu_hour == 1_510_941
    assert (offer.provider, offer.sku, offer.list_price) == ("own:Lab", "your hardware", Decimal("1.510941"))
    assert (offer.accelerator, offer.family, offer.gpu_count) == ("h100-sxm", "h100", 1)
    assert (offer.pricing_model, offer.service_kind) == (PricingModel.ON_DEMAND, ServiceKind.INSTANCE)
    assert offer.fragment == "Lab|h100-sxm|30000|4|700|0.12|0.6"
    (assumption,) = offer.assumptions
    assert assumption.startswith("your own figure")
    assert own_arithmetic(made) in assumption


def test_equal_ones_are_both_kept_under_numbers_of_their_own() -> None:
    twice = [quote("Acme|l4|0.5"), quote("Acme|l4|0.5"), own("Acme|l4|10000|3|72|0.1|1")]
    stored = to_stored(twice, instant=NOW, catalogue=load_catalogue())
    assert [each.offer_id for each in stored] == [-1, -2, -3]
    assert offer_key(stored[0].offer) == offer_key(stored[1].offer) != offer_key(stored[2].offer)


def test_none_give_none_and_twenty_are_enough() -> None:
    assert to_stored([], instant=NOW, catalogue=load_catalogue()) == ()
    assert MAX_QUOTES == 20
