"""Comparing cards in a browser: by keyboard, without scripts, on a telephone, and back again."""

from playwright.sync_api import expect

from tests.browser.conftest import Visit, scrolls_sideways


def test_choose_cards_and_a_metric_without_scripts(plain_visit: Visit) -> None:
    page = plain_visit.page
    plain_visit.go("/compare")
    page.locator("#menu-cards > summary").click()
    page.locator("#menu-cards input[value=h100-pcie]").check()
    page.locator("#menu-cards input[value=b200-sxm]").uncheck()
    page.locator("select[name=metric]").select_option("usd_per_pflop_hour")
    page.get_by_role("button", name="Compare").click()
    assert plain_visit.path() == (
        "/compare?gpu=h100-sxm&gpu=h200-sxm&gpu=h100-pcie&metric=usd_per_pflop_hour"
    )
    expect(page.locator("thead")).to_contain_text("$/PFLOP-h, FP8")
    page.get_by_label("Precision").select_option("bf16")
    page.get_by_label("As of").fill("2026-11-14")
    page.get_by_role("button", name="Compare").click()
    assert plain_visit.path().endswith("&precision=bf16&as_of=2026-11-14&metric=usd_per_pflop_hour")
    expect(page.locator(".notice")).to_contain_text("These are the prices of 2026-11-14")
    page.locator("tbody td a").first.click()
    assert plain_visit.path().endswith("?precision=bf16&as_of=2026-11-14")
    expect(page.locator("h2").first).to_have_text("What was printed")


def test_turn_to_the_other_figures_and_another_baseline(visit: Visit) -> None:
    page = visit.page
    visit.go("/compare")
    expect(page.locator(".verdicts li").first).to_contain_text("loses at acme")
    page.get_by_role("link", name="Recompute with").click()
    assert visit.path() == "/compare?spec=alt"
    expect(page.locator(".verdicts li").first).to_contain_text("wins against the H100 SXM at 2 of 2")
    page.get_by_role("link", name="Back to").click()
    page.get_by_role("link", name="make baseline").first.click()
    assert visit.path() == "/compare?baseline=h200-sxm"
    visit.shoot("compare")
    assert not scrolls_sideways(page)


def test_by_keyboard_alone(visit: Visit) -> None:
    page = visit.page
    visit.go("/compare")
    summary = page.locator("#menu-cards > summary")
    summary.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("#menu-cards input").first).not_to_be_checked()
    page.keyboard.press("Escape")
    expect(summary).to_be_focused()
    page.locator("button.apply").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?gpu=h200-sxm&gpu=b200-sxm")
    assert visit.path() == "/compare?gpu=h200-sxm&gpu=b200-sxm"


def test_from_a_claim_to_its_comparison_and_back(plain_visit: Visit) -> None:
    page = plain_visit.page
    plain_visit.go("/claims")
    plain_visit.shoot("claims")
    assert not scrolls_sideways(page)
    page.get_by_role("link", name="The comparison behind").first.click()
    assert plain_visit.path() == "/compare?gpu=h100-sxm&gpu=h200-sxm"
    page.go_back()
    page.get_by_label("As of").fill("2026-11-14")
    page.get_by_role("button", name="Judge").click()
    assert plain_visit.path() == "/claims?as_of=2026-11-14"
    expect(page.locator(".notice")).to_contain_text("Judged by the prices of 2026-11-14")


def test_a_comparison_that_is_not_right_says_what_would_be(plain_visit: Visit) -> None:
    plain_visit.go("/compare?gpu=h100&gpu=h200-sxm")
    expect(plain_visit.page.locator("h1")).to_have_text("gpu: \u201ch100\u201d is not right.")
    expect(plain_visit.page.locator("main")).to_contain_text("name the variant: h100-sxm")
