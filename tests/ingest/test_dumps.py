"""Dumps: what the board said, with types, as other programs read it; true hashes whatever happens."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet
from sqlalchemy import Engine, text

from app.cli import main
from app.ingest import schedule
from app.ingest.dumps import ABOUT, is_behind, write_dumps, write_missing
from app.settings import Settings
from app.store.dumps import read_manifest
from app.store.migrate import upgrade
from app.store.session import make_engine, reading
from tests.make import make_offer, publish_offers, utc
from tests.web import market
from tests.web.conftest import serve

NOW = market.NOW
DAYS = [date(2026, 11, day) for day in range(2, 20)]
NAMES = ["history.parquet", *(f"offers-{day}.parquet" for day in DAYS)]
DAY_TYPES = {
    "provider": pa.string(),
    "gpu_count": pa.int64(),
    "list_price": pa.decimal128(38, 18),
    "usd_per_tbs_hour": pa.float64(),
    "term_days_min": pa.int64(),
    "form_factor_assumed": pa.bool_(),
    "is_floor": pa.bool_(),
    "memory_gb_as_written": pa.float64(),
    "valid_from": pa.date32(),
    "flags": pa.list_(pa.string()),
    "offer_id": pa.int64(),
    "observed_at": pa.timestamp("ms", tz="UTC"),
    "assumptions": pa.list_(pa.string()),
    "unknown": pa.map_(pa.string(), pa.string()),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is not there yet, beside the database."""
    return tmp_path / "dumps"


@pytest.fixture
def market_engine(database_url: str) -> Iterator[Engine]:
    """A database with the market's three weeks."""
    market.fill(database_url)
    engine = make_engine(database_url)
    yield engine
    engine.dispose()


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("[!.]*"))}


def is_true(folder: Path) -> bool:
    """Tell whether all that the manifest says is so; reads it as anybody would."""
    listed = json.loads((folder / "manifest.json").read_bytes())["files"]
    for each in listed:
        body = (folder / each["name"]).read_bytes()
        if (len(body), hashlib.sha256(body).hexdigest()) != (each["bytes"], each["sha256"]):
            return False
    return True


# ---------------------------------------------------------------- what is in it


def test_each_past_day_and_the_history_have_a_file_with_a_true_hash(
    market_engine: Engine, folder: Path
) -> None:
    written = write_dumps(market_engine, folder, now=NOW)
    assert sorted(written.made) == sorted(each.name for each in written.dumps) == NAMES
    assert sorted(bytes_of(folder)) == ["history.parquet", "manifest.json", *NAMES[1:]]
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert {key: manifest[key] for key in ABOUT} == ABOUT
    assert is_true(folder)
    for each in manifest["files"]:
        assert each["rows"] == parquet.read_metadata(folder / each["name"]).num_rows
        assert (each["schema_version"], each["methodology_version"]) == ("3", "1")
        assert each["data_version"] == len(market.runs())
    assert [each["day"] for each in manifest["files"]] == [None, *map(str, DAYS)]


def test_every_row_is_that_of_the_json_of_its_day(
    market_engine: Engine, database_url: str, folder: Path
) -> None:
    write_dumps(market_engine, folder, now=NOW)
    with serve(database_url) as client:
        for day in DAYS:
            document = client.get(f"/offers.json?as_of={day}").json()
            table = parquet.read_table(folder / f"offers-{day}.parquet")
            assert table.column_names == list(document["rows"][0])
            assert [as_json(row) for row in table.to_pylist()] == document["rows"], day
            assert table.schema.metadata[b"day"] == str(day).encode()
    assert sum(read_manifest(folder)[name].rows for name in NAMES[1:]) > 1000


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a file as JSON would have it."""
    row["list_price"] = float(row["list_price"])
    row["valid_from"] = row["valid_from"].isoformat()
    row["unknown"] = dict(row["unknown"])
    for key in ("observed_at", "last_seen_at"):
        row[key] = f"{row[key]:%Y-%m-%dT%H:%M:%SZ}"
    return row


def test_columns_have_types_units_and_meanings(market_engine: Engine, folder: Path) -> None:
    write_dumps(market_engine, folder, now=NOW)
    schema = parquet.read_schema(folder / "offers-2026-11-14.parquet")
    assert {key: schema.field(key).type for key in DAY_TYPES} == DAY_TYPES
    assert schema.field("usd_per_tbs_hour").metadata[b"unit"] == b"$/TB/s-h"
    assert all(schema.field(name).metadata[b"description"] for name in schema.names)
    assert not schema.field("provider").nullable
    assert schema.field("usd_per_gpu_hour").nullable


def test_pandas_reads_numbers_days_and_what_is_unknown(market_engine: Engine, folder: Path) -> None:
    write_dumps(market_engine, folder, now=NOW)
    table = pd.read_parquet(folder / "offers-2026-11-14.parquet")
    again = table["usd_per_gpu_hour"] / {"h100-sxm": 3.35}["h100-sxm"]
    h100 = (table["accelerator"] == "h100-sxm") & table["usd_per_tbs_hour"].notna()
    assert h100.sum() > 3
    assert (again[h100] - table["usd_per_tbs_hour"][h100]).abs().max() < 1e-12
    assert table.loc[table["currency"] == "EUR", "usd_per_gpu_hour"].isna().all()
    assert set(table.loc[table["sku"] == "H100 flex", "list_price"]) == {Decimal("1.00116")}
    assert table["valid_from"].map(type).eq(date).all()


def test_a_price_keeps_its_digits(engine: Engine, folder: Path) -> None:
    digits = ("0.000000123456789012", "2.990", "123456789012345678.5", "0.0000000000000000015")
    publish_offers(engine, [make_offer(sku=each, list_price=each, currency="EUR") for each in digits])
    write_dumps(engine, folder, now=utc(3))
    rows = parquet.read_table(folder / "offers-2026-11-01.parquet").to_pylist()
    found = {row["sku"]: row["list_price"] for row in rows}
    # The last has one decimal more than a file keeps, and is rounded to even.
    assert found == {each: Decimal(each) for each in digits[:3]} | {
        digits[3]: Decimal("0.000000000000000002")
    }


def test_the_history_has_every_price_with_the_time_it_held(engine: Engine, folder: Path) -> None:
    kept = make_offer(sku="kept", list_price="1.50", region="eu-north")
    for day, price in ((1, "2.00"), (2, "2.00"), (4, "2.50")):
        publish_offers(engine, [kept, make_offer(sku="moves", list_price=price)], observed_at=utc(day))
    euro = make_offer(sku="euro", list_price="3.10", currency="EUR", is_floor=True)
    announced = make_offer(sku="moves", list_price="9.00", valid_from=date(2026, 11, 20))
    publish_offers(
        engine, [kept, euro, make_offer(sku="moves", list_price="2.50"), announced], observed_at=utc(5)
    )
    publish_offers(engine, [euro], observed_at=utc(6))
    write_dumps(engine, folder, now=utc(8))
    rows = parquet.read_table(folder / "history.parquet").to_pylist()
    said = {
        (row["sku"], str(row["list_price"].normalize()), row["currency"], row["usd_per_gpu_hour"]): (
            row["valid_from"],
            row["valid_to"],
        )
        for row in rows
    }
    assert said == {
        ("kept", "1.5", "USD", 1.5): (utc(1), utc(6)),
        ("moves", "2", "USD", 2.0): (utc(1), utc(4)),
        ("moves", "2.5", "USD", 2.5): (utc(4), utc(6)),
        ("euro", "3.1", "EUR", None): (utc(5), None),
    }
    (first,) = [row for row in rows if row["sku"] == "kept"]
    assert first["capture_sha256"] == "0" * 64
    assert first["observed_at"] == utc(1)
    assert (first["region"], first["tier"], first["is_floor"]) == ("eu-north", None, False)
    assert [row["is_floor"] for row in rows if row["sku"] == "euro"] == [True]


def test_the_history_is_what_the_table_of_prices_has(market_engine: Engine, folder: Path) -> None:
    write_dumps(market_engine, folder, now=NOW)
    table = pd.read_parquet(folder / "history.parquet")
    query = (
        "SELECT offer_id, valid_from, valid_to, CASE WHEN slice_of IS NULL THEN usd_micros_per_gpu_hour END "
        "FROM price JOIN offer ON offer.id = price.offer_id"
    )
    with reading(market_engine) as connection:
        stored = {tuple(row) for row in connection.execute(text(query))}
    found = {
        (
            row.offer_id,
            int(row.valid_from.timestamp()),
            None if pd.isna(row.valid_to) else int(row.valid_to.timestamp()),
            None if pd.isna(row.usd_per_gpu_hour) else round(row.usd_per_gpu_hour * 1_000_000),
        )
        for row in table.itertuples()
    }
    assert found == stored
    assert len(table) == len(stored) > 100
    assert table.loc[table["slice_of"].notna(), "usd_per_gpu_hour"].isna().tolist() == [True]


# ---------------------------------------------------------------- what stays as it is


def test_two_runs_give_the_same_bytes_and_the_second_touches_nothing(
    market_engine: Engine, tmp_path: Path
) -> None:
    ours, others = tmp_path / "ours", tmp_path / "others"
    write_dumps(market_engine, ours, now=NOW)
    write_dumps(market_engine, others, now=NOW + timedelta(hours=3))
    assert bytes_of(ours) == bytes_of(others)
    before = {path.name: path.stat().st_ino for path in ours.glob("*.parquet")}
    assert write_dumps(market_engine, ours, now=NOW).made == frozenset()
    assert {path.name: path.stat().st_ino for path in ours.glob("*.parquet")} == before
    assert bytes_of(ours) == bytes_of(others)


def test_what_changes_a_day_writes_that_day_anew_and_no_other(market_engine: Engine, folder: Path) -> None:
    write_dumps(market_engine, folder, now=NOW)
    before = read_manifest(folder)
    newcomer = [market.offer("newcomer", "H100", "h100-sxm", "1.11")]
    publish_offers(market_engine, newcomer, observed_at=market.at(18), provider="newcomer")
    made = write_dumps(market_engine, folder, now=NOW).made
    assert made == {"history.parquet", "offers-2026-11-18.parquet", "offers-2026-11-19.parquet"}
    assert is_true(folder)
    after = read_manifest(folder)
    assert {name for name in after if after[name].sha256 != before[name].sha256} == made
    assert after["offers-2026-11-19.parquet"].rows == before["offers-2026-11-19.parquet"].rows + 1


def test_only_the_days_asked_for_are_written_and_the_others_stay_listed(
    market_engine: Engine, folder: Path
) -> None:
    first = write_dumps(market_engine, folder, now=NOW, first=date(2026, 11, 5), last=date(2026, 11, 6))
    assert sorted(first.made) == ["history.parquet", "offers-2026-11-05.parquet", "offers-2026-11-06.parquet"]
    write_dumps(market_engine, folder, now=NOW, last=date(2026, 11, 2))
    assert sorted(read_manifest(folder)) == [
        "history.parquet",
        "offers-2026-11-02.parquet",
        "offers-2026-11-05.parquet",
        "offers-2026-11-06.parquet",
    ]


@pytest.mark.parametrize("damage", ["changed", "gone", "no manifest", "another manifest"])
def test_what_is_damaged_is_made_again(engine: Engine, folder: Path, damage: str) -> None:
    publish_offers(engine, [make_offer()])
    write_dumps(engine, folder, now=utc(3))
    good = bytes_of(folder)
    path = folder / "offers-2026-11-01.parquet"
    manifest = folder / "manifest.json"
    {
        "changed": lambda: path.write_bytes(b"x" + path.read_bytes()[1:]),
        "gone": path.unlink,
        "no manifest": manifest.unlink,
        "another manifest": lambda: manifest.write_text('{"files": [{"name": 1}]}'),
    }[damage]()
    write_dumps(engine, folder, now=utc(3))
    assert bytes_of(folder) == good


# ---------------------------------------------------------------- killed half way


class KilledError(BaseException):
    """Stands for the end of the process: nothing catches it."""


def test_killed_between_any_two_steps_the_manifest_is_true_and_the_next_run_mends_all(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each rename in turn the run ends, over a folder with one new file and three to be replaced."""
    for day in (1, 2, 3):
        publish_offers(engine, [make_offer(list_price=f"{day}.00")], observed_at=utc(day))
    write_dumps(engine, tmp_path / "before", now=utc(3))
    # A run that came late changes the days that are written, and another day is over.
    late = [make_offer(provider="late", list_price="9.00")]
    publish_offers(engine, late, observed_at=utc(1), provider="late")
    ends = []
    for steps in range(20):
        folder = shutil.copytree(tmp_path / "before", tmp_path / f"after-{steps}")
        ends.append(killed_before(steps, engine, folder, monkeypatch))
        assert is_true(folder)
        write_dumps(engine, folder, now=utc(4))
        assert is_true(folder)
        assert sorted(bytes_of(folder)) == [
            "history.parquet",
            "manifest.json",
            *(f"offers-2026-11-0{day}.parquet" for day in (1, 2, 3)),
        ]
        assert not list(folder.glob(".half-*"))
    # A new day, a manifest without what is replaced, three replaced, the whole manifest.
    assert ends == [True] * 6 + [False] * 14
    assert len({str(bytes_of(tmp_path / f"after-{steps}")) for steps in range(20)}) == 1


def killed_before(steps: int, engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Write the dumps and end before that many renames are done; tell whether it came to that."""
    done, rename = 0, Path.replace

    def replace(self: Path, target: Path) -> Path:
        nonlocal done
        if done == steps:
            raise KilledError
        done += 1
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        try:
            write_dumps(engine, folder, now=utc(4))
        except KilledError:
            return True
    return False


def test_what_was_left_half_done_is_never_listed(engine: Engine, folder: Path) -> None:
    publish_offers(engine, [make_offer()])
    folder.mkdir()
    (folder / ".half-offers-2026-11-01.parquet").write_bytes(b"half")
    write_dumps(engine, folder, now=utc(2))
    assert is_true(folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        ".lock",
        "history.parquet",
        "manifest.json",
        "offers-2026-11-01.parquet",
    ]


# ---------------------------------------------------------------- a scheduler


def test_a_scheduler_adds_a_day_once_it_is_over_and_looks_at_no_other(
    market_engine: Engine, database_url: str, folder: Path
) -> None:
    midnight = datetime(2026, 11, 20, tzinfo=UTC)
    assert is_behind(market_engine, folder, now=midnight)
    write_missing(database_url, folder, now=midnight)
    assert sorted(read_manifest(folder)) == NAMES[:-1]
    # The runs that began before midnight have ten minutes to end.
    assert not is_behind(market_engine, folder, now=midnight + timedelta(minutes=9, seconds=59))
    later = midnight + timedelta(minutes=10)
    assert is_behind(market_engine, folder, now=later)
    inodes = {path.name: path.stat().st_ino for path in folder.glob("offers-*")}
    write_missing(database_url, folder, now=later)
    assert sorted(read_manifest(folder)) == NAMES
    assert {name: (folder / name).stat().st_ino for name in inodes} == inodes
    assert not is_behind(market_engine, folder, now=later)


def test_another_version_of_the_program_writes_what_it_works_out_otherwise(
    engine: Engine, database_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_offers(engine, [make_offer()])
    write_missing(database_url, folder, now=utc(3))
    assert not is_behind(engine, folder, now=utc(3))
    monkeypatch.setattr("app.ingest.dumps.__version__", "9.9.9")
    assert is_behind(engine, folder, now=utc(3))
    write_missing(database_url, folder, now=utc(3))
    assert not is_behind(engine, folder, now=utc(3))
    assert {each.program_version for each in read_manifest(folder).values()} == {"9.9.9"}


def test_the_scheduler_writes_apart_from_its_own_process(
    sqlite_database_url: str, folder: Path, tmp_path: Path
) -> None:
    engine = make_engine(sqlite_database_url)
    upgrade(engine)
    two_days_ago = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)
    publish_offers(engine, [make_offer()], observed_at=two_days_ago)
    settings = Settings(DATABASE_URL=sqlite_database_url, home=tmp_path)
    schedule._dump(engine, settings)
    assert settings.dumps_folder == folder
    assert f"offers-{two_days_ago.date()}.parquet" in read_manifest(folder)
    assert is_true(folder)
    written = (folder / "manifest.json").stat().st_ino
    schedule._dump(engine, settings)
    assert (folder / "manifest.json").stat().st_ino == written
    engine.dispose()


def test_nothing_is_dumped_of_an_empty_database(engine: Engine, folder: Path) -> None:
    written = write_dumps(engine, folder, now=NOW)
    assert [each.name for each in written.dumps] == ["history.parquet"]
    assert not is_behind(engine, folder, now=NOW)


# ---------------------------------------------------------------- the command


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def run(home: Path, *words: str) -> Result:
    environment = {"INFERPRICE_HOME": str(home), "DATABASE_URL": "", "INFERPRICE_DUMPS": ""}
    return CliRunner().invoke(main, ["dump", *words], env=environment, catch_exceptions=False)


def test_the_command_says_what_it_wrote(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(home, "--out", str(out), "--from", "2026-10-30", "--to", "2026-11-01")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "history.parquet",
        *(f"offers-{day}.parquet" for day in ("2026-10-30", "2026-10-31", "2026-11-01")),
    ]
    assert all(line.endswith("  written") for line in lines[1:])
    assert is_true(out)
    again = run(home, "--out", str(out), "--to", "2026-11-01")
    assert "written" not in again.stdout
    assert run(home, "--to", "2026-10-30").exit_code == 0
    assert (home / "dumps" / "offers-2026-10-30.parquet").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--to", "2999-01-01"), "--to: '2999-01-01' is not over"),
        (("--from", "2026-11-02", "--to", "2026-11-01"), "--from: '2026-11-02' is after the last day"),
        (("--from", "soon"), "'soon' does not match"),
    ],
)
def test_a_wrong_day_is_refused(home: Path, words: tuple[str, ...], said: str) -> None:
    refused = run(home, *words)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_a_folder_that_cannot_be_written_is_said_in_a_sentence(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = run(home, "--out", str(tmp_path / "file" / "below"))
    assert refused.exit_code == 1
    assert refused.stderr.count("\n") >= 1
    assert "cannot be written into" in refused.stderr
    assert "Traceback" not in refused.output
