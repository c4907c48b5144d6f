"""Every form of a view holds the rows, columns, order, units and numbers that its page shows."""

import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from urllib.parse import urlencode

import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.columns import COLUMNS, FACTS
from app.domain.metrics import METHODOLOGY_VERSION
from app.domain.query import OfferQuery
from app.domain.rates import Rate
from app.store.rates import keep_rates
from app.store.session import make_engine, writing
from app.web import view_exports, view_files
from tests.databases import empty_sqlite
from tests.domain import made
from tests.web import market
from tests.web.conftest import serve
from tests.web.reading import address, get
from tests.web.view_reading import (
    ENDINGS,
    LEAST,
    TYPES,
    differences,
    read,
    read_screen,
    same_headings,
    screen_of,
)

BANK = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"
EURO = Rate(day=date(2026, 11, 19), currency="EUR", usd_per_unit=Decimal("1.1588"), source_url=BANK)

# Names in the order chosen below, as they are in euros for an instance and a month.
NAMES = [
    *("eur_per_tbs_month", "provider", "gpu_count", "eur_per_instance_month", "accelerator", "pricing_model"),
    *("valid_from", "form_factor_assumed", "term_days_max", "eur_per_pflop_month", "memory_bandwidth_tb_s"),
    *("flags", "source_url", "list_price", "memory_gb_as_written", "region"),
]
TYPED = [*NAMES, "is_floor"]
"""What a file without signs has: the page's columns, and whether a price is a floor."""

COLUMNS_ASKED = ",".join(
    [
        *("usd_per_tbs_hour", "provider", "gpu_count", "usd_per_gpu_hour", "accelerator", "pricing_model"),
        *("valid_from", "form_factor_assumed", "term_days_max", "usd_per_pflop_hour"),
        *("memory_bandwidth_tb_s", "flags", "source_url", "list_price", "memory_gb_as_written", "region"),
    ]
)
VIEW = urlencode(
    [
        ("gpu", "h200,h100"),
        ("where.usd_per_gpu_hour", ">1800"),
        ("columns", COLUMNS_ASKED),
        ("period", "month"),
        ("per", "instance"),
        ("currency", "EUR"),
        ("sort", "provider,-usd_per_gpu_hour"),
        ("quote", "My deal|h200-sxm|3.10|8x 91-180d"),
    ]
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The filled market with a rate of the euro."""
    url = empty_sqlite(tmp_path_factory.mktemp("views"))
    market.fill(url)
    with_rate(url)
    with serve(url) as served:
        yield served


def with_rate(url: str) -> None:
    engine = make_engine(url)
    with writing(engine) as connection:
        keep_rates(connection, [EURO], capture_sha256="1" * 64)
    engine.dispose()


# ---------------------------------------------------------------- the same as on the screen


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_filtered_reordered_view_in_other_units_is_the_same_in_every_form(
    client: TestClient, ending: str
) -> None:
    screen = screen_of(client, VIEW)
    assert len(screen.rows) > 30
    found = read(client, ending, VIEW, screen)
    assert differences(screen, found, ending=ending) == []
    if ending in {"md", "xlsx"}:
        assert same_headings(screen, found.names[: len(NAMES)])
        assert found.names[len(NAMES) :] == (["Floor price"] if ending == "xlsx" else [])
    else:
        assert found.names == TYPED


@pytest.mark.parametrize("ending", [each for each in ENDINGS if each != "md"])
def test_the_figures_are_those_worked_out_by_hand(client: TestClient, ending: str) -> None:
    """Eight H200 at 4.29 $/h for 730 hours at 1.1588 $/EUR; 4.8 TB/s each; and the reader's own at 3.10."""
    found = read(client, ending, VIEW, screen_of(client, VIEW))
    lines = [dict(zip(TYPED, row, strict=True)) for row in found.rows]

    def close(line: dict[str, object], name: str, value: Fraction) -> None:
        assert line[name] == pytest.approx(float(value), rel=1e-14)

    euros = 730 / Fraction("1.1588")
    (eight,) = [
        line
        for line in lines
        if (line["provider"], line["gpu_count"], line["region"]) == ("acme", 8, "us-east")
        and (line["accelerator"], line["pricing_model"]) == ("H200 SXM 141 GB", "on demand")
    ]
    close(eight, "eur_per_instance_month", 8 * Fraction("4.29") * euros)
    close(eight, "eur_per_tbs_month", Fraction("4.29") / Fraction("4.8") * euros)
    (mine,) = [line for line in lines if line["provider"] == "My deal"]
    close(mine, "eur_per_instance_month", 8 * Fraction("3.10") * euros)
    assert mine["pricing_model"] == "reserved, 91\N{EN DASH}180 days"
    assert mine["flags"].split()[0] == "own"
    providers = [line["provider"] for line in lines]
    assert list(dict.fromkeys(providers)) == ["acme", "Nebius", "odd", "My deal", "RunPod"]
    prices = [line["eur_per_instance_month"] for line in lines if line["provider"] == "acme"]
    assert prices == sorted(prices, reverse=True)
    assert min(line["eur_per_instance_month"] for line in lines) > 1800


QUERIES = st.builds(
    lambda query, currency: query.replace(currency=currency),
    made.queries(
        providers=("acme", "runpod", "odd", "nebius", "oldhost"),
        regions=market.REGIONS,
        days=(None, None, market.TODAY),
        most_per_page=100,
    ),
    st.sampled_from(("USD", "EUR")),
)


@given(query=QUERIES)
@settings(max_examples=25)
def test_any_view_is_the_same_in_every_form(client: TestClient, query: OfferQuery) -> None:
    screen = read_screen(get(client, address("/", query)))
    for ending in ENDINGS:
        _, _, text = address("", query).partition("?")
        found = read(client, ending, text, screen)
        assert differences(screen, found, ending=ending) == [], ending


def test_every_column_has_a_place_in_every_form(client: TestClient) -> None:
    query = f"columns={','.join(COLUMNS)}&baseline=h100-sxm&period=day&currency=EUR"
    screen = screen_of(client, query)
    for ending in ENDINGS:
        found = read(client, ending, query, screen)
        assert len(found.names) == len(set(found.names)) == len(COLUMNS)
        assert differences(screen, found, ending=ending) == [], ending
    numeric = [isinstance(column, type(FACTS["sku"])) and column.numeric for column in COLUMNS.values()]
    assert list(screen.to_the_right) == [
        is_numeric or key not in FACTS for key, is_numeric in zip(COLUMNS, numeric, strict=True)
    ]


def test_the_price_of_an_instance_chosen_twice_has_two_names(client: TestClient) -> None:
    query = "columns=usd_per_gpu_hour,usd_per_instance_hour&per=instance"
    screen = screen_of(client, query)
    for ending in ENDINGS:
        found = read(client, ending, query, screen)
        assert differences(screen, found, ending=ending) == []
        if ending not in {"md", "xlsx"}:
            assert found.names == ["usd_per_instance_hour", "also_usd_per_instance_hour", "is_floor"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rows_and_one_page_of_rows(client: TestClient, ending: str) -> None:
    screen = screen_of(client, "q=nothing+like+it")
    nothing = read(client, ending, "q=nothing+like+it", screen)
    assert (len(nothing.names), nothing.rows) == (len(screen.headings) + (ending != "md"), [])
    second = read_screen(get(client, "/?per_page=7&page=2"))
    assert differences(second, read(client, ending, "per_page=7&page=2", second), ending=ending) == []
    assert len(read(client, ending, "", screen).rows) > 100


# ---------------------------------------------------------------- a price that is a floor

FLOORS = "gpu=b200&provider=odd"  # one offer, "from $4.00" an hour
FIRM = "gpu=h100&provider=acme"


@pytest.mark.parametrize("ending", [each for each in ENDINGS if each != "md"])
@pytest.mark.parametrize("price", ["usd_per_gpu_hour", "usd_per_instance_hour", "list_price"])
def test_a_file_with_a_price_says_which_are_floors_without_being_asked(
    client: TestClient, ending: str, price: str
) -> None:
    """The number stays a number, and the column behind it is a truth that a program can filter by."""
    query = f"{FLOORS}&columns={price}"
    found = read(client, ending, query, screen_of(client, query))
    assert found.rows == [[4, True]]
    assert found.names[1] == ("Floor price" if ending == "xlsx" else "is_floor")
    firm = read(client, ending, f"{FIRM}&columns={price}", screen_of(client, f"{FIRM}&columns={price}"))
    assert len(firm.rows) > 3
    assert {row[1] for row in firm.rows} == {False}


@pytest.mark.parametrize("ending", ENDINGS)
def test_whether_a_price_is_a_floor_stands_once_and_only_beside_a_price(
    client: TestClient, ending: str
) -> None:
    chosen = f"{FLOORS}&columns=is_floor,usd_per_gpu_hour"
    found = read(client, ending, chosen, screen_of(client, chosen))
    assert found.rows == [["yes", f"{LEAST}4.00"] if ending == "md" else [True, 4]]
    without = f"{FLOORS}&columns=provider,tdp_w,usd_per_tbs_hour"
    assert len(read(client, ending, without, screen_of(client, without)).names) == 3


@pytest.mark.parametrize(
    ("price", "shown"),
    [("usd_per_gpu_hour", "4.00"), ("usd_per_instance_hour", "4.00"), ("list_price", "4.00")],
)
def test_what_shows_a_price_to_a_reader_has_the_sign_before_a_floor(
    client: TestClient, price: str, shown: str
) -> None:
    query = f"{FLOORS}&columns={price}"
    assert screen_of(client, query).rows[0][0].text == f"{LEAST}{shown}"
    assert f"| {LEAST}{shown} |" in get(client, f"/view.md?{query}")
    sheet = openpyxl.load_workbook(io.BytesIO(client.get(f"/view.xlsx?{query}").content))["Offers"]
    assert (sheet["A2"].value, sheet["B2"].value) == (4, True)
    assert sheet["A2"].number_format.startswith(f'"{LEAST}"')
    assert LEAST not in get(client, f"/view.md?{FIRM}&columns={price}")


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_the_rows_with_every_fact_say_which_prices_are_floors(client: TestClient, ending: str) -> None:
    answer = client.get(f"/offers.{ending}?provider=odd")
    rows = (
        answer.json()["rows"]
        if ending == "json"
        else pd.read_csv(io.BytesIO(answer.content)).to_dict("records")
    )
    assert {row["sku"] for row in rows if row["is_floor"] is True} == {"floor"}
    assert {row["is_floor"] for row in rows} == {True, False}


# ---------------------------------------------------------------- what each form says besides


def test_json_says_the_units_and_why_a_value_is_unknown(client: TestClient) -> None:
    document = client.get(f"/view.json?{VIEW}").json()
    assert document["as_of"] == "2026-11-20T12:30:00Z"
    assert document["units"] == {
        "period": "month",
        "per": "instance",
        "currency": "EUR",
        "rate_usd_per_unit": 1.1588,
        "rate_day": "2026-11-19",
    }
    assert document["total"] == len(document["rows"])
    assert document["columns"][0] == {
        "key": "eur_per_tbs_month",
        "label": "Bandwidth price",
        "unit": "EUR/TB/s-month",
    }
    assert document["columns"][9]["unit"] == "EUR/PFLOP-month, FP8"
    for row in document["rows"]:
        assert set(row["unknown"]) == {key for key, value in row.items() if value is None}
        assert all(row["unknown"].values())
    plain_units = client.get("/view.json").json()["units"]
    assert plain_units["rate_day"] is plain_units["rate_usd_per_unit"] is None
    floor = next(row for row in client.get("/view.json?gpu=b200&provider=odd").json()["rows"])
    assert "floor" in floor["flags"]
    assert "the price is a floor" in floor["unknown"]["usd_per_tbs_hour"]


def test_markdown_rounds_aligns_and_says_where_it_is_from(client: TestClient) -> None:
    text = get(client, f"/view.md?{VIEW}")
    head, marks, *_ = text.splitlines()
    assert head.startswith("| Bandwidth price (EUR/TB/s-month) | Provider | GPUs |")
    right = screen_of(client, VIEW).to_the_right
    assert marks == f"| {' | '.join('---:' if each else '---' for each in right)} |"
    last = text.splitlines()[-1]
    before, _, page = last.removesuffix(">").partition(": <")
    assert before == (
        "InferPrice, as of 2026-11-20T12:30:00Z; "
        "1 EUR = 1.1588 USD, the European Central Bank's reference rate of 2026-11-19"
    )
    place = page.removeprefix("http://testserver")
    assert read_screen(get(client, f"{place}&per_page=1000")) == screen_of(client, VIEW)
    assert "\N{GREATER-THAN OR EQUAL TO} 4.00" in get(client, "/view.md?gpu=b200&provider=odd")


def test_a_workbook_has_a_head_that_stays_formats_and_a_sheet_about_it(client: TestClient) -> None:
    book = openpyxl.load_workbook(io.BytesIO(client.get(f"/view.xlsx?{VIEW}").content))
    assert book.sheetnames == ["Offers", "About"]
    sheet = book["Offers"]
    count = len(screen_of(client, VIEW).rows)
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("B2", f"A1:Q{count + 1}")
    assert all(cell.font.b for cell in sheet[1])
    assert sheet["A1"].value == "Bandwidth price (EUR/TB/s-month)"
    # Three decimals by the hour, two fewer by the month; GPUs are whole; a day is a day.
    formats = [sheet[f"{letter}2"].number_format for letter in "ACDGN"]
    assert formats == ["#,##0.0", "0", "#,##0", "yyyy-mm-dd", "General"]
    about = {str(name): str(value) for name, value in book["About"].iter_rows(values_only=True)}
    assert about["As of"] == "2026-11-20T12:30:00Z"
    assert about["Methodology version"] == METHODOLOGY_VERSION
    assert about["Prices are for"] == "one month of one instance"
    assert about["Exchange rate"].startswith("1 EUR = 1.1588 USD")
    assert about["Page"] == f"http://testserver/?{about['Query']}"
    assert screen_of(client, about["Query"]) == screen_of(client, VIEW)
    floor = openpyxl.load_workbook(io.BytesIO(client.get("/view.xlsx?gpu=b200&provider=odd").content))
    assert floor["Offers"]["C2"].value == 4
    assert floor["Offers"]["C2"].number_format == '"\N{GREATER-THAN OR EQUAL TO} "#,##0.00'


def test_parquet_has_types_units_and_says_what_was_asked(client: TestClient) -> None:
    file = parquet.ParquetFile(io.BytesIO(client.get(f"/view.parquet?{VIEW}").content))
    schema = file.schema_arrow
    kinds = {"double": set(), "int64": set(), "bool": set(), "date32[day]": set(), "string": set()}
    for field in schema:
        kinds[str(field.type)].add(field.name)
    assert kinds == {
        "double": {*(name for name in NAMES if name.startswith("eur_")), "memory_bandwidth_tb_s"}
        | {"list_price", "memory_gb_as_written"},
        "int64": {"gpu_count", "term_days_max"},
        "bool": {"form_factor_assumed", "is_floor"},
        "date32[day]": {"valid_from"},
        "string": {"provider", "accelerator", "pricing_model", "flags", "source_url", "region"},
    }
    assert schema.field("eur_per_pflop_month").metadata == {
        b"label": b"Compute price",
        b"unit": b"EUR/PFLOP-month, FP8",
    }
    said = {key.decode(): value.decode() for key, value in schema.metadata.items()}
    assert (said["as_of"], said["methodology_version"]) == ("2026-11-20T12:30:00Z", METHODOLOGY_VERSION)
    assert screen_of(client, said["query"]) == screen_of(client, VIEW)
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


# ---------------------------------------------------------------- how it is answered


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_form_has_a_name_a_tag_and_says_when_it_has_not_changed(client: TestClient, ending: str) -> None:
    path = f"/view.{ending}?gpu=h100"
    answer = client.get(path)
    kind = "inline" if ending in {"json", "md"} else "attachment"
    name = f"inferprice-view-2026-11-20.{ending}"
    assert answer.headers["content-disposition"] == f'{kind}; filename="{name}"'
    past = client.get(f"{path}&as_of=2026-11-14").headers["content-disposition"]
    assert f"inferprice-view-2026-11-14.{ending}" in past
    for known in (
        {"if-none-match": answer.headers["etag"]},
        {"if-modified-since": answer.headers["last-modified"]},
    ):
        again = client.get(path, headers=known)
        assert (again.status_code, again.content) == (304, b"")
    headed = client.head(path)
    assert (headed.status_code, headed.content) == (200, b"")
    assert headed.headers["etag"] == answer.headers["etag"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_view_with_prices_of_one_s_own_is_kept_by_nobody(
    client: TestClient, ending: str, *, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if streamed:
        monkeypatch.setattr(view_exports, "STREAMED_ROWS", 3)
    answer = client.get(f"/view.{ending}?{VIEW}")
    assert answer.headers["cache-control"] == "private, no-store"
    assert not {"etag", "last-modified"} & set(answer.headers)


def test_prices_of_one_s_own_are_never_written_to_a_disk(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no temporary file can be made, what needs one fails, and a reader's own does not need one."""
    monkeypatch.setattr(view_files, "_KEPT_IN_MEMORY_BYTES", 1)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    for ending in ("xlsx", "parquet"):
        with pytest.raises(FileNotFoundError):
            client.get(f"/view.{ending}?gpu=h200&sort=tier")
        assert client.get(f"/view.{ending}?{VIEW}").status_code == 200


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_refusal_is_read_by_programs(client: TestClient, ending: str) -> None:
    answer = client.get(f"/view.{ending}?gpu=h300")
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json()["field"] == "gpu"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_long_view_is_streamed_with_the_same_bytes(
    client: TestClient, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/view.{ending}?sort=-usd_per_gpu_hour&columns=provider,usd_per_gpu_hour,valid_from"
    whole = client.get(path)
    monkeypatch.setattr(view_exports, "STREAMED_ROWS", 3)
    streamed = client.get(f"{path}&gpu=")  # the same view at an address whose answer is not kept yet
    assert "content-length" in whole.headers
    assert "content-length" not in streamed.headers
    assert streamed.content == whole.content
    assert len(whole.content) > 1000
    for name in ("last-modified", "content-type", "content-disposition", "cache-control"):
        assert streamed.headers[name] == whole.headers[name]
    assert streamed.headers["etag"] != whole.headers["etag"]
    assert client.head(path).content == b""


def test_what_writes_files_is_loaded_only_when_one_is_asked_for() -> None:
    code = "import sys, app.web.main; print(*{'pyarrow', 'xlsxwriter', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_sheet_takes_no_more_rows_than_it_holds(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert view_files.MOST_SHEET_ROWS == 1_048_575  # 2^20, Excel's limit, without the header
    few = view_exports.FORMS["xlsx"]
    monkeypatch.setattr(
        view_exports, "FORMS", {"xlsx": view_exports.Form(**{**_fields(few), "most_rows": 10})}
    )
    refused = client.get("/view.xlsx?gpu=h200&sort=region")
    assert refused.status_code == 422
    assert refused.json()["field"] == "view.xlsx"
    assert "10 rows fit an Excel workbook: filter, name a page" in refused.json()["expected"]
    assert client.get("/view.xlsx?gpu=h200&sort=region&per_page=10").status_code == 200


def _fields(form: view_exports.Form) -> dict[str, object]:
    return {name: getattr(form, name) for name in form.__dataclass_fields__}


def test_the_page_links_to_every_form_and_the_document_describes_each(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, f"/?{VIEW}"))
    links = [link.attributes["href"] or "" for link in tree.css("#menu-export a")]
    views = {each.partition("?")[0]: each for each in links if each.startswith("/view.")}
    assert set(views) == {f"/view.{ending}" for ending in ENDINGS}
    screen = screen_of(client, VIEW)
    for ending in ENDINGS:
        found = read(client, ending, views[f"/view.{ending}"].partition("?")[2], screen)
        assert differences(screen, found, ending=ending) == []
    paths = json.loads(get(client, "/openapi.json"))["paths"]
    for ending in ENDINGS:
        described = paths[f"/view.{ending}"]["get"]
        assert list(described["responses"]["200"]["content"]) == [TYPES[ending].partition(";")[0]]
        assert {"columns", "period", "where.sku", "quote"} <= {one["name"] for one in described["parameters"]}
