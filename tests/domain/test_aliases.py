"""A provider's words give the accelerator they mean, and unknown when they do not say."""

from __future__ import annotations

import csv
import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from app.domain.accelerators import load_catalogue
from app.domain.aliases import Resolution, contexts, names, parse_aliases, resolve
from app.domain.cells import packaged_lines

SHARED = Path(__file__).resolve().parents[3] / "shared"
NEEDS_SHARED = pytest.mark.skipif(not SHARED.is_dir(), reason="not run: ../shared is not here")


def gb(size: str | None) -> Decimal | None:
    return None if size is None else Decimal(size)


# Names as the API of RunPod wrote them in 2026-09 (id), beside what its console calls the same card.
RUNPOD = {
    "AMD Instinct MI300X OAM": "mi300x",
    "NVIDIA A100 80GB PCIe": "a100-pcie-80",
    "NVIDIA A100-SXM4-40GB": "a100-sxm-40",
    "NVIDIA A100-SXM4-80GB": "a100-sxm-80",
    "NVIDIA A40": "a40",
    "NVIDIA B200": "b200-sxm",
    "NVIDIA B300 SXM6 AC": "b300-sxm",
    "NVIDIA GeForce RTX 3070": "rtx-3070",
    "NVIDIA GeForce RTX 3080": "rtx-3080-10",
    "NVIDIA GeForce RTX 3080 Ti": "rtx-3080-ti",
    "NVIDIA GeForce RTX 3090": "rtx-3090",
    "NVIDIA GeForce RTX 3090 Ti": "rtx-3090-ti",
    "NVIDIA GeForce RTX 4070 Ti": "rtx-4070-ti",
    "NVIDIA GeForce RTX 4080": "rtx-4080",
    "NVIDIA GeForce RTX 4080 SUPER": "rtx-4080-super",
    "NVIDIA GeForce RTX 4090": "rtx-4090",
    "NVIDIA GeForce RTX 5080": "rtx-5080",
    "NVIDIA GeForce RTX 5090": "rtx-5090",
    "NVIDIA H100 80GB HBM3": "h100-sxm",  # FR-14: the console says SXM
    "NVIDIA H100 NVL": "h100-nvl",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H200": "h200-sxm",
    "NVIDIA H200 NVL": "h200-nvl",
    "NVIDIA L4": "l4",
    "NVIDIA L40": "l40",
    "NVIDIA L40S": "l40s",
    "NVIDIA RTX 2000 Ada Generation": "rtx-2000-ada",
    "NVIDIA RTX 4000 Ada Generation": "rtx-4000-ada",
    "NVIDIA RTX 4000 SFF Ada Generation": "rtx-4000-sff-ada",
    "NVIDIA RTX 5000 Ada Generation": "rtx-5000-ada",
    "NVIDIA RTX 6000 Ada Generation": "rtx-6000-ada",
    "NVIDIA RTX A2000": "rtx-a2000-6",
    "NVIDIA RTX A4000": "rtx-a4000",
    "NVIDIA RTX A4500": "rtx-a4500",
    "NVIDIA RTX A5000": "rtx-a5000",
    "NVIDIA RTX A6000": "rtx-a6000",
    "NVIDIA RTX PRO 4000 Blackwell": "rtx-pro-4000",
    "NVIDIA RTX PRO 4500 Blackwell": "rtx-pro-4500",
    "NVIDIA RTX PRO 5000 Blackwell": "rtx-pro-5000-48",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": "rtx-pro-6000-maxq",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtx-pro-6000-server",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "rtx-pro-6000-ws",
    "Tesla V100-PCIE-16GB": "v100-pcie-16",
    "Tesla V100-SXM2-16GB": "v100-sxm-16",
}
RUNPOD_REFUSED = {
    "NVIDIA RTX PRO 4500 Blackwell Server Edition",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 2g.48gb",
    "unknown",
}


@pytest.mark.parametrize(("name", "expected"), RUNPOD.items())
def test_runpod_ids(name: str, expected: str) -> None:
    assert resolve(name, context="runpod").accelerator == expected


@pytest.mark.parametrize("name", sorted(RUNPOD_REFUSED))
def test_runpod_ids_refused_on_purpose(name: str) -> None:
    resolution = resolve(name, context="runpod")
    assert resolution.accelerator is None
    assert resolution.known
    assert resolution.reason


@pytest.mark.parametrize(("profile", "size"), [("1g.24gb", "24"), ("2g.48gb", "48")])
def test_a_mig_slice_is_never_the_whole_card(profile: str, size: str) -> None:
    name = f"NVIDIA RTX PRO 6000 Blackwell Server Edition MIG {profile}"
    resolution = resolve(name, context="runpod", memory_gb=Decimal(size))
    assert resolution.accelerator is None
    assert resolution.slice_of == "rtx-pro-6000-server"
    assert resolution.family == "rtx-pro-6000"


def test_other_slices() -> None:
    # Baseten's MIG half of an H100, Azure's third of an A10 (FR-40), EC2's eighth of an L4.
    assert resolve("Fractional NVIDIA H100", context="baseten").slice_of == "h100-sxm"
    assert resolve("Standard_NV12ads_A10_v5", context="azure").slice_of == "a10"
    assert resolve("g6f.large", context="aws").slice_of == "l4"
    assert resolve("h100-40gb-mig", context="together").slice_of == "h100-sxm"


@pytest.mark.parametrize(
    ("context", "name", "memory", "expected"),
    [
        ("coreweave", "NVIDIA HGX H100", "80", "h100-sxm"),
        ("coreweave", "NVIDIA HGX H200", "141", "h200-sxm"),
        ("coreweave", "NVIDIA HGX B200", "180", "b200-sxm"),
        ("coreweave", "NVIDIA HGX B300", "270", "b300-sxm"),
        ("coreweave", "NVIDIA GB200 NVL72", "186", "gb200"),  # B200 is inside GB200
        ("coreweave", "NVIDIA GB300 NVL72", "279", "gb300"),
        ("coreweave", "NVIDIA GH200", "96", "gh200-96"),  # H200 is inside GH200
        ("coreweave", "NVIDIA L40", "48", "l40"),  # L4 is inside L40
        ("coreweave", "NVIDIA L40S", "48", "l40s"),  # and L40 inside L40S
        (
            "coreweave",
            "NVIDIA RTX PRO 6000 Blackwell Server Edition (High Memory)",
            "96",
            "rtx-pro-6000-server",
        ),
        ("nebius", "NVIDIA HGX B200", None, "b200-sxm"),
        ("nebius", "NVIDIA GB200 NVL72", None, "gb200"),
        ("nebius", "NVIDIA RTX PRO 6000", None, "rtx-pro-6000-server"),
        ("nebius", "NVIDIA L40S with Intel CPU", None, "l40s"),
        ("nebius", "NVIDIA L40S with AMD CPU", None, "l40s"),
        ("modal", "Nvidia H100 SXM5", None, "h100-sxm"),
        ("modal", "Nvidia H200 SXM", None, "h200-sxm"),
        ("modal", "Nvidia A10", None, "a10"),
        ("together", "NVIDIA HGX H100", None, "h100-sxm"),
        ("deepinfra", "B200", "180", "b200-sxm"),
        ("fireworks", "B300 288 GB GPU", "288", "b300-sxm"),
        ("fireworks", "GB300 288 GB GPU", "288", "gb300"),
        ("lambda", "NVIDIA A100 SXM", "80", "a100-sxm-80"),
        ("lambda", "NVIDIA A100 SXM", "40", "a100-sxm-40"),
        ("lambda", "NVIDIA H100 PCIe", "80", "h100-pcie"),
        ("baseten", "NVIDIA A10G", "24", "a10g"),  # A10 is inside A10G
        ("vast", "A100 SXM4", "39", "a100-sxm-40"),  # 39,936 MiB occur
        ("vast", "A100 PCIE", "80", "a100-pcie-80"),
        ("vast", "H100 NVL", "93.6", "h100-nvl"),
        ("vast", "GH200 SXM", "96", "gh200-96"),  # a superchip has no socket, whatever the name says
        ("inferprice", "H100 SXM", None, "h100-sxm"),
        ("inferprice", "H100 PCIe", None, "h100-pcie"),
        ("inferprice", "H200", None, "h200-sxm"),
        ("inferprice", "B200", None, "b200-sxm"),
        ("gpuhunt", "A10", None, "a10"),
        ("gpuhunt", "A10G", None, "a10g"),
        ("gpuhunt", "GB200", None, "gb200"),
        ("azure", "Standard_NC80adis_H100_v5", None, "h100-nvl"),
        ("aws", "p6e-gb200.36xlarge", None, "gb200"),  # EC2 lists it as B200
        ("aws-api", "RTX PRO Server 6000", None, "rtx-pro-6000-server"),  # FR-11
        ("ec2instances", "NVIDIA GB202", None, "rtx-pro-6000-server"),  # FR-10
        ("verda", "B300 SXM6 268GB", "268", "b300-sxm"),
    ],
)
def test_names_on_pages(context: str, name: str, memory: str | None, expected: str) -> None:
    resolution = resolve(name, context=context, memory_gb=gb(memory))
    assert resolution.accelerator == expected
    accelerator = load_catalogue().get(expected)
    assert accelerator is not None
    assert resolution.family == accelerator.family


@pytest.mark.parametrize(
    ("context", "name", "memory", "expected"),
    [
        ("skypilot", "RTX6000", "24", "quadro-rtx-6000"),
        ("skypilot", "RTX6000", "48", "rtx-6000-ada"),
        ("lambda", "RTX 6000", "24", "quadro-rtx-6000"),
        ("seeweb", "RTX 6000 24GB", "24", "quadro-rtx-6000"),
        ("nebius-platform", "rtx6000", "96", "rtx-pro-6000-server"),
        ("gcp-sku", "RTX 6000 96GB", "96", "rtx-pro-6000-server"),
    ],
)
def test_rtx_6000_means_three_generations(context: str, name: str, memory: str, expected: str) -> None:
    assert resolve(name, context=context, memory_gb=Decimal(memory)).accelerator == expected


def test_96_gb_of_rtx_6000_is_a_family_of_three_editions() -> None:
    resolution = resolve("RTX6000", context="skypilot", memory_gb=Decimal(96))
    assert resolution.accelerator is None
    assert resolution.family == "rtx-pro-6000"


def test_lambda_does_not_sell_96_gb_under_rtx_6000() -> None:
    resolution = resolve("RTX 6000", context="lambda", memory_gb=Decimal(96))
    assert resolution.accelerator is None
    assert "96 GB is no memory size of quadro-rtx-6000" in resolution.reason


@pytest.mark.parametrize(
    ("context", "name", "memory", "family"),
    [
        ("gpuhunt", "H100", "80", "h100"),
        ("nvidia-driver", "NVIDIA H100", "80", "h100"),
        ("deepinfra", "H100", "80", "h100"),
        ("fireworks", "H100 80 GB GPU", "80", "h100"),
        ("fireworks", "NVIDIA_H100_80GB", "80", "h100"),
        ("baseten", "NVIDIA H100", "80", "h100"),
        ("modal", "Nvidia H100", None, "h100"),
        ("modal", "Nvidia A100, 80 GB", "80", "a100"),
        ("coreweave", "NVIDIA A100", "80", "a100"),
        ("runpod-serverless", "A100", "80", "a100"),
        ("runpod-serverless", "6000s PRO", "96", "rtx-pro-6000"),
        ("vast", "RTX PRO 6000", "96", "rtx-pro-6000"),
    ],
)
def test_a_family_without_a_variant_stays_unknown(
    context: str, name: str, memory: str | None, family: str
) -> None:
    resolution = resolve(name, context=context, memory_gb=gb(memory))
    assert resolution.accelerator is None
    assert resolution.family == family
    assert resolution.known
    assert resolution.reason


def test_memory_or_socket_settle_a_bare_h100() -> None:
    assert resolve("H100", context="gpuhunt", memory_gb=Decimal(94)).accelerator == "h100-nvl"
    assert resolve("H100", context="gpuhunt", memory_gb=Decimal(80), socket="sxm").accelerator == "h100-sxm"
    assert resolve("H100", context="gpuhunt", socket="PCIe").accelerator == "h100-pcie"
    assert resolve("NVIDIA H100", context="baseten", socket="SXM5").accelerator == "h100-sxm"


def test_v100_by_memory_then_socket() -> None:
    for memory, socket, expected in (
        ("16", "sxm", "v100-sxm-16"),
        ("32", "sxm", "v100-sxm-32"),
        ("16", "pcie", "v100-pcie-16"),
        ("32", "pcie", "v100-pcie-32"),
        ("16", None, None),
    ):
        resolution = resolve("V100", context="gpuhunt", memory_gb=Decimal(memory), socket=socket)
        assert resolution.accelerator == expected
        assert resolution.family == "v100"


def test_vast_sells_two_memory_sizes_under_rtx_4090() -> None:
    assert resolve("RTX 4090", context="vast", memory_gb=Decimal(24)).accelerator == "rtx-4090"
    assert resolve("RTX 4090", context="vast", memory_gb=Decimal(48)).accelerator == "rtx-4090-48"
    assert resolve("RTX 4090", context="vast").accelerator is None
    assert resolve("RTX 4090", context="vast").family == "rtx-4090"


@pytest.mark.parametrize(
    ("context", "name", "stated", "in_reason"),
    [
        ("runpod", "NVIDIA A100-SXM4-80GB", {"memory_gb": Decimal(40)}, "40 GB is no memory size"),  # FR-28
        ("coreweave", "NVIDIA HGX H100", {"memory_gb": Decimal(200)}, "200 GB"),  # FR-26
        ("nebius", "NVIDIA HGX B200", {"memory_gb": Decimal(224)}, "224 GB"),
        ("runpod", "NVIDIA H100 PCIe", {"socket": "sxm"}, "sxm is not the socket of h100-pcie"),
        ("gpuhunt", "H100", {"memory_gb": Decimal(94), "socket": "sxm"}, "sxm is not the socket of h100-nvl"),
        ("aws", "p5.48xlarge", {"gpu_count": 4}, "8 GPUs, 4 are stated"),
    ],
)
def test_a_contradiction_gives_unknown(
    context: str, name: str, stated: dict[str, Decimal | int | str], in_reason: str
) -> None:
    resolution = resolve(name, context=context, **stated)
    assert resolution.accelerator is None
    assert resolution.family is not None
    assert in_reason in resolution.reason


def test_one_price_for_several_cards_is_none_of_them() -> None:
    # Memory 16 fits only one of the three named cards, yet the price is for all three.
    resolution = resolve("A4000, A4500, RTX 4000", context="runpod-serverless", memory_gb=Decimal(16))
    assert (resolution.accelerator, resolution.family) == (None, None)
    assert resolution.reason == "one price for several cards"


@pytest.mark.parametrize(
    ("name", "in_reason"),
    [("RTX 4070 laptop", "laptop"), ("RTX 5090 Ti", "no such product"), ("GTX 1080 Ti", "no specification")],
)
def test_names_that_must_not_be_mapped(name: str, in_reason: str) -> None:
    resolution = resolve(name, context="vast")
    assert resolution.accelerator is None
    assert resolution.known
    assert in_reason in resolution.reason


def test_a_part_without_bandwidth_is_unknown_with_its_family() -> None:
    resolution = resolve("NVIDIA RTX PRO 4500 Blackwell Server Edition", context="runpod")
    assert resolution == Resolution(
        accelerator=None,
        family="rtx-pro-4500",
        slice_of=None,
        reason="rtx-pro-4500-server is not in our table: its memory bandwidth is not published",
        known=True,
    )


@pytest.mark.parametrize("name", ["NVIDIA H200", "nvidia h200", " NVIDIA  H200\n", "NVIDIA\u00a0H200"])
def test_white_space_and_case_are_folded(name: str) -> None:
    assert resolve(name, context="runpod").accelerator == "h200-sxm"


@pytest.mark.parametrize(
    "name", ["NVIDIA H2OO", "NVIDIA H-200", "H200", "NVIDIA H200 ULTRA", "NVIDIAH200", "NVIDIA H20", ""]
)
def test_near_misses_are_unknown(name: str) -> None:
    resolution = resolve(name, context="runpod")
    assert not resolution.known
    assert (resolution.accelerator, resolution.family, resolution.slice_of) == (None, None, None)
    assert "runpod" in resolution.reason


def test_names_of_one_context_do_not_leak_into_another() -> None:
    assert resolve("NVIDIA HGX H100", context="coreweave").known
    assert not resolve("NVIDIA HGX H100", context="runpod").known
    assert not resolve("NVIDIA H100 80GB HBM3", context="coreweave").known
    assert not resolve("NVIDIA H100", context="no such context").known
    assert names("no such context") == ()


def test_a_socket_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="'HGX' is none of sxm, pcie, nvl, oam"):
        resolve("H100", context="gpuhunt", socket="HGX")


def test_names_lists_a_context() -> None:
    assert set(RUNPOD) | RUNPOD_REFUSED <= set(names("runpod"))
    assert {"runpod", "coreweave", "nebius", "modal", "together", "deepinfra"} <= set(contexts())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("H100,x,h100-sx,,,source", "line 2, column resolves_to: 'h100-sx' names 'h100-sx', which is no"),
        ("H100,x,perhaps:h100-sxm,,,source", "begins with no kind we know"),
        ("H100,x,ambiguous:h100-sxm,,,source", "wrong number of parts"),
        ("H100,x,h100-sxm|h100-pcie,,,source", "wrong number of parts"),
        ("H100,x,none,,,source", "column rule: '' must say why"),
        ("H100,x,h100-sxm,,,", "column source: '' must not be empty"),
        ("H100,x,h100-sxm,eight,,source", "column gpu_count: 'eight' is not a number"),
    ],
)
def test_a_bad_line_is_named(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"aliases\.csv, line 2.*{re.escape(message)}|{re.escape(message)}"):
        parse_aliases(["name,context,resolves_to,gpu_count,rule,source", line])


def test_a_name_may_stand_once_in_a_context() -> None:
    title = "name,context,resolves_to,gpu_count,rule,source"
    line = "H100,x,h100-sxm,,,source"
    with pytest.raises(ValueError, match="line 3, column name: 'h100 ' stands twice in x"):
        parse_aliases([title, line, "h100 ,x,h100-sxm,,,source"])
    assert len(parse_aliases([title, line, "H100,y,h100-pcie,,,source"])) == 2


def shared_captures(provider: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    for path in sorted((SHARED / "captures" / provider).glob("*.golden.csv")):
        if "plans" in path.name or "synthetic" in path.name or "serverless" in path.name:
            continue  # transcriptions and made-up shapes, not a provider's own words
        with path.open(encoding="utf-8", newline="") as file:
            rows += list(csv.DictReader(file))
    return rows


@NEEDS_SHARED
@pytest.mark.parametrize(
    "provider",
    [
        "runpod",
        "coreweave",
        "nebius",
        "modal",
        "together",
        "deepinfra",
        "fireworks",
        "vast",
        "lambda",
        "baseten",
    ],
)
def test_every_name_of_the_captures_is_known_and_its_price_is_plausible(provider: str) -> None:
    rows = shared_captures(provider)
    assert rows
    for row in rows:
        candidates = (row["gpu_model_as_written"], row["offer_name_as_written"])
        resolutions = [
            resolve(name, context=provider, memory_gb=gb(row["memory_gb_if_stated"] or None))
            for name in candidates
        ]
        resolution = next((found for found in resolutions if found.known), None)
        assert resolution is not None, candidates
        accelerator = load_catalogue().get(resolution.accelerator or "")
        if accelerator is not None and row["price_usd_per_gpu_hour"]:
            price = Decimal(row["price_usd_per_gpu_hour"])
            low, high = accelerator.usd_per_gpu_hour_min, accelerator.usd_per_gpu_hour_max
            assert low <= price <= high, row
            assert price / 3600 < low, row
            assert price * 100 > high, row


@NEEDS_SHARED
def test_every_id_of_the_runpod_capture_is_resolved_or_refused_on_purpose() -> None:
    text = (SHARED / "captures" / "runpod" / "2026-09-graphql-gpuTypes.json").read_text(encoding="utf-8")
    ids = {entry["id"] for entry in json.loads(text)["data"]["gpuTypes"]}
    assert ids == set(RUNPOD) | RUNPOD_REFUSED


@NEEDS_SHARED
def test_every_complete_name_of_the_reference_list_is_carried() -> None:
    with (SHARED / "specs" / "aliases.csv").open(encoding="utf-8", newline="") as file:
        reference = {" ".join(row["raw_name"].split()).casefold() for row in csv.DictReader(file)
                     if row["match"] == "exact"}  # fmt: skip
    ours = {" ".join(row["name"].split()).casefold() for row in csv.DictReader(packaged_lines("aliases.csv"))}
    assert reference <= ours
