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
from app.domain.llms.touched import weights_read_bytes
from app.domain.llms.unknown import Unknown
from app.domain.names import fold
from app.domain.serving.bench_model import known_model, unknown_model
from app.domain.serving.benchmarked import evidence_of, traps_of_all
from app.domain.serving.counted import batch_bound, counted, is_weights_alone, too_big, why_too_big
from app.domain.serving.figures import counted_as, percent, quotient, share_sum, speed
from app.domain.serving.first_token import first_token_of, first_token_sentence, first_token_sums
from app.domain.serving.layout import layout_sum
from app.domain.serving.prefilled import (
    TOGETHER,
    BesidePrefill,
    beside_prefill,
    prefill_sentence,
    prefill_sums,
)
from app.domain.serving.ran_on import On as On
from app.domain.serving.ran_on import checked
from app.domain.serving.traps import unchecked
from app.domain.typed import plain_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.llms.facts import Llm
    from app.domain.llms.measurements import Measurement
    from app.domain.llms.profile import LlmProfile
    from app.domain.serving.benchmarked import Configuration
    from app.domain.serving.counted import Counted
    from app.domain.serving.first_token import BesideFirstToken
    from app.domain.serving.traps import Trap

_ANY_DAY: Final = date.min
_LEAST_RATE: Final = Decimal("0.001")
_MOST_RATE: Final = Decimal(10) ** 9
_MS_PER_S: Final = 1000
_TERA: Final = 10**12


def beside(
    configuration: Configuration, on: On, *, profile: LlmProfile, llm: str, day: date = _ANY_DAY
) -> Beside | BesidePrefill | Unknown:
    """Return the median of a configuration beside its bounds, unknown when both phases were timed as one.

    The batch is the requests in flight; what else counts is told by `counted`. Where drafts were verified
    only the bound of any batch holds. What does not fit in all memory has no bound. Prompts that were read
    have a bound of their own; see `prefilled`.

    Raises:
        QueryError: the card or a format is not right.
    """
    typed = checked(on)
    what = counted(configuration, typed, profile=profile)
    return _beside(configuration, typed, what=what, profile=profile, llm=llm, day=day)


def _beside(
    configuration: Configuration, on: On, *, what: Counted, profile: LlmProfile, llm: str, day: date
) -> Beside | BesidePrefill | Unknown:
    if not _LEAST_RATE <= configuration.summary.median <= _MOST_RATE:
        return Unknown(why=f"the median is none of {_LEAST_RATE} to {_MOST_RATE:,} tokens/s")
    variants = fold(card.id for card in load_catalogue().accelerators)
    text = _measured_text(configuration, on, what=what)
    measurement = parse_measured(text, variants, llm=llm or "own", day=day)
    card, run = load_catalogue().by_id[measurement.accelerator], configuration.runs[0]
    match run.phase:
        case "prefill and decode":
            return TOGETHER
        case "prefill":
            prompt, depth = run.prompt_tokens, run.context or 0
            return beside_prefill(
                measurement, card, profile=profile, prompt_tokens=prompt, depth_tokens=depth
            )
    return _of_decoding(configuration, measurement, what=what, profile=profile)


def _measured_text(configuration: Configuration, on: On, *, what: Counted) -> str:
    """Return the `measured` part of a link to a model's page for the median of a configuration.

    Where drafts were verified it names no batch, as the bound of one counts one token a pass. A format of the
    cache that nobody told is not named.
    """
    rate = plain_number(round(configuration.summary.median, MAX_DECIMALS))
    batch = None if configuration.per_pass else configuration.in_flight
    stated, context = ("" if one is None else str(one) for one in (batch, what.context))
    return f"{rate}|{on.card}|{on.weights}|{what.layout.gpus}|{stated}|{context}|{what.kv or ''}"


def _of_decoding(
    configuration: Configuration, measurement: Measurement, *, what: Counted, profile: LlmProfile
) -> Beside | Unknown:
    """Return a decode speed beside its bounds, each with what counts for it."""
    card = load_catalogue().by_id[measurement.accelerator]
    large = too_big(what, card, profile=profile, batch=measurement.batch)
    if large and is_weights_alone(large):
        why = why_too_big(large, what, card=card)
        return Unknown(why=f"{why}; part of it lay elsewhere, or something it says of itself cannot be so")
    found = beside_bounds(measurement, card, profile=profile)
    if configuration.per_pass is not None:
        drafted = Unknown(
            why=f"drafts gave {configuration.per_pass:.2f} tokens a pass, and this bound counts one"
        )
        return replace(found, one_stream=drafted, batch_bound=drafted)
    one_stream = found.one_stream
    if isinstance(one_stream, OneStream):
        read = weights_read_bytes(profile, what.weights, tokens=1)
        one_stream = replace(one_stream, bytes_per_token=read)
    bound = found.batch_bound
    if large:
        why = why_too_big(large, what, card=card)
        bound = Unknown(why=f"{why}, so fewer ran at once, or they had the start of a prompt in common")
    elif measurement.batch is not None:
        fmt = FORMATS[measurement.weights]
        bound = batch_bound(what, card, profile=profile, fmt=fmt, batch=measurement.batch)
    return replace(found, one_stream=one_stream, batch_bound=bound)


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
    on = found.measurement
    long = ", long prompts got shorter answers than others" if on.context_in else ""
    if on.context_in and (on.batch or 1) > 1:
        long += ", prompts had a prefix in common that is read once"
    return (
        f"something it says of itself cannot be so{long}, or drafts were verified of which the file tells "
        "nothing"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A configuration beside its bounds: of which model, and the sums behind each bound that is known.

    `llm` is the id of the model, empty where none is known by one; `what` counts for its bounds. `sums` are
    pairs of what is worked out and the arithmetic with its numbers put in. `first_token` is None where the
    file does not tell what it takes.
    """

    found: Beside | BesidePrefill | Unknown
    llm: str = ""
    what: Counted | None = None
    sums: tuple[tuple[str, str], ...] = ()
    first_token: BesideFirstToken | None = None

    @property
    def said(self) -> str:
        """In words how near to its bounds it lies, what counts for that, and its first token as well."""
        return " ".join([self.verdict, *self.rest])

    @property
    def verdict(self) -> str:
        """In one sentence or two how near to its bounds it lies."""
        return sentence(self.found)

    @property
    def rest(self) -> list[str]:
        """In sentences what counts for that, and how its first token lies to the least."""
        return [*self._remarks, *([first_token_sentence(self.first_token)] if self.first_token else [])]

    @property
    def _remarks(self) -> list[str]:
        """What was taken from the files: of GPUs and the model, and where it decodes of the cache."""
        if self.what is None or self.found == TOGETHER:
            return []
        others = self.what.remarks if isinstance(self.found, Beside) else ()
        return [*self.what.setup_remarks, *others]

    @property
    def measured(self) -> str:
        """The `measured` part of a link that shows it, empty where it is no decode speed with a bound."""
        return canonical_measured(self.found.measurement) if isinstance(self.found, Beside) else ""


def placed(configuration: Configuration, on: On, *, profile: LlmProfile, llm: str) -> Placed:
    """Return a configuration beside its bounds with the sums; see `beside` for the errors."""
    typed = checked(on)
    what = counted(configuration, typed, profile=profile)
    found = _beside(configuration, typed, what=what, profile=profile, llm=llm, day=_ANY_DAY)
    match found:
        case Beside():
            first = first_token_of(configuration, found.measurement, profile=profile)
            sums = (
                *_sums(found, profile, what=what),
                *(first_token_sums(first) if first else ()),
            )
            return Placed(found=found, llm=llm, what=what, sums=sums, first_token=first)
        case BesidePrefill():
            return Placed(found=found, llm=llm, what=what, sums=tuple(prefill_sums(found)))
        case _:
            return Placed(found=found, llm=llm, what=what)


def placed_by_name(configuration: Configuration, on: On, *, llm: str, llms: Mapping[str, Llm]) -> Placed:
    """Return a configuration beside the bounds of the model with an id, or of the one that its file names.

    Unknown where the card or the format is empty, where no model is known, or where both name another.
    """
    name = configuration.runs[0].model
    named = known_model(name, llms)
    wanted = (("the card", on.card), ("the format of the weights", on.weights))
    lacking = [what for what, value in wanted if not value]
    if not (llm or named) and not name:
        lacking.insert(0, "the model")
    why = [f"fill in {_listed(lacking)}, which the file does not tell"] if lacking else []
    if not (llm or named) and name:
        why.append(unknown_model(name, llms))
    if why:
        return Placed(found=Unknown(why="; ".join(why)))
    if llm and named and llm != named:
        return Placed(found=Unknown(why=f"the file is of {named}, and {llm} is given; leave the model empty"))
    return placed(configuration, on, profile=llms[llm or named].profile, llm=llm or named)


def _listed(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _sums(found: Beside, profile: LlmProfile, *, what: Counted) -> Iterator[tuple[str, str]]:
    """Yield the arithmetic of each bound that is known, and what the measured speed is of it."""
    has_weights = isinstance(found.batch_bound, DecodeBound) or isinstance(found.one_stream, OneStream)
    if has_weights:
        yield "Weights", what.weights.basis
    gpus, card, weights = found.measurement.gpus, found.card, found.measurement.weights
    times = f" x {gpus} GPUs" if gpus > 1 else ""
    rate = rate_of(FORMATS[weights], card)
    if isinstance(found.batch_bound, DecodeBound) and isinstance(rate, Rate):
        batch = found.measurement.batch or 1
        if not what.layout.is_plain:
            yield "How GPUs share a batch", layout_sum(what.layout, batch)
        gpus_at_work = what.layout.working(what.layout.shared(batch)[1]).gpus
        sum_ = _batch_sum(found, found.batch_bound, rate=rate, gpus=gpus_at_work)
        yield f"Bound of a batch of {batch:,}", sum_
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


def _batch_sum(found: Beside, bound: DecodeBound, *, rate: Rate, gpus: int) -> str:
    step = bound.step
    each = " on each GPU" if gpus > 1 else ""
    read = f"({step.weight_bytes:,.0f} B of weights + {step.cache_bytes:,.0f} B of cache{each})"
    memory = f"{read} / {found.card.bandwidth_tb_s:f} TB/s = {_ms(bound.memory_s)} ms to read"
    ops = f"{step.ops / _TERA:,.4g} x 10^12 operations{each} / {rate.dense_tflops:,f} TFLOPS"
    binds = "reading" if bound.bound_by == "memory" else "computing"
    pass_ = f"{binds} takes longer: {counted_as(step.batch, 'token')} / {_ms(bound.step_s)} ms"
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
