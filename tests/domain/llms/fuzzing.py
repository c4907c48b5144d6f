"""Fifty thousand broken headers, read in a process of their own, so that the memory they take can be told.

Run as `python -m tests.domain.llms.fuzzing SEED`; any error but a HeaderError ends it.
"""

import json
import random
import re
import resource
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from app.domain.llms.checkpoint.facts import Tally, facts_of
from app.domain.llms.checkpoint.gguf import read_gguf
from app.domain.llms.checkpoint.header import CheckpointFile, Header, HeaderError
from app.domain.llms.checkpoint.index import read_index
from app.domain.llms.checkpoint.safetensors import read_safetensors
from tests.domain.llms.headers import gguf, hollow, safetensors

CASES = 50_000
GOOD_SAFETENSORS = safetensors(
    [
        ("model.layers.0.mlp.experts.0.up_proj.weight", "U8", (4, 8)),
        ("model.layers.0.mlp.experts.0.up_proj.weight_scale", "F8_E4M3", (4, 1)),
        ("model.embed_tokens.weight", "BF16", (8, 4)),
        ("model.norm.weight", "F32", ()),
    ],
    {"format": "pt"},
)
GOOD_GGUF = gguf(
    [
        ("token_embd.weight", "Q4_K", (256, 2)),
        ("blk.0.ffn_up_exps.weight", "F16", (4, 4, 2)),
        ("n", "F32", (4,)),
    ],
    {
        "general.architecture": ("text", "llama"),
        "general.alignment": ("u32", 32),
        "llama.context_length": ("u32", 8192),
        "tokenizer.ggml.tokens": ("texts", ["a", "b", "c"]),
    },
)
GOOD_INDEX = (json.dumps({"metadata": {"total_size": 7}, "weight_map": {"a": "m.safetensors"}}).encode(), 0)
WORDS = (
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\\",
    b"\0",
    b"\xff",
    b"-1",
    b"1e999",
    b"null",
    b'"a":',
    b"[[[[",
    b"__metadata__",
)
NUMBERS = (0, 1, 2, 7, 31, 255, 2**31, 2**32 - 1, 2**53, 2**62, 2**63, 2**64 - 1)

Read = Callable[[CheckpointFile], object]


def counted(read: Callable[[CheckpointFile], Header]) -> Read:
    """Read a header and all that follows from it."""

    def all_of(file: CheckpointFile) -> object:
        tally = Tally()
        tally.add(read(file))
        return facts_of(tally)

    return all_of


def broken(good: bytes, chance: random.Random) -> bytes:
    """Change a good header in one to four ways."""
    body = bytearray(good)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(body) + 1)
        way = chance.randrange(6)
        if way == 0:
            body[at : at + 1] = bytes((chance.randrange(256),))
        elif way == 1:
            body[at:at] = chance.choice(WORDS)
        elif way == 2:
            del body[at : at + chance.randrange(1, 20)]
        elif way == 3:
            body[at : at + 8] = struct.pack("<Q", chance.choice(NUMBERS))
        elif way == 4:
            body[at:at] = body[at : at + chance.randrange(1, 60)]
        else:
            found = list(re.finditer(rb"\d+", bytes(body)))
            if found:
                one = chance.choice(found)
                body[one.start() : one.end()] = str(chance.choice(NUMBERS)).encode()
    return bytes(body)


def framed_anew(body: bytes) -> bytes:
    """Set the length before the JSON right again, so that what is wrong in it is reached."""
    return struct.pack("<Q", max(0, len(body) - 8)) + body[8:]


def cases(chance: random.Random) -> Iterator[tuple[str, Read, bytes, int]]:
    kinds: list[tuple[str, Read, tuple[bytes, int]]] = [
        ("safetensors", counted(read_safetensors), GOOD_SAFETENSORS),
        ("gguf", counted(read_gguf), GOOD_GGUF),
        ("index", read_index, GOOD_INDEX),
    ]
    for number in range(CASES):
        name, read, (good, file_bytes) = kinds[chance.choices((0, 1, 2), (5, 5, 1))[0]]
        if number % 10 == 0:
            begin = good[: chance.randrange(30)] if number % 20 else b""
            body = begin + chance.randbytes(chance.randrange(200))
        else:
            body = broken(good, chance)
            if name == "safetensors" and number % 3:
                body = framed_anew(body)
        data_bytes = max(0, file_bytes - len(good))
        whole = chance.choices((len(body) + data_bytes, len(body), file_bytes, 10**12), (9, 9, 9, 1))[0]
        yield name, read, body, max(whole, 1)


def peak_bytes(process: int | None = None) -> int:
    """Give the most memory that a process has held so far, this one by default.

    Of another one nothing is known elsewhere than on Linux, and 0 is given.
    """
    status = Path(f"/proc/{process or 'self'}/status")
    if status.exists():
        found = re.search(r"^VmHWM:\s+(\d+) kB$", status.read_text(encoding="ascii"), flags=re.MULTILINE)
        assert found
        return int(found[1]) * 1024
    # Elsewhere than on Linux this counts bytes.
    return 0 if process else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(seed: int) -> None:
    """Read all cases and print how they ended, and by how much the memory grew at most."""
    ended: Counter[str] = Counter()
    said: set[str] = set()
    before_bytes = peak_bytes()
    for name, read, body, file_bytes in cases(random.Random(seed)):  # noqa: S311 - no secret
        try:
            read(hollow(body, file_bytes, "f"))
            ended[f"{name} read"] += 1
        except HeaderError as error:
            ended[f"{name} refused"] += 1
            said.add(re.sub(r"\d+|'.*'", "#", error.said)[:60])
    growth_bytes = peak_bytes() - before_bytes
    print(json.dumps({"ended": dict(sorted(ended.items())), "said": len(said), "growth_bytes": growth_bytes}))  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]))
