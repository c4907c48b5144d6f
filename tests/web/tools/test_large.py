"""Large and costly bodies against a server in a process of its own, whose memory is watched."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest

from app.web.tools.fields import Field
from app.web.tools.registry import TOOLS
from app.web.tools.tool import MOST_BYTES, MOST_VALUES, Tool
from tests.domain.llms.fuzzing import peak_bytes
from tests.test_services import PATIENCE_S, ROOT, free_port
from tests.web.test_own_kept_nowhere import wait_for

BODY_BYTES = 100_000_000
MOST_FOR_REFUSAL_BYTES = 60_000_000
"""Growth of a process that reads no further than the form's limit, several times that limit over."""
MOST_FOR_ANSWER_BYTES = 250_000_000
"""Growth of a process over all that is sent here, one after another."""

VALUES = ",".join(f'"{number:x}":0.1' for number in range(MOST_VALUES - 1))
COSTLY = {
    "values": f"{{{VALUES}}}",
    "lines": "Running:1\n" * (MOST_VALUES - 1),
    "more": f"[{'1,' * 1_990_000}1]",
    "markup": '"' * 3_990_000,
    "escapes": "%3C" * 1_330_000,
}
"""What takes most to read, as it is sent: as many values as are read, each under a name of its own; lines
that each tell of load; more values than are read; what grows fivefold in the answer; and what is all escapes.

A log is sent the lines, each other field the values, and the first field of a tool the last three as well."""


@contextmanager
def serving(home: Path) -> Iterator[tuple[int, int, int]]:
    """Give the port of a server, the number of its process, and the most memory it had when it was ready."""
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
            yield port, process.pid, peak_bytes(process.pid)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int, int]]:
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
def test_a_body_of_100_mb_is_refused_without_being_held(server: tuple[int, int, int], tool: Tool) -> None:
    port, number, _ = server
    before = peak_bytes(number)
    chunk = b"x" * 1_000_000
    chunked = [b"f4240\r\n" + chunk + b"\r\n"] * (BODY_BYTES // len(chunk)) + [b"0\r\n\r\n"]
    answer = send(port, tool.path, headers="transfer-encoding: chunked", parts=iter(chunked))
    assert not answer or answer.startswith(b"HTTP/1.1 413 "), answer[:80]
    stated = send(port, tool.path, headers=f"content-length: {BODY_BYTES}", parts=iter([chunk]))
    assert stated.startswith(b"HTTP/1.1 413 "), stated[:80]
    assert peak_bytes(number) - before < MOST_FOR_REFUSAL_BYTES


def paste(port: int, tool: Tool, fields: Mapping[str, str]) -> bytes:
    """Post fields of a form, each as it is sent, and return what is answered."""
    body = "&".join(f"{name}={sent}" for name, sent in fields.items()).encode()
    assert len(body) <= MOST_BYTES
    headers = f"content-type: application/x-www-form-urlencoded\r\ncontent-length: {len(body)}"
    return send(port, tool.path, headers=headers, parts=iter([body]))


PASTED = [
    pytest.param(tool, field, kinds[: 1 if number else None], id=f"{tool.name}-{field.name}")
    for tool in TOOLS
    if tool.is_pasted
    for number, field in enumerate(each for each in tool.fields if each.rows)
    for kinds in [["lines" if field.name == "log" else "values", *list(COSTLY)[2:]]]
]


@pytest.mark.parametrize(("tool", "field", "kinds"), PASTED)
def test_the_costliest_form_of_the_right_size_is_answered(
    server: tuple[int, int, int], tool: Tool, field: Field, kinds: Sequence[str]
) -> None:
    """With a refusal or a finding, never a fault; the memory it takes is bounded."""
    port, number, before = server
    # Without the first field most others are not read; these two tools take one of several ways alone.
    is_alone = len(kinds) > 1 or tool.name in {"cors", "moe-cache"}
    beside = {} if is_alone else {name: quote(text) for name, text in tool.examples[0].texts.items()}
    for kind in kinds:
        answer = paste(port, tool, {**beside, field.name: COSTLY[kind]})
        assert answer[:13] in {b"HTTP/1.1 200 ", b"HTTP/1.1 303 ", b"HTTP/1.1 422 "}, (kind, answer[:80])
        if kind == "more":
            said = f"{escape(field.label)}: \u201cup to 1,990,001 values or lines\u201d is not right: "
            assert (
                f"{said}a page reads at most {MOST_VALUES:,}; the command below takes more".encode() in answer
            )
        assert peak_bytes(number) - before < MOST_FOR_ANSWER_BYTES, kind


def test_results_and_requests_that_fill_a_form_are_read(server: tuple[int, int, int]) -> None:
    """Times with the digits that Python gives a float, and prompts with a comma every 60 characters."""
    port, _, _ = server
    by_name = {tool.name: tool for tool in TOOLS}
    result = json.loads(by_name["bench"].examples[1].texts["results"])
    times = [[0.011924743652343751 + at / 10**9 for at in range(500)] for _ in range(305)]
    sent = quote(json.dumps({**result, "itls": times}), safe="", encoding="utf-8")
    assert MOST_BYTES * 0.9 < len(sent) < MOST_BYTES, len(sent)
    assert paste(port, by_name["bench"], {"results": sent})[:13] == b"HTTP/1.1 303 "
    prompt = ("a word or two, and then some more of them until this ends \n" * 200)[:-1]
    sent = quote("\n".join([json.dumps({"prompt": prompt, "top_p": 0.9})] * 215), safe="")
    assert MOST_BYTES * 0.9 < len(sent) < MOST_BYTES, len(sent)
    assert paste(port, by_name["sampler"], {"requests": sent})[:13] == b"HTTP/1.1 303 "
