"""What a provider writes runs in no browser, and we never break the policy that would stop it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Dialog, expect

from app.domain.columns import COLUMNS
from app.web.main import create_app
from tests.browser.conftest import ContextOf, Visit, visiting
from tests.web import hostile, market
from tests.web.conftest import settings_for
from tests.web.server import listening


@pytest.fixture(scope="module")
def hostile_base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a board on which every text means harm."""
    url = f"sqlite:///{tmp_path_factory.mktemp('hostile') / 'market.db'}"
    market.fill(url, market=hostile.runs())
    with listening(create_app(settings_for(url), clock=lambda: market.NOW)) as address:
        yield address


@pytest.fixture
def hostile_visit(context: ContextOf, hostile_base: str) -> Iterator[Visit]:
    """A page that may open no dialog, ask no other site and say nothing on its console."""
    with visiting(context(1280, scripts=True), hostile_base) as visited:

        def refuse(dialog: Dialog) -> None:
            visited.said.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        visited.page.on("dialog", refuse)
        visited.page.on("request", lambda request: _note_foreign(visited, request.url))
        yield visited


def _note_foreign(visited: Visit, address: str) -> None:
    if not address.startswith((visited.base, "data:")):
        visited.said.append(f"asked for {address}")


def test_hostile_texts_run_nowhere(hostile_visit: Visit) -> None:
    page = hostile_visit.page
    hostile_visit.go(f"/?columns={','.join(COLUMNS)}&baseline=h100-sxm")
    for menu in page.locator("details.menu > summary").all():
        menu.click()
    page.keyboard.press("Escape")
    for row in page.locator("td.open a").all():
        row.hover()
        row.click()
    expect(page.locator("tr.evidence")).to_have_count(len(hostile.MARKUP))
    for cell in page.locator("tr.evidence q").all():
        cell.hover()
    assert page.locator("script").count() == 2
    assert page.locator("main img, main svg, main style").count() == 0


def test_hostile_choices_can_be_ticked(hostile_visit: Visit) -> None:
    hostile_visit.go("/")
    for number in range(len(hostile.MARKUP)):
        hostile_visit.page.locator("#menu-region > summary").click()
        hostile_visit.page.locator("#menu-region input").nth(number).check()
        expect(hostile_visit.page.locator(".summary strong")).to_contain_text("1 of 9")
        hostile_visit.go("/")


def test_no_link_leads_to_a_script(hostile_visit: Visit) -> None:
    for number in range(1, len(hostile.MARKUP) + 1):
        hostile_visit.go(f"/offers/{number}")
        protocols = hostile_visit.page.eval_on_selector_all("a", "links => links.map(link => link.protocol)")
        assert set(protocols) <= {"http:", "https:"}


def test_hostile_addresses_run_nowhere(hostile_visit: Visit) -> None:
    for text in hostile.MARKUP:
        hostile_visit.page.goto(f"{hostile_visit.base}/?gpu={text}")
        hostile_visit.page.goto(f"{hostile_visit.base}/?q={text}")


def test_the_policy_stops_a_script_that_is_not_ours(visit: Visit) -> None:
    """The check of the checks: what is put into the page by hand is refused, and the console says so."""
    visit.go("/?gpu=h200")
    visit.page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "document.title = 'ran'";
        document.body.append(script);
    }""")
    assert visit.page.title() != "ran"
    assert [each for each in visit.said if "Content Security Policy" in each]
    visit.said.clear()
