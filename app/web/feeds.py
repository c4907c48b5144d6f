"""The changes as an Atom feed (RFC 4287): one entry for each day and provider, for all or for a choice."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import escape

from app import __version__
from app.settings import PROJECT_URL
from app.web import changes_words, words
from app.web.answers import Answer
from app.web.changes_page import answer_changes, title
from app.web.changes_query import changes_link
from app.web.render import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.changes import Change
    from app.web.boards import Served
    from app.web.changes_query import ChangesQuery, Days

FEED_DAYS: Final = 30
"""Days with changes that a feed looks back."""

MOST_ENTRIES: Final = 100
MOST_LINES: Final = 50
"""Entries of a feed and lines of an entry: a reader keeps what it has seen, and the page has the rest."""

ATOM: Final = "application/atom+xml; charset=utf-8"
NAMESPACE: Final = "http://www.w3.org/2005/Atom"

# RFC 4151: whoever held this name on this day says what the rest of such an id means.
_TAG: Final = f"tag:{urlsplit(PROJECT_URL).hostname},2026-11-29:changes"

_BASE: Final = "http://base.invalid/"
"""Stands in a finished feed for the address it was asked at, which differs from reader to reader."""

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document may hold, not even as a reference."""


def changes_atom(request: Request) -> Response:
    """Answer the latest changes as a feed; `provider` and `gpu` choose as on the page."""
    base = str(request.base_url)
    escaped = str(escape(base)).encode()
    return answer_changes(
        request,
        lambda served, days: Answer(feed_bytes(served, days), ATOM),
        limit=FEED_DAYS,
        base=base,
        finish=lambda answer: Answer(answer.body.replace(_BASE.encode(), escaped), ATOM),
    )


def feed_bytes(served: Served, days: Days) -> bytes:
    """Return the feed of some days as UTF-8, with a stand-in for the address of this site."""
    query = days.query
    feed = Element("feed", {"xmlns": NAMESPACE, "xml:lang": "en"})
    entries = list(_entries(days))[:MOST_ENTRIES]
    newest = max(
        (updated for updated, _ in entries), default=served.newest or datetime(1970, 1, 1, tzinfo=UTC)
    )
    _text(feed, "id", _id(query))
    _text(feed, "title", f"InferPrice: {title(query)}")
    _text(feed, "updated", words.utc(newest))
    _text(
        feed, "subtitle", "GPU list prices as providers change them. In US dollars for one GPU for one hour."
    )
    SubElement(feed, "link", rel="self", type="application/atom+xml", href=_address("/changes.atom", query))
    SubElement(feed, "link", rel="alternate", type="text/html", href=_address("/changes", query))
    _text(SubElement(feed, "author"), "name", "InferPrice")
    SubElement(feed, "generator", uri=PROJECT_URL, version=__version__).text = "InferPrice"
    feed.extend(entry for _, entry in entries)
    return bytes(tostring(feed, encoding="utf-8", xml_declaration=True))


def _entries(days: Days) -> Iterator[tuple[datetime, Element]]:
    """Yield an entry for each day and provider, the latest first, with the time of its last change."""
    for day in days.days:
        by_provider = sorted(day.changes, key=lambda change: change.offer.provider)
        for provider, group in groupby(by_provider, key=lambda change: change.offer.provider):
            changes = list(group)
            updated = max(change.at for change in changes)
            yield updated, _entry(days.query, provider, day=day.day.isoformat(), changes=changes)


def _entry(query: ChangesQuery, provider: str, *, day: str, changes: list[Change]) -> Element:
    """Return the entry of one provider on one day."""
    entry = Element("entry")
    chosen = query.replace(day=changes[0].at.date(), provider=(provider,))
    name = words.provider_name(provider)
    template = environment().get_template("changes_entry.html")
    html = template.render(
        lines=[changes_words.line(change) for change in changes[:MOST_LINES]],
        left_out=max(0, len(changes) - MOST_LINES),
        base=_BASE,
    )
    _text(entry, "id", _id(query.replace(provider=()), f"/{day}/{quote(provider, safe='')}"))
    _text(entry, "title", f"{name}, {day}: {changes_words.counted(changes)}")
    _text(entry, "updated", words.utc(max(change.at for change in changes)))
    _text(entry, "published", words.utc(min(change.at for change in changes)))
    SubElement(entry, "link", rel="alternate", type="text/html", href=_address("/changes", chosen))
    SubElement(entry, "category", term=provider, label=name)
    _text(entry, "content", html, type="html")
    return entry


def _id(query: ChangesQuery, path: str = "") -> str:
    """Return an id that stays: the same day and provider in two feeds is one entry, unless cards differ."""
    chosen = query.replace(day=None, provider=tuple(sorted(query.provider)), gpu=tuple(sorted(query.gpu)))
    return changes_link(f"{_TAG}{path}", chosen)


def _address(path: str, query: ChangesQuery) -> str:
    return _BASE + changes_link(path, query).removeprefix("/")


def _text(parent: Element, name: str, text: str, **attributes: str) -> None:
    """Add an element that holds a text, without the characters that no XML document may hold."""
    SubElement(parent, name, attributes).text = _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
