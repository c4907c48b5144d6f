"""Reading pieces of a file from servers that keep to the rules and from those that do not."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.domain.llms.checkpoint.safetensors import read_safetensors
from app.ingest.fetch import Fetcher, fetching
from app.ingest.fetched import FetchError, Limits
from app.ingest.ranges import FIRST_BYTES, Budget, RangeFile, Reach
from scrapers.base import Key
from tests.domain.llms.headers import safetensors
from tests.ingest.hub import HubHandler, Sent, part
from tests.ingest.server import Handler, Host, Reply, endless, page, redirect, serving, silent, status
from tests.make import utc

SECRET = "hf_s3cr3t"  # noqa: S105 - a made-up token
LIMITS = Limits(
    user_agent="InferPrice/0 (+https://inferprice.example)",
    delay_s=0,
    timeout_s=0.5,
    max_body_bytes=2_000_000,
    first_wait_s=0.01,
    schemes=("http",),
)
MANY = [(f"model.layers.{n}.mlp.up_proj.weight", "BF16", (1024, 1024)) for n in range(400)]
FILE = safetensors(MANY)


@pytest.fixture
def host() -> Iterator[Host]:
    with serving(HubHandler) as running:
        yield running


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    with fetching(LIMITS, lambda: utc(1), keys={"huggingface_token": SECRET}) as made:
        yield made


def reach(fetcher: Fetcher, **change: Any) -> Reach:
    return Reach(**{"fetcher": fetcher, "hosts": ("127.0.0.1",), "budget": Budget(), **change})


def opened(fetcher: Fetcher, url: str, **change: Any) -> Any:
    return RangeFile(reach=reach(fetcher, **change), url=url, name="m.safetensors").open()


def refused(fetcher: Fetcher, url: str, **change: Any) -> FetchError:
    with pytest.raises(FetchError) as caught:
        read_safetensors(opened(fetcher, url, **change))
    return caught.value


def test_a_header_is_read_in_pieces_and_the_weights_are_not(fetcher: Fetcher, host: Host) -> None:
    sent, budget = Sent(), Budget()
    file = opened(fetcher, host.answer("/m", part(FILE, sent)), budget=budget)
    header = read_safetensors(file)
    assert [tensor.name for tensor in header.tensors] == [name for name, _, _ in MANY]
    head, file_bytes = FILE
    assert (file.file_bytes, header.header_bytes) == (file_bytes, len(head))
    # The first piece says how long the file is; the rest of the header comes in one more, and nothing twice.
    assert sent.asked == [f"bytes=0-{FIRST_BYTES - 1}", f"bytes={FIRST_BYTES}-{len(head) - 1}"]
    assert sent.body_bytes == budget.read_bytes == len(head)
    assert budget.requests == 2
    assert [seen for seen in host.seen if seen[1] == "/robots.txt"] == [("GET", "/robots.txt")]
    assert {headers["accept-encoding"] for headers in host.headers[1:]} == {"identity"}


def test_a_file_shorter_than_the_first_piece_is_fine(fetcher: Fetcher, host: Host) -> None:
    head, file_bytes = safetensors(MANY[:1])
    file = opened(fetcher, host.answer("/m", part((head, file_bytes))))
    assert file.file_bytes == len(head) + 2 * 1024 * 1024
    tiny = opened(fetcher, host.answer("/t", part((b"\2\0\0\0\0\0\0\0{}", 10))))
    assert read_safetensors(tiny).tensors == ()


def test_a_server_that_would_send_the_whole_file_is_left(fetcher: Fetcher, host: Host) -> None:
    error = refused(fetcher, host.answer("/m", endless(b"w" * 65_536)))
    assert (error.code, host.asked("/m")) == ("range_ignored", 1)
    assert str(error).endswith("/m would send the whole file, not the part asked for.")


def test_a_file_without_such_a_part_is_said(fetcher: Fetcher, host: Host) -> None:
    error = refused(fetcher, host.answer("/m", part((b"", 0))))
    assert (error.code, error.evidence["status"]) == ("refused_by_host", "416")


def says(content_range: str, body: bytes = b"x" * FIRST_BYTES) -> Reply:
    return status(206, body, content_range=content_range)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (status(206, b"x" * FIRST_BYTES), "does not say which part of how many bytes it sends ('')"),
        (says(f"bytes 0-{FIRST_BYTES - 1}/*"), "does not say which part"),
        (says("bytes 0-16383/" + "9" * 30), "does not say which part"),
        (says("items 0-16383/99999"), "does not say which part"),
        (
            says("bytes 1-16384/99999"),
            "asked for bytes 0 to 16383 of 99999, it answers 'bytes 1-16384/99999'",
        ),
        (
            says("bytes 0-99/99999", b"x" * 100),
            "asked for bytes 0 to 16383 of 99999, it answers 'bytes 0-99/99999'",
        ),
        (says("bytes 0-16383/99999", b"x" * 100), "it says 16384 bytes and sends 100"),
        (says("bytes 0-16383/99999", b"x" * 20_000), "it says 16384 bytes and sends 20000"),
    ],
)
def test_an_answer_that_is_another_part_is_refused(
    fetcher: Fetcher, host: Host, reply: Reply, said: str
) -> None:
    error = refused(fetcher, host.answer("/m", reply))
    assert error.code == "wrong_range"
    assert str(error).startswith("m.safetensors: ")
    assert said in str(error)


def test_a_file_that_changes_while_it_is_read_is_refused(fetcher: Fetcher, host: Host) -> None:
    url = host.answer("/m", part(FILE, etag='"1"'), part(FILE, etag='"2"'))
    assert "it changed while it was read" in str(refused(fetcher, url))
    head, file_bytes = FILE
    url = host.answer("/n", part(FILE), part((head, file_bytes + 2)))
    assert f"of {file_bytes}, it answers" in str(refused(fetcher, url))


def cut_off(handler: Handler) -> None:
    """Promise a part and hang up in the middle of it."""
    handler.send_response(206)
    handler.send_header("content-range", "bytes 0-16383/99999")
    handler.send_header("content-length", "16384")
    handler.end_headers()
    handler.wfile.write(b"x" * 99)
    handler.close_connection = True


def test_what_may_pass_is_asked_for_again_and_then_said(fetcher: Fetcher, host: Host) -> None:
    url = host.answer("/m", cut_off, silent(1.0), part(FILE))
    assert read_safetensors(opened(fetcher, url)).tensors
    error = refused(fetcher, host.answer("/n", cut_off))
    assert (error.code, host.asked("/n")) == ("cut_short", LIMITS.attempts)
    slow = refused(fetcher, host.answer("/s", silent(1.0)))
    assert (slow.code, host.asked("/s")) == ("too_slow", LIMITS.attempts)


def test_a_part_larger_than_any_page_may_be_is_left(fetcher: Fetcher, host: Host) -> None:
    error = refused(fetcher, host.answer("/m", says("bytes 0-16383/9999999", b"x" * 2_000_001)))
    assert error.code == "too_large"


def test_all_that_is_read_of_a_checkpoint_is_bounded(fetcher: Fetcher, host: Host) -> None:
    sent = Sent()
    budget = Budget(most_bytes=20_000)
    error = refused(fetcher, host.answer("/m", part(FILE, sent)), budget=budget)
    assert error.code == "too_much_read"
    assert "its headers take more than 20000 bytes" in str(error)
    assert sent.body_bytes == FIRST_BYTES


def test_a_redirect_is_followed_within_the_hosts_and_takes_no_key_along(fetcher: Fetcher, host: Host) -> None:
    away = host.url.replace("127.0.0.1", "localhost")
    host.answer("/store", part(FILE))
    url = host.answer("/m", redirect(f"{away}/store"))
    key = Key(setting="huggingface_token", is_required=False)
    file = opened(fetcher, url, hosts=("127.0.0.1", "localhost"), key=key)
    assert read_safetensors(file).tensors
    sent = [
        (path, headers.get("authorization"), headers.get("range"))
        for (_, path), headers in zip(host.seen, host.headers, strict=True)
    ]
    first = f"bytes=0-{FIRST_BYTES - 1}"
    assert ("/m", f"Bearer {SECRET}", first) in sent
    assert ("/store", None, first) in sent
    assert {header for path, header, _ in sent if path in {"/store", "/robots.txt"}} == {None}


def test_a_redirect_to_another_host_is_refused(fetcher: Fetcher, host: Host) -> None:
    url = host.answer("/m", redirect("http://localhost:1/m"))
    error = refused(fetcher, url)
    assert error.code == "foreign_host"
    assert "which is not on 127.0.0.1" in str(error)


def test_a_host_that_forbids_it_is_not_asked(fetcher: Fetcher, host: Host) -> None:
    host.answer("/robots.txt", page(b"User-agent: *\nDisallow: /"))
    assert refused(fetcher, host.answer("/m", part(FILE))).code == "disallowed_by_robots"
    assert host.asked("/m") == 0


def test_a_key_that_a_host_says_back_is_in_no_message(fetcher: Fetcher, host: Host) -> None:
    key = Key(setting="huggingface_token", is_required=False)
    error = refused(fetcher, host.answer("/m", redirect(f"http://{SECRET}.example/m")), key=key)
    assert SECRET not in str(error)
    assert SECRET not in str(error.evidence)
