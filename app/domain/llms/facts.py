"""The language models we know: the profile of each, the elements its files hold, and where both are from.

The table is `data/llms.csv`; an operator may keep more of them in a file of the same columns. A profile is
spelled so that it can be read and compared by eye:

- attention: `full:80x64q8kv128` is 80 layers of 64 query and 8 key heads of size 128, `kv192/128` keys of 192
  and values of 128; after it by name what else there is: `window=1024`, `latent=512 rope=64` (MLA),
  `indexers=61 reads=2048` (layers with an index, the tokens it chooses), `ratio=4` (tokens to an entry);
- recurrent: `48x3207168` is 48 layers of so many bytes a sequence;
- parts: `embedding=1050673152`, by the names of `READ`, which also say when decoding reads a part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar, get_args

from app.domain.cells import packaged_lines, read_lines
from app.domain.llms.configs.assemble import READ
from app.domain.llms.profile import Attention, AttentionKind, LlmProfile, Part, Recurrent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date
    from pathlib import Path

    from app.domain.cells import Cells

LLM_COLUMNS: Final[tuple[str, ...]] = (
    "id",
    "name",
    "family",
    "hidden",
    "vocab",
    "layers",
    "attention",
    "recurrent",
    "parts",
    "experts",
    "experts_per_token",
    "moe_layers",
    "max_context",
    "native_dtype",
    "quant_method",
    "tied_head",
    "notes",
    "params_in_files",
    "params_source",
    "difference",
    "licence",
    "config_source",
    "as_of",
)
"""The columns of a table of models, in the order written."""

T = TypeVar("T")

LLMS_FILE: Final = "llms.csv"
"""Name of the packaged table, and of the one that an operator keeps in the home folder."""

_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_GROUP: Final = re.compile(r"([a-z]+):(\d+)x(\d+)q(\d+)kv(\d+)(?:/(\d+))?((?: [a-z]+=\d+)*)", re.ASCII)
_KINDS: Final[Mapping[str, AttentionKind]] = MappingProxyType(
    {kind: kind for kind in get_args(AttentionKind)}
)
_OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "window": "window",
        "latent": "kv_lora_rank",
        "rope": "rope_head_dim",
        "indexers": "indexer_layers",
        "reads": "read_tokens",
        "ratio": "compress_ratio",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Llm:
    """One model: its profile and where it was read.

    `params_in_files` counts the elements of the published files, None where nobody counted them; `difference`
    says what of it the profile does not have. `params_source` also names the repository if it is another.
    """

    id: str
    name: str
    profile: LlmProfile
    params_in_files: int | None
    params_source: str
    difference: str
    licence: str
    config_source: str
    as_of: date

    @property
    def params_unexplained(self) -> int | None:
        """Elements in the files beyond all parts of the profile, None where nobody counted them."""
        if self.params_in_files is None:
            return None
        return self.params_in_files - sum(part.params for part in self.profile.parts)


def load_llms(own: Path | None = None) -> Mapping[str, Llm]:
    """Return the packaged models by id, and those of an operator's file, whose rows go before ours.

    The packaged table is read once per process, the operator's each time; a file that is not there has none.

    Raises:
        ValueError: a cell is missing or cannot be read; the text names file, line, column and value.
    """
    if own is None or not own.exists():
        return _packaged()
    lines = own.read_text(encoding="utf-8").splitlines()
    return MappingProxyType({**_packaged(), **parse_llms(lines, file_name=own.name)})


@cache
def _packaged() -> Mapping[str, Llm]:
    return parse_llms(packaged_lines(LLMS_FILE))


def parse_llms(lines: Iterable[str], *, file_name: str = LLMS_FILE) -> Mapping[str, Llm]:
    """Read a table of models from CSV lines; see `load_llms` for the errors."""
    by_id: dict[str, Llm] = {}
    for row in read_lines(lines, file_name=file_name):
        llm = _llm(row)
        if llm.id in by_id:
            raise row.error("id", "stands twice")
        by_id[llm.id] = llm
    return MappingProxyType(by_id)


def is_llm_id(text: str) -> bool:
    """Tell whether a text is an id: an organisation and a name with a slash between."""
    return _ID.fullmatch(text) is not None


def llm_cells(llm: Llm) -> dict[str, str]:
    """Return the cells of a model by column, as `parse_llms` reads them."""
    profile = llm.profile
    files = llm.params_in_files
    return {
        "id": llm.id,
        "name": llm.name,
        "family": profile.family,
        "hidden": str(profile.hidden),
        "vocab": str(profile.vocab),
        "layers": str(profile.layers),
        "attention": " | ".join(map(_spelled, profile.attention)),
        "recurrent": " | ".join(f"{one.layers}x{one.state_bytes}" for one in profile.recurrent),
        "parts": " | ".join(f"{part.name}={part.params}" for part in profile.parts),
        "experts": str(profile.experts),
        "experts_per_token": str(profile.experts_per_token),
        "moe_layers": str(profile.moe_layers),
        "max_context": "" if profile.max_context is None else str(profile.max_context),
        "native_dtype": profile.native_dtype,
        "quant_method": profile.quant_method,
        "tied_head": "yes" if profile.tied_head else "no",
        "notes": " | ".join(profile.notes),
        "params_in_files": "" if files is None else str(files),
        "params_source": llm.params_source,
        "difference": llm.difference,
        "licence": llm.licence,
        "config_source": llm.config_source,
        "as_of": llm.as_of.isoformat(),
    }


def _llm(row: Cells) -> Llm:
    """Build one model from one line; every problem is a ValueError that names the cell."""
    if not is_llm_id(row.required("id")):
        raise row.error("id", "is not an organisation and a name with a slash between")
    files = row.whole_or_none("params_in_files")
    if files is not None and not row.text("params_source"):
        raise row.error("params_source", "must say where params_in_files is from")
    return Llm(
        id=row.required("id"),
        name=row.required("name"),
        profile=_profile(row),
        params_in_files=files,
        params_source=row.text("params_source"),
        difference=row.text("difference"),
        licence=row.text("licence"),
        config_source=row.required("config_source"),
        as_of=row.day("as_of"),
    )


def _profile(row: Cells) -> LlmProfile:
    profile = LlmProfile(
        family=row.required("family"),
        hidden=_above_zero(row, "hidden"),
        vocab=_above_zero(row, "vocab"),
        layers=_above_zero(row, "layers"),
        attention=_each(row, "attention", _group),
        recurrent=_each(row, "recurrent", _recurrent),
        parts=_each(row, "parts", _part),
        experts=row.whole("experts"),
        experts_per_token=row.whole("experts_per_token"),
        moe_layers=row.whole("moe_layers"),
        max_context=row.whole_or_none("max_context"),
        native_dtype=row.text("native_dtype"),
        quant_method=row.text("quant_method"),
        tied_head=row.one_of("tied_head", ("yes", "no")) == "yes",
        notes=row.parts("notes"),
    )
    if not profile.parts:
        raise row.error("parts", "must not be empty")
    if len({part.name for part in profile.parts}) < len(profile.parts):
        raise row.error("parts", "names a part twice")
    if profile.experts_per_token > profile.experts or bool(profile.experts) != bool(profile.params_routed):
        raise row.error("experts", "does not go with experts_per_token and the routed experts of parts")
    return profile


def _above_zero(row: Cells, column: str) -> int:
    number = row.whole(column)
    if not number:
        raise row.error(column, "is not above zero")
    return number


def _each(row: Cells, column: str, read: Callable[[str], T]) -> tuple[T, ...]:
    """Read what stands between the bars of a cell; a reader's ValueError says what is wrong with one."""
    try:
        return tuple(read(part) for part in row.parts(column))
    except ValueError as error:
        raise row.error(column, str(error)) from error


def _group(text: str) -> Attention:
    matched = _GROUP.fullmatch(text)
    if matched is None or matched[1] not in _KINDS:
        raise ValueError(f"has '{text}' where a group like full:80x64q8kv128 belongs")
    layers, q_heads, kv_heads, head_dim = map(int, matched.groups()[1:5])
    return Attention(
        kind=_KINDS[matched[1]],
        layers=layers,
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim_k=head_dim,
        head_dim_v=head_dim if matched[6] is None else int(matched[6]),
        **_options(matched[7].split()),
    )


def _options(words: list[str]) -> dict[str, int]:
    pairs = [word.split("=") for word in words]
    unknown = [name for name, _ in pairs if name not in _OPTIONS]
    if unknown or len({name for name, _ in pairs}) < len(pairs):
        raise ValueError(f"may name each of {', '.join(_OPTIONS)} once, and nothing else")
    return {_OPTIONS[name]: int(number) for name, number in pairs}


def _spelled(group: Attention) -> str:
    values = "" if group.head_dim_v == group.head_dim_k else f"/{group.head_dim_v}"
    heads = f"{group.kind}:{group.layers}x{group.q_heads}q{group.kv_heads}kv{group.head_dim_k}{values}"
    given = ((name, getattr(group, field)) for name, field in _OPTIONS.items())
    return " ".join([heads, *(f"{name}={number}" for name, number in given if number)])


def _recurrent(text: str) -> Recurrent:
    matched = re.fullmatch(r"(\d+)x(\d+)", text, re.ASCII)
    if matched is None:
        raise ValueError(f"has '{text}' where layers and bytes like 48x3207168 belong")
    return Recurrent(layers=int(matched[1]), state_bytes=int(matched[2]))


def _part(text: str) -> Part:
    name, _, number = text.partition("=")
    if name not in READ or not re.fullmatch(r"\d+", number, re.ASCII):
        raise ValueError(f"has '{text}' where a part like attention=123 belongs, one of {', '.join(READ)}")
    return Part(name=name, params=int(number), read=READ[name])
