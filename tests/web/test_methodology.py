"""All that exists in code stands on the page on method: metrics, flags, states, findings, thresholds."""

import ast
import re
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.cadence import Freshness
from app.domain.changes import ChangeKind
from app.domain.check_words import HOLDING, NOTED
from app.domain.metrics import METHODOLOGY_VERSION, METRICS
from app.domain.offers import PriceBasis, PricingModel, ServiceKind
from app.domain.rows import Flag
from app.ingest import compare
from app.store.records import Outcome, State
from tests.web.reading import get

ROOT = Path(__file__).parent.parent.parent
CODE = re.compile(r"[a-z]+(_[a-z]+)*")
MAKERS = {"hold", "about", "Finding", "finding", "_hold"}


def codes_in(path: Path) -> set[str]:
    """Return the codes that a module's findings are made with, as far as they stand there as words."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        given = [word.value for word in node.keywords if word.arg == "code"]
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        given += node.args[:2] if name in MAKERS else []
        texts = [each.value for each in given if isinstance(each, ast.Constant)]
        found |= {text for text in texts if isinstance(text, str) and CODE.fullmatch(text)}
    return found


def test_every_finding_that_code_can_make_has_its_sentence() -> None:
    paths = [*(ROOT / "app" / "ingest").glob("*.py"), *(ROOT / "scrapers").glob("*.py")]
    found = set().union(*(codes_in(path) for path in paths))
    assert len(found) > 40
    assert found - {*HOLDING, *NOTED} == set()
    # Two are made from the pricing model's own word.
    assert {*HOLDING, *NOTED} - found == {"spot_above_on_demand", "reserved_above_on_demand"}


def test_thresholds_are_those_of_the_checks() -> None:
    assert f"{compare.LARGEST_MOVE:.0%}" in HOLDING["price_moved"]
    assert f"{compare.LARGEST_MOVE:.0%}" in HOLDING["median_moved"]
    assert f"{compare.MOST_MOVED:.0%}" in HOLDING["most_prices_moved"]
    assert f"{compare.LARGEST_LOSS:.0%}" in HOLDING["offers_gone"]
    assert f"{compare.LARGEST_MARKET_LOSS:.0%}" in HOLDING["offers_gone"]


def test_every_metric_flag_and_state_stands_on_the_page(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/methodology"))
    codes = {each.text() for each in tree.css("code")}
    enums = (Flag, Freshness, Outcome, State, ChangeKind, PricingModel, ServiceKind, PriceBasis)
    assert {*METRICS, *HOLDING, *NOTED} | {word.value for enum in enums for word in enum} <= codes
    text = tree.css_first("main").text()
    assert f"version {METHODOLOGY_VERSION}" in text
    for metric in METRICS.values():
        assert {metric.formula, metric.source, metric.assumes} <= {
            dd.text() for dd in tree.css(f"#{metric.key} dd")
        }
    assert "48 hours" in text


def test_the_document_says_the_same(client: TestClient) -> None:
    document = client.get("/methodology.json").json()
    assert document["methodology_version"] == METHODOLOGY_VERSION
    assert [each["key"] for each in document["metrics"]] == list(METRICS)
    assert {each["key"] for each in document["holding"]} == set(HOLDING)


@pytest.mark.parametrize("path", ["/methodology", "/about-data"])
def test_a_parameter_is_refused_and_nothing_comes_twice(client: TestClient, path: str) -> None:
    assert client.get(f"{path}?x=1").status_code == 422
    tag = client.get(path).headers["etag"]
    assert client.get(path, headers={"if-none-match": tag}).status_code == 304


def test_the_page_about_data_leads_to_every_download(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/about-data"))
    links = [link.attributes["href"] or "" for link in tree.css("main a")]
    own = [link for link in links if link.startswith("/")]
    wanted = {"/offers.csv", "/offers.json", "/gpus.csv", "/gpus.json", "/changes.json", "/changes.atom"}
    assert wanted | {"/status.json", "/methodology.json", "/openapi.json"} <= set(own)
    assert {client.get(link).status_code for link in own} == {200}
    text = tree.css_first("main").text()
    assert {
        word for word in ("Apache-2.0", "CC BY 4.0", "European Central Bank") if word not in text
    } == set()
