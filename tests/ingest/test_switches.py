"""Sources are turned on and off on the command line, for every process, and not with their terms unread."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine

from app import cli
from app.ingest.schedule import plan
from app.ingest.sources import sources_now
from app.settings import Settings
from app.store import switches
from app.store.session import make_engine, reading

Run = Callable[..., Result]


@pytest.fixture
def run(database_url: str, engine: Engine, tmp_path: Path) -> Run:
    """Give a function that runs `inferprice` on the engine's database."""
    del engine
    environment = {"INFERPRICE_HOME": str(tmp_path), "DATABASE_URL": database_url}

    def invoke(*words: str, text: str | None = None, **more: str) -> Result:
        both = {**environment, **more}
        return CliRunner().invoke(cli.main, words, env=both, input=text, catch_exceptions=False)

    return invoke


def on(database_url: str, **settings: object) -> set[str]:
    """Return the sources that another process on this database would read."""
    other = make_engine(database_url)
    found = {each.facts.id for each in sources_now(other, Settings(**settings)) if each.is_on}
    other.dispose()
    return found


def test_the_list_says_what_is_on_and_where_the_terms_stand(run: Run) -> None:
    lines = run("sources", "list").stdout.splitlines()
    rows = {line.split()[0]: line for line in lines[1:]}
    assert rows["nebius"].split()[1:4] == ["yes", "by", "default"]
    assert rows["runpod"].split()[1:4] == ["no", "by", "default"]
    assert rows["runpod"].endswith(" https://www.runpod.io/legal/terms-of-service")
    assert "https://api.runpod.io/graphql" in rows["runpod"]


def test_a_source_whose_terms_forbid_it_is_turned_on_by_who_has_read_them(
    run: Run, database_url: str
) -> None:
    refused = run("sources", "enable", "vast", text="n\n")
    assert refused.exit_code == 1
    assert "said to forbid automated collection" in refused.stderr
    assert "https://vast.ai/terms" in refused.stderr
    assert "vast" not in on(database_url)
    assert run("sources", "enable", "vast", text="y\n").exit_code == 0
    assert "vast" in on(database_url)
    assert "vast is off" not in run("status").stdout
    row = next(line for line in run("sources", "list").stdout.splitlines() if line.startswith("vast"))
    assert row.split()[1] == "yes"


def test_a_source_is_turned_off_and_says_why(run: Run, database_url: str, engine: Engine) -> None:
    assert run("sources", "disable", "nebius", "--because", "They asked us to.").exit_code == 0
    assert "nebius" not in on(database_url)
    off = run("scrape", "nebius")
    assert (off.exit_code, "Nebius was turned off on " in off.stdout) == (0, True)
    assert "They asked us to." in off.stdout
    with reading(engine) as connection:
        assert switches.switches(connection)["nebius"].because == "They asked us to."
    # The settings of a process are stronger, and the command says so.
    assert "nebius" in on(database_url, enabled_sources=("nebius",))
    stays = run("sources", "disable", "nebius", INFERPRICE_ENABLED_SOURCES="nebius")
    assert "It is still on here: INFERPRICE_ENABLED_SOURCES names it." in stays.stdout
    assert run("sources", "enable", "nebius").exit_code == 0
    assert "nebius" in on(database_url)


def test_a_scheduler_sees_a_switch_in_its_next_round(run: Run, engine: Engine, tmp_path: Path) -> None:
    def planned() -> set[str]:
        return {each.source for each in plan(engine, Settings(home=tmp_path))}

    assert {"nebius", "runpod"} & planned() == {"nebius"}
    run("sources", "enable", "runpod", "--i-have-read-the-terms")
    run("sources", "disable", "nebius")
    assert {"nebius", "runpod"} & planned() == {"runpod"}


def test_a_source_that_is_not_there(run: Run) -> None:
    for words in (("enable", "nonesuch"), ("disable", "nonesuch")):
        result = run("sources", *words)
        assert result.exit_code == 2
        assert "there is no source 'nonesuch'; there are baseten, coreweave" in result.stderr
