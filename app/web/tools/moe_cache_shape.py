"""The experts that the form of the tool on expert caches names: a model's, a config's, or typed figures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from app.domain.llms.configs.document import parse_document
from app.domain.llms.configs.errors import ConfigError, UnknownFamilyError
from app.domain.query import QueryError
from app.domain.serving.expert_mix import MOST, MOST_LAYERS, ExpertShape
from app.domain.serving.expert_shape import further_notes, shape_of_config, shape_of_profile
from app.domain.serving.reading import InputError, shown
from app.web.tools.llm_id import llm_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.llms.profile import LlmProfile
    from app.domain.serving.expert_mix import Gate
    from app.web.tools.fields import Typed
    from app.web.tools.tool import Llms

FIGURES: Final = (
    "columns",
    "expert_columns",
    "per_layer",
    "used",
    "layers",
    "blocks",
    "gate",
    "mtp_layers",
    "kept",
    "architecture",
)
"""The fields of the figures of a shape, each named as in `ExpertShape`."""

LEFT_OUT: Final = "left out"
UNNAMED: Final = "not stated"
"""The architecture of typed figures that name none."""

_NEEDED: Final = ("columns", "expert_columns", "per_layer", "used", "layers")
_INITIAL: Final = {"gate": "split"}
_GATES: Final[Mapping[str, Gate]] = {"split": "split", "fused": "fused", "none": "none"}
_NAME: Final = re.compile(r"[\w .-]{1,60}", re.ASCII)
_RUN: Final = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")
_LONGEST_LAYERS: Final = 30_000


def shape_of(typed: Typed, llms: Llms) -> ExpertShape | None:
    """Return the shape of what is typed, None for nothing; raises QueryError, of the second of two ways."""
    llm, config = typed.text("llm").strip(), typed.text("config").strip()
    figures = [name for name in FIGURES if typed.text(name) != _INITIAL.get(name, "")]
    if config and llm:
        raise QueryError("config", shown(config), "give it or a model, not both")
    if figures and (llm or config):
        other = "a config" if config else "a model"
        raise QueryError(figures[0], shown(typed.text(figures[0])), f"give figures or {other}, not both")
    if llm:
        return _shape_of_llm(typed, llms)
    if config:
        return shape_of_pasted(config)
    return _shape_of_figures(typed) if figures else None


def _shape_of_llm(typed: Typed, llms: Llms) -> ExpertShape:
    try:
        llm = llm_id(typed, llms)
    except QueryError as error:
        expected = f"{error.expected} Of any other model paste its config.json"
        raise QueryError("llm", shown(error.value), expected) from error
    try:
        return shape_of_profile(llms[llm].profile)
    except InputError as error:
        raise QueryError("llm", llm, error.expected) from error


def shape_of_pasted(config: str) -> ExpertShape:
    """Return the shape of a pasted config.json; raises QueryError of the field `config`, with the key."""
    try:
        return shape_of_config(parse_document(config, name="config"))
    except (ConfigError, UnknownFamilyError) as error:
        field = "config" if error.field in {"config", "config.json"} else f"config: {error.field}"
        raise QueryError(field, shown(error.value), error.expected) from error


def _shape_of_figures(typed: Typed) -> ExpertShape:
    for name in _NEEDED:
        if not typed.text(name).strip():
            raise QueryError(name, "empty", "a shape has sizes, experts and layers; give all five")
    columns, expert_columns, per_layer = (
        typed.whole(name, low=1, high=MOST) or 1 for name in ("columns", "expert_columns", "per_layer")
    )
    used = typed.whole("used", low=1, high=per_layer) or 1
    layers = read_layers(typed.text("layers"))
    blocks = typed.whole("blocks", low=layers[-1] + 1, high=MOST) or layers[-1] + 1
    is_left_out = typed.text("mtp_layers").strip().casefold() == LEFT_OUT
    further = 0 if is_left_out else typed.whole("mtp_layers", low=0, high=len(layers)) or 0
    last = layers[len(layers) - further :]
    return ExpertShape(
        architecture=_architecture(typed),
        columns=columns,
        expert_columns=expert_columns,
        per_layer=per_layer,
        used=used,
        layers=layers,
        blocks=blocks,
        gate=_GATES[typed.text("gate")],
        mtp_layers=last,
        kept=typed.text("kept"),
        notes=further_notes(last, is_left_out=is_left_out),
    )


def _architecture(typed: Typed) -> str:
    text = typed.text("architecture").strip()
    if text and not _NAME.fullmatch(text):
        raise QueryError("architecture", shown(text), "give a name as qwen3moe")
    return text or UNNAMED


def read_layers(text: str) -> tuple[int, ...]:
    """Return the numbers of layers: `48` is 0 to 47, `3-60` and `1,3,5` say which.

    Raises:
        QueryError: of the field `layers`: they are not in order, too many, or no numbers.
    """
    said = text.replace(" ", "")
    right = f"give how many, as 48, or which, as 3-60 or 1,3,5, in order and at most {MOST_LAYERS:,}"
    wrong = QueryError("layers", shown(text), right)
    if len(said) > _LONGEST_LAYERS:
        raise wrong
    if said.isascii() and said.isdigit():
        if len(said) > len(str(MOST_LAYERS)) or not 1 <= int(said) <= MOST_LAYERS:
            raise wrong
        return tuple(range(int(said)))
    found: list[int] = []
    for part in said.split(","):
        run = _RUN.fullmatch(part)
        first, last = (int(run[1]), int(run[2] or run[1])) if run else (0, -1)
        is_next = first > found[-1] if found else True
        if not is_next or not 0 <= last - first < MOST_LAYERS - len(found) or last >= MOST:
            raise wrong
        found += range(first, last + 1)
    return tuple(found)


def spelled_layers(layers: Iterable[int]) -> list[str]:
    """Return the runs of numbers in order, as `3-60` and `7`."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][1] + 1:
            runs[-1][1] = layer
        else:
            runs.append([layer, layer])
    return [f"{first}" if first == last else f"{first}-{last}" for first, last in runs]


def figures_of(shape: ExpertShape) -> Mapping[str, str]:
    """Return the texts of the fields that type a shape."""
    layers, last = ",".join(spelled_layers(shape.layers)), shape.layers[-1]
    if shape.layers == tuple(range(len(shape.layers))):
        layers = str(len(shape.layers))
    elif len(shape.layers) == 1:
        layers = f"{last}-{last}"
    left_out = LEFT_OUT if shape.notes == further_notes((), is_left_out=True) else ""
    return {
        "columns": str(shape.columns),
        "expert_columns": str(shape.expert_columns),
        "per_layer": str(shape.per_layer),
        "used": str(shape.used),
        "layers": layers,
        "blocks": "" if shape.blocks == last + 1 else str(shape.blocks),
        "gate": shape.gate,
        "mtp_layers": str(len(shape.mtp_layers)) if shape.mtp_layers else left_out,
        "kept": shape.kept,
        "architecture": shape.architecture,
    }


def mix_for(profile: LlmProfile) -> str | None:
    """Return the mix to begin with for a known model: empty for the form's own, None where there is no plan.

    Experts that a converter takes over from the checkpoint keep their type.
    """
    try:
        shape = shape_of_profile(profile)
    except InputError:
        return None  # the reason is told by the tool itself, to those who ask it about this model
    if not shape.kept:
        return ""
    if " " in shape.kept:
        return None
    return ";".join(f"{kind}={shape.kept.casefold()}" for kind in shape.kinds)
