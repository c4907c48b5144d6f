"""Measured speeds of language models as facts: what was run on what, who says so, and how much it states.

The table is `data/measurements.csv`. A figure is the one its source prints, for all GPUs together; what the
source does not state is empty. Nothing is taken whose model or card is none of ours. Of 2,085 rows of four
collections 103 were taken:

- MLPerf Inference v5.1 (406): the best closed Offline result of each benchmark and card, 26. Left out are
  245 of other scenarios or the open division, 47 of llama2-70b-99.9 (the same runs under a stricter
  target), 75 that another result of the same card beats, and 13 on mixed cards, virtual ones, boards with
  two GPUs, or no GPU at all.
- InferenceX's experimental decode sweep (169): four prompt lengths, 42. Left out are 52 of a model whose
  scripts name no card, 7 with data-parallel attention, 68 of other prompt lengths.
- llmfit's benchmark cache (1,010): the newest run of a model, card, engine and format with one stream and
  no drafting, 12. Left out are 950 of other models or cards, 20 older runs, 16 in a format that does not
  say its bits, 7 with drafting of a length nobody states, and 5 larger than the card's memory.
- llmfit's community runs (500): one of a model and card, 23. Left out are 472 of other models or cards and
  5 larger than the card's memory.

One more row is the pass time that `worked_case` looks into.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.cells import packaged_lines, read_lines
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date
    from decimal import Decimal

    from app.domain.cells import Cells

KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "benchmark": "a published benchmark with rules, whose results were reviewed",
        "sweep": "a series that one tester ran over several batches and contexts",
        "community": "what somebody reports of their own machine; nobody has checked it",
        "own": "the reader's own figure, which the link gives",
    }
)
"""Who measured, by the word that stands in the table; `own` stands in links alone."""

UNITS: Final[Mapping[str, str]] = MappingProxyType({"tokens_per_s": "tokens/s", "ms_per_pass": "ms"})
"""What was measured, with its unit: generated tokens a second of all GPUs, or the time of one decode pass."""

_DATA_FILE: Final = "measurements.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measured speed.

    `llm` is a model's id, empty where the source names none; `llm_as_written` is the source's own word, which
    may be a sibling of the same shape. `value` is for all `gpus` and all sequences together, in the unit of
    `metric`. `weights` and `kv` are ids of formats, empty where unknown. `batch` is how many sequences ran at
    once, None where not stated; `context_in` and `context_out` are tokens of each. `weights_gb` is set where
    the ceiling of one stream is by convention worked out for that size.
    """

    id: str
    kind: str
    benchmark: str
    llm: str
    llm_as_written: str
    accelerator: str
    gpus: int
    engine: str
    engine_version: str
    weights: str
    weights_as_written: str
    kv: str
    weights_gb: Decimal | None
    batch: int | None
    context_in: int | None
    context_out: int | None
    metric: str
    value: Decimal
    source: str
    source_url: str
    licence: str
    as_of: date
    note: str

    @property
    def unit(self) -> str:
        """Return the unit of the value."""
        return UNITS[self.metric]

    @property
    def tokens_per_s_per_gpu(self) -> Decimal | None:
        """Return tokens a second for each GPU, None where a pass was timed instead."""
        return self.value / self.gpus if self.metric == "tokens_per_s" else None


@cache
def load_measurements() -> tuple[Measurement, ...]:
    """Read the packaged table, once per process.

    Raises:
        ValueError: a cell is missing or cannot be read; the text names file, line, column and value.
    """
    return parse_measurements(packaged_lines(_DATA_FILE))


def parse_measurements(lines: Iterable[str], *, file_name: str = _DATA_FILE) -> tuple[Measurement, ...]:
    """Read a table of measurements from CSV lines; see `load_measurements` for the errors."""
    found: dict[str, Measurement] = {}
    for row in read_lines(lines, file_name=file_name):
        made = _measurement(row)
        if made.id in found:
            raise row.error("id", "stands twice")
        found[made.id] = made
    return tuple(found.values())


def _measurement(row: Cells) -> Measurement:
    metric = row.one_of("metric", UNITS)
    row.one_of("unit", (UNITS[metric],))
    return Measurement(
        id=row.required("id"),
        kind=row.one_of("kind", [kind for kind in KINDS if kind != "own"]),
        benchmark=row.required("benchmark"),
        llm=row.text("llm"),
        llm_as_written=row.required("llm_as_written"),
        accelerator=row.one_of("accelerator", load_catalogue().by_id),
        gpus=_count(row, "gpus"),
        engine=row.required("engine"),
        engine_version=row.text("engine_version"),
        weights=_id_or_empty(row, "weights", known=FORMATS),
        weights_as_written=row.text("weights_as_written"),
        kv=_id_or_empty(row, "kv", known=KV_FORMATS),
        weights_gb=row.positive_or_none("weights_gb"),
        batch=_count_or_none(row, "batch"),
        context_in=row.whole_or_none("context_in"),
        context_out=row.whole_or_none("context_out"),
        metric=metric,
        value=row.positive("value"),
        source=row.required("source"),
        source_url=row.text("source_url"),
        licence=row.required("licence"),
        as_of=row.day("as_of"),
        note=row.text("note"),
    )


def _id_or_empty(row: Cells, column: str, *, known: Iterable[str]) -> str:
    return row.one_of(column, known) if row.text(column) else ""


def _count(row: Cells, column: str) -> int:
    number = row.whole(column)
    if number == 0:
        raise row.error(column, "is not above zero")
    return number


def _count_or_none(row: Cells, column: str) -> int | None:
    return _count(row, column) if row.text(column) else None
