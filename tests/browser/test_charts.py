"""Charts in a real browser: drawn under our policy, still in place, a picture away, never in the cloud."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from app.web.main import create_app
from benchmarks.made_history import CARD, DAYS, SERIES, fill_history
from tests.browser.conftest import ContextOf, Visit, open_context, scrolls_sideways, visiting
from tests.conftest import Tell
from tests.web.conftest import settings_for
from tests.web.server import listening

PAGES = (
    "/history?gpu=h100-sxm",
    "/history?gpu=h100-sxm&provider=runpod&quote=Hale|h100-sxm|2.10|8x+1y",
    "/charts/scatter?pricing=on_demand",
    "/charts/bars?pricing=on_demand",
    "/gpus/b200-sxm",
)
PLAIN_PAGES = ("/gpus", "/providers", "/providers/runpod", "/methodology", "/about-data")


def drawn(visit: Visit, path: str) -> None:
    visit.go(path)
    places = visit.page.locator("[data-figure]")
    for number in range(places.count()):
        expect(places.nth(number)).to_have_attribute("data-drawn", "yes")


@pytest.mark.parametrize("path", PAGES)
def test_a_chart_is_drawn_and_nothing_complains(visit: Visit, path: str) -> None:
    drawn(visit, path)
    assert visit.page.locator("[data-figure] .main-svg").count() >= 1
    assert not scrolls_sideways(visit.page)


def test_there_is_no_way_to_the_cloud(visit: Visit) -> None:
    drawn(visit, PAGES[0])
    titles = visit.page.eval_on_selector_all(
        ".modebar-btn",
        "buttons => buttons.map(each => each.dataset.title || each.getAttribute('data-title'))",
    )
    assert titles
    assert not [title for title in titles if "loud" in (title or "") or "lotly" in (title or "")]


def test_the_picture_and_the_data_are_one_click_away(visit: Visit) -> None:
    drawn(visit, PAGES[0])
    with visit.page.expect_download() as waited:
        visit.page.get_by_role("button", name="PNG", exact=True).click()
    assert waited.value.suggested_filename == "inferprice-history-h100-sxm.png"
    picture = waited.value.path().read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 5_000, "it shows something"
    href = visit.page.locator(".chart-out a", has_text="CSV").get_attribute("href")
    assert href == "/history.csv?gpu=h100-sxm"


def test_a_line_has_as_many_parts_as_there_were_readings(visit: Visit) -> None:
    """RunPod was read three times with weeks between: its line has three parts, and none joins them."""
    drawn(visit, PAGES[0])
    index = visit.page.evaluate(
        "document.querySelector('[data-figure]').data.findIndex(trace => trace.name === 'RunPod')"
    )
    line = visit.page.locator("[data-figure] .scatterlayer .trace").nth(index)
    expect(line.locator(".lines path")).to_have_count(3)


def test_a_chart_has_the_pages_colours_and_follows_the_system(scheme_visit: Visit) -> None:
    drawn(scheme_visit, PAGES[1])
    ground = "getComputedStyle(document.body).backgroundColor"
    paper = "getComputedStyle(document.querySelector('[data-figure] .main-svg')).backgroundColor"
    before = scheme_visit.page.evaluate(ground)
    assert scheme_visit.page.evaluate(paper) == before
    other = "dark" if before == "rgb(255, 255, 255)" else "light"
    scheme_visit.page.emulate_media(color_scheme=other)
    after = scheme_visit.page.evaluate(ground)
    assert after != before
    scheme_visit.page.wait_for_function(f"() => {paper} === {ground}")


def test_a_figure_that_cannot_be_had_is_said_and_the_table_stays(context: ContextOf, base: str) -> None:
    with visiting(context(1280, scripts=True), base) as visited:
        visited.page.route("**/figures/**", lambda route: route.fulfill(status=503, body="{}"))
        visited.go(PAGES[0])
        expect(visited.page.locator("[data-figure]")).to_contain_text("The table below has the same numbers")
        expect(visited.page.locator("table.offers tbody tr").first).to_be_visible()


@pytest.mark.parametrize("path", [*PAGES, *PLAIN_PAGES])
def test_pages_work_without_scripts(plain_visit: Visit, path: str) -> None:
    plain_visit.go(path)
    expect(plain_visit.page.locator("h1")).to_be_visible()
    expect(plain_visit.page.locator("table.offers tbody tr").first).to_be_visible()
    assert plain_visit.page.locator(".chart:visible").count() == 0
    assert not scrolls_sideways(plain_visit.page)
    plain_visit.shoot(f"plain{path.partition('?')[0].replace('/', '-')}")


def test_choose_a_history_with_the_form(plain_visit: Visit) -> None:
    page = plain_visit.page
    plain_visit.go("/history")
    page.locator("select[name=gpu]").select_option("b200-sxm")
    page.locator("select[name=metric]").select_option("usd_per_tbs_hour")
    page.locator("input[name=from]").fill("2026-11-10")
    page.get_by_role("button", name="Show").click()
    assert plain_visit.path() == "/history?gpu=b200-sxm&metric=usd_per_tbs_hour&from=2026-11-10"
    expect(page.locator("h1")).to_have_text("B200 SXM 180 GB: bandwidth price over time")
    page.locator("#menu-provider summary").press("Enter")
    page.get_by_role("checkbox", name="RunPod").press("Space")
    assert not scrolls_sideways(page)
    page.get_by_role("button", name="Show").click()
    address = "/history?gpu=b200-sxm&metric=usd_per_tbs_hour&provider=runpod&from=2026-11-10"
    assert plain_visit.path() == address
    expect(page.locator("table.offers tbody a", has_text="RunPod").first).to_be_visible()
    expect(page.locator("table.offers tbody a", has_text="Nebius")).to_have_count(0)


def test_a_quote_is_drawn_level_over_the_whole_time_that_is_shown(visit: Visit) -> None:
    drawn(visit, "/history?gpu=h100-sxm&quote=Hale|h100-sxm|2.10")
    own, others = visit.page.evaluate(
        """() => {
            const all = document.querySelector("[data-figure]").data;
            const times = traces => traces.flatMap(trace => trace.x).filter(each => each).sort();
            const mine = trace => trace.name === "yours: Hale";
            return [all.find(mine), times(all.filter(trace => !mine(trace)))];
        }"""
    )
    assert own["y"] == [2.1, 2.1]
    assert own["x"] == [others[0], others[-1]]


WATCH = """
    addEventListener("DOMContentLoaded", () => {
        const place = document.querySelector("[data-figure]");
        new MutationObserver(() => requestAnimationFrame(() => {
            const all = performance.getEntriesByType("resource");
            const got = all.find(each => each.name.includes("/figures/"));
            window.drawn_in_ms = performance.now() - got.responseEnd;
        })).observe(place, { attributeFilter: ["data-drawn"] });
    });
"""


def test_a_long_history_of_many_lines_is_drawn_whole(browser: Browser, tmp_path: Path, tell: Tell) -> None:
    """400 days of 50 lines that turn every day, but for their gaps; how long it took is printed."""
    url = fill_history(tmp_path / "history.db")
    with listening(create_app(settings_for(url))) as address:
        context = open_context(browser, 1280)
        context.add_init_script(WATCH)
        with visiting(context, address) as visited:
            drawn(visited, f"/history?gpu={CARD}")
            visited.page.wait_for_function("window.drawn_in_ms > 0")
            took_ms = visited.page.evaluate("window.drawn_in_ms")
            lines = visited.page.locator("[data-figure] .scatterlayer .trace")
            expect(lines).to_have_count(SERIES)
            points, parts = visited.page.evaluate(
                """() => {
                    const traces = document.querySelector("[data-figure]").data;
                    const count = found => traces.reduce((sum, trace) => sum + found(trace.x), 0);
                    return [count(x => x.length), count(x => 1 + x.filter(each => each === null).length)];
                }"""
            )
            assert visited.page.locator("[data-figure] .lines path").count() == parts > SERIES * 5
        context.close()
    said = f"{DAYS} days, {SERIES} lines, {points:,} points: drawn {took_ms:.0f} ms after the answer"
    tell(said)
