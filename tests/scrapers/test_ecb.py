"""Reference rates are read digit by digit, and what is not the bank's file is refused."""

from datetime import date
from decimal import Decimal

import pytest

from scrapers.base import Page, ParseError
from scrapers.ecb import parse_rates
from tests.make import utc

URL = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"
HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" '
    'xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">'
    "<gesmes:subject>Reference rates</gesmes:subject>"
)


def rates_xml(days: dict[str, dict[str, str]]) -> bytes:
    """Write days of rates as the bank does: units of each currency for one euro."""
    cubes = "".join(
        f'<Cube time="{day}">'
        + "".join(f'<Cube currency="{name}" rate="{rate}"/>' for name, rate in rates.items())
        + "</Cube>"
        for day, rates in days.items()
    )
    return f"{HEAD}<Cube>{cubes}</Cube></gesmes:Envelope>".encode()


def page(body: bytes) -> Page:
    return Page(url=URL, body=body, fetched_at=utc(1))


def test_each_currency_of_each_day_in_dollars() -> None:
    """By hand: where a euro is 1.10 dollars and 0.88 pounds, a pound is 1.25; a yen is 1.10 / 162.5."""
    body = rates_xml(
        {
            "2026-11-27": {"USD": "1.10", "GBP": "0.88", "JPY": "162.5"},
            "2026-11-26": {"USD": "1.1050"},
        }
    )
    read = {(rate.day, rate.currency): rate.usd_per_unit for rate in parse_rates(page(body))}
    friday = date(2026, 11, 27)
    assert read == {
        (friday, "EUR"): Decimal("1.10"),
        (friday, "GBP"): Decimal("1.25"),
        (friday, "JPY"): Decimal("0.00676923076923"),
        (date(2026, 11, 26), "EUR"): Decimal("1.1050"),
    }
    assert {rate.source_url for rate in parse_rates(page(body))} == {URL}


GOOD = rates_xml({"2026-11-27": {"USD": "1.10", "GBP": "0.88"}})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "not_xml"),
        (b"<html><body>Sorry</body></html>", "not_rates"),
        (GOOD[:-20], "not_xml"),
        (GOOD.decode().encode("utf-16"), "not_xml"),
        (GOOD.replace(b"<gesmes:Env", b'<!DOCTYPE x [<!ENTITY a "aa">]><gesmes:Env', 1), "not_rates"),
        (rates_xml({}), "not_rates"),
        (rates_xml({"2026-11-27": {}}), "no_dollar_rate"),
        (rates_xml({"2026-11-27": {"GBP": "0.88"}}), "no_dollar_rate"),
        (rates_xml({"2026-11-27": {"USD": "110"}}), "no_dollar_rate"),
        (rates_xml({"27 November": {"USD": "1.10"}}), "unreadable_day"),
        (rates_xml({"2026-11-27": {"USD": "1,10"}}), "unreadable_rate"),
        (rates_xml({"2026-11-27": {"USD": "1.10", "GBP": "0"}}), "unreadable_rate"),
        (rates_xml({"2026-11-27": {"USD": "1.10", "GBP": "N/A"}}), "unreadable_rate"),
        (rates_xml({"2026-11-27": {"USD": "1.10", "pound": "1"}}), "unreadable_rate"),
        (GOOD.replace(b'currency="GBP"', b'currency="USD"'), "unreadable_rate"),
        (GOOD.replace(b"<Cube time", b'<Cube time="2026-11-27"/><Cube time'), "no_dollar_rate"),
        (GOOD.replace(b"xmlns=", b"xmlns:x="), "not_rates"),
    ],
)
def test_what_is_not_the_bank_s_file_is_refused(body: bytes, code: str) -> None:
    with pytest.raises(ParseError) as refused:
        parse_rates(page(body))
    assert refused.value.code == code
