"""What we know of each provider before reading a page: where prices stand, what it rents, what it allows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from app.domain.accelerators import load_catalogue
from app.domain.cells import packaged_lines, read_lines
from app.domain.offers import OWN_PREFIX, ServiceKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import date

    from app.domain.cells import Cells

LIST_PRICE: Final = "list_price"
"""The provider publishes its own prices."""
MARKETPLACE: Final = "marketplace"
"""Many sellers ask their own prices: judged by median and count, never by one offer."""

TIMES_A_DAY: Final = ("1", "2", "3", "4", "6", "8", "12", "24")
"""How often a day a source may be read: at whole hours apart, and never more than hourly."""

_DATA_FILE: Final = "providers.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFacts:
    """One provider.

    `hosts` are the only hosts a fetch may reach, redirects included. `kind` is `LIST_PRICE` or `MARKETPLACE`.
    `times_a_day` is how often its prices are worth reading. `enabled_by_default` is False where the terms are
    said to forbid automated collection; `terms_note` says what is known, from whom it comes (`source`) and as
    of when, and `terms_url` where they stand, empty where nobody has looked. `assumed_variants` maps a family
    to the variant we take when the provider's words name only the family, and `assumed_because` says why; it
    is for whole cards, so never apply it to a slice.
    """

    id: str
    name: str
    home_url: str
    pricing_url: str
    hosts: tuple[str, ...]
    kind: str
    default_service_kind: ServiceKind
    times_a_day: int
    enabled_by_default: bool
    terms_note: str
    terms_url: str
    assumed_variants: Mapping[str, str]
    assumed_because: str
    source: str
    as_of: date


VIA: Final = "-via-"
"""Stands between a provider and the aggregator whose word its prices are."""


def via(aggregator: str, provider: str) -> str:
    """Return the provider under which an aggregator's rows about a provider are kept, apart from our own."""
    return f"{provider}{VIA}{aggregator}"


def aggregator_of(provider: str) -> str:
    """Return the aggregator that a provider's rows are from, empty when we read them ourselves."""
    return provider.partition(VIA)[2]


def name_of(provider: str) -> str:
    """Return a provider's name as it writes it, the name of a reader's own offer, or the id of another."""
    if provider.startswith(OWN_PREFIX):
        return provider.removeprefix(OWN_PREFIX)
    listed, _, aggregator = provider.partition(VIA)
    facts = load_providers().get(listed)
    name = facts.name if facts else listed
    return f"{name} via {aggregator}" if aggregator else name


@cache
def load_providers() -> Mapping[str, ProviderFacts]:
    """Return the providers of the packaged file under their id, in file order, read once per process.

    Raises:
        ValueError: a cell cannot be read; the text names file, line, column and value.
    """
    return parse_providers(packaged_lines(_DATA_FILE))


def parse_providers(lines: Iterable[str], *, file_name: str = _DATA_FILE) -> Mapping[str, ProviderFacts]:
    """Read providers from CSV lines; see `load_providers` for the errors."""
    by_id: dict[str, ProviderFacts] = {}
    for row in read_lines(lines, file_name=file_name):
        provider = _provider(row)
        if provider.id in by_id:
            raise row.error("id", "stands twice")
        by_id[provider.id] = provider
    return MappingProxyType(by_id)


def is_on(facts: ProviderFacts, *, switched: bool | None, enabled: Collection[str]) -> bool:
    """Tell whether a source is read: `enabled` by the settings, else as `switched`, else by its default.

    `switched` is what the operator said with `inferprice sources`, None when nothing.
    """
    return facts.id in enabled or (facts.enabled_by_default if switched is None else switched)


def _provider(row: Cells) -> ProviderFacts:
    hosts = row.parts("hosts")
    if urlsplit(row.required("pricing_url")).hostname not in hosts:
        raise row.error("pricing_url", "is on none of the hosts")
    variants = _variants(row)
    if bool(variants) != bool(row.text("assumed_because")):
        raise row.error("assumed_because", "must stand exactly where a variant is assumed")
    return ProviderFacts(
        id=row.required("id"),
        name=row.required("name"),
        home_url=_https(row, "home_url"),
        pricing_url=_https(row, "pricing_url"),
        hosts=hosts,
        kind=row.one_of("kind", (LIST_PRICE, MARKETPLACE)),
        default_service_kind=ServiceKind(row.one_of("default_service_kind", tuple(ServiceKind))),
        times_a_day=int(row.one_of("times_a_day", TIMES_A_DAY)),
        enabled_by_default=row.one_of("enabled_by_default", ("yes", "no")) == "yes",
        terms_note=row.required("terms_note"),
        terms_url=_https(row, "terms_url") if row.text("terms_url") else "",
        assumed_variants=variants,
        assumed_because=row.text("assumed_because"),
        source=row.required("source"),
        as_of=row.day("as_of"),
    )


def _https(row: Cells, column: str) -> str:
    url = row.required(column)
    if not url.startswith("https://"):
        raise row.error(column, "is no https address")
    return url


def _variants(row: Cells) -> Mapping[str, str]:
    """Read `h100=h100-sxm|h200=h200-sxm`; each variant must be of its family."""
    variants: dict[str, str] = {}
    for part in row.parts("assumed_variants"):
        family, _, variant = part.partition("=")
        accelerator = load_catalogue().get(variant)
        if accelerator is None or accelerator.family != family:
            raise row.error("assumed_variants", f"gives {family!r} a variant it does not have")
        variants[family] = variant
    return MappingProxyType(variants)
