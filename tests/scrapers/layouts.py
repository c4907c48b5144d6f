"""The same groups of rows in thirteen layouts, as price pages have them: tables, lists, cards, data."""

from __future__ import annotations

import json
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.scrapers.facts import Group


def page(body: str) -> str:
    return f"<!doctype html><html><head><title>Pricing from $1.00</title></head><body>{body}</body></html>"


def with_headings(groups: Sequence[Group], render: Callable[[Group], str]) -> str:
    """Print each heading where it changes, from the second level on, and each group below."""
    parts: list[str] = []
    above: tuple[str, ...] = ()
    for group in groups:
        path = (*group.headings, group.tab) if group.tab else group.headings
        same = 0
        while same < min(len(path), len(above)) and path[same] == above[same]:
            same += 1
        parts += [
            f"<h{level + 2}>{escape(path[level])}</h{level + 2}>"
            for level in range(same if same < len(path) else len(path) - 1, len(path))
        ]
        parts.append(render(group))
        above = path
    return "".join(parts)


def real_table(group: Group) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in group.titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in group.rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p>All prices are list prices.</p>{table}"


def real_tables(groups: Sequence[Group]) -> str:
    return page(with_headings(groups, real_table))


def tabbed_tables(groups: Sequence[Group]) -> str:
    """Print the tabs of neighbouring groups as buttons before their tables, all but the first one hidden."""
    parts = []
    for is_tabbed, some in groupby(groups, key=lambda group: bool(group.tab)):
        held = list(some)
        if not is_tabbed:
            parts.append(with_headings(held, real_table))
            continue
        parts.append(f"<h2>{held[0].headings[0]}</h2><div role='tablist'>")
        parts += [f"<button id='tab-{group.tab}'>{group.tab}</button>" for group in held]
        parts.append("</div>")
        parts += [
            f"<div role='tabpanel'{' hidden' if number else ''}>{real_table(group)}</div>"
            for number, group in enumerate(held)
        ]
    return page("".join(parts))


def div_grid(group: Group) -> str:
    def line(cells: Sequence[str], name: str) -> str:
        inner = "".join(f"<div class='x1'><span><p>{escape(cell)}</p></span></div>" for cell in cells)
        return f"<div class='{name}'><div class='x0'>{inner}</div></div>"

    body = "".join(line(row, "x2") for row in group.rows)
    return f"<div class='x5'><div class='x4'>{line(group.titles, 'x3')}</div><div>{body}</div></div>"


def div_grids(groups: Sequence[Group]) -> str:
    return page(with_headings(groups, div_grid))


def flat_grid(group: Group) -> str:
    cells = [*group.titles, *(cell for row in group.rows for cell in row)]
    return "<div class='grid'>" + "".join(f"<div>{escape(cell)}</div>" for cell in cells) + "</div>"


def flat_grids(groups: Sequence[Group]) -> str:
    return page(with_headings(groups, flat_grid))


def definition_list(group: Group) -> str:
    return "".join(
        f"<section><h5>{escape(row[0])}</h5><dl>"
        + "".join(
            f"<dt>{escape(title)}</dt><dd>{escape(cell)}</dd>"
            for title, cell in zip(group.titles[1:], row[1:], strict=True)
        )
        + "</dl></section>"
        for row in group.rows
    )


def definition_lists(groups: Sequence[Group]) -> str:
    return page(with_headings(groups, definition_list))


def card(group: Group) -> str:
    cards = "".join(
        f"<div class='c1'><div class='c2'><p>{escape(row[0])}</p></div><ul>"
        + "".join(
            f"<li><span>{escape(title)}</span> <b>{escape(cell)}</b></li>" if number % 2 else
            f"<li><div>{escape(title)}</div><div>{escape(cell)}</div></li>"
            for number, (title, cell) in enumerate(zip(group.titles[1:], row[1:], strict=True))
        )
        + "</ul><a href='#'>Get started</a></div>"
        for row in group.rows
    )  # fmt: skip
    return f"<p>Pick what fits your work.</p><div class='cards'>{cards}</div>"


def cards(groups: Sequence[Group]) -> str:
    return page(with_headings(groups, card))


def heading_with_prices(group: Group) -> str:
    return "".join(
        f"<h6>{escape(row[0])}</h6>"
        + "".join(
            f"<p>{escape(title)}: <strong>{escape(cell)}</strong></p>"
            for title, cell in zip(group.titles[1:], row[1:], strict=True)
        )
        for row in group.rows
    )


def headings_with_prices(groups: Sequence[Group]) -> str:
    return page(with_headings(groups, heading_with_prices))


def markdown_table(group: Group) -> str:
    lines = [group.titles, ["---"] * len(group.titles), *group.rows]
    return "\n".join("| " + " | ".join(line).replace("$", "\\$") + " |" for line in lines)


def markdown(groups: Sequence[Group]) -> str:
    parts = ["# Pricing", "All prices are list prices, see the [plans](/plans).", ""]
    for group in groups:
        path = (*group.headings, group.tab) if group.tab else group.headings
        parts += [*(f"{'#' * level} {text}" for level, text in enumerate(path, start=2)), ""]
        parts += [markdown_table(group), "", "**Billed** while it runs.", ""]
    return "\n".join(parts)


def next_data_html(groups: Sequence[Group]) -> str:
    """Put rendered HTML into a string of the page's data, with an empty page around it."""
    inner = with_headings(groups, real_table)
    data = json.dumps({"props": {"pageProps": {"post": {"body": inner, "id": 7}}}, "buildId": "x"})
    return page(
        f"<div id='__next'></div><script id='__NEXT_DATA__' type='application/json'>{_safe(data)}</script>"
    )


def next_data_rows(groups: Sequence[Group]) -> str:
    """Put titles beside rows into the page's data."""
    sections = [
        {"heading": (*group.headings, group.tab or "")[-2 if not group.tab else -1],
         "columns": list(group.titles), "rows": [list(row) for row in group.rows]}
        for group in groups
    ]  # fmt: skip
    data = json.dumps({"props": {"pageProps": {"sections": sections}}})
    return page(f"<main></main><script id='__NEXT_DATA__' type='application/json'>{_safe(data)}</script>")


def flight(groups: Sequence[Group]) -> str:
    """Stream the page as React elements, one section to a row, the rows cut anywhere into chunks."""
    lines = []
    for number, group in enumerate(groups, start=2):
        path = (*group.headings, group.tab) if group.tab else group.headings
        heads = [
            ["$", f"h{level}", None, {"children": _doubled(text)}] for level, text in enumerate(path, start=2)
        ]
        titles = ["$", "tr", None, {"children": [_cell("th", title) for title in group.titles]}]
        body = [
            ["$", "tr", str(place), {"children": [_cell("td", cell) for cell in row]}]
            for place, row in enumerate(group.rows)
        ]
        table = ["$", "table", None, {"className": "w-full", "children": [
            ["$", "thead", None, {"children": titles}], ["$", "tbody", None, {"children": body}],
        ]}]  # fmt: skip
        lines.append(f"{number:x}:{json.dumps(['$', '$L1', None, {'children': [*heads, table]}])}\n")
    payload = '1:I[123,["static/chunks/1.js"],"Section"]\n0:T1b,A text with a $9.99 in it.\n' + "".join(lines)
    chunks = [payload[start : start + 700] for start in range(0, len(payload), 700)]
    scripts = "".join(
        f"<script>self.__next_f.push([1,{_safe(json.dumps(chunk))}])</script>" for chunk in chunks
    )
    return page(f"<div hidden></div>{scripts}")


def _cell(tag: str, text: str) -> list[object]:
    return ["$", tag, text, {"children": ["$", "span", None, {"children": _doubled(text)}]}]


def _doubled(text: str) -> str:
    return f"${text}" if text.startswith("$") else text


def _safe(data: str) -> str:
    return data.replace("<", "\\u003c")


def messy_table(group: Group) -> str:
    """Print a table with a row of spanning titles, columns of buttons, hidden copies, and marks in texts."""
    width = len(group.titles)
    first = f"<th rowspan='2'>{escape(group.titles[0])}</th>"
    top = f"<tr>{first}<th colspan='{width - 1}'>List prices</th><th></th></tr>"
    low = "".join(f"<th>{escape(title)}</th>" for title in group.titles[1:]) + "<th>Actions</th>"
    lines = [
        "<tr>" + "".join(f"<td>{_marked(cell)}</td>" for cell in row)
        + "<td><button>Get started</button><span class='sr-only'>from $1.00</span></td></tr>"
        for row in group.rows
    ]  # fmt: skip
    hidden = [line.replace("<tr>", "<tr style='display: none'>") for line in lines]
    body = "".join([*lines, *hidden])
    return f"<table><thead>{top}<tr>{low}</tr></thead><tbody>{body}</tbody></table>"


def _marked(text: str) -> str:
    """Put comments inside numbers as frameworks do, and white space around."""
    return "\n  " + escape(text).replace("$", "$<!-- -->").replace(".", "<!-- -->.") + " \u00a0"


def messy_tables(groups: Sequence[Group]) -> str:
    return page(with_headings(groups, messy_table))


def linked_data(groups: Sequence[Group]) -> str:
    """Give each row as a product of JSON-LD: prices as offers, everything else as properties."""
    products = []
    for group in groups:
        for row in group.rows:
            pairs = list(zip(group.titles[1:], row[1:], strict=True))
            prices = [(title, cell) for title, cell in pairs if cell.startswith("$")]
            products.append({
                "@type": "Product", "name": row[0],
                "category": group.tab or group.headings[-1],
                "additionalProperty": [
                    {"@type": "PropertyValue", "name": title, "value": cell}
                    for title, cell in pairs if not cell.startswith("$")
                ],
                "offers": [_offer(title, cell) for title, cell in prices],
            })  # fmt: skip
    data = json.dumps({"@context": "https://schema.org", "@graph": products})
    return page(f"<script type='application/ld+json'>{_safe(data)}</script>")


def _offer(title: str, cell: str) -> dict[str, object]:
    figure, _, unit = cell.removeprefix("$").partition("/")
    asked = {"name": title, "price": figure.strip(), "priceCurrency": "USD"}
    return {"@type": "Offer", "priceSpecification": asked | ({"unitText": f" /{unit}"} if unit else {})}


LAYOUTS: dict[str, Callable[[Sequence[Group]], str]] = {
    one.__name__: one
    for one in (
        real_tables, tabbed_tables, div_grids, flat_grids, definition_lists, cards, headings_with_prices,
        markdown, next_data_html, next_data_rows, flight, messy_tables, linked_data,
    )
}  # fmt: skip
