"""The table as people live in it: conditions, several orders, units, views with names, ticked cards."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.conftest import Visit, scrolls_sideways
from tests.browser.test_board import rows_of

BOX = "document.querySelector('{}').getBoundingClientRect()"


def top_of(visit: Visit, selector: str) -> float:
    return float(visit.page.evaluate(f"{BOX.format(selector)}.top"))


def condition(visit: Visit, column: str) -> Locator:
    return visit.page.locator(f"#where-{column}")


def total(visit: Visit) -> Locator:
    return visit.page.locator(".summary strong")


def focused(visit: Visit) -> str:
    return str(visit.page.evaluate("document.activeElement.id"))


def test_a_condition_keeps_rows_focus_and_place(visit: Visit) -> None:
    visit.go("/")
    place, everything = top_of(visit, "table.board"), total(visit).inner_text()
    box = condition(visit, "usd_per_gpu_hour")
    box.fill("<4")
    box.press("Enter")
    expect(total(visit)).not_to_have_text(everything)
    assert visit.path() == "/?where.usd_per_gpu_hour=%3C4"
    assert visit.ids() == rows_of(visit) != []
    assert focused(visit) == "where-usd_per_gpu_hour"
    assert top_of(visit, "table.board") == place
    shown = visit.page.eval_on_selector_all(
        "tbody tr[id^=o]", "rows => rows.map(row => Number(row.querySelectorAll('td.n')[0].dataset.value))"
    )
    assert all(usd < 4 for usd in shown)
    box.fill("")
    box.blur()
    expect(total(visit)).to_have_text(everything)
    assert visit.path() == "/"


def test_a_wrong_condition_says_what_would_be_right(visit: Visit) -> None:
    visit.go("/")
    condition(visit, "usd_per_gpu_hour").fill("cheap")
    condition(visit, "usd_per_gpu_hour").press("Enter")
    expect(visit.page.locator("h1")).to_contain_text("where.usd_per_gpu_hour")
    expect(visit.page.locator("#board")).to_contain_text("no number")


def test_shift_sorts_by_a_second_column(visit: Visit) -> None:
    visit.go("/?sort=accelerator")
    visit.page.locator("#by-usd_per_gpu_hour").click(modifiers=["Shift"])
    expect(visit.page.locator("th[aria-sort]:not([aria-sort=none])")).to_have_count(2)
    assert visit.path() == "/?sort=accelerator%2Cusd_per_gpu_hour"
    assert visit.ids() == rows_of(visit)
    expect(visit.page.locator("th:has(#by-usd_per_gpu_hour) sup")).to_have_text("2")
    visit.page.locator("#by-usd_per_gpu_hour").focus()
    visit.page.keyboard.press("Shift+Enter")
    expect(visit.page.locator("th:has(#by-usd_per_gpu_hour)")).to_have_attribute("aria-sort", "descending")
    assert visit.path() == "/?sort=accelerator%2C-usd_per_gpu_hour"
    assert focused(visit) == "by-usd_per_gpu_hour"
    assert visit.ids() == rows_of(visit)
    visit.page.locator("#by-usd_per_gpu_hour").click()
    expect(visit.page.locator("th[aria-sort]:not([aria-sort=none])")).to_have_count(1)


def test_units_change_headings_and_figures(visit: Visit) -> None:
    visit.go("/?gpu=h200-sxm&q=runpod&pricing=on_demand&service=pod")
    price = visit.page.locator("tbody tr[id^=o] td.n").first
    hourly = float(price.get_attribute("data-value") or 0)
    visit.page.locator("#menu-units > summary").click()
    visit.page.locator("#menu-units select[name=period]").select_option("month")
    expect(visit.page.locator("#by-usd_per_gpu_hour")).to_have_text("$/GPU-month")
    assert float(price.get_attribute("data-value") or 0) == round(hourly * 730, 6)
    expect(visit.page.locator("#menu-units > summary .count")).to_have_text("1")
    assert visit.path().endswith("&period=month&q=runpod")


def test_a_column_moves_forward(visit: Visit) -> None:
    visit.go("/")
    first = [head.split("\n")[0] for head in visit.page.locator("thead tr:first-child th").all_inner_texts()][
        1:
    ]
    visit.page.locator("#menu-columns > summary").click()
    visit.page.get_by_role("link", name="Move GPU forward").click()
    expect(visit.page.locator("thead tr:first-child th").nth(1)).to_contain_text("GPU")
    moved = [head.split("\n")[0] for head in visit.page.locator("thead tr:first-child th").all_inner_texts()][
        1:
    ]
    assert moved == [first[1], first[0], *first[2:]]
    expect(visit.page.locator("#menu-columns fieldset")).to_be_visible()


def test_ticked_cards_are_compared(visit: Visit) -> None:
    visit.go("/?as_of=2026-11-19&q=runpod&precision=bf16")
    for card in ("h100-sxm", "b200-sxm"):
        visit.page.locator(f'input[form=picks][value="{card}"]').first.check()
    button = visit.page.locator("#picks button")
    expect(button).to_have_text("Compare 2 ticked cards")
    button.click()
    expect(visit.page).to_have_url(re.compile(r"/compare\?"))
    assert {"gpu=h100-sxm", "gpu=b200-sxm", "as_of=2026-11-19", "precision=bf16"} <= set(
        visit.path().partition("?")[2].split("&")
    )
    expect(visit.page.locator("table thead")).to_contain_text("B200")


def test_views_with_a_name_stay_in_this_browser(visit: Visit) -> None:
    visit.go("/?gpu=h200&period=month")
    visit.page.locator("#menu-views > summary").click()
    visit.page.get_by_label("Name of this view").fill("H200 by the month")
    visit.page.get_by_label("Name of this view").press("Enter")
    link = visit.page.get_by_role("link", name="H200 by the month")
    expect(link).to_be_visible()
    visit.go("/")
    visit.page.locator("#menu-views > summary").click()
    visit.page.get_by_role("link", name="H200 by the month").click()
    expect(visit.page.locator("#by-usd_per_gpu_hour")).to_have_text("$/GPU-month")
    assert visit.path() == "/?gpu=h200&period=month"
    visit.page.locator("#menu-views > summary").click()
    visit.page.get_by_role("button", name="Forget H200 by the month").click()
    expect(visit.page.locator("#menu-views li")).to_have_count(0)
    assert visit.page.evaluate("localStorage.getItem('inferprice-views')") == "[]"


def test_a_row_is_copied_with_its_headings(visit: Visit) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.go("/?q=runpod&gpu=b200-sxm")
    row = visit.page.locator("tbody tr[id^=o]").first
    row.locator("td.open a").click()
    visit.page.locator("button.copy-row").click()
    expect(visit.page.locator("button.copy-row")).to_have_class(re.compile("copied"))
    heads, cells = str(visit.page.evaluate("navigator.clipboard.readText()")).split("\n")
    assert heads.split("\t")[:3] == ["Provider", "GPU", "$/GPU-h"]
    assert cells.split("\t")[0] == "RunPod"
    assert len(heads.split("\t")) == len(cells.split("\t")) == row.locator("td:not(.open)").count()


def test_head_and_first_column_stay_in_sight(visit: Visit) -> None:
    visit.go("/?per_page=100")
    visit.page.locator(".scroll").evaluate("box => box.scrollTo(400, 300)")
    for selector, side in (("thead tr.where td:nth-child(2)", "top"), ("thead th:nth-child(2)", "left")):
        cell = visit.page.evaluate(f"{BOX.format(selector)}.{side}")
        frame = visit.page.evaluate(f"{BOX.format('.scroll')}.{side}")
        assert frame <= cell <= frame + 100, (selector, side, cell, frame)
    row = "tbody tr[id^=o]:nth-of-type(12) td:nth-child(2)"
    assert visit.page.evaluate(f"{BOX.format(row)}.left") == visit.page.evaluate(
        f"{BOX.format('thead th:nth-child(2)')}.left"
    )
    assert not scrolls_sideways(visit.page)


def test_compact_rows_are_lower(visit: Visit) -> None:
    height = "document.querySelector('tbody tr[id^=o]').getBoundingClientRect().height"
    visit.go("/?gpu=b200-sxm&columns=usd_per_gpu_hour")
    normal = visit.page.evaluate(height)
    visit.go("/?gpu=b200-sxm&columns=usd_per_gpu_hour&density=compact")
    assert visit.page.evaluate(height) < normal
