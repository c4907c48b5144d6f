"""The list of language models: searchable, with what decides memory and speed, as a page, JSON and CSV."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import RedirectResponse

from app.domain.llms.cost_query import PRESETS, CostQuery
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS, kv_cache
from app.domain.llms.weights import estimated_weights
from app.web import llm_exports, words
from app.web.kept import answer_kept, base_of, csv_of_objects, json_of, page_of, read_some
from app.web.llm_cache import cache_of_token
from app.web.llm_view import cost_link
from app.web.state import link, query_text, read_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.llms.facts import Llm
    from app.domain.query import OfferQuery
    from app.web.answers import Answer
    from app.web.boards import Served
    from app.web.llm_cache import CacheOfToken
    from app.web.shared import Shared

NAMES: Final = ("q",)
NEAR: Final = 6
_HUB: Final = "https://huggingface.co/"
_GB: Final = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmLine:
    """One model of the list. Weights are an estimate at fp8; `cache` says how it is kept."""

    llm: Llm
    weights_gb: Decimal
    cache: CacheOfToken
    state_bytes: int
    presets: tuple[tuple[str, str], ...]

    @property
    def href(self) -> str:
        """Return the address of its page."""
        return f"/llms/{self.llm.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmsPage:
    """What the template of the list shows; `near` are names like the one asked for when none is it."""

    q: str
    canonical: str
    json_href: str
    csv_href: str
    lines: tuple[LlmLine, ...]
    near: tuple[str, ...]
    total: int


def llms(request: Request) -> Response:
    """Answer the list, or lead to the model that is named in full, as a hub id or its address."""
    base = base_of(request)
    text = query_text(request)
    query = read_some(text, request.app.state.shared.keeper.current(), names=NAMES)
    shared: Shared = request.app.state.shared
    named = _named(query.q, shared.llms)
    if named or any(not value for _, value in read_pairs(text)):
        return RedirectResponse(f"/llms/{named}" if named else link("/llms", query), 303)
    return answer_kept(
        request,
        lambda served, text: page_of(
            "llms.html", page=_page(served, text, shared.llms), billions=billions, base=base
        ),
        base=base,
    )


def _named(q: str, llms: Mapping[str, Llm]) -> str:
    """Return the id that was asked for in full, in whatever case; else nothing."""
    asked = q.removeprefix(_HUB).strip("/ ").casefold()
    return next((each for each in llms if each.casefold() == asked), "")


def llms_json(request: Request) -> Response:
    """Answer every model of the list as JSON."""
    known: Mapping[str, Llm] = request.app.state.shared.llms
    return answer_kept(request, lambda served, text: json_of({"models": _plain(served, text, known)}))


def llms_csv(request: Request) -> Response:
    """Answer every model of the list as CSV."""

    def make(served: Served, text: str) -> Answer:
        return csv_of_objects("llms", _plain(served, text, request.app.state.shared.llms), columns=COLUMNS)

    return answer_kept(request, make)


COLUMNS: Final = (
    *("id", "name", "family", "params_text", "params_active", "experts", "experts_per_token", "layers"),
    *("max_context", "native_dtype", "quant_method", "params_in_files", "weights_gb_fp8"),
    *("kv_bytes_per_token_16bit", "state_bytes", "licence", "config_source", "as_of"),
    *("kv_token_bytes", "kv_basis"),
)


def _plain(served: Served, text: str, known: Mapping[str, Llm]) -> list[dict[str, Any]]:
    return [_plain_line(line) for line in _lines(read_some(text, served, names=NAMES), known)]


def _plain_line(line: LlmLine) -> dict[str, Any]:
    llm = line.llm
    return {
        **llm_exports.plain_llm(llm.id, llm.name, profile=llm.profile),
        "params_in_files": llm.params_in_files,
        "weights_gb_fp8": float(line.weights_gb),
        "state_bytes": line.state_bytes,
        "licence": llm.licence or None,
        "config_source": llm.config_source,
        "as_of": llm.as_of.isoformat(),
    }


def _page(served: Served, text: str, known: Mapping[str, Llm]) -> LlmsPage:
    query = read_some(text, served, names=NAMES)
    lines = _lines(query, known)
    return LlmsPage(
        q=query.q,
        canonical=link("/llms", query),
        json_href=link("/llms.json", query),
        csv_href=link("/llms.csv", query),
        lines=tuple(lines),
        near=() if lines else _near(query.q, known),
        total=len(known),
    )


def _lines(query: OfferQuery, known: Mapping[str, Llm]) -> list[LlmLine]:
    """Return the models of which id, name or family hold all words of the search."""
    asked = query.q.removeprefix(_HUB).casefold().replace("/", " ").replace("-", " ").split()
    return [line_of(llm) for llm in known.values() if _holds(llm, asked)]


def _holds(llm: Llm, asked: Iterable[str]) -> bool:
    text = f"{llm.id} {llm.name} {llm.profile.family}".casefold()
    return all(word in text for word in asked)


def _near(q: str, known: Mapping[str, Llm]) -> tuple[str, ...]:
    by_name: dict[str, str] = {}
    for llm in known.values():
        by_name |= {llm.id.casefold(): llm.id, llm.id.partition("/")[2].casefold(): llm.id}
    asked = q.removeprefix(_HUB).casefold()
    found = get_close_matches(asked, by_name, n=2 * NEAR, cutoff=0.4)
    return tuple(dict.fromkeys(by_name[each] for each in found))[:NEAR]


def line_of(llm: Llm) -> LlmLine:
    """Return what the list shows of a model."""
    weights = estimated_weights(llm.profile, FORMATS["fp8"])
    return LlmLine(
        llm=llm,
        weights_gb=Decimal(weights.total_bytes) / _GB,
        cache=cache_of_token(llm.profile),
        state_bytes=kv_cache(llm.profile, KV_FORMATS["bf16"]).fixed_bytes,
        presets=tuple(
            (
                each.name,
                cost_link(f"/llms/{llm.id}", CostQuery(), context=each.context, batch=each.batch),
            )
            for each in PRESETS
        ),
    )


def billions(count: int) -> str:
    """Return a number of parameters in billions."""
    return words.number(Decimal(count) / _GB, 2)
