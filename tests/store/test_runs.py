"""A slot is claimed once, and what a run fetched, found and held comes back as it was noted."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import Engine

from app.domain.findings import Finding, Level
from app.domain.offers import PriceBasis, PricingModel, ServiceKind
from app.store import held as held_store
from app.store import runs
from app.store.records import Capture, Outcome, State
from app.store.session import reading, writing
from tests.make import make_offer, utc


def claim(engine: Engine, *, slot: str = "2026-11-01", now: object = None) -> int | None:
    with writing(engine) as connection:
        return runs.claim_slot(connection, source="acme", slot=slot, provider="acme", now=now or utc(1))


def claimed(engine: Engine, slot: str = "2026-11-01") -> int:
    run_id = claim(engine, slot=slot)
    assert run_id is not None
    return run_id


def test_a_slot_is_claimed_once_by_any_number_of_schedulers(engine: Engine) -> None:
    with ThreadPoolExecutor(max_workers=4) as pool:
        ids = list(pool.map(lambda slot: claim(engine, slot=slot), ["a", "b", "c"] * 8))
    assert len([run_id for run_id in ids if run_id is not None]) == 3


def test_the_slot_of_a_killed_run_is_free_again_after_an_hour_and_only_once(engine: Engine) -> None:
    first = claimed(engine)
    assert claim(engine, now=utc(1) + timedelta(minutes=59)) is None
    second = claim(engine, now=utc(1) + timedelta(minutes=60))
    assert second not in {None, first}
    assert claim(engine, now=utc(1) + timedelta(minutes=61)) is None
    assert claim(engine, now=utc(1) + timedelta(minutes=121)) is None
    assert claim(engine, now=utc(9)) is None
    with reading(engine) as connection:
        killed_again, killed = runs.runs(connection)
    assert (killed.run_id, killed.slot, killed.outcome) == (first, "2026-11-01 (first try)", Outcome.FAILED)
    assert killed.sentence.endswith("Its slot is tried once more.")
    assert (killed_again.run_id, killed_again.slot) == (second, "2026-11-01")
    assert killed_again.sentence.endswith("It was the second try, and there is no third.")


def test_a_lapsed_slot_goes_to_one_of_any_number_of_schedulers(engine: Engine) -> None:
    claimed(engine)
    with ThreadPoolExecutor(max_workers=4) as pool:
        ids = list(pool.map(lambda _: claim(engine, now=utc(2)), range(12)))
    assert len([run_id for run_id in ids if run_id is not None]) == 1


def test_a_run_that_lost_its_slot_can_publish_nothing(engine: Engine) -> None:
    slow = claimed(engine)
    second = claim(engine, now=utc(2))
    with pytest.raises(runs.LostClaimError, match="nothing of it was kept"), writing(engine) as connection:
        runs.finish_run(connection, slow, outcome=Outcome.PUBLISHED, sentence="Late.", now=utc(2))
    assert second is not None
    with writing(engine) as connection:
        runs.finish_run(connection, second, outcome=Outcome.PUBLISHED, sentence="Good.", now=utc(2))
    with reading(engine) as connection:
        assert [run.outcome for run in runs.runs(connection)] == [Outcome.PUBLISHED, Outcome.FAILED]


def test_the_slot_of_a_finished_run_is_taken_for_good(engine: Engine) -> None:
    run_id = claimed(engine)
    with writing(engine) as connection:
        runs.finish_run(connection, run_id, outcome=Outcome.FAILED, sentence="It failed.", now=utc(1))
    assert claim(engine, now=utc(9)) is None


def test_runs_are_listed_newest_first_with_how_they_ended(engine: Engine) -> None:
    first, second = claimed(engine, "a"), claimed(engine, "b")
    with writing(engine) as connection:
        runs.finish_run(
            connection,
            first,
            outcome=Outcome.PUBLISHED,
            sentence="Published.",
            now=utc(2),
            observed_at=utc(1),
            offers_count=7,
        )
    with reading(engine) as connection:
        newest, oldest = runs.runs(connection)
        assert [run.run_id for run in runs.runs(connection, provider="acme", limit=1)] == [second]
        assert runs.runs(connection, provider="bolt") == []
        assert runs.last_runs(connection) == {"acme": newest}
        assert runs.run_of_slot(connection, source="acme", slot="a") == oldest
        assert runs.run_of_slot(connection, source="acme", slot="c") is None
    assert (newest.run_id, newest.outcome, newest.finished_at) == (second, None, None)
    assert (oldest.outcome, oldest.observed_at, oldest.finished_at) == (Outcome.PUBLISHED, utc(1), utc(2))
    assert oldest.offers_count == 7


def test_findings_come_back_in_their_order(engine: Engine) -> None:
    noticed = (
        Finding(code="b", level=Level.HOLD, sentence="Größer.", evidence={"seen": "41", "usual": "4"}),
        Finding(code="a", level=Level.INFO, sentence="Kleiner."),
    )
    run_id = claimed(engine)
    with writing(engine) as connection:
        runs.record_findings(connection, run_id, findings=noticed)
        runs.record_findings(connection, run_id, findings=())
    with reading(engine) as connection:
        assert runs.findings_of(connection, run_id) == list(noticed)


def test_the_last_answer_to_a_request_is_found_again(engine: Engine) -> None:
    run_id = claimed(engine)
    answers = [
        Capture(
            sha256=f"{day}",
            url="https://acme.example/pricing",
            fetched_at=utc(day),
            status=200,
            headers={"etag": f'"{day}"'},
            content_type="text/html",
            size_bytes=day,
        )
        for day in (1, 3, 2)
    ]
    with writing(engine) as connection:
        for answer in answers:
            runs.record_capture(connection, run_id, answer=answer)
        runs.record_capture(connection, run_id, answer=answers[0], method="POST", request_sha256="ff")
    with reading(engine) as connection:
        assert runs.last_capture(connection, "https://acme.example/pricing") == answers[1]
        posted = runs.last_capture(
            connection, "https://acme.example/pricing", method="POST", request_sha256="ff"
        )
        assert posted == answers[0]
        assert runs.last_capture(connection, "https://acme.example/other") is None
        assert runs.captures_of(connection, run_id) == [*answers, answers[0]]


def test_held_offers_come_back_digit_by_digit(engine: Engine) -> None:
    offers = (
        make_offer(),
        make_offer(
            list_price="0.00010",
            price_basis=PriceBasis.GPU_SECOND,
            pricing_model=PricingModel.RESERVED,
            service_kind=ServiceKind.SERVERLESS,
            memory_gb_as_written=Decimal("80.0"),
            valid_from=date(2026, 11, 16),
            term_days_min=91,
            assumptions=("SXM, as HGX.", "Größe"),
        ),
    )
    run_id = claimed(engine)
    with writing(engine) as connection:
        held_id = held_store.hold_offers(
            connection, run_id, provider="acme", offers=offers, captures=("aa", "bb")
        )
    with reading(engine) as connection:
        (held,) = held_store.quarantined(connection)
        assert held_store.quarantine_by_id(connection, held_id) == held
        assert held_store.quarantine_by_id(connection, held_id + 1) is None
    assert held.offers == offers
    assert [str(each.list_price) for each in held.offers] == ["2.99", "0.00010"]
    assert (held.captures, held.state, held.decided_at, held.run.run_id) == (
        ("aa", "bb"),
        State.HELD,
        None,
        run_id,
    )
    with writing(engine) as connection:
        held_store.decide(connection, held_id, state=State.REJECTED, because="A sale of one day.", now=utc(2))
    with reading(engine) as connection:
        assert held_store.quarantined(connection) == []
        (decided,) = held_store.quarantined(connection, state=State.REJECTED)
    assert (decided.because, decided.decided_at) == ("A sale of one day.", utc(2))
