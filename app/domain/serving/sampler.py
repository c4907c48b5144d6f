"""Which path a decode batch's sampler takes, which request and field decided it, and what that outlasts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Self

from app.domain.serving.reading import InputError, read_documents, shown
from app.domain.serving.sampler_rules import FIELDS, RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from app.domain.serving.sampler_rules import Endpoint, Field, Path, SamplingDefaults

    Fallbacks = Mapping[Field, tuple[str, float]]

_MOST_TOP_K: Final = 2**31 - 1
_PROMPTS: Final = ("text", "input_ids", "input_embeds")

NESTED: Final = "sampling_params"
"""Where a request to /generate holds its parameters."""

REQUEST: Final = "the request"
MODEL: Final = "generation_config.json"
PREFERRED: Final = "the preferred sampling parameters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How a server was started, as far as sampling goes; both configs are as `read_config` returns them."""

    generation_config: Mapping[Field, Any] | None = None
    sampling_defaults: SamplingDefaults = "model"
    preferred: Mapping[Field, Any] | None = None
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
    def asked(self) -> dict[Field, float]:
        """The four as they came, before normalisation."""
        return {
            "temperature": self.temperature,
            "top_k": self.asked_top_k,
            "top_p": self.top_p,
            "min_p": self.min_p,
        }

    @property
    def is_greedy(self) -> bool:
        """Whether it takes the likeliest token."""
        return self.top_k <= RULES.greedy_top_k


_EXACT_BELOW: Final = 2**53


def plain(value: float) -> str:
    """Return a value as people write it, 20 and not 20.0, with every digit that tells it from another."""
    return str(int(value)) if abs(value) < _EXACT_BELOW and value == int(value) else repr(value)


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
        return f"{self.request}: {self.field} {plain(self.value)} from {self.source}{greedy}."


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


def fallbacks_of(server: Server, *, endpoint: Endpoint) -> Fallbacks:
    """Return the value of each field that a request to an endpoint leaves out, with its source.

    The model's file goes first where the endpoint reads it, then the preferred parameters where the endpoint
    leaves a field open, then the endpoint's defaults.

    Raises:
        InputError: a field has no value that the server takes.
    """
    rule = RULES.endpoints[endpoint]
    layers: list[tuple[str, Mapping[str, Any]]] = []
    if server.generation_config and server.sampling_defaults == "model":
        layers.append((MODEL, _only(server.generation_config, rule.from_model)))
    if server.preferred:
        layers.append((PREFERRED, _only(server.preferred, rule.left_open)))
    layers.append((f"the default of {rule.route}", _only(rule.defaults, FIELDS)))
    found: dict[Field, tuple[str, float]] = {}
    for field in FIELDS:
        source, value = next(
            (source, layer[field]) for source, layer in layers if layer.get(field) is not None
        )
        found[field] = source, checked(value, field, name=source)
    return found


def sampling_of(body: Mapping[str, Any], server: Server, *, endpoint: Endpoint, name: str) -> Sampling:
    """Return what the scheduler sees of one request body; see `filled` and `fallbacks_of` for the errors."""
    return filled(body, fallbacks_of(server, endpoint=endpoint), name=name)


def filled(body: Mapping[str, Any], fallbacks: Fallbacks, *, name: str) -> Sampling:
    """Return what the scheduler sees of a request body: what it states, else the fallbacks.

    Raises:
        InputError: a field has no value that the server takes.
    """
    values: dict[Field, float] = {}
    sources: dict[Field, str] = {}
    for field in FIELDS:
        if body.get(field) is None:
            sources[field], values[field] = fallbacks[field]
        else:
            sources[field], values[field] = REQUEST, checked(body[field], field, name=name)
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


def _only(values: Mapping[Field, Any], fields: Sequence[Field]) -> Mapping[str, Any]:
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


def read_config(data: bytes, name: str) -> dict[Field, Any]:
    """Return those of the four fields that a generation_config.json, or preferred parameters, state.

    Raises:
        InputError: it is not one JSON object, or one of the four has no value that the server takes.
    """
    documents = read_documents(data, name)
    if len(documents) != 1:
        raise InputError(name, f"{len(documents)} objects", "give one JSON object")
    stated = stated_in(documents[0][1])
    for field, value in stated.items():
        checked(value, field, name=name)
    return stated


def stated_in(fields: Mapping[Any, Any]) -> dict[Field, Any]:
    """Return those of the four fields that have a value; null is as if left out."""
    return {field: fields[field] for field in FIELDS if fields.get(field) is not None}


CLIENT_ONLY: Final = "extra_body"
"""What OpenAI's client is given and never sends: it sends what is in it beside the other fields."""


def is_client_call(request: Mapping[str, Any]) -> bool:
    """Tell whether a request holds one of the four where only OpenAI's client would look for them."""
    inner = request.get(CLIENT_ONLY)
    return isinstance(inner, dict) and bool(stated_in(inner))


def request_in(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the request that a body holds: a line of a batch file holds it under `body`."""
    inner = body.get("body")
    return inner if isinstance(inner, dict) else body


def is_nested(request: Mapping[str, Any]) -> bool:
    """Tell whether a request to /generate holds its parameters under `sampling_params`, or has none."""
    return any(key in request for key in (NESTED, *_PROMPTS))


def fields_of(body: Mapping[str, Any], *, endpoint: Endpoint, name: str) -> list[Mapping[str, Any]]:
    """Return the sampling fields of each request that a body holds, a null as the endpoint takes it.

    /generate reads `sampling_params` alone, one for each prompt when it is a list; a body of it without a
    prompt is taken for the parameters themselves.

    Raises:
        InputError: the parameters are no object, the endpoint refuses a null, or a line of a batch file names
            another endpoint.
    """
    other = other_endpoint(body, endpoint)
    if other is not None:
        route = RULES.endpoints[other].route
        expected = f"choose {other}: {name} goes to {route}, and each endpoint has defaults of its own"
        raise InputError("endpoint", endpoint, expected)
    each = fields_as_sent(body, endpoint=endpoint, name=name)
    return [_without_nulls(one, endpoint, name=name) for one in each]


def other_endpoint(body: Mapping[str, Any], endpoint: Endpoint) -> Endpoint | None:
    """Return the endpoint that a line of a batch file goes to, None where it is this one or not told."""
    url = body.get("url")
    if not isinstance(url, str) or request_in(body) is body:
        return None
    named = (key for key, rule in RULES.endpoints.items() if url.rstrip("/").endswith(rule.route))
    found = next(named, None)
    return None if found == endpoint else found


def _without_nulls(fields: Mapping[str, Any], endpoint: Endpoint, *, name: str) -> Mapping[str, Any]:
    rule = RULES.endpoints[endpoint]
    nulls = [field for field in FIELDS if field in fields and fields[field] is None]
    if not nulls or rule.null == "left out":
        return fields
    if rule.null == "refused":
        raise InputError(f"{name}: {nulls[0]}", "null", f"leave it out: {rule.route} refuses null")
    return {**fields, **{field: rule.defaults[field] for field in nulls}}


def fields_as_sent(body: Mapping[str, Any], *, endpoint: Endpoint, name: str) -> list[Mapping[str, Any]]:
    """Return the same with each null as it is; see `fields_of` for the errors."""
    request = request_in(body)
    if endpoint != "generate" or not is_nested(request):
        return [request]
    nested = request.get(NESTED)
    each = nested if isinstance(nested, list) else [{} if nested is None else nested]
    for one in each:
        if not isinstance(one, dict):
            raise InputError(f"{name}: {NESTED}", shown(one), "give an object, or a list of them")
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


def is_off(request: Sampling, field: Field) -> bool:
    """Tell whether a field, as it came, keeps a batch off the fast path."""
    match field:
        case "temperature":
            return request.temperature < RULES.greedy_below
        case "top_k":
            return request.asked_top_k not in {RULES.no_top_k, RULES.top_k_all}
        case "top_p":
            return request.top_p != RULES.no_top_p
        case "min_p":
            return request.min_p > RULES.no_min_p


def reasons_of(request: Sampling) -> list[Reason]:
    """Return each field of a request that keeps a batch off the fast path, in the order of `FIELDS`.

    A temperature that makes it greedy replaces the top_k it came with, which is no reason then.
    """
    hidden = "top_k" if is_off(request, "temperature") else ""
    return [
        Reason(request=request.name, field=field, value=request.asked[field], source=request.sources[field])
        for field in FIELDS
        if field != hidden and is_off(request, field)
    ]
