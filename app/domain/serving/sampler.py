"""Which path a decode batch's sampler takes, which request and field decided it, and what that outlasts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Self

from app.domain.serving.reading import InputError, shown
from app.domain.serving.sampler_rules import FIELDS, RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from app.domain.serving.sampler_rules import Endpoint, Field, Path, SamplingDefaults

_MOST_TOP_K: Final = 2**31 - 1
_PROMPTS: Final = ("text", "input_ids", "input_embeds")
_NESTED: Final = "sampling_params"

REQUEST: Final = "the request"
MODEL: Final = "generation_config.json"
PREFERRED: Final = "the preferred sampling parameters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How a server was started, as far as sampling goes; both configs are checked by `check_config`."""

    generation_config: Mapping[str, Any] | None = None
    sampling_defaults: SamplingDefaults = "model"
    preferred: Mapping[str, Any] | None = None
    deterministic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """What the scheduler sees of one request, with where each of the four came from.

    `top_k` is after normalisation: 1 when greedy, 2^30 for none.
    """

    name: str
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    asked_top_k: int
    sources: Mapping[Field, str]

    @property
    def is_greedy(self) -> bool:
        """Whether it takes the likeliest token."""
        return self.top_k <= RULES.greedy_top_k


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One field of one request that takes its batch off the fast path."""

    request: str
    field: Field
    value: float | int
    source: str

    @property
    def sentence(self) -> str:
        """The reason in words."""
        greedy = " makes it greedy, which counts as top_k 1" if self.field == "temperature" else ""
        return f"{self.request}: {self.field} {self.value:g} from {self.source}{greedy}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What a running batch remembers of all requests that ever joined it."""

    all_greedy: bool
    top_p: bool
    top_k: bool
    min_p: bool

    def joined(self, other: Self) -> Self:
        """Return the flags after other requests join: greedy only if all are, filtered if any is."""
        return type(self)(
            all_greedy=self.all_greedy and other.all_greedy,
            top_p=self.top_p or other.top_p,
            top_k=self.top_k or other.top_k,
            min_p=self.min_p or other.min_p,
        )

    @property
    def filtered(self) -> bool:
        """Whether any of the three filters is on."""
        return self.top_p or self.top_k or self.min_p


def sampling_of(body: Mapping[str, Any], server: Server, *, endpoint: Endpoint, name: str) -> Sampling:
    """Return what the scheduler sees of a request body.

    The request goes first, then the model's file where the endpoint reads it, then the preferred parameters
    where the endpoint leaves a field open, then the endpoint's defaults.

    Raises:
        InputError: a field has no value that the server takes.
    """
    rule = RULES.endpoints[endpoint]
    layers: list[tuple[str, Mapping[str, Any]]] = [(REQUEST, body)]
    if server.generation_config and server.sampling_defaults == "model":
        layers.append((MODEL, _only(server.generation_config, rule.from_model)))
    if server.preferred:
        layers.append((PREFERRED, _only(server.preferred, rule.left_open)))
    layers.append((f"the default of {rule.route}", _only(rule.defaults, FIELDS)))
    values: dict[Field, float] = {}
    sources: dict[Field, str] = {}
    for field in FIELDS:
        sources[field], value = next(
            (source, layer[field]) for source, layer in layers if layer.get(field) is not None
        )
        values[field] = checked(value, field, name=name)
    asked = int(values["top_k"])
    return Sampling(
        name=name,
        temperature=values["temperature"],
        top_k=_normalised(values["temperature"], asked),
        top_p=values["top_p"],
        min_p=values["min_p"],
        asked_top_k=asked,
        sources=sources,
    )


def _only(values: Mapping[Any, Any], fields: Sequence[Field]) -> Mapping[str, Any]:
    return {field: values.get(field) for field in fields}


def _normalised(temperature: float, top_k: int) -> int:
    if temperature < RULES.greedy_below:
        return RULES.greedy_top_k
    return RULES.top_k_all if top_k == RULES.no_top_k else top_k


def checked(value: Any, field: Field, *, name: str) -> float:
    """Return a field's value as the server holds it, a float of 64 bits.

    Raises:
        InputError: it is no number, not finite, or beyond what the server takes.
    """
    number = float(value) if _is_number(value) else math.nan
    if not math.isfinite(number) or not _in_range(field, number):
        raise InputError(f"{name}: {field}", shown(value), RULES.ranges[field])
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _in_range(field: Field, number: float) -> bool:
    match field:
        case "temperature":
            return number >= 0
        case "top_k":
            return number == int(number) and (number == RULES.no_top_k or 1 <= number <= _MOST_TOP_K)
        case "top_p":
            return 0 < number <= 1
        case "min_p":
            return 0 <= number <= 1


def check_config(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a generation_config.json or preferred parameters whose four fields can all be used.

    Raises:
        InputError: one of the four has no value that the server takes.
    """
    for field in FIELDS:
        if config.get(field) is not None:
            checked(config[field], field, name=name)
    return config


def fields_of(body: Mapping[str, Any], *, endpoint: Endpoint, name: str) -> list[Mapping[str, Any]]:
    """Return the sampling fields of each request that a body holds.

    A line of a batch file holds its request under `body`. /generate reads `sampling_params` alone, one for
    each prompt when it is a list; a body of it without a prompt is taken for the parameters themselves.

    Raises:
        InputError: the parameters are no object.
    """
    if isinstance(body.get("body"), dict):
        body = body["body"]
    if endpoint != "generate" or not any(key in body for key in (_NESTED, *_PROMPTS)):
        return [body]
    nested = body.get(_NESTED)
    each = nested if isinstance(nested, list) else [{} if nested is None else nested]
    for one in each:
        if not isinstance(one, dict):
            raise InputError(f"{name}: {_NESTED}", shown(one), "give an object, or a list of them")
    return each


def flags_of(requests: Iterable[Sampling]) -> Flags:
    """Return the flags of requests that start a batch together."""
    each = list(requests)
    return Flags(
        all_greedy=all(one.is_greedy for one in each),
        top_p=any(one.top_p != RULES.no_top_p for one in each),
        top_k=any(one.top_k != RULES.top_k_all for one in each),
        min_p=any(one.min_p > RULES.no_min_p for one in each),
    )


def path_of(flags: Flags, *, deterministic: bool) -> Path:
    """Return the path of a batch with these flags."""
    if flags.all_greedy:
        return "greedy"
    if flags.filtered:
        return "filtered"
    return "deterministic" if deterministic else "gumbel"


def reasons_of(request: Sampling) -> list[Reason]:
    """Return each field of a request that keeps a batch off the fast path, in the order of `FIELDS`."""
    found: list[tuple[Field, float]] = []
    if request.temperature < RULES.greedy_below:
        found.append(("temperature", request.temperature))
    elif request.top_k != RULES.top_k_all:
        found.append(("top_k", request.asked_top_k))
    if request.top_p != RULES.no_top_p:
        found.append(("top_p", request.top_p))
    if request.min_p > RULES.no_min_p:
        found.append(("min_p", request.min_p))
    return [
        Reason(request=request.name, field=field, value=value, source=request.sources[field])
        for field, value in found
    ]
