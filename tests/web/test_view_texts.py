"""What others have written stays a text in every form of a view: no formula, no markup, no broken line."""

import csv
import io
import re
import zipfile
from collections.abc import Iterator

import openpyxl
import pytest
from starlette.testclient import TestClient

from tests.databases import empty_sqlite
from tests.web import hostile, market
from tests.web.conftest import serve
from tests.web.reading import get
from tests.web.view_reading import ENDINGS, FORMULA_STARTS, STANDS, differences, read, screen_of

FEARED = (
    *(
        "=1+1",
        "+1",
        "-1",
        "@SUM(1)",
        " =1",
        "\t=1",
        "\r=1",
        "\n=1",
        "\uff1d1",
        '=HYPERLINK("https://x.example")',
    ),
    *("a|b", "a\\|b", "a\\", "|", "two\nlines", "two\r\nlines", "tab\there", "nul \0 bell\x07esc\x1b[31m"),
    *('"quoted"', 'a,"b",c', "<b>bold</b>", "**bold** _it_ `code` ~~no~~", "[a](javascript:alert(1))"),
    *("&lt;&amp;&#124;", "www.evil.example", "https://evil.example/a_b", "_x0041_", "<r><t>x</t></r>"),
    *(
        "<r></is></c></row></r>",
        "line\u2028end\u0085end",
        "\ufffe\uffff",
        "NaN",
        "null",
        "1e5",
        "007",
        "x" * 40_000,
    ),
)


@pytest.fixture(scope="module")
def feared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    offers = [
        market.offer(
            "acme", text, None, "1", accelerator_as_written=text, region=text, tier=text, fragment=text
        )
        for text in FEARED
    ]
    url = empty_sqlite(tmp_path_factory.mktemp("feared"))
    market.fill(url, market=[("acme", market.at(20), offers), *hostile.runs()])
    with serve(url) as served:
        yield served


HARM = "columns=region,usd_per_gpu_hour,accelerator,sku,pricing_model,provider,fragment,source_url&sort=sku"


@pytest.mark.parametrize("ending", ENDINGS)
def test_texts_that_mean_harm_are_texts_in_every_form(feared: TestClient, ending: str) -> None:
    screen = screen_of(feared, HARM)
    assert len(screen.rows) == len(FEARED) + len(hostile.offers())
    wrong = differences(screen, read(feared, ending, HARM, screen), ending=ending)
    long = [each for each in wrong if len(each[2].text) > 32_767]
    assert [each for each in wrong if each not in long] == []
    # A cell of a sheet holds 32,767 characters: what is longer is cut and says so.
    assert len(long) == (5 if ending == "xlsx" else 0)
    assert all(value == f"{seen.text[:16_383]}\N{HORIZONTAL ELLIPSIS}" for _, _, seen, value in long)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_no_cell_of_a_text_is_run_and_none_breaks_a_line(feared: TestClient, ending: str) -> None:
    text = get(feared, f"/view.{ending}?{HARM}")
    lines = text.removesuffix("\r\n" if ending == "csv" else "\n").split("\r\n" if ending == "csv" else "\n")
    assert len(lines) == len(FEARED) + len(hostile.offers()) + 1
    if ending == "tsv":
        assert {line.count("\t") for line in lines} == {8 + len(STANDS)}
        assert "\r" not in text
    for row in csv.reader(io.StringIO(text, newline=""), delimiter="\t" if ending == "tsv" else ","):
        assert [cell for cell in row if cell.lstrip(" ").startswith(FORMULA_STARTS)] == []


def test_a_workbook_holds_no_formula_and_no_link(feared: TestClient) -> None:
    body = feared.get(f"/view.xlsx?{HARM}").content
    sheet = openpyxl.load_workbook(io.BytesIO(body))["Offers"]
    cells = [cell for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert {cell.data_type for cell in cells} == {"s", "n", "b"}
    assert [cell for cell in cells if cell.hyperlink] == []
    with zipfile.ZipFile(io.BytesIO(body)) as parts:
        for name in parts.namelist():
            assert b"<f>" not in parts.read(name)
            assert b"<hyperlink" not in parts.read(name)


def test_markdown_holds_no_markup_of_others(feared: TestClient) -> None:
    text = get(feared, f"/view.md?{HARM}")
    assert len(text.splitlines()) == len(FEARED) + len(hostile.offers()) + 4
    assert "<" not in text.replace("](<http", "").replace(": <http", "")
    assert "[a](" not in text
    assert re.search(r"(?<!\\)://evil|www\.evil", text) is None
