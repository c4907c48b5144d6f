"""Changed pages: whatever happens to a layout, no wrong price is published, in hundreds of mutants each."""

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from scrapers import SCRAPERS
from tests.conftest import Tell
from tests.scrapers import drift_html, drift_json
from tests.scrapers.drift import Dice, Subject, Tally, Verdict, judge, relaxed
from tests.scrapers.truth import NOT_RUN, SHARED, SHARED_PAGES, golden_truth, our_page, our_truth, shared_page

MUTANTS = 300
PROVIDERS = sorted(SHARED_PAGES)


def run(subject: Subject, name: str) -> Tally:
    """Make as many different mutants of one page as asked for; fail on the first wrong price."""
    tally = Tally()
    changes_of = drift_json if subject.provider == "runpod" else drift_html
    unchanged = changes_of.unchanged(subject.body)

    @settings(
        max_examples=MUTANTS,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(st.data())
    def every_mutant(data: st.DataObject) -> None:
        truth = dict(subject.truth)
        body, changes = changes_of.mutate(subject.body, truth, Dice(data.draw))
        assume(body != unchanged and tally.is_new(body))
        verdict, why = judge(subject, body, truth)
        tally.failed |= verdict is Verdict.WRONG
        assert verdict is not Verdict.WRONG, f"{name} {changes}: {why}"
        tally.count(body, verdict, changes)

    every_mutant()
    return tally


def report(tally: Tally, name: str, tell: Tell) -> None:
    tell(tally.line(name))
    assert len(tally.seen) >= MUTANTS
    assert tally.verdicts[Verdict.EXACT] > 0
    assert tally.verdicts[Verdict.REFUSED] > 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_mutant_of_our_page_publishes_a_wrong_price(provider: str, tell: Tell) -> None:
    truth = our_truth(provider)
    expect = relaxed(SCRAPERS[provider].expect, len(truth))
    subject = Subject(provider, our_page(provider).body, truth, expect)
    report(run(subject, provider), f"{provider} (own page)", tell)


@pytest.mark.skipif(not SHARED.is_dir(), reason=NOT_RUN)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_mutant_of_a_stored_page_publishes_a_wrong_price(provider: str, tell: Tell) -> None:
    subject = Subject(provider, shared_page(provider).body, golden_truth(provider), SCRAPERS[provider].expect)
    report(run(subject, provider), f"{provider} (../shared)", tell)
