"""Filter and rank: our query beside the catalogue queries of gpuhunt and SkyPilot on the same offers."""

from __future__ import annotations

import time
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import load_catalogue
from app.domain.offers import PricingModel, usd_per_instance_hour
from app.store.session import make_engine
from app.web.boards import BoardKeeper
from app.web.main import utc_now
from app.web.state import read_query
from benchmarks.made_offers import cards
from benchmarks.peer_programs import PINS, PeerError, Timed, asking
from benchmarks.questions import gpu_sets
from benchmarks.results import Row, WrongAnswerError, compare_times, not_measured

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from app.domain.offers import Offer
    from app.web.boards import Served

ROUNDS: Final = 5
QUESTIONS: Final = 50
"""Questions of a round for us; a peer answers the first of them, as many as its time allows."""

PEERS: Final = {"gpuhunt": (20, 20), "skypilot": (200, 2)}
"""How many times faster we have to be, and how many questions of a round it answers, by peer."""


def measure(url: str, offers: Sequence[Offer], *, folder: Path) -> list[Row]:
    """Return a row for each peer. The sides take turns, and no side is asked the same thing twice."""
    engine = make_engine(url)
    served = BoardKeeper(engine, load_catalogue(), utc_now).current()
    engine.dispose()
    task = {
        "offers": [_plain(offer) for offer in offers],
        "questions": list(islice(gpu_sets(3), (ROUNDS + 1) * QUESTIONS)),
        "bandwidth_tb_s": {card.id: float(card.bandwidth_tb_s) for card in cards()},
    }
    return [_row(name, served, task=task, folder=folder) for name in PEERS]


def _row(name: str, served: Served, *, task: dict[str, Any], folder: Path) -> Row:
    at_least, count = PEERS[name]
    work = f"filter to 3 GPUs and rank by $/TB/s, against {name} {PINS[name]}"
    ours: list[float] = []
    theirs: list[float] = []
    try:
        with asking(name, task, folder=folder) as peer:
            for number in range(ROUNDS + 1):
                start = number * QUESTIONS
                mine = _answer(served, task["questions"][start : start + QUESTIONS])
                other = peer.ask(start, count)
                if mine.first[:count] != other.first:
                    raise WrongAnswerError(f"{name} ranks {other.first} first, we {mine.first[:count]}")
                # The first round warms both sides up: orders are sorted, files are read.
                ours += mine.seconds if number else []
                theirs += other.seconds if number else []
    except PeerError as error:
        return not_measured(work, str(error), wanted=f"{at_least}")
    return compare_times(work, median(ours), median(theirs), at_least=at_least)


def _answer(served: Served, questions: Sequence[Sequence[str]]) -> Timed:
    """Answer questions from the board itself: no finished answer is kept here."""
    seconds, first = [], []
    for gpus in questions:
        began = time.perf_counter()
        query = read_query("&".join(f"gpu={gpu}" for gpu in gpus), served.words)
        selection = served.board.select(query)
        rows = [served.board.rows[number] for number in selection.rows]
        seconds.append(time.perf_counter() - began)
        first.append(rows[0].offer.sku)
    return Timed(seconds, first)


def _plain(offer: Offer) -> dict[str, Any]:
    """Return what the catalogues of the peers hold of an offer."""
    card = load_catalogue().get(offer.accelerator or "")
    price = usd_per_instance_hour(offer)
    assert card is not None
    assert price is not None
    return {
        "provider": offer.provider,
        "sku": offer.sku,
        "accelerator": card.id,
        "memory_gb": float(card.memory_gb),
        "gpu_count": offer.gpu_count,
        "region": offer.region,
        "spot": offer.pricing_model is PricingModel.SPOT,
        "usd_per_instance_hour": float(price),
    }
