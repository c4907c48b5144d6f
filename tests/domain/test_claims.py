"""The four claims hold on the day of the article; by how much, and what would turn them, is done by hand."""

from decimal import Decimal
from typing import Any

import pytest

from app.domain.accelerators import load_catalogue
from app.domain.board import build_board
from app.domain.claims import Verdict, depends_on, judge, load_claims, parse_claims
from app.domain.providers import via
from app.web.claims_view import part_sentence
from tests.domain import made
from tests.domain.article import board_of, offer_of
from tests.domain.bundled import BUNDLED

CLAIMS = {claim.id: claim for claim in load_claims()}
IDS = ("h200-beats-h100-sxm", "b200-cheapest-per-tbs", "runpod-pcie-trap", "together-on-demand-and-reserved")


def judged(name: str, board: Any = BUNDLED) -> Verdict:
    return judge(CLAIMS[name], board.rows, catalogue=load_catalogue())


def test_these_are_the_claims() -> None:
    assert tuple(CLAIMS) == IDS


@pytest.mark.parametrize("name", IDS)
def test_all_hold_on_the_day_of_the_article(name: str) -> None:
    assert judged(name).holds is True


# What decides each: provider, the card's figure and its rival's, and the share between them.
DECIDED = {
    "h200-beats-h100-sxm": ("runpod", "1.102", "1.191", "8.07"),  # the sixth of seven
    "b200-cheapest-per-tbs": ("fireworks", "1.625", "1.667", "2.56"),
    "runpod-pcie-trap": ("runpod", "1.445", "1.191", "17.57"),  # 1 - (3.99 / 3.35) / (2.89 / 2.0)
    "together-on-demand-and-reserved": ("together", "1.248", "1.191", "4.56"),
}


@pytest.mark.parametrize("name", IDS)
def test_by_how_much_it_is_decided(name: str) -> None:
    decider = judged(name).decider
    assert decider is not None
    figures = (decider.value, decider.rival_value)
    assert (
        decider.provider,
        *(str(each.quantize(Decimal("0.001"))) for each in figures),
        str((decider.slack * 100).quantize(Decimal("0.01"))),
    ) == DECIDED[name]


def test_at_how_many_providers() -> None:
    counted = {name: [(part.hits, part.of, part.needed) for part in judged(name).parts] for name in CLAIMS}
    assert counted == {
        "h200-beats-h100-sxm": [(6, 7, 6)],
        "b200-cheapest-per-tbs": [(7, 7, 7)],
        "runpod-pcie-trap": [(1, 1, 1)],
        "together-on-demand-and-reserved": [(1, 1, 1), (1, 1, 1)],
    }


def test_only_the_second_depends_on_a_disputed_figure() -> None:
    """Fireworks: 13.00 / 7.7 is 1.688 and its H200 1.667."""
    found = {
        name: [card.id for card in depends_on(claim, BUNDLED.rows, catalogue=load_catalogue())]
        for name, claim in CLAIMS.items()
    }
    assert found == {
        "h200-beats-h100-sxm": [],
        "b200-cheapest-per-tbs": ["b200-sxm"],
        "runpod-pcie-trap": [],
        "together-on-demand-and-reserved": [],
    }


def test_one_that_does_not_hold_says_how_far_it_is_off() -> None:
    board = board_of(offer_of("acme", "h100-sxm", "3.35"), offer_of("acme", "h200-sxm", "6.00"))
    verdict = judged("h200-beats-h100-sxm", board)
    assert verdict.holds is False
    assert verdict.decider is not None
    assert verdict.decider.slack == Decimal("-0.2")  # 1.00 against 1.25


def test_a_tie_does_not_hold() -> None:
    board = board_of(offer_of("acme", "h100-sxm", "3.35"), offer_of("acme", "h200-sxm", "4.80"))
    assert judged("h200-beats-h100-sxm", board).holds is False


@pytest.mark.parametrize("name", IDS)
def test_without_offers_it_cannot_be_told(name: str) -> None:
    assert judged(name, board_of()).holds is None
    assert judged(name, board_of(offer_of("acme", "h200-sxm", "4"))).decider is None


def test_one_part_wrong_is_wrong_and_one_unknown_is_unknown() -> None:
    name = "together-on-demand-and-reserved"
    h100 = offer_of("together", "h100-sxm", "3.99")
    assert judged(name, board_of(h100, offer_of("together", "h200-sxm", "5.99"))).holds is None
    assert judged(name, board_of(h100, offer_of("together", "h200-sxm", "4.99"))).holds is False


def test_an_aggregators_word_counts_only_where_the_page_was_not_read() -> None:
    own = [offer_of("runpod", "h100-sxm", "3.00"), offer_of("runpod", "h200-sxm", "4.00")]
    theirs = [
        offer_of(via("listing", each), card, usd)
        for each in ("runpod", "lambda")
        for card, usd in (("h100-sxm", "3.00"), ("h200-sxm", "9.00"))
    ]
    [part] = judged("h200-beats-h100-sxm", board_of(*own, *theirs)).parts
    assert (part.hits, part.of) == (1, 2)


def test_a_condition_tells_whose_price_no_run_has_seen_yet() -> None:
    """3.00 / 3.35 is 0.896 and 4.00 / 4.80 is 0.833, so that it holds, if the announced price is right."""
    offers = [offer_of("acme", "h100-sxm", "3.00"), offer_of("acme", "h200-sxm", "4.00")]
    stored = [made.store(each, at, announced_since_page=at == 1) for at, each in enumerate(offers, 1)]
    [part] = judged("h200-beats-h100-sxm", build_board(stored, load_catalogue(), instant=made.NOW)).parts
    assert (part.holds, part.announced) == (True, ("acme",))
    assert part_sentence(part).endswith("; it counts a price of acme that is announced and no run has seen.")
    [seen] = judged("h200-beats-h100-sxm", board_of(*offers)).parts
    assert seen.announced == ()


ENTRY = """
[[claim]]
id = "one"
sentence = "A sentence."
source = "Somebody, 2026"
[[claim.part]]
query = "gpu=h100-sxm&gpu=h200-sxm"
card = "h200-sxm"
relation = "beats"
"""


def test_adding_one_is_one_entry() -> None:
    [claim] = parse_claims(ENTRY, load_catalogue())
    assert (claim.id, claim.cards, len(claim.parts)) == ("one", ("h100-sxm", "h200-sxm"), 1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"h200-sxm"\nrelation', '"b200-sxm"\nrelation', "'b200-sxm' is not among those compared"),
        ("beats", "likes", "likes"),
        ("gpu=h200-sxm", "gpu=h200-sx", "did you mean"),
        ("relation", "relations", "unknown key 'relations'"),
        ('source = "Somebody, 2026"', "", "source"),
        ('relation = "beats"', 'relation = "beats"\nleast = "7/6"', "'7/6' is no share"),
    ],
)
def test_a_wrong_entry_is_named(old: str, new: str, said: str) -> None:
    with pytest.raises(ValueError, match="claim 'one'") as error:
        parse_claims(ENTRY.replace(old, new), load_catalogue())
    assert said in str(error.value)


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="stands twice"):
        parse_claims(ENTRY + ENTRY, load_catalogue())
