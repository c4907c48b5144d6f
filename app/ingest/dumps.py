"""Dumps: the board of each past day and every price ever stored as Parquet, with a manifest of their hashes.

A day's file has the rows of that day's last second, as `/offers.json?as_of=DAY` gives them with the default
columns. Figures are float64, as in the JSON. `list_price` alone is decimal128, so that the price as printed
is exact to 18 decimals and can still be reckoned with. Equal data give equal bytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any, Final

from app import __version__
from app.domain import fields
from app.domain.accelerators import load_catalogue
from app.domain.board import build_board
from app.domain.columns import DEFAULT_COLUMNS, export_columns
from app.domain.fields import Field
from app.domain.metrics import METHODOLOGY_VERSION, METRICS
from app.domain.offers import MICROS_PER_USD
from app.domain.query import OfferQuery
from app.ingest.snapshots import GRACE
from app.store import dumps as store
from app.store import queries
from app.store.dumps import HALF, HISTORY, Dump
from app.store.intervals import price_intervals
from app.store.session import make_engine, reading
from app.store.snapshots import last_second

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date, datetime
    from pathlib import Path

    from sqlalchemy import Connection, Engine, RowMapping

SCHEMA_VERSION: Final = "3"
"""Version of the columns of the files and of their types."""

ABOUT: Final = {
    "title": "InferPrice: the board of each past day, and every price ever stored",
    "terms": "Name the provider, the day and InferPrice when you pass figures on, and keep their warnings; "
    "rows of a provider 'via gpurentalprices' are under CC BY 4.0. More stands on /about-data.",
    "schema_version": SCHEMA_VERSION,
    "methodology_version": METHODOLOGY_VERSION,
}

DECIMALS: Final = 18
"""Decimals that `list_price` keeps."""

_EXACT: Final = Context(prec=38, rounding=ROUND_HALF_EVEN)

DAY_FIELDS: Final = fields.row_fields(export_columns(DEFAULT_COLUMNS))

HISTORY_FIELDS: Final = (
    *fields.PARTS_OF_KEY,
    *fields.TERMS,
    fields.text("family", "The card's family; it may be known where the variant is not."),
    fields.text("slice_of", "The card that a slice is cut from; missing for a whole card."),
    fields.flag("variant_assumed", "Whether the page does not name the variant, and it is assumed."),
    fields.whole("offer_id", "The number of the offer.", unit="", is_known=True),
    *fields.PRINTED,
    fields.IS_FLOOR,
    Field(
        key="usd_per_gpu_hour",
        kind="number",
        meaning=f"{METRICS['usd_per_gpu_hour'].meaning} Missing for a slice and without dollars.",
        unit=METRICS["usd_per_gpu_hour"].unit,
    ),
    fields.time("valid_from", "When the price began."),
    fields.time("valid_to", "When it ended; missing while it stands.", is_known=False),
    fields.flag("announced", "Whether the page had printed the day on which it begins."),
    fields.time("observed_at", "When the page was read that the price is from."),
    fields.text("source_url", "The page that the price was read on."),
    fields.text("capture_sha256", "The hash of the bytes that the price was read from."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """All files of a folder after a run, by name, and which of them are new or other than before."""

    dumps: tuple[Dump, ...]
    made: frozenset[str]


def write_dumps(
    engine: Engine,
    folder: Path,
    *,
    now: datetime,
    first: date | None = None,
    last: date | None = None,
    missing_only: bool = False,
) -> Written:
    """Write the files of the days between two, as far as they are past, and the history.

    A file that would be as it is stays untouched. With `missing_only` the files of days that this version of
    the program has written are not looked at.
    """
    with store.writing(folder), reading(engine) as connection:
        run = _Run(connection, folder, store.read_manifest(folder), missing_only=missing_only)
        for day in days_to_dump(connection, now=now):
            if (first is None or day >= first) and (last is None or day <= last):
                run.add(_name_of(day), day=day)
        run.add(HISTORY, day=None)
        store.put(folder, tuple(run.dumps.values()), made=run.made, about=ABOUT)
    return Written(
        dumps=tuple(sorted(run.dumps.values(), key=lambda each: each.name)), made=frozenset(run.made)
    )


def days_to_dump(connection: Connection, *, now: datetime) -> Iterator[date]:
    """Yield every past day from the first with a price on, oldest first; it is past when it may be sealed."""
    oldest = queries.first_day(connection)
    if oldest is None:
        return
    day, today = oldest.date(), (now - GRACE).date()
    while day < today:
        yield day
        day += timedelta(days=1)


def is_behind(engine: Engine, folder: Path, *, now: datetime) -> bool:
    """Tell whether a past day has no file that this version of the program has written."""
    listed = store.read_manifest(folder)
    with reading(engine) as connection:
        names = [_name_of(day) for day in days_to_dump(connection, now=now)]
    return any(name not in listed or listed[name].program_version != __version__ for name in names)


def _name_of(day: date) -> str:
    return f"offers-{day}.parquet"


def write_missing(database_url: str, folder: Path, *, now: datetime) -> None:
    """Write the files of past days that have none, and the history; a scheduler does so apart."""
    engine = make_engine(database_url)
    try:
        write_dumps(engine, folder, now=now, missing_only=True)
    finally:
        engine.dispose()


class _Run:
    """One writing of files: what the manifest is to list, and which files were made for it."""

    def __init__(
        self, connection: Connection, folder: Path, listed: Mapping[str, Dump], *, missing_only: bool
    ) -> None:
        self.made: list[str] = []
        self._connection = connection
        self._folder = folder
        self._missing_only = missing_only
        self._version = queries.data_version(connection)
        self.dumps = {name: each for name, each in listed.items() if store.is_intact(folder, each)}

    def add(self, name: str, *, day: date | None) -> None:
        """Make a file, unless it is there as it would be made."""
        before = self.dumps.get(name)
        if self._missing_only and day and before and before.program_version == __version__:
            return
        half = self._folder / f"{HALF}{name}"
        rows = (
            _write_history(self._connection, half)
            if day is None
            else _write_day(self._connection, half, day=day)
        )
        dump = Dump(
            name=name,
            rows=rows,
            bytes=half.stat().st_size,
            sha256=store.hash_of(half),
            day=None if day is None else day.isoformat(),
            schema_version=SCHEMA_VERSION,
            methodology_version=METHODOLOGY_VERSION,
            program_version=__version__,
            data_version=self._version,
        )
        self.dumps[name] = dump
        if before is not None and before.sha256 == dump.sha256:
            half.unlink()
        else:
            self.made.append(name)


def _write_day(connection: Connection, path: Path, *, day: date) -> int:
    """Write the board of a day's last second; return how many rows it has."""
    instant = last_second(day)
    stored = queries.offers_as_of(connection, instant)
    board = build_board(stored, load_catalogue(), instant=instant)
    query = OfferQuery(as_of=day)
    columns = export_columns(query.columns)
    selection = board.select(query, everything=True)
    rows = [fields.typed_row(board.rows[at], selection.view, columns=columns) for at in selection.rows]
    return _write(path, [rows], fields=DAY_FIELDS, about={"day": day.isoformat()})


def _write_history(connection: Connection, path: Path) -> int:
    """Write every stored price; return how many there are."""
    parts = ([_interval(row) for row in part] for part in price_intervals(connection))
    return _write(path, parts, fields=HISTORY_FIELDS, about={})


def _interval(row: RowMapping) -> dict[str, object]:
    values: dict[str, Any] = {str(key): None if value == "" else value for key, value in row.items()}
    micros = values.pop("usd_micros_per_gpu_hour")
    values["usd_per_gpu_hour"] = None if micros is None or values["slice_of"] else micros / MICROS_PER_USD
    return values


def _write(
    path: Path,
    parts: Iterable[Sequence[Mapping[str, object]]],
    *,
    fields: Sequence[Field],
    about: Mapping[str, str],
) -> int:
    """Write rows as Parquet, a group a part; return how many. Nothing in it tells when it was written."""
    import pyarrow as pa  # noqa: PLC0415 - 50 MB that only a dump needs
    from pyarrow import parquet  # noqa: PLC0415 - same

    versions = {"schema_version": SCHEMA_VERSION, "methodology_version": METHODOLOGY_VERSION}
    schema = pa.schema([_arrow_field(pa, each) for each in fields], metadata={**versions, **about})
    exact = [each.key for each in fields if each.kind == "exact"]
    count = 0
    with path.open("wb") as file:
        with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for rows in parts:
                plain = [{**row, **{key: _to_decimals(row[key]) for key in exact}} for row in rows]
                writer.write_table(pa.Table.from_pylist(plain, schema=schema))
                count += len(plain)
        file.flush()
        os.fsync(file.fileno())
    return count


def _arrow_field(pa: Any, field: Field) -> Any:
    """Return the column of a field, with its meaning and unit beside its name."""
    types = {
        "text": pa.string(),
        "whole": pa.int64(),
        "number": pa.float64(),
        "exact": pa.decimal128(38, DECIMALS),
        "flag": pa.bool_(),
        "day": pa.date32(),
        "time": pa.timestamp("ms", tz="UTC"),
        "texts": pa.list_(pa.string()),
        "reasons": pa.map_(pa.string(), pa.string()),
    }
    about = {"description": field.meaning, **({"unit": field.unit} if field.unit else {})}
    return pa.field(field.key, types[field.kind], nullable=not field.is_known, metadata=about)


def _to_decimals(value: object) -> Decimal:
    """Return a price with as many decimals as a file keeps; what is printed has far fewer."""
    assert isinstance(value, Decimal)  # noqa: S101 - the store knows no price without one
    return value.quantize(Decimal(1).scaleb(-DECIMALS), context=_EXACT)
