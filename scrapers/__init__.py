"""The scrapers: one per provider, each a function from bytes to offers, and the list of them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from scrapers import (
    baseten,
    coreweave,
    deepinfra,
    fireworks,
    gpurentalprices,
    inferprice,
    lambda_,
    modal,
    nebius,
    runpod,
    runpod_serverless,
    together,
    vast,
)
from scrapers.base import Expect, Page, Parsed, ParseError, Request, Scraper
from scrapers.surfaces import merged

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ALTERNATIVES",
    "BUNDLED",
    "SCRAPERS",
    "Expect",
    "Page",
    "ParseError",
    "Parsed",
    "Request",
    "Scraper",
]

SCRAPERS: Final[Mapping[str, Scraper]] = MappingProxyType(
    {
        scraper.provider: scraper
        for scraper in (
            merged(runpod.SCRAPER, runpod_serverless.SCRAPER),
            coreweave.SCRAPER,
            nebius.SCRAPER,
            modal.SCRAPER,
            together.SCRAPER,
            deepinfra.SCRAPER,
            fireworks.SCRAPER,
            vast.SCRAPER,
            lambda_.SCRAPER,
            baseten.SCRAPER,
        )
    }
)
"""Every source that is fetched, by provider."""

ALTERNATIVES: Final[Mapping[str, Scraper]] = MappingProxyType(
    {scraper.provider: scraper for scraper in (lambda_.API, baseten.PAGE)}
)
"""A second surface with a provider's same offers: to read in place of the first, or to compare with it."""

BUNDLED: Final[Mapping[str, Scraper]] = MappingProxyType(
    {scraper.provider: scraper for scraper in (inferprice.SCRAPER, gpurentalprices.SCRAPER)}
)
"""Tables that come with the program or are handed to it: they have a parser, and nothing to ask for."""
