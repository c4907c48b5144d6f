"""`inferprice snapshot` and `verify` as a person uses them: real commands, on both databases."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import text

from app.cli import main
from app.store.session import make_engine, writing

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, database_url: str) -> Run:
    """Give a function that runs `inferprice` with these words on a database with the bundled table."""
    environment = {"INFERPRICE_HOME": str(tmp_path / "home"), "DATABASE_URL": database_url}

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, words, env=environment, catch_exceptions=False)

    assert run("migrate").exit_code == 0
    return run


def test_days_are_sealed_verified_and_an_edit_is_named(run: Run, database_url: str) -> None:
    assert run("verify").stdout == "No day is sealed yet.\n"
    sealed = run("snapshot").stdout.splitlines()
    assert sealed[1].startswith("2026-10-30      24  ")
    assert run("snapshot").stdout == "Every past day is sealed already.\n"
    good = run("verify")
    assert good.exit_code == 0
    assert good.stdout.startswith(f"All {len(sealed) - 1} sealed days from 2026-10-30 to ")
    engine = make_engine(database_url)
    with writing(engine) as connection:
        connection.execute(text("UPDATE price SET valid_to = 1793664000 WHERE id = 1"))  # 2026-11-03
    engine.dispose()
    bad = run("verify")
    assert bad.exit_code == 3
    assert "2026-11-02 is not" not in bad.stdout
    assert "2026-11-03 is not as it was sealed at " in bad.stdout
    assert "24 offers then, 23 now" in bad.stdout
    assert bad.stderr.endswith("sealed days differ.\n")
