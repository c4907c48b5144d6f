"""Checks of what an offer says against itself: no GPUs, another GPU's name, left-over figures, floors."""

from __future__ import annotations

import re
from collections import defaultdict
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.findings import Finding, Level
from app.domain.offers import usd_per_gpu_hour
from app.ingest.checked import about, hold, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.offers import Offer
    from app.ingest.checked import Checked

ROUND_USD: Final = Decimal("0.10")
"""A figure left behind as a placeholder is round: RunPod's were all 0.50 (providers.md, traps, 1)."""

MOST_FAMILIES: Final = 3
"""Families of GPUs that may cost exactly the same at one provider; H100 and H200 do at Fireworks."""


def check_counts(checked: Checked) -> Iterator[Finding]:
    """Hold a GPU offered in a number of none: the count was not read, or the row is of something else."""
    for offer in checked.offers:
        if offer.gpu_count < 1 or offer.min_gpus < 1:
            yield hold(
                "no_gpus",
                f"{offer.sku} names {offer.accelerator_as_written} and has {offer.gpu_count} GPUs, at least "
                f"{offer.min_gpus}.",
                fragment=offer.fragment,
            )


def check_other_family(checked: Checked) -> Iterator[Finding]:
    """Hold an offer whose own words name another family than it was taken for, as GH200 for H200."""
    for offer in checked.offers:
        if offer.family not in _families():
            continue
        words = set(re.findall(r"[a-z0-9]+", f"{offer.sku} {offer.accelerator_as_written}".casefold()))
        said = words & _families()
        if said and offer.family not in said:
            yield about(
                offer,
                "names_another_gpu",
                sentence=f"{named(offer)} was taken for {offer.family} and names {', '.join(sorted(said))}.",
            )


@cache
def _families() -> frozenset[str]:
    """Return the families whose name is one word with a digit in it, so that it stands for nothing else."""
    families = {each.family for each in load_catalogue().accelerators}
    return frozenset(name for name in families if re.fullmatch(r"[a-z]+[0-9]+[a-z]*", name))


def check_leftovers(checked: Checked) -> Iterator[Finding]:
    """Hold one round price for GPUs that have nothing to do with each other: a figure left behind."""
    if checked.is_marketplace:
        return
    families: defaultdict[tuple[str, Decimal], dict[str, Offer]] = defaultdict(dict)
    for offer in checked.offers:
        price = usd_per_gpu_hour(offer)
        if price is None or offer.family is None or offer.slice_of is not None:
            continue
        if not price % ROUND_USD:
            families[offer.tier, price].setdefault(offer.family, offer)
    for (tier, price), found in families.items():
        if len(found) > MOST_FAMILIES:
            where = f" in {tier}" if tier else ""
            yield hold(
                "one_price_for_many",
                f"{len(found)} kinds of GPU cost exactly {price.normalize():f} USD per GPU-hour{where}.",
                gpus=", ".join(sorted(found)),
            )


def check_floors(checked: Checked) -> Iterator[Finding]:
    """Tell how many prices are floors; they are shown as such and are no list prices."""
    floors = [offer for offer in checked.offers if offer.is_floor]
    if floors:
        yield Finding(
            code="floor_prices",
            level=Level.INFO,
            sentence=f'{len(floors)} of {len(checked.offers)} prices are floors ("from") and shown as such.',
            evidence={"first": named(floors[0])},
        )
