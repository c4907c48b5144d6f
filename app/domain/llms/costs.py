"""What a model costs on an offer at best: the GPUs that hold it, its ceilings, dollars for a million tokens.

A batch that does not fit is a value of its own, without any speed or price, so none can be shown for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.llms.bounds import DecodeBound
from app.domain.llms.fit import TooBig
from app.domain.llms.money import blended_usd_per_mtok, break_even, usd_per_mtok
from app.domain.llms.serving import Served, peaks_of, serve
from app.domain.llms.touched import weights_read_bytes
from app.domain.llms.unknown import Unknown
from app.domain.metrics import BANDWIDTH, COMPARABLE_PRICE, View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.domain.accelerators import Accelerator
    from app.domain.llms.bounds import Peaks
    from app.domain.llms.money import BreakEven
    from app.domain.llms.offload import Host
    from app.domain.llms.serving import Setup
    from app.domain.llms.speculation import Draft
    from app.domain.rows import Row


_MEGABYTE: Final = Decimal("0.001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a model is served: its setup, and how many requests run at once in turn.

    `gpu_counts` are the numbers of GPUs that may hold one copy, rising; `utilisation` is the share of the
    paid time in which the bound is reached, `input_per_output` how many prompt tokens come to each generated
    one where both are blended. `api_usd_per_mtok` is what an API asks for output. The demand of the setup is
    that of the first batch. `draft` and `host` are each for another ceiling beside the plain one,
    which alone is priced.
    """

    setup: Setup
    batches: tuple[int, ...]
    gpu_counts: tuple[int, ...]
    utilisation: Decimal = Decimal(1)
    input_per_output: Decimal = Decimal(3)
    api_usd_per_mtok: Decimal | None = None
    draft: Draft | None = None
    host: Host | None = None

    @property
    def read_for_one_gb(self) -> Decimal:
        """GB of weights that one request alone reads a token, to a megabyte: the board's `weights_gb`."""
        read = weights_read_bytes(self.setup.profile, self.setup.weights, tokens=1)
        return max(_MEGABYTE, (read / 10**9).quantize(_MEGABYTE))

    def of_batch(self, batch: int) -> Setup:
        """Return the setup with another batch."""
        return replace(self.setup, demand=replace(self.setup.demand, batch=batch))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A batch on the fewest GPUs that hold it: the bounds of one copy, and how fewer GPUs fail."""

    batch: int
    served: Served
    failed: tuple[TooBig, ...]

    @property
    def gpus(self) -> int:
        """GPUs that hold the copy."""
        return self.served.fit.gpus

    @property
    def most_requests(self) -> int | None:
        """Most requests of this context at once, None without a limit: they keep nothing in memory."""
        fit = self.served.fit
        return fit.max_concurrency if fit.budget.request_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoesNotFit:
    """A batch that no allowed number of GPUs holds: how each fails, the most GPUs last. It has no figures."""

    batch: int
    failed: tuple[TooBig, ...]

    @property
    def nearest(self) -> TooBig:
        """How the most GPUs fail, which lack the least each."""
        return self.failed[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rental:
    """What is paid for while the model runs, whole instances of `gpu_count`, and what it uses of them."""

    used_gpus: int
    gpu_count: int
    instances: int
    usd_per_gpu_hour: Decimal

    @property
    def rented_gpus(self) -> int:
        """GPUs that are paid for."""
        return self.instances * self.gpu_count

    @property
    def usd_per_hour(self) -> Decimal:
        """Dollars an hour for all that is rented."""
        return self.rented_gpus * self.usd_per_gpu_hour

    @property
    def used_usd_per_hour(self) -> Decimal:
        """Dollars an hour for the GPUs in use alone, as if the others served copies of their own."""
        return self.used_gpus * self.usd_per_gpu_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """Dollars at a bound for a rental; `used_usd_per_mtok_output` counts only the GPUs in use.

    Input is charged for the seconds of prefill and output for those of decode, so that a workload costs the
    sum of both and no second is paid twice. `against_api` is at full use.
    """

    rental: Rental
    usd_per_mtok_output: Decimal
    usd_per_mtok_input: Decimal
    usd_per_mtok_blended: Decimal
    used_usd_per_mtok_output: Decimal
    against_api: BreakEven | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A batch that fits, with its ceiling and what that costs at one offer, unknown without price or rate."""

    ceiling: Ceiling
    money: Money | Unknown

    @property
    def batch(self) -> int:
        """Requests at once."""
        return self.ceiling.batch


BatchBound = Ceiling | DoesNotFit
BatchCost = Priced | DoesNotFit


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferCost:
    """What one offer comes to, batch by batch, unknown where the card is; the price is for one GPU."""

    row: Row
    usd_per_gpu_hour: Decimal | Unknown
    batches: tuple[BatchCost, ...] | Unknown

    @property
    def first(self) -> BatchCost | None:
        """Return what the first batch comes to, None where the card is unknown."""
        return None if isinstance(self.batches, Unknown) else self.batches[0]

    @property
    def gpus(self) -> int | None:
        """Return how many GPUs hold the first batch, None when unknown or when it does not fit."""
        return self.first.ceiling.gpus if isinstance(self.first, Priced) else None

    @property
    def tokens_per_s(self) -> Decimal | None:
        """Return the ceiling of the first batch, None when unknown or when it does not fit."""
        decode = self.first.ceiling.served.decode if isinstance(self.first, Priced) else None
        return decode.tokens_per_s if isinstance(decode, DecodeBound) else None

    @property
    def usd_per_mtok(self) -> Decimal | None:
        """Return the dollars for output of the first batch, None when unknown or when it does not fit."""
        if not isinstance(self.first, Priced) or isinstance(self.first.money, Unknown):
            return None
        return self.first.money.usd_per_mtok_output


def card_bounds(serving: Serving, card: Accelerator) -> tuple[BatchBound, ...]:
    """Return each batch on the fewest GPUs of this card that hold it, with its ceilings."""
    return tuple(_bound(serving, card, batch=batch) for batch in serving.batches)


def _bound(serving: Serving, card: Accelerator, *, batch: int) -> BatchBound:
    setup = serving.of_batch(batch)
    failed: list[TooBig] = []
    for gpus in serving.gpu_counts:
        found = serve(setup, card, counts=(gpus,))
        if isinstance(found, Served):
            return Ceiling(batch=batch, served=found, failed=tuple(failed))
        if isinstance(found, TooBig):
            failed.append(found)
    return DoesNotFit(batch=batch, failed=tuple(failed))


def listed_usd(row: Row) -> Decimal | Unknown:
    """Return the price of one GPU for an hour, unknown with its reason for a floor, a slice or no rate."""
    usd = COMPARABLE_PRICE.get(row, _ANY_VIEW)
    return Unknown(why=COMPARABLE_PRICE.missing(row, _ANY_VIEW)) if usd is None else usd


_ANY_VIEW = View(precision="fp8", weights_gb=Decimal(1))
"""A price depends on nothing of a view."""


def rental_of(row: Row, *, used_gpus: int, usd_per_gpu_hour: Decimal) -> Rental:
    """Return what has to be rented for so many GPUs: whole instances, and the offer's least number."""
    offer = row.offer
    return Rental(
        used_gpus=used_gpus,
        gpu_count=offer.gpu_count,
        instances=-(-max(used_gpus, offer.min_gpus) // offer.gpu_count),
        usd_per_gpu_hour=usd_per_gpu_hour,
    )


def offer_cost(serving: Serving, row: Row, *, bounds: tuple[BatchBound, ...] | Unknown) -> OfferCost:
    """Return what an offer comes to, from the bounds of its card."""
    usd = listed_usd(row)
    if isinstance(bounds, Unknown):
        return OfferCost(row=row, usd_per_gpu_hour=usd, batches=bounds)
    costs = tuple(
        each
        if isinstance(each, DoesNotFit)
        else Priced(ceiling=each, money=_money(serving, row, ceiling=each, usd=usd))
        for each in bounds
    )
    return OfferCost(row=row, usd_per_gpu_hour=usd, batches=costs)


def _money(serving: Serving, row: Row, *, ceiling: Ceiling, usd: Decimal | Unknown) -> Money | Unknown:
    decode, prefill = ceiling.served.decode, ceiling.served.prefill
    for each in (usd, decode, prefill):
        if isinstance(each, Unknown):
            return each
    assert not isinstance(usd, Unknown)  # noqa: S101 - the loop above has returned them
    assert not isinstance(decode, Unknown)  # noqa: S101 - the same
    assert not isinstance(prefill, Unknown)  # noqa: S101 - the same
    rental = rental_of(row, used_gpus=ceiling.gpus, usd_per_gpu_hour=usd)
    rate, use, api = decode.tokens_per_s, serving.utilisation, serving.api_usd_per_mtok
    output = usd_per_mtok(rental.usd_per_hour, tokens_per_s=rate, utilisation=use)
    prompt = usd_per_mtok(rental.usd_per_hour, tokens_per_s=prefill.tokens_per_s, utilisation=use)
    return Money(
        rental=rental,
        usd_per_mtok_output=output,
        usd_per_mtok_input=prompt,
        usd_per_mtok_blended=blended_usd_per_mtok(prompt, output, input_per_output=serving.input_per_output),
        used_usd_per_mtok_output=usd_per_mtok(rental.used_usd_per_hour, tokens_per_s=rate, utilisation=use),
        against_api=None
        if api is None
        else break_even(rental.usd_per_hour, tokens_per_s=rate, api_usd_per_mtok=api),
    )


def offer_costs(serving: Serving, rows: Iterable[Row]) -> list[OfferCost]:
    """Return what each offer comes to, in the order of the rows; bounds are worked out once a card."""
    known: dict[str, tuple[BatchBound, ...]] = {}
    found = []
    for row in rows:
        card = row.accelerator
        if card is None:
            bounds: tuple[BatchBound, ...] | Unknown = Unknown(why=BANDWIDTH.missing(row, _ANY_VIEW))
        else:
            bounds = known[card.id] if card.id in known else card_bounds(serving, card)
            known[card.id] = bounds
        found.append(offer_cost(serving, row, bounds=bounds))
    return found


def peaks_at(serving: Serving, card: Accelerator) -> Peaks:
    """Return the peaks of a card that bound this serving."""
    setup = serving.setup
    return peaks_of(card, setup.fmt, bandwidth_share=setup.bandwidth_share)
