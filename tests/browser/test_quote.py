"""The forms of one's own prices in a browser: without scripts, at each width, in light and dark."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import SIZES, Visit, complaints, scrolls_sideways
from tests.browser.test_accessibility import violations

WRONG = (
    "/quote?gpu=h100&quote_name=&quote_accelerator=x&quote_usd_per_gpu_hour=two&quote_terms=8+cards&own_name="
)
OWN = "quote=Hale|h100-sxm|2.10|8x+1y&own=Rig|h200-sxm|40000|4|1200|0.12|60%25"
PATHS = (
    "/quote",
    WRONG,
    *(
        f"{path}?{OWN}"
        for path in ("/quote", "/", "/compare", "/charts/scatter", "/charts/bars", "/history", "/offers/-2")
    ),
    f"/?gpu=b200&{OWN}",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_axe_finds_nothing_and_the_page_does_not_scroll_sideways(
    browser: Browser, base: str, axe: str, *, scheme: str, width: int
) -> None:
    context = browser.new_context(viewport=SIZES[width], color_scheme=scheme, bypass_csp=True)  # type: ignore[arg-type]  # plain values will do
    context.add_init_script(axe)
    page = context.new_page()
    found = []
    for path in PATHS:
        page.goto(base + path)
        found += [f"{path} {each}" for each in violations(page)]
        found += [f"{path} is wider than the window"] if scrolls_sideways(page) else []
    context.close()
    assert found == []


def test_a_quote_and_hardware_are_added_without_scripts(plain_visit: Visit) -> None:
    page = plain_visit.page
    plain_visit.go("/?gpu=h200&sort=usd_per_gpu_hour")
    page.get_by_role("link", name="Add my quote").click()
    page.locator("#quote_name").fill("Hale")
    page.locator("#quote_usd_per_gpu_hour").fill("2,1,0")
    page.get_by_role("button", name="Add my quote").click()
    # Both wrong fields say so, the first of them has the keyboard, and what was typed is still there.
    expect(page.locator("#quote_accelerator-error")).to_have_text("this has to be filled in")
    expect(page.locator("#quote_usd_per_gpu_hour-error")).to_have_text("'2,1,0' is no number as 1,200 or 0.5")
    expect(page.locator("#quote_accelerator")).to_be_focused()
    expect(page.locator("#quote_name")).to_have_value("Hale")
    page.locator("#quote_accelerator").select_option("h200-sxm")
    page.locator("#quote_usd_per_gpu_hour").fill("2.10")
    page.locator("#quote_usd_per_gpu_hour").press("Enter")
    assert plain_visit.path() == "/?gpu=h200&sort=usd_per_gpu_hour&quote=Hale%7Ch200-sxm%7C2.1"
    assert plain_visit.ids()[0] == "o-1"
    page.get_by_role("link", name="Add my quote").click()
    for part, text in {
        "name": "Rig",
        "price_usd": "40000",
        "lifetime_years": "4",
        "power_w": "1200",
        "usd_per_kwh": "0.12",
        "utilisation": "60%",
    }.items():
        page.locator(f"#own_{part}").fill(text)
    page.locator("#own_accelerator").select_option("h200-sxm")
    page.get_by_role("button", name="Add my hardware").click()
    # 40,000 / (4 x 8,760 x 0.6) + 1.2 x 0.12 is 2.05, five cents below the quote.
    assert plain_visit.ids()[:2] == ["o-2", "o-1"]
    plain_visit.shoot("own")
    page.get_by_role("link", name="take away Hale").click()
    assert plain_visit.ids()[0] == "o-1"
    assert page.locator(".own-figures strong").all_text_contents() == ["Rig"]


def test_a_star_in_ink_marks_a_quote_in_the_chart(visit: Visit) -> None:
    visit.go(f"/charts/scatter?{OWN}")
    expect(visit.page.locator("[data-figure][data-drawn=yes]")).to_have_count(1)
    own = visit.page.evaluate(
        """() => document.querySelector("[data-figure]").data
        .filter((each) => each.name.startsWith("yours: "))
        .map((each) => [each.name, each.marker.symbol, each.marker.color])"""
    )
    ink = visit.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()")
    assert own == [["yours: Rig", "hexagram", ink], ["yours: Hale", "hexagram", ink]]
    assert complaints(visit.said) == []
