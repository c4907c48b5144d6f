"""Headers of both formats: what a good one says, and the sentence in which each bad one ends."""

import json
import struct
import tracemalloc
from typing import Any

import pytest

from app.domain.llms.checkpoint import safetensors as reader
from app.domain.llms.checkpoint.gguf import read_gguf
from app.domain.llms.checkpoint.header import MOST_TENSORS, CheckpointFile, Header, HeaderError
from app.domain.llms.checkpoint.index import Group, groups_of, parts_of, read_index
from app.domain.llms.checkpoint.safetensors import DTYPE_BITS, read_safetensors
from tests.domain.llms.headers import entries, framed, gguf, hollow, safetensors, text, value

TWO = [("a.weight", "BF16", (4, 8)), ("b.weight", "F32", (3,))]
Q = [("blk.0.ffn_up.weight", "Q4_K", (256, 4)), ("output.weight", "F16", (3, 5)), ("n", "F32", (7,))]


def read(tensors: Any, metadata: dict[str, str] | None = None) -> Header:
    return read_safetensors(hollow(*safetensors(tensors, metadata)))


def refused(body: bytes, file_bytes: int | None = None) -> str:
    """Give the sentence in which reading a safetensors file ends."""
    with pytest.raises(HeaderError) as caught:
        read_safetensors(hollow(body, len(body) if file_bytes is None else file_bytes))
    return str(caught.value)


def refused_gguf(body: bytes, file_bytes: int | None = None) -> str:
    with pytest.raises(HeaderError) as caught:
        read_gguf(hollow(body, len(body) if file_bytes is None else file_bytes, "m.gguf"))
    return str(caught.value)


def changed(**change: Any) -> bytes:
    """Give the header of two tensors of which the second is changed."""
    listed = entries(TWO)
    listed["b.weight"] |= change
    return framed(json.dumps(listed))


def test_a_safetensors_header_says_its_tensors() -> None:
    header = read(TWO, {"format": "pt"})
    body, file_bytes = safetensors(TWO, {"format": "pt"})
    assert (header.header_bytes, header.file_bytes, header.data_bytes) == (len(body), file_bytes, 64 + 12)
    assert [(t.name, t.dtype, t.shape, t.begin, t.size_bytes, t.elements) for t in header.tensors] == [
        ("a.weight", "BF16", (4, 8), 0, 64, 32),
        ("b.weight", "F32", (3,), 64, 12, 3),
    ]
    assert header.metadata == {"format": "pt"}


def test_a_scalar_an_empty_tensor_and_blanks_are_fine() -> None:
    listed = entries([("scale", "F32", ()), ("none", "BF16", (0, 4)), ("x", "U8", (1,))])
    header = read_safetensors(whole(listed))
    assert [(t.name, t.size_bytes) for t in header.tensors] == [("scale", 4), ("none", 0), ("x", 1)]


def whole(listed: dict[str, Any]) -> CheckpointFile:
    """Give a file whose header is laid out with blanks and line ends."""
    body = framed(json.dumps(listed, indent=2) + "   ")
    return hollow(body, len(body) + max(each["data_offsets"][1] for each in listed.values()))


def test_types_of_less_than_a_byte_fill_bytes_together() -> None:
    listed = {"w": {"dtype": "F4", "shape": [3, 2], "data_offsets": [0, 3]}}
    (tensor,) = read_safetensors(whole(listed)).tensors
    assert (tensor.elements, tensor.size_bytes) == (6, 3)
    assert DTYPE_BITS["F6_E2M3"] * 4 == 24


def test_a_name_may_be_written_with_escapes_and_in_any_script() -> None:
    header = read([("caf\u00e9 \u5c42.weight", "U8", (2,)), ('quote"d', "U8", (1,))])
    assert [t.name for t in header.tensors] == ["caf\u00e9 \u5c42.weight", 'quote"d']


def test_a_header_longer_than_any_piece_is_read_in_pieces() -> None:
    many = [
        (f"model.layers.{n}.mlp.experts.{e}.up_proj.weight", "BF16", (2, 2))
        for n in range(60)
        for e in range(60)
    ]
    header = read(many)
    assert header.header_bytes > 300_000
    assert [t.name for t in header.tensors] == [name for name, _, _ in many]
    assert sum(t.size_bytes for t in header.tensors) == 3_600 * 8


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "ends at byte 0 within the length of its header"),
        (b"\x00" * 5, "ends at byte 5 within the length"),
        (struct.pack("<Q", 2**63) + b"{}", "claims 9223372036854775808 bytes; at most 100000000 are read"),
        (struct.pack("<Q", 2**64 - 1), "claims 18446744073709551615 bytes"),
        (struct.pack("<Q", 100) + b"{}", "claims 100 bytes, but the file has 10"),
        (framed(""), "ends at byte 8 within an object"),
        (framed("[]"), "an object would be right there"),
        (framed("{"), "ends at byte 9"),
        (framed('{"a"'), "a name in quotes and a colon would be right there"),
        (framed('{"a":1}'), "the type, shape and offsets of 'a' would be right there"),
        (framed('{"__metadata__":{"a":{"b":"c"}}}'), "a text for 'a' in the metadata would be right there"),
        (framed('{"__metadata__":{"a":1}}'), "a text for 'a' in the metadata"),
        (framed('{"__metadata__":{"a":"1","a":"2"}}'), "'a' stands twice in the metadata"),
        (framed('{"__metadata__":{},"__metadata__":{}}'), "'__metadata__' stands twice"),
        (framed("{" + '{"a":' * 50_000), "a name in quotes and a colon would be right there"),
        (framed('{"a":' + "[" * 60_000), "the type, shape and offsets of 'a'"),
        (framed(b'{"\xff":{}}'), "is no text"),
        (framed('{"\\ud800":{}}'), "is no text"),
        (framed(f'{{"{"n" * 251}":{{}}}}'), "has 251 characters; at most 250 are read"),
        (framed('{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}'), "each once"),
        (framed('{"a":{"dtype":"U8","shape":[' + "9" * 5_000 + '],"data_offsets":[0,0]}}'), "cannot be read"),
        (framed("{} x"), "something follows its object at byte 11; only blanks may"),
        (framed('{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},}'), "a name in quotes and a colon"),
        (framed("{}") + b"\0", "its header and tensors take 10 bytes, but it has 11"),
    ],
)
def test_a_bad_safetensors_header_ends_in_a_sentence(body: bytes, said: str) -> None:
    sentence = refused(body)
    assert sentence.startswith("model.safetensors: ")
    assert said in sentence
    assert sentence.endswith(".")
    assert len(sentence) < 600


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"data_offsets": [60, 72]}, "'b.weight' begins at 60, inside 'a.weight', which ends at 64"),
        ({"data_offsets": [70, 82]}, "6 bytes before 'b.weight' belong to no tensor"),
        ({"data_offsets": [2**62, 2**62 + 12]}, "tensors lie within the file"),
        ({"data_offsets": [76, 64]}, "the offsets of 'b.weight' are none"),
        ({"data_offsets": [64]}, "the offsets of 'b.weight' are none"),
        ({"data_offsets": [64.0, 76.0]}, "the offsets of 'b.weight' are none"),
        ({"data_offsets": [True, 76]}, "the offsets of 'b.weight' are none"),
        ({"data_offsets": [-12, 0]}, "the offsets of 'b.weight' are none"),
        ({"shape": [4]}, "'b.weight' is F32 [4] in 12 bytes; type, shape and offsets agree"),
        ({"dtype": "F16"}, "'b.weight' is F16 [3] in 12 bytes"),
        ({"dtype": "Q4_K"}, "is of type \"'Q4_K'\"; it is one of F4,"),
        ({"dtype": None}, "is of type 'None'"),
        ({"shape": [2**62, 2**62, 0]}, "in 12 bytes"),
        ({"shape": [2**62, 2**62]}, "in 12 bytes"),
        ({"shape": [2**63]}, "is no shape"),
        ({"shape": [1] * 17}, "is no shape"),
        ({"shape": None}, "is no shape"),
    ],
)
def test_a_tensor_that_contradicts_itself_is_named(change: dict[str, Any], said: str) -> None:
    body = changed(**change)
    assert said in refused(body, len(body) + 82)


def test_a_name_that_stands_twice_is_named() -> None:
    entry = '{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    assert "'a' stands twice; each name stands once" in refused(framed(f'{{"a":{entry},"a":{entry}}}'))


def test_a_file_shorter_or_longer_than_its_tensors_is_refused() -> None:
    body, file_bytes = safetensors(TWO)
    assert "'b.weight' ends at byte 76 of the data, which has 75" in refused(body, file_bytes - 1)
    assert f"take {file_bytes} bytes, but it has {file_bytes + 1}" in refused(body, file_bytes + 1)


ENTRY = '"%0250d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
LONG = {
    "blanks": (b"{", b" "),
    "a name": (b'{"', b"n"),
    "brackets": (b'{"a":', b"["),
    "a text": (b'{"__metadata__":{"a":"', b"x"),
    "texts": (b'{"__metadata__":{' + b",".join(b'"%d":"%1000d"' % (n, n) for n in range(10_000)), b" "),
    "tensors": (("{" + "".join(ENTRY % number for number in range(4_001))).encode(), b" "),
}


@pytest.mark.parametrize("kind", LONG)
def test_a_header_of_100_mb_takes_no_memory_for_what_it_says(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has all that it claims, so that only bounds of the reader can end it.

    A twentieth of the tensors that are read at most must fit into a twentieth of the memory.
    """
    assert MOST_TENSORS == 20 * 4_000
    monkeypatch.setattr(reader, "MOST_TENSORS", 4_000)
    begin, rest = LONG[kind]
    begin = struct.pack("<Q", 100_000_000) + begin

    def read(offset: int, length: int) -> bytes:
        return begin[offset : offset + length].ljust(length, rest)

    tracemalloc.start()
    try:
        with pytest.raises(HeaderError) as caught:
            read_safetensors(CheckpointFile(name="m", file_bytes=10**12, read=read))
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    piece_bytes = 1_500_000
    assert peak_bytes < (3_200_000 + piece_bytes if kind == "tensors" else 64_000_000)
    assert (kind == "tensors") == ("it lists more than 4000 tensors" in str(caught.value))


def test_a_gguf_header_says_its_tensors_and_its_short_metadata() -> None:
    metadata = {
        "general.architecture": ("text", "llama"),
        "llama.block_count": ("u32", 30),
        "llama.rope.freq_base": ("f32", 0.5),
        "tokenizer.ggml.add_bos_token": ("bool", False),
        "tokenizer.ggml.tokens": ("texts", ["a", "\u00e9", ""] * 100),
        "tokenizer.ggml.scores": ("floats", [1.0] * 300),
        "tokenizer.chat_template": ("text", "x" * 5_000),
    }
    body, file_bytes = gguf(Q, metadata)
    header = read_gguf(hollow(body, file_bytes))
    assert header.header_bytes == len(body)
    assert header.header_bytes % 32 == 0
    assert dict(header.metadata) == {
        "general.architecture": "llama",
        "llama.block_count": 30,
        "llama.rope.freq_base": 0.5,
        "tokenizer.ggml.add_bos_token": False,
    }
    # 1,024 weights in four blocks of 144 bytes, 15 of two bytes, 7 of four; each begins at a multiple of 32.
    assert [(t.dtype, t.begin, t.size_bytes) for t in header.tensors] == [
        ("Q4_K", 0, 576),
        ("F16", 576, 30),
        ("F32", 608, 28),
    ]
    assert read_gguf(hollow(*gguf(Q, version=2))).tensors == header.tensors


def test_an_alignment_of_its_own_counts() -> None:
    body, file_bytes = gguf(Q, {"general.alignment": ("u32", 128)}, alignment=128)
    assert [t.begin for t in read_gguf(hollow(body, file_bytes)).tensors] == [0, 640, 768]


def test_the_size_of_a_type_that_is_not_known_follows_from_the_offsets() -> None:
    body, file_bytes = gguf(Q)
    strange = body.replace(struct.pack("<QQIQ", 256, 4, 12, 0), struct.pack("<QQIQ", 256, 4, 99, 0))
    assert strange != body
    tensors = read_gguf(hollow(strange, file_bytes)).tensors
    assert [(t.dtype, t.size_bytes) for t in tensors] == [("ggml type 99", 576), ("F16", 30), ("F32", 28)]


def start(tensors: int = 0, entries_: int = 0, *, version: int = 3, magic: bytes = b"GGUF") -> bytes:
    return magic + struct.pack("<IQQ", version, tensors, entries_)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "ends at byte 0 within the word GGUF"),
        (b"GGML" + bytes(30), "begins with \"b'GGML'\""),
        (start(version=1), "of version 1; versions 2 and 3"),
        (start(version=4), "of version 4"),
        (start(version=3 << 24), "of version 3 in big-endian order"),
        (start(2**63), "claims 9223372036854775808 tensors; at most 80000 are read"),
        (start(0, 2**64 - 1), "claims 18446744073709551615 metadata entries"),
        (start(0, 1), "within the length of key 0 of the metadata"),
        (start(0, 1) + struct.pack("<Q", 2**63), "key 0 of the metadata claims 9223372036854775808 bytes"),
        (start(0, 1) + text("k") + struct.pack("<I", 13), "is of kind 13; kinds 0 to 12 are known"),
        (start(0, 1) + text("k") + struct.pack("<IQ", 8, 2**63), "within the value of 'k'"),
        (start(0, 1) + text("k") + struct.pack("<IIQ", 9, 4, 2**62), "within the value of 'k'"),
        (start(0, 1) + text("k") + struct.pack("<IIQ", 9, 8, 2**60), "claims 1152921504606846976 texts"),
        (start(0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 1), "is an array of arrays"),
        (start(0, 1) + text("k") + struct.pack("<IIQ", 9, 77, 1), "is of kind 77"),
        (start(0, 2) + (text("k") + value("u32", 1)) * 2, "'k' stands twice in the metadata"),
        (start(0, 1) + text("general.alignment") + value("u32", 24), "its alignment is '24'"),
        (start(0, 1) + text("general.alignment") + value("u32", 0), "its alignment is '0'"),
        (start(0, 1) + text("general.alignment") + value("text", "32"), "its alignment is '32'"),
        (start(0, 1) + struct.pack("<Q", 2) + b"\xff\xff" + value("u32", 1), "is no UTF-8"),
        (start(1) + struct.pack("<Q", 251), "the name of tensor 0 claims 251 bytes"),
        (start(1) + text("t") + struct.pack("<I", 5), "claims 5 dimensions; there are at most 4"),
        (start(1) + text("t") + struct.pack("<I", 2**31), "claims 2147483648 dimensions"),
        (start(1) + text("t") + struct.pack("<IQQIQ", 2, 2**62, 4, 0, 0), "18446744073709551616 elements"),
        (start(1) + text("t") + struct.pack("<IQIQ", 1, 4, 0, 7), "begins at 7; offsets are multiples of 32"),
        (start(1) + text("t") + struct.pack("<IQIQ", 1, 4, 300, 0), "is of ggml type 300; types end at 255"),
        (
            start(1) + text("t") + struct.pack("<IQIQ", 1, 100, 12, 0),
            "has rows of 100 values; GGUF Q4_K takes 256",
        ),
        (start(1) + text("t") + struct.pack("<IQIQ", 1, 4, 0, 0), "end at byte 16 of the data, which has 0"),
        (start(1) + text("t") + struct.pack("<IQIQ", 1, 4, 0, 64), "64 bytes before 't' belong to no tensor"),
        (
            start(2) + (text("t") + struct.pack("<IQIQ", 1, 4, 0, 0)) * 2,
            "'t' stands twice; each name stands once",
        ),
        (
            start(2)
            + b"".join(text(n) + struct.pack("<IQIQ", 1, 40, 0, at) for n, at in (("t", 0), ("u", 32))),
            "'u' begins at 32, inside 't', which ends at 160",
        ),
    ],
)
def test_a_bad_gguf_header_ends_in_a_sentence(body: bytes, said: str) -> None:
    sentence = refused_gguf(body)
    assert sentence.startswith("m.gguf: ")
    assert said in sentence
    assert len(sentence) < 600


def test_a_gguf_file_that_lacks_or_adds_data_is_refused() -> None:
    body, file_bytes = gguf(Q)
    # The last tensor has 28 bytes and four of padding, which some writers leave out.
    assert read_gguf(hollow(body, file_bytes - 4)).data_bytes == 636
    assert "its tensors end at byte 636 of the data, which has 635" in refused_gguf(body, file_bytes - 5)
    assert "which has 672" in refused_gguf(body, file_bytes + 32)


def test_many_texts_in_an_array_take_no_memory() -> None:
    head = start(0, 1) + text("k") + struct.pack("<IIQ", 9, 8, 200_000)

    def endless(offset: int, length: int) -> bytes:
        return head[offset : offset + length].ljust(length, b"\0")

    tracemalloc.start()
    header = read_gguf(CheckpointFile(name="m", file_bytes=len(head) + 1_600_000, read=endless))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not header.metadata
    assert peak_bytes < 2_500_000


def test_a_file_that_gives_less_than_asked_for_is_refused() -> None:
    body, file_bytes = safetensors(TWO)
    short = CheckpointFile(name="m", file_bytes=file_bytes, read=lambda at, length: body[at : at + length])
    with pytest.raises(HeaderError, match="where 2"):
        read_safetensors(short)


def index_of(told: Any) -> CheckpointFile:
    body = json.dumps(told).encode()
    return hollow(body, len(body), "model.safetensors.index.json")


def test_an_index_says_which_files_hold_what() -> None:
    index = read_index(
        index_of(
            {"metadata": {"total_size": 76}, "weight_map": {"b": "m-2.safetensors", "a": "m-1.safetensors"}}
        )
    )
    assert index.names == ("m-1.safetensors", "m-2.safetensors")
    assert (dict(index.files)["a"], index.total_bytes) == ("m-1.safetensors", 76)
    assert read_index(index_of({"weight_map": {"a": "x.safetensors"}, "version": 1})).total_bytes is None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ([], "an object would be right there"),
        ({}, "it has no weight map"),
        ({"weight_map": {}}, "it has no weight map"),
        ({"weight_map": {"a": 1}}, "a text for 'a' in the weight map"),
        ({"weight_map": {"a": "../../etc/passwd"}}, "it names safetensors files beside it"),
        ({"weight_map": {"a": "sub/x.safetensors"}}, "it names 'sub/x.safetensors'"),
        ({"weight_map": {"a": "x.bin"}}, "it names 'x.bin'"),
        ({"weight_map": {str(n): f"{n}.safetensors" for n in range(2_001)}}, "it names 2001 files"),
        ({"other": {"a": 1}}, "a plain value would be right there"),
    ],
)
def test_a_bad_index_ends_in_a_sentence(told: Any, said: str) -> None:
    with pytest.raises(HeaderError) as caught:
        read_index(index_of(told))
    assert said in str(caught.value)


def test_names_count_the_parts_of_a_checkpoint() -> None:
    assert parts_of("model.safetensors") == ("model.safetensors",)
    # DeepSeek's own repositories write the count with more digits than the number.
    assert parts_of("model-00002-of-000003.safetensors") == tuple(
        f"model-0000{n}-of-000003.safetensors" for n in (1, 2, 3)
    )
    two = ("Q4/m-00001-of-00002.gguf", "Q4/m-00002-of-00002.gguf")
    assert groups_of(["README.md", "m.gguf", *two]) == (
        Group(name="Q4/m", files=two),
        Group(name="m", files=("m.gguf",)),
    )
    with pytest.raises(HeaderError, match=r"1 of its 2 parts are missing; Q4/m-00001-of-00002\.gguf is one"):
        groups_of(two[1:])
    for wrong in ("m-00003-of-00002.gguf", "m-00000-of-00002.gguf", "m-00001-of-99999.gguf"):
        with pytest.raises(HeaderError, match="its name counts wrongly"):
            parts_of(wrong)
