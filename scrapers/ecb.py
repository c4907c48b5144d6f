"""The European Central Bank's daily reference rates: its public XML file, units of a currency for a euro.

The layout is that of the bank's documentation; no live file could be met while this was written.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from app.domain.rates import Rate
from scrapers.base import ParseError, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapers.base import Page

PROVIDER: Final = "ecb"
HOSTS: Final = ("www.ecb.europa.eu",)
DAILY: Final = Request(url="https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml")
LAST_90_DAYS: Final = Request(url="https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist-90d.xml")

_ENVELOPE: Final = "{http://www.gesmes.org/xml/2002-08-01}Envelope"
_CUBE: Final = "{http://www.ecb.int/vocabulary/2002-08-01/eurofxref}Cube"
_NUMBER: Final = re.compile(r"[0-9]{1,7}(\.[0-9]{1,8})?")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_TWELVE_DIGITS: Final = Context(prec=12)
"""A quotient of two rates of five or six digits has no more to say."""

USD_PER_EUR: Final = (Decimal("0.5"), Decimal(2))
"""Bounds of a plausible rate: from 1999 to 2026 it was between 0.82 and 1.60."""


def parse_rates(page: Page) -> tuple[Rate, ...]:
    """Return dollars for one unit of every currency of every day in the file, the euro among them.

    Raises ParseError for anything that is not laid out as the bank's file: one cube of days, each day with
    its date and its rates, each currency once, the dollar among them at a plausible rate.
    """
    root = _root(page)
    outer = root.findall(_CUBE)
    if root.tag != _ENVELOPE or len(outer) != 1 or not len(outer[0]):
        raise ParseError(
            "not_rates", "The file is not laid out as the bank's reference rates.", root=root.tag
        )
    seen: set[str] = set()
    rates: list[Rate] = []
    for cube in outer[0]:
        day = cube.get("time", "")
        if cube.tag != _CUBE or day in seen:
            raise ParseError("not_rates", "A day of the file is no day, or stands twice.", day=day)
        seen.add(day)
        rates += _of_day(cube, _day(day), url=page.url)
    return tuple(rates)


def _root(page: Page) -> ET.Element:
    """Return the outermost element; a document type, which can blow a small file up, is refused first."""
    try:
        text = page.body.decode("utf-8")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise ParseError("not_rates", "The file declares a document type, which the bank's does not.")
        return ET.fromstring(text)  # noqa: S314 - what could expand is refused above
    except (UnicodeDecodeError, ValueError, ET.ParseError) as error:
        raise ParseError("not_xml", "The file is not XML in UTF-8.", error=str(error)) from None


def _of_day(cube: ET.Element, day: date, *, url: str) -> Iterator[Rate]:
    """Yield the rates of one day."""
    per_euro: dict[str, Decimal] = {}
    for each in cube:
        currency, text = each.get("currency", ""), each.get("rate", "")
        fine = each.tag == _CUBE and _CURRENCY.fullmatch(currency) and _NUMBER.fullmatch(text)
        if not fine or currency in per_euro or not Decimal(text):
            raise ParseError(
                "unreadable_rate", "A rate cannot be read.", day=f"{day}", rate=f"{currency} {text}"
            )
        per_euro[currency] = Decimal(text)
    usd = per_euro.pop("USD", None)
    if usd is None or not USD_PER_EUR[0] <= usd <= USD_PER_EUR[1]:
        raise ParseError("no_dollar_rate", "A day has no plausible dollar rate.", day=f"{day}", rate=f"{usd}")
    yield Rate(day=day, currency="EUR", usd_per_unit=usd, source_url=url)
    for currency, rate in per_euro.items():
        worth = _TWELVE_DIGITS.divide(usd, rate)
        yield Rate(day=day, currency=currency, usd_per_unit=worth, source_url=url)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ParseError("unreadable_day", "A day of the file cannot be read.", day=text) from None
