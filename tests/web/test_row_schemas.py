"""JSON Schemas of rows: real rows hold them, spoiled ones do not, and each value says what it is."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from starlette.testclient import TestClient

from app.domain.columns import COLUMNS, EXPORT_FACTS, FACTS
from app.domain.fields import field_of
from app.domain.metrics import METRICS
from app.web.schemas import SCHEMAS
from tests.web.reading import get

ALL = ",".join(METRICS)
GPT_OSS = "/llms/openai/gpt-oss-20b"
COMPARED = "gpu=h100-sxm&gpu=h200-sxm&gpu=b200-sxm&gpu=h100-pcie"

# The twins whose rows a schema is of, and how to find the rows in a document.
ADDRESSES: dict[str, list[tuple[str, str]]] = {
    "offers": [
        ("/offers.json", "rows"),
        (f"/offers.json?columns={ALL}&baseline=h100-sxm&gpu=h100&gpu=rubin", "rows"),
        ("/offers.json?as_of=2026-11-14&page=2&per_page=9", "rows"),
        ("/offers.json?provider=odd", "rows"),
        ("/offers.json?quote=mine|h100-sxm|1.50&period=month&gpu=h100", "rows"),
    ],
    "compare": [
        (f"/compare.json?{COMPARED}", "lines"),
        (f"/compare.json?{COMPARED}&as_of=2026-11-14", "lines"),
    ],
    "history": [
        (f"/history.json?gpu={gpu}", "lines") for gpu in ("h100-sxm", "h200-sxm", "rtx-pro-6000-server")
    ],
    "gpus": [("/gpus.json", "gpus"), ("/gpus.json?as_of=2026-11-14&precision=bf16", "gpus")],
    "providers": [("/providers.json", "providers")],
    "changes": [("/changes.json", "days"), ("/changes.json?day=2026-11-13", "days")],
    "claims": [("/claims.json", "claims"), ("/claims.json?as_of=2026-11-14", "claims")],
    "llms": [("/llms.json", "models"), ("/llms.json?q=qwen", "models")],
    "llm-costs": [
        (f"{GPT_OSS}.json?api=0.5", "offers"),
        (f"{GPT_OSS}.json?batch=1,65536&quote=mine|h100-sxm|1.50", "offers"),
        (f"{GPT_OSS}/offers/1.json", "offers"),
        ("/llms/deepseek-ai/DeepSeek-V3.json?cards=1", "offers"),
    ],
    "measured": [
        ("/measured.json", "measurements"),
        (
            "/measured.json?llm=openai/gpt-oss-20b&measured=41.5|h200-sxm|fp8||1|4096|bf16|Hale",
            "measurements",
        ),
        (f"{GPT_OSS}.json?measured=900|h200-sxm|mxfp4", "measured"),
    ],
}


def rows_of(client: TestClient, name: str) -> Iterator[dict[str, Any]]:
    for address, key in ADDRESSES[name]:
        for each in json.loads(get(client, address))[key]:
            yield from each["changes"] if name == "changes" else [each]
    if name == "offers":  # the lines have what stands in the head of a document
        yield from map(json.loads, get(client, "/offers.ndjson?gpu=h100&baseline=h100-sxm").splitlines())


def schema_of(client: TestClient, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(get(client, f"/schemas/{name}.json"))
    return document


def validator(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True)


def test_every_schema_is_listed_with_its_address(client: TestClient) -> None:
    listed = json.loads(get(client, "/schemas.json"))
    assert [each["name"] for each in listed["schemas"]] == list(ADDRESSES) == list(SCHEMAS)
    for each in listed["schemas"]:
        schema = json.loads(get(client, each["href"]))
        assert schema["$schema"] == listed["dialect"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["$id"] == each["href"]
        assert schema["title"] == each["title"]
        jsonschema_rs.meta.validate(schema)


@pytest.mark.parametrize("name", ADDRESSES)
def test_every_real_row_holds_its_schema_and_every_value_of_it_is_met(client: TestClient, name: str) -> None:
    schema = schema_of(client, name)
    checked, met = 0, set()
    for row in rows_of(client, name):
        errors = [f"{error.instance_path}: {error.message}" for error in validator(schema).iter_errors(row)]
        assert errors == [], row
        checked, met = checked + 1, met | set(row)
    assert checked >= len(ADDRESSES[name])
    assert met == set(schema["properties"])


def test_a_line_is_held_by_the_schema_of_a_row(client: TestClient) -> None:
    check = validator(schema_of(client, "offers"))
    lines = get(client, f"/offers.ndjson?columns={ALL}").splitlines()
    assert len(lines) > 80
    assert all(check.is_valid(json.loads(line)) for line in lines)


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_spoiled_row_is_refused(client: TestClient, name: str) -> None:
    schema = schema_of(client, name)
    check = validator(schema)
    row = next(rows_of(client, name))
    assert check.is_valid(row)
    for key in schema["required"]:
        assert not check.is_valid({each: value for each, value in row.items() if each != key}), key
        assert not check.is_valid({**row, key: {"no": ["such value"]}}), key
    assert not check.is_valid({**row, "surprise": "a text"})


def test_numbers_are_numbers_and_only_what_may_be_unknown_is_null(client: TestClient) -> None:
    check = validator(schema_of(client, "offers"))
    row = next(rows_of(client, "offers"))
    for key, value, is_right in (
        ("usd_per_tbs_hour", None, True),
        ("usd_per_tbs_hour", "1.43", False),
        ("gpu_count", 1.5, False),
        ("gpu_count", None, False),
        ("provider", None, False),
        ("provider", "", False),
        ("tier", "", False),
        ("tier", None, True),
        ("pricing_model", "rented", False),
        ("valid_from", "2026-02-30", False),
        ("observed_at", "2026-11-02", False),
        ("flags", "stale", False),
        # A price in other units is named by them.
        ("eur_per_gpu_month", 1200.5, True),
    ):
        assert check.is_valid({**row, key: value}) is is_right, (key, value)


def test_every_column_says_what_it_is_and_in_what_unit(client: TestClient) -> None:
    properties = schema_of(client, "offers")["properties"]
    assert {*EXPORT_FACTS, *METRICS} <= set(properties)
    for key, metric in METRICS.items():
        assert properties[key]["description"] == f"{metric.meaning} In {metric.unit}."
        assert properties[key]["type"] == ["number", "null"]
    for key, column in COLUMNS.items():
        field = field_of(key)
        assert field.unit in {column.unit, "GPUs"}, key
        # The label stands for a meaning only where nobody has written one.
        assert field.meaning.endswith("."), key
        assert field.meaning != f"{column.label}.", key
    numeric = {"number", "whole", "exact"}
    assert {key for key in FACTS if field_of(key).kind in numeric} == {
        key for key, fact in FACTS.items() if fact.numeric
    }


def test_schemas_travel_like_everything_else(client: TestClient) -> None:
    answer = client.get("/schemas/offers.json")
    assert answer.headers["content-type"] == "application/schema+json"
    known = {"if-none-match": answer.headers["etag"]}
    assert client.get("/schemas/offers.json", headers=known).status_code == 304
    assert client.head("/schemas/offers.json").headers["etag"] == answer.headers["etag"]
    missing = client.get("/schemas/nothing.json")
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")
    assert "use one of offers, compare" in missing.json()["detail"]
    assert client.get("/schemas/offers.json?gpu=h100").status_code == 422
    assert client.get("/schemas.json?gpu=h100").status_code == 422
