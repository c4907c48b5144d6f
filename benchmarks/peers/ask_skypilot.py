"""Asks SkyPilot's catalogue query for three GPUs, and ranks what it finds by dollars per TB/s-hour."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from asking import answer_questions, read_task
from sky.catalog.common import list_accelerators_impl

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS = (
    "InstanceType",
    "AcceleratorName",
    "AcceleratorCount",
    "vCPUs",
    "MemoryGiB",
    "Price",
    "SpotPrice",
    "Region",
    "GpuInfo",
)


def main() -> None:
    """Write the offers as a catalogue file, read it the way SkyPilot does, and answer."""
    task = read_task()
    path = Path(sys.argv[1]).with_name("skypilot.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(_row(offer) for offer in task["offers"])
    catalogue = pd.read_csv(path)
    bandwidth = task["bandwidth_tb_s"]

    def ask(gpus: Sequence[str]) -> list[str]:
        names = f"^(?:{'|'.join(gpus)})$"
        by_name = list_accelerators_impl("bench", catalogue, True, names, None, None, all_regions=True)
        found = [info for infos in by_name.values() for info in infos]
        found.sort(key=lambda one: one.price / one.accelerator_count / bandwidth[one.accelerator_name])
        return [info.instance_type for info in found[:100]]

    answer_questions(ask, task["questions"])


def _row(offer: dict[str, Any]) -> tuple[object, ...]:
    """Return an offer as a line of SkyPilot's catalogue: priced for the whole instance."""
    mib = round(offer["memory_gb"] * 1000)
    info = {"Gpus": [{"Name": offer["accelerator"], "MemoryInfo": {"SizeInMiB": mib}}]}
    price = offer["usd_per_instance_hour"]
    return (
        offer["sku"],
        offer["accelerator"],
        offer["gpu_count"],
        8,
        64,
        price,
        price,
        offer["region"],
        str(info),
    )


if __name__ == "__main__":
    main()
