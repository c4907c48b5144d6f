"""What pasted answers say of who may use a server: the verdict, or what can be said and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.serving.cors import (
    BODY_HEADER,
    NEVER_BY_WILDCARD,
    NULL,
    WORDS,
    further_origin,
    judge_with,
    may_post,
    may_post_by_chromium,
    may_post_with_credentials,
    named,
    seen,
    uncovered,
)
from app.domain.serving.cors_answer import (
    ALLOW_CREDENTIALS,
    ALLOW_HEADERS,
    ALLOW_ORIGIN,
    allow_headers,
)
from app.domain.serving.cors_curl import origins
from app.domain.serving.cors_front import trouble_of
from app.domain.serving.reading import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.serving.cors import Asked, Exchange, Kind, Verdict, What
    from app.domain.serving.cors_answer import Answer
    from app.domain.serving.cors_pasted import Pasted

NOT_ALL: Final = "not all is pasted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """What a page of one origin gets; None where what was pasted does not say it.

    `may_post` is a JSON POST with the further headers or without them, `may_post_full` one with them.
    """

    origin: str
    answers: Mapping[What, Answer]
    may_post: bool | None
    may_post_full: bool | None
    may_read: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What pasted answers say.

    `kind` is None, and `missing` not empty, where the verdict depends on what was not pasted; `is_open` is
    None where it is not known. `asked` is what the answers answer that the sentences are about.
    """

    kind: Kind | None
    is_open: bool | None
    asked: Asked
    answers: Mapping[What, Answer]
    with_credentials: bool | None
    sentences: tuple[str, ...]
    missing: tuple[str, ...]
    got: tuple[Got, ...]

    @property
    def lines(self) -> list[Reading]:
        """What a browser makes of each line of the answers that counts."""
        return list(readings(self.asked, self.answers))

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
    further: dict[str, Exchange | str] = {}
    while (origin := further_origin(first, further)) is not None:
        second = asked.by(origin)
        silent = _silent(second, pasted)
        exchange = pasted.exchange(second)
        if silent and not first.is_open:
            return _finding(asked, pasted, kind="cannot_tell", sentences=silent)
        if silent:
            further[origin] = silent[0].removeprefix(f"{WORDS['cannot_tell']}: ")
        elif exchange is not None:
            further[origin] = exchange
        else:
            return _lacking(first, second, further=further, pasted=pasted)
    return _whole(judge_with(first, further), asked, pasted=pasted)


def _silent(asked: Asked, pasted: Pasted) -> list[str]:
    """Return a sentence for each request of an origin that got no answer."""
    return [
        f"{WORDS['cannot_tell']}: the {what} as {asked.origin} got no whole answer: {why}."
        for what in asked.requests
        if (why := pasted.unanswered.get((what, asked.origin)))
    ]


def _whole(verdict: Verdict, asked: Asked, *, pasted: Pasted) -> Finding:
    found = verdict.exchange
    return Finding(
        kind=verdict.kind,
        is_open=verdict.is_open,
        asked=found.asked,
        answers=pasted.answers(found.asked),
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
    answers = pasted.answers(asked)
    return Finding(
        kind=kind,
        is_open=is_open,
        asked=asked,
        answers=answers,
        with_credentials=None,
        sentences=(*sentences, *_as_another(asked, answers)),
        missing=tuple(missing),
        got=tuple(_got(asked, pasted)),
    )


def _as_another(asked: Asked, answers: Mapping[What, Answer]) -> Iterator[str]:
    """Give a warning where an answer names another origin: it may well be the one that was sent."""
    said = {answer.allowed_origin for answer in answers.values()} - {"", "*", NULL, asked.origin}
    for each in sorted(said):
        if "," not in each:
            yield (
                f"It names {shown(each)}. If that is the origin that was sent, it may be an echo of any:"
                " give that origin above."
            )


def _got(asked: Asked, pasted: Pasted) -> Iterator[Got]:
    for origin in origins(asked):
        each = asked.by(origin)
        answers = pasted.answers(each)
        if origin != asked.origin and not answers:
            continue
        posts = {
            what: _may(each, what, answer=answers[what]) if what in answers else None
            for what in asked.requests
        }
        may_read = posts.pop("GET")
        yield Got(
            origin=origin,
            answers=answers,
            may_post=True if True in posts.values() else None if None in posts.values() else False,
            may_post_full=posts.get("preflight with headers"),
            may_read=may_read,
        )


def _may(asked: Asked, what: What, *, answer: Answer) -> bool | None:
    """Tell whether a page gets what an answer is about, None where that is not known.

    The line that says it may be left out, or stand in the answer to which a redirect leads.
    """
    lets_in = answer.lets_in(asked.origin)
    if what == "GET":
        if lets_in and answer.is_redirect:
            return None
        gets, is_said = lets_in, bool(answer.allowed_origin)
    else:
        gets = may_post(_sent(asked, what), answer)
        wanted = ALLOW_HEADERS if lets_in else ALLOW_ORIGIN
        is_said = not answer.is_good or wanted in answer.headers
    return gets if gets or is_said or answer.is_whole else None


def _sent(asked: Asked, what: What) -> Asked:
    """Return the POST that a preflight is about."""
    return asked.bare if what == "preflight" else asked


def _gains(asked: Asked) -> Mapping[What, str]:
    """Return what each answer is about."""
    return {
        "preflight": "send a JSON POST",
        "preflight with headers": f"send a JSON POST with {named(asked)}",
        "GET": "read the answer to a GET",
    }


def _partly(asked: Asked, pasted: Pasted) -> Finding:
    """Say what some answers say, or none of those that everything begins with."""
    own = next(_got(asked, pasted))
    said = list(_alone(own, asked))
    is_open = True if own.may_post or own.may_read else None
    start = f"{NOT_ALL}; so far {said[0]}" if said else f"{NOT_ALL}: nothing can be said yet."
    return _finding(
        asked, pasted, is_open=is_open, sentences=[start, *said[1:]], missing=list(_missing(asked, pasted))
    )


def _missing(asked: Asked, pasted: Pasted) -> Iterator[str]:
    """Give each answer that was not pasted, or not whole, and what it would say."""
    for what, gain in _gains(asked).items():
        if what not in asked.requests:
            continue
        answer = pasted.answer(what, asked.origin)
        if answer is None:
            yield f"the answer to the {what} as {asked.origin}: whether a page may {gain}"
        elif not answer.is_whole:
            header = _lack(what, answer)
            yield (
                f"the whole answer to the {what} as {asked.origin}, with every line of its headers"
                f"{f', {header} too if it was sent' if header else ''}: lines were left out, as by grep"
            )


def _lack(what: What, answer: Answer) -> str | None:
    """Return the header that a cut answer does not have and that counts, None where both are there."""
    wanted = (ALLOW_ORIGIN,) if what == "GET" else (ALLOW_ORIGIN, ALLOW_HEADERS)
    return next((name for name in wanted if name not in answer.headers), None)


def _alone(own: Got, asked: Asked) -> Iterator[str]:
    """Give what single answers say."""
    for what, answer in own.answers.items():
        may = _may(asked, what, answer=answer)
        trouble = None if may else trouble_of(answer, what, origin=asked.origin)
        gain = _gains(asked)[what]
        if trouble is not None:
            yield f"{WORDS[trouble[0]]}: {trouble[1]}"
        elif may is None:
            yield f"{WORDS['cannot_tell']}: {_unknown(asked, what, answer=answer)}"
        else:
            yield f"a page at {asked.origin} {'may' if may else 'may not'} {gain}."
    yield from seen(asked, own.answers)


def _unknown(asked: Asked, what: What, *, answer: Answer) -> str:
    """Say why a cut answer does not tell whether a page gets what it is about."""
    gain = _gains(asked)[what]
    why = (
        f"whether a page at {asked.origin} may {gain} is not known:"
        f" {_lack(what, answer)} is missing from what was pasted."
    )
    if not answer.lets_in(asked.origin):
        return why
    # As the article of 2026-10-14 (vLLM 0.32 stops ...) reads that line.
    return (
        f"{why} The line {ALLOW_ORIGIN}: {shown(answer.allowed_origin)} by itself reads as open: take it so"
        " until the whole answer is here."
    )


def _lacking(
    first: Exchange, second: Asked, *, further: Mapping[str, Exchange | str], pasted: Pasted
) -> Finding:
    """Say what both answers say as one origin where those as a second one are missing."""
    verdict = judge_with(first, further)
    origin = first.asked.origin
    is_open = first.is_open or None
    if second.origin == NULL:
        so_far = verdict.sentences[0]
        why = "any page can take that origin, in a sandboxed frame"
    elif verdict.kind == "in_front":
        # Whoever answers in front, what it would say to another origin changes nothing of that.
        return _whole(verdict, first.asked, pasted=pasted)
    else:
        so_far = f"it lets in {origin} by name. What it would say to another origin is not known."
        why = f"they tell a server that lets in {origin} from one that lets in whoever asks"
    lacks = [what for what in second.requests if (what, second.origin) not in pasted.replies]
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


def readings(asked: Asked, answers: Mapping[What, Answer]) -> Iterator[Reading]:
    """Yield the status and the access-control headers of each answer, by the Fetch standard."""
    for what, answer in answers.items():
        yield Reading(what=what, header="status", value=str(answer.status), means=_status(what, answer))
        wanted = {ALLOW_ORIGIN: "", **({ALLOW_HEADERS: ""} if what != "GET" else {})}
        for header, value in (wanted | dict(allow_headers(answer))).items():
            is_left_out = not answer.is_whole and header not in answer.headers
            means = _LEFT_OUT if is_left_out else _means(header, value, what=what, answer=answer, asked=asked)
            yield Reading(what=what, header=header, value=value, means=means)


_LEFT_OUT: Final = "not in what was pasted, of which lines were left out"


def _status(what: What, answer: Answer) -> str:
    if what == "GET" and answer.is_redirect:
        return "a redirect: a page that is let in follows it, and the last answer decides what it may read"
    if what == "GET":
        return "any status: whether a page may read an answer does not depend on it"
    if answer.is_good:
        return "a success, which a preflight must be"
    return "no success, so the preflight fails whatever its headers say"


def _means(header: str, value: str, *, what: What, answer: Answer, asked: Asked) -> str:
    if header == ALLOW_ORIGIN:
        return _origin_means(value, asked)
    if header == ALLOW_CREDENTIALS:
        return _credentials_mean(value, answer, what=what, asked=asked)
    if header == ALLOW_HEADERS and what != "GET":
        return _headers_mean(answer, _sent(asked, what))
    known = _GET_ONLY if what == "GET" else _PREFLIGHT_ONLY
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
    sent = _sent(asked, what)
    if what == "GET" or may_post_with_credentials(sent, answer):
        return "the page is let in with the cookies and logins of whoever opens it"
    if may_post(sent, answer):
        return "not for this POST: with cookies and logins, * in access-control-allow-headers allows nothing"
    return "nothing, as the preflight fails"


def _headers_mean(answer: Answer, asked: Asked) -> str:
    lacks = uncovered(asked, answer)
    if may_post_by_chromium(asked, answer):
        return (
            f"* does not allow {NEVER_BY_WILDCARD}: by the standard a POST with it is not sent;"
            " Chromium sends it nevertheless"
        )
    if lacks:
        which = "the POST" if BODY_HEADER in lacks else "a POST with it"
        return f"does not allow {shown(', '.join(lacks), most=200)}, so {which} is not sent"
    return f"allows {shown(', '.join(asked.names), most=200)}, which is all that the POST asks for"
