"""A form that is sent as it came asks what the link asked, whatever that was: no form loses a part of it."""

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from fastapi import FastAPI
from selectolax.lexbor import LexborHTMLParser, LexborNode
from starlette.testclient import TestClient

from app.domain.columns import COLUMNS
from app.domain.metrics import Metric
from app.domain.rates import Rate
from app.store.rates import keep_rates
from app.store.session import make_engine, writing
from app.web.tools.registry import TOOLS
from app.web.tools.tool import Tool
from tests.databases import empty_sqlite
from tests.web import market
from tests.web.conftest import serve
from tests.web.form_controls import Pairs, controls, send
from tests.web.reading import get
from tests.web.test_twins import page_paths, twin_of

LLM = "openai/gpt-oss-20b"
QUOTES = [("quote", "Hale|h100-sxm|2.1"), ("quote", "Hale & Co|b200-sxm|6.5|reserved 8x 365d")]
OWN = [("own", "Rig|h200-sxm|40000|4|1200|0.12|0.6"), ("own", "Rig 2|b200-sxm|60000|5|1500|0.1|0.5")]
DAY = ("as_of", "2026-10-01")
"""Before the first price: what is chosen shows though the board has none of it."""
MEASURED = [("measured", "41.5|h200-sxm|mxfp4||1|4096"), ("measured", "60|b200-sxm|mxfp4|2|8|2048|bf16|b")]


def conditions() -> Pairs:
    """Return a condition on every column, whether it is shown or not."""
    return [
        (f"where.{key}", ">=0" if isinstance(column, Metric) or column.numeric else "!no such word")
        for key, column in COLUMNS.items()
    ]


BOARD = [
    *(("gpu", "h100-sxm"), ("gpu", "b200"), ("provider", "acme"), ("provider", "oldhost")),
    *(("pricing", "spot"), ("pricing", "reserved"), ("service", "pod"), ("service", "instance")),
    *(("form_factor", "sxm"), ("form_factor", "pcie")),
    *(("region", "eu, north"), ("region", "50% off+zone")),
    *(("min_gpus", "1"), ("max_gpus", "64"), ("min_memory_gb", "0.5")),
    *conditions(),
    *(("precision", "bf16"), ("weights_gb", "140.5"), ("baseline", "h200-sxm"), DAY, ("spec", "alt")),
    *(("period", "month"), ("per", "instance"), ("currency", "EUR")),
    *(("sort", "-tdp_w"), ("sort", "region"), ("columns", "tdp_w"), ("columns", "provider")),
    *(("density", "compact"), *QUOTES, *OWN, ("q", "h100 & more"), ("per_page", "50")),
]
COMPARE = [
    *(("gpu", "h200-sxm"), ("gpu", "b200-sxm"), ("pricing", "spot"), ("pricing", "reserved")),
    *(("service", "pod"), ("service", "instance"), ("precision", "bf16"), ("weights_gb", "140.5")),
    *(("baseline", "b200-sxm"), DAY, ("spec", "alt"), *QUOTES, *OWN, ("metric", "usd_per_gb_hour")),
]
HISTORY = [
    *(("gpu", "b200-sxm"), ("metric", "usd_per_tbs_hour"), ("provider", "runpod"), ("provider", "acme")),
    *(("service", "pod"), ("service", "marketplace"), ("precision", "bf16"), ("weights_gb", "140.5")),
    *(("pricing", "spot"), ("from", "2026-11-03"), ("to", "2026-11-14"), ("spec", "alt"), *QUOTES, *OWN),
]
COST = [
    *(("format", "mxfp4"), ("kv", "fp8"), ("context", "4096"), ("batch", "1,64"), ("cards", "2,8")),
    *(("utilisation", "0.5"), ("engine", "tensorrt-llm"), ("memory_share", "0.8"), ("overhead_gb", "2.5")),
    *(("attention", "data"), ("weights_gb", "12.5"), ("api", "0.4"), ("ratio", "2.5")),
    *(("draft_depth", "3"), ("draft_tokens", "2.5"), ("draft_counts", "with_bonus"), ("draft_share", "0.1")),
    *(("host_experts_share", "0.5"), ("host_gb_s", "50"), ("sort", "-tokens_per_s")),
    *(("gpu", "h100"), ("gpu", "l40s"), ("provider", "oldhost"), ("provider", "acme")),
    *(("pricing", "spot"), ("pricing", "reserved"), ("service", "pod"), ("service", "instance")),
    *(DAY, ("spec", "alt"), *QUOTES, *OWN, ("per_page", "20"), *MEASURED),
]
ASKED: Mapping[str, Pairs] = {
    "/": BOARD,
    "/compare": COMPARE,
    "/claims": [DAY],
    "/changes": [
        *(("day", "2026-11-14"), ("provider", "runpod"), ("provider", "oldhost")),
        *(("gpu", "h100"), ("gpu", "b200-sxm")),
    ],
    "/gpus": [("precision", "bf16"), DAY],
    "/history": HISTORY,
    "/measured": [("llm", LLM), ("gpu", "h200-sxm"), *MEASURED],
    "/llms": [("q", "qwen & more")],
    "/llms/{llm}": COST,
}
"""Each page with a form, and all that a link may ask of it: a parameter that may be repeated, twice.

No value is a default, and each is written as the program's own links do.
"""

BARE = {"/quote", "/llms/config"}
"""Pages with forms that ask nothing of their own: see the tests below."""

NOT_ASKED_AGAIN = {"page"}
"""What a form leaves out on purpose: what is sent begins at its first page."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The filled market with a rate, so that a currency can be chosen."""
    url = empty_sqlite(tmp_path_factory.mktemp("forms"))
    market.fill(url)
    engine = make_engine(url)
    rate = Rate(
        day=date(2026, 9, 30), currency="EUR", usd_per_unit=Decimal("1.1"), source_url="https://x.example"
    )
    with writing(engine) as connection:
        keep_rates(connection, [rate], capture_sha256="1" * 64)
    engine.dispose()
    with serve(url) as made:
        yield made


def address_of(path: str) -> str:
    return path.format(variant="h200-sxm", provider="runpod", offer_id=1, llm=LLM)


def asked_of(html: str) -> Pairs:
    """Return what a page was asked, order aside, as its JSON twin's address says; that of lists matters."""
    twin = LexborHTMLParser(html).css_first('head link[type="application/json"]')
    return sorted(parse_qsl(urlsplit(twin.attributes["href"] or "").query))


def asking(pairs: Pairs) -> Pairs:
    """Return pairs as links say them: several columns, or several sorted by, stand in one value."""
    listed = {name: [value for key, value in pairs if key == name] for name in ("sort", "columns")}
    rest = [pair for pair in pairs if pair[0] not in listed]
    return sorted([*rest, *((name, ",".join(values)) for name, values in listed.items() if values)])


def forms_to(tree: LexborHTMLParser, path: str) -> list[LexborNode]:
    """Return the forms of a page that lead to it again."""
    return [form for form in tree.css("form") if urlsplit(form.attributes["action"] or "").path == path]


def test_every_page_with_a_form_is_asked_for_all_that_it_takes(client: TestClient) -> None:
    paths = [*page_paths(client), *BARE]
    have = {path for path in paths if LexborHTMLParser(get(client, address_of(path))).css("main form")}
    assert have == {*ASKED, *BARE, *(tool.path for tool in TOOLS)}
    application = client.app
    assert isinstance(application, FastAPI)
    for path, pairs in ASKED.items():
        known = application.openapi()["paths"][twin_of(path, "json")]["get"]["parameters"]
        takes = {each["name"]: each["schema"] for each in known if each["in"] == "query"}
        names = [name for name, _ in pairs]
        assert set(names) == takes.keys() - NOT_ASKED_AGAIN, path
        twice = {name for name, schema in takes.items() if schema.get("type") == "array"}
        assert {name for name in names if names.count(name) > 1} == twice, path


@pytest.mark.parametrize("path", ASKED)
def test_a_form_that_is_sent_as_it_came_asks_the_same(client: TestClient, path: str) -> None:
    address = address_of(path)
    html = get(client, f"{address}?{urlencode(ASKED[path])}")
    assert asked_of(html) == asking(ASKED[path])
    tree = LexborHTMLParser(html)
    forms = forms_to(tree, address)
    assert forms
    for form in forms:
        answer = send(client, form, controls(tree, form))
        assert answer.status_code == 200, answer.text[:500]
        assert asked_of(answer.text) == asking(ASKED[path])


BACK = {"/": BOARD, "/compare": COMPARE, "/history": HISTORY, f"/llms/{LLM}": COST}


def back_of(tree: LexborHTMLParser) -> tuple[str, Pairs]:
    """Return the path and the question of the page that the forms of one's own prices lead back to."""
    (link,) = [each for each in tree.css("main a") if each.text().startswith("Back to ")]
    parts = urlsplit(link.attributes["href"] or "")
    return parts.path, sorted(parse_qsl(parts.query))


@pytest.mark.parametrize("back", BACK)
def test_the_forms_of_ones_own_prices_keep_the_page_they_came_from(client: TestClient, back: str) -> None:
    html = get(client, f"/quote?{urlencode([('back', back), *BACK[back]])}")
    wanted = back, asking(BACK[back])
    tree = LexborHTMLParser(html)
    assert back_of(tree) == wanted
    forms = forms_to(tree, "/quote")
    assert len(forms) == 2
    for form in forms:
        answer = send(client, form, controls(tree, form))
        assert answer.status_code == 422, "nothing was typed"
        assert back_of(LexborHTMLParser(answer.text)) == wanted


def test_a_pasted_config_is_asked_again_as_it_was(client: TestClient) -> None:
    """Nothing of it stands in a link, so what the form sends is held against what was sent before."""
    config = (
        '{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,\r\n'
        ' "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100}'
    )
    moe = {"host_experts_share", "host_gb_s"}
    sent = [("config", config), *(pair for pair in COST if pair[0] not in moe)]
    bare = LexborHTMLParser(get(client, "/llms/config"))
    (form,) = forms_to(bare, "/llms/config")
    answer = send(client, form, sent)
    assert answer.status_code == 200, answer.text[:500]
    tree = LexborHTMLParser(answer.text)
    (form,) = forms_to(tree, "/llms/config")
    assert sorted(pair for pair in controls(tree, form) if pair[1]) == sorted(sent)


@pytest.mark.parametrize("tool", [pytest.param(each, id=each.name) for each in TOOLS])
def test_a_tool_is_asked_again_as_it_was(client: TestClient, tool: Tool) -> None:
    """A link to what was pasted holds what the check reads of it: that is what is sent again."""
    for example in tool.examples:
        link = tool.example_link(example)
        if tool.is_pasted:
            answer = client.post(tool.path, data=dict(example.texts))
            link = answer.headers["location"]
        html = get(client, link)
        tree = LexborHTMLParser(html)
        (form,) = forms_to(tree, tool.path)
        answer = send(client, form, controls(tree, form))
        assert answer.status_code == 200, answer.text[:500]
        assert asked_of(answer.text) == asked_of(html) != []


# ---------------------------------------------------------------- what is chosen otherwise


def test_a_condition_on_a_column_that_is_not_shown_has_a_field_to_empty(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/?where.sku=euro&where.tdp_w=%3E1"))
    labels = {
        label.text().strip(): label.css_first("input").attributes["value"]
        for label in tree.css("#filters label:has(input[name^='where.'])")
    }
    assert labels == {"SKU": "euro", "Board power": ">1"}
    (form,) = forms_to(tree, "/")
    pairs = [pair for pair in controls(tree, form) if pair[0] != "where.sku"]
    assert asked_of(send(client, form, pairs).text) == [("where.tdp_w", ">1")]


def test_a_baseline_that_is_ticked_no_longer_gives_way_to_the_first_card(client: TestClient) -> None:
    asked = "gpu=h200-sxm&gpu=b200-sxm&gpu=h100-sxm&baseline=h100-sxm"
    tree = LexborHTMLParser(get(client, f"/compare?{asked}"))
    (form,) = forms_to(tree, "/compare")
    pairs = [pair for pair in controls(tree, form) if pair != ("gpu", "h100-sxm")]
    assert asked_of(send(client, form, pairs).text) == [("gpu", "b200-sxm"), ("gpu", "h200-sxm")]
    # A link that nobody's form has sent is told what is wrong with it.
    answer = client.get("/compare?gpu=h200-sxm&gpu=b200-sxm&baseline=h100-sxm")
    assert answer.status_code == 422


def test_cards_ticked_on_the_board_are_compared_under_the_boards_terms(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, f"/?{urlencode(BOARD)}"))
    (form,) = forms_to(tree, "/compare")
    ticked = [("gpu", "h200-sxm"), ("gpu", "b200-sxm")]
    answer = send(client, form, [*controls(tree, form), *ticked])
    assert answer.status_code == 200
    kept = {"pricing", "service", "precision", "weights_gb", "as_of", "spec", "quote", "own"}
    assert asked_of(answer.text) == sorted([*ticked, *(pair for pair in BOARD if pair[0] in kept)])


def test_several_services_and_providers_are_chosen_with_boxes(client: TestClient) -> None:
    for path, names in (("/history", ("provider", "service")), ("/changes", ("provider", "gpu"))):
        tree = LexborHTMLParser(get(client, f"{path}?{urlencode(ASKED[path])}"))
        for name in names:
            menu = tree.css_first(f"details#menu-{name}")
            ticked = [box.attributes["value"] for box in menu.css("input[checked]")]
            assert set(ticked) == {value for key, value in ASKED[path] if key == name}
            assert menu.css_first("summary .count").text() == "2"
            assert len(menu.css("input")) > 2
