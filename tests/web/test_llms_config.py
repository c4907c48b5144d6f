"""A pasted config.json is worked out and kept nowhere; what cannot be read is refused by name."""

import json
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.web.llm_config_page import MOST_BYTES
from tests.web.reading import get
from tests.web.test_llms import LLAMA
from tests.web.test_llms import table as table

SMALL: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
"""The shape that Meta publishes for Llama 3.1 70B: 70,553,706,496 parameters."""


def paste(table: TestClient, config: object, **fields: str) -> Any:
    text = config if isinstance(config, str) else json.dumps(config)
    return table.post("/llms/config", data={"config": text, **fields})


def cells(html: str) -> list[list[str | None]]:
    lines = LexborHTMLParser(html).css("table.costs tbody tr")
    return [[cell.attributes["data-value"] for cell in line.css("td[data-value]")] for line in lines]


def test_a_pasted_config_costs_what_the_same_model_of_ours_does(table: TestClient) -> None:
    fields = {"batch": "1,8", "context": "4096", "gpu": "h200-sxm"}
    answer = paste(table, SMALL, **fields)
    assert answer.status_code == 200
    ours = get(table, f"{LLAMA}?batch=1,8&context=4096&gpu=h200-sxm")
    assert cells(answer.text) == cells(ours)
    assert len(cells(ours)) == 8
    assert "70,553,706,496" in answer.text


def test_nothing_of_it_is_kept(table: TestClient) -> None:
    answer = paste(table, SMALL)
    assert answer.headers["cache-control"] == "private, no-store"
    assert "etag" not in answer.headers
    page = LexborHTMLParser(answer.text)
    assert page.css("td.open a, a.copy, .chart") == []
    form = LexborHTMLParser(get(table, "/llms/config"))
    assert form.css_first("textarea").text() == ""
    assert form.css("table") == []


REFUSED = {
    "not JSON": ("{", "JSON"),
    "nothing": ("", "JSON"),
    "a list": ("[1]", "JSON object"),
    "a stranger": (
        json.dumps({"model_type": "weird", "architectures": ["WeirdForCausalLM"]}),
        "WeirdForCausalLM",
    ),
    "a hole": (json.dumps({**SMALL, "hidden_size": None}), "hidden_size"),
    "deep": ("[" * 100_000, "JSON"),
    "markup": (json.dumps({"model_type": "<script>alert(1)</script>", "architectures": []}), "model_type"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_refused_and_stays_in_the_form(table: TestClient, kind: str) -> None:
    text, said = REFUSED[kind]
    answer = paste(table, text)
    assert answer.status_code == 422
    assert answer.headers["cache-control"] == "private, no-store"
    page = LexborHTMLParser(answer.text)
    assert said in page.css_first("p.notice").text()
    assert page.css_first("textarea").text() == text
    assert page.css("table") == []
    assert "<script>alert" not in answer.text


def test_a_wrong_field_is_refused_by_name(table: TestClient) -> None:
    answer = paste(table, SMALL, batch="none")
    assert answer.status_code == 422
    assert "batch" in answer.text


def test_too_much_is_refused_before_it_is_read(table: TestClient) -> None:
    answer = table.post("/llms/config", content=b"config=" + b"x" * MOST_BYTES)
    assert answer.status_code == 413
    assert "1,000,000 bytes" in answer.text


def test_bytes_that_are_no_form_are_refused(table: TestClient) -> None:
    assert table.post("/llms/config", content=b"\xff\xfe").status_code == 422
    assert table.post("/llms/config", content=b"&" * 1000).status_code in {200, 422}
    assert table.post("/llms/config", content=b"a=1&" * 1000).status_code == 422
    assert table.get("/llms/config?config=x").status_code == 422
