"""The models that pages are about: those of the table, and one that a pasted config describes."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.web import words
from app.web.llm_cache import cache_of_token
from app.web.llm_view import Fact, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.llms.facts import Llm
    from app.domain.llms.profile import Attention, LlmProfile

_READ: Final = {
    "always": "read for each token",
    "routed": "routed: a token reads some of it",
    "lookup": "a table of which a token reads one row",
    "not_decoding": "not read when text is decoded",
}
_KIND: Final = {
    "full": "full attention",
    "window": "sliding window",
    "chunked": "chunked window",
    "mla": "latent (MLA)",
    "compressed": "compressed entries",
}
_BILLION: Final = 10**9


def subject_of(llm: Llm) -> Subject:
    """Return one of our models with its facts and their sources."""
    return Subject(
        id=llm.id, name=llm.name, profile=llm.profile, facts=(*_of_files(llm), *facts_of(llm.profile))
    )


def subject_of_config(profile: LlmProfile) -> Subject:
    """Return what a pasted config describes; its figures are of that config alone."""
    name = f"{profile.family} model of the pasted config"
    return Subject(id="", name=name, profile=profile, facts=tuple(facts_of(profile)))


def billions(count: int) -> str:
    """Return a number of parameters in billions."""
    return f"{words.number(Decimal(count) / _BILLION, 2)} B"


def _of_files(llm: Llm) -> Iterator[Fact]:
    yield Fact(label="Family", value=llm.profile.family, beside=llm.licence and f"licence: {llm.licence}")
    yield Fact(
        label="Figures from", value="its config.json", beside=f"{llm.config_source}, as of {llm.as_of}"
    )
    if llm.params_in_files is None:
        yield Fact(label="Elements in its files", value=words.DASH, beside="not counted by anybody we know")
    else:
        beside = "; ".join(part for part in (llm.params_source, llm.difference) if part)
        yield Fact(label="Elements in its files", value=f"{llm.params_in_files:,}", beside=beside)


def facts_of(profile: LlmProfile) -> Iterator[Fact]:
    """Yield what a profile says of a model."""
    parts = "; ".join(f"{part.name} {part.params:,}, {_READ[part.read]}" for part in profile.parts)
    yield Fact(label="Parameters, text", value=f"{profile.params_text:,}", beside=parts)
    yield Fact(
        label="Read for a token",
        value=f"{profile.params_active:,}",
        beside="one request alone; a batch touches more experts"
        if profile.experts
        else "all but the embedding",
    )
    if profile.experts:
        of = f"{profile.experts_per_token} of {profile.experts} a token"
        yield Fact(label="Routed experts", value=of, beside=f"in {profile.moe_layers} layers")
    attention = "; ".join(map(_attention, profile.attention))
    yield Fact(label="Layers", value=str(profile.layers), beside=attention)
    if profile.recurrent:
        state = sum(one.layers * one.state_bytes for one in profile.recurrent)
        yield Fact(
            label="State of a request", value=f"{state:,} B", beside="of one size whatever the context"
        )
    cache = cache_of_token(profile)
    yield Fact(
        label="Cache of a token", value=f"{cache.bytes_per_token.normalize():,f} B", beside=cache.basis
    )
    longest = "not stated" if profile.max_context is None else f"{profile.max_context:,} tokens"
    yield Fact(label="Longest context", value=longest, beside="as the config states it")
    stored = profile.native_dtype or "not stated"
    yield Fact(label="Weights published as", value=stored, beside=profile.quant_method)
    for note in profile.notes:
        yield Fact(label="Note", value=note)


def _attention(group: Attention) -> str:
    heads = f"{group.q_heads} query and {group.kv_heads} key heads of {group.head_dim_k}"
    if group.kind == "mla":
        heads = f"{group.q_heads} heads, {group.kv_lora_rank} + {group.rope_head_dim} values kept a token"
    window = f", {group.window:,} tokens" if group.window else ""
    return f"{group.layers} of {_KIND[group.kind]}{window}: {heads}"
