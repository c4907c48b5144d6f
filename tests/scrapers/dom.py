"""A small tree of HTML to change and write back, so that the drift tests do not use the parsers' own."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source"})


@dataclass(eq=False)
class Text:
    """A piece of text; `raw` is written as it is (comments, doctype, markup put in by a change)."""

    text: str
    raw: bool = False


@dataclass(eq=False)
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    inner: list[Element | Text] = field(default_factory=list)
    parent: Element | None = None

    def elements(self) -> list[Element]:
        return [node for node in self.inner if isinstance(node, Element)]

    def walk(self) -> Iterator[Element]:
        yield self
        for node in self.elements():
            yield from node.walk()

    def texts(self) -> Iterator[Text]:
        """Yield the visible text pieces under this element."""
        for node in self.inner:
            if isinstance(node, Element):
                yield from node.texts()
            elif not node.raw and node.text.strip():
                yield node

    def text(self) -> str:
        return " ".join(" ".join(piece.text for piece in self.texts()).split())

    def remove(self) -> None:
        assert self.parent is not None
        self.parent.inner.remove(self)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self.here = self.root

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Element(tag, {name: value or "" for name, value in attrs}, parent=self.here)
        self.here.inner.append(node)
        if tag not in VOID:
            self.here = node

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.here.tag == tag, (self.here.tag, tag)
        assert self.here.parent is not None
        self.here = self.here.parent

    def handle_data(self, data: str) -> None:
        self.here.inner.append(Text(data))

    def handle_comment(self, data: str) -> None:
        self.here.inner.append(Text(f"<!--{data}-->", raw=True))

    def handle_decl(self, decl: str) -> None:
        self.here.inner.append(Text(f"<!{decl}>", raw=True))


def read(body: bytes) -> Element:
    """Read well-formed HTML; an unclosed element is an error of the test."""
    builder = _Builder()
    builder.feed(body.decode())
    builder.close()
    assert builder.here is builder.root
    return builder.root


def write(node: Element) -> str:
    inner = "".join(
        write(child)
        if isinstance(child, Element)
        else child.text
        if child.raw
        else escape(child.text, quote=False)
        for child in node.inner
    )
    if not node.tag:
        return inner
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in node.attributes.items())
    return f"<{node.tag}{attributes}>" + ("" if node.tag in VOID else f"{inner}</{node.tag}>")
