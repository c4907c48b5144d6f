"""Which model a result file names: one that is known here, or those whose names come near."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from app.domain.names import fold

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_NEAR: Final = 3
_ENDS: Final = re.compile(
    r"[-_. ](?:instruct|it|chat|base|hf|bf16|fp8|nvfp4|awq|gptq|gguf|dynamic|quantized|w4a16|w8a8|int4|int8)$"
)


def known_model(name: str | None, llms: Iterable[str]) -> str:
    """Return the id that a file names but for case, empty where it names none of these."""
    return fold(llms).get((name or "").casefold(), "")


def near_models(name: str, llms: Iterable[str]) -> list[str]:
    """Return the few ids that differ from a name by owner, "Meta-", or what a tuning or a repack adds.

    Such a model mostly has the same shape, and may not: they are to be offered, never to be assumed.
    """
    bare = _bare(name)
    return [each for each in llms if bare and _bare(each) == bare][:_MOST_NEAR]


def _bare(name: str) -> str:
    text = name.strip().rstrip("/\\").replace("\\", "/").rpartition("/")[2].casefold()
    while (shorter := _ENDS.sub("", text)) != text:
        text = shorter
    return text.removeprefix("meta-")


def unknown_model(name: str, llms: Iterable[str]) -> str:
    """Return in words that a file names a model that is not known here, and what comes near."""
    near = near_models(name, llms)
    offer = f"; if it has the shape of {' or '.join(near)}, give that as the model" if near else ""
    return f"the file names {name}, which is not among the models here{offer}"
