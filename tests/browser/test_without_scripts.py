"""Everything a board can do works with scripts off: links, one form, and a button to send it."""

from playwright.sync_api import expect

from tests.browser.conftest import Visit, scrolls_sideways
from tests.browser.test_board import rows_of


def test_sort_by_links(plain_visit: Visit) -> None:
    plain_visit.go("/")
    for address in ("/?sort=usd_per_gpu_hour", "/?sort=-usd_per_gpu_hour"):
        plain_visit.page.locator("thead a", has_text="$/GPU-h").click()
        assert plain_visit.path() == address
        assert plain_visit.ids() == rows_of(plain_visit)


def test_filter_choose_columns_and_a_day_with_the_form(plain_visit: Visit) -> None:
    page = plain_visit.page
    plain_visit.go("/?sort=-usd_per_gpu_hour")
    page.locator("#menu-gpu > summary").click()
    page.locator("#menu-gpu input[value=h100]").check()
    page.locator("#menu-gpu > summary").click()
    page.locator("#menu-columns > summary").click()
    page.locator("#menu-columns input[value=tdp_w]").check()
    page.locator("#menu-columns > summary").click()
    page.locator("input[name=as_of]").fill("2026-11-14")
    page.get_by_role("button", name="Apply").click()
    assert plain_visit.path().startswith(
        "/?gpu=h100&as_of=2026-11-14&sort=-usd_per_gpu_hour&columns=provider%2C"
    )
    assert plain_visit.ids() == rows_of(plain_visit)
    expect(page.locator(".notice")).to_contain_text("These are the prices of 2026-11-14")
    expect(page.locator("thead")).to_contain_text("Board power")
    page.go_back()
    assert plain_visit.path() == "/?sort=-usd_per_gpu_hour"
    assert plain_visit.ids() == rows_of(plain_visit)
    page.go_forward()
    assert plain_visit.ids() == rows_of(plain_visit)
    assert not scrolls_sideways(page)


def test_search_with_the_return_key(plain_visit: Visit) -> None:
    plain_visit.go("/")
    plain_visit.page.locator("#q").fill("runpod h200")
    plain_visit.page.locator("#q").press("Enter")
    assert plain_visit.path() == "/?q=runpod+h200"
    assert len(plain_visit.ids()) == 1


def test_an_untouched_form_leads_back_to_the_plain_address(plain_visit: Visit) -> None:
    plain_visit.go("/")
    plain_visit.page.get_by_role("button", name="Apply").click()
    assert plain_visit.path() == "/"
    assert plain_visit.ids() == rows_of(plain_visit)


def test_look_behind_a_row_on_its_own_page_and_come_back(plain_visit: Visit) -> None:
    plain_visit.go("/?as_of=2026-11-14&weights_gb=13")
    plain_visit.page.locator("td.open a").first.click()
    assert plain_visit.path().startswith("/offers/")
    expect(plain_visit.page.locator("h2").first).to_have_text("What was printed")
    assert not scrolls_sideways(plain_visit.page)
    plain_visit.page.get_by_role("link", name="Back to the board").click()
    assert plain_visit.path() == "/?weights_gb=13&as_of=2026-11-14"


def test_pages_and_reset(plain_visit: Visit) -> None:
    plain_visit.go("/?sort=region")
    plain_visit.page.get_by_role("link", name="Next").click()
    assert plain_visit.path() == "/?sort=region&page=2"
    assert plain_visit.ids() == rows_of(plain_visit)
    plain_visit.page.get_by_role("link", name="Reset").click()
    assert plain_visit.path() == "/"


def test_a_wrong_value_is_answered_with_a_sentence(plain_visit: Visit) -> None:
    plain_visit.go("/?min_gpus=9&max_gpus=8")
    expect(plain_visit.page.locator("h1")).to_have_text("min_gpus: \u201c9\u201d is not right.")
    plain_visit.page.get_by_role("link", name="Back to the board").click()
    assert plain_visit.path() == "/"


def test_choose_changes_with_the_form_and_follow_one_to_its_evidence(plain_visit: Visit) -> None:
    page = plain_visit.page
    plain_visit.go("/changes")
    page.locator("#menu-provider > summary").click()
    page.locator("#menu-provider input[value=runpod]").check()
    page.locator("#menu-provider > summary").click()
    page.get_by_label("Up to").fill("2026-11-13")
    page.get_by_role("button", name="Show").click()
    assert plain_visit.path() == "/changes?provider=runpod&day=2026-11-13"
    expect(page.locator("section.day h2 a")).to_have_text(["2026-11-13", "2026-11-02"])
    page.get_by_role("link", name="Latest").click()
    assert plain_visit.path() == "/changes?provider=runpod"
    page.locator("section.day a", has_text="evidence").first.click()
    expect(page.locator("h1")).to_contain_text("RunPod")


def test_the_names_that_stand_for_no_variant_unfold(plain_visit: Visit) -> None:
    plain_visit.go("/status")
    unfolding = plain_visit.page.locator("tr#odd + tr details")
    unfolding.locator("summary").click()
    expect(unfolding.locator("li").first).to_be_visible()
    assert not scrolls_sideways(plain_visit.page)
