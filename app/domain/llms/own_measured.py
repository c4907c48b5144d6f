"""The reader's own measurement: read from a link, written back to it, and made into one like any other.

It stands in the link alone. The model is the page's; what the link leaves out is not stated.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.barred import Range, bounds, name_part, named_part, parts_of, variant_part
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS
from app.domain.llms.measurements import Measurement
from app.domain.names import fold
from app.domain.query_error import QueryError
from app.domain.typed import plain_number, read_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from app.domain.names import Names

MEASURED_PARTS: Final = "tokens_per_s|accelerator|weights|gpus|batch|context|kv|name"
MAX_MEASURED: Final = 8
MAX_DECIMALS: Final = 3
DEFAULT_NAME: Final = "yours"

_FEWEST: Final = 3
_RANGES: Final[Mapping[str, Range]] = {
    "tokens_per_s": Range(low=Decimal("0.001"), high=Decimal(1_000_000_000)),
    "gpus": Range(low=Decimal(1), high=Decimal(100_000)),
    "batch": Range(low=Decimal(1), high=Decimal(1_000_000)),
    "context": Range(low=Decimal(0), high=Decimal(100_000_000)),
}
_WEIGHTS: Final = fold(FORMATS)
_CACHES: Final = fold(KV_FORMATS)


def parse_measured(text: str, variants: Names, *, llm: str, day: date) -> Measurement:
    """Read `tokens_per_s|accelerator|weights` and, if wanted, GPUs, batch, context, cache format and a name.

    Tokens a second are of all GPUs and sequences together, GPUs one unless given. A part may be left empty.
    `day` is today. Raises QueryError for `measured`, naming the part that is wrong.
    """
    try:
        parts = parts_of(text, MEASURED_PARTS, fewest=_FEWEST)
        return _measurement(parts, variants, llm=llm, day=day)
    except ValueError as error:
        raise QueryError("measured", text, str(error)) from None


def parse_all_measured(
    texts: Sequence[str], variants: Names, *, llm: str, day: date
) -> tuple[Measurement, ...]:
    """Read the measurements of one link, at most MAX_MEASURED; raises QueryError for `measured`."""
    if len(texts) > MAX_MEASURED:
        raise QueryError("measured", texts[MAX_MEASURED], f"give at most {MAX_MEASURED}")
    return tuple(parse_measured(text, variants, llm=llm, day=day) for text in texts)


def canonical_measured(measured: Measurement) -> str:
    """Return the text for a link, which parses back to an equal measurement of the same model and day."""
    parts = [
        plain_number(measured.value),
        measured.accelerator,
        measured.weights,
        "" if measured.gpus == 1 else str(measured.gpus),
        *("" if number is None else str(number) for number in (measured.batch, measured.context_in)),
        measured.kv,
        "" if measured.id == DEFAULT_NAME else measured.id,
    ]
    while not parts[-1]:
        parts.pop()
    return "|".join(parts)


def _measurement(parts: Mapping[str, str], variants: Names, *, llm: str, day: date) -> Measurement:
    kv = parts.get("kv", "")
    weights = named_part("weights", parts["weights"], names=_WEIGHTS)
    return Measurement(
        id=name_part(parts.get("name") or DEFAULT_NAME),
        kind="own",
        benchmark="your own figure",
        llm=llm,
        llm_as_written=llm,
        accelerator=variant_part(parts["accelerator"], variants),
        gpus=_whole("gpus", parts) or 1,
        engine="",
        engine_version="",
        weights=weights,
        weights_as_written=weights,
        kv=named_part("kv", kv, names=_CACHES) if kv else "",
        weights_gb=None,
        batch=_whole("batch", parts),
        context_in=_whole("context", parts),
        context_out=None,
        metric="tokens_per_s",
        value=_number("tokens_per_s", parts["tokens_per_s"], decimals=MAX_DECIMALS),
        source="the link",
        source_url="",
        licence="",
        as_of=day,
        note="nobody has checked it",
    )


def _whole(part: str, parts: Mapping[str, str]) -> int | None:
    text = parts.get(part, "")
    return int(_number(part, text, decimals=0)) if text else None


def _number(part: str, text: str, *, decimals: int) -> Decimal:
    allowed = _RANGES[part]
    try:
        number = read_number(text, decimals=decimals)
    except ValueError as error:
        raise ValueError(f"{part}: {error}") from None
    if not allowed.low <= number <= allowed.high:
        raise ValueError(f"{part}: give a number {bounds(allowed)}")
    return Decimal(plain_number(number))
