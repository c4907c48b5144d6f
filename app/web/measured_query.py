"""What a link may ask of the page of measured speeds: a model, a card or family, the reader's own figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from app.domain.accelerators import load_catalogue
from app.domain.llms.facts import load_llms
from app.domain.llms.measurements import load_measurements
from app.domain.llms.own_measured import canonical_measured, parse_all_measured
from app.domain.names import fold, one_of
from app.domain.query_error import QueryError
from app.web.state import read_pairs

if TYPE_CHECKING:
    from datetime import date

    from app.domain.llms.measurements import Measurement
    from app.domain.names import Names

NAMES: Final = ("llm", "gpu", "measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredQuery:
    """A model's id, a variant's or a family's id, each empty for all, and the reader's own measurements."""

    llm: str = ""
    gpu: str = ""
    measured: tuple[Measurement, ...] = ()

    def link(self, path: str) -> str:
        """Return the address that asks this of a path."""
        pairs = [(name, value) for name in ("llm", "gpu") if (value := getattr(self, name))]
        pairs += [("measured", canonical_measured(each)) for each in self.measured]
        return f"{path}?{urlencode(pairs, safe='/')}" if pairs else path


def parse_measured_query(text: str, *, today: date) -> MeasuredQuery:
    """Read a query string; an empty value asks for all. Raises QueryError for what cannot be asked."""
    asked: dict[str, str] = {}
    own: list[str] = []
    for name, value in read_pairs(text):
        if name not in NAMES:
            raise QueryError("parameter", name or value, f"use one of {', '.join(NAMES)}")
        if name == "measured":
            own += [value] if value else []
        elif name in asked:
            raise QueryError(name, value, "give it once")
        else:
            asked[name] = one_of(name, value, names=_known(name)) if value else ""
    return MeasuredQuery(**asked, measured=_own(own, llm=asked.get("llm", ""), today=today))


def _own(texts: list[str], *, llm: str, today: date) -> tuple[Measurement, ...]:
    if texts and not llm:
        raise QueryError("measured", texts[0], "say of which model it is: choose one, or give its id as llm=")
    return parse_all_measured(texts, _variants(), llm=llm, day=today)


@cache
def _variants() -> Names:
    return fold(load_catalogue().by_id)


@cache
def _known(name: str) -> Names:
    if name == "llm":
        return fold([*load_llms(), *(each.llm for each in load_measurements() if each.llm)])
    catalogue = load_catalogue()
    return fold([*catalogue.by_id, *catalogue.families()])
