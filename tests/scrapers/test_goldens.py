"""Stored pages in ../shared of the seven providers, against what a careful reader took from them.

A capture that is a fragment of a page is set into an empty page, and under the heading it was cut from where
that is not in it. Out of reach, because they are no pages: the two YAML transcriptions (Modal 2026-07-01,
Fireworks 2026-05-08) and the Markdown of twenty providers in Portuguese (2026-05-24). The text of Fireworks'
page of 2024 breaks off after a sentence with one price; it has no table and is refused.
"""

import csv
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

import pytest

from app.domain.findings import holds
from app.domain.offers import Offer, PricingModel, usd_per_gpu_hour, usd_per_instance_hour
from scrapers import Parsed, ParseError
from tests.conftest import Tell
from tests.scrapers.surfaces import read
from tests.scrapers.truth import NOT_RUN, SHARED

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason=NOT_RUN)
CENT_HUNDREDTH = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Capture:
    """One capture: the surface that reads it, its file, and the heading it was cut from under."""

    surface: str
    file: str
    under: str = ""

    def parsed(self) -> Parsed:
        text = (SHARED / "captures" / self.file).read_text(encoding="utf-8")
        if self.file.endswith(".html"):
            text = f"<html><body>{self.under}{text}</body></html>"
        return read(self.surface, text)

    def rows(self, kind: str = "golden") -> list[dict[str, str]]:
        path = (SHARED / "captures" / self.file).with_suffix(f".{kind}.csv")
        if not path.is_file():
            return []
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


CAPTURES = (
    Capture("modal", "modal/2026-08-pricing-page-text.txt"),
    Capture("modal", "modal/shape-2026-09-gpu-rows.html", "<h4>GPU Tasks</h4>"),
    Capture("together", "together/shape-2026-09-combined-table.md"),
    Capture("together", "together/shape-2026-09-hidden-preemptible.html"),
    Capture("deepinfra", "deepinfra/2025-12-pricing-page-tables.md"),
    Capture("fireworks", "fireworks/2025-12-pricing-page-tables.md"),
    Capture("fireworks", "fireworks/shape-2026-09-18-on-demand-per-minute.html"),
    Capture("baseten", "baseten/undated-docs-instance-type-reference.md"),
    Capture("lambda", "lambda/shape-2026-10-instance-tabs.html"),
    Capture("lambda-api", "lambda/synthetic-instance-types-shape.json"),
    Capture("runpod-serverless", "runpod/2026-08-docs-serverless-pricing-table.mdx"),
)
"""Every capture with a row for each offer; Vast's, whose rows are single asks, has its own test."""

VAST_MEMORY = {"39": "40"}
"""39,936 MiB is the A100 of 40 GB as one driver reports it."""

Key = tuple[str, int, str, str, str, Decimal]


def golden_key(row: dict[str, str], surface: str) -> Key:
    """Return name, count, kind, product, term and dollars per hour in all of a golden row."""
    name, _, product = row["offer_name_as_written"].partition(" (")
    if surface in {"lambda", "runpod-serverless"}:
        name = row["gpu_model_as_written"]
    kind = "on_demand" if row["price_kind"] == "serverless" else row["price_kind"]
    total = Decimal(row["price_usd_per_hour_total"]).quantize(CENT_HUNDREDTH)
    return (
        name,
        int(row["gpu_count"] or 1),
        kind,
        product.rstrip(")"),
        row["commitment"].removesuffix(" days"),
        total,
    )


def offer_key(offer: Offer, surface: str, *, names_products: bool) -> Key:
    term = "" if offer.term_days_min is None else f"{offer.term_days_min}-{offer.term_days_max}"
    product = ""
    if names_products:
        product = "GPU Clusters" if offer.service_kind.value == "instance" else "Dedicated Inference"
    name = offer.accelerator_as_written if surface == "lambda" else offer.sku
    total = usd_per_instance_hour(offer)
    assert total is not None
    return name, offer.gpu_count, offer.pricing_model.value, product, term, total.quantize(CENT_HUNDREDTH)


def compared(capture: Capture) -> tuple[Counter[Key], Counter[Key]]:
    """Return what the golden has and what the parser took."""
    rows = [row for row in capture.rows() if row["price_usd_per_hour_total"]]
    names_products = any("(GPU Clusters)" in row["offer_name_as_written"] for row in rows)
    golden = Counter(golden_key(row, capture.surface) for row in rows)
    offers = capture.parsed().offers
    return golden, Counter(offer_key(one, capture.surface, names_products=names_products) for one in offers)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.file)
def test_a_capture_gives_the_golden_rows_and_no_other(capture: Capture) -> None:
    golden, taken = compared(capture)
    assert taken == golden
    assert not holds(capture.parsed().findings)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.file)
def test_a_capture_gives_the_memory_the_golden_states(capture: Capture) -> None:
    stated = {
        (row["gpu_model_as_written"], row["memory_gb_if_stated"])
        for row in capture.rows()
        if row["memory_gb_if_stated"] and row["price_usd_per_hour_total"]
    }
    sizes = {one.memory_gb_as_written for one in capture.parsed().offers} - {None}
    # Baseten prints 188 GiB for 8 GPUs of 24: 23.5 each.
    assert {size for size in sizes if size != Decimal("23.5")} == {Decimal(size) for _, size in stated}


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.file)
def test_a_capture_gives_the_form_factor_the_golden_states(capture: Capture) -> None:
    stated = {"SXM": "-sxm", "SXM5": "-sxm", "SXM6": "-sxm", "HGX": "-sxm", "PCIe": "-pcie"}
    forms = {row["gpu_model_as_written"]: row["form_factor_if_stated"] for row in capture.rows()}
    for offer in capture.parsed().offers:
        form = forms.get(offer.accelerator_as_written, "")
        if form:
            assert stated[form] in f"{offer.accelerator}", offer.sku
            assert not offer.variant_assumed


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.file)
def test_offers_without_a_price_are_findings_and_no_trap_is_an_offer(capture: Capture) -> None:
    parsed = capture.parsed()
    unpriced = {row["gpu_model_as_written"] for row in capture.rows() if not row["price_usd_per_hour_total"]}
    assert unpriced <= {one.evidence["name"] for one in parsed.findings if one.code == "contact_only"}
    traps = {row["item_as_written"] for row in capture.rows("traps")}
    assert not traps & {offer.sku for offer in parsed.offers}
    assert not traps & {offer.accelerator_as_written for offer in parsed.offers}


def test_the_share_of_golden_rows_is_printed(tell: Tell) -> None:
    shares: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    lines = []
    for capture in CAPTURES:
        golden, taken = compared(capture)
        right = sum((golden & taken).values())
        lines.append(
            f"golden {capture.file}: {right} of {golden.total()} rows, {(taken - golden).total()} others"
        )
        shares[capture.file.partition("/")[0]][0] += right
        shares[capture.file.partition("/")[0]][1] += golden.total()
    for provider, (right, whole) in shares.items():
        lines.append(f"golden {provider}: {right} of {whole} = {100 * right // whole} %")
    tell("\n".join(lines))
    assert all(right == whole for right, whole in shares.values())


def test_vasts_statistics_are_those_of_the_golden_asks(tell: Tell) -> None:
    capture = Capture("vast", "vast/2026-09-bundles-offers-trimmed.json")
    kinds: defaultdict[tuple[str, str, int], list[Decimal]] = defaultdict(list)
    for row in capture.rows():
        total = Decimal(row["price_usd_per_hour_total"])
        memory = VAST_MEMORY.get(row["memory_gb_if_stated"], row["memory_gb_if_stated"])
        kinds[row["gpu_model_as_written"], memory, int(row["gpu_count"])].append(total)
    wanted = {
        (name, memory, count, statistic): value.quantize(CENT_HUNDREDTH)
        for (name, memory, count), asks in kinds.items()
        if len(asks) >= 5
        for statistic, value in (("min", min(asks)), ("median", Decimal(median(asks))))
    }
    found = {}
    for offer in capture.parsed().offers:
        memory = f"{offer.memory_gb_as_written:f}".removesuffix(".0")
        total = usd_per_instance_hour(offer)
        assert total is not None
        found[offer.accelerator_as_written, memory, offer.gpu_count, offer.tier] = total.quantize(
            CENT_HUNDREDTH
        )
    assert found == wanted
    share = f"{len(found)} of {len(wanted)} statistics of {len(capture.rows())} asks"
    tell(f"golden {capture.file}: {share}")


def test_every_ask_of_vast_is_kept_in_a_fragment_or_a_finding() -> None:
    capture = Capture("vast", "vast/2026-09-bundles-offers-trimmed.json")
    parsed = capture.parsed()
    fragments = [offer.fragment for offer in parsed.offers if offer.tier == "min"]
    thin = [one.evidence["asks"] for one in parsed.findings if one.code == "too_few_asks"]
    text = " ".join([*fragments, *thin])
    asks = json.loads((SHARED / "captures" / capture.file).read_text(encoding="utf-8"), parse_float=str)
    assert len(asks) == sum(f.count(",") + 1 for f in [f.partition("(")[2] for f in fragments] + thin)
    assert all(ask["dph_total"] in text for ask in asks)


def test_an_a100_sxm4_of_vast_is_told_by_its_memory() -> None:
    offers = Capture("vast", "vast/2026-09-bundles-offers-trimmed.json").parsed().offers
    variants = {one.accelerator for one in offers if one.accelerator_as_written == "A100 SXM4"}
    assert variants == {"a100-sxm-40", "a100-sxm-80"}


@pytest.mark.parametrize(
    ("surface", "file"),
    [
        ("fireworks", "fireworks/2024-pricing-page-text-excerpt.txt"),
        ("fireworks", "fireworks/2026-05-08-plans-transcription.yml"),
        ("modal", "modal/2026-07-01-plans-transcription.yml"),
        ("modal", "_transcribed/2026-05-24-pricing-20-providers.md"),
        ("lambda", "_transcribed/2026-05-24-pricing-20-providers.md"),
    ],
)
def test_a_transcription_is_no_page_and_is_refused(surface: str, file: str) -> None:
    with pytest.raises(ParseError):
        read(surface, (SHARED / "captures" / file).read_bytes())


def test_together_publishes_the_hidden_column_as_preemptible_only() -> None:
    offers = Capture("together", "together/shape-2026-09-hidden-preemptible.html").parsed().offers
    spot = {str(usd_per_gpu_hour(one)) for one in offers if one.pricing_model is PricingModel.SPOT}
    assert spot == {"1.99", "2.99", "4.09"}
