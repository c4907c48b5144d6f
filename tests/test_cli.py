"""The command line as a person uses it: real commands on an empty home, on both databases."""

import csv
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.domain.query import REPEATED, SINGLE

CAPTURES = Path(__file__).parent / "scrapers" / "captures"

# The article's own table (InferPrice, 2026-11-02), ranked by hand: dollars over TB/s.
BEST_THREE = [
    ("deepinfra", "b200-sxm", "4.89"),
    ("deepinfra", "h200-sxm", "3.49"),
    ("modal", "b200-sxm", "6.25"),
]

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, database_url: str) -> Run:
    """Give a function that runs `inferprice` with these words on an empty database of each kind."""
    environment = {"INFERPRICE_HOME": str(tmp_path / "home"), "DATABASE_URL": database_url}

    def run(*words: str, **more: str) -> Result:
        return CliRunner().invoke(main, words, env={**environment, **more}, catch_exceptions=False)

    return run


@pytest.fixture
def ready(run: Run) -> Run:
    assert run("migrate").exit_code == 0
    return run


def rows(result: Result) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_the_published_table_comes_out_in_its_order(ready: Run) -> None:
    result = ready(
        "offers",
        "--as-of",
        "2026-10-30",
        "--pricing",
        "on_demand",
        "--sort",
        "usd_per_tbs_hour",
        "--format",
        "csv",
    )
    found = rows(result)
    assert len(found) == 22
    assert [(row["provider"], row["accelerator"], row["list_price"]) for row in found[:3]] == BEST_THREE
    # 13.00 / 8.0, 8.00 / 4.8, 6.16 / 3.35 and 8.00 / 3.35 are the four dearest per TB/s.
    dearest = [Decimal(13) / 8, Decimal(8) / Decimal("4.8"), Decimal("6.16") / Decimal("3.35")]
    dearest.append(Decimal(8) / Decimal("3.35"))
    assert [float(row["usd_per_tbs_hour"]) for row in found[-4:]] == pytest.approx(
        [float(d) for d in dearest]
    )
    (trap,) = [row for row in found if row["accelerator"] == "h100-pcie"]
    assert (trap["usd_per_gpu_hour"], trap["usd_per_tbs_hour"]) == ("2.89", "1.445")
    assert "dearer_per_tbs" in trap["flags"]


def test_reserved_rates_stand_beside_the_table(ready: Run) -> None:
    found = json.loads(ready("offers", "--pricing", "reserved", "--format", "json").stdout)
    said = {(row["provider"], row["accelerator"], row["list_price"], row["term_days_max"]) for row in found}
    assert said == {("together", "h100-sxm", 3.19, 180), ("together", "h200-sxm", 3.99, 180)}


def test_the_heads_and_the_rows_say_which_precision_and_weights(ready: Run) -> None:
    asked = ("offers", "--precision", "bf16", "--weights-gb", "35", "--as-of", "2026-10-30")
    head = ready(*asked).stdout.partition("\n")[0]
    for said in ("$/PFLOP-h, BF16", "tok/s, 35 GB", "$/Mtok, 35 GB"):
        assert said in head
    ends = {"precision": "bf16", "weights_gb": "35", "spec": "main", "as_of": "2026-10-30T23:59:59Z"}
    for row in rows(ready(*asked, "--format", "csv")):
        assert {key: row[key] for key in ends} == ends
    for row in json.loads(ready(*asked, "--format", "json").stdout):
        assert {key: row[key] for key in ends} == {**ends, "weights_gb": 35}


def test_a_page_is_a_page_and_no_page_is_everything(ready: Run) -> None:
    assert len(rows(ready("offers", "--format", "csv"))) == 24
    assert len(rows(ready("offers", "--format", "csv", "--per-page", "10", "--page", "3"))) == 4


def test_every_parameter_of_a_link_is_an_option(run: Run) -> None:
    text = run("offers", "--help").output
    assert [name for name in (*REPEATED, *SINGLE) if f"--{name.replace('_', '-')}" not in text] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--gpu", "h1000"), "gpu: 'h1000' is not right: did you mean h100"),
        (("--sort", "price"), "sort: 'price' is not right"),
        (("--as-of", "2026-13-01"), "as_of: '2026-13-01' is not right: give a day as YYYY-MM-DD"),
        (("--weights-gb", "-1"), "weights_gb: '-1' is not right: give a number from 0.001"),
        (("--nonsense", "1"), "--nonsense"),
    ],
)
def test_a_wrong_option_is_named_with_what_would_be_right(
    ready: Run, words: tuple[str, ...], said: str
) -> None:
    result = ready("offers", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_wrong_setting_is_named_and_its_password_is_not(run: Run) -> None:
    result = run("offers", DATABASE_URL="mysql://me:hush@db/x")
    assert result.exit_code == 2
    assert "DATABASE_URL: 'mysql://...@db/x' is not right" in result.stderr
    assert "hush" not in result.output


def test_a_database_that_is_away_ends_in_a_sentence(run: Run) -> None:
    result = run("offers", DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: The database cannot be used:")


def test_postgresql_is_migrated_by_its_own_command_only(run: Run, database_url: str) -> None:
    if database_url.startswith("sqlite"):
        assert run("status").exit_code == 0
        return
    result = run("status")
    assert result.exit_code == 1
    assert "Run `inferprice migrate` first." in result.stderr


def test_migrate_checks_what_it_made(ready: Run, run: Run) -> None:
    assert ready("migrate", "--check").exit_code == 0
    assert "agree" in run("migrate", "--check").stdout


def test_importing_twice_changes_nothing(ready: Run) -> None:
    before = ready("offers", "--format", "csv", "--as-of", "2026-10-30").stdout
    assert before.count("\n") > 20
    result = ready("import")
    assert result.exit_code == 0
    assert ready("offers", "--format", "csv", "--as-of", "2026-10-30").stdout == before


def test_status_says_why_a_source_is_off(ready: Run) -> None:
    text = ready("status").stdout
    assert "runpod" in text
    assert "said to forbid automated collection" in text


def test_scraping_a_source_that_is_off_or_unknown(ready: Run) -> None:
    off = ready("scrape", "runpod")
    assert "RunPod is off by default" in off.stdout
    unknown = ready("scrape", "nonesuch")
    assert unknown.exit_code == 2
    assert "nonesuch" in unknown.stderr


def test_parse_prints_offers_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    page = next(CAPTURES.glob("nebius*.html"))
    result = run("parse", "nebius", str(page), "--fetched-at", "2026-09-15T00:00:00Z")
    assert result.exit_code in {0, 3}
    assert rows(result)
    assert {row["source_url"] for row in rows(result)} == {"https://nebius.com/prices"}
    assert not (tmp_path / "home").exists()


def test_parse_refuses_what_it_does_not_understand(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html><body><p>Please prove that you are human.</p></body></html>", encoding="utf-8")
    result = run("parse", "nebius", str(page))
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr.startswith("hold ")
    assert result.stderr.rstrip().endswith("Refused: not published.")


def test_parse_names_the_providers_it_can_read(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("x", encoding="utf-8")
    wrong = run("parse", "nonesuch", str(page))
    assert wrong.exit_code == 2
    assert "coreweave" in wrong.stderr
    assert run("parse", "nebius", str(page), "--fetched-at", "yesterday").exit_code == 2
    assert run("parse", "nebius", str(tmp_path / "none.html")).exit_code == 2


def test_the_quarantine_is_empty_and_says_so(ready: Run) -> None:
    assert ready("quarantine", "list").stdout == "No run waits for a decision.\n"
    missing = ready("quarantine", "show", "7")
    assert missing.exit_code == 1
    assert "There is no held run 7" in missing.stderr
    assert ready("quarantine", "approve", "7", "--because", "I looked").exit_code == 1
    assert ready("quarantine", "reject", "7").exit_code == 2
