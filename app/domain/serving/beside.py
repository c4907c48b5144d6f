"""Benchmarked speeds beside the bounds of their model on a card: of decoding, and of reading prompts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.llms.beside_bounds import Beside, OneStream, beside_bounds
from app.domain.llms.bounds import DecodeBound
from app.domain.llms.formats import FORMATS, Rate, rate_of
from app.domain.llms.own_measured import MAX_DECIMALS, canonical_measured, parse_measured
from app.domain.llms.unknown import Unknown
from app.domain.names import fold
from app.domain.serving.benchmarked import evidence_of, traps_of_all
from app.domain.serving.figures import percent, quotient, share_sum, speed
from app.domain.serving.first_token import first_token_of, first_token_sentence, first_token_sums
from app.domain.serving.prefilled import (
    TOGETHER,
    BesidePrefill,
    beside_prefill,
    prefill_sentence,
    prefill_sums,
)
from app.domain.serving.traps import unchecked
from app.domain.typed import plain_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.llms.facts import Llm
    from app.domain.llms.profile import LlmProfile
    from app.domain.serving.benchmarked import Configuration
    from app.domain.serving.first_token import BesideFirstToken
    from app.domain.serving.traps import Trap

_ANY_DAY: Final = date.min
_LEAST_RATE: Final = Decimal("0.001")
_MOST_RATE: Final = Decimal(10) ** 9
_MS_PER_S: Final = 1000
_TERA: Final = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class On:
    """What a benchmark ran on, in the words of a link: a variant, the weights' format, and more if known."""

    card: str
    weights: str
    gpus: int = 1
    context: int | None = None
    kv: str = ""


def measured_text(configuration: Configuration, on: On) -> str:
    """Return the `measured` part of a link to a model's page for the median of a configuration.

    Where drafts were verified it names no batch, as the bound of one counts one token a pass. A context that
    the file itself tells goes before the one of `on`.
    """
    rate = plain_number(round(configuration.summary.median, MAX_DECIMALS))
    batch = None if configuration.per_pass else configuration.in_flight
    told = on.context if configuration.context is None else configuration.context
    stated, context = ("" if one is None else str(one) for one in (batch, told))
    return f"{rate}|{on.card}|{on.weights}|{on.gpus}|{stated}|{context}|{on.kv}"


def beside(
    configuration: Configuration, on: On, *, profile: LlmProfile, llm: str, day: date = _ANY_DAY
) -> Beside | BesidePrefill | Unknown:
    """Return the median of a configuration beside its bounds, unknown when both phases were timed as one.

    The batch is the requests in flight. Where no context is given the cache counts for nothing, which makes
    the bound wider. Where drafts were verified only the bound of any batch holds. Prompts that were read have
    a bound of their own; see `prefilled`.

    Raises:
        QueryError: the card, a format or a number is not right.
    """
    if not _LEAST_RATE <= configuration.summary.median <= _MOST_RATE:
        return Unknown(why=f"the median is none of {_LEAST_RATE} to {_MOST_RATE:,} tokens/s")
    variants = fold(card.id for card in load_catalogue().accelerators)
    measurement = parse_measured(measured_text(configuration, on), variants, llm=llm or "own", day=day)
    card, run = load_catalogue().by_id[measurement.accelerator], configuration.runs[0]
    match run.phase:
        case "prefill and decode":
            return TOGETHER
        case "prefill":
            prompt, depth = run.prompt_tokens, run.context or 0
            return beside_prefill(
                measurement, card, profile=profile, prompt_tokens=prompt, depth_tokens=depth
            )
    found = beside_bounds(measurement, card, profile=profile)
    if configuration.per_pass is None:
        return found
    drafted = Unknown(
        why=f"drafts gave {configuration.per_pass:.2f} tokens a pass, and this bound counts one"
    )
    return replace(found, one_stream=drafted, batch_bound=drafted)


def sentence(found: Beside | BesidePrefill | Unknown) -> str:
    """Return in words how near to its bounds a speed lies."""
    if isinstance(found, Unknown):
        return f"No bound: {found.why}."
    if isinstance(found, BesidePrefill):
        return prefill_sentence(found)
    over = f" It lies above a bound, so {_cause(found)}." if found.is_above_a_bound else ""
    parts = [
        (found.share_of_batch_bound, "of the bound of its batch"),
        (found.share_of_any_batch, "of that of any batch"),
        (found.times_one_stream, "of the ceiling of one stream"),
    ]
    known = [f"{percent(share)} {what}" for share, what in parts if not isinstance(share, Unknown)]
    why = [f"{what}: {share.why}" for share, what in parts if isinstance(share, Unknown)]
    lacking = f" Not known, {'; '.join(why)}." if why else ""
    return f"Beside {found.card.name}: {', '.join(known) or 'nothing known'}.{lacking}{over}"


def _cause(found: Beside) -> str:
    """Return what a speed above a bound comes of: no draft lifts a pass above the bound of any batch."""
    share = found.share_of_any_batch
    if isinstance(share, Decimal) and share > 1:
        return "something it says of itself cannot be so"
    return "something it says of itself cannot be so, or drafts were verified of which the file tells nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A configuration beside its bounds: of which model, and the sums behind each bound that is known.

    `llm` is the id of the model, empty where none is known by one. `sums` are pairs of what is worked out and
    the arithmetic with its numbers put in. `first_token` is None where the file does not tell what it takes.
    """

    found: Beside | BesidePrefill | Unknown
    llm: str = ""
    sums: tuple[tuple[str, str], ...] = ()
    first_token: BesideFirstToken | None = None

    @property
    def said(self) -> str:
        """In words how near to its bounds it lies, its first token as well."""
        first = f" {first_token_sentence(self.first_token)}" if self.first_token else ""
        return f"{sentence(self.found)}{first}"

    @property
    def measured(self) -> str:
        """The `measured` part of a link that shows it, empty where it is no decode speed with a bound."""
        return canonical_measured(self.found.measurement) if isinstance(self.found, Beside) else ""


def placed(configuration: Configuration, on: On, *, profile: LlmProfile, llm: str) -> Placed:
    """Return a configuration beside its bounds with the sums; see `beside` for the errors."""
    found = beside(configuration, on, profile=profile, llm=llm)
    match found:
        case Beside():
            first = first_token_of(configuration, found.measurement, profile=profile)
            sums = (*_sums(found, profile), *(first_token_sums(first) if first else ()))
            return Placed(found=found, llm=llm, sums=sums, first_token=first)
        case BesidePrefill():
            return Placed(found=found, llm=llm, sums=tuple(prefill_sums(found)))
        case _:
            return Placed(found=found, llm=llm)


def placed_by_name(configuration: Configuration, on: On, *, llm: str, llms: Mapping[str, Llm]) -> Placed:
    """Return a configuration beside the bounds of the model with an id, or of the one that its file names.

    Unknown where the card or the format is empty, where no model is known, or where both name another.
    """
    named = fold(llms).get((configuration.runs[0].model or "").casefold(), "")
    lacking = [
        what
        for what, value in (
            ("the model", llm or named),
            ("the card", on.card),
            ("the format of the weights", on.weights),
        )
        if not value
    ]
    if lacking:
        return Placed(found=Unknown(why=f"fill in {_listed(lacking)}, which the file does not tell"))
    if llm and named and llm != named:
        return Placed(found=Unknown(why=f"the file is of {named}, and {llm} is given; leave the model empty"))
    return placed(configuration, on, profile=llms[llm or named].profile, llm=llm or named)


def _listed(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _sums(found: Beside, profile: LlmProfile) -> Iterator[tuple[str, str]]:
    """Yield the arithmetic of each bound that is known, and what the measured speed is of it."""
    gpus, card, weights = found.measurement.gpus, found.card, found.measurement.weights
    times = f" x {gpus} GPUs" if gpus > 1 else ""
    rate = rate_of(FORMATS[weights], card)
    if isinstance(found.batch_bound, DecodeBound) and isinstance(rate, Rate):
        bound = found.batch_bound
        yield f"Bound of a batch of {bound.step.batch:,}", _batch_sum(found, bound, rate=rate)
    ceiling = found.any_batch_tokens_per_s_per_gpu
    if isinstance(ceiling, Decimal) and isinstance(rate, Rate):
        ops = f"(2 x {profile.params_active:,} parameters a token)"
        sum_ = f"{rate.dense_tflops:,f} dense {rate.precision} TFLOPS / {ops}{times}"
        total = ceiling * gpus
        share = share_sum(found.measurement.value, total)
        yield "Bound of any batch", f"{sum_} = {speed(total)} tokens/s; {share}"
    if isinstance(found.one_stream, OneStream):
        one = found.one_stream
        total = one.tokens_per_s_per_gpu * gpus
        sum_ = f"{card.bandwidth_tb_s:f} TB/s / {one.bytes_per_token:,.0f} B a token{times}"
        times_it = (
            f"{quotient(found.measurement.value, total)} = {found.measurement.value / total:,.2f} times"
        )
        yield "Ceiling of one stream, not of many", f"{sum_} = {speed(total)} tokens/s; {times_it}"


def _batch_sum(found: Beside, bound: DecodeBound, *, rate: Rate) -> str:
    step, gpus = bound.step, found.measurement.gpus
    each = " on each GPU" if gpus > 1 else ""
    read = f"({step.weight_bytes:,.0f} B of weights + {step.cache_bytes:,.0f} B of cache{each})"
    memory = f"{read} / {found.card.bandwidth_tb_s:f} TB/s = {_ms(bound.memory_s)} ms to read"
    ops = f"{step.ops / _TERA:,.4g} x 10^12 operations{each} / {rate.dense_tflops:,f} TFLOPS"
    binds = "reading" if bound.bound_by == "memory" else "computing"
    pass_ = f"{binds} takes longer: {step.batch:,} tokens / {_ms(bound.step_s)} ms"
    return (
        f"{memory}; {ops} = {_ms(bound.compute_s)} ms to compute; {pass_} = {speed(bound.tokens_per_s)} "
        f"tokens/s; {share_sum(found.measurement.value, bound.tokens_per_s)}"
    )


def _ms(seconds: Decimal) -> str:
    return f"{seconds * _MS_PER_S:,.4f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What result files say: each configuration, where it lies beside its bounds, and the traps of all.

    `placed` is None for each where no bound was asked for. `unchecked` says which traps nothing tells of.
    """

    configurations: tuple[Configuration, ...]
    placed: tuple[Placed | None, ...]
    traps: tuple[Trap, ...]
    unchecked: tuple[str, ...]

    @property
    def pairs(self) -> list[tuple[Configuration, Placed | None]]:
        """Each configuration with its place."""
        return list(zip(self.configurations, self.placed, strict=True))

    @property
    def trap_count(self) -> int:
        """How many traps are sprung, those of each configuration and those of all."""
        return len(self.traps) + sum(len(one.traps) for one in self.configurations)


def bench_of(
    found: Sequence[Configuration],
    placed: Sequence[Placed | None],
    *,
    sent: int | None,
    log: str,
    flags: Sequence[str],
) -> Bench:
    """Return what result files say, with the traps that all of them spring and what tells of none."""
    evidence = evidence_of(found, sent=sent, log=log, flags=flags)
    return Bench(
        configurations=tuple(found),
        placed=tuple(placed),
        traps=tuple(traps_of_all(found, evidence)),
        unchecked=tuple(unchecked(evidence)),
    )
