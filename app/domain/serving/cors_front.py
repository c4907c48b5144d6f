"""Whether the server itself gave an answer of the CORS check, or something that stands in front of it.

A gateway that refuses, challenges or asks for a login speaks for itself: what the server behind it would let
a page do is then not known. A gateway that hands on what the server said is no reason to doubt it, so none is
told by its name alone where the answer is a success.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.domain.serving.cors_answer import is_of_access
from app.domain.serving.reading import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.serving.cors import Exchange, Kind
    from app.domain.serving.cors_answer import Answer

PASSED_MARKS: Final = (
    "via",
    "cf-ray",
    "x-envoy-upstream-service-time",
    "x-kong-upstream-latency",
    "x-amz-cf-id",
)
"""Headers of which only their presence says something: the answer has passed a gateway."""

OWN_MARKS: Final[Mapping[str, str]] = {
    "cf-mitigated": "Cloudflare's challenge",
    "x-vercel-mitigated": "Vercel's firewall",
    "x-amzn-waf-action": "AWS WAF's challenge",
    "x-goog-iap-generated-response": "Google's Identity-Aware Proxy",
    "x-sucuri-block": "Sucuri's firewall",
    "x-squid-error": "Squid",
    "x-kong-response-latency": "Kong",
}
"""Headers that a front sets only on an answer that it made itself, by the maker's own documentation, as
https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/."""

_OWN_SERVERS: Final[Mapping[str, str]] = {
    "akamaighost": "Akamai",
    "awselb": "a load balancer of AWS",
    "bigip": "a BIG-IP",
    "microsoft-azure-application-gateway": "Azure's Application Gateway",
    "squid": "Squid",
}
"""Names of servers that hand on the name of the one behind them: theirs stand on answers of their own."""

_EDGES: Final[Mapping[str, str]] = {
    "cloudflare": "Cloudflare",
    "cloudfront": "CloudFront",
    "ddos-guard": "DDoS-Guard",
    "google frontend": "Google's front end",
    "sucuri": "Sucuri",
}
"""Names that stand on all that passes, so they tell nothing unless what they stand on is a refusal."""

_EDGE_MARKS: Final[Mapping[str, str]] = {
    "cf-ray": "Cloudflare",
    "x-amz-cf-id": "CloudFront",
    "x-iinfo": "Imperva",
    "x-sucuri-id": "Sucuri",
}
"""Headers that do the same where no server gives its name; Cloudflare takes the place of every name."""

_ALLOW: Final = "allow"
_PAGE: Final = "text/html"
PRESENCE_MARKS: Final = frozenset({*PASSED_MARKS, *OWN_MARKS, *_EDGE_MARKS, _ALLOW})
"""Headers whose value is not read."""
_READ: Final = frozenset({"server", "location", "content-type", *PRESENCE_MARKS})

_GATEWAY: Final = frozenset({407, 502, 503, 504, 511, *range(520, 528), 530})
"""Statuses of a gateway, those from 520 on Cloudflare's own."""
_EDGE_REFUSES: Final = frozenset({403, 429, 503})
_REFUSED: Final = frozenset({401, 403})
_TOO_MANY: Final = 429
_NOT_FOUND: Final = 404


def is_read(name: str) -> bool:
    """Tell whether a header, its name in lower case, takes part in a verdict or in its words."""
    return is_of_access(name) or name in _READ


def differences(asked: Exchange) -> Iterator[str]:
    """Give what shows that not the same program made all answers."""
    plain = asked.plain
    for what, answer in asked.preflights:
        if answer.server and plain.server and answer.server != plain.server:
            yield f"the {what} was answered by {shown(answer.server)}, the GET by {shown(plain.server)}"
            break
    for what, answer in asked.preflights:
        mark = next(
            (mark for mark in PASSED_MARKS if (mark in answer.headers) != (mark in plain.headers)), ""
        )
        if mark:
            which = what if mark in answer.headers else "GET"
            yield f"only the answer to the {which} has passed a gateway ({mark})"
            break
    # A server's own layer lets in both or neither; only a refusal in front of that layer has no such header.
    if asked.may_post and not plain.allowed_origin and plain.is_good:
        yield (
            f"the preflight lets {asked.asked.origin} in and the GET's answer does not, as where a gateway"
            " answers preflights itself"
        )


def trouble(asked: Exchange, *, beside: Exchange | None = None) -> tuple[Kind, str] | None:
    """Return why nothing can be said of answers that let nobody in.

    `beside` are those to an origin that was let in. What answered both alike is no reason to doubt the one.
    """
    origin, before = asked.asked.origin, {} if beside is None else dict(beside.answers)
    answers = [
        (what, answer)
        for what, answer in asked.answers
        if not _is_alike(answer, before.get(what), origin=origin)
    ]
    for what, answer in answers:
        found = trouble_of(answer, what, origin=origin)
        if found is not None:
            return found
    if len(answers) < len(asked.answers):
        return None
    every = [answer for _, answer in answers]
    if all(answer.status == _NOT_FOUND for answer in every):
        return "cannot_tell", "nothing is at this address (404): give one that the server answers."
    if _are_pages(every):
        return "in_front", (
            "each request was answered with a web page (text/html), as a login, a filter or the portal of a"
            " network answers, and an API does not. What the server behind it would say is not known."
        )
    return None


def _is_alike(answer: Answer, before: Answer | None, *, origin: str) -> bool:
    """Tell whether a server gave another origin the same status, and no leave."""
    return (
        before is not None
        and answer.status == before.status
        and speaker(answer) == speaker(before)
        and not answer.lets_in(origin)
        and "," not in answer.allowed_origin
    )


def trouble_of(answer: Answer, what: str, *, origin: str) -> tuple[Kind, str] | None:
    """Return the kind and the reason where an answer that lets nobody in says nothing of the setting."""
    who = speaker(answer)
    if who is not None:
        why = f"the {what} got {answer.status} from what stands in front ({who}), which speaks for itself"
        return "in_front", f"{why}. What the server behind it would say is not known."
    if 300 <= answer.status < 400:  # noqa: PLR2004 - redirects
        nowhere = "nowhere" if answer.is_whole else "an address that was left out"
        to = shown(answer.headers.get("location", nowhere), most=200)
        if what == "GET" and answer.is_redirect and answer.lets_in(origin):
            why = f"the GET is redirected ({answer.status}) to {to}, where a browser takes the page"
            return (
                "cannot_tell",
                f"{why}: whether it reads the answer there is not known: check that address.",
            )
        return "cannot_tell", f"the {what} is redirected ({answer.status}) to {to}: check that address."
    if "," in answer.allowed_origin:
        said = shown(answer.allowed_origin)
        why = f"the {what}'s answer has several allowed origins ({said}), as when a gateway adds its own"
        return "in_front", f"{why}. Browsers refuse that, until all but one are gone."
    if answer.status in _GATEWAY:
        return "in_front", f"the {what} got {answer.status}, by which a gateway speaks for itself."
    passing = _passing(answer.status)
    return None if passing is None else ("cannot_tell", f"the {what} got {answer.status}{passing}")


def _passing(status: int) -> str | None:
    """Return why a server answered with a status that has nothing to do with its setting."""
    if status == _TOO_MANY:
        return ", too many requests: ask again later."
    return ": the server is at fault, not its setting." if status >= 500 else None  # noqa: PLR2004 - faults


def speaker(answer: Answer) -> str | None:
    """Return who in front of the server made an answer itself, None where nothing shows that."""
    mark = next((mark for mark in OWN_MARKS if mark in answer.headers), None)
    if mark is not None:
        return f"{OWN_MARKS[mark]}, by {mark}"
    if answer.status < 400:  # noqa: PLR2004 - neither a refusal nor a fault
        return None
    named = _named(answer, _OWN_SERVERS)
    if named is not None or answer.status not in _EDGE_REFUSES:
        return named
    named = _named(answer, _EDGES)
    if named is not None or (answer.server and "cf-ray" not in answer.headers):
        return named
    return next((who for mark, who in _EDGE_MARKS.items() if mark in answer.headers), None)


def _named(answer: Answer, names: Mapping[str, str]) -> str | None:
    """Return who of those that answer by a name did, as one of several too; None for nobody."""
    servers = (each.partition("/")[0].strip().lower() for each in answer.headers.get("server", "").split(","))
    return next((names[each] for each in servers if each in names), None)


def _are_pages(answers: Sequence[Answer]) -> bool:
    """Tell whether all are web pages where an API would give JSON or nothing.

    A list of methods (allow) is the answer of a framework to OPTIONS, whatever its type. Of refusals only
    those count that a login or a filter gives.
    """
    if any(answer.headers.get("content-type") is None for answer in answers):
        return False
    if any(answer.headers["content-type"].partition(";")[0].strip().lower() != _PAGE for answer in answers):
        return False
    if all(answer.is_good for answer in answers):
        return not any(_ALLOW in answer.headers for answer in answers)
    return all(answer.status in _REFUSED for answer in answers)
