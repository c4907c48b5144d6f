"""The accelerators we know, one variant a row, with dense rates, memory, bandwidth and where each was read.

The table is `data/accelerators.csv`. Every compute figure in it is a dense one: half of the sparse figure
where the maker prints sparse. An empty cell is an unknown, never zero and never another precision's rate.

`usd_per_gpu_hour_min` and `usd_per_gpu_hour_max` bound the plausible price of one GPU for one hour. They are
wide on purpose: what falls outside was read in another unit (a second, a cent, a month) or belongs to another
product. The rule, per TB/s of memory bandwidth (primary figure), rounded to two significant digits:

- lowest: 0.06 USD for parts with HBM, 0.03 for all others and for anything launched before 2020;
- highest: 9 USD, at least 6, for server parts; 4 USD, at least 2, for desktop and workstation cards
  and the GB10.

It was fitted to prices seen from 2025-12 to 2026-11: an H100 from 0.23 (a marketplace bid) to 12.29 (a
hyperscaler's list), an L4 from 0.02 to 1.20, an RTX A2000 at 0.12, an RTX PRO 6000 from 0.79 to 4.50.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.cells import packaged_lines, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from app.domain.cells import Cells

PRECISIONS: Final[tuple[str, ...]] = ("fp4", "fp8", "int8", "bf16", "fp16", "tf32", "fp64")
"""Precisions in the order shown."""

WITHOUT_BANDWIDTH: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rtx-pro-4500-server": "rtx-pro-4500",
        "l2": "l2",
        "mi308x": "mi308x",
        "mi350p": "mi350p",
        "crescent-island": "crescent-island",
        "tpu-v2": "tpu-v2",
        "inferentia1": "inferentia1",
        "tt-p150": "tt-p150",
        "tt-n300": "tt-n300",
    }
)
"""Parts that exist but are not in the table, because no memory bandwidth was found for them: id to family."""

MEMORY_TOLERANCE: Final = Decimal("0.01")
"""How far a memory size may stand from a known one, as a share of the known one."""

_DATA_FILE: Final = "accelerators.csv"
_STATUSES: Final = ("available", "announced")
_RATE_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {precision: "int8_tops" if precision == "int8" else f"{precision}_tflops" for precision in PRECISIONS}
)
_BYTES_PER_GB: Final = 10**9
_BYTES_PER_GIB: Final = 2**30
_BYTES_PER_S_PER_TB_S: Final = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One accelerator in one variant, as an operating system sees it.

    Superchips are per GPU, boards with several GPUs per GPU, TPU and Trainium per chip. `memory_gb` is the
    label on the product, `memory_gib_usable` what a driver reported, `memory_labels_gb` other sizes under
    which the very same part is sold. `bandwidth_alt_tb_s` is a second published peak and `alt_note` says
    whose. `dense_tflops` maps a precision to TFLOPS (TOPS for int8). `sources_agreeing` counts independent
    sources that agree on bandwidth and main compute.
    """

    id: str
    family: str
    name: str
    vendor: str
    architecture: str
    form_factor: str
    status: str
    memory_gb: Decimal
    memory_gib_usable: Decimal | None
    memory_labels_gb: tuple[Decimal, ...]
    memory_type: str
    bandwidth_tb_s: Decimal
    bandwidth_alt_tb_s: Decimal | None
    alt_note: str
    dense_tflops: Mapping[str, Decimal]
    fp64_matrix_tflops: Decimal | None
    tdp_w: int | None
    interconnect: str
    interconnect_gb_s: Decimal | None
    launch_year: int | None
    compute_basis: str
    sources_agreeing: int
    sources: tuple[str, ...]
    as_of: date
    note: str
    usd_per_gpu_hour_min: Decimal
    usd_per_gpu_hour_max: Decimal

    @property
    def memory_bytes(self) -> int:
        """Bytes a program can use: what the driver reported, else the label read as decimal gigabytes.

        The label is the smaller reading: an 80 GB card reports 79.6 GiB, which is 85.5 * 10^9 bytes.
        """
        if self.memory_gib_usable is not None:
            return int(self.memory_gib_usable * _BYTES_PER_GIB)
        return int(self.memory_gb * _BYTES_PER_GB)

    @property
    def memory_bandwidth_bytes_per_s(self) -> int:
        """Peak memory bandwidth in bytes per second; 1 TB/s is 10^12."""
        return int(self.bandwidth_tb_s * _BYTES_PER_S_PER_TB_S)

    @property
    def is_announced(self) -> bool:
        """Tell whether the figures are from before release, which keeps the part out of default rankings."""
        return self.status == "announced"

    def accepts_memory(self, memory_gb: Decimal) -> bool:
        """Tell whether a size in GB or GiB, as a page prints it, is one of this part's known sizes.

        Known sizes are the label, the usable GiB and the other labels; 1 % either way is the same size.
        """
        known = (self.memory_gb, self.memory_gib_usable, *self.memory_labels_gb)
        return any(size is not None and abs(memory_gb - size) <= size * MEMORY_TOLERANCE for size in known)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All accelerators, `accelerators` in file order and the same ones under their id in `by_id`."""

    accelerators: tuple[Accelerator, ...]
    by_id: Mapping[str, Accelerator]

    def get(self, accelerator_id: str) -> Accelerator | None:
        """Return the accelerator with this id, None when there is none."""
        return self.by_id.get(accelerator_id)

    def families(self) -> tuple[str, ...]:
        """Return every family once, in the order of its first variant."""
        return tuple(dict.fromkeys(accelerator.family for accelerator in self.accelerators))

    def family_members(self, family: str) -> tuple[Accelerator, ...]:
        """Return the variants of a family in file order, empty for a family we do not know."""
        return tuple(accelerator for accelerator in self.accelerators if accelerator.family == family)


def other_figures(card: Accelerator) -> Accelerator | None:
    """Return the card with its two published bandwidths changed round, None when there is but one."""
    alternative = card.bandwidth_alt_tb_s
    if alternative is None:
        return None
    return replace(card, bandwidth_tb_s=alternative, bandwidth_alt_tb_s=card.bandwidth_tb_s)


def with_other_figures(catalogue: Catalogue) -> Catalogue:
    """Return the catalogue with the alternative bandwidth of each card that has one."""
    cards = tuple(other_figures(card) or card for card in catalogue.accelerators)
    return Catalogue(cards, MappingProxyType({card.id: card for card in cards}))


@cache
def load_catalogue() -> Catalogue:
    """Read the packaged table, once per process.

    Raises:
        ValueError: a cell is missing or cannot be read; the text names file, line, column and value.
    """
    return parse_catalogue(packaged_lines(_DATA_FILE))


def parse_catalogue(lines: Iterable[str], *, file_name: str = _DATA_FILE) -> Catalogue:
    """Read a table of accelerators from CSV lines; see `load_catalogue` for the errors."""
    by_id: dict[str, Accelerator] = {}
    for row in read_lines(lines, file_name=file_name):
        accelerator = _accelerator(row)
        if accelerator.id in by_id:
            raise row.error("id", "stands twice")
        by_id[accelerator.id] = accelerator
    return Catalogue(tuple(by_id.values()), MappingProxyType(by_id))


def _accelerator(row: Cells) -> Accelerator:
    """Build one accelerator from one line; every problem is a ValueError that names the cell."""
    band = (row.positive("usd_per_gpu_hour_min"), row.positive("usd_per_gpu_hour_max"))
    if band[0] >= band[1]:
        raise row.error("usd_per_gpu_hour_max", "is not above usd_per_gpu_hour_min")
    return Accelerator(
        id=row.required("id"),
        family=row.required("family"),
        name=row.required("name"),
        vendor=row.required("vendor"),
        architecture=row.required("architecture"),
        form_factor=row.required("form_factor"),
        status=row.one_of("status", _STATUSES),
        memory_gb=row.positive("memory_gb"),
        memory_gib_usable=row.positive_or_none("memory_gib_usable"),
        memory_labels_gb=row.positives("memory_labels_gb"),
        memory_type=row.text("memory_type"),
        bandwidth_tb_s=row.positive("bandwidth_tb_s"),
        bandwidth_alt_tb_s=row.positive_or_none("bandwidth_alt_tb_s"),
        alt_note=row.text("alt_note"),
        dense_tflops=_rates(row),
        fp64_matrix_tflops=row.positive_or_none("fp64_matrix_tflops"),
        tdp_w=row.whole_or_none("tdp_w"),
        interconnect=row.text("interconnect"),
        interconnect_gb_s=row.positive_or_none("interconnect_gb_s"),
        launch_year=row.whole_or_none("launch_year"),
        compute_basis=row.text("compute_basis"),
        sources_agreeing=row.whole("sources_agreeing"),
        sources=row.parts("sources"),
        as_of=row.day("as_of"),
        note=row.text("note"),
        usd_per_gpu_hour_min=band[0],
        usd_per_gpu_hour_max=band[1],
    )


def _rates(row: Cells) -> Mapping[str, Decimal]:
    """Return the known dense rates in the order of `PRECISIONS`."""
    rates = ((precision, row.positive_or_none(column)) for precision, column in _RATE_COLUMNS.items())
    return MappingProxyType({precision: rate for precision, rate in rates if rate is not None})
