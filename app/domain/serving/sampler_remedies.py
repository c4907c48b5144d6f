"""What would put a decode batch back on the fast path, each way tried by the same rules."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from app.domain.serving.sampler import (
    PREFERRED,
    REQUEST,
    Sampling,
    fallbacks_of,
    filled,
    flags_of,
    is_off,
    path_of,
    plain,
    reasons_of,
    sampling_of,
)
from app.domain.serving.sampler_rules import FIELDS, RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.serving.batch import Verdict
    from app.domain.serving.sampler import Fallbacks, Server
    from app.domain.serving.sampler_rules import Endpoint, Field, Path

_NAMED: Final = 3
_OPENAI: Final = "with --sampling-defaults openai"
_NO_SEEDS: Final = "without --enable-deterministic-inference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Values that some requests have to state, and the names of those requests."""

    values: Mapping[Field, float]
    requests: tuple[str, ...]

    def sentence(self, endpoint: Endpoint) -> str:
        """Say it as an order."""
        values = " and ".join(f"{field} {plain(value)}" for field, value in self.values.items())
        where = "sampling_params of " if endpoint == "generate" else ""
        return f"State {values} in {where}{_listed(self.requests)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A field that reaches the scheduler as another value: before from `least` to `most`, and in how many.

    Values are as they come, before normalisation: a top_k of -1 is none.
    """

    field: Field
    least: float
    most: float
    after: float
    requests: int

    @property
    def sentence(self) -> str:
        """Say it in words."""
        least, most, after = (_worded(self.field, value) for value in (self.least, self.most, self.after))
        before = least if least == most else f"{least} to {most}"
        where = "1 request" if self.requests == 1 else f"{self.requests:,} requests"
        return f"{self.field} {before} becomes {after} in {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One way back: how the server is started anew, and what requests have to state besides.

    `path` is what the same requests take then, in a batch that starts afresh. `others` counts the requests
    that have to state nothing, and `others_path` is theirs when a server of its own serves the rest.
    """

    endpoint: Endpoint
    server: tuple[str, ...]
    statements: tuple[Statement, ...]
    moved: tuple[Moved, ...]
    path: Path
    others: int
    others_path: Path | None

    @property
    def stated(self) -> int:
        """How many values have to be stated in all."""
        return sum(len(each.values) * len(each.requests) for each in self.statements)

    @property
    def sentences(self) -> list[str]:
        """The way in words: what to do, then what that leads to."""
        orders = [f"Start the server {' and '.join(self.server)}."] if self.server else []
        orders += [each.sentence(self.endpoint) for each in self.statements]
        if self.others_path == "gumbel":
            rest = "the other request is" if self.others == 1 else f"the other {self.others:,} are"
            orders.append(f"Or serve those from another server: {rest} on the {self.others_path} path then.")
        return orders


def remedies(found: Verdict, server: Server, *, endpoint: Endpoint) -> tuple[Remedy, ...]:
    """Return the ways in which all requests of a batch, also those that have ended, would leave it fast.

    The first changes the requests alone where that is enough; one that changes more of the server is there
    only when it asks less of the requests. None are for a batch that is fast, or over.
    """
    if found.path in {None, "gumbel"}:
        return ()
    alike = _alike((*found.requests, *found.ended))
    ways: list[Remedy] = []
    for orders, other in _servers(server, endpoint=endpoint):
        way = _way(alike, other, endpoint=endpoint, orders=orders)
        worse = (set(each.server) <= set(orders) and each.stated <= way.stated for each in ways)
        if way.path == "gumbel" and not any(worse):
            ways.append(way)
    return tuple(ways)


def _alike(requests: Sequence[Sampling]) -> Sequence[Sequence[Sampling]]:
    """Return requests in groups that the rules treat alike: the same fields stated, of the same effect."""
    groups: dict[Any, list[Sampling]] = defaultdict(list)
    for one in requests:
        groups[tuple((one.sources[field] == REQUEST, is_off(one, field)) for field in FIELDS)].append(one)
    return list(groups.values())


def _servers(server: Server, *, endpoint: Endpoint) -> Iterator[tuple[tuple[str, ...], Server]]:
    """Yield how the server might be started instead, in words, those with the fewest changes first."""
    rule = RULES.endpoints[endpoint]
    start = replace(server, deterministic=False)
    seeds = (_NO_SEEDS,) if server.deterministic else ()
    config = server.generation_config or {}
    is_read = server.sampling_defaults == "model" and any(name in config for name in rule.from_model)
    off = _preferred_off(server, endpoint=endpoint)
    fewer = {name: value for name, value in (server.preferred or {}).items() if name not in off}
    without = f"without {' and '.join(off)} in --preferred-sampling-params"
    yield seeds, start
    if is_read:
        yield (*seeds, _OPENAI), replace(start, sampling_defaults="openai")
    if off:
        yield (*seeds, without), replace(start, preferred=fewer)
    if is_read and off:
        yield (*seeds, _OPENAI, without), replace(start, sampling_defaults="openai", preferred=fewer)


def _preferred_off(server: Server, *, endpoint: Endpoint) -> list[Field]:
    """Return the preferred parameters that take a request off the fast path which states nothing."""
    found: list[Field] = []
    for name, value in (server.preferred or {}).items():
        alone = replace(server, generation_config=None, preferred={name: value})
        why = reasons_of(sampling_of({}, alone, endpoint=endpoint, name=PREFERRED))
        found += [reason.field for reason in why if reason.source == PREFERRED]
    return found


def _way(
    alike: Sequence[Sequence[Sampling]], server: Server, *, endpoint: Endpoint, orders: tuple[str, ...]
) -> Remedy:
    fallbacks = fallbacks_of(server, endpoint=endpoint)
    tried = [(group, *_tried(group[0], fallbacks)) for group in alike]
    stated: dict[tuple[tuple[Field, float], ...], list[str]] = defaultdict(list)
    for group, values, _ in tried:
        if values:
            stated[tuple(values.items())] += [one.name for one in group]
    others = [after for group, values, after in tried for _ in group if not values]
    return Remedy(
        endpoint=endpoint,
        server=orders,
        statements=tuple(
            Statement(values=dict(values), requests=tuple(names)) for values, names in stated.items()
        ),
        moved=tuple(_moved(tried)),
        path=path_of(flags_of(after for *_, after in tried), deterministic=server.deterministic),
        others=len(others),
        others_path=path_of(flags_of(others), deterministic=server.deterministic)
        if others and stated
        else None,
    )


def _moved(
    tried: Sequence[tuple[Sequence[Sampling], Mapping[Field, float], Sampling]],
) -> Iterator[Moved]:
    """Yield what reaches the scheduler otherwise: what a group does not state itself comes out alike."""
    for field in FIELDS:
        was: dict[float, list[float]] = defaultdict(list)
        for group, values, after in tried:
            if field in values or group[0].sources[field] != REQUEST:
                value = after.asked[field]
                was[value] += [before for one in group if (before := one.asked[field]) != value]
        for value, came in was.items():
            if came:
                yield Moved(field=field, least=min(came), most=max(came), after=value, requests=len(came))


def _tried(one: Sampling, fallbacks: Fallbacks) -> tuple[dict[Field, float], Sampling]:
    """Return what a request has to state on this server, and what the scheduler sees of it then."""
    body: dict[str, float] = {
        field: value for field, value in one.asked.items() if one.sources[field] == REQUEST
    }
    values: dict[Field, float] = {}
    after = filled(body, fallbacks, name=one.name)
    # A greedy request hides its top_k, so what is stated may bring up another reason.
    while why := reasons_of(after):
        for reason in why:
            body[reason.field] = values[reason.field] = RULES.neutral[reason.field]
        after = filled(body, fallbacks, name=one.name)
    return values, after


def _worded(field: Field, value: float) -> str:
    return "-1 (none)" if field == "top_k" and value == RULES.no_top_k else plain(value)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED:,} more"
