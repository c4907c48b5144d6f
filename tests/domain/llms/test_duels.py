"""A bigger card against two smaller ones at one provider: the article's question, asked of a model."""

from decimal import Decimal

import pytest

from app.domain.llms.cost_query import CostQuery, in_order, serving_of
from app.domain.llms.costs import offer_costs
from app.domain.llms.duels import MOST_CARDS, MOST_DUELS, Duel, duels
from app.domain.llms.fit import TooBig
from app.domain.llms.serving import Cost
from app.domain.rows import Row
from tests.domain.llms.test_costs import LLAMA, row

QUERY = CostQuery(kv="fp8", context=4096, batch=(8,))


def duelled(*rows: Row, query: CostQuery = QUERY) -> tuple[Duel, ...]:
    serving = serving_of(query, LLAMA)
    return duels(serving, in_order(offer_costs(serving, rows), query))


@pytest.mark.parametrize(("h200", "cheaper"), [("5.71", "first"), ("5.72", "second")])
def test_one_h200_beats_two_h100_up_to_the_ratio_of_their_bandwidths(h200: str, cheaper: str) -> None:
    """Two H100 read 2 x 3.35 / 4.8 times as fast for twice the price: even at 4.8 / 3.35 x $3.99."""
    [duel] = duelled(row("h100-sxm", "3.99", number=1), row("h200-sxm", h200, number=2))
    assert (duel.gpus, duel.bigger.card.id, duel.smaller.card.id) == (1, "h200-sxm", "h100-sxm")
    assert duel.comparison.cheaper == cheaper
    first, second = duel.comparison.first, duel.comparison.second
    assert isinstance(first, Cost)
    assert isinstance(second, Cost)
    step_s = (Decimal(69_503_033_344) + 8 * 671_088_640) / Decimal("4.8e12")
    assert first.usd_per_mtok_output == pytest.approx(Decimal(h200) * 10**6 / 3600 * step_s / 8)
    assert second.usd_per_mtok_output == pytest.approx(
        Decimal("3.99") * 10**6 / 3600 * step_s * Decimal("4.8") / Decimal("3.35") / 8
    )


def test_cards_of_two_providers_or_of_other_terms_never_meet() -> None:
    here = row("h200-sxm", "5", number=1)
    assert duelled(here, row("h100-sxm", "3", number=2, provider="other")) == ()
    assert duelled(here, row("h100-sxm", "3", number=3, tier="secure")) == ()
    assert len(duelled(here, row("h100-sxm", "3", number=4))) == 1


def test_two_that_are_too_small_lose_whatever_they_cost() -> None:
    [duel] = duelled(row("b200-sxm", "99", number=1), row("rtx-4090", "0.1", number=2))
    assert isinstance(duel.comparison.second, TooBig)
    assert duel.comparison.cheaper == "first"


def test_the_cheapest_offer_of_a_card_stands_for_it_and_there_are_only_so_many() -> None:
    [duel] = duelled(
        row("h100-sxm", "4", number=1), row("h100-sxm", "3", number=2), row("h200-sxm", "5", number=3)
    )
    assert duel.smaller.cost.row.stored.offer_id == 2
    cards = ("b200-sxm", "h200-sxm", "h100-sxm", "a100-sxm-80", "mi300x", "mi325x")
    assert len(cards) > MOST_CARDS
    many = [
        row(card, "3", number=len(cards) * place + each, provider=f"p{place}")
        for place in range(30)
        for each, card in enumerate(cards)
    ]
    assert len(duelled(*many)) == MOST_DUELS
