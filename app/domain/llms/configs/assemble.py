"""Puts a profile together from what a family's reader counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.llms.configs.reading import Config, text_config
from app.domain.llms.profile import LlmProfile, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.llms.profile import Attention, Read, Recurrent

READ: Final[Mapping[str, Read]] = MappingProxyType(
    {
        "embedding": "lookup",
        "hash routing": "lookup",
        "attention": "always",
        "indexer": "always",
        "recurrent layers": "always",
        "dense MLP": "always",
        "shared experts": "always",
        "router": "always",
        "routed experts": "routed",
        "norms": "always",
        "head": "always",
        "MTP layers": "not_decoding",
        "vision tower": "not_decoding",
    }
)
"""The parts in the order shown, and when decoding reads each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """The experts of `layers` layers: parameters of one expert, and of each layer's other parts."""

    layers: int
    count: int
    per_token: int
    expert: int
    shared: int = 0
    router: int

    @property
    def layer(self) -> int:
        """Parameters of one whole layer of experts."""
        return self.count * self.expert + self.shared + self.router

    def parts(self) -> dict[str, int]:
        """Return the parameters of all layers by part."""
        return {
            "shared experts": self.layers * self.shared,
            "router": self.layers * self.router,
            "routed experts": self.layers * self.count * self.expert,
        }


def assemble(  # noqa: PLR0913 - one keyword for each part of a profile
    document: Config,
    *,
    family: str,
    attention: Iterable[Attention],
    parts: Mapping[str, int],
    recurrent: Iterable[Recurrent] = (),
    experts: Experts | None = None,
    layers: int | None = None,
    tied_default: bool = False,
    notes: Iterable[str] = (),
) -> LlmProfile:
    """Return the profile of a model from its groups of layers and the parameters of its named parts.

    Embedding and output head are added here; `parts` holds all else but the experts, and what comes to their
    parts from elsewhere. The names are those of `READ`. A group of no layers and a part of no parameters are
    left out.
    """
    text = text_config(document)
    hidden, vocab = text.whole("hidden_size"), text.whole("vocab_size")
    tied = tied_head(document, text, default=tied_default)
    counts = Counter({"embedding": 0 if tied else vocab * hidden, "head": vocab * hidden})
    counts.update(parts)
    counts.update(experts.parts() if experts else {})
    if experts and experts.per_token > experts.count:
        raise text.error("num_experts_per_tok", f"at most the {experts.count} experts of a layer")
    return LlmProfile(
        family=family,
        hidden=hidden,
        vocab=vocab,
        layers=text.layers() if layers is None else layers,
        attention=tuple(group for group in attention if group.layers),
        recurrent=tuple(group for group in recurrent if group.layers),
        parts=tuple(
            Part(name=name, params=counts[name], read=read) for name, read in READ.items() if counts[name]
        ),
        experts=experts.count if experts else 0,
        experts_per_token=experts.per_token if experts else 0,
        moe_layers=experts.layers if experts else 0,
        max_context=max_context(text),
        native_dtype=native_dtype(document, text),
        quant_method=quant_method(document) or quant_method(text),
        tied_head=tied,
        notes=tuple(notes),
    )


def tied_head(document: Config, text: Config, *, default: bool) -> bool:
    """Tell whether the output head is the embedding table: what either object says, else the family's way."""
    key = "tie_word_embeddings"
    return document.flag(key, default=text.flag(key, default=default))


def max_context(text: Config) -> int | None:
    """Return the context the config states, which is the stretched one where it is stretched (YaRN)."""
    return text.whole_or(0, "max_position_embeddings", "model_max_length") or None


def native_dtype(document: Config, text: Config) -> str:
    """Return the type the weights were published in, empty when the config does not say."""
    of = (where.text(key) for where in (document, text) for key in ("torch_dtype", "dtype"))
    return next(filter(None, of), "")


def quant_method(config: Config) -> str:
    """Return how the weights were quantised: method, algorithm and format as the config names them."""
    if not config.has("quantization_config"):
        return ""
    return quantization_words(config.section("quantization_config"))


def quantization_words(section: Config) -> str:
    """Return the words of one description of a quantisation."""
    return " ".join(filter(None, map(section.text, ("quant_method", "quant_algo", "format"))))
