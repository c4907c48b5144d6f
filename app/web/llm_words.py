"""How figures of language models are said to people: tokens a second, dollars, bytes, what lacks."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.llms.kv import KV_FORMATS
from app.domain.llms.unknown import Unknown
from app.web import words
from app.web.llm_cache import OWN_LAYOUT, has_own_layout

if TYPE_CHECKING:
    from app.domain.llms.cost_query import CostQuery
    from app.domain.llms.costs import Serving
    from app.domain.llms.fit import Engine, TooBig
    from app.domain.llms.money import BreakEven
    from app.domain.llms.offload import Host
    from app.domain.llms.speculation import Draft

_GB: Final = 10**9
_FEW: Final = Decimal("0.1")
_TEN: Final = 10
_HUNDRED: Final = 100
_TEN_THOUSAND: Final = 10_000

ENGINE_SHARE: Final = {"total": "of all memory", "free": "of what the weights leave free"}


def usd(value: Decimal) -> str:
    """Return dollars for a million tokens: three decimals, four below a dime."""
    return words.number(value, 3 if value >= _FEW else 4)


def rate(value: Decimal) -> str:
    """Return tokens a second with about five digits."""
    return words.number(value, 3 if value < _HUNDRED else 1 if value < _TEN_THOUSAND else 0)


def gb(size: Decimal | int) -> str:
    """Return bytes as decimal gigabytes with two decimals."""
    return words.number(Decimal(size) / _GB, 2)


def gpus(count: int) -> str:
    """Return a number of GPUs."""
    return f"{count} GPU" if count == 1 else f"{count} GPUs"


def lacks(failed: TooBig) -> str:
    """Return by how much a batch does not fit."""
    each = " on each" if failed.gpus > 1 else ""
    return f"does not fit {gpus(failed.gpus)}: {gb(failed.missing_bytes)} GB too much{each}"


def against(api: BreakEven) -> str:
    """Return how busy the machines have to be to cost what the API asks, or that no use pays."""
    if not api.can_pay:
        return (
            f"cannot pay: {words.number(api.utilisation, 1 if api.utilisation < _TEN else 0)} times the API"
        )
    return f"pays when {words.number(api.utilisation * _HUNDRED, 1 if api.utilisation < _FEW else 0)} % sold"


def stated(serving: Serving, query: CostQuery) -> tuple[tuple[str, str], ...]:
    """Return what holds for every figure of a page, each with its name."""
    setup = serving.setup
    engine = setup.engine
    weights = setup.weights
    batches = ", ".join(map(str, serving.batches))
    host = () if serving.host is None else (("Experts in host memory", hosting(serving.host)),)
    draft = () if serving.draft is None else (("Draft", drafting(serving.draft, query)),)
    return (
        ("Requests at once", f"{batches}, each with {query.context:,} tokens of context"),
        ("Weights", f"{setup.fmt.label}, {gb(weights.total_bytes)} GB; {weights.basis}"),
        ("Read for a token", _read_for_one(serving)),
        ("Cache", f"{_layout(serving, query)}, {gb_of_request(serving)} a request of this context"),
        ("Memory", memory(engine)),
        ("GPUs", f"{fewest(serving.gpu_counts)}, {sharing(setup.attention)}"),
        (
            "Paid time in use",
            f"{words.exact(serving.utilisation * _HUNDRED)} %; whole instances are paid for, used or not",
        ),
        *draft,
        *host,
        ("What they are", "ceilings from peak figures, never a speed or a forecast; real serving is slower"),
    )


def _layout(serving: Serving, query: CostQuery) -> str:
    """Return how the cache is kept: in the format that was asked for, unless the model has its own."""
    asked = KV_FORMATS[query.kv].label
    if not has_own_layout(serving.setup.profile):
        return asked
    return f"{OWN_LAYOUT}, and {asked} changes nothing of it"


def _read_for_one(serving: Serving) -> str:
    """Return what one request alone reads of the weights, and that the board's ceiling is over the same."""
    read = words.exact(serving.read_for_one_gb)
    return (
        f"{read} GB of the weights by one request alone; the board's ceiling with {read} GB is the same "
        "without a cache"
    )


def drafting(draft: Draft, query: CostQuery) -> str:
    """Return what a draft is, how its length counts, and what its time is taken to be."""
    tokens = words.exact(draft.tokens_per_pass)
    if query.draft_counts == "with_bonus":
        counted = f"{tokens} tokens a pass, the bonus token, the model's own that each pass gives, among them"
    else:
        accepted = "" if query.draft_tokens is None else words.exact(query.draft_tokens)
        counted = f"{accepted} accepted without the bonus token, so with it {tokens} tokens a pass"
    time = "no time, as nobody stated one"
    if draft.step_share:
        time = f"{words.exact(draft.step_share)} of a plain step, as the link gives it"
    return (
        f"{draft.depth} tokens deep; {counted}; drafting a token takes {time}; its memory is not counted, "
        "and dollars are without it"
    )


def hosting(host: Host) -> str:
    """Return what host memory holds, and where the ceiling with it stands."""
    share, speed = words.exact(host.expert_share * _HUNDRED), words.exact(host.bytes_per_s / _GB)
    return (
        f"{share} % of the routed experts, sent to the GPUs at {speed} GB/s, as the link gives it; whether "
        "the host has room is not looked at. The arithmetic of an offer has that ceiling; all else is without"
    )


def memory(engine: Engine) -> str:
    """Return what counts as memory, and how an engine divides it."""
    share, aside = words.exact(engine.memory_share * _HUNDRED), gb(engine.overhead_bytes)
    return (
        f"what a driver reported, else the label in GB (10\u2079 bytes); {engine.label} takes {share} % "
        f"{ENGINE_SHARE[engine.share_of]}, {aside} GB of it for itself on each GPU"
    )


def fewest(counts: tuple[int, ...]) -> str:
    """Return on how many GPUs one copy may run."""
    listed = ", ".join(map(str, counts))
    return (
        f"exactly {listed} for one copy" if len(counts) == 1 else f"the fewest of {listed} that hold one copy"
    )


def sharing(attention: str) -> str:
    """Return how GPUs share a model."""
    if attention == "data":
        return "attention data parallel: each request's cache lies whole on one GPU"
    return "tensor parallel, messages between GPUs not counted"


def gb_of_request(serving: Serving) -> str:
    """Return what one request keeps beside the weights, in decimal gigabytes."""
    size = serving.setup.kv.sequence_bytes(serving.setup.demand.context)
    return f"{words.number(size / _GB, 3)} GB"


def why(value: object) -> str:
    """Return why a figure is unknown, empty when it is not."""
    return value.why if isinstance(value, Unknown) else ""
