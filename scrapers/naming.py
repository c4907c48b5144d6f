"""From a provider's name to our accelerator: the exact alias, then the memory as a second witness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.accelerators import load_catalogue
from app.domain.aliases import resolve
from app.domain.findings import Finding, Level

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a name stands for; without an accelerator the row is kept as unknown and a finding says why."""

    accelerator: str | None
    family: str | None
    slice_of: str | None = None
    findings: tuple[Finding, ...] = ()


def name_accelerator(
    name: str, *, provider: str, memory_gb: Decimal | None = None, gpu_count: int | None = None
) -> Named:
    """Return the accelerator a provider's name stands for.

    `memory_gb` is the size the page prints for one GPU. A size the accelerator is not sold with means that
    name and row do not belong together: the run is held and the row loses its accelerator (FR-26, FR-28).
    """
    found = resolve(name, context=provider, memory_gb=memory_gb, gpu_count=gpu_count)
    if found.accelerator is not None or found.slice_of is not None:
        return Named(accelerator=found.accelerator, family=found.family, slice_of=found.slice_of)
    if not found.known:
        finding = _unknown(name, provider, found.reason)
    elif memory_gb is not None and _contradicts(name, provider, memory_gb):
        finding = _memory_mismatch(name, found.reason, memory_gb)
    else:
        finding = _no_variant(name, found.reason)
    return Named(accelerator=None, family=found.family, findings=(finding,))


def _contradicts(name: str, provider: str, memory_gb: Decimal) -> bool:
    """Tell whether the memory is a size of nothing that the name alone can mean."""
    catalogue = load_catalogue()
    found = resolve(name, context=provider)
    alone = catalogue.get(found.accelerator or "")
    variants = catalogue.family_members(found.family or "") if alone is None else (alone,)
    return bool(variants) and not any(variant.accepts_memory(memory_gb) for variant in variants)


def _unknown(name: str, provider: str, reason: str) -> Finding:
    return Finding(
        code="unknown_accelerator",
        level=Level.WARNING,
        sentence=f"{provider} names a GPU that is not in the alias table; its rows are kept as unknown.",
        evidence={"name": name, "reason": reason},
    )


def _no_variant(name: str, reason: str) -> Finding:
    return Finding(
        code="unknown_variant",
        level=Level.WARNING,
        sentence="A known name leads to no single accelerator; its rows keep the family only.",
        evidence={"name": name, "reason": reason},
    )


def _memory_mismatch(name: str, reason: str, memory_gb: Decimal) -> Finding:
    return Finding(
        code="memory_mismatch",
        level=Level.HOLD,
        sentence="The page gives a GPU a memory size it is not sold with.",
        evidence={"name": name, "reason": reason, "memory_gb": str(memory_gb)},
    )
