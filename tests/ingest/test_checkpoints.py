"""Screening checkpoints where they lie, on a hub, at an address or here, and how little is read of them."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.llms.checkpoint import screening, where
from app.domain.query_error import QueryError
from app.ingest.checkpoints import Hub, Screened, identities, screen
from app.ingest.fetch import Fetcher, fetching
from app.ingest.fetched import Limits
from app.ingest.places import HubHosts
from tests.conftest import Tell
from tests.domain.llms.headers import Spec, gguf, safetensors
from tests.ingest.hub import COMMIT, HubHandler, Sent, listing, part, publish, shards
from tests.ingest.server import Host, page, redirect, serving, status
from tests.make import utc

SECRET = "hf_s3cr3t"  # noqa: S105 - a made-up token
LIMITS = Limits(
    user_agent="InferPrice/0 (+https://inferprice.example)",
    delay_s=0,
    timeout_s=5,
    max_body_bytes=2_000_000,
    first_wait_s=0.01,
    schemes=("http",),
)
SMALL: list[Spec] = [("model.embed_tokens.weight", "BF16", (16, 4)), ("lm_head.weight", "BF16", (16, 4))]
SPLIT = {"split.no": ("u16", 0), "split.count": ("u16", 2)}


@pytest.fixture
def host() -> Iterator[Host]:
    with serving(HubHandler) as running:
        yield running


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    with fetching(LIMITS, lambda: utc(1), keys={"huggingface_token": SECRET}) as made:
        yield made


def screened(fetcher: Fetcher, host: Host, *sources: str) -> list[Screened]:
    return list(screen(sources, fetcher, hub=Hub(url=host.url, hosts=("127.0.0.1",))))


def one(fetcher: Fetcher, host: Host, source: str) -> Any:
    (found,) = screened(fetcher, host, source)
    assert found.error == ""
    return found.facts


def error(fetcher: Fetcher, host: Host, source: str) -> str:
    (found,) = screened(fetcher, host, source)
    assert found.facts is None
    return found.error


def layer(number: int, *, mtp: bool) -> list[Spec]:
    """Give a shard of five gigabytes: a layer of 64 experts, and what stands around it."""
    name = f"model.layers.{number}"
    tensors: list[Spec] = [
        (f"{name}.mlp.experts.{e}.{which}_proj.weight", "BF16", (2048, 6144))
        for e in range(64)
        for which in ("gate", "up", "down")
    ]
    tensors += [(f"{name}.self_attn.{which}_proj.weight", "BF16", (4096, 4096)) for which in "qkvo"]
    if number == 0:
        tensors.append(("model.embed_tokens.weight", "BF16", (100_000, 4096)))
    if number == 1 and mtp:
        tensors += [
            ("mtp.fc.weight", "BF16", (4096, 8192)),
            ("ngram_embedding.shard_0", "F8_E4M3", (10_000, 64)),
        ]
    return tensors


def test_twenty_checkpoints_of_100_gb_are_screened_by_a_ten_thousandth_of_their_bytes(
    fetcher: Fetcher, host: Host, tell: Tell
) -> None:
    sent = Sent()
    config = json.dumps({"max_position_embeddings": 40_960}).encode()
    for number in range(20):
        files = shards([layer(each, mtp=number % 4 == 0) for each in range(21)])
        publish(host, f"acme/llm-{number}", {"config.json": config, "README.md": b"#", **files}, sent)
    rows = screened(fetcher, host, *(f"acme/llm-{number}" for number in range(20)))
    assert [row.error for row in rows] == [""] * 20
    found = [row.facts for row in rows if row.facts]
    # 21 layers of 192 x 2,048 x 6,144 and 4 x 4,096 x 4,096 values, and the embedding, of two bytes each.
    plain_bytes = 2 * (21 * (192 * 2048 * 6144 + 4 * 4096 * 4096) + 100_000 * 4096)
    more_bytes = 2 * 4096 * 8192 + 640_000
    assert [each.tensor_bytes for each in found] == [
        plain_bytes + (n % 4 == 0) * more_bytes for n in range(20)
    ]
    assert plain_bytes > 100e9
    assert {(each.experts_per_layer, each.moe_layers, each.files) for each in found} == {((64,), 21, 21)}
    filtered = where.parse(
        "mtp and ple_dtype == 'F8_E4M3' and context_tokens > 32000", screening.kinds(gpus=None)
    )
    chosen = [
        row.name
        for row in rows
        if row.facts and where.holds(filtered, screening.values(row.facts, gpus=None))
    ]
    assert chosen == [f"acme/llm-{number}" for number in (0, 4, 8, 12, 16)]
    all_bytes = sum(each.file_bytes for each in found)
    read_bytes = sum(row.read_bytes for row in rows)
    # Besides the pieces that the server counts, the listings and the configs were read.
    assert sent.body_bytes < read_bytes < 1.05 * sent.body_bytes
    share = read_bytes / all_bytes
    requests = sum(row.requests for row in rows)
    tell(
        f"screened 20 checkpoints of {all_bytes / 20e9:.0f} GB in {requests} requests:"
        f" {read_bytes:,} of {all_bytes:,} bytes read, {100 * share:.5f} %"
    )
    assert share < 0.01 * 0.01


def test_a_repository_says_its_config_and_its_side_file(fetcher: Fetcher, host: Host) -> None:
    side = {
        "producer": {"name": "modelopt"},
        "quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]},
    }
    files = {
        "config.json": b"{}",
        "hf_quant_config.json": json.dumps(side).encode(),
        "model.safetensors": safetensors(SMALL),
    }
    publish(host, "acme/one", files)
    facts = one(fetcher, host, "acme/one")
    assert (facts.quantisation.method, facts.quantisation.scheme) == ("modelopt", "nvfp4")
    assert dict(facts.modules) == {
        ("embeddings", "not quantised", "BF16"): 1,
        ("head", "not quantised", "BF16"): 1,
    }
    assert facts.context.why == "the config states no max_position_embeddings"
    assert one(fetcher, host, f"{host.url}/acme/one").tensors == 2


def test_the_index_says_which_files_count_where_names_do_not(fetcher: Fetcher, host: Host) -> None:
    parts = shards([SMALL[:1], SMALL[1:]])
    weight_map = {SMALL[n][0]: name for n, name in enumerate(parts)} | {"mtp.fc.weight": "mtp.safetensors"}
    index = {"metadata": {"total_size": 999}, "weight_map": weight_map}
    files = {
        **parts,
        "mtp.safetensors": safetensors([("mtp.fc.weight", "F32", (2, 2))]),
        "consolidated.safetensors": safetensors(SMALL),
        "model.safetensors.index.json": json.dumps(index).encode(),
    }
    publish(host, "acme/two", files)
    facts = one(fetcher, host, "acme/two")
    assert (facts.files, facts.tensor_bytes, facts.dtype_by_part["mtp"]) == (3, 256 + 16, "F32")
    assert facts.notes == ("The index says 999 bytes, the tensors have 272.",)
    weight_map["lm_head.bias"] = "mtp.safetensors"
    publish(host, "acme/two", {**files, "model.safetensors.index.json": json.dumps(index).encode()})
    said = error(fetcher, host, "acme/two").removeprefix("acme/two/mtp.safetensors: ")
    assert said == "it lacks 1 tensors that the index says are in it; 'lm_head.bias' is one."


def test_several_checkpoints_without_an_index_are_not_mixed(fetcher: Fetcher, host: Host) -> None:
    publish(host, "acme/mixed", {"a.safetensors": safetensors(SMALL), "b.safetensors": safetensors(SMALL)})
    assert error(fetcher, host, "acme/mixed") == (
        "acme/mixed holds several checkpoints (a, b): name a file of one."
    )
    publish(
        host,
        "acme/model",
        {"model.safetensors": safetensors(SMALL), "consolidated.safetensors": safetensors(SMALL)},
    )
    assert one(fetcher, host, "acme/model").files == 1


def test_each_gguf_of_a_repository_is_a_checkpoint_and_parts_of_one_are_together(
    fetcher: Fetcher, host: Host
) -> None:
    known = {"general.architecture": ("text", "llama"), "llama.context_length": ("u32", 8192)}
    files = {
        "x-Q4_K.gguf": gguf([("token_embd.weight", "Q4_K", (256, 2))], known),
        "Q6/x-00001-of-00002.gguf": gguf([("token_embd.weight", "Q6_K", (256, 2))], {**known, **SPLIT}),
        "Q6/x-00002-of-00002.gguf": gguf(
            [("output.weight", "Q6_K", (256, 3))], {**SPLIT, "split.no": ("u16", 1)}
        ),
    }
    publish(host, "acme/gguf", files)
    rows = screened(fetcher, host, "acme/gguf")
    assert [row.name for row in rows] == ["acme/gguf/Q6/x", "acme/gguf/x-Q4_K"]
    found = [row.facts for row in rows if row.facts]
    assert [(each.files, each.tensor_bytes) for each in found] == [(2, 5 * 210), (1, 288)]
    assert [each.context.tokens for each in found if each.context] == [8192, 8192]


def test_a_part_that_says_it_is_another_is_refused(fetcher: Fetcher, host: Host) -> None:
    tensor: list[Spec] = [("token_embd.weight", "Q6_K", (256, 2))]
    again: list[Spec] = [("output.weight", "Q6_K", (256, 2))]
    publish(
        host,
        "acme/p",
        {"x-00001-of-00002.gguf": gguf(tensor, SPLIT), "x-00002-of-00002.gguf": gguf(again, SPLIT)},
    )
    assert "it says that it is part 0 of 2, counted from 0" in error(fetcher, host, "acme/p")


def test_what_a_file_begins_with_decides_over_its_name(fetcher: Fetcher, host: Host) -> None:
    publish(host, "acme/named", {"x.gguf": safetensors(SMALL)})
    assert one(fetcher, host, "acme/named").format == "safetensors"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (status(404), "is not there, or not for everyone"),
        (status(401), "INFERPRICE_HUGGINGFACE_TOKEN may be set to a token that reads it."),
        (page(b"<html>"), "is no JSON that can be read"),
        (page(b"[" * 100_000), "is no JSON that can be read"),
        (page(b"[]"), "holds no object"),
        (page(b"{}"), "lists no files and no commit"),
        (page(json.dumps({"sha": "main", "siblings": []}).encode()), "lists no files and no commit"),
        (page(listing({"../../x": b""})), "lists a file without a name that can be used"),
        (page(listing({"\x1b[2J": b""})), "lists a file without a name that can be used"),
        (page(listing({"README.md": b""})), "holds no safetensors at its root, and no GGUF"),
        (page(listing({"model-00001-of-00002.safetensors": b""})), "1 of its 2 parts are missing"),
        (page(b"x" * 2_000_001), "has more than 2000000 bytes"),
    ],
)
def test_a_hub_that_says_something_else_is_said(fetcher: Fetcher, host: Host, reply: Any, said: str) -> None:
    host.answer("/api/models/acme/x?blobs=true", reply)
    assert said in error(fetcher, host, "acme/x")


def test_one_that_breaks_does_not_stop_the_others(fetcher: Fetcher, host: Host) -> None:
    head, file_bytes = safetensors(SMALL)
    publish(host, "acme/good", {"model.safetensors": (head, file_bytes)})
    publish(host, "acme/short", {"model.safetensors": (head, file_bytes - 1)})
    publish(host, "acme/odd", {"config.json": b"7", "model.safetensors": (head, file_bytes)})
    rows = screened(fetcher, host, "acme/short", "acme/odd", "acme/none", "acme/good")
    assert [row.facts is not None for row in rows] == [False, False, False, True]
    assert rows[0].error.startswith("acme/short/model.safetensors: 'lm_head.weight' ends at byte 256")
    assert rows[1].error == "config.json holds no object."


def test_an_address_stays_on_its_host_and_gets_no_key(fetcher: Fetcher, host: Host) -> None:
    host.answer("/d/m-00001-of-00002.safetensors?v=1", part(safetensors(SMALL[:1])))
    host.answer("/d/m-00002-of-00002.safetensors?v=1", part(safetensors(SMALL[1:])))
    elsewhere = Hub(url="http://hub.example", hosts=())
    (row,) = screen([f"{host.url}/d/m-00002-of-00002.safetensors?v=1"], fetcher, hub=elsewhere)
    assert row.facts is not None
    assert (row.facts.files, row.facts.tensor_bytes) == (2, 256)
    assert all("authorization" not in headers for headers in host.headers)


def test_the_address_of_an_index_leads_to_its_files(fetcher: Fetcher, host: Host) -> None:
    index = {"weight_map": {"model.embed_tokens.weight": "a.safetensors", "lm_head.weight": "b.safetensors"}}
    host.answer("/d/model.safetensors.index.json", page(json.dumps(index).encode()))
    host.answer("/d/a.safetensors", part(safetensors(SMALL[:1])))
    host.answer("/d/b.safetensors", part(safetensors(SMALL[1:])))
    elsewhere = Hub(url="http://hub.example", hosts=())
    (row,) = screen([f"{host.url}/d/model.safetensors.index.json"], fetcher, hub=elsewhere)
    assert row.facts is not None
    assert row.facts.files == 2


def test_a_page_of_the_hub_that_shows_a_file_leads_to_the_file(fetcher: Fetcher, host: Host) -> None:
    host.answer("/acme/x/resolve/main/m.safetensors", part(safetensors(SMALL)))
    assert one(fetcher, host, f"{host.url}/acme/x/blob/main/m.safetensors").tensors == 2


def test_the_token_goes_to_the_hub_and_into_no_log(
    fetcher: Fetcher, host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    publish(host, "acme/gated", {"model.safetensors": safetensors(SMALL)})
    host.answer("/api/models/acme/closed?blobs=true", status(403))
    signed = host.answer("/store?signature=s1gned", part(safetensors(SMALL)))
    host.answer(f"/acme/gated/resolve/{COMMIT}/model.safetensors", redirect(signed))
    rows = screened(fetcher, host, "acme/gated", "acme/closed")
    sent = {
        path: headers.get("authorization") for (_, path), headers in zip(host.seen, host.headers, strict=True)
    }
    assert sent["/api/models/acme/gated?blobs=true"] == f"Bearer {SECRET}"
    assert sent["/robots.txt"] is None
    assert rows[0].facts is not None
    assert sent["/store?signature=s1gned"] == f"Bearer {SECRET}"
    logged = "".join(record.getMessage() for record in caplog.records if record.name.startswith("app."))
    assert "/store is allowed" in logged
    assert SECRET not in caplog.text + repr(rows)
    assert "s1gned" not in logged


def test_the_hosts_of_the_hub_are_its_own_and_no_others() -> None:
    hosts = HubHosts()
    for host in ("huggingface.co", "cdn-lfs.huggingface.co", "us.aws.cdn.hf.co", "cas-bridge.xethub.hf.co"):
        assert host in hosts
    for host in ("hf.co.example", "evilhuggingface.co", "hf.co", "huggingface.co.example", None):
        assert host not in hosts
    assert sorted(hosts) == ["*.hf.co", "*.huggingface.co", "huggingface.co"]
    assert len(hosts) == 3


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no-such-file.safetensors", "give a file or folder that is here, an https address, or ORG/NAME"),
        ("a/b/c", "give a file or folder"),
        ("../x", "give a file or folder"),
        ("x" * 5_000, "give a path that can be looked up (File name too long)"),
        ("x\0y", "give a file or folder"),
        ("http://[::1/x.gguf", "give an address that can be read"),
        ("https://example.com/x.gguf", "addresses begin with http://"),
        ("http://me:hush@example.com/x.gguf", "leave the password out"),
        ("http://example.com/x.bin", "name a file that ends in .safetensors, .gguf"),
    ],
)
def test_a_source_that_is_none_is_said_before_any_is_read(
    fetcher: Fetcher, host: Host, source: str, said: str
) -> None:
    publish(host, "acme/x", {"model.safetensors": safetensors(SMALL)})
    with pytest.raises(QueryError) as caught:
        screened(fetcher, host, "acme/x", source)
    assert said in str(caught.value)
    assert "hush" not in str(caught.value)
    assert host.seen == []


def put(folder: Path, name: str, file: tuple[bytes, int]) -> Path:
    """Write a file whose weights are a hole."""
    path = folder / name
    with path.open("wb") as opened:
        opened.write(file[0])
        opened.truncate(file[1])
    return path


def test_files_and_folders_that_are_here(fetcher: Fetcher, host: Host, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 8192}', encoding="utf-8")
    paths = [
        put(tmp_path, name, file)
        for name, file in shards([SMALL[:1], SMALL[1:]]).items()
        if isinstance(file, tuple)
    ]
    for source in (tmp_path, paths[0], paths[1]):
        facts = one(fetcher, host, str(source))
        assert (facts.files, facts.tensor_bytes, facts.context.tokens) == (2, 256, 8192)
    paths[1].unlink()
    assert f"{paths[1]} cannot be read: No such file or directory." in error(fetcher, host, str(paths[0]))
    assert "1 of its 2 parts are missing" in error(fetcher, host, str(tmp_path))
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(
        json.dumps({"weight_map": {"model.embed_tokens.weight": paths[0].name}}), encoding="utf-8"
    )
    assert one(fetcher, host, str(index)).files == 1
    assert host.seen == []


def test_two_repositories_compare_by_their_listings_alone(
    fetcher: Fetcher, host: Host, tmp_path: Path
) -> None:
    weights = {"model.safetensors": safetensors(SMALL)}
    publish(host, "acme/a", {**weights, "README.md": b"one"})
    publish(host, "acme/b", {**weights, "README.md": b"one"})
    publish(host, "acme/c", {**weights, "README.md": b"two"})
    publish(host, "acme/d", {"model.safetensors": safetensors(SMALL[:1]), "README.md": b"one"})
    hub = Hub(url=host.url, hosts=("127.0.0.1",))
    names = ("acme/a", "acme/b", "acme/c", "acme/d", "acme/none")
    found = dict(identities(names, fetcher, hub=hub))
    verdicts = {name: each if isinstance(each, str) else each.verdict for name, each in found.items()}
    assert verdicts.pop("acme/none").endswith("to a token that reads it.")
    assert verdicts == {
        "acme/b": "same checkpoint",
        "acme/c": "same weights, other files differ",
        "acme/d": "different",
    }
    assert not any("resolve" in path for _, path in host.seen)
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        put(tmp_path / name, "model.safetensors", safetensors(SMALL))
    ((_, same),) = identities([str(tmp_path / "x"), str(tmp_path / "y")], fetcher)
    assert getattr(same, "verdict", same) == "same checkpoint"
    ((_, alone),) = identities([f"{host.url}/m.gguf", "acme/a"], fetcher, hub=Hub(url="http://hub.example"))
    assert isinstance(alone, str)
