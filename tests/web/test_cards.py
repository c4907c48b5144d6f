"""A link to a page shows the page's own figures where it is pasted (OpenGraph), under this site's address."""

import re
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

import pytest
from fastapi import FastAPI
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from tests.web.conftest import Market
from tests.web.reading import get
from tests.web.test_twins import examples, page_paths, twin_of


def card(html: str) -> Mapping[str, str]:
    """Return what a page says of itself to who shows a link to it; each is said once."""
    found = [
        (node.attributes.get("property") or node.attributes.get("name") or "", node.attributes["content"])
        for node in LexborHTMLParser(html).css("head meta[content]")
    ]
    named = [(name, text or "") for name, text in found if re.match("og:|twitter:|description", name)]
    assert len(dict(named)) == len(named)
    return dict(named)


def test_every_page_says_what_it_is(served: Market) -> None:
    for address in examples(served).values():
        html = get(served.client, address)
        said = card(html)
        tree = LexborHTMLParser(html)
        assert said["og:site_name"] == "InferPrice"
        assert said["og:type"] == "website"
        assert said["twitter:card"] == "summary"
        assert said["og:title"] == tree.css_first("title").text()
        assert said["og:description"] == said["description"]
        assert len(said["description"]) > 30, address
        canonical = tree.css('link[rel="canonical"]')
        assert len(canonical) == 1, address
        place = canonical[0].attributes["href"] or ""
        assert place.startswith("/"), address
        assert said["og:url"] == f"http://testserver{place}", address


@pytest.mark.parametrize(
    "address", ["/?gpu=h200-sxm&page=2", "/quote?gpu=h100", "/llms/config", "/tools/cors"]
)
def test_pages_beside_the_plain_ones_name_their_address_too(client: TestClient, address: str) -> None:
    html = get(client, address)
    place = LexborHTMLParser(html).css_first('link[rel="canonical"]').attributes["href"]
    assert place == (address if address.startswith("/?") else address.partition("?")[0])
    assert card(html)["og:url"] == f"http://testserver{place}"


def test_a_readers_own_figures_stand_in_no_address_of_the_forms(client: TestClient) -> None:
    said = card(get(client, "/quote?quote=Hale%7Ch100-sxm%7C2.1"))
    assert "Hale" not in " ".join(said.values())


MARKER = "Zqhale"
OWN = urlencode(
    [
        ("quote", f"{MARKER}|h100-sxm|2.77|8x"),
        ("quote", f"{MARKER} Two|h200-sxm|2.79"),
        ("own", f"{MARKER} Rig|b200-sxm|41234|4|1200|0.12|60%"),
    ]
)
MEASURED = urlencode({"measured": f"41.57|h100-sxm|mxfp4|1|1|4096|bf16|{MARKER}"})
LLM = "/llms/openai/gpt-oss-20b"
WITH_OWN = {
    f"/?gpu=h100-sxm&gpu=h200-sxm&{OWN}": "/?gpu=h100-sxm&gpu=h200-sxm",
    f"/?{OWN}": "/",
    f"/?{OWN}&q={MARKER[:2]}&page=1": f"/?q={MARKER[:2]}",
    f"/compare?gpu=h100-sxm&gpu=h200-sxm&{OWN}": "/compare?gpu=h100-sxm&gpu=h200-sxm",
    f"/charts/bars?sort=usd_per_gpu_hour&{OWN}": "/charts/bars?sort=usd_per_gpu_hour",
    f"/charts/scatter?{OWN}": "/charts/scatter",
    f"/history?gpu=h100-sxm&{OWN}&provider=runpod": "/history?gpu=h100-sxm&provider=runpod",
    f"/gpus/h100-sxm?{OWN}&precision=bf16": "/gpus/h100-sxm?precision=bf16",
    f"/offers/1?{OWN}": "/offers/1",
    f"/offers/-1?{OWN}": "",
    f"/offers/-3?{OWN}&as_of=2026-11-14": "",
    f"/quote?{OWN}": "/quote",
    f"/quote?quote_name={MARKER}&quote_usd_per_gpu_hour=2.77": "",
    f"{LLM}?format=mxfp4&{OWN}&{MEASURED}": f"{LLM}?format=mxfp4",
    f"{LLM}?{MEASURED}": LLM,
    f"{LLM}/offers/1?{OWN}&{MEASURED}&context=4096": f"{LLM}/offers/1?context=4096",
    f"{LLM}/offers/-1?{OWN}&{MEASURED}": "",
    f"/measured?llm=openai%2Fgpt-oss-20b&{MEASURED}": "/measured?llm=openai/gpt-oss-20b",
    f"/?quote={MARKER}": "",
    f"/measured?measured={MARKER}": "",
}
"""Pages asked with a reader's own figures, and the address that each gives of itself; empty for none."""


def test_the_pages_asked_with_own_figures_are_all_that_take_them(client: TestClient) -> None:
    application = client.app
    assert isinstance(application, FastAPI)
    described = application.openapi()["paths"]
    taking = set()
    for path in page_paths(client):
        known = described[twin_of(path, "json")]["get"].get("parameters", [])
        if {each["name"] for each in known} & {"quote", "own", "measured"}:
            taking.add(re.sub(r"\{\w+\}", ".+", path.replace("{offer_id}", "-?[0-9]+")))
    asked = {urlsplit(address).path for address in WITH_OWN}
    assert [each for each in taking if not any(re.fullmatch(each, path) for path in asked)] == []
    assert len(taking) >= 9


@pytest.mark.parametrize(("address", "place"), WITH_OWN.items())
def test_what_a_reader_typed_as_their_own_stands_in_no_card(
    client: TestClient, address: str, place: str
) -> None:
    answer = client.get(address)
    assert answer.status_code in {200, 422}
    tree = LexborHTMLParser(answer.text)
    canonical = [link.attributes["href"] for link in tree.css('link[rel="canonical"]')]
    said = card(answer.text)
    if answer.status_code == 200 or place:
        assert canonical == ([place] if place else [])
        assert said.get("og:url") == (f"http://testserver{place}" if place else None)
    told = " ".join([*said.values(), *map(str, canonical)])
    for typed in (MARKER, "2.77", "2.79", "41234", "41,234", "41.57", "quote=", "own=", "measured="):
        assert typed not in told
    assert said["og:title"].endswith(" - InferPrice")
    assert len(said["og:description"]) > 30


def test_every_page_shows_the_same_small_picture(served: Market) -> None:
    named = set()
    for address in (*examples(served).values(), "/?gpu=h200", "/quote", "/llms/config"):
        said = card(get(served.client, address))
        named.add(said["og:image"])
        assert said["og:image:alt"].startswith("The board")
    (picture,) = named
    assert picture.startswith("http://testserver/static/card.png?v=")
    answer = served.client.get(picture.removeprefix("http://testserver"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert len(answer.content) <= 100_000
    # Width and height stand in the first chunk of a PNG, four bytes each (ISO/IEC 15948, 11.2.2).
    assert answer.content[:8] == b"\x89PNG\r\n\x1a\n"
    size = [int.from_bytes(answer.content[at : at + 4]) for at in (16, 20)]
    assert size == [int(said[f"og:image:{side}"]) for side in ("width", "height")]


def test_a_page_that_is_not_there_has_no_address_to_show(client: TestClient) -> None:
    for address in ("/nothing", "/?gpu=x"):
        assert not {"og:url", "og:image"} & set(card(client.get(address).text))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        # Counted in the market by hand: of acme six cards in six regions and two sizes, and four ways more in
        # one region, so 16 a card; six of runpod, ten of odd, two of nebius, one each of oldhost and ancient.
        # 4.29 over the 4.8 TB/s of NVIDIA's data sheet.
        (
            "/gpus/h200-sxm",
            "H200 SXM 141 GB from $4.29/GPU-h at acme; $0.89 per TB/s-hour; 18 offers as of 2026-11-20",
        ),
        (
            "/?gpu=h200-sxm",
            "18 of 116 GPU offers read between 2026-11-02 00:00 UTC and 2026-11-20 06:00 UTC, ",
        ),
        ("/gpus/h20-96", "H20 96 GB: 0 offers as of 2026-11-20"),
        ("/providers/runpod", "RunPod: 6 offers of 4 cards, fresh, read well 2026-11-20 06:00 UTC."),
        ("/history?gpu=h100-sxm", "H100 SXM 80 GB: "),
        ("/claims", " of 4 claims hold on 2026-11-20. "),
        ("/compare", "H100 SXM, H200 SXM and B200 SXM by $/TB/s-h at the same provider. "),
        ("/providers", "sources of GPU prices"),
        ("/changes?provider=oldhost&day=2026-11-15", "2026-11-15: "),
    ],
)
def test_a_page_says_its_own_figures(client: TestClient, address: str, said: str) -> None:
    assert said in card(get(client, address))["og:description"]


def test_the_figures_are_those_that_the_page_shows(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/compare"))
    counts = [line.text() for line in tree.css("ul.verdicts li")]
    assert counts
    said = card(get(client, "/compare"))["og:description"]
    assert [sentence for sentence in counts if sentence not in said] == []
    claims = LexborHTMLParser(get(client, "/claims"))
    said = card(get(client, "/claims"))["og:description"]
    assert claims.css_first("p.summary strong").text() in said
    for claim in claims.css("article.claim"):
        assert f"{claim.css_first('h2').text()}: {claim.css_first('.stands').text()}" in said
    history = LexborHTMLParser(get(client, "/history?gpu=h100-sxm"))
    said = card(get(client, "/history?gpu=h100-sxm"))["og:description"]
    assert history.css_first("p.summary strong").text() in said


def test_each_address_of_the_site_gets_its_own_links(client: TestClient) -> None:
    for path in (
        "/",
        "/?gpu=h200",
        "/gpus",
        "/compare",
        "/changes",
        "/claims",
        "/status",
        "/gpus/h100-sxm",
        "/charts/bars",
        "/docs",
    ):
        for host in ("a.example", "b.example", "a.example"):
            html = client.get(path, headers={"host": host}).text
            assert card(html)["og:url"] == f"http://{host}{path}"


def test_a_host_header_cannot_write_into_the_head(client: TestClient) -> None:
    for path in ("/", "/gpus", "/compare", "/status", "/changes"):
        html = client.get(path, headers={"host": 'evil"><script>alert(1)</script>'}).text
        assert "<script>alert" not in html
