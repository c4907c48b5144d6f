"""The tool on llama.cpp's cache of experts against what a server logged, the CLI and sums by hand."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import plotly.graph_objects as go  # type: ignore[import-untyped]  # plotly has no types
import pytest
from click.testing import CliRunner
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.cli import main
from app.domain.llms.facts import load_llms
from app.web.charts import COLOURS, INK
from app.web.tools.fields import Typed
from app.web.tools.moe_cache import TOOL, link_to
from app.web.tools.moe_cache_found import MOST_RUNS, MOST_SHOWN, MOST_WORKED
from tests.domain.serving.test_expert_cache_vectors import EXPECTED, SHARED, lines

PATH = "/tools/moe-cache"
MODEL = "Qwen/Qwen3-30B-A3B"
WORKED = {"llm": MODEL, "mib": "10000"}
SHAPE = {"columns": "2048", "expert_columns": "768", "per_layer": "128", "used": "8", "layers": "48"}
CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "moe_intermediate_size": 768,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "head_dim": 128,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "vocab_size": 1000,
}


def found(tools: TestClient, **texts: str) -> dict[str, Any]:
    answer = tools.get(f"{PATH}.json?{urlencode(texts)}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["found"])


def page(tools: TestClient, **texts: str) -> LexborHTMLParser:
    answer = tools.get(f"{PATH}?{urlencode(texts)}")
    assert answer.status_code == 200, answer.text
    return LexborHTMLParser(answer.text)


def cells(tree: LexborHTMLParser, heading: str) -> list[list[str]]:
    rows = tree.css(f'[aria-labelledby="{heading}"] tbody tr')
    return [[cell.text().replace("\N{EN DASH}", "-") for cell in row.css("th, td")] for row in rows]


def test_the_case_that_a_server_logged(tools: TestClient) -> None:
    """Figures of `expert_cache.SOURCE`: 16.35 GiB, two groups of 24, 1,834 slots (59.7 %), floor 50 MiB."""
    tree = page(tools, **WORKED)
    text = tree.css_first("#found").text()
    assert tree.css_first("#found h2").text() == "10,000 MiB hold 59.7 % of the experts"
    assert tree.css_first("p.verdict strong").text() == "It starts."
    assert "9,999.32 MiB of slots, 0.68 MiB left over; every group is cached from 50 MiB." in text
    assert "qwen3moe: 48 layers of 128 experts, 8 for a token; 16.35 GiB of experts as q4_k_m" in text
    # One token uses 8 experts in each of 24 layers; with the spare slot 193 x 5,713,920 bytes, 1,051.7 MiB.
    first, second = cells(tree, "plan")
    assert first[:-1] == [
        *("1", "24", "down Q6_K, gate Q4_K, up Q4_K", "3,059,712", "1,834", "59.7", "32", "50", "1,052"),
    ]
    assert second[:-1] == [
        *("2", "24", "down Q4_K, gate Q4_K, up Q4_K", "2,654,208", "1,834", "59.7", "32", "50", "1,052"),
    ]
    assert first[-1] == "0-5, 8, 11, 14, 17, 20, 23, 26, 29, 32, 35, 38, 41-47"


def test_its_arithmetic_has_the_numbers_put_in(tools: TestClient) -> None:
    # 3,072 experts of 3,059,712 bytes are 9,399,435,264; their part of 10,000 MiB holds 1,835 and a bit.
    shown = [line.text() for line in page(tools, **WORKED).css("#found .formula")]
    said = [line.replace("\N{MULTIPLICATION SIGN}", "x").replace("\N{MINUS SIGN}", "-") for line in shown]
    assert "share = 10,000 x 1,048,576 x 9,399,435,264 / 17,553,162,240 = 5,614,955,354 bytes" in said
    assert "slots = floor(5,614,955,354 / 3,059,712) - 1 spare = 1,834" in said
    assert "left over = 10,000 - 9,999.32 MiB of slots = 0.68 MiB" in said
    # 9 x 5,713,920 bytes, as both groups hold half of the layers.
    put_in = "(8 + 1 spare) x 2,654,208 x 17,553,162,240 / 8,153,726,976"
    assert f"cached from = {put_in} = 51,425,280 bytes, 50 MiB" in said


def test_at_its_floor_and_below(tools: TestClient) -> None:
    at = page(tools, llm=MODEL, mib="50")
    assert [row[4:7] for row in cells(at, "plan")] == [["8", "0.3", "1"]] * 2
    warnings = [each.text() for each in at.css("#found li") if each.css_first(".level.warning")]
    assert len(warnings) == 2
    assert all(each.startswith("Warning. Group ") and "They fit from 1,052 MiB." in each for each in warnings)
    below = page(tools, llm=MODEL, mib="49")
    assert below.css_first("#found h2").text() == "49 MiB do not start the server"
    assert below.css_first("p.verdict").text().startswith("It does not start. No group holds the 8 experts")
    assert "fewer than the 8 that a token uses of a layer: not cached" in below.css_first("#found").text()
    assert found(tools, llm=MODEL, mib="49")["starts"] is False


def test_a_few_layers_in_host_memory(tools: TestClient) -> None:
    """Of the first 32 layers 14 and 18 are alike, with 1,619 and 2,081 slots and floors of 56 and 44 MiB."""
    tree = page(tools, **WORKED, n_cpu_moe="32")
    assert [(row[1], row[4], row[7]) for row in cells(tree, "plan")] == [
        ("14", "1,619", "56"),
        ("18", "2,081", "44"),
    ]
    # 8 of 4,096 slots; at 56 MiB 18, as 58,720,256 bytes x 18 x 2,654,208 / 90,611,712 hold 11 and a bit.
    assert cells(tree, "marks")[:2] == [
        ["the server starts", "44", "0.2", "0"],
        ["every group is cached", "56", "0.4", "1"],
    ]


def test_the_marks_say_what_each_budget_buys(tools: TestClient) -> None:
    # 16 of 6,144 slots are 0.3 %, 2 x 192 are 6.25 %: 192 slots hold all 128 experts of a layer.
    # All are held from 3,073 x 5,713,920 bytes, 16,745.4 MiB.
    assert cells(page(tools, **WORKED), "marks") == [
        ["the server starts", "50", "0.3", "1"],
        ["every group is cached", "50", "0.3", "1"],
        ["what one token uses fits in every group", "1,052", "6.2", "32"],
        ["the planned budget", "10,000", "59.7", "32"],
        ["all experts are held", "16,746", "100.0", "32"],
    ]


def test_what_was_measured_stands_beside_it(tools: TestClient) -> None:
    tree = page(tools, **WORKED)
    rows = {row[0]: row[1:] for row in cells(tree, "measured")}
    assert rows["--cpu-moe"] == ["9.6", "150", "-"]
    assert rows["--cpu-moe --moe-cache-mib 10000"] == ["43.2", "382", "95.7"]
    assert "one 16 GB T4, four CPU cores, llama.cpp b11712, one run on 2026-10-17" in tree.text()
    assert "an estimate of what a quantiser writes" in tree.css_first("#found").text()
    assert "inferprice moe-cache FILE..." in tree.css_first("form").text()


def test_the_twins_are_the_command_lines(tools: TestClient, tmp_path: Path) -> None:
    words = ["moe-cache", "--config", MODEL, "--mix", "q4_k_m", "--mib", "10000", "--n-cpu-moe", "32"]
    environment = {"INFERPRICE_HOME": str(tmp_path)}
    result = CliRunner().invoke(main, [*words, "--format", "json"], env=environment, catch_exceptions=False)
    assert found(tools, **WORKED, n_cpu_moe="32") == json.loads(result.stdout)
    shown = page(tools, **WORKED, n_cpu_moe="32").css_first("pre.command").text().splitlines()
    assert shown[0] == f"inferprice {' '.join(words)}"
    assert shown[1] == "inferprice moe-cache model.gguf --mib 10000 --n-cpu-moe 32"


def test_a_line_a_group(tools: TestClient) -> None:
    answer = tools.get(f"{PATH}.csv?{urlencode({'llm': MODEL, 'mib': '50'})}")
    first, second = csv.DictReader(io.StringIO(answer.text, newline=""))
    # 9 slots of 3,059,712 bytes; 9 x 5,713,920 in both groups; 193 x 5,713,920 for all of a token.
    assert first == {
        "group": "group 1",
        "layers": "24",
        "types": "down Q6_K, gate Q4_K, up Q4_K",
        "experts": "3072",
        "expert_bytes": "3059712",
        "slots": "8",
        "slots_percent": first["slots_percent"],
        "largest_batch_tokens": "1",
        "cache_bytes": "27537408",
        "floor_bytes": "51425280",
        "whole_token_bytes": "1102786560",
    }
    assert float(first["slots_percent"]) == pytest.approx(100 * 8 / 3072)
    assert second["expert_bytes"] == "2654208"


def test_typed_figures_are_the_same_plan(tools: TestClient) -> None:
    typed = found(tools, **SHAPE, architecture="qwen3moe", mib="10000")
    assert typed == found(tools, **WORKED)
    assert found(tools, **SHAPE)["architecture"] == "not stated"
    # 17,553,162,240 / 10 is 1,674 MiB and 61,603 bytes.
    assert (found(tools, **SHAPE)["budget_mib"], found(tools, **SHAPE)["budget_is_default"]) == (1_674, True)


def test_a_pasted_config_leads_to_a_link_of_its_figures(tools: TestClient) -> None:
    config = json.dumps({**CONFIG, "_name_or_path": "/srv/me/private"}, indent=1)
    answer = tools.post(PATH, data={"config": config, "mib": "10,000"})
    assert answer.status_code == 303
    target = answer.headers["location"]
    assert dict(parse_qsl(urlsplit(target).query)) == {
        **SHAPE,
        "architecture": "qwen3moe",
        "mib": "10,000",
    }
    assert found(tools, **dict(parse_qsl(urlsplit(target).query))) == found(tools, **WORKED)
    assert found(tools, config=json.dumps(CONFIG), mib="10000") == found(tools, **WORKED)
    command = LexborHTMLParser(tools.get(target).text).css_first("pre.command").text()
    assert command.startswith("inferprice moe-cache --config config.json --mix q4_k_m --mib 10000\n")


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ({"llm": "Qwen/Qwen3-8B"}, "llm"),
        ({"llm": "nobody/knows"}, "llm"),
        ({"llm": "deepseek-ai/DeepSeek-V4-Pro"}, "llm"),
        ({"llm": MODEL, "config": "{}"}, "config"),
        ({"llm": MODEL, "columns": "5"}, "columns"),
        ({"llm": MODEL, "gate": "fused"}, "gate"),
        ({"config": "{}", "kept": "MXFP4"}, "kept"),
        ({"config": "[" * 2000}, "config"),
        ({"config": '{"model_type": "made_up"}'}, "config"),
        ({"config": json.dumps({**CONFIG, "hidden_size": -1})}, "config"),
        ({**SHAPE, "used": "129"}, "used"),
        ({**SHAPE, "used": ""}, "used"),
        ({**SHAPE, "blocks": "47"}, "blocks"),
        ({**SHAPE, "mtp_layers": "49"}, "mtp_layers"),
        ({**SHAPE, "layers": "5,4"}, "layers"),
        ({**SHAPE, "columns": "0"}, "columns"),
        ({**SHAPE, "expert_columns": "4294967297"}, "expert_columns"),
        ({**SHAPE, "architecture": "a=b"}, "architecture"),
        ({"mix": "q9_k"}, "mix"),
        ({"llm": MODEL, "mix": "iq2_xs"}, "mix"),
        ({"llm": MODEL, "mix": "down=q6_k:47;gate=q4_k;up=q4_k"}, "mix"),
        ({"llm": "openai/gpt-oss-20b"}, "mix"),
        ({"mib": "0"}, "mib"),
        ({**SHAPE, "columns": "1", "expert_columns": "1", "mix": "f32", "layers": "1"}, "mib"),
        ({**SHAPE, "mib": "2147483648"}, "mib"),
        ({"llm": MODEL, "n_cpu_moe": "0"}, "n_cpu_moe"),
        ({**SHAPE, "layers": "3-60", "n_cpu_moe": "3"}, "n_cpu_moe"),
    ],
)
def test_a_wrong_field_is_marked_and_nothing_is_lost(
    tools: TestClient, texts: dict[str, str], wrong: str
) -> None:
    texts = {name: text for name, text in texts.items() if text}
    answer = tools.post(PATH, data=texts)
    assert answer.status_code == 422
    tree = LexborHTMLParser(answer.text)
    marked = [each.attributes["id"] for each in tree.css("[aria-invalid]")]
    assert marked == ([] if TOOL.by_name[wrong].choices else [wrong])
    assert TOOL.by_name[wrong].label in tree.css_first("p.notice[role=alert]").text()
    for name, text in texts.items():
        control = tree.css_first(f"#{name}")
        if control.tag == "select":
            assert control.css_first("[selected]").attributes["value"] == text
        else:
            assert (control.text() if TOOL.by_name[name].rows else control.attributes["value"]) == text
    problem = tools.get(f"{PATH}.json?{urlencode(texts)}")
    assert (problem.status_code, problem.json()["field"].split()[0].rstrip(":")) == (422, wrong)
    assert tools.get(f"/figures{PATH}.json?{urlencode(texts)}").status_code == 422


def test_a_key_of_a_config_is_named_and_a_name_nearly_known_is_helped(tools: TestClient) -> None:
    wrong = tools.post(PATH, data={"config": json.dumps({**CONFIG, "hidden_size": None})})
    assert "Or its config.json: hidden_size:" in wrong.text
    near = tools.post(PATH, data={"llm": "qwen3-30b-a3b"})
    assert f"did you mean {MODEL} or" in near.text
    assert "paste its config.json" in near.text


def test_only_plans_options_are_no_plan(tools: TestClient) -> None:
    assert page(tools, mib="10000", mix="q8_0").css_first("#found") is None
    assert tools.get(f"{PATH}.json?mib=10000").json()["found"] is None


@pytest.mark.parametrize("name", [field.name for field in TOOL.fields if not field.choices])
def test_markup_is_shown_as_it_was_typed(tools: TestClient, name: str) -> None:
    answer = tools.post(PATH, data={**WORKED, name: "<script>alert(1)</script>"})
    assert answer.status_code == 422
    assert "<script>alert" not in answer.text


@pytest.mark.parametrize("llm", [llm for llm in load_llms().values() if llm.profile.experts], ids=str)
def test_a_known_model_is_suggested_and_linked_where_it_has_a_plan(tools: TestClient, llm: Any) -> None:
    href = link_to(llm.id, llm.profile)
    assert (llm.id in TOOL.by_name["llm"].suggested) == bool(href)
    if href:
        assert LexborHTMLParser(tools.get(href).text).css_first("#found") is not None
    else:
        assert tools.get(f"{PATH}.json?llm={llm.id}").json()["field"] in {"llm", "mix"}


def test_the_page_of_a_model_with_experts_leads_here(client: TestClient) -> None:
    said = "llama.cpp's cache for this model"
    for llm, href in (
        (MODEL, f"{PATH}?llm=Qwen%2FQwen3-30B-A3B"),
        (
            "openai/gpt-oss-20b",
            f"{PATH}?llm=openai%2Fgpt-oss-20b&mix=down%3Dmxfp4%3Bgate%3Dmxfp4%3Bup%3Dmxfp4",
        ),
        ("Qwen/Qwen3-8B", None),
        ("deepseek-ai/DeepSeek-V4-Pro", None),
    ):
        tree = LexborHTMLParser(client.get(f"/llms/{llm}").text)
        links = [a.attributes["href"] for a in tree.css("main a") if a.text() == said]
        assert links == ([href] if href else []), llm
    pasted = client.post("/llms/config", data={"config": json.dumps(CONFIG)})
    assert pasted.status_code == 200
    assert said not in pasted.text


def figure(tools: TestClient, **texts: str) -> dict[str, Any]:
    answer = tools.get(f"/figures{PATH}.json?{urlencode(texts)}")
    assert answer.status_code == 200
    drawn = dict(answer.json())
    assert len(go.Figure(drawn).data) == len(drawn["data"])
    return drawn


def test_the_figure_has_a_stepped_line_a_group_and_the_marks(tools: TestClient) -> None:
    one, two, *marks = figure(tools, **WORKED)["data"]
    assert [(mark["name"], mark["x"]) for mark in marks] == [
        ("every group is cached: 50 MiB", [50, 50]),
        ("one token's experts fit: 1,052 MiB", [1_052, 1_052]),
        ("planned: 10,000 MiB", [10_000, 10_000]),
    ]
    for line, name in ((one, "group 1"), (two, "group 2")):
        assert line["name"] == name
        at = dict(zip(line["x"], line["y"], strict=True))
        # Of 3,072 experts none below 50 MiB, then 8; 192 at one token's whole budget; all from 16,746.
        assert (at[49], at[50], at[16_746]) == (0, pytest.approx(100 * 8 / 3_072), 100)
        assert at[1_051] < at[1_052] == pytest.approx(100 * 192 / 3_072)
        texts = dict(zip(line["x"], line["text"], strict=True))
        assert texts[50] == "0.3 % held<br>8 slots, steps of up to 1 token"
        # One expert less than all of 3,072 is no 100.0 %.
        assert texts[16_745].startswith("99.9 % held<br>3,071 slots")
        assert texts[16_746].startswith("100.0 % held<br>3,072 slots")
    assert (one["line"]["color"], two["line"]["color"]) == COLOURS[:2]
    assert one["line"]["dash"] != two["line"]["dash"], "two lines in one place are both seen"
    assert {mark["line"]["color"] for mark in marks} == {INK}
    assert len({mark["line"]["dash"] for mark in marks}) == len({m["marker"]["symbol"] for m in marks}) == 3


def test_a_line_goes_on_to_a_budget_beyond_all_experts_and_no_mark_beyond_any(tools: TestClient) -> None:
    line, *_ = figure(tools, llm=MODEL, mib="20000")["data"]
    assert (line["x"][-1], line["y"][-1]) == (20_000, 100)
    huge = {**SHAPE, "columns": "4294967296", "expert_columns": "4294967296", "mix": "f32", "mib": "7"}
    _, planned = figure(tools, **huge)["data"]
    assert planned["name"] == "planned: 7 MiB"
    marks = cells(page(tools, **huge), "marks")
    assert marks[0] == ["the planned budget", "7", "0.0", "0"]
    assert [row[2:] for row in marks[1:]] == [["-", "-"]] * 4


def test_a_figure_is_private_once_typed_and_empty_before(tools: TestClient) -> None:
    typed = tools.get(f"/figures{PATH}.json?{urlencode(WORKED)}")
    assert typed.headers["cache-control"] == "private, no-store"
    bare = tools.get(f"/figures{PATH}.json")
    assert (bare.status_code, bare.json()) == (200, {"data": [], "layout": {}})
    assert bare.headers["etag"]
    described = tools.get("/openapi.json").json()["paths"]
    names = [each["name"] for each in described[f"/figures{PATH}.json"]["get"]["parameters"]]
    assert names == [field.name for field in TOOL.fields]


def test_the_chart_is_there_only_with_a_plan(tools: TestClient) -> None:
    with_plan = page(tools, **WORKED)
    place = with_plan.css_first("[data-figure]").attributes["data-figure"]
    assert place == f"/figures{PATH}.json?{urlencode(WORKED)}"
    assert [each for each in with_plan.css("script[src]") if "charts" in (each.attributes["src"] or "")]
    for tree in (page(tools), LexborHTMLParser(tools.get(f"{PATH}?llm=no").text)):
        assert not tree.css("[data-figure]")
        assert not [each for each in tree.css("script[src]") if "charts" in (each.attributes["src"] or "")]


def many_groups() -> str:
    """Write out a mix that gives each of 56 layers another pair of types."""
    types = ["q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq3_s", "iq4_xs"]
    downs = ",".join(f"{dtype}:8" for dtype in types)
    ups = ",".join(f"{dtype}:1" for dtype in [*types, "f16"] * 7)
    return f"down={downs};gate={ups};up=q4_k"


def test_what_is_long_is_cut_and_said_to_be(tools: TestClient) -> None:
    texts = {**SHAPE, "expert_columns": "768", "layers": "56", "mix": many_groups(), "mib": "3000"}
    assert len(found(tools, **texts)["groups"]) == 56
    tree = page(tools, **texts)
    assert len(cells(tree, "plan")) == MOST_SHOWN
    assert "and 6 more; the JSON has all." in tree.css_first("#found").text()
    assert len(tree.css("#found h3")) == 1 + MOST_WORKED
    assert "and 52 more groups" in tree.css_first("p.verdict").text()
    assert "too many groups of layers to draw: 56" in tree.css_first("#found").text()
    assert not tree.css("[data-figure]")
    refused = tools.get(f"/figures{PATH}.json?{urlencode(texts)}")
    assert (refused.status_code, refused.json()["field"]) == (422, "groups")
    odd = ",".join(str(number) for number in range(1, 101, 2))
    (row,) = cells(page(tools, **{**SHAPE, "layers": odd, "mix": "q8_0"}), "plan")
    assert row[-1].endswith(f", {2 * MOST_RUNS - 1} and {50 - MOST_RUNS} more runs")


def test_a_shape_too_long_for_a_link_is_answered_at_once_without_a_chart(tools: TestClient) -> None:
    odd = ",".join(str(number) for number in range(1, 4_097, 2))
    answer = tools.post(PATH, data={**SHAPE, "layers": odd, "mib": "5"})
    assert answer.status_code == 200
    tree = LexborHTMLParser(answer.text)
    assert "too long for a link" in tree.css_first("#found").text()
    assert not tree.css("[data-figure]")


@pytest.mark.skipif(not EXPECTED.is_dir(), reason="not run: ../shared is not here")
def test_every_row_of_the_vectors_as_the_page_has_it(tools: TestClient) -> None:
    checked = 0
    for line in lines("moe_cache_plan.csv"):
        plan = found(tools, llm=MODEL, mib=line["budget_mib"], n_cpu_moe=line["n_cpu_moe"])
        group = plan["groups"][int(line["group"]) - 1]
        assert (
            str(plan["host_expert_bytes"]),
            f"{plan['expert_bytes'] / 2**30:.4f}",
            str(len(group["layers"])),
            str(group["expert_bytes"]),
            str(group["slots"]),
            f"{group['slots_percent']:.1f}",
            str(group["largest_batch_tokens"]),
            str(group["floor_mib"]),
            f"{plan['cache_bytes'] / 2**20:.2f}",
        ) == tuple(
            line[name]
            for name in (
                *("host_expert_bytes", "total_expert_gib", "layers", "bytes_per_expert", "slots"),
                *("slots_pct_1dp", "max_cached_batch", "min_budget_mib_ceil", "cache_mib_2dp"),
            )
        )
        checked += 1
    sys.stdout.write(f"\nvectors moe_cache_plan.csv, as the page has them: {checked} rows\n")
    assert checked == 9


@pytest.mark.skipif(not (SHARED / "models" / "configs").is_dir(), reason="not run: ../shared is not here")
def test_a_real_config_leads_to_a_link_with_the_same_plan(tools: TestClient) -> None:
    led = 0
    for path in sorted((SHARED / "models" / "configs").glob("*.json")):
        config = path.read_text(encoding="utf-8")
        for mix in ("q4_k_m", "down=mxfp4;gate=mxfp4;up=mxfp4", "down=nvfp4;gate=nvfp4;up=nvfp4"):
            answer = tools.post(PATH, data={"config": config, "mix": mix})
            if answer.status_code == 422:
                continue
            texts = dict(parse_qsl(urlsplit(answer.headers["location"]).query))
            assert len(answer.headers["location"]) < 600
            plan = TOOL.find(Typed(texts=full(config=config, mix=mix)), {})
            assert TOOL.document(plan) == TOOL.document(TOOL.find(Typed(texts=full(**texts)), {})), path.name
            led += 1
    assert led > 20


def full(**texts: str) -> dict[str, str]:
    return {field.name: field.initial for field in TOOL.fields} | texts
