"""The page on method, made from the code that applies it: metrics, flags, thresholds, states, findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import MEMORY_TOLERANCE, PRECISIONS
from app.domain.cadence import MISSED_TO_STALE, MISSED_TO_VERY_STALE, Freshness
from app.domain.changes import ROUNDING_PERCENT, ChangeKind
from app.domain.check_words import HOLDING, NOTED
from app.domain.claims import load_claims
from app.domain.compare_query import FEWEST_CARDS, MOST_CARDS
from app.domain.doubts import WHY_MEANINGS, Why
from app.domain.findings import Level
from app.domain.history import SHOWN_AHEAD
from app.domain.metrics import METHODOLOGY_VERSION, METRICS
from app.domain.offers import HOURS_PER_MONTH, PriceBasis, PricingModel, ServiceKind
from app.domain.pairing import LEAST_CARDS, STANDS_RULE, TERMS_RULE
from app.domain.providers import load_providers
from app.domain.query import SPECS
from app.domain.rates import LONGEST_USE
from app.domain.rows import FLAG_MEANINGS, Flag
from app.store.records import Outcome, State
from app.web import changes_words, charts, compare_words, words
from app.web.answers import respond_made
from app.web.claims_view import HOLDS, KIND, condition, part_link
from app.web.kept import base_of, csv_of_objects, json_of, page_of, take_nothing
from app.web.provider_page import KIND_MEANINGS, STATE
from app.web.render import NATURE
from app.web.source_status import FRESHNESS, OUTCOME
from scrapers.reading import NOT_SOLD_WORDS, NoPrice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.claims import Claim, Part

CLAIM_MEANINGS: Final = {
    True: "all of its conditions hold",
    False: "a condition does not hold",
    None: "no provider tells whether a condition holds, and no other is wrong",
}

LINE_MEANINGS: Final = {
    "price": "the offer that stands for a provider",
    "min": "the lowest price of a marketplace",
    "median": "the median price of a marketplace",
    "max": "the highest price of a marketplace",
}

NO_PRICE_MEANINGS: Final = {
    NoPrice.NOT_SOLD: f"it holds {', '.join(NOT_SOLD_WORDS)}: the thing is not sold, and makes no offer",
    NoPrice.CONTACT: "sold on request only: noted, and makes no offer",
}

LEVEL_MEANINGS: Final = {
    Level.INFO: "worth knowing; the run is published",
    Level.WARNING: "worth a look; the run is published",
    Level.HOLD: "the whole run is held until somebody decides",
}

SPEC_MEANINGS: Final = {
    "main": "each card's own figures",
    "alt": "the other published figures of a card that has any, such as the B200's 7.7 TB/s",
}

OUTCOME_MEANINGS: Final = {
    Outcome.PUBLISHED: "its offers are the provider's from then on",
    Outcome.UNCHANGED: "it read what was already known; the offers count as seen",
    Outcome.QUARANTINED: "a finding holds it whole until somebody decides; the last good offers stay",
    Outcome.REFUSED: "the source did not let itself be read, or what came was no price page",
    Outcome.FAILED: "something broke on the way; nothing was changed",
}

UNDER_WAY: Final = "it has begun and not ended"

FRESHNESS_MEANINGS: Final = {
    Freshness.FRESH: "read well within the time that two readings take",
    Freshness.STALE: (
        f"no good run for as long as {MISSED_TO_STALE} readings take; a daily source: "
        f"{MISSED_TO_STALE * 24} hours"
    ),
    Freshness.VERY_STALE: (
        f"no good run for as long as {MISSED_TO_VERY_STALE} readings take; a daily "
        f"source: {MISSED_TO_VERY_STALE} days"
    ),
    Freshness.NEVER_READ: "no good run yet",
}

PRICING_MEANINGS: Final = {
    PricingModel.ON_DEMAND: "paid by time, without a promise on either side",
    PricingModel.SPOT: "cheaper, and may be taken back at any time",
    PricingModel.RESERVED: "promised for a term, of which the days are stated",
}

SERVICE_MEANINGS: Final = {
    ServiceKind.INSTANCE: "a machine, virtual or bare, with its GPUs",
    ServiceKind.POD: "a container with GPUs",
    ServiceKind.SERVERLESS: "paid while a request runs; managed",
    ServiceKind.DEDICATED_DEPLOYMENT: "a language model kept running on GPUs of one's own; managed",
    ServiceKind.MARKETPLACE: "machines of many sellers, each with a price of its own",
}


CSV_COLUMNS: Final = (
    *("section", "key", "label", "unit", "meaning", "formula", "assumes", "source", "nature", "better"),
    *("depends_on", "times_a_day"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule with its threshold, as the code applies it."""

    name: str
    text: str


RULES: Final = (
    Rule(
        name="One GPU, one hour",
        text=(
            "A printed price is brought to dollars for one GPU for one hour: divided by the "
            "GPUs of the "
            f"instance and by the hours it pays for. A month has {HOURS_PER_MONTH} hours. The "
            f"price as printed "
            "is kept beside it, and rounding happens only where a figure is shown."
        ),
    ),
    Rule(
        name="Dense rates",
        text=(
            f"Rates at {', '.join(each.upper() for each in PRECISIONS)} are dense ones: half "
            f"of what makers print "
            "with sparsity. A rate that is not published is unknown, and never taken from "
            "another precision."
        ),
    ),
    Rule(
        name="Unknown",
        text=(
            "An unknown figure is a dash with its reason. It sorts last in both directions and is never zero."
        ),
    ),
    Rule(
        name="Floors and slices",
        text="A price written as 'from' is a floor and a slice is no card: neither enters a ratio.",
    ),
    Rule(
        name="Same memory",
        text=(f"A memory size is one of a card's known ones when it is within {MEMORY_TOLERANCE:.0%} of it."),
    ),
    Rule(
        name="Other currencies",
        text=(
            "Dollars by the European Central Bank's reference rate of the day, or of the "
            "last day that has one, "
            f"for {LONGEST_USE.days} days at most. The history leaves them out and says so."
        ),
    ),
    Rule(
        name="Restated, not moved",
        text=(
            f"A price whose unit changed and that differs by less than {ROUNDING_PERCENT}% "
            f"was only written "
            "otherwise."
        ),
    ),
    Rule(
        name="Which offer stands for a card",
        text=(
            f"Of one provider's offers of a card under the same terms: {STANDS_RULE}. The history goes "
            "by that, too, but among all tiers, services and terms of the chosen pricing, so that a line may "
            "pass from one to another; a marketplace has no such offer there and shows its lowest, median "
            "and highest price."
        ),
    ),
    Rule(
        name="Which terms count for a provider",
        text=f"Of several under which it lists the compared cards: {TERMS_RULE}.",
    ),
    Rule(
        name="Who is compared",
        text=(
            f"{FEWEST_CARDS} to {MOST_CARDS} cards, at one provider, on one day, under the same service "
            f"kind, pricing model, tier and term. A provider that lists fewer than {LEAST_CARDS} of them "
            "so is left out, with the reason."
        ),
    ),
    Rule(
        name="How a claim is judged",
        text=(
            "A claim holds when all its conditions do. A condition is how a card does against every "
            "other card of a comparison, at a share of the providers that list both or at one provider, "
            "by the list prices of a day, and again on every day on which prices changed."
        ),
    ),
    Rule(
        name="Gaps",
        text=(
            f"A line of the history ends {MISSED_TO_STALE} readings after the last good run "
            f"and goes on at the next "
            f"one. An announced price is dotted until a run has seen it, and "
            f"{SHOWN_AHEAD.days} days ahead at most."
        ),
    ),
    Rule(
        name="A past day",
        text=(
            "The board of a day is that of its last second in UTC, and never changes once "
            "the day is over: a hash "
            "of its offers, prices and this page's version is kept and can be worked out again."
        ),
    ),
    Rule(
        name="A bad run never replaces a good one",
        text=(
            "Each provider publishes alone, all or nothing. One finding that holds keeps the whole run back."
        ),
    ),
)
"""The rules that are no metric, flag or finding; their numbers come from the code that uses them."""


Entries = tuple[tuple[str, str, str], ...]
"""Words with a key, a label and a meaning each."""


def _sections() -> tuple[tuple[str, str, Entries], ...]:
    """Return the lists of words, each with its key and its title."""
    return (
        ("flags", "Warnings beside a price", _entries(Flag, FLAG_MEANINGS, labels=words.FLAG)),
        ("freshness", "How fresh a source is", _entries(Freshness, FRESHNESS_MEANINGS, labels=FRESHNESS)),
        (
            "outcomes",
            "How a run ends",
            (*_entries(Outcome, OUTCOME_MEANINGS, labels=OUTCOME), ("under_way", OUTCOME[None], UNDER_WAY)),
        ),
        ("held", "What becomes of a held run", _entries(State, STATE)),
        (
            "changes",
            "What can happen to an offer",
            _entries(ChangeKind, changes_words.MEANING, labels=changes_words.KIND),
        ),
        ("pricing", "Pricing", _entries(PricingModel, PRICING_MEANINGS, labels=words.PRICING)),
        ("service", "What is rented", _entries(ServiceKind, SERVICE_MEANINGS, labels=words.SERVICE)),
        (
            "basis",
            "What a printed price is for",
            tuple((key.value, words.BASIS[key], "") for key in PriceBasis),
        ),
        ("doubts", "Why an order is in doubt", _entries(Why, WHY_MEANINGS, labels=compare_words.DOUBT)),
        (
            "claim_states",
            "What a claim can be",
            tuple((KIND[key], HOLDS[key], CLAIM_MEANINGS[key]) for key in HOLDS),
        ),
        ("lines", "Lines of a history", _entries(charts.WHAT, LINE_MEANINGS)),
        ("provider_kinds", "Whose prices", _entries(KIND_MEANINGS, KIND_MEANINGS)),
        ("no_price", "A price cell without a price", _entries(NoPrice, NO_PRICE_MEANINGS)),
        ("spec", "Which published figures", _entries(SPECS, SPEC_MEANINGS)),
        ("natures", "What a figure is", _entries(NATURE, NATURE)),
        ("levels", "How much a finding matters", _entries(Level, LEVEL_MEANINGS)),
        ("holding", "Findings that hold a run", _entries(HOLDING, HOLDING)),
        ("noted", "Findings that are noted", _entries(NOTED, NOTED)),
    )


def _entries(
    keys: Iterable[str], meanings: Mapping[Any, str], *, labels: Mapping[Any, str] | None = None
) -> Entries:
    """Return words with their meanings; without labels they are called by their keys."""
    return tuple((str(key), labels[key] if labels else str(key), meanings[key]) for key in keys)


def _claims() -> list[dict[str, Any]]:
    """Return the claims with their conditions and the comparisons that show them."""
    return [_claim(each) for each in load_claims()]


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "id": claim.id,
        "sentence": claim.sentence,
        "source": claim.source,
        "conditions": [
            {"sentence": f"{condition(part)}{_needed(part)}.", "href": part_link(part, None)}
            for part in claim.parts
        ],
    }


def _needed(part: Part) -> str:
    if part.provider is not None:
        return ""
    if part.least == 1:
        return ", at every provider that lists it and another"
    share = f"{part.least.numerator} of {part.least.denominator}"
    return f", at {share} of the providers that list it and another, at least"


def methodology(request: Request) -> Response:
    """Answer the page on method."""
    take_nothing(request)
    return respond_made(
        request,
        page_of(
            "methodology.html",
            version_of_method=METHODOLOGY_VERSION,
            rules=RULES,
            sections=_sections(),
            claims=_claims(),
            cadence=_cadence(),
            base=base_of(request),
        ),
    )


def methodology_json(request: Request) -> Response:
    """Answer the same as JSON."""
    take_nothing(request)
    return respond_made(request, json_of(methodology_document()))


def methodology_csv(request: Request) -> Response:
    """Answer the same as CSV: a line for each figure, rule, word, claim and source."""
    take_nothing(request)
    return respond_made(request, csv_of_objects("methodology", _csv_lines(), columns=CSV_COLUMNS))


def _csv_lines() -> Iterator[dict[str, Any]]:
    document = methodology_document()
    for metric in document["metrics"]:
        yield {"section": "metrics", **metric}
    for rule in RULES:
        yield {"section": "rules", "key": rule.name, "meaning": rule.text}
    for name, _, _ in _sections():
        for entry in document[name]:
            yield {"section": name, **entry}
    for claim in document["claims"]:
        for each in claim["conditions"]:
            yield {
                "section": "claims",
                "key": claim["id"],
                "label": claim["sentence"],
                "meaning": each["sentence"],
            }
    for source in document["cadence"]:
        yield {"section": "cadence", "key": source["source"], "times_a_day": source["times_a_day"]}


def _cadence() -> tuple[tuple[str, str, int], ...]:
    """Return how often a day each provider is read."""
    return tuple((each.id, each.name, each.times_a_day) for each in load_providers().values())


def methodology_document() -> dict[str, Any]:
    """Return the method as one document for programs."""
    return {
        "methodology_version": METHODOLOGY_VERSION,
        "metrics": [
            {
                "key": each.key,
                "label": each.label,
                "unit": each.unit,
                "formula": each.formula,
                "meaning": each.meaning,
                "assumes": each.assumes,
                "source": each.source,
                "nature": each.nature,
                "better": each.better,
                "depends_on": list(each.depends),
            }
            for each in METRICS.values()
        ],
        "rules": [{"name": rule.name, "text": rule.text} for rule in RULES],
        **{
            name: [{"key": key, "label": label, "meaning": meaning} for key, label, meaning in entries]
            for name, _, entries in _sections()
        },
        "claims": _claims(),
        "cadence": [{"source": key, "name": name, "times_a_day": times} for key, name, times in _cadence()],
    }
