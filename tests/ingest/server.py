"""A real HTTP server on this machine that answers as a test tells it to, and remembers what it was asked."""

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Reply = Callable[["Handler"], None]


@dataclass
class Host:
    """One server: what it answers by path (the last of several replies stays), and every request it saw."""

    url: str
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    seen: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    seen_at_s: list[float] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def answer(self, path: str, *replies: Reply) -> str:
        self.replies[path] = list(replies)
        return self.url + path

    def asked(self, path: str) -> int:
        return [seen_path for _, seen_path in self.seen].count(path)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    host: Host

    def do_GET(self) -> None:
        self.host.seen.append((self.command, self.path))
        self.host.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.host.seen_at_s.append(time.monotonic())
        self.host.bodies.append(self.rfile.read(int(self.headers.get("content-length", 0))))
        replies = self.host.replies.get(self.path, [status(404)])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        # A client that hangs up in the middle is what several tests are about.
        with suppress(ConnectionError):
            reply(self)

    do_POST = do_GET  # noqa: N815 - http.server's name

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def page(body: bytes, **headers: str) -> Reply:
    return status(200, body, **headers)


def status(code: int, body: bytes = b"", **headers: str) -> Reply:
    def reply(handler: Handler) -> None:
        handler.send_response(code)
        handler.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def redirect(target: str, code: int = 302) -> Reply:
    return status(code, location=target)


def gzipped(body: bytes, **headers: str) -> Reply:
    return status(200, gzip.compress(body), content_encoding="gzip", **headers)


def gzip_bomb(unpacked_bytes: int) -> Reply:
    return gzipped(b"\0" * unpacked_bytes)


def cut_short(body: bytes) -> Reply:
    """Promise more than is sent."""

    def reply(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", str(len(body) + 100))
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return reply


def endless(chunk: bytes, *, every_s: float = 0.0) -> Reply:
    """Send chunks until the client hangs up."""

    def reply(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.close_connection = True
        while True:
            handler.wfile.write(chunk)
            time.sleep(every_s)

    return reply


def silent(for_s: float) -> Reply:
    def reply(handler: Handler) -> None:
        time.sleep(for_s)
        status(200)(handler)

    return reply


@contextmanager
def serving(kind: type[Handler] = Handler) -> Iterator[Host]:
    """Run a server for as long as the block lasts."""
    handler = type("OneHostHandler", (kind,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        host = Host(url=f"http://127.0.0.1:{server.server_port}")
        handler.host = host  # type: ignore[attr-defined] - the class is made one line above
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield host
        finally:
            server.shutdown()
            thread.join()
