"""How a checkpoint says it was quantised: one scheme, exceptions to it, or a scheme for each module.

Read from `quantization_config` of config.json (fp8, mxfp4, compressed-tensors, modelopt, gptq, awq) and from
the hf_quant_config.json beside it. What is stored stands in the headers; this is what the maker says.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from app.domain.llms.checkpoint.patterns import MOST_PATTERNS, Patterns, patterns_of

if TYPE_CHECKING:
    from collections.abc import Mapping

KEPT: Final = "not quantised"
_MIXED: Final = "MIXED_PRECISION"
_KEPT_LISTS: Final = ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantisation:
    """What a config says: the method, the scheme of most modules, those left out, those of their own.

    `scheme` is empty where each module has its own; `bits` is the width of a value where all agree;
    `kv_cache` is the scheme of the KV cache, empty when nothing is said.
    """

    method: str
    scheme: str
    bits: int | None
    kv_cache: str
    kept: Patterns
    special: Mapping[str, str]

    def scheme_of(self, module: str) -> str:
        """Return the scheme that is said of a module of linear weights."""
        own = self._special(module)
        if own:
            return own
        if self.kept.match(module):
            return KEPT
        return self.scheme or KEPT

    def _special(self, module: str) -> str:
        """Return the scheme of a module that has its own, or of what it lies in."""
        segments = module.split(".") if self.special else []
        names = (".".join(segments[:end]) for end in range(len(segments), 0, -1))
        return next((self.special[name] for name in names if name in self.special), "")


def quantisation_of(
    config: Mapping[str, Any] | None, side_file: Mapping[str, Any] | None = None
) -> Quantisation | None:
    """Return what a config.json and an hf_quant_config.json say, None when neither says anything."""
    said = _mapping(config, "quantization_config") or _mapping(
        _mapping(config, "text_config"), "quantization_config"
    )
    said = said or _mapping(config, "quantization")
    side = _mapping(side_file, "quantization")
    if not said and not side:
        return None
    return Quantisation(
        method=_word(said.get("quant_method")) or _word(_mapping(side_file, "producer").get("name")),
        scheme=_scheme(said) or _scheme(side),
        bits=_bits(said) or _bits(side),
        kv_cache=_word(side.get("kv_cache_quant_algo")) or _kv_cache(said),
        kept=patterns_of(
            [each for part in (said, side) for name in _KEPT_LISTS for each in _list(part, name)]
        ),
        special=MappingProxyType({**_special(side), **_special(said)}),
    )


def _scheme(said: Mapping[str, Any]) -> str:
    """Return the scheme of most modules in words: nvfp4, fp8 128x128, int4 g32."""
    algorithm = _word(said.get("quant_algo"))
    if algorithm == _MIXED:
        return ""
    if algorithm:
        return algorithm.lower()
    groups = [_group_scheme(each) for each in _groups(said)]
    if groups:
        return groups[0] if len(set(groups)) == 1 else ""
    method, bits, block = _word(said.get("quant_method")), _bits(said), _list(said, "weight_block_size")
    if method == "fp8":
        sizes = [str(each) for each in block[:2] if type(each) is int]
        return f"fp8 {'x'.join(sizes)}" if sizes else "fp8"
    if bits:
        size = said.get("group_size")
        return f"int{bits} g{size}" if type(size) is int and size > 0 else f"int{bits}"
    return method


def _group_scheme(group: Mapping[str, Any]) -> str:
    weights, form = _mapping(group, "weights"), _word(group.get("format"))
    if form.startswith("mxfp4"):
        return "mxfp4"
    bits, size = weights.get("num_bits"), weights.get("group_size")
    kind = "fp" if weights.get("type") == "float" else "int"
    grouped = f" g{size}" if type(size) is int and size > 0 else ""
    return f"{kind}{bits}{grouped}" if type(bits) is int else ""


def _bits(said: Mapping[str, Any]) -> int | None:
    """Return the width of a quantised value where all that is said agrees."""
    stated = [
        said.get("bits"),
        said.get("w_bit"),
        *(_mapping(g, "weights").get("num_bits") for g in _groups(said)),
    ]
    if said.get("load_in_4bit") is True:
        stated.append(4)
    widths = {each for each in stated if type(each) is int and each > 0}
    return widths.pop() if len(widths) == 1 else None


def _special(said: Mapping[str, Any]) -> dict[str, str]:
    """Return the schemes of modules that have their own, by module."""
    named = {
        target: _group_scheme(group)
        for group in _groups(said)
        for target in _list(group, "targets")
        if isinstance(target, str) and "." in target and not target.startswith("re:")
    }
    layers = _mapping(said, "quantized_layers")
    own = {
        name: _word(_mapping(layers, name).get("quant_algo")).lower() for name in list(layers)[:MOST_PATTERNS]
    }
    return {**named, **{name: scheme for name, scheme in own.items() if scheme}}


def _kv_cache(said: Mapping[str, Any]) -> str:
    scheme = said.get("kv_cache_scheme")
    if isinstance(scheme, dict):
        bits = scheme.get("num_bits")
        return f"{'fp' if scheme.get('type') == 'float' else 'int'}{bits}" if type(bits) is int else ""
    return _word(scheme)


def _groups(said: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    groups = _mapping(said, "config_groups")
    return [_mapping(groups, name) for name in groups]


def _mapping(value: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    found = value.get(name) if value else None
    return found if isinstance(found, dict) else {}


def _list(value: Mapping[str, Any], name: str) -> list[object]:
    found = value.get(name)
    return found if isinstance(found, list) else []


def _word(value: object) -> str:
    return value[:60] if isinstance(value, str) else ""
