"""Reads a view the way its readers do: the page's own table, and each form with a library of its own."""

import html
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import quote

import openpyxl
import pandas as pd
from pyarrow import parquet
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from tests.web.reading import get

TRUTHS = ("form_factor_assumed", "is_floor")
FLOORS = ("is_floor", "Floor price")
"""What a file calls the column that it has beside those of the page, by its key or its heading."""

LEAST = "\N{GREATER-THAN OR EQUAL TO} "
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A cell of the page: its words, its number where it has one, where it leads, the warnings in it."""

    text: str
    number: Decimal | None = None
    href: str | None = None
    warnings: tuple[str, ...] = ()
    is_unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """The page's table: the words of each heading, which stand to the right, the cells of each row."""

    headings: tuple[str, ...]
    to_the_right: tuple[bool, ...]
    rows: tuple[tuple[Seen, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a form holds: the names of its columns, and its rows with None where nothing is known."""

    names: list[str]
    rows: list[list[Any]]


STANDS = ("baseline", "precision", "weights_gb", "spec", "as_of")


def one_line(text: str) -> str:
    """Return a text as a browser shows it: white space is one space, control characters are none."""
    kept = (
        " " if ord(sign) < 32 or 127 <= ord(sign) < 160 or sign in "\u2028\u2029" else sign for sign in text
    )
    return re.sub(" +", " ", "".join(kept)).strip(" ")


def read_screen(page: str) -> Screen:
    tree = LexborHTMLParser(page)
    heads = tree.css("table.offers > thead > tr:first-child > th")[1:]
    words = [(head.css_first("a").text(), head.css_first("small")) for head in heads]
    return Screen(
        headings=tuple(
            one_line(f"{label} {small.text(deep=False) if small else ''}") for label, small in words
        ),
        to_the_right=tuple("n" in (head.attributes.get("class") or "").split() for head in heads),
        rows=tuple(
            tuple(_seen(cell) for cell in row.css("td")[1:]) for row in tree.css("table.offers > tbody > tr")
        ),
    )


def _seen(cell: Any) -> Seen:
    classes = (cell.attributes.get("class") or "").split()
    raw, link = cell.attributes.get("data-value"), cell.css_first("a")
    text = one_line(cell.text(deep="card" not in classes))
    return Seen(
        text=text,
        number=Decimal(raw) if raw else None,
        href=link.attributes["href"] if link and not raw else None,
        warnings=tuple(one_line(each.text()) for each in cell.css(".flag")),
        is_unknown="unknown" in classes or not text,
    )


# ---------------------------------------------------------------- a reader of each form


def _known(value: Any) -> Any:
    """Return a value of pandas with None for its missing ones."""
    return value if isinstance(value, list) or not pd.isna(value) else None


def _of_frame(frame: pd.DataFrame) -> Read:
    rows = [[_known(value) for value in line] for line in frame.itertuples(index=False, name=None)]
    return Read(names=list(frame.columns), rows=rows)


def _of_text(body: bytes, screen: Screen, *, sep: str) -> Read:
    """Read with pandas: what stands to the left on the page are texts, but for truths.

    What the figures stand for ends each row and is in no table of the page: test_stands.py reads it.
    """
    names = body.decode().partition("\n")[0].strip("\r").split(sep)
    assert tuple(names[-len(STANDS) :]) == STANDS
    names = names[: -len(STANDS)]
    added = [False] * (len(names) - len(screen.to_the_right))
    pairs = zip(names, (*screen.to_the_right, *added), strict=True)
    texts = {name: str for name, right in pairs if not right and name not in TRUTHS}
    return _of_frame(
        pd.read_csv(
            io.BytesIO(body),
            sep=sep,
            dtype=texts,
            usecols=names,
            keep_default_na=False,
            na_values=[""],
        )
    )


def read_json(body: bytes, _screen: Screen) -> Read:
    document = json.loads(body)
    names = [column["key"] for column in document["columns"]]
    frame = pd.DataFrame(document["rows"], columns=[*names], dtype=object)
    return _of_frame(frame.map(lambda value: " ".join(value) or None if isinstance(value, list) else value))


def read_parquet(body: bytes, _screen: Screen) -> Read:
    table = parquet.read_table(io.BytesIO(body))
    return Read(names=table.column_names, rows=[list(row.values()) for row in table.to_pylist()])


def read_xlsx(body: bytes, _screen: Screen) -> Read:
    sheet = openpyxl.load_workbook(io.BytesIO(body))["Offers"]
    head, *rows = sheet.iter_rows(values_only=True)
    return Read(
        names=[str(name) for name in head], rows=[[_of_sheet(value) for value in row] for row in rows]
    )


def _of_sheet(value: Any) -> Any:
    """Return a cell's text without the escapes of a workbook (ECMA-376, ST_Xstring), its day as a day."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, str):
        return re.sub("_x([0-9A-F]{4})_", lambda found: chr(int(found[1], 16)), value)
    return value


def read_markdown(body: bytes, _screen: Screen) -> Read:
    head, _, *lines = body.decode().partition("\n\n")[0].splitlines()
    return Read(names=_bars(head), rows=[_bars(line) for line in lines])


def _bars(line: str) -> list[str]:
    """Return the cells of a line as a reader of Markdown shows them."""
    inside = line.removeprefix("| ").removesuffix(" |")
    cells = re.findall(r"(?: \| |^)((?:\\.|[^|\\])*?)(?= \| |$)", inside)
    return [html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", each)) for each in cells]


READERS: Mapping[str, Callable[[bytes, Screen], Read]] = {
    "csv": lambda body, screen: _of_text(body, screen, sep=","),
    "tsv": lambda body, screen: _of_text(body, screen, sep="\t"),
    "json": read_json,
    "md": read_markdown,
    "xlsx": read_xlsx,
    "parquet": read_parquet,
}

ENDINGS = tuple(READERS)
TYPES = {
    "csv": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}


def screen_of(client: TestClient, query: str) -> Screen:
    return read_screen(get(client, f"/?{query}&per_page=1000"))


def read(client: TestClient, ending: str, query: str, screen: Screen) -> Read:
    answer = client.get(f"/view.{ending}?{query}")
    assert answer.status_code == 200, answer.text[:500]
    assert answer.headers["content-type"] == TYPES[ending]
    return READERS[ending](answer.content, screen)


# ---------------------------------------------------------------- the same as on the page


def differences(screen: Screen, read: Read, *, ending: str) -> list[tuple[int, str, Seen, Any]]:
    """Return each cell that does not hold what the page shows, and fail where rows or columns differ.

    A file without signs may have one column more, which is true of the rows that have a sign on the page.
    """
    if len(read.names) == len(screen.headings) + 1 and read.names[-1] in FLOORS and ending != "md":
        signed = [any(seen.text.startswith(LEAST) for seen in row) for row in screen.rows]
        assert [row[-1] for row in read.rows] == signed
        read = Read(names=read.names[:-1], rows=[row[:-1] for row in read.rows])
    assert len(read.names) == len(screen.headings)
    assert [len(row) for row in read.rows] == [len(row) for row in screen.rows]
    same = same_words if ending == "md" else same_value
    return [
        (number, name, seen, value)
        for number, (shown, row) in enumerate(zip(screen.rows, read.rows, strict=True))
        for name, seen, value in zip(read.names, shown, row, strict=True)
        if not same(seen, value, ending)
    ]


def same_value(seen: Seen, value: Any, ending: str) -> bool:
    if seen.is_unknown or value is None:
        return seen.is_unknown and value is None
    if seen.number is not None:
        return same_number(seen, value, exact=ending != "xlsx")
    if isinstance(value, bool):
        return seen.text == ("yes" if value else "no")
    if isinstance(value, date):
        return seen.text == value.isoformat()
    wanted = one_line(seen.href) if seen.href is not None else seen.text
    if ending in {"csv", "tsv"} and wanted.startswith(FORMULA_STARTS):
        wanted = f"'{wanted}"
    return bool(value.rstrip(" ") == wanted)


def same_number(seen: Seen, value: Any, *, exact: bool) -> bool:
    """Tell whether a number is that of the page, and rounds to what the page shows."""
    assert seen.number is not None
    wanted = float(seen.number)
    if isinstance(value, bool | str) or abs(value - wanted) > (0 if exact else abs(wanted) * 1e-15):
        return False
    text = seen.text.removeprefix(LEAST).replace(",", "")
    places = Decimal(1).scaleb(-len(text.partition(".")[2]))
    return Decimal(repr(value)).quantize(places, ROUND_HALF_UP) == Decimal(text)


def same_words(seen: Seen, value: Any, _ending: str) -> bool:
    wanted = seen.text
    if seen.warnings:
        wanted += f" ({', '.join(seen.warnings)})"
    if seen.href is not None:
        wanted = f"[{wanted}](<{quote(seen.href, safe='/:?=&%#')}>)"
    return bool(value == wanted)


def same_headings(screen: Screen, names: Sequence[str]) -> bool:
    """Tell whether headings with label and unit say all that the page's headings say."""
    return all(
        set(re.findall(r"[^\s,()]+", heading)) <= set(re.findall(r"[^\s,()]+", name))
        for heading, name in zip(screen.headings, names, strict=True)
    )
