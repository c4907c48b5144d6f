"""What a token adds to a model's cache is one figure on its page, in the list and in every twin of both."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.llms.facts import load_llms
from app.store.migrate import upgrade
from app.store.session import make_engine
from app.web.main import create_app
from tests.web.asking import result, serving
from tests.web.conftest import settings_for
from tests.web.market import NOW
from tests.web.reading import get, read_csv

BY_HAND = {
    "meta-llama/Meta-Llama-3.1-70B": "327680",
    "deepseek-ai/DeepSeek-V3": "70272",
    "deepseek-ai/DeepSeek-V3.2": "78324",
    "zai-org/GLM-5": "100152",
    "zai-org/GLM-5.2": "92628",
    "zai-org/GLM-5.3": "92628",
    "deepseek-ai/DeepSeek-V4-Pro": "5609.25",
    "deepseek-ai/DeepSeek-V4-Flash": "3915",
}
"""Bytes a token, as worked out in the docstring of the test that uses them."""

V4 = {"deepseek-ai/DeepSeek-V4-Pro", "deepseek-ai/DeepSeek-V4-Flash"}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The application without a price: what a model is depends on none."""
    engine = make_engine(url := f"sqlite:///{tmp_path_factory.mktemp('bare')}/bare.db")
    upgrade(engine)
    engine.dispose()
    with TestClient(create_app(settings_for(url), clock=lambda: NOW), follow_redirects=False) as client:
        yield client


def facts(client: TestClient, llm: str) -> dict[str, tuple[str, str]]:
    """Give each fact of a model's page: what it is, and what stands beside it."""
    page = LexborHTMLParser(get(client, f"/llms/{llm}?batch=1"))
    return {
        name.text(): (value.text(deep=False).strip(), "".join(each.text() for each in value.css("small")))
        for name, value in zip(page.css("dl.facts dt"), page.css("dl.facts dd"), strict=True)
    }


def shown(text: str) -> Decimal:
    """Give the number that a page writes with commas and its unit."""
    assert text.endswith(" B")
    return Decimal(text.removesuffix(" B").replace(",", ""))


def of_list(client: TestClient) -> dict[str, tuple[Decimal, str]]:
    """Give of each model of the list the bytes of a token as a program reads them, and the cell's text."""
    lines = LexborHTMLParser(get(client, "/llms")).css("tbody tr")
    found = {}
    for line in lines:
        cell = line.css("td.n")[3]
        found[line.css_first("th small").text()] = (
            Decimal(cell.attributes["data-value"] or ""),
            cell.text(separator=" "),
        )
    return found


def test_page_list_csv_and_json_give_one_figure_for_every_model(bare: TestClient) -> None:
    listed = of_list(bare)
    rows = {row["id"]: row for row in read_csv(get(bare, "/llms.csv"))}
    models = {each["id"]: each for each in json.loads(get(bare, "/llms.json"))["models"]}
    assert set(listed) == set(rows) == set(models) == set(load_llms())
    for llm, (value, _) in listed.items():
        text, beside = facts(bare, llm)["Cache of a token"]
        of_page = json.loads(get(bare, f"/llms/{llm}.json?batch=1"))["model"]
        assert shown(text) == value, llm
        assert Decimal(rows[llm]["kv_token_bytes"]) == value, llm
        assert Decimal(str(models[llm]["kv_token_bytes"])) == value, llm
        assert Decimal(str(of_page["kv_token_bytes"])) == value, llm
        assert beside == rows[llm]["kv_basis"] == models[llm]["kv_basis"] == of_page["kv_basis"]


def test_indexes_are_among_the_bytes_of_a_token(bare: TestClient) -> None:
    """Worked out by hand from the published configs, 132 B for each layer that owns an indexer.

    Llama 2 x 80 layers x 8 heads x 128 x 2 B; V3 61 layers x 576 x 2 B, and V3.2 61 x 132 B more; GLM-5
    78 x (576 x 2 + 132), GLM-5.2 and 5.3 78 x 576 x 2 + 21 x 132. DeepSeek V4 adds 180 B in a layer at ratio
    4 and 6.75 B in one at 128: Pro 30 x 180 + 31 x 6.75, Flash 21 x 180 + 20 x 6.75.
    """
    listed = of_list(bare)
    assert {llm: listed[llm][0] for llm in BY_HAND} == {llm: Decimal(each) for llm, each in BY_HAND.items()}
    assert facts(bare, "deepseek-ai/DeepSeek-V4-Pro")["Cache of a token"][0] == "5,609.25 B"
    _, beside = facts(bare, "deepseek-ai/DeepSeek-V3.2")["Cache of a token"]
    assert beside == (
        "at 16 bits a value; 8,052 B of it are indexes of sparse attention, 132 B for each layer that owns "
        "one, in every format"
    )


def test_a_layout_of_its_own_is_not_called_16_bit_and_said_not_to_be_checked(bare: TestClient) -> None:
    """An entry of 584 B is 448 values of fp8, 64 of 16 bits, 8 B of scales, whatever the cache is set to."""
    rows = {row["id"]: row for row in read_csv(get(bare, "/llms.csv"))}
    listed = of_list(bare)
    assert {llm for llm, (_, text) in listed.items() if "not checked" in text} == V4
    assert {llm for llm, row in rows.items() if "not checked" in row["kv_basis"]} == V4
    assert {llm for llm, row in rows.items() if not row["kv_bytes_per_token_16bit"]} == V4
    for llm in V4:
        assert "fp8" in listed[llm][1]
        said = facts(bare, llm)
        assert "own fp8 layout" in said["Cache of a token"][1]
        assert "not checked" in said["Cache of a token"][1]
        assert "16 bits" not in said["Cache of a token"][1]
        assert said["Cache"][0].startswith("own fp8 layout, not checked, and 16-bit changes nothing of it, ")
    for llm, row in rows.items():
        if llm not in V4:
            assert row["kv_bytes_per_token_16bit"] == row["kv_token_bytes"]
            assert row["kv_basis"].startswith("at 16 bits a value")
    assert facts(bare, "deepseek-ai/DeepSeek-V3")["Cache"][0].startswith("16-bit, ")


def test_a_program_that_asks_at_mcp_gets_the_same_figure(tmp_path: Path) -> None:
    with serving(tmp_path, fresh=True) as site:
        about = result(site, "llm_cost", llm="deepseek-ai/DeepSeek-V4-Flash")["about"]["model"]
    assert (about["kv_token_bytes"], about["kv_bytes_per_token_16bit"]) == (3915.0, None)
    assert "not checked" in about["kv_basis"]
