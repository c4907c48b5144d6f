"""What follows from a model's parts: the text's parameters, and those one token reads."""

from app.domain.llms.profile import LlmProfile, Part


def profile(*parts: Part, experts: int = 0, experts_per_token: int = 0) -> LlmProfile:
    return LlmProfile(
        family="made",
        hidden=8,
        vocab=16,
        layers=1,
        attention=(),
        recurrent=(),
        parts=parts,
        experts=experts,
        experts_per_token=experts_per_token,
        moe_layers=1 if experts else 0,
        max_context=None,
        native_dtype="bfloat16",
        quant_method="",
        tied_head=False,
    )


def test_the_text_is_everything_but_what_decoding_never_reads() -> None:
    made = profile(
        Part(name="embedding", params=1000, read="lookup"),
        Part(name="attention", params=300, read="always"),
        Part(name="head", params=1000, read="always"),
        Part(name="vision tower", params=70, read="not_decoding"),
    )
    assert (made.params_text, made.params_always, made.params_routed) == (2300, 1300, 0)
    assert made.params_active == 1300


def test_a_token_reads_its_share_of_the_routed_experts() -> None:
    made = profile(
        Part(name="attention", params=300, read="always"),
        Part(name="experts", params=6400, read="routed"),
        experts=64,
        experts_per_token=4,
    )
    assert (made.params_text, made.params_routed, made.params_active) == (6700, 6400, 300 + 400)
