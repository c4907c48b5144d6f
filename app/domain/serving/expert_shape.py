"""What a model's expert tensors measure in a GGUF, from its config or its row in the table of models.

Which layers have experts, how gate and up are written and whether layers that predict further tokens are in
the file was read in llama.cpp's converter, a file of `conversion/` for each group of families: qwen.py at
commit 03173d5e, qwen3vl.py at 06e514f6, deepseek.py at 01a723dc, glm.py, minimax.py and kimi_linear.py at
051139f5, nemotron.py at 003ebfc1, gpt_oss.py at 2984e6e8, mistral.py at 32e9e044, llama.py at 0274f0fc,
gemma.py at 061b8c5f, base.py at 00bd27a6; and for Llama 4 in what loads it, `src/models/llama4.cpp` at
8a5c4e03. A family whose layout these do not settle is refused. Shared experts are tensors of their own,
`ffn_*_shexp`, and never in a pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from app.domain.llms.configs import read_config
from app.domain.llms.configs.reading import Config, text_config
from app.domain.serving.expert_mix import ExpertShape
from app.domain.serving.reading import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.llms.profile import LlmProfile
    from app.domain.serving.expert_mix import Gate

Dense = Literal["none", "leading", "between", "pattern"]
Mtp = Literal["left out", "written", "written with tables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """How llama.cpp writes a family: its name there, which layers are dense, gate and up, further layers.

    `leading`: all dense layers come first; `between`: every so many layers have experts; `pattern`: only the
    config says. Layers that predict further tokens are left out of the file, or written after the others,
    each like a layer with experts; `tables` says that the checkpoint holds embedding and head for each.
    """

    architecture: str
    dense: Dense = "none"
    gate: Gate = "split"
    mtp: Mtp = "left out"


_LAYOUTS: Final[Mapping[str, _Layout]] = MappingProxyType(
    {
        "Qwen3": _Layout(architecture="qwen3moe"),
        "Qwen3-VL": _Layout(architecture="qwen3vlmoe"),
        "Qwen3-Next": _Layout(architecture="qwen3next"),
        "Qwen3.5": _Layout(architecture="qwen35moe", mtp="written"),
        "DeepSeek V3": _Layout(architecture="deepseek2", dense="leading"),
        "Kimi K2": _Layout(architecture="deepseek2", dense="leading"),
        "Kimi K2.5": _Layout(architecture="deepseek2", dense="leading"),
        "Kimi Linear": _Layout(architecture="kimi-linear", dense="leading"),
        "Mistral Large 3": _Layout(architecture="deepseek2", dense="leading"),
        "GLM-4.5": _Layout(architecture="glm4moe", dense="leading", mtp="written with tables"),
        "GLM-5": _Layout(architecture="glm-dsa", dense="leading", mtp="written"),
        "gpt-oss": _Layout(architecture="gpt-oss"),
        "Mixtral": _Layout(architecture="llama"),
        "Gemma 4": _Layout(architecture="gemma4", gate="fused"),
        "MiniMax M2": _Layout(architecture="minimax-m2"),
        "MiniMax M3": _Layout(architecture="minimax-m3", dense="leading"),
        "Llama 4": _Layout(architecture="llama4", dense="between"),
        "Nemotron-H": _Layout(architecture="nemotron_h_moe", dense="pattern", gate="none", mtp="written"),
    }
)
SETTLED_FAMILIES: Final = tuple(_LAYOUTS)
"""The families whose layout in a GGUF is known, as `LlmProfile.family` names them."""

_BIASED: Final = "gpt-oss"
_MOST_OFF: Final = 20
"""A layer that predicts further tokens may differ from a layer of the model by a twentieth."""

_KEPT: Final[Mapping[str, str]] = MappingProxyType(
    {"mxfp4": "MXFP4", "nvfp4": "NVFP4", "mixed_precision": "mixed precision"}
)
_GIVE: Final = "give a GGUF"


def shape_of_profile(profile: LlmProfile) -> ExpertShape:
    """Return the shape of a model's experts from what its row in the table of models says.

    Raises:
        InputError: of the field `config`: it has no experts, its family's layout is not settled, or the row
            does not say which layers have experts.
    """
    layout = _layout(profile)
    if layout.dense == "pattern":
        raise _refused(profile, f"its row does not say which layers have experts; {_GIVE} or its config.json")
    return _shape(profile, layout, layers=_layers(profile, layout), further=_further(profile, layout))


def shape_of_config(
    document: Mapping[str, Any], *, quantization: Mapping[str, Any] | None = None
) -> ExpertShape:
    """Return the shape of the experts of the model that a config.json describes; see `read_config`.

    Raises:
        UnknownFamilyError: no reader knows the architecture.
        ConfigError: a key is missing or cannot be used.
        InputError: of the field `config`: it has no experts, or its layout is not settled.
    """
    profile = read_config(document, quantization=quantization)
    layout, text = _layout(profile), text_config(Config(document))
    if layout.dense == "pattern":
        return _patterned(profile, layout, Config(document))
    layers = _layers(profile, layout)
    if layout.dense == "between":
        layers = _between(profile, text)
    _check_layers(profile, text)
    return _shape(profile, layout, layers=layers, further=_further(profile, layout))


def _refused(profile: LlmProfile, why: str) -> InputError:
    return InputError("config", profile.family, why)


def _layout(profile: LlmProfile) -> _Layout:
    if not profile.experts:
        raise _refused(
            profile, "it has no experts: the MoE cache holds experts, so a dense model has no use for it"
        )
    if profile.family not in _LAYOUTS:
        raise _refused(
            profile,
            f"how llama.cpp lays out this family's experts is not settled here; {_GIVE}. Settled are"
            f" {', '.join(SETTLED_FAMILIES)}",
        )
    return _LAYOUTS[profile.family]


def _layers(profile: LlmProfile, layout: _Layout) -> range:
    """Return the numbers of the layers with experts, as llama.cpp finds them from the counts."""
    layers, moe = profile.layers, profile.moe_layers
    if not 1 <= moe <= layers:
        raise _refused(profile, f"{moe} of {layers} layers have experts, which is no layout; {_GIVE}")
    if moe == layers or layout.dense == "leading":
        return range(layers - moe, layers)
    step = layers // moe
    if layout.dense == "between" and len(range(step - 1, layers, step)) == moe:
        return range(step - 1, layers, step)
    raise _refused(
        profile,
        f"{moe} of {layers} layers have experts, and llama.cpp reads this family with experts in"
        f" {'every so many of them' if layout.dense == 'between' else 'all of them'}; {_GIVE}",
    )


def _between(profile: LlmProfile, text: Config) -> range:
    step = text.whole("interleave_moe_layer_step")
    layers = range(step - 1, profile.layers, step)
    if text.has("moe_layers") and text.numbers("moe_layers") != tuple(layers):
        raise _refused(
            profile, f"moe_layers and interleave_moe_layer_step {step} name different layers; {_GIVE}"
        )
    return layers


def _check_layers(profile: LlmProfile, text: Config) -> None:
    """Refuse layers with experts in places where llama.cpp does not look for them."""
    freq = text.values.get("moe_layer_freq")
    if isinstance(freq, list):
        marked = [number > 0 for number in text.numbers("moe_layer_freq", length=profile.layers)]
        is_leading = marked == sorted(marked)
    else:
        is_leading = text.whole_or(1, "moe_layer_freq") == 1
    if not is_leading:
        raise _refused(
            profile,
            f"moe_layer_freq puts dense layers between those with experts; llama.cpp does not; {_GIVE}",
        )


def _further(profile: LlmProfile, layout: _Layout) -> int:
    """Return how many layers that predict further tokens the file has, from their parameters.

    Each has what a layer of the model has, and joins two hidden states by a projection.
    """
    if layout.mtp == "left out":
        return 0
    params = {part.name: part.params for part in profile.parts}
    held = params.get("MTP layers", 0)
    attention = sum(group.layers for group in profile.attention)
    each = sum(params.get(name, 0) for name in ("routed experts", "shared experts", "router"))
    each = each // profile.moe_layers + 2 * profile.hidden**2
    each += sum(params.get(name, 0) for name in ("attention", "indexer")) // max(1, attention)
    if layout.mtp == "written with tables":
        each += 2 * profile.vocab * profile.hidden
    count = (2 * held + each) // (2 * each)
    if abs(held - count * each) * _MOST_OFF > each:
        raise _refused(profile, f"its layers that predict further tokens are not like the others; {_GIVE}")
    return count


def _shape(profile: LlmProfile, layout: _Layout, *, layers: Iterable[int], further: int) -> ExpertShape:
    """Return the shape of gated experts, whose width follows from their parameters."""
    each, left = divmod(profile.params_routed, profile.moe_layers * profile.experts)
    per_column = 3 * profile.hidden
    if profile.family == _BIASED:
        each, per_column = each - profile.hidden, per_column + 2
    width, odd = divmod(each, per_column)
    if left or odd:
        raise _refused(profile, f"its experts are not three matrices of one width; {_GIVE}")
    return _made(profile, layout, layers=layers, further=further, columns=profile.hidden, width=width)


def _patterned(profile: LlmProfile, layout: _Layout, document: Config) -> ExpertShape:
    """Return the shape of a Nemotron-H, whose blocks are numbered in its pattern; it has no gate."""
    further = document.whole_or(0, "num_nextn_predict_layers")
    if further > 1:
        raise _refused(profile, f"llama.cpp converts one layer that predicts further tokens; {_GIVE}")
    letters = document.text("hybrid_override_pattern")
    blocks = letters or document.words("layers_block_type", ("mamba", "attention", "mlp", "moe"))
    return _made(
        profile,
        layout,
        layers=(number for number, block in enumerate(blocks) if block in {"E", "moe"}),
        further=further,
        columns=document.whole_or(0, "moe_latent_size") or profile.hidden,
        width=document.whole("moe_intermediate_size"),
    )


def _made(
    profile: LlmProfile,
    layout: _Layout,
    *,
    layers: Iterable[int],
    further: int,
    columns: int,
    width: int,
) -> ExpertShape:
    """Return the shape with the layers that predict further tokens after the others."""
    last = tuple(range(profile.layers, profile.layers + further))
    words = profile.quant_method.casefold()
    kept = next((kept for word, kept in _KEPT.items() if word in words), "")
    return ExpertShape(
        architecture=layout.architecture,
        columns=columns,
        expert_columns=width,
        per_layer=profile.experts,
        used=profile.experts_per_token,
        layers=(*layers, *last),
        blocks=profile.layers + further,
        gate="split" if layout.gate == "fused" and kept == "NVFP4" else layout.gate,
        mtp_layers=last,
        kept=kept,
        notes=_notes(profile, layout, last),
    )


def _notes(profile: LlmProfile, layout: _Layout, last: tuple[int, ...]) -> tuple[str, ...]:
    has_further = any(part.name == "MTP layers" for part in profile.parts)
    return further_notes(last, is_left_out=layout.mtp == "left out" and has_further)


def further_notes(last: tuple[int, ...], *, is_left_out: bool) -> tuple[str, ...]:
    """Say what becomes of the layers that predict further tokens: those of the file, or left out of it."""
    if last:
        named = f"layer {last[0]}" if len(last) == 1 else f"layers {last[0]} to {last[-1]}"
        said = (
            f"llama.cpp's converter writes {named} to predict further tokens, counted here; in a file without"
            " (--no-mtp) a mix may give other layers more bits."
        )
        return (said,)
    if is_left_out:
        return (
            "llama.cpp's converter leaves out the layers that predict further tokens, as does this plan.",
        )
    return ()
