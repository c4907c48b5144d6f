"""One errand from beginning to end without a mouse, and back and forward through it.

Find the cheapest H200 per TB/s with fewer than 8 GPUs an instance, compare it with the B200, add a quote of
one's own, copy the link.
"""

import json
import re
from urllib.request import ProxyHandler, build_opener

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit

MOST_TABS = 250


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until what a selector names has the focus, as a reader would who sees it on the page."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab never comes to {selector}")


def open_and_tick(page: Page, menu: str, value: str) -> None:
    tab_to(page, f"#{menu} > summary")
    page.keyboard.press("Enter")
    tab_to(page, f'#{menu} input[value="{value}"]')
    page.keyboard.press("Space")


def best(visit: Visit, gpu: str) -> str:
    """The cheapest row of a card per TB/s, as the JSON of the same question has it outside the browser."""
    address = f"{visit.base}/offers.json?gpu={gpu}&max_gpus=7&sort=usd_per_tbs_hour&per_page=1"
    with build_opener(ProxyHandler({})).open(address) as answer:
        return f"o{json.load(answer)['rows'][0]['offer_id']}"


def find(visit: Visit) -> None:
    """Filter to both cards with fewer than 8 GPUs an instance; the first row of each is the cheapest."""
    page = visit.page
    visit.go("/")
    open_and_tick(page, "menu-gpu", "h200-sxm")
    page.wait_for_url(re.compile(r"\?gpu=h200-sxm$"))
    tab_to(page, 'input[value="b200-sxm"][name=gpu]')
    page.keyboard.press("Space")
    page.wait_for_url(re.compile("gpu=b200-sxm"))
    page.keyboard.press("Escape")
    tab_to(page, "#menu-size > summary")
    page.keyboard.press("Enter")
    tab_to(page, "input[name=max_gpus]")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("max_gpus=7"))
    page.keyboard.press("Escape")

    for gpu in ("h200-sxm", "b200-sxm"):
        first = page.locator(f'tbody tr:has(input[form=picks][value="{gpu}"])').first
        assert first.get_attribute("id") == best(visit, gpu)
        tab_to(page, f"#{first.get_attribute('id')} input[form=picks]")
        page.keyboard.press("Space")
        page.keyboard.press("Control+Home")
        page.evaluate("document.activeElement.blur()")


def compare(page: Page) -> None:
    """Compare the ticked cards."""
    tab_to(page, "#picks button")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/compare\?gpu=[hb]200-sxm&gpu=[hb]200-sxm$"))
    expect(page.locator("h1")).to_contain_text("at the same provider")


def quote(page: Page) -> None:
    """Add a price of one's own through the form."""
    tab_to(page, 'a[href^="/quote"]')
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/quote"))
    tab_to(page, "#quote_name")
    page.keyboard.type("Acme")
    tab_to(page, "#quote_accelerator")
    page.keyboard.type("H200 SXM")
    tab_to(page, "#quote_usd_per_gpu_hour")
    page.keyboard.type("2.10")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/compare.*quote="))
    own = page.locator("tr.own")
    expect(own).to_contain_text("Acme")
    expect(own).to_contain_text("0.438")  # 2.10 / 4.8


def share(page: Page) -> None:
    """Copy the link, which holds the quote."""
    tab_to(page, "a.copy")
    page.keyboard.press("Enter")
    expect(page.locator("a.copy")).to_have_class(re.compile("copied"))
    link = str(page.evaluate("navigator.clipboard.readText()"))
    assert link == page.url
    assert "quote=Acme%7Ch200-sxm%7C2.1" in link


def test_find_compare_quote_and_share(visit: Visit) -> None:
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    find(visit)
    compare(page)
    quote(page)
    visit.shoot("errand")
    share(page)
    page.go_back()
    page.wait_for_url(re.compile("/quote"))
    page.go_back()
    page.wait_for_url(re.compile(r"/compare\?gpu"))
    expect(page.locator("tr.own")).to_have_count(0)
    page.go_forward()
    page.go_forward()
    page.wait_for_url(re.compile("/compare.*quote="))
    expect(page.locator("tr.own")).to_contain_text("Acme")
