"""Readiness says why not; the figures pass Prometheus' own parser and are those of the runs and requests."""

from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text
from starlette.testclient import TestClient

from app.store.session import make_engine, writing
from app.web import boards
from app.web.main import create_app
from tests.web import market
from tests.web.conftest import serve, settings_for
from tests.web.test_outage import away
from tests.web.test_status import client as status_client

Sample = tuple[str, frozenset[tuple[str, str]]]

client = status_client
"""The sources of the status page, with one of every kind."""


def figures(client: TestClient) -> dict[Sample, float]:
    """Read the figures with Prometheus' own parser."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = list(text_string_to_metric_families(answer.text))
    assert all(family.name.startswith("inferprice_") and family.documentation for family in families)
    assert len({family.name for family in families}) == len(families)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def of(found: dict[Sample, float], name: str, **labels: str) -> float | None:
    return found.get((f"inferprice_{name}", frozenset(labels.items())))


def test_the_figures_of_the_sources_are_those_of_their_runs(client: TestClient) -> None:
    found = figures(client)
    assert of(found, "database_up") == 1
    assert of(found, "source_age_seconds", source="nebius") == 6 * 3600
    assert of(found, "source_age_seconds", source="coreweave") == 20 * 86400
    # A source that was never read has no age, which is not an age of nothing.
    assert of(found, "source_age_seconds", source="fireworks") is None
    assert of(found, "source_enabled", source="vast") == 1
    assert of(found, "source_enabled", source="baseten") == 0
    assert of(found, "offers", provider="modal") == 3
    assert of(found, "offers", provider="fireworks") == 0
    assert of(found, "findings", source="lambda", level="hold") == 1
    assert of(found, "findings", source="lambda", level="warning") == 1
    assert of(found, "findings", source="lambda", level="info") == 0
    assert of(found, "held_runs") == 1
    assert of(found, "runs_total", source="lambda", outcome="quarantined") == 1
    assert of(found, "runs_total", source="lambda", outcome="published") == 1
    assert of(found, "runs_total", source="inferprice", outcome="published") == 1
    assert of(found, "runs_total", source="coreweave", outcome="failed") == 1


def test_requests_are_counted_by_route_and_status(client: TestClient) -> None:
    asked = ["/", "/?gpu=h100", "/?gpu=nothing", "/offers/1", "/offers/2", "/offers/999", "/static/site.css"]
    asked += ["/static/none.css", "/nothing", "/nothing/else", "/offers.csv", "/healthz"]
    for address in asked:
        client.get(address)
    client.head("/healthz")
    client.post("/")
    found = figures(client)
    name = "http_request_seconds"
    counts = {
        tuple(sorted(dict(labels).values())): value
        for (sample, labels), value in found.items()
        if sample == f"inferprice_{name}_count"
    }
    assert counts == {
        ("/", "200"): 2,
        ("/", "405"): 1,
        ("/", "422"): 1,
        ("/offers/{offer_id}", "200"): 2,
        ("/offers/{offer_id}", "404"): 1,
        ("/static", "200"): 1,
        ("/static", "404"): 1,
        ("404", "other"): 2,
        ("/offers.csv", "200"): 1,
        ("/healthz", "200"): 2,
    }
    everything = of(found, f"{name}_bucket", route="/", status="200", le="+Inf")
    assert everything == of(found, f"{name}_count", route="/", status="200")
    assert (of(found, f"{name}_sum", route="/", status="200") or 0) > 0


def test_the_times_grow_from_bucket_to_bucket(client: TestClient) -> None:
    for _ in range(20):
        client.get("/healthz")
    found = figures(client)
    bounds = sorted(
        (float(dict(labels)["le"]), value)
        for (sample, labels), value in found.items()
        if sample.endswith("seconds_bucket") and dict(labels)["route"] == "/healthz"
    )
    assert [value for _, value in bounds] == sorted(value for _, value in bounds)
    assert bounds[-1] == (float("inf"), 20)


def test_a_fault_is_counted_as_a_500(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    market.fill(database_url)
    application = create_app(settings_for(database_url), clock=lambda: market.NOW)
    with TestClient(application, raise_server_exceptions=False) as made:
        with monkeypatch.context() as patched:
            patched.setattr("app.web.status_page.load_status", lambda _shared: 1 / 0)
            assert made.get("/status").status_code == 500
        assert of(figures(made), "http_request_seconds_count", route="/status", status="500") == 1


@pytest.fixture
def asking(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """An application that asks its database at every request."""
    monkeypatch.setattr(boards, "CHECK_EVERY_S", -1.0)
    market.fill(database_url)
    with serve(database_url) as served:
        yield served


def test_a_process_is_ready_while_its_database_is_there(asking: TestClient, database_url: str) -> None:
    ready = asking.get("/readyz")
    assert (ready.status_code, ready.text) == (200, "ready\n")
    assert ready.headers["cache-control"] == "no-store"
    asking.get("/")
    with away(asking, database_url):
        answer = asking.get("/readyz")
        assert (answer.status_code, answer.text) == (503, "not ready: the database cannot be read\n")
        assert asking.get("/healthz").status_code == 200
        found = figures(asking)
        assert of(found, "database_up") == 0
        assert of(found, "held_runs") is None
        assert of(found, "http_request_seconds_count", route="/readyz", status="503") == 1
        for address in ("/status", "/changes", "/status.json", "/changes.json", "/changes.atom"):
            assert asking.get(address).status_code == 503, address
    assert asking.get("/readyz").status_code == 200
    assert asking.get("/changes").status_code == 200


def test_a_database_of_another_version_is_not_ready(asking: TestClient, database_url: str) -> None:
    engine = make_engine(database_url)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '2026_11_29_create_offers'"))
    engine.dispose()
    answer = asking.get("/readyz")
    assert answer.status_code == 503
    assert answer.text.startswith(
        "not ready: The database is at revision 2026_11_29_create_offers, this program needs"
    )


def test_head_is_answered_as_get_is(client: TestClient) -> None:
    for address in (
        "/readyz",
        "/metrics",
        "/status",
        "/status.json",
        "/changes",
        "/changes.json",
        "/changes.atom",
    ):
        answer = client.head(address)
        assert (answer.status_code, answer.content) == (200, b""), address
