"""All that exists in code stands on the page on method: metrics, flags, states, findings, thresholds."""

import ast
import re
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.accelerators import MEMORY_TOLERANCE, PRECISIONS
from app.domain.cadence import MISSED_TO_STALE, Freshness
from app.domain.changes import ROUNDING_PERCENT, ChangeKind
from app.domain.check_words import HOLDING, NOTED
from app.domain.claims import load_claims
from app.domain.compare_query import FEWEST_CARDS, MOST_CARDS
from app.domain.doubts import WHY_MEANINGS, Why
from app.domain.findings import Level
from app.domain.history import SHOWN_AHEAD
from app.domain.metrics import METHODOLOGY_VERSION, METRICS, Nature
from app.domain.offers import HOURS_PER_MONTH, PriceBasis, PricingModel, ServiceKind
from app.domain.pairing import LEAST_CARDS, STANDS_RULE, TERMS_RULE
from app.domain.providers import LIST_PRICE, MARKETPLACE
from app.domain.query import SPECS
from app.domain.rates import LONGEST_USE
from app.domain.rows import FLAG_MEANINGS, Flag
from app.ingest import compare, plausible
from app.settings import Settings
from app.store.records import Outcome, State
from app.web import charts
from tests.web.reading import get, read_csv

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
    assert f"at least {compare.MEDIAN_NEEDS} offers" in HOLDING["median_moved"]
    assert f"{compare.LARGEST_MOVE:.0%}" in HOLDING["median_moved"]
    assert f"{compare.LARGEST_MOVE:.0%}" in HOLDING["market_moved"]
    assert f"More than {compare.MOST_MOVED:.0%}" in HOLDING["most_prices_moved"]
    assert f"at least {compare.FEWEST_MOVED} of them" in HOLDING["most_prices_moved"]
    assert f"{compare.LARGEST_LOSS:.0%}" in HOLDING["offers_gone"]
    assert f"{compare.LARGEST_MARKET_LOSS:.0%}" in HOLDING["offers_gone"]
    assert f"more than {plausible.MOST_FAMILIES} families" in HOLDING["one_price_for_many"]
    assert f"{plausible.ROUND_USD} dollars" in HOLDING["one_price_for_many"]


def enums() -> list[type[StrEnum]]:
    """Return every list of states that code names, wherever it stands: what has words is a StrEnum."""
    found = []
    for path in [*(ROOT / "app").rglob("*.py"), *(ROOT / "scrapers").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            bases = {getattr(base, "id", getattr(base, "attr", "")) for base in getattr(node, "bases", ())}
            if isinstance(node, ast.ClassDef) and "StrEnum" in bases:
                module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
                found.append(getattr(module, node.name))
    return found


REGISTRIES = {
    "metrics": tuple(METRICS),
    "findings that hold": tuple(HOLDING),
    "findings that are noted": tuple(NOTED),
    "claims": tuple(claim.id for claim in load_claims()),
    "published figures": SPECS,
    "lines of a history": tuple(charts.WHAT),
    "kinds of provider": (LIST_PRICE, MARKETPLACE),
    "natures of a figure": get_args(Nature),
    "states of a claim": ("holds", "broken", "unknown"),
    **{f"{each.__module__}.{each.__name__}": tuple(word.value for word in each) for each in enums()},
}


def test_the_states_of_code_are_found_where_they_are() -> None:
    known = (Flag, Freshness, Outcome, State, ChangeKind, PricingModel, ServiceKind, PriceBasis, Level, Why)
    assert set(known) <= set(enums())


@pytest.mark.parametrize("registry", REGISTRIES)
def test_all_that_code_names_stands_on_the_page_and_in_its_twins(client: TestClient, registry: str) -> None:
    names = REGISTRIES[registry]
    assert names
    tree = LexborHTMLParser(get(client, "/methodology"))
    document = client.get("/methodology.json").json()
    told = [each for entries in document.values() if isinstance(entries, list) for each in entries]
    places = {
        "page": {code.text() for code in tree.css("main code")},
        "json": {each.get("key", each.get("id")) for each in told},
        "csv": {line["key"] for line in read_csv(get(client, "/methodology.csv"))},
    }
    assert [(place, name) for place, said in places.items() for name in names if name not in said] == []


def test_every_code_that_a_finding_can_have_stands_on_the_page(client: TestClient) -> None:
    codes = {each.text() for each in LexborHTMLParser(get(client, "/methodology")).css("main code")}
    paths = [*(ROOT / "app" / "ingest").glob("*.py"), *(ROOT / "scrapers").glob("*.py")]
    assert set().union(*(codes_in(path) for path in paths)) - codes == set()


def test_the_rules_hold_the_words_and_numbers_of_the_code_that_applies_them(client: TestClient) -> None:
    text = " ".join(LexborHTMLParser(get(client, "/methodology")).css_first("main").text().split())
    rules = " ".join(each["text"] for each in client.get("/methodology.json").json()["rules"])
    for said in (
        STANDS_RULE,
        TERMS_RULE,
        f"fewer than {LEAST_CARDS} of them",
        f"{FEWEST_CARDS} to {MOST_CARDS} cards",
        f"for {LONGEST_USE.days} days at most",
        f"{MISSED_TO_STALE} readings after the last good run",
        f"{SHOWN_AHEAD.days} days ahead at most",
        f"{ROUNDING_PERCENT}%",
        f"{HOURS_PER_MONTH} hours",
        f"within {MEMORY_TOLERANCE:.0%} of it",
    ):
        assert said in text
        assert said in rules
    assert [name for name in PRECISIONS if name.upper() not in rules] == []
    for meaning in (*WHY_MEANINGS.values(), *FLAG_MEANINGS.values(), *HOLDING.values(), *NOTED.values()):
        assert meaning in text
    # A daily source: twice and seven times a day.
    assert "48 hours" in text
    assert "7 days" in text
    assert f"version {METHODOLOGY_VERSION}" in text


def test_a_metric_stands_there_with_its_formula_source_and_assumptions(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/methodology"))
    document = {each["key"]: each for each in client.get("/methodology.json").json()["metrics"]}
    assert list(document) == list(METRICS)
    for metric in METRICS.values():
        assert {metric.formula, metric.source, metric.assumes} <= {
            dd.text() for dd in tree.css(f"#{metric.key} dd")
        }
        assert document[metric.key]["formula"] == metric.formula


def test_a_claim_stands_there_with_its_conditions_and_leads_to_what_shows_them(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/methodology"))
    text = tree.css_first("section:has(#claims)").text()
    links = [link.attributes["href"] or "" for link in tree.css("section:has(#claims) dd a")]
    claims = load_claims()
    assert [claim.sentence for claim in claims if claim.sentence not in text] == []
    assert len(links) == sum(len(claim.parts) for claim in claims)
    assert {client.get(link).status_code for link in links} == {200}
    # The article's count: "at least 6 of 7".
    assert "at 6 of 7 of the providers that list it and another, at least." in text
    assert "at every provider that lists it and another." in text


def test_every_setting_stands_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    names = [
        "DATABASE_URL" if name == "database_address" else f"INFERPRICE_{name.upper()}"
        for name in Settings.model_fields
    ]
    assert [name for name in names if f"`{name}`" not in readme] == []


def test_the_document_says_the_same(client: TestClient) -> None:
    document = client.get("/methodology.json").json()
    assert document["methodology_version"] == METHODOLOGY_VERSION
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
