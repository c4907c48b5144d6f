"""Reads response headers as people paste them, from curl or from elsewhere: whose answers they are.

Nothing is asked here. Of what was pasted only what the CORS check reads is kept: no cookie, no login, no
query of an address that an answer redirects to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.serving.cors import Exchange
from app.domain.serving.cors_answer import Answer, is_of_access
from app.domain.serving.cors_curl import LABEL, label, mark_of, origins
from app.domain.serving.cors_front import PRESENCE_MARKS, is_read
from app.domain.serving.reading import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.serving.cors import Asked, What

    Key = tuple[What, str]
    Line = tuple[int, str]

MOST_CHARS: Final = 200_000
MOST_LINES: Final = 4_000
ONE_EACH: Final[Mapping[What, str]] = {
    "preflight": "preflight",
    "preflight with headers": "preflight_headers",
    "GET": "plain",
}
"""The fields that take one answer each, by what was asked."""

_STATUS: Final = re.compile(r"HTTP/(\d(?:\.\d)?) (\d{3})(?: (.*))?")
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}):(.*)")
_REQUEST: Final = re.compile(r"> ([A-Z]{1,20}) \S+ HTTP/\d(?:\.\d)?")
_FROM: Final = re.compile(r"> origin: *(\S{1,300})", re.IGNORECASE)
_FOR: Final = re.compile(r"> access-control-request-headers: *(.{0,3000})", re.IGNORECASE)
_CURL_SAYS: Final = re.compile(r"curl: \(\d{1,3}\) ")
_MARKED: Final = re.compile(r"<(?: |$)")
_CURL_TELLS: Final = re.compile(r"[*>](?: .*)?|[{}] \[\d+ bytes data\]")
"""Lines of `curl -v` that are no part of an answer."""
_SPACES: Final = " \t"

_DATED: Final = "date: seen\n"
"""Stands in a kept answer for the headers that the check does not read, which show that none was left out."""

_CUT: Final = "its headers break off before the blank line that ends them"
_SILENT: Final = "curl got none, and says why in a line of its own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer as it was pasted: `start` is its status line without the words."""

    start: str
    answer: Answer

    @property
    def text(self) -> str:
        """The same as text that reads as the same answer, with nothing that the check does not read."""
        headers = self.answer.headers
        dated = [_DATED] if self.answer.is_whole and all(map(is_of_access, headers)) else []
        return "".join(
            [f"{self.start}\n", *(f"{name}: {value}\n" for name, value in headers.items()), *dated, "\n"]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pasted:
    """The answers by request and origin, and the requests that got none, with the reason."""

    replies: Mapping[Key, Reply]
    unanswered: Mapping[Key, str]

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing was pasted."""
        return not self.replies and not self.unanswered

    def answer(self, what: What, origin: str) -> Answer | None:
        """Return an answer, None for one that was not pasted."""
        reply = self.reply(what, origin)
        return reply.answer if reply else None

    def reply(self, what: What, origin: str) -> Reply | None:
        """Return an answer as it was pasted, None for one that was not."""
        return self.replies.get((what, origin))

    def answers(self, asked: Asked) -> Mapping[What, Answer]:
        """Return the answers to what is asked as an origin that were pasted, in the order of asking."""
        pairs = ((what, self.answer(what, asked.origin)) for what in asked.requests)
        return {what: answer for what, answer in pairs if answer is not None}

    def exchange(self, asked: Asked) -> Exchange | None:
        """Return all answers to what is asked as an origin, None unless each was pasted whole."""
        answers = self.answers(asked)
        if set(answers) != set(asked.requests) or not all(each.is_whole for each in answers.values()):
            return None
        return Exchange(
            asked=asked,
            preflight=answers["preflight"],
            plain=answers["GET"],
            full=answers.get("preflight with headers"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """The head of one message: its lines, the first of which is the status line at `line`."""

    line: int
    start: str
    status: int
    words: str
    fields: tuple[tuple[str, str], ...]
    is_whole: bool


def read_pasted(asked: Asked, *, answers: str, **one_each: str) -> Pasted:
    """Return what was pasted: `answers` is what the curl line wrote, those of `ONE_EACH` one answer each.

    Raises:
        InputError: too long, no answer, whose it is cannot be told, answers to another question, or a line
            that is no header; its field is `answers` or one of `ONE_EACH`, with the line where there is one.
    """
    found: dict[Key, Reply | str] = {}
    if answers.strip():
        found = _labelled(_lines(answers, "answers"), asked)
    for what, name in ONE_EACH.items():
        text = one_each.get(name, "")
        if not text.strip():
            continue
        if answers.strip():
            raise InputError(name, shown(text.strip()), "give it here or in answers, not in both")
        if what not in asked.requests:
            why = "name its further headers above, or give it as the answer to the preflight"
            raise InputError(name, shown(text.strip()), why)
        lines = _lines(text, name)
        _check_request(lines, name, what=what, asked=asked)
        found[what, asked.origin] = _reply(lines, name, is_labelled=False)
    return Pasted(
        replies={key: each for key, each in found.items() if isinstance(each, Reply)},
        unanswered={key: each for key, each in found.items() if isinstance(each, str)},
    )


def kept_answers(asked: Asked, pasted: Pasted) -> str:
    """Return what reads as the same answers below `answers`, with nothing that the check does not read."""
    mark = mark_of(asked)
    keys = [(what, origin) for origin in origins(asked) for what in asked.requests]
    return "".join(
        [
            f"{_kept(pasted, key)}{label(*key, mark=mark)}\n"
            for key in keys
            if key in pasted.replies or key in pasted.unanswered
        ]
    )


def _kept(pasted: Pasted, key: Key) -> str:
    if key in pasted.replies:
        return pasted.replies[key].text
    # The start of an answer, and none of its headers, is one that breaks off.
    return "HTTP/1.1 000\n" if pasted.unanswered[key] == _CUT else ""


def _lines(text: str, name: str) -> list[Line]:
    if len(text) > MOST_CHARS:
        raise InputError(name, f"{len(text):,} characters", f"paste at most {MOST_CHARS:,}: headers alone")
    lines = [(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), start=1)]
    if len(lines) > MOST_LINES:
        raise InputError(name, f"{len(lines):,} lines", f"paste at most {MOST_LINES:,}: headers alone")
    return lines


def _labelled(lines: Sequence[Line], asked: Asked) -> dict[Key, Reply | str]:
    """Return the answers above the line that says whose each is."""
    found: dict[Key, Reply | str] = {}
    begin = 0
    for at, (number, text) in enumerate(lines):
        labelled = LABEL.fullmatch(text.strip())
        if labelled is None:
            continue
        key = _key(labelled, number, asked=asked)
        reply = _reply(lines[begin:at], "answers", is_labelled=True)
        if found.setdefault(key, reply) != reply:
            raise InputError(f"answers line {number}", text, "it is there twice, and differs; paste one run")
        begin = at + 1
    rest = _answered(lines[begin:])
    if rest:
        number, text = rest[0]
        why = "no line that begins with == says whose answer this is; run the curl line as it is given"
        raise InputError(f"answers line {number}", shown(text), why)
    if not found:
        why = "holds no answer; paste all that the curl line wrote, or one answer in a field of its own"
        raise InputError("answers", shown(_first(lines)), why)
    return found


def _first(lines: Sequence[Line]) -> str:
    return next((text.strip() for _, text in lines if text.strip()), "")


def _key(labelled: re.Match[str], number: int, *, asked: Asked) -> Key:
    what = next((each for each in asked.requests if each == labelled[1]), None)
    if what is None or labelled[3] != mark_of(asked) or labelled[2] not in origins(asked):
        why = "it answers another address, origin or header than the form's; run its curl line and paste that"
        raise InputError(f"answers line {number}", labelled[0], why)
    return what, labelled[2]


def _check_request(lines: Sequence[Line], name: str, *, what: What, asked: Asked) -> None:
    """Refuse what `curl -v` says was another request."""
    method, headers = asked.requests[what]
    names = _names(headers.get("access-control-request-headers", ""))
    for number, text in lines:
        line = text.rstrip()
        asks, comes, wants = _REQUEST.fullmatch(line), _FROM.fullmatch(line), _FOR.fullmatch(line)
        if asks and asks[1] != method:
            why = f"this answers {asks[1]}; paste the answer to {method}"
        elif comes and comes[1] != asked.origin:
            why = f"this was asked as another origin than {asked.origin}"
        elif wants and names and _names(wants[1]) != names:
            asked_for = ", ".join(sorted(names))
            why = f"this was asked for other headers than {asked_for}; name the further ones above"
        else:
            continue
        raise InputError(f"{name} line {number}", shown(text), why)


def _names(text: str) -> set[str]:
    return {each.strip().lower() for each in text.split(",") if each.strip()}


def _reply(lines: Sequence[Line], name: str, *, is_labelled: bool) -> Reply | str:
    """Return the one answer among lines, or why there is none."""
    blocks = [block for block in _blocks(lines, name) if block.status // 100 != 1]
    while len(blocks) > 1 and blocks[0].status // 100 == 2 and "established" in blocks[0].words.lower():  # noqa: PLR2004 - a proxy's tunnel
        del blocks[0]
    if not blocks:
        return _no_reply(lines, name, is_labelled=is_labelled)
    first = blocks[0]
    # What stands below a redirect is the answer of another address.
    if len(blocks) > 1 and first.status // 100 != 3:  # noqa: PLR2004 - redirects
        why = "a second answer where one is wanted; paste one run as it is"
        raise InputError(f"{name} line {blocks[1].line}", blocks[1].start, why)
    if is_labelled and not first.is_whole:
        return _CUT
    if first.status < 100:  # noqa: PLR2004 - the least that HTTP has
        raise InputError(f"{name} line {first.line}", first.start, "a status is a number from 100 on")
    return Reply(
        start=first.start,
        answer=Answer(
            status=first.status,
            headers=_headers(first),
            is_whole=is_labelled or not _is_cut(first),
        ),
    )


def _is_cut(block: _Block) -> bool:
    """Tell whether lines were left out of an answer, as `grep` does.

    A server that has a clock gives the date (RFC 9110, 6.6.1), and nearly all give a length or a name, too.
    With no line but those that a search for the origin or for access-control leaves, `vary` among them, an
    answer is not as it came.
    """
    lines = (f"{name}: {value}".lower() for name, value in block.fields)
    return all("access-control" in line or "origin" in line for line in lines)


def _no_reply(lines: Sequence[Line], name: str, *, is_labelled: bool) -> str:
    headless = next((line for line in lines if _is_header(line[1])), None)
    if headless is not None:
        why = "no status line stands above it; paste the answer from HTTP/ on"
        raise InputError(f"{name} line {headless[0]}", shown(headless[1]), why)
    if not is_labelled:
        raise InputError(name, shown(_first(lines)), "holds no answer; paste it from HTTP/ on")
    return _SILENT


def _is_header(text: str) -> bool:
    header = _HEADER.fullmatch(text)
    return header is not None and is_read(header[1].lower())


def _answered(lines: Sequence[Line]) -> list[Line]:
    """Return the status lines among lines."""
    return [(number, text) for number, text in _responses(lines) if _STATUS.fullmatch(text.rstrip())]


def _responses(lines: Sequence[Line]) -> list[Line]:
    """Return what is part of an answer, without the marks of `curl -v`."""
    bare = [line for line in lines if not _MARKED.match(line[1])]
    marked = [(number, text[2:]) for number, text in lines if _MARKED.match(text)]
    # With -D as well each line is there both ways.
    is_bare = any(_STATUS.fullmatch(text.rstrip()) for _, text in bare)
    chosen = bare if is_bare or not marked else sorted([*marked, *bare])
    return [line for line in chosen if not _CURL_TELLS.fullmatch(line[1])]


def _blocks(lines: Sequence[Line], name: str) -> Iterator[_Block]:
    read = _responses(lines)
    starts = [
        (at, status) for at, (_, text) in enumerate(read) if (status := _STATUS.fullmatch(text.rstrip()))
    ]
    ends = [*(at for at, _ in starts[1:]), len(read)]
    for (begin, status), end in zip(starts, ends, strict=False):
        yield _block(status, read[begin:end], name=name)


def _block(status: re.Match[str], lines: Sequence[Line], *, name: str) -> _Block:
    ends = next((at for at, (_, text) in enumerate(lines) if not text.strip()), len(lines))
    return _Block(
        line=lines[0][0],
        start=f"HTTP/{status[1]} {status[2]}",
        status=int(status[2]),
        words=status[3] or "",
        fields=tuple(_fields(lines[1:ends], name)),
        is_whole=ends < len(lines),
    )


def _fields(lines: Sequence[Line], name: str) -> Iterator[tuple[str, str]]:
    """Yield names in lower case and values, the folded ones whole."""
    kept: list[tuple[str, list[str]]] = []
    for number, text in lines:
        header = _HEADER.fullmatch(text)
        if kept and text[0] in _SPACES:
            kept[-1][1].append(text.strip(_SPACES))
        elif _CURL_SAYS.match(text):
            continue
        elif header is None:
            raise InputError(f"{name} line {number}", shown(text), "give a header as name: value")
        else:
            kept.append((header[1].lower(), [header[2].strip(_SPACES)]))
    yield from ((field, " ".join(parts).strip(_SPACES)) for field, parts in kept)


def _headers(block: _Block) -> dict[str, str]:
    """Return the headers that the check reads, all printable, several of one name joined by a comma."""
    values: dict[str, list[str]] = {}
    for name, value in block.fields:
        if is_read(name):
            values.setdefault(name, []).append(shown(_said(name, value), most=MOST_CHARS))
    return {name: ", ".join(each) for name, each in values.items()}


def _said(name: str, value: str) -> str:
    if name in PRESENCE_MARKS:
        return "seen"
    if name == "content-type":
        return value.partition(";")[0].strip()
    # The query of a login page may hold a secret, and so may the part before @.
    return re.sub(r"//[^/@]*@", "//", re.split(r"[?#]", value)[0]) if name == "location" else value
