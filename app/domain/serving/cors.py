"""Whether a page on another site may use a server: what a browser makes of the answers to two requests.

A page's JSON POST is preceded by a preflight, which the server must allow; a plain GET is sent at once, and
only its answer may be kept from the page. What a browser accepts is by the Fetch standard
(https://fetch.spec.whatwg.org): "CORS check" and "CORS-preflight fetch".

A page chooses which headers its POST has, and a browser asks for those alone. So the preflight of a POST with
nothing but its content type is always asked, and one with the further headers that were named beside it: what
a server says to the one does not tell what it says to the other, and the worse of the two counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from app.domain.serving.cors_answer import ALLOW_CREDENTIALS, ALLOW_HEADERS
from app.domain.serving.cors_front import differences, trouble
from app.domain.serving.reading import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import TypeGuard

    from app.domain.serving.cors_answer import Answer

What = Literal["preflight", "preflight with headers", "GET"]
"""A request: the preflight for content-type alone, that for the further headers as well, or the plain GET."""

Kind = Literal[
    "closed",
    "wildcard",
    "echoes",
    "echoes_with_credentials",
    "this_origin",
    "at_least_this_origin",
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
    "at_least_this_origin": "lets in this origin, at least",
    "null_origin": "lets in the origin null",
    "in_front": "answered by something in front",
    "cannot_tell": "cannot tell",
}

METHOD: Final = "POST"
BODY_HEADER: Final = "content-type"
"""What every JSON POST must ask for; a page without a key asks for nothing more."""

NEVER_BY_WILDCARD: Final = "authorization"
"""The one header that `*` does not allow by the standard; Chromium lets it pass all the same."""

MADE_UP: Final = ("https://some-page.example", "https://no-such-page.invalid")
"""Origins that no list holds: their last parts are reserved (RFC 2606)."""

NULL: Final = "null"
"""The origin of a sandboxed frame, which any page can put itself into."""

MOST_NAMES: Final = 20
MOST_CHARS: Final = 2_000

_ORIGIN: Final = re.compile(
    r"https?://(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?", re.IGNORECASE
)
_USUAL_PORT: Final = re.compile(r"^(http://.*(?=:80$)|https://.*(?=:443$)):\d+$")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_UNASKED: Final = (
    "A plain GET needs no preflight, nor a POST of plain text: the server gets them from any page."
)
_WORST_FIRST: Final[tuple[Kind, ...]] = (
    *("echoes_with_credentials", "echoes", "null_origin", "wildcard"),
    *("at_least_this_origin", "this_origin"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked: an address, as a page of which origin, with which further headers of its POST."""

    url: str
    origin: str
    names: tuple[str, ...]

    @property
    def further(self) -> tuple[str, ...]:
        """The headers of the POST that it can be sent without."""
        return tuple(name for name in self.names if name != BODY_HEADER)

    @property
    def bare(self) -> Asked:
        """The same of a POST without them."""
        return Asked(url=self.url, origin=self.origin, names=(BODY_HEADER,))

    @property
    def requests(self) -> Mapping[What, tuple[str, Mapping[str, str]]]:
        """Each request that a browser sends before the POST or in its place: its method and its headers."""
        whats: dict[What, Asked] = {"preflight": self.bare}
        if self.further:
            whats["preflight with headers"] = self
        preflights = {what: ("OPTIONS", _preflight(each)) for what, each in whats.items()}
        return {**preflights, "GET": ("GET", {"origin": self.origin})}

    def by(self, origin: str) -> Asked:
        """Return the same as a page of another origin would ask it."""
        return Asked(url=self.url, origin=origin, names=self.names)


def _preflight(asked: Asked) -> Mapping[str, str]:
    return {
        "origin": asked.origin,
        "access-control-request-method": METHOD,
        "access-control-request-headers": ",".join(asked.names),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What was asked as one origin, and all answers; `full` is that to the preflight with further headers."""

    asked: Asked
    preflight: Answer
    plain: Answer
    full: Answer | None = None

    @property
    def preflights(self) -> Sequence[tuple[What, Answer]]:
        """The answers to the preflights."""
        full: list[tuple[What, Answer]] = []
        if self.full is not None:
            full = [("preflight with headers", self.full)]
        return [("preflight", self.preflight), *full]

    @property
    def answers(self) -> Sequence[tuple[What, Answer]]:
        """All answers."""
        return [*self.preflights, ("GET", self.plain)]

    @property
    def posts(self) -> Sequence[tuple[Asked, Answer]]:
        """What each of them answers."""
        answers = (answer for _, answer in self.preflights)
        return list(zip((self.asked.bare, self.asked), answers, strict=False))

    @property
    def may_post(self) -> bool:
        """Tell whether a browser would send a JSON POST, with the further headers or without them."""
        return any(may_post(asked, answer) for asked, answer in self.posts)

    @property
    def may_post_bare(self) -> bool:
        """Tell whether it would send one without them."""
        return may_post(self.asked.bare, self.preflight)

    @property
    def may_post_full(self) -> bool | None:
        """Tell whether it would send one with them; None where there are none."""
        return None if self.full is None else may_post(self.asked, self.full)

    @property
    def may_read(self) -> bool | None:
        """Tell whether a browser would show the answer of the GET to the page.

        None for a redirect that it follows: the last answer decides.
        """
        lets_in = self.plain.lets_in(self.asked.origin)
        return None if lets_in and self.plain.is_redirect else lets_in

    @property
    def is_open(self) -> bool:
        """Tell whether the page gets anything."""
        return self.may_post or self.may_read is True

    @property
    def echoes(self) -> bool:
        """Tell whether an answer names the very origin that asked."""
        return any(answer.allowed_origin == self.asked.origin for _, answer in self.answers)

    @property
    def with_credentials(self) -> bool:
        """Tell whether what the page gets, it gets with the cookies and logins of who opens it."""
        reads = self.may_read is True and self.plain.takes_credentials(self.asked.origin)
        return reads or any(may_post_with_credentials(asked, answer) for asked, answer in self.posts)


def may_post(asked: Asked, preflight: Answer) -> bool:
    """Tell whether a browser would send the POST after the answer to a preflight for all its headers."""
    return preflight.is_good and preflight.lets_in(asked.origin) and not uncovered(asked, preflight)


def may_post_by_chromium(asked: Asked, preflight: Answer) -> bool:
    """Tell whether Chromium would send the POST though the standard says no: its * covers authorization."""
    is_wild = "*" in {each.strip() for each in preflight.headers.get(ALLOW_HEADERS, "").split(",")}
    lacks = list(uncovered(asked, preflight))
    return is_wild and lacks == [NEVER_BY_WILDCARD] and preflight.is_good and preflight.lets_in(asked.origin)


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


Second = Exchange | str
"""The answers to a second origin, or why it got none."""


def judge(asked: Exchange, *, null: Second | None = None, other: Second | None = None) -> Verdict:
    """Return what the answers mean for a page.

    `null` is the same asked as the origin null, `other` as an unrelated origin: `further_origin` tells where
    they are wanted. Without `other` an echo counts as one of any origin. A second origin of whose answers
    nothing can be said, as of none, was not refused.
    """
    if null is not None and not asked.is_open:
        return _judge_closed(asked, null)
    if _is_open(null) and not _is_open(other) and not any(differences(asked)):
        asked, null = null, None
    kind, is_open, why = _kind_of(asked, null=null, other=other)
    return _verdict(asked, kind, is_open=is_open, why=why)


def _judge_closed(asked: Exchange, null: Second) -> Verdict:
    """Return the verdict where the first origin gets nothing."""
    kind, is_open, why = _kind_of(null if _is_open(null) else asked)
    if _is_open(null):
        return _verdict(null, kind, is_open=is_open, why=why)
    unsaid = _unsaid(null)
    if kind != "closed" or unsaid is None:
        return _verdict(asked, kind, is_open=is_open, why=why)
    why = f"a page at {asked.asked.origin} gets nothing, but as null, which any page can take, {unsaid}"
    return _verdict(null if isinstance(null, Exchange) else asked, "cannot_tell", is_open=None, why=why)


def _verdict(asked: Exchange, kind: Kind, *, is_open: bool | None, why: str) -> Verdict:
    sentences = [f"{WORDS[kind]}: {why}", *seen(asked.asked, dict(asked.answers))]
    return Verdict(kind=kind, is_open=is_open, exchange=asked, sentences=tuple(sentences))


def _is_open(second: Second | None) -> TypeGuard[Exchange]:
    return isinstance(second, Exchange) and second.is_open


def _unsaid(second: Second, beside: Exchange | None = None) -> str | None:
    """Return why nothing can be said of a second origin that was not let in, None where it was refused."""
    if isinstance(second, str):
        return second
    found = trouble(second, beside=beside)
    return _by_chromium(second) if found is None else found[1]


def further_origin(asked: Exchange, further: Mapping[str, Second]) -> str | None:
    """Return the origin that must be asked as next before `asked` can be judged; None where none must.

    That is null where `asked` is closed. Where it echoes it is an unrelated made-up one, and null where that
    one is not let in. `further` has what was asked already.
    """
    own, other = asked.asked.origin, unrelated_to(asked.asked.origin)
    wanted: list[str] = []
    if not asked.is_open:
        wanted = [NULL]
    elif asked.echoes:
        wanted = [other] if _is_open(further.get(other)) else [other, NULL]
    return next((each for each in wanted if each != own and each not in further), None)


def unrelated_to(origin: str) -> str:
    """Return a made-up origin that is another one."""
    return next(each for each in MADE_UP if each != origin)


def judge_with(asked: Exchange, further: Mapping[str, Second]) -> Verdict:
    """Return what the answers mean, with those to each `further_origin`."""
    return judge(asked, null=further.get(NULL), other=further.get(unrelated_to(asked.asked.origin)))


def _kind_of(
    asked: Exchange, *, null: Second | None = None, other: Second | None = None
) -> tuple[Kind, bool | None, str]:
    front = tuple(differences(asked))
    if asked.is_open:
        gets = _gets(asked)
        if front:
            return "in_front", True, f"{'; '.join(front)}. As it is answered, {gets}."
        unsaid = list(_not_answered(asked, null=null, other=other))
        kind = _open_kind(asked, other, is_sure=not unsaid)
        words = f"{_open_words(kind, asked, other=other, is_sure=not unsaid)} {gets}."
        is_said = kind in {"at_least_this_origin", "null_origin"}
        return kind, True, " ".join([words, *(unsaid if is_said else [])])
    found = trouble(asked)
    if found is not None:
        kind, why = found
        return kind, None, why
    lenient = _by_chromium(asked)
    if lenient is not None:
        return "cannot_tell", None, lenient
    send = f"send a JSON POST{_ways(asked, bare=True, full=True)}"
    closed = f"a page at {asked.asked.origin} can neither {send} nor read the answer to a GET."
    return "closed", False, " ".join([closed, *(f"{each[0].upper()}{each[1:]}." for each in front)])


def _by_chromium(asked: Exchange) -> str | None:
    """Return what is to be said where Chromium sends a POST that the standard refuses."""
    if asked.full is None or not may_post_by_chromium(asked.asked, asked.full):
        return None
    return (
        f"by the standard a page at {asked.asked.origin} can send no JSON POST, as * does not allow"
        f" {NEVER_BY_WILDCARD}, but Chromium sends one with it: name the headers in place of the *."
    )


def _not_answered(asked: Exchange, *, null: Second | None, other: Second | None) -> Iterator[str]:
    """Give a sentence for each second origin of whose answers nothing can be said."""
    for second, who in ((other, "other origin"), (null, "origin null, which any page can take,")):
        if second is None or _is_open(second):
            continue
        why = _unsaid(second, asked)
        if why is not None:
            is_told = isinstance(second, Exchange) and _by_chromium(second) == why
            yield f"The {who} {'is not shut out' if is_told else 'was not answered'}: {_as(second)}{why}"


def _as(second: Second) -> str:
    return f"as {second.asked.origin}, " if isinstance(second, Exchange) else ""


def _open_kind(asked: Exchange, other: Second | None, *, is_sure: bool) -> Kind:
    """Return the worst of what lets the page in."""
    origin = asked.asked.origin
    kinds: set[Kind] = set()
    for answer, counts, creds in (
        *((each, may_post(sent, each), may_post_with_credentials(sent, each)) for sent, each in asked.posts),
        (asked.plain, asked.may_read, asked.plain.takes_credentials(origin)),
    ):
        if not counts:
            continue
        if answer.allowed_origin == "*":
            kinds.add("wildcard")
        elif answer.allowed_origin == NULL and not _is_open(other):
            kinds.add("null_origin")
        elif other is not None and not _is_open(other):
            kinds.add("this_origin" if is_sure else "at_least_this_origin")
        else:
            kinds.add("echoes_with_credentials" if creds else "echoes")
    return next(kind for kind in _WORST_FIRST if kind in kinds)


def _open_words(kind: Kind, asked: Exchange, *, other: Second | None, is_sure: bool) -> str:
    origin = asked.asked.origin
    creds = asked.with_credentials
    if kind in {"this_origin", "at_least_this_origin"}:
        is_refused = isinstance(other, Exchange) and (is_sure or _unsaid(other, asked) is None)
        but = f", and not {unrelated_to(origin)}" if is_refused else ""
        return f"it lets in {origin}{', with cookies and logins' if creds else ''}{but}:"
    also = f" and {other.asked.origin}" if isinstance(other, Exchange) else ""
    visitors = ", with the cookies and logins of its visitor"
    return {
        "wildcard": "every website is let in:",
        "null_origin": (
            f"every page can take the origin null, in a sandboxed frame{visitors if creds else ''}:"
        ),
        "echoes": f"it let in {origin}{also} by name, so every website:",
        "echoes_with_credentials": f"it let in {origin}{also} by name, so every website{visitors}:",
    }[kind]


def _gets(asked: Exchange) -> str:
    """Return what the page gets."""
    if not asked.may_post:
        return "the page may read the answer to a GET, and its JSON POST is not sent"
    ways = _ways(asked, bare=asked.may_post_bare, full=bool(asked.may_post_full))
    rest = {
        True: " and read the answer to a GET",
        False: ", and the answer to this GET is kept from it",
        None: f"; the GET is redirected ({asked.plain.status}), and the last answer decides about that",
    }[asked.may_read]
    return f"the page may send a JSON POST{ways}{rest}"


def _ways(asked: Exchange, *, bare: bool, full: bool) -> str:
    """Return whether a POST with or without its further headers is meant; nothing where it has none."""
    if asked.full is None:
        return ""
    names = named(asked.asked)
    if bare and full:
        return f" with {names} or without"
    return f" without {names}" if bare else f" with {names}"


def named(asked: Asked) -> str:
    """Return the further headers as one reads them."""
    return shown(", ".join(asked.further), most=200)


def seen(asked: Asked, answers: Mapping[What, Answer]) -> Iterator[str]:
    """Give a line for each answer, and what no setting prevents."""
    for what, answer in answers.items():
        method = "" if what == "GET" else "OPTIONS "
        yield f"{_titles(asked)[what]}: {method}as {asked.origin}, {_line(answer)}."
    if "GET" in answers and answers["GET"].is_good:
        yield _UNASKED


def _titles(asked: Asked) -> Mapping[What, str]:
    with_headers = f"Preflight with {named(asked)}"
    return {"preflight": "Preflight", "preflight with headers": with_headers, "GET": "Plain GET"}


def _line(answer: Answer) -> str:
    none = "no" if answer.is_whole else "no pasted"
    said = shown(answer.allowed_origin) if answer.allowed_origin else none
    creds = ", with credentials" if answer.headers.get(ALLOW_CREDENTIALS, "").strip() == "true" else ""
    return f"answered {answer.status} with {said} allowed origin{creds}"
