"""The tool on CORS: the curl line that asks a server, and what the pasted answers let other sites do.

Nothing is fetched here: the visitor asks, and pastes what the server answered.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.domain.query_error import QueryError
from app.domain.serving.cors import MADE_UP, NULL, WORDS, asked_of
from app.domain.serving.cors_curl import TIMEOUT_S, curl_line, label, mark_of
from app.domain.serving.cors_found import NOT_ALL, find_pasted
from app.domain.serving.cors_pasted import ONE_EACH, kept_answers, read_pasted
from app.domain.serving.documents import pasted_document
from app.web.tools.fields import Field
from app.web.tools.tool import Example, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.serving.cors import Asked, Kind
    from app.domain.serving.cors_found import Finding, Reading
    from app.domain.serving.cors_pasted import Pasted
    from app.web.tools.fields import Typed
    from app.web.tools.tool import Llms

MOST_LINES_SHOWN: Final = 50
URL: Final = "http://127.0.0.1:8000/v1/chat/completions"

FIELDS: Final = (
    Field(
        name="url",
        label="Address of the server",
        about="The one that browsers use, not the server behind a gateway. Leave keys out of it.",
        default=URL,
    ),
    Field(
        name="origin",
        label="Ask as a page of this origin",
        about="A made-up one stands for every other website. Of a page of your own give scheme, host, port.",
        default=MADE_UP[0],
    ),
    Field(
        name="header",
        label="Further headers of its POST",
        about=(
            "Names beside content-type, as authorization; with commas or spaces between them. A POST"
            " without them is asked about as well, as a page may leave them out."
        ),
    ),
    Field(
        name="answers",
        label="What curl wrote",
        about="All of it. The lines that begin with == say whose answer stands above them.",
        rows=12,
    ),
    Field(
        name="preflight",
        label="Answer to the preflight",
        about=(
            "Status line and every header, as curl -i or -v shows them, of an OPTIONS request as that origin"
            " that asks for content-type alone."
        ),
        rows=6,
    ),
    Field(
        name="preflight_headers",
        label="Answer to the preflight with those headers",
        about="The same of one that asks for content-type and the further headers named above.",
        rows=6,
    ),
    Field(
        name="plain",
        label="Answer to the plain GET",
        about="The same of a GET as that origin.",
        rows=6,
    ),
)

_LIST: Final = "In vLLM that is --allowed-origins with the exact origins of your pages, or '[]' for none"
_SITES: Final = "Any site that a person opens who can reach this address may use the server"
NOT_REACHED: Final = (
    "The server itself was not reached, so nothing follows for who is let in. Ask again from where, and as"
    " whom, what stands in front lets requests through, and put its own setting right where it has one."
)
MEANS: Final[Mapping[Kind | None, str]] = {
    "closed": (
        "No page of another site gets anything here through a browser. Programs that are no browser, as curl,"
        " an SDK or a gateway, ask no leave: what holds those off is a key, and no way to reach it."
    ),
    "wildcard": (
        f"{_SITES} and read what it answers, with the GPU time that takes; a key that the page does not have"
        f" is all that is in its way. Name the origins that may. {_LIST}; up to 0.31 its default is everyone,"
        " from 0.32 no one."
    ),
    "echoes": (
        f"{_SITES}: to name whoever asks is to let everyone in, as a wildcard does, only harder to see. Look"
        f" for a pattern that fits any origin. {_LIST}."
    ),
    "echoes_with_credentials": (
        f"{_SITES}, as the person who opens it: their cookies and logins go with it. Starlette answers so"
        f" when everyone is allowed and credentials are too, so never set both. {_LIST}."
    ),
    "this_origin": (
        "The list does what a list is for, if you put that origin there. Pages are told apart by scheme, host"
        " and port, to the letter: http://localhost:3000 and http://127.0.0.1:3000 are two."
    ),
    "at_least_this_origin": (
        "Whether that is a list or an echo of whoever asks is not known until every origin is answered. Put"
        " right what the sentence names, and ask again; take it as open to every website until then."
    ),
    "null_origin": (
        f"{_SITES}: it need only put itself into a sandboxed frame, whose origin is null. Take null off the"
        " list."
    ),
    "in_front": (
        "What was read is the setting of what stands in front, so a setting of the server changes nothing"
        " here. Set it there, and ask at the address that browsers use."
    ),
    "cannot_tell": "Nothing follows for who is let in. Put right what the sentence names, and ask again.",
    None: "There is no verdict without what is missing, and none is guessed.",
}
"""What each verdict means for who runs the server; vLLM's defaults as published on 2026-10-14."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was asked, and what the pasted answers say."""

    asked: Asked
    finding: Finding

    @property
    def title(self) -> str:
        """The verdict in a few words."""
        kind = self.finding.kind
        return NOT_ALL.capitalize() if kind is None else f"The verdict: {WORDS[kind]}"

    @property
    def first(self) -> str:
        """What the first sentence says below that title."""
        kind = self.finding.kind
        start = NOT_ALL if kind is None else WORDS[kind]
        sentence = self.finding.sentences[0].removeprefix(start).lstrip(":; ")
        return f"{sentence[0].upper()}{sentence[1:]}"

    @property
    def means(self) -> str:
        """What it means for who runs the server."""
        is_reached = self.finding.kind != "in_front" or self.finding.is_open is not None
        return MEANS[self.finding.kind] if is_reached else NOT_REACHED

    @property
    def lines(self) -> list[Reading]:
        """The lines of the answers that count, at most as many as a page shows."""
        return self.finding.lines[:MOST_LINES_SHOWN]

    @property
    def more(self) -> int:
        """How many lines are not shown."""
        return max(0, len(self.finding.lines) - MOST_LINES_SHOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorsTool(Tool):
    """The tool, which makes the line to run of what was typed."""

    def line(self, typed: Typed) -> str:
        """Return the curl line, empty where what to ask is wrong, as the page then says."""
        try:
            return curl_line(_asked(typed))
        except QueryError:
            return ""

    @property
    def timeout_s(self) -> int:
        """Return how long the line waits for each answer."""
        return TIMEOUT_S


def _asked(typed: Typed) -> Asked:
    return asked_of(typed.text("url").strip(), origin=typed.text("origin"), names=typed.names("header"))


def _pasted(typed: Typed, asked: Asked) -> Pasted:
    one_each = {name: typed.text(name) for name in ONE_EACH.values()}
    return read_pasted(asked, answers=typed.text("answers"), **one_each)


def find(typed: Typed, _llms: Llms) -> Found | None:
    """Return what the pasted answers say, None where none were."""
    asked = _asked(typed)
    pasted = _pasted(typed, asked)
    return None if pasted.is_empty else Found(asked=asked, finding=find_pasted(asked, pasted))


def kept(typed: Typed) -> Mapping[str, str]:
    """Return what was asked, and of the answers what the check reads: no cookie, no login, no token."""
    asked = _asked(typed)
    pasted = _pasted(typed, asked)
    texts = {**typed.texts, "answers": "", **dict.fromkeys(ONE_EACH.values(), "")}
    if typed.text("answers").strip():
        return {**texts, "answers": kept_answers(asked, pasted)}
    one_each = {
        name: reply.text for what, name in ONE_EACH.items() if (reply := pasted.reply(what, asked.origin))
    }
    return {**texts, **one_each}


def document(found: Found) -> dict[str, Any]:
    """Return what was found as JSON."""
    return pasted_document(found.finding)


def rows(found: Found) -> Iterator[Sequence[object]]:
    """Yield each line of the answers that counts."""
    origin = found.finding.asked.origin
    for each in found.finding.lines:
        yield each.what, origin, each.header, each.value, each.means


def command(typed: Typed) -> str:
    """Return the line that asks by itself in a terminal."""
    words = ["inferprice", "check", "cors", typed.text("url").strip()]
    if typed.text("origin") != MADE_UP[0]:
        words += ["--origin", typed.text("origin").strip()]
    return shlex.join([*words, *(word for name in typed.names("header") for word in ("--header", name))])


def _example(name: str, answers: Mapping[str, tuple[str, str]]) -> Example:
    """Return an example of what a server answers to each origin: to the preflight, and to the GET."""
    mark = mark_of(asked_of(URL))
    texts = [
        f"{preflight}\n{label('preflight', origin, mark=mark)}\n{plain}\n{label('GET', origin, mark=mark)}\n"
        for origin, (preflight, plain) in answers.items()
    ]
    return Example(label=name, texts={"answers": "".join(texts)})


_REFUSED: Final = ("HTTP/1.1 400\nserver: uvicorn\n", "HTTP/1.1 405\nserver: uvicorn\n")
_STAR: Final = "access-control-allow-origin: *\n"
_STAR_POST: Final = f"{_STAR}access-control-allow-headers: content-type\n"

TOOL: Final = CorsTool(
    name="cors",
    title="Who may call a server from a browser",
    about="Makes the curl line that asks a server as a page on another site would, and reads the answers.",
    fields=FIELDS,
    find=find,
    document=document,
    columns=("answer", "origin", "header", "value", "means"),
    rows=rows,
    command=command,
    kept=kept,
    is_pasted=True,
    examples=(
        _example("a closed server", {MADE_UP[0]: _REFUSED, NULL: _REFUSED}),
        _example(
            "a wildcard, as vLLM 0.31 starts",
            {MADE_UP[0]: (f"HTTP/1.1 200\nserver: uvicorn\n{_STAR_POST}", f"HTTP/1.1 405\n{_STAR}")},
        ),
        _example(
            "answered by something in front",
            {MADE_UP[0]: (f"HTTP/1.1 204\nserver: nginx\n{_STAR_POST}", "HTTP/1.1 200\nserver: uvicorn\n")},
        ),
    ),
)
