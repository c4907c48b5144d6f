"""What a benchmark ran on as somebody types it: a card, a format of the weights, GPUs, a context, a cache."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS
from app.domain.names import fold, one_of
from app.domain.query_error import QueryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.names import Names

_MOST_NEAR: Final = 3
_GGUF: Final = "gguf-"
_MIX: Final = re.compile(r"(?:ud-)?(i?q[0-9]-k)-(?:xs|s|m|l|xl)")
_HALF: Final = ("fp16", "float16", "bfloat16", "half")
_FP8: Final = ("fp8-e4m3", "fp8-e5m2", "float8")


@dataclass(frozen=True, slots=True, kw_only=True)
class On:
    """What a benchmark ran on, in the words of a link: a variant, the weights' format, and more if known.

    What is None or empty was not typed, and what the files say of it counts.
    """

    card: str
    weights: str
    gpus: int | None = None
    context: int | None = None
    kv: str = ""


def checked(on: On) -> On:
    """Return what was typed with the ids that stand for it; what was left empty stays so.

    Raises:
        QueryError: for `card`, `weights` or `kv`, with what comes close.
    """
    variants = fold(card.id for card in load_catalogue().accelerators)
    return replace(
        on,
        card=_named("card", on.card, names=variants) if on.card.strip() else "",
        weights=weights_id(on.weights) if on.weights.strip() else "",
        kv=_named("kv", on.kv, names=_CACHES) if on.kv.strip() else "",
    )


def weights_id(text: str) -> str:
    """Return the id of a format of weights by it or by another common spelling, as q4_k or fp16.

    Raises:
        QueryError: for `weights`: none is meant, or a mix of several, which has no size of its own.
    """
    plain = text.strip().casefold().replace("_", "-").replace(" ", "-")
    mix = _MIX.fullmatch(plain.removeprefix(_GGUF))
    if mix and plain not in _SPELLINGS:
        main = f"{_GGUF}{mix[1]}"
        raise QueryError(
            "weights", text, f"it is a mix of types, mostly of one: give that, {main}, as an estimate"
        )
    if plain in _SPELLINGS:
        return _SPELLINGS[plain]
    return _named("weights", text, names=_WEIGHTS)


def _named(field_name: str, text: str, *, names: Names) -> str:
    """Return the name that a text is but for case; else raise with those spelled most like it."""
    try:
        return one_of(field_name, text, names=names)
    except QueryError as error:
        if not error.expected.startswith("use one of"):
            raise
        near = get_close_matches(text.casefold(), dict.fromkeys(names.values()), n=_MOST_NEAR, cutoff=0)
        raise QueryError(field_name, text, f"the nearest are {', '.join(near)}") from None


def _spellings() -> Mapping[str, str]:
    """Return what stands for a format: its id, for a block of GGUF its own name, and what engines call it."""
    short = {name.removeprefix(_GGUF): name for name in FORMATS}
    return {**short, **dict.fromkeys(_HALF, "bf16"), **dict.fromkeys(_FP8, "fp8"), **{n: n for n in FORMATS}}


_SPELLINGS: Final = _spellings()
_WEIGHTS: Final = fold(FORMATS)
_CACHES: Final = fold(KV_FORMATS)
