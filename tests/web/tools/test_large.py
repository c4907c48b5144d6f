"""Large and costly bodies against a server in a process of its own, whose memory is watched."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest

from app.web.tools.registry import TOOLS
from app.web.tools.tool import MOST_BYTES, Tool
from tests.domain.llms.fuzzing import peak_bytes
from tests.test_services import PATIENCE_S, ROOT, free_port
from tests.web.test_own_kept_nowhere import wait_for

BODY_BYTES = 100_000_000
MOST_FOR_REFUSAL_BYTES = 60_000_000
"""Growth of a process that reads no further than the form's limit, several times that limit over."""
MOST_FOR_ANSWER_BYTES = 900_000_000
"""Growth of a process that reads the costliest form of the limit's size: each value takes some 100 bytes."""

COSTLY = {
    "objects": '{"a":1}\n' * 480_000,
    "commas": "[" + "1," * 1_900_000 + "1]",
    "deep": "[" * 3_900_000,
    "markup": "<" * 1_200_000,
}
"""All of them are sent in the first field of a tool alone, the first of them in each other field as well."""


@contextmanager
def serving(home: Path) -> Iterator[tuple[int, int]]:
    """Give the port of a server and the number of its process."""
    port = free_port()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "INFERPRICE_HOME": str(home),
        "INFERPRICE_SCHEDULER": "off",
    }
    environment.pop("DATABASE_URL", None)
    words = [sys.executable, "-m", "app", "serve", "--port", str(port)]
    with (home / "log").open("w") as said:
        process = subprocess.Popen(words, cwd=home, env=environment, stdout=said, stderr=said)
        try:
            wait_for(f"http://127.0.0.1:{port}/healthz")
            yield port, process.pid
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    with serving(tmp_path_factory.mktemp("large")) as running:
        yield running


def head_of(place: socket.socket) -> bytes:
    answer = b""
    with suppress(ConnectionError):
        while more := place.recv(65_536):
            answer += more
    return answer


def send(port: int, path: str, *, headers: str, parts: Iterator[bytes]) -> bytes:
    """Post parts for as long as the server takes them, and return what it answers."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as place:
        head = f"POST {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n{headers}\r\n\r\n"
        place.sendall(head.encode())
        with suppress(ConnectionError):
            for part in parts:
                place.sendall(part)
        return head_of(place)


@pytest.mark.parametrize("tool", [pytest.param(tool, id=tool.name) for tool in TOOLS])
def test_a_body_of_100_mb_is_refused_without_being_held(server: tuple[int, int], tool: Tool) -> None:
    port, number = server
    before = peak_bytes(number)
    chunk = b"x" * 1_000_000
    chunked = [b"f4240\r\n" + chunk + b"\r\n"] * (BODY_BYTES // len(chunk)) + [b"0\r\n\r\n"]
    answer = send(port, tool.path, headers="transfer-encoding: chunked", parts=iter(chunked))
    assert not answer or answer.startswith(b"HTTP/1.1 413 "), answer[:80]
    stated = send(port, tool.path, headers=f"content-length: {BODY_BYTES}", parts=iter([chunk]))
    assert stated.startswith(b"HTTP/1.1 413 "), stated[:80]
    assert peak_bytes(number) - before < MOST_FOR_REFUSAL_BYTES


PASTED = [
    pytest.param(tool, field.name, list(COSTLY)[: 1 if number else None], id=f"{tool.name}-{field.name}")
    for tool in TOOLS
    if tool.is_pasted
    for number, field in enumerate(each for each in tool.fields if each.rows)
]


@pytest.mark.parametrize(("tool", "name", "kinds"), PASTED)
def test_the_costliest_form_of_the_right_size_is_answered(
    server: tuple[int, int], tool: Tool, name: str, kinds: Sequence[str]
) -> None:
    """With a refusal or a finding, never a fault; the memory it takes is bounded."""
    port, number = server
    before = peak_bytes(number)
    beside = {} if len(kinds) > 1 else tool.examples[0].texts
    for kind in kinds:
        text = COSTLY[kind]
        body = urlencode({**beside, name: text})
        while len(body) > MOST_BYTES:
            text = text[: len(text) * 9 // 10]  # what is escaped grows
            body = urlencode({**beside, name: text})
        headers = f"content-type: application/x-www-form-urlencoded\r\ncontent-length: {len(body)}"
        answer = send(port, tool.path, headers=headers, parts=iter([body.encode()]))
        assert answer[:13] in {b"HTTP/1.1 200 ", b"HTTP/1.1 303 ", b"HTTP/1.1 422 "}, (kind, answer[:80])
        assert peak_bytes(number) - before < MOST_FOR_ANSWER_BYTES, kind
