"""The same facts in thirteen layouts: every provider reads exactly the same offers from each."""

import pytest

from app.domain.findings import holds
from tests.conftest import Tell
from tests.scrapers.facts import FACTS
from tests.scrapers.layouts import LAYOUTS
from tests.scrapers.surfaces import as_row, expected, in_order, read


@pytest.mark.parametrize("provider", FACTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_offers_that_the_facts_are(provider: str, layout: str) -> None:
    parsed = read(provider, LAYOUTS[layout](FACTS[provider]))
    assert in_order(list(map(as_row, parsed.offers))) == in_order(expected(provider))
    assert not holds(parsed.findings)
    for offer in parsed.offers:
        assert str(offer.list_price) in offer.fragment
        assert " > " in offer.fragment


def test_the_table_of_layouts_is_printed(tell: Tell) -> None:
    lines = [f"{'layouts':<22}{''.join(f'{provider:>11}' for provider in FACTS)}"]
    for name, layout in LAYOUTS.items():
        counts = [
            sum(row in list(map(as_row, read(provider, layout(facts)).offers)) for row in expected(provider))
            for provider, facts in FACTS.items()
        ]
        whole = [len(expected(provider)) for provider in FACTS]
        cells = "".join(f"{f'{count}/{most}':>11}" for count, most in zip(counts, whole, strict=True))
        lines.append(f"{name:<22}{cells}")
    tell("\n".join(lines))
    assert len(LAYOUTS) >= 8
