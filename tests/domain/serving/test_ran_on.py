"""What somebody types of a benchmark's setup, and the model a file names: taken, or told what is near."""

import pytest

from app.domain.llms.facts import load_llms
from app.domain.query_error import QueryError
from app.domain.serving.bench_model import known_model, near_models, unknown_model
from app.domain.serving.ran_on import On, checked, weights_id


@pytest.mark.parametrize(
    ("text", "format_id"),
    [
        ("q4_k", "gguf-q4-k"),
        ("Q4_K", "gguf-q4-k"),
        ("gguf-q4-k", "gguf-q4-k"),
        ("IQ4_XS", "gguf-iq4-xs"),
        ("q8_0", "gguf-q8-0"),
        ("fp16", "bf16"),
        ("BF16", "bf16"),
        ("fp8_e4m3", "fp8"),
        ("mxfp4", "mxfp4"),
        (" nvfp4 ", "nvfp4"),
    ],
)
def test_common_spellings_of_a_format_of_weights(text: str, format_id: str) -> None:
    assert weights_id(text) == format_id


@pytest.mark.parametrize(("text", "main"), [("q4_k_m", "gguf-q4-k"), ("UD-Q5_K_XL", "gguf-q5-k")])
def test_a_mix_is_no_format_and_its_main_type_is_named(text: str, main: str) -> None:
    with pytest.raises(QueryError, match=f"weights: '{text}' is not right: it is a mix of types.*{main}"):
        weights_id(text)


@pytest.mark.parametrize(
    ("on", "said"),
    [
        (On(card="h100", weights=""), "card: 'h100' is not right: did you mean h100-nvl or h100-sxm"),
        (On(card="h100-sxm", weights="fp9"), "weights: 'fp9' is not right: did you mean fp8"),
        (On(card="h100-sxm", weights="bf16", kv="fp7"), "kv: 'fp7' is not right: did you mean fp8"),
        (On(card="zzz", weights=""), "card: 'zzz' is not right: the nearest are "),
    ],
)
def test_what_is_wrong_is_named_with_what_is_near(on: On, said: str) -> None:
    with pytest.raises(QueryError) as refused:
        checked(on)
    assert str(refused.value).startswith(said)
    assert "more" not in str(refused.value)


def test_what_is_left_empty_stays_so() -> None:
    assert checked(On(card="", weights="")) == On(card="", weights="")
    assert checked(On(card="H100-SXM", weights="FP8", kv="FP8")) == On(
        card="h100-sxm", weights="fp8", kv="fp8"
    )


def test_a_model_that_is_near_is_offered_and_never_assumed() -> None:
    llms = load_llms()
    assert known_model("qwen/qwen3-8b", llms) == "Qwen/Qwen3-8B"
    assert known_model("meta-llama/Llama-3.1-8B-Instruct", llms) == ""
    for name in (
        "meta-llama/Llama-3.1-8B-Instruct",
        "Meta-Llama-3.1-8B",
        "/models/Llama-3.1-8B/",
        "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8",
    ):
        assert near_models(name, llms) == ["meta-llama/Meta-Llama-3.1-8B"]
    assert near_models("google/gemma-3-27b", llms) == ["google/gemma-3-27b-it"]
    assert near_models("somebody/Llama-3.3-70B-Instruct", llms) == []
    assert near_models("/", llms) == []
    assert unknown_model("meta-llama/Llama-3.1-8B-Instruct", llms) == (
        "the file names meta-llama/Llama-3.1-8B-Instruct, which is not among the models here; if it has the "
        "shape of meta-llama/Meta-Llama-3.1-8B, give that as the model"
    )
    assert unknown_model("mine", llms) == "the file names mine, which is not among the models here"
