"""Whether two repositories hold the same files, by the set of path and digest of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_WEIGHTS: Final = (".safetensors", ".gguf", ".bin", ".pt", ".pth")

SAME: Final = "same checkpoint"
SAME_WEIGHTS: Final = "same weights, other files differ"
DIFFERENT: Final = "different"
NO_OVERLAP: Final = "not comparable"
NOT_KNOWN: Final = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """How the files of two repositories compare, and the verdict in words. Counts are of paths."""

    files_a: int
    files_b: int
    identical: int
    different: int
    only_in_a: int
    only_in_b: int
    not_known: int
    verdict: str


def compare(a: Mapping[str, str | None], b: Mapping[str, str | None]) -> Identity:
    """Return how two listings of path and digest compare; None is a digest that is not known.

    Without a common path nothing is said about the weights, which may stand in other shards.
    """
    common = a.keys() & b.keys()
    unknown = {path for path in common if a[path] is None or b[path] is None}
    same = {path for path in common - unknown if a[path] == b[path]}
    counts = {
        "files_a": len(a),
        "files_b": len(b),
        "identical": len(same),
        "different": len(common) - len(unknown) - len(same),
        "only_in_a": len(a.keys() - common),
        "only_in_b": len(b.keys() - common),
        "not_known": len(unknown),
    }
    return Identity(**counts, verdict=_verdict(a, b, same=same, unknown=unknown))


def _verdict(
    a: Mapping[str, str | None], b: Mapping[str, str | None], *, same: set[str], unknown: set[str]
) -> str:
    if not a.keys() & b.keys():
        return NO_OVERLAP
    if a.keys() == b.keys() == same:
        return SAME
    weights = {path for path in a.keys() | b.keys() if path.endswith(_WEIGHTS)}
    if weights - same - unknown:
        return DIFFERENT
    if unknown:
        return NOT_KNOWN
    return SAME_WEIGHTS if weights else DIFFERENT
