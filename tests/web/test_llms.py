"""A model's page, JSON and CSV give the same costs, none for what does not fit, and say what is wrong."""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.llms.facts import LLM_COLUMNS, LLMS_FILE, llm_cells, load_llms
from app.ingest.imports import import_table
from app.settings import Settings
from app.store.migrate import upgrade
from app.store.session import make_engine
from app.web.main import create_app
from tests.domain.bundled import READ_AT
from tests.web.conftest import settings_for
from tests.web.reading import get, read_csv

LLAMA = "/llms/meta-llama/Meta-Llama-3.1-70B"
DEEPSEEK = "/llms/deepseek-ai/DeepSeek-V3"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The application on the table of 2026-10-30, on that day."""
    home = tmp_path_factory.mktemp("table")
    engine = make_engine(url := f"sqlite:///{home}/table.db")
    upgrade(engine)
    import_table(engine, home, now=READ_AT)
    engine.dispose()
    with TestClient(create_app(settings_for(url), clock=lambda: READ_AT), follow_redirects=False) as client:
        yield client


SEVENTY = "weights_gb=70&context=0&batch=1&memory_share=1&overhead_gb=0&provider=runpod"
"""The article's case: 70 GB all read for each token, one stream, no cache, memory not looked at."""


def test_seventy_gb_at_runpod_are_the_articles_figures_in_every_form(table: TestClient) -> None:
    """3,350, 4,800, 2,000 and 8,000 GB/s over 70 GB, and dollars an hour over those."""
    expected = {
        "h200-sxm": ("68.571", "21.429"),
        "h100-sxm": ("47.857", "23.159"),
        "h100-pcie": ("28.571", "28.097"),
        "b200-sxm": ("114.286", "19.420"),
    }
    rows = {row["accelerator"]: row for row in read_csv(get(table, f"{LLAMA}.csv?{SEVENTY}"))}
    assert {
        card: (f"{float(row['tokens_per_s']):.3f}", f"{float(row['usd_per_mtok_output']):.3f}")
        for card, row in rows.items()
    } == expected
    document = json.loads(get(table, f"{LLAMA}.json?{SEVENTY}"))
    for each in document["offers"]:
        [batch] = each["batches"]
        row = rows[each["accelerator"]]
        assert batch["tokens_per_s"] == float(row["tokens_per_s"])
        assert batch["usd_per_mtok_output"] == float(row["usd_per_mtok_output"])
    lines = LexborHTMLParser(get(table, f"{LLAMA}?{SEVENTY}")).css("table.costs tbody tr")
    shown = [[cell.text().strip() for cell in line.css("td.n")] for line in lines]
    assert [(each[1].split("cannot")[0], each[2].split("1 GPU")[0].strip()) for each in shown] == [
        ("19.420", "114.3"),
        ("21.429", "68.571"),
        ("23.159", "47.857"),
        ("28.097", "28.571"),
    ]


def test_the_board_gives_the_same_for_70_gb(table: TestClient) -> None:
    columns = "accelerator,decode_ceiling_tokens_per_s,usd_per_mtok_at_ceiling"
    asked = f"weights_gb=70&provider=runpod&columns={columns}"
    of_board = {
        row["accelerator"]: (row["decode_ceiling_tokens_per_s"], row["usd_per_mtok_at_ceiling"])
        for row in read_csv(get(table, f"/offers.csv?{asked}"))
    }
    of_model = {
        row["accelerator"]: (row["tokens_per_s"], row["usd_per_mtok_output"])
        for row in read_csv(get(table, f"{LLAMA}.csv?{SEVENTY}"))
    }
    assert len(of_board) == 4
    for card, figures in of_board.items():
        assert [float(each) for each in figures] == pytest.approx([float(each) for each in of_model[card]])


@pytest.mark.parametrize("model", [LLAMA, DEEPSEEK])
def test_the_boards_ceiling_is_one_request_without_a_cache(table: TestClient, model: str) -> None:
    """Llama reads 69.503 GB for a token in fp8, all but its embedding, and not the article's round 70."""
    page = LexborHTMLParser(get(table, f"{model}?context=0&batch=1&provider=runpod"))
    [href] = [link.attributes["href"] or "" for link in page.css("a") if "on the board" in link.text()]
    if model == LLAMA:
        assert "weights_gb=69.503" in href
    columns = "&columns=accelerator,decode_ceiling_tokens_per_s"
    of_board = {
        row["accelerator"]: float(row["decode_ceiling_tokens_per_s"])
        for row in read_csv(get(table, href.replace("/?", "/offers.csv?") + columns))
    }
    assert len(of_board) == 4
    for row in read_csv(get(table, f"{model}.csv?context=0&batch=1&provider=runpod&cards=1,2,4,8,16,32")):
        ceiling = float(row["tokens_per_s"]) / int(row["gpus"])
        assert of_board[row["accelerator"]] == pytest.approx(ceiling, rel=1e-4)


WALL = "kv=fp8&context=4096&batch=128&cards=1&gpu=h200-sxm"


def test_what_does_not_fit_has_no_cost_on_page_json_and_csv(table: TestClient) -> None:
    """128 x 0.671 GB of cache beside 70.55 GB of weights is 23.78 GB more than one H200 leaves."""
    page = LexborHTMLParser(get(table, f"{LLAMA}?{WALL}"))
    lines = page.css("table.costs tbody tr")
    assert len(lines) == 8
    for line in lines:
        assert line.css_first("td.without").text().startswith("does not fit 1 GPU: 23.78 GB too much")
        assert len(line.css("td.n")) == 1  # the price of the GPU alone
    document = json.loads(get(table, f"{LLAMA}.json?{WALL}"))
    for each in document["offers"]:
        [batch] = each["batches"]
        assert (batch["fits"], round(batch["missing_gb_per_gpu"], 2)) == (False, 23.78)
        money = [key for key in batch if "usd" in key or "tokens_per_s" in key or "api" in key]
        assert len(money) == 10
        assert {batch[key] for key in money} == {None}
    for row in read_csv(get(table, f"{LLAMA}.csv?{WALL}")):
        assert row["fits"] == "false"
        assert {row[key] for key in row if key.startswith(("usd_per_m", "used_usd", "tokens", "api"))} == {""}


def test_page_json_and_csv_hold_the_same_numbers(table: TestClient) -> None:
    query = "batch=1,8,32&context=8192&api=0.9"
    rows = read_csv(get(table, f"{DEEPSEEK}.csv?{query}"))
    document = json.loads(get(table, f"{DEEPSEEK}.json?{query}"))
    page = LexborHTMLParser(get(table, f"{DEEPSEEK}?{query}"))
    assert len(rows) == 3 * document["total"] == 3 * 24
    flat = [(each, batch) for each in document["offers"] for batch in each["batches"]]
    for (each, batch), row in zip(flat, rows, strict=True):
        assert (each["offer_id"], batch["batch"]) == (int(row["offer_id"]), int(row["batch"]))
        for key, value in batch.items():
            read = row[key]
            if isinstance(value, bool) or value is None:
                assert read == {True: "true", False: "false", None: ""}[value]
            elif isinstance(value, str):
                assert read == value
            else:
                assert float(read) == value
    for line, each in zip(page.css("table.costs tbody tr"), document["offers"], strict=True):
        assert line.id == f"o{each['offer_id']}"
        held = [float(cell.attributes["data-value"] or "") for cell in line.css("td[data-value]")]
        keys = ("usd_per_mtok_output", "tokens_per_s", "usd_per_mtok_input")
        figures = [batch[key] for batch in each["batches"] if batch["fits"] for key in keys]
        assert held == [each["usd_per_gpu_hour"], *figures]


def test_offers_stand_by_the_cost_of_the_first_batch_and_those_that_do_not_fit_last(
    table: TestClient,
) -> None:
    document = json.loads(get(table, f"{LLAMA}.json?kv=fp8&context=4096&batch=32,1&cards=1"))
    firsts = [each["batches"][0] for each in document["offers"]]
    known = [each["usd_per_mtok_output"] for each in firsts if each["fits"]]
    assert known == sorted(known)
    assert [each["fits"] for each in firsts] == [True] * len(known) + [False] * (len(firsts) - len(known))
    assert 0 < len(known) < len(firsts)
    downwards = json.loads(
        get(table, f"{LLAMA}.json?kv=fp8&context=4096&batch=32,1&cards=1&sort=-usd_per_mtok")
    )
    turned = [each["batches"][0]["usd_per_mtok_output"] for each in downwards["offers"]]
    assert turned == [*reversed(known), *[None] * (len(firsts) - len(known))]


def test_one_bigger_card_stands_against_two_smaller_at_each_provider(table: TestClient) -> None:
    """As in the article for one against one: the H200 costs less at six of seven, all but Together."""
    query = "kv=fp8&context=4096&batch=8&pricing=on_demand&gpu=h200-sxm&gpu=h100-sxm"
    pairs = json.loads(get(table, f"{LLAMA}.json?{query}"))["bigger_against_two_smaller"]
    assert {each["provider"]: each["cheaper"] for each in pairs} == {
        **dict.fromkeys(("runpod", "coreweave", "nebius", "modal", "deepinfra", "fireworks"), "first"),
        "together": "second",
    }
    lines = LexborHTMLParser(get(table, f"{LLAMA}?{query}")).css("#pairs tbody tr")
    shown = [
        [float(cell.attributes["data-value"] or "") for cell in line.css("td[data-value]")] for line in lines
    ]
    sides = [[each[side]["usd_per_mtok_output"] for side in ("first", "second")] for each in pairs]
    assert shown == sides


def test_every_figure_opens_its_arithmetic_and_the_source_of_its_price(table: TestClient) -> None:
    page = LexborHTMLParser(get(table, f"{LLAMA}?kv=fp8&context=4096&batch=8&gpu=h200-sxm&provider=runpod"))
    href = page.css_first("td.open a").attributes["href"] or ""
    whole = get(table, href)
    # 69,503,033,344 B of weights and 8 x 671,088,640 B of cache at 4.8 TB/s: 15.598 ms.
    for said in (
        "69.50 GB",
        "5.37 GB",
        "15.5983 ms",
        "512.9 tokens/s",
        "8 ÷ 15.5983 ms",
        "$5.29/h",
        "$2.865",
    ):
        assert said in whole
    part = table.get(href, headers={"hx-request": "true"}).text
    assert part.startswith('<tr class="evidence"')
    assert "512.9 tokens/s" in part
    evidence = LexborHTMLParser(whole).css(".evidence-body a")[-1].attributes["href"] or ""
    assert "5.29" in get(table, evidence)


def test_the_answer_is_said_in_a_sentence(table: TestClient) -> None:
    page = LexborHTMLParser(
        get(table, f"{LLAMA}?kv=fp8&context=4096&batch=1,32,4096&provider=runpod&cards=1")
    )
    assert [each.text() for each in page.css(".verdicts li")] == [
        (
            "1 request at once: at least $19.468 a million output tokens, on 1 \N{MULTIPLICATION SIGN} "
            "B200 SXM 180 GB at RunPod (on demand), at most 114.0 tokens/s."
        ),
        (
            "32 requests at once: at least $0.789 a million output tokens, on 1 \N{MULTIPLICATION SIGN} "
            "B200 SXM 180 GB at RunPod (on demand), at most 2,813.9 tokens/s."
        ),
        "4,096 requests at once: fits none of these offers.",
    ]


REFUSED = {
    "format=fp9": ("format", "fp8"),
    "kv=fp80": ("kv", "fp8"),
    "context=-1": ("context", "whole number"),
    "batch=0": ("batch", "whole number"),
    "batch=1,2,3,4,5,6,7": ("batch", "1 to 6 numbers"),
    "batch=1&batch=2": ("batch", "give it once"),
    "cards=3": ("cards", "1, 2, 4, 8, 16, 32"),
    "utilisation=0": ("utilisation", "0.0001"),
    "memory_share=2": ("memory_share", "0.05"),
    "gpu=h2000": ("gpu", "h200"),
    "formt=fp8": ("parameter", "format"),
    "sort=usd": ("sort", "usd_per_mtok"),
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_is_wrong_is_named_with_what_would_be_right(table: TestClient, asked: str) -> None:
    field, hint = REFUSED[asked]
    answer = table.get(f"{LLAMA}.json?{asked}")
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    problem = answer.json()
    assert problem["field"] == field
    assert hint in problem["expected"]
    page = table.get(f"{LLAMA}?{asked}")
    assert page.status_code == 422
    assert "Traceback" not in page.text


def test_a_form_leads_to_the_short_address(table: TestClient) -> None:
    sent = "format=fp8&kv=bf16&context=8192&batch=1%2C8%2C32&cards=1%2C2%2C4%2C8&gpu=h200-sxm&api=&as_of="
    answer = table.get(f"{LLAMA}?{sent}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{LLAMA}?gpu=h200-sxm")


def test_a_model_is_found_by_its_hub_id_in_any_case_and_near_names_are_told(table: TestClient) -> None:
    answer = table.get("/llms?q=https://huggingface.co/DeepSeek-AI/deepseek-v3")
    assert (answer.status_code, answer.headers["location"]) == (303, DEEPSEEK)
    assert table.get("/llms/deepseek-ai/deepseek-v3").headers["location"] == DEEPSEEK
    near = LexborHTMLParser(get(table, "/llms?q=deepsek-v3")).css(".empty a")
    assert "deepseek-ai/DeepSeek-V3" in [link.text() for link in near]
    missing = table.get("/llms/deepseek-ai/DeepSeek-V33")
    assert missing.status_code == 404
    assert f'href="{DEEPSEEK}"' in missing.text
    program = table.get("/llms/deepseek-ai/DeepSeek-V33.json")
    assert (program.status_code, program.headers["content-type"]) == (404, "application/problem+json")
    assert "did you mean deepseek-ai/DeepSeek-V3" in program.json()["detail"]


def test_the_list_holds_every_model_in_every_form(table: TestClient) -> None:
    rows = read_csv(get(table, "/llms.csv"))
    models = json.loads(get(table, "/llms.json"))["models"]
    lines = LexborHTMLParser(get(table, "/llms")).css("tbody tr")
    assert len(rows) == len(models) == len(lines) >= 63
    found = {row["id"]: row for row in rows}
    llama = found["meta-llama/Meta-Llama-3.1-70B"]
    # 70,553,706,496 parameters, and 2 x 80 layers x 8 heads x 128 x 2 B a token.
    assert (llama["params_text"], llama["kv_bytes_per_token_16bit"]) == ("70553706496", "327680.0")
    searched = LexborHTMLParser(get(table, "/llms?q=deepseek+v3")).css("tbody tr")
    assert 0 < len(searched) < len(lines)


def test_own_prices_are_marked_and_kept_by_nobody(table: TestClient) -> None:
    link = f"{LLAMA}?context=4096&batch=1&gpu=h200-sxm&quote=Mine|h200-sxm|1.5|"
    answer = table.get(link)
    assert answer.headers["cache-control"] == "private, no-store"
    assert "etag" not in answer.headers
    first = LexborHTMLParser(answer.text).css_first("table.costs tbody tr")
    assert "own" in (first.attributes["class"] or "")
    assert first.css_first(".flag.own").text() == "yours"
    assert "at yours: Mine (on demand)" in LexborHTMLParser(answer.text).css_first(".verdicts").text()
    href = first.css_first("td.open a").attributes["href"] or ""
    whole = table.get(href)
    assert whole.headers["cache-control"] == "private, no-store"
    assert "$1.50/h" in whole.text
    for ending in ("json", "csv"):
        twin = table.get(link.replace("70B?", f"70B.{ending}?"))
        assert twin.headers["cache-control"] == "private, no-store"


def test_a_form_adds_ones_own_price_and_a_link_takes_it_away(table: TestClient) -> None:
    page = LexborHTMLParser(get(table, f"{LLAMA}?batch=1&gpu=h200-sxm"))
    [href] = [each.attributes["href"] or "" for each in page.css("a") if each.text() == "Add my price"]
    form = get(table, href)
    assert "Back to the costs of Meta-Llama-3.1-70B" in form
    typed = "&quote_name=Mine&quote_accelerator=h200-sxm&quote_usd_per_gpu_hour=1.5&quote_terms="
    answer = table.get(f"{href}{typed}")
    assert answer.status_code == 303
    place = answer.headers["location"]
    assert place == f"{LLAMA}?batch=1&gpu=h200-sxm&quote=Mine%7Ch200-sxm%7C1.5"
    with_own = LexborHTMLParser(table.get(place).text)
    assert "Mine" in with_own.css_first("table.costs tbody tr.own").text()
    [away] = [
        each.attributes["href"] for each in with_own.css(".own-figures a") if "?" in str(each.attributes)
    ]
    assert away == f"{LLAMA}?batch=1&gpu=h200-sxm"
    hidden = table.get(place.replace("gpu=h200-sxm", "gpu=b200-sxm")).text
    assert 'tr class="own"' not in hidden
    assert "Your quote Mine does not match the filters." in hidden
    assert table.get("/quote?back=/llms/no/such").status_code == 422
    assert table.get("/quote?back=//evil.example").status_code == 422


def test_weights_as_published_are_one_link_away(table: TestClient) -> None:
    links = {
        each.text(): each.attributes["href"]
        for path in (LLAMA, "/llms/nvidia/DeepSeek-V3.1-NVFP4")
        for each in LexborHTMLParser(get(table, path)).css("nav.choices a")
        if each.text().startswith("As published")
    }
    assert links == {
        "As published, bf16 or fp16": f"{LLAMA}?format=bf16",
        "As published, nvfp4": "/llms/nvidia/DeepSeek-V3.1-NVFP4?format=nvfp4",
    }
    assert "As published" not in get(table, f"{LLAMA}?format=bf16")
    assert "As published" not in get(table, DEEPSEEK)


def test_an_answer_that_a_reader_has_is_not_sent_again(table: TestClient) -> None:
    for address in (LLAMA, f"{LLAMA}.json", f"{LLAMA}.csv", f"{LLAMA}/offers/3", "/llms"):
        first = table.get(address)
        again = table.get(address, headers={"if-none-match": first.headers["etag"]})
        assert (first.status_code, again.status_code) == (200, 304)


def test_a_model_of_the_operators_own_table_has_a_page(tmp_path: Path) -> None:
    made = replace(load_llms()["Qwen/Qwen3-8B"], id="acme/House-8B", name="House-8B")
    with (tmp_path / LLMS_FILE).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, LLM_COLUMNS)
        writer.writeheader()
        writer.writerow(llm_cells(made))
    engine = make_engine(url := f"sqlite:///{tmp_path}/table.db")
    upgrade(engine)
    import_table(engine, tmp_path, now=READ_AT)
    engine.dispose()
    own = Settings(DATABASE_URL=url, home=tmp_path)
    with TestClient(create_app(own, clock=lambda: READ_AT), follow_redirects=False) as client:
        assert client.get("/llms?q=acme/house-8b").headers["location"] == "/llms/acme/House-8B"
        ours, packaged = (
            client.get(f"/llms/{llm}.json?batch=1").json() for llm in ("acme/House-8B", "Qwen/Qwen3-8B")
        )
        assert (
            ours["offers"][0]["batches"][0]["tokens_per_s"]
            == (packaged["offers"][0]["batches"][0]["tokens_per_s"])
        )
        assert "acme/House-8B" in get(client, "/llms")
        assert "acme/House-8B" in get(client, "/sitemap.xml")
