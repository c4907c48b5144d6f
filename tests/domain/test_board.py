"""The board answers as a plain re-computation does: rows, order, totals, facet counts and pages."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain import board as board_module
from app.domain.accelerators import load_catalogue
from app.domain.board import Board, build_board
from app.domain.columns import COLUMNS
from app.domain.listing import StoredOffer
from app.domain.metrics import METRICS
from app.domain.query import OfferQuery
from tests.domain import made, plain
from tests.domain.made import NOW
from tests.make import make_offer

MANY = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def board_of(stored: list[StoredOffer]) -> Board:
    return build_board(stored, load_catalogue(), instant=NOW)


def ids(board: Board, rows: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(board.rows[number].stored.offer_id for number in rows)


@given(stored=made.boards(), query=made.queries())
@MANY
def test_rows_order_totals_facets_and_pages(stored: list[StoredOffer], query: OfferQuery) -> None:
    board = board_of(stored)
    expected = plain.answer(stored, query, instant=NOW)
    page, whole = board.select(query), board.select(query, everything=True)
    assert ids(board, whole.rows) == expected.ids
    assert ids(board, page.rows) == expected.page(query.page, query.per_page)
    assert page.total == whole.total == len(expected.ids)
    assert page.pages == max(1, (len(expected.ids) + query.per_page - 1) // query.per_page)
    assert {name: dict(counts) for name, counts in page.facets.items()} == expected.facets


@given(stored=made.boards(most=10), queries=st.lists(made.queries(), min_size=2, max_size=6))
@settings(MANY, max_examples=60)
def test_an_answer_does_not_depend_on_what_was_asked_before(
    stored: list[StoredOffer], queries: list[OfferQuery]
) -> None:
    """A board keeps the orders, baselines and counts it has made; they must never reach another query."""
    board = board_of(stored)
    for query in [*queries, *queries]:
        fresh = board_of(stored).select(query)
        again = board.select(query)
        assert (again.rows, again.total, again.facets) == (fresh.rows, fresh.total, fresh.facets)


@given(stored=made.boards(most=10), query=made.queries())
@settings(MANY, max_examples=100)
def test_every_figure_and_every_warning(stored: list[StoredOffer], query: OfferQuery) -> None:
    board = board_of(stored)
    view = board.view(query)
    baselines = plain.baseline_prices([each.offer for each in stored], query.baseline)
    for row in board.rows:
        expected = plain.figures(row.offer, query, baselines=baselines)
        assert set(expected) == set(METRICS)
        for key, value in expected.items():
            got = METRICS[key].value(row, view)
            assert (got is None) == (value is None), key
            assert got is None or value is None or float(got) == pytest.approx(float(value), rel=1e-15)
            assert bool(METRICS[key].why_unknown(row, view)) == (value is None), key
        assert list(row.flags) == plain.flags(row.stored, stored, instant=NOW)


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Make the interpreter switch between threads as often as it can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty_threads")
def test_a_board_can_be_asked_by_many_threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a board keeps is shared and makes room for more; here there is room for next to nothing."""
    monkeypatch.setattr(board_module, "MAX_ORDERS", 2)
    monkeypatch.setattr(board_module, "MAX_COUNTS", 4)
    queries = [
        OfferQuery(sort=sign + key, gpu=gpu, pricing=pricing)
        for key in COLUMNS
        for sign in ("", "-")
        for gpu in ((), ("h100",), ("b200-sxm",))
        for pricing in ((), ("spot",))
    ]
    expected = {query: board_of(WIDE).select(query) for query in queries}
    shared = board_of(WIDE)

    def ask(seed: int) -> int:
        mixed = Random(seed).sample(queries, len(queries))  # noqa: S311 - no secret
        return sum(shared.select(query) == expected[query] for query in mixed)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [len(queries)] * 8


WIDE = [
    made.store(make_offer(), 1),
    made.store(make_offer(provider="Bolt", accelerator="h100-pcie", list_price="1.99"), 2),
    made.store(make_offer(sku="b", list_price="2.99", region="eu", tier="secure"), 3, seen_hours_ago=60),
    made.store(make_offer(sku="c", accelerator=None, family="h100", variant_assumed=True), 4),
    made.store(make_offer(sku="d", accelerator="b200-sxm", family="b200", is_floor=True), 5),
    made.store(make_offer(sku="e", currency="EUR", memory_gb_as_written=Decimal(80)), 6),
    made.store(make_offer(sku="f", accelerator="a100-sxm-80", family="a100", gpu_count=8, min_gpus=8), 7),
    made.store(make_offer(sku="g", term_days_min=91, term_days_max=180, region="EU"), 8),
    made.store(make_offer(sku="h", accelerator="rtx-a2000", family="rtx-a2000"), 9),
    made.store(make_offer(sku="i", source_url="", fragment=""), 10),
    made.store(make_offer(sku="j", term_days_max=30, memory_gb_as_written=Decimal("79.6")), 11),
    made.store(make_offer(sku="k", accelerator=None, family=None, accelerator_as_written="Voodoo 2"), 12),
]


@pytest.mark.parametrize("sort", [sign + key for key in COLUMNS for sign in ("", "-")])
def test_every_column_sorts_both_ways_with_the_unknown_last(sort: str) -> None:
    query = OfferQuery(sort=sort, baseline="h100-sxm")
    board = board_of(WIDE)
    assert ids(board, board.select(query).rows) == plain.answer(WIDE, query, instant=NOW).ids


def test_there_is_an_unknown_to_sort_last_wherever_a_column_can_be_unknown() -> None:
    always_known = {
        *("provider", "sku", "accelerator_as_written", "gpu_count", "min_gpus", "list_price", "currency"),
        *("price_basis", "pricing_model", "service_kind", "form_factor_assumed", "valid_from"),
        *("is_floor", "offer_id", "observed_at", "last_seen_at"),
    }
    query = OfferQuery(baseline="h100-sxm")
    baselines = plain.baseline_prices([each.offer for each in WIDE], query.baseline)
    unknown: set[str] = set()
    for each in WIDE:
        values = plain.facts(each, WIDE, instant=NOW) | plain.figures(each.offer, query, baselines=baselines)
        assert set(values) == set(COLUMNS)
        unknown |= {key for key, value in values.items() if value is None}
    assert set(COLUMNS) - unknown == always_known


def test_an_announced_card_shows_when_it_is_asked_for_by_card_or_family_only() -> None:
    offers = [make_offer(), make_offer(accelerator="rubin", family="rubin", list_price="1")]
    board = board_of([made.store(offer, number) for number, offer in enumerate(offers)])
    assert ids(board, board.select(OfferQuery()).rows) == (0,)
    assert ids(board, board.select(OfferQuery(gpu=("rubin", "h100"))).rows) == (1, 0)


def test_a_choice_counts_what_it_would_show() -> None:
    """The count beside a GPU is the rows one gets by choosing it, also when it is an announced one."""
    offers = [make_offer(), make_offer(accelerator="rubin", family="rubin")]
    board = board_of([made.store(offer, number) for number, offer in enumerate(offers)])
    counts = board.select(OfferQuery()).facets["variant"]
    assert counts == {card: board.select(OfferQuery(gpu=(card,))).total for card in ("h100-sxm", "rubin")}


def test_an_empty_board_has_one_empty_page() -> None:
    empty = board_of([]).select(OfferQuery(q="h100", sort="-usd_per_gpu_hour", page=3))
    assert (empty.total, empty.rows, empty.pages) == (0, (), 1)


def test_the_trap_of_the_article_is_marked_and_names_the_better_card() -> None:
    """RunPod's PCIe card lists at $2.89 and costs $1.445 per TB/s-h, its SXM at $3.99 costs $1.19."""
    offers = [
        make_offer(list_price="3.99"),
        make_offer(list_price="2.89", accelerator="h100-pcie"),
        make_offer(list_price="2.89", accelerator="h100-pcie", provider="other"),
        make_offer(list_price="2.89", accelerator="h100-pcie", tier="community"),
        make_offer(list_price="2.89", accelerator="h100-pcie", is_floor=True),
    ]
    board = board_of([made.store(offer, number) for number, offer in enumerate(offers)])
    marked = {row.stored.offer_id: row.dearer_than for row in board.rows if row.dearer_than}
    assert {number: card.id for number, card in marked.items()} == {1: "h100-sxm"}
    assert board.find(1) is not None
    assert board.find(99) is None
