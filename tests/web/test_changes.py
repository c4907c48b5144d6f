"""The changes page and its JSON tell what the runs of the market did, day by day, each with its evidence."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.offers import Offer, PriceBasis
from app.ingest.imports import import_table
from app.store.migrate import upgrade
from app.store.session import make_engine
from tests.make import make_offer, publish_offers
from tests.web import market
from tests.web.conftest import serve
from tests.web.reading import get

Thing = tuple[str, str, str]


def days_of(client: TestClient, address: str = "/changes.json") -> Iterator[dict[str, Any]]:
    """Yield every day from an address on, over all pages to the oldest."""
    while address:
        document = client.get(address).json()
        yield from document["days"]
        address = document["older"]


def things(day: dict[str, Any]) -> set[Thing]:
    return {(each["kind"], each["provider"], each["sku"]) for each in day["changes"]}


def expected() -> dict[date, set[Thing]]:
    """Work out what happened on each day from the market's runs alone, without the store."""
    found: defaultdict[date, set[Thing]] = defaultdict(set)
    known: dict[tuple[str, str], object] = {}
    for provider, read_at, offers in market.runs():
        begun, coming = split(offers, read_at.date())
        now = {(provider, each.sku): each.list_price for each in begun}
        for thing, price in now.items():
            before = known.get(thing, "never")
            kind = "new" if before == "never" else "back" if before is None else "move"
            if before != price:
                found[read_at.date()].add((kind, *thing))
        for thing in [one for one in known if one[0] == provider and one not in now and known[one]]:
            found[read_at.date()].add(("withdrawn", *thing))
            known[thing] = None
        known |= now
        for each in coming:
            first = ("announced", provider, each.sku)
            if not any(first in day for day in found.values()):
                found[read_at.date()].add(first)
    # What nebius announced on the 4th for the 20th began on that day, before anybody read the page again.
    found[date(2026, 11, 20)].add(("move", "nebius", "gpu-h100-sxm"))
    return dict(found)


def split(offers: list[Offer], day: date) -> tuple[list[Offer], list[Offer]]:
    """Return the prices that hold on a day and those that are announced for a later one."""
    begun = [each for each in offers if each.valid_from is None or each.valid_from <= day]
    return begun, [each for each in offers if each not in begun]


def test_every_day_tells_what_the_runs_did(client: TestClient) -> None:
    told = {date.fromisoformat(day["day"]): things(day) for day in days_of(client)}
    assert told == expected()
    assert list(told) == sorted(told, reverse=True)
    assert len(told) > 7, "more than a page"


def test_the_page_shows_the_days_and_counts_of_the_document(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/changes"))
    document = client.get("/changes.json").json()
    assert [each.text() for each in tree.css("section.day h2 a")] == [day["day"] for day in document["days"]]
    for section, day in zip(tree.css("section.day"), document["days"], strict=True):
        kinds = Counter(
            (each.attributes["class"] or "").removeprefix("kind ") for each in section.css("td .kind")
        )
        assert kinds == Counter(each["kind"] for each in day["changes"])


def test_older_and_newer_lead_through_all_days_and_back(client: TestClient) -> None:
    first = LexborHTMLParser(get(client, "/changes"))
    assert first.css_first("a[rel=prev]") is None
    older = first.css_first("a[rel=next]").attributes["href"]
    second = LexborHTMLParser(get(client, older))
    assert second.css_first("section.day h2 a").text() < first.css("section.day h2 a")[-1].text()
    newer = LexborHTMLParser(get(client, second.css_first("a[rel=prev]").attributes["href"]))
    assert newer.css_first("section.day h2 a").text() > second.css_first("section.day h2 a").text()
    beyond = client.get("/changes.json?day=2026-10-01").json()
    assert (beyond["days"], beyond["older"]) == ([], None)
    assert beyond["newer"]


def test_every_change_leads_to_evidence_that_shows_its_printed_price(client: TestClient) -> None:
    seen = 0
    for day in days_of(client, "/changes.json?provider=runpod&provider=odd&provider=nebius&provider=oldhost"):
        for each in day["changes"]:
            printed = (each["after"] if each["kind"] != "withdrawn" else each["before"])["list_price"]
            page = get(client, each["evidence"])
            assert f"{printed:g}" in page.replace(",", ""), each
            seen += 1
    assert seen > 30


def test_a_move_has_old_new_and_percent_per_gpu_hour(client: TestClient) -> None:
    """RunPod's H100 SXM went from 3.99 to 4.99 and back: +25.1 % and -20.0 %."""
    days = list(days_of(client, "/changes.json?provider=runpod&gpu=h100-sxm"))
    moves = [each for day in days for each in day["changes"] if each["sku"] == "h100-sxm secure"]
    assert [(each["kind"], each["change_percent"]) for each in moves] == [
        ("move", -20.0401),
        ("move", 25.0627),
        ("new", None),
    ]
    assert moves[0]["before"]["usd_per_gpu_hour"] == 4.99
    assert moves[0]["after"]["usd_per_gpu_hour"] == 3.99
    page = LexborHTMLParser(get(client, "/changes?provider=runpod&gpu=h100-sxm&day=2026-11-13"))
    rows = [[cell.text().strip() for cell in row.css("td")] for row in page.css("tbody tr")]
    assert ["moved", "RunPod", "H100 SXM 80 GB", "3.99", "4.99", "+25.1 %"] in [row[:6] for row in rows]


def test_a_family_is_all_of_its_variants_and_a_variant_only_itself(client: TestClient) -> None:
    family = [each for day in days_of(client, "/changes.json?gpu=h100") for each in day["changes"]]
    variant = [each for day in days_of(client, "/changes.json?gpu=h100-pcie") for each in day["changes"]]
    assert {each["accelerator"] for each in family} == {"h100-sxm", "h100-pcie", None}
    assert {each["accelerator"] for each in variant} == {"h100-pcie"}
    assert {each["family"] for each in family} == {"h100"}


def test_an_accelerator_is_told_on_the_day_anybody_first_offers_it(client: TestClient) -> None:
    first = {day["day"]: day["first_offered"] for day in days_of(client) if day["first_offered"]}
    assert first["2026-11-20"] == ["rubin"]
    everywhere = [name for names in first.values() for name in names]
    assert len(everywhere) == len(set(everywhere))
    assert {"h100-sxm", "h100-pcie"} <= set(first["2026-11-02"])


def test_an_announced_price_says_from_when(client: TestClient) -> None:
    (day,) = [day for day in days_of(client, "/changes.json?provider=nebius") if day["day"] == "2026-11-04"]
    announced = {each["sku"]: each for each in day["changes"] if each["kind"] == "announced"}
    assert {sku: each["starts_on"] for sku, each in announced.items()} == {
        "gpu-h100-sxm": "2026-11-20",
        "gpu-b200": "2026-12-01",
    }
    page = get(client, "/changes?provider=nebius&day=2026-11-04")
    assert "from 2026-12-01" in page
    assert "announced 2026-11-04" in get(client, "/changes?provider=nebius&day=2026-11-20")


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("day=2026-11-21", "day"),
        ("day=yesterday", "day"),
        ("provider=nobody", "provider"),
        ("gpu=h1000", "gpu"),
        ("sort=provider", "parameter"),
        ("as_of=2026-11-20", "parameter"),
    ],
)
def test_what_cannot_be_answered_is_said_in_a_sentence(client: TestClient, asked: str, field: str) -> None:
    refused = client.get(f"/changes.json?{asked}")
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["field"] == field
    assert client.get(f"/changes.atom?{asked}").status_code == 422
    page = client.get(f"/changes?{asked}")
    assert page.status_code == 422
    assert "is not right" in page.text


def test_empty_fields_of_the_form_are_left_out_of_the_address(client: TestClient) -> None:
    answer = client.get("/changes?provider=runpod&gpu=&day=")
    assert (answer.status_code, answer.headers["location"]) == (303, "/changes?provider=runpod")


def test_a_page_that_has_not_changed_is_not_sent_again(client: TestClient) -> None:
    for address in ("/changes", "/changes.json", "/changes.atom", "/status", "/status.json"):
        tag = client.get(address).headers["etag"]
        again = client.get(address, headers={"if-none-match": tag})
        assert (again.status_code, again.content) == (304, b"")


@pytest.fixture
def url(database_url: str) -> str:
    """An empty, migrated database."""
    engine = make_engine(database_url)
    upgrade(engine)
    engine.dispose()
    return database_url


def publish(url: str, day: int, *offers: Offer, source: str | None = None) -> None:
    engine = make_engine(url)
    publish_offers(engine, offers, observed_at=market.at(day), source=source)
    engine.dispose()


def test_the_day_of_the_bundled_import_has_its_24_offers_as_new(url: str, tmp_path: Path) -> None:
    engine = make_engine(url)
    import_table(engine, tmp_path, now=market.NOW)
    engine.dispose()
    with serve(url) as client:
        (day,) = days_of(client)
        page = get(client, "/changes")
    assert (day["day"], len(day["changes"])) == ("2026-10-30", 24)
    assert {each["kind"] for each in day["changes"]} == {"new"}
    assert "24 new offers" in page


def test_another_unit_is_restated_and_says_so(url: str) -> None:
    """0.134 a minute is 8.04 an hour where 8.00 stood: the same price, rounded."""
    publish(url, 2, make_offer(list_price="8.00"))
    publish(url, 3, make_offer(list_price="0.134", price_basis=PriceBasis.GPU_MINUTE))
    with serve(url) as client:
        newest = next(days_of(client))
        page = get(client, "/changes")
    (change,) = newest["changes"]
    assert (change["kind"], change["change_percent"]) == ("restated", 0.5)
    assert "the same price but for rounding, printed per GPU and minute now, as 0.134" in page
    assert "1 price only written otherwise" in page
    assert "price moved" not in page


def test_a_provider_read_from_another_source_is_told(url: str) -> None:
    publish(url, 2, make_offer(sku="H100 SXM"), source="table")
    publish(url, 3, make_offer(sku="gpu_1x_h100_sxm5"))
    with serve(url) as client:
        newest, oldest = days_of(client)
    assert [note.partition(" on this day")[0] for note in newest["notes"]] == [
        "acme was read from another source"
    ]
    assert oldest["notes"] == []


def test_a_day_with_more_lines_than_a_page_holds_sends_to_the_document(url: str) -> None:
    publish(url, 2, *(make_offer(sku=f"SKU {number}") for number in range(230)))
    with serve(url) as client:
        (day,) = days_of(client)
        tree = LexborHTMLParser(get(client, "/changes"))
    assert len(day["changes"]) == 230
    assert len(tree.css("tbody tr")) == 200
    assert "And 30 more" in tree.css_first(".empty").text()


def test_an_empty_database_has_no_changes(url: str) -> None:
    with serve(url) as client:
        assert "Nothing changed" in get(client, "/changes")
        assert client.get("/changes.json").json()["days"] == []


def test_a_hostile_name_is_a_text(url: str) -> None:
    hostile = "<script>alert(1)</script>"
    publish(
        url,
        2,
        make_offer(
            sku=hostile, accelerator=None, family=None, accelerator_as_written=hostile, region=hostile
        ),
    )
    publish(url, 3, replace(make_offer(), source_url="javascript:alert(1)"))
    with serve(url) as client:
        page = get(client, "/changes")
    assert "<script>alert" not in page
    assert "javascript:" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_first_day_of_all_has_nothing_before_it(client: TestClient) -> None:
    document = client.get("/changes.json?day=0001-01-01").json()
    assert (document["days"], document["older"]) == ([], None)
    assert client.get("/changes?day=0001-01-01").status_code == 200
