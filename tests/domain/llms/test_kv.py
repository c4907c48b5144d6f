"""Bytes that a sequence keeps: by heads, by latent, by window, in hybrids; pools and what they hold."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.domain.llms.kv import (
    KV_FORMATS,
    KvCache,
    concurrency,
    derived_pool_tokens,
    kv_cache,
    longest_context,
)
from app.domain.llms.parallel import Spread
from app.domain.llms.profile import Attention, LlmProfile, Recurrent
from tests.domain.llms.shapes import DEEPSEEK_V3, LLAMA_70B, MLA, full, shape, windowed

GIB = 2**30


def cache(profile: LlmProfile, fmt: str = "bf16") -> KvCache:
    return kv_cache(profile, KV_FORMATS[fmt])


def layers(*attention: Attention, recurrent: tuple[Recurrent, ...] = ()) -> LlmProfile:
    return replace(shape(None, parts=(), recurrent=recurrent), attention=attention)


GEMMA_3_27B = layers(full(10, 32, 16, 128), windowed(full(52, 32, 16, 128), 1024))
# 16 full layers of 4 heads of 256; 48 gated DeltaNet layers of 48 x 128 x 128 x 4 + 10,240 x 3 x 2 bytes.
HYBRID_27B = layers(full(16, 24, 4, 256), recurrent=(Recurrent(layers=48, state_bytes=3_207_168),))


def test_grouped_heads_keep_two_vectors_a_head() -> None:
    """2 x 80 layers x 8 heads x 128 x 2 bytes."""
    assert cache(LLAMA_70B).growing_bytes_per_token == 327_680
    assert cache(LLAMA_70B, "fp8").growing_bytes_per_token == 163_840
    assert cache(LLAMA_70B, "q8-0").growing_bytes_per_token == 174_080
    assert cache(LLAMA_70B, "q4-0").growing_bytes_per_token == 92_160


def test_one_head_and_all_heads() -> None:
    assert cache(layers(full(80, 64, 1, 128))).growing_bytes_per_token == 2 * 80 * 128 * 2
    assert cache(layers(full(80, 64, 64, 128))).growing_bytes_per_token == 2 * 80 * 64 * 128 * 2


def test_a_latent_is_one_for_all_heads() -> None:
    """61 x 576 x 2; keys and values of 128 heads would be 71 times as much."""
    kv = cache(DEEPSEEK_V3)
    assert kv.growing_bytes_per_token == 70_272
    assert kv.index_bytes_per_token == 0
    assert kv.sequence_bytes(4096) == 287_834_112


def test_an_index_stands_apart_from_the_latents() -> None:
    kv = cache(layers(replace(MLA, layers=78, indexer_layers=21, read_tokens=2048)))
    assert (kv.growing_bytes_per_token, kv.index_bytes_per_token) == (89_856, 21 * 132)
    assert kv.sequence_bytes(100_000) == 100_000 * (89_856 + 2_772)
    assert kv.step_bytes(100_000) == 2048 * 89_856 + 100_000 * 2_772


def test_an_indexer_that_does_not_say_how_much_it_chooses_reads_only_its_index() -> None:
    kv = cache(layers(replace(MLA, indexer_layers=61)))
    assert kv.step_bytes(1000) == 1000 * 61 * 132


def test_keys_and_values_of_unequal_width() -> None:
    """Nine full layers of 4 heads and 39 of a window with 8, keys of 192 and values of 128."""
    wide = replace(full(9, 64, 4, 192), head_dim_v=128)
    kv = cache(layers(wide, windowed(replace(wide, layers=39, kv_heads=8), 128)))
    assert (kv.growing_bytes_per_token, kv.windowed_bytes_per_token) == (23_040, 199_680)
    assert kv.sequence_bytes(4096) == 119_930_880


def test_windows_stop_at_their_length() -> None:
    kv = cache(GEMMA_3_27B)
    assert (kv.growing_bytes_per_token, kv.windowed_bytes_per_token) == (81_920, 425_984)
    assert kv.sequence_bytes(1000) == 1000 * (81_920 + 425_984)
    assert kv.sequence_bytes(131_072) == 11_173_625_856


def test_an_engine_reserves_a_window_and_a_pass() -> None:
    """81,920 x 262,144 + 819,200 x (1,023 + 8,192) bytes is 108.12 KiB a token of the longest length."""
    kv = cache(layers(full(10, 32, 4, 512), windowed(full(50, 32, 16, 256), 1024)))
    assert (kv.growing_bytes_per_token, kv.windowed_bytes_per_token) == (81_920, 819_200)
    assert kv.reserved_bytes(262_144, max_num_batched_tokens=8192) == 29_023_764_480
    assert kv.reserved_bytes(262_144, max_num_batched_tokens=0) == kv.sequence_bytes(262_144)
    assert kv.reserved_bytes(2000, max_num_batched_tokens=8192) == 2000 * (81_920 + 819_200)


def test_chunks_reserve_the_whole_chunk_beside_a_pass() -> None:
    chunked = replace(windowed(full(36, 40, 8, 128), 8192), kind="chunked")
    kv = cache(layers(chunked))
    assert kv.reserved_bytes(100_000, max_num_batched_tokens=2048) == (8192 + 2048) * 147_456


def test_fixed_state_does_not_grow() -> None:
    kv = cache(HYBRID_27B)
    assert (kv.growing_bytes_per_token, kv.fixed_bytes) == (65_536, 153_944_064)
    assert kv.sequence_bytes(4096) == 422_379_520
    assert kv.sequence_bytes(0) == 153_944_064
    # A step reads the state and writes it.
    assert cache(HYBRID_27B, "fp8").step_bytes(4096) == 32_768 * 4096 + 2 * 153_944_064


def test_compressed_entries_and_the_window_beside_them() -> None:
    """41 layers of 180 or 6.75 bytes a token are 3,915; the last 128 tokens stay whole, 584 bytes each."""
    quarter = Attention(
        kind="compressed",
        layers=21,
        q_heads=64,
        kv_heads=1,
        head_dim_k=512,
        head_dim_v=0,
        window=128,
        indexer_layers=21,
        compress_ratio=4,
        read_tokens=2048,
    )
    rest = replace(quarter, layers=20, indexer_layers=0, compress_ratio=128, read_tokens=None)
    kv = cache(layers(quarter, rest))
    assert kv.growing_bytes_per_token + kv.index_bytes_per_token == 3_915
    assert kv.sequence_bytes(4096) == 3_915 * 4096 + 41 * 584 * 128
    assert kv.step_bytes(8192) == (
        2048 * 21 * 147 + 8192 * 21 * 33 + 8192 * Decimal("6.75") * 20 + 41 * 584 * 128
    )
    assert kv.sequence_bytes(4096, spread=Spread(gpus=8)) == kv.sequence_bytes(4096)
    assert "not checked" in kv.notes[0]


def test_heads_are_dealt_out_and_then_repeated() -> None:
    kv = cache(LLAMA_70B)
    shares = [kv.sequence_bytes(1000, spread=Spread(gpus=gpus)) / 327_680_000 for gpus in (1, 2, 8, 16)]
    assert shares == [1, Decimal("0.5"), Decimal("0.125"), Decimal("0.125")]
    state = cache(HYBRID_27B)
    each = [state.sequence_bytes(1000, spread=Spread(gpus=gpus)) for gpus in (1, 4, 8)]
    assert each == [65_536_000 + 153_944_064, 16_384_000 + 38_486_016, 16_384_000 + 19_243_008]
    on_four = Spread(gpus=4)
    assert state.step_bytes(1000, spread=on_four) == 16_384_000 + 2 * 38_486_016
    reserved = state.reserved_bytes(1000, max_num_batched_tokens=1, spread=on_four)
    assert reserved == 16_384_000 + 38_486_016
    latent = cache(DEEPSEEK_V3)
    assert latent.sequence_bytes(1000, spread=Spread(gpus=8)) == 70_272_000
    assert latent.sequence_bytes(1000, spread=Spread(gpus=8, attention="data")) == 8_784_000


def test_a_pool_in_tokens_is_derived_from_concurrency() -> None:
    """11.59 GiB a GPU, 8,192 bytes a token and 38,486,016 fixed: 172.7 requests of 4,096, 2.87 of 524,288."""
    pool, request = Decimal("11.59") * GIB, Decimal(8192 * 4096 + 38_486_016)
    assert round(concurrency(pool, request_bytes=request), 4) == Decimal("172.7456")
    assert derived_pool_tokens(pool, request_bytes=request, max_model_len=4096) == 707_565


@pytest.mark.parametrize(("free", "tokens"), [(0, 0), (153_944_063, 0), (153_944_064 + 65_536 * 7, 7)])
def test_the_context_that_fits_leaves_room_for_fixed_state(free: int, tokens: int) -> None:
    assert longest_context(cache(HYBRID_27B), Decimal(free)) == tokens


def test_windows_full_or_not_the_longest_context_just_fits() -> None:
    kv = cache(GEMMA_3_27B)
    assert longest_context(kv, Decimal(500 * 507_904 + 1)) == 500
    assert longest_context(kv, Decimal(425_984 * 1024 + 81_920 * 5000)) == 5000


def test_state_alone_has_no_longest_context() -> None:
    only_state = cache(layers(recurrent=(Recurrent(layers=2, state_bytes=100),)))
    assert longest_context(only_state, Decimal(200)) is None
    assert longest_context(only_state, Decimal(199)) == 0
