"""The figures of a shape as the tool on expert caches takes them, and a shape typed again."""

import pytest

from app.domain.query import QueryError
from app.domain.serving.expert_mix import ExpertShape
from app.domain.serving.expert_shape import further_notes
from app.web.tools.fields import Typed
from app.web.tools.moe_cache import TOOL
from app.web.tools.moe_cache_shape import figures_of, read_layers, shape_of
from tests.domain.serving.test_expert_mix import QWEN

SHAPES = [
    QWEN,
    ExpertShape(
        architecture="one",
        columns=1,
        expert_columns=1,
        per_layer=1,
        used=1,
        layers=(5,),
        blocks=9,
    ),
    ExpertShape(
        architecture="glm4moe",
        columns=4096,
        expert_columns=1408,
        per_layer=128,
        used=8,
        layers=(*range(1, 46), 46),
        blocks=47,
        gate="fused",
        mtp_layers=(46,),
        kept="mixed precision",
        notes=further_notes((46,), is_left_out=False),
    ),
    ExpertShape(
        architecture="deepseek2",
        columns=7168,
        expert_columns=2048,
        per_layer=256,
        used=8,
        layers=(1, 3, *range(5, 9)),
        blocks=61,
        gate="none",
        kept="NVFP4",
        notes=further_notes((), is_left_out=True),
    ),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.architecture)
def test_the_figures_of_a_shape_type_it_again(shape: ExpertShape) -> None:
    texts = {field.name: field.initial for field in TOOL.fields} | figures_of(shape)
    assert shape_of(Typed(texts=texts), {}) == shape


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("3", (0, 1, 2)),
        ("3-3", (3,)),
        (" 0 - 2, 7 ,9-10", (0, 1, 2, 7, 9, 10)),
        ("4096", tuple(range(4_096))),
        ("0-4095", tuple(range(4_096))),
    ],
)
def test_layers_are_counted_or_named(text: str, layers: tuple[int, ...]) -> None:
    assert read_layers(text) == layers


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "4097", "0-4096", "3-2", "2,2", "5,4", "0-9,9", "0-4094,4095-4096", "1,", "-1", "1.5"),
        *("a", "\u0663", "1-2-3", "4294967296-4294967296", "0-9999999999", "9" * 40_000, "1," * 40_000),
    ],
)
def test_layers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(QueryError, match=r"^layers: ") as caught:
        read_layers(text)
    assert len(str(caught.value)) < 300
