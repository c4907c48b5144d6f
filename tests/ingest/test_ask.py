"""A list that comes in pages is read to its end, and again when it moved; what needs a key waits for it."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.ingest.answer import Answer, keep_answers
from app.ingest.ask import Asking, ask_source
from app.ingest.fetched import Fetched, FetchError
from app.ingest.run import claim, run_answers
from app.store import runs
from app.store.queries import offers_as_of
from app.store.records import Capture, Outcome
from app.store.session import reading
from scrapers.base import Expect, Key, Page, Parsed, ParseError, Request, Scraper
from tests.make import make_offer, utc

LIST = "https://acme.example/list"


def following(page: Page) -> Request | None:
    """Return the request for the next page, which the page names."""
    after = json.loads(page.body).get("next")
    return None if after is None else Request(url=f"{LIST}?page={after}", following=following)


def parse(page: Page) -> Parsed:
    answer = json.loads(page.body)
    if "offers" not in answer:
        raise ParseError("no_offers", "The page has no offers.")
    return Parsed(
        offers=tuple(
            make_offer(sku=sku, list_price=price, source_url=page.url)
            for sku, price in answer["offers"].items()
        )
    )


def source(**fields: object) -> Scraper:
    return Scraper(
        provider="acme",
        requests=(Request(url=LIST, following=following, **fields),),
        parse=parse,
        expect=Expect(min_offers=1),
    )


@dataclass
class Pages:
    """A fetcher of pages from memory; each address answers in turn, its last answer from then on."""

    answers: dict[str, list[object]]
    keys: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def fetch(self, request: Request, *, hosts: Collection[str], known: Capture | None = None) -> Fetched:
        del hosts, known
        self.asked.append(request.url)
        answers = self.answers[request.url]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return Fetched(
            url=request.url,
            status=200,
            body=json.dumps(answer).encode(),
            fetched_at=utc(1),
            content_type="application/json",
            headers={},
        )


def asking(engine: Engine, archive: Path, pages: Pages) -> Asking:
    return Asking(engine=engine, archive=archive, hosts=("acme.example",), fetcher=pages)


def three_pages() -> dict[str, list[object]]:
    return {
        LIST: [{"offers": {"a": "1"}, "next": 2}],
        f"{LIST}?page=2": [{"offers": {"b": "2"}, "next": 3}],
        f"{LIST}?page=3": [{"offers": {"c": "3"}}],
    }


def skus(answers: Collection[Answer]) -> list[str]:
    return [offer.sku for answer in answers for offer in parse(answer.page).offers]


def test_a_list_is_read_to_its_end_and_its_ends_again(engine: Engine, archive: Path) -> None:
    pages = Pages(three_pages())
    assert skus(ask_source(asking(engine, archive, pages), source())) == ["a", "b", "c"]
    assert pages.asked == [LIST, f"{LIST}?page=2", f"{LIST}?page=3", LIST, f"{LIST}?page=3"]


def test_a_single_page_is_asked_once(engine: Engine, archive: Path) -> None:
    pages = Pages({LIST: [{"offers": {"a": "1"}}]})
    assert skus(ask_source(asking(engine, archive, pages), source())) == ["a"]
    assert pages.asked == [LIST]


def test_a_list_that_moved_between_its_pages_is_read_anew(engine: Engine, archive: Path) -> None:
    """An offer came in at the top after page one was read: every later page begins one offer earlier."""
    answers = three_pages()
    answers[f"{LIST}?page=3"] = [{"offers": {"b": "2"}}, {"offers": {"c": "3"}}]
    pages = Pages(answers)
    assert skus(ask_source(asking(engine, archive, pages), source())) == ["a", "b", "c"]
    assert pages.asked.count(f"{LIST}?page=2") == 2


def test_a_list_that_never_keeps_still_is_given_up(engine: Engine, archive: Path) -> None:
    answers = three_pages()
    answers[LIST] = [{"offers": {"a": str(number)}, "next": 2} for number in range(1, 20)]
    pages = Pages(answers)
    with pytest.raises(FetchError, match="lists something else each time") as caught:
        ask_source(asking(engine, archive, pages), source())
    assert (caught.value.code, pages.asked.count(f"{LIST}?page=2")) == ("list_moves", 3)


def test_the_time_of_day_beside_the_offers_is_no_move(engine: Engine, archive: Path) -> None:
    answers = three_pages()
    answers[LIST] = [{"offers": {"a": "1"}, "next": 2, "now": number} for number in range(9)]
    assert skus(ask_source(asking(engine, archive, Pages(answers)), source())) == ["a", "b", "c"]


def test_a_list_that_leads_in_circles_is_given_up(engine: Engine, archive: Path) -> None:
    answers = three_pages()
    answers[f"{LIST}?page=3"] = [{"offers": {"c": "3"}, "next": 2}]
    pages = Pages(answers)
    with pytest.raises(FetchError, match="without an end") as caught:
        ask_source(asking(engine, archive, pages), source())
    assert (caught.value.code, len(pages.asked)) == ("list_does_not_end", 3)


def test_what_came_before_a_list_broke_is_kept(engine: Engine, archive: Path) -> None:
    answers = three_pages()
    del answers[f"{LIST}?page=3"]
    asked = asking(engine, archive, Pages(answers))
    with pytest.raises(KeyError):
        ask_source(asked, source())
    assert skus(asked.got) == ["a", "b"]


def test_every_page_is_archived_and_each_offer_cites_its_own(engine: Engine, archive: Path) -> None:
    scraper = source()
    run_id = claim(engine, "acme", slot="one", now=utc(1))
    assert run_id is not None
    answers = ask_source(asking(engine, archive, Pages(three_pages())), scraper)
    ended = run_answers(engine, archive, scraper=scraper, answers=answers, run_id=run_id, now=utc(1))
    assert ended.outcome is Outcome.PUBLISHED
    with reading(engine) as connection:
        kept = runs.captures_of(connection, run_id)
        cited = {each.offer.sku: each.capture_sha256 for each in offers_as_of(connection, utc(1))}
    assert [each.url for each in kept] == [LIST, f"{LIST}?page=2", f"{LIST}?page=3"]
    assert cited == dict(zip("abc", [each.sha256 for each in kept], strict=True))


def test_a_request_that_needs_a_key_is_left_out_without_it(engine: Engine, archive: Path) -> None:
    scraper = source(key=Key(setting="acme_api_key"))
    without = Pages({LIST: [{"offers": {"a": "1"}}]})
    assert ask_source(asking(engine, archive, without), scraper) == []
    with_key = replace(without, keys={"acme_api_key": "s"}, asked=[])
    assert skus(ask_source(asking(engine, archive, with_key), scraper)) == ["a"]
    optional = source(key=Key(setting="acme_api_key", is_required=False))
    assert skus(ask_source(asking(engine, archive, without), optional)) == ["a"]


def test_what_is_sent_is_part_of_what_a_capture_answers(engine: Engine, archive: Path) -> None:
    """Two bodies to one address are two requests: the last answer to one is never taken for the other's."""
    run_id = claim(engine, "acme", slot="one", now=utc(1))
    assert run_id is not None
    bodies = (b'{"query":"spot"}', b'{"query":"on-demand"}')
    scraper = replace(
        source(), requests=tuple(Request(url=LIST, method="POST", body=body) for body in bodies)
    )
    pages = Pages({LIST: [{"offers": {"a": "1"}}, {"offers": {"b": "2"}}]})
    answers = ask_source(asking(engine, archive, pages), scraper)
    keep_answers(engine, archive, answers=answers, run_id=run_id)
    with reading(engine) as connection:
        found = [
            runs.last_capture(
                connection, LIST, method="POST", request_sha256=hashlib.sha256(body).hexdigest()
            )
            for body in bodies
        ]
        assert runs.last_capture(connection, LIST) is None
    assert [each.sha256 for each in found if each] == [answer.sha256 for answer in answers]
