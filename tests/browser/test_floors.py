"""A price written as "from" in a chart as a reader meets it: hollow, in the legend, said when pointed at."""

from playwright.sync_api import expect

from tests.browser.conftest import Visit, scrolls_sideways

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


def test_a_floor_is_hollow_in_light_and_dark_and_says_at_least(scheme_visit: Visit) -> None:
    """Of the market's four B200 one, that of "odd", is written as from $4.00."""
    scheme_visit.go(PAGE)
    expect(scheme_visit.page.locator("[data-figure]")).to_have_attribute("data-drawn", "yes")
    bars = scheme_visit.page.evaluate(BARS)
    assert sorted((each["name"], each["filled"]) for each in bars) == [
        *[("B200 SXM 180 GB", True)] * 3,
        ("B200 SXM 180 GB, at least", False),
    ]
    hollow = bars[-1]
    assert hollow["edge"] == "rgb(0, 114, 178)"
    assert all(abs(each["height"] - hollow["height"]) < 4 for each in bars), "it has its card's whole place"
    legend = ["B200 SXM 180 GB", "B200 SXM 180 GB, at least"]
    expect(scheme_visit.page.locator(".legendtext")).to_have_text(legend)
    scheme_visit.page.locator("[data-figure]").scroll_into_view_if_needed()
    scheme_visit.page.locator(".barlayer .trace").nth(1).locator("path").hover(force=True)
    expect(scheme_visit.page.locator(".hoverlayer")).to_contain_text("odd: at least 4.000 $/GPU-h")
    scheme_visit.shoot("floors")
    assert not scrolls_sideways(scheme_visit.page)


def test_without_scripts_the_words_and_the_table_say_it(plain_visit: Visit) -> None:
    plain_visit.go(PAGE)
    expect(plain_visit.page.locator("p.summary").last).to_contain_text("from")
    cell = plain_visit.page.locator("tbody tr", has_text="odd").locator("td a").first
    expect(cell).to_have_text("\N{GREATER-THAN OR EQUAL TO} 4.00")
