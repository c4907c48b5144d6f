"""A decode batch over time: requests join and end, the flags stay, and a verdict says what holds it where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.domain.serving.reading import MOST_ENTRIES, InputError
from app.domain.serving.sampler import (
    CLIENT_ONLY,
    NESTED,
    Flags,
    Reason,
    Sampling,
    Server,
    fallbacks_of,
    fields_of,
    filled,
    flags_of,
    is_client_call,
    is_nested,
    path_of,
    reasons_of,
    request_in,
    stated_in,
)
from app.domain.serving.sampler_rules import FIELDS, RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from app.domain.serving.sampler_rules import Endpoint, Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The running batch: who is in it, and its flags, which are None while it is empty."""

    requests: tuple[Sampling, ...] = ()
    flags: Flags | None = None

    def join(self, others: Sequence[Sampling]) -> Running:
        """Return the batch after requests joined it."""
        theirs = flags_of(others)
        return Running(
            requests=(*self.requests, *others),
            flags=self.flags.joined(theirs) if self.flags else theirs,
        )

    def end(self, names: Iterable[str]) -> Running:
        """Return the batch after requests of these names ended: the flags stay until none is left."""
        gone = frozenset(names)
        return self.left([one for one in self.requests if one.name not in gone])

    def left(self, requests: Sequence[Sampling]) -> Running:
        """Return the batch of which only these requests are left."""
        return Running(requests=tuple(requests), flags=self.flags) if requests else Running()

    def path(self, *, deterministic: bool) -> Path | None:
        """Return the path of the next step, None while the batch is empty."""
        return path_of(self.flags, deterministic=deterministic) if self.flags else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The path of a batch, why it is not the fast one, and what else a reader should know.

    `path` is None when all of it has ended. `afresh` is the path of the running requests in a batch of their
    own, as after it has drained. `ended` are the requests that are over.
    """

    path: Path | None
    afresh: Path | None
    requests: tuple[Sampling, ...]
    ended: tuple[Sampling, ...] = ()
    reasons: tuple[Reason, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def kept_by_ended(self) -> bool:
        """Whether no running request asks for the path: one that has ended does."""
        return self.path != self.afresh

    @property
    def is_fast(self) -> bool:
        """Whether it is the path that version 0.5.20 made faster."""
        return self.path == "gumbel"

    @property
    def counts(self) -> dict[str, int]:
        """How many requests each field took off the fast path, in the order of `FIELDS`."""
        return {name: count for name in FIELDS if (count := sum(one.field == name for one in self.reasons))}


def judge(
    bodies: Sequence[tuple[str, Mapping[str, Any]]],
    server: Server,
    *,
    endpoint: Endpoint,
    ended: Sequence[int] = (),
) -> Verdict:
    """Return the path of a batch of request bodies, each with its name.

    `ended` counts requests from 1 that are over while the others run on.

    Raises:
        InputError: there is no request, a field has no value that the server takes, or `ended` names none.
    """
    parts = [(name, fields_of(body, endpoint=endpoint, name=name)) for name, body in bodies]
    if not 0 < (count := sum(len(each) for _, each in parts)) <= MOST_ENTRIES:
        raise InputError(
            "requests", f"{count:,}", f"a batch needs at least one, and {MOST_ENTRIES:,} at most"
        )
    named = [
        (_name(name, at, of=len(each)), fields)
        for name, each in parts
        for at, fields in enumerate(each, start=1)
    ]
    gone = _ended(ended, count=count)
    requests, running = _batch(named, server, endpoint=endpoint, gone=gone)
    path = running.path(deterministic=server.deterministic)
    afresh = Running().join(running.requests) if running.requests else running
    why = [reason for one in requests for reason in reasons_of(one) if _counts(reason, path)]
    return Verdict(
        path=path,
        afresh=afresh.path(deterministic=server.deterministic),
        requests=running.requests,
        ended=tuple(one for at, one in enumerate(requests, 1) if at in gone),
        reasons=tuple(why),
        notes=tuple(_notes(server, bodies, endpoint=endpoint)),
    )


def _batch(
    named: Sequence[tuple[str, Mapping[str, Any]]],
    server: Server,
    *,
    endpoint: Endpoint,
    gone: frozenset[int],
) -> tuple[list[Sampling], Running]:
    """Return all requests of a batch, and what runs of it when some, counted from 1, have ended."""
    fallbacks = fallbacks_of(server, endpoint=endpoint)
    requests = [filled(fields, fallbacks, name=name) for name, fields in named]
    left = [one for at, one in enumerate(requests, start=1) if at not in gone]
    return requests, Running().join(requests).left(left)


def _counts(reason: Reason, path: Path | None) -> bool:
    """Tell whether a reason is one for this path: any for the filtered, what makes greedy for the greedy."""
    return path == "filtered" or (path == "greedy" and reason.field in {"temperature", "top_k"})


def _name(name: str, at: int, *, of: int) -> str:
    return name if of == 1 else f"{name} prompt {at}"


def _ended(ended: Sequence[int], *, count: int) -> frozenset[int]:
    for number in ended:
        if not 1 <= number <= count:
            raise InputError("ended", str(number), f"give the number of a request, 1 to {count}")
    return frozenset(ended)


def _notes(
    server: Server, bodies: Sequence[tuple[str, Mapping[str, Any]]], *, endpoint: Endpoint
) -> Iterable[str]:
    rule = RULES.endpoints[endpoint]
    is_read = server.sampling_defaults == "model" and bool(rule.from_model)
    config, preferred = server.generation_config or {}, server.preferred or {}
    inert = [name for name in FIELDS if name in preferred and name not in rule.left_open]
    if inert:
        yield (
            f"The preferred {', '.join(inert)} change nothing: {rule.route} fills what a request leaves out "
            "before they are merged (sgl-project/sglang issue 39096)."
        )
    if config and not is_read:
        whose = f"{rule.route} does" if not rule.from_model else "OpenAI's sampling defaults do"
        yield f"{whose} not read generation_config.json."
    if endpoint == "generate" and any(has_fields_beside(body) for _, body in bodies):
        yield "/generate reads sampling_params alone; fields beside it were left out."
    if any(is_client_call(request_in(body)) for _, body in bodies):
        yield (
            f"A request holds {CLIENT_ONLY}, which OpenAI's client sends as fields of the body itself: what "
            "is in it was not read. Paste the body that is sent."
        )
    if endpoint != "generate" and any(NESTED in request_in(body) for _, body in bodies):
        yield f"{rule.route} does not read sampling_params; choose /generate if the requests go there."


def has_fields_beside(body: Mapping[str, Any]) -> bool:
    """Tell whether a body for /generate states one of the four where they are not read."""
    request = request_in(body)
    return is_nested(request) and bool(stated_in(request))
