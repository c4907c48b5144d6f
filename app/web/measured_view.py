"""What the page of measured speeds shows: each beside its bounds, said in words, with the arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import load_catalogue
from app.domain.llms.benchmarked import profile_of
from app.domain.llms.beside_bounds import Beside, OneStream, beside_bounds
from app.domain.llms.bounds import DecodeBound
from app.domain.llms.facts import load_llms
from app.domain.llms.formats import FORMATS, Rate, rate_of
from app.domain.llms.measurements import KINDS, load_measurements
from app.domain.llms.unknown import Unknown
from app.domain.llms.worked_case import TIMES, gap, left, load_case, ruled_out, speeds
from app.web import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.llms.measurements import Measurement
    from app.domain.llms.profile import LlmProfile
    from app.domain.llms.worked_case import Figure
    from app.web.measured_query import MeasuredQuery

_GIGA: Final = 10**9
_PERCENT: Final = 100
_MS_PER_S: Final = 1000
_FEW: Final = 100

CAUTION: Final = {
    "own": (
        "It stays in the link, and is neither stored nor logged here; whoever you give the link to can read "
        "it. A speed above a bound means that something it says of itself cannot be so."
    ),
    "benchmark": (
        "Results of MLPerf Inference v5.1, closed division, verified by MLCommons and cited by their entry. "
        "The speed for each GPU is the system's divided by its GPUs; that is no metric of MLPerf's, and the "
        "name is a trademark of MLCommons. No entry states its batch, so only the bound of any batch holds."
    ),
    "sweep": (
        "A series that its authors call work in progress. Tokens a second are over the whole run, in which "
        "prompts are read as well, so they are well below what decoding alone would give."
    ),
    "community": (
        "What people report of their own machines. Nobody has checked it, and much of what it depends on is "
        "not stated."
    ),
}
"""What is to be known of each kind of measurement before its figures are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A number as shown and as it is, or why there is none."""

    text: str
    raw: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measurement with its cells and, by what they are, the sums behind them."""

    beside: Beside
    model: str
    href: str
    measured: Cell
    one_stream: Cell
    times_one_stream: Cell
    batch_bound: Cell
    share_of_batch: Cell
    any_batch: Cell
    share_of_any: Cell
    arithmetic: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The measurements of one kind, what that kind is and what to be careful about."""

    kind: str
    meaning: str
    caution: str
    lines: tuple[Line, ...]


@cache
def all_lines() -> tuple[Line, ...]:
    """Return every measurement beside its bounds, once per process."""
    return tuple(line_of(each) for each in load_measurements())


def groups(query: MeasuredQuery) -> tuple[Group, ...]:
    """Return the measurements that a query asks for by kind, without the kinds that have none."""
    lines = lines_of(query)
    found = (
        Group(
            kind=kind,
            meaning=meaning,
            caution=CAUTION.get(kind, ""),
            lines=tuple(line for line in lines if line.beside.measurement.kind == kind),
        )
        for kind, meaning in sorted(KINDS.items(), key=lambda pair: pair[0] != "own")
    )
    return tuple(group for group in found if group.lines)


def lines_of(query: MeasuredQuery) -> tuple[Line, ...]:
    """Return the reader's own measurements, and those of the model and card or family that a query names."""
    own = tuple(line_of(each) for each in query.measured)
    return own + tuple(
        line
        for line in all_lines()
        if query.llm in {"", line.beside.measurement.llm}
        and query.gpu in {"", line.beside.card.id, line.beside.card.family}
    )


@cache
def chapters() -> dict[str, tuple[Figure, ...]]:
    """Return the figures of the worked case by chapter."""
    case = load_case()
    return {"gap": gap(case), "speeds": speeds(case), "ruled_out": ruled_out(case), "left": left(case)}


# ---------------------------------------------------------------- a line


def line_of(measurement: Measurement, profile: LlmProfile | None = None) -> Line:
    """Return one measurement beside its bounds, by the profile of the model that it names unless given."""
    card = load_catalogue().by_id[measurement.accelerator]
    known = profile or profile_of(measurement.llm, load_llms())
    beside = beside_bounds(measurement, card, profile=known)
    bound = beside.batch_bound
    per_gpu = measurement.tokens_per_s_per_gpu
    stream = beside.one_stream
    return Line(
        beside=beside,
        model=_model(beside),
        href=_href(beside),
        measured=_timed(beside) if per_gpu is None else _rate(per_gpu),
        one_stream=value_cell(stream.tokens_per_s_per_gpu if isinstance(stream, OneStream) else stream, 3),
        times_one_stream=_number(beside.times_one_stream),
        batch_bound=_rate(bound.tokens_per_s / measurement.gpus if isinstance(bound, DecodeBound) else bound),
        share_of_batch=_share(beside.share_of_batch_bound),
        any_batch=_rate(beside.any_batch_tokens_per_s_per_gpu),
        share_of_any=_share(beside.share_of_any_batch),
        arithmetic=tuple(_arithmetic(beside, known)),
    )


def _model(beside: Beside) -> str:
    llm = load_llms().get(beside.measurement.llm)
    return llm.name if llm else beside.measurement.llm.partition("/")[2] or "not named"


def _href(beside: Beside) -> str:
    """Return the address of the model's page, empty where it has none."""
    llm = beside.measurement.llm
    return f"/llms/{llm}" if llm in load_llms() else ""


def _timed(beside: Beside) -> Cell:
    measurement = beside.measurement
    value = words.exact(measurement.value)
    return Cell(text=f"{value} {measurement.unit} a pass", raw=value)


def _rate(value: Decimal | Unknown) -> Cell:
    return value_cell(value, 3 if isinstance(value, Unknown) or value < _FEW else 1)


def _number(value: Decimal | Unknown) -> Cell:
    return value_cell(value, 2)


def _share(value: Decimal | Unknown) -> Cell:
    return value_cell(value if isinstance(value, Unknown) else value * _PERCENT, 2)


def value_cell(value: Decimal | Unknown, decimals: int) -> Cell:
    """Return a cell with so many decimals, a dash with its reason where nothing is known."""
    if isinstance(value, Unknown):
        return Cell(text=words.DASH, why=value.why)
    return Cell(text=words.number(value, decimals), raw=words.exact(value))


# ---------------------------------------------------------------- the sums behind a line


def _arithmetic(beside: Beside, profile: LlmProfile | None) -> Iterator[tuple[str, str]]:
    measurement, per_gpu = beside.measurement, beside.measurement.tokens_per_s_per_gpu
    if per_gpu is not None:
        total = f"{words.exact(measurement.value)} tokens/s / {measurement.gpus}"
        yield "Measured for each GPU", f"{total} = {words.number(per_gpu, 1)} tokens/s"
    if isinstance(beside.one_stream, OneStream):
        yield "Ceiling of one stream", _one_stream(beside.one_stream)
    if isinstance(beside.batch_bound, DecodeBound):
        yield f"Bound of {_streams(beside)}", _batch(beside.batch_bound, beside)
    if isinstance(beside.any_batch_tokens_per_s_per_gpu, Decimal):
        yield "Bound of any batch", _any_batch(beside, profile)


def _one_stream(stream: OneStream) -> str:
    gigabytes = words.number(stream.bytes_per_token / _GIGA, 3)
    result = words.number(stream.tokens_per_s_per_gpu, 3)
    bandwidth = words.exact(stream.bytes_per_s / _GIGA)
    return f"{bandwidth} GB/s / {gigabytes} GB a token = {result} tokens/s"


def _streams(beside: Beside) -> str:
    batch = beside.measurement.batch
    return "one stream with its cache" if batch == 1 else f"{batch} streams"


def _batch(bound: DecodeBound, beside: Beside) -> str:
    step, gpus = bound.step, beside.measurement.gpus
    parts = f"{_gb(step.weight_bytes)} GB of weights + {_gb(step.cache_bytes)} GB of cache on each GPU"
    bandwidth = words.exact(beside.card.bandwidth_tb_s * _MS_PER_S)
    by = "operations" if bound.bound_by == "compute" else "bytes"
    pass_ms = words.number(bound.step_s * _MS_PER_S, 3)
    memory_ms = words.number(bound.memory_s * _MS_PER_S, 3)
    compute_ms = words.number(bound.compute_s * _MS_PER_S, 3)
    result = words.number(bound.tokens_per_s / gpus, 3)
    return (
        f"({parts}) / {bandwidth} GB/s = {memory_ms} ms; operations take {compute_ms} ms; the {by} bind; "
        f"{step.batch} tokens / {pass_ms} ms / {gpus} = {result} tokens/s for each GPU"
    )


def _any_batch(beside: Beside, profile: LlmProfile | None) -> str:
    rate = rate_of(FORMATS[beside.measurement.weights], beside.card)
    ceiling = beside.any_batch_tokens_per_s_per_gpu
    if not isinstance(rate, Rate) or profile is None or isinstance(ceiling, Unknown):
        return ""
    tflops = words.exact(rate.dense_tflops)
    params = words.number(Decimal(profile.params_active) / _GIGA, 3)
    result = words.number(ceiling, 1)
    return (
        f"{tflops} dense {rate.precision.upper()} TFLOPS / (2{TIMES}{params}{TIMES}10^9 parameters a token) "
        f"= {result} tokens/s"
    )


def _gb(size: Decimal) -> str:
    return words.number(size / _GIGA, 3)


# ---------------------------------------------------------------- for programs


def plain_line(line: Line) -> dict[str, Any]:
    """Return one measurement for programs; numbers have their unit in the key, unknown is None."""
    measurement, bound = line.beside.measurement, line.beside.batch_bound
    return {
        "id": measurement.id,
        "kind": measurement.kind,
        "benchmark": measurement.benchmark,
        "llm": measurement.llm or None,
        "llm_as_written": measurement.llm_as_written,
        "accelerator": measurement.accelerator,
        "gpu_count": measurement.gpus,
        "engine": measurement.engine or None,
        "engine_version": measurement.engine_version or None,
        "weights": measurement.weights or None,
        "weights_as_written": measurement.weights_as_written or None,
        "kv": measurement.kv or None,
        "weights_gb": _float(measurement.weights_gb),
        "batch": measurement.batch,
        "context_in_tokens": measurement.context_in,
        "context_out_tokens": measurement.context_out,
        "metric": measurement.metric,
        "value": float(measurement.value),
        "unit": measurement.unit,
        "per_gpu_tokens_per_s": _float(measurement.tokens_per_s_per_gpu),
        "one_stream_per_gpu_tokens_per_s": _raw(line.one_stream),
        "times_one_stream_ceiling": _raw(line.times_one_stream),
        "batch_bound_per_gpu_tokens_per_s": _raw(line.batch_bound),
        "batch_bound_by": bound.bound_by if isinstance(bound, DecodeBound) else None,
        "share_of_batch_bound_percent": _raw(line.share_of_batch),
        "any_batch_per_gpu_tokens_per_s": _raw(line.any_batch),
        "share_of_any_batch_percent": _raw(line.share_of_any),
        "arithmetic": [f"{what}: {sum_}" for what, sum_ in line.arithmetic],
        "source": measurement.source,
        "source_url": measurement.source_url or None,
        "licence": measurement.licence or None,
        "as_of": measurement.as_of.isoformat(),
        "note": measurement.note or None,
    }


def plain_figure(figure: Figure) -> dict[str, Any]:
    """Return one figure of the worked case for programs."""
    return {
        "id": figure.key,
        "label": figure.label,
        "arithmetic": figure.arithmetic,
        "value": float(figure.value),
        "unit": figure.unit,
    }


def _raw(cell: Cell) -> float | None:
    return float(cell.raw) if cell.raw else None


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
