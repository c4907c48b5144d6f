"""One measurement followed to the end: a decode pass of 46.65 ms where bandwidth alone allows 10.57 ms.

The figures are those that an article prints of its own machine (`CASE_ROW` names its row in the table of
measurements); each further one is worked out here from them, and says how. Two other figures of that article
do not follow from the numbers beside them, and are not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.llms.measured import bytes_in_pass, longest_pass_s, times_least_pass
from app.domain.llms.measurements import load_measurements
from app.domain.llms.parallel import ALL_REDUCES_PER_LAYER
from app.domain.llms.speculation import accepted_drafts, tokens_per_pass
from app.domain.typed import plain_number

if TYPE_CHECKING:
    from app.domain.accelerators import Accelerator
    from app.domain.llms.measurements import Measurement

CASE_ROW: Final = "default-moves-local-27b-pass"

_GIGA: Final = 10**9
_GIB: Final = 2**30
_MS_PER_S: Final = 1000
_PERCENT: Final = 100
TIMES: Final = " \N{MULTIPLICATION SIGN} "


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What the article prints beside the pass time.

    `computed_ms` is its own bound, from `bandwidth_gb_s` of one card. `depth` and `acceptance_rate` are of
    its drafting, `other_tokens_per_s` a speed of one stream from another day, `link_gb_s` what it measured
    from host to card, `head_share` the share of a pass that the drafting head takes, `linear_layers` the
    layers with linear attention.
    """

    computed_ms: Decimal = Decimal("10.57")
    bandwidth_gb_s: Decimal = Decimal(554)
    depth: int = 4
    acceptance_rate: Decimal = Decimal("0.505")
    other_tokens_per_s: Decimal = Decimal(205)
    link_gb_s: Decimal = Decimal("55.5")
    head_share: Decimal = Decimal("0.127")
    linear_layers: int = 48


LINK_PEAK_GB_S: Final = Decimal(63)
"""PCI Express 5.0 with 16 lanes, one direction, after its encoding: 32 GT/s x 16 x 128/130 / 8."""

LAYERS: Final = 64
"""Layers of the open 27B models of this shape: 48 with linear attention and 16 with full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure: what it is, the arithmetic with its numbers, the value and its unit."""

    key: str
    label: str
    arithmetic: str
    value: Decimal
    unit: str
    decimals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedCase:
    """The case: its row, its card, what the article prints, and what follows."""

    measurement: Measurement
    card: Accelerator
    printed: Printed

    @property
    def measured_ms(self) -> Decimal:
        """The time of one pass as it was measured."""
        return self.measurement.value

    @property
    def bytes_per_gpu(self) -> Decimal:
        """Bytes on one card that the computed pass reads at the article's bandwidth."""
        seconds = self.printed.computed_ms / _MS_PER_S
        return bytes_in_pass(seconds, bytes_per_s=self.printed.bandwidth_gb_s * _GIGA)

    @property
    def published_gb_s(self) -> Decimal:
        """Bandwidth that the card's maker publishes."""
        return self.card.bandwidth_tb_s * 1000

    @property
    def least_ms_as_published(self) -> Decimal:
        """The computed pass at the published bandwidth."""
        return self.bytes_per_gpu / (self.published_gb_s * _GIGA) * _MS_PER_S

    @property
    def unexplained_ms(self) -> Decimal:
        """What the measured pass takes beyond the computed one."""
        return self.measured_ms - self.printed.computed_ms

    @property
    def head_ms(self) -> Decimal:
        """What the drafting head takes of a pass."""
        return self.measured_ms * self.printed.head_share

    @property
    def left_ms(self) -> Decimal:
        """What is unexplained when the drafting head is set aside as well."""
        return self.unexplained_ms - self.head_ms

    @property
    def tokens_per_pass(self) -> Decimal:
        """Tokens that a pass gives: the accepted drafts and the model's own one."""
        drafts = accepted_drafts(self.printed.acceptance_rate, depth=self.printed.depth)
        return tokens_per_pass(drafts, counting="drafts only")


def load_case() -> WorkedCase:
    """Return the case from the packaged tables."""
    measurement = next(each for each in load_measurements() if each.id == CASE_ROW)
    return WorkedCase(
        measurement=measurement, card=load_catalogue().by_id[measurement.accelerator], printed=Printed()
    )


def gap(case: WorkedCase) -> tuple[Figure, ...]:
    """Return how far the measured pass is from the computed one, at both bandwidths."""
    measured, computed = case.measured_ms, case.printed.computed_ms
    ours, published = case.least_ms_as_published, case.published_gb_s
    gigabytes = case.bytes_per_gpu / _GIGA
    return (
        Figure(
            key="factor",
            label="Measured pass over the computed one",
            arithmetic=f"{measured} ms / {computed} ms",
            value=times_least_pass(measured, least_pass_s=computed),
            unit="times",
            decimals=2,
        ),
        Figure(
            key="share_of_bandwidth",
            label="Share of the bandwidth that the pass used",
            arithmetic=f"{computed} ms / {measured} ms{TIMES}100",
            value=computed / measured * _PERCENT,
            unit="%",
            decimals=1,
        ),
        Figure(
            key="gb_per_gpu",
            label="What each card then reads in a pass",
            arithmetic=f"{computed} ms{TIMES}{case.printed.bandwidth_gb_s} GB/s",
            value=gigabytes,
            unit="GB",
            decimals=3,
        ),
        Figure(
            key="gib_per_gpu",
            label="The same in binary units",
            arithmetic=f"{gigabytes:.3f}{TIMES}10^9 B / 2^30",
            value=case.bytes_per_gpu / _GIB,
            unit="GiB",
            decimals=2,
        ),
        Figure(
            key="computed_ms_as_published",
            label="Computed pass at the bandwidth that the maker publishes",
            arithmetic=f"{gigabytes:.3f} GB / {plain_number(published)} GB/s",
            value=ours,
            unit="ms",
            decimals=2,
        ),
        Figure(
            key="factor_as_published",
            label="Measured pass over that one",
            arithmetic=f"{measured} ms / {ours:.2f} ms",
            value=times_least_pass(measured, least_pass_s=ours),
            unit="times",
            decimals=1,
        ),
    )


def speeds(case: WorkedCase) -> tuple[Figure, ...]:
    """Return what the pass time means in tokens, and which printed speed cannot come from it."""
    printed, measured = case.printed, case.measured_ms
    most, per_pass = printed.depth + 1, case.tokens_per_pass
    longest_ms = longest_pass_s(printed.other_tokens_per_s, tokens_per_pass=Decimal(most)) * _MS_PER_S
    return (
        Figure(
            key="tokens_per_pass",
            label="Tokens of a pass, the model's own one with them",
            arithmetic=f"1 + {printed.acceptance_rate}{TIMES}{printed.depth}",
            value=per_pass,
            unit="tokens",
            decimals=2,
        ),
        Figure(
            key="tokens_per_s",
            label="Tokens a second at the measured pass",
            arithmetic=f"{plain_number(per_pass)} tokens / {measured} ms",
            value=per_pass / measured * _MS_PER_S,
            unit="tokens/s",
            decimals=1,
        ),
        Figure(
            key="ceiling_tokens_per_s",
            label="Tokens a second at the computed pass",
            arithmetic=f"{plain_number(per_pass)} tokens / {printed.computed_ms} ms",
            value=per_pass / printed.computed_ms * _MS_PER_S,
            unit="tokens/s",
            decimals=1,
        ),
        Figure(
            key="most_tokens_per_s",
            label="The most at the measured pass, every draft accepted",
            arithmetic=f"{most} tokens / {measured} ms",
            value=Decimal(most) / measured * _MS_PER_S,
            unit="tokens/s",
            decimals=1,
        ),
        Figure(
            key="longest_ms",
            label=f"The longest pass that can give {printed.other_tokens_per_s} tokens a second",
            arithmetic=f"{most} tokens / {printed.other_tokens_per_s} tokens/s",
            value=longest_ms,
            unit="ms",
            decimals=1,
        ),
    )


def ruled_out(case: WorkedCase) -> tuple[Figure, ...]:
    """Return the figures behind what has been ruled out as the cause."""
    printed = case.printed
    return (
        Figure(
            key="link_share",
            label="The link from host to card reaches most of its peak",
            arithmetic=f"{printed.link_gb_s} GB/s / {LINK_PEAK_GB_S} GB/s{TIMES}100",
            value=printed.link_gb_s / LINK_PEAK_GB_S * _PERCENT,
            unit="%",
            decimals=0,
        ),
        Figure(
            key="head_ms",
            label="The drafting head takes too little",
            arithmetic=f"{plain_number(printed.head_share * _PERCENT)} % of {case.measured_ms} ms",
            value=case.head_ms,
            unit="ms",
            decimals=2,
        ),
        Figure(
            key="factor_without_head",
            label="The factor that is left without the head",
            arithmetic=f"({case.measured_ms} ms - {case.head_ms:.2f} ms) / {printed.computed_ms} ms",
            value=(case.measured_ms - case.head_ms) / printed.computed_ms,
            unit="times",
            decimals=2,
        ),
    )


def left(case: WorkedCase) -> tuple[Figure, ...]:
    """Return how much time is left, and how long each suspect would have to take to account for it."""
    printed = case.printed
    messages = ALL_REDUCES_PER_LAYER * LAYERS
    return (
        Figure(
            key="left_ms",
            label="Time of a pass that nothing above accounts for",
            arithmetic=f"{case.measured_ms} ms - {printed.computed_ms} ms - {case.head_ms:.2f} ms",
            value=case.left_ms,
            unit="ms",
            decimals=2,
        ),
        Figure(
            key="ms_per_linear_layer",
            label="For each layer with linear attention, if all of it were theirs",
            arithmetic=f"{case.left_ms:.2f} ms / {printed.linear_layers} layers",
            value=case.left_ms / printed.linear_layers,
            unit="ms",
            decimals=2,
        ),
        Figure(
            key="ms_of_bytes_per_layer",
            label="What the bytes of a layer need of the computed pass, for comparison",
            arithmetic=f"{printed.computed_ms} ms / {LAYERS} layers",
            value=printed.computed_ms / LAYERS,
            unit="ms",
            decimals=2,
        ),
        Figure(
            key="us_per_message",
            label="For each message between the cards, if all of it were theirs",
            arithmetic=f"{case.left_ms:.2f} ms / ({ALL_REDUCES_PER_LAYER}{TIMES}{LAYERS} layers)",
            value=case.left_ms / messages * _MS_PER_S,
            unit="\N{MICRO SIGN}s",
            decimals=0,
        ),
    )
