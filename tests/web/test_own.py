"""The reader's own prices and hardware stand everywhere among the others, and nowhere after the answer."""

import json
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.web import chart_pages, gpu_page
from app.web.charts import INK, OWN_SYMBOL, PATTERNS, SYMBOLS, bars_figure, styles
from tests.web.reading import get, read_csv, read_table

QUOTE = "Hale|h100-sxm|2.10"
# $2.10 for the 3.35 TB/s of NVIDIA's data sheet of the H100 SXM.
PER_TBS = float(Fraction("2.10") / Fraction("3.35"))
RIG = "Rig|h200-sxm|40000|4|1200|0.12|60%"
# 40,000 / (4 x 8,760 x 0.6) is 1.902588, 1.2 kW at 0.12 is 0.144.
RIG_USD = Decimal("2.046588")
PAGES = (
    *("/", "/compare", "/charts/scatter", "/charts/bars", "/history", "/gpus/h100-sxm", "/offers/-1"),
    "/quote",
)
TWINS = (
    *("/offers.csv", "/offers.json", "/offers.ndjson", "/compare.csv", "/compare.json"),
    *("/charts/scatter.csv", "/charts/scatter.json", "/charts/bars.csv", "/charts/bars.json"),
    *("/history.csv", "/history.json", "/figures/history.json"),
    *("/figures/scatter.json", "/figures/bars.json", "/offers/-1.csv", "/offers/-1.json"),
    *("/view.csv", "/view.tsv", "/view.json", "/view.md", "/view.xlsx", "/view.parquet"),
)


def address(path: str, *pairs: tuple[str, str], quote: Sequence[str] = (QUOTE,)) -> str:
    return f"{path}?{urlencode([*pairs, *[('quote', each) for each in quote]])}"


def rows_of(client: TestClient, *pairs: tuple[str, str], quote: Sequence[str] = (QUOTE,)) -> list[Any]:
    return list(json.loads(get(client, address("/offers.json", *pairs, quote=quote)))["rows"])


def own_row(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    (row,) = [row for row in rows if row["offer_id"] < 0]
    return row


# ---------------------------------------------------------------- among the others


def test_a_quote_stands_in_its_place_by_every_order(client: TestClient) -> None:
    rows = rows_of(client, ("gpu", "h100-sxm"))
    own = own_row(rows)
    assert own["usd_per_tbs_hour"] == pytest.approx(PER_TBS, rel=1e-12)
    assert own["flags"] == ["own"]
    # On the market of that day: acme's reserved 2.99 x 0.7 before it, odd's 2.20 from 64 GPUs on after it.
    before, after = rows[rows.index(own) - 1], rows[rows.index(own) + 1]
    assert (before["usd_per_gpu_hour"], own["usd_per_gpu_hour"], after["usd_per_gpu_hour"]) == (
        2.093,
        2.1,
        2.2,
    )
    ids = [row["offer_id"] for row in rows_of(client, ("sort", "-usd_per_gpu_hour"), ("gpu", "h100-sxm"))]
    by_price = sorted(rows, key=lambda row: -row["usd_per_gpu_hour"])
    assert ids.index(-1) == by_price.index(own)


def test_own_hardware_comes_to_the_sum_by_hand(client: TestClient) -> None:
    text = get(client, f"/offers.json?{urlencode([('gpu', 'h200-sxm'), ('own', RIG)])}")
    row = own_row(json.loads(text)["rows"])
    assert Decimal(str(row["usd_per_gpu_hour"])) == RIG_USD
    assert row["usd_per_tbs_hour"] == pytest.approx(float(RIG_USD / Decimal("4.8")), rel=1e-12)


@pytest.mark.parametrize(
    ("pairs", "quote", "shows"),
    [
        ([("max_gpus", "8")], "Hale|h100-sxm|2.10|8x", True),
        ([("max_gpus", "7")], "Hale|h100-sxm|2.10|8x", False),
        ([("min_gpus", "8")], QUOTE, False),
        ([("pricing", "reserved")], QUOTE, False),
        ([("pricing", "reserved")], "Hale|h100-sxm|2.10|1y", True),
        ([("service", "pod")], QUOTE, False),
        ([("service", "pod")], "Hale|h100-sxm|2.10|pod", True),
        ([("gpu", "h200")], QUOTE, False),
        ([("min_memory_gb", "81")], QUOTE, False),
        ([("where.usd_per_gpu_hour", "<2.1")], QUOTE, False),
        ([("where.usd_per_gpu_hour", "<=2.1")], QUOTE, True),
        ([("q", "hale")], QUOTE, True),
        # It comes from no provider and no region, so a choice of these says nothing of it.
        ([("provider", "runpod")], QUOTE, True),
        ([("region", "us-east")], QUOTE, True),
    ],
)
def test_filters_hold_for_a_quote_and_the_page_says_when_they_hide_it(
    client: TestClient, pairs: list[tuple[str, str]], quote: str, *, shows: bool
) -> None:
    assert (-1 in [row["offer_id"] for row in rows_of(client, *pairs, quote=[quote])]) is shows
    page = read_table(get(client, address("/", *pairs, quote=[quote])))
    said = [node.text() for node in page.tree.css(".notice")]
    assert ("Your quote Hale does not match the filters." in said) is not shows
    assert [node.text() for node in page.tree.css(".own-figures strong")] == ["Hale"]


def test_a_quote_on_another_page_of_the_board_is_not_said_to_be_hidden(client: TestClient) -> None:
    page = get(client, address("/", ("per_page", "1"), quote=["Hale|h100-sxm|99"]))
    assert "does not match" not in page


def test_each_of_several_that_is_hidden_is_named(client: TestClient) -> None:
    pairs = [
        ("gpu", "h200"),
        ("quote", QUOTE),
        ("quote", "Vale|h200-sxm|3"),
        ("own", "Rig|b200-sxm|1|1|1|1|1"),
    ]
    page = LexborHTMLParser(get(client, f"/?{urlencode(pairs)}"))
    assert [node.text() for node in page.css(".notice")] == [
        "Your quote Hale does not match the filters.",
        "Your hardware Rig does not match the filters.",
    ]


def test_no_answer_with_a_quote_may_be_kept_on_the_way(client: TestClient) -> None:
    for path in (*PAGES, *TWINS):
        answer = client.get(address(path))
        assert answer.status_code == 200, path
        assert answer.headers["cache-control"] == "private, no-store", path
        assert "etag" not in answer.headers, path
        assert "last-modified" not in answer.headers, path
        # Of this address other sites hear the site's name alone (Referrer Policy, W3C, 3.7).
        assert answer.headers["referrer-policy"] == "strict-origin-when-cross-origin", path
    board = client.get(address("/"), headers={"if-none-match": "*", "hx-request": "true"})
    assert (board.status_code, board.headers["cache-control"]) == (200, "private, no-store")


@pytest.mark.parametrize(
    "place", ["/?q=&", "/compare?baseline=&", "/charts/bars?q=&", "/history?from=&", "/offers?", "/Compare?"]
)
def test_no_redirect_to_a_quote_may_be_kept_on_the_way(client: TestClient, place: str) -> None:
    answer = client.get(f"{place}quote=Hale%7Ch100-sxm%7C2.1")
    assert answer.status_code in {303, 308}
    assert "quote=Hale%7Ch100-sxm%7C2.1" in answer.headers["location"]
    assert answer.headers.get_list("cache-control") == ["private, no-store"]
    assert "cache-control" not in client.get("/compare?baseline=").headers


def test_every_page_and_export_holds_the_quote(client: TestClient) -> None:
    for path in (*PAGES, *TWINS):
        answer = client.get(address(path))
        if path not in {"/view.xlsx", "/view.parquet"}:  # packed, and read back in the tests of the views
            assert "Hale" in answer.text, path
    assert "Hale" not in get(client, "/offers.csv")


def test_links_out_of_a_page_tell_no_referrer(client: TestClient) -> None:
    for path in PAGES:
        links = LexborHTMLParser(get(client, address(path))).css("a[href^='http']")
        without = [
            link.attributes["href"] for link in links if "noreferrer" not in (link.attributes["rel"] or "")
        ]
        assert without == [], path


# ---------------------------------------------------------------- compare


def compared(client: TestClient, *quotes: str, **fields: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(get(client, address("/compare.json", *fields.items(), quote=quotes)))
    return found


def test_a_quote_of_one_card_has_a_line_of_its_own_that_counts_for_nothing(client: TestClient) -> None:
    plain, found = compared(client), compared(client, QUOTE)
    first, *others = found["lines"]
    assert (first["provider"], first["is_own"], first["counts"], first["winners"]) == (
        "own:Hale",
        True,
        False,
        [],
    )
    assert [cell["usd_per_gpu_hour"] for cell in first["cells"]] == [2.1, None, None]
    assert first["cells"][1]["why"] == "none of yours is for the H200 SXM"
    assert others == plain["lines"]
    assert {line["is_own"] for line in others} == {False}
    for part in ("counts", "tallies", "doubts", "left_out"):
        assert found[part] == plain[part]


def test_quotes_of_one_name_are_paired_like_a_providers_offers(client: TestClient) -> None:
    # 6.00 / 3.00 is 2.00; the B200's 8 TB/s over 3.35 break even at 2.388.
    line = compared(client, "Hale|h100-sxm|3.00", "Hale|b200-sxm|6.00")["lines"][0]
    assert line["winners"] == ["b200-sxm"]
    cell = line["cells"][2]
    assert (cell["price_multiple"], cell["passes"]) == (2.0, True)
    assert cell["breakeven_multiple"] == pytest.approx(float(Fraction(8) / Fraction("3.35")), rel=1e-12)


def test_a_quote_under_a_providers_name_is_a_line_beside_the_providers(client: TestClient) -> None:
    lines = compared(client, "RunPod|h100-sxm|3.00", "RunPod|h200-sxm|3.50")["lines"]
    named = [(line["provider"], line["is_own"], line["counts"]) for line in lines]
    assert named[0] == ("own:RunPod", True, False)
    assert ("runpod", False, True) in named


@pytest.mark.parametrize(
    ("quote", "why"),
    [
        ("Hale|l40s|0.50", "it is for another card"),
        ("Hale|h100-sxm|1.80|1y", "instance, reserved, 365 days is not compared here"),
    ],
)
def test_a_quote_that_takes_no_part_is_told_why(client: TestClient, quote: str, why: str) -> None:
    page = LexborHTMLParser(get(client, address("/compare", quote=[quote])))
    assert [node.text() for node in page.css(".notice")] == [f"Your own figure Hale takes no part: {why}."]
    assert page.css("tr.own") == []
    assert compared(client, quote)["lines"] == compared(client)["lines"]


def test_the_page_of_the_comparison_keeps_the_quote_in_form_and_links(client: TestClient) -> None:
    page = LexborHTMLParser(get(client, address("/compare", ("spec", "alt"))))
    row = page.css_first("tr.own")
    assert row.css_first("th .flag").text() == "yours"
    evidence = row.css_first("td a").attributes["href"]
    assert evidence == "/offers/-1?spec=alt&quote=Hale%7Ch100-sxm%7C2.1"
    assert "Your own figure" in get(client, evidence)
    (field,) = page.css("form[action='/compare'] input[name=quote]")
    assert field.attributes["value"] == "Hale|h100-sxm|2.1"
    add = (
        page.css_first("form[action='/compare'] a[href^='/quote?back=%2Fcompare&']").attributes["href"] or ""
    )
    assert LexborHTMLParser(get(client, add)).css_first(".own-figures strong").text() == "Hale"
    others = {a.attributes["href"] for a in page.css("tr:not(.own) td a")}
    assert others
    assert all((href or "").endswith("quote=Hale%7Ch100-sxm%7C2.1") for href in others)


def test_the_csv_of_the_comparison_marks_own_rows(client: TestClient) -> None:
    rows = read_csv(get(client, address("/compare.csv")))
    assert {(row["provider"], row["is_own"]) for row in rows if row["is_own"] == "true"} == {
        ("own:Hale", "true")
    }
    assert {row["is_own"] for row in rows} == {"true", "false"}


# ---------------------------------------------------------------- charts


def test_the_scatter_marks_a_quote_with_a_star_of_its_own_and_never_cuts_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart_pages, "MOST_POINTS", 3)
    pairs = (("gpu", "h100-sxm"), ("sort", "usd_per_gpu_hour"))
    dear = "Hale|h100-sxm|60.00"
    figure = json.loads(get(client, address("/figures/scatter.json", *pairs, quote=[dear])))
    (trace,) = [trace for trace in figure["data"] if trace["name"] == "yours: Hale"]
    assert (trace["marker"]["symbol"], trace["marker"]["color"]) == (OWN_SYMBOL, INK)
    assert trace["x"] == [pytest.approx(60 / 3.35, rel=1e-12)]
    assert trace["text"] == ["yours: Hale H100 SXM 80 GB, on demand"]
    assert sum(len(each["x"]) for each in figure["data"][:-2]) <= 4  # the cap, and what is on the frontier
    page = LexborHTMLParser(get(client, address("/charts/scatter", *pairs, quote=[dear])))
    (row,) = [row for row in page.css("tbody tr") if row.css(".flag.own")]
    assert row.css("td")[0].text().split() == ["Hale", "yours"]


def test_no_series_looks_like_the_readers_own() -> None:
    assert OWN_SYMBOL not in SYMBOLS
    assert OWN_SYMBOL not in {symbol for _, symbol, _ in styles(56)}


def test_the_bars_hold_a_quote_under_its_own_name_whatever_its_card(client: TestClient) -> None:
    quotes = ["RunPod|h100-sxm|2.50", "Hale|l40s|0.60"]
    pairs = (("sort", "usd_per_gpu_hour"),)
    figure = json.loads(get(client, address("/figures/bars.json", *pairs, quote=quotes)))
    bars = {
        (trace["name"], who): x
        for trace in figure["data"]
        for who, x in zip(trace["y"], trace["x"], strict=True)
    }
    assert bars["H100 SXM 80 GB", "yours: RunPod"] == 2.5
    assert bars["H100 SXM 80 GB", "RunPod"] == 3.39
    assert bars["L40S 48 GB", "yours: Hale"] == 0.6
    page = LexborHTMLParser(get(client, address("/charts/bars", *pairs, quote=quotes)))
    own = [row.css_first("th") for row in page.css("tbody tr") if row.css("th .flag.own")]
    assert [head.text().split() for head in own] == [["Hale", "yours"], ["RunPod", "yours"]]
    assert [head.css("a") for head in own] == [[], []]  # they have no page


def test_own_bars_have_an_edge_and_no_two_bars_look_alike() -> None:
    cards = {f"card {number}": {"a": 1.0, "yours: b": 2.0} for number in range(20)}
    markers = [
        each["marker"] for each in bars_figure(cards, ["a", "yours: b"], unit="$", own={"yours: b"})["data"]
    ]
    assert {tuple(each["line"]["width"]) for each in markers} == {(0, 2)}
    assert len({(each["color"], each["pattern"]["shape"]) for each in markers}) == len(cards)
    assert len(PATTERNS) < len(cards)


# ---------------------------------------------------------------- evidence


def said(html: str) -> dict[str, str]:
    section = LexborHTMLParser(html).css_first(".evidence-body section")
    terms, texts = section.css("dt"), section.css("dd")
    return {"": section.css_first("h2").text()} | {
        term.text(): " ".join(text.text().split()) for term, text in zip(terms, texts, strict=True)
    }


def test_the_evidence_of_a_quote_says_that_it_is_yours(client: TestClient) -> None:
    html = get(client, address("/offers/-1", quote=["Hale|h100-sxm|2.10|8x 1y"]))
    assert said(html) == {
        "": "Your own figure",
        "Name": "Hale",
        "Price": "$2.10 for one GPU for one hour, as you wrote it",
        "Terms": "reserved, 365 days, instance, 8 GPUs an instance, at least 8 GPUs",
        "From": "the link: it is nowhere stored, and nobody has checked it. Take it away",
    }
    assert "sha256" not in html
    assert " read 20" not in html
    away = LexborHTMLParser(html).css_first(".evidence-body section a").attributes["href"]
    assert away == "/"


def test_the_evidence_of_hardware_shows_the_sum(client: TestClient) -> None:
    html = get(client, f"/offers/-2?{urlencode([('quote', QUOTE), ('own', RIG), ('precision', 'bf16')])}")
    assert (
        "$40,000 / (4 years \u00d7 8,760 h \u00d7 0.6) + 1,200 W / 1,000 \u00d7 $0.12 per kWh"
        in said(html)["Price"]
    )
    away = LexborHTMLParser(html).css_first(".evidence-body section a").attributes["href"]
    assert away == "/?precision=bf16&quote=Hale%7Ch100-sxm%7C2.1"


def test_the_evidence_of_a_quote_for_programs_was_never_read(client: TestClient) -> None:
    document = json.loads(get(client, address("/offers/-1.json")))
    never = ("price_valid_from", "observed_at", "first_seen_at", "last_seen_at", "capture_sha256")
    assert {key: document[key] for key in never} == dict.fromkeys(never)
    assert (document["provider"], document["usd_per_gpu_hour"]) == ("own:Hale", 2.1)
    assert client.get(address("/offers/-2.json")).status_code == 404
    assert client.get(address("/offers/-x.csv")).status_code == 404


# ---------------------------------------------------------------- the page of a card


def test_the_page_of_a_card_shows_a_quote_but_never_as_somebodys_price(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_page, "MOST_ROWS", 2)
    quotes = ["Hale|h100-sxm|0.10", "Vale|h100-sxm|90", "Dale|h200-sxm|0.10"]
    page = LexborHTMLParser(get(client, address("/gpus/h100-sxm", quote=quotes)))
    ids = [row.id for row in page.css("tr[id^=o]")]
    assert (ids[0], ids[-1], len(ids)) == ("o-1", "o-2", 3)
    plain = json.loads(get(client, "/gpus/h100-sxm.json"))
    found = json.loads(get(client, address("/gpus/h100-sxm.json", quote=quotes)))
    offers, over_time = found.pop("offers_href"), found.pop("history_href")
    assert found == {key: value for key, value in plain.items() if key in found}
    assert set(plain) - set(found) == {"offers_href", "history_href"}
    assert "&quote=Hale" in over_time
    assert {"own:Hale", "own:Vale"} <= {row["provider"] for row in json.loads(get(client, offers))["rows"]}
