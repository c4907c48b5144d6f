"""Makes questions to the board of which none comes twice, so that no finished answer can be used again."""

from __future__ import annotations

from math import comb
from random import Random
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from app.domain.columns import DEFAULT_COLUMNS
from benchmarks.made_offers import SEED, cards

if TYPE_CHECKING:
    from collections.abc import Iterator

SORTS: Final = tuple(sign + key for key in DEFAULT_COLUMNS for sign in ("", "-"))
"""The orders that a reader can click: each shown column, both ways."""


def unseen_questions() -> Iterator[str]:
    """Yield query strings for ever: 4 to 10 GPUs, perhaps on demand, perhaps 2 GPUs or more, in some order.

    Each leaves well over 100 of 5,000 offers, so that every answer is a full page.
    """
    random = Random(SEED)  # noqa: S311 - the same questions each time, no secret
    ids, seen = [card.id for card in cards()], set()
    while True:
        gpus = random.sample(ids, random.randint(4, 10))
        pairs = [("gpu", gpu) for gpu in gpus]
        pairs += random.choice([[], [("pricing", "on_demand")]])
        pairs += random.choice([[], [("min_gpus", "2")]])
        question = urlencode([*pairs, ("sort", random.choice(SORTS))])
        same = (frozenset(gpus), question.partition("&pricing")[2], question.rpartition("&")[2])
        if same not in seen:
            seen.add(same)
            yield question


def gpu_sets(size: int) -> Iterator[tuple[str, ...]]:
    """Yield so many GPUs until every set of them came once: what other programs are asked too."""
    random = Random(SEED)  # noqa: S311 - as above
    ids, seen = [card.id for card in cards()], set()
    while len(seen) < comb(len(ids), size):
        gpus = tuple(random.sample(ids, size))
        if frozenset(gpus) not in seen:
            seen.add(frozenset(gpus))
            yield gpus
