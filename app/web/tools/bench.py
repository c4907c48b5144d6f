"""The tool on result files of serving benchmarks: their traps, and their speeds beside the bounds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import load_catalogue
from app.domain.llms.beside_bounds import Beside
from app.domain.llms.bounds import DecodeBound
from app.domain.llms.cost_query import LARGEST_BATCH, LONGEST_CONTEXT, CostQuery
from app.domain.llms.facts import load_llms
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS
from app.domain.llms.unknown import Unknown
from app.domain.serving.bench_kept import kept_results
from app.domain.serving.benches import read_runs
from app.domain.serving.benchmarked import configurations, grouped
from app.domain.serving.beside import bench_of, placed_by_name
from app.domain.serving.counted import MOST_CONTEXT
from app.domain.serving.documents import bench_document
from app.domain.serving.layout import MOST_GPUS
from app.domain.serving.prefilled import BesidePrefill
from app.domain.serving.ran_on import On
from app.domain.serving.reading import InputError
from app.domain.serving.traps import lines_that_matter
from app.web import words
from app.web.llm_view import cost_link
from app.web.measured_query import MeasuredQuery
from app.web.state import MAX_QUERY_STRING
from app.web.tools.fields import Field, options_of
from app.web.tools.flags import flag_options, flags_of
from app.web.tools.llm_id import llm_id
from app.web.tools.tool import Example, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.llms.measurements import Measurement
    from app.domain.serving.benches import Run
    from app.domain.serving.benchmarked import Configuration
    from app.domain.serving.beside import Bench, Placed
    from app.web.tools.fields import Typed
    from app.web.tools.tool import Llms

MOST_SHOWN: Final = 50
"""Configurations that the page shows, and remarks and settings of each."""

MOST_CONFIGURATIONS: Final = 500
"""Configurations that are placed beside their bounds at once; the command takes more."""

_MOST_IN_FLIGHT: Final = 1_000_000
_MS_PER_S: Final = 1000
_MANY: Final = 100
_PERCENT: Final = 100

FIELDS: Final = (
    Field(
        name="results",
        label="Results",
        about=(
            "One result file or several one after another, of vllm bench serve, SGLang's benchmark, "
            "llama-bench -o json or GuideLLM. Runs with the same settings, and lengths as a seed draws them, "
            "repeat one configuration."
        ),
        rows=12,
    ),
    Field(
        name="llm",
        label="Model",
        about="Its id, as Qwen/Qwen3-8B; the one that the file names when left empty.",
        suggested=tuple(load_llms()),
    ),
    Field(
        name="card",
        label="Card",
        about="What it ran on.",
        choices=(("", "not said"), *((card.id, card.name) for card in load_catalogue().accelerators)),
    ),
    Field(
        name="weights",
        label="Format of the weights",
        about="As the server had them in memory.",
        choices=(("", "not said"), *((fmt.id, fmt.label) for fmt in FORMATS.values())),
    ),
    Field(
        name="gpus",
        label="GPUs",
        about=f"1 to {MOST_GPUS:,}; what the file tells when left empty, else 1.",
        is_number=True,
    ),
    Field(
        name="context",
        label="Context, tokens",
        about=(
            "Of each request at its first generated token; the mean prompt of the file when left empty, and "
            "none where it tells none, which makes the bound wider."
        ),
        is_number=True,
    ),
    Field(
        name="kv",
        label="Format of the cache",
        about="What the file tells when left empty, else the least, which makes the bound wider.",
        choices=(("", "not said"), *((fmt.id, fmt.label) for fmt in KV_FORMATS.values())),
    ),
    Field(
        name="sent",
        label="Requests in flight",
        about="How many the measurement kept in flight; what the files say when left empty.",
        is_number=True,
    ),
    Field(
        name="flags",
        label="Flags",
        about="Options that should have been on, with commas between, as --mamba-cache-mode.",
    ),
    Field(
        name="log",
        label="The server's log",
        about="Of that time; lines that tell how many requests ran, or name a flag, are read.",
        rows=5,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One configuration as the page shows it; `cells` are those of its row after its title."""

    at: int
    one: Configuration
    place: Placed
    measured_href: str
    llm_href: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Repetitions, median, middle half, range, spread, requests in flight, TTFT and ITL."""
        summary = self.one.summary
        flight = self.one.in_flight
        return (
            f"{summary.count:,}",
            _rate(summary.median),
            f"{_rate(summary.low_quartile)} to {_rate(summary.high_quartile)}",
            f"{_rate(min(summary.values))} to {_rate(max(summary.values))}",
            words.number(summary.spread_percent, 1),
            words.DASH if flight is None else f"{flight:,}",
            _ms(self.one.ttft_ms),
            _ms(self.one.itl_ms),
        )

    @property
    def shares(self) -> tuple[str, ...]:
        """The share of the bound of its batch, of that of any batch, and how many times one stream's."""
        found = self.place.found
        if not isinstance(found, Beside):
            return (words.DASH,) * 3
        return (
            _share(found.share_of_batch_bound, _PERCENT, 1),
            _share(found.share_of_any_batch, _PERCENT, 1),
            _share(found.times_one_stream, 1, 2),
        )

    @property
    def prefill_share(self) -> str:
        """The share of the bound of prefill, a dash where no prompts were read alone."""
        found = self.place.found
        if not isinstance(found, BesidePrefill):
            return words.DASH
        return _share(found.share_of_bound, _PERCENT, 1)

    @property
    def settings(self) -> str:
        """What tells it from the others, and how long prompts and answers were."""
        return self.one.told


def _rate(value: Decimal) -> str:
    return words.number(value, 1 if value >= _MANY else 2)


def _ms(value: Decimal | None) -> str:
    return words.DASH if value is None else words.number(value, 1)


def _share(value: Decimal | Unknown, times: int, decimals: int) -> str:
    return words.DASH if isinstance(value, Unknown) else words.number(value * times, decimals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the result files say, and what the page shows of it."""

    bench: Bench

    @property
    def lines(self) -> list[Line]:
        """The first configurations."""
        return [
            _line(at, one, place=place)
            for at, (one, place) in enumerate(self.bench.pairs[:MOST_SHOWN], start=1)
            if place is not None
        ]

    @property
    def more(self) -> int:
        """How many configurations are not shown."""
        return max(0, len(self.bench.configurations) - MOST_SHOWN)

    @property
    def has_prefill(self) -> bool:
        """Whether prompts were read alone in a run that is shown."""
        return any(line.one.runs[0].phase == "prefill" for line in self.lines)

    @property
    def may_be_narrower(self) -> bool:
        """Whether the bound of a batch is known, and counts less of the cache than there may be."""
        return any(_counts_less(place) for place in self.bench.placed if place is not None)


def _counts_less(place: Placed) -> bool:
    found, what = place.found, place.what
    has_bound = isinstance(found, Beside) and isinstance(found.batch_bound, DecodeBound)
    return has_bound and what is not None and (what.context is None or (what.kv is None and what.context > 0))


def _line(at: int, one: Configuration, *, place: Placed) -> Line:
    found = place.found
    if not isinstance(found, Beside):
        return Line(at=at, one=one, place=place, measured_href="", llm_href="")
    # The page of all measurements knows the packaged models alone; an operator's have their own pages too.
    query = MeasuredQuery(llm=place.llm, measured=(found.measurement,)) if place.llm in load_llms() else None
    return Line(
        at=at,
        one=one,
        place=place,
        measured_href=query.link("/measured") if query else "",
        llm_href=f"{cost_link(f'/llms/{place.llm}', _served_as(found.measurement))}#measured",
    )


def _served_as(measured: Measurement) -> CostQuery:
    """Return the question of a model's page that a measurement answers, as far as it takes it."""
    query = CostQuery(format=measured.weights or CostQuery().format, measured=(measured,))
    if measured.kv:
        query = query.replace(kv=measured.kv)
    if measured.batch is not None and measured.batch <= LARGEST_BATCH:
        query = query.replace(batch=(measured.batch,))
    if measured.context_in is not None and measured.context_in <= LONGEST_CONTEXT:
        query = query.replace(context=measured.context_in)
    return query


def find(typed: Typed, llms: Llms) -> Found | None:
    """Return what the results say; None while there are none."""
    if not typed.text("results").strip():
        return None
    sent = typed.whole("sent", low=1, high=_MOST_IN_FLIGHT)
    llm, on, flags = llm_id(typed, llms), _on(typed), flags_of(typed)
    each = configurations(_runs(typed))
    places = [placed_by_name(one, on, llm=llm, llms=llms) for one in each]
    bench = bench_of(each, places, sent=sent, log=typed.text("log"), flags=flags)
    return Found(bench=bench)


def _runs(typed: Typed) -> list[Run]:
    """Return the runs that were pasted, of no more configurations than are placed at once."""
    runs = read_runs(_results(typed), "results")
    count = len(grouped(runs))
    if count > MOST_CONFIGURATIONS:
        expected = f"give at most {MOST_CONFIGURATIONS:,}; the command below takes more"
        raise InputError("results", f"{count:,} configurations", expected)
    return runs


def _results(typed: Typed) -> bytes:
    return typed.text("results").encode(errors="replace")


def _on(typed: Typed) -> On:
    return On(
        card=typed.text("card"),
        weights=typed.text("weights"),
        gpus=typed.whole("gpus", low=1, high=MOST_GPUS),
        context=typed.whole("context", low=0, high=MOST_CONTEXT),
        kv=typed.text("kv"),
    )


def kept(typed: Typed) -> Mapping[str, str]:
    """Return what is read of each result and of the log alone."""
    flags = flags_of(typed)
    has_results = bool(typed.text("results").strip())
    return {
        **typed.texts,
        "results": kept_results(_results(typed), "results", most=MAX_QUERY_STRING) if has_results else "",
        "flags": ", ".join(flags),
        "log": lines_that_matter(typed.text("log"), flags),
    }


def document(found: Found) -> dict[str, Any]:
    """Return what was found as JSON."""
    return bench_document(found.bench)


COLUMNS: Final = (
    *("place", "tool", "model", "phase", "timed_runs", "median_tokens_per_s", "low_quartile_tokens_per_s"),
    *("high_quartile_tokens_per_s", "least_tokens_per_s", "most_tokens_per_s", "spread_percent", "batch"),
    *("ttft_s", "itl_s", "batch_bound_percent", "any_batch_percent", "one_stream_multiple"),
    *("prefill_bound_percent", "mean_ttft_s", "least_ttft_s", "bound", "refusals", "remarks"),
)


def rows(found: Found) -> Iterator[Sequence[object]]:
    """Yield a line for each configuration, then one for each trap that only all of them spring."""
    for one, place in found.bench.pairs:
        run, summary = one.runs[0], one.summary
        quartiles = summary.low_quartile, summary.high_quartile
        ends = min(summary.values), max(summary.values)
        yield (
            *(run.place, run.tool, run.model, run.phase, summary.count, summary.median, *quartiles, *ends),
            *(summary.spread_percent, one.in_flight, _seconds(one.ttft_ms), _seconds(one.itl_ms)),
            *_shares(place),
            " ".join(trap.code for trap in one.traps),
            " ".join(one.remarks),
        )
    for trap in found.bench.traps:
        yield "all", *("",) * (len(COLUMNS) - 3), trap.code, trap.sentence


def _seconds(value: Decimal | None) -> Decimal | None:
    return None if value is None else value / _MS_PER_S


def _shares(place: Placed | None) -> tuple[object, ...]:
    if place is None:
        return *(None,) * 6, ""
    found = place.found
    shares: tuple[object, ...] = (None, None, None, None)
    if isinstance(found, BesidePrefill):
        shares = (None, None, None, found.share_of_bound * _PERCENT)
    elif isinstance(found, Beside):
        parts = (found.share_of_batch_bound, found.share_of_any_batch)
        percents = (None if isinstance(share, Unknown) else share * _PERCENT for share in parts)
        times = found.times_one_stream
        shares = (*percents, None if isinstance(times, Unknown) else times, None)
    first = place.first_token
    seconds = (first.measured_ms / _MS_PER_S, first.least_ms / _MS_PER_S) if first else (None, None)
    return *shares, *seconds, place.said


def command(typed: Typed) -> str:
    """Return the line that does the same in a terminal."""
    options = options_of(FIELDS, typed, names=("llm", "card", "weights", "gpus", "context", "kv", "sent"))
    flags = flag_options(typed)
    log = ["--log server.log"] if typed.text("log") else []
    return " ".join(["inferprice bench read results.json", *options, *flags, *log])


def _vllm(*rates: str) -> str:
    """Return runs of vLLM's benchmark as it appends them, with round figures of our own making."""
    return "\n".join(
        json.dumps(
            {
                "model_id": "Qwen/Qwen3-8B",
                "num_prompts": 64,
                "max_concurrency": 8,
                "completed": 64,
                "failed": 0,
                "duration": 10,
                "total_output_tokens": int(Decimal(rate) * 10),
                "output_throughput": float(rate),
                "total_token_throughput": float(rate) * 5,
                "median_ttft_ms": 42.5,
                "median_itl_ms": 7.5,
            }
        )
        for rate in rates
    )


def _llama(*rates: float, n_prompt: int = 0, n_gen: int = 0) -> str:
    """Return a test of llama-bench, with round figures of our own making."""
    return json.dumps(
        [
            {
                "build_commit": "0104b15",
                "model_type": "qwen3 8B Q4_K - Medium",
                "gpu_info": "NVIDIA GeForce RTX 4090",
                "n_prompt": n_prompt,
                "n_gen": n_gen,
                "avg_ts": sum(rates) / len(rates),
                "samples_ts": rates,
            }
        ]
    )


_LLAMA_ON: Final = {"llm": "Qwen/Qwen3-8B", "card": "rtx-4090", "weights": "gguf-q4-k"}

TOOL: Final = Tool(
    name="bench",
    title="Benchmark results",
    about=(
        "What result files of serving benchmarks hold: which traps they spring, and how near to the bound of "
        "its model on its card a speed lies."
    ),
    fields=FIELDS,
    find=find,
    document=document,
    columns=COLUMNS,
    rows=rows,
    command=command,
    kept=kept,
    is_pasted=True,
    examples=(
        Example(
            label="four runs beside the bound of an H100",
            texts={
                "results": _vllm("1040.5", "1038.2", "1043.1", "1041.4"),
                "card": "h100-sxm",
                "weights": "bf16",
                "context": "1024",
                "kv": "bf16",
            },
        ),
        Example(label="one run alone, too few to tell", texts={"results": _vllm("1040.5")}),
        Example(
            label="llama-bench with its warm-up counted in",
            texts={
                "results": _llama(61.2, 138.4, 138.9, 138.1, 138.6, n_gen=128),
                **_LLAMA_ON,
            },
        ),
        Example(
            label="llama-bench reading a prompt, beside the bound of prefill",
            texts={"results": _llama(9801.5, 9812.2, 9797.4, 9806.8, n_prompt=512), **_LLAMA_ON},
        ),
    ),
)
