"""Days of the aggregator are carried in in order; they close none of ours, and a rate is no price move."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine, func, select

from app.cli import main
from app.ingest.gpurentalprices import Imported, ImportRefusedError, import_folder, only_the_rate_moved
from app.ingest.snapshots import seal_past_days, verify
from app.store import runs
from app.store.queries import offers_as_of
from app.store.records import Outcome
from app.store.session import reading
from app.store.tables import price
from tests.conftest import Tell
from tests.make import make_offer, publish_offers, utc
from tests.scrapers.test_gpurentalprices import day, row

SHARED = Path(__file__).resolve().parents[3] / "shared" / "gpurentalprices" / "snapshots"
NEEDS_SHARED = pytest.mark.skipif(not SHARED.is_dir(), reason="not run: ../shared is not here")
NOW = datetime(2026, 8, 20, tzinfo=UTC)
STEADY = ("coreweave", "nebius", "modal", "together", "fireworks", "lambda", "baseten")


def scaleway(*usd: str) -> list[dict[str, Any]]:
    """Return Scaleway's rows of a day, three cards at these dollars."""
    cards = (("l4", 24), ("h100-sxm", 80), ("l40s", 48))
    return [
        row("scaleway", gpu, float(price), vram_gb=memory_gb)
        for (gpu, memory_gb), price in zip(cards, usd, strict=True)
    ]


def write(folder: Path, *days: list[dict[str, Any]], **states: dict[str, Any]) -> Path:
    """Write a file for each day from 2026-07-05 on."""
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(days):
        date = f"2026-07-{5 + number:02}"
        (folder / f"{date}.json").write_bytes(day(*rows, date=date, **states))
    return folder


def carried_in(engine: Engine, archive: Path, folder: Path) -> Imported:
    return import_folder(engine, archive, folder=folder, now=NOW)


def prices(engine: Engine, at: datetime, provider: str) -> dict[str, Decimal]:
    with reading(engine) as connection:
        stored = offers_as_of(connection, at, provider=f"{provider}-via-gpurentalprices")
    return {each.offer.sku: each.offer.list_price for each in stored}


def test_days_are_carried_in_in_order_and_only_changes_are_stored(
    engine: Engine, archive: Path, tmp_path: Path
) -> None:
    first = [row("lambda", "h100-sxm", 3.29), row("lambda", "gh200", 1.99, vram_gb=96), row("x", "l4", 0.39)]
    moved = [row("lambda", "h100-sxm", 3.49), row("lambda", "gh200", 1.99, vram_gb=96), row("x", "l4", 0.39)]
    gone = [row("lambda", "h100-sxm", 3.49), row("x", "l4", 0.39)]
    done = carried_in(engine, archive, write(tmp_path / "days", first, moved, gone))
    assert (done.days, done.price_rows, done.left_out) == (3, 4, [])
    assert +done.moves == {"lambda-via-gpurentalprices": 1}
    assert prices(engine, utc(5, 6, month=7), "lambda")["h100-sxm 80 GB"] == Decimal("3.29")
    assert prices(engine, utc(6, 6, month=7), "lambda") == {
        "h100-sxm 80 GB": Decimal("3.49"),
        "gh200 96 GB": Decimal("1.99"),
    }
    assert prices(engine, utc(7, 6, month=7), "lambda") == {"h100-sxm 80 GB": Decimal("3.49")}
    again = carried_in(engine, archive, tmp_path / "days")
    assert (again.price_rows, again.moves.total(), again.left_out) == (4, 0, [])


def test_the_aggregator_and_our_own_reading_never_close_each_other(
    engine: Engine, archive: Path, tmp_path: Path
) -> None:
    ours = make_offer(provider="lambda", list_price="4.29")
    publish_offers(engine, [ours], observed_at=utc(6, 1, month=7), provider="lambda")
    carried_in(engine, archive, write(tmp_path / "days", *[[row("lambda", "h100-sxm", 3.29)]] * 3))
    publish_offers(engine, [ours], observed_at=utc(8, month=7), provider="lambda")
    with reading(engine) as connection:
        now = offers_as_of(connection, utc(9, month=7))
    assert {(each.offer.provider, each.offer.list_price) for each in now} == {
        ("lambda", Decimal("4.29")),
        ("lambda-via-gpurentalprices", Decimal("3.29")),
    }


def test_a_move_of_the_rate_is_told_apart_and_keeps_the_price_that_is_stored(
    engine: Engine, archive: Path, tmp_path: Path
) -> None:
    """0.75, 3.20 and 1.40 euros, at 1.16, 1.17 and 1.15 dollars for one."""
    days = [
        scaleway("0.87", "3.712", "1.624"),
        scaleway("0.8775", "3.744", "1.638"),
        scaleway("0.8625", "3.68", "1.61"),
    ]
    done = carried_in(engine, archive, write(tmp_path / "days", *days))
    assert (done.moves.total(), done.unclear.total()) == (0, 0)
    assert done.rate_moves == {"scaleway-via-gpurentalprices": 6}
    assert done.price_rows == 3
    assert prices(engine, utc(9, month=7), "scaleway")["l4 24 GB"] == Decimal("0.87")


def test_where_rate_and_price_cannot_be_told_apart_it_is_no_move_either(
    engine: Engine, archive: Path, tmp_path: Path
) -> None:
    """The H100 falls from 3.20 to 3.00 euros while the rate moves; later one card is left: no telling."""
    days = [scaleway("0.87", "3.712", "1.624"), scaleway("0.8775", "3.51", "1.638")]
    one = [[row("scaleway", "l4", usd, vram_gb=24)] for usd in (0.88, 0.89)]
    done = carried_in(engine, archive, write(tmp_path / "days", *days, *one))
    assert done.moves.total() == 0
    assert done.rate_moves.total() == 0
    assert done.unclear == {"scaleway-via-gpurentalprices": 3 + 1 + 1}
    assert prices(engine, utc(6, month=7), "scaleway")["h100-sxm 80 GB"] == Decimal("3.51")


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], True),
        ([("0.9109", "0.9109")], True),
        ([("0.9109", "0.9129")], False),
        # Scaleway of 2026-08-16 and -17, as the aggregator has them: a factor of 1.0022.
        ([("0.9109", "0.9129"), ("8.6753", "8.6947"), ("3.3157", "3.3231"), ("1.7003", "1.7041")], True),
        ([("0.9109", "0.9129"), ("8.6753", "8.6947"), ("3.3157", "3.3331"), ("1.7003", "1.7041")], False),
        ([("1.0000", "1.0000"), ("2.0000", "2.0100")], False),
    ],
)
def test_one_factor_from_all_old_prices_to_all_new_ones(
    pairs: list[tuple[str, str]], *, expected: bool
) -> None:
    assert only_the_rate_moved([(Decimal(old), Decimal(new)) for old, new in pairs]) is expected


def test_a_provider_that_was_carried_forward_keeps_its_last_rows(
    engine: Engine, archive: Path, tmp_path: Path
) -> None:
    folder = write(tmp_path / "days", [row("vultr", "h100-sxm", 2.99)])
    stale = {"ok": False, "last_verified": "2026-07-05T05:00:00Z", "stale": True}
    later = day(row("vultr", "h100-sxm", 9.99), date="2026-07-06", vultr=stale)
    (folder / "2026-07-06.json").write_bytes(later)
    carried_in(engine, archive, folder)
    with reading(engine) as connection:
        (stored,) = offers_as_of(connection, utc(7, month=7))
    assert stored.offer.list_price == Decimal("2.99")
    assert stored.last_seen_at < utc(6, 0, month=7)


def test_a_price_that_cannot_be_is_refused_with_its_provider_s_day(
    engine: Engine, archive: Path, tmp_path: Path
) -> None:
    good, bad = row("lambda", "h100-sxm", 3.29), row("lambda", "h100-sxm", 0.000329)
    done = carried_in(engine, archive, write(tmp_path / "days", [good], [bad]))
    assert len(done.left_out) == 1
    assert done.left_out[0].startswith("2026-07-06 lambda-via-gpurentalprices: ")
    assert prices(engine, utc(7, month=7), "lambda") == {"h100-sxm 80 GB": Decimal("3.29")}
    with reading(engine) as connection:
        assert runs.last_runs(connection)["lambda-via-gpurentalprices"].outcome is Outcome.REFUSED


def test_days_that_are_sealed_over_its_own_rows_are_left_as_they_are(
    engine: Engine, archive: Path, tmp_path: Path
) -> None:
    publish_offers(engine, [make_offer()], observed_at=utc(1, month=7))
    seal_past_days(engine, now=utc(10, month=7))
    folder = write(tmp_path / "days", *[[row("lambda", "h100-sxm", 3.29 + n)] for n in range(2)])
    assert carried_in(engine, archive, folder).left_out == []
    seal_past_days(engine, now=utc(15, month=7))
    (folder / "2026-07-12.json").write_bytes(day(row("lambda", "h100-sxm", 9.29), date="2026-07-12"))
    (left,) = carried_in(engine, archive, folder).left_out
    assert left.endswith("The days before 2026-07-15 are sealed.")
    assert all(each.is_same for each in verify(engine))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (None, b"", "There is no day"),
        ("2026-07-05.json", b"<html>", "2026-07-05.json is no day of gpurentalprices: The file is not JSON."),
        ("2026-07-05.json", day(row("x", "l4", 1)).replace(b".000Z", b""), "in which zone"),
        ("2026-07-05.json", day(row("x", "l4", 1, kind="odd")), "a kind that is not known. (odd)"),
    ],
)
def test_a_folder_that_is_not_the_aggregator_s_changes_nothing(
    engine: Engine, archive: Path, tmp_path: Path, name: str | None, content: bytes, said: str
) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    if name:
        (folder / name).write_bytes(content)
    with pytest.raises(ImportRefusedError) as refused:
        carried_in(engine, archive, folder)
    assert said in str(refused.value)
    with reading(engine) as connection:
        assert runs.runs(connection) == []


# On the command line.

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, database_url: str) -> Run:
    environment = {"INFERPRICE_HOME": str(tmp_path / "home"), "DATABASE_URL": database_url}

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, words, env=environment, catch_exceptions=False)

    assert run("migrate").exit_code == 0
    return run


def test_the_command_says_what_moved(run: Run, tmp_path: Path) -> None:
    days = [[row("lambda", "h100-sxm", 3.29), *scaleway("0.87", "3.712", "1.624")]]
    days.append([row("lambda", "h100-sxm", 3.49), *scaleway("0.8775", "3.744", "1.638")])
    result = run("import", "--from", "gpurentalprices", str(write(tmp_path / "days", *days)))
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["lambda-via-gpurentalprices", "1", "1", "0", "0"] in lines
    assert ["scaleway-via-gpurentalprices", "3", "0", "3", "0"] in lines
    assert result.stdout.endswith("2 days read, 5 prices stored, 1 price moves.\n")
    rows = run("offers", "--provider", "lambda-via-gpurentalprices", "--format", "csv").stdout.splitlines()
    assert len(rows) == 2
    assert "aggregator" in rows[1]
    assert "https://gpurentalprices.com" in rows[1]


def test_option_and_folder_go_together(run: Run, tmp_path: Path) -> None:
    assert run("import", str(tmp_path)).exit_code == 2
    assert run("import", "--from", "gpurentalprices").exit_code == 2
    refused = run("import", "--from", "gpurentalprices", str(tmp_path))
    assert (refused.exit_code, "There is no day" in refused.stderr) == (1, True)


# The 44 days themselves, where they are at hand.


def expected_moves() -> Counter[str]:
    """Count, without the code under test, how often one row has another price than the last time it stood."""
    last: dict[tuple[Any, ...], float] = {}
    moves: Counter[str] = Counter()
    shown: dict[str, set[tuple[Any, ...]]] = {}
    for path in sorted(SHARED.glob("*.json")):
        content = json.loads(path.read_bytes())
        found: defaultdict[tuple[Any, ...], set[float]] = defaultdict(set)
        for each in content["offers"]:
            state = content["providers"][each["provider"]]
            if state["ok"] and not state["stale"]:
                names = ("provider", "gpu", "vram_gb", "kind", "min_gpus")
                found[tuple(each.get(name) for name in names)].add(each["usd_hr"])
        single = {key: next(iter(usd)) for key, usd in found.items() if len(usd) == 1}
        for key, usd in single.items():
            stood = key in shown.get(key[0], set())
            moves[key[0]] += stood and last[key] != usd
            last[key] = usd
        for provider in {key[0] for key in single}:
            shown[provider] = {key for key in single if key[0] == provider}
    return +moves


@NEEDS_SHARED
def test_the_44_days_move_as_their_own_rows_say_and_seven_providers_not_at_all(
    engine: Engine, archive: Path, tell: Tell
) -> None:
    done = carried_in(engine, archive, SHARED)
    moves = {name.removesuffix("-via-gpurentalprices"): count for name, count in (+done.moves).items()}
    expected = expected_moves()
    of_the_rate = expected.pop("scaleway")
    assert moves == expected
    assert not set(moves) & set(STEADY)
    assert {f"{name}-via-gpurentalprices" for name in STEADY} <= set(done.offers)
    assert dict(done.rate_moves) == {"scaleway-via-gpurentalprices": of_the_rate}
    assert (done.unclear.total(), done.left_out) == (0, [])
    with reading(engine) as connection:
        assert connection.execute(select(func.count()).select_from(price)).scalar_one() == done.price_rows
    seal_past_days(engine, now=NOW + timedelta(days=1))
    assert all(each.is_same for each in verify(engine))
    tell(
        f"{done.days} days: {done.price_rows} prices stored, {sum(moves.values())} price moves "
        f"{moves}, {of_the_rate} moves of Scaleway's rate, {done.unclear.total()} unclear"
    )
