"""RunPod: one GraphQL answer with every GPU type, dollars per GPU-hour, secure and community cloud."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import load_catalogue
from app.domain.aliases import SOCKETS
from app.domain.findings import Finding, Level
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from scrapers.base import Expect, Key, Page, Parsed, ParseError, Request, Scraper
from scrapers.naming import Named, name_accelerator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROVIDER: Final = "runpod"


@dataclass(frozen=True, slots=True)
class Cloud:
    """One of RunPod's two clouds: our tier, its own name, and the keys of its flag and its price."""

    tier: str
    term: str
    flag: str
    price: str


CLOUDS: Final = (
    Cloud("secure", "Secure Cloud", "secureCloud", "securePrice"),
    Cloud("community", "Community Cloud", "communityCloud", "communityPrice"),
)
"""The words table: both are on-demand pods; community is other people's machines, not spot."""

PLACEHOLDER: Final = "unknown"
"""Id of an entry that stands for no GPU."""

READ_KEYS: Final = frozenset({
    "id", "displayName", "manufacturer", "memoryInGb",
    *(cloud.flag for cloud in CLOUDS), *(cloud.price for cloud in CLOUDS),
})  # fmt: skip

IGNORED_KEYS: Final = frozenset({
    # Spot: whether these are list prices or floors of an auction has not been seen; they wait for a capture.
    "secureSpotPrice", "communitySpotPrice", "lowestPrice",
    # Commitments; "threeMonthPrice" was taken for a 36-month term by others, so it waits for a capture too.
    "oneWeekPrice", "oneMonthPrice", "threeMonthPrice", "sixMonthPrice", "oneYearPrice",
    # Stock and sizes, no prices.
    "maxGpuCount", "maxGpuCountSecureCloud", "maxGpuCountCommunityCloud", "minPodGpuCount",
    "nodeGroupGpuSizes", "cudaCores", "throughput", "__typename",
})  # fmt: skip

QUERY: Final = (
    "query { gpuTypes { id displayName manufacturer memoryInGb"
    " secureCloud communityCloud securePrice communityPrice } }"
)


def parse(page: Page) -> Parsed:
    """Return one offer per GPU type and cloud that sells it.

    A price counts only where its cloud's flag is true: RunPod keeps numbers for clouds that do not sell the
    GPU. Raises ParseError when the answer is no GraphQL answer, lacks the flags, or holds a value of another
    kind than expected (a price as text, a flag as text).
    """
    offers: list[Offer] = []
    findings: list[Finding] = []
    entries = _entries(page.body)
    for entry in entries:
        _check_entry(entry)
        findings.extend(_unread_keys(entry))
        if entry["id"] == PLACEHOLDER and not any(entry[cloud.flag] for cloud in CLOUDS):
            findings.append(_placeholder(entry))
            continue
        new_offers, new_findings = _gpu_type(entry, page.url)
        offers.extend(new_offers)
        findings.extend(new_findings)
    findings.extend((*_clouds_swapped(offers), *_dear_slices(offers)))
    return Parsed(offers=tuple(offers), findings=tuple(findings))


def _entries(body: bytes) -> list[dict[str, Any]]:
    """Return the list `data.gpuTypes` of a good answer, each id once."""
    answer = _load(body)
    if not isinstance(answer, dict) or set(answer) - {"data", "errors", "extensions"}:
        raise ParseError("not_graphql", "The answer is not a GraphQL answer.", text=str(answer)[:120])
    if answer.get("errors"):
        raise ParseError("graphql_error", "RunPod answered with an error.", text=str(answer["errors"])[:200])
    data = answer.get("data")
    entries = data.get("gpuTypes") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise ParseError("no_gpu_types", "The answer holds no list of GPU types.", text=str(data)[:120])
    repeated = [key for key, count in Counter(str(entry.get("id")) for entry in entries).items() if count > 1]
    if repeated:
        raise ParseError("duplicate_row", "A GPU type stands twice in the answer.", id=repeated[0])
    return entries


def _load(body: bytes) -> Any:
    try:
        return json.loads(body, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ParseError("not_json", "The answer is not JSON.", error=str(error)[:120]) from None


def _no_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which Python's reader would let through."""
    raise ValueError(f"{name} is no JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that gives one key twice, where Python would keep the last."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError(f"a key stands twice in {sorted(key for key, _ in pairs)}")
    return dict(pairs)


def _check_entry(entry: Mapping[str, Any]) -> None:
    """Refuse an entry without the cloud flags, without a field we read, or with a value of another kind."""
    name = str(entry.get("id"))
    if any(cloud.flag not in entry for cloud in CLOUDS):
        raise ParseError(
            "missing_cloud_flags",
            "The answer does not say which cloud sells a GPU: the query has to ask for secureCloud and"
            " communityCloud, because unsold GPUs keep left-over prices.",
            id=name,
        )
    for key in ("id", "displayName"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise ParseError("wrong_kind", f"{key} is not a text.", id=name, value=str(entry.get(key)))
    for key in ("memoryInGb", *(cloud.price for cloud in CLOUDS)):
        value = entry.get(key)
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value < 0:
            raise ParseError(
                "wrong_kind", f"{key} is not a number of at least 0.", id=name, value=repr(value)
            )
    for cloud in CLOUDS:
        if not isinstance(entry[cloud.flag], bool):
            raise ParseError(
                "wrong_kind", f"{cloud.flag} is not true or false.", id=name, value=repr(entry[cloud.flag])
            )


def _unread_keys(entry: Mapping[str, Any]) -> list[Finding]:
    """Report keys that are neither read nor on the ignore list."""
    return [
        Finding(
            code="unread_field",
            level=Level.WARNING,
            sentence=f"RunPod answers with a field nobody has met: {key}.",
            evidence={"id": str(entry["id"]), "field": key, "value": str(entry[key])[:80]},
        )
        for key in sorted(set(entry) - READ_KEYS - IGNORED_KEYS)
    ]


def _placeholder(entry: Mapping[str, Any]) -> Finding:
    return Finding(
        code="placeholder",
        level=Level.INFO,
        sentence="An entry stands for no GPU and is left out.",
        evidence={"id": str(entry["id"]), "memoryInGb": str(entry["memoryInGb"])},
    )


def _gpu_type(entry: Mapping[str, Any], url: str) -> tuple[list[Offer], list[Finding]]:
    """Return the offers of one GPU type, one for each cloud that sells it."""
    memory_gb = Decimal(entry["memoryInGb"])
    named = name_accelerator(entry["id"], provider=PROVIDER, memory_gb=memory_gb, gpu_count=1)
    findings = [*named.findings, *_names_disagree(entry, named)]
    offers = []
    for cloud in CLOUDS:
        price = Decimal(entry[cloud.price])
        if entry[cloud.flag] and price > 0:
            offers.append(_offer(entry, cloud, named=named, url=url))
        elif entry[cloud.flag] or price > 0:
            findings.append(_not_a_price(entry, cloud))
    return offers, findings


def _names_disagree(entry: Mapping[str, Any], named: Named) -> Iterator[Finding]:
    """Hold the run when the display name lacks the family we take the id for, or tells another socket."""
    shown = set(re.findall(r"[a-z0-9]+", entry["displayName"].casefold()))
    family = set((named.family or "").split("-")) - {
        "",
        "rtx",
    }  # "PRO 6000 MIG 24GB" leaves the first word out
    accelerator = load_catalogue().get(named.accelerator or "")
    sockets = {socket for socket in SOCKETS for word in shown if re.fullmatch(rf"{socket}[2-6]?", word)}
    if not family <= shown or (accelerator is not None and sockets - {accelerator.form_factor}):
        yield Finding(
            code="names_disagree",
            level=Level.HOLD,
            sentence="The id and the display name of a GPU type do not name one GPU.",
            evidence={"id": entry["id"], "displayName": entry["displayName"], "family": named.family or ""},
        )


def _clouds_swapped(offers: list[Offer]) -> Iterator[Finding]:
    """Hold the run when the community cloud, the cheaper one, is dearer for most GPUs sold in both."""
    secure = {offer.sku: offer.list_price for offer in offers if offer.tier == "secure"}
    both = [
        (offer.list_price, secure[offer.sku])
        for offer in offers
        if offer.tier != "secure" and offer.sku in secure
    ]
    dearer = sum(community > price for community, price in both)
    if 2 * dearer > len(both):
        yield Finding(
            code="clouds_swapped",
            level=Level.HOLD,
            sentence="Most GPUs cost more in the community cloud than in the secure one.",
            evidence={"dearer": str(dearer), "in_both": str(len(both))},
        )


def _dear_slices(offers: list[Offer]) -> Iterator[Finding]:
    """Hold the run when a slice costs more than its card plausibly may; a slice has no band of its own."""
    for offer in offers:
        card = load_catalogue().get(offer.slice_of or "")
        if card is not None and offer.list_price > card.usd_per_gpu_hour_max:
            yield Finding(
                code="slice_above_card",
                level=Level.HOLD,
                sentence="A part of a GPU costs more than the whole plausibly does.",
                evidence={"id": offer.sku, "price": str(offer.list_price), "card": card.id},
            )


def _offer(entry: Mapping[str, Any], cloud: Cloud, *, named: Named, url: str) -> Offer:
    return Offer(
        provider=PROVIDER,
        sku=entry["id"],
        accelerator_as_written=entry["id"],
        accelerator=named.accelerator,
        family=named.family,
        slice_of=named.slice_of,
        gpu_count=1,
        min_gpus=1,
        list_price=Decimal(entry[cloud.price]),
        price_basis=PriceBasis.GPU_HOUR,
        pricing_model=PricingModel.ON_DEMAND,
        service_kind=ServiceKind.POD,
        tier=cloud.tier,
        provider_term=cloud.term,
        memory_gb_as_written=Decimal(entry["memoryInGb"]),
        source_url=url,
        fragment=f"gpuTypes > {entry['displayName']} > {cloud.price}: {entry[cloud.price]}",
    )


def _not_a_price(entry: Mapping[str, Any], cloud: Cloud) -> Finding:
    """Report a number of a cloud that does not sell the GPU, or a sold GPU without a price."""
    evidence = {key: str(entry[key]) for key in ("id", cloud.flag, cloud.price)}
    if entry[cloud.flag]:
        sentence = f"{cloud.term} says it sells this GPU but gives no price."
        return Finding(code="sold_without_price", level=Level.WARNING, sentence=sentence, evidence=evidence)
    sentence = f"{cloud.term} does not sell this GPU; the number it left behind is no price."
    return Finding(code="leftover_price", level=Level.INFO, sentence=sentence, evidence=evidence)


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(
        Request(
            url="https://api.runpod.io/graphql",
            method="POST",
            body=json.dumps({"query": QUERY}).encode(),
            headers={"content-type": "application/json", "accept": "application/json"},
            key=Key(setting="runpod_api_key", is_required=False),
        ),
    ),
    parse=parse,
    # 69 offers were there in 2026-09.
    expect=Expect(min_offers=55, anchors=("h100-sxm", "h200-sxm", "b200-sxm")),
)
