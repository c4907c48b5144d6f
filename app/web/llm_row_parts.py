"""What the rows of the twins about language models are made of: each value's kind, unit and meaning."""

from __future__ import annotations

from typing import Final

from app.domain.fields import PARTS_OF_KEY, TERMS, Field, field_of, flag, text, whole
from app.domain.metrics import METRICS
from app.web.llm_cautions import READ
from app.web.row_parts import Part

_PROVIDER, _SKU, _ACCELERATOR, _AS_WRITTEN, _GPU_COUNT, _MIN_GPUS = PARTS_OF_KEY
_PRICING, _SERVICE, _TIER, _TERM_MIN, _TERM_MAX, _REGION = TERMS
_USD: Final = METRICS["usd_per_gpu_hour"]
_RATE: Final = "tokens/s"
_SHARE: Final = "%"
_MONEY: Final = "$/million tokens"


def _number(key: str, meaning: str, *, unit: str = "", is_known: bool = False) -> Field:
    return Field(key=key, kind="number", meaning=meaning, unit=unit, is_known=is_known)


def _maybe(key: str, meaning: str) -> Field:
    return Field(key=key, kind="flag", meaning=meaning)


LLMS: Final = (
    text("id", "The model's id, an organisation and a name with a slash between.", is_known=True),
    text("name", "The name as people say it.", is_known=True),
    text("family", "The family whose rules its config is read by.", is_known=True),
    whole("params_text", "Parameters of the part that makes text.", unit="parameters", is_known=True),
    whole("params_active", "Parameters that one token reads.", unit="parameters", is_known=True),
    whole("experts", "Routed experts of a layer; zero where there are none.", unit="experts", is_known=True),
    whole(
        "experts_per_token",
        "Routed experts that a token goes through; zero where there are none.",
        unit="experts",
        is_known=True,
    ),
    whole("layers", "Layers.", unit="layers", is_known=True),
    whole("max_context", "The longest context that its config states.", unit="tokens"),
    text("native_dtype", "The type of its weights as published."),
    text("quant_method", "How they are quantised as published."),
    whole("params_in_files", "Elements of its files, as somebody counted them.", unit="elements"),
    _number("weights_gb_fp8", "Its weights at a byte each, an estimate.", unit="GB", is_known=True),
    _number(
        "kv_bytes_per_token_16bit",
        "What a token adds to the cache at 16 bits a value; missing where a model keeps a layout of its own.",
        unit="bytes",
    ),
    whole("state_bytes", "The state of a request, whatever its length.", unit="bytes", is_known=True),
    text("licence", "Its licence as the source writes it."),
    text("config_source", "Where its config was read.", is_known=True),
    Field(key="as_of", kind="day", meaning="The day it was read.", is_known=True),
    _number(
        "kv_token_bytes",
        "What a token adds to the cache for good, at 16 bits or as `kv_basis` says.",
        unit="bytes",
        is_known=True,
    ),
    text("kv_basis", "How those bytes are kept, what is among them, and what is not checked.", is_known=True),
)

_BATCH: Final = (
    whole("batch", "Requests at once.", unit="requests", is_known=True),
    flag("fits", "Whether memory holds model and requests on the GPUs that may be used."),
    whole("gpus", "GPUs of one copy; where it does not fit, of the nearest try.", unit="GPUs"),
    _number("tokens_per_s", "The ceiling of all requests together.", unit=_RATE),
    _number("tokens_per_s_per_stream", "The ceiling of each request.", unit=_RATE),
    text("bound_by", "Whether bytes or operations bind a step."),
    _number("step_s", "The shortest time of a step.", unit="seconds"),
    _number("prefill_tokens_per_s", "The ceiling of reading prompts.", unit=_RATE),
    whole("max_concurrency", "The most requests that memory holds.", unit="requests"),
    whole("rented_gpus", "GPUs that have to be paid for.", unit="GPUs"),
    _number("usd_per_hour", "What those cost.", unit="$/h"),
    _number("usd_per_mtok_output", "The least a million generated tokens can cost.", unit=_MONEY),
    _number("usd_per_mtok_input", "The least a million prompt tokens can cost.", unit=_MONEY),
    _number("usd_per_mtok_blended", "The least in the ratio that was asked for.", unit=_MONEY),
    _number("used_usd_per_mtok_output", "The same over only the GPUs that are in use.", unit=_MONEY),
    _number("api_needed_utilisation", "The share of paid time at which it equals the price of the API."),
    _maybe("api_can_pay", "Whether any share of paid time can."),
    _number("missing_gb_per_gpu", "What memory lacks on each GPU.", unit="GB"),
    text("why", "Why a figure is unknown, or why it does not fit."),
)
LLM_COSTS: Final[tuple[Field | Part, ...]] = (
    _PROVIDER,
    _ACCELERATOR,
    _AS_WRITTEN,
    Field(key="sku", kind="text", meaning=_SKU.meaning),
    _SERVICE,
    _PRICING,
    _TIER,
    _TERM_MIN,
    _TERM_MAX,
    _REGION,
    _GPU_COUNT,
    _MIN_GPUS,
    flag("is_own", "Whether it is the reader's own figure, which the link gives."),
    whole("offer_id", "The number of the offer, which its evidence is found by.", unit="", is_known=True),
    _number("usd_per_gpu_hour", _USD.meaning, unit=_USD.unit),
    text("why", "Why nothing is known of it."),
    Part(key="batches", meaning="What it comes to for each number of requests at once.", fields=_BATCH),
    *map(field_of, READ),
)

MEASURED: Final = (
    text("id", "The measurement's id; of a reader's own its name.", is_known=True),
    text(
        "kind", "What kind it is: benchmark, sweep, community and so on; own is the reader's.", is_known=True
    ),
    text("benchmark", "What was run.", is_known=True),
    text("llm", "The model's id, where it is one that is known here."),
    text("llm_as_written", "The model as the source writes it.", is_known=True),
    text("accelerator", "The variant's id.", is_known=True),
    whole("gpu_count", "GPUs that took part.", unit="GPUs", is_known=True),
    text("engine", "The engine that served."),
    text("engine_version", "Its version."),
    text("weights", "The format of the weights, where it is one that is known here."),
    text("weights_as_written", "The format as the source writes it."),
    text("kv", "The format of the cache; missing where it is not stated."),
    _number("weights_gb", "The weights as the source counts them.", unit="GB"),
    whole("batch", "Sequences at once.", unit="sequences"),
    whole("context_in_tokens", "Tokens of a prompt.", unit="tokens"),
    whole("context_out_tokens", "Tokens of an answer.", unit="tokens"),
    text("metric", "What was measured.", is_known=True),
    _number("value", "The figure as the source has it, in `unit`.", is_known=True),
    text("unit", "The unit of the figure.", is_known=True),
    _number("per_gpu_tokens_per_s", "The speed for each GPU.", unit=_RATE),
    _number("one_stream_per_gpu_tokens_per_s", "The ceiling of one stream, for each GPU.", unit=_RATE),
    _number("times_one_stream_ceiling", "How many times that ceiling was reached."),
    _number("batch_bound_per_gpu_tokens_per_s", "The bound of its batch, for each GPU.", unit=_RATE),
    text("batch_bound_by", "Whether bytes or operations bind that batch."),
    _number("share_of_batch_bound_percent", "How much of that bound was reached.", unit=_SHARE),
    _number("any_batch_per_gpu_tokens_per_s", "The bound of any batch, for each GPU.", unit=_RATE),
    _number("share_of_any_batch_percent", "How much of that bound was reached.", unit=_SHARE),
    Field(key="arithmetic", kind="texts", meaning="The sums behind the bounds.", is_known=True),
    text("source", "Who published it.", is_known=True),
    text("source_url", "Where it stands; missing for a reader's own."),
    text("licence", "The licence of the source."),
    Field(key="as_of", kind="day", meaning="The day of the figure.", is_known=True),
    text("note", "What else is to be known of it."),
)
