"""How a comparison is said: who wins at how many providers, who does not break even, what could change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.domain.doubts import Why, compare
from app.domain.question import labels
from app.web import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from app.domain.doubts import Doubt
    from app.domain.pairing import Line, Pairing, Tally

MOST_DECIMALS: Final = 6

DOUBT: Final = {
    Why.SPEC: "disputed",
    Why.FORM: "form factor",
    Why.FLOOR: "from",
    Why.ANNOUNCED: "announced",
    Why.STALE: "stale",
}

_VERDICT: Final = {1: "beats", 0: "ties with", -1: "loses to"}


def joined(names: Sequence[str]) -> str:
    """Return names as a sentence lists them."""
    return " and ".join([part for part in (", ".join(names[:-1]), *names[-1:]) if part])


def providers(count: int) -> str:
    """Return a number of providers."""
    return f"{count} provider{'' if count == 1 else 's'}"


def apart(value: Decimal, other: Decimal, *, fewest: int = 2) -> tuple[str, str]:
    """Return two figures with as many decimals, `fewest` at least, as it takes to tell them apart."""
    for decimals in range(fewest, MOST_DECIMALS):
        texts = (words.number(value, decimals), words.number(other, decimals))
        if texts[0] != texts[1]:
            return texts
    return words.number(value, fewest), words.number(other, fewest)


def counts(pairing: Pairing) -> tuple[str, ...]:
    """Return what it comes to: a sentence for each card against the baseline, then who does best."""
    names = labels(pairing.question.cards)
    baseline = pairing.question.baseline
    found = [
        _against_baseline(tally, names, baseline.id)
        for tally in pairing.tallies
        if tally.card.id != baseline.id and (tally.beats or tally.ties or tally.loses)
    ]
    if len(pairing.question.cards) > 2:  # noqa: PLR2004 - of two the sentence above says it all
        best = [tally for tally in pairing.tallies if tally.wins]
        found += [
            f"Of all compared, the {names[tally.card.id]} does best at {len(tally.wins)} of "
            f"{len(tally.listed)} that list it."
            for tally in best
        ]
    return tuple(found)


def _against_baseline(tally: Tally, names: Mapping[str, str], baseline: str) -> str:
    name, base = names[tally.card.id], names[baseline]
    of = len(tally.beats) + len(tally.ties) + len(tally.loses)
    parts = [f"The {name} wins against the {base} at {len(tally.beats)} of {providers(of)}"]
    for word, lines in (("ties", tally.ties), ("loses", tally.loses)):
        if lines:
            parts.append(f"{word} at {joined([_loser(line, tally.card.id) for line in lines])}")
    return f"{joined(parts)}."


def _loser(line: Line, card_id: str) -> str:
    cell, name = line.cell(card_id), words.provider_name(line.provider)
    if cell.multiple is None or cell.breakeven is None:
        return name
    ours, even = apart(cell.multiple, cell.breakeven)
    return f"{name} ({ours} times the price, break-even {even})"


def doubt(line: Line, each: Doubt, *, pairing: Pairing) -> str:
    """Return one doubt as a sentence."""
    names = labels(pairing.question.cards)
    name, provider = names[each.card.id], words.provider_name(line.provider)
    row = line.cell(each.card.id).row
    if each.why is Why.ANNOUNCED:
        begins = f" for {row.stored.price_valid_from.date()}" if row else ""
        return (
            f"{provider} has announced this price of its {name}{begins}; no run has seen it as the current "
            "price yet."
        )
    if each.why is Why.STALE:
        seen = f" since {row.stored.last_seen_at.date()}" if row else ""
        return f"{provider} has not listed its {name} in a good run{seen}; the price may have moved."
    if each.other is None or each.value is None or each.other_value is None:
        return f"The {name} at {provider} is in doubt."
    order = compare(each.value, each.other_value, metric=pairing.question.metric) or 0
    ours, theirs = apart(each.value, each.other_value)
    verdict = f"{_VERDICT[order]} the {names[each.other.id]} at {provider} ({ours} against {theirs})"
    if each.why is Why.FLOOR:
        return f"{provider} gives only a floor for its {name}; at that price it {verdict}."
    if each.why is Why.FORM and each.instead is not None:
        return f"If what {provider} calls {_written(line, each)} is the {each.instead.name}, it {verdict}."
    speed = each.instead.bandwidth_tb_s if each.instead else each.card.bandwidth_tb_s
    return f"With {speed} TB/s, also published, the {name} {verdict}."


def _written(line: Line, each: Doubt) -> str:
    row = line.cell(each.card.id).row
    return f"\u201c{row.offer.accelerator_as_written}\u201d" if row else each.card.name


def doubts(pairing: Pairing) -> tuple[str, ...]:
    """Return all doubts of the lines that count: published figures first, old prices in one sentence last."""
    found = [
        (list(Why).index(each.why), doubt(line, each, pairing=pairing))
        for line in pairing.counted
        for each in line.doubts
        if each.why is not Why.STALE
    ]
    sentences = [sentence for _, sentence in sorted(found, key=lambda one: one[0])]
    return tuple(dict.fromkeys([*sentences, *_stale(pairing)]))


def _stale(pairing: Pairing) -> tuple[str, ...]:
    """Return one sentence about all old prices: whose they are, and when they were last seen.

    A price that was only announced has been seen by none, so that it is left out.
    """
    old = [line for line in pairing.counted if any(each.why is Why.STALE for each in line.doubts)]
    if not old:
        return ()
    all_rows = [cell.row for line in old for cell in line.cells if cell.row and cell.row.is_stale]
    rows = [row for row in all_rows if not row.stored.announced_since_page]
    if not rows:
        return ()
    seen = sorted(row.stored.last_seen_at.date() for row in rows)
    days = f"on {seen[0]}" if seen[0] == seen[-1] else f"between {seen[0]} and {seen[-1]}"
    whose = (
        "all of these prices"
        if len(old) == len(pairing.counted)
        else f"prices of {joined([words.provider_name(line.provider) for line in old])}"
    )
    but = "" if len(rows) == len(all_rows) else " but those that are only announced"
    return (f"A good run last saw {whose}{but} {days}; they may have moved since.",)
