"""A price written as "from" in a chart as a reader meets it: hollow, in the legend, said when pointed at."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Visit, open_context, scrolls_sideways, visiting

PAGE = "/charts/bars?gpu=b200&sort=usd_per_gpu_hour"
BARS = """() => {
    const place = document.querySelector("[data-figure]");
    return place.data.flatMap((trace, at) => {
        const paths = place.querySelectorAll(".barlayer .trace")[at].querySelectorAll("path");
        return [...paths].map((path) => {
            const look = getComputedStyle(path);
            const { height } = path.getBoundingClientRect();
            return { name: trace.name, filled: Number(look.fillOpacity) > 0, edge: look.stroke, height };
        });
    });
}"""


@pytest.fixture(params=["light", "dark"])
def seen(request: pytest.FixtureRequest, browser: Browser, base: str, width: int) -> Iterator[Visit]:
    """A page in light or dark."""
    context = open_context(browser, width, scheme=request.param)
    with visiting(context, base) as visited:
        yield visited
    context.close()


def test_a_floor_is_hollow_in_light_and_dark_and_says_at_least(seen: Visit) -> None:
    """Of the market's four B200 one, that of "odd", is written as from $4.00."""
    seen.go(PAGE)
    expect(seen.page.locator("[data-figure]")).to_have_attribute("data-drawn", "yes")
    bars = seen.page.evaluate(BARS)
    assert sorted((each["name"], each["filled"]) for each in bars) == [
        *[("B200 SXM 180 GB", True)] * 3,
        ("B200 SXM 180 GB, at least", False),
    ]
    hollow = bars[-1]
    assert hollow["edge"] == "rgb(0, 114, 178)"
    assert all(abs(each["height"] - hollow["height"]) < 4 for each in bars), "it has its card's whole place"
    expect(seen.page.locator(".legendtext")).to_have_text(["B200 SXM 180 GB", "B200 SXM 180 GB, at least"])
    seen.page.locator("[data-figure]").scroll_into_view_if_needed()
    seen.page.locator(".barlayer .trace").nth(1).locator("path").hover(force=True)
    expect(seen.page.locator(".hoverlayer")).to_contain_text("odd: at least 4.000 $/GPU-h")
    seen.shoot("floors")
    assert not scrolls_sideways(seen.page)


def test_without_scripts_the_words_and_the_table_say_it(plain_visit: Visit) -> None:
    plain_visit.go(PAGE)
    expect(plain_visit.page.locator("p.summary").last).to_contain_text("from")
    cell = plain_visit.page.locator("tbody tr", has_text="odd").locator("td a").first
    expect(cell).to_have_text("\N{GREATER-THAN OR EQUAL TO} 4.00")
