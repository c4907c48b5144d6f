"""Links that stand in other people's pages keep working, and those that cannot say what would be right.

Never take an address out of `OLD`: somebody has it in a document.
"""

from urllib.parse import urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.web.old_links import MOVED, MOVED_UNDER

OLD = {
    # As the README and the changelog named them.
    "/?gpu=h100&gpu=h200&pricing=on_demand&weights_gb=140&as_of=2026-10-30": "/",
    "/offers.csv?gpu=h200": "/offers.csv",
    "/compare?gpu=h100-sxm&gpu=h200-sxm&gpu=b200-sxm": "/compare",
    "/changes.atom": "/changes.atom",
    "/?gpu=h100,h200&sort=-usd_per_pflop_hour&columns=provider,accelerator,usd_per_pflop_hour": "/",
    "/?baseline=h100-sxm&precision=bf16&min_gpus=8&max_gpus=64&min_memory_gb=80": "/",
    "/?provider=runpod&service=pod&form_factor=sxm&region=us-east&q=h100&page=1&per_page=100": "/",
    "/history?gpu=h100-sxm&metric=usd_per_tbs_hour&from=2026-11-01&to=2026-11-20": "/history",
    "/changes?provider=runpod&gpu=h100&day=2026-11-15": "/changes",
    "/claims?as_of=2026-11-15": "/claims",
    "/charts/bars?gpu=h100&sort=usd_per_gpu_hour": "/charts/bars",
    "/figures/roofline.json?gpu=h100-sxm": "/figures/roofline.json",
    # A slash at the end.
    "/gpus/": "/gpus",
    "/gpus/h100-sxm/": "/gpus/h100-sxm",
    "/providers/": "/providers",
    "/providers/runpod/": "/providers/runpod",
    "/compare/?gpu=h100-sxm&gpu=h200-sxm": "/compare",
    "/docs/": "/docs",
    # Capitals.
    "/gpus/H100-SXM": "/gpus/h100-sxm",
    "/gpus/H100-SXM.json?precision=bf16": "/gpus/h100-sxm.json",
    "/providers/RunPod": "/providers/runpod",
    "/Compare": "/compare",
    # As one types them.
    "/index.html": "/",
    "/offers?gpu=h100": "/",
    "/offers/": "/",
    "/board": "/",
    "/gpu": "/gpus",
    "/gpu/h100-sxm": "/gpus/h100-sxm",
    "/gpu/H100-SXM": "/gpus/h100-sxm",
    "/provider/runpod": "/providers/runpod",
    "/offer/1": "/offers/1",
    "/charts": "/charts/scatter",
    "/about": "/about-data",
    "/api": "/docs",
    "/feed/": "/changes.atom",
}

WRONG = {
    "/?gpu=h10": (422, "gpu: \u201ch10\u201d is not right.", "did you mean h100"),
    "/?accelerator=h100-sxm": (422, "parameter: \u201caccelerator\u201d is not right.", "gpu"),
    "/?sort=cheapest": (422, "sort: \u201ccheapest\u201d is not right.", "use one of accelerator"),
    "/?as_of=30.10.2026": (422, "as_of: \u201c30.10.2026\u201d is not right.", "YYYY-MM-DD"),
    "/offers?min_gpus=eight": (422, "min_gpus: \u201ceight\u201d is not right.", "a whole number from 1"),
    "/compare?gpu=h100-sxm": (422, "gpu: \u201ch100-sxm\u201d is not right.", "2 to 8 different cards"),
    "/compare?gpu=h100-sxm&gpu=h200-sxm&spec=other": (422, "spec: \u201cother\u201d is not right.", "alt"),
    "/history?metric=usd": (422, "metric: \u201cusd\u201d is not right.", "usd_per_gpu_hour"),
    "/changes?day=2026-13-01": (422, "day: \u201c2026-13-01\u201d is not right.", "YYYY-MM-DD"),
    "/status?provider=runpod": (422, "parameter: \u201cprovider\u201d is not right.", "no parameters"),
    "/gpus/h100": (404, "There is no GPU \u201ch100\u201d.", "/gpus/h100-sxm"),
    "/gpu/h100": (404, "There is no GPU \u201ch100\u201d.", "/gpus/h100-sxm"),
    "/providers/runpad": (404, "There is no provider \u201crunpad\u201d.", "/providers/runpod"),
    "/offers/999999": (404, "There is no offer 999999.", "withdrawn"),
    "/prices/h100": (404, "Not Found.", "There is nothing at /prices/h100."),
}

WRONG_FOR_PROGRAMS = {
    "/offers.json?gpu=h10": (422, "gpu: 'h10' is not right", "did you mean h100"),
    "/charts/bars.csv?sort=cheapest": (422, "sort: 'cheapest' is not right", "use one of accelerator"),
    "/gpus/h100-sxm.json?precision=fp7": (422, "precision: 'fp7' is not right", "fp8"),
    "/claims.csv?day=2026-11-20": (422, "parameter: 'day' is not right", "as_of"),
    "/about-data.json?x=1": (422, "parameter: 'x' is not right", "no parameters"),
    "/gpus/h100.csv": (404, "There is no GPU 'h100'", "h100-sxm"),
    "/provider/runpad.json": (404, "There is no provider 'runpad'", "runpod"),
    "/offers/999999.json?as_of=2026-11-05": (404, "There is no offer 999999 on 2026-11-05", "withdrawn"),
    "/prices.json": (404, "GET /prices.json: Not Found", ""),
}


@pytest.mark.parametrize("address", OLD)
def test_an_old_link_leads_where_it_was_meant_to(client: TestClient, address: str) -> None:
    answer = client.get(address, follow_redirects=True)
    assert answer.status_code == 200
    assert answer.url.path == OLD[address]
    if urlsplit(address).path != OLD[address]:
        assert answer.history
        assert len(answer.history) <= 3
    asked, got = urlsplit(address).query, answer.url.query.decode()
    assert got == asked


def test_every_moved_address_leads_to_a_page_and_has_none_itself(client: TestClient) -> None:
    known = client.get("/docs.json").json()["addresses"]
    for old, new in MOVED.items():
        answer = client.get(old)
        assert (answer.status_code, answer.headers["location"]) == (308, new)
        assert client.get(new).status_code == 200
        assert old not in {each["path"] for each in known}
        assert client.head(old).status_code == 308
        assert client.post(old).status_code == 404
    assert [
        new for new in MOVED_UNDER.values() if not any(each["path"].startswith(new) for each in known)
    ] == []


@pytest.mark.parametrize("address", WRONG)
def test_a_link_that_cannot_be_answered_says_what_would_be_right(client: TestClient, address: str) -> None:
    status, sentence, hint = WRONG[address]
    answer = client.get(address, follow_redirects=True)
    assert answer.status_code == status
    main = LexborHTMLParser(answer.text).css_first("main")
    assert main.css_first("h1").text() == sentence
    said = main.css_first("p").html or ""
    assert hint in said
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("address", WRONG_FOR_PROGRAMS)
def test_a_program_is_told_as_a_problem(client: TestClient, address: str) -> None:
    status, detail, hint = WRONG_FOR_PROGRAMS[address]
    answer = client.get(address, follow_redirects=True)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    problem = answer.json()
    assert problem["status"] == status
    assert detail in problem["detail"]
    assert hint in problem["detail"]
    if status == 422:
        assert {"field", "value", "expected"} <= set(problem)


@pytest.mark.parametrize(
    "address",
    ["//evil.example/gpus/", "/gpu//evil.example", "/gpu/%2f%2fevil.example", "/offers?%0d%0aset-cookie:x=1"],
)
def test_no_link_leads_away_from_here(client: TestClient, address: str) -> None:
    answer = client.get(f"http://testserver{address}")
    place = answer.headers.get("location", "")
    assert "\r" not in place
    assert urlsplit(place).netloc in {"", "testserver"}
    assert "set-cookie" not in answer.headers
