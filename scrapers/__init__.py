"""The scrapers: one per provider, each a function from bytes to offers, and the list of them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from scrapers import coreweave, inferprice, nebius, runpod
from scrapers.base import Expect, Page, Parsed, ParseError, Request, Scraper

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BUNDLED", "SCRAPERS", "Expect", "Page", "ParseError", "Parsed", "Request", "Scraper"]

SCRAPERS: Final[Mapping[str, Scraper]] = MappingProxyType(
    {scraper.provider: scraper for scraper in (coreweave.SCRAPER, nebius.SCRAPER, runpod.SCRAPER)}
)
"""Every source that is fetched, by provider."""

BUNDLED: Final[Mapping[str, Scraper]] = MappingProxyType({inferprice.SCRAPER.provider: inferprice.SCRAPER})
"""Tables that come with the program: they have a parser and expectations, and nothing to ask for."""
