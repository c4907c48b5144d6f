"""The site map, robots.txt and llms.txt name what there is: pages, cards, providers, addresses, figures."""

import re
from collections.abc import Mapping
from xml.etree import ElementTree as ET

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.domain.accelerators import load_catalogue
from app.domain.metrics import METRICS
from app.web.about_page import ATTRIBUTION
from app.web.methodology_page import RULES
from app.web.parameters import PARAMETERS
from scrapers import SCRAPERS
from tests.web.reading import get
from tests.web.test_twins import page_paths

BASE = "http://testserver/"
NAMES = {"map": "http://www.sitemaps.org/schemas/sitemap/0.9"}
LINK = re.compile(r"- \[([^\]]+)\]\(([^)\s]+)\): .+\.")


def places(client: TestClient) -> Mapping[str, str]:
    """Return what the site map names, each with its last change or nothing."""
    root = ET.fromstring(get(client, "/sitemap.xml"))  # noqa: S314 - our own document
    assert root.tag == f"{{{NAMES['map']}}}urlset"
    return {
        each.findtext("map:loc", "", NAMES): each.findtext("map:lastmod", "", NAMES)
        for each in root.findall("map:url", NAMES)
    }


def test_the_site_map_names_every_page_card_and_provider_and_each_is_there(client: TestClient) -> None:
    found = places(client)
    pages = [path for path in page_paths(client) if "{" not in path]
    cards = [f"/gpus/{card.id}" for card in load_catalogue().accelerators]
    listed = [each["provider"] for each in client.get("/providers.json").json()["providers"]]
    providers = [f"/providers/{each}" for each in listed]
    models = [f"/llms/{each['id']}" for each in client.get("/llms.json").json()["models"]]
    named = (*pages, *cards, *providers, *models)
    assert set(found) == {BASE + path.removeprefix("/") for path in named}
    assert set(SCRAPERS) <= set(listed)
    many = ("/gpus/", "/llms/")
    some = [
        place
        for number, place in enumerate(found)
        if number % 15 == 0 or not any(each in place for each in many)
    ]
    assert {place: client.get(place).status_code for place in some} == dict.fromkeys(some, 200)


def test_a_change_has_its_time_where_it_is_known(client: TestClient) -> None:
    found = places(client)
    # From the market: the last runs of all, of oldhost, and of ancient, which alone is never read again.
    assert found[BASE] == "2026-11-20T06:00:00Z"
    assert found[f"{BASE}gpus/h200-sxm"] == "2026-11-20T06:00:00Z"
    assert found[f"{BASE}providers/oldhost"] == "2026-11-15T06:00:00Z"
    assert found[f"{BASE}providers/ancient"] == "2026-11-02T00:00:00Z"
    unlisted = load_catalogue().by_id["h20-96"]
    assert found[f"{BASE}gpus/h20-96"] == unlisted.as_of.isoformat()
    assert found[f"{BASE}docs"] == ""


def test_robots_txt_lets_everybody_read_and_names_the_site_map(client: TestClient) -> None:
    answer = client.get("/robots.txt", headers={"host": "prices.example"})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.splitlines() == [
        "User-agent: *",
        "Allow: /",
        "Sitemap: http://prices.example/sitemap.xml",
    ]
    assert "http://prices.example/gpus/h100-sxm<" in get_at(client, "/sitemap.xml", "prices.example")
    assert "http://other.example/gpus/h100-sxm<" in get_at(client, "/sitemap.xml", "other.example")


def get_at(client: TestClient, path: str, host: str) -> str:
    return client.get(path, headers={"host": host}).text


def test_the_summary_for_language_models_has_the_form_of_llmstxt_org(client: TestClient) -> None:
    # https://llmstxt.org: a title, a block quote, text without headings, then sections of links.
    answer = client.get("/llms.txt")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    lines = answer.text.splitlines()
    assert lines[0] == "# InferPrice"
    assert lines[2].startswith("> ")
    headings = [line for line in lines if line.startswith("#")]
    assert headings == ["# InferPrice", "## Downloads", "## Addresses for programs", "## Optional"]
    links = lines[lines.index("## Downloads") :]
    assert [line for line in links if line and not line.startswith("## ") and not LINK.fullmatch(line)] == []


def test_the_summary_holds_all_that_is_in_code(client: TestClient) -> None:
    text = get(client, "/llms.txt")
    application = client.app
    assert isinstance(application, FastAPI)
    links, board = dict(LINK.findall(text)), {each["name"] for each in PARAMETERS}
    for path, methods in application.openapi()["paths"].items():
        (line,) = [each for each in text.splitlines() if each.startswith(f"- [{path}](")]
        names = {each["name"] for each in methods["get"].get("parameters", ())}
        said = line.partition("Parameters: ")[2]
        assert ("those of the board" in said) == (board <= names)
        assert set(re.findall(r"`([^`]+)`", said)) == (names - board if board <= names else names)
        assert links[path] == BASE + path.removeprefix("/")
    for metric in METRICS.values():
        assert f"- `{metric.key}` in {metric.unit}: {metric.formula}" in text
    assert [rule.name for rule in RULES if f"- {rule.name}: {rule.text}" not in text] == []
    assert [each["name"] for each in PARAMETERS if f"- `{each['name']}`" not in text] == []
    assert [each for each in ATTRIBUTION if each not in text] == []
    # A roofline is of a variant that has to be named, and dumps are there when a day has been written.
    some = [place for place in links.values() if not re.search(r"\{|roofline|/dumps/", place)]
    assert {place: client.get(place).status_code for place in some} == dict.fromkeys(some, 200)


@pytest.mark.parametrize("path", ["/llms.txt", "/robots.txt", "/sitemap.xml"])
def test_a_file_is_not_sent_twice_and_takes_no_parameter(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert client.get(path, headers={"if-none-match": answer.headers["etag"]}).status_code == 304
    assert client.head(path).status_code == 200
    assert client.get(f"{path}?x=1").status_code == 422
