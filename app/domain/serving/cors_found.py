"""What pasted answers say of who may use a server: the verdict, or what can be said and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.serving.cors import (
    ALLOW_CREDENTIALS,
    ALLOW_HEADERS,
    ALLOW_ORIGIN,
    NULL,
    WORDS,
    allow_headers,
    further_origin,
    is_good,
    judge,
    judge_with,
    may_post,
    may_post_with_credentials,
    seen,
    trouble_of,
    uncovered,
)
from app.domain.serving.cors_curl import METHODS, origins
from app.domain.serving.reading import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.serving.cors import Answer, Asked, Exchange, Kind, Verdict
    from app.domain.serving.cors_curl import What
    from app.domain.serving.cors_pasted import Pasted

NOT_ALL: Final = "not all is pasted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """What a page of one origin gets; None where the answer that says it was not pasted."""

    origin: str
    preflight: Answer | None
    plain: Answer | None
    may_post: bool | None
    may_read: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What pasted answers say.

    `kind` is None, and `missing` not empty, where the verdict depends on what was not pasted; `is_open` is
    None where it is not known. `asked` is what the two answers answer that the sentences are about.
    """

    kind: Kind | None
    is_open: bool | None
    asked: Asked
    preflight: Answer | None
    plain: Answer | None
    with_credentials: bool | None
    sentences: tuple[str, ...]
    missing: tuple[str, ...]
    got: tuple[Got, ...]

    @property
    def lines(self) -> list[Reading]:
        """What a browser makes of each line of the two answers that counts."""
        return list(readings(self.asked, preflight=self.preflight, plain=self.plain))

    @property
    def own(self) -> Got:
        """What the page gets that the sentences are about."""
        return next(each for each in self.got if each.origin == self.asked.origin)


def find_pasted(asked: Asked, pasted: Pasted) -> Finding:
    """Return the verdict on pasted answers, the same that asking gives; without all that it needs, none."""
    first = pasted.exchange(asked)
    silent = _silent(asked, pasted)
    if silent:
        return _finding(asked, pasted, kind="cannot_tell", sentences=silent)
    if first is None:
        return _partly(asked, pasted)
    origin = further_origin(first)
    if origin is None:
        return _whole(judge(first), asked, pasted=pasted)
    second = asked.by(origin)
    silent = _silent(second, pasted)
    if silent:
        return _finding(asked, pasted, kind="cannot_tell", sentences=silent)
    further = pasted.exchange(second)
    if further is not None:
        return _whole(judge_with(first, further), asked, pasted=pasted)
    return _lacking(first, second, pasted=pasted)


def _silent(asked: Asked, pasted: Pasted) -> list[str]:
    """Return a sentence for each request of an origin that got no answer."""
    return [
        f"{WORDS['cannot_tell']}: the {what} as {asked.origin} got no whole answer: {why}."
        for what in METHODS
        if (why := pasted.unanswered.get((what, asked.origin)))
    ]


def _whole(verdict: Verdict, asked: Asked, *, pasted: Pasted) -> Finding:
    found = verdict.exchange
    return Finding(
        kind=verdict.kind,
        is_open=verdict.is_open,
        asked=found.asked,
        preflight=found.preflight,
        plain=found.plain,
        with_credentials=found.with_credentials,
        sentences=verdict.sentences,
        missing=(),
        got=tuple(_got(asked, pasted)),
    )


def _finding(
    asked: Asked,
    pasted: Pasted,
    *,
    kind: Kind | None = None,
    is_open: bool | None = None,
    sentences: Sequence[str],
    missing: Sequence[str] = (),
) -> Finding:
    """Return a finding without a whole exchange that it is about."""
    return Finding(
        kind=kind,
        is_open=is_open,
        asked=asked,
        preflight=pasted.answer("preflight", asked.origin),
        plain=pasted.answer("GET", asked.origin),
        with_credentials=None,
        sentences=tuple(sentences),
        missing=tuple(missing),
        got=tuple(_got(asked, pasted)),
    )


def _got(asked: Asked, pasted: Pasted) -> Iterator[Got]:
    for origin in origins(asked):
        preflight, plain = pasted.answer("preflight", origin), pasted.answer("GET", origin)
        if origin == asked.origin or preflight or plain:
            yield Got(
                origin=origin,
                preflight=preflight,
                plain=plain,
                may_post=None if preflight is None else may_post(asked.by(origin), preflight),
                may_read=None if plain is None else plain.lets_in(origin),
            )


_WHY: Final[Mapping[What, str]] = {
    "preflight": "whether a page may send a JSON POST",
    "GET": "whether a page may read the answer to a GET",
}


def _partly(asked: Asked, pasted: Pasted) -> Finding:
    """Say what one answer says, or none of the two that everything begins with."""
    origin = asked.origin
    own = next(_got(asked, pasted))
    missing = [
        f"the answer to the {what} as {origin}: {why}"
        for what, why in _WHY.items()
        if (what, origin) not in pasted.replies
    ]
    said = list(_alone(own, asked))
    is_open = True if own.may_post or own.may_read else None
    start = f"{NOT_ALL}; so far {said[0]}" if said else f"{NOT_ALL}: nothing can be said yet."
    return _finding(asked, pasted, is_open=is_open, sentences=[start, *said[1:]], missing=missing)


def _alone(own: Got, asked: Asked) -> Iterator[str]:
    """Give what a single answer says."""
    answers: tuple[tuple[What, Answer | None, bool | None, str], ...] = (
        ("preflight", own.preflight, own.may_post, "send a JSON POST"),
        ("GET", own.plain, own.may_read, "read the answer to a GET"),
    )
    for what, answer, may, gain in answers:
        if answer is None:
            continue
        trouble = None if may else trouble_of(answer, what)
        if trouble is not None:
            yield f"{WORDS[trouble[0]]}: {trouble[1]}"
        else:
            yield f"a page at {asked.origin} {'may' if may else 'may not'} {gain}."
    yield from seen(asked, preflight=own.preflight, plain=own.plain)


def _lacking(first: Exchange, second: Asked, *, pasted: Pasted) -> Finding:
    """Say what both answers say as one origin where those as a second one are missing."""
    verdict = judge(first)
    origin = first.asked.origin
    if second.origin == NULL:
        so_far = verdict.sentences[0]
        why = "any page can take that origin, in a sandboxed frame"
        is_open = None
    elif verdict.kind == "in_front":
        # Whoever answers in front, what it would say to another origin changes nothing of that.
        return _whole(verdict, first.asked, pasted=pasted)
    else:
        so_far = f"it lets in {origin} by name. What it would say to another origin is not known."
        why = f"they tell a server that lets in {origin} from one that lets in whoever asks"
        is_open = True
    lacks = [what for what in METHODS if (what, second.origin) not in pasted.replies]
    return _finding(
        first.asked,
        pasted,
        is_open=is_open,
        sentences=[f"{NOT_ALL}; so far {so_far}", *verdict.sentences[1:]],
        missing=[f"the answers to the {' and the '.join(lacks)} as {second.origin}: {why}"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One line of an answer, and what a browser makes of it; `value` is empty for a header not there."""

    what: What
    header: str
    value: str
    means: str


def readings(asked: Asked, *, preflight: Answer | None, plain: Answer | None) -> Iterator[Reading]:
    """Yield the status and the access-control headers of both answers, by the Fetch standard."""
    answers: tuple[tuple[What, Answer | None], ...] = (("preflight", preflight), ("GET", plain))
    for what, answer in answers:
        if answer is None:
            continue
        yield Reading(what=what, header="status", value=str(answer.status), means=_status(what, answer))
        wanted = {ALLOW_ORIGIN: "", **({ALLOW_HEADERS: ""} if what == "preflight" else {})}
        for header, value in (wanted | dict(allow_headers(answer))).items():
            means = _means(header, value, what=what, answer=answer, asked=asked)
            yield Reading(what=what, header=header, value=value, means=means)


def _status(what: What, answer: Answer) -> str:
    if what == "GET":
        return "any status: whether a page may read an answer does not depend on it"
    if is_good(answer):
        return "a success, which a preflight must be"
    return "no success, so the preflight fails whatever its headers say"


def _means(header: str, value: str, *, what: What, answer: Answer, asked: Asked) -> str:
    if header == ALLOW_ORIGIN:
        return _origin_means(value, asked)
    if header == ALLOW_CREDENTIALS:
        return _credentials_mean(value, answer, what=what, asked=asked)
    if header == ALLOW_HEADERS and what == "preflight":
        return _headers_mean(answer, asked)
    known = _PREFLIGHT_ONLY if what == "preflight" else _GET_ONLY
    return known.get(header, "nothing in an answer to this request")


_PREFLIGHT_ONLY: Final[Mapping[str, str]] = {
    "access-control-allow-methods": "a POST needs no leave, so it decides nothing here",
    "access-control-max-age": "for how many seconds a browser may go by this answer without asking again",
}
_GET_ONLY: Final[Mapping[str, str]] = {
    "access-control-expose-headers": "which further headers of the answer a page may read, if it may read it",
}


def _origin_means(value: str, asked: Asked) -> str:
    said = value.strip()
    if not said:
        return "not there: no page on another site is let in"
    if said == "*":
        return "every page is let in, without cookies and logins"
    if "," in said:
        return "more than one origin, which is none"
    if said != asked.origin:
        return f"not {asked.origin} to the letter, so that page is not let in"
    if said == NULL:
        return "any page is let in from a sandboxed frame"
    return "the very origin that asked is let in"


def _credentials_mean(value: str, answer: Answer, *, what: What, asked: Asked) -> str:
    if value.strip() != "true":
        return "only true counts, so cookies and logins are not let through"
    if answer.allowed_origin == "*":
        return "nothing beside *: a request with cookies and logins is refused"
    if not answer.takes_credentials(asked.origin):
        return "nothing, as the page is not let in"
    if what == "GET" or may_post_with_credentials(asked, answer):
        return "the page is let in with the cookies and logins of whoever opens it"
    if may_post(asked, answer):
        return "not for this POST: with cookies and logins, * in access-control-allow-headers allows nothing"
    return "nothing, as the preflight fails"


def _headers_mean(answer: Answer, asked: Asked) -> str:
    lacks = uncovered(asked, answer)
    if lacks:
        return f"does not allow {shown(', '.join(lacks), most=200)}, so the POST is not sent"
    return f"allows {shown(', '.join(asked.names), most=200)}, which is all that the POST asks for"
