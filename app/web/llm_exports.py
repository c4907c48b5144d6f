"""The costs of a language model for programs: one JSON document, or a CSV line for each offer and batch."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from app.domain.llms.costs import DoesNotFit
from app.domain.llms.curves import curves
from app.domain.llms.duels import duels
from app.domain.llms.unknown import Unknown
from app.web import llm_words, words
from app.web.llm_cache import cache_of_token
from app.web.llm_cautions import READ, plain_read
from app.web.llm_drafts import plain_drafts
from app.web.llm_duels import plain_duel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.llms.api_prices import ApiPrice
    from app.domain.llms.costs import BatchCost, OfferCost, Priced
    from app.domain.llms.curves import Curve
    from app.domain.llms.profile import LlmProfile
    from app.web.llm_found import Found

_GB: Final = 10**9

OFFER: Final = (
    *("provider", "accelerator", "accelerator_as_written", "sku", "service_kind", "pricing_model", "tier"),
    *("term_days_min", "term_days_max", "region", "gpu_count", "min_gpus", "is_own", "offer_id"),
    "usd_per_gpu_hour",
)
BATCH: Final = (
    *("batch", "fits", "gpus", "tokens_per_s", "tokens_per_s_per_stream", "bound_by", "step_s"),
    *("prefill_tokens_per_s", "max_concurrency", "rented_gpus", "usd_per_hour", "usd_per_mtok_output"),
    *(
        "usd_per_mtok_input",
        "usd_per_mtok_blended",
        "used_usd_per_mtok_output",
        "api_needed_utilisation",
        "api_can_pay",
    ),
    *("missing_gb_per_gpu", "why"),
)
COLUMNS: Final = (*OFFER, *BATCH, *READ)
"""The columns of the CSV; the keys of an offer and of its batches in the JSON."""


def document(found: Found) -> dict[str, Any]:
    """Return the costs as one document; numbers have their unit in the key."""
    query, setup = found.query, found.serving.setup
    return {
        "as_of": words.utc(found.served.board.instant),
        "model": plain_llm(found.subject.id, found.subject.name, profile=found.subject.profile),
        "format": query.format,
        "kv": query.kv,
        "context": query.context,
        "batch": list(query.batch),
        "cards": list(query.cards),
        "utilisation": float(query.utilisation),
        "input_per_output": float(query.ratio),
        "engine": query.engine,
        "memory_share": float(query.memory_share),
        "overhead_gb": float(query.overhead_gb),
        "attention": query.attention,
        "weights_gb": float(Decimal(setup.weights.total_bytes) / _GB),
        "weights_basis": setup.weights.basis,
        "kv_bytes_per_request": float(setup.kv.sequence_bytes(query.context)),
        "stated": dict(llm_words.stated(found.serving, query)),
        "api": None if found.api is None else plain_api(found.api),
        "total": len(found.costs),
        "offers": [json_offer(cost) for cost in found.costs],
        "bigger_against_two_smaller": [plain_duel(each) for each in duels(found.serving, found.costs)],
        "speculation": plain_drafts(found.serving, query, costs=found.costs),
        "curves": [_curve(each) for each in curves(found.serving, found.costs)],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "accelerator": curve.card.id,
        "offer_id": curve.cost.row.stored.offer_id,
        "gpus": curve.gpus,
        "max_concurrency": curve.wall,
        "points": [
            {
                "batch": point.batch,
                "usd_per_mtok_output": float(point.usd_per_mtok),
                "tokens_per_s": float(point.decode.tokens_per_s),
                "tokens_per_s_per_stream": float(point.decode.tokens_per_s_per_stream),
                "tokens_per_s_per_gpu": float(point.tokens_per_s_per_gpu),
                "ops_per_byte": float(point.decode.ops_per_byte),
                "tflops_per_gpu": float(point.tflops_per_gpu),
                "bound_by": point.decode.bound_by,
            }
            for point in curve.points
        ],
    }


def plain_llm(llm_id: str, name: str, *, profile: LlmProfile) -> dict[str, Any]:
    """Return what a model is, for programs."""
    cache = cache_of_token(profile)
    adds = float(cache.bytes_per_token)
    return {
        "id": llm_id or None,
        "name": name,
        "family": profile.family,
        "params_text": profile.params_text,
        "params_active": profile.params_active,
        "experts": profile.experts,
        "experts_per_token": profile.experts_per_token,
        "layers": profile.layers,
        "max_context": profile.max_context,
        "native_dtype": profile.native_dtype or None,
        "quant_method": profile.quant_method or None,
        "kv_bytes_per_token_16bit": adds if cache.is_16bit else None,
        "kv_token_bytes": adds,
        "kv_basis": cache.basis,
    }


def plain_api(price: ApiPrice) -> dict[str, Any]:
    """Return the price that costs are held against, with what is known of it."""
    return {
        "usd_per_mtok_input": float(price.usd_per_mtok_input),
        "usd_per_mtok_output": float(price.usd_per_mtok_output),
        "provider": price.provider,
        "name_there": price.name_there,
        "as_of": price.as_of.isoformat(),
    }


def json_offer(cost: OfferCost) -> dict[str, Any]:
    """Return one offer with its batches; of an unknown card there are none, and `why` says so."""
    batches = [] if isinstance(cost.batches, Unknown) else [dict(_batch(each)) for each in cost.batches]
    return {
        **{key: _float(value) for key, value in _offer(cost).items()},
        "why": llm_words.why(cost.batches) or llm_words.why(cost.usd_per_gpu_hour) or None,
        "batches": [{key: _float(each.get(key)) for key in BATCH} for each in batches],
        **plain_read(cost.row),
    }


def csv_lines(found: Found) -> Iterator[dict[str, Any]]:
    """Yield a line for each offer and batch, by column; of an unknown card one for each batch asked for."""
    for cost in found.costs:
        read = plain_read(cost.row)
        offer = {**_offer(cost), **read, "flags": " ".join(read["flags"])}
        if isinstance(cost.batches, Unknown):
            for batch in found.query.batch:
                yield {**offer, "batch": batch, "why": cost.batches.why}
        else:
            for each in cost.batches:
                yield {**offer, **_batch(each)}


def _offer(cost: OfferCost) -> dict[str, Any]:
    offer, price = cost.row.offer, cost.usd_per_gpu_hour
    return {
        "provider": offer.provider,
        "accelerator": offer.accelerator,
        "accelerator_as_written": offer.accelerator_as_written,
        "sku": offer.sku,
        "service_kind": offer.service_kind.value,
        "pricing_model": offer.pricing_model.value,
        "tier": offer.tier or None,
        "term_days_min": offer.term_days_min,
        "term_days_max": offer.term_days_max,
        "region": offer.region or None,
        "gpu_count": offer.gpu_count,
        "min_gpus": offer.min_gpus,
        "is_own": offer.is_own,
        "offer_id": cost.row.stored.offer_id,
        "usd_per_gpu_hour": None if isinstance(price, Unknown) else price,
    }


def _batch(cost: BatchCost) -> dict[str, Any]:
    if isinstance(cost, DoesNotFit):
        nearest = cost.nearest
        return {
            "batch": cost.batch,
            "fits": False,
            "gpus": nearest.gpus,
            "max_concurrency": nearest.max_concurrency,
            "missing_gb_per_gpu": nearest.missing_bytes / _GB,
            "why": nearest.why,
        }
    return {**_bounds(cost), **_money(cost)}


def _bounds(cost: Priced) -> dict[str, Any]:
    served = cost.ceiling.served
    decode, prefill = served.decode, served.prefill
    values: dict[str, Any] = {
        "batch": cost.batch,
        "fits": True,
        "gpus": cost.ceiling.gpus,
        "max_concurrency": cost.ceiling.most_requests,
    }
    if not isinstance(decode, Unknown):
        values |= {
            "tokens_per_s": decode.tokens_per_s,
            "tokens_per_s_per_stream": decode.tokens_per_s_per_stream,
            "bound_by": decode.bound_by,
            "step_s": decode.step_s,
        }
    if not isinstance(prefill, Unknown):
        values["prefill_tokens_per_s"] = prefill.tokens_per_s
    return values


def _money(cost: Priced) -> dict[str, Any]:
    money = cost.money
    if isinstance(money, Unknown):
        return {"why": money.why}
    api = money.against_api
    return {
        "rented_gpus": money.rental.rented_gpus,
        "usd_per_hour": money.rental.usd_per_hour,
        "usd_per_mtok_output": money.usd_per_mtok_output,
        "usd_per_mtok_input": money.usd_per_mtok_input,
        "usd_per_mtok_blended": money.usd_per_mtok_blended,
        "used_usd_per_mtok_output": money.used_usd_per_mtok_output,
        "api_needed_utilisation": None if api is None else api.utilisation,
        "api_can_pay": None if api is None else api.can_pay,
    }


def _float(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value
