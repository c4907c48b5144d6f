"""What a URL may ask of a language model's page: one frozen query, read from a link and written to one."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, get_args

from app.domain.llms.costs import DoesNotFit, Serving
from app.domain.llms.fit import ENGINES, POWERS_OF_TWO, Demand
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS, kv_cache
from app.domain.llms.offload import Host
from app.domain.llms.own_measured import canonical_measured, parse_all_measured
from app.domain.llms.parallel import AttentionSharding
from app.domain.llms.serving import Setup
from app.domain.llms.speculation import Draft, tokens_per_pass
from app.domain.llms.unknown import Unknown
from app.domain.llms.weights import Weights, estimated_weights
from app.domain.names import fold, one_of
from app.domain.query import (
    DEFAULT_PER_PAGE,
    OfferQuery,
    QueryError,
    Vocabulary,
    parse_query,
    query_pairs,
    read_decimal,
    read_whole,
)
from app.domain.typed import plain_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from app.domain.llms.costs import OfferCost
    from app.domain.llms.measurements import Measurement
    from app.domain.llms.profile import LlmProfile
    from app.domain.llms.speculation import Counting
    from app.domain.quotes import OwnHardware, Quote

MOST_BATCHES: Final = 6
LARGEST_BATCH: Final = 65_536
LONGEST_CONTEXT: Final = 16_777_216
DEEPEST_DRAFT: Final = 16
DEFAULT_SORT: Final = "usd_per_mtok"

_SHARED: Final = (
    *("gpu", "provider", "pricing", "service"),
    *("as_of", "spec", "quote", "own", "page", "per_page"),
)
"""The fields that the board has too, with the same meaning."""

COUNTINGS: Final[Mapping[str, Counting]] = MappingProxyType(
    {"with_bonus": "with bonus", "without_bonus": "drafts only"}
)
"""How an acceptance length counts, by what a link says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostQuery:
    """What a model's page is asked. Empty tuples and None mean no filter; the rest are a link's defaults.

    `format` and `kv` are formats of weights and cache; `batch` holds requests at once, each with `context`
    tokens. `cards` are the numbers of GPUs that may hold one copy. `weights_gb` replaces the estimate: GB
    that steps read, as on the board. `api` is what an API asks for a million output tokens, in dollars;
    `ratio` how many prompt tokens come to each generated one where both are blended.
    `memory_share` is the share of memory the engine takes, of what it says; `overhead_gb` what it needs on
    each GPU beside weights and cache. A draft has all of `draft_depth`, the tokens it drafts a pass,
    `draft_tokens`, its acceptance length, and `draft_counts`, how that counts; or none of them. Drafting one
    token takes `draft_share` of a plain step. `host_experts_share` of the routed experts lies in host memory
    and comes to the GPUs at `host_gb_s`; both or neither. `measured` are the reader's own measurements of the
    page's model, which they do not name.
    """

    format: str = "fp8"
    kv: str = "bf16"
    context: int = 8192
    batch: tuple[int, ...] = (1, 8, 32)
    cards: tuple[int, ...] = (1, 2, 4, 8)
    utilisation: Decimal = Decimal(1)
    engine: str = "vllm"
    memory_share: Decimal = Decimal("0.9")
    overhead_gb: Decimal = Decimal(3)
    attention: str = "tensor"
    weights_gb: Decimal | None = None
    api: Decimal | None = None
    ratio: Decimal = Decimal(3)
    draft_depth: int | None = None
    draft_tokens: Decimal | None = None
    draft_counts: str = ""
    draft_share: Decimal = Decimal(0)
    host_experts_share: Decimal | None = None
    host_gb_s: Decimal | None = None
    gpu: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    pricing: tuple[str, ...] = ()
    service: tuple[str, ...] = ()
    as_of: date | None = None
    spec: str = "main"
    quote: tuple[Quote, ...] = ()
    own: tuple[OwnHardware, ...] = ()
    measured: tuple[Measurement, ...] = ()
    sort: str = DEFAULT_SORT
    page: int = 1
    per_page: int = DEFAULT_PER_PAGE

    def replace(self, **changes: Any) -> CostQuery:
        """Return the query with some fields changed."""
        return replace(self, **changes)

    @property
    def offers(self) -> OfferQuery:
        """Return the board's query for the offers that this one is about."""
        return OfferQuery(**{name: getattr(self, name) for name in _SHARED})

    @property
    def draft(self) -> Draft | None:
        """Return the draft of speculative decoding, None when none is asked for."""
        if self.draft_depth is None or self.draft_tokens is None:
            return None
        return Draft(
            depth=self.draft_depth,
            tokens_per_pass=tokens_per_pass(self.draft_tokens, counting=COUNTINGS[self.draft_counts]),
            step_share=self.draft_share,
        )

    @property
    def host(self) -> Host | None:
        """Return what host memory holds, None when nothing is said of it."""
        if self.host_experts_share is None or self.host_gb_s is None:
            return None
        return Host(expert_share=self.host_experts_share, bytes_per_s=self.host_gb_s * _BYTES_PER_GB)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A common way to serve: a name, and the context and the batches it stands for."""

    name: str
    about: str
    context: int
    batch: tuple[int, ...]


PRESETS: Final = (
    Preset(name="Chat", about="one request of 4,096 tokens", context=4096, batch=(1,)),
    Preset(name="Long context", about="one request of 131,072 tokens", context=131_072, batch=(1,)),
    Preset(name="Batch", about="64 requests of 2,048 tokens", context=2048, batch=(64,)),
    Preset(name="Agent", about="8 requests of 32,768 tokens", context=32_768, batch=(8,)),
)

SORTS: Final[Mapping[str, Callable[[OfferCost], Any]]] = MappingProxyType(
    {
        "usd_per_mtok": lambda cost: cost.usd_per_mtok,
        "usd_per_gpu_hour": lambda cost: (
            None if isinstance(cost.usd_per_gpu_hour, Unknown) else cost.usd_per_gpu_hour
        ),
        "tokens_per_s": lambda cost: cost.tokens_per_s,
        "cards": lambda cost: cost.gpus,
        "provider": lambda cost: cost.row.offer.provider,
        "gpu": lambda cost: cost.row.accelerator.name.casefold() if cost.row.accelerator else None,
    }
)
"""What offers are put in order by, each a figure of the first batch or a fact; None comes last."""

_FORMATS: Final = fold(FORMATS)
_KV_FORMATS: Final = fold(KV_FORMATS)
_ENGINES: Final = fold(ENGINES)
_ATTENTION: Final = fold(get_args(AttentionSharding))
_COUNTINGS: Final = fold(COUNTINGS)
_CARDS: Final = frozenset(map(str, POWERS_OF_TWO))
_SORTS: Final = fold([*SORTS, *(f"-{key}" for key in SORTS)])
_SMALLEST: Final = Decimal("0.0001")


def _batches(name: str, value: str) -> tuple[int, ...]:
    parts = [part for part in value.split(",") if part.strip()]
    found = tuple(dict.fromkeys(read_whole(name, part, low=1, high=LARGEST_BATCH) for part in parts))
    if not 1 <= len(found) <= MOST_BATCHES:
        raise QueryError(name, value, f"give 1 to {MOST_BATCHES} numbers with commas between")
    return found


def _cards(name: str, value: str) -> tuple[int, ...]:
    found = {part.strip() for part in value.split(",") if part.strip()}
    if not found or not found <= _CARDS:
        raise QueryError(name, value, f"use some of {', '.join(map(str, POWERS_OF_TWO))}")
    return tuple(sorted(map(int, found)))


_READ: Final[Mapping[str, Callable[[str, str], Any]]] = MappingProxyType(
    {
        "format": lambda name, value: one_of(name, value, names=_FORMATS),
        "kv": lambda name, value: one_of(name, value, names=_KV_FORMATS),
        "context": lambda name, value: read_whole(name, value, low=0, high=LONGEST_CONTEXT),
        "batch": _batches,
        "cards": _cards,
        "utilisation": lambda name, value: read_decimal(name, value, low=_SMALLEST, high=Decimal(1)),
        "engine": lambda name, value: one_of(name, value, names=_ENGINES),
        "memory_share": lambda name, value: read_decimal(name, value, low=Decimal("0.05"), high=Decimal(1)),
        "overhead_gb": lambda name, value: read_decimal(name, value, low=Decimal(0), high=Decimal(1000)),
        "attention": lambda name, value: one_of(name, value, names=_ATTENTION),
        "weights_gb": lambda name, value: read_decimal(
            name, value, low=Decimal("0.001"), high=Decimal(1_000_000)
        ),
        "api": lambda name, value: read_decimal(name, value, low=_SMALLEST, high=Decimal(100_000)),
        "ratio": lambda name, value: read_decimal(name, value, low=Decimal(0), high=Decimal(1_000_000)),
        "draft_depth": lambda name, value: read_whole(name, value, low=1, high=DEEPEST_DRAFT),
        "draft_tokens": lambda name, value: read_decimal(
            name, value, low=Decimal(0), high=Decimal(DEEPEST_DRAFT + 1)
        ),
        "draft_counts": lambda name, value: one_of(name, value, names=_COUNTINGS),
        "draft_share": lambda name, value: read_decimal(name, value, low=Decimal(0), high=Decimal(1)),
        "host_experts_share": lambda name, value: read_decimal(name, value, low=_SMALLEST, high=Decimal(1)),
        "host_gb_s": lambda name, value: read_decimal(name, value, low=_SMALLEST, high=Decimal(1_000_000)),
        "sort": lambda name, value: one_of(name, value, names=_SORTS),
    }
)
"""The fields that the board does not have, each of which stands once."""

NAMES: Final = (*_READ, *_SHARED, "measured")


_PUBLISHED: Final = (("nvfp4", "nvfp4"), ("mxfp4", "mxfp4"), ("fp8", "fp8"), ("bfloat16", "bf16"))


def published_format(profile: LlmProfile) -> str:
    """Return the format in which a model's weights are published, empty where its config names none of ours.

    Quantised checkpoints keep some tensors wider, so the format is that of most of them.
    """
    said = (profile.quant_method or profile.native_dtype).casefold()
    return next((fmt for word, fmt in _PUBLISHED if word in said), "")


def parse_cost(pairs: Sequence[tuple[str, str]], words: Vocabulary) -> CostQuery:
    """Read a query from decoded pairs; empty values mean the default.

    Raises QueryError naming the field, its value and what would be right.
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name not in NAMES:
            one_of("parameter", name, names=_NAMES)
            raise QueryError("parameter", name, "parameter names are lower case")
        if name in found:
            raise QueryError(name, value, "give it once")
        if name in _READ and value.strip():
            found[name] = _READ[name](name, value)
    shared = parse_query([pair for pair in pairs if pair[0] in _SHARED], words)
    own = [value for name, value in pairs if name == "measured" and value.strip()]
    query = CostQuery(
        **found,
        **{name: getattr(shared, name) for name in _SHARED},
        measured=parse_all_measured(own, words.variants, llm="", day=words.today),
    )
    _check_draft(query)
    _check_host(query)
    return query


def _check_host(query: CostQuery) -> None:
    missing = [name for name in ("host_experts_share", "host_gb_s") if getattr(query, name) is None]
    if len(missing) == 1:
        hint = f"experts in host memory need host_experts_share and host_gb_s: give {missing[0]} too"
        raise QueryError(missing[0], "", hint)


_DRAFT: Final = ("draft_depth", "draft_tokens", "draft_counts")


def _check_draft(query: CostQuery) -> None:
    """Raise QueryError for a draft of which something is missing, or a length its depth cannot give."""
    missing = [name for name in _DRAFT if getattr(query, name) in {None, ""}]
    if len(missing) == len(_DRAFT) and not query.draft_share:
        return
    if missing:
        hint = f"a draft needs {', '.join(_DRAFT[:-1])} and {_DRAFT[-1]}: give {' and '.join(missing)} too"
        raise QueryError(missing[0], "", hint)
    draft, given = query.draft, query.draft_tokens
    if draft is not None and given is not None and not 1 <= draft.tokens_per_pass <= draft.depth + 1:
        bonus = 1 if query.draft_counts == "with_bonus" else 0
        hint = f"{query.draft_counts} at depth {draft.depth} it is from {bonus} to {draft.depth + bonus}"
        raise QueryError("draft_tokens", plain_number(given), hint)


_NAMES: Final = fold(NAMES)
_DEFAULTS: Final = tuple((part.name, part.default) for part in fields(CostQuery))


def cost_pairs(query: CostQuery) -> list[tuple[str, str]]:
    """Return the pairs of a link to this query: only what differs from the default, in a fixed order."""
    own = [(name, getattr(query, name)) for name, default in _DEFAULTS if name in _READ]
    changed = [(name, value) for name, value in own if value != dict(_DEFAULTS)[name]]
    measured = [("measured", canonical_measured(each)) for each in query.measured]
    return [*((name, _text(value)) for name, value in changed), *query_pairs(query.offers), *measured]


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return plain_number(value) if isinstance(value, Decimal) else str(value)


def serving_of(query: CostQuery, profile: LlmProfile, *, api_usd_per_mtok: Decimal | None = None) -> Serving:
    """Return how a query asks a model to be served; `api_usd_per_mtok` is for a query that names no price."""
    fmt, engine = FORMATS[query.format], ENGINES[query.engine]
    setup = Setup(
        profile=profile,
        weights=_weights(query, profile),
        fmt=fmt,
        kv=kv_cache(profile, KV_FORMATS[query.kv]),
        engine=replace(
            engine, memory_share=query.memory_share, overhead_bytes=int(query.overhead_gb * _BYTES_PER_GB)
        ),
        demand=Demand(batch=query.batch[0], context=query.context),
        attention="data" if query.attention == "data" else "tensor",
    )
    return Serving(
        setup=setup,
        batches=query.batch,
        gpu_counts=query.cards,
        utilisation=query.utilisation,
        input_per_output=query.ratio,
        api_usd_per_mtok=api_usd_per_mtok if query.api is None else query.api,
        draft=query.draft,
        host=query.host,
    )


_BYTES_PER_GB: Final = 10**9


def _weights(query: CostQuery, profile: LlmProfile) -> Weights:
    """Return the estimate, or `weights_gb` in place of what steps read, dealt out as the estimate is."""
    estimate = estimated_weights(profile, FORMATS[query.format])
    if query.weights_gb is None:
        return estimate
    times = query.weights_gb * _BYTES_PER_GB / (estimate.always_bytes + estimate.routed_bytes)
    return replace(
        estimate,
        always_bytes=estimate.always_bytes * times,
        routed_bytes=estimate.routed_bytes * times,
        lookup_bytes=Decimal(0),
        attention_bytes=estimate.attention_bytes * times,
        basis=f"as the link gives it: {plain_number(query.weights_gb)} GB, all read by steps",
        is_estimate=False,
    )


def in_order(costs: Sequence[OfferCost], query: CostQuery) -> list[OfferCost]:
    """Return the offers in the query's order; after them what does not fit, then what is unknown."""
    key = SORTS[query.sort.removeprefix("-")]
    known = [(key(cost), cost) for cost in costs]
    ordered = sorted(
        [each for each in known if each[0] is not None],
        key=lambda each: each[0],
        reverse=query.sort.startswith("-"),
    )
    rest = sorted([cost for value, cost in known if value is None], key=_lacks)
    return [*(cost for _, cost in ordered), *rest]


def _lacks(cost: OfferCost) -> tuple[bool, Decimal]:
    """Put what does not fit before what is unknown, the least lacking first."""
    if isinstance(cost.first, DoesNotFit):
        return False, cost.first.nearest.missing_bytes
    return True, Decimal(0)
