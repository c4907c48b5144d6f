"""Whether a page on another site may use a server: what a browser makes of the answers to two requests.

A page's JSON POST is preceded by a preflight, which the server must allow; a plain GET is sent at once, and
only its answer may be kept from the page. What a browser accepts is by the Fetch standard
(https://fetch.spec.whatwg.org): "CORS check" and "CORS-preflight fetch".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from app.domain.serving.reading import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

Kind = Literal[
    "closed",
    "wildcard",
    "echoes",
    "echoes_with_credentials",
    "this_origin",
    "null_origin",
    "in_front",
    "cannot_tell",
]

WORDS: Final[Mapping[Kind, str]] = {
    "closed": "closed",
    "wildcard": "wildcard",
    "echoes": "echoes any origin",
    "echoes_with_credentials": "echoes with credentials",
    "this_origin": "lets in this origin",
    "null_origin": "lets in the origin null",
    "in_front": "answered by something in front",
    "cannot_tell": "cannot tell",
}

METHOD: Final = "POST"
BODY_HEADER: Final = "content-type"
"""What every JSON POST must ask for; a page without a key asks for nothing more."""

NEVER_BY_WILDCARD: Final = "authorization"
"""The one header that `*` does not allow."""

MADE_UP: Final = ("https://some-page.example", "https://no-such-page.invalid")
"""Origins that no list holds: their last parts are reserved (RFC 2606)."""

NULL: Final = "null"
"""The origin of a sandboxed frame, which any page can put itself into."""

MOST_NAMES: Final = 20
MOST_CHARS: Final = 2_000
ALLOW_ORIGIN: Final = "access-control-allow-origin"
ALLOW_HEADERS: Final = "access-control-allow-headers"
ALLOW_CREDENTIALS: Final = "access-control-allow-credentials"

_ORIGIN: Final = re.compile(
    r"https?://(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?", re.IGNORECASE
)
_USUAL_PORT: Final = re.compile(r"^(http://.*(?=:80$)|https://.*(?=:443$)):\d+$")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_TOO_MANY: Final = 429
_GATEWAY: Final = (407, 502, 503, 504, 511)
FRONT_MARKS: Final = (
    "via",
    "cf-ray",
    "x-envoy-upstream-service-time",
    "x-kong-upstream-latency",
    "x-amz-cf-id",
)
"""Headers of which only their presence says something: the answer has passed a gateway."""
_UNASKED: Final = (
    "A plain GET needs no preflight, nor a POST of plain text: the server gets them from any page."
)
_WORST_FIRST: Final[tuple[Kind, ...]] = ("echoes_with_credentials", "echoes", "null_origin", "wildcard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked: an address, as a page of which origin, with which further headers of its POST."""

    url: str
    origin: str
    names: tuple[str, ...]

    def preflight(self) -> Mapping[str, str]:
        """Return the headers of the OPTIONS request that a browser sends before the POST."""
        return {
            "origin": self.origin,
            "access-control-request-method": METHOD,
            "access-control-request-headers": ",".join(self.names),
        }

    def plain(self) -> Mapping[str, str]:
        """Return the headers of the GET, for which a browser asks nobody first."""
        return {"origin": self.origin}

    def by(self, origin: str) -> Asked:
        """Return the same as a page of another origin would ask it."""
        return Asked(url=self.url, origin=origin, names=self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status and headers of one answer: names in lower case, several of one name joined by a comma."""

    status: int
    headers: Mapping[str, str]

    @property
    def allowed_origin(self) -> str:
        """The origin it lets in, empty for none."""
        return self.headers.get(ALLOW_ORIGIN, "").strip()

    def lets_in(self, origin: str) -> bool:
        """Tell whether its headers let a page of an origin in."""
        return self.allowed_origin in {"*", origin}

    def takes_credentials(self, origin: str) -> bool:
        """Tell whether they do so with cookies and logins; never beside a wildcard."""
        return self.allowed_origin == origin and self.headers.get(ALLOW_CREDENTIALS, "").strip() == "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What was asked as one origin, and both answers."""

    asked: Asked
    preflight: Answer
    plain: Answer

    @property
    def may_post(self) -> bool:
        """Tell whether a browser would send the POST after this preflight."""
        return may_post(self.asked, self.preflight)

    @property
    def may_read(self) -> bool:
        """Tell whether a browser would show the answer of the GET to the page."""
        return self.plain.lets_in(self.asked.origin)

    @property
    def is_open(self) -> bool:
        """Tell whether the page gets anything."""
        return self.may_post or self.may_read

    @property
    def echoes(self) -> bool:
        """Tell whether an answer names the very origin that asked."""
        return self.asked.origin in {self.preflight.allowed_origin, self.plain.allowed_origin}

    @property
    def with_credentials(self) -> bool:
        """Tell whether what the page gets, it gets with the cookies and logins of who opens it."""
        return may_post_with_credentials(self.asked, self.preflight) or self.plain.takes_credentials(
            self.asked.origin
        )


def may_post(asked: Asked, preflight: Answer) -> bool:
    """Tell whether a browser would send the POST after the answer to a preflight."""
    return is_good(preflight) and preflight.lets_in(asked.origin) and not uncovered(asked, preflight)


def may_post_with_credentials(asked: Asked, preflight: Answer) -> bool:
    """Tell whether it would send the POST with cookies and logins, too."""
    return (
        may_post(asked, preflight)
        and preflight.takes_credentials(asked.origin)
        and not uncovered(asked, preflight, with_credentials=True)
    )


def uncovered(asked: Asked, preflight: Answer, *, with_credentials: bool = False) -> Sequence[str]:
    """Return the headers of the POST that the answer to a preflight does not allow.

    A wildcard covers every name but one, and none where cookies and logins go along.
    """
    allowed = {each.strip().lower() for each in preflight.headers.get(ALLOW_HEADERS, "").split(",")}
    is_wild = "*" in allowed and not with_credentials
    return [
        name for name in asked.names if name not in allowed and (not is_wild or name == NEVER_BY_WILDCARD)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict; `is_open` is None where nothing can be said. `sentences` begin with the verdict itself."""

    kind: Kind
    is_open: bool | None
    exchange: Exchange
    sentences: tuple[str, ...]


def asked_of(url: str, *, origin: str | None = None, names: Collection[str] = ()) -> Asked:
    """Return what to ask, as a page with a made-up origin and no header but the POST's own unless told.

    Raises:
        InputError: no http address, an origin that is none or the server's own, or a name that is none.
    """
    own = _own_origin(url)
    asking = MADE_UP[0] if origin is None else origin.strip()
    if asking != NULL and not _ORIGIN.fullmatch(asking):
        raise InputError(
            "origin", shown(origin), "give scheme and host alone, like https://chat.example, or null"
        )
    asking = _USUAL_PORT.sub(r"\1", asking.lower())
    if asking == own.lower():
        raise InputError("origin", asking, "it is the server's own; give the origin of another site")
    wrong = next((name for name in names if not _TOKEN.fullmatch(name)), None)
    if wrong is not None:
        raise InputError("header", shown(wrong), "give the name of a header, like authorization")
    if len(names) > MOST_NAMES:
        raise InputError("header", f"{len(names)} names", f"give at most {MOST_NAMES}")
    # A browser sends them sorted, each once, in lower case.
    every = sorted({BODY_HEADER, *(name.lower() for name in names)})
    return Asked(url=url, origin=asking, names=tuple(every))


def _own_origin(url: str) -> str:
    """Return the origin of the server's address."""
    try:
        # The function itself, as its cache would keep what was typed.
        parts = urlsplit.__wrapped__(url)  # type: ignore[attr-defined]  # its stub leaves the cache out
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in {"http", "https"} or len(url) > MOST_CHARS or not url.isprintable():
        raise InputError("url", shown(url), "give an address like http://127.0.0.1:8000/v1/chat/completions")
    if parts.username is not None or parts.password is not None:
        raise InputError("url", f"{parts.scheme}://...@{shown(host)}", "leave user and password out")
    shown_host = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{shown_host}" + (f":{port}" if port not in {None, usual} else "")


def judge(asked: Exchange, *, null: Exchange | None = None, other: Exchange | None = None) -> Verdict:
    """Return what the answers mean for a page.

    `null` is the same asked as the origin null, wanted where `asked` is closed; `other` as an unrelated
    origin, wanted where `asked` echoes: without it an echo counts as one of any origin.
    """
    if not asked.is_open and null is not None and null.is_open:
        asked = null
    kind, is_open, why = _kind_of(asked, other)
    sentences = [f"{WORDS[kind]}: {why}", *seen(asked.asked, preflight=asked.preflight, plain=asked.plain)]
    return Verdict(kind=kind, is_open=is_open, exchange=asked, sentences=tuple(sentences))


def further_origin(asked: Exchange) -> str | None:
    """Return the origin that must be asked as, too, before `asked` can be judged; None where none must.

    That is null where `asked` is closed, and an unrelated made-up one where it echoes.
    """
    if not asked.is_open and asked.asked.origin != NULL:
        return NULL
    return unrelated_to(asked.asked.origin) if asked.echoes else None


def unrelated_to(origin: str) -> str:
    """Return a made-up origin that is another one."""
    return next(each for each in MADE_UP if each != origin)


def judge_with(asked: Exchange, further: Exchange | None) -> Verdict:
    """Return what the answers mean, with those to `further_origin`."""
    if further is not None and further.asked.origin == NULL:
        return judge(asked, null=further)
    return judge(asked, other=further)


def is_read(name: str) -> bool:
    """Tell whether a header, its name in lower case, takes part in a verdict or in its words."""
    return name.startswith("access-control-") or name in {"server", "location", *FRONT_MARKS}


def _kind_of(asked: Exchange, other: Exchange | None) -> tuple[Kind, bool | None, str]:
    front = tuple(_in_front(asked))
    if asked.is_open:
        gets = _gets(asked)
        if front:
            return "in_front", True, f"{'; '.join(front)}. As it is answered, {gets}."
        kind = _open_kind(asked, other)
        return kind, True, f"{_open_words(kind, asked, other=other)} {gets}."
    trouble = _trouble(asked)
    if trouble is not None:
        kind, why = trouble
        return kind, None, why
    closed = f"a page at {asked.asked.origin} can neither send a JSON POST nor read the answer to a GET."
    return "closed", False, " ".join([closed, *(f"{each[0].upper()}{each[1:]}." for each in front)])


def _open_kind(asked: Exchange, other: Exchange | None) -> Kind:
    """Return the worst of what lets the page in."""
    origin = asked.asked.origin
    kinds: set[Kind] = set()
    preflight, plain = asked.preflight, asked.plain
    posts = may_post_with_credentials(asked.asked, preflight)
    for answer, counts, creds in (
        (preflight, asked.may_post, posts),
        (plain, asked.may_read, plain.takes_credentials(origin)),
    ):
        if not counts:
            continue
        if answer.allowed_origin == "*":
            kinds.add("wildcard")
        elif answer.allowed_origin == NULL and not (other is not None and other.is_open):
            kinds.add("null_origin")
        elif other is not None and not other.is_open:
            return "this_origin"
        else:
            kinds.add("echoes_with_credentials" if creds else "echoes")
    return next(kind for kind in _WORST_FIRST if kind in kinds)


def _open_words(kind: Kind, asked: Exchange, *, other: Exchange | None) -> str:
    origin = asked.asked.origin
    if kind == "this_origin":
        refused = other.asked.origin if other is not None else ""
        creds = ", with cookies and logins" if asked.with_credentials else ""
        return f"it lets in {origin}{creds}, and not {refused}:"
    also = f" and {other.asked.origin}" if other is not None else ""
    return {
        "wildcard": "every website is let in:",
        "null_origin": "every page can take the origin null, in a sandboxed frame:",
        "echoes": f"it let in {origin}{also} by name, so every website:",
        "echoes_with_credentials": (
            f"it let in {origin}{also} by name, so every website, with the cookies and logins of its visitor:"
        ),
    }[kind]


def _gets(asked: Exchange) -> str:
    """Return what the page gets."""
    if asked.may_post and asked.may_read:
        return "the page may send a JSON POST and read the answer to a GET"
    if asked.may_post:
        return "the page may send a JSON POST, and the answer to this GET is kept from it"
    return "the page may read the answer to a GET, and its JSON POST is not sent"


def _in_front(asked: Exchange) -> Iterator[str]:
    """Give what shows that not the same program made both answers."""
    preflight, plain = asked.preflight, asked.plain
    names = [
        answer.headers.get("server", "").partition("/")[0].strip().lower() for answer in (preflight, plain)
    ]
    if all(names) and names[0] != names[1]:
        yield f"the preflight was answered by {shown(names[0])}, the GET by {shown(names[1])}"
    for mark in FRONT_MARKS:
        if (mark in preflight.headers) != (mark in plain.headers):
            which = "preflight" if mark in preflight.headers else "GET"
            yield f"only the answer to the {which} has passed a gateway ({mark})"
            break
    # A server's own layer lets in both or neither; only a refusal in front of that layer has no such header.
    if asked.may_post and not plain.allowed_origin and is_good(plain):
        yield (
            f"the preflight lets {asked.asked.origin} in and the GET's answer does not, as where a gateway"
            " answers preflights itself"
        )


def _trouble(asked: Exchange) -> tuple[Kind, str] | None:
    """Return why nothing can be said of answers that let nobody in."""
    for what, answer in (("preflight", asked.preflight), ("GET", asked.plain)):
        found = trouble_of(answer, what)
        if found is not None:
            return found
    if asked.preflight.status == asked.plain.status == 404:  # noqa: PLR2004 - not found
        return "cannot_tell", "nothing is at this address (404): give one that the server answers."
    return None


def trouble_of(answer: Answer, what: str) -> tuple[Kind, str] | None:
    """Return the kind and the reason where an answer that lets nobody in says nothing of the setting."""
    if 300 <= answer.status < 400:  # noqa: PLR2004 - redirects
        to = shown(answer.headers.get("location", "nowhere"), most=200)
        return "cannot_tell", f"the {what} is redirected ({answer.status}) to {to}: check that address."
    if "," in answer.allowed_origin:
        said = shown(answer.allowed_origin)
        why = f"the {what}'s answer has several allowed origins ({said}), as when a gateway adds its own"
        return "in_front", f"{why}. Browsers refuse that, until all but one are gone."
    if answer.status in _GATEWAY:
        return "in_front", f"the {what} got {answer.status}, by which a gateway speaks for itself."
    if answer.status == _TOO_MANY:
        return "cannot_tell", f"the {what} got {answer.status}, too many requests: ask again later."
    if answer.status >= 500:  # noqa: PLR2004 - faults of a server
        return "cannot_tell", f"the {what} got {answer.status}: the server is at fault, not its setting."
    return None


def seen(asked: Asked, *, preflight: Answer | None = None, plain: Answer | None = None) -> Iterator[str]:
    """Give a line for each answer, and what no setting prevents."""
    if preflight is not None:
        yield f"Preflight: OPTIONS as {asked.origin}, {_line(preflight)}."
    if plain is not None:
        yield f"Plain GET: as {asked.origin}, {_line(plain)}."
        if is_good(plain):
            yield _UNASKED


def _line(answer: Answer) -> str:
    said = shown(answer.allowed_origin) if answer.allowed_origin else "no"
    creds = ", with credentials" if answer.headers.get(ALLOW_CREDENTIALS, "").strip() == "true" else ""
    return f"answered {answer.status} with {said} allowed origin{creds}"


def is_good(answer: Answer) -> bool:
    """Tell whether a browser takes a status for a success, as it must be of a preflight."""
    return 200 <= answer.status < 300  # noqa: PLR2004 - what a browser calls ok


def allow_headers(answer: Answer) -> Sequence[tuple[str, str]]:
    """Return the headers of an answer that say who is let in, and how."""
    return [
        (name, value) for name, value in sorted(answer.headers.items()) if name.startswith("access-control-")
    ]
