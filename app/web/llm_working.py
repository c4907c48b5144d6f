"""The arithmetic behind a model's figures at one offer: each step with its numbers in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from app.domain.llms.costs import DoesNotFit, Priced, peaks_at
from app.domain.llms.drafted import with_draft
from app.domain.llms.fit import TooBig
from app.domain.llms.hosted import with_host
from app.domain.llms.touched import touched_share
from app.domain.llms.unknown import Unknown
from app.web import llm_drafts, llm_words, words
from app.web.llm_cautions import doubts_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.llms.bounds import DecodeBound, PrefillBound
    from app.domain.llms.bounds import Step as PassStep
    from app.domain.llms.costs import BatchCost, Money, OfferCost, Serving
    from app.domain.llms.fit import Budget
    from app.domain.llms.offload import Host

_TIMES: Final = " \N{MULTIPLICATION SIGN} "
_OVER: Final = " \N{DIVISION SIGN} "
_TERA: Final = 10**12
_MILLISECONDS: Final = 1000


class Step(NamedTuple):
    """One line of the arithmetic: what it is, what comes out, how, and what it assumes."""

    label: str
    value: str
    working: str
    beside: str = ""


class Worked(NamedTuple):
    """The arithmetic of one batch."""

    title: str
    steps: tuple[Step, ...]


def worked(cost: OfferCost, serving: Serving) -> tuple[Worked, ...]:
    """Return the arithmetic of each batch at an offer; of an unknown card there is none."""
    if isinstance(cost.batches, Unknown):
        return ()
    return tuple(
        Worked(
            f"{_requests(each.batch)} at once",
            tuple(_steps(each, cost, serving=serving)),
        )
        for each in cost.batches
    )


def _requests(batch: int) -> str:
    return f"{batch:,} {'request' if batch == 1 else 'requests'}"


def _steps(each: BatchCost, cost: OfferCost, *, serving: Serving) -> Iterator[Step]:
    failed = each.failed if isinstance(each, DoesNotFit) else each.ceiling.failed
    for one in failed:
        yield _failure(one)
    if isinstance(each, Priced):
        budget = each.ceiling.served.fit.budget
        yield from _memory(budget)
        yield _most(each)
        yield from _speed(each, cost, serving=serving)
        yield from _with_draft(each, cost, serving=serving)
        yield from _dollars(each, cost, serving=serving)
    if cost.row.accelerator and serving.host:
        yield from _with_host(each.batch, cost.row.accelerator, host=serving.host, serving=serving)


def _failure(failed: TooBig) -> Step:
    return Step(f"On {llm_words.gpus(failed.gpus)}", "does not fit", failed.why)


def _memory(budget: Budget) -> Iterator[Step]:
    """Yield how the memory of one GPU is divided."""
    engine, memory = budget.engine, budget.memory
    share = words.exact(engine.memory_share)
    weights, aside = llm_words.gb(budget.weights_bytes), llm_words.gb(engine.overhead_bytes)
    yield Step("Weights on each GPU", f"{weights} GB", f"on {llm_words.gpus(budget.gpus)}")
    total = f"{llm_words.gb(memory.usable_bytes)} GB"
    if engine.share_of == "total":
        working = f"{total}{_TIMES}{share} \u2212 {weights} \u2212 {aside}"
    else:
        working = f"({total} \u2212 {weights} \u2212 {aside}){_TIMES}{share}"
    beside = f"{memory.basis}; {engine.label} takes {share} {llm_words.ENGINE_SHARE[engine.share_of]}"
    yield Step("Left for the cache on each GPU", f"{llm_words.gb(budget.pool_bytes)} GB", working, beside)
    each = f"{words.number(budget.request_bytes / 10**9, 3)} GB"
    wanted = llm_words.gb(budget.requests * budget.request_bytes)
    yield Step("Cache on each GPU", f"{wanted} GB", f"{budget.requests}{_TIMES}{each}")


def _most(each: Priced) -> Step:
    fit, most = each.ceiling.served.fit, each.ceiling.most_requests
    return Step(
        "Fits",
        f"yes, on {llm_words.gpus(fit.gpus)}",
        "requests without context keep nothing in memory"
        if most is None
        else f"at most {_requests(most)} of this context at once",
        "" if fit.longest_context is None else f"one request alone: up to {fit.longest_context:,} tokens",
    )


def _speed(each: Priced, cost: OfferCost, *, serving: Serving) -> Iterator[Step]:
    decode, prefill = each.ceiling.served.decode, each.ceiling.served.prefill
    if isinstance(decode, Unknown):
        yield Step("Ceiling", words.DASH, decode.why)
        return
    yield from _step_time(each, decode, cost=cost, serving=serving)
    total, stream = llm_words.rate(decode.tokens_per_s), llm_words.rate(decode.tokens_per_s_per_stream)
    ms = _ms(decode.step_s)
    yield Step(
        "Ceiling of decode",
        f"{total} tokens/s",
        f"{each.batch}{_OVER}{ms}",
        f"{decode.bound_by}-bound; {stream} tokens/s for each request; a bound, not a forecast",
    )
    if not isinstance(prefill, Unknown):
        yield _prefill(prefill, each, cost=cost, serving=serving)


def _ms(seconds: Decimal) -> str:
    return f"{words.number(seconds * _MILLISECONDS, 4)} ms"


def _step_time(each: Priced, decode: DecodeBound, *, cost: OfferCost, serving: Serving) -> Iterator[Step]:
    step, gpus, card = decode.step, each.ceiling.gpus, cost.row.accelerator
    assert card is not None  # noqa: S101 - only a known card has bounds
    setup = serving.setup
    yield _weights_read("step", step, gpus=gpus, serving=serving)
    yield Step(
        "Cache moved by a step, each GPU",
        f"{llm_words.gb(step.cache_bytes)} GB",
        f"{_requests(each.batch)} of {setup.demand.context:,} tokens",
        "all that is attended to; recurrent state is read and written",
    )
    moved = llm_words.gb(step.total_bytes)
    tb_s = words.exact(card.bandwidth_tb_s)
    yield Step("Time to move it", _ms(decode.memory_s), f"{moved} GB{_OVER}{tb_s} TB/s", "peak bandwidth")
    rate = peaks_at(serving, card).rate
    if not isinstance(rate, Unknown):
        tera = words.number(step.ops / _TERA, 3)
        yield Step(
            "Time to compute it",
            _ms(decode.compute_s),
            f"{tera} TFLOP{_OVER}{words.exact(rate.dense_tflops)} TFLOPS",
            f"dense {rate.precision.upper()}, two operations a parameter and token, and attention's own",
        )


def _weights_read(what: str, step: PassStep, *, gpus: int, serving: Serving) -> Step:
    setup = serving.setup
    share = touched_share(setup.profile, tokens=step.tokens)
    weights = setup.weights
    working = llm_words.gb(weights.always_bytes)
    beside = "all weights but the embedding table, of which a token reads one row"
    if weights.routed_bytes:
        percent = words.number(share * 100, 2)
        working = f"({working} + {llm_words.gb(weights.routed_bytes)}{_TIMES}{percent} %)"
        tokens = "1 token touches" if step.tokens == 1 else f"{step.tokens} tokens touch"
        beside = f"{tokens} {percent} % of the routed experts, if each is as likely as any other"
    working += f"{_OVER}{gpus}" if gpus > 1 else ""
    size = f"{llm_words.gb(step.weight_bytes)} GB"
    return Step(f"Weights read by a {what}, each GPU", size, working, beside)


def _with_draft(each: Priced, cost: OfferCost, *, serving: Serving) -> Iterator[Step]:
    """Yield the ceiling of speculative decoding when a draft is asked for; it changes no dollars."""
    card, draft = cost.row.accelerator, serving.draft
    if card is None or draft is None:
        return
    found = with_draft(serving, card, ceiling=each.ceiling, draft=draft)
    if isinstance(found, Unknown):
        yield Step("Ceiling with the draft", words.DASH, found.why)
        return
    verify, tokens = found.verify, words.exact(draft.tokens_per_pass)
    yield _weights_read("pass of the draft", verify.step, gpus=each.ceiling.gpus, serving=serving)
    yield Step(
        "Time to verify",
        _ms(verify.step_s),
        f"the longer of {_ms(verify.memory_s)} to move and {_ms(verify.compute_s)} to compute",
        f"{draft.depth} drafted tokens and one more of each request; {verify.bound_by}-bound",
    )
    drafting = f"{draft.depth}{_TIMES}{words.exact(draft.step_share)}{_TIMES}{_ms(found.plain.step_s)}"
    yield Step("Time of a pass", _ms(found.pass_s), f"{_ms(verify.step_s)} + {drafting}", "drafts in turn")
    yield Step(
        "Ceiling with the draft",
        f"{llm_words.rate(found.tokens_per_s)} tokens/s",
        f"{each.batch}{_TIMES}{tokens}{_OVER}{_ms(found.pass_s)}",
        llm_drafts.verdict(found, serving.setup.profile),
    )


def _with_host(batch: int, card: Accelerator, *, host: Host, serving: Serving) -> Iterator[Step]:
    """Yield the ceiling with experts in host memory, on the fewest GPUs that hold the rest."""
    weights, profile = serving.setup.weights, serving.setup.profile
    if not weights.routed_bytes:
        yield Step("With experts in the host", words.DASH, "the model has no routed experts")
        return
    found = with_host(serving, card, batch=batch, host=host)
    if isinstance(found, TooBig | Unknown):
        yield Step("With experts in the host", words.DASH, found.why)
        return
    bound = found.bound
    yield Step(
        "With experts in the host",
        f"fits on {llm_words.gpus(found.fit.gpus)}",
        f"{llm_words.gb(found.fit.budget.weights_bytes)} GB of weights on each GPU",
    )
    if isinstance(bound, Unknown):
        yield Step("Ceiling with the host", words.DASH, bound.why)
        return
    percent = words.number(touched_share(profile, tokens=batch) * 100, 2)
    yield Step(
        "Experts sent by the host",
        f"{words.number(bound.host_bytes / 10**9, 3)} GB",
        f"{llm_words.gb(weights.routed_bytes)}{_TIMES}{words.exact(host.expert_share)}{_TIMES}{percent} %",
        "a step touches experts of the host as often as others",
    )
    speed = words.exact(host.bytes_per_s / 10**9)
    sent = f"{words.number(bound.host_bytes / 10**9, 3)} GB{_OVER}{speed} GB/s"
    yield Step("Time to send them", _ms(bound.host_s), sent, "the speed that the link gives")
    yield Step(
        "Ceiling with the host",
        f"{llm_words.rate(bound.tokens_per_s)} tokens/s",
        f"{batch}{_OVER}{_ms(bound.step_s)}, the longer of that and the GPUs' own {_ms(bound.on_gpu.step_s)}",
        f"{bound.bound_by}-bound; the dollars above are without it",
    )


def _prefill(bound: PrefillBound, each: Priced, *, cost: OfferCost, serving: Serving) -> Step:
    assert cost.row.accelerator is not None  # noqa: S101 - only a known card has bounds
    rate = peaks_at(serving, cost.row.accelerator).rate
    assert not isinstance(rate, Unknown)  # noqa: S101 - without a rate there is no bound
    giga = words.number((bound.ops_per_token + bound.attention_ops_per_token) / 10**9, 2)
    return Step(
        "Ceiling of prefill",
        f"{llm_words.rate(bound.tokens_per_s)} tokens/s",
        f"{each.ceiling.gpus}{_TIMES}{words.exact(rate.dense_tflops)} TFLOPS{_OVER}{giga} GFLOP a token",
        f"prompts of {serving.setup.demand.context:,} tokens, at full dense {rate.precision.upper()}",
    )


def _dollars(each: Priced, cost: OfferCost, *, serving: Serving) -> Iterator[Step]:
    money, decode, prefill = each.money, each.ceiling.served.decode, each.ceiling.served.prefill
    if isinstance(money, Unknown):
        yield Step("Dollars", words.DASH, money.why)
        return
    yield _paid(money)
    if not isinstance(decode, Unknown):
        yield _per_mtok(
            "output", money.usd_per_mtok_output, decode.tokens_per_s, money=money, serving=serving
        )
    if money.rental.rented_gpus > money.rental.used_gpus:
        yield _alone(money)
    if not isinstance(prefill, Unknown):
        yield _per_mtok("input", money.usd_per_mtok_input, prefill.tokens_per_s, money=money, serving=serving)
    yield _blended(money, serving)
    if money.against_api is not None:
        yield _api(money, cost, serving=serving)


def _paid(money: Money) -> Step:
    rental = money.rental
    price = words.exact(rental.usd_per_gpu_hour)
    of = f"{rental.instances} \N{MULTIPLICATION SIGN} {llm_words.gpus(rental.gpu_count)}"
    together = "" if rental.instances == 1 else "; that they can be had and linked together is not stated"
    return Step(
        "Paid for",
        f"${words.number(rental.usd_per_hour, 2)}/h",
        f"{llm_words.gpus(rental.rented_gpus)}{_TIMES}${price}",
        f"whole instances, {of}, of which the model runs on {llm_words.gpus(rental.used_gpus)}{together}",
    )


def _per_mtok(kind: str, usd: Decimal, rate: Decimal, *, money: Money, serving: Serving) -> Step:
    use = "" if serving.utilisation == 1 else f"{_OVER}{words.exact(serving.utilisation)}"
    return Step(
        f"A million tokens of {kind}",
        f"${llm_words.usd(usd)}",
        f"${words.number(money.rental.usd_per_hour, 2)}{_TIMES}10\u2076{_OVER}"
        f"({llm_words.rate(rate)} tokens/s{_TIMES}3600){use}",
        f"the least it can cost, for the seconds of {_SECONDS[kind]}",
    )


_SECONDS: Final = {"output": "decode", "input": "prefill"}


def _blended(money: Money, serving: Serving) -> Step:
    ratio = words.exact(serving.input_per_output)
    both = llm_words.usd(money.usd_per_mtok_input), llm_words.usd(money.usd_per_mtok_output)
    return Step(
        "A million tokens of both",
        f"${llm_words.usd(money.usd_per_mtok_blended)}",
        f"({ratio}{_TIMES}${both[0]} + ${both[1]}){_OVER}({ratio} + 1)",
        f"{ratio} prompt tokens to each generated one; no second is paid twice",
    )


def _alone(money: Money) -> Step:
    rental = money.rental
    return Step(
        "If the other GPUs serve copies",
        f"${llm_words.usd(money.used_usd_per_mtok_output)}",
        f"only {rental.used_gpus} of {llm_words.gpus(rental.rented_gpus)} counted",
        "for output",
    )


def _api(money: Money, cost: OfferCost, *, serving: Serving) -> Step:
    api, asked = money.against_api, serving.api_usd_per_mtok
    assert api is not None  # noqa: S101 - asked only where there is one
    assert asked is not None  # noqa: S101 - the same
    needed, doubts = llm_words.rate(api.tokens_per_s_needed), doubts_of(cost.row)
    return Step(
        "Against the API",
        llm_words.against(api),
        f"${llm_words.usd(api.usd_per_mtok_at_ceiling)}{_OVER}${words.exact(asked)}",
        ". ".join(part for part in (f"{needed} tokens/s have to be sold all the time", doubts) if part),
    )
