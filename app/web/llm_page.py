"""The page of one language model: what every offer of the board comes to, as a page, JSON and CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from app.domain.llms.api_prices import CAUTION, SOURCE
from app.domain.llms.cost_query import cost_pairs, published_format
from app.domain.llms.formats import FORMATS
from app.domain.llms.unknown import Unknown
from app.domain.query import DEFAULT_PER_PAGE
from app.web import llm_charts, llm_exports, llm_words, words
from app.web.answers import Answer, etag, not_modified, respond, respond_privately
from app.web.kept import HTML, answer_kept, base_of, csv_of_objects, json_of, nothing_near, page_of
from app.web.llm_cautions import marks_of, when_read
from app.web.llm_drafts import draft_lines
from app.web.llm_duels import duel_lines
from app.web.llm_found import find, read_cost
from app.web.llm_measured import measured_lines, own_measured, plain_measured
from app.web.llm_subjects import subject_of
from app.web.llm_view import cost_link, form_of, headings, notices, offer_line, presets, verdicts
from app.web.llm_working import worked
from app.web.own_figures import figures_of
from app.web.pages import MAX_ID_DIGITS, find_board, wants_part
from app.web.render import environment, title
from app.web.state import joined, link, query_text, read_pairs
from app.web.tools.moe_cache import link_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.llms.cost_query import CostQuery
    from app.domain.llms.costs import OfferCost
    from app.domain.llms.curves import Curve
    from app.web.boards import Served
    from app.web.llm_cautions import Mark
    from app.web.llm_drafts import DraftLine
    from app.web.llm_duels import DuelLine
    from app.web.llm_found import Found
    from app.web.llm_measured import MeasuredLine, OwnMeasured
    from app.web.llm_view import Form, Heading, OfferLine, Subject
    from app.web.llm_working import Worked
    from app.web.own_figures import OwnFigure


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmPage:
    """What the templates show. Links hold only what differs from the default.

    `canonical` is empty for a model without an id, and then the other links are not to be shown.
    """

    subject: Subject
    query: CostQuery
    canonical: str
    json_href: str
    csv_href: str
    quote_href: str
    board_href: str
    own: tuple[OwnFigure, ...]
    hidden: frozenset[int]
    notices: tuple[str, ...]
    stated: tuple[tuple[str, str], ...]
    presets: tuple[tuple[str, str, str, bool], ...]
    form: Form
    published: tuple[str, str] | None
    verdicts: tuple[str, ...]
    headings: dict[str, Heading]
    lines: tuple[OfferLine, ...]
    total: int
    first: int
    previous_href: str
    next_href: str
    api: str
    api_caution: str
    curves: tuple[Curve, ...]
    drafts: tuple[DraftLine, ...]
    duels: tuple[DuelLine, ...]
    measured: tuple[MeasuredLine, ...]
    own_measured: OwnMeasured
    figures: dict[str, str]
    expert_cache_href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPage:
    """What the arithmetic of one offer shows, as a page or as a row below that of the offer.

    `price` and `read` are what it rests on and when that was read, with its warnings in `marks`.
    """

    title: str
    number: int
    here: str
    json_href: str
    csv_href: str
    back: str
    subject: Subject
    evidence_href: str
    price: str
    read: str
    marks: tuple[Mark, ...]
    why: str
    worked: tuple[Worked, ...]
    stated: tuple[tuple[str, str], ...]
    colspan: int


def llm(request: Request) -> Response:
    """Answer the page. A form's empty fields are redirected away, so that addresses stay short."""
    subject, base = _subject(request), base_of(request)
    if subject is None:
        return _unknown(request)
    text = query_text(request)
    if any(not value for _, value in read_pairs(text)):
        served = find_board(request.app.state.shared, text)
        return RedirectResponse(cost_link(subject.path, read_cost(text, served)), 303)
    return _answer(
        request,
        subject,
        make=lambda found: page_of("llm.html", page=llm_page(found), said=llm_charts.name_of, base=base),
        base=base,
    )


def llm_json(request: Request) -> Response:
    """Answer the same costs as one document, all offers and measurements in it."""
    subject = _subject(request)
    if subject is None:
        return _unknown(request)

    def make(found: Found) -> Answer:
        measured = plain_measured(found.subject, found.query)
        return json_of({**llm_exports.document(found), "measured": measured})

    return _answer(request, subject, make=make)


def llm_csv(request: Request) -> Response:
    """Answer the same costs as CSV: a line for each offer and batch."""
    subject = _subject(request)
    if subject is None:
        return _unknown(request)

    return _answer(request, subject, make=_csv)


def _csv(found: Found) -> Answer:
    name = f"llm-{found.subject.id.replace('/', '-')}"
    return csv_of_objects(name, llm_exports.csv_lines(found), columns=llm_exports.COLUMNS)


def figure(name: str) -> Callable[[Request], Response]:
    """Return what answers one chart of a model's page as a figure for plotly."""

    def answer(request: Request) -> Response:
        subject = _subject(request)
        if subject is None:
            return _unknown(request)
        return _answer(request, subject, make=lambda found: json_of(llm_charts.FIGURES[name](found)))

    return answer


def _subject(request: Request) -> Subject | None:
    found = request.app.state.shared.llms.get(request.path_params["llm"])
    return None if found is None else subject_of(found)


def _unknown(request: Request) -> Response:
    asked = str(request.path_params["llm"])[:120]
    return nothing_near(request, "model", asked=asked, names=request.app.state.shared.llms, under="/llms")


def _answer(
    request: Request, subject: Subject, *, make: Callable[[Found], Answer], base: str = ""
) -> Response:
    return answer_kept(
        request,
        lambda served, text: make(find(served, subject, query=read_cost(text, served))),
        base=base,
    )


def llm_page(found: Found) -> LlmPage:
    """Work out what the page shows."""
    query, subject = found.query, found.subject
    start = (query.page - 1) * query.per_page
    shown = found.costs[start : start + query.per_page]
    asked = "" if found.api is None else words.money(found.api.usd_per_mtok_output)
    return LlmPage(
        subject=subject,
        query=query,
        canonical=cost_link(subject.path, query) if subject.id else "",
        json_href=cost_link(f"{subject.path}.json", query, page=1),
        csv_href=cost_link(f"{subject.path}.csv", query, page=1),
        quote_href=f"/quote?{joined([('back', subject.path), *cost_pairs(query)])}",
        board_href=link("/", query.offers, weights_gb=found.serving.read_for_one_gb),
        own=tuple(figures_of(query, href=lambda without: cost_link(subject.path, without))),
        hidden=_hidden(found),
        notices=notices(found.served, subject, query=query),
        stated=llm_words.stated(found.serving, query),
        presets=presets(subject.path, query),
        form=form_of(found.served, query),
        published=_published(found),
        verdicts=verdicts(found.costs, query),
        headings=headings(subject.path, query),
        lines=tuple(offer_line(cost, subject, query=query) for cost in shown),
        total=len(found.costs),
        first=start + 1,
        previous_href=cost_link(subject.path, query, page=query.page - 1) if query.page > 1 else "",
        next_href=_next(found, start=start),
        api=_api(found, asked),
        curves=llm_charts.curves_of(found),
        drafts=draft_lines(found.serving, shown),
        duels=duel_lines(found),
        measured=measured_lines(subject, query),
        own_measured=own_measured(subject, query),
        figures={
            name: cost_link(f"/figures{subject.path}/{name}.json", query, page=1, measured=())
            for name in llm_charts.FIGURES
        },
        expert_cache_href=link_to(subject.id, subject.profile) if subject.id else "",
        api_caution=f"{SOURCE}, {found.api.as_of}: {CAUTION}" if found.api else "",
    )


def _hidden(found: Found) -> frozenset[int]:
    """Return the ids of the reader's own offers that the filters leave out."""
    own = {row.stored.offer_id for row in found.served.board.rows if row.offer.is_own}
    return frozenset(own - {cost.row.stored.offer_id for cost in found.costs})


def _published(found: Found) -> tuple[str, str] | None:
    """Return the format a model's weights are published in and its link, None when it is shown or unknown."""
    fmt = published_format(found.subject.profile)
    if not fmt or fmt == found.query.format:
        return None
    return FORMATS[fmt].label, cost_link(found.subject.path, found.query, format=fmt, page=1)


def _next(found: Found, *, start: int) -> str:
    query = found.query
    if start + query.per_page >= len(found.costs):
        return ""
    return cost_link(found.subject.path, query, page=query.page + 1)


def _api(found: Found, asked: str) -> str:
    """Return the price that costs are held against, and whose it is; empty when there is none."""
    if found.query.api is not None:
        return f"${words.money(found.query.api)} a million output tokens, as the link gives it"
    if found.api is None:
        return ""
    provider = words.provider_name(found.api.provider)
    return f"${asked} a million output tokens at {provider} ({found.api.name_there})"


def offer(request: Request) -> Response:
    """Answer the arithmetic of one offer, whole or as the row that htmx puts below it."""
    subject, text, part = _subject(request), query_text(request), wants_part(request)
    if subject is None:
        return _unknown(request)
    served = find_board(request.app.state.shared, text)
    found = _one(request, subject, served=served, text=text)
    page = cost_page(found)
    name = "_llm_offer_row.html" if part else "llm_offer.html"
    body = environment().get_template(name).render(page=page, base=base_of(request)).encode()
    if served.is_private:
        return respond_privately(request, Answer(body, HTML))
    tag = etag(served.token, f"{part} {page.here}")
    return not_modified(request, tag) or respond(request, Answer(body, HTML), tag=tag)


def offer_json(request: Request) -> Response:
    """Answer what one offer comes to, and its arithmetic, as one document."""

    def make(found: Found) -> Answer:
        steps = [
            {"batch": each.title, "steps": [step._asdict() for step in each.steps]}
            for each in worked(found.costs[0], found.serving)
        ]
        return json_of({**llm_exports.document(found), "worked": steps})

    return _answer_one(request, make)


def offer_csv(request: Request) -> Response:
    """Answer what one offer comes to as CSV: a line for each batch."""
    return _answer_one(request, _csv)


def _answer_one(request: Request, make: Callable[[Found], Answer]) -> Response:
    subject = _subject(request)
    if subject is None:
        return _unknown(request)
    return answer_kept(request, lambda served, text: make(_one(request, subject, served=served, text=text)))


def _one(request: Request, subject: Subject, *, served: Served, text: str) -> Found:
    """Return what the offer that the address names comes to; raises HTTPException when there is none."""
    query, number = read_cost(text, served), _number(request)
    row = served.board.find(number)
    if row is None:
        day = f" on {query.as_of}" if query.as_of else ""
        raise HTTPException(404, f"There is no offer {number}{day}; it may have been withdrawn")
    return find(served, subject, query=query, row=row)


def cost_page(found: Found) -> CostPage:
    """Work out what the arithmetic of the one offer shows."""
    [cost] = found.costs
    query, subject, number = found.query, found.subject, cost.row.stored.offer_id
    return CostPage(
        title=f"{subject.name} on {title(cost.row)}",
        number=number,
        here=cost_link(f"{subject.path}/offers/{number}", query),
        json_href=cost_link(f"{subject.path}/offers/{number}.json", query),
        csv_href=cost_link(f"{subject.path}/offers/{number}.csv", query),
        back=cost_link(subject.path, query),
        subject=subject,
        evidence_href=link(f"/offers/{number}", query.offers, **_NOT_IN_EVIDENCE),
        price=_price(cost),
        read=when_read(cost.row),
        marks=marks_of(cost.row),
        why=llm_words.why(cost.batches),
        worked=worked(cost, found.serving),
        stated=llm_words.stated(found.serving, query),
        colspan=4 + 3 * len(query.batch),
    )


def _price(cost: OfferCost) -> str:
    """Return what one GPU costs for one hour, or why that is unknown."""
    price = cost.usd_per_gpu_hour
    return price.why if isinstance(price, Unknown) else f"${words.money(price)} for one GPU for one hour"


_NOT_IN_EVIDENCE: Final[dict[str, Any]] = {
    **dict.fromkeys(("gpu", "provider", "pricing", "service"), ()),
    "page": 1,
    "per_page": DEFAULT_PER_PAGE,
}
"""What a link to the evidence of a price leaves out of the query."""


def _number(request: Request) -> int:
    asked = str(request.path_params["offer_id"])
    digits = asked.removeprefix("-")  # the reader's own offers count from -1 down
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_ID_DIGITS):
        raise HTTPException(404, "An offer is a number")
    return int(asked)
