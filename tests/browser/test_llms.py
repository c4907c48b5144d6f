"""What a model costs, found by keyboard alone on a telephone, shared as a link, and read without scripts."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit, scrolls_sideways
from tests.browser.test_accessibility import violations
from tests.browser.test_by_keyboard import open_and_tick, tab_to

MODEL = "/llms/deepseek-ai/DeepSeek-V3"


def find_the_model(visit: Visit) -> None:
    """From the board to the model's page."""
    page = visit.page
    visit.go("/")
    tab_to(page, 'nav a[href="/llms"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/llms")
    tab_to(page, "input[name=q]")
    page.keyboard.type("deepseek v3")
    page.keyboard.press("Enter")
    page.wait_for_url("**/llms?q=deepseek+v3")
    visit.shoot("llms-found")
    assert not scrolls_sideways(page)
    tab_to(page, f'tbody th a[href="{MODEL}"]')
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{MODEL}")


def ask_for_eight_h200(page: Page) -> None:
    """Weights are in fp8 from the start; choose eight GPUs for a copy, and the card."""
    expect(page.locator("select[name=format]")).to_have_value("fp8")
    tab_to(page, "select[name=cards]")
    page.keyboard.type("exactly 8")
    open_and_tick(page, "menu-gpu", "h200-sxm")
    page.keyboard.press("Escape")
    tab_to(page, "button.apply")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{MODEL}?cards=8&gpu=h200-sxm")


def test_a_first_time_reader_finds_the_cost_on_eight_h200_and_shares_it(visit: Visit) -> None:
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    find_the_model(visit)
    ask_for_eight_h200(page)
    expect(page.locator(".verdicts li").first).to_have_text(
        "1 request at once: at least $5.118 a million output tokens, on 8 \N{MULTIPLICATION SIGN} "
        "H200 SXM 141 GB at acme (spot), at most 931.3 tokens/s."
    )
    first = page.locator("table.costs tbody tr").first
    expect(first).to_contain_text("H200 SXM")
    expect(first).to_contain_text("8 GPUs, memory")
    # The market's cheapest H200 is acme's spot price, half of $4.29; eight of them reach 931.339 tokens/s at
    # most: 5.154 GB each, weights of one token and the cache of 8,192, at 4.8 TB/s.
    expect(first).to_contain_text("5.118")
    expect(page.locator("table.costs")).not_to_contain_text("H100")
    visit.shoot("llms-eight-h200")
    assert not scrolls_sideways(page)

    tab_to(page, "td.open a")
    page.keyboard.press("Enter")
    expect(page.locator("tr.evidence").first).to_contain_text("931.3 tokens/s")
    visit.shoot("llms-arithmetic")
    assert not scrolls_sideways(page)
    page.evaluate("document.activeElement.blur()")

    tab_to(page, "a.copy")
    page.keyboard.press("Enter")
    expect(page.locator("a.copy")).to_have_class(re.compile("copied"))
    link = str(page.evaluate("navigator.clipboard.readText()"))
    assert link == page.url
    other = page.context.new_page()
    other.goto(link)
    expect(other.locator("table.costs tbody tr").first).to_contain_text("5.118")
    other.close()


def test_the_form_the_table_and_the_arithmetic_work_without_scripts(plain_visit: Visit) -> None:
    page = plain_visit.page
    plain_visit.go("/llms")
    page.get_by_label("Name, family or hub id").fill("deepseek-ai/DeepSeek-V3")
    page.get_by_role("button", name="Find").click()
    assert plain_visit.path() == MODEL
    page.get_by_role("link", name="Agent", exact=True).click()
    assert plain_visit.path() == f"{MODEL}?context=32768&batch=8"
    page.get_by_role("textbox", name="Requests at once").fill("1,4096")
    page.get_by_role("button", name="Show").click()
    assert plain_visit.path() == f"{MODEL}?context=32768&batch=1%2C4096"
    expect(page.locator("td.without").first).to_contain_text("does not fit 8 GPUs")
    page.locator("td.open a").first.click()
    expect(page.locator("main")).to_contain_text("Ceiling of decode")
    page.get_by_role("link", name="Where the price comes from").click()
    expect(page.locator("h2").first).to_have_text("What was printed")


def test_a_draft_is_asked_for_in_the_form_and_stands_below_the_table(plain_visit: Visit) -> None:
    page = plain_visit.page
    plain_visit.go(f"{MODEL}?context=0&batch=1&cards=8&gpu=h200-sxm")
    page.locator("#menu-more > summary").click()
    page.get_by_label("Tokens drafted a pass").fill("3")
    page.get_by_label("Acceptance length, tokens").fill("2.49")
    page.get_by_label("The length is counted").select_option("with the bonus token")
    page.get_by_role("button", name="Show").click()
    asked = "draft_depth=3&draft_tokens=2.49&draft_counts=with_bonus"
    assert plain_visit.path() == f"{MODEL}?context=0&batch=1&cards=8&{asked}&gpu=h200-sxm"
    # 16.19 + 653.91 x 11.926 % against 16.19 + 653.91 / 32 GB, for 2.49 tokens: 0.968 of the plain ceiling.
    line = page.locator("#drafted tbody tr")
    expect(line).to_contain_text("1,015.3")
    expect(line).to_contain_text("loses: a pass gives 2.49 tokens")
    line.scroll_into_view_if_needed()
    plain_visit.shoot("llms-draft")
    assert not scrolls_sideways(page)


def test_charts_are_drawn_and_their_table_has_the_same(visit: Visit) -> None:
    page = visit.page
    visit.go(f"{MODEL}?gpu=h200-sxm&gpu=b200-sxm")
    expect(page.locator('.chart[data-drawn="yes"]')).to_have_count(3)
    page.locator("#points > summary").click()
    expect(page.locator("#points tbody tr").first).to_contain_text("B200 SXM")
    page.locator("#curves").scroll_into_view_if_needed()
    visit.shoot("llms-charts")
    assert not scrolls_sideways(page)


def test_a_config_is_pasted_and_a_stranger_is_refused(plain_visit: Visit) -> None:
    page = plain_visit.page
    plain_visit.go("/llms/config")
    page.get_by_label("config.json").fill('{"model_type": "weird", "architectures": ["WeirdForCausalLM"]}')
    page.get_by_role("button", name="Show").click()
    expect(page.locator("p.notice")).to_contain_text("WeirdForCausalLM")
    expect(page.get_by_label("config.json")).to_have_value(re.compile("weird"))
    plain_visit.shoot("llms-config")
    assert not scrolls_sideways(page)


def test_nobody_is_shut_out(visit: Visit, axe: str) -> None:
    draft = "draft_depth=3&draft_tokens=2.49&draft_counts=with_bonus"
    for path in ("/llms", f"{MODEL}?batch=1,512&{draft}", f"{MODEL}/offers/1?{draft}", "/llms/config"):
        visit.go(path)
        visit.page.evaluate(axe)
        assert violations(visit.page) == [], path
