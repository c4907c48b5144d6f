"""Shapes of published language models, written out by hand from their config.json, for tests."""

from dataclasses import replace
from decimal import Decimal

from app.domain.llms.bounds import Load, Peaks
from app.domain.llms.formats import FORMATS, Rate
from app.domain.llms.kv import KV_FORMATS, kv_cache
from app.domain.llms.parallel import AttentionSharding, Spread
from app.domain.llms.profile import Attention, LlmProfile, Part, Recurrent
from app.domain.llms.weights import estimated_weights


def shape(
    attention: Attention | None,
    *,
    parts: tuple[Part, ...],
    recurrent: tuple[Recurrent, ...] = (),
    experts: int = 0,
    experts_per_token: int = 0,
    hidden: int = 8192,
    layers: int = 80,
) -> LlmProfile:
    return LlmProfile(
        family="made",
        hidden=hidden,
        vocab=128_256,
        layers=layers,
        attention=(attention,) if attention else (),
        recurrent=recurrent,
        parts=parts,
        experts=experts,
        experts_per_token=experts_per_token,
        moe_layers=layers if experts else 0,
        max_context=131_072,
        native_dtype="bfloat16",
        quant_method="",
        tied_head=False,
    )


def full(layers: int, q_heads: int, kv_heads: int, head_dim: int) -> Attention:
    return Attention(
        kind="full",
        layers=layers,
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim_k=head_dim,
        head_dim_v=head_dim,
    )


# 80 layers of 150,994,944 in attention, 704,643,072 in the MLP and 16,384 in norms; 128,256 x 8,192 twice.
LLAMA_70B = shape(
    full(80, 64, 8, 128),
    parts=(
        Part(name="embedding", params=1_050_673_152, read="lookup"),
        Part(name="attention", params=80 * 150_994_944, read="always"),
        Part(name="dense MLP", params=80 * 704_643_072, read="always"),
        Part(name="norms", params=80 * 16_384 + 8_192, read="always"),
        Part(name="head", params=1_050_673_152, read="always"),
    ),
)

# 48 layers of 128 experts of 3 x 2,048 x 768, 8 a token; 3,041,867,776 read for one token.
QWEN3_30B_A3B = shape(
    full(48, 32, 4, 128),
    parts=(
        Part(name="embedding", params=311_164_928, read="lookup"),
        Part(name="attention", params=3_041_867_776 - 48 * 8 * 4_718_592, read="always"),
        Part(name="routed experts", params=48 * 128 * 4_718_592, read="routed"),
    ),
    experts=128,
    experts_per_token=8,
    hidden=2048,
    layers=48,
)

MLA = Attention(
    kind="mla",
    layers=61,
    q_heads=128,
    kv_heads=1,
    head_dim_k=192,
    head_dim_v=128,
    kv_lora_rank=512,
    rope_head_dim=64,
)
# 58 layers of 256 experts of 3 x 7,168 x 2,048, 8 a token; 36,625,618,432 read for one token.
DEEPSEEK_V3 = shape(
    MLA,
    parts=(
        Part(name="embedding", params=129_280 * 7_168, read="lookup"),
        Part(name="attention", params=61 * 187_107_328, read="always"),
        Part(
            name="dense MLP",
            params=36_625_618_432 - 58 * 8 * 44_040_192 - 61 * 187_107_328,
            read="always",
        ),
        Part(name="routed experts", params=58 * 256 * 44_040_192, read="routed"),
    ),
    experts=256,
    experts_per_token=8,
    hidden=7168,
    layers=61,
)


def load(
    profile: LlmProfile,
    *,
    weights: str = "fp8",
    kv: str = "fp8",
    gpus: int = 1,
    attention: AttentionSharding = "tensor",
) -> Load:
    return Load(
        profile=profile,
        weights=estimated_weights(profile, FORMATS[weights]),
        kv=kv_cache(profile, KV_FORMATS[kv]),
        spread=Spread(gpus=gpus, attention=attention),
    )


def peaks(tb_s: str, tflops: str, *, precision: str = "fp8") -> Peaks:
    return Peaks(bandwidth_tb_s=Decimal(tb_s), rate=Rate(precision=precision, dense_tflops=Decimal(tflops)))


H100 = peaks("3.35", "1979")
H200 = peaks("4.8", "1979")
B200 = peaks("8", "4500")


def windowed(attention: Attention, window: int) -> Attention:
    return replace(attention, kind="window", window=window)
