"""What the serving checks find, as programs take it: the same from the command line and from the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from app.domain.llms.bounds import DecodeBound
from app.domain.llms.unknown import Unknown
from app.domain.serving.arithmetic import comparison_arithmetic, follows_arithmetic, speedup_arithmetic
from app.domain.serving.benches import READERS
from app.domain.serving.cors_answer import allow_headers
from app.domain.serving.cors_found import readings
from app.domain.serving.expert_cache import SOURCE, VERSION
from app.domain.serving.expert_cache_arithmetic import group_arithmetic, plan_arithmetic
from app.domain.serving.expert_cache_cautions import cautions
from app.domain.serving.expert_cache_measured import CONDITIONS, MEASURED
from app.domain.serving.prefilled import BesidePrefill
from app.domain.serving.sampler_rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

    from app.domain.llms.beside_bounds import Beside
    from app.domain.serving.batch import Verdict as SamplerVerdict
    from app.domain.serving.benchmarked import Configuration
    from app.domain.serving.beside import Bench, Placed
    from app.domain.serving.cors import Verdict as CorsVerdict
    from app.domain.serving.cors import What
    from app.domain.serving.cors_answer import Answer
    from app.domain.serving.cors_found import Finding, Reading
    from app.domain.serving.expert_cache import Group, Plan
    from app.domain.serving.expert_mix import MixedExperts
    from app.domain.serving.first_token import BesideFirstToken
    from app.domain.serving.paired import Paired
    from app.domain.serving.prefix_cache import FirstToken, RoutingCost
    from app.domain.serving.sampler import Sampling
    from app.domain.serving.sampler_remedies import Remedy
    from app.domain.serving.speedup import Follows, Speedup
    from app.domain.serving.timings import Comparison, Summary
    from app.domain.serving.traps import Trap

_SPEEDUP: Final = (
    *("saved_ms", "gain_percent", "old_step_ms", "new_step_ms"),
    *("old_tokens_per_s", "new_tokens_per_s", "streams"),
)
_BACK: Final = ("stated_least", "stated_most", "after_if_stated", "before_if_stated", "sentence")
_AGREES: Final = ("agrees", "but_for_sign")
_FOLLOWS: Final = ("before", "after", "stated", "form", "computed", "least", "most", *_AGREES, *_BACK)
_COMPARISON: Final = (
    *("change_percent", "speedup_percent", "overlap_percent", "moved", "widest_half", "outcome", "sentence"),
)
_TIMED: Final = ("batch", "is_synchronized", "old_us", "new_us", "saved_us")
_SUMMARY: Final = ("count", "median", "low_quartile", "high_quartile", "spread_percent")
_GROUP: Final = ("expert_bytes", "experts", "slots", "slots_percent", "largest_batch_tokens", "floor_bytes")
_MEASURED: Final = ("configuration", "decode_tokens_per_s", "prompt_tokens_per_s", "hit_percent")


def _named(found: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(found, name) for name in names}


def sampler_document(found: SamplerVerdict, ways: Sequence[Remedy]) -> dict[str, Any]:
    """Return the path of a batch, why it is that one, what each request was read as, and the ways back."""
    return {
        "version": RULES.version,
        "commit": RULES.commit,
        "path": found.path,
        "is_fast_path": found.is_fast,
        "means": RULES.means[found.path] if found.path else None,
        "path_afresh": found.afresh,
        "kept_by_ended_request": found.kept_by_ended,
        "until": RULES.drains if found.path == "filtered" else None,
        "reasons": [_named(one, ("request", "field", "value", "source")) for one in found.reasons],
        "ways_back": [_way_back(way) for way in ways],
        "running": [_sampling(one) for one in found.requests],
        "ended": [_sampling(one) for one in found.ended],
        "notes": list(found.notes),
        "taken_for_granted": RULES.granted,
        "timed_on": RULES.timed_on,
        "timed": [_named(each, _TIMED) for each in RULES.timed],
    }


def _sampling(one: Sampling) -> dict[str, Any]:
    return {
        "request": one.name,
        **_named(one, ("temperature", "top_k", "top_p", "min_p", "asked_top_k")),
        "sources": dict(one.sources),
    }


def _way_back(way: Remedy) -> dict[str, Any]:
    return {
        "path": way.path,
        "sentences": way.sentences,
        "start_server": list(way.server),
        "state": [{"values": dict(one.values), "requests": list(one.requests)} for one in way.statements],
        "others": way.others,
        "others_path": way.others_path,
        "moved": [_named(one, ("field", "least", "most", "after", "requests")) for one in way.moved],
    }


def speedup_document(found: Speedup) -> dict[str, Any]:
    """Return a claimed speed-up with all that follows from it."""
    return {
        **_named(found, (*_SPEEDUP, "given", "sentence")),
        "arithmetic": list(speedup_arithmetic(found)),
        "elsewhere": [_named(one, ("old_step_ms", "gain_percent", "saved_ms")) for one in found.elsewhere],
    }


def follows_document(found: Follows) -> dict[str, Any]:
    """Return whether a stated figure follows from two others."""
    return {
        **_named(found, _FOLLOWS),
        "otherwise": found.otherwise or None,
        "coarse": found.coarse or None,
        "arithmetic": list(follows_arithmetic(found)),
    }


def comparison_document(found: Comparison) -> dict[str, Any]:
    """Return two sets of timings side by side and what they say."""
    return {
        "unit": found.unit,
        "before": {**summary_document(found.before), "values": list(found.before.values)},
        "after": {**summary_document(found.after), "values": list(found.after.values)},
        **_named(found, _COMPARISON),
        "arithmetic": list(comparison_arithmetic(found)),
        "refusals": traps_document(found.traps),
        "unchecked": list(found.unchecked),
    }


def paired_document(found: Paired) -> dict[str, Any]:
    """Return each configuration that was timed before and after, and those that were timed in one alone."""
    return {
        "sentence": found.sentence,
        "comparisons": [
            {"configuration": pair.title or None, **comparison_document(pair.comparison)}
            for pair in found.pairs
        ],
        "only_before": list(found.only_before),
        "only_after": list(found.only_after),
        "differences_by_chance_at_most": found.by_chance,
    }


def changed_document(found: Paired) -> list[dict[str, Any]]:
    """Return the settings that differ between the files of both sides."""
    return [_named(each, ("name", "before", "after")) for each in found.changed]


def summary_document(summary: Summary) -> dict[str, Any]:
    """Return a summary of timings."""
    return {
        **_named(summary, _SUMMARY),
        "least": min(summary.values),
        "most": max(summary.values),
    }


def traps_document(traps: Sequence[Trap]) -> list[dict[str, str]]:
    """Return the traps that were sprung, each with what to do about it."""
    return [_named(trap, ("code", "sentence", "advice")) for trap in traps]


def routing_document(token: FirstToken, costs: Sequence[RoutingCost]) -> dict[str, Any]:
    """Return both first tokens and what each routing costs."""
    return {
        **_named(token, ("cold_s", "warm_s", "times")),
        "routings": [_named(cost, ("routing", "cold_share", "mean_s", "waited_s")) for cost in costs],
    }


def cors_document(found: CorsVerdict) -> dict[str, Any]:
    """Return who may use a server, and what its answers said of that.

    What asks for headers beside content-type is null where none were named, and whether the GET is read where
    it is redirected with leave.
    """
    exchange = found.exchange
    answers: dict[What, Answer] = {**dict(exchange.preflights), "GET": exchange.plain}
    return {
        "verdict": found.kind,
        "is_open": found.is_open,
        "sentences": list(found.sentences),
        "url": exchange.asked.url,
        "origin": exchange.asked.origin,
        "headers_asked_for": list(exchange.asked.names),
        "may_send_json_post": exchange.may_post,
        "may_send_json_post_with_headers": exchange.may_post_full,
        "may_read_plain_get": exchange.may_read,
        "with_credentials": exchange.with_credentials,
        **_answers(answers),
        "lines": _lines(readings(exchange.asked, answers)),
    }


def pasted_document(found: Finding) -> dict[str, Any]:
    """Return what pasted answers say: what `cors_document` holds, what is missing, and what each origin gets.

    What is not known is null: the verdict where something is missing, an answer that was not pasted.
    """
    own = found.own
    return {
        "verdict": found.kind,
        "is_open": found.is_open,
        "sentences": list(found.sentences),
        "url": found.asked.url,
        "origin": found.asked.origin,
        "headers_asked_for": list(found.asked.names),
        "may_send_json_post": own.may_post,
        "may_send_json_post_with_headers": own.may_post_full,
        "may_read_plain_get": own.may_read,
        "with_credentials": found.with_credentials,
        **_answers(found.answers),
        "lines": _lines(found.lines),
        "missing": list(found.missing),
        "origins": [
            {
                "origin": each.origin,
                "may_send_json_post": each.may_post,
                "may_send_json_post_with_headers": each.may_post_full,
                "may_read_plain_get": each.may_read,
            }
            for each in found.got
        ],
    }


def _answers(answers: Mapping[What, Answer]) -> dict[str, Any]:
    return {
        "preflight": _answer(answers.get("preflight")),
        "preflight_with_headers": _answer(answers.get("preflight with headers")),
        "plain_get": _answer(answers.get("GET")),
    }


def _answer(answer: Answer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    return {"status": answer.status, "headers": dict(allow_headers(answer))}


def _lines(lines: Iterable[Reading]) -> list[dict[str, str]]:
    return [
        {"answer": each.what, "header": each.header, "value": each.value, "means": each.means}
        for each in lines
    ]


def plan_document(plan: Plan, mixed: MixedExperts | None = None) -> dict[str, Any]:
    """Return what a budget for llama.cpp's cache of experts buys, with the warnings and what was measured.

    `mixed` is what the experts come of where no GGUF says their types. `arithmetic` are the lines behind the
    figures of the plan, and behind those of each group.
    """
    experts = plan.experts
    return {
        "version": VERSION,
        "source": SOURCE,
        "architecture": experts.architecture,
        "moe_layers": len(experts.layers),
        "experts_per_layer": experts.per_layer,
        "experts_used": experts.used,
        "expert_bytes": experts.total_bytes,
        "n_cpu_moe": plan.n_cpu_moe,
        "host_expert_bytes": plan.host_bytes,
        "budget_mib": plan.budget_mib,
        "budget_is_default": plan.is_default,
        **_named(plan, ("cache_bytes", "leftover_bytes", "starts", "starts_from_mib")),
        "every_group_from_mib": plan.floor_mib,
        "arithmetic": list(plan_arithmetic(plan)),
        "groups": [_group(plan, group) for group in plan.groups],
        "warnings": [
            {"code": each.code, "level": str(each.level), "sentence": each.sentence}
            for each in cautions(plan)
        ],
        "measured": {"conditions": CONDITIONS, "rows": [_named(each, _MEASURED) for each in MEASURED]},
        "mix": mixed.mix if mixed else None,
        "notes": list(mixed.notes) if mixed else [],
    }


def _group(plan: Plan, group: Group) -> dict[str, Any]:
    return {
        "layers": list(group.layers),
        "types": {bank.kind: bank.dtype for bank in group.banks},
        **_named(group, (*_GROUP, "floor_mib", "whole_token_mib", "cache_bytes")),
        "arithmetic": list(group_arithmetic(plan, group)),
    }


def bench_document(found: Bench) -> dict[str, Any]:
    """Return what result files say, each configuration with its place beside the bounds of its model."""
    return {
        "configurations": [{**configuration_document(one), **_place(place)} for one, place in found.pairs],
        "refusals": traps_document(found.traps),
        "unchecked": list(found.unchecked),
    }


def configuration_document(one: Configuration) -> dict[str, Any]:
    """Return the runs of one configuration of a benchmark."""
    run = one.runs[0]
    return {
        "tool": run.tool,
        "understands": understood(run.tool),
        "model": run.model,
        "phase": run.phase,
        "settings": dict(run.settings),
        "mean_prompt_tokens": one.mean_prompt_tokens,
        "mean_output_tokens": one.mean_output_tokens,
        "files": [each.place for each in one.runs],
        "tokens_per_s": summary_document(one.summary),
        "requests_in_flight": one.in_flight,
        "tokens_per_pass": one.per_pass,
        "ttft_ms": [each.ttft_ms for each in one.runs],
        "itl_ms": [each.itl_ms for each in one.runs],
        "completed": [each.completed for each in one.runs],
        "failed": [each.failed for each in one.runs],
        "refusals": traps_document(one.traps),
        "remarks": list(one.remarks),
    }


def _place(place: Placed | None) -> dict[str, Any]:
    """Return a place beside the bounds: of decoding in `beside`, of reading prompts in `beside_prefill`.

    `beside_first_token` has the mean time to one and the least. Speeds are of all GPUs; what is not known is
    None.
    """
    nothing = {"beside": None, "beside_prefill": None, "beside_first_token": None}
    if place is None:
        return {"bound": None, **nothing}
    found = place.found
    said = {"bound": place.said, **nothing}
    if isinstance(found, Unknown):
        return said
    if isinstance(found, BesidePrefill):
        return {**said, "beside_prefill": _beside_prefill(found, place)}
    first = _beside_first_token(place.first_token) if place.first_token else None
    return {**said, "beside": _beside(found, place), "beside_first_token": first}


def _beside(found: Beside, place: Placed) -> dict[str, Any]:
    on, batch, what = found.measurement, found.batch_bound, place.what
    return {
        "llm": place.llm or None,
        "accelerator": found.card.id,
        "weights": on.weights,
        "gpus": on.gpus,
        "batch": on.batch,
        "context_tokens": on.context_in,
        "kv": on.kv or None,
        "weights_basis": what.weights.basis if what else None,
        "counted": [*what.setup_remarks, *what.remarks] if what else [],
        "batch_bound_tokens_per_s": batch.tokens_per_s if isinstance(batch, DecodeBound) else None,
        "bound_by": batch.bound_by if isinstance(batch, DecodeBound) else None,
        "share_of_batch_bound": _known(found.share_of_batch_bound),
        "share_of_any_batch": _known(found.share_of_any_batch),
        "times_one_stream": _known(found.times_one_stream),
        "is_above_a_bound": found.is_above_a_bound,
        "arithmetic": [f"{what}: {sum_}" for what, sum_ in place.sums],
        "measured": place.measured,
    }


def _beside_prefill(found: BesidePrefill, place: Placed) -> dict[str, Any]:
    return {
        "llm": place.llm or None,
        "accelerator": found.card.id,
        "weights": found.measurement.weights,
        "gpus": found.measurement.gpus,
        "prompt_tokens": found.prompt_tokens,
        "depth_tokens": found.depth_tokens,
        "precision": found.rate.precision,
        "dense_tflops_per_gpu": found.rate.dense_tflops,
        "params_per_token": found.worked.params,
        "attention_ops_per_token": found.bound.attention_ops_per_token,
        "bound_tokens_per_s": found.bound.tokens_per_s,
        "share_of_bound": found.share_of_bound,
        "is_above_a_bound": found.is_above_a_bound,
        "arithmetic": [f"{what}: {sum_}" for what, sum_ in place.sums],
    }


def _beside_first_token(found: BesideFirstToken) -> dict[str, Any]:
    return {
        "mean_ttft_ms": found.measured_ms,
        "prompt_tokens": found.prompt_tokens,
        "precision": found.rate.precision,
        "dense_tflops_per_gpu": found.rate.dense_tflops,
        "least_ms": found.least_ms,
        "times_least": found.times_least,
        "is_below_the_least": found.is_below_the_least,
    }


def _known(value: Decimal | Unknown) -> Decimal | None:
    return None if isinstance(value, Unknown) else value


def understood(tool: str) -> str:
    """Return which form of a tool's result files is read."""
    return next(reader.understands for reader in READERS if reader.tool == tool)
