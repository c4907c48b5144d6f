"""A hub of our own on this machine: it lists repositories and gives parts of files whose weights are zeros.

The listing has the shape that the Hub's own client reads; nothing of it was recorded from the Hub.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.domain.llms.headers import Spec, safetensors
from tests.ingest.server import Handler, Host, Reply, page

COMMIT = "0123456789abcdef0123456789abcdef01234567"
File = tuple[bytes, int]
"""How a file begins, and how long it is."""


@dataclass
class Sent:
    """How many bytes of files a server has sent, and how often it was asked."""

    body_bytes: int = 0
    requests: int = 0
    asked: list[str] = field(default_factory=list)


class HubHandler(Handler):
    """Head and body of an answer go out at once, without a wait of forty milliseconds between them."""

    disable_nagle_algorithm = True


def part(file: File, sent: Sent | None = None, **headers: str) -> Reply:
    """Answer a request for a part of a file as RFC 9110 says it, 14.4 and 15.3.7."""
    head, file_bytes = file

    def reply(handler: Handler) -> None:
        asked = handler.headers.get("range", "")
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", asked)
        assert found, asked
        begin, end = int(found[1]), min(int(found[2]), file_bytes - 1)
        if begin >= file_bytes:
            handler.send_response(416)
            handler.send_header("content-range", f"bytes */{file_bytes}")
            handler.send_header("content-length", "0")
            handler.end_headers()
            return
        body = head[begin : end + 1].ljust(end + 1 - begin, b"\0")
        handler.send_response(206)
        handler.send_header("content-range", f"bytes {begin}-{end}/{file_bytes}")
        handler.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)
        if sent is not None:
            sent.body_bytes += len(body)
            sent.requests += 1
            sent.asked.append(asked)

    return reply


def listing(files: Mapping[str, File | bytes]) -> bytes:
    """Give what the hub says of a repository: its commit, and each file with its length and digest."""
    siblings = []
    for name, file in files.items():
        whole = file if isinstance(file, bytes) else repr(file).encode()
        about = {"rfilename": name, "size": len(file) if isinstance(file, bytes) else file[1]}
        digest = hashlib.sha256(whole).hexdigest()
        if isinstance(file, bytes):
            about["blobId"] = digest[:40]
        else:
            about |= {"blobId": "p" * 40, "lfs": {"sha256": digest, "size": file[1], "pointerSize": 135}}
        siblings.append(about)
    return json.dumps({"id": "x", "sha": COMMIT, "siblings": siblings}).encode()


def publish(host: Host, repo: str, files: Mapping[str, File | bytes], sent: Sent | None = None) -> None:
    """Put a repository on the server: small files are given as a whole, the others in parts."""
    host.answer(f"/api/models/{repo}?blobs=true", page(listing(files)))
    for name, file in files.items():
        reply = page(file) if isinstance(file, bytes) else part(file, sent)
        host.answer(f"/{repo}/resolve/{COMMIT}/{name}", reply)


def shards(tensors: Sequence[Sequence[Spec]]) -> dict[str, File | bytes]:
    """Give the files of a checkpoint in several parts, by the names that the Hub's library gives them."""
    count = len(tensors)
    return {
        f"model-{number:05}-of-{count:05}.safetensors": safetensors(each)
        for number, each in enumerate(tensors, 1)
    }
