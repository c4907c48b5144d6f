"""The forms at /quote add what was typed to the link, lose nothing of it, and say what is wrong where."""

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.offers import PricingModel, ServiceKind
from app.domain.quotes import MAX_QUOTES
from app.web import quote_page
from app.web.quote_page import PLACES
from tests.web.reading import get

QUOTE = {
    "quote_name": "Hale & Co",
    "quote_accelerator": "h100-sxm",
    "quote_usd_per_gpu_hour": "$2.10",
    "quote_terms": "8x, 1 year",
}
OWN = {
    "own_name": "Rig",
    "own_accelerator": "h200-sxm",
    "own_price_usd": "40,000",
    "own_lifetime_years": "4",
    "own_power_w": "1,200",
    "own_usd_per_kwh": "0.12",
    "own_utilisation": "60%",
}


def asked(fields: Mapping[str, str], *more: tuple[str, str]) -> str:
    return f"/quote?{urlencode([*more, *fields.items()])}"


def led_to(client: TestClient, address: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the path and the pairs that an address redirects to."""
    answer = client.get(address)
    assert answer.status_code == 303, answer.text[:300]
    assert answer.headers["cache-control"] == "private, no-store"
    place = urlsplit(answer.headers["location"])
    assert (place.scheme, place.netloc) == ("", "")
    return place.path, parse_qsl(place.query)


def refused(client: TestClient, address: str) -> LexborHTMLParser:
    answer = client.get(address)
    assert answer.status_code == 422, answer.headers
    assert answer.headers["cache-control"] == "private, no-store"
    return LexborHTMLParser(answer.text)


def wrong(page: LexborHTMLParser) -> dict[str, str]:
    """Return what is said to be wrong, by field; each has to be what its field is described by."""
    found = {}
    for field in page.css("[aria-invalid=true]"):
        name = field.attributes["name"] or ""
        assert f"{name}-error" in (field.attributes["aria-describedby"] or "").split()
        found[name] = page.css_first(f"#{name}-error").text()
    return found


def sent_by(page: LexborHTMLParser, button: str) -> dict[str, str]:
    """Return what a form would send as it stands."""
    (form,) = [each for each in page.css("form") if button in each.text()]
    fields = {node.attributes["name"] or "": node.attributes["value"] or "" for node in form.css("input")}
    for select in form.css("select"):
        chosen = select.css_first("option[selected]")
        fields[select.attributes["name"] or ""] = chosen.attributes["value"] if chosen else ""
    return fields


def test_a_quote_comes_back_to_the_board_in_its_shortest_form(client: TestClient) -> None:
    filters = [("gpu", "h100"), ("max_gpus", "64"), ("sort", "-usd_per_gpu_hour"), ("page", "3")]
    path, pairs = led_to(client, asked(QUOTE, *filters))
    assert path == "/"
    assert pairs == [*filters[:3], ("quote", "Hale & Co|h100-sxm|2.1|reserved 8x 365d")]
    assert "Hale &amp; Co" in get(client, f"/?{urlencode(pairs)}")


def test_own_hardware_comes_back_after_what_was_there(client: TestClient) -> None:
    there = [("quote", "Vale|b200-sxm|5"), ("own", "Old|h100-sxm|30000|5|1000|0.2|0.9")]
    _, pairs = led_to(client, asked(OWN, *there))
    assert pairs == [*there, ("own", "Rig|h200-sxm|40000|4|1200|0.12|0.6")]


def test_the_same_figure_twice_is_one(client: TestClient) -> None:
    there = ("quote", "Hale & Co|h100-sxm|2.1|reserved 8x 365d")
    assert led_to(client, asked(QUOTE, there))[1] == [there]


@pytest.mark.parametrize("back", PLACES)
def test_the_forms_lead_back_to_where_they_were_opened(client: TestClient, back: str) -> None:
    kept = [("gpu", "h100-sxm"), ("gpu", "h200-sxm"), ("weights_gb", "140")]
    if back == "/history":  # which is of one card
        kept = [("gpu", "h200-sxm"), ("weights_gb", "140"), ("provider", "runpod")]
    path, pairs = led_to(client, asked(QUOTE, ("back", back), *kept))
    assert path == back
    assert pairs[:3] == kept
    assert get(client, f"{path}?{urlencode(pairs)}")
    page = LexborHTMLParser(get(client, f"/quote?{urlencode([('back', back), *kept])}"))
    (link,) = [each for each in page.css("main a") if each.text() == f"Back to {PLACES[back]}"]
    assert link.attributes["href"] == f"{back}?{urlencode(kept)}"


def test_a_comparison_keeps_its_own_fields(client: TestClient) -> None:
    path, pairs = led_to(client, asked(QUOTE, ("back", "/compare"), ("metric", "usd_per_pflop_hour")))
    assert path == "/compare"
    assert pairs[-1] == ("metric", "usd_per_pflop_hour")


def test_a_history_opens_the_forms_with_its_card_and_gets_what_was_typed(client: TestClient) -> None:
    html = get(client, "/history?gpu=h200-sxm&provider=runpod&metric=usd_per_tbs_hour")
    (link,) = [each for each in LexborHTMLParser(html).css("main a") if each.text() == "Add your own price"]
    forms = LexborHTMLParser(get(client, link.attributes["href"] or ""))
    sent = sent_by(forms, "Add my quote")
    assert sent["quote_accelerator"] == "h200-sxm"
    path, pairs = led_to(client, f"/quote?{urlencode({**sent, **QUOTE, 'quote_accelerator': 'h200-sxm'})}")
    assert path == "/history"
    assert pairs == [
        ("gpu", "h200-sxm"),
        ("metric", "usd_per_tbs_hour"),
        ("provider", "runpod"),
        ("quote", "Hale & Co|h200-sxm|2.1|reserved 8x 365d"),
    ]
    shown = LexborHTMLParser(get(client, f"{path}?{urlencode(pairs)}"))
    # 2.10 dollars over the 4.8 TB/s of NVIDIA's data sheet of the H200 SXM.
    assert shown.css_first("tr.own td.n").attributes["data-value"] == "0.4375"


@pytest.mark.parametrize(
    "back", ["https://example.com/", "//example.com", "/status", "/compare?x=1", "javascript:1"]
)
def test_no_link_leads_astray(client: TestClient, back: str) -> None:
    answer = client.get(asked(QUOTE, ("back", back)))
    assert answer.status_code == 422
    assert "location" not in answer.headers
    assert "use one of /, /compare" in answer.text


def test_everything_wrong_is_said_at_once_beside_its_field_and_nothing_is_lost(client: TestClient) -> None:
    bad = {
        "quote_name": "",
        "quote_accelerator": "h100",
        "quote_usd_per_gpu_hour": "two",
        "quote_terms": "8 cards",
    }
    page = refused(client, asked(bad, ("gpu", "h100"), ("quote", "Vale|b200-sxm|5")))
    said = wrong(page)
    assert said["quote_name"] == "this has to be filled in"
    assert said["quote_accelerator"].startswith("'h100' is none; did you mean h100-")
    assert said["quote_usd_per_gpu_hour"] == "'two' is no number as 1,200 or 0.5"
    assert said["quote_terms"].startswith("'8 cards' is none of on_demand, spot, reserved")
    assert list(said) == list(bad)
    again = sent_by(page, "Add my quote")
    # A list cannot show a card that there is not; all the rest stands as it was.
    assert again == {**bad, "quote_accelerator": "", "back": "/", "gpu": "h100", "quote": "Vale|b200-sxm|5"}
    assert [node.attributes["name"] for node in page.css("[autofocus]")] == ["quote_name"]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("quote_name", "a|b", "leave out the |"),
        ("quote_name", "x" * 41, "give 1 to 40 printable characters"),
        ("quote_usd_per_gpu_hour", "0", "give a number from 0.000001 to 99,999.999999"),
        ("quote_usd_per_gpu_hour", "1.2345678", "give at most 6 decimals"),
        ("quote_terms", "8x 4x", "give the gpu count once"),
        ("own_utilisation", "0", "give a number from 0.001 to 1, or 60% for 0.6"),
        ("own_utilisation", "61", "give a number from 0.001 to 1, or 60% for 0.6"),
        ("own_lifetime_years", "", "this has to be filled in"),
        ("own_power_w", "-1", "give a number from 0 to 100,000"),
        ("own_usd_per_kwh", "12 ct", "'12 ct' is no number as 1,200 or 0.5"),
    ],
)
def test_each_wrong_part_is_told_what_would_be_right(
    client: TestClient, field: str, value: str, says: str
) -> None:
    fields = QUOTE if field.startswith("quote") else OWN
    page = refused(client, asked({**fields, field: value}))
    assert wrong(page) == {field: says}
    button = "Add my quote" if fields is QUOTE else "Add my hardware"
    again = sent_by(page, button)
    assert {name: again[name] for name in fields} == {**fields, field: value}


def test_right_parts_that_come_to_too_much_are_said_above_the_form(client: TestClient) -> None:
    dear = {**OWN, "own_price_usd": "10000000", "own_lifetime_years": "0.1", "own_utilisation": "0.001"}
    page = refused(client, asked(dear))
    assert wrong(page) == {}
    (said,) = page.css("form .notice")
    # 10,000,000 over 0.1 x 8,760 x 0.001 hours, and 0.144 for the power.
    assert said.text().startswith("it comes to 11,415,525.258155 dollars per GPU-hour")


def test_a_link_that_is_full_takes_no_more(client: TestClient) -> None:
    there = [("quote", f"Q{number}|h100-sxm|{number}") for number in range(1, MAX_QUOTES + 1)]
    (said,) = refused(client, asked(QUOTE, *there)).css("form .notice")
    assert said.text() == "a link holds at most 20 figures of your own: take one away first"
    assert len(led_to(client, asked(QUOTE, *there[1:]))[1]) == MAX_QUOTES


def test_a_link_that_would_be_too_long_is_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quote_page, "MAX_QUERY_STRING", 60)
    (said,) = refused(client, asked(QUOTE, ("gpu", "h100"))).css("form .notice")
    assert said.text() == "the link would be longer than 60 characters: take a figure away"


def test_a_figure_in_the_link_has_a_link_without_it(client: TestClient) -> None:
    there = [
        ("gpu", "h100"),
        ("quote", "Hale|h100-sxm|2"),
        ("quote", "Vale|b200-sxm|5"),
        ("own", "Rig|h100-sxm|1|1|1|1|1"),
    ]
    page = LexborHTMLParser(get(client, f"/quote?{urlencode(there)}"))
    links = {
        item.css_first("strong").text(): parse_qsl(
            urlsplit(item.css_first("a").attributes["href"] or "").query
        )
        for item in page.css(".own-figures li")
    }
    assert links == {
        name: [("back", "/"), *[pair for pair in there if not pair[1].startswith(name)]]
        for name in ("Hale", "Vale", "Rig")
    }


def test_the_card_that_the_board_shows_is_chosen_beforehand(client: TestClient) -> None:
    assert (
        sent_by(LexborHTMLParser(get(client, "/quote?gpu=h200-sxm")), "Add my quote")["quote_accelerator"]
        == "h200-sxm"
    )
    assert (
        sent_by(LexborHTMLParser(get(client, "/quote?gpu=h200")), "Add my quote")["quote_accelerator"] == ""
    )


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("gpu=h10", "gpu"),
        ("quote=a", "quote"),
        ("metric=usd_per_gpu_hour", "parameter"),
        ("quote_name=a&quote_name=b", "quote_name"),
        ("back=/&back=/compare", "back"),
    ],
)
def test_a_wrong_link_says_so(client: TestClient, query: str, field: str) -> None:
    answer = client.get(f"/quote?{query}")
    assert answer.status_code == 422
    assert LexborHTMLParser(answer.text).css_first("h1").text().startswith(f"{field}: ")


def test_the_page_names_every_word_for_the_terms_and_the_hours_of_a_year(client: TestClient) -> None:
    page = LexborHTMLParser(get(client, "/quote"))
    words = {node.text() for node in page.css("details code")}
    assert {*PricingModel, *ServiceKind, "8x", "min 16", "90d", "91-180d", "3mo", "1y"} == words
    for word in words:
        assert client.get(asked({**QUOTE, "quote_terms": word})).status_code == 303, word
    (formula,) = page.css(".formula")
    assert formula.text() == (
        "$/GPU-hour = price in $ / (lifetime in years \u00d7 8,760 h \u00d7 utilisation) "
        "+ power in W / 1,000 \u00d7 electricity in $ per kWh"
    )
    assert {label.attributes["for"] for label in page.css("main label")} == {*QUOTE, *OWN}


def test_what_is_typed_is_text_and_never_markup(client: TestClient) -> None:
    page = refused(client, asked({**QUOTE, "quote_name": '"><script>1</script>', "quote_terms": "x"}))
    assert sent_by(page, "Add my quote")["quote_name"] == '"><script>1</script>'
    assert [node.attributes.get("src") for node in page.css("script")] == [
        src for node in page.css("head script") if (src := node.attributes["src"])
    ]
