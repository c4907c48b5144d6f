"""Two feed libraries that share no code read the feed; ids stay, times are right, links lead somewhere."""

from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import atoma
import feedparser
import pytest
from starlette.testclient import TestClient

from app.store.migrate import upgrade
from app.store.session import make_engine
from app.web import feeds
from tests.make import make_offer, publish_offers
from tests.web import market
from tests.web.conftest import serve

ATOM = "{http://www.w3.org/2005/Atom}"
ADDRESSES = [
    "/changes.atom",
    "/changes.atom?provider=runpod",
    "/changes.atom?provider=acme&gpu=h100&gpu=b200-sxm",
]


def feed(client: TestClient, address: str = "/changes.atom") -> bytes:
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    return answer.content


@pytest.mark.parametrize("address", ADDRESSES)
def test_two_libraries_read_the_same_feed(client: TestClient, address: str) -> None:
    body = feed(client, address)
    one = feedparser.parse(body)
    other = atoma.parse_atom_bytes(body)
    assert one.bozo is False, one.get("bozo_exception")
    assert one.version == "atom10"
    assert len(one.entries) == len(other.entries) > 0
    assert one.feed.title == other.title.value
    assert one.feed.id == other.id_
    for ours, theirs in zip(one.entries, other.entries, strict=True):
        assert ours.id == theirs.id_
        assert ours.title == theirs.title.value
        assert ours.link == theirs.links[0].href
        assert datetime(*ours.updated_parsed[:6], tzinfo=UTC) == theirs.updated
        assert "<li>" in ours.content[0].value
        assert ours.content[0].value.strip() == theirs.content.value.strip()
        assert ours.content[0].type == "text/html"


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_feed_has_what_its_standard_asks_for(client: TestClient, address: str) -> None:
    """RFC 4287 4.1.1 and 4.1.2: one id, title and updated each, an author, a link to itself."""
    root = ET.fromstring(feed(client, address))  # noqa: S314 - our own answer
    assert root.tag == f"{ATOM}feed"
    assert [link.attrib["href"] for link in root.findall(f"{ATOM}link") if link.attrib["rel"] == "self"] == [
        f"http://testserver{address}"
    ]
    assert root.findtext(f"{ATOM}author/{ATOM}name") == "InferPrice"
    entries = root.findall(f"{ATOM}entry")
    for element in (root, *entries):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"{ATOM}{name}")) == 1
        assert [link.attrib["rel"] for link in element.findall(f"{ATOM}link")].count("alternate") == 1
    ids = [entry.findtext(f"{ATOM}id") or "" for entry in entries]
    assert len(set(ids)) == len(ids)
    # RFC 4151: tag:authority,date:specific
    assert all(each.startswith("tag:inferprice.pages.dev,2026-11-29:changes/2026-11-") for each in ids)
    updated = [entry.findtext(f"{ATOM}updated") for entry in entries]
    assert root.findtext(f"{ATOM}updated") == max(each or "" for each in updated)


def test_an_entry_tells_one_provider_on_one_day(client: TestClient) -> None:
    entries = {entry.id: entry for entry in feedparser.parse(feed(client)).entries}
    moved = entries["tag:inferprice.pages.dev,2026-11-29:changes/2026-11-13/runpod"]
    assert moved.title == "RunPod, 2026-11-13: 6 prices moved"
    assert moved.updated == "2026-11-13T06:00:00Z"
    assert [tag.term for tag in moved.tags] == ["runpod"]
    assert (
        "H100 SXM 80 GB, 1 GPU, on demand, secure, pod: 3.99 \u2192 4.99 (+25.1 %)" in moved.content[0].value
    )


def test_every_link_of_the_feed_is_an_address_of_this_site_that_answers(client: TestClient) -> None:
    found = feedparser.parse(feed(client, "/changes.atom?provider=runpod"))
    links = [link.href for each in (found.feed, *found.entries) for link in each.links]
    assert len(links) == 2 + len(found.entries)
    for link in links:
        parts = urlsplit(link)
        assert parts.netloc == "testserver"
        assert client.get(f"{parts.path}?{parts.query}").status_code == 200


def test_ids_do_not_depend_on_the_address_the_feed_is_asked_at(client: TestClient) -> None:
    here, there = (
        client.get("/changes.atom", headers={"host": host}) for host in ("testserver", "prices.example:8443")
    )
    assert here.headers["etag"] != there.headers["etag"]
    assert b"http://prices.example:8443/changes.atom" in there.content
    assert b"testserver" not in there.content
    ids = [[entry.id for entry in feedparser.parse(each.content).entries] for each in (here, there)]
    assert ids[0] == ids[1]
    assert client.get("/changes.atom", headers={"if-none-match": here.headers["etag"]}).status_code == 304


def test_a_choice_of_cards_has_entries_of_its_own(client: TestClient) -> None:
    """The same day holds other changes in it, so a reader of both feeds must see both."""
    everything = {entry.id for entry in feedparser.parse(feed(client)).entries}
    provider = {entry.id for entry in feedparser.parse(feed(client, "/changes.atom?provider=runpod")).entries}
    card = {entry.id for entry in feedparser.parse(feed(client, "/changes.atom?gpu=h100")).entries}
    assert provider < everything
    assert card.isdisjoint(everything)
    two, same = (
        feedparser.parse(feed(client, f"/changes.atom?{q}")) for q in ("gpu=a10&gpu=h100", "gpu=h100,a10")
    )
    assert [entry.id for entry in two.entries] == [entry.id for entry in same.entries]


@pytest.fixture
def url(database_url: str) -> str:
    engine = make_engine(database_url)
    upgrade(engine)
    engine.dispose()
    return database_url


def test_ids_stay_and_times_grow_when_a_day_gets_another_change(url: str) -> None:
    engine = make_engine(url)
    publish_offers(engine, [make_offer()], observed_at=market.at(19, 5))
    with serve(url) as client:
        (before,) = feedparser.parse(feed(client)).entries
    publish_offers(engine, [replace(make_offer(), list_price=4)], observed_at=market.at(19, 9))
    publish_offers(engine, [make_offer()], observed_at=market.at(20, 9))
    with serve(url) as client:
        newest, after = feedparser.parse(feed(client)).entries
    engine.dispose()
    assert after.id == before.id != newest.id
    assert (before.updated, after.updated) == ("2026-11-19T05:00:00Z", "2026-11-19T09:00:00Z")
    assert before.published == after.published


def test_names_that_no_xml_may_hold_and_markup_do_not_break_it(url: str) -> None:
    engine = make_engine(url)
    odd = "H100 \x0b\x1f\ufffe <b>&amp; ]]> \U0001f600"
    offer = make_offer(accelerator=None, family=None, accelerator_as_written=odd, sku=odd, region=odd)
    publish_offers(engine, [offer], observed_at=market.at(19))
    engine.dispose()
    with serve(url) as client:
        body = feed(client)
    assert feedparser.parse(body).bozo is False
    (entry,) = atoma.parse_atom_bytes(body).entries
    assert "&lt;b&gt;&amp;amp; ]]&gt; \U0001f600" in entry.content.value
    assert "\x0b" not in entry.content.value


def test_a_feed_without_changes_is_a_feed(url: str) -> None:
    with serve(url) as client:
        found = feedparser.parse(feed(client))
    assert found.bozo is False
    assert found.entries == []
    assert found.feed.updated == "1970-01-01T00:00:00Z"


def test_a_feed_is_bounded(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_ENTRIES", 3)
    monkeypatch.setattr(feeds, "MOST_LINES", 4)
    engine = make_engine(url)
    for day in range(1, 6):
        offers = [make_offer(sku=str(number), list_price=str(day)) for number in range(6)]
        publish_offers(engine, offers, observed_at=market.at(day))
    engine.dispose()
    with serve(url) as client:
        entries = feedparser.parse(feed(client)).entries
    assert [entry.updated[:10] for entry in entries] == ["2026-11-05", "2026-11-04", "2026-11-03"]
    assert all(entry.content[0].value.count("<li>") == 4 for entry in entries)
    assert all("And 2 more." in entry.content[0].value for entry in entries)
