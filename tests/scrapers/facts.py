"""What six providers' pages say, in groups of titled rows with made-up prices, look-alikes included."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows under titles under headings; `tab` is a heading that only a tab holds."""

    headings: tuple[str, ...]
    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tab: str = ""


def rows(text: str) -> tuple[tuple[str, ...], ...]:
    """Read rows written one a line with bars between their cells."""
    return tuple(
        tuple(cell.strip() for cell in line.split("|")) for line in text.strip().splitlines() if line.strip()
    )


TOKENS = Group(
    headings=("Text generation",),
    titles=("Model", "Context", "$ per 1M input tokens", "$ per 1M output tokens"),
    rows=rows("""
        Whale-V3 | 160k | $0.32 | $0.92
        Whale-V3-Turbo | 32k | $0.21 / $0.168 cached | $0.79
    """),
)

MODAL = (
    Group(
        headings=("Compute costs", "GPU Tasks"),
        titles=("GPU", "Price"),
        rows=rows("""
            Nvidia B200 | $0.001812 / sec
            Nvidia H200 | $0.001304 / sec
            Nvidia H100 SXM5 | $0.001021 / sec
            Nvidia A100, 80 GB | $0.000702 / sec
            Nvidia A100, 40 GB | $0.000591 / sec
            Nvidia L40S | $0.000533 / sec
            Nvidia L4 | $0.000231 / sec
        """),
    ),
    Group(
        headings=("Compute costs", "CPU"),
        titles=("Resource", "Price"),
        rows=rows("Physical core (2 vCPU equivalent) | $0.0000140 / core / sec"),
    ),
    Group(
        headings=("Compute costs", "Memory"),
        titles=("Resource", "Price"),
        rows=rows("Memory | $0.00000231 / GiB / sec"),
    ),
    Group(headings=("Plans",), titles=("Plan", "Fee"), rows=rows("Team | $240 + compute / month")),
)

TOGETHER = (
    Group(
        headings=("Dedicated Inference",),
        titles=("Hardware", "On-demand", "Reserved"),
        rows=rows("""
            NVIDIA HGX H100 | $5.29 | Contact sales
            NVIDIA HGX B200 | $8.79 | Contact sales
        """),
    ),
    Group(
        headings=("GPU Clusters",),
        titles=(
            "Hardware", "Preemptible Compute", "Pay as you go", "7-30 days", "31-90 days", "91-180 days",
            "181+ days",
        ),
        rows=rows("""
            NVIDIA HGX H100 | $1.89 | $3.89 | $3.59 | $3.35 | $3.09 | Contact us
            NVIDIA HGX H200 | $2.89 | $5.89 | $4.89 | $4.09 | $3.79 | Contact us
            NVIDIA HGX B200 | $4.19 | $8.29 | $7.89 | $7.69 | $6.69 | Contact us
            NVIDIA GB200 NVL72 | - | Contact us | Contact us | Contact us | Contact us | Contact us
        """),
    ),
    Group(
        headings=("Serverless Inference",),
        titles=("Model", "$ per 1M input tokens"),
        rows=rows("Whale-V3 | $5.29"),
    ),
)  # fmt: skip

DEEPINFRA = (
    TOKENS,
    TOKENS,
    Group(
        headings=("Private deployments",),
        titles=("GPU", "Memory", "Price"),
        rows=rows("""
            A100 | 80GB | $0.92/ GPU-hour
            H100 | 80GB | $2.12/ GPU-hour
            H200 | 141GB | $2.58/ GPU-hour
            B200 | 180GB | $3.61/ GPU-hour
        """),
    ),
    Group(
        headings=("Usage tiers",),
        titles=("Tier", "Qualification & Invoicing Threshold", "$"),
        rows=rows("Tier 2 | $100 paid | $100"),
    ),
)

FIREWORKS = (
    Group(
        headings=("Serverless pricing",),
        titles=("Base model", "$ / 1M tokens"),
        rows=rows("4B - 16B parameters | $0.20, $0.10 cached"),
    ),
    Group(
        headings=("Speech to text",),
        titles=("Model", "$ / audio minute (billed per second)"),
        rows=rows("Murmur-v3-large | $0.0015"),
    ),
    Group(
        headings=("On-Demand Pricing", "On demand deployments"),
        titles=(
            "GPU Type",
            "$ / hour (billed per second) - until Nov 30",
            "$ / hour (billed per second) - from Dec 1",
        ),
        rows=rows("""
            H100 80 GB GPU | $7.10 | $8.20
            H200 141 GB GPU | $7.30 | $8.40
            B200 180 GB GPU | $10.20 | $13.10
            GB300 288 GB GPU | $18.30 | $20.40
        """),
    ),
    Group(
        headings=("Fine tuning",),
        titles=("Base Model", "Supervised Fine Tuning"),
        rows=rows("Models 16.1B - 80B | $3.00"),
    ),
)  # fmt: skip

BASETEN = (
    Group(
        headings=("Instance Type Reference", "CPU-only Instances"),
        titles=("Instance", "$/min", "vCPU", "RAM"),
        rows=rows("""
            1x2 | $0.00061 | 1 | 2 GiB
            4x16 | $0.00352 | 4 | 16 GiB
        """),
    ),
    Group(
        headings=("Instance Type Reference", "GPU Instances"),
        titles=("Instance", "$/min", "vCPU", "RAM", "GPU", "VRAM"),
        rows=rows("""
            T4x4x16 | $0.01111 | 4 | 16 GiB | NVIDIA T4 | 16 GiB
            L4:2x24x96 | $0.04123 | 24 | 96 GiB | 2 NVIDIA L4s | 48 GiB
            A100x12x144 | $0.06543 | 12 | 144 GiB | 1 NVIDIA A100 | 80 GiB
            H100 | $0.10765 | - | - | 1 NVIDIA H100 | 80 GiB
            H100:8 | $0.86120 | - | - | 8 NVIDIA H100s | 640 GiB
            H100MIG | $0.06111 | - | - | Fractional NVIDIA H100 | 40 GiB
            B200 | $0.16543 | - | - | 1 NVIDIA B200 | 180 GiB
        """),
    ),
)  # fmt: skip


def _tab(size: str, text: str) -> Group:
    return Group(
        headings=("Instances",),
        tab=size,
        titles=("Plan", "VRAM/GPU", "vCPUs", "RAM", "STORAGE", "PRICE/GPU/HR*"),
        rows=rows(text),
    )


LAMBDA = (
    _tab("8x", """
        NVIDIA B200 SXM6 | 180 GB | 208 | 2900 GiB | 22 TiB SSD | $6.59
        NVIDIA H100 SXM | 80 GB | 208 | 1800 GiB | 22 TiB SSD | $3.89
        NVIDIA A100 SXM | 80 GB | 240 | 1800 GiB | 19.5 TiB SSD | $2.69
        NVIDIA A100 SXM | 40 GB | 124 | 1800 GiB | 5.8 TiB SSD | $1.89
    """),
    _tab("4x", """
        NVIDIA H100 SXM | 80 GB | 104 | 900 GiB | 11 TiB SSD | $3.99
    """),
    _tab("2x", """
        NVIDIA H100 SXM | 80 GB | 52 | 450 GiB | 5.5 TiB SSD | $4.09
    """),
    _tab("1x", """
        NVIDIA H100 SXM | 80 GB | 26 | 225 GiB | 2.75 TiB SSD | $4.19
        NVIDIA H100 PCIe | 80 GB | 26 | 225 GiB | 1 TiB SSD | $3.19
        NVIDIA GH200 | 96 GB | 64 | 432 GiB | 4 TiB SSD | $2.19
    """),
    Group(
        headings=("1-Click Clusters (2 weeks to 1 year)",),
        titles=("Plan", "16 GPUs", "64 GPUs", "256+ GPUs"),
        rows=rows("NVIDIA H100 SXM | $6.06 | $5.75 | $5.44"),
    ),
)  # fmt: skip

FACTS = {
    "modal": MODAL,
    "together": TOGETHER,
    "deepinfra": DEEPINFRA,
    "fireworks": FIREWORKS,
    "baseten": BASETEN,
    "lambda": LAMBDA,
}
