"""The tool on cold prefix caches against the case that its operator timed, and sums done by hand."""

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

PATH = "/tools/prefix-cache"


def test_the_timed_case(tools: TestClient) -> None:
    # 4.65 s and 1.23 s are the operator's; 4.65 / 1.23 = 3.7805.
    found = tools.get(f"{PATH}.json?cold_s=4.65&warm_s=1.23").json()["found"]
    assert found["times"] == pytest.approx(3.7805, abs=1e-4)
    page = LexborHTMLParser(tools.get(f"{PATH}?cold_s=4.65&warm_s=1.23").text)
    assert page.css_first("#found h2").text() == "A cold first token takes 3.78 times as long"
    cells = [[cell.text() for cell in row.css("th, td")][:5] for row in page.css("#found tbody tr")]
    # Two instances, ten requests: in turn 2 are cold, by chance 2 (1 - 1/2^10) = 1.998, pinned 1.
    # Means: 1.23 + 3.42 x 2/10 = 1.914; pinned 1.23 + 3.42/10 = 1.572; in turn waits 3.42 s more than that.
    assert cells == [
        ["round robin", "2.00", "20.0", "1.91", "3.42"],
        ["least busy", "2.00", "20.0", "1.91", "3.41"],
        ["session pinning", "1.00", "10.0", "1.57", "0.00"],
    ]


def test_without_figures_it_shows_that_case(tools: TestClient) -> None:
    bare = tools.get(PATH)
    assert "3.78 times" in bare.text
    assert bare.headers["etag"]


def test_a_context_is_worked_out(tools: TestClient) -> None:
    # 32,000 / 8,000 = 4 s, and 0.2 s; warm 4 x 0.05 + 0.2 = 0.4 s.
    query = (
        "context_tokens=32,000&prefill_tokens_per_s=8,000&hit_share=0.95&rest_s=0.2&keeps=last&instances=4"
    )
    found = tools.get(f"{PATH}.json?{query}").json()["found"]
    assert (found["cold_s"], found["warm_s"]) == (pytest.approx(4.2), pytest.approx(0.4))
    shares = {each["routing"]: each["cold_share"] for each in found["routings"]}
    # Only the last one keeps it: in turn all are cold, by chance 1 + 9 x 3/4 = 7.75 of 10.
    assert shares == {"round_robin": 1, "least_busy": pytest.approx(0.775), "session_pinning": 0.1}
    command = LexborHTMLParser(tools.get(f"{PATH}?{query}").text).css_first("pre.command").text()
    assert command == (
        "inferprice check prefix-cache --context 32,000 --prefill 8,000 --hit-share 0.95 --rest-s 0.2"
        " --instances 4 --keeps last"
    )


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("cold_s=1&warm_s=2", "warm_s"),
        ("cold_s=1", "warm_s"),
        ("context_tokens=32000&prefill_tokens_per_s=8000", "rest_s"),
        ("context_tokens=5", "prefill_tokens_per_s"),
        ("hit_share=0.5", "context_tokens"),
        ("cold_s=2&warm_s=1&rest_s=1", "rest_s"),
        ("cold_s=NaN&warm_s=1", "cold_s"),
        ("cold_s=-4&warm_s=-5", "cold_s"),
        ("instances=0", "instances"),
        ("instances=10001", "instances"),
        ("requests=9223372036854775808", "requests"),
        ("context_tokens=1&prefill_tokens_per_s=1&hit_share=1.5", "hit_share"),
    ],
)
def test_a_wrong_figure_is_marked_and_nothing_is_lost(tools: TestClient, query: str, wrong: str) -> None:
    answer = tools.get(f"{PATH}?{query}")
    assert answer.status_code == 422
    tree = LexborHTMLParser(answer.text)
    assert [each.attributes["id"] for each in tree.css("[aria-invalid]")] == [wrong]
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        assert tree.css_first(f"#{name}").attributes["value"] == value
    problem = tools.get(f"{PATH}.json?{query}")
    assert (problem.status_code, problem.json()["field"]) == (422, wrong)


def test_milliseconds_are_not_rounded_to_none(tools: TestClient) -> None:
    # 3 ms cold, 1 ms warm: in turn on two instances 1 + 2 x 2/10 = 1.4 ms, pinned 1.2 ms, 2 ms waited more.
    page = LexborHTMLParser(tools.get(f"{PATH}?cold_s=0.003&warm_s=0.001").text)
    cells = [[cell.text() for cell in row.css("th, td")][:5] for row in page.css("#found tbody tr")]
    assert cells[0] == ["round robin", "2.00", "20.0", "0.0014", "0.002"]
    assert cells[2] == ["session pinning", "1.00", "10.0", "0.0012", "0.00"]
    # 1 of 10,000 requests is 0.01 %.
    many = LexborHTMLParser(tools.get(f"{PATH}?requests=10000").text)
    assert many.css("#found tbody tr")[2].css("td")[1].text() == "0.01"
