"""Configs of tiny models against the tensors their files would hold, listed one by one."""

from typing import Any

from app.domain.llms.configs import read_config
from app.domain.llms.profile import Attention, LlmProfile, Recurrent
from tests.domain.llms.tiny import (
    DEEPSEEK_V4,
    DELTA_TEXT,
    EXPERT,
    EXPERTS,
    GEMMA4_TEXT,
    GPT_OSS,
    LATENT,
    LLAMA4_TEXT,
    MAMBA,
    MIMO_V2,
    MLA,
    MLP,
    NORMS,
    PLAIN,
    QKVO,
    TABLE,
    elements,
    of,
)


def parts(profile: LlmProfile) -> dict[str, int]:
    return {part.name: part.params for part in profile.parts}


def in_all(profile: LlmProfile) -> int:
    return sum(part.params for part in profile.parts)


def full(layers: int, *, q_heads: int = 4, kv_heads: int = 2, head_dim: int = 6) -> Attention:
    return Attention(
        kind="full",
        layers=layers,
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim_k=head_dim,
        head_dim_v=head_dim,
    )


def window(layers: int, *, tokens: int = 16, kv_heads: int = 2, head_dim: int = 6) -> Attention:
    return Attention(
        kind="window",
        layers=layers,
        q_heads=4,
        kv_heads=kv_heads,
        head_dim_k=head_dim,
        head_dim_v=head_dim,
        window=tokens,
    )


def test_a_dense_model_with_its_own_head() -> None:
    profile = read_config(of("LlamaForCausalLM", "llama"))
    assert parts(profile) == {
        "embedding": 160,
        "attention": 3 * elements(QKVO),
        "dense MLP": 3 * elements(MLP),
        "norms": 3 * 16 + 8,
        "head": 160,
    }
    assert profile.attention == (full(3),)
    assert (profile.hidden, profile.vocab, profile.layers, profile.max_context) == (8, 20, 3, 512)
    assert (profile.native_dtype, profile.quant_method, profile.tied_head) == ("bfloat16", "", False)


def test_a_tied_head_counts_once_and_is_read_for_each_token() -> None:
    profile = read_config(of("LlamaForCausalLM", "llama", tie_word_embeddings=True))
    assert profile.tied_head
    assert [(part.name, part.params) for part in profile.parts if part.read == "lookup"] == []
    assert profile.params_active == profile.params_text == elements(TABLE, 3 * (QKVO + MLP + NORMS), [(8,)])


def test_heads_without_a_size_share_the_hidden_one() -> None:
    document = of("LlamaForCausalLM", "llama")
    del document["head_dim"]
    assert read_config(document).attention == (full(3, head_dim=2),)


def test_biases_of_three_kinds() -> None:
    without = in_all(read_config(of("LlamaForCausalLM", "llama")))
    llama = in_all(read_config(of("LlamaForCausalLM", "llama", attention_bias=True)))
    assert llama - without == 3 * (24 + 12 + 12 + 8)
    qwen2 = in_all(read_config(of("Qwen2ForCausalLM", "qwen2")))
    assert qwen2 - without == 3 * (24 + 12 + 12)


def test_norms_of_queries_and_keys_by_head_and_by_layer() -> None:
    without = in_all(read_config(of("LlamaForCausalLM", "llama")))
    assert in_all(read_config(of("Qwen3ForCausalLM", "qwen3"))) - without == 3 * (6 + 6)
    assert in_all(read_config(of("Olmo3ForCausalLM", "olmo3"))) - without == 3 * (24 + 12)
    glm = (read_config(of("Glm4MoeForCausalLM", "glm4_moe", use_qk_norm=on)) for on in (False, True))
    assert [in_all(profile) - without for profile in glm] == [0, 3 * (6 + 6)]


def test_a_window_holds_in_all_layers_or_in_those_named() -> None:
    mistral = read_config(of("MistralForCausalLM", "mistral", sliding_window=16))
    assert mistral.attention == (window(3),)
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    olmo = read_config(of("Olmo3ForCausalLM", "olmo3", sliding_window=16, layer_types=kinds))
    assert olmo.attention == (full(1), window(2))


def test_the_window_of_a_qwen_holds_only_when_it_is_switched_on() -> None:
    keys = {"sliding_window": 16, "max_window_layers": 1}
    off = read_config(of("Qwen2ForCausalLM", "qwen2", use_sliding_window=False, **keys))
    assert off.attention == (full(3),)
    switched = read_config(of("Qwen2ForCausalLM", "qwen2", use_sliding_window=True, **keys))
    assert switched.attention == (full(1), window(2))


def test_experts_are_routed_and_a_token_reads_its_share() -> None:
    profile = read_config(of("Qwen3MoeForCausalLM", "qwen3_moe", mlp_only_layers=[0], **EXPERTS))
    assert (profile.experts, profile.experts_per_token, profile.moe_layers) == (5, 2, 2)
    assert profile.params_routed == 2 * 5 * elements(EXPERT)
    assert parts(profile)["router"] == 2 * 5 * 8
    assert parts(profile)["dense MLP"] == elements(MLP)
    always = 3 * elements(QKVO, [(6,), (6,)]) + 2 * 40 + elements(MLP) + 56 + 160
    assert profile.params_active == always + 2 * 2 * elements(EXPERT)


def test_experts_by_the_other_names() -> None:
    keys = {"num_local_experts": 5, "experts_per_token": 2, "intermediate_size": 7}
    mixtral = read_config(of("MixtralForCausalLM", "mixtral", **keys))
    assert (mixtral.experts, mixtral.experts_per_token, mixtral.moe_layers) == (5, 2, 3)
    assert mixtral.params_routed == 3 * 5 * elements(EXPERT)
    assert "dense MLP" not in parts(mixtral)


def test_latent_attention_keeps_one_latent_however_many_heads_the_config_names() -> None:
    profile = read_config(LATENT)
    assert profile.attention == (
        Attention(
            kind="mla",
            layers=3,
            q_heads=4,
            kv_heads=1,
            head_dim_k=5,
            head_dim_v=4,
            kv_lora_rank=9,
            rope_head_dim=2,
        ),
    )
    moe = elements(6 * EXPERT, [(5, 8), (5,)])
    text = elements(2 * TABLE, 3 * (MLA + NORMS), [(8,)], MLP) + 2 * moe
    assert profile.params_text == text
    layer = elements(MLA, NORMS, [(8, 16)], 3 * [(8,)], 2 * TABLE) + moe
    assert parts(profile)["MTP layers"] == layer
    assert in_all(profile) == text + layer


def test_queries_without_a_latent_of_their_own() -> None:
    profile = read_config({**LATENT, "q_lora_rank": None})
    assert parts(profile)["attention"] == 3 * elements([(20, 8)], MLA[3:])


def test_an_indexer_may_be_shared_by_layers() -> None:
    keys = {"index_topk": 64, "index_n_heads": 3, "index_head_dim": 6}
    indexer = elements([(18, 5), (6, 8), (6,), (6,), (3, 8)])
    glm = {**LATENT, "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", **keys}
    every = read_config(glm)
    assert parts(every)["indexer"] == 3 * indexer
    assert (every.attention[0].indexer_layers, every.attention[0].read_tokens) == (3, 64)
    one = read_config({**glm, "indexer_types": ["full", "shared", "shared"]})
    assert parts(one)["indexer"] == indexer
    assert one.attention[0].indexer_layers == 1


def test_the_layers_of_all_tokens_in_gemma_3_are_every_sixth() -> None:
    text = {key: value for key, value in PLAIN.items() if key != "tie_word_embeddings"}
    text |= {"num_hidden_layers": 7, "sliding_window": 16, "sliding_window_pattern": 6}
    document = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "text_config": text,
    }
    profile = read_config(document)
    assert profile.attention == (full(1), window(6))
    assert profile.tied_head
    layer = elements(QKVO, [(6,), (6,)], MLP, 2 * NORMS)
    assert profile.params_text == 7 * layer + elements(TABLE, [(8,)])


def gemma4(**keys: Any) -> dict[str, Any]:
    text = {**GEMMA4_TEXT, **keys}
    document = {"architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4"}
    return {**document, "tie_word_embeddings": True, "text_config": text}


def test_gemma_4_has_heads_of_its_own_in_the_layers_of_all_tokens() -> None:
    profile = read_config(gemma4())
    assert profile.attention == (full(1, kv_heads=1, head_dim=9), window(2))
    local = elements(QKVO, [(6,), (6,)])
    without_values = elements([(36, 8), (9, 8), (8, 36), (9,), (9,)])
    assert parts(profile)["attention"] == 2 * local + without_values
    assert parts(profile)["norms"] == 3 * (4 * 8 + 1) + 8


def test_gemma_4_names_its_experts_in_its_own_way() -> None:
    keys = {"enable_moe_block": True, "num_experts": 5, "top_k_experts": 2, "moe_intermediate_size": 7}
    profile = read_config(gemma4(**keys))
    assert (profile.experts, profile.experts_per_token, profile.moe_layers) == (5, 2, 3)
    assert parts(profile)["router"] == 3 * elements([(5, 8), (8,), (5,)])
    assert parts(profile)["norms"] == 3 * (7 * 8 + 1) + 8
    assert parts(profile)["dense MLP"] == 3 * elements(MLP)


def test_keys_wider_than_values_and_other_heads_in_the_window() -> None:
    profile = read_config(of("MiMoV2FlashForCausalLM", "mimo_v2_flash", **MIMO_V2))
    of_all, of_window = profile.attention
    assert (of_all.kind, of_all.layers, of_all.kv_heads) == ("full", 1, 2)
    assert (of_all.head_dim_k, of_all.head_dim_v) == (6, 4)
    assert (of_window.kind, of_window.layers, of_window.kv_heads) == ("window", 2, 4)
    all_tokens = elements([(24, 8), (12, 8), (8, 8), (8, 16)])
    in_window = elements([(24, 8), (24, 8), (16, 8), (8, 16), (4,)])
    assert parts(profile)["attention"] == all_tokens + 2 * in_window
    assert profile.moe_layers == 2


def test_three_of_four_layers_of_llama_4_keep_a_chunk() -> None:
    document = {
        "architectures": ["Llama4ForConditionalGeneration"],
        "model_type": "llama4",
        "text_config": LLAMA4_TEXT,
    }
    profile = read_config(document)
    assert [(one.kind, one.layers, one.window) for one in profile.attention] == [
        ("full", 2, None),
        ("chunked", 6, 32),
    ]
    assert profile.moe_layers == 4
    assert parts(profile)["shared experts"] == 4 * elements(EXPERT)
    assert parts(profile)["dense MLP"] == 4 * elements(MLP)
    assert len(profile.notes) == 1


def test_gpt_oss_has_biases_and_sinks() -> None:
    profile = read_config(of("GptOssForCausalLM", "gpt_oss", **GPT_OSS))
    assert profile.attention == (full(1), window(2))
    assert parts(profile)["attention"] == 3 * elements(QKVO, [(24,), (12,), (12,), (8,), (4,)])
    assert profile.params_routed == 3 * 5 * elements(EXPERT, [(14,), (8,)])
    assert parts(profile)["router"] == 3 * elements([(5, 8), (5,)])
    assert profile.quant_method == "mxfp4"


def test_layers_of_gated_delta_net_keep_a_state() -> None:
    document = {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "text_config": DELTA_TEXT,
    }
    profile = read_config(document)
    assert profile.attention == (full(1),)
    assert profile.recurrent == (Recurrent(layers=3, state_bytes=3 * 4 * 5 * 4 + (16 + 15) * 3 * 2),)
    delta = elements([(8 + 8 + 15 + 15, 8), (6, 8), (31, 4), (3,), (3,), (5,), (8, 15)])
    attention = elements([(48, 8)], QKVO[1:], [(6,), (6,)])
    assert parts(profile)["recurrent layers"] == 3 * delta
    assert parts(profile)["attention"] == attention
    assert parts(profile)["MTP layers"] == attention + elements(MLP, NORMS, [(8, 16)], 3 * [(8,)])


def test_kimi_linear_counts_its_layers_from_two_lists() -> None:
    linear = {"full_attn_layers": [3], "kda_layers": [1, 2], "num_heads": 2, "head_dim": 6}
    keys = {
        "q_lora_rank": None,
        "num_experts": 5,
        "num_experts_per_token": 2,
        "num_shared_experts": 1,
        "model_max_length": 4096,
        "linear_attn_config": {**linear, "short_conv_kernel_size": 4},
    }
    gone = {"max_position_embeddings", "n_routed_experts", "num_experts_per_tok", "n_shared_experts"}
    document = {key: value for key, value in LATENT.items() if key not in gone}
    names = {"architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear"}
    profile = read_config({**document, **keys, **names, "num_nextn_predict_layers": 0})
    assert (profile.attention[0].layers, profile.max_context) == (1, 4096)
    assert profile.recurrent == (Recurrent(layers=2, state_bytes=2 * 6 * 6 * 4 + 3 * 12 * 3 * 2),)
    kda = elements(
        3 * [(12, 8), (12, 4)], [(6, 8), (12, 6), (12,), (2,), (6, 8), (12, 6), (2, 8), (6,), (8, 12)]
    )
    assert parts(profile)["recurrent layers"] == 2 * kda


def test_nemotron_writes_its_blocks_in_letters_or_in_words() -> None:
    letters = of("NemotronHForCausalLM", "nemotron_h", hybrid_override_pattern="ME*-M", **MAMBA)
    words = of("NemotronHForCausalLM", "nemotron_h", **MAMBA)
    del words["num_hidden_layers"]
    words["layers_block_type"] = ["mamba", "moe", "attention", "mlp", "mamba"]
    profile = read_config(letters)
    assert profile == read_config(words)
    assert profile.attention == (full(1),)
    assert profile.recurrent == (Recurrent(layers=2, state_bytes=3 * 4 * 5 * 4 + (12 + 20) * 3 * 2),)
    mamba = elements([(12 + 32 + 3, 8), (32, 4), (32,), (3,), (3,), (3,), (12,), (8, 12)])
    assert parts(profile) == {
        "embedding": 160,
        "attention": elements(QKVO),
        "recurrent layers": 2 * mamba,
        "dense MLP": elements([(10, 8), (8, 10)]),
        "shared experts": elements([(9, 8), (8, 9)]),
        "router": 40,
        "routed experts": 5 * elements([(7, 8), (8, 7)]),
        "norms": 6 * 8,
        "head": 160,
    }


def test_nemotron_experts_may_work_in_a_latent_and_predict_further_tokens() -> None:
    keys = {"hybrid_override_pattern": "ME*-M", "moe_latent_size": 6, "num_nextn_predict_layers": 1}
    document = of("NemotronHForCausalLM", "nemotron_h", mtp_hybrid_override_pattern="*E", **keys, **MAMBA)
    profile = read_config(document)
    expert, shared = elements([(7, 6), (6, 7)]), elements([(9, 8), (8, 9), (6, 8), (8, 6)])
    assert profile.params_routed == 5 * expert
    assert parts(profile)["shared experts"] == shared
    mtp = elements(QKVO, [(8, 16)], 5 * [(8,)]) + 5 * expert + shared + 40
    assert parts(profile)["MTP layers"] == mtp


def test_blocks_of_a_searched_llama_differ_in_heads_and_width() -> None:
    def block(heads_in_group: int | None, factor: float) -> dict[str, Any]:
        attention = {"n_heads_in_group": heads_in_group, "no_op": heads_in_group is None}
        return {"attention": attention, "ffn": {"ffn_mult": factor, "no_op": False}}

    blocks = [block(4, 1.5), block(2, 1.5), block(None, 100 * 0.5)]
    keys = {"num_key_value_heads": None, "intermediate_size": None, "block_configs": blocks}
    profile = read_config(of("DeciLMForCausalLM", "nemotron-nas", **keys))
    assert profile.attention == (full(1, kv_heads=1), full(1, kv_heads=2))
    assert parts(profile)["dense MLP"] == 2 * 3 * 8 * 256 + 3 * 8 * 512
    assert parts(profile)["norms"] == (2 + 3 + 1) * 8


def test_deepseek_v4_keeps_an_entry_for_several_tokens() -> None:
    profile = read_config(of("DeepseekV4ForCausalLM", "deepseek_v4", **DEEPSEEK_V4))
    shapes = [(one.kind, one.layers, one.compress_ratio, one.read_tokens) for one in profile.attention]
    assert shapes == [("window", 1, 0, None), ("compressed", 2, 4, 128), ("compressed", 1, 128, None)]
    base = elements([(5, 8), (5,), (24, 5), (6, 8), (6,), (6, 12), (8, 6), (4,)])
    by_four, by_128 = elements(2 * [(12, 8)], [(4, 12), (6,)]), elements(2 * [(6, 8)], [(128, 6), (6,)])
    assert parts(profile)["attention"] == 4 * base + 2 * by_four + by_128
    assert parts(profile)["indexer"] == 2 * elements([(12, 5), (3, 8)], 2 * [(8, 8)], [(4, 8), (4,)])
    assert parts(profile)["hash routing"] == 20 * 2
    assert parts(profile)["router"] == 4 * 40 + 3 * 5
    mixing = 2 * elements([(8, 16), (8,), (3,)])
    assert parts(profile)["norms"] == 4 * (16 + mixing) + 8 + elements([(2, 16), (2,), (1,)])
