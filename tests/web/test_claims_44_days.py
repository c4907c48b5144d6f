"""The claims over the 44 days of an aggregator, then the table of 2026-10-30; runs where ../shared is."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.ingest.gpurentalprices import import_folder
from app.ingest.imports import import_table
from app.store.migrate import upgrade
from app.store.session import make_engine
from tests.conftest import Tell
from tests.web.test_claims import serving

SNAPSHOTS = Path(__file__).parents[2].parent / "shared" / "gpurentalprices" / "snapshots"
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


WAS = {True: "held", False: "did not hold", None: "could not be told"}


def line_of(claim: dict[str, Any]) -> str:
    """Return a claim with its dates and what decides it now, as a line."""
    past = ", ".join(f"{WAS[step['holds']]} from {step['day']}" for step in claim["steps"])
    by = claim["decided_by"]
    now = (
        f"{by['slack_percent']:+.1f} % at {by['provider']}: {by['value']:.3f} against {by['rival_value']:.3f}"
    )
    return f"{claim['id']}: {past}; now {now} of the {by['rival']}"


@pytest.mark.skipif(not SNAPSHOTS.is_dir(), reason="not run: ../shared is not here")
def test_the_claims_over_the_days_of_the_aggregator(tmp_path: Path, tell: Tell) -> None:
    """The aggregator names no form factor of an H200, and no Together AI rate of 91 to 180 days."""
    engine = make_engine(url := f"sqlite:///{tmp_path}/days.db")
    upgrade(engine)
    done = import_folder(engine, tmp_path / "archive", folder=SNAPSHOTS, now=NOW)
    assert done.days == 44
    import_table(engine, tmp_path, now=NOW)
    engine.dispose()
    with serving(url, NOW) as client:
        document = client.get("/claims.json").json()
    tell("\n".join(line_of(claim) for claim in document["claims"]))
    steps = {
        claim["id"]: [(step["day"], step["holds"]) for step in claim["steps"]] for claim in document["claims"]
    }
    article, first = ("2026-10-30", True), "2026-07-05"
    assert (document["first_day_judged"], document["reaches_first_day"]) == (first, True)
    assert steps == {
        "h200-beats-h100-sxm": [(first, None), article],
        "b200-cheapest-per-tbs": [(first, True)],
        "runpod-pcie-trap": [(first, True)],
        "together-on-demand-and-reserved": [(first, None), article],
    }
