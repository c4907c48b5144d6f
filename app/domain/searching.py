"""The names under which a reader may look for an offer beside those that its row says itself."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.aliases import names_for
from app.domain.providers import name_of

if TYPE_CHECKING:
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.rows import Row

_COUNTED: Final = re.compile(r"(?:^|[ _-])\d+x(?:[ _-]|$)|\dx\d")
"""A number of GPUs in a name, as in `gpu_8x_h100`: it is one of an instance, not of the card."""

_BEFORE_GB: Final = re.compile(r"(?<=\d) (?=gb\b)")


def shared_names(row: Row) -> str:
    """Return the names of a row's provider and card, folded: many rows have the same, and the same text.

    They are the provider's name as it writes it, and the card's maker, name, and aliases in `aliases.csv`,
    each also without the space before GB.
    """
    card = row.accelerator
    about = card_names(card) if card else _maker(row.offer.slice_of or "", row.family or "")
    # The reader's own words are kept nowhere, so not in a cache either.
    return _joined(row.offer.provider, about) if row.offer.is_own else _kept(row.offer.provider, about)


def _joined(provider: str, about: str) -> str:
    return f"{name_of(provider)}\n{about}".casefold()


_kept: Final = lru_cache(maxsize=4096)(_joined)


@lru_cache(maxsize=1024)
def _maker(slice_of: str, family: str) -> str:
    """Return who makes a card whose variant is not known, or that is cut in slices; else nothing."""
    cards = load_catalogue().accelerators
    return next((card.vendor for card in cards if slice_of == card.id or family == card.family), "")


def card_names(card: Accelerator) -> str:
    """Return the names of a card, folded, one a line."""
    return _of_card(card.id, card.family, name=card.name, vendor=card.vendor, memory_gb=card.memory_gb)


@lru_cache(maxsize=1024)
def _of_card(card_id: str, family: str, *, name: str, vendor: str, memory_gb: Decimal) -> str:
    size = f"{memory_gb.normalize():f}gb"
    said = [vendor, name, f"{family.replace('-', ' ')} {size}", f"{family}-{size}"]
    aliases = [each.name for each in names_for(card_id) if len(each.parts) == 1]
    said += [alias for alias in aliases if _is_of_card(alias, family)]
    folded = [text.casefold() for text in said]
    return "\n".join(dict.fromkeys([*folded, *(_BEFORE_GB.sub("", text) for text in folded)]))


def _is_of_card(alias: str, family: str) -> bool:
    """Tell whether a name is one of a card: it names its family and no other, and no number of GPUs.

    So `p5.48xlarge` and `GH100[H200 SXM 141GB]` are none: who looks for an H100 is not shown an H200.
    """
    text, own = _squeezed(alias), _squeezed(family)
    others = (other for other in _families() if other not in own)
    return own in text and not _COUNTED.search(alias) and not any(other in text for other in others)


@cache
def _families() -> frozenset[str]:
    return frozenset(_squeezed(card.family) for card in load_catalogue().accelerators)


def _squeezed(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.casefold())
