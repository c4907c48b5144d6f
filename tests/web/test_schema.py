"""Thousands of requests generated from the OpenAPI document, right and wrong: none may break the server."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from app.domain.columns import COLUMNS
from app.domain.query import REPEATED, SINGLE
from app.web.main import create_app
from tests.conftest import RecordProperty
from tests.domain.made import CARDS
from tests.web import market
from tests.web.conftest import settings_for

CASES = 510
"""Requests for each of two addresses and two ways to make them, so more than 2,000 together."""

MOST_SECONDS = 90
"""After this long the rest is not asked; the summary line says how many were."""

# Which names are right depends on the data (a card, a region, a day), and an empty value is the default:
# neither can be said in the document, so a refusal of a valid one and the reverse are no faults here.
EXCLUDED = [negative_data_rejection, positive_data_acceptance]

KNOWN = {
    "gpu": CARDS,
    "baseline": CARDS,
    "provider": ("acme", "runpod", "odd"),
    "region": market.REGIONS,
    "form_factor": ("sxm", "pcie"),
    "as_of": ("2026-11-20", "2026-11-14", "2026-11-01"),
}


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The application's document, with the application behind it on a filled database."""
    url = f"sqlite:///{tmp_path_factory.mktemp('schema') / 'market.db'}"
    market.fill(url)
    application = create_app(settings_for(url), clock=lambda: market.NOW)
    load_all_checks()
    yield schemathesis.openapi.from_asgi("/openapi.json", application)
    application.state.shared.engine.dispose()


@pytest.fixture(scope="module")
def give_up_at() -> float:
    return time.monotonic() + MOST_SECONDS


def with_known_names(case: Any) -> None:
    """Put names of the market in place of made-up ones, so that requests get past the first check."""
    for name, known in KNOWN.items():
        value = (case.query or {}).get(name)
        if isinstance(value, list):
            case.query[name] = [known[len(str(each)) % len(known)] for each in value]
        elif isinstance(value, str) and len(value) % 2:
            case.query[name] = known[len(value) % len(known)]


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("path", ["/offers.csv", "/offers.json", "/compare.json", "/history.json"])
def test_no_generated_request_breaks_the_server(
    schema: Any, path: str, mode: GenerationMode, give_up_at: float, record_property: RecordProperty
) -> None:
    asked: Counter[str] = Counter()

    @given(schema[path]["GET"].as_strategy(generation_mode=mode))
    @settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def ask(case: Any) -> None:
        if time.monotonic() > give_up_at:
            asked["not asked for want of time"] = 1
            return
        if mode is GenerationMode.POSITIVE:
            with_known_names(case)
        response = case.call()
        asked["answered" if response.status_code == 200 else "refused"] += 1
        case.validate_response(response, excluded_checks=EXCLUDED)
        assert response.status_code in {200, 422}

    ask()
    record_property("requests", dict(asked))
    assert asked.total() >= CASES or "not asked for want of time" in asked


def test_the_document_describes_every_parameter_there_is(schema: Any) -> None:
    for path in ("/offers.csv", "/offers.json"):
        operation = schema.raw_schema["paths"][path]["get"]
        described = {parameter["name"]: parameter for parameter in operation["parameters"]}
        assert set(described) == {*REPEATED, *SINGLE, *(f"where.{key}" for key in COLUMNS)}
        assert {name for name, each in described.items() if each["schema"]["type"] == "array"} == set(
            REPEATED
        )
        assert all(each["description"] for each in described.values())
        assert set(operation["responses"]) == {"200", "304", "422", "503"}


def test_the_document_lists_programs_addresses_only(schema: Any) -> None:
    paths, watched = set(schema.raw_schema["paths"]), {"/healthz", "/readyz", "/metrics"}
    assert watched | {"/offers.csv", "/changes.atom", "/figures/bars.json", "/gpus/{variant}.csv"} <= paths
    assert [path for path in paths - watched if "." not in path.rpartition("/")[2]] == []
    assert all(set(methods) == {"get"} for methods in schema.raw_schema["paths"].values())
