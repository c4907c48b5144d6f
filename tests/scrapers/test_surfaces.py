"""Our own pages of the seven providers read by words, the registry's entries, and surfaces compared."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.domain.findings import holds
from app.domain.offers import PriceBasis, offer_key
from app.domain.providers import load_providers
from app.ingest.checks import check_offers
from scrapers import ALTERNATIVES, SCRAPERS, Page, ParseError
from scrapers.surfaces import disagreements
from tests.scrapers.surfaces import READ_AT, SURFACES, as_row, expected, in_order, our_text, read
from tests.scrapers.truth import our_page

HTML = {name for name, surface in SURFACES.items() if surface.file.endswith(".html")}
NEW = ("modal", "together", "deepinfra", "fireworks", "baseten", "lambda", "vast")


@pytest.mark.parametrize("name", SURFACES)
def test_our_page_gives_exactly_the_offers_written_beside_it(name: str) -> None:
    parsed = read(name, our_text(name))
    assert in_order(list(map(as_row, parsed.offers))) == in_order(expected(name))
    assert not holds(parsed.findings)


@pytest.mark.parametrize("name", SURFACES)
def test_our_page_passes_the_checks_of_a_run(name: str) -> None:
    offers = read(name, our_text(name)).offers
    provider = offers[0].provider
    expect = replace(SCRAPERS[provider].expect, min_offers=len(offers), anchors=())
    assert check_offers(offers, expect, kind=load_providers()[provider].kind) == ()


@pytest.mark.parametrize("name", SURFACES)
def test_an_offer_keeps_where_it_was_read(name: str) -> None:
    for offer in read(name, our_text(name)).offers:
        assert offer.source_url == SURFACES[name].url
        assert str(offer.list_price) in offer.fragment
        assert " > " in offer.fragment


@pytest.mark.parametrize("name", SURFACES)
def test_a_key_stands_once(name: str) -> None:
    keys = [(offer_key(offer), offer.valid_from) for offer in read(name, our_text(name)).offers]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"<html></html>", b"\xff\xfe", b"{}", b"Access denied", b'{"offers": []}',
     b"<html><body><h1>Are you human?</h1></body></html>", b"<html><body><h2>GPU Tasks</h2>"],
)  # fmt: skip
def test_a_page_of_another_kind_is_refused(name: str, body: bytes) -> None:
    with pytest.raises(ParseError):
        read(name, body)


@pytest.mark.parametrize("name", sorted(HTML))
def test_a_page_that_breaks_off_is_refused(name: str) -> None:
    text = our_text(name)
    for place in range(100, len(text) - 10, 97):
        with pytest.raises(ParseError):
            read(name, text[:place])


@pytest.mark.parametrize("name", sorted(HTML - {"baseten-page"}))
def test_struck_through_prices_are_refused(name: str) -> None:
    text = our_text(name)
    price = expected(name)[0]["list_price"]
    with pytest.raises(ParseError):
        read(name, text.replace(f"${price}", f"<s>${price}</s>"))


@pytest.mark.parametrize("provider", NEW)
def test_the_registry_has_an_entry_that_says_it_has_not_met_its_page(provider: str) -> None:
    scraper = SCRAPERS[provider]
    assert scraper.provider == provider
    assert scraper.never_met_live
    assert scraper.requests
    assert scraper.expect.min_offers >= 4
    assert scraper.expect.anchors
    for request in scraper.requests:
        assert any(f"https://{host}/" in request.url for host in load_providers()[provider].hosts)


def test_every_provider_of_the_articles_has_a_source() -> None:
    assert set(SCRAPERS) == set(load_providers()) & {*NEW, "runpod", "coreweave", "nebius"}


def test_runpods_run_reads_its_pods_and_its_serverless_table() -> None:
    scraper = SCRAPERS["runpod"]
    pods = scraper.parse(our_page("runpod")).offers
    url = scraper.requests[1].url
    workers = scraper.parse(
        Page(url=url, body=our_text("runpod-serverless").encode(), fetched_at=READ_AT)
    ).offers
    assert {offer.service_kind.value for offer in pods} == {"pod"}
    assert {offer.service_kind.value for offer in workers} == {"serverless"}
    assert not {offer_key(offer) for offer in pods} & {offer_key(offer) for offer in workers}
    assert all(
        any(f"//{host}/" in one.url for host in load_providers()["runpod"].hosts) for one in scraper.requests
    )


def test_second_surfaces_are_of_providers_with_a_first() -> None:
    assert set(ALTERNATIVES) == {"lambda", "baseten"}
    assert all(scraper.provider == name for name, scraper in ALTERNATIVES.items())


def test_lambdas_page_and_api_agree_on_one_price_and_differ_on_none() -> None:
    page, api = read("lambda", our_text("lambda")).offers, read("lambda-api", our_text("lambda-api")).offers
    assert list(disagreements(page, api)) == []
    dearer = [
        replace(offer, list_price=offer.list_price * 2) if offer.accelerator == "h100-sxm" else offer
        for offer in api
    ]
    found = list(disagreements(page, dearer))
    assert [(one.evidence["accelerator"], one.evidence["gpus"]) for one in found] == [("h100-sxm", "8")]


def test_a_price_rounded_for_another_unit_is_no_disagreement() -> None:
    minute = [one for one in read("baseten", our_text("baseten")).offers if one.accelerator == "b200-sxm"]
    hour = [
        one for one in read("baseten-page", our_text("baseten-page")).offers if one.accelerator == "b200-sxm"
    ]
    assert minute[0].price_basis is PriceBasis.INSTANCE_MINUTE
    assert hour[0].price_basis is PriceBasis.INSTANCE_HOUR
    assert list(disagreements(minute, hour)) == []
    off = [replace(hour[0], list_price=Decimal("9.80"))]
    assert [one.code for one in disagreements(minute, off)] == ["surfaces_disagree"]
