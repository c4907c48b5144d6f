"""What the page of a language model shows: offers with their costs, the form, links, and what is stated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from app.domain.llms.cost_query import PRESETS, SORTS, cost_pairs
from app.domain.llms.costs import DoesNotFit, Money, Priced
from app.domain.llms.fit import ENGINES, POWERS_OF_TWO
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS
from app.domain.llms.unknown import Unknown
from app.domain.offers import PricingModel
from app.web import llm_words, words
from app.web.charts import provider_label
from app.web.choices import Choice, choices
from app.web.llm_cautions import doubts_of, last_seen_day, marks_of, price_is
from app.web.state import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from app.domain.llms.cost_query import CostQuery
    from app.domain.llms.costs import BatchCost, OfferCost
    from app.domain.llms.profile import LlmProfile
    from app.domain.rows import Row
    from app.web.boards import Served
    from app.web.llm_cautions import Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One figure of a model, with what has to be said beside it and where it is from."""

    label: str
    value: str
    beside: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The model a page is about: one of ours, or one that a pasted config describes, which has no `id`."""

    id: str
    name: str
    profile: LlmProfile
    facts: tuple[Fact, ...]

    @property
    def path(self) -> str:
        """Return the path of its page."""
        return f"/llms/{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCell:
    """One batch at one offer as the table shows it: with figures, or with the reason there are none.

    Numbers are empty where unknown, with `why`; `lacks` is set where the batch does not fit. `price_is` names
    what puts the price in doubt that the verdict against an API rests on.
    """

    usd: str = ""
    usd_raw: str = ""
    input_usd: str = ""
    input_raw: str = ""
    rate: str = ""
    rate_raw: str = ""
    stream: str = ""
    bound: str = ""
    gpus: str = ""
    paid: str = ""
    api: str = ""
    api_pays: bool = False
    price_is: str = ""
    why: str = ""
    lacks: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferLine:
    """One offer as the table shows it, with its warnings; `last_seen` is a day, empty for a reader's own."""

    number: int
    provider: str
    gpu: str
    terms: str
    is_own: bool
    marks: tuple[Mark, ...]
    last_seen: str
    usd: str
    usd_raw: str
    why: str
    href: str
    label: str
    cells: tuple[BatchCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading that sorts: its label, its link, and how it is sorted now."""

    label: str
    href: str
    aria_sort: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What the form offers; `kept` are hidden fields."""

    formats: tuple[Choice, ...]
    kvs: tuple[Choice, ...]
    cards: tuple[Choice, ...]
    engines: tuple[Choice, ...]
    attentions: tuple[Choice, ...]
    countings: tuple[Choice, ...]
    gpus: tuple[Choice, ...]
    providers: tuple[Choice, ...]
    pricings: tuple[Choice, ...]
    kept: tuple[tuple[str, str], ...]
    today: str
    first_day: str


def cost_link(path: str, query: CostQuery, **changes: object) -> str:
    """Return the address of a query with some fields changed; the bare path when all is default."""
    text = joined(cost_pairs(query.replace(**changes)))
    return f"{path}?{text}" if text else path


def offer_line(cost: OfferCost, subject: Subject, *, query: CostQuery) -> OfferLine:
    """Work out what the table shows of one offer."""
    offer, price = cost.row.offer, cost.usd_per_gpu_hour
    gpu = cost.row.accelerator.name if cost.row.accelerator else offer.accelerator_as_written
    usd = None if isinstance(price, Unknown) else price
    provider = words.provider_name(offer.provider)
    return OfferLine(
        number=cost.row.stored.offer_id,
        provider=provider,
        gpu=gpu,
        terms=f"{words.SERVICE[offer.service_kind]}, {words.pricing(offer)}",
        is_own=offer.is_own,
        marks=marks_of(cost.row),
        last_seen=last_seen_day(cost.row),
        usd="" if usd is None else words.number(usd, 2),
        usd_raw="" if usd is None else words.exact(usd),
        why=llm_words.why(price),
        href=cost_link(f"{subject.path}/offers/{cost.row.stored.offer_id}", query) if subject.id else "",
        label=f"{provider} {gpu}, {words.pricing(offer)}",
        cells=_cells(cost, query),
    )


def _cells(cost: OfferCost, query: CostQuery) -> tuple[BatchCell, ...]:
    if isinstance(cost.batches, Unknown):
        return tuple(BatchCell(why=cost.batches.why) for _ in query.batch)
    return tuple(_cell(each, cost.row) for each in cost.batches)


def _cell(cost: BatchCost, row: Row) -> BatchCell:
    if isinstance(cost, DoesNotFit):
        return BatchCell(lacks=llm_words.lacks(cost.nearest), why=cost.nearest.why)
    cell = _priced(cost)
    return replace(cell, price_is=price_is(row)) if cell.api else cell


def _priced(cost: Priced) -> BatchCell:
    decode, money = cost.ceiling.served.decode, cost.money
    gpus = llm_words.gpus(cost.ceiling.gpus)
    if isinstance(decode, Unknown):
        return BatchCell(gpus=gpus, why=decode.why)
    bound = BatchCell(
        rate=llm_words.rate(decode.tokens_per_s),
        rate_raw=words.exact(decode.tokens_per_s),
        stream=llm_words.rate(decode.tokens_per_s_per_stream),
        bound=decode.bound_by,
        gpus=gpus,
        why=llm_words.why(money),
    )
    return bound if isinstance(money, Unknown) else _with_money(bound, money)


def _with_money(bound: BatchCell, money: Money) -> BatchCell:
    api = money.against_api
    return replace(
        bound,
        usd=llm_words.usd(money.usd_per_mtok_output),
        usd_raw=words.exact(money.usd_per_mtok_output),
        input_usd=llm_words.usd(money.usd_per_mtok_input),
        input_raw=words.exact(money.usd_per_mtok_input),
        paid=_paid(money),
        api=llm_words.against(api) if api else "",
        api_pays=bool(api and api.can_pay),
    )


def _paid(money: Money) -> str:
    """Return what more is paid for than is used, and what the used GPUs alone come to."""
    rental = money.rental
    if rental.rented_gpus == rental.used_gpus:
        return ""
    alone = llm_words.usd(money.used_usd_per_mtok_output)
    return f"{rental.rented_gpus} paid for; {alone} if all {rental.rented_gpus} serve copies"


def verdicts(costs: Sequence[OfferCost], query: CostQuery) -> tuple[str, ...]:
    """Return in a sentence for each batch where it costs least, or that it fits nowhere."""
    return tuple(_verdict(place, batch, costs) for place, batch in enumerate(query.batch))


def _verdict(place: int, batch: int, costs: Sequence[OfferCost]) -> str:
    asked = f"{batch:,} {'request' if batch == 1 else 'requests'} at once"
    best: tuple[OfferCost, Priced, Money] | None = None
    fits = False
    for cost in costs:
        each = None if isinstance(cost.batches, Unknown) else cost.batches[place]
        if not isinstance(each, Priced):
            continue
        fits, money = True, each.money
        if isinstance(money, Money) and (
            best is None or money.usd_per_mtok_output < best[2].usd_per_mtok_output
        ):
            best = (cost, each, money)
    if best is None:
        return f"{asked}: {'no price is known' if fits else 'fits none of these offers'}."
    return f"{asked}: {_least(*best)}"


def _least(cost: OfferCost, priced: Priced, money: Money) -> str:
    row, decode = cost.row, priced.ceiling.served.decode
    assert row.accelerator is not None  # noqa: S101 - a price comes from a known card
    assert not isinstance(decode, Unknown)  # noqa: S101 - and from a known rate
    return (
        f"at least ${llm_words.usd(money.usd_per_mtok_output)} a million output tokens, on "
        f"{priced.ceiling.gpus} \N{MULTIPLICATION SIGN} {row.accelerator.name} at "
        f"{provider_label(row.offer.provider)} ({words.pricing(row.offer)}), "
        f"at most {llm_words.rate(decode.tokens_per_s)} tokens/s. {doubts_of(row)}"
    ).rstrip()


_SORT_LABELS: Final = {
    "provider": "Provider",
    "gpu": "GPU",
    "usd_per_gpu_hour": "$/GPU-h",
    "tokens_per_s": "Ceiling",
    "usd_per_mtok": "$/M output",
    "cards": "GPUs",
}
_MORE_IS_BETTER: Final = frozenset({"tokens_per_s"})


def headings(path: str, query: CostQuery) -> dict[str, Heading]:
    """Return the headings that sort; a second click turns the order."""
    return {key: _heading(key, path, query) for key in SORTS}


def _heading(key: str, path: str, query: CostQuery) -> Heading:
    first = f"-{key}" if key in _MORE_IS_BETTER else key
    turned = key if first.startswith("-") else f"-{key}"
    at = query.sort.removeprefix("-") == key
    return Heading(
        label=_SORT_LABELS[key],
        href=cost_link(path, query, sort=turned if query.sort == first else first, page=1),
        aria_sort="none" if not at else "descending" if query.sort.startswith("-") else "ascending",
    )


def presets(path: str, query: CostQuery) -> tuple[tuple[str, str, str, bool], ...]:
    """Return the common ways to serve: name, what it is, its link, whether it is the one shown."""
    return tuple(
        (
            each.name,
            each.about,
            cost_link(path, query, context=each.context, batch=each.batch, page=1),
            (query.context, query.batch) == (each.context, each.batch),
        )
        for each in PRESETS
    )


_COUNTINGS: Final = (
    ("", "no draft"),
    ("with_bonus", "with the bonus token"),
    ("without_bonus", "without it, drafts alone"),
)


def form_of(served: Served, query: CostQuery) -> Form:
    """Return what the form offers: chosen cards and providers first, then the others on the board."""
    rows = served.board.rows
    cards = {row.accelerator.id: row.accelerator.name for row in rows if row.accelerator}
    families = {each: each.upper() for each in query.gpu if each not in cards}
    listed = {row.offer.provider for row in rows} | set(query.provider)
    providers = {each: words.provider_name(each) for each in listed}
    named = sorted(
        ((key, name) for key, name in providers.items() if not key.startswith("own:")), key=lambda one: one[1]
    )
    by_name = sorted(cards.items(), key=lambda one: one[1])
    return Form(
        formats=choices([(each.id, each.label) for each in FORMATS.values()], (query.format,)),
        kvs=choices([(each.id, each.label) for each in KV_FORMATS.values()], (query.kv,)),
        cards=_card_choices(query),
        engines=choices([(each.id, each.label) for each in ENGINES.values()], (query.engine,)),
        attentions=choices(
            [("tensor", "tensor parallel"), ("data", "attention data parallel")], (query.attention,)
        ),
        countings=choices(_COUNTINGS, (query.draft_counts,)),
        gpus=choices([*families.items(), *_chosen_first(by_name, query.gpu)], query.gpu),
        providers=choices(_chosen_first(named, query.provider), query.provider),
        pricings=choices([(each.value, words.PRICING[each]) for each in PricingModel], query.pricing),
        kept=tuple(
            pair
            for pair in cost_pairs(query)
            if pair[0] in {"quote", "own", "measured", "spec", "service", "sort", "per_page"}
        ),
        today=served.words.today.isoformat(),
        first_day=served.first_day.isoformat() if served.first_day else "",
    )


def _chosen_first(found: Sequence[tuple[str, str]], chosen: Iterable[str]) -> list[tuple[str, str]]:
    ahead = set(chosen)
    return sorted(found, key=lambda one: one[0] not in ahead)


def _card_choices(query: CostQuery) -> tuple[Choice, ...]:
    options = [("1,2,4,8", "the fewest up to 8"), ("1,2,4,8,16,32", "the fewest up to 32")]
    options += [(str(each), f"exactly {each}") for each in POWERS_OF_TWO]
    chosen = ",".join(map(str, query.cards))
    if chosen not in dict(options):
        options.append((chosen, f"the fewest of {chosen.replace(',', ', ')}"))
    return choices(options, (chosen,))


def notices(served: Served, subject: Subject, *, query: CostQuery) -> tuple[str, ...]:
    """Return what a reader has to be told before the figures."""
    found = []
    if served.outage:
        found.append(f"The database is away. These are the prices of {words.moment(served.board.instant)}.")
    if query.as_of is not None and query.as_of < served.words.today:
        found.append(f"These are the prices of {query.as_of}, not today's.")
        if served.first_day is not None and query.as_of < served.first_day:
            found.append(f"No price was recorded before {served.first_day}.")
    if query.spec == "alt":
        found.append("Computed with the other published bandwidth of each card that has one.")
    longest = subject.profile.max_context
    if longest is not None and query.context > longest:
        found.append(
            f"The model's config states at most {longest:,} tokens; {query.context:,} were asked for."
        )
    return tuple(found)
