"""What stands behind a row: what was printed, where, when, what was assumed, and arithmetic that adds up."""

import json
import re

import pytest
from selectolax.lexbor import LexborHTMLParser

from app.domain.offers import PriceBasis
from tests.web import market
from tests.web.conftest import Market, serve
from tests.web.reading import get


def evidence(served: Market, provider: str, sku: str, query: str = "") -> LexborHTMLParser:
    return LexborHTMLParser(get(served.client, f"/offers/{served.ids[provider, sku]}{query}"))


def facts(tree: LexborHTMLParser) -> dict[str, str]:
    """Return the terms and what is said of each, their spaces made one."""
    names = [" ".join(each.text().split()) for each in tree.css("dt")]
    texts = [" ".join(each.text().split()) for each in tree.css("dd")]
    return dict(zip(names, texts, strict=True))


def notes(tree: LexborHTMLParser) -> list[str]:
    return [
        " ".join(each.text().split()) for each in tree.css("section:nth-of-type(2) > ul:first-of-type > li")
    ]


def figures(tree: LexborHTMLParser) -> dict[str, tuple[str, str]]:
    """Return the value of each figure and how it came about, by its name."""
    found = {}
    for row in tree.css(".worked tbody tr"):
        name = row.css_first("th").text(deep=False).strip()
        value, how = row.css("td")
        working = how.css_first(".formula")
        found[name] = (value.text(), (working or how).text().strip())
    return found


def test_what_was_printed_where_and_when(served: Market) -> None:
    tree = evidence(served, "runpod", "h100-pcie secure")
    assert tree.css_first("h1").text() == "RunPod H100 PCIe 80 GB, on demand, secure"
    said = facts(tree)
    assert said["Price"] == "2.89 USD per GPU and hour"
    assert said["Name"] == "H100 PCIe 80 GB (SKU h100-pcie secure)"
    assert said["Terms"] == "on demand, secure, pod, 1 GPU an instance"
    assert said["Place"] == "H100 PCIe 80 GB | 2.89"
    assert said["Source"] == "https://runpod.example/pricing"
    assert said["Read"] == (
        "2026-11-20 06:00 UTC; this price since 2026-11-20 06:00 UTC; "
        "offer first seen 2026-11-02 06:00 UTC, last seen 2026-11-20 06:00 UTC"
    )
    assert said["Bytes"].startswith("sha256 0000")
    link = tree.css_first("dd a[href^='https://runpod.example']")
    assert {"noopener", "noreferrer", "nofollow"} <= set((link.attributes["rel"] or "").split())


def test_the_facts_of_the_card_and_the_other_figure_its_maker_prints(served: Market) -> None:
    said = facts(evidence(served, "runpod", "b200-sxm secure"))
    # NVIDIA prints 8 TB/s for the B200 in one sheet and 7.7 in another.
    assert said["Bandwidth"].startswith("8 TB/s peak; also published: 7.7 TB/s (")
    assert "FP8 4500" in said["Dense rates"]
    assert "https://" in said["Sources"]
    assert "as of 2026-" in said["Sources"]


@pytest.mark.parametrize(
    ("sku", "words"),
    [
        ("floor", ["from written as 'from': the price is at least this"]),
        ("slice", ["slice a slice of a card, not a whole one; kept out of per-card figures"]),
        ("family", ["unknown variant the provider's words do not name a variant we know"]),
        (
            "assumed",
            [
                "Sold as 80 GB only: SXM is assumed.",
                "assumed the page does not name the variant; the row says why this one is assumed",
                "managed a managed service, not a bare machine; compare within the kind",
            ],
        ),
        ("minimum", ["minimum only rented in this many GPUs or more"]),
    ],
)
def test_what_was_assumed_and_what_to_be_warned_of(served: Market, sku: str, words: list[str]) -> None:
    assert notes(evidence(served, "odd", sku)) == words


def test_nothing_assumed_is_said_too(served: Market) -> None:
    tree = evidence(served, "runpod", "h100-sxm secure")
    assert "Nothing: the page names the card and the terms." in tree.body.text()


def test_terms_of_every_kind(served: Market) -> None:
    assert facts(evidence(served, "odd", "minimum"))["Terms"] == (
        "on demand, instance, 8 GPUs an instance, at least 64 GPUs, called cluster there"
    )
    reserved = next(each for each in market.acme() if each.pricing_model == "reserved")
    said = facts(evidence(served, "acme", reserved.sku))
    assert said["Terms"] == "reserved, 91\u2013180 days, instance, 1 GPU an instance, us-east"
    assert said["Memory"]
    assert facts(evidence(served, "odd", "floor"))["Price"].endswith('written as "from": at least this')
    assert facts(evidence(served, "odd", "euro"))["Price"] == "3.10 EUR per GPU and hour"


def test_a_price_that_is_announced_and_one_that_has_begun(served: Market) -> None:
    assert facts(evidence(served, "nebius", "gpu-b200"))["Announced"] == (
        "6.10 USD per GPU and hour from 2026-12-01"
    )
    begun = evidence(served, "nebius", "gpu-h100-sxm")
    assert facts(begun)["Price"] == "3.50 USD per GPU and hour"
    assert "Announced" not in facts(begun)
    assert notes(begun)[0].startswith("announced announced for this date")
    before = evidence(served, "nebius", "gpu-h100-sxm", "?as_of=2026-11-14")
    assert facts(before)["Price"] == "2.95 USD per GPU and hour"
    assert facts(before)["Announced"] == "3.50 USD per GPU and hour from 2026-11-20"


def test_the_article_s_figures_worked_out(served: Market) -> None:
    said = figures(evidence(served, "runpod", "h200-sxm secure", "?baseline=h100-sxm"))
    assert said["Bandwidth price"] == ("1.102", "5.29 $/GPU-h \u00f7 4.8 TB/s = 1.1020833333333333 $/TB/s-h")
    assert said["Ridge point"][0] == "412.3"
    assert said["Decode ceiling"][0] == "68.6"
    assert said["Cost at ceiling"][0] == "21.43"
    assert said["Break-even"][0] == "1.43"
    assert said["Price multiple"] == (
        "1.33",
        "5.29 $/GPU-h \u00f7 3.99 $/GPU-h = 1.3258145363408522 x baseline",
    )


def test_an_unknown_figure_says_why(served: Market) -> None:
    dash = "\N{EN DASH}"
    said = figures(evidence(served, "odd", "stranger"))
    assert said["Bandwidth price"] == (dash, "the variant behind 'Voodoo 2' is not known")
    said = figures(evidence(served, "odd", "euro"))
    assert said["Price"] == (dash, "the price is in EUR and there is no exchange rate")
    said = figures(evidence(served, "acme", f"a100-sxm-80.1.on_demand.{market.REGIONS[0]}"))
    assert said["Compute price"] == (dash, "no dense fp8 rate is published for the A100 SXM 80 GB")


NUMBER_OR_SIGN = re.compile(r"[\u00d7\u00f7()]|(?<![\w/])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w/])")


def worked_out(text: str) -> float:
    """Work out a formula as it is printed: numbers with units, times, over, and one pair of brackets."""
    signs = {"\u00d7": "*", "\u00f7": "/", "(": "(", ")": ")"}
    parts = [signs.get(part, part) for part in NUMBER_OR_SIGN.findall(text)]
    return float(eval("".join(parts)))  # noqa: S307 - digits, dots, brackets, * and / only


def test_every_printed_formula_adds_up_to_what_it_says(served: Market) -> None:
    checked = 0
    for number in served.ids.values():
        address = f"/offers/{number}?baseline=h100-sxm&weights_gb=13.5&precision=bf16"
        answer = served.client.get(address)
        if answer.status_code == 404:  # an offer that is no longer listed
            continue
        for name, (_, how) in figures(LexborHTMLParser(answer.text)).items():
            if " = " in how:
                formula, result = how.split(" = ")
                assert worked_out(formula) == pytest.approx(worked_out(result), rel=1e-12), (name, how)
                checked += 1
    assert checked > 1000


def test_evidence_says_what_the_row_says(served: Market) -> None:
    query = "precision=bf16&weights_gb=13.5&baseline=h100-sxm"
    rows = json.loads(get(served.client, f"/offers.json?{query}"))["rows"]
    for row in rows[::9]:
        said = figures(LexborHTMLParser(get(served.client, f"/offers/{row['offer_id']}?{query}")))
        value, how = said["Bandwidth price"]
        if row["usd_per_tbs_hour"] is None:
            assert how == row["unknown"]["usd_per_tbs_hour"]
        else:
            assert value == f"{row['usd_per_tbs_hour']:.3f}"


def test_the_way_back_keeps_the_day_and_the_figures(served: Market) -> None:
    tree = evidence(served, "oldhost", "X", "?as_of=2026-11-05&weights_gb=13")
    [back] = [each for each in tree.css("main a") if each.text() == "Back to the board"]
    assert back.attributes["href"] == "/?weights_gb=13&as_of=2026-11-05"


def test_a_row_links_to_its_evidence_with_what_its_figures_depend_on(served: Market) -> None:
    tree = LexborHTMLParser(get(served.client, "/?weights_gb=13&baseline=h100-sxm&gpu=h200&page=1&q=runpod"))
    [link] = [each.attributes["href"] for each in tree.css("td.open a")]
    number = served.ids["runpod", "h200-sxm secure"]
    assert link == f"/offers/{number}?weights_gb=13&baseline=h100-sxm"


@pytest.mark.parametrize(
    ("basis", "price", "how"),
    [
        (PriceBasis.GPU_SECOND, "0.001", "0.001 per GPU and second \u00d7 3600 s = 3.6 $/GPU-h"),
        (PriceBasis.GPU_MONTH, "1460", "1460 per GPU and month \u00f7 730 h = 2 $/GPU-h"),
        (PriceBasis.INSTANCE_HOUR, "24", "24 per instance and hour \u00f7 8 GPUs = 3 $/GPU-h"),
        (
            PriceBasis.INSTANCE_TERM,
            "14400",
            "14400 per instance and term \u00f7 720 h \u00f7 8 GPUs = 2.5 $/GPU-h",
        ),
    ],
)
def test_how_a_printed_price_became_a_price_by_the_hour(
    sqlite_database_url: str, basis: PriceBasis, price: str, how: str
) -> None:
    offer = market.offer("acme", "x", "h100-sxm", price, gpu_count=8, price_basis=basis, term_days_max=30)
    market.fill(sqlite_database_url, market=[("acme", market.at(20), [offer])])
    with serve(sqlite_database_url) as client:
        said = figures(LexborHTMLParser(get(client, "/offers/1")))
    assert said["Price"][1] == how
