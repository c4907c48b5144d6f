"""What a link may ask of the page of measured speeds: a model, and a card or a family of cards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from app.domain.accelerators import load_catalogue
from app.domain.llms.facts import load_llms
from app.domain.llms.measurements import load_measurements
from app.domain.names import fold, one_of
from app.domain.query_error import QueryError
from app.web.state import read_pairs

if TYPE_CHECKING:
    from app.domain.names import Names

NAMES: Final = ("llm", "gpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredQuery:
    """A model's id and a variant's or a family's id, each empty for all."""

    llm: str = ""
    gpu: str = ""

    def link(self, path: str) -> str:
        """Return the address that asks this of a path."""
        pairs = [(name, value) for name in NAMES if (value := getattr(self, name))]
        return f"{path}?{urlencode(pairs, safe='/')}" if pairs else path


def parse_measured_query(text: str) -> MeasuredQuery:
    """Read a query string; an empty value asks for all. Raises QueryError for what cannot be asked."""
    asked: dict[str, str] = {}
    for name, value in read_pairs(text):
        if name not in NAMES:
            raise QueryError("parameter", name or value, f"use one of {', '.join(NAMES)}")
        if name in asked:
            raise QueryError(name, value, "give it once")
        asked[name] = one_of(name, value, names=_known(name)) if value else ""
    return MeasuredQuery(**asked)


@cache
def _known(name: str) -> Names:
    if name == "llm":
        return fold([*load_llms(), *(each.llm for each in load_measurements() if each.llm)])
    catalogue = load_catalogue()
    return fold([*catalogue.by_id, *catalogue.families()])
