"""People at a desk and on a telephone: sort, filter, go back in time, look behind a row, share."""

import json
import re
from urllib.request import ProxyHandler, build_opener

from playwright.sync_api import Browser, Locator, Route, expect

from app.domain.columns import COLUMNS
from tests.browser.conftest import Visit, open_context, scrolls_sideways


def rows_of(visit: Visit, path: str | None = None) -> list[str]:
    """Ask the JSON of the same address which rows must show, outside the browser."""
    address = visit.base + "/offers.json" + (visit.path() if path is None else path).removeprefix("/")
    paging = "per_page=100&page=1" if "page=" not in address else ""
    joined = address + ("&" if "?" in address else "?") + paging if paging else address
    with build_opener(ProxyHandler({})).open(joined) as answer:
        return [f"o{row['offer_id']}" for row in json.load(answer)["rows"]]


def sort_link(visit: Visit, label: str) -> Locator:
    """Find a column's sort link; the arrow of the one sorted by belongs to its name."""
    return visit.page.locator("thead a", has_text=label)


def test_sort_by_a_header_and_turn_it_round(visit: Visit) -> None:
    visit.go("/")
    assert visit.ids() == rows_of(visit)
    visit.shoot("board")
    for direction, address in (
        ("ascending", "/?sort=usd_per_gpu_hour"),
        ("descending", "/?sort=-usd_per_gpu_hour"),
    ):
        sort_link(visit, "$/GPU-h").click()
        expect(visit.page.locator(f"th[aria-sort={direction}]")).to_contain_text("$/GPU-h")
        assert visit.path() == address
        assert visit.ids() == rows_of(visit)
        assert visit.page.locator("th[aria-sort]:not([aria-sort=none])").count() == 1


def test_filter_and_the_menu_stays_open_for_the_next_choice(visit: Visit) -> None:
    visit.go("/")
    visit.page.locator("#menu-gpu > summary").click()
    box = visit.page.locator("#menu-gpu input[value=h100]")
    box.check()
    expect(visit.page.locator("#menu-gpu > summary .count")).to_have_text("1")
    assert visit.path() == "/?gpu=h100"
    expect(box).to_be_visible()
    visit.shoot("filter")
    visit.page.locator("#menu-gpu input[value=h200-sxm]").check()
    expect(visit.page.locator("#menu-gpu > summary .count")).to_have_text("2")
    assert visit.path() == "/?gpu=h100&gpu=h200-sxm"
    assert visit.ids() == rows_of(visit)
    box.uncheck()
    expect(visit.page.locator("#menu-gpu > summary .count")).to_have_text("1")
    assert visit.path() == "/?gpu=h200-sxm"
    assert visit.ids() == rows_of(visit)


def test_search_finds_and_says_when_there_is_nothing(visit: Visit) -> None:
    visit.go("/?sort=-usd_per_gpu_hour")
    visit.page.locator("#q").fill("runpod b200")
    visit.page.locator("#q").press("Enter")
    expect(visit.page.locator(".summary strong")).to_contain_text("1 of")
    assert visit.path() == "/?sort=-usd_per_gpu_hour&q=runpod+b200"
    visit.page.locator("#q").fill("nothing like it")
    visit.page.locator("#q").press("Enter")
    expect(visit.page.locator(".empty")).to_contain_text("No offer matches")
    assert visit.ids() == []


def test_weights_precision_and_baseline_change_the_figures(visit: Visit) -> None:
    visit.go("/?gpu=h200&q=runpod")
    ceiling = visit.page.locator("tbody tr td.n").nth(3)
    before = ceiling.inner_text()
    assert before == "68.6"
    visit.page.locator("input[name=weights_gb]").fill("140")
    visit.page.locator("input[name=weights_gb]").blur()
    expect(ceiling).to_have_text("34.3")
    visit.page.locator("select[name=precision]").select_option("bf16")
    expect(visit.page.locator("thead")).to_contain_text("BF16")
    visit.page.locator("select[name=baseline]").select_option("h100-sxm")
    visit.page.wait_for_url("**baseline=h100-sxm**")
    assert visit.path() == "/?gpu=h200&precision=bf16&weights_gb=140&baseline=h100-sxm&q=runpod"


def test_go_back_in_time(visit: Visit) -> None:
    visit.go("/?provider=runpod")
    now = visit.page.locator("tbody").inner_text()
    visit.page.locator("input[name=as_of]").fill("2026-11-14")
    expect(visit.page.locator(".notice")).to_contain_text("These are the prices of 2026-11-14")
    assert visit.path() == "/?provider=runpod&as_of=2026-11-14"
    assert visit.ids() == rows_of(visit)
    assert visit.page.locator("tbody").inner_text() != now
    visit.shoot("past")
    visit.page.locator("a.reset").click()
    expect(visit.page.locator(".notice")).to_have_count(0)
    assert visit.path() == "/"


def test_look_behind_a_row_and_close_it_again(visit: Visit) -> None:
    visit.go("/?q=runpod")
    opener = visit.page.locator("td.open a").first
    opener.click()
    evidence = visit.page.locator("tr.evidence")
    expect(evidence).to_contain_text("What was printed")
    expect(opener).to_have_attribute("aria-expanded", "true")
    visit.shoot("evidence")
    assert visit.path() == "/?q=runpod", "looking behind a row is no other board"
    assert not scrolls_sideways(visit.page)
    opener.click()
    expect(evidence).to_have_count(0)
    expect(opener).to_have_attribute("aria-expanded", "false")
    opener.click()
    visit.page.locator("tr.evidence button.close").click()
    expect(evidence).to_have_count(0)
    expect(opener).to_be_focused()


def test_two_rows_can_be_open_and_each_closes_alone(visit: Visit) -> None:
    visit.go("/?q=runpod")
    visit.page.locator("td.open a").nth(0).click()
    expect(visit.page.locator("tr.evidence")).to_have_count(1)
    visit.page.locator("td.open a").nth(1).click()
    expect(visit.page.locator("tr.evidence")).to_have_count(2)
    visit.page.locator("tr.evidence button.close").nth(0).click()
    expect(visit.page.locator("tr.evidence")).to_have_count(1)
    assert len(visit.ids()) == 6


def test_choose_columns(visit: Visit) -> None:
    visit.go("/?gpu=h100")
    visit.page.locator("#menu-columns > summary").click()
    visit.page.locator("#menu-columns input[value=tdp_w]").check()
    expect(visit.page.locator("thead")).to_contain_text("Board power")
    visit.page.locator("#menu-columns input[value=region]").uncheck()
    expect(visit.page.locator("thead")).not_to_contain_text("Region")
    assert re.search(r"columns=provider%2C.*%2Ctdp_w$", visit.path())
    assert visit.ids() == rows_of(visit)


def test_pages(visit: Visit) -> None:
    visit.go("/")
    first = visit.ids()
    assert len(first) == 100
    visit.page.get_by_role("link", name="Next").click()
    expect(visit.page.locator(".pager")).to_contain_text("page 2 of 2")
    assert visit.path() == "/?page=2"
    assert not set(visit.ids()) & set(first)
    visit.page.get_by_role("link", name="Previous").click()
    expect(visit.page.locator(".pager")).to_contain_text("page 1 of 2")
    assert visit.ids() == first


def test_an_address_shows_the_same_table_in_another_browser(
    visit: Visit, browser: Browser, width: int
) -> None:
    """Work the board, take its address to a browser that has never been here, with and without scripts."""
    visit.go("/")
    sort_link(visit, "$/GPU-h").click()
    visit.page.wait_for_url("**sort=usd_per_gpu_hour")
    visit.page.locator("#menu-pricing > summary").click()
    visit.page.locator("#menu-pricing input[value=on_demand]").check()
    visit.page.wait_for_url("**pricing=on_demand**")
    visit.page.locator("input[name=as_of]").fill("2026-11-14")
    expect(visit.page.locator(".notice")).to_be_visible()
    seen = visit.page.locator("table.offers").inner_text()
    for scripts in (True, False):
        context = open_context(browser, width, scripts=scripts)
        other = context.new_page()
        other.goto(visit.page.url)
        assert other.locator("table.offers").inner_text() == seen
        assert other.url == visit.page.url
        context.close()
    link = visit.page.locator("a.copy")
    assert link.get_attribute("href") == visit.path()
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    link.click()
    expect(link).to_have_class("copy copied")
    assert visit.page.evaluate("navigator.clipboard.readText()") == visit.page.url


def test_back_and_forward_restore_each_board(visit: Visit) -> None:
    visit.go("/")
    seen = [(visit.path(), visit.ids())]
    sort_link(visit, "$/GPU-h").click()
    visit.page.wait_for_url("**sort=usd_per_gpu_hour")
    expect(visit.page.locator("th[aria-sort=ascending]")).to_contain_text("$/GPU-h")
    seen.append((visit.path(), visit.ids()))
    visit.page.locator("#menu-gpu > summary").click()
    visit.page.locator("#menu-gpu input[value=b200]").check()
    expect(visit.page.locator("#menu-gpu > summary .count")).to_have_text("1")
    seen.append((visit.path(), visit.ids()))
    assert len({path for path, _ in seen}) == 3
    for path, ids in (seen[1], seen[0]):
        visit.page.go_back()
        expect(visit.page.locator(f"tbody tr#{ids[0]}:first-child")).to_be_visible()
        assert (visit.path(), visit.ids()) == (path, ids)
    assert visit.page.locator("#menu-gpu input[value=b200]").is_checked() is False
    for path, ids in seen[1:]:
        visit.page.go_forward()
        expect(visit.page.locator(f"tbody tr#{ids[0]}:first-child")).to_be_visible()
        assert (visit.path(), visit.ids()) == (path, ids)
    assert visit.page.locator("#menu-gpu input[value=b200]").is_checked() is True


def test_the_way_back_from_a_page_of_evidence_is_the_board_as_it_was_left(visit: Visit) -> None:
    left = "/?gpu=h100&pricing=on_demand&max_gpus=8&weights_gb=13&sort=-usd_per_gpu_hour"
    visit.go(left)
    visit.page.locator("td.open a").nth(3).click()
    row = visit.ids()[3]
    visit.page.get_by_role("link", name="own page").click()
    back = visit.page.get_by_role("link", name="Back to the board")
    expect(back).to_be_visible()
    # The address stays as short as it was: it holds what the figures depend on.
    assert visit.path() == f"/offers/{row.removeprefix('o')}?weights_gb=13"
    visit.page.reload()
    back.click()
    expect(visit.page.locator(f"tr#{row}")).to_be_in_viewport()
    assert visit.path() == f"{left}#{row}"
    assert visit.ids() == rows_of(visit, left)


def test_the_way_back_is_the_plain_board_where_the_reader_comes_from_elsewhere(visit: Visit) -> None:
    visit.go("/history?gpu=h100-sxm")
    visit.page.get_by_role("link", name="evidence").first.click()
    visit.page.get_by_role("link", name="Back to the board").click()
    expect(visit.page.locator("table.offers tbody tr").first).to_be_visible()
    assert visit.path() == "/"


def test_a_wrong_value_is_answered_with_a_sentence_and_a_way_back(visit: Visit) -> None:
    visit.go("/")
    visit.page.locator("#menu-size > summary").click()
    visit.page.locator("input[name=min_gpus]").fill("9")
    visit.page.locator("input[name=min_gpus]").blur()
    visit.page.wait_for_url("**min_gpus=9")
    visit.page.locator("input[name=max_gpus]").fill("8")
    visit.page.locator("input[name=max_gpus]").blur()
    expect(visit.page.locator("h1")).to_have_text("min_gpus: \u201c9\u201d is not right.")
    visit.page.get_by_role("link", name="Back to the board").click()
    expect(visit.page.locator("table.offers")).to_be_visible()


def test_no_page_scrolls_sideways(visit: Visit) -> None:
    wide = "/?per_page=20&columns=" + ",".join(COLUMNS)
    plain = ("/offers/1", "/docs", "/?gpu=x", "/nothing", "/changes", "/status", "/compare", "/claims")
    for path in ("/?per_page=20&baseline=h100-sxm", wide, *plain):
        visit.go(path)
        assert not scrolls_sideways(visit.page), path
    visit.go("/?per_page=20")
    for menu in visit.page.locator("details > summary").all():
        menu.click()
        assert not scrolls_sideways(visit.page), menu.inner_text()
        visit.page.keyboard.press("Escape")


def test_a_download_is_the_table_on_the_screen(visit: Visit) -> None:
    visit.go("/?gpu=h100&sort=-usd_per_gpu_hour&q=runpod")
    visit.page.locator("#menu-export > summary").click()
    for place, name in enumerate(("inferprice-view-2026-11-20.csv", "inferprice-2026-11-20.csv")):
        with visit.page.expect_download() as download:
            visit.page.get_by_role("link", name="CSV", exact=True).nth(place).click()
        assert download.value.suggested_filename == name
        lines = download.value.path().read_text(encoding="utf-8").splitlines()
        assert len(lines) == 1 + len(visit.ids())


def test_another_board_closes_what_was_open(visit: Visit) -> None:
    visit.go("/?q=runpod")
    visit.page.locator("td.open a").first.click()
    expect(visit.page.locator("tr.evidence")).to_have_count(1)
    sort_link(visit, "$/GPU-h").click()
    expect(visit.page.locator("th[aria-sort=ascending]")).to_contain_text("$/GPU-h")
    expect(visit.page.locator("tr.evidence")).to_have_count(0)
    assert visit.ids() == rows_of(visit)
    assert set(visit.page.locator("td.open a").all_inner_texts()) == {"+"}
    assert visit.page.locator("td.open a[aria-expanded=true]").count() == 0


def test_a_slow_answer_does_not_undo_a_later_choice(visit: Visit) -> None:
    """Two boxes ticked one after the other, the first of them answered late: both must be on the board."""
    visit.go("/")

    delayed = []

    def late(route: Route) -> None:
        delayed.append(route.request.url)
        visit.page.wait_for_timeout(700)
        route.continue_()

    visit.page.route(lambda address: "gpu=h100" in address and "gpu=b200" not in address, late)
    visit.page.locator("#menu-gpu > summary").click()
    visit.page.locator("#menu-gpu input[value=h100]").check()
    visit.page.locator("#menu-gpu input[value=b200]").check()
    expect(visit.page.locator("#menu-gpu > summary .count")).to_have_text("2")
    visit.page.wait_for_timeout(1000)
    assert len(delayed) == 1
    assert visit.path() == "/?gpu=b200&gpu=h100"
    assert visit.page.locator("#menu-gpu input[value=h100]").is_checked()
    assert visit.page.locator("#menu-gpu input[value=b200]").is_checked()
    assert visit.ids() == rows_of(visit)
