"""What holds of every model, card and price: drawn at random, from shapes no maker may ever publish."""

from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from app.domain.accelerators import load_catalogue
from app.domain.llms.bounds import (
    DecodeBound,
    Load,
    Never,
    Peaks,
    PrefillBound,
    compute_bound_from_batch,
    decode_bound,
    decode_step,
    prefill_bound,
)
from app.domain.llms.fit import ENGINES, Demand, Fits, Memory, TooBig, fit, on_gpus
from app.domain.llms.formats import FORMATS, Rate, rate_of
from app.domain.llms.kv import KV_FORMATS, kv_cache, longest_context
from app.domain.llms.parallel import Link, Spread
from app.domain.llms.profile import Attention, LlmProfile, Part, Recurrent
from app.domain.llms.serving import Cost, Served, Setup, cost_of, serve
from app.domain.llms.speculation import Draft, speculative_bound
from app.domain.llms.touched import expected_distinct_experts
from app.domain.llms.unknown import Unknown
from app.domain.llms.weights import estimated_weights

CARDS = load_catalogue().accelerators
KINDS = ("full", "window", "chunked", "mla", "compressed")
NO_FIGURE = Unknown(why="nobody says")

contexts = st.integers(0, 2_000_000)
batches = st.integers(1, 2048)
figures = st.decimals("0.01", "40000", places=2)
prices = st.decimals("0.01", "200", places=3)


@st.composite
def attentions(draw: st.DrawFn) -> Attention:
    kind = draw(st.sampled_from(KINDS))
    ratio = draw(st.sampled_from((4, 128))) if kind == "compressed" else 0
    layers = draw(st.integers(1, 90))
    indexers = draw(st.integers(0, layers)) if kind in {"mla", "compressed"} and ratio != 128 else 0
    needs_window = kind in {"window", "chunked", "compressed"}
    return Attention(
        kind=kind,
        layers=layers,
        q_heads=draw(st.integers(1, 128)),
        kv_heads=1 if kind in {"mla", "compressed"} else draw(st.integers(1, 64)),
        head_dim_k=draw(st.sampled_from((64, 128, 192, 512))),
        head_dim_v=draw(st.sampled_from((0, 64, 128))),
        window=draw(st.integers(1, 8192)) if needs_window else None,
        kv_lora_rank=512 if kind == "mla" else 0,
        rope_head_dim=64 if kind == "mla" else 0,
        indexer_layers=indexers,
        read_tokens=draw(st.none() | st.integers(1, 4096)) if indexers else None,
        compress_ratio=ratio,
    )


@st.composite
def profiles(draw: st.DrawFn) -> LlmProfile:
    experts = draw(st.integers(2, 900)) if draw(st.booleans()) else 0
    sizes = st.integers(1, 10**12)
    parts = [
        Part(name="attention", params=draw(sizes), read="always"),
        Part(name="embedding", params=draw(sizes), read="lookup"),
        *([Part(name="routed experts", params=draw(sizes), read="routed")] if experts else []),
    ]
    return LlmProfile(
        family="drawn",
        hidden=draw(st.integers(64, 16_384)),
        vocab=1000,
        layers=draw(st.integers(1, 120)),
        attention=tuple(draw(st.lists(attentions(), max_size=3))),
        recurrent=tuple(
            Recurrent(layers=layers, state_bytes=draw(st.integers(1, 10**7)))
            for layers in draw(st.lists(st.integers(1, 90), max_size=1))
        ),
        parts=tuple(parts),
        experts=experts,
        experts_per_token=draw(st.integers(1, experts)) if experts else 0,
        moe_layers=1 if experts else 0,
        max_context=None,
        native_dtype="bfloat16",
        quant_method="",
        tied_head=False,
    )


@st.composite
def loads(draw: st.DrawFn) -> Load:
    profile = draw(profiles())
    return Load(
        profile=profile,
        weights=estimated_weights(profile, FORMATS[draw(st.sampled_from(sorted(FORMATS)))]),
        kv=kv_cache(profile, KV_FORMATS[draw(st.sampled_from(sorted(KV_FORMATS)))]),
        spread=Spread(gpus=draw(st.integers(1, 64)), attention=draw(st.sampled_from(("tensor", "data")))),
    )


peaks = st.builds(
    Peaks,
    bandwidth_tb_s=figures,
    rate=st.builds(Rate, precision=st.just("fp8"), dense_tflops=figures),
    bandwidth_share=st.decimals("0.1", "1", places=2),
)
links = st.none() | st.builds(
    Link, latency_s=st.decimals(0, "0.001", places=6), bytes_per_s=st.just(Decimal(450 * 10**9))
)
demands = st.builds(
    Demand, batch=batches, context=st.integers(1, 200_000), max_num_batched_tokens=st.integers(0, 16_384)
)
memories = st.builds(Memory, usable_bytes=st.integers(10**9, 10**12), basis=st.just("drawn"))
engines = st.sampled_from(sorted(ENGINES)).map(ENGINES.__getitem__)


def decode(bound: DecodeBound | Unknown) -> DecodeBound:
    assert isinstance(bound, DecodeBound)
    return bound


@given(load=loads(), card=peaks, more=figures, batch=batches, context=contexts, link=links)
def test_more_bandwidth_never_lowers_a_decode_bound(
    load: Load, card: Peaks, more: Decimal, batch: int, context: int, link: Link | None
) -> None:
    assert isinstance(card.bandwidth_tb_s, Decimal)
    faster = replace(card, bandwidth_tb_s=card.bandwidth_tb_s + more)
    slow, fast = (
        decode(decode_bound(load, each, batch=batch, context=context, link=link)) for each in (card, faster)
    )
    assert fast.tokens_per_s >= slow.tokens_per_s
    assert fast.tokens_per_s_per_stream >= slow.tokens_per_s_per_stream


@given(load=loads(), card=peaks, batch=batches, context=contexts, link=links)
def test_no_step_is_shorter_than_either_peak_allows(
    load: Load, card: Peaks, batch: int, context: int, link: Link | None
) -> None:
    bound = decode(decode_bound(load, card, batch=batch, context=context, link=link))
    bytes_per_s, ops_per_s = card.bytes_per_s, card.ops_per_s
    assert isinstance(bytes_per_s, Decimal)
    assert isinstance(ops_per_s, Decimal)
    assert bound.step.total_bytes / bytes_per_s <= bound.step_s
    assert bound.step.ops / ops_per_s <= bound.step_s


@given(load=loads(), context=contexts, more=contexts, batch=batches, batched=st.integers(0, 16_384))
def test_more_context_never_lowers_the_bytes(
    load: Load, context: int, more: int, batch: int, batched: int
) -> None:
    kv, spread, longer = load.kv, load.spread, context + more
    assert kv.sequence_bytes(longer, spread=spread) >= kv.sequence_bytes(context, spread=spread)
    assert kv.step_bytes(longer, spread=spread) >= kv.step_bytes(context, spread=spread)
    reserved = [
        kv.reserved_bytes(length, max_num_batched_tokens=batched, spread=spread)
        for length in (context, longer)
    ]
    assert reserved[0] <= reserved[1]
    assert reserved[1] >= kv.sequence_bytes(longer, spread=spread)
    steps = [decode_step(load, batch=batch, context=length) for length in (context, longer)]
    assert steps[0].total_bytes <= steps[1].total_bytes
    assert steps[0].ops <= steps[1].ops


@given(load=loads(), batch=batches, context=contexts)
def test_more_streams_read_more_and_never_more_than_their_own_and_all_weights(
    load: Load, batch: int, context: int
) -> None:
    one, some = (decode_step(load, batch=count, context=context) for count in (1, batch))
    everything = (load.weights.always_bytes + load.weights.routed_bytes) / load.spread.gpus
    assert one.weight_bytes <= some.weight_bytes <= everything * (1 + Decimal(10) ** -20)
    assert some.weight_bytes <= batch * one.weight_bytes * (1 + Decimal(10) ** -20)


@given(st.integers(1, 1000), st.data(), st.integers(1, 5000))
def test_a_step_touches_at_least_one_token_s_experts_and_at_most_all(
    experts: int, data: st.DataObject, tokens: int
) -> None:
    each = data.draw(st.integers(1, experts))
    distinct = expected_distinct_experts(experts, experts_per_token=each, tokens=tokens)
    slack = Decimal(10) ** -20
    assert each - slack <= distinct <= min(experts, each * tokens) + slack


@given(
    load=loads(),
    memory=memories,
    engine=engines,
    demand=demands,
    gpus=st.integers(1, 40),
    more=st.integers(1, 40),
)
def test_adding_cards_never_makes_a_fit_fail(
    load: Load, memory: Memory, engine: object, demand: Demand, gpus: int, more: int
) -> None:
    assert isinstance(engine, type(ENGINES["vllm"]))
    few = fit(on_gpus(load, gpus), memory, engine=engine, demand=demand)
    many = fit(on_gpus(load, gpus + more), memory, engine=engine, demand=demand)
    assert not (isinstance(few, Fits) and isinstance(many, TooBig))
    assert many.max_concurrency >= few.max_concurrency
    if isinstance(few, Fits) and isinstance(many, Fits):
        longest = (few.longest_context, many.longest_context)
        assert longest[1] is None or (longest[0] is not None and longest[1] >= longest[0])


@given(load=loads(), memory=memories, engine=engines, demand=demands)
def test_what_fits_holds_the_batch_and_what_does_not_lacks_bytes(
    load: Load, memory: Memory, engine: object, demand: Demand
) -> None:
    assert isinstance(engine, type(ENGINES["vllm"]))
    found = fit(load, memory, engine=engine, demand=demand)
    if isinstance(found, Fits):
        assert found.max_concurrency >= demand.batch
        return
    assert found.max_concurrency < demand.batch
    assert found.missing_bytes > 0
    if engine.share_of == "total":
        lack = -(-found.missing_bytes // engine.memory_share) + 1
        roomy = replace(memory, usable_bytes=memory.usable_bytes + int(lack))
        assert isinstance(fit(load, roomy, engine=engine, demand=demand), Fits)


@given(load=loads(), free=st.integers(0, 10**13))
def test_the_longest_context_fits_and_one_token_more_does_not(load: Load, free: int) -> None:
    longest = longest_context(load.kv, Decimal(free), spread=load.spread)
    if longest is None:
        assert load.kv.sequence_bytes(10**9, spread=load.spread) <= free
        return
    assert longest == 0 or load.kv.sequence_bytes(longest, spread=load.spread) <= free
    assert load.kv.sequence_bytes(longest + 1, spread=load.spread) > free


@given(load=loads(), card=peaks, context=contexts)
def test_the_crossing_is_the_first_batch_bound_by_compute(load: Load, card: Peaks, context: int) -> None:
    found = compute_bound_from_batch(load, card, context=context)
    if isinstance(found, Never):
        bound = decode(decode_bound(load, card, batch=10**6, context=context))
        assert bound.bound_by == "memory"
        return
    assert isinstance(found, int)
    assert decode(decode_bound(load, card, batch=found, context=context)).bound_by == "compute"
    if found > 1:
        assert decode(decode_bound(load, card, batch=found - 1, context=context)).bound_by == "memory"


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    load = draw(loads())
    fmt = FORMATS[draw(st.sampled_from(sorted(FORMATS)))]
    return Setup(
        profile=load.profile,
        weights=estimated_weights(load.profile, fmt),
        fmt=fmt,
        kv=load.kv,
        engine=draw(engines),
        demand=draw(demands),
        attention=load.spread.attention,
    )


def served_on(load: Load, card: Peaks, *, demand: Demand) -> Served:
    """Return a model on cards with memory enough for anything."""
    memory = Memory(usable_bytes=10**19, basis="drawn")
    held = fit(load, memory, engine=ENGINES["vllm"], demand=demand)
    assert isinstance(held, Fits)
    return Served(
        fit=held,
        decode=decode_bound(load, card, batch=demand.batch, context=demand.context),
        prefill=prefill_bound(load, card, prompt_tokens=demand.context),
    )


@given(load=loads(), card=peaks, demand=demands, usd=prices, ratio=st.decimals(0, 20, places=1))
def test_when_the_price_doubles_the_cost_doubles(
    load: Load, card: Peaks, demand: Demand, usd: Decimal, ratio: Decimal
) -> None:
    served = served_on(load, card, demand=demand)
    single, double = (
        cost_of(served, usd_per_gpu_hour=price, input_per_output=ratio) for price in (usd, 2 * usd)
    )
    assert isinstance(single, Cost)
    assert isinstance(double, Cost)
    for name in ("usd_per_hour", "usd_per_mtok_output", "usd_per_mtok_input", "usd_per_mtok_blended"):
        assert abs(getattr(double, name) / getattr(single, name) - 2) < Decimal(10) ** -20
    assert double.prefill_share == single.prefill_share


@given(
    load=loads(),
    card=peaks,
    demand=demands,
    usd=prices,
    missing=st.sets(st.sampled_from(("bandwidth", "rate", "price")), min_size=1),
)
def test_every_unknown_stays_unknown(
    load: Load, card: Peaks, demand: Demand, usd: Decimal, missing: set[str]
) -> None:
    if "bandwidth" in missing:
        card = replace(card, bandwidth_tb_s=NO_FIGURE)
    if "rate" in missing:
        card = replace(card, rate=NO_FIGURE)
    served = served_on(load, card, demand=demand)
    price = NO_FIGURE if "price" in missing else usd
    assert cost_of(served, usd_per_gpu_hour=price) == NO_FIGURE
    draft = Draft(depth=2, tokens_per_pass=Decimal(2))
    speculation = speculative_bound(load, card, demand=demand, draft=draft)
    crossing = compute_bound_from_batch(load, card, context=demand.context)
    unknown = bool(missing & {"bandwidth", "rate"})
    assert all((each == NO_FIGURE) == unknown for each in (served.decode, speculation, crossing))
    assert isinstance(served.prefill, PrefillBound) == ("rate" not in missing)


@given(setup=setups(), card=st.sampled_from(CARDS), rates=st.sampled_from(("published", "none")))
def test_a_card_of_the_catalogue_serves_only_what_fits_at_rates_that_somebody_published(
    setup: Setup, card: object, rates: str
) -> None:
    assert isinstance(card, type(CARDS[0]))
    if rates == "none":
        card = replace(card, dense_tflops=MappingProxyType({}))
    found = serve(setup, card)
    assert isinstance(found, Served | TooBig)
    if isinstance(found, Served):
        assert found.fit.max_concurrency >= setup.demand.batch
        no_rate = isinstance(rate_of(setup.fmt, card), Unknown)
        assert no_rate or rates == "published"
        assert isinstance(found.decode, Unknown) == isinstance(found.prefill, Unknown) == no_rate
