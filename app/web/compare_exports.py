"""A pairing for programs: one JSON document, or CSV lines, with the numbers of the page unrounded."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from app.domain.fit import flags_in, gpus_for_weights
from app.domain.metrics import View
from app.domain.pairing import STANDS_RULE, TERMS_RULE
from app.domain.query import OfferQuery
from app.web import compare_words, words
from app.web.exports import describe, harmless
from app.web.stands import with_baseline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.accelerators import Accelerator
    from app.domain.compare_query import CompareQuery
    from app.domain.doubts import Doubt
    from app.domain.offers import PairKey
    from app.domain.pairing import Cell, Line, Pairing, Tally
    from app.web.boards import Served

TERMS: Final = ("provider", "service_kind", "pricing_model", "tier", "term_days_min", "term_days_max")


def document(served: Served, query: CompareQuery, *, pairing: Pairing) -> dict[str, Any]:
    """Return a comparison as one document; numbers have their unit in the key or in `metric`."""
    question = pairing.question
    plain = OfferQuery(precision=query.precision, weights_gb=query.weights_gb)
    return {
        "as_of": words.utc(served.board.instant),
        "metric": {**describe(query.metric, plain), "better": question.metric.better},
        "precision": query.precision,
        "weights_gb": float(query.weights_gb),
        "baseline": question.baseline.id,
        "spec": query.spec,
        "pricing": list(query.pricing),
        "service": list(query.service),
        "cards": [_card(card) for card in question.cards],
        "one_offer_stands_for_a_card": STANDS_RULE,
        "one_set_of_terms_counts_for_a_provider": TERMS_RULE,
        "counts": list(compare_words.counts(pairing)),
        "doubts": list(compare_words.doubts(pairing)),
        "tallies": [_tally(tally) for tally in pairing.tallies],
        "lines": [_line(line, pairing) for line in pairing.lines],
        "left_out": [{"provider": each.provider, "why": each.why} for each in pairing.left_out],
    }


def _card(card: Accelerator) -> dict[str, Any]:
    return {
        "accelerator": card.id,
        "name": card.name,
        "bandwidth_tb_s": float(card.bandwidth_tb_s),
        "other_bandwidth_tb_s": _number(card.bandwidth_alt_tb_s),
    }


def _tally(tally: Tally) -> dict[str, Any]:
    named = {name: getattr(tally, name) for name in ("listed", "wins", "beats", "ties", "loses")}
    return {
        "accelerator": tally.card.id,
        **{name: [line.provider for line in lines] for name, lines in named.items()},
    }


def _terms(terms: PairKey) -> dict[str, Any]:
    return {name: value if value != "" else None for name, value in zip(TERMS, terms, strict=True)}


def _line(line: Line, pairing: Pairing) -> dict[str, Any]:
    return {
        **_terms(line.terms),
        "is_own": line.is_own,
        "counts": line.counts,
        "winners": list(line.winners),
        "cells": [_cell(cell, pairing) for cell in line.cells],
        "doubts": [
            {**_doubt(each), "sentence": compare_words.doubt(line, each, pairing=pairing)}
            for each in line.doubts
        ],
    }


def _cell(cell: Cell, pairing: Pairing) -> dict[str, Any]:
    view = _view(pairing)
    offer = cell.row.offer if cell.row else None
    return {
        "accelerator": cell.card.id,
        "usd_per_gpu_hour": _number(cell.usd_per_gpu_hour),
        "value": _number(cell.value),
        "price_multiple": _number(cell.multiple),
        "breakeven_multiple": _number(cell.breakeven),
        "passes": cell.passes,
        "offer_id": cell.row.stored.offer_id if cell.row else None,
        "sku": offer.sku if offer else None,
        "min_gpus": offer.min_gpus if offer else None,
        "stands_for": cell.stands_for,
        "flags": [flag.value for flag in flags_in(cell.row, view)] if cell.row else [],
        "gpus_for_weights": gpus_for_weights(cell.row, view) if cell.row else None,
        "why": cell.why or None,
    }


def _view(pairing: Pairing) -> View:
    return View(precision=pairing.question.precision, weights_gb=pairing.question.weights_gb)


def _doubt(each: Doubt) -> dict[str, Any]:
    return {
        "why": each.why.value,
        "accelerator": each.card.id,
        "other": each.other.id if each.other else None,
        "instead": each.instead.id if each.instead else None,
        "instead_bandwidth_tb_s": _number(each.instead.bandwidth_tb_s) if each.instead else None,
        "value": _number(each.value),
        "other_value": _number(each.other_value),
    }


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def csv_lines(served: Served, query: CompareQuery, *, pairing: Pairing) -> Iterator[list[str]]:
    """Yield the titles, then a line for each provider, set of terms and card with what it stands for."""
    key = pairing.question.metric.key
    said = with_baseline(query, instant=served.board.instant, baseline=pairing.question.baseline.id)
    ends = [_text(value) for value in said.values()]
    own = () if key == "usd_per_gpu_hour" else (key,)
    names = ("price_multiple", "breakeven_multiple", "passes", "wins", "in_doubt", "min_gpus", "offer_id")
    yield [
        *TERMS,
        "is_own",
        "counts",
        "accelerator",
        "usd_per_gpu_hour",
        *own,
        *names,
        "why",
        "gpus_for_weights",
        *said,
    ]
    for line in pairing.lines:
        for cell in line.cells:
            values = [cell.usd_per_gpu_hour, *([cell.value] if own else []), cell.multiple, cell.breakeven]
            row = cell.row
            yield [
                *(_text(value) for value in line.terms),
                _text(line.is_own),
                _text(line.counts),
                cell.card.id,
                *(_text(value) for value in values),
                _text(cell.passes),
                _text(cell.card.id in line.winners),
                _text(any(each.card.id == cell.card.id for each in line.doubts)),
                _text(row.offer.min_gpus if row else None),
                _text(row.stored.offer_id if row else None),
                cell.why,
                _text(gpus_for_weights(row, _view(pairing)) if row else None),
                *ends,
            ]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return words.exact(value)
    return harmless(str(value))
