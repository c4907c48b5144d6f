"""What every reader of benchmark results gives, and how figures and settings are taken from a document."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal

from app.domain.serving.reading import InputError, as_figure, figure, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from app.domain.serving.layout import Layout

Phase = Literal["decode", "prefill", "prefill and decode"]

TOLERANCE: Final = Decimal("0.01")
MOST_SAMPLES: Final = 10_000
VLLM: Final = "vLLM"
SGLANG: Final = "SGLang"
LLAMA_BENCH: Final = "llama-bench"
GUIDELLM: Final = "GuideLLM"

LEAST_RATE: Final = Decimal("1e-9")
MOST_IN_FLIGHT: Final = 1_000_000
_MOST_SETTINGS: Final = 100
_LONGEST_SETTING: Final = 63
_SHOWN: Final = 60
_LONGEST_NAME: Final = 200
_DIGITS: Final = 12
_CUT: Final = re.compile(rf" sha256 [0-9a-f]{{{_DIGITS}}}")
_COUNT: Final = re.compile(r"[0-9]{1,9}")
_SECRET: Final = frozenset(
    ("key", "apikey", "token", "secret", "password", "passwd", "authorization", "credential", "credentials")
)
"""Words in the name of a field that may hold a secret, of which not even a number is shown."""

_COUNTED: Final = frozenset(("tokens", "prompts"))
_WORD: Final = re.compile(r"[a-z0-9]+")
_UNTOLD: Final = frozenset(
    (
        *(
            "prompt",
            "prompts",
            "text",
            "texts",
            "message",
            "messages",
            "completion",
            "completions",
            "question",
        ),
        *("response", "responses", "answer", "answers", "generated", "errors", "system", "user", "header"),
        *("headers", "cookie", "cookies", "key", "apikey", "token", "tokens", "secret", "password", "passwd"),
        *("authorization", "credential", "credentials", "command"),
    )
)
"""Words in the name of a field that may hold what somebody wrote, or a secret: such a text is never shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One configuration as one file has it.

    `tokens_per_s` holds each repetition, of all streams: tokens generated in decode, read in prefill.
    `settings` is what the file says of how it was run; runs that share them repeat one configuration. `sent`
    is how many requests were in flight at most, and `context` how many tokens a stream had before the first
    one that was timed, None where the file does not tell. `prompt_tokens` is how many were read after those,
    0 in decode. `ttft_ms` and `itl_ms` are medians, `mean_ttft_ms` is a mean; so are `mean_prompt_tokens` and
    `mean_output_tokens` of the requests that completed, each None where the file does not tell. `per_pass` is
    how many tokens a pass gave a stream on average where drafts were verified, None where the file tells of
    none. `stamp` is when it ran, as the file has it, empty where not told. `layout` is how GPUs shared
    the model, None where the file does not tell. `kv` is the id of the cache's format, empty where not told.
    `weights_bytes` and `params` are those of the file of the model.
    """

    place: str
    tool: str
    model: str | None
    phase: Phase
    settings: tuple[tuple[str, str], ...]
    tokens_per_s: tuple[Decimal, ...]
    sent: int | None = None
    context: int | None = None
    prompt_tokens: int = 0
    completed: int | None = None
    failed: int | None = None
    ttft_ms: Decimal | None = None
    itl_ms: Decimal | None = None
    mean_ttft_ms: Decimal | None = None
    mean_prompt_tokens: Decimal | None = None
    mean_output_tokens: Decimal | None = None
    per_pass: Decimal | None = None
    stamp: str = ""
    layout: Layout | None = None
    kv: str = ""
    weights_bytes: int | None = None
    params: int | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How one tool's result is told and read: it has all of `needs`, and `understands` says whose it is."""

    tool: str
    understands: str
    needs: frozenset[str]
    read: Callable[[Mapping[str, Any], str], Iterator[Run]]


def told(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that may be shown: none that somebody wrote or hides, and of a long text its digest.

    Under a name that ends in tokens or prompts a text of digits is a count, and no text that somebody wrote.
    """
    found: dict[str, Any] = {}
    for name, value in document.items():
        if not name.isprintable() or len(name) > _LONGEST_SETTING or len(found) == _MOST_SETTINGS:
            continue
        if value is not None and _is_untold(name, value):
            continue
        is_long = isinstance(value, str) and len(value) > _LONGEST_SETTING
        found[name] = f"sha256 {digest(value)}" if is_long else value
    return found


def _is_untold(name: str, value: Any) -> bool:
    words = _WORD.findall(name.casefold())
    if not isinstance(value, str | list | dict):
        return not _SECRET.isdisjoint(words)
    is_count = isinstance(value, str) and _COUNT.fullmatch(value) is not None
    return bool(_UNTOLD.intersection(words) - (_COUNTED if is_count else set()))


def digest(value: Any) -> str:
    """Return a digest of all of a value, by which two of which only a part is shown are told apart.

    Raises:
        InputError: it is nested too deep.
    """
    text = value if isinstance(value, str) else canonical(value)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def canonical(value: Any) -> str:
    """Return JSON that is the same for the same value.

    Raises:
        InputError: it is nested too deep, where it could just be read.
    """
    try:
        return json.dumps(value, sort_keys=True, default=str)
    except RecursionError as error:
        raise InputError("a setting", shown(value), "give JSON that is not nested so deep") from error


def whole(value: Any, *, most: int = _SHOWN) -> str:
    """Return any value as a text that no other value has: as it is shown, else its start and a digest.

    Of what is returned it returns the same again.
    """
    text = shown(value, most=most)
    if text == value if isinstance(value, str) else "..." not in text:
        return text
    mark = f" sha256 {digest(value)}"
    return f"{shown(text, most=most - len(mark) - len('...'))}{mark}"


def is_cut(text: str) -> bool:
    """Tell whether a text is the start of one that was longer; see `whole`."""
    return text.endswith("...") or _CUT.search(text, len(text) - _DIGITS - len(" sha256 ")) is not None


def mean_of(total: Decimal | None, count: int | None) -> Decimal | None:
    """Return a mean, None where it is not known or 0, which stands for none that was counted."""
    return total / count if total and count else None


def at_most(in_flight: int | None, requests: int | None) -> int | None:
    """Return how many were in flight where there were so many requests in all."""
    return min(in_flight, requests) if in_flight and requests else in_flight


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def settings_of(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return each field with its value as a text that no other value has."""
    return tuple((name, _setting(value)) for name, value in document.items())


def picked(document: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the fields of these names that are there, in this order."""
    return {name: document[name] for name in names if name in document}


def _setting(value: Any) -> str:
    return "none" if value is None else whole(value)


def name_of(value: Any) -> str | None:
    """Return the name of a model, with a digest where a part of it is left out, None for none."""
    return whole(value, most=_LONGEST_NAME) if isinstance(value, str) and value.strip() else None


def stamp_of(value: Any) -> str:
    """Return when something ran as a file has it, empty where that is no text and no number."""
    return whole(value) if isinstance(value, str | int | Decimal) and not isinstance(value, bool) else ""


def count_of(value: Any, field: str, *, most: int | None = None) -> int | None:
    """Return a whole number, None when it is not stated.

    Raises:
        InputError: it is no whole number of 0 or more, or above the most.
    """
    if value is None:
        return None
    number = as_figure(value, field)
    if number != int(number):
        raise InputError(field, shown(value), "give a whole number")
    if most is not None and number > most:
        raise InputError(field, shown(value), f"give at most {most:,}")
    return int(number)


def optional(document: Mapping[str, Any], key: str, *, place: str) -> Decimal | None:
    """Return a figure, None where it is not stated."""
    return None if document.get(key) is None else figure(document, key, place=place)
